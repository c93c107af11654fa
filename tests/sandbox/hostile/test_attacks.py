"""Hostile programs: none escapes, none passes, none leaves anything; and honest ones that look hostile pass.

The quick tier has one program of each kind per language, and those that try to fool a judge; the slow one has all.
"""

from collections import Counter
from collections.abc import Callable
from itertools import chain

import msgspec
import pytest

from rows import tabled
from sandbox.hostile.arena import Arena
from sandbox.hostile.programs import LANGUAGES, Program, programs

PASSING = {
    "python": "finished = True",
    "javascript": "const finished = true;",
    "cpp": "int main() { attack(); }",
    "ruby": "finished = true",
}
"""Tests that hold whatever the program before them did."""
FOOLING = {
    "python": "exits well before the test without clean-up",
    "javascript": "opens a comment that a comment in the test closes",
    "typescript": "returns at the top and never reaches the test",
    "java": "stands in for the class System",
    "cpp": "defines a word of the test away: if",
    "go": "stands in for a name that the test uses: os",
    "r": "quits well in a hook: options",
    "csharp": "opens a comment that a comment in the test closes",
    "ruby": "patches a comparison or an exit: ==",
}
"""Of each language a fake that passes where nothing but the exit status counts."""
DEAR = ("java", "go", "typescript", "r", "csharp", "cpp")
"""Languages in which a program takes longest: a quick sample has their fakes: the walls are those of the others."""
TIERS = pytest.mark.parametrize("of_each_kind", [1, pytest.param(1000, marks=pytest.mark.slow, id="all")])


def hostile() -> list[Program]:
    return [program for program in programs() if program.hostile]


def chosen(language: str, of_each_kind: int) -> list[Program]:
    """Programs of each kind that are to be run one by one; of few, the fake that would fool a simpler judge."""
    few = of_each_kind == 1
    kinds = {"fake"} if few and language in DEAR else {"escape", "fake", "control", "cost", "stay", "honest"}
    counts: Counter[str] = Counter()
    found = []
    for program in sorted(programs(), key=lambda one: one.name != FOOLING[language]):
        if program.language == language and program.kind in kinds:
            counts[program.kind] += 1
            if counts[program.kind] <= of_each_kind:
                found.append(program)
    return found


def passing(language: str) -> list[Program]:
    """Programs that leave processes behind, each with a test that holds."""
    verdicts = ("passed", "failed", "timeout", "limit")
    return [
        msgspec.structs.replace(
            program, name=f"{program.name}, and passes", test=PASSING[language], verdicts=verdicts, says=""
        )
        for program in programs()
        if (program.language, program.kind) == (language, "stay") and language in PASSING
    ]


def test_there_are_hostile_programs_of_every_kind_for_every_language() -> None:
    languages = Counter(program.language for program in hostile())
    assert sum(languages.values()) >= 700
    assert set(languages) == set(LANGUAGES)
    assert min(languages.values()) >= 5
    assert min(languages[language] for language in ("python", "javascript", "cpp")) >= 10
    for language in LANGUAGES:
        kinds = Counter(program.kind for program in programs() if program.language == language)
        assert min(kinds[kind] for kind in ("escape", "fake", "stay", "control")) >= 1
        assert kinds["honest"] >= 2


def test_every_program_has_a_name_of_its_own_and_never_expects_to_be_without_a_toolchain() -> None:
    assert len({str(program) for program in programs()}) == len(programs())
    assert not [str(program) for program in programs() if "toolchain" in program.expected]
    assert not [str(program) for program in hostile() if "passed" in program.expected]


@pytest.mark.sandbox
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("language", LANGUAGES)
@TIERS
def test_no_hostile_program_passes_escapes_or_leaves_anything_and_honest_ones_pass(
    language: str, of_each_kind: int, arena: Arena, installed: Callable[[str], None]
) -> None:
    installed(language)
    for (_program, fate), row in tabled(
        *arena.fates([*chosen(language, of_each_kind), *passing(language)[:of_each_kind]])
    ):
        with row:
            assert not fate.problems, "\n".join(fate.problems)


@pytest.mark.sandbox
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "language", [pytest.param(one, marks=pytest.mark.slow if one in DEAR else ()) for one in LANGUAGES]
)
@TIERS
def test_a_fake_passes_where_nothing_but_the_exit_status_decides(
    language: str, of_each_kind: int, arena: Arena, installed: Callable[[str], None]
) -> None:
    """Else the test that it does not pass here would prove nothing."""
    installed(language)
    fakes = [
        program
        for program in programs()
        if (program.language, program.kind, program.aim) == (language, "fake", "exit") and not program.calls
    ]
    first = [program for program in fakes if program.name == FOOLING[language]]
    assert first
    chosen = first if of_each_kind == 1 else fakes
    begun = [(program, arena.start(arena.unprotected(program))) for program in chosen]
    for (program, execution), row in tabled(*begun):
        with row:
            # One that relays every descriptor to every other now and then ends Node itself: it can fool, not always.
            runs = chain([execution], (arena.start(arena.unprotected(program)) for _ in range(2)))
            assert "passed" in (run.result(600).verdict for run in runs), execution.result().detail
