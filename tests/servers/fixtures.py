"""Fixtures that start the local servers and the real command line as processes, and end what they started."""

from __future__ import annotations

import dataclasses
import json
import os
import select
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from threads import ONE_THREAD

HERE = Path(__file__).parent
SAMPLE = 96
"""Questions in the bundled sample of CMMLU."""
QUIET = ("--progress", "quiet")


class LocalServer:
    """A server script as a process: its address, what it counted, and what it logged."""

    def __init__(self, script: str, log: Path, *arguments: str) -> None:
        self.script = script
        self._log = log
        command = [sys.executable, str(HERE / script), "--log", str(log), *arguments]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], 60)
        self.root = f"http://127.0.0.1:{int(self._process.stdout.readline())}" if ready else ""
        assert self.root, f"{script} did not start"
        self.url = f"{self.root}/v1"

    def begin(self, log: Path, plan: dict[str, Any]) -> None:
        """As if it were started anew: a process costs more time than a test."""
        self._log = log
        _post(f"{self.root}/begin", {"log": str(log), "plan": plan})

    def control(self, **plan: Any) -> None:
        """Change the plan."""
        _post(f"{self.root}/control", plan)

    def counts(self) -> dict[str, dict[str, int]]:
        """How often each body was asked and answered."""
        return _open(f"{self.root}/counts")

    def state(self) -> dict[str, int]:
        """How many requests are in flight, and were at most."""
        return _open(f"{self.root}/state")

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        """The log: asked, answered, fault, refused."""
        whole, _, _ = self._log.read_text(encoding="utf-8").rpartition("\n")  # a line may cross from page to page
        found = [json.loads(line) for line in whole.splitlines()]
        return [event for event in found if not kinds or event["event"] in kinds]

    @property
    def asked(self) -> int:
        """All requests that came."""
        return sum(count["asked"] for count in self.counts().values())

    def asked_each(self) -> set[int]:
        """The different numbers of times that a body was asked."""
        return {count["asked"] for count in self.counts().values()}

    def answered_each(self) -> set[int]:
        """The different numbers of times that a body was answered."""
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
    with opener.open(request, timeout=60) as reply:
        return json.load(reply)


@dataclasses.dataclass
class Ended:
    """What a command left: exit code and the two streams."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        """The report of `--format json`."""
        return json.loads(self.out)

    @property
    def overall(self) -> dict[str, Any]:
        """The overall cell of the report's only result."""
        (result,) = self.report["results"]
        return result["overall"]


class Going:
    """A command that runs."""

    def __init__(self, arguments: list[str], folder: Path, environment: dict[str, str], **popen: Any) -> None:
        number = len(list(folder.glob("*.stdout")))
        self._out, self._err = folder / f"{number}.stdout", folder / f"{number}.stderr"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                arguments, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err, **popen
            )

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to this process alone."""
        self.process.send_signal(number)

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait()

    def errors(self) -> str:
        """What it wrote to stderr so far."""
        return self._err.read_text(encoding="utf-8")

    def ended(self, timeout: float = 60) -> Ended:
        """Wait for the end. A command that does not end in time is killed, and that is a failure."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"still running after {timeout} s: {self.errors()[-2000:]}") from None
        return Ended(code, self._out.read_text(encoding="utf-8"), self.errors())


class Warm:
    """Interpreters that have imported everything, and become the commands that they are asked for (see warm.py).

    Two take turns: the hashes of texts differ between them, as between any two processes.
    """

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []
        self._turn = 0

    def run(
        self,
        arguments: list[str],
        folder: Path,
        environment: dict[str, str],
        timeout: float,
        strike: Callable[[int], None] | None = None,
    ) -> Ended:
        """Run a command to its end. As with Going, one that does not end in time is killed, and that is a failure.

        `strike` is called with the process's number while it runs, to do something to it.
        """
        number = len(list(folder.glob("*.stdout")))
        out, err = folder / f"{number}.stdout", folder / f"{number}.stderr"
        out.touch()
        err.touch()
        request = {"arguments": arguments, "folder": str(folder), "environment": environment}
        process = self._next()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(request | {"out": str(out), "err": str(err)}).encode() + b"\n")
            child = self._said(process, 60)
            assert child is not None, "no process was forked"
            if strike is not None:
                strike(child)
            code = self._said(process, timeout)
            assert code is not None, f"still running after {timeout} s: {err.read_text(encoding='utf-8')[-2000:]}"
        except BaseException:  # also a time-out of pytest's: what it writes next would be taken for the next command's
            self._processes.remove(process)
            self._end(process)
            raise
        return Ended(code, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8"))

    def _next(self) -> subprocess.Popen[bytes]:
        self._turn += 1
        if len(self._processes) < 2:
            environment = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
            self._processes.append(
                subprocess.Popen(
                    [sys.executable, str(HERE / "warm.py")],
                    env=environment | ONE_THREAD | {"LANG": "C.UTF-8"},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    bufsize=0,  # or `select` would not see a line that was read ahead
                    process_group=0,  # with the command that it became, to end both at once
                )
            )
        return self._processes[self._turn % len(self._processes)]

    @staticmethod
    def _said(process: subprocess.Popen[bytes], timeout: float) -> int | None:
        """The next number that it writes, or None if that takes longer. It writes nothing that is not waited for."""
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], timeout)
        return int(process.stdout.readline()) if ready else None

    def stop(self) -> None:
        """End them."""
        for process in self._processes:
            self._end(process)

    @staticmethod
    def _end(process: subprocess.Popen[bytes]) -> None:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


class Viva:
    """The command line, run in an empty folder with an environment of its own."""

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
        self._started: list[Going] = []

    def start(self, *arguments: object, **popen: Any) -> Going:
        """Start a command."""
        command = [sys.executable, "-m", "viva", *map(str, arguments)]
        self._started.append(Going(command, self.folder, self.environment, **popen))
        return self._started[-1]

    def __call__(self, *arguments: object, timeout: float = 60, **popen: Any) -> Ended:
        """Run a command to its end: a fork of a warm interpreter, or a new one if something is to happen to it."""
        if popen or any(name.startswith("PYTHON") and name != "PYTHONPATH" for name in self.environment):
            return self.start(*arguments, **popen).ended(timeout)
        return self._warm.run([*map(str, arguments)], self.folder, self.environment, timeout)

    def struck(
        self, number: signal.Signals, when: Callable[[], bool], *arguments: object, timeout: float = 60
    ) -> Ended:
        """Run a command that gets a signal as soon as something is so."""

        def strike(child: int) -> None:
            wait_until(when, "the moment to strike")
            os.kill(child, number)

        return self._warm.run([*map(str, arguments)], self.folder, self.environment, timeout, strike)

    def examine(self, server: LocalServer, *arguments: object, run: str = "run", **popen: Any) -> Ended:
        """`viva run cmmlu` against a server, as JSON."""
        return self(*self.examining(server, *arguments, run=run), **popen)

    def examining(self, server: LocalServer, *arguments: object, run: str = "run") -> list[object]:
        """The arguments of `examine`."""
        model = ("--model", "openai/m", "--base-url", server.url)
        return ["run", "cmmlu", *model, "--run", run, "--format", "json", *QUIET, *arguments]

    def resume(self, *arguments: object, run: str = "run", **popen: Any) -> Ended:
        """`viva resume`, as JSON."""
        return self("resume", run, "--format", "json", *QUIET, *arguments, **popen)

    def entries(self, run: str = "run", stage: str = "responses") -> list[dict[str, Any]]:
        """The whole lines of a journal."""
        content = (self.folder / run / f"{stage}.jsonl").read_bytes()
        return [json.loads(line) for line in content.splitlines(keepends=True) if line.endswith(b"\n")]

    def answered(self, run: str = "run", stage: str = "responses") -> set[tuple[str, int]]:
        """The questions and samples that a journal answers."""
        return {(e["question"], e.get("sample", 0)) for e in self.entries(run, stage) if "error" not in e}

    def scores(self, run: str = "run") -> list[dict[str, Any]]:
        """The rows of scores.jsonl."""
        content = (self.folder / run / "scores.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in content.splitlines()]

    def stop(self) -> None:
        """End what still runs."""
        for going in self._started:
            if going.process.poll() is None:
                going.kill()


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working folder is an empty one."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def idle_servers() -> Iterator[list[LocalServer]]:
    """Servers that wait for the next test."""
    idle: list[LocalServer] = []
    yield idle
    for server in idle:
        server.stop()


@pytest.fixture
def serve(tmp_path: Path, idle_servers: list[LocalServer]) -> Iterator[Callable[..., LocalServer]]:
    """Start servers: `serve(faults={"500": 0.2})`, or `serve("vendors.py")`."""
    mine: list[LocalServer] = []

    def start(script: str = "completions.py", **plan: Any) -> LocalServer:
        found = next((server for server in idle_servers if server.script == script), None)
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
def server(serve: Callable[..., LocalServer]) -> LocalServer:
    """A server that answers everything at once; `control` changes that."""
    return serve()


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    """Interpreters that wait for the next command."""
    interpreters = Warm()
    yield interpreters
    interpreters.stop()


@pytest.fixture
def viva(tmp_path: Path, warm: Warm, serve: Callable[..., LocalServer]) -> Iterator[Viva]:
    """The command line in a folder of its own; it ends before the servers are handed on."""
    folder = tmp_path / "work"
    folder.mkdir()
    runner = Viva(folder, warm)
    yield runner
    runner.stop()


def wait_until(condition: Callable[[], bool], what: str, timeout: float = 60.0) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, f"waited {timeout} s for {what}"
        time.sleep(0.005)
