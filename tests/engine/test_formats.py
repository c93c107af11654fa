"""Run folders of earlier layouts open, and their records keep their meaning."""

import json
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from servers.fixtures import Viva
from viva.engine.evidence import read_execution
from viva.engine.folder import FORMAT, ModelRecord, RunFolder
from viva.engine.journal import Journal
from viva.errors import StorageError
from viva.types import Execution

JUDGE = {"name": "openai/j", "base_url": "http://127.0.0.1:1/v1", "key_variable": None}


KEPT = Path(__file__).parent / "formats"


def old(folder: Path, **more: Any) -> Path:
    """A run.json of folder format 1, as Viva wrote it when there was one judge."""
    record = json.loads((KEPT / "1" / "run.json").read_text()) | more
    folder.mkdir(exist_ok=True)
    (folder / "run.json").write_text(json.dumps(record))
    return folder


def test_a_run_with_one_judge_or_none_opens_with_that_judge(tmp_path: Path) -> None:
    record = RunFolder.open(old(tmp_path, judge=JUDGE, judge_samples=3)).record
    assert record.judges == [ModelRecord(**JUDGE)]
    assert record.judge_samples == 3
    assert record.encoder is None
    spec = record.exams[0].spec
    assert (spec.rationale, spec.encoder, spec.panel) == (False, "", "mean")
    content = json.loads((tmp_path / "run.json").read_text())
    del content["judge"]
    (tmp_path / "run.json").write_text(json.dumps(content))
    assert RunFolder.open(tmp_path).record.judges == []


def test_opening_an_old_run_changes_nothing_and_writing_it_makes_it_new(tmp_path: Path) -> None:
    folder = old(tmp_path, judge=JUDGE)
    before = (folder / "run.json").read_bytes()
    opened = RunFolder.open(folder)
    assert (folder / "run.json").read_bytes() == before
    opened.lock()
    opened.remember(opened.record)
    opened.unlock()
    again = RunFolder.open(folder).record
    assert again == opened.record
    assert again.judges == [ModelRecord(**JUDGE)]
    # Or a Viva that knows format 1 alone would take a panel for no judge at all.
    written = json.loads((folder / "run.json").read_text())
    assert "judges" in written
    assert written["format"] == FORMAT == 2


@pytest.mark.parametrize("judge", [5, "openai/j", [], {"model": "x"}])
def test_a_judge_that_is_none_is_a_damaged_run_json(tmp_path: Path, judge: Any) -> None:
    folder = old(tmp_path, judge=judge)
    if not judge:
        assert RunFolder.open(folder).record.judges == []
        return
    with pytest.raises(StorageError, match=r"run\.json is damaged"):
        RunFolder.open(folder)


def test_programs_that_passed_a_twin_of_their_test_are_read(tmp_path: Path) -> None:
    """So their verdicts were written when every passed test had a twin that a program must fail."""
    fared = {"verdict": "passed", "seconds": 1.5, "cpu": 0.5, "isolation": "shared", "suspect": True}
    entry = {"key": "00" * 16, "benchmark": "infibench", "model": "m", "question": "q", "text": json.dumps(fared)}
    (tmp_path / "executions.jsonl").write_text(json.dumps(entry) + "\n")
    with closing(Journal(tmp_path / "executions.jsonl", write=False)) as journal:
        (kept,) = journal.entries()
    assert read_execution(kept) == Execution("passed", seconds=1.5, cpu=0.5, isolation="shared")


@pytest.mark.parametrize("kept", [1, 2])
def test_a_kept_run_of_every_format_is_shown_graded_and_gone_on_with(viva: Viva, kept: int) -> None:
    """The folders were written by Vivas of their days: two of three questions are answered, one of them rightly."""
    shutil.copytree(KEPT / str(kept), viva.folder / "run")
    shutil.copy(KEPT / "own.yaml", viva.folder)
    record = viva.folder / "run" / "run.json"
    record.write_text(record.read_text().replace("HERE", str(viva.folder)))
    assert json.loads(record.read_text())["format"] == kept
    answers = (KEPT / "a.jsonl").read_text()
    (viva.folder / "a.jsonl").write_text(answers)
    assert "wrong" in viva("show", "run", "--wrong").out
    assert viva("report", "run", "--out", "page.html").code == 0
    assert "50.00" in viva("score", "run").out
    before = [entry for entry in viva.entries() if "error" not in entry]
    assert viva("resume", "run").code == 3
    assert [entry for entry in viva.entries() if "error" not in entry] == before, "what was answered is not asked again"
    (viva.folder / "a.jsonl").write_text(answers + '{"question":"peru","sample":0,"text":"The answer is C."}\n')
    ended = viva("resume", "run")
    assert (ended.code, "66.67" in ended.out) == (0, True)
