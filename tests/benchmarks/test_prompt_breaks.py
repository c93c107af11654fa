"""Prompts byte for byte: an empty part leaves no trace, and `[breaks]` defines the separators."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from benchmarks.handmade import cmmlu, csbench, record, rows
from rows import tabled
from viva.benchmarks import CUSTOM, open_exam
from viva.errors import DataError
from viva.types import ExamSpec, Generate, Prompt, Sampling

BARE: dict[str, Any] = {
    "en": {
        "option": "{letter}){text}",
        "choice": {"task": "", "ask": "", "lead": "", "question": "{question}{options}", "answer": "={answer}"},
    },
    "breaks": {"task": "|", "exemplar": "#", "option": ";", "answer": "", "ask": "?", "lead": "!"},
}


def prompt(data: Path | None, templates: dict[str, Any] | None, **spec: Any) -> Prompt:
    exam = open_exam(ExamSpec(**{"language": "en", **spec}), data, templates)
    found = exam.request(next(iter(exam.questions())), 0, Sampling())
    assert isinstance(found, Generate)
    return found.prompt


def text(given: Prompt) -> str:
    return given if isinstance(given, str) else "".join(message.content for message in given)


def test_any_prompt_can_be_had_byte_for_byte(tmp_path: Path) -> None:
    options = {letter: letter.lower() for letter in "ABCD"}
    data = csbench(
        tmp_path / "cs", "en", [record(1, Question="Q1", **options)], [record(2, "C", Question="Q2", **options)]
    )
    subject = {"anatomy": rows(["Q1", "a", "b", "c", "d", "A"])}
    chinese = cmmlu(tmp_path / "zh", subject, {"anatomy": rows(["Q2", "a", "b", "c", "d", "B"])})
    block, letters = "Q1A)a;B)b;C)c;D)d", "Q2A)a;B)b;C)c;D)d=C"
    choice = BARE["en"]["choice"]
    full = {**BARE, "en": {**BARE["en"], "choice": {**choice, "task": "T", "ask": "ask", "lead": "L"}}}
    flat = {
        "task": "",
        "lead": "",
        "option": "{letter}{text}",
        "question": "{question}\n{options}",
        "answer": "{answer}",
    }
    one: dict[str, Any] = {"benchmark": "csbench"}
    base = {**one, "form": "base"}
    zh: dict[str, Any] = {"benchmark": "cmmlu", "language": "zh"}
    cases: tuple[tuple[Path, dict[str, Any], dict[str, Any], str], ...] = (
        (data, BARE, one, block),
        (data, BARE, {**one, "shots": 1}, f"{letters}#{block}"),
        (data, BARE, {**base, "shots": 1}, f"{letters}#{block}"),
        (data, full, {**one, "shots": 1}, f"T|{letters}#{block}?ask"),
        (data, full, {**base, "shots": 1}, f"T|{letters}#{block}!L"),
        (data, full, {**one, "as_published": True}, f"T|{block}?ask"),
        (chinese, flat, zh, "Q1\nAa\nBb\nCc\nDd"),
        (chinese, flat, {**zh, "shots": 1}, "Q2\nAa\nBb\nCc\nDd\nB\n\nQ1\nAa\nBb\nCc\nDd"),
        (chinese, {**flat, "breaks": {"answer": "", "exemplar": ""}}, {**zh, "shots": 1},
         "Q2\nAa\nBb\nCc\nDdBQ1\nAa\nBb\nCc\nDd"),
    )  # fmt: skip
    for (place, templates, spec, expected), row in tabled(*cases):
        with row:
            assert text(prompt(place, templates, **spec)) == expected


def test_an_empty_part_leaves_nothing_in_the_other_benchmarks() -> None:
    kinds = ("choice", "choices", "truth", "term", "open")
    syneval = {"system": "", "cue": "", "lead": "", **{name: {"task": "", "ask": ""} for name in ("TF", "MC", "FITB")}}
    asking = {"ask": "", **{kind: {"why": "", "what": ""} for kind in kinds}}
    clrbench = {"lead": "", "rationale": {"ask": {"en": asking}}, **{kind: {"task": ""} for kind in kinds}}
    given = {"syneval": syneval, "clrbench": clrbench}
    for (name, form), row in tabled(*itertools.product(given, ("chat", "base"))):
        with row:
            found = prompt(None, given[name], benchmark=name, form=form)
            assert isinstance(found, str) or [message.role for message in found] == ["user"]
            assert text(found) == text(found).strip("\n")
            assert text(found).startswith(("Sentence:", "Question:"))


def test_breaks_are_named_where_there_are_none_and_kept_in_the_record() -> None:
    exam = open_exam(ExamSpec(benchmark="csbench"), None, {"breaks": {"task": "\n"}})
    assert exam.templates["breaks"] == {"task": "\n"}
    assert text(prompt(None, dict(exam.templates), benchmark="csbench")).startswith(
        "The following is a multiple-choice question about computer science. Exactly one option is right.\nQuestion:"
    )
    assert "breaks" not in open_exam(ExamSpec(benchmark="csbench"), None).templates
    for (benchmark, breaks, said), row in tabled(
        ("csbench", {"tsak": ""}, "'breaks.tsak'"),
        ("csbench", {"task": 1}, "'breaks.task'"),
        ("infibench", {"task": ""}, "'breaks'"),
    ):
        with row, pytest.raises(DataError, match=said):
            open_exam(ExamSpec(benchmark=benchmark), None, {"breaks": breaks})


def test_a_question_file_without_a_system_prompt_keeps_the_line_feeds_of_its_questions(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    asked = 'title: Own\nquestions:\n- id: q\n  question: "\\n\\n  Which?"\n  grading: {keywords: [x]}\n'
    file.write_text(asked, encoding="utf-8")
    assert text(prompt(file, None, benchmark=CUSTOM, form="base")) == "\n\n  Which?"
