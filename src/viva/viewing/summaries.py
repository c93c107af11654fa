"""What the list of runs says of each: how its answers fared, and what they cost at list prices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import msgspec
from msgspec import Struct

from viva.engine.budget import Price, list_price
from viva.engine.folder import ModelRecord
from viva.errors import StorageError
from viva.files import UNREADABLE, lines, reading
from viva.types import Outcome, Usage, points_of
from viva.viewing.following import Tokens

_LARGEST = 512 << 20
"""Bytes of a scores.jsonl that a list reads."""
_VENDORS = frozenset({"openai", "anthropic", "google"})
_UNPAID = ("baseline/", "replay/", "python/", "hf/")


class _Line(Struct):
    model: str
    exam: str
    outcome: Outcome
    value: float | None


class Fared(Struct, frozen=True):
    """How a run's answers fared."""

    outcomes: Mapping[str, int]
    """Over all models and exams."""
    points: Sequence[float]
    """Points earned per answer that counts, from 0 to 1: a figure a model and exam, ascending."""


def scored_at(path: Path) -> int:
    """When scores.jsonl was written, in nanoseconds since 1970; 0 where there is none."""
    try:
        return (path / "scores.jsonl").lstat().st_mtime_ns
    except OSError:
        return 0


def fared(path: Path, newest: float) -> Fared | None:
    """From scores.jsonl; None where there is none, it cannot be read, or answers are newer (`newest`, s since 1970)."""
    file = path / "scores.jsonl"
    outcomes: Counter[str] = Counter()
    sums: dict[tuple[str, str], list[float]] = {}
    decode = msgspec.json.Decoder(_Line).decode
    try:
        found = file.lstat()
        if found.st_mtime < newest or found.st_size > _LARGEST:
            return None
        with reading(file) as content:
            for line in lines(content, file):
                said = decode(line)
                outcomes[said.outcome] += 1
                points = points_of(said.outcome, said.value)
                if points is not None:
                    total = sums.setdefault((said.model, said.exam), [0.0, 0.0])
                    total[0] += points
                    total[1] += 1
    except (OSError, StorageError, *UNREADABLE):
        return None
    return Fared(outcomes, sorted(points / count for points, count in sums.values())) if outcomes else None


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
