"""Limits, endings, and what is left afterwards: nothing."""

import asyncio
import contextlib
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rows import tabled, tables_beside
from sandbox.conftest import opened, request, run_all
from servers.fixtures import running, wait_until
from tiers import absent
from viva.errors import DataError
from viva.sandbox import NoIsolationError, Sandbox
from viva.sandbox.cgroups import children, tree
from viva.sandbox.isolation import isolation_problem
from viva.sandbox.launch import wall_seconds

TABLES = tables_beside(__file__)


def sleeper(language: str = "python") -> tuple[str, str]:
    """A program with a child of another session that sleep for very long, and the child's command line."""
    command = f"sleep {secrets.randbelow(9 * 10**8) + 10**8}"
    if language == "ruby":
        return f"spawn('{command}', pgroup: true); sleep 987", command
    words = command.split()
    return f"import subprocess, time\nsubprocess.Popen({words}, start_new_session=True)\ntime.sleep(987)", command


def sleeping(command: str) -> bool:
    """Whether a process of this machine has this command line."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                if (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip() == command:
                    return True
    return False


LIMITS = TABLES["limits"]


@pytest.mark.sandbox
def test_a_program_ends_at_its_limits() -> None:
    found = run_all(*(request("python", program, seconds=seconds) for program, seconds, _, _ in LIMITS))
    for ((_program, seconds, verdict, says), execution), row in tabled(*zip(LIMITS, found, strict=True)):
        with row:
            assert execution.verdict == verdict, execution.detail
            assert says in execution.detail
            assert execution.seconds < wall_seconds(seconds) + 200, "starting and stopping on a busy machine included"


@pytest.mark.sandbox
def test_a_program_sees_neither_the_environment_nor_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIVA_TEST_SECRET", "secret")
    program = "import os\nprint(dict(os.environ))\nprint([n for n in os.listdir('/proc') if n.isdigit()], os.getuid())"
    (found,) = run_all(request("python", program))
    assert found.verdict == "passed"
    assert "VIVA_TEST_SECRET" not in found.detail
    assert "65534" in found.detail
    assert len(found.detail.split("[")[1].split(",")) < 6


@pytest.mark.sandbox
def test_programs_of_one_warm_interpreter_do_not_meet() -> None:
    leaves = "import builtins, math, os\nbuiltins.mine = math.mine = 1\nopen('/tmp/mine', 'w')\nopen('mine', 'w')"
    looks = "import builtins, math, os\nassert not hasattr(builtins, 'mine') and not hasattr(math, 'mine')\n"
    looks += "assert os.listdir('/tmp') == [] and 'mine' not in os.listdir('.')"
    requests = [request("python", leaves), request("python", looks)] * 4
    assert {found.verdict for found in run_all(*requests, jobs=1)} == {"passed"}


@pytest.mark.sandbox
def test_nothing_is_left_when_a_program_is_stopped() -> None:
    before = tree(os.getpid())  # perhaps an interpreter that forks commands for all workers, at any time
    program, command = sleeper()
    (found,) = run_all(request("python", program, seconds=1))
    assert found.verdict == "timeout"
    assert not sleeping(command)
    assert running([pid for child in children(os.getpid()) if child not in before for pid in tree(child)]) == []


@pytest.mark.sandbox
@pytest.mark.parametrize("language", ["python", "ruby"])
def test_nothing_is_left_after_cancellation(language: str) -> None:
    program, command = sleeper(language)

    async def work() -> float:
        sandbox = opened()
        task = asyncio.create_task(sandbox.run(request(language, program, seconds=60)))
        await asyncio.to_thread(wait_until, lambda: task.done() or sleeping(command), "the program")
        if task.done() and task.result().verdict == "toolchain":
            absent(task.result().detail)
        begun = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        taken = time.monotonic() - begun
        await sandbox.close()
        return taken

    assert asyncio.run(work()) < 120, "it ends at once, not at its limit"
    assert not sleeping(command)


@pytest.mark.sandbox
def test_everything_dies_when_viva_is_killed() -> None:
    sleepers = {language: sleeper(language) for language in ("python", "ruby")}
    programs = [(language, program) for language, (program, _) in sleepers.items()]
    commands = [command for _, command in sleepers.values()]
    code = (
        "import asyncio\nfrom viva.sandbox import Sandbox\nfrom viva.types import Execute\n"
        "async def work():\n    sandbox = Sandbox()\n"
        f"    programs = {programs!r}\n"
        "    await asyncio.gather(*(sandbox.run(Execute(question='q', sample=0, language=language, program=program,"
        " seconds=60)) for language, program in programs))\n"
        "asyncio.run(work())\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    wait_until(lambda: any(map(sleeping, commands)), "the programs")
    inside = tree(process.pid)[1:]
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_until(lambda: not any(map(sleeping, commands)) and not running(inside), "their end")


@pytest.mark.sandbox
def test_a_file_name_that_leaves_the_folder_is_refused() -> None:
    async def work(name: str) -> None:
        sandbox = opened()
        try:
            with pytest.raises(DataError, match="plain file name"):
                await sandbox.run(request("python", "", files=((name, ""),)))
        finally:
            await sandbox.close()

    for name in ("../a", "/etc/a", "", ".", "a/b"):
        asyncio.run(work(name))


@pytest.mark.sandbox
def test_an_unknown_language_is_no_toolchain() -> None:
    (found,) = run_all(request("cobol", ""))
    assert found.verdict == "toolchain"
    assert "cobol" in found.detail


@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="programs in Python run with /usr/bin/python3")
def test_without_isolation_nothing_runs_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viva.sandbox.isolation.isolation_problem", lambda: "bubblewrap is missing")
    with pytest.raises(NoIsolationError, match="--unsafe-host-execution"):
        Sandbox()
    program = "import os\nopen('here', 'w')\nassert os.path.exists('here')"
    found = run_all(request("python", program), request("python", "x = 1", "assert x == 2"), unsafe_host_execution=True)
    assert [each.verdict for each in found] == ["passed", "failed"]
    assert not list(Path("/tmp").glob("viva-unsafe-*"))


def test_isolation_is_asked_for_once() -> None:
    assert isolation_problem() == isolation_problem()
