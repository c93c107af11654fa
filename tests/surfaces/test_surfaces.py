"""One number, computed once: every surface that shows a score shows the same one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rows import table
from surfaces.surfaces import SURFACES, Seen
from surfaces.worlds import WORLDS, World


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Seen]:
    """A world in a folder of its own, and the commands' width."""
    world: World = request.param
    folder = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("COLUMNS", "120")
        world.make(folder)
        yield Seen(world, folder)


def agree(name: str, shown: Any, estimate: dict[str, Any]) -> bool:
    """Whether what is shown of a quantity is what is stored of it, to what is printed."""
    missing = sum(estimate["outcomes"].get(one, 0) for one in ("error", "not asked", "ungraded", "unsound"))
    complete = not missing and estimate["ceiling"] - estimate["floor"] < 1e-9
    known = estimate | {"mark": "" if complete else "†", "unanswered": missing}
    truth = known[name]
    if isinstance(shown, str) and name not in ("mark", "n"):
        return shown == ("–" if truth is None else f"{100 * truth:.2f}")
    if name == "n":
        return shown == truth or shown == f"{truth:,}"
    return bool(shown == truth or shown == pytest.approx(truth, abs=1e-12))


@pytest.mark.parametrize("seen", WORLDS, indirect=True, ids=[world.name for world in WORLDS])
def test_every_surface_says_the_same(seen: Seen) -> None:
    assert seen.truth
    with table() as row:
        for surface in SURFACES:
            with row(surface.__name__):
                shown = surface(seen)
                assert set(shown) <= set(seen.truth)
                wrong = [
                    (who, name, text, seen.truth[who])
                    for who, quantities in shown.items()
                    for name, text in quantities.items()
                    if text is not None and not agree(name, text, seen.truth[who])
                ]
                assert not wrong, wrong[:3]
                print(seen.world.name, surface.__name__, len(shown))
