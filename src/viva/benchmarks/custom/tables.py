"""keys.toml: what may stand where, what else it is called, and what to say of YAML that is none."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from viva.shipped import shipped_table


@lru_cache(maxsize=1)
def tables() -> dict[str, Any]:
    """Return the whole file, as plain data."""
    return shipped_table(__file__, "keys.toml", dict[str, Any])
