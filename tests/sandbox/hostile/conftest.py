"""One world and one sandbox for all hostile programs of a session, and skips for missing toolchains."""

import os
from collections.abc import Callable, Iterator

import pytest

from sandbox.hostile.arena import Arena
from sandbox.hostile.world import World, alive, descendants, exported, furnished
from servers.fixtures import wait_until
from tiers import absent
from viva.errors import VivaError
from viva.sandbox.languagetables import missing_parts


@pytest.fixture(scope="package")
def world() -> Iterator[World]:
    with furnished() as each, exported(each):
        yield each


@pytest.fixture(scope="package")
def arena(world: World) -> Iterator[Arena]:
    before = descendants(os.getpid())
    try:
        each = Arena(world)
    except VivaError as error:
        absent(f"needs the sandbox: {error}")
        raise
    yield each
    each.close()
    left = {pid: started for pid, started in descendants(os.getpid()).items() if pid not in before}
    wait_until(lambda: not alive(left), f"the end of {alive(left)}")  # the kernel of a busy machine takes its time
    assert list(world.work.iterdir()) == []


@pytest.fixture(scope="package")
def installed(arena: Arena) -> Callable[[str], None]:
    """Goes on only where a language's toolchain is installed."""

    def check(language: str) -> None:
        if missing := missing_parts(language):
            absent(f"no toolchain for {language}: {', '.join(missing)}")

    return check
