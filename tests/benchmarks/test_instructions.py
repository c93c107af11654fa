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


@pytest.mark.parametrize("table", ["checks", "languages"])
def test_each_instruction_is_told_from_its_near_miss(table: str) -> None:
    if table == "languages":
        pytest.importorskip("langdetect")
    for (name, given, right, wrong), row in tabled(*ROWS[table]):
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
    asked = (["punctuation:no_comma"], ["startend:quotation", "punctuation:no_comma", "detectable_format:title"],
             ["no:such"])  # fmt: skip
    rows = [
        {"key": key, "prompt": "p", "instruction_id_list": names, "kwargs": [{}] * len(names)}
        for key, names in enumerate(asked, 1)
    ]
    data = tmp_path / "ifeval.jsonl"
    data.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    exam = open_exam(ExamSpec(benchmark=CARD, name="ifeval"), CARDS / "ifeval.yaml", {"data": str(data)})
    assert [defect.kind for defect in exam.defects if defect.action == "unsound"] == ["unknown instruction"]
    replies = ("<think>a, b</think>Tin.", 'Sure, well:\n"<<Tin>>"')
    scored = [(one, exam.score(one, Response(text=text))) for one, text in zip(exam.questions(), replies, strict=False)]
    assert [score.value for _, score in scored] == [1.0, 0.0]
    assert overall(exam, scored) == {
        "Prompt level, strict": 1 / 2, "Prompt level, loose": 2 / 2,
        "Instruction level, strict": 2 / 4, "Instruction level, loose": 4 / 4,
    }  # fmt: skip
