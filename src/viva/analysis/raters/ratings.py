"""Ratings of items by raters: the common input of all measures of agreement."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from viva.analysis.uncertainty import Interval
from viva.errors import DataError


class Ratings(Struct, frozen=True, kw_only=True):
    """Items × raters. An item is an answer (or one aspect of it); a rater is an expert or a judge."""

    items: tuple[str, ...]
    raters: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    """An item's marks in the order of `raters`; None where that one did not rate it."""
    questions: tuple[str, ...] = ()
    """The question that each item answers, where several answer one: those are not independent. Empty: all differ."""
    tags: Mapping[str, tuple[str, ...]] = {}
    """Tag → its value for each item."""

    def column(self, rater: str) -> tuple[float | None, ...]:
        """Return one rater's marks, by item. Raises DataError for an unknown rater."""
        if rater not in self.raters:
            known = ", ".join(map(repr, self.raters[:20]))
            raise DataError(f"there is no rater {rater!r}; there are: {known}")
        place = self.raters.index(rater)
        return tuple(row[place] for row in self.values)

    def columns(self, raters: Sequence[str]) -> list[list[float | None]]:
        """Return the marks of some raters, a row for each item."""
        places = [self.raters.index(rater) for rater in raters]
        return [[row[place] for place in places] for row in self.values]

    def without(self, raters: Sequence[str]) -> Ratings:
        """Return the ratings without these raters, and without the items that only they rated."""
        for rater in raters:
            self.column(rater)
        kept = [rater for rater in self.raters if rater not in raters]
        rows = self.columns(kept)
        rated = [index for index, row in enumerate(rows) if any(value is not None for value in row)]
        return self._picked(tuple(kept), [tuple(row) for row in rows], rated)

    def parts(self, tag: str) -> dict[str, Ratings]:
        """Return the items by the values of a tag, in the order of their first. Raises DataError for an unknown tag."""
        if tag not in self.tags:
            known = ", ".join(map(repr, list(self.tags)[:20])) or "none"
            raise DataError(f"there is no column {tag!r} to break the ratings down by; there are: {known}")
        places: dict[str, list[int]] = {}
        for index, value in enumerate(self.tags[tag]):
            places.setdefault(value, []).append(index)
        return {value: self._picked(self.raters, self.values, indices) for value, indices in places.items()}

    def _picked(
        self, raters: tuple[str, ...], values: Sequence[tuple[float | None, ...]], indices: Sequence[int]
    ) -> Ratings:
        return Ratings(
            items=tuple(self.items[index] for index in indices),
            raters=raters,
            values=tuple(values[index] for index in indices),
            questions=tuple(self.questions[index] for index in indices) if self.questions else (),
            tags={tag: tuple(column[index] for index in indices) for tag, column in self.tags.items()},
        )


def marks_of(values: Sequence[Sequence[float | None]]) -> list[float]:
    """Return the different marks that were given, ascending."""
    return sorted({value for row in values for value in row if value is not None})


def nearest(value: float, scale: Sequence[float], towards: float | None = None) -> float:
    """Return the mark of a scale that is nearest; of two as near, the one nearer to `towards`, then the lower one."""

    def far(mark: float) -> tuple[float, float, float]:
        # Rounded, so that floating-point error in a mean does not decide.
        return round(abs(mark - value), 9), 0.0 if towards is None else round(abs(mark - towards), 9), mark

    return min(scale, key=far)


def mean_of(row: Sequence[float | None]) -> float | None:
    """Return the mean of the given marks; None where there are none."""
    given = [value for value in row if value is not None]
    return statistics.fmean(given) if given else None


def typical(row: Sequence[float | None], scale: Sequence[float]) -> float | None:
    """Return the typical mark of several people: their median, on the scale.

    A median between two marks goes to the one nearer to the mean, and where that does not decide, to the lower.
    """
    given = sorted(value for value in row if value is not None)
    if not given:
        return None
    middle = (given[(len(given) - 1) // 2] + given[len(given) // 2]) / 2
    return nearest(middle, scale, statistics.fmean(given))


Kind = Literal[
    "cronbach", "pearson", "spearman", "krippendorff", "fleiss", "kappa", "kappa_linear", "kappa_quadratic",
    "icc", "icc_mean", "ac1", "ac2", "agreement", "bias", "distance",
]  # fmt: skip
"""`agreement`: the share of equal marks; `bias`: the mean difference; `distance`: the mean absolute difference."""


class Measure(Struct, frozen=True, kw_only=True):
    """One measure of agreement. `value` is None where it is undefined, `low` and `high` where there is no 95 %
    interval.

    `reason` then says why, in words. `n` counts the items that it rests on, `left_out` those that it could not use.
    `interval` names the interval's method.
    """

    kind: Kind
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    left_out: int = 0
    interval: str = ""
    reason: str = ""


def bounded(measure: Measure, interval: Interval | None, method: str, reason: str = "") -> Measure:
    """Return the measure with its interval, or with the reason why there is none."""
    if interval is None:
        return msgspec.structs.replace(measure, reason=reason)
    return msgspec.structs.replace(measure, low=interval[0], high=interval[1], interval=method)
