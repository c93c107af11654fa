"""Many files of answers graded by one command that is killed again and again: nothing is lost, nothing graded twice."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from servers.fixtures import Going, Viva, wait_until
from viva.runs.config import AnswerFileOptions, FolderOptions, GradePlan
from viva.runs.session import create_folder, plan_grading

COUNT = 1500
MODELS = ("one", "two", "three")


def prepare(folder: Path) -> list[str]:
    """A card, its questions, and three files of replies; returns the arguments of `viva grade`."""
    letters = "ABC"
    rows = [{"id": n, "q": f"What is {n} + 1?", "o": [f"{n}", f"{n + 1}", f"{n + 2}"], "a": "B"} for n in range(COUNT)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "own.yaml").write_text("data: rows.jsonl\nformat: choice\nid: id\nquestion: q\noptions: o\nanswer: a\n")
    for at, name in enumerate(MODELS):
        said = "".join(
            json.dumps({"id": n, "reply": f"We add one to {n}. The answer is ({letters[(n * (at + 1)) % 3]})."}) + "\n"
            for n in range(COUNT)
        )
        (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(said.encode()))
    return ["grade", "own.yaml", *(f"{name}.jsonl.gz" for name in MODELS), "--text-column", "reply"]


def test_answers_lie_in_the_folder_before_it_is_a_run(tmp_path: Path) -> None:
    benchmark, *files = (str(tmp_path / name) for name in prepare(tmp_path)[1:-2])
    opened, _ = plan_grading(
        GradePlan(
            benchmark=benchmark,
            answers=(*map(Path, files),),
            reading=AnswerFileOptions(text_column="reply"),
            folder=FolderOptions(run=tmp_path / "run"),
        )
    )
    create_folder(opened)
    opened.folder.unlock()
    assert sorted(opened.kept) == [f"answers-{number}.jsonl" for number in (1, 2, 3)]
    assert all((tmp_path / "run" / name).read_bytes() == content for name, content in opened.kept.items())


def _or_over(going: Going, reached: Callable[[], bool]) -> Callable[[], bool]:
    return lambda: going.process.poll() is not None or reached()


@pytest.mark.slow
def test_killed_at_every_stage_and_resumed_the_scores_are_those_of_a_run_that_was_not(viva: Viva) -> None:
    arguments = prepare(viva.folder)
    assert viva.start(*arguments, "--run", "whole").ended().code == 0
    run, journal = viva.folder / "run", viva.folder / "run" / "responses.jsonl"

    def lines() -> int:
        return journal.read_bytes().count(b"\n") if journal.exists() else 0

    partial = run / ".scores.jsonl.partial"
    stages: list[Callable[[], bool]] = [
        (run / f"answers-{len(MODELS)}.jsonl").exists,
        (run / "run.json").exists,
        lambda: lines() >= 1,
        lambda: lines() >= COUNT,
        lambda: lines() >= 2 * COUNT,
        lambda: partial.exists() and partial.stat().st_size > 0,
    ]
    held: dict[str, dict[str, object]] = {}
    killed = 0
    for reached in stages:
        resumed = ("resume", "run") if (run / "run.json").exists() else (*arguments, "--run", "run")
        going = viva.start(*resumed)
        wait_until(_or_over(going, reached), "a stage")
        killed += going.process.poll() is None
        going.kill()
        now = {entry["key"]: entry for entry in viva.entries("run")} if journal.exists() else {}
        assert held.items() <= now.items(), "an answer that was in the journal is gone, or another"
        held = now
    assert killed == len(stages)
    assert viva.start("resume", "run").ended().code == 0
    assert len(viva.entries("run")) == len(MODELS) * COUNT, "each answer is in the journal once"
    assert (run / "scores.jsonl").read_bytes() == (viva.folder / "whole" / "scores.jsonl").read_bytes()
