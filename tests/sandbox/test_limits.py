"""Limits, endings, and what is left afterwards: nothing."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sandbox.conftest import Run, opened, request, run_all
from viva.errors import DataError
from viva.sandbox import NoIsolationError, Sandbox
from viva.sandbox.isolation import isolation_problem
from viva.sandbox.watch import tree

SLEEPER = "import subprocess, time\nsubprocess.Popen(['sleep', '987'], start_new_session=True)\ntime.sleep(987)"


def sleepers() -> list[str]:
    """The command lines of this machine's processes that look like ours above."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if line.strip() == "sleep 987":
                found.append(line)
    return found


def running(pids: list[int]) -> list[int]:
    """Those that are neither gone nor dead and waiting to be reaped (by this process, since it adopts orphans)."""
    found = []
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state not in "ZX":
            found.append(pid)
    return found


@pytest.mark.parametrize(
    ("program", "seconds", "verdict", "says"),
    [
        ("while True: pass", 1, "timeout", "longer than its 1 s"),
        ("import time\ntime.sleep(60)", 1, "timeout", "longer than its 1 s"),
        ("import os\nif os.fork():\n    os.wait()\nwhile True: pass", 1, "timeout", "longer than its 1 s"),
        ("while True: print('x' * 10000)", 5, "limit", "printed more than"),
        ("kept = []\nwhile True: kept.append(bytearray(10_000_000))", 10, "limit", "MB of memory"),
        ("open('a', 'wb').truncate(200_000_000)", 5, "failed", "File too large"),
        ("import os\nfor n in range(10**9): open(f'/tmp/{n}', 'w')", 10, "failed", "No space left"),
        ("for n in range(9):\n    with open(f'{n}', 'wb') as f: f.write(bytes(20_000_000))", 5, "failed", "No space"),
        ("import subprocess\nfor n in range(99): subprocess.Popen(['sleep', '9'])", 5, "failed", "BlockingIOError"),
        ("import socket\nsocket.create_connection(('1.1.1.1', 53), 2)", 5, "failed", "unreachable"),
        ("open('/etc/shadow')", 5, "failed", "No such file"),
        ("open('/usr/viva', 'w')", 5, "failed", "Read-only"),
        ("import ctypes\nassert ctypes.CDLL(None).unshare(0x10000000) == 0", 5, "failed", ""),
    ],
)  # fmt: skip
def test_a_program_ends_at_its_limits(program: str, seconds: float, verdict: str, says: str, run: Run) -> None:
    begun = time.monotonic()
    found = run("python", program, seconds=seconds)
    assert found.verdict == verdict, found.detail
    assert says in found.detail
    assert time.monotonic() - begun < 3 * seconds + 12


def test_a_program_sees_neither_the_environment_nor_other_processes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIVA_TEST_SECRET", "secret")
    program = "import os\nprint(dict(os.environ))\nprint([n for n in os.listdir('/proc') if n.isdigit()], os.getuid())"
    found = run("python", program)
    assert found.verdict == "passed"
    assert "VIVA_TEST_SECRET" not in found.detail
    assert "65534" in found.detail
    assert len(found.detail.split("[")[1].split(",")) < 6


def test_programs_of_one_warm_interpreter_do_not_meet(run: Run) -> None:
    leaves = "import builtins, math, os\nbuiltins.mine = math.mine = 1\nopen('/tmp/mine', 'w')\nopen('mine', 'w')"
    looks = "import builtins, math, os\nassert not hasattr(builtins, 'mine') and not hasattr(math, 'mine')\n"
    looks += "assert os.listdir('/tmp') == [] and 'mine' not in os.listdir('.')"
    requests = [request("python", leaves), request("python", looks)] * 4
    assert {found.verdict for found in run_all(*requests, jobs=1)} == {"passed"}


def test_nothing_is_left_when_a_program_is_stopped() -> None:
    before = tree(os.getpid())
    (found,) = run_all(request("python", SLEEPER, seconds=1))
    assert found.verdict == "timeout"
    assert sleepers() == []
    assert running([pid for pid in tree(os.getpid()) if pid not in before]) == []


@pytest.mark.parametrize("language", ["python", "ruby"])
def test_nothing_is_left_after_cancellation(language: str) -> None:
    program = SLEEPER if language == "python" else "spawn('sleep 987', pgroup: true); sleep 987"

    async def work() -> float:
        sandbox = opened()
        task = asyncio.create_task(sandbox.run(request(language, program, seconds=60)))
        await asyncio.sleep(1.5)
        begun = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        taken = time.monotonic() - begun
        await sandbox.close()
        return taken

    assert asyncio.run(work()) < 3
    assert sleepers() == []


def test_everything_dies_when_viva_is_killed() -> None:
    opened()
    code = (
        "import asyncio\nfrom viva.sandbox import Sandbox\nfrom viva.types import Execute\n"
        "async def work():\n    sandbox = Sandbox()\n"
        f"    programs = [('python', {SLEEPER!r}), ('ruby', \"spawn('sleep 987', pgroup: true); sleep 987\")]\n"
        "    await asyncio.gather(*(sandbox.run(Execute(question='q', sample=0, language=language, program=program,"
        " seconds=60)) for language, program in programs))\n"
        "asyncio.run(work())\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    deadline = time.monotonic() + 20
    while len(sleepers()) < 1 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert sleepers(), "the programs never started"
    inside = tree(process.pid)[1:]
    process.send_signal(signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 5
    while (sleepers() or running(inside)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert sleepers() == []
    assert running(inside) == []


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


def test_an_unknown_language_is_no_toolchain() -> None:
    (found,) = run_all(request("cobol", ""))
    assert found.verdict == "toolchain"
    assert "cobol" in found.detail


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
