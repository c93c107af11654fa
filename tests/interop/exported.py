"""Graded runs for the tests of exports: a plain one with every outcome, and a hostile one."""

from __future__ import annotations

import json
from pathlib import Path

from cli.told import command_of, told
from rows import tables_beside
from servers.fixtures import QUIET
from viva.cli.ask.run import run_command
from viva.cli.grade.score import score_command
from viva.errors import EXIT_INCOMPLETE
from viva.render.result import Result
from viva.runs.answers import read_run
from web.hostile import make_run

export_command = command_of("export")
QUESTIONS = tables_beside(__file__)["questions"]
REPLIES = {
    "tcp": ["B", "A", "I will not say."],
    "even.odd": ["False", "False", ""],
    "why": ["Because.", "Because.", "Because."],
    "sort": ["heap sort", "merge the heap", "bubbles"],
}
"""`lost` was not answered: an outage. `why` has no judge. Three answers to each."""


def plain_run(folder: Path) -> Path:
    """Answers that are right, partly, wrong, empty, ungraded and missing."""
    (folder / "ours.json").write_text(json.dumps(QUESTIONS), encoding="utf-8")
    lines = [
        json.dumps({"question": question, "sample": sample, "text": text})
        for question, texts in REPLIES.items()
        for sample, text in enumerate(texts)
    ]
    (folder / "replies.jsonl").write_text("\n".join(lines), encoding="utf-8")
    model = ("--model", f"replay/{folder / 'replies.jsonl'}", "--model", "baseline/first")
    command = [str(folder / "ours.json"), *model, "--samples", "3", "--run", str(folder / "plain"), *QUIET]
    assert run_command.main(command, standalone_mode=False) == EXIT_INCOMPLETE
    return folder / "plain"


def hostile_run(folder: Path) -> Path:
    """Every text and every name is an attack."""
    run = make_run(folder)
    score_command.main([str(run), "--format", "json", "--out", str(folder / "out.json")], standalone_mode=False)
    return run


def exported(run: Path, form: str, out: Path, *more: object) -> Path:
    """`viva export RUN --to FORMAT --out OUT`, in this process."""
    assert told(export_command, run, "--to", form, "--out", out, *more) == ""
    return out


def results(run: Path) -> dict[tuple[str, str], Result]:
    """(exam, model) → our own result."""
    return {(result.exam, result.model): result for result in read_run(run, "none").report.results}


def scores(run: Path) -> list[dict[str, object]]:
    """The rows of scores.jsonl."""
    return [json.loads(line) for line in (run / "scores.jsonl").read_bytes().splitlines()]
