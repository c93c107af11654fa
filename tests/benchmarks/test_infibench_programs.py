"""The published programs (answer and test, assembled) with the authors' verdicts, run in the sandbox.

One program per question that passed and one that failed (slow), of three languages in the quick tier; all 865
distinct ones with VIVA_ALL_PROGRAMS=1 (some minutes). infibench_differences.csv lists allowed differences with reasons.
"""

import asyncio
import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import Struct

from benchmarks.mutants import five
from cli.collected import read_csv
from tiers import absent
from viva.benchmarks.infibench.caseset import read_cases
from viva.sandbox import Sandbox
from viva.scorers.rubric.rubrics import UnitTests
from viva.types import Execute, Execution

pytestmark = pytest.mark.sandbox
QUICK = ("python", "javascript", "r")
DIFFERENCES = Path(__file__).with_name("infibench_differences.csv")
SURVIVORS = Path(__file__).with_name("infibench_mutants.csv")
EVERYTHING = os.environ.get("VIVA_ALL_PROGRAMS") == "1"
NOTHING = {"python": "None", "r": "NULL", "go": "nil", "cpp": "{}"}


class Published(Struct, frozen=True):
    """A row of the file: which answer's which test, its program, and whether the authors saw it pass."""

    case: str
    sample: int
    test: int
    program: str
    passed: bool


@pytest.fixture(scope="module")
def programs(published: Path) -> list[Published]:
    """All that differ."""
    file = published / "infibench" / "unit_programs_gpt-4.jsonl.gz"
    rows = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    known = (Published(**{name: row[name] for name in Published.__struct_fields__}) for row in rows)
    return list({(row.case, row.program): row for row in known}.values())


@pytest.fixture(scope="module")
def tests(published: Path) -> dict[str, UnitTests]:
    """Question → its tests."""
    found = {case.id: case.rubric.tests for case in read_cases(published, published=True)[0]}
    return {name: one for name, one in found.items() if one is not None}


def first_of_each(rows: list[Published], group: Callable[[Published], str]) -> list[Published]:
    """The first that passes and the first that fails, of each group."""
    return list({(group(row), row.passed): row for row in reversed(rows)}.values())


def reasons(path: Path) -> dict[str, str]:
    """Question → why, of a table."""
    return {row["case"]: row["reason"] for row in read_csv(path)}


@pytest.fixture(scope="module")
def explained() -> dict[str, str]:
    """Question → why its verdicts may differ here."""
    return reasons(DIFFERENCES)


def differing(rows: list[Published], tests: dict[str, UnitTests], explained: dict[str, str]) -> list[object]:
    """Programs whose verdict here is not the authors', without a reason in the table."""

    def request(row: Published) -> Execute:
        own = tests[row.case]
        seconds = own.tests[row.test].seconds or 60.0
        return Execute(
            question=row.case, sample=row.sample, language=own.language, program=row.program, seconds=seconds,
            proof="exit", files=own.files,
        )  # fmt: skip

    async def everything() -> list[Execution]:
        sandbox = Sandbox()
        try:
            return await asyncio.gather(*(sandbox.run(request(row)) for row in rows))
        finally:
            await sandbox.close()

    fared = asyncio.run(everything())
    missing = {row.case: ran.detail for row, ran in zip(rows, fared, strict=True) if ran.verdict == "toolchain"}
    if missing:
        absent(f"no toolchain: {missing}; `viva doctor` says what is missing")
    return [
        (row.case, row.sample, row.test, row.passed, ran.verdict, ran.detail[-300:])
        for row, ran in zip(rows, fared, strict=True)
        if (ran.verdict == "passed") != row.passed and row.case not in explained
    ]


def test_the_sandbox_sees_what_the_authors_saw_of_a_program_or_two(
    programs: list[Published], tests: dict[str, UnitTests], explained: dict[str, str]
) -> None:
    """Of languages that need no compiler."""
    known = [row for row in programs if row.case not in explained and tests[row.case].language in QUICK]
    few = first_of_each(known, lambda row: tests[row.case].language)
    assert {row.passed for row in few} == {True, False}
    assert differing(few, tests, explained) == []


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_the_sandbox_sees_what_the_authors_saw(
    programs: list[Published], tests: dict[str, UnitTests], explained: dict[str, str]
) -> None:
    chosen = programs if EVERYTHING else first_of_each(programs, lambda row: row.case)
    assert differing(chosen, tests, explained) == []
    assert len(chosen) > 60


def right_programs(programs: list[Published], tests: dict[str, UnitTests]) -> dict[str, list[str]]:
    """Question → what the first answer that passed as published puts before each of its tests."""
    found: dict[str, dict[int, dict[int, str]]] = {}
    for row in programs:
        end = row.program.rfind(tests[row.case].tests[int(row.test)].code.strip())
        if row.passed and end >= 0:
            found.setdefault(row.case, {}).setdefault(int(row.sample), {})[int(row.test)] = row.program[:end]
    whole = {
        case: [own for own in samples.values() if len(own) == len(tests[case].tests)] for case, samples in found.items()
    }
    return {case: [own[0][at] for at in sorted(own[0])] for case, own in whole.items() if own}


def mutated(parts: list[str], before: str, language: str) -> list[list[str]]:
    """Five programs that are wrong in one place, before each test."""
    start = parts[0].find(before) + len(before) if before in parts[0] else 0
    made = five(parts[0][start:], NOTHING.get(language, "null"))
    return [[parts[0][:start] + one if part == parts[0] else part for part in parts] for one in made]


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_five_mutants_of_a_right_program_fail(
    programs: list[Published], tests: dict[str, UnitTests], published: Path
) -> None:
    """Where a mutant passes, or no program does, infibench_mutants.csv says why."""
    meant = {case.id: case.rubric.tests for case in read_cases(published)[0] if case.rubric.tests}
    right = right_programs(programs, tests)

    async def passes(sandbox: Sandbox, case: str, parts: list[str]) -> bool:
        own = meant[case]
        for part, test in zip(parts, own.tests, strict=True):
            request = Execute(
                question=case, sample=0, language=own.language, program=part, test=test.code, calls=test.calls,
                files=own.files, seconds=test.seconds or 60.0, proof="completion",
            )  # fmt: skip
            if (await sandbox.run(request)).verdict != "passed":
                return False  # one failed test is enough
        return True

    async def everything() -> dict[str, str]:
        sandbox = Sandbox()
        try:
            found: dict[str, str] = {}
            for case, own in meant.items():
                parts = right.get(case)
                if parts is None or not await passes(sandbox, case, parts):
                    found[case] = "no program"
                    continue
                wrong = mutated(parts, own.tests[0].before, own.language)
                fared = await asyncio.gather(*(passes(sandbox, case, one) for one in wrong))
                if any(fared):
                    found[case] = f"{sum(fared)} of {len(fared)} mutants pass"
            return found
        finally:
            await sandbox.close()

    found = asyncio.run(everything())
    known = reasons(SURVIVORS)
    assert not [f"{case}: {found.get(case, 'all fail')}" for case in found.keys() ^ known.keys()]
