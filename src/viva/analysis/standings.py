"""Ranks of models as ranges, and the best model of each kind and size.

A score is uncertain, so a rank is too: a range, from one more than the number of models surely better to the number of
models not surely worse. Models whose ranges hold one rank in common are tied there. Models that answered the same
questions are compared by these (`pairedranks`). The rest is for published figures, of which only means are known: two
models differ where their intervals do not overlap.

For every range to be right at once the intervals must hold at once, so each is widened from 95 % to 1 − 0.05/N of its
own (Bonferroni: it needs no independence, and models that answered the same questions are not independent). Then, with
at least 95 % confidence, *all* N ranges hold the true ranks: the joint confidence region of Klein, Wright and
Wieczorek, "A joint confidence region for an overall ranking of populations" (JRSS C 69, 2020, section 3). It is on the
safe side; `viva compare` tells two models apart more sharply, question by question.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence
from statistics import NormalDist

from msgspec import Struct

from viva.analysis.estimate import Estimate
from viva.analysis.uncertainty import LEVEL, Z, zero_one_interval

THRESHOLDS: tuple[float, ...] = (3.0, 8.0, 15.0, 35.0, 80.0)
"""Upper limits of size, in billions of parameters, for the best below each: they lie between usual sizes of models."""


class Rank(Struct, frozen=True, kw_only=True):
    """The rank of one model among N. `place` is by the mean alone (equal means share it), or by the certain score where
    answers are missing; `first` to `last` is the range that the intervals allow, None without an interval.
    """

    place: int
    first: int | None
    last: int | None

    @property
    def text(self) -> str:
        """`3`, `2–5`; the place in brackets where there is no interval: `(4)`."""
        if self.first is None or self.last is None:
            return f"({self.place})"
        return f"{self.first}" if self.first == self.last else f"{self.first}–{self.last}"


def ranks(
    scores: Sequence[Estimate], ranges: Sequence[tuple[int, int]] | None = None, *, level: float = LEVEL
) -> list[Rank]:
    """Return the models' ranks, in the order of `scores`. With `level` confidence all ranges hold the true ranks.

    `ranges`: first and last ranks, where known from the models' questions (`pairedranks`). A model without an interval
    may have any rank, so it widens every other range by one.
    """
    means = sorted(score.sure for score in scores)
    places = (1 + len(means) - bisect.bisect_right(means, score.sure) for score in scores)
    known = _ranges(scores, level) if ranges is None else ranges
    return [Rank(place=place, first=first, last=last) for place, (first, last) in zip(places, known, strict=True)]


def _ranges(scores: Sequence[Estimate], level: float) -> Sequence[tuple[int | None, int | None]]:
    """Return the first and last rank that the intervals allow; None for a model without an interval."""
    widened = [_widened(score, len(scores), level) for score in scores]
    known = [bounds for bounds in widened if bounds is not None]
    lows, highs = sorted(low for low, _ in known), sorted(high for _, high in known)
    return [
        # Better models have a low above this high; worse ones have a high below this low.
        (1 + len(lows) - bisect.bisect_right(lows, bounds[1]), len(scores) - bisect.bisect_left(highs, bounds[0]))
        if bounds
        else (None, None)
        for bounds in widened
    ]


def _widened(score: Estimate, count: int, level: float) -> tuple[float, float] | None:
    """Return the 95 % interval widened to level 1 − (1 − level)/count, each side by the normal quantiles' ratio.

    The part due to missing answers is no sampling error and is not widened.
    """
    if score.low is None or score.high is None:
        return None
    factor = NormalDist().inv_cdf(1 - (1 - level) / (2 * count)) / Z
    floor, ceiling = (score.sure, score.sure) if score.complete else (score.floor, score.ceiling)
    return floor - factor * (floor - score.low), ceiling + factor * (score.high - ceiling)


def widest(mean: float, questions: int) -> tuple[float, float] | None:
    """Return the widest 95 % interval that a mean over this number of questions can have, for use without item scores.

    No score between 0 and 1 varies more than a 0/1 score of the same mean, so the interval of such scores bounds them
    all; a mean over groups of unlike size (a macro average) may be a little less certain.
    """
    return zero_one_interval(min(1.0, max(0.0, mean)) * questions, questions)


class Best(Struct, frozen=True, kw_only=True):
    """The best of one kind below one size."""

    kind: str
    below: float | None
    """Upper limit of size in billions of parameters; None: any size, unknown ones too."""
    row: int
    """Place of the best model in the input."""
    among: int
    """Number of models that it is the best of."""
    level: tuple[int, ...]
    """The others whose 95 % intervals overlap its own, the best first. This is no test: overlapping models may differ
    significantly question by question."""


def best_by(
    scores: Sequence[Estimate],
    sizes: Sequence[float | None],
    kinds: Sequence[str | None],
    below: Iterable[float | None] = (None,),
) -> list[Best]:
    """Return the best of each kind below each size, as InfiBench's Table 4 has them; kinds in the order of their best.

    `sizes`: total parameters in billions, None where unknown. `kinds`: None excludes a model. A limit is left out where
    it adds no model to the one before.
    """
    by_kind: dict[str, list[Best]] = {}
    for kind in dict.fromkeys(size_kind for size_kind in kinds if size_kind is not None):
        before = 0
        for limit in below:
            inside = [
                index
                for index, size in enumerate(sizes)
                if kinds[index] == kind and (limit is None or (size is not None and size <= limit))
            ]
            if len(inside) > before:
                first, *rest = sorted(inside, key=lambda index: -scores[index].sure)
                level = tuple(index for index in rest if _overlap(scores[index], scores[first]))
                left = Best(kind=kind, below=limit, row=first, among=len(inside), level=level)
                by_kind.setdefault(kind, []).append(left)
            before = max(before, len(inside))
    ordered = sorted(by_kind.values(), key=lambda bests: -max(scores[best.row].sure for best in bests))
    return [best for bests in ordered for best in bests]


def _overlap(left: Estimate, other: Estimate) -> bool:
    """Return whether two 95 % intervals share a value; without an interval, whether the means are equal."""
    if left.low is None or left.high is None or other.low is None or other.high is None:
        return left.mean == other.mean
    return left.low <= other.high and other.low <= left.high
