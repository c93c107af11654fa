"""The hostile programs: a folder of TOML tables per language, filled in with the locations of a test's secrets."""

from collections.abc import Iterator
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


Aim = Literal[
    "exit",  # passes wherever nothing but the exit status of program and test counts (proof = "exit")
    "output",  # where the output is looked at: it prints what its name says
    "harness",  # of Viva's own harness: keys, pipes, what runs the test; elsewhere it gains nothing
    "limits",  # of the compiler: it should cost nobody more than its limits
]


class Patch(Struct, frozen=True, forbid_unknown_fields=True):
    """One attempt of several programs that are otherwise the same, and the test that it wants to pass."""

    patch: str
    test: str = ""


class Program(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One program. `verdicts` are those it may earn, `says` is what it prints before it can fail.

    With `patches` it is as many programs, each with one of them, by its name, in the place of @PATCH@.
    """

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
    patches: dict[str, str | Patch] = {}
    aim: Aim = "exit"
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


ALONE = """import os
with open("whole.py", "w", encoding="utf-8") as file:
    file.write({source!r})
os.execv("/usr/bin/python3", ["python3", "-B", "whole.py"])
"""


def unprotected(request: Execute) -> Execute:
    """The same where nothing protects the verdict: program and test are one file, whose exit status decides.

    Python gets an interpreter of its own for that: the published runner is none, and fails whatever calls `exit`.
    """
    if request.language != "python":
        return msgspec.structs.replace(request, proof="exit")
    whole = ALONE.format(source=f"{request.program}\n{request.test}")
    return msgspec.structs.replace(request, proof="exit", program=whole, test="")


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
        for whole in table.program
        for program in _each(whole)
    )


def _each(program: Program) -> Iterator[Program]:
    """A program for each of its patches; itself where it has none."""
    for name, given in program.patches.items():
        patch = given if isinstance(given, Patch) else Patch(given)
        yield msgspec.structs.replace(
            program,
            name=f"{program.name}: {name}",
            program=program.program.replace("@PATCH@", patch.patch.strip("\n")),
            test=patch.test or program.test,
            patches={},
        )
    if not program.patches:
        yield program


def _called(program: Program, language: str, table: Shared, calls: tuple[Call, ...]) -> Program:
    """A program that is asked for calls: what it says is its own affair."""
    return msgspec.structs.replace(
        program,
        language=language,
        calls=program.calls or calls,
        seconds=_seconds(program, table),
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
    return msgspec.structs.replace(
        program, language=language, program=source, test=test, seconds=_seconds(program, table), says=says
    )


def _seconds(program: Program, table: Shared) -> float:
    return program.seconds or (table.seconds if "timeout" in program.expected else AMPLE)


@cache
def programs() -> tuple[Program, ...]:
    """All of all languages."""
    return tuple(program for language in LANGUAGES for program in load(language))


def named(language: str, name: str) -> Program:
    """The one of that name."""
    (found,) = [program for program in programs() if (program.language, program.name) == (language, name)]
    return found
