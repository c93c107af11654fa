"""Columns of numbers and of texts, all of one length, from which the means of scores are computed.

NumPy alone, so that summing up one run does not import Polars; analyses of many runs use `Columns.to_frame`.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Hashable, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
Numbers = NDArray[Any]


class Text(Struct, frozen=True, eq=False):
    """A column of texts with many repeated values, stored as codes."""

    values: Sequence[str]
    codes: NDArray[np.int32]
    """The place of each row's text in `values`; -1 where a row has none."""

    def among(self, wanted: Collection[str]) -> NDArray[np.bool_]:
        """Return which rows have one of the wanted texts."""
        chosen: NDArray[np.bool_] = np.array([*(value in wanted for value in self.values), False])[self.codes]
        return chosen

    def rows(self) -> list[str]:
        """Return each row's text; empty where it has none."""
        values = [*self.values, ""]
        return [values[code] for code in self.codes.tolist()]


class Columns(Struct, frozen=True, eq=False):
    """Columns by name."""

    numbers: Mapping[str, Numbers]
    """nan where a row has no such number."""
    texts: Mapping[str, Text]

    @property
    def columns(self) -> list[str]:
        """The names of all columns."""
        return [*self.texts, *self.numbers]

    @property
    def height(self) -> int:
        """Number of rows."""
        return len(self.texts["question"].codes)

    @property
    def tags(self) -> dict[str, Text]:
        """The columns of tags, by tag."""
        return {name.removeprefix("tag:"): text for name, text in self.texts.items() if name.startswith("tag:")}

    def number(self, name: str) -> Numbers:
        """Return a column of numbers; all nan where there is none of this name."""
        column = self.numbers.get(name)
        return np.full(self.height, np.nan) if column is None else column

    def among(self, name: str, wanted: Collection[str]) -> NDArray[np.bool_]:
        """Return which rows have one of the wanted texts; none where there is no such column."""
        return self.texts[name].among(wanted) if name in self.texts else np.zeros(self.height, dtype=bool)

    def take(self, rows: Numbers) -> Columns:
        """Return the rows of a mask, or the rows at these places in their order."""
        numbers = {name: values[rows] for name, values in self.numbers.items()}
        return Columns(numbers, {name: Text(text.values, text.codes[rows]) for name, text in self.texts.items()})

    def replace(self, **numbers: Numbers) -> Columns:
        """Return the same with columns of numbers replaced or added."""
        return Columns({**self.numbers, **numbers}, self.texts)

    def groups(self, *names: str) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Number the groups of rows that are equal in the columns `names`, in the order of their first rows.

        Returns the group of each row, and the first row of each group.
        """
        first, *others = (self.texts[name].codes if name in self.texts else self.numbers[name] for name in names)
        groups, starts = _numbered(first)
        for codes in others:
            if not np.array_equal(codes, codes[starts][groups]):  # one of a group's rows differs from its first
                groups, starts = _numbered(groups * (int(codes.max()) + 2) + codes + 1)
        return groups, starts

    def to_frame(self) -> pl.DataFrame:
        """Return the same as a Polars frame; null in place of nan."""
        import polars as pl

        texts = [
            pl.Series(name, [*text.values, None], dtype=pl.String).gather(text.codes % (len(text.values) + 1))
            for name, text in self.texts.items()
        ]
        return pl.DataFrame(
            [*texts, *(pl.Series(name, column, nan_to_null=True) for name, column in self.numbers.items())]
        )


def coded(texts: Sequence[K | None], known: dict[K, int]) -> NDArray[np.int32]:
    """Return the codes of texts or other keys in `known`, to which new ones are added; -1 for None."""
    return np.array([-1 if text is None else known.setdefault(text, len(known)) for text in texts], dtype=np.int32)


def by_name(kind: str, rows: Sequence[Mapping[str, T]]) -> dict[str, list[T | None]]:
    """Return a column for each key of the rows: null where a row does not have it."""
    names = dict.fromkeys(itertools.chain.from_iterable(rows))
    return {f"{kind}:{name}": [row.get(name) for row in rows] for name in names}


def tag_columns(rows: Sequence[Mapping[str, str]], known: dict[str, dict[str, int]]) -> dict[str, Numbers]:
    """Return a column a tag, as codes in `known` of its values; each combination of values is looked up once."""
    names = list(dict.fromkeys(itertools.chain.from_iterable(rows)))
    try:
        # The first once more: of a single name there would be no tuple.
        tuples = list(map(itemgetter(*names, *names[:1]), rows)) if names else []
    except KeyError:  # some rows lack one
        tuples = [tuple(map(row.get, names)) for row in rows]
    combinations: dict[tuple[str | None, ...], int] = {}
    places = coded(tuples, combinations)
    return {
        name: coded(values, known.setdefault(name, {}))[places]
        for name, values in zip((f"tag:{name}" for name in names), zip(*combinations, strict=True), strict=False)
    }


def joined(chunks: Sequence[Mapping[str, Numbers]], name: str, nothing: np.int32 | np.float64) -> Numbers:
    """Return a column joined over all chunks; `nothing` where a chunk does not have it."""
    return np.concatenate(
        [chunk[name] if name in chunk else np.full(len(next(iter(chunk.values()))), nothing) for chunk in chunks]
    )


def sums(values: Numbers, groups: NDArray[np.intp], count: int) -> Numbers:
    """Return the sum of each of `count` groups."""
    return np.bincount(groups, values, minlength=count).astype(values.dtype)


def greatest(values: Numbers, groups: NDArray[np.intp], count: int) -> Numbers:
    """Return the greatest value of each of `count` groups, none of which is empty."""
    largest = np.full(count, values.min(initial=0), dtype=values.dtype)
    np.maximum.at(largest, groups, values)
    return largest


def _numbered(codes: Numbers) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    if np.array_equal(codes, places := np.arange(len(codes))):
        return places, places
    _, first, groups = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return place[groups], first[order]
