"""What the list of runs says of each: when it was graded, and what its answers cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from viva.engine.budget import Price, list_price
from viva.engine.folder import ModelRecord
from viva.types import Usage
from viva.viewing.following import Tokens

_VENDORS = frozenset({"openai", "anthropic", "google"})
_UNPAID = ("baseline/", "replay/", "python/", "hf/")


def scored_at(path: Path) -> int:
    """When scores.jsonl was written, in nanoseconds since 1970; 0 where there is none."""
    try:
        return (path / "scores.jsonl").lstat().st_mtime_ns
    except OSError:
        return 0


def list_cost(
    models: Sequence[ModelRecord], used: Mapping[str, Tokens], prices: Mapping[str, Price] = MappingProxyType({})
) -> float | None:
    """US dollars at the run's prices, else the vendors' list prices; None where one or a count of tokens is unknown."""
    total = 0.0
    for model in models:
        tokens = used.get(model.shown or model.name) or used.get(model.name)
        if model.name.startswith(_UNPAID) or tokens is None:
            continue
        provider, _, name = model.name.partition("/")
        listed = provider in _VENDORS and model.base_url is None
        price = prices.get(model.shown or model.name) or prices.get("")
        price = price or (list_price(provider, name) if listed else None)
        if price is None or tokens.uncounted:
            return None
        total += price.cost(Usage(tokens.input, tokens.output))
    return total
