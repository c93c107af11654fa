"""A sandbox for the tests, and who is left out where isolation or a toolchain is missing."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

import pytest

from viva.errors import VivaError
from viva.sandbox import Sandbox
from viva.types import Execute, Execution

Run = Callable[..., Execution]


def absent(reason: str) -> None:
    """Skip, or fail where nothing may be skipped (VIVA_CI=1)."""
    if os.environ.get("VIVA_CI") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


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


@pytest.fixture
def run() -> Run:
    """Run one program; skipped where its toolchain is missing."""

    def go(language: str, program: str, test: str = "", **more: Any) -> Execution:
        (execution,) = run_all(request(language, program, test, **more))
        if execution.verdict == "toolchain":
            absent(execution.detail)
        return execution

    return go
