"""The published files: where they come from, where `viva fetch` puts them, how they are verified."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

from msgspec import Struct

from viva.shipped import shipped_table


class Source(Struct, frozen=True):
    """One benchmark's files: `files` maps a path below `base` to its SHA-256, `names` to the name it gets here."""

    base: str
    page: str
    licence: str
    files: dict[str, str]
    names: dict[str, str] = {}


@cache
def sources() -> dict[str, Source]:
    """All sources, from sources.toml."""
    return shipped_table(__file__, "sources.toml", dict[str, Source])


def cache_folder(benchmark: str) -> Path:
    """Where fetched files lie: VIVA_CACHE, else the user's cache folder."""
    given = os.environ.get("VIVA_CACHE")
    root = Path(given) if given else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "viva"
    return root / benchmark


def fetched_folder(benchmark: str) -> Path | None:
    """The fetched copy, if `viva fetch` completed it."""
    folder = cache_folder(benchmark)
    return folder if (folder / "complete").exists() else None


def intact(content: bytes, sha256: str) -> bool:
    """Whether a file is the published one, byte for byte."""
    return hashlib.sha256(content).hexdigest() == sha256
