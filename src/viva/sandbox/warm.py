"""Viva's side of the warm Python interpreter (harness/zygote.py): starts it, sends it programs, expects it to die.

The first Python program starts it, in a sandbox. Where it cannot make namespaces inside its own, or dies, every program
gets a cold interpreter in an ordinary sandbox instead: the same verdicts, at the price of the imports.
"""

from __future__ import annotations

import array
import json
import os
import select
import socket
import struct
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress

from viva.sandbox.isolation import slot_uid, syscall_filter, walled
from viva.sandbox.languagetables import environment, harness_file, languages, shown
from viva.sandbox.launch import INFO, Spawned, Started, abandon, furnished, in_memory, pipes

_READY_SECONDS = 60.0
_PASS_CREDENTIALS = getattr(socket, "SO_PASSCRED", 16)


class Zygote:
    """A warm interpreter of a language, in a slot's sandbox. Raises OSError where it cannot be started."""

    def __init__(self, language: str, imports: Sequence[str], slot: int) -> None:
        row = languages()[language]
        self._lock = threading.Lock()
        self.uid = slot_uid(slot)
        opened: list[int] = []
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            own = {"zygote.py"}.union(*(way.harness for way in (row.shared, row.answering, row.separate) if way))
            files = {f"/viva/{name}": harness_file(name).encode() for name in sorted(own)}
            files["/viva/rules"] = syscall_filter(language)
            inside = [*shown(), *furnished(files, environment(row), b"", opened)]
            command = walled(slot, disk=1, told=INFO, nested=True, inside=inside)
            command += [row.needs[0], "-B", "/viva/zygote.py", json.dumps([imports, row.stand_ins, theirs.fileno()])]
            self._process = Spawned(command, keep_open=(*opened, theirs.fileno()))
        finally:
            theirs.close()
            for descriptor in opened:
                os.close(descriptor)
        self._control = ours
        self._control.settimeout(_READY_SECONDS)
        try:
            if not self._control.recv(100):
                raise OSError("the warm interpreter ended")
        except OSError:
            self.close()
            raise

    def alive(self) -> bool:
        """Return whether it can take another program."""
        return not self._process.finished()

    def start(self, request: Mapping[str, object], files: Mapping[str, bytes], link: Sequence[int] = ()) -> Started:
        """Fork for one program, which gets the descriptors in `link`. Raises OSError when the interpreter is gone."""
        ours, theirs = pipes(self.uid)
        status, reporting = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            status.setsockopt(socket.SOL_SOCKET, _PASS_CREDENTIALS, 1)
            theirs += map(in_memory, files.values())
            message = json.dumps({**request, "files": list(files), "link": len(link)}).encode()
            with self._lock:
                socket.send_fds(self._control, [message], [reporting.fileno(), *theirs[:3], *link, *theirs[3:]])
            reporting.close()
            pid = _sender(status)
        except BaseException:
            for descriptor in ours:
                os.close(descriptor)
            status.close()
            reporting.close()
            raise
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        return Forked(pid, status, *ours)

    def close(self) -> None:
        """End the interpreter and all its forks."""
        self._control.close()
        abandon(self._process)


def _sender(status: socket.socket) -> int:
    """Return the pid, as this process sees it, of the sender of the first message."""
    status.settimeout(20)
    _, ancillary, _, _ = status.recvmsg(100, socket.CMSG_SPACE(struct.calcsize("3i")))
    status.settimeout(None)
    for _, kind, data in ancillary:
        if kind == getattr(socket, "SCM_CREDENTIALS", 2):
            return int(array.array("i", data[:4])[0])
    raise OSError("the warm interpreter did not fork")


class Forked(Started):
    """A program forked from the warm interpreter: its monitor reports how it ended."""

    def __init__(self, pid: int, status: socket.socket, source: int, output: int, answers: int) -> None:
        super().__init__(pid, source, output, answers)
        self._status = status
        self.ending = status.fileno()

    def finished(self) -> bool:
        """Return whether the monitor has reported."""
        return bool(select.select([self._status], [], [], 0)[0])

    def wait(self) -> tuple[int, float]:
        """Return exit status and CPU seconds; where the monitor itself was killed, the program counts as killed."""
        with suppress(OSError, ValueError):
            self._status.settimeout(10)
            told = json.loads(self._status.recv(1000) or b"{}")
            self._status.recv(1)  # nothing more comes: the monitor itself is gone
            return int(told.get("status", 137)), float(told.get("cpu", 0.0))
        return 137, 0.0

    def close(self) -> None:
        """Give the descriptors back."""
        super().close()
        self._status.close()
