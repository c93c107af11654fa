"""Rows in the layouts in which well-known sets are published (card_layouts.json); every text in them is our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_ALL = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
LAYOUTS: dict[str, tuple[list[dict[str, Any]], list[str | None]]] = _ALL["layouts"]
"""Card → rows and golds."""
FILES: dict[str, tuple[str, list[dict[str, Any]], list[str | None]]] = _ALL["files"]
"""Cards that go by the names of their files, or whose columns say too little for a guess: file, rows and golds."""
