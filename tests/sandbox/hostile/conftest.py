"""One world and one sandbox for all hostile programs of a session, and who is left out where a toolchain is missing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import NoReturn

import pytest

from sandbox.hostile.arena import Arena
from sandbox.hostile.programs import PROGRAMS, Program
from sandbox.hostile.world import World, alive, descendants, exported, furnished
from viva.errors import VivaError


def absent(reason: str) -> NoReturn:
    """Skip, or fail where nothing may be skipped (VIVA_CI=1)."""
    if os.environ.get("VIVA_CI") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="package")
def world() -> Iterator[World]:
    with furnished() as each, exported(each):
        yield each


@pytest.fixture(scope="package")
def arena(world: World, request: pytest.FixtureRequest) -> Iterator[Arena]:
    before = descendants(os.getpid())
    try:
        each = Arena(world)
    except VivaError as error:
        absent(f"needs the sandbox: {error}")
    if "PYTEST_XDIST_WORKER" not in os.environ:  # one process for all tests: begin them at once, two at a time
        for item in request.session.items:
            callspec = getattr(item, "callspec", None)
            program = callspec.params.get("program") if callspec else None
            if isinstance(program, Program):
                each.begin(program)
    yield each
    each.close()
    left = {pid: started for pid, started in descendants(os.getpid()).items() if pid not in before}
    time.sleep(1 if alive(left) else 0)
    assert alive(left) == []
    assert list(world.work.iterdir()) == []


@pytest.fixture(scope="package")
def installed(arena: Arena) -> Callable[[str], None]:
    """Goes on only where a language's toolchain is installed: where its control program does not lack one."""

    def check(language: str) -> None:
        (control,) = [each for each in PROGRAMS if each.language == language and each.kind == "control"]
        fate = arena.fate(control)
        if fate.execution.verdict == "toolchain":
            absent(f"no toolchain for {language}: {fate.execution.detail}")

    return check
