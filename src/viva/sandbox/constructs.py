"""Constructs in programs that honest solutions rarely need (constructs.toml), found by their syntax trees.

A remark and no verdict: a program that has one can be honest, and a cheat can do without. Parsing is left to a process
of its own with limits of time, memory and length, one for each parser, begun when it is first needed.
"""

from __future__ import annotations

import json
import os
import resource
import select
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec

from viva.contracts import Flag
from viva.sandbox.languages import canonical, languages, missing_parts, package_folder
from viva.shipped import shipped_table

LONGEST = 100_000
"""Characters of a program that is examined."""
_SECONDS = 20.0
_MEMORY = 1 << 30
_REMEMBERED = 10_000
_SHOWN = 120
"""Characters of a line that a flag repeats."""


class _Construct(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of constructs.toml, which explains the fields."""

    name: str
    reason: str
    features: tuple[str, ...]


@cache
def constructs() -> Mapping[str, Sequence[_Construct]]:
    """By the language whose parser finds them."""
    return shipped_table(__file__, "constructs.toml", dict[str, tuple[_Construct, ...]])


class Examiner:
    """Examines programs, one at a time. `close` ends its processes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parsers: dict[str, _Parser | None] = {}
        self._known: dict[tuple[str, str], tuple[Flag, ...] | None] = {}

    def examine(self, language: str, program: str) -> Sequence[Flag] | None:
        """The constructs that a program has, in the table's order; None where it was not examined: in a language
        without a parser here, too long, or not to be parsed within the limits."""
        name = canonical(language)
        with self._lock:
            if (name, program) not in self._known:
                while len(self._known) >= _REMEMBERED:
                    del self._known[next(iter(self._known))]
                self._known[name, program] = self._examined(name, program)
            return self._known[name, program]

    def close(self) -> None:
        """End what still runs."""
        with self._lock:
            for parser in filter(None, self._parsers.values()):
                parser.close()
            self._parsers.clear()

    def _examined(self, name: str, program: str) -> tuple[Flag, ...] | None:
        if name not in self._parsers:
            command = _command(name)
            self._parsers[name] = _Parser(command, _TABLE_OF[name]) if command else None
        parser = self._parsers[name]
        return parser.examine(program) if parser and len(program) <= LONGEST else None


_TABLE_OF = {"python": "python", "javascript": "javascript", "typescript": "javascript"}


def _command(name: str) -> tuple[str, ...]:
    """What parses programs of a language; () where nothing here does."""
    if name == "python":
        return (sys.executable, "-I", "-S", str(Path(__file__).with_name("features.py")))
    folder = package_folder()
    if name not in _TABLE_OF or folder is None or missing_parts(name):
        return ()
    if not (folder / "node_modules" / "acorn").is_dir():
        return ()
    script = str(Path(__file__).parent / "harness" / "features.js")
    return (languages()[name].needs[0], "--max-old-space-size=512", script, name)


class _Parser:
    """One process that parses one program after another; begun anew after one that it could not bear."""

    def __init__(self, command: tuple[str, ...], table: str) -> None:
        self._command = command
        self._rows = constructs()[table]
        self._process: subprocess.Popen[bytes] | None = None

    def examine(self, program: str) -> tuple[Flag, ...] | None:
        found = self._asked(program)
        if found is None:
            return None
        lines = ["", *(line.strip()[:_SHOWN] for line in program.split("\n"))]
        flags = []
        for row in self._rows:
            numbers = [found[one] for one in row.features if one in found]
            if numbers:
                flags.append(Flag(row.name, row.reason, lines[min(numbers)] if min(numbers) < len(lines) else ""))
        return tuple(flags)

    def close(self) -> None:
        if self._process:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _asked(self, program: str) -> Mapping[str, int] | None:
        if self._process is None:
            self._process = self._begun()
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(program).encode() + b"\n")
            self._process.stdin.flush()
            return msgspec.json.decode(self._reply(), type=dict[str, int] | None)
        except (OSError, EOFError, msgspec.DecodeError):
            self.close()
            return None

    def _reply(self) -> bytes:
        """One line. Raises EOFError where none comes in time."""
        assert self._process
        assert self._process.stdout
        descriptor, reply = self._process.stdout.fileno(), b""
        while not reply.endswith(b"\n"):
            ready, _, _ = select.select([descriptor], [], [], _SECONDS)
            more = os.read(descriptor, 1 << 16) if ready else b""
            if not more:
                raise EOFError
            reply += more
        return reply

    def _begun(self) -> subprocess.Popen[bytes]:
        folder = package_folder()
        process = subprocess.Popen(  # noqa: S603
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
            | ({"NODE_PATH": f"{folder}/node_modules"} if folder else {}),
        )
        if self._command[0] == sys.executable:  # Node.js reserves more than it uses; its heap has a limit of its own
            resource.prlimit(process.pid, resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.prlimit(process.pid, resource.RLIMIT_CORE, (0, 0))
        assert process.stdin
        patterns = list(dict.fromkeys(one for row in self._rows for one in row.features))
        process.stdin.write(json.dumps(patterns).encode() + b"\n")
        return process
