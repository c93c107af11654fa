"""How long the texts of a set are, and how its questions spread over dimensions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

Measure = Literal["words", "characters"]
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
BINS = 40


class Entry(Struct, frozen=True, kw_only=True):
    """One question: its texts by field, and its value of each dimension."""

    texts: dict[str, str]
    tags: dict[str, str]


class Lengths(Struct, frozen=True, kw_only=True):
    """The lengths of some texts. `quantiles` are those of QUANTILES, interpolated; `histogram`: edges and counts."""

    group: str
    texts: int
    empty: int
    mean: float
    sd: float
    least: int
    most: int
    quantiles: tuple[float, ...]
    edges: tuple[float, ...]
    counts: tuple[int, ...]


class Cross(Struct, frozen=True, kw_only=True):
    """Questions by two dimensions: a row of counts a value of the first, in the order of `columns`."""

    first: str
    second: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[int, ...]], ...]


def measure_of(language: str) -> Measure:
    """In Chinese characters are counted, since blanks part no words; elsewhere words."""
    return "characters" if language == "zh" else "words"


def length(text: str, measure: Measure) -> int:
    """Return words (what blanks part), or characters that are no blanks."""
    return len(text.split()) if measure == "words" else len(re.sub(r"\s", "", text))


def lengths(entries: Sequence[Entry], field: str, measure: Measure, group: str = "all") -> Lengths | None:
    """Return the lengths of a field; None where no entry has a text in it."""
    import numpy as np

    texts = [entry.texts.get(field, "") for entry in entries]
    found = np.array([length(text, measure) for text in texts if text.strip()])
    if not len(found):
        return None
    least, most = int(found.min()), int(found.max())
    wide = -(-(most - least + 1) // BINS)  # whole words a bar: others would make combs
    counts, edges = np.histogram(found, bins=np.arange(least, most + wide + 1, wide))
    return Lengths(
        group=group,
        texts=len(found),
        empty=len(texts) - len(found),
        mean=float(found.mean()),
        sd=float(found.std(ddof=1)) if len(found) > 1 else 0.0,
        least=int(found.min()),
        most=int(found.max()),
        quantiles=tuple(float(value) for value in np.quantile(found, QUANTILES)),
        edges=tuple(float(edge) for edge in edges),
        counts=tuple(int(count) for count in counts),
    )


def counts(entries: Sequence[Entry], dimension: str) -> list[tuple[str, int]]:
    """Value → how many, in the order of the values."""
    return sorted(Counter(entry.tags.get(dimension, "") for entry in entries).items())


def crossed(entries: Sequence[Entry], first: str, second: str) -> Cross:
    """Return how many questions each pair of values has."""
    pairs = Counter((entry.tags.get(first, ""), entry.tags.get(second, "")) for entry in entries)
    columns = tuple(sorted({column for _, column in pairs}))
    rows = sorted({row for row, _ in pairs})
    return Cross(
        first=first,
        second=second,
        columns=columns,
        rows=tuple((row, tuple(pairs[row, column] for column in columns)) for row in rows),
    )
