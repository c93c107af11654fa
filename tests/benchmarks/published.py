"""The published question sets and the papers' figures: not in the repository, but possibly in ../shared."""

import os
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[3] / "shared"


def beside_the_repository(name: str) -> Path:
    """A folder of ../shared. Without it the test is skipped; where nothing may be skipped (VIVA_CI=1), it fails."""
    found = SHARED / name
    if not found.is_dir():
        reason = f"needs the published files in ../shared/{name}, beside the repository"
        if os.environ.get("VIVA_CI") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return found


@pytest.fixture(scope="session")
def published() -> Path:
    """The published question sets: a folder as --data takes it."""
    return beside_the_repository("data")


@pytest.fixture(scope="session")
def figures() -> Path:
    """The papers' own tables."""
    return beside_the_repository("published")
