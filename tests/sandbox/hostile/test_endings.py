"""When a run ends in any way (killed, cancelled, closed), its programs end; and programs never see each other."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec import Struct

from rows import tabled, tables_beside
from sandbox.hostile import victim
from sandbox.hostile.arena import Arena
from sandbox.hostile.programs import named, programs
from sandbox.hostile.world import Marks, World, alive, descendants
from servers.fixtures import wait_until
from viva.sandbox import Sandbox
from viva.types import Execute, Execution

TABLES = tables_beside(__file__)

pytestmark = pytest.mark.sandbox
LASTING: dict[str, str] = TABLES["lasting"]
"""Programs that start a marked child of their own session and go on for minutes."""

LEAVING = ("leaves a daemon behind that writes a file later", "kills its parent and everything it may signal")


def lasting(language: str, marks: Marks) -> Execute:
    program = LASTING[language].replace("@NUM@", marks.number)
    return Execute(question="lasting", sample=0, language=language, program=program, seconds=250.0)


SOON = 200.0
"""Seconds in which what is ended has ended: fewer than it would have gone on for by itself."""


@pytest.mark.parametrize("language", LASTING)
def test_cancelling_an_execution_ends_its_processes_and_the_sandbox_works_on(
    arena: Arena, installed: Callable[[str], None], language: str
) -> None:
    installed(language)
    marks = Marks()
    running = arena.start(arena.sandbox.run(lasting(language, marks)))
    wait_until(lambda: bool(marks.processes()), "the program's start")
    running.cancel()
    wait_until(lambda: not marks.processes(), "its end", SOON)
    after = Execute(question="after", sample=0, language="python", program="x = 1", test="assert x == 1")
    assert arena.wait(arena.sandbox.run(after)).verdict == "passed"


class Ended(Struct):
    """What a Viva of its own said at its end."""

    verdicts: list[str | None]
    left: list[int]
    lasted: float


@contextlib.contextmanager
def viva(folder: Path, requests: list[Execute], mark: str = "") -> Iterator[subprocess.Popen[bytes]]:
    """A Viva in a process of its own, with TMPDIR in `folder`, that was given some requests; killed at the end."""
    folder.mkdir(mode=0o755)
    environment = {**os.environ, "TMPDIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, victim.__file__, mark]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as each:
        try:
            each.stdin.write(b"".join(msgspec.json.encode(request) + b"\n" for request in requests))
            each.stdin.close()
            yield each
        finally:
            each.kill()


def assert_ended(folder: Path, requests: list[Execute], marks: list[Marks], early: str = "") -> float:
    """Close the sandbox of a Viva of its own: how many seconds its runs lasted after that; nothing else may be left."""
    with viva(folder, requests, early) as process:
        said = msgspec.json.decode(process.stdout.read(), type=Ended)
    assert said.left == []
    assert "passed" not in said.verdicts
    assert not any(mark.processes() for mark in marks)
    assert list(folder.iterdir()) == []
    return said.lasted


def test_killing_viva_ends_every_program_and_every_process_it_had_started(
    world: World, installed: Callable[[str], None]
) -> None:
    marks = [Marks() for _ in LASTING]
    for language in LASTING:
        installed(language)
    requests = [lasting(language, mark) for language, mark in zip(LASTING, marks, strict=True)]
    with viva(world.folder / "killed", requests) as process:
        wait_until(lambda: all(mark.processes() for mark in marks), "the programs' start")
        family = descendants(process.pid)
        assert family
        process.send_signal(signal.SIGKILL)
    wait_until(lambda: not any(mark.processes() for mark in marks) and not alive(family), "their end", SOON)
    assert list((world.folder / "killed").iterdir()) == []


def test_closing_the_sandbox_early_ends_what_still_runs(world: World, installed: Callable[[str], None]) -> None:
    installed("python")
    marks = Marks()
    requests = [lasting("python", marks), lasting("python", Marks())]
    assert assert_ended(world.folder / "early", requests, [marks], marks.number) < SOON


def test_closing_the_sandbox_leaves_neither_process_nor_file(world: World, installed: Callable[[str], None]) -> None:
    installed("python")
    marks = [Marks() for _ in LEAVING]
    requests = [named("python", name).request(world.places(mark)) for name, mark in zip(LEAVING, marks, strict=True)]
    assert_ended(world.folder / "closed", requests, marks)


def pair(name: str, trace: str, wait: float) -> Execute:
    """One of the two Python programs that look for each other's traces."""
    program = named("python", name)
    return program.request({"PAIR": trace, "WAIT": str(wait)})


def test_the_program_that_looks_for_traces_finds_its_own(arena: Arena, installed: Callable[[str], None]) -> None:
    installed("python")
    leaves, looks = pair("leaves traces", "own", 0), pair("looks for traces", "own", 0)
    both = msgspec.structs.replace(looks, program=leaves.program + "\n" + looks.program, seconds=5.0)
    execution = arena.wait(arena.sandbox.run(both))
    assert execution.verdict == "passed", execution.detail
    assert all(f"found {way}" in execution.detail for way in ("patched", "in_environment", "file", "knock", "process"))


def test_two_programs_at_once_see_nothing_of_each_other(arena: Arena, installed: Callable[[str], None]) -> None:
    installed("python")

    async def at_once() -> list[Execution]:
        requests = [pair("leaves traces", "once", 1.0), pair("looks for traces", "once", 0.8)]
        return await asyncio.gather(*map(arena.sandbox.run, requests))

    left, looked = arena.wait(at_once())
    assert left.verdict == "passed", left.detail
    assert looked.verdict == "failed", looked.detail
    assert "attempted" in looked.detail


def test_a_program_finds_nothing_of_the_one_before_it(installed: Callable[[str], None]) -> None:
    installed("python")

    async def sequential() -> list[Execution]:
        sandbox = Sandbox(jobs=1)
        names = ("leaves traces", "looks for traces", "leaves traces", "looks for traces")
        found = [await sandbox.run(pair(name, f"turn{number // 2}", 0)) for number, name in enumerate(names)]
        await sandbox.close()
        return found

    found = asyncio.run(sequential())
    assert [execution.verdict for execution in found] == ["passed", "failed", "passed", "failed"], found


NEIGHBOURS = (
    "forks four hundred children",
    "is a fork bomb of nine generations",
    "starts two thousand threads",
    "takes two gigabytes",
    "kills its parent and everything it may signal",
)


@pytest.mark.parametrize(
    "name", [NEIGHBOURS[-1], *(pytest.param(one, marks=pytest.mark.slow) for one in NEIGHBOURS[:-1])]
)
def test_a_hostile_program_does_not_harm_an_honest_one_beside_it(
    world: World, arena: Arena, installed: Callable[[str], None], name: str
) -> None:
    installed("python")
    program = """
import subprocess, threading, time
for _ in range(8):
    thread = threading.Thread(target=time.sleep, args=(0.01,))
    thread.start()
    thread.join()
    subprocess.run(["true"], check=True)
    time.sleep(0.05)
"""
    honest = Execute(question="honest", sample=0, language="python", program=program, test="done = 1")

    async def beside() -> list[Execution]:
        hostile = named("python", name).request(world.places(Marks()))
        return await asyncio.gather(*map(arena.sandbox.run, (hostile, honest)))

    hostile, honestly = arena.wait(beside())
    assert hostile.verdict != "passed"
    assert honestly.verdict == "passed", honestly.detail


@pytest.mark.parametrize("many", [2, pytest.param(1000, marks=pytest.mark.slow, id="all")])
def test_a_cold_interpreter_judges_as_strictly_as_a_warm_one(
    world: World, installed: Callable[[str], None], many: int
) -> None:
    """Where no warm interpreter is to be had, or it keeps failing, programs get one of their own."""
    installed("python")
    cold = Arena(world)
    cold.sandbox._broken = 1000  # as if the warm interpreter had failed so often
    try:
        honest = [one for one in programs() if one.language == "python" and one.kind == "honest"]
        for (_program, fate), row in tabled(
            *cold.fates([*(named("python", name) for name in TABLES["cold"][-many:]), *honest[:many]])
        ):
            with row:
                assert not fate.problems, "\n".join(fate.problems)
    finally:
        cold.close()
