"""CLR-Bench: reading a set and its errors; prompts with exemplars; Q→A by rule; the bundled sample."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import viva.benchmarks.clrbench
from benchmarks.explaining import evidence, first, layout, opened, reply
from benchmarks.handmade import asked, fresh
from rows import each_row, tabled, tables_beside
from viva.benchmarks.clrbench.schema import TITLES, Record, read_records
from viva.benchmarks.rationale.combining import Q_A
from viva.contracts import Exam
from viva.errors import DataError, MissingDataError
from viva.runs.checks import failures
from viva.types import Kind, Question, Sampling

SAMPLE = Path(viva.benchmarks.clrbench.__file__).parent / "sample"
TYPES: dict[str, Kind] = {"MC": "choice", "MS": "choices", "TF": "truth", "FB": "term", "OE": "open"}
GIVEN: dict[str, dict[str, Any]] = {
    "MC": {"options": ["a stack", "a queue", "a heap"], "answer": "B"},
    "MS": {"options": ["a stack", "a queue", "a heap"], "answers": ["A", "C"]},
    "TF": {"answer": True},
    "FB": {"question": "It is a ____.", "answer": "stack"},
    "OE": {"answer": "Sort it first."},
}


def line(type_: str = "MC", number: int | str = 1, **over: Any) -> dict[str, Any]:
    """A record of the schema. A value of ... leaves a key out."""
    record = {
        "id": f"operating-systems/{type_.lower()}/{number}",
        "discipline": "Operating Systems",
        "topic": ["Operating Systems", "Processes"],
        "type": type_,
        "question": f"What is number {number}?",
        **GIVEN[type_],
        "rationale": "It follows from the definition.",
        "source": "a lecture",
        **over,
    }
    return {name: value for name, value in record.items() if value is not ...}


def written(folder: Path, *lines: dict[str, Any] | str | bytes, name: str = "test.jsonl") -> Path:
    raw = [
        one if isinstance(one, bytes) else (one if isinstance(one, str) else json.dumps(one)).encode() for one in lines
    ]
    (folder / name).write_bytes(b"\n".join(raw) + b"\n")
    return folder


def questions(folder: Path, *lines: Any) -> list[Question]:
    return list(opened(data=written(folder, *lines), shots=0).questions())


@cache
def sample(name: str) -> Sequence[Record]:
    return read_records(SAMPLE / name)[0]


# Loading


GOLDS = {"MC": "B", "MS": "AC", "TF": "true", "FB": "stack", "OE": "Sort it first."}


@each_row(*TYPES.items())
def test_every_type_is_read(type_: str, kind: str, *, tmp_path: Path) -> None:
    more = line(type_, 2, topic=["Operating Systems", "x", "y"], source=...)
    marked = b"\xef\xbb\xbf" + json.dumps(line(type_, id="x" * 200, difficulty="hard", rationale="So:\n\tso.")).encode()
    question, other = questions(tmp_path, marked, "", "   ", json.dumps(more) + "\r")
    assert (question.kind, question.answer, question.explanation) == (kind, GOLDS[type_], "So:\n\tso.")
    assert question.tags == {
        "type": type_, "discipline": "Operating Systems", "topic 2": "Processes", "difficulty": "hard",
    }  # fmt: skip
    assert other.tags["topic 3"] == "y"
    assert question.options == tuple(GIVEN[type_].get("options", ()))


@each_row(
    ("FB", {"answer": ..., "answers": ["stack", "LIFO stack"]}, "stack", ("LIFO stack",)),
    ("FB", {"answer": 9}, "9", ()),
    ("FB", {"answer": ..., "answers": [9, "nine"]}, "9", ("nine",)),
    ("FB", {"answer": 0}, "0", ()),
    ("FB", {"answer": 2.5}, "2.5", ()),
    ("MS", {"answers": ["C", "A"]}, "AC", ()),
    ("MS", {"answers": ["A", "B", "C"]}, "ABC", ()),
    ("MS", {"answers": ["B"]}, "B", ()),
    ("TF", {"answer": False}, "false", ()),
    ("TF", {"answer": "False"}, "false", ()),
    ("TF", {"answer": "true"}, "true", ()),
    ("OE", {"answer": " x \n"}, "x", ()),
    ("MC", {"options": ["x", "y"], "answer": "A"}, "A", ()),
    ("MC", {"options": [f"x{n}" for n in range(26)], "answer": "Z"}, "Z", ()),
)
def test_golds_as_they_may_be_written(
    type_: str, over: object, gold: str, accepted: tuple[str, ...], *, tmp_path: Path
) -> None:
    (question,) = questions(tmp_path, line(type_, **over))
    assert (question.answer, question.accepted) == (gold, accepted)


def errors() -> tuple[tuple[dict[str, Any] | str | bytes, tuple[str, ...]], ...]:
    """Lines that are wrong in one way each, and what the message must say of it."""
    return (
        ("{", ()),
        ("[]", ("object")),
        ("null", ()),
        (b'{"id": "\xff"}', ()),
        (line(id=...), ("id")),
        (line(type="MCQ"), ("MC (multi-choice), MS (multi-select), TF (true/false), FB (fill-in-blank)",)),
        (line(options="ABC"), ("options")),
        (line(answer=["B"]), ("answer")),
        (line(id=" "), ("id is empty")),
        (line(question=""), ("operating-systems/mc/1", "question is empty")),
        (line(rationale="\n"), ("rationale is empty")),
        (line(discipline=""), ("discipline is empty")),
        (line(topic=[]), ("topic []")),
        (line(topic=["a", "b", "c", "d"]), ("topic ['a', 'b', 'c', 'd']", "one to three")),
        (line(topic=["Operating Systems", " "]), ("one to three")),
        (line(answer="D"), ("'D'", "3 options")),
        (line(answer=""), ("''")),
        (line(answer=...), ("None")),
        (line(answers=["B"]), ("`answers` belongs to MS and FB")),
        (line(options=[], answer="A"), ("0 options")),
        (line(options=[f"x{n}" for n in range(27)], answer="A"), ("27 options")),
        (line(options=["x", " "], answer="A"), ("option is empty")),
        (line(options=["x", "y", "X "], answer="A"), ("two options read", "'x'")),
        (line("MS", answers=["A", "A"]), ("['A', 'A']")),
        (line("MS", answers=...), ("[]")),
        (line("MS", answer="A"), ("both")),
        (line("TF", answer="yes"), ("'yes'", "neither true nor false")),
        (line("TF", answer=...), ("None")),
        (line("TF", options=["True", "False"]), ("options belong to MC and MS, not to TF")),
        (line("FB", question="It is a ___."), ("0 gaps (____)")),
        (line("FB", question="A ____ is a ____."), ("2 gaps (____)")),
        (line("FB", answer=""), ("no answer")),
        (line("FB", answer=True), ("no answer")),
        (line("FB", answer=...), ("no answer")),
        (line("FB", answer=..., answers=[" "]), ("no answer")),
        (line("FB", answers=["stack"]), ("both")),
        (line("FB", options=["x", "y"]), ("not to FB")),
        (line("OE", answer=" "), ("no text")),
        (line("OE", answers=["x"]), ("`answers` belongs to MS and FB")),
        (line("TF", "ok"), ("operating-systems/tf/ok", "line 1")),
        (line(answer="x" * 500), ("…")),
        (line(type=5), ("operating-systems/mc/1", "type 5 is none of MC")),
        (line(topic=..., rationale=...), ("operating-systems/mc/1", "it lacks `topic`, `rationale`")),
        (line(questions="x"), ("operating-systems/mc/1", "unknown fields: 'questions'")),
        ("{}", ("it lacks `id`, `discipline`, `topic`, `type`, `question`, `rationale`",)),
        ("[" * 5_000, ()),
        (line(id="x" * 201), ("201 characters; 200",)),
        (line(id="x\n"), ("its id holds the control character U+000A",)),
        (line(id="\u001b[31mx"), ("its id holds the control character U+001B", "'\\x1b[31mx'")),
        (line(options=["a", "b\u0007", "c"]), ("its options", "U+0007")),
        (line("OE", answer="a\u007f"), ("its answer holds the control character U+007F",)),
        (line("FB", answer=..., answers=["stack", "a\u0008"]), ("its answers", "U+0008")),
        (line(source="a\u001f"), ("its source", "U+001F")),
    )


@each_row(*itertools.product(errors(), ("test.jsonl", "exemplars.jsonl")))
def test_a_line_that_cannot_be_used_is_named_with_its_value(row: Any, name: str, *, tmp_path: Path) -> None:
    folder, (bad, said) = fresh(tmp_path), row
    written(folder, line("TF", "other"))
    written(folder, line("TF", "ok"), "", bad, name=name)
    with pytest.raises(DataError) as caught:
        opened(data=folder)
    message = str(caught.value)
    assert all(part in message for part in (f"{folder / name}, line 3", *said))
    assert len(message) < 500 + len(str(folder))


def mistakes(folder: Path, *lines: Any) -> list[str]:
    with pytest.raises(DataError) as caught:
        opened(data=written(folder, *lines), shots=0)
    return str(caught.value).split("\n")


def test_all_mistakes_of_a_file_are_named_at_once(tmp_path: Path) -> None:
    lines = (line("TF", 1), line("TF", 2, answer="yes"), "{", line("MC", 3, answer="Z", rationale=" "), line("TF", 1),
             line(type="essay"))  # fmt: skip
    found = mistakes(tmp_path, *lines)
    where = f"{tmp_path / 'test.jsonl'}, line "
    assert all(one.startswith(where) for one in found)
    assert [one.removeprefix(where)[:1] for one in found] == list("234456")
    for one, part in zip(found, ("'yes'", "", "rationale", "'Z'", "line 1", "'essay'"), strict=True):
        assert part in one
        assert "operating-systems/" in one or not part


@pytest.mark.parametrize(("count", "more"), [(20, None), (21, "... and 1 more"), (3_000, "... and 2,980 more")])
def test_of_very_many_mistakes_the_first_twenty_are_named(tmp_path: Path, count: int, more: str | None) -> None:
    found = mistakes(tmp_path, *(line("TF", n, answer="yes") for n in range(count)))
    assert len(found) == 20 + (more is not None)
    assert more is None or found[-1] == more


def test_a_set_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=re.escape("test.jsonl")):
        opened(data=tmp_path)
    (tmp_path / "test.jsonl").write_bytes(b" \n")
    with pytest.raises(DataError, match="empty"):
        opened(data=tmp_path, shots=0)


def test_what_is_odd_is_noted_and_asked_all_the_same(tmp_path: Path) -> None:
    options = {"options": ["x", "y"], "answer": "A"}
    lines = (line("TF", 1, question="Same?"), line("TF", 2, question="Same? "), line("TF", 3, source=" "),
             line("MS", 4, answers=["A", "B", "C"]), line("MC", 5, question="Same?", **options))  # fmt: skip
    exam = opened(data=written(tmp_path, *lines), shots=0)
    found = [(defect.question[-1], defect.kind, defect.action) for defect in exam.defects]
    assert found == [
        ("2", "duplicate", "noted"), ("3", "no source", "noted"), ("4", "every option right", "noted"),
    ]  # fmt: skip
    assert len(exam) == 5


# Asking


@cache
def chat() -> Exam:
    return opened()


def test_a_question_is_shown_the_exemplar_of_its_discipline_or_else_one_of_its_type(tmp_path: Path) -> None:
    written(tmp_path, line("TF", 1, discipline="Logic", topic=["Logic"]), line("TF", 2), line("MC", 3))
    shown = (line("TF", "one", discipline="Databases", topic=["Databases"]), line("TF", "two", question="Is it so?"))
    written(tmp_path, *shown, name="exemplars.jsonl")
    exam = opened(data=tmp_path)
    borrowed, own, choice = (asked(exam, question) for question in exam.questions())
    assert ("Is it so?" in own, "number one" in own) == (True, False)
    assert ("Is it so?" in borrowed) != ("number one" in borrowed)
    assert "so?" not in choice


def test_baselines_draw_from_what_is_well_formed() -> None:
    legal = {kind: chat().request(first(chat(), kind), 0, Sampling()).choices for kind in TYPES.values()}
    assert legal["truth"] == ("True", "False")
    count = len(first(chat(), "choices").options)
    assert len(legal["choices"]) == 2**count - 1
    assert legal["choice"] == tuple("ABCD"[: len(first(chat(), "choice").options)])
    assert legal["open"] == ()


# Q→A by rule


def answered(question: Question, what: str, **response: Any) -> float | None:
    score = chat().score(question, reply("Because it is so.", what, **response), evidence(rationale=["1"]))
    return score.parts.get(Q_A)


ANSWERS = tables_beside(__file__)["answers"]


def test_letters_truth_values_and_terms(tmp_path: Path) -> None:
    for (type_, said, value), case in tabled(*ANSWERS):
        with case:
            (question,) = questions(tmp_path, line(type_))
            assert answered(question, said) == value


# Tables


def test_the_tables_are_those_of_the_paper() -> None:
    assert [row.label for row in layout(chat(), "types").rows] == [*TITLES.values(), "Overall"]
    assert len(layout(chat(), "disciplines").rows) == 17
    labels = [f"{metric} {label}".strip() for metric in ("Q→A", "Q→AR") for label in (*TITLES, "")]
    assert [column.label for column in layout(chat(), "models").columns] == labels
    assert layout(chat(), "models").across


def test_difficulties_are_ordered_from_easy_to_hard_and_others_follow_as_they_come(tmp_path: Path) -> None:
    levels = ("hard", "fiendish", "easy", "trivial", "medium", "hard")
    exam = opened(data=written(tmp_path, *(line("TF", n, difficulty=one) for n, one in enumerate(levels))), shots=0)
    rows = [row.label for row in layout(exam, "difficulty").rows]
    assert rows == ["easy", "medium", "hard", "fiendish", "trivial"]
    assert [row.label for row in layout(exam, "types").rows] == ["True/false", "Overall"], "no row of a type it lacks"


# The bundled sample

DISCIPLINES = (
    *("Programming Fundamentals", "Data Structures and Algorithms", "Discrete Mathematics", "Theory of Computation"),
    *("Computer Architecture", "Operating Systems", "Computer Networks", "Databases", "Software Engineering"),
    *("Compilers and Programming Languages", "Computer Security", "Artificial Intelligence", "Machine Learning"),
    *("Deep Learning", "Natural Language Processing", "Computer Vision"),
)


def test_the_sample_has_two_questions_and_an_exemplar_of_each_type_for_each_discipline() -> None:
    texts: list[str] = []
    for name, number in (("test.jsonl", 2), ("exemplars.jsonl", 1)):
        counts = Counter((record.discipline, record.type) for record in sample(name))
        assert counts == {(discipline, type_): number for discipline in DISCIPLINES for type_ in TYPES}
        texts += (" ".join(record.question.split()).casefold() for record in sample(name))
    assert len(texts) == len(set(texts)), "no exemplar is a question of the test"


def test_the_self_test_finds_what_is_wrong(tmp_path: Path) -> None:
    """A gold that its own grading does not accept, here a blank's."""
    too_long = opened(data=written(tmp_path, line("FB", answer="x" * 3_000)), shots=0)
    (found, *_) = failures(too_long)
    assert "operating-systems/fb/1" in found
