"""One program from start to end, blocking: start it, feed it, watch it, stop it, and say how it ended.

Three pipes lead in and out. What the program prints goes to one of them. Through the other two Viva talks to its own
harness (see `proof.py`); a program run as published has neither. Whatever happens, when `run` returns no process is left.
"""

from __future__ import annotations

import ctypes
import json
import os
import selectors
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec

from viva.sandbox.proof import Conversation
from viva.sandbox.watch import footprint, inodes, tree

COMPILE_FAILED = 97
"""The exit status of the script below when a compile command fails."""
FORBIDDEN = 96
"""The same when the program defines what only the language's own library may (see languages.toml)."""
INFO = "{info}"
"""Stands in a command for the descriptor that bubblewrap's --info-fd wants."""
TAIL = 4000
_PR_SET_CHILD_SUBREAPER = 36
_POLL = 0.03
_FOLDERS = ("/box", "/tmp", "/dev/shm")  # noqa: S108


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What ends a program. `own` and `wall` in seconds, `output`, `memory` and `file` in bytes, 0 for no limit."""

    own: float
    wall: float
    output: int
    memory: int
    tasks: int
    file: int
    open_files: int
    inodes: int
    address_space: int = 0


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How it ended: the exit status as a shell counts it, and whether it was `stopped` (time, memory, ...) or `proved`."""

    status: int
    stopped: str
    compiled: bool
    proved: bool
    output: bytes
    said: bytes
    """What came through the harness's pipe: the isolation's own complaint, if it failed."""
    seconds: float
    cpu: float


def wall_seconds(seconds: float) -> float:
    """How long a program may take by the clock: three times its own limit, at least ten seconds more."""
    return max(3 * seconds, seconds + 10)


def limited(bounds: Bounds) -> list[str]:
    """The words that set the limits of each single process, and make them hold for its children."""
    cpu = int(bounds.own) + 2
    words = ["/usr/bin/prlimit", f"--cpu={cpu}:{cpu + 1}", f"--fsize={bounds.file}", f"--nofile={bounds.open_files}"]
    words += [f"--nproc={bounds.tasks}", "--core=0", "--memlock=65536", "--msgqueue=0", "--sigpending=256"]
    words += [f"--stack={8 << 20}:{64 << 20}"]
    words += [f"--as={bounds.address_space}"] if bounds.address_space else []
    return [*words, "--"]


def script(
    compiling: Sequence[str], running: Sequence[str], *, proved: bool, remove: Sequence[str] = (), check: str = ""
) -> str:
    """The shell script that runs inside. It waits for a word from Viva: if Viva died meanwhile, it never comes."""
    lines = ["exec 3<&0 4>&2 </dev/null 2>&1", "read -r word <&3 || exit 1"]
    if compiling:
        lines.append(f"{shlex.join(compiling)} 3<&- 4>&- || exit {COMPILE_FAILED}")
    if remove:
        lines.append(f"rm -f {shlex.join(remove)}")
    if check:
        lines.append(f'{{ {check}; }} 3<&- 4>&- || {{ echo "the program redefines what no program may"; exit {FORBIDDEN}; }}')
    lines.append("echo run >&4")
    lines.append(f"exec {shlex.join(running)}" + ("" if proved else " 3<&- 4>&-"))
    return "\n".join(lines)


def run(
    command: Sequence[str],
    *,
    bounds: Bounds,
    conversation: Conversation,
    stop: int,
    keep_open: Sequence[int] = (),
    environment: Mapping[str, str] | None = None,
    folder: str | None = None,
    owner: int | None = None,
) -> Ending:
    """Start the command and stay with it to its end.

    `stop` is a descriptor that becomes readable when the caller no longer wants the answer; the ending then says
    "cancelled". `keep_open` are descriptors that the command inherits. `owner` is the uid that the
    pipes shall belong to, for root.
    """
    begun = time.monotonic()
    told, tell = os.pipe()
    process = subprocess.Popen(  # noqa: S603
        [word.replace(INFO, str(tell)) for word in command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=(*keep_open, tell),
        env=dict(environment or {}),
        cwd=folder,
        bufsize=0,
        start_new_session=folder is not None,
    )
    os.close(tell)
    watching = _Watching(process, bounds, conversation, stop, begun, owner)
    try:
        watching.until_the_end()
    finally:
        status, cpu = watching.bury()
        cpu = max(cpu, _orphan(told))
        os.close(told)
    return Ending(
        status=status,
        stopped=watching.stopped,
        compiled=conversation.compiled,
        proved=conversation.proved,
        output=bytes(watching.tail),
        said=conversation.said,
        seconds=time.monotonic() - begun,
        cpu=cpu,
    )


def adopt_orphans() -> None:
    """Make this process the parent of what its children leave behind.

    bubblewrap ends as soon as it knows the exit status, a moment before the first process inside is gone; only its parent
    can wait for that, and learn how much CPU time the whole tree took.
    """
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _orphan(told: int) -> float:
    """Wait for the first process inside, whose pid bubblewrap wrote to this pipe; the CPU seconds of all inside."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        os.set_blocking(told, False)
        pid = int(json.loads(os.read(told, 1000))["child-pid"])
        _, _, usage = os.wait4(pid, 0)
        return usage.ru_utime + usage.ru_stime
    return 0.0


class _Watching:
    """The state of one run."""

    def __init__(
        self, process: subprocess.Popen[bytes], bounds: Bounds, conversation: Conversation, stop: int, begun: float,
        owner: int | None,
    ) -> None:
        self.process, self.bounds, self.conversation, self.stop, self.begun = process, bounds, conversation, stop, begun
        self.stopped = ""
        self.tail = bytearray()
        self.printed = 0
        self.idle = 0.0
        self.cpu = 0.0
        self.waited: tuple[int, float] | None = None
        assert process.stdin and process.stdout and process.stderr
        self.to_program, self.output, self.answers = process.stdin, process.stdout, process.stderr
        self.selector = selectors.DefaultSelector()
        for stream in (self.to_program, self.output, self.answers):
            os.set_blocking(stream.fileno(), False)
            if owner is not None:
                os.fchown(stream.fileno(), owner, owner)  # or it could not be opened by name, as /dev/stdout is
        self.ending = os.pidfd_open(process.pid)

    def until_the_end(self) -> None:
        """Carry bytes and look around until the program ends or must be stopped."""
        self.selector.register(self.output, selectors.EVENT_READ, self._read_output)
        self.selector.register(self.answers, selectors.EVENT_READ, self._read_answer)
        self.selector.register(self.ending, selectors.EVENT_READ, self._ended)
        self.selector.register(self.stop, selectors.EVENT_READ, self._cancelled)
        self._write()
        looked = time.monotonic()
        while not self.stopped and self.waited is None:
            for key, _ in self.selector.select(max(0.0, looked + _POLL - time.monotonic())):
                key.data()
            now = time.monotonic()
            if now - looked >= _POLL and self.waited is None:
                self._look(now - looked)
                looked = now

    def bury(self) -> tuple[int, float]:
        """Kill what is left, wait for it, close every pipe; the exit status and the CPU seconds of all its processes."""
        if self.waited is None:
            self._kill()
            self.waited = self._wait()
        else:
            with suppress(BlockingIOError, OSError):
                while self.printed <= self.bounds.output and self._read_output():
                    pass
                while self._read_answer():
                    pass
        self.selector.close()
        os.close(self.ending)
        for stream in (self.to_program, self.output, self.answers):
            stream.close()
        status, cpu = self.waited
        self.process.returncode = status
        return status, max(cpu, self.cpu)

    def _kill(self) -> None:
        """Kill the first process of the new pid namespace: the kernel then kills everything inside at once."""
        pid = self.process.pid
        members = tree(pid)[1:]
        for member in members:
            with suppress(OSError):
                os.kill(member, signal.SIGKILL)
        self.selector.close()
        deadline = time.monotonic() + 2
        while time.monotonic() < deadline:
            with suppress(ChildProcessError):
                if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                    return
            for member in tree(pid)[1:]:
                with suppress(OSError):
                    os.kill(member, signal.SIGKILL)
            time.sleep(0.002)
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)

    def _wait(self) -> tuple[int, float]:
        _, status, usage = os.wait4(self.process.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        return (code if code >= 0 else 128 - code), usage.ru_utime + usage.ru_stime

    def _ended(self) -> bool:
        self.waited = self._wait()
        return True

    def _cancelled(self) -> bool:
        self.stopped = "cancelled"
        return True

    def _write(self) -> bool:
        pending = self.conversation.to_send
        registered = self.to_program.fileno() in self.selector.get_map()
        if pending:
            try:
                sent = os.write(self.to_program.fileno(), pending)
            except BlockingIOError:
                sent = 0
            except OSError:
                pending, sent = b"", 0
            self.conversation.to_send = pending[sent:]
        if self.conversation.to_send and not registered:
            self.selector.register(self.to_program, selectors.EVENT_WRITE, self._write)
        if not self.conversation.to_send and registered:
            self.selector.unregister(self.to_program)
        return True

    def _read_answer(self) -> bool:
        chunk = self._read(self.answers)
        if chunk:
            self.conversation.heard(chunk)
            if self.waited is None:
                self._write()
        return bool(chunk)

    def _read_output(self) -> bool:
        chunk = self._read(self.output)
        self.printed += len(chunk)
        self.tail += chunk
        del self.tail[:-TAIL]
        if self.printed > self.bounds.output:
            self.stopped = "output"
        return bool(chunk)

    def _read(self, stream: object) -> bytes:
        try:
            chunk = os.read(stream.fileno(), 65536)  # type: ignore[attr-defined]
        except BlockingIOError:
            return b""
        if not chunk and self.waited is None:
            self.selector.unregister(stream)  # type: ignore[arg-type]
        return chunk

    def _look(self, elapsed: float) -> None:
        """Compare what the tree takes with what it may. Time counts when it computes or sleeps, not when it waits for
        a processor that others keep busy: a loaded machine makes nothing wrong."""
        bounds, pid = self.bounds, self.process.pid
        taken = footprint(pid, memory_limit=bounds.memory)
        if taken.cpu < self.cpu + 0.01 and not taken.runnable:
            self.idle += elapsed
        self.cpu = max(self.cpu, taken.cpu)
        if self.cpu + self.idle > bounds.own:
            self.stopped = "time"
        elif time.monotonic() - self.begun > bounds.wall:
            self.stopped = "wall"
        elif taken.memory > bounds.memory:
            self.stopped = "memory"
        elif taken.tasks > 2 * bounds.tasks:
            self.stopped = "processes"
        elif bounds.inodes and inodes(taken.last, _FOLDERS) > bounds.inodes:
            self.stopped = "files"
