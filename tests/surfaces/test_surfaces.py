"""One number, computed once: every surface that shows a score shows the same one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rows import table
from surfaces.surfaces import SURFACES, Seen
from surfaces.worlds import WORLDS

MISSING = ("error", "not asked", "ungraded", "unsound")
"""Outcomes that leave an answer out of the mean."""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    """All worlds in a folder, and a terminal's usual width."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("worlds"))
        patch.setenv("COLUMNS", "120")
        yield Seen({name: text for world in WORLDS for name, text in world.make().items()})


def missing(estimate: dict[str, Any]) -> int:
    return sum(estimate["outcomes"].get(one, 0) for one in MISSING)


def agree(name: str, shown: Any, estimate: dict[str, Any]) -> bool:
    """Whether a quantity is shown as it is, to what is printed."""
    complete = not missing(estimate) and estimate["ceiling"] - estimate["floor"] < 1e-9
    truth = (estimate | {"mark": "" if complete else "†", "unanswered": missing(estimate)})[name]
    if isinstance(shown, str) and name in ("mean", "low", "high", "floor", "ceiling"):
        return shown == ("–" if truth is None else f"{100 * truth:.2f}")
    return bool(shown == truth or shown == f"{truth:,}" if name == "n" else shown == pytest.approx(truth, abs=1e-12))


def test_every_surface_says_the_same(seen: Seen) -> None:
    with table() as row:
        for surface, worlds in SURFACES.items():
            with row(surface.__name__):
                shown = surface(seen)
                assert set(shown) == {(exam, model) for exam, model in seen.truth if model.split("/")[1].split("-")[0] in worlds}
                wrong = [
                    (who, name, text, seen.truth[who][name] if name in seen.truth[who] else "")
                    for who, quantities in shown.items()
                    for name, text in quantities.items()
                    if text is not None and not agree(name, text, seen.truth[who])
                ]
                assert not wrong, wrong[:6]
