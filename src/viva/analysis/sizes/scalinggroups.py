"""Groups of models with sizes and scores, each with its fitted curves and their predictions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from viva.analysis.sizes.breakpoint import Bend, Segments, bend, fit_segments
from viva.analysis.sizes.families import are_groups
from viva.analysis.sizes.scaling import Fit, Kind, Prediction, curve, fit_curve, predict
from viva.errors import DataError

FURTHEST = 1e6
"""The largest size searched, in billions of parameters: far beyond what a curve of today's models can predict."""
_STEPS = 400
_HALVINGS = 60


class Reach(Struct, frozen=True, kw_only=True):
    """Sizes in billions. None: not up to FURTHEST."""

    score: float
    """The score to reach, as a share of 1."""
    size: float | None
    """The size at which the curve reaches it; at least the smallest fitted size."""
    low: float | None
    high: float | None
    """The sizes at which the upper and the lower end of the 95 % interval for a further model's score reach it. Both
    None where the curve has no interval."""
    beyond: float | None
    """`size` as a multiple of the largest fitted one; 1 if it is no larger."""


def reach(fit: Fit, score: float) -> Reach:
    """Return the first size, from the smallest fitted one on, at which a curve has a score."""

    def ends(size: float, end: str) -> float:
        bound = getattr(predict(fit, size), end)
        return -np.inf if bound is None else float(bound)

    size = _first(lambda value: predict(fit, value).score >= score, fit.smallest)
    known = predict(fit, fit.smallest).low is not None
    return Reach(
        score=score,
        size=size,
        low=_first(lambda value: ends(value, "high") >= score, fit.smallest) if known else None,
        high=_first(lambda value: ends(value, "low") >= score, fit.smallest) if known else None,
        beyond=None if size is None else max(1.0, size / fit.largest),
    )


def _first(holds: Callable[[float], bool], smallest: float) -> float | None:
    """Return the smallest size at which a condition holds, to one part in 10^15 of the step in which it begins to."""
    if holds(smallest):
        return smallest
    sizes = np.geomspace(smallest, FURTHEST, _STEPS)
    first = next((index for index, size in enumerate(sizes) if holds(float(size))), None)
    if first is None:
        return None
    low, high = float(sizes[first - 1]), float(sizes[first])
    for _ in range(_HALVINGS):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


SAME = 0.02
"""Sizes that differ by less than this share are the same size: 70 and 68.98 count as what was predicted for 70."""
FAR = 3


class Point(Struct, frozen=True, kw_only=True):
    """A model. Size in billions of parameters (0: unknown), shares of 1."""

    model: str
    size: float
    score: float
    low: float | None = None
    high: float | None = None
    """95 % interval of the score itself."""
    variance: float | None = None
    """Variance of the score by its questions."""
    partial: bool = False
    """Whether the score is a mean that leaves something out."""
    words: dict[str, str] = {}
    """Attributes: family, type, domain and others."""
    span: tuple[float, float] | None = None
    """Of a mixture of experts: active and total parameters."""


class Forecast(Struct, frozen=True, kw_only=True):
    """A curve's prediction for a size, and the models of that size, which were held out of the fit."""

    kind: Kind
    prediction: Prediction
    measured: tuple[Point, ...]
    bend: Bend | None = None
    """The models' departure from the curve, significant or not; None where that cannot be tested."""


class Stray(Struct, frozen=True, kw_only=True):
    """A model far from its curve."""

    kind: Kind
    point: Point
    expected: float
    away: float
    """Residual over the scatter around the curve."""


class Reached(Struct, frozen=True, kw_only=True):
    """The size at which a curve reaches a model's score."""

    kind: Kind
    model: str
    reach: Reach


class Group(Struct, frozen=True, kw_only=True):
    """Models that share a curve."""

    name: str
    points: tuple[Point, ...]
    """The fitted models, by size."""
    held_out: tuple[Point, ...] = ()
    fits: tuple[Fit, ...] = ()
    segments: Segments | None = None
    forecasts: tuple[Forecast, ...] = ()
    strays: tuple[Stray, ...] = ()
    reached: tuple[Reached, ...] = ()
    skipped: tuple[str, ...] = ()
    """Curves that could not be fitted, and why."""
    families: int = 0
    """Families of the models that were fitted, where they were taken by families; 0 where each model is its own."""


def grouped(points: Sequence[Point], by: Sequence[str], name: str = "all models") -> dict[str, list[Point]]:
    """Return group → its models; models without the words `by` are in no group. Raises DataError for a word that no
    model has.
    """
    for word in by:
        if not any(point.words.get(word) for point in points):
            known = sorted({word for point in points for word, value in point.words.items() if value})
            raise DataError(
                f"{word!r}: no model has it; they have: {', '.join(known) or 'nothing to group by'}", field="by"
            )
    groups: dict[str, list[Point]] = {}
    for point in points:
        values = [point.words.get(word, "") for word in by]
        if all(values):
            groups.setdefault(" ".join(values) if values else name, []).append(point)
    return groups


def best_of_size(points: Sequence[Point]) -> list[Point]:
    """Return for each size the model with the highest score, the first of equals."""
    best: dict[float, Point] = {}
    for point in points:
        if point.size not in best or point.score > best[point.size].score:
            best[point.size] = point
    return list(best.values())


def frontier(points: Sequence[Point]) -> list[Point]:
    """Return the models that score higher than all smaller ones and the others of their size, by size."""
    best: list[Point] = []
    for point in sorted(points, key=lambda point: (point.size, -point.score)):
        if not best or point.score > best[-1].score:
            best.append(point)
    return best


def studied(
    name: str,
    points: Sequence[Point],
    kinds: Sequence[Kind],
    wanted: Sequence[float] = (),
    fit_on: Sequence[float] = (),
    references: Sequence[Point] = (),
    *,
    by_family: bool = False,
    only: Sequence[Point] | None = None,
) -> Group:
    """Return a group's fits. `wanted`: sizes to predict; models of such a size are held out as a check. `fit_on`: the
    only sizes to fit (those without a model are not missed); all others are held out. `references`: models whose scores
    the curves are to reach. `by_family`: whether models with the same word `family` are dependent (a model without it
    is a family by itself); ignored where there are too few families. `only`: the models to fit; all others are held
    out.
    """
    held = [p for p in points if _is_held(p, wanted, fit_on) or (only is not None and p not in only)]
    kept = sorted((point for point in points if point not in held), key=lambda point: (point.size, point.model))
    families = [point.words.get("family") or f"model {point.model}" for point in kept] if by_family else []
    families = families if are_groups(families) else []
    fits: list[Fit] = []
    skipped: list[str] = []
    segments: Segments | None = None
    for kind in kinds:
        try:
            fitted = _fitted(kind, kept, families)
        except DataError as problem:
            skipped.append(f"{kind}: {problem}")
            continue
        if isinstance(fitted, Segments):
            segments, fitted = fitted, fitted.fit
        fits.append(fitted)
    return Group(
        name=name,
        points=tuple(kept),
        held_out=tuple(held),
        fits=tuple(fits),
        segments=segments,
        forecasts=tuple(
            Forecast(
                kind=fit.kind,
                prediction=predict(fit, size),
                measured=tuple(point for point in held if is_size(point.size, size)),
                bend=bent,
            )
            for fit in (fits if wanted else ())
            for bent in [bend(fit, [point.size for point in kept], [point.score for point in kept], families)]
            for size in wanted
        ),
        strays=tuple(stray for fit in fits for stray in _strays(fit, kept)),
        reached=tuple(
            Reached(kind=fit.kind, model=reference.model, reach=reach(fit, reference.score))
            for fit in fits
            for reference in references
        ),
        skipped=tuple(skipped),
        families=len(set(families)),
    )


def is_size(size: float, other: float) -> bool:
    """Return whether two sizes are the same, as names and papers round them (`SAME`)."""
    return abs(size - other) <= SAME * max(size, other)


def _is_held(point: Point, wanted: Sequence[float], fit_on: Sequence[float]) -> bool:
    if fit_on:
        return not any(is_size(point.size, size) for size in fit_on)
    return any(is_size(point.size, size) for size in wanted)


def _fitted(kind: Kind, points: Sequence[Point], families: Sequence[str]) -> Fit | Segments:
    sizes, scores = [point.size for point in points], [point.score for point in points]
    if kind == "segments":
        return fit_segments(sizes, scores, [point.model for point in points], families=families)
    known = [point.variance for point in points if point.variance is not None]
    variances = known if len(known) == len(points) else None
    return fit_curve(kind, sizes, scores, variances, families)


def _strays(fit: Fit, points: Sequence[Point]) -> list[Stray]:
    """Return the models that lie more than two sd from the curve, the furthest first, at most `FAR`."""
    if not fit.sd or not math.isfinite(fit.sd):
        return []
    strays: list[Stray] = []
    for point in points:
        expected = float(curve(fit, point.size))
        away = (point.score - expected) / fit.sd
        if abs(away) > 2:
            strays.append(Stray(kind=fit.kind, point=point, expected=expected, away=away))
    return sorted(strays, key=lambda stray: -abs(stray.away))[:FAR]
