"""A sandbox for the tests, which are skipped if isolation or a toolchain is missing."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from rows import tabled
from tiers import absent
from viva.errors import VivaError
from viva.sandbox import Sandbox
from viva.types import Execute, Execution

Run = Callable[..., list[Execution]]
NOT_PASSED = "failed|limit|timeout"


def request(language: str, program: str, test: str = "", **more: Any) -> Execute:
    return Execute(question="q", sample=0, language=language, program=program, test=test, **more)


def opened(**settings: Any) -> Sandbox:
    try:
        return Sandbox(**settings)
    except VivaError as error:
        absent(f"needs isolation: {error}")
        raise


def run_all(*requests: Execute, **settings: Any) -> list[Execution]:
    """Run programs in a sandbox of their own, all at once."""

    async def work() -> list[Execution]:
        sandbox = opened(**settings)
        try:
            return list(await asyncio.gather(*map(sandbox.run, requests)))
        finally:
            await sandbox.close()

    return asyncio.run(work())


def assert_verdicts(run: Run, *cases: tuple[Execute, str, str, str]) -> None:
    """Run programs: each has this verdict (or one of several, "failed|limit"), isolation ("" for any), and words."""
    found = run(*(asked for asked, *_ in cases))
    for ((asked, verdict, isolation, said), ran), row in tabled(*zip(cases, found, strict=True)):
        with row:
            assert ran.verdict in verdict.split("|"), (asked.program, ran.detail)
            assert isolation in ("", ran.isolation), ran.detail
            assert said in ran.detail


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Runs programs in one sandbox for all tests of a file; a test is skipped where a toolchain is missing."""

    async def work(requests: Sequence[Execute]) -> list[Execution]:
        if not sandboxes:
            sandboxes.append(opened())
        return list(await asyncio.gather(*map(sandboxes[0].run, requests)))

    def go(*requests: Execute) -> list[Execution]:
        found = runner.run(work(requests))
        for execution in found:
            if execution.verdict == "toolchain":
                absent(execution.detail)
        return found

    sandboxes: list[Sandbox] = []
    with asyncio.Runner() as runner:
        yield go
        for sandbox in sandboxes:
            runner.run(sandbox.close())
