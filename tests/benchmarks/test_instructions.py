"""The 25 instructions of IFEval: a reply that follows each, and one that nearly does."""

import json
import tomllib
from pathlib import Path

import pytest

from benchmarks.card_layouts import overall
from rows import tabled
from viva.benchmarks import CARD, CARDS, open_exam
from viva.benchmarks.card.instructions import check, follows, sentences
from viva.types import ExamSpec, Response

ROWS = tomllib.loads(Path(__file__).with_name("instructions.toml").read_text(encoding="utf-8"))


def test_each_instruction_is_told_from_its_near_miss() -> None:
    for (name, given, right, wrong), row in tabled(*ROWS["checks"]):
        with row:
            assert check(right, name, given)
            assert not check(wrong, name, given)


def test_instructions_about_language() -> None:
    pytest.importorskip("langdetect")
    for (name, given, right, wrong), row in tabled(*ROWS["languages"]):
        with row:
            assert check(right, name, given)
            assert not check(wrong, name, given)


def test_what_the_published_checkers_do_otherwise() -> None:
    pytest.importorskip("langdetect")
    for (name, given, right, wrong, published), row in tabled(*ROWS["published"]):
        with row:
            assert [check(reply, name, given) for reply in (right, wrong)] == [True, False]
            assert [check(reply, name, given, published=True) for reply in (right, wrong)] == published


def test_loosely_a_reply_may_have_a_first_line_a_last_line_and_asterisks_more() -> None:
    asked = json.dumps([["startend:quotation", {}], ["punctuation:no_comma", {}]])
    assert follows('"Tin."', asked) == ([True, True], [True, True])
    assert follows('Sure, here it is:\n"Tin."', asked) == ([False, False], [True, True])
    assert follows('**"Tin."**', asked) == ([False, True], [True, True])
    assert follows("", asked) == ([False, False], [False, False])


def test_sentences() -> None:
    for (text, count), row in tabled(*ROWS["sentences"]):
        with row:
            assert len(sentences(text)) == count


def test_four_numbers_are_those_of_the_paper(tmp_path: Path) -> None:
    rows = [
        {"key": 1, "prompt": "p", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]},
        {
            "key": 2,
            "prompt": "q",
            "instruction_id_list": ["startend:quotation", "punctuation:no_comma", "detectable_format:title"],
            "kwargs": [{}, {}, {}],
        },
        {"key": 3, "prompt": "r", "instruction_id_list": ["no:such"], "kwargs": [{}]},
    ]
    data = tmp_path / "ifeval.jsonl"
    data.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    exam = open_exam(ExamSpec(benchmark=CARD, name="ifeval"), CARDS / "ifeval.yaml", {"data": str(data)})
    assert [defect.kind for defect in exam.defects if defect.action == "unsound"] == ["unknown instruction"]
    replies = {"1": "<think>a, b</think>Tin.", "2": 'Sure, well:\n"<<Tin>>"'}
    scored = [
        (question, exam.score(question, Response(text=replies[question.id])))
        for question in exam.questions()
        if question.id in replies
    ]
    assert [score.value for _, score in scored] == [1.0, 0.0]
    means = overall(exam, scored)
    assert means == pytest.approx(
        {
            "Prompt level, strict": 1 / 2,
            "Prompt level, loose": 2 / 2,
            "Instruction level, strict": 2 / 4,
            "Instruction level, loose": 4 / 4,
        }
    )
