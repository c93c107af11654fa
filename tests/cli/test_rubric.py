"""Question files and InfiBench from the command line: run, kill, resume, grade, check, score."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cli.collected import refused, write_jsonl
from rows import each_row
from servers.fixtures import QUIET, Viva, wait_until

QUESTIONS = """
title: Three questions
questions:
  - id: double
    question: Write a Python function `double(x)` that returns twice its argument.
    tags: {area: back-end}
    grading:
      tests:
        language: python
        cases:
          - {code: "assert double(2) == 4"}
          - {code: "assert double('ab') == 'abab'", weight: 3}
    examples:
      - {answer: "```python\\ndef double(x):\\n    return 2 * x\\n```", score: full}
      - {answer: "```python\\ndef double(x):\\n    return 4\\n```", score: 0.25}
  - id: undo
    question: How do I undo the last commit and keep the changes?
    tags: {area: tools}
    grading:
      keywords: ["git reset", "HEAD~"]
    examples:
      - {answer: "git reset --soft HEAD~1", score: full}
      - {answer: "git revert", score: none}
  - id: even
    question: Is zero an even number?
    tags: {area: theory}
    grading:
      truth: {answer: true}
    examples:
      - {answer: "Yes, it is true.", score: full}
      - {answer: "False", score: none}
"""
GOOD = {
    "double": "```python\ndef double(x):\n    return 2 * x\n```",
    "undo": "Use git reset --soft HEAD~1.",
    "even": "True",
}


@pytest.fixture
def questions(viva: Viva) -> Path:
    file = viva.folder / "mine.yaml"
    file.write_text(QUESTIONS)
    return file


def replay(viva: Viva, answers: dict[str, str], *, samples: int = 1) -> str:
    rows = [{"question": q, "sample": n, "text": text} for q, text in answers.items() for n in range(samples)]
    return f"replay/{write_jsonl(viva.folder / 'answers.jsonl', rows)}"


def examine(viva: Viva, file: Path, model: str, *more: object) -> Any:
    return viva("run", file, "--model", model, "--run", "run", "--format", "json", *QUIET, *more)


@pytest.mark.sandbox
def test_a_question_file_is_an_examination(viva: Viva, questions: Path) -> None:
    ended = examine(viva, questions, replay(viva, GOOD)).exits()
    assert ended.overall["mean"] == 1.0
    assert {row["exam"] for row in viva.scores()} == {"mine"}
    assert {entry["question"] for entry in viva.entries(stage="executions")} == {"double"}
    (result,) = ended.report["results"]
    assert [table["name"] for table in result["tables"]] == ["overall", "area"]
    assert "questions.19.mine" in result["signature"]
    assert viva("check", questions).out.count("3 questions, 6 example answers, 0 errors, 0 warnings") == 1


@pytest.mark.sandbox
def test_one_baseline_gives_the_authors_example_answers_and_no_other_does(viva: Viva, questions: Path) -> None:
    assert examine(viva, questions, "baseline/example-answers", "--samples", 8).code == 0
    found: dict[str, set[float]] = {}
    for row in viva.scores():
        found.setdefault(row["question"], set()).add(row["value"])
    assert found == {"double": {1.0, 0.25}, "undo": {1.0, 0.0}, "even": {1.0, 0.0}}
    names = [f"baseline/{name}" for name in ("random", "first", "last", "longest")]
    models = [word for name in names for word in ("--model", name)]
    assert viva("run", questions, *models, "--run", "others", "--format", "json", *QUIET).code == 0
    for name in names:
        guessed = {one["question"]: one["text"] for one in viva.entries("others") if one["model"] == name}
        assert guessed.pop("even") in ("True", "False")
        assert set(guessed.values()) == {"I do not know."}


@pytest.mark.sandbox
def test_identical_programs_are_run_once(viva: Viva, questions: Path) -> None:
    half = GOOD | {"double": "```python\ndef double(x):\n    return 4\n```", "undo": "git reset", "even": "False"}
    examine(viva, questions, replay(viva, half, samples=5), "--samples", 5).exits()
    assert len(viva.entries(stage="executions")) == 2
    assert len(viva.scores()) == 15
    found = {row["question"]: row["value"] for row in viva.scores()}
    assert found == {"double": 0.25, "undo": 0.5, "even": 0.0}, "partial credit is by weight"


@pytest.mark.sandbox
def test_programs_that_passed_a_test_in_their_own_process_are_listed(viva: Viva, questions: Path) -> None:
    whole = questions.read_text()
    questions.write_text(
        whole.replace('{code: "assert double(2) == 4"}', '{code: "import os\\nassert double(2) == 4"}')
    )
    wrong = "```python\ndef double(x):\n    raise ValueError('\x1b[31mno')\n```"
    rows = [{"question": "double", "sample": n, "text": text} for n, text in enumerate((GOOD["double"], wrong))]
    rows += [{"question": q, "sample": n, "text": GOOD[q]} for q in ("undo", "even") for n in range(2)]
    model = f"replay/{write_jsonl(viva.folder / 'answers.jsonl', rows)}"
    examine(viva, questions, model, "--samples", 2).exits()
    assert [row["value"] for row in viva.scores() if row["question"] == "double"] == [1.0, 0.0]
    shown = viva("show", "run", "--suspicious").exits()
    assert [line.split(", ")[1] for line in shown.out.splitlines() if line.startswith("===")] == ["sample 0"]
    assert "sharing a process with its test" in shown.out
    fared = viva("show", "run", "--question", "double", "--wrong").out
    assert "ValueError" in fared
    assert "\x1b" not in fared


@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="programs in Python run with /usr/bin/python3")
def test_the_only_way_round_the_sandbox_says_so_every_time(viva: Viva, questions: Path) -> None:
    ended = examine(viva, questions, replay(viva, GOOD), "--unsafe-host-execution").exits(0, "WITHOUT a sandbox")
    assert ended.overall["mean"] == 1.0
    assert "WITHOUT" not in examine(viva, questions, "baseline/silent", "--run", "silent").err


@pytest.mark.sandbox
def test_a_run_killed_while_programs_run_goes_on_where_it_was(viva: Viva, questions: Path) -> None:
    slow = "```python\nimport time\ndef double(x):\n    time.sleep(SECONDS)\n    return 2 * x\n```"
    rows = [{"question": "double", "sample": n, "text": slow.replace("SECONDS", f"0.2{n}")} for n in range(6)]
    file = write_jsonl(viva.folder / "answers.jsonl", rows)
    going = viva.start("run", questions, "--model", f"replay/{file}", "--samples", 6, "--run", "run", *QUIET)
    journal = viva.folder / "run" / "executions.jsonl"
    wait_until(lambda: journal.exists() and journal.read_bytes().count(b"\n") >= 4, "four programs")
    going.kill()
    done = {entry["key"] for entry in viva.entries(stage="executions")}
    assert 4 <= len(done) < 12
    viva.resume()
    keys = [entry["key"] for entry in viva.entries(stage="executions")]
    assert len(keys) == len(set(keys)) == 12
    assert done < {*keys}
    assert [row["value"] for row in viva.scores() if row["question"] == "double"] == [1.0] * 6


@pytest.mark.sandbox
def test_check_names_the_line_of_an_example_that_scores_otherwise(viva: Viva, questions: Path) -> None:
    text = questions.read_text().replace("score: 0.25", "score: none")
    questions.write_text(text)
    line = next(n for n, row in enumerate(text.splitlines(), 1) if "return 4" in row)
    ended = viva("check", questions).exits(3)
    assert f"mine.yaml:{line}:" in ended.out
    assert "should score none" in ended.out


def test_check_names_the_line_of_a_mistake_and_run_leaves_the_question_out(viva: Viva, questions: Path) -> None:
    questions.write_text(QUESTIONS.replace("keywords: [", "keyword: ["))
    ended = viva("check", questions).exits(3)
    assert "keywords" in ended.out
    assert "asked and left unscored, because of errors: undo" in ended.out
    run = examine(viva, questions, "baseline/silent").exits()
    assert "error in the file 1 (invalid gold); `viva check mine.yaml` lists them" in run.out + run.err
    assert "scored are 2 sound questions of 3" in run.out + run.err
    refused(examine(viva, questions, "baseline/silent", "--strict"), "--strict", "viva check")
    questions.write_text(f"titel: x\n{QUESTIONS}")
    refused(examine(viva, questions, "baseline/silent"), "mine.yaml", "viva check")


def test_errors_stand_before_warnings_and_case_makes_two_options(viva: Viva) -> None:
    one = (
        "  - id: q{0}\n    question: Which, {0}? A. x, B. X\n    grading:\n"
        "      choice: {{options: [x, X], answer: {1}}}\n"
    )
    rows = [one.format(number, "A" if number < 70 else "Z") for number in range(72)]
    (viva.folder / "many.yaml").write_text("questions:\n" + "".join(rows), encoding="utf-8")
    ended = viva("check", "many.yaml").exits(3)
    lines = ended.out.splitlines()
    assert [": error: question q70," in lines[0], ": error: question q71," in lines[1]] == [True, True]
    assert "more warnings" in ended.out
    assert "read alike" not in ended.out


@each_row(
    ("none.yaml", None, "none.yaml"),
    ("empty.yaml", "", "empty"),
    ("list.yaml", "- a\n", "questions:"),
    ("torn.yaml", "questions: [", "torn.yaml"),
    ("none.json", "{}", "questions"),
)
def test_a_file_that_is_none_gets_one_sentence(name: str, content: str | None, said: str, *, viva: Viva) -> None:
    if content is not None:
        (viva.folder / name).write_text(content)
    refused(examine(viva, viva.folder / name, "baseline/silent"), said)
