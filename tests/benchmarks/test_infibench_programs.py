"""The published programs (answer and test, assembled) with the authors' verdicts, run in the sandbox.

Of each question one that passes and one that fails here; all 865 different ones with VIVA_ALL_PROGRAMS=1 (some
minutes). Each difference that there may be is in infibench_differences.csv, with its reason.
"""

from __future__ import annotations

import asyncio
import csv
import gzip
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import Struct

from viva.benchmarks.infibench.loading import read_cases
from viva.sandbox import Sandbox
from viva.types import Execute, Execution

A_QUESTION = 1
"""Different programs of one question and verdict that are run."""
DIFFERENCES = Path(__file__).with_name("infibench_differences.csv")


class Published(Struct, frozen=True):
    """A row of the file: which answer's which test, its program, and whether the authors saw it pass."""

    case: str
    sample: int
    test: int
    program: str
    passed: bool


@pytest.fixture(scope="module")
def programs(published: Path) -> list[Published]:
    file = published / "infibench" / "unit_programs_gpt-4.jsonl.gz"
    rows = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    known = (Published(**{name: row[name] for name in Published.__struct_fields__}) for row in rows)
    distinct = list({(row.case, row.program): row for row in known}.values())
    return distinct if os.environ.get("VIVA_ALL_PROGRAMS") == "1" else list(_few(distinct))


def _few(rows: list[Published]) -> Iterator[Published]:
    taken: dict[tuple[str, bool], int] = {}
    for row in rows:
        key = row.case, row.passed
        taken[key] = taken.get(key, 0) + 1
        if taken[key] <= A_QUESTION:
            yield row


@pytest.fixture(scope="module")
def explained() -> dict[str, str]:
    """Question → why its verdicts may differ here."""
    with DIFFERENCES.open(encoding="utf-8", newline="") as table:
        return {row["case"]: row["reason"] for row in csv.DictReader(table)}


def needs_the_sandbox() -> None:
    if shutil.which("bwrap") is None:
        if os.environ.get("VIVA_CI") == "1":
            pytest.fail("bubblewrap is not installed")
        pytest.skip("bubblewrap is not installed")


@pytest.mark.timeout(1500)
def test_the_sandbox_sees_what_the_authors_saw(
    programs: list[Published], explained: dict[str, str], published: Path
) -> None:
    needs_the_sandbox()
    cases = {case.id: case for case in read_cases(published, published=True)[0]}

    async def everything() -> list[Execution]:
        sandbox = Sandbox()
        try:
            return await asyncio.gather(*(sandbox.run(request) for request in requests))
        finally:
            await sandbox.close()

    requests: list[Execute] = []
    for row in programs:
        tests = cases[row.case].rubric.tests
        assert tests is not None
        seconds = tests.tests[row.test].seconds or 60.0
        language = tests.language
        requests.append(
            Execute(
                question=row.case, sample=row.sample, language=language, program=row.program, seconds=seconds,
                proof="exit", files=tests.files,
            )
        )  # fmt: skip
    fared = asyncio.run(everything())
    missing = {row.case: ran.detail for row, ran in zip(programs, fared, strict=True) if ran.verdict == "toolchain"}
    if missing:
        if os.environ.get("VIVA_CI") == "1":
            pytest.fail(f"no toolchain: {missing}")
        pytest.skip(f"no toolchain for {len(missing)} questions; `viva toolchains` says what is missing")
    differing = [
        (row.case, row.sample, row.test, row.passed, ran.verdict, ran.detail[-300:])
        for row, ran in zip(programs, fared, strict=True)
        if (ran.verdict == "passed") != row.passed and row.case not in explained
    ]
    assert differing == []
    assert len(programs) > 60
