"""Exam cards: allowed fields, rows with defects, and the grading of every format."""

from __future__ import annotations

import gzip
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import table, tabled
from viva.benchmarks import CARD, CUSTOM, file_benchmark, open_exam
from viva.benchmarks.card import cardtable as tables
from viva.benchmarks.card.cardexam import CardExam
from viva.benchmarks.card.cardmodel import Card, parse_card
from viva.benchmarks.card.questions import read_row
from viva.errors import DataError
from viva.types import ExamSpec, Generate, Response, Sampling

ROWS: list[dict[str, Any]] = [
    {"id": 1, "q": "Which metal is liquid?", "o": ["mercury", "iron", "tin"], "a": "A", "area": "chemistry"},
    {"id": 2, "q": "What is 2 + 2?", "o": ["3", "4", "5"], "a": "B", "area": "math"},
    {"id": 3, "q": "Which is the matrix?", "o": ["bb", "Bb", "BB"], "a": "C", "area": "math"},
]
PLAIN = "format: choice\nid: id\nquestion: q\noptions: o\nanswer: a\n"


def card(folder: Path, said: str, rows: list[dict[str, Any]], **settings: Any) -> CardExam:
    """The exam of a card and its rows."""
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "card.yaml").write_text(f"data: rows.jsonl\n{said}", encoding="utf-8")
    exam = open_exam(ExamSpec(benchmark=CARD, name="card", **settings), folder / "card.yaml")
    return exam.inner if hasattr(exam, "inner") else exam  # type: ignore[return-value]


def prompt(exam: CardExam, at: int = 0) -> str:
    request = exam.request(list(exam.questions())[at], 0, Sampling())
    assert isinstance(request, Generate)
    return request.prompt if isinstance(request.prompt, str) else request.prompt[-1].content


def test_a_slip_in_a_card_is_named_and_a_question_file_is_none(tmp_path: Path) -> None:
    with table() as row:
        for said, wanted in tomllib.loads(Path(__file__).with_name("cards.toml").read_text(encoding="utf-8"))["slips"]:
            with row(said), pytest.raises(DataError) as problem:
                parse_card(said.encode(), "c.yaml")
            with row(f"{said}, said"):
                assert wanted in str(problem.value)
    contents = ("data: x.csv\nformat: choice\n", "title: T\nquestions:\n  - id: a\n", "questions: []\ndata: 3\n", "")
    for content, kind in zip(contents, (CARD, CUSTOM, CUSTOM, CUSTOM), strict=True):
        (tmp_path / "x.yaml").write_text(content)
        assert file_benchmark(tmp_path / "x.yaml") == kind


def test_what_is_wrong_with_rows_leaves_them_out_and_the_others_in(tmp_path: Path) -> None:
    fine: dict[str, Any] = {"q": "Q", "o": ["x", "y"], "a": "A", "area": "math"}
    bad: dict[str, dict[str, Any]] = {
        "no question": {"q": ""}, "too few options": {"o": ["x"]}, "gold is none of the options": {"a": "C"},
        "gold is several options": {"o": ["x", "x", "y"]}, "no gold": {"a": None}, "no options": {"o": "x, y"},
        "the id stands there twice": {"id": 1}, "too many options": {"o": [str(n) for n in range(27)]},
        "no such column": {"o": ...},
    }  # fmt: skip
    noted: list[tuple[str, str, dict[str, Any]]] = [
        ("equal options", "noted", {"o": ["x", "y", "y"]}),
        ("the question stands there twice", "noted", {**ROWS[1], "o": ["5", "4", "3"]}),
        ("the question stands there twice, with another gold", "noted", {**ROWS[1], "o": ["5", "4", "3"], "a": "A"}),
        ("options with labels", "repaired", {"o": ["(A) x", "(B) y"], "a": "(B)"}),
    ]
    others = [{**fine, "q": f"Q{at}", **one, "id": 20 + at} for at, (*_, one) in enumerate(noted)]
    wrong = [{**fine, "id": 10 + at, **one} for at, one in enumerate(bad.values())]
    rows = [*ROWS, *({key: value for key, value in row.items() if value is not ...} for row in wrong), *others]
    exam = card(tmp_path, f"{PLAIN}tags: [area, arae]\n", rows)
    assert sorted(defect.kind for defect in exam.defects if defect.action == "unsound") == sorted(bad)
    assert {(one.question, one.kind, one.action) for one in exam.defects if one.action != "unsound"} == {
        *((str(20 + at), kind, action) for at, (kind, action, _) in enumerate(noted)),
        ("arae", "no row has this tag", "noted"),
    }
    questions = list(exam.questions())
    assert len(questions) == len(exam) == len({question.id for question in questions}) == 16
    assert sum(question.answer is not None for question in questions) == 7
    score = exam.score(next(question for question in questions if question.id == "13"), Response(text="A"))
    assert (score.value, score.outcome) == (None, "unsound")
    assert score.explanation == "gold is several options: A, B read the same"
    assert questions[-1].options == ("x", "y")


def test_a_card_that_fits_no_row_says_what_it_may_mean(tmp_path: Path) -> None:
    numbered = [{**row, "a": 2} for row in ROWS]
    for (said, rows, wanted), row in tabled(
        (PLAIN, numbered, "gold is no letter 3. Row 1: '2'; where it is an index, say `answer: {column: a, as: index"),
        (PLAIN.replace("question: q", "question: text"), ROWS, "has no column 'text'; it has 'id', 'q', 'o', 'a'"),
        (PLAIN.replace("answer: a", "answer: gold"), ROWS, "it has no 'gold'; the columns are 'id', 'q'"),
        (PLAIN.replace("question: q", 'question: "{p}\\n{q}"'), ROWS, "has no column 'p'"),
    ):
        with row:
            with pytest.raises(DataError) as problem:
                card(tmp_path, said, rows)
            assert wanted in str(problem.value)


def test_exemplars_reasoning_and_prompts(tmp_path: Path) -> None:
    shots = [{**row, "id": f"s{row['id']}", "q": f"shown {row['q']}", "why": "Because."} for row in ROWS]
    (tmp_path / "dev.jsonl").write_text("".join(json.dumps(row) + "\n" for row in shots))
    said = f"{PLAIN}tags: [area]\nexemplars: {{data: dev.jsonl, by: area, reasoning: why}}\n"
    shown = prompt(card(tmp_path, said, ROWS, shots=1, chain_of_thought=True), 1)
    assert "multiple-choice questions about math" in shown
    assert "shown What is 2 + 2?" in shown
    assert "Because. So the answer is B." in shown
    assert "shown Which metal" not in shown
    assert shown.endswith("Let us think step by step.")
    own = f'{PLAIN}prompt: {{task: "Go{{subject}}.", question: "Q {{question}} / {{options}}"}}\n'
    assert prompt(card(tmp_path, own, ROWS)).startswith("Go.\n\nQ Which metal is liquid? / A. mercury\n")
    competing = prompt(card(tmp_path, PLAIN, ROWS, choose="likelihood", form="base"))
    assert competing.endswith("Question: Which metal is liquid?\nAnswer:"), "options that follow are not listed before"
    truths = "format: truth\nquestion: q\nanswer: t\nexemplars: rows.jsonl\n"
    stated = [{"q": "1 < 2", "t": "yes"}, {"q": "2 < 1", "t": "no"}]
    assert "2 < 1\nAnswer: False\n" in prompt(card(tmp_path, truths, stated, shots=1, choose="likelihood", form="base"))
    with pytest.raises(DataError, match="the card names none"):
        card(tmp_path, PLAIN, ROWS, shots=1)
    with pytest.raises(DataError, match=r"lacks \{options\}"):
        card(tmp_path, f'{PLAIN}prompt: "Only {{question}}"\n', ROWS)


def test_every_format_is_graded(tmp_path: Path) -> None:
    with table() as row:
        for graded in tomllib.loads(Path(__file__).with_name("replies.toml").read_text(encoding="utf-8"))["graded"]:
            exam = card(tmp_path, f"question: q\n{graded['card']}\n", [graded["row"]])
            (question,) = exam.questions()
            for reply, value in graded["replies"].items():
                with row((graded["card"], reply)):
                    assert exam.score(question, Response(text=reply)).value == (None if value == "unscored" else value)
    phrase = card(tmp_path, "question: q\nformat: phrase\nanswer: a\n", [{"q": "?", "a": "the red brick house"}])
    score = phrase.score(next(iter(phrase.questions())), Response(text="a red house"))
    assert (score.value, score.parts) == (0.0, {"exact": 0.0, "f1": pytest.approx(0.8)})


def test_shuffled_options_follow_the_seed(tmp_path: Path) -> None:
    said = "id: id\nquestion: q\nformat: choice\noptions: {right: r, wrong: [w1, w2, w3]}\n"
    rows = [{"id": n, "q": f"Q{n}", "r": "right", "w1": "a", "w2": "b", "w3": "c"} for n in range(40)]
    first, again, other = (list(card(tmp_path, said, rows, seed=seed).questions()) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert all(question.options["ABCD".index(str(question.answer))] == "right" for question in first)
    assert {question.answer for question in first} == set("ABCD")


def test_a_large_table_is_read_anew_and_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = tables.LARGE
    for ids, texts in ((90, 90), (90, 70), (60, 70)):  # no two rows alike, some with one text, some with one id
        rows = [{"id": n % ids, "q": f"Q{n % texts}", "o": ["x", f"y{n % texts}"], "a": "A"} for n in range(90)]
        made = []
        for most in (usual, 10):
            monkeypatch.setattr(tables, "LARGE", most)
            exam = card(tmp_path, f"{PLAIN}tags: [q]\n", rows)
            made.append((list(exam.questions()), exam.defects, exam.fingerprint, exam.layouts()))
        assert made[0] == made[1]
        assert bool(made[0][1]) == (texts < 90)
    part = card(tmp_path, PLAIN, rows, limit=7)
    assert [question.text for question in part.questions()] == [rows[at * 90 // 7]["q"] for at in range(7)]


def test_gzipped_tables_and_what_is_none(tmp_path: Path) -> None:
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(b'q,A,B,a\n"Is, say, tin a metal?",yes,no,A\n'))
    (tmp_path / "card.yaml").write_text("data: rows.csv.gz\nformat: choice\nquestion: q\noptions: [A, B]\nanswer: a\n")
    exam = open_exam(ExamSpec(benchmark=CARD), tmp_path / "card.yaml")
    assert [question.text for question in exam.questions()] == ["Is, say, tin a metal?"]
    for (content, said), row in tabled(
        (b"q,A,B,a\nx,y\n", "line 2: 2 cells, and there are 4 columns"),
        (b"q,q\n", "column 'q' is there twice"),
        (b"q,A,B,a\n", "there is no row in it"),
        (b"\xff\xfe\n", "is not UTF-8"),
        (b"PK\x03\x04....", "is a zip file or a spreadsheet"),
        (b'{"q": 1', "is no JSON"),
        (b"[1, 2]", "is no list of JSON objects"),
    ):
        with row:
            (tmp_path / "rows.csv.gz").write_bytes(content)
            with pytest.raises(DataError, match=said):
                open_exam(ExamSpec(benchmark=CARD), tmp_path / "card.yaml")


def test_a_card_in_a_run_folder_reads_nothing_outside(tmp_path: Path) -> None:
    (tmp_path / "secret.jsonl").write_text(json.dumps(ROWS[0]) + "\n")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    (tmp_path / "run" / "card.yaml").write_text(f"data: ../secret.jsonl\n{PLAIN}")
    with pytest.raises(DataError, match="a card in a run folder reads nothing outside of it"):
        open_exam(ExamSpec(benchmark=CARD), tmp_path / "run" / "card.yaml")


CELLS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["text", "label", "A", "x"]), inner),
    max_leaves=8,
)


@given(
    form=st.sampled_from(["choice", "choices", "truth", "exact", "number", "phrase", "open"]),
    gold=st.sampled_from(["letter", "index", "text", "flags"]),
    question=CELLS, options=CELLS, answer=CELLS,
)  # fmt: skip
def test_any_row_is_a_question_or_says_why_not(form: Any, gold: Any, question: Any, options: Any, answer: Any) -> None:
    chosen = form in ("choice", "choices")
    said: dict[str, Any] = {"options": "o", "answer": {"column": "a", "as": gold}} if chosen else {"answer": "a"}
    made = parse_card(json.dumps({"format": form, "question": "q", **said}).encode(), "c.yaml")
    assert isinstance(made, Card)
    read = read_row(made, {"q": question, "o": options, "a": answer}, "0", 0)
    unsound = [defect for defect in read.defects if defect.action == "unsound"]
    assert (read.question.answer is None) == bool(unsound)
    if chosen and read.question.answer is not None:
        assert set(read.question.answer) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(read.question.options)])
