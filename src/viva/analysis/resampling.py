"""Bootstrap intervals over items, for measures that have no standard interval.

Items are drawn again with replacement, by whole questions where several items answer one; all ratings of an item stay
together. A measure gives its value for any weights of the items, so that many resamples are one matrix product.
Intervals are bias-corrected and accelerated (BCa: Efron 1987, JASA 82:171-185); the acceleration comes from leaving
out each question in turn. Seeded: the same ratings give the same interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from viva.analysis.uncertainty import LEVEL, Interval, t_quantile

Floats = NDArray[np.float64]
Weights = Floats
"""Resamples × items: how often each item is in each resample."""
Statistic = Callable[[Weights], Floats]
"""Weights in, a value a resample out; nan where the measure is not defined."""

RESAMPLES = 2000
UNDEFINED = 0.05
"""Up to this share of resamples may lack a value (one with no variance, say); beyond it there is no interval."""
_AT_ONCE = 4_000_000
"""Entries of one chunk of weights: 32 MB."""
_KEPT = 16_000_000
"""Entries of all weights up to which they are kept for the next measure: 128 MB."""
_JACKKNIFE = 3000
"""Questions up to which each is left out in turn; of more, none moves the acceleration."""
NAME = "bootstrap (BCa)"
JACKKNIFE = "jackknife (Fisher's z)"


class Resampler:
    """Draws items by question. `questions` numbers each item's question, from 0."""

    def __init__(self, questions: Sequence[int], seed: int = 0, resamples: int = RESAMPLES) -> None:
        self.questions = np.asarray(questions, dtype=np.int64)
        self.count = int(self.questions.max()) + 1 if len(self.questions) else 0
        self.seed = seed
        self.resamples = resamples
        self.single = self.count == len(self.questions)
        """Whether every item has a question of its own."""
        self._drawn: list[Floats] | None = None

    def interval(self, statistic: Statistic, items: Sequence[int], value: float) -> tuple[Interval | None, str]:
        """The 95 % interval of a statistic of some items around its value; else None and the reason."""
        places = np.asarray(items, dtype=np.int64)
        own = np.unique(self.questions[places])
        if len(own) < 3:
            return None, "an interval takes three questions at least"
        found = np.concatenate([statistic(chunk[:, self.questions[places]]) for chunk in self._chunks()])
        defined = found[np.isfinite(found)]
        if len(defined) < (1 - UNDEFINED) * len(found):
            return None, "too many resamples have no value: the ratings vary too little for an interval"
        if np.ptp(defined) < 1e-12:
            return None, "every resample gives the same value: an interval would have no width"
        left = self._without_each(statistic, places, own)
        return _bca(defined, value, left), ""

    def transformed(self, statistic: Statistic, items: Sequence[int], value: float) -> Interval | None:
        """The 95 % interval of a coefficient below 1: a jackknife over questions of Fisher's z, with Student's t.

        None for fewer than three questions, more than are left out in turn, and where a value of 1 has no z.
        """
        places = np.asarray(items, dtype=np.int64)
        own = np.unique(self.questions[places])
        left = self._without_each(statistic, places, own)
        if len(left) < max(3, len(own)) or max(value, float(left.max())) > 1 - 1e-9 or float(left.min()) <= -1:
            return None
        away = np.arctanh(left) - np.arctanh(left).mean()
        half = t_quantile(len(own) - 1) * float(np.sqrt((len(own) - 1) / len(own) * (away**2).sum()))
        if half < 1e-12:
            return None
        return float(np.tanh(np.arctanh(value) - half)), float(np.tanh(np.arctanh(value) + half))

    def _chunks(self) -> Iterable[Floats]:
        """Resamples × questions, in chunks; kept where there is room, else drawn anew, which gives the same."""
        if self._drawn is not None:
            return self._drawn
        if self.count * self.resamples > _KEPT:
            return self._draw()
        self._drawn = list(self._draw())
        return self._drawn

    def _draw(self) -> Iterator[Floats]:
        generator = np.random.default_rng(self.seed)
        size = max(1, _AT_ONCE // max(1, self.count))
        shares = np.full(self.count, 1 / self.count)
        for start in range(0, self.resamples, size):
            yield generator.multinomial(self.count, shares, size=min(size, self.resamples - start)).astype(np.float64)

    def _without_each(self, statistic: Statistic, places: NDArray[np.int64], own: NDArray[np.int64]) -> Floats:
        if len(own) > _JACKKNIFE:
            return np.empty(0)
        of_items = np.searchsorted(own, self.questions[places])
        size = max(1, _AT_ONCE // len(places))
        found = [
            statistic((of_items[None, :] != np.arange(start, min(start + size, len(own)))[:, None]).astype(np.float64))
            for start in range(0, len(own), size)
        ]
        values = np.concatenate(found)
        return values[np.isfinite(values)]


def numbered(names: Sequence[str], count: int) -> list[int]:
    """Names → numbers from 0 in the order of their first; 0, 1, 2, … where there are no names."""
    if not names:
        return list(range(count))
    numbers: dict[str, int] = {}
    return [numbers.setdefault(name, len(numbers)) for name in names]


def _bca(found: Floats, value: float, left: Floats) -> Interval:
    normal = NormalDist()
    below = float(np.mean(found < value - 1e-12) + np.mean(np.abs(found - value) <= 1e-12) / 2)
    shift = normal.inv_cdf(min(max(below, 0.5 / len(found)), 1 - 0.5 / len(found)))
    acceleration = 0.0
    if len(left) > 2:
        away = left.mean() - left
        spread = float((away**2).sum())
        acceleration = float((away**3).sum()) / (6 * spread**1.5) if spread > 1e-24 else 0.0

    def corrected(share: float) -> float:
        moved = shift + normal.inv_cdf(share)
        return normal.cdf(shift + moved / max(1e-3, 1 - acceleration * moved))

    low, high = np.quantile(found, [corrected((1 - LEVEL) / 2), corrected((1 + LEVEL) / 2)])
    return min(float(low), value), max(float(high), value)  # few resamples may all lie on one side


def midranks(weights: Weights, codes: NDArray[np.int64], kinds: int) -> Floats:
    """The rank of each of `kinds` values in each resample, ties in the middle.

    `codes`: items (× raters), the place of each value among the kinds, -1 where it is missing.
    """
    rows = codes if codes.ndim == 2 else codes[:, None]
    counts = np.zeros((len(weights), kinds))
    for column in rows.T:
        given = column >= 0
        one_hot = np.zeros((int(given.sum()), kinds))
        one_hot[np.arange(len(one_hot)), column[given]] = 1.0
        counts += weights[:, given] @ one_hot
    ranks: Floats = np.cumsum(counts, axis=1) - counts / 2
    return ranks
