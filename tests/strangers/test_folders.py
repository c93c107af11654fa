"""Run folders of strangers: whatever lies in one, every command ends soon, in a sentence, and touches nothing else."""

import contextlib
import io
import itertools
import os
import re
import resource
import shutil
import signal
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest
from starlette.testclient import TestClient

from rows import each_row, tabled
from viva import plugins
from viva.cli.main import main
from viva.files import write_whole
from viva.pages.runs.runpages import application
from viva.pages.serving.guard import Access
from web.hostile import make_run

FILES = (
    "run.json", "responses.jsonl", "executions.jsonl", "annotations.jsonl", "similarities.jsonl", "reviews.jsonl",
    "errors.jsonl", "judge-bias.jsonl", "batches.jsonl", "scores.jsonl", "scores.made.json", "endpoints.json", ".lock",
    ".limits.json", "notes.json",
)  # fmt: skip
SOON = 20
"""Seconds of the processor that no command takes; a hang takes all there are."""


def _digits(path: Path, number: str) -> None:
    text = path.read_text(encoding="utf-8") if path.exists() else '{"key":"00","at":1}\n'
    path.write_text(re.sub(r'(": ?)(\d+(\.\d+)?)', rf"\g<1>{number}", text, count=40), encoding="utf-8")


def _link(path: Path, target: object) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(str(target))


def _pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def _holes(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def _folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


KINDS: dict[str, Callable[[Path], object]] = {
    "a pipe": _pipe,
    "a device": lambda path: _link(path, "/dev/zero"),
    "a link": lambda path: _link(path, path.parent.parent / "precious"),
    "a link to nothing": lambda path: _link(path, path.parent.parent / "made"),
    "a folder": _folder,
    "a terabyte of holes": _holes,
    "nested": lambda path: path.write_bytes(b'{"key":' * 100_000),
    "nested where nobody looks": lambda path: path.write_bytes(
        b'{"key":"00","x":' + b"[" * 9999 + b"]" * 9999 + b"}\n"
    ),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:-5] if path.exists() else b"{"),
    "no text": lambda path: path.write_bytes(b"\xff\xfe\x00\n{}\n[]\nnull\n"),
    "huge numbers": lambda path: _digits(path, "1e308"),
    "numbers of thirty digits": lambda path: _digits(path, "9" * 30),
    "negative numbers": lambda path: _digits(path, "-7"),
}
Given: TypeAlias = Callable[[Path, Path, Path], tuple[object, ...]]
CHOSEN: tuple[Given, ...] = (
    lambda run, out, _: ("score", run),
    lambda run, out, _: ("runs", run),
    lambda run, out, _: ("show", run, "--limit", 1),
    lambda run, out, _: ("show", run, "--by-question"),
    lambda run, out, _: ("report", run, "--out", out / "report.html"),
    lambda run, out, _: ("resume", run),
    lambda run, out, _: ("resume", run, "--judge", "openai/x@http://127.0.0.1:9/v1"),
    lambda run, out, _: ("limits", run),
    lambda run, out, _: ("merge", run, "--out", out / "merged"),
    lambda run, out, _: ("export", run, "--to", "parquet", "--out", out / "exported"),
    lambda run, out, good: ("compare", run, good),
    lambda run, out, _: ("published", "infibench", "leaderboard", "--run", run),
    lambda run, out, _: ("breakdown", run, "--by", "kind"),
    lambda run, out, _: ("leaderboard", run, "--out", out / "site"),
    lambda run, out, _: ("leaderboard", run, "--regrade", "--out", out / "site"),
    lambda run, out, _: ("review", run, "--plan", 0.1),
    lambda run, out, _: ("error-types", run, "--judge", "openai/x"),
    lambda run, out, _: ("judge-bias", run, "--judge", "openai/x"),
    lambda run, out, _: ("correlate", run, "--by", "kind"),
    lambda run, out, _: ("item-analysis", run),
    lambda run, out, good: ("plan", run, good),
    lambda run, out, _: ("variance", run),
    lambda run, out, _: ("overlap", run, "--with", run),
    lambda run, out, good: (
        *("run", good.parent / "hostile.json", "--model", "baseline/random", "--limit", 1),
        *("--reuse", run, "--run", out / "new"),
    ),
)
OTHERS = plugins.studies().keys() - {"score-table", *(given(Path(), Path(), Path())[0] for given in CHOSEN)}
COMMANDS: tuple[Given, ...] = (*CHOSEN, *(lambda run, *_, name=name: (name, run) for name in sorted(OTHERS)))


class _Late(BaseException):
    pass


@contextlib.contextmanager
def _soon() -> Iterator[None]:
    """By the processor's time for what computes, and by the wall's for what waits: no test machine is so slow."""

    def late(*_: object) -> None:
        raise _Late

    before = signal.signal(signal.SIGPROF, late), signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_PROF, SOON)
    signal.alarm(30 * SOON)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        signal.signal(signal.SIGPROF, before[0])
        signal.signal(signal.SIGALRM, before[1])


def _ended(*command: object) -> str:
    """What is wrong with how the command ended; "" if nothing is."""
    out = io.StringIO()
    try:
        with _soon(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            main(list(map(str, command)))
    except SystemExit as ended:
        return "" if ended.code in (0, 2, 3, 4, 5) and "Traceback" not in out.getvalue() else out.getvalue()[-600:]
    except _Late:
        return "it hangs"
    except BaseException as problem:
        return "".join(traceback.format_exception(problem))[-900:]
    return "it does not end"


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = make_run(tmp_path_factory.mktemp("good"), models=("openai/a", "openai/b"), judged=False)
    assert not _ended("score", run)
    return run


def _strange(good: Path, place: Path, file: str, kind: str) -> tuple[Path, Path]:
    """A copy of the run in which the file is another, and an empty folder to write to."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(good, place / "run")
    (place / "precious").write_text("precious", encoding="utf-8")
    (place / "out").mkdir()
    KINDS[kind](place / "run" / file)
    return place / "run", place / "out"


def _tried(good: Path, place: Path, file: str, kind: str, number: int) -> None:
    run, out = _strange(good, place, file, kind)
    command = COMMANDS[number](run, out, good)
    assert not (said := _ended(*command)), f"{command[0]}: {said}"
    assert (place / "precious").read_text(encoding="utf-8") == "precious"
    assert not (place / "made").exists()


def _pairs(times: int) -> Iterator[tuple[str, str]]:
    """Every file and every kind of thing so many times, in other pairs each time."""
    for turn in range(times):
        for place, file in enumerate(FILES):
            yield file, list(KINDS)[(3 * place + 4 * turn) % len(KINDS)]


def test_every_kind_of_file_in_every_place_is_one_sentence(good: Path, tmp_path: Path) -> None:
    """Every file, every kind and every command at least once; more of what can be combined is in the slow tier."""
    for (number, (file, kind)), row in tabled(*enumerate(_pairs(2))):
        with row:
            _tried(good, tmp_path / "place", file, kind, number % len(COMMANDS))


STEP = 1 if os.environ.get("VIVA_THOROUGH") else 17
"""Of all combinations every so many-th: all of them take half an hour. No list's length divides by it."""


@pytest.mark.slow
@pytest.mark.timeout(3600)
@each_row(*[*itertools.product(FILES, KINDS, range(len(COMMANDS)))][::STEP])
def test_every_command_meets_files_of_every_kind(
    file: str, kind: str, number: int, *, good: Path, tmp_path: Path
) -> None:
    _tried(good, tmp_path / "place", file, kind, number)


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_the_start_page_and_the_run_page_stand(every: int, good: Path, tmp_path: Path) -> None:
    for (file, kind), row in tabled(*[*_pairs(1)][::every]):
        with row, _soon():
            run, _ = _strange(good, tmp_path / "runs", file, kind)
            visitor = TestClient(application(run.parent, Access()), base_url="http://127.0.0.1")
            assert visitor.get("/").status_code == 200
            assert visitor.get("/run/run/matrix").status_code in (200, 404)
            assert visitor.get("/run/run").status_code in (200, 404)
            assert visitor.get("/run/run/run.json").status_code in (200, 404)


def test_a_line_without_an_end_does_not_fill_the_memory(good: Path, tmp_path: Path) -> None:
    run, _ = _strange(good, tmp_path / "place", "responses.jsonl", "a terabyte of holes")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert not _ended("score", run)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 1 << 20, "KiB"


def test_what_is_written_replaces_a_link_and_is_not_written_through_it(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious", encoding="utf-8")
    for name in ("file", ".file.partial"):
        _link(tmp_path / name, tmp_path / "precious")
    write_whole(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert not (tmp_path / "file").is_symlink()
    _pipe(tmp_path / "pipe")
    with pytest.raises(OSError, match="no regular file"):
        write_whole(tmp_path / "pipe", b"new")
    assert (tmp_path / "precious").read_text(encoding="utf-8") == "precious"


def test_a_lock_that_is_another_file_by_a_hard_link_is_left_alone(good: Path, tmp_path: Path) -> None:
    run, _ = _strange(good, tmp_path / "place", ".lock", "a link")
    (run / ".lock").unlink()
    (run / ".lock").hardlink_to(tmp_path / "place" / "precious")
    assert not _ended("score", run)
    assert (tmp_path / "place" / "precious").read_text(encoding="utf-8") == "precious"
