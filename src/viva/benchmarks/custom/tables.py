"""keys.toml: what may stand where, what else it is called, and what to say of YAML that is none."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any


@lru_cache(maxsize=1)
def tables() -> dict[str, Any]:
    """The whole file, as plain data."""
    return tomllib.loads(Path(__file__).with_name("keys.toml").read_text(encoding="utf-8"))
