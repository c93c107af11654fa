"""Agreement of raters: the people among each other, and a judge with them.

`agree` computes every measure that fits the ratings. If a judge is named, the others are people: their reliability
comes first, because it limits how well anybody can agree with them. The judge is then compared with the mean human
(correlation, bias) and with the typical human mark (kappas, confusion table).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from viva.analysis.estimate import mean_of as mean_over
from viva.analysis.raters.coefficients import (
    MOST_MARKS,
    IntraclassKind,
    Level,
    agreement,
    cohen,
    confusion,
    cronbach,
    fleiss,
    gwet,
    intraclass,
    krippendorff,
)
from viva.analysis.raters.prediction import Powered, powered
from viva.analysis.raters.ratings import Kind, Measure, Ratings, bounded, marks_of, mean_of, nearest, typical
from viva.analysis.tilting import FEWEST, Floats, Ints, Rows, Statistic, Weights, estimated, midranks, numbered, usable
from viva.errors import DataError

MOST_PAIRS = 45
"""The most pairs of raters that are shown one by one: those of ten raters."""
DRAWN = 25
"""The most different marks of a confusion table."""
_KAPPAS: tuple[Kind, ...] = ("kappa", "kappa_linear", "kappa_quadratic")
_INTRACLASS: tuple[IntraclassKind, ...] = ("icc", "icc_mean")

Correlation = Literal["pearson", "spearman"]
_CORRELATIONS: tuple[Correlation, ...] = ("pearson", "spearman")


class Pair(Struct, frozen=True, kw_only=True):
    """Two raters against each other."""

    first: str
    second: str
    measures: tuple[Measure, ...]


class Confusion(Struct, frozen=True, kw_only=True):
    """Counts of items by the mark of one rater (rows) and of another (columns)."""

    rows: str
    columns: str
    scale: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]


class Spot(Struct, frozen=True):
    """The number of items with this mean human mark and this judge's mark."""

    human: float
    judge: float
    count: int


class Agreement(Struct, frozen=True, kw_only=True):
    """All measures of agreement of some ratings."""

    title: str
    level: Level
    scale: tuple[float, ...]
    judge: str | None
    people: tuple[str, ...]
    items: int
    ratings: int
    among: tuple[Measure, ...]
    """The people among each other, all at once."""
    pairs: tuple[Pair, ...]
    """Every pair of raters; empty for more than MOST_PAIRS."""
    judged: tuple[Measure, ...] = ()
    """The judge against the mean human, and against the typical human mark."""
    table: Confusion | None = None
    spots: tuple[Spot, ...] = ()
    powered: Powered | None = None
    word: str = "people"
    """The word for the raters other than the judge."""
    notes: tuple[str, ...] = ()


class _Marks(Struct, frozen=True, kw_only=True):
    """Parameters that all measures share: scale, level, and the question of each item."""

    level: Level
    scale: tuple[float, ...]
    questions: tuple[int, ...]
    """The question of each item."""


def agree(
    ratings: Ratings,
    *,
    judge: str | None = None,
    scale: Sequence[float] = (),
    level: Level = "interval",
    ppi: bool = False,
    strata: str | None = None,
    title: str = "",
    word: str = "people",
) -> Agreement:
    """Return every measure of agreement that these ratings allow.

    `scale` lists the marks that people can give (default: all that were given); a judge's mark between two of them (a
    mean over samples) is rounded to the nearest where single marks are compared. `level`: whether marks are names
    (nominal), an order, or amounts. `ppi` also combines the people's marks with the judge's on all items (see
    `prediction`): the items that people rated must be a random sample, of each value of the tag `strata` if one is
    named. `word` names the raters other than the judge. Raises DataError for an unknown judge or tag, or a person's
    mark that is not on the scale.
    """
    if judge is not None:
        ratings.column(judge)
    people = tuple(rater for rater in ratings.raters if rater != judge)
    rows = ratings.columns(people)
    marks = _Marks(
        level=level,
        scale=_scale(ratings, judge, scale),
        questions=tuple(numbered(ratings.questions, len(ratings.items))),
    )
    notes = []
    names = [(a, b) for i, a in enumerate(ratings.raters) for b in ratings.raters[i + 1 :]]
    if len(names) > MOST_PAIRS:
        notes.append(f"{len(ratings.raters)} raters make {len(names):,} pairs: they are not shown one by one.")
        names = []
    judged, table, spots = _judged(ratings, judge, rows, marks)
    if judge is None and len(people) == 2:
        table = _table(*people, rows, marks.scale)
    if judge is not None:
        notes.extend(_off_scale(ratings.column(judge), marks.scale))
    return Agreement(
        title=title,
        level=level,
        scale=marks.scale,
        judge=judge,
        people=people,
        items=len(ratings.items),
        ratings=sum(value is not None for row in ratings.values for value in row),
        among=_among(rows, marks),
        pairs=tuple(Pair(first=a, second=b, measures=_two(ratings.columns((a, b)), marks)) for a, b in names),
        judged=judged,
        table=table,
        spots=spots,
        powered=_powered(ratings, judge, rows, marks.scale, strata) if ppi else None,
        word=word,
        notes=tuple(notes),
    )


def _off_scale(given: Iterable[float | None], scale: Sequence[float]) -> Iterator[str]:
    """Yield a note where a judge's marks are between those of the scale."""
    if between := sum(mark is not None and mark not in scale for mark in given):
        taken = "kappas, agreement and the table take the nearest"
        yield f"{between:,} of the judge's marks are not on the scale: {taken}."


def _scale(ratings: Ratings, judge: str | None, scale: Sequence[float]) -> tuple[float, ...]:
    if not scale:
        return tuple(marks_of(ratings.values))
    allowed = set(scale)
    for item, row in zip(ratings.items, ratings.values, strict=True):
        for rater, value in zip(ratings.raters, row, strict=True):
            if value is not None and value not in allowed and rater != judge:
                known = ", ".join(f"{mark:g}" for mark in sorted(allowed)[:20])
                raise DataError(f"{value:g}, which {rater!r} gave to {item!r}, is no mark of the scale {known}")
    return tuple(sorted(allowed))


def _among(rows: Rows, marks: _Marks) -> tuple[Measure, ...]:
    """Return the measures over all people together."""
    unrated = sum(mean_of(row) is None for row in rows)
    measures = [krippendorff(rows, marks.level, marks.questions)]
    if marks.level != "nominal":
        single, mean = (intraclass(rows, kind, marks.questions) for kind in _INTRACLASS)
        measures = [cronbach(rows, marks.questions), single, mean, *measures]
    measures += [fleiss(rows, marks.questions), *_gwet(rows, marks), agreement(rows, marks.questions)]
    # Items that only the judge marked were not left out by the people.
    return tuple(replace(measure, left_out=measure.left_out - unrated) for measure in measures)


def _gwet(rows: Rows, marks: _Marks) -> list[Measure]:
    """Return AC1, and AC2 where marks have distances."""
    kinds: tuple[Literal["ac1", "ac2"], ...] = ("ac1", "ac2")
    near = marks.level != "nominal" and len(marks.scale) > 2
    return [gwet(rows, kind, marks.scale, marks.level, marks.questions) for kind in kinds[: 1 + near]]


def _two(rows: Rows, marks: _Marks) -> tuple[Measure, ...]:
    """Return the measures of two raters."""
    related = () if marks.level == "nominal" else _related(rows, marks)
    return (*related, *_by_category(_on_scale(rows, marks), marks))


def _by_category(rows: Rows, marks: _Marks) -> tuple[Measure, ...]:
    """Return kappas, Gwet's coefficients and the share of equal marks of two raters."""
    kappas = _KAPPAS[:1] if marks.level == "nominal" else _KAPPAS
    measures = [cohen(rows, marks.questions, kind) for kind in kappas]
    return (*measures, *_gwet(rows, marks), agreement(rows, marks.questions))


def _on_scale(rows: Rows, marks: _Marks) -> list[list[float | None]]:
    known = {None, *marks.scale}
    return [[mark if mark in known else nearest(mark or 0.0, marks.scale) for mark in row] for row in rows]


def _related(rows: Rows, marks: _Marks) -> tuple[Measure, ...]:
    """Return Pearson's and Spearman's coefficients."""
    return tuple(correlated(kind, rows, marks.questions) for kind in _CORRELATIONS)


def correlated(kind: Correlation, rows: Rows, questions: Sequence[int]) -> Measure:
    """Return Pearson's or Spearman's coefficient over the items that have both marks."""
    of = _pearson if kind == "pearson" else _spearman
    return estimated(*usable(kind, rows, questions), of, "one of the two gave every item the same mark")


def _judged(
    ratings: Ratings, judge: str | None, rows: Rows, marks: _Marks
) -> tuple[tuple[Measure, ...], Confusion | None, tuple[Spot, ...]]:
    """Return measures, confusion table and scatter of the judge against the people."""
    if judge is None:
        return (), None, ()
    given = ratings.column(judge)
    both = [(mark, mean_of(row)) for mark, row in zip(given, rows, strict=True)]
    measures: list[Measure] = []
    if marks.level != "nominal":
        alike = intraclass(both, "icc", marks.questions)
        measures += [*_related(both, marks), alike, *_differences(both, marks)]
    typical_too = [(mark, typical(row, marks.scale)) for mark, row in zip(given, rows, strict=True)]
    on_scale = _on_scale(typical_too, marks)
    measures += _by_category(on_scale, marks)
    spots = Counter((round(mean, 9), mark) for mark, mean in both if mean is not None and mark is not None)
    return (
        tuple(measures),
        _table(judge, "people (median, ties to the lower mark)", on_scale, marks.scale),
        tuple(Spot(human, mark, count) for (human, mark), count in sorted(spots.items())),
    )


def _differences(both: Rows, marks: _Marks) -> list[Measure]:
    """Return the judge's mean difference and mean absolute difference from the mean human, within the scale's width."""
    lowest, highest = _ends(marks.scale, [given for given, _ in both])
    bias, values, asked = usable("bias", both, marks.questions)
    far = estimated(replace(bias, kind="distance"), values, asked, _distance, "")
    if bias.reason:
        return [bias, far]
    measure = _bias(bias, values[:, 0] - values[:, 1], asked, marks.scale)
    kept = [max(lowest - highest, measure.low or 0.0), min(highest - lowest, measure.high or 0.0)]
    return [replace(measure, low=kept[0], high=kept[1]), far]


def _bias(measure: Measure, away: Floats, asked: Ints, scale: Sequence[float]) -> Measure:
    """Return the mean difference, with the adjusted Wald interval of differences up to the largest seen (or a step)."""
    largest = float(max(np.abs(away).max(), min(np.diff(scale), default=1.0)))
    interval = mean_over(away / largest, asked, signed=True).interval()
    assert interval is not None  # there are at least two questions
    ends = (largest * interval[0], largest * interval[1])
    return bounded(replace(measure, value=float(away.mean())), ends, "adjusted Wald")


def _table(first: str, second: str, rows: Rows, scale: tuple[float, ...]) -> Confusion | None:
    if not 1 < len(scale) <= min(DRAWN, MOST_MARKS):
        return None
    counts = confusion(rows, scale)
    enough = sum(map(sum, counts)) >= FEWEST
    return Confusion(rows=first, columns=second, scale=scale, counts=counts) if enough else None


def _powered(ratings: Ratings, judge: str | None, rows: Rows, scale: tuple[float, ...], strata: str | None) -> Powered:
    if judge is None:
        raise DataError("prediction-powered inference needs a judge: name the rater that is one")
    if strata is not None:
        ratings.parts(strata)  # raises with the known tags if it is unknown
    return powered(
        ratings.column(judge),
        [None if (mean := mean_of(row)) is None or not math.isfinite(mean) else mean for row in rows],
        strata=ratings.tags[strata] if strata is not None else (),
        questions=ratings.questions,
        bounds=_ends(scale, ()),
    )


def _ends(scale: Sequence[float], given: Sequence[float | None]) -> tuple[float, float]:
    """Return the ends of the scale, widened to the given marks; 0 and 1 where all are shares of 1."""
    known = [*scale, *(mark for mark in given if mark is not None)] or [0.0, 1.0]
    return (0.0, 1.0) if min(known) >= 0 and max(known) <= 1 else (min(known), max(known))


def _distance(values: Floats) -> Statistic:
    apart = np.abs(values[:, 0] - values[:, 1])
    return lambda weights: np.asarray(weights @ apart / weights.sum(axis=1))


def _pearson(values: Floats) -> Statistic:
    x, y = map(_scaled, values.T)
    products = np.column_stack([np.ones(len(x)), x, y, x * x, y * y, x * y])

    def statistic(weights: Weights) -> Floats:
        n, sx, sy, xx, yy, xy = (weights @ products).T
        return _coefficient(n * xy - sx * sy, (n * xx - sx * sx) * (n * yy - sy * sy), n)

    return statistic


def _spearman(values: Floats) -> Statistic:
    """Return Pearson's coefficient of the items' weighted ranks."""
    coded = [np.unique(column, return_inverse=True) for column in values.T]

    def statistic(weights: Weights) -> Floats:
        total = np.maximum(weights.sum(axis=1, keepdims=True), 1.0)
        x, y = (midranks(weights, codes, len(kinds))[:, codes] / total - 0.5 for kinds, codes in coded)
        both, own = (weights * x * y).sum(axis=1), (weights * x * x).sum(axis=1) * (weights * y * y).sum(axis=1)
        return _coefficient(both, own, np.ones(len(weights)))

    return statistic


def _coefficient(together: Floats, own: Floats, n: Floats) -> Floats:
    some = own > 1e-18 * n**4
    return np.where(some, np.clip(together / np.sqrt(np.where(some, own, 1.0)), -1.0, 1.0), np.nan)


def _scaled(values: Floats) -> Floats:
    """Return values centred and scaled to -1..1, so that no digits are lost."""
    centred: Floats = values - values.mean()
    largest = float(np.abs(centred).max(initial=0.0))
    return np.divide(centred, largest if largest > 0 else 1.0)
