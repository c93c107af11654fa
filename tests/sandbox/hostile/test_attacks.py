"""Hostile programs: none escapes, none passes, none leaves anything; and honest ones that look hostile pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import msgspec
import pytest

from sandbox.hostile.arena import Arena
from sandbox.hostile.programs import LANGUAGES, PROGRAMS, Program, named
from sandbox.hostile.world import Marks

HOSTILE = [program for program in PROGRAMS if program.hostile]
HONEST = [program for program in PROGRAMS if program.kind in ("honest", "control")]
STAYING = [program for program in PROGRAMS if program.kind == "stay"]
PASSING = {
    "python": "finished = True",
    "javascript": "const finished = true;",
    "cpp": "int main() { attack(); }",
    "ruby": "finished = true",
}
"""Tests that hold whatever the program before them did."""


def test_there_are_hostile_programs_of_every_kind_for_every_language() -> None:
    languages = Counter(program.language for program in HOSTILE)
    assert sum(languages.values()) >= 70
    assert set(languages) == set(LANGUAGES)
    assert min(languages.values()) >= 5
    assert min(languages[language] for language in ("python", "javascript", "cpp")) >= 10
    for language in LANGUAGES:
        kinds = Counter(program.kind for program in PROGRAMS if program.language == language)
        assert min(kinds[kind] for kind in ("escape", "fake", "stay", "control")) >= 1
        assert kinds["honest"] >= 2


def test_every_program_has_a_name_of_its_own_and_never_expects_to_be_without_a_toolchain() -> None:
    assert len({str(program) for program in PROGRAMS}) == len(PROGRAMS)
    assert not [str(program) for program in PROGRAMS if "toolchain" in program.expected]
    assert not [str(program) for program in HOSTILE if "passed" in program.expected]


@pytest.mark.parametrize("program", HOSTILE, ids=str)
def test_a_hostile_program_neither_passes_nor_escapes_nor_leaves_anything(
    program: Program, arena: Arena, installed: Callable[[str], None]
) -> None:
    installed(program.language)
    fate = arena.fate(program)
    assert not fate.problems, "\n".join(fate.problems)


@pytest.mark.parametrize("program", HONEST, ids=str)
def test_an_honest_program_passes_however_suspicious_it_looks(
    program: Program, arena: Arena, installed: Callable[[str], None]
) -> None:
    installed(program.language)
    fate = arena.fate(program)
    assert not fate.problems, "\n".join(fate.problems)


@pytest.mark.parametrize("staying", [program for program in STAYING if program.language in PASSING], ids=str)
def test_a_program_that_passes_leaves_nothing_either(
    staying: Program, arena: Arena, installed: Callable[[str], None]
) -> None:
    installed(staying.language)
    program = msgspec.structs.replace(
        staying, test=PASSING[staying.language], verdicts=("passed", "failed", "timeout", "limit"), says=""
    )
    fate = arena.wait(arena.examine(program))
    assert not fate.problems, "\n".join(fate.problems)


FOOLING = {
    "python": "exits well before the test without clean-up",
    "javascript": "opens a comment that a comment in the test closes",
    "typescript": "returns at the top and never reaches the test",
    "java": "stands in for the class System",
    "cpp": "defines conditions and exits away",
    "go": "stands in for the package os and for panic",
    "r": "quits well on errors and at its end",
    "csharp": "opens a comment that a comment in the test closes",
    "ruby": "patches comparison and raising",
}


@pytest.mark.parametrize("language", FOOLING)
def test_a_fake_verdict_would_fool_a_judge_that_knows_the_exit_status_alone(
    language: str, arena: Arena, installed: Callable[[str], None]
) -> None:
    installed(language)
    request = named(language, FOOLING[language]).request(arena.world.places(Marks()))
    execution = arena.wait(arena.sandbox.run(msgspec.structs.replace(request, proof="exit")))
    assert execution.verdict == "passed", execution.detail
