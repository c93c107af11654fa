"""One program from start to end, blocking: start it, feed it, watch it, stop it, and return how it ended.

Three pipes lead in and out; what the program prints goes to one of them. Through the other two Viva talks to its own
harness (see `proof.py`); a program run as published has neither. Whatever happens, when `attend` returns no process
is left.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import selectors
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

import msgspec

from viva.sandbox.cgroups import Clock, Group, Usage, footprint, inodes, tree
from viva.sandbox.languagetables import limits
from viva.sandbox.proof import RUNNING, Conversation

COMPILE_FAILED = 97
"""The exit status of the script below when a compile command fails."""
FORBIDDEN = 96
"""The exit status when the program defines what only the language's own library may (see languages.toml)."""
INFO = "{info}"
"""Placeholder in a command for the descriptor of bubblewrap's --info-fd."""
TAIL = 4000
_PR_SET_CHILD_SUBREAPER = 36
_POLL = 0.03
_SELDOM = 0.1
"""Seconds between two polls of a program: always, and the most where a control group limits it as well."""
_LAST_WORDS = 0.5
"""Seconds that a program has to end by itself when it has failed already."""
_FOLDERS = ("box", "tmp", "dev/shm")


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one program, besides those of all. `own` and `wall` in seconds, `memory` in bytes; 0: no limit."""

    own: float
    wall: float
    memory: int
    tasks: int
    inodes: int
    address_space: int = 0


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How a program ended: exit status in the shell's convention, whether it was `stopped` (time, ...) or `proved`."""

    status: int
    stopped: str
    compiled: bool
    proved: bool
    output: bytes
    said: bytes
    """Bytes from the harness's pipe; if isolation failed, its complaint."""
    failure: str
    """Fault in its reply (untrusted text)."""
    seconds: float
    cpu: float


def wall_seconds(seconds: float) -> float:
    """Return the seconds that a program may take by the clock: three times its own limit, at least ten seconds more."""
    return max(3 * seconds, seconds + 10)


def resource_limits(bounds: Bounds) -> dict[str, tuple[int, int]]:
    """Return the soft and hard limits of each single process by name; never above those of this process itself."""
    cpu = int(bounds.own) + 2
    wanted = {**limits().process, "CPU": (cpu, cpu + 1)}
    sizes = {"NPROC": bounds.tasks, "AS": bounds.address_space}
    wanted |= {name: (size, size) for name, size in sizes.items() if size}
    most = {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[1] for name in wanted}
    most = {name: sys.maxsize if hard == resource.RLIM_INFINITY else hard for name, hard in most.items()}
    return {name: (min(soft, most[name]), min(hard, most[name])) for name, (soft, hard) in wanted.items()}


def limited(bounds: Bounds) -> list[str]:
    """Return the words that set these limits for a command, and so for its children."""
    words = [f"--{name.lower()}={soft}:{hard}" for name, (soft, hard) in resource_limits(bounds).items()]
    return ["/usr/bin/prlimit", *words, "--"]


def script(
    compiling: Sequence[str], running: Sequence[str], *, proved: bool, remove: Sequence[str] = (), check: str = ""
) -> str:
    """Return the shell script that runs inside. It first waits for a word from Viva, which never comes if Viva died."""
    lines = ["exec 3<&0 4>&2 </dev/null 2>&1", "read -r word <&3 || exit 1"]
    if compiling:
        lines.append(f"{shlex.join(compiling)} 3<&- 4>&- || exit {COMPILE_FAILED}")
    if check:
        lines.append(
            f'{{ {check}; }} 3<&- 4>&- || {{ echo "the program redefines what no program may"; exit {FORBIDDEN}; }}'
        )
    if remove:
        lines.append(f"rm -f {shlex.join(remove)}")
    lines.append("echo run >&4")
    lines.append(f"exec {shlex.join(running)}" + ("" if proved else " 3<&- 4>&-"))
    return "\n".join(lines)


class Started:
    """A running program: its outermost process, and Viva's ends of its three pipes, which it owns."""

    def __init__(self, pid: int, source: int, output: int, answers: int) -> None:
        self.pid, self.source, self.output, self.answers = pid, source, output, answers
        self.ending = -1
        """Readable as soon as the program may have ended."""
        self._open = {source, output, answers}

    def finished(self) -> bool:
        """Return whether it has ended, so that `wait` returns at once."""
        raise NotImplementedError

    def complaint(self) -> bytes:
        """Return why it could not be started; empty if it could."""
        os.set_blocking(self.answers, False)
        with suppress(OSError):
            content = os.read(self.answers, 2000)
            return b"" if RUNNING.startswith(content[: len(RUNNING)]) else content
        return b""

    def wait(self) -> tuple[int, float]:
        """Wait for its end; return exit status, in the shell's convention, and CPU seconds of all its processes."""
        raise NotImplementedError

    def close_source(self) -> None:
        """Close the pipe to the program, which then reads its end."""
        if self.source in self._open:
            self._open.remove(self.source)
            os.close(self.source)

    def close(self) -> None:
        """Close the descriptors."""
        for descriptor in self._open:
            os.close(descriptor)


def pipes(owner: int | None) -> tuple[list[int], list[int]]:
    """Open a program's three pipes: return Viva's ends and the program's. They belong to uid `owner`, or the program
    could not open them by name, as /dev/stdout."""
    into, source = os.pipe2(os.O_CLOEXEC)
    output, printing = os.pipe2(os.O_CLOEXEC)
    answers, answering = os.pipe2(os.O_CLOEXEC)
    if owner is not None:
        for descriptor in (source, output, answers):
            os.fchown(descriptor, owner, owner)
    return [source, output, answers], [into, printing, answering]


class Spawned(Started):
    """A program started as a child process, behind bubblewrap or, unsafely, without."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        keep_open: Sequence[int] = (),
        environment: Mapping[str, str] | None = None,
        folder: str | None = None,
        owner: int | None = None,
    ) -> None:
        """`keep_open` are descriptors that the command inherits, `owner` is the uid that owns the pipes."""
        self._told, tell = os.pipe()
        self._group = folder is not None
        ours, theirs = pipes(owner)
        try:
            self._process = subprocess.Popen(  # noqa: S603
                [word.replace(INFO, str(tell)) for word in command],
                stdin=theirs[0],
                stdout=theirs[1],
                stderr=theirs[2],
                pass_fds=keep_open if self._group else (*keep_open, tell),
                env=dict(environment or {}),
                cwd=folder,
                start_new_session=folder is not None,
            )
        except BaseException:
            for descriptor in (self._told, *ours):
                os.close(descriptor)
            raise
        finally:
            for descriptor in (tell, *theirs):
                os.close(descriptor)
        super().__init__(self._process.pid, *ours)
        self.ending = os.pidfd_open(self.pid)

    def finished(self) -> bool:
        """Return whether it has ended."""
        with suppress(ChildProcessError):
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        return True

    def wait(self) -> tuple[int, float]:
        """Wait for its end; return the command's exit status and the CPU seconds of everything inside."""
        _, status, usage = os.wait4(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        self._process.returncode = code
        if self._group:
            with suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)
        inside = 0.0 if self._group else reap_first_inside(self._told)
        return (code if code >= 0 else 128 - code), max(usage.ru_utime + usage.ru_stime, inside)

    def close(self) -> None:
        """Close the descriptors."""
        super().close()
        os.close(self.ending)
        os.close(self._told)


def adopt_orphans() -> None:
    """Make this process the parent of its children's orphans.

    bubblewrap ends as soon as it knows the exit status, a moment before the first process inside is gone; only its
    parent can wait for that, and learn how much CPU time the whole tree took.
    """
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap_first_inside(told: int) -> float:
    """Wait for the first process inside, whose pid bubblewrap wrote to `told`; return the CPU seconds of all inside."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        os.set_blocking(told, False)
        _, _, usage = os.wait4(int(json.loads(os.read(told, 1000))["child-pid"]), 0)
        return usage.ru_utime + usage.ru_stime
    return 0.0


def in_memory(content: bytes) -> int:
    """Return a descriptor of a file in memory with this content, which is read from its start."""
    descriptor = os.memfd_create("viva", os.MFD_CLOEXEC)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def furnished(
    files: Mapping[str, bytes | int], environment: Mapping[str, str], rules: bytes, opened: list[int]
) -> list[str]:
    """Return bubblewrap's words for files by path, variables and a filter; their descriptors are added to `opened`."""

    def passed(content: bytes | int) -> str:
        again = os.O_RDONLY | os.O_CLOEXEC
        opened.append(in_memory(content) if isinstance(content, bytes) else os.open(f"/proc/self/fd/{content}", again))
        return str(opened[-1])

    words = [word for path, content in files.items() for word in ("--file", passed(content), path)]
    words += [word for name, value in environment.items() for word in ("--setenv", name, value)]
    return [*words, "--seccomp", passed(rules)] if rules else words


def kill(started: Started) -> None:
    """Kill all processes inside, among them the first of the pid namespace: the kernel then kills the others at
    once. The outermost process notices, and ends by itself."""
    deadline = time.monotonic() + 2
    while not started.finished() and time.monotonic() < deadline:
        for member in tree(started.pid)[1:]:
            with suppress(OSError):
                os.kill(member, signal.SIGKILL)
        time.sleep(0.001)
    if not started.finished():
        with suppress(OSError):
            os.kill(started.pid, signal.SIGKILL)


def abandon(started: Started) -> None:
    """Kill a program, wait for its end, and close its pipes."""
    kill(started)
    started.wait()
    started.close()


class Watching:
    """The state of watching one program."""

    def __init__(
        self,
        members: Sequence[Started],
        bounds: Bounds,
        conversation: Conversation,
        stop: int,
        group: Group | None = None,
    ) -> None:
        """Of a test and its program in two processes, the test comes first: when it ends, all ends.

        `stop` is a descriptor that becomes readable when the caller no longer wants the answer; the ending then says
        "cancelled". `group`, if any, is the program's control group, which is removed at the end.
        """
        self.members, self.bounds, self.conversation, self.stop, self.group = members, bounds, conversation, stop, group
        self.started = started = members[0]
        self.begun = time.monotonic()
        self.stopped = ""
        self.failed_at = 0.0
        self.printed = 0
        self.clock = Clock()
        self.cpu = 0.0
        self.ended = False
        self.writing = False
        self.selector = selectors.DefaultSelector()
        self.outputs = [member.output for member in members]
        self.tails = {output: bytearray() for output in reversed(self.outputs)}
        for descriptor in (started.source, *self.outputs, started.answers):
            os.set_blocking(descriptor, False)

    def attend(self) -> Ending:
        """Watch a program until it ends or must be stopped; return its ending."""
        complaint = b""
        try:
            self._until_the_end()
            complaint = b"".join(member.complaint() for member in self.members[1:])
        finally:
            status, cpu = self._bury()
        return Ending(
            status=status,
            stopped=self.stopped,
            compiled=self.conversation.compiled and not complaint,
            proved=self.conversation.proved,
            output=b"".join(self.tails.values())[-TAIL:],
            said=complaint or self.conversation.said,
            failure=self.conversation.failure,
            seconds=time.monotonic() - self.begun,
            cpu=cpu,
        )

    def _until_the_end(self) -> None:
        """Transfer bytes and check limits until the program ends or must be stopped."""
        started = self.started
        for output in self.outputs:
            self.selector.register(output, selectors.EVENT_READ, partial(self._read_output, output))
        self.selector.register(started.answers, selectors.EVENT_READ, self._read_answer)
        self.selector.register(started.ending, selectors.EVENT_READ, partial(setattr, self, "ended", True))
        self.selector.register(self.stop, selectors.EVENT_READ, partial(setattr, self, "stopped", "cancelled"))
        self._write()
        looked = time.monotonic()
        while not self.stopped and not self.ended:
            # For a short program, polls are a large part of the cost.
            pause = min(_SELDOM, max(_POLL, (looked - self.begun) / 2)) if self.group else _POLL
            for key, _ in self.selector.select(max(0.0, looked + pause - time.monotonic())):
                key.data()
            now = time.monotonic()
            if now - looked >= pause and not self.ended:
                self._look()
                looked = now

    def _bury(self) -> tuple[int, float]:
        """Kill what is left, wait for it, close every pipe; return the exit status and all its CPU seconds."""
        if self.ended:
            while self._read_answer():
                pass
        for member in self.members[self.ended :]:
            kill(member)
        if self.ended:
            for output in self.outputs:
                while self.printed <= limits().output and self._read_output(output):
                    pass
        self.selector.close()
        ends = [member.wait() for member in self.members]
        for member in self.members:
            member.close()
        status, cpu = ends[0][0], max(sum(seconds for _, seconds in ends), self.cpu)
        if self.group:
            used = self.group.usage()
            cpu = max(cpu, used.cpu)
            self.group.close()
            if not self.stopped:
                self.stopped = "memory" if used.out_of_memory else "time" if cpu > self.bounds.own else ""
        return status, cpu

    def _write(self) -> bool:
        pending = self.conversation.to_send
        if pending:
            try:
                pending = pending[os.write(self.started.source, pending) :]
            except BlockingIOError:
                pass
            except OSError:
                pending = b""
            self.conversation.to_send = pending
        if bool(pending) != self.writing:
            self.writing = bool(pending)
            if self.writing:
                self.selector.register(self.started.source, selectors.EVENT_WRITE, self._write)
            else:
                self.selector.unregister(self.started.source)
        if self.conversation.finished and not pending:
            self.started.close_source()
        return True

    def _read_answer(self) -> bool:
        chunk = self._read(self.started.answers)
        if chunk:
            self.conversation.heard(chunk)
            if not self.ended:
                self._write()
        return bool(chunk)

    def _read_output(self, output: int) -> bool:
        chunk = self._read(output)
        self.printed += len(chunk)
        self.tails[output] += chunk
        del self.tails[output][:-TAIL]
        if self.printed > limits().output:
            self.stopped = "output"
        return bool(chunk)

    def _read(self, descriptor: int) -> bytes:
        try:
            chunk = os.read(descriptor, 65536)
        except BlockingIOError:
            return b""
        if not chunk and not self.ended:
            self.selector.unregister(descriptor)
        return chunk

    def _look(self) -> None:
        """Compare the tree's resources with its limits."""
        bounds, elapsed = self.bounds, time.monotonic() - self.begun
        if self.conversation.failure:
            self.failed_at = self.failed_at or elapsed
            if elapsed - self.failed_at > _LAST_WORDS:
                self.stopped = "failed"
                return
        taken = footprint([member.pid for member in self.members], memory_limit=bounds.memory)
        used = self.group.usage() if self.group else Usage(0.0, out_of_memory=False)
        own = self.clock.own(elapsed, taken)
        self.cpu = max(self.cpu, taken.cpu, used.cpu)
        # a task that waits right now has not been credited with it yet
        if self.cpu > bounds.own or (own > bounds.own and (not taken.runnable or own > 1.2 * bounds.own + 0.5)):
            self.stopped = "time"
        elif elapsed > bounds.wall:
            self.stopped = "wall"
        elif taken.memory > bounds.memory or used.out_of_memory:
            self.stopped = "memory"
        elif bounds.tasks and taken.tasks > 2 * bounds.tasks:
            self.stopped = "processes"
        elif bounds.inodes and inodes(taken.processes, _FOLDERS) > bounds.inodes:
            self.stopped = "files"
