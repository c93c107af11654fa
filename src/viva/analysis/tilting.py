"""Score intervals of coefficients of agreement, by tilting the distribution of the items.

A coefficient is a function of the items' weights. With U its influence (how fast it moves with an item's weight), the
distributions p ∝ w·exp(λ U) are those nearest to the ratings, by Kullback and Leibler, at which it has other values:
the least favourable family (Efron 1981, Canadian Journal of Statistics 9:139-172, section 11; DiCiccio and Romano 1990,
International Statistical Review 58:59-76). The 95 % interval goes over the values that the ratings do not reject: the
mean of U is within t of its standard errors *under the tested p*, or the likelihood ratio 2 n KL is within t². Like
Wilson's for shares, it takes the variance at the tested value, not at the estimate. Of 50 items of which one in ten has
the rarer mark hardly one has it twice, so a variance taken from them misses such items: of intervals of kappa without
agreement a bootstrap's (BCa) hold in 55 %, a jackknife's in 57 %, these in 97 %.

Unobserved patterns get a little weight too (`SUPPORT` items in all), so that items can be tilted to them: half of it
for items of full agreement, half for those where one rater strays by a step of the scale more than any does (two steps
of eight marks and more, and for AC1 and AC2). Of many marks, `MOST_LEVELS` quantiles take their place.

Nothing is assumed normal, unlike in Fisher's, Feldt's and McGraw and Wong's intervals: of eight marks of which 70 to 90
% are the lowest they hold correlations, Cronbach's alpha and ICC of good raters in 41 to 77 %, with 200 items, too.
Where marks are normal, these are wider (a correlation of 0.9 of 50 items: 0.21 in place of 0.11).

Items that answer one question are tilted together, and n counts questions. Nothing is drawn: the same ratings give the
same interval, in any order. Coverage by simulation: performance/README.md, `performance/coverage.py --only raters`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from viva.analysis.raters.ratings import Kind, Measure, bounded
from viva.analysis.uncertainty import Interval, halved, t_quantile
from viva.errors import flag
from viva.visible import plural

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Weights = Floats
"""Distributions × items: the weight of each item in each distribution."""
Statistic = Callable[[Weights], Floats]
"""Maps weights to a value for each distribution; nan where the coefficient is undefined."""
Coefficient = Callable[[Floats], Statistic]
"""Maps items × raters (nan where a mark is missing) to the coefficient as a function of the items' weights."""
Rows = Sequence[Sequence[float | None]]

NAME = "score (tilted)"
FEWEST = 3
"""The fewest items for a value. Also the fewest questions, and questions with a mark other than the commonest, for an
interval: with fewer, those of 20 items of which one in twenty is 1 hold kappa in 89 %."""
SUPPORT = 0.5
"""The weight, in items, of unobserved patterns. From 0.25 to 1 coverage is alike; with 2, a high kappa is lost."""
MOST_LEVELS = 20
_PATTERNS = 1000
"""Approximate limit of imagined items; with more raters they have fewer levels."""
_UNITS = 1000
"""The most questions with weights of their own; more are grouped at random."""
_STEP = 1e-6
"""The share of weight that is moved to an item to see its influence."""
_FURTHEST, _HALVINGS = 600.0, 32
_AT_ONCE = 4_000_000
"""Weights held in memory at once: 32 MB."""


def usable(
    kind: Kind, rows: Rows, questions: Sequence[int], least: int | None = None, most: float = math.inf
) -> tuple[Measure, Floats, Ints]:
    """Return the items that have `least` marks (None: one of every rater), as items × raters, and their questions.

    The measure has no value yet; its `reason` says why it can have none: one rater, few items, one question,
    more than `most` different marks.
    """
    raters = len(rows[0]) if rows else 0
    values = np.array(rows, dtype=float).reshape(len(rows), raters)
    kept = np.isfinite(values).sum(axis=1) >= (raters if least is None else least)
    values, asked = values[kept], np.asarray(questions, dtype=np.int64)[kept]
    measure = Measure(kind=kind, value=None, n=len(values), left_out=len(rows) - len(values))
    there, marks = len(np.unique(asked)), len(np.unique(values[np.isfinite(values)]))
    reason = ""
    if rows and raters < 2:
        reason = "it takes two raters"
    elif len(values) < FEWEST:
        reason = f"{plural(len(values), 'item')} of {FEWEST} that a figure takes"
    elif there < 2:
        reason = "all items are of one question; it takes two"
    elif marks > most:
        reason = f"{marks:,} different marks are no scale of categories: name one with {flag('scale')}"
    return bounded(measure, None, "", reason), values, asked


def estimated(
    measure: Measure, values: Floats, questions: Ints, of: Coefficient, undefined: str, scale: Sequence[float] = ()
) -> Measure:
    """Return a measure from `usable` with its value and interval; `undefined`: the reason if it has no value.

    `scale`: all possible marks, for coefficients that use more than the given ones.
    """
    if measure.reason:
        return measure
    value = float(of(values)(np.ones((1, len(values))))[0])
    if not np.isfinite(value):
        return bounded(measure, None, "", undefined)
    interval, reason = score_interval(values, questions, of, value, scale)
    return bounded(replace(measure, value=value), interval, NAME, reason)


def score_interval(
    values: Floats, questions: Ints, of: Coefficient, value: float, scale: Sequence[float] = ()
) -> tuple[Interval | None, str]:
    """Return the 95 % interval around the `value` of a coefficient; else None and the reason."""
    if (there := len(np.unique(questions))) < FEWEST:
        return None, f"an interval takes {FEWEST} questions; there are {there}"
    marks, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    other = (np.isfinite(values) & (values != marks[counts.argmax()])).any(axis=1)
    if not len(scale) and (rare := len(np.unique(questions[other]))) < FEWEST:
        return None, f"{rare} questions have another mark than the commonest; an interval takes {FEWEST}"
    imagined, mass = _imagined(values, np.union1d(marks, scale), 1 + (len(marks) > 7 or len(scale) > 0))
    values, unit, weights = _units(values, questions)
    n = float(weights.sum())
    statistic = of(np.concatenate([values, imagined]))
    unit = np.concatenate([unit, len(weights) + np.arange(len(imagined))])

    def taken(given: Weights) -> Floats:
        parts = np.array_split(given, len(given) * len(unit) // _AT_ONCE + 1)
        return np.concatenate([statistic(part[:, unit]) for part in parts])

    seen = np.concatenate([weights, np.zeros(len(mass))]) / n
    start = np.concatenate([weights, mass]) / (n + mass.sum())
    moved = taken(n * ((1 - _STEP) * start + _STEP * np.eye(len(start)))) - taken(n * start[None, :])
    influence = moved - start @ moved
    if not np.isfinite(influence).all() or not (largest := float(np.abs(influence).max())):
        return None, "the ratings vary too little for an interval"
    ends = taken(n * _limits(start, influence / largest, float(seen @ influence / largest), n))
    low, high = min(value, float(ends[0])), max(value, float(ends[1]))
    if not high - low > 1e-12:  # nan, too
        return None, "the ratings vary too little for an interval"
    return (low, high), ""


def _units(values: Floats, questions: Ints) -> tuple[Floats, Ints, Floats]:
    """Return items, the unit of each, and how often each unit occurs: questions, or equal items if each has its own."""
    unit = np.unique(questions, return_inverse=True)[1]
    count = int(unit.max()) + 1
    if count == len(values):
        kinds, often = np.unique(values, axis=0, return_counts=True)
        if len(kinds) <= _UNITS:
            return kinds, np.arange(len(kinds)), often.astype(np.float64)
    if count > _UNITS:
        unit, count = np.random.default_rng(0).permutation(count)[unit] % _UNITS, _UNITS
    return values, unit, np.ones(count)


def _imagined(values: Floats, marks: Floats, beyond: int) -> tuple[Floats, Floats]:
    """Return imagined items and their weights: full agreement on each mark, and one rater who strays.

    `beyond`: by how many steps more than any rater does.
    """
    given, raters = np.isfinite(values), values.shape[1]
    most = min(MOST_LEVELS, max(2, round((_PATTERNS / raters) ** 0.5)))
    if len(marks) > most:
        shares = np.linspace(0, 1, most)
        marks = np.unique(np.quantile(values[given], shares, method="inverted_cdf"))
    levels = np.searchsorted((marks[1:] + marks[:-1]) / 2, values)
    share = (np.bincount(levels[given], minlength=len(marks)) + 0.5) / (given.sum() + len(marks) / 2)
    highest, lowest = np.where(given, levels, -1).max(axis=1), np.where(given, levels, len(marks)).min(axis=1)
    reach = int((highest - lowest).max()) + beyond
    steps = np.abs(np.subtract.outer(np.arange(len(marks)), np.arange(len(marks))))
    first, rest = np.nonzero((steps > 0) & (steps <= reach))
    straying = np.where(np.eye(raters, dtype=bool), marks[first][:, None, None], marks[rest][:, None, None])
    unequal = np.repeat(share[first] * share[rest], raters)
    mass = np.concatenate([share, unequal / max(float(unequal.sum()), 1e-300)])
    return np.concatenate([np.repeat(marks[:, None], raters, axis=1), straying.reshape(-1, raters)]), SUPPORT / 2 * mass


def _limits(start: Floats, influence: Floats, seen: float, n: float) -> Floats:
    """Return the two tilted distributions beyond which the mean influence `seen` is rejected."""
    logs = np.log(start)
    limit = t_quantile(n - 1) ** 2

    def tilted(by: float) -> tuple[Floats, float, float, float]:
        """Return the distribution, the logarithm of its divisor, and the mean and variance of the influence under
        it.
        """
        exponents = logs + by * influence
        top = float(exponents.max())
        weights = np.exp(exponents - top)
        total = float(weights.sum())
        weights /= total
        mean = float(weights @ influence)
        return weights, math.log(total) + top, mean, max(float(weights @ (influence - mean) ** 2), 1e-300)

    best = halved(lambda by: tilted(by)[2] < seen, -_FURTHEST / 12, _FURTHEST / 12, _HALVINGS)[0]
    likely = best * seen - tilted(best)[1]

    def accepted(by: float) -> bool:
        _, divisor, mean, variance = tilted(by)
        return min(n * (mean - seen) ** 2 / variance, 2 * n * (likely - by * seen + divisor)) <= limit

    ends = []
    for sign in (-1, 1):
        inside, step = best, min(5.0, 0.3 * math.sqrt(limit / n / tilted(best)[3]))
        while abs(inside) < _FURTHEST and accepted(inside + sign * step):
            inside, step = inside + sign * step, 1.3 * step
        ends.append(tilted(halved(accepted, inside, inside + sign * step, _HALVINGS)[0])[0])
    return np.array(ends)


def numbered(names: Sequence[str], count: int) -> list[int]:
    """Return each name's number, from 0 in order of first occurrence; 0, 1, 2, … where there are no names."""
    if not names:
        return list(range(count))
    numbers: dict[str, int] = {}
    return [numbers.setdefault(name, len(numbers)) for name in names]


def midranks(weights: Weights, codes: NDArray[np.int64], kinds: int) -> Floats:
    """Return the rank of each of `kinds` values in each distribution, ties in the middle.

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
