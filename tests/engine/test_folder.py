"""Run folders that are torn, damaged, full, read-only, of an earlier or a newer Viva, or in use by another process."""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engine.sample import ONE
from rows import each_row
from servers.fixtures import HERE, SAMPLE, Ended, LocalServer, Serve, Viva, wait_until
from viva.engine.evidence import read_execution
from viva.engine.folder import FORMAT, ModelRecord, RunFolder
from viva.engine.journal import Journal
from viva.types import Execution

MEGABYTE = 1 << 20
OFFLINE = ("run", "cmmlu", "--model", "baseline/random", "--progress", "quiet", "--format", "json", "--run", "run")


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder; the lock's own does not count."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != ".lock"}


def test_a_torn_last_line_is_set_aside_and_its_question_asked_again(viva: Viva) -> None:
    assert viva(*OFFLINE).code == 0
    journal = viva.folder / "run" / "responses.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    torn = lines[-1][:-20]
    journal.write_bytes(b"".join(lines[:-1]) + torn)
    before = viva.scores()

    ended = viva("score", "run", "--format", "json").exits(3)
    assert ended.overall["outcomes"]["not asked"] == 1
    viva.resume().exits()
    assert len(viva.answered()) == len(viva.entries()) == SAMPLE
    assert viva.scores() == before
    assert torn in b"".join(path.read_bytes() for path in journal.parent.glob("*.torn"))


def test_a_damaged_line_in_the_middle_is_named_and_can_be_taken_out(viva: Viva) -> None:
    assert viva(*OFFLINE).code == 0
    journal = viva.folder / "run" / "responses.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines[:40], lines[40][:50] + b"\n", *lines[41:]]))
    before = contents(journal.parent)
    for command in ("resume", "score"):
        ended = viva(command, "run").exits(5, "responses.jsonl, line 41")
        assert "Traceback" not in ended.err
    assert contents(journal.parent) == before

    journal.write_bytes(b"".join([*lines[:40], *lines[41:]]))  # as the message says
    assert viva.resume().code == 0
    assert len(viva.answered()) == SAMPLE


def test_a_second_writer_is_refused_while_the_first_goes_on(serve: Serve, viva: Viva) -> None:
    server = serve(latency=1.0)
    first = viva.start(*viva.examining(server, "--concurrency", 4))
    wait_until(lambda: server.asked >= 1, "the first request")
    for command, why in (
        (("resume", "run"), "another process"),
        (("score", "run"), "another process"),
        (tuple(viva.examining(server)), "holds a run already"),
    ):
        viva(*command).exits(5, why)
    assert first.process.poll() is None, "the first run ended before the others were refused"
    server.control(latency=0.0)
    assert first.ended().code == 0
    assert server.asked == SAMPLE
    assert len(viva.entries()) == SAMPLE


def test_a_run_of_a_newer_viva_is_left_as_it_is(viva: Viva) -> None:
    assert viva(*OFFLINE).code == 0
    path = viva.folder / "run" / "run.json"
    record = json.loads(path.read_text())
    record |= {"format": record["format"] + 1, "viva": "99.1", "exams": "in a way that nobody knows yet"}
    path.write_text(json.dumps(record))
    before = contents(viva.folder / "run")
    for command in ("resume", "score"):
        viva(command, "run").exits(5, "99.1", "upgrade")
    assert contents(viva.folder / "run") == before


@each_row(b"", b'{"format": 1}', b"\xff\xfe")
def test_a_damaged_run_json_is_named(content: bytes, *, viva: Viva) -> None:
    (viva.folder / "run").mkdir(exist_ok=True)
    (viva.folder / "run" / "run.json").write_bytes(content)
    ended = viva("resume", "run").exits(5, "run.json")
    assert "Traceback" not in ended.err


def without_the_power_to_override() -> None:
    """Root may write where the mode says read-only; a child without this capability may not, as other users."""
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP: what exec will not give back


def test_a_read_only_run_can_be_looked_at_and_not_gone_on_with_or_begun(server: LocalServer, viva: Viva) -> None:
    server.control(always={ONE: "400"})
    assert viva.examine(server).code == 3
    asked = server.asked
    run, locked = viva.folder / "run", viva.folder / "locked"
    locked.mkdir()
    for path in run.iterdir():
        path.chmod(0o444)
    commands = (
        ("resume", "run"),
        ("show", "run", "--limit", 1),
        ("score", "run"),
        viva.examining(server, run="locked/run"),
    )
    cases = viva.folder / "cases.json"
    cases.write_text(json.dumps([[*map(str, command)] for command in commands]))
    places = [str(HERE), viva.environment.get("PYTHONPATH", "")]
    viva.environment["PYTHONPATH"] = os.pathsep.join(filter(None, places))
    for folder in (run, locked):
        folder.chmod(0o555)
    try:
        printed = viva(cases, module="driver", preexec_fn=without_the_power_to_override)
    finally:
        for folder in (run, locked):
            folder.chmod(0o755)
    resumed, shown, scored, begun = (Ended(*json.loads(line)) for line in printed.out.splitlines())
    assert [resumed.code, shown.code, scored.code, begun.code] == [5, 0, 3, 5], "its scores are fresh"
    assert "run" in resumed.err
    assert "Traceback" not in resumed.err
    assert "locked/run" in begun.err
    assert server.asked == asked


@pytest.fixture
def small_disk(viva: Viva) -> Iterator[Path]:
    """A file system of 8 MiB, mounted as the folder `disk`."""
    disk = viva.folder / "disk"
    disk.mkdir()
    if os.geteuid() != 0:
        pytest.skip("a full disk needs root: it mounts a small tmpfs")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"a full disk needs the right to mount a tmpfs: {mounted.stderr.strip()}")
    yield disk
    viva.stop()
    subprocess.run(["umount", "-l", disk], check=True)


def test_on_a_full_disk_asking_stops_and_no_answer_that_came_is_lost(
    serve: Serve, viva: Viva, small_disk: Path
) -> None:
    server = serve(padding=MEGABYTE // 6, latency=0.01)
    run = "disk/run"
    ended = viva.examine(server, "--concurrency", 16, run=run).exits(5)
    journal = small_disk / "run" / "responses.jsonl"
    assert re.search(r"is full \([0-9,]+ bytes are free; the answers so far take ([0-9,]+)\)", ended.err)
    assert f"take {journal.stat().st_size:,}" in ended.err
    assert "Traceback" not in ended.err
    answered = server.answered()
    assert 20 <= len(answered) == len(server.events("asked")) < SAMPLE
    assert len(viva.answered(run)) == len(viva.entries(run)) == len(answered)
    assert journal.read_bytes().endswith(b"\n")

    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    viva.resume(run=run).exits()
    assert server.asked_each() == {1}
    assert len(viva.answered(run)) == SAMPLE


def test_on_a_disk_that_is_full_already_nothing_is_asked(serve: Serve, viva: Viva, small_disk: Path) -> None:
    server = serve()
    (small_disk / "somebody's").write_bytes(b"x" * 7 * MEGABYTE)
    ended = viva.examine(server, run="disk/run").exits(5, "room")
    assert "Traceback" not in ended.err
    assert server.asked == 0
    (small_disk / "somebody's").unlink()
    assert viva.resume(run="disk/run").code == 0
    assert server.asked == SAMPLE


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
