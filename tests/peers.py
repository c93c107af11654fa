"""Packages of others that a test needs: skip without them, fail where nothing may be skipped (VIVA_CI=1)."""

from __future__ import annotations

import importlib.util
import os

import pytest


def needed(module: str, extra: str = "") -> None:
    """Skip or fail, with the reason, where `module` is not installed. `extra`: Viva's extra that brings it."""
    if importlib.util.find_spec(module) is None:
        brings = f"'viva[{extra}]'" if extra else module
        absent(f"needs {module}: pip install {brings}")


def absent(reason: str) -> None:
    """Skip, or fail where nothing may be skipped."""
    if os.environ.get("VIVA_CI") == "1":
        pytest.fail(reason)
    pytest.skip(reason)
