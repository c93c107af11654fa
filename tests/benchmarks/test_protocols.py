"""How sets are asked and scored as their authors do: BBH's texts, SimpleQA's verdicts, GAOKAO's points, DROP's F1."""

import json
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchmarks.card_layouts import overall
from rows import each_row, table, tabled
from viva.benchmarks import CARD, CARDS, open_exam
from viva.benchmarks.card.cardexam import CardExam
from viva.benchmarks.card.instructions import check, follows, sentences
from viva.errors import DataError
from viva.prompting import prompt_text
from viva.scorers.wordoverlap import drop_scores
from viva.types import ANSWER, UNREADABLE, Evidence, ExamSpec, Opinion, Response, Sampling

ROWS = tomllib.loads(Path(__file__).with_name("replies.toml").read_text(encoding="utf-8"))


def opened(card: str, folder: Path, rows: list[dict[str, Any]], name: str = "rows", **settings: Any) -> CardExam:
    data = folder / f"{name}.jsonl"
    data.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    spec = ExamSpec(benchmark=CARD, name=card, **settings)
    exam = open_exam(spec, CARDS / f"{card}.yaml", {"data": str(folder)})
    assert isinstance(exam, CardExam)
    return exam


def test_bbh_is_asked_with_the_text_that_its_authors_published(tmp_path: Path) -> None:
    (tmp_path / "cot-prompts").mkdir()
    text = "canary\n-----\nClose the brackets.\n\nQ: (\nA: Let's think step by step.\nSo the answer is )."
    (tmp_path / "cot-prompts" / "brackets.txt").write_text(text, encoding="utf-8")
    rows = [{"input": "[ (", "target": ") ]"}, {"input": "Which?", "target": "(B)"}, {"input": "?", "target": "yes"}]
    exam = opened("bbh", tmp_path, rows, "brackets", shots=3, chain_of_thought=True)
    brackets, letter, word = exam.questions()
    asked = prompt_text(exam.request(brackets, 0, Sampling()).prompt)
    assert asked == text.partition("-----\n")[2] + "\n\nQ: [ (\nA: Let's think step by step."
    bare = opened("bbh", tmp_path, rows, "brackets")
    assert prompt_text(bare.request(brackets, 0, Sampling()).prompt) == "Close the brackets.\n\nQ: [ (\nA:"
    for (question, reply, value), row in tabled(
        (brackets, "We close [ and (. So the answer is ) ].", 1.0),
        (brackets, "So the answer is ] ).", 0.0),
        (letter, "It is red. So the answer is (B).", 1.0),
        (letter, "It is red. So the answer is (C).", 0.0),
        (word, "So the answer is yes.", 1.0),
        (word, "So the answer is no.", 0.0),
    ):
        with row:
            assert exam.score(question, Response(text=reply)).value == value


def test_simpleqa_has_three_verdicts_and_an_unreadable_one_is_none(tmp_path: Path) -> None:
    rows = [{"metadata": "{'topic': 'Metals', 'answer_type': 'Other'}", "problem": "Which?", "answer": "tin"}]
    exam = opened("simpleqa", tmp_path, rows)
    published = opened("simpleqa", tmp_path, rows, as_published=True)
    (question,) = exam.questions()
    assert question.tags["metadata.topic"] == "Metals"
    assert prompt_text(exam.request(question, 0, Sampling()).prompt) == "Which?"
    for (verdicts, value, attempted, as_published), row in tabled(
        (["VERDICT: 2"], 1.0, 1.0, 1.0),
        (["VERDICT: 1"], 0.0, 0.0, 0.0),
        (["VERDICT: 0"], 0.0, 1.0, 0.0),
        (["VERDICT: 7"], None, None, 0.0),
        (["I like it."], None, None, 0.0),
        (["VERDICT: 0", "VERDICT: 2"], None, None, 0.0),
        ([], None, None, None),
    ):
        with row:
            evidence = Evidence(opinions=[Opinion(f"judge-{at}", ANSWER, one) for at, one in enumerate(verdicts)])
            score = exam.score(question, Response(text="It is tin."), evidence)
            assert score.value == value
            assert score.parts.get("attempted") == attempted
            assert (score.outcome == "ungraded") == (value is None)
            if verdicts and value is None:  # a run keeps what cannot be read apart; an outage is no verdict
                failed = Evidence(failed=[msgspec.structs.replace(one, lost=False) for one in evidence.opinions])
                lost = Evidence(failed=[msgspec.structs.replace(one, lost=True) for one in evidence.opinions])
                assert published.score(question, Response(text="It is tin."), failed).parts["declined"] == 1
                assert published.score(question, Response(text="It is tin."), lost).outcome == "ungraded"
            for reply in ("It is tin.", ""):  # the authors' judge is sent what is blank, too
                judged = published.score(question, Response(text=reply), evidence)
                assert judged.value == as_published
                assert judged.parts.get("attempted", 0.0) == (0.0 if value is None else attempted)


def test_a_blank_is_worth_its_points_and_some_of_several_letters_half(tmp_path: Path) -> None:
    rows = [
        {"question": "…", "answer": ["A"], "score": 4, "analysis": "", "year": "2010"},
        {"question": "…", "answer": ["A", "C", "D"], "score": 2, "analysis": "", "year": "2010"},
        {"question": "…", "answer": ["BD"], "score": 6, "analysis": "", "year": "2010"},
    ]
    exam = opened("gaokao-bench", tmp_path, rows)
    with table() as row:
        for question, replies in zip(exam.questions(), ROWS["gaokao"].values(), strict=True):
            for reply, points in replies.items():
                with row(reply):
                    score = exam.score(question, Response(text=reply))
                    assert (score.outcome if score.value is None else score.parts["points"]) == points


def test_a_reply_that_earns_nothing_counts_as_its_authors_count_it(tmp_path: Path) -> None:
    facts = [{"metadata": "{}", "problem": f"Which is {at}?", "answer": "tin"} for at in range(2)]
    told = [["punctuation:no_comma"], ["startend:quotation", "punctuation:no_comma", "detectable_format:title"]]
    prompts = [
        {"key": len(names), "prompt": "p", "instruction_id_list": names, "kwargs": [{}] * len(names)} for names in told
    ]
    blanks = [
        {"question": "…", "answer": answer, "score": 2, "analysis": "", "year": "1"}
        for answer in (["A"], ["A", "B", "C"])
    ]
    share = ("Incorrect", "Not attempted", "Correct given attempted", "F-score")
    followed = ("Prompt level, strict", "Prompt level, loose", "Instruction level, strict", "Instruction level, loose")
    for (card, rows, right, nothing, means), row in tabled(
        ("simpleqa", facts, "tin", "", dict(zip(share, (0, 1 / 2, 1, 2 / 3), strict=True)) | {"Correct": 1 / 2}),
        ("ifeval", prompts, "tin", "", dict(zip(followed, (1 / 2, 1 / 2, 1 / 4, 1 / 4), strict=True))),
        ("ifeval", prompts, "tin", "<think>so", dict(zip(followed, (1 / 2, 1 / 2, 1 / 4, 1 / 4), strict=True))),
        ("gaokao-bench", blanks, "答案是A", "", {"Overall": 2 / 8}),
        ("gaokao-bench", blanks, "答案是A", "题目有误", {"Overall": 2 / 8}),
    ):
        with row:
            (tmp_path / card).mkdir(exist_ok=True)
            exam = opened(card, tmp_path / card, rows)
            judged = Evidence(opinions=[Opinion("judge", ANSWER, "VERDICT: 2")])
            first, second = exam.questions()
            scores = [
                (first, exam.score(first, Response(text=right), judged)),
                (second, exam.score(second, Response(text=nothing))),
            ]
            assert scores[1][1].outcome in UNREADABLE
            assert exam.constant() is None, "no answer is the same to all"
            assert overall(exam, scores) == pytest.approx(means)


@each_row(*ROWS["drop"])
def test_drop_matches_spans_one_to_one_and_numbers_by_value(
    said: str, accepted: list[str], exact: float, overlap: float, *, tmp_path: Path
) -> None:
    assert drop_scores(said, accepted) == (exact, overlap)
    with pytest.raises(DataError, match="cannot be graded as published"):  # where there is no authors' script
        opened("gsm8k", tmp_path, [{"question": "2 + 2?", "answer": "#### 4"}], as_published=True)


# The 25 instructions of IFEval: a reply that follows each, and one that nearly does


INSTRUCTIONS = tomllib.loads(Path(__file__).with_name("instructions.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("table", ["checks", "languages"])
def test_each_instruction_is_told_from_its_near_miss(table: str) -> None:
    if table == "languages":
        pytest.importorskip("langdetect")
    for (name, given, right, wrong), row in tabled(*INSTRUCTIONS[table]):
        with row:
            assert check(right, name, given)
            assert not check(wrong, name, given)


def test_what_the_published_checkers_do_otherwise() -> None:
    pytest.importorskip("langdetect")
    for (name, given, right, wrong, published), row in tabled(*INSTRUCTIONS["published"]):
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
    for (text, count), row in tabled(*INSTRUCTIONS["sentences"]):
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
