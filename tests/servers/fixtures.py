"""Fixtures that start the local servers and the real command line as processes, and end what they started."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from servers.inprocess import Ended, command
from threads import ONE_THREAD

HERE = Path(__file__).parent
SAMPLE = 96
"""Questions in the bundled sample of CMMLU."""
QUIET = ("--progress", "quiet")
AT_START = ("PYTHON", "SSL_")
"""Prefixes of variables read at the start of a process or on loading a library, too late for a warm interpreter."""


class LocalServer:
    """A server script as a process: its address, counts and log."""

    def __init__(self, script: str, log: Path, *arguments: str) -> None:
        self.script = script
        self._log = log
        command = [sys.executable, str(HERE / script), "--log", str(log), *arguments]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        ready, _, _ = select.select([self._process.stdout], [], [], 240)
        self.root = f"http://127.0.0.1:{int(self._process.stdout.readline())}" if ready else ""
        assert self.root, f"{script} did not start"
        self.url = f"{self.root}/v1"

    def begin(self, log: Path, plan: dict[str, Any]) -> None:
        """Reset the server as if restarted, since starting a process takes longer than a test."""
        self._log = log
        _post(f"{self.root}/begin", {"log": str(log), "plan": plan})

    def control(self, **plan: Any) -> None:
        """Change the plan."""
        _post(f"{self.root}/control", plan)

    def counts(self) -> dict[str, dict[str, int]]:
        """Return how often each body was asked and answered."""
        return _open(f"{self.root}/counts")

    def state(self) -> dict[str, int]:
        """Return how many requests are in flight, and the most so far."""
        return _open(f"{self.root}/state")

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        """Return the log's events: asked, answered, fault, refused."""
        whole, _, _ = self._log.read_text(encoding="utf-8").rpartition("\n")  # the last line may be incomplete
        found = [json.loads(line) for line in whole.splitlines()]
        return [event for event in found if not kinds or event["event"] in kinds]

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of all requests that have one."""
        return [event["body"] for event in self.events("asked") if event["body"]]

    @property
    def asked(self) -> int:
        """Number of all requests."""
        return sum(count["asked"] for count in self.counts().values())

    def asked_each(self) -> set[int]:
        """The different numbers of times that a body was asked."""
        return {count["asked"] for count in self.counts().values()}

    def answered(self) -> list[dict[str, Any]]:
        """The log of replies, complete once nothing is in flight, since replies are logged after sending."""
        wait_until(lambda: not self.state()["in_flight"], "the last reply to be noted")
        return self.events("answered")

    def answered_each(self) -> set[int]:
        """The different numbers of times that a body was answered."""
        self.answered()
        return {count["answered"] for count in self.counts().values()}

    @property
    def lives(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()


def _post(url: str, body: dict[str, Any]) -> Any:
    return _open(urllib.request.Request(url, json.dumps(body).encode(), method="POST"))


def _open(request: str | urllib.request.Request) -> Any:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=240) as reply:
        return json.load(reply)


class Fork:
    """A command forked from a warm interpreter, with the part of `subprocess.Popen` that tests use."""

    def __init__(self, pid: int, interpreter: Interpreter) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._interpreter = interpreter

    def poll(self) -> int | None:
        self._interpreter.hear_of(self, 0)
        return self.returncode

    def wait(self, timeout: float = 240) -> int:
        self._interpreter.hear_of(self, timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(["viva"], timeout)
        return self.returncode

    def send_signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            if self.poll() is None:
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it and its children."""
        with suppress(ProcessLookupError):
            if self.poll() is None:
                os.killpg(self.pid, signal.SIGKILL)


class Going:
    """A running command and its output."""

    def __init__(self, process: subprocess.Popen[bytes] | Fork, out: Path, err: Path) -> None:
        self.process = process
        self._out, self._err = out, err

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to this process alone."""
        self.process.send_signal(number)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.process.kill()
        self.process.wait()

    def errors(self) -> str:
        """Return its stderr so far."""
        return self._err.read_text(encoding="utf-8")

    def line(self) -> str:
        """Wait for the first line that it prints, such as a server's address."""
        wait_until(lambda: b"\n" in self._out.read_bytes() or self.process.poll() is not None, "a line")
        return self._out.read_text(encoding="utf-8").partition("\n")[0]

    def ended(self, timeout: float = 240) -> Ended:
        """Wait for the end. A command that exceeds the timeout is killed, and the test fails."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"still running after {timeout} s: {self.errors()[-2000:]}") from None
        return Ended(code, self._out.read_text(encoding="utf-8"), self.errors())


class Interpreter:
    """An interpreter that has imported everything and forks commands (see warm.py)."""

    def __init__(self, place: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        with place.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                self._socket.connect(str(place))
            except OSError:  # not started yet
                self._start(place)
                self._socket.connect(str(place))
        self._lines = self._socket.makefile("rb", buffering=0)  # unbuffered: `select` does not see lines read ahead
        self._running: dict[int, Fork] = {}

    @staticmethod
    def _start(place: Path) -> None:
        """Start it, detached: it ends with its last connection."""
        place.unlink(missing_ok=True)
        environment = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "VIVA_CONFIG") if name in os.environ}
        heard, told = os.pipe()
        os.posix_spawn(
            sys.executable,
            [sys.executable, str(HERE / "warm.py"), str(place)],
            environment | ONE_THREAD | {"LANG": "C.UTF-8"},
            file_actions=[(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), (os.POSIX_SPAWN_DUP2, told, 1)],
        )
        os.close(told)
        assert os.read(heard, 1), "the warm interpreter did not start"
        os.close(heard)

    def fork(self, request: dict[str, Any]) -> Fork:
        """Start a command."""
        self._socket.sendall(json.dumps(request).encode() + b"\n")
        while True:
            heard = self._hear(240)
            assert heard is not None, "no process was forked"
            pid, code = heard
            if code is None:
                self._running[pid] = Fork(pid, self)
                return self._running[pid]

    def hear_of(self, fork: Fork, timeout: float) -> None:
        """Read events until the command has ended or the timeout has passed."""
        end = time.monotonic() + timeout
        while fork.returncode is None and self._hear(max(0.0, end - time.monotonic())):
            pass

    def _hear(self, timeout: float) -> tuple[int, int | None] | None:
        """Read one event; None after the timeout."""
        if not select.select([self._lines], [], [], timeout)[0]:
            return None
        pid, code = json.loads(self._lines.readline())
        if code is not None:
            self._running.pop(pid).returncode = code
        return pid, code

    def stop(self) -> None:
        """Disconnect, and end all running commands."""
        for fork in [*self._running.values()]:
            fork.kill()
        self._lines.close()
        self._socket.close()


class Warm:
    """Two interpreters used in turn, with different string hashes, like any two processes.

    The quick tier uses one: loading another takes as long as fifty commands.
    """

    def __init__(self) -> None:
        self._interpreters: list[Interpreter] = []
        self._turn = 0

    def fork(self, request: dict[str, Any]) -> Fork:
        """Start a command on the next interpreter."""
        self._turn += 1
        if len(self._interpreters) < (1 if os.environ.get("VIVA_QUICK") else 2):
            shared = Path(os.environ["VIVA_CACHE"]).parent  # by all workers
            self._interpreters.append(Interpreter(shared / f"warm-{len(self._interpreters)}"))
        return self._interpreters[self._turn % len(self._interpreters)].fork(request)

    def stop(self) -> None:
        """End the interpreters."""
        for interpreter in self._interpreters:
            interpreter.stop()


class Viva:
    """The command line, run in an empty folder with a separate environment."""

    def __init__(self, folder: Path, warm: Warm) -> None:
        self.folder = folder
        self._warm = warm
        self.environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "OPENAI_API_KEY": "sk-of-the-tests",
            "VIVA_CONFIG": os.environ["VIVA_CONFIG"],
            "VIVA_CACHE": os.environ["VIVA_CACHE"],
            **ONE_THREAD,
        }
        if "PYTHONPATH" in os.environ:  # another copy of the source is being tested
            self.environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
        self._usual = dict(self.environment)
        self._started: list[Going] = []

    def start(self, *arguments: object, module: str = "viva", terminal: str = "", **popen: Any) -> Going:
        """Start a command: a fork of a warm interpreter, or a new process if it needs one.

        `terminal` is the name of the terminal to use as its three streams.
        """
        number = len(list(self.folder.glob("*.stdout")))
        out, err = self.folder / f"{number}.stdout", self.folder / f"{number}.stderr"
        given = [str(argument) for argument in arguments]
        process: subprocess.Popen[bytes] | Fork
        if popen or any(name.startswith(AT_START) and name != "PYTHONPATH" for name in self.environment):
            with out.open("wb") as to_out, err.open("wb") as to_err:
                process = subprocess.Popen(
                    [sys.executable, "-m", module, *given],
                    cwd=self.folder,
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=to_out,
                    stderr=to_err,
                    **popen,
                )
        else:
            streams = dict.fromkeys(("in", "out", "err"), terminal) if terminal else {"out": str(out), "err": str(err)}
            request = {"arguments": given, "module": module, "environment": self.environment}
            process = self._warm.fork({**request, **streams, "folder": str(self.folder)})
            if not terminal:
                out.touch()
                err.touch()
        self._started.append(Going(process, out, err))
        return self._started[-1]

    def __call__(self, *arguments: object, timeout: float = 240, **popen: Any) -> Ended:
        """Run a command to its end: in this process, unless it needs a separate one.

        A fork copies all memory that it touches, which takes longer than most commands.
        """
        changed = dict(self.environment.items() - self._usual.items())
        apart = popen or timeout != 240 or any(name.startswith((*AT_START, "HF_")) for name in changed)
        if apart or asyncio._get_running_loop():  # a browser's driver has an event loop in this thread
            return self.start(*arguments, **popen).ended(timeout)
        return command(self.folder, *arguments, environment=self.environment)

    def struck(
        self, number: signal.Signals, when: Callable[[], bool], *arguments: object, timeout: float = 240
    ) -> Ended:
        """Run a command and signal it once a condition holds."""
        going = self.start(*arguments)
        wait_until(when, "the moment to strike")
        going.signal(number)
        return going.ended(timeout)

    def examine(self, server: LocalServer, *arguments: object, run: str = "run", **popen: Any) -> Ended:
        """Run `viva run cmmlu` against a server, with JSON output."""
        return self(*self.examining(server, *arguments, run=run), **popen)

    def examining(self, server: LocalServer, *arguments: object, run: str = "run") -> list[object]:
        """Return the arguments of `examine`."""
        model = ("--model", "openai/m", "--base-url", server.url)
        return ["run", "cmmlu", *model, "--run", run, "--format", "json", *QUIET, *arguments]

    def resume(self, *arguments: object, run: str = "run", **popen: Any) -> Ended:
        """Run `viva resume` with JSON output."""
        return self("resume", run, "--format", "json", *QUIET, *arguments, **popen)

    def entries(self, run: str = "run", stage: str = "responses") -> list[dict[str, Any]]:
        """Return the complete lines of a journal."""
        content = (self.folder / run / f"{stage}.jsonl").read_bytes()
        return [json.loads(line) for line in content.splitlines(keepends=True) if line.endswith(b"\n")]

    def answered(self, run: str = "run", stage: str = "responses") -> set[tuple[str, int]]:
        """Return the (question, sample) pairs that a journal answers."""
        return {(e["question"], e.get("sample", 0)) for e in self.entries(run, stage) if "error" not in e}

    def scores(self, run: str = "run") -> list[dict[str, Any]]:
        """Return the rows of scores.jsonl."""
        content = (self.folder / run / "scores.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in content.splitlines()]

    def stop(self) -> None:
        """End all running commands."""
        for going in self._started:
            if going.process.poll() is None:
                going.kill()


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder without data sets nearby."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("VIVA_DATA", raising=False)


@pytest.fixture(scope="session")
def idle_servers() -> Iterator[list[LocalServer]]:
    """Give the list of servers that wait for the next test."""
    idle: list[LocalServer] = []
    yield idle
    for server in idle:
        server.stop()


Serve = Callable[..., LocalServer]


@pytest.fixture
def serve(tmp_path: Path, idle_servers: list[LocalServer]) -> Iterator[Serve]:
    """Start servers: `serve(faults={"500": 0.2})`, or `serve("batchapi.py")`."""
    mine: list[LocalServer] = []

    def start(script: str = "completions.py", **plan: Any) -> LocalServer:
        found = next((server for server in idle_servers if server.script == script and server.lives), None)
        if found is None:
            found = LocalServer(script, tmp_path / f"{len(mine)}.log")
        else:
            idle_servers.remove(found)
        mine.append(found)
        found.begin(tmp_path / f"{len(mine)}.log", plan)
        return found

    yield start
    idle_servers.extend(server for server in mine if server.lives)


@pytest.fixture
def server(serve: Serve) -> LocalServer:
    """Start a server that answers everything at once; `control` changes that."""
    return serve()


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    """Give the warm interpreters."""
    interpreters = Warm()
    yield interpreters
    interpreters.stop()


@pytest.fixture
def viva(tmp_path: Path, warm: Warm, serve: Serve) -> Iterator[Viva]:
    """Give the command line in a separate folder; its commands end before servers are reused."""
    folder = tmp_path / "work"
    folder.mkdir()
    runner = Viva(folder, warm)
    yield runner
    runner.stop()


def wait_until(condition: Callable[[], bool], what: str, timeout: float = 240) -> None:
    """Wait for an action of another process, polling less often the longer it takes."""
    began = time.monotonic()
    while not condition():
        waited = time.monotonic() - began
        assert waited < timeout, f"waited {timeout} s for {what}"
        time.sleep(min(0.05, max(0.005, waited / 20)))


def running(processes: Sequence[int]) -> list[int]:
    """Return the processes that are neither gone nor zombies (of this process, where it adopts orphans)."""
    found = []
    for process in processes:
        with suppress(OSError):
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
                found.append(process)
    return found
