"""Which tests this machine can run: tiers by marker, what each needs, and what was left out.

A marker says what a test needs: `sandbox` (bubblewrap and toolchains), `browser` (Chromium), `torch` and `peers` (the
packages that the marker names). A test whose needs are missing is left out and counted; where VIVA_CI=1 nothing may be
missing, so it runs and fails. `slow` needs nothing but time: `make test` leaves it out by `--quick`.
"""

import functools
import importlib.util
import os
from collections import Counter
from pathlib import Path

import pytest

BRINGS = {
    "sandbox": "make toolchains",
    "browser": "make browser",
    "torch": "make torch",
    "peers": "make peers",
    "slow": "make test-all",
}
"""Tiers, in the order in which they are reported, and the command that brings each."""
BROWSERS = ("/usr/bin/chromium-headless-shell", "/usr/bin/chromium")
"""The first that is there is driven: without windows a page takes half the time of a processor."""
DESCRIPTIONS = {
    "sandbox": "runs programs: needs bubblewrap and the toolchains of `viva doctor`",
    "browser": "drives Chromium",
    "torch": "computes with torch; names in the marker are further modules that must be installed",
    "peers": "uses packages of others that are named in the marker, as importable modules",
    "slow": "takes long: `make test` leaves it out, `make test-all` and CI run it",
}


def absent(reason: str) -> None:
    """Skip, or fail where nothing may be skipped."""
    if os.environ.get("VIVA_CI") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def left_out(item: pytest.Item, *, quick: bool) -> str:
    """Name the tier that keeps this test from running here; empty where it can run."""
    if quick and item.get_closest_marker("slow"):
        return "slow"
    if os.environ.get("VIVA_CI") == "1":
        return ""
    for tier, ready in (("sandbox", _sandbox), ("browser", _browser)):
        if item.get_closest_marker(tier) and not ready():
            return tier
    for tier, always in (("torch", ("torch",)), ("peers", ())):
        modules = [str(name) for marker in item.iter_markers(tier) for name in (*always, *marker.args)]
        if not all(map(_installed, modules)):
            return tier
    return ""


def is_part(item: pytest.Item) -> bool:
    """Whether the test has the same parameters once more, with every row in place of some: that run is enough."""
    given = getattr(getattr(item, "callspec", None), "params", {})
    return given.get("every", 1) != 1 or 1 in (given.get("of_each_kind"), given.get("seeds"))


def summary(counts: Counter[str], skipped: int) -> str:
    """Say in one line what was left out, and which command brings it."""
    parts = [f"{counts[tier]} {tier} ({BRINGS[tier]})" for tier in BRINGS if counts[tier]]
    if skipped:
        parts.append(f"{skipped} skipped (pytest -rs says why)")
    return f"left out: {', '.join(parts)}; make test-all runs everything" if parts else "nothing was left out"


@functools.cache
def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of "google.genai", where there is no "google"
        return False


@functools.cache
def _sandbox() -> bool:
    return Path("/usr/bin/bwrap").exists()


@functools.cache
def _browser() -> bool:
    return _installed("playwright") and any(Path(path).exists() for path in BROWSERS)
