"""The hostile programs: a folder of TOML tables a language, filled in with the places where a test hid its secrets."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from viva.types import Call, Execute, Verdict

HERE = Path(__file__).parent
LANGUAGES = ("python", "javascript", "typescript", "java", "cpp", "go", "r", "csharp", "ruby")

Kind = Literal[
    "escape",  # passes only if it got at something it must not get at
    "fake",  # its answer is wrong, and it wants to pass all the same
    "cost",  # would pass, but for a limit that it runs into
    "stay",  # leaves processes behind; its test fails
    "honest",  # looks suspicious and is right
    "control",  # an escape from nothing: shows that the attempts of its language can succeed
    "pair",  # two that look for each other, run by tests of their own
]


class Program(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One program. `verdicts` are those it may earn, `says` is what it prints before it can fail."""

    name: str
    kind: Kind
    program: str
    language: str = ""
    test: str = ""
    calls: tuple[Call, ...] = ()
    seconds: float = 0.0
    verdicts: tuple[Verdict, ...] = ()
    says: str | None = None
    files: dict[str, str] = {}
    apart: bool = False
    """Python: the attempts are made by an interpreter that the program starts, without Viva's harness in it."""

    def __str__(self) -> str:
        return f"{self.language} {self.name}"

    @property
    def hostile(self) -> bool:
        return self.kind in ("escape", "fake", "cost", "stay")

    @property
    def expected(self) -> tuple[Verdict, ...]:
        """The verdicts that are right. Never "toolchain", and "compile" only where the table says so."""
        if self.kind in ("honest", "control"):
            return ("passed",)
        return self.verdicts or (("failed", "limit", "timeout") if self.kind == "stay" else ("failed",))

    def request(self, places: dict[str, str]) -> Execute:
        """The request with @NAME@ replaced by places["NAME"]."""
        program, test = self.program, self.test
        for name, value in places.items():
            program, test = program.replace(f"@{name}@", value), test.replace(f"@{name}@", value)
        return Execute(
            question=self.name,
            sample=0,
            language=self.language,
            program=program.rstrip("\n"),
            test=test,
            calls=self.calls,
            files=tuple(self.files.items()),
            seconds=self.seconds,
        )


class Shared(Struct, frozen=True, forbid_unknown_fields=True):
    """What the programs of a language share: by kind, the test after and the lines before them; the limit of those that
    may time out."""

    tests: dict[str, str]
    preludes: dict[str, str]
    seconds: float = 2.0


class Table(Struct, frozen=True, forbid_unknown_fields=True):
    """One file of programs; with `calls`, these take the place of tests and preludes."""

    program: tuple[Program, ...]
    calls: tuple[Call, ...] = ()


AMPLE = 30.0
"""Seconds for a program that should end for another reason: a slow machine must not turn it into a timeout."""
SHARE = {"stay": "escape", "control": "escape"}
"""Whose prelude and test a kind uses, if not its own."""


def load(language: str) -> tuple[Program, ...]:
    """All programs of one language, each complete."""
    folder = HERE / "programs" / language
    shared = msgspec.toml.decode((folder / "shared.toml").read_bytes(), type=Shared)
    tables = [
        msgspec.toml.decode((folder / name).read_bytes(), type=Table)
        for name in ("escapes.toml", "verdicts.toml", "proof.toml", "separate.toml", "honest.toml", "calls.toml")
        if (folder / name).exists()
    ]
    return tuple(
        _called(program, language, shared, table.calls) if table.calls else _complete(program, language, shared)
        for table in tables
        for program in table.program
    )


def _called(program: Program, language: str, table: Shared, calls: tuple[Call, ...]) -> Program:
    """A program that is asked for calls: what it says is its own affair."""
    return msgspec.structs.replace(
        program,
        language=language,
        calls=program.calls or calls,
        seconds=program.seconds or AMPLE,
        says=program.says or "",
    )


def _complete(program: Program, language: str, table: Shared) -> Program:
    kind = SHARE.get(program.kind, program.kind)
    prelude = table.preludes.get(kind, "")
    test = program.test or table.tests.get(kind) or table.tests["fake"]
    source = prelude + program.program
    if program.apart:
        child = source + "\nsys.exit(42 if escaped else 0)\n"
        run = f'subprocess.run(["/usr/bin/python3", "-c", {child!r}]).returncode == 42'
        source = f"{prelude}\nimport subprocess\nattempt(lambda: {run})\n"
    says = program.says
    if says is None:
        says = "attempted" if kind in ("escape", "fake") else ""
    seconds = program.seconds or (table.seconds if "timeout" in program.expected else AMPLE)
    return msgspec.structs.replace(program, language=language, program=source, test=test, seconds=seconds, says=says)


@cache
def programs() -> tuple[Program, ...]:
    """All of all languages."""
    return tuple(program for language in LANGUAGES for program in load(language))


def named(language: str, name: str) -> Program:
    """The one of that name."""
    (found,) = [program for program in programs() if (program.language, program.name) == (language, name)]
    return found
