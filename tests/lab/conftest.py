"""Judges behind a real socket, as the core's tests of judging have them."""

from __future__ import annotations

from judging.conftest import judges

__all__ = ["judges"]
