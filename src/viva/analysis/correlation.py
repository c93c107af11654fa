"""Correlation of two columns of figures over the same rows: Kendall, Pearson, Spearman.

The columns are, for instance, the accuracies of models on two formats (SynEval, arXiv 2311.08287, Table 7) or on two
benchmarks. Table 7 is over all 24 rows of the paper's main table, the random baseline included, and its Kendall is
tau-b; without the baseline TF against MC has 0.552 in place of 0.560, FITB accuracy 0.456 in place of 0.480.

95 % intervals are Fisher's z, tanh(artanh(c) ± 1.96 s), with s² = 1/(n-3) for Pearson, (1 + c²/2)/(n-3) for Spearman
and 0.437/(n-4) for Kendall (Bonett and Wright 2000, Psychometrika 65:23-28). p-values are two-sided against no
association: Student's t for Pearson and Spearman, for Kendall exact where nothing is tied and n is small, else normal.
Both take rows as drawn independently, which models of one family are not: without any association, 20 families of six
models that are much alike have p ≤ .05 in 40 % of sets. Where families are known, both come from leaving out each
family in turn (`families.jackknife`) on the scale of Fisher's z, with Student's t on two degrees less than there are
families. `Leaning` has the influence of single rows on a coefficient, `Outlier` the rows far from the line.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from viva.analysis.sizes.families import Codes, Leaning, jackknife, leaning, numbered
from viva.analysis.uncertainty import Z, t_quantile

Kind = Literal["kendall", "pearson", "spearman"]
KINDS: tuple[Kind, ...] = ("kendall", "pearson", "spearman")
FEWEST = 3
"""The fewest rows for a coefficient: two points always lie on a line."""
FEWEST_OUTLYING = 5
OUTLYING = 2.0
"""Standard errors from the line beyond which a row is named."""
MOST_OUTLYING = 8
_CERTAIN = 1 - 1e-12
_TINY = 1e-12

Column = Sequence[float | None]
"""A figure a row; None where there is none."""


class Coefficient(Struct, frozen=True, kw_only=True):
    """One coefficient, from -1 to 1. `value` is None where it is not defined: too few rows, a constant column."""

    kind: Kind
    value: float | None
    p: float | None = None
    """Two-sided, against no association."""
    low: float | None = None
    high: float | None = None
    """Fisher's 95 % interval; None for fewer than 4 rows (Kendall 5), and at exactly -1 or 1, where it has no width.
    Of families the jackknife's; None for fewer than 4."""
    leaning: Leaning | None = None


class Outlier(Struct, frozen=True, kw_only=True):
    """A row far from the line through the others."""

    row: str
    first: float
    second: float
    expected: float
    """The second column's value on the line through all *other* rows."""
    t: float
    """The externally studentised residual: the row's distance from that line in standard errors."""
    p: float
    """Two-sided, times the number of rows (Bonferroni): whether any of so many rows would lie so far off by chance."""


class Pair(Struct, frozen=True, kw_only=True):
    """Two columns against each other, over the rows that have both."""

    first: str
    second: str
    n: int
    left_out: int
    """Rows that lack one of the two."""
    coefficients: tuple[Coefficient, ...]
    outliers: tuple[Outlier, ...] = ()
    """The rows furthest from the line of the second column over the first, beyond `OUTLYING`, the furthest first."""
    families: int = 0
    """Number of families whose rows were drawn together; 0 where each row is its own."""
    rows: tuple[tuple[str, float, float], ...] = ()
    """The rows it was computed from: name, first, second."""

    def of(self, kind: Kind) -> Coefficient:
        """Return the coefficient of a kind."""
        return next(each for each in self.coefficients if each.kind == kind)


def correlate(
    rows: Sequence[str], columns: Mapping[str, Column], first: str, second: str, families: Sequence[str] = ()
) -> Pair:
    """Return all coefficients of two columns. `rows` names the rows; figures must be finite, missing ones None.
    `families`: of the rows, drawn together; each its own for none.
    """
    triples = list(zip(rows, columns[first], columns[second], strict=True))
    whole = [(name, a, b) for name, a, b in triples if a is not None and b is not None]
    there = [family for family, (_, a, b) in zip(families, triples, strict=bool(families)) if None not in (a, b)]
    codes = numbered(there) if len(set(there)) < len(there) else None
    names = [name for name, _, _ in whole]
    xs, ys = [a for _, a, _ in whole], [b for _, _, b in whole]
    return Pair(
        first=first,
        second=second,
        n=len(whole),
        left_out=len(rows) - len(whole),
        coefficients=tuple(_coefficient(kind, names, xs, ys, codes) for kind in KINDS),
        outliers=tuple(outliers(names, xs, ys)),
        families=0 if codes is None else len(set(there)),
        rows=tuple(whole),
    )


def outliers(names: Sequence[str], xs: Sequence[float], ys: Sequence[float]) -> list[Outlier]:
    """Return the rows whose second figure lies more than `OUTLYING` standard errors from the line through the other
    rows.

    The externally studentised residual e/(s₋ᵢ·√(1-h)), h the leverage and s₋ᵢ the scatter around the line without the
    row (Cook and Weisberg 1982, section 2.2); with n - 3 degrees of freedom. Empty for fewer than five rows, a constant
    column, and rows that lie on a line.
    """
    n = len(xs)
    if n < FEWEST_OUTLYING or len(set(xs)) < 2 or len(set(ys)) < 2:
        return []
    from scipy import stats

    largest_x, largest_y = max(map(abs, xs)), max(map(abs, ys))
    x, y = np.asarray(xs) / largest_x, np.asarray(ys) / largest_y
    spread = float(((x - x.mean()) ** 2).sum())
    if spread <= 0:
        return []
    slope = float(((x - x.mean()) * (y - y.mean())).sum()) / spread
    left = y - y.mean() - slope * (x - x.mean())
    leverage = np.minimum(1 / n + (x - x.mean()) ** 2 / spread, 1.0)
    sse = float((left**2).sum())
    outlying: list[Outlier] = []
    for index, name in enumerate(names):
        room = 1 - float(leverage[index])
        variance = (sse - float(left[index]) ** 2 / room) / (n - 3) if room > _TINY else 0.0
        if variance <= _TINY * max(sse, _TINY):
            continue  # alone at its place, or all others are on a line: there is no scatter to measure it by
        t = float(left[index]) / math.sqrt(variance * room)
        if abs(t) > OUTLYING:
            deleted = float(left[index]) / room
            outlying.append(
                Outlier(
                    row=name,
                    first=xs[index],
                    second=ys[index],
                    expected=ys[index] - deleted * largest_y,
                    t=t,
                    p=min(1.0, n * 2 * float(stats.t.sf(abs(t), n - 3))),
                )
            )
    return sorted(outlying, key=lambda outlier: -abs(outlier.t))[:MOST_OUTLYING]


def coefficient(kind: Kind, xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float] | None:
    """Return the coefficient and its p-value; None where it is not defined."""
    if len(xs) < FEWEST or len(set(xs)) < 2 or len(set(ys)) < 2:
        return None
    from scipy import stats  # takes half a second, so only where needed

    with warnings.catch_warnings():  # a column that is constant but for its last bits; the result is checked below
        warnings.simplefilter("ignore")
        test = (
            stats.kendalltau(xs, ys, variant="b")
            if kind == "kendall"
            else stats.spearmanr(xs, ys)
            if kind == "spearman"
            else stats.pearsonr(_scaled(xs), _scaled(ys))  # the squares of figures beyond 1e154 would overflow
        )
    value, p = float(test.statistic), float(test.pvalue)
    if not math.isfinite(value):
        return None
    return max(-1.0, min(1.0, value)), p if math.isfinite(p) else 1.0


def interval(kind: Kind, value: float, n: int) -> tuple[float, float] | None:
    """Return Fisher's 95 % interval around a coefficient over n rows; None where it is not defined."""
    spare = n - (4 if kind == "kendall" else 3)
    if spare < 1 or abs(value) > _CERTAIN:
        return None
    scale = {"kendall": 0.437, "pearson": 1.0, "spearman": 1 + value * value / 2}[kind]
    half = Z * math.sqrt(scale / spare)
    return math.tanh(math.atanh(value) - half), math.tanh(math.atanh(value) + half)


def pairs(columns: Sequence[str], *, every: bool = False) -> list[tuple[str, str]]:
    """Return the first column against each of the others, as in Table 7; or every column against every later one."""
    firsts = columns if every else columns[:1]
    return [(first, second) for index, first in enumerate(firsts) for second in columns[index + 1 :]]


def _kept(kind: Kind, xs: Sequence[float], ys: Sequence[float]) -> Callable[[NDArray[np.bool_]], float | None]:
    """Return a function of a mask of rows that computes the coefficient over them."""
    x, y = np.asarray(xs), np.asarray(ys)

    def value(kept: NDArray[np.bool_]) -> float | None:
        estimated = coefficient(kind, x[kept].tolist(), y[kept].tolist())
        return None if estimated is None else estimated[0]

    return value


def by_families(
    kind: Kind, xs: Sequence[float], ys: Sequence[float], codes: Codes
) -> tuple[float, float, float] | None:
    """Return p and the 95 % interval's ends of a coefficient by the jackknife over families; None where not defined."""
    from scipy import special

    of = _kept(kind, xs, ys)

    def scaled(kept: NDArray[np.bool_]) -> float | None:
        estimated = of(kept)
        return None if estimated is None else math.atanh(max(-_CERTAIN, min(_CERTAIN, estimated)))

    value, error = scaled(np.ones(len(xs), dtype=bool)), jackknife(scaled, codes)
    if value is None or error is None or error[0] < _TINY or abs(value) >= math.atanh(_CERTAIN):
        return None
    half = t_quantile(error[1]) * error[0]
    return 2 * float(special.stdtr(error[1], -abs(value) / error[0])), math.tanh(value - half), math.tanh(value + half)


def _coefficient(
    kind: Kind, names: Sequence[str], xs: Sequence[float], ys: Sequence[float], codes: Codes | None
) -> Coefficient:
    estimated = coefficient(kind, xs, ys)
    if estimated is None:
        return Coefficient(kind=kind, value=None)
    low, high = interval(kind, estimated[0], len(xs)) or (None, None)
    p: float | None = estimated[1]
    if codes is not None:
        p, low, high = by_families(kind, xs, ys, codes) or (None, None, None)
    without = leaning(_kept(kind, xs, ys), names, itemgetter(0)) if len(xs) > FEWEST else None
    return Coefficient(kind=kind, value=estimated[0], p=p, low=low, high=high, leaning=without)


def _scaled(values: Sequence[float]) -> list[float]:
    largest = max(map(abs, values))
    return [value / largest for value in values]
