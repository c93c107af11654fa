"""Estimate of a score: mean, 95 % interval, bounds, counts. All numbers over questions are computed here.

From questions with the sums of their answers (`Breakdown`): `points` of the `answered` ones, and the least and the most
(`floor`, `ceiling`) that all `n` can earn when the missing ones are decided. An unreadable reply is wrong, not missing.

    mean       Σ points / Σ answered; over groups of questions first, where an exam averages so; and never outside of
               its bounds, where a part of what waits is known already
    bounds     Σ floor / Σ n and Σ ceiling / Σ n, likewise
    interval   of the mean where nothing is missing (`uncertainty`); else the mean lies between floor and ceiling, and
               it goes from the lower limit of the floor to the upper limit of the ceiling (Imbens and Manski
               2004, Econometrica 72:1845-1857): it holds whatever the missing answers are worth
    clusters   questions that belong together (about one passage) are one observation (Miller 2024, arXiv 2411.00640,
               section 2.2)

There is no mean, but bounds and an interval, where the decided answers say nothing of the others: a similarity can only
say "right", and answers unlike the gold wait for a judge; an empty reply is wrong, and all others wait.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from viva.analysis.columns import Columns, Numbers
from viva.analysis.uncertainty import (
    ALIKE,
    LEVEL,
    SMALL_GROUP,
    Group,
    Interval,
    Z,
    adjusted_wald,
    grouped_variance,
    identified_level,
    mean_variance,
    score_interval,
    share_interval,
    t_quantile,
    zero_one_interval,
)
from viva.types import OUTCOMES, SCORED, UNANSWERED
from viva.visible import plural

Scale = Literal["shares", "signed", "below zero", "any"]
"""The range of scores: 0..1; differences of such scores; at most 1 with some below 0; or differences of those."""
Sums = Mapping[str, float]
"""The sums over a group of questions, by name: see `sums`."""
SERIES = {"": ("points", "answered"), "floor:": ("floor", "n"), "ceiling:": ("ceiling", "n")}
"""A mean and its bounds: the columns that are summed up, and what they are divided by."""
COUNTED = ("n", "replies", "gated", "settled", "waiting", *(f"outcome:{name}" for name in OUTCOMES))
_SAME = 1e-9
_CERTAIN = 1e-12
"""A variance below this is rounding."""


Unit = Literal["answers", "groups of answers", "questions"]


class Estimate(Struct, frozen=True, kw_only=True):
    """A score with its uncertainty, as reports, pages and exports show it. Shares of 1.

    `mean` is None where nothing is scored, and where those that are scored say nothing of the others (`ranged`).
    """

    n: int = 0
    """Answers in all, each as often as its question is listed: the full denominator."""
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    """The 95 % interval; where answers are missing, it holds whatever they are worth."""
    floor: float = 0.0
    ceiling: float = 1.0
    """The least and the most that the score can be when the missing answers are decided."""
    sd: float | None = None
    """Standard deviation of the mean over repeats."""
    outcomes: dict[str, int] = {}
    unit: Unit = "answers"
    """What `n` counts: answers; groups of them, where of each the best counts; or questions where each has one answer,
    or its answers count as one."""
    clusters: int = 0
    """Groups of questions that belong together; 0 where each question is one observation."""
    groups: int = 0
    scored_groups: int = 0
    """Of a mean over groups: the number of groups, and of those with a score; 0 for any other mean."""
    lacks: tuple[str, ...] = ()
    """Parts (lines of the exam's tables) of which less than half is scored."""

    @property
    def unanswered(self) -> int:
        """Answers that are missing from the mean."""
        return sum(self.outcomes.get(outcome, 0) for outcome in UNANSWERED)

    @property
    def complete(self) -> bool:
        """Whether no answer is missing from the mean."""
        return not self.unanswered and (not self.n or self.ceiling - self.floor < _SAME)

    @property
    def ranged(self) -> bool:
        """Whether there is a range in place of a mean."""
        return self.mean is None and self.low is not None

    @property
    def sure(self) -> float:
        """The lowest score that is certain, whatever the missing answers are worth."""
        return (self.mean or 0.0) if self.complete else self.floor

    @property
    def order(self) -> tuple[float, float]:
        """Sort key of results: the certain score, then the most that it can be."""
        return self.sure, self.mean or 0.0 if self.complete else self.ceiling

    @property
    def same_parts(self) -> bool:
        """Whether the mean is over all the parts that the score is about, as a published figure is."""
        return not self.lacks and 2 * self.unanswered <= self.n


class Spread(Struct, frozen=True, kw_only=True):
    """A mean of scores with its sampling variance; None where it cannot be estimated."""

    mean: float
    variance: float | None
    worth: float
    """Effective number of questions: independent and of equal weight."""
    degrees: float
    """Degrees of freedom of the variance; infinite where it is known from the mean."""
    scale: Scale = "shares"
    zero_one: bool = False
    """Whether each question counts once, with 0 or 1; of differences: -1, 0 or 1."""
    size: float = 0.0
    """The mean of the scores without their signs."""

    def interval(self, level: float = LEVEL) -> Interval | None:
        """Return the interval of the mean."""
        if self.variance is None:
            return None
        if self.scale == "signed":
            wald = adjusted_wald(self.mean, math.sqrt(self.variance), self.worth, self.degrees, level)
            quantile = t_quantile(self.degrees, level)
            other = score_interval(*self._ways, self._pairs, quantile)
            return min(wald.interval[0], other[0]), max(wald.interval[1], other[1])
        if self.scale in ("below zero", "any"):
            half = t_quantile(self.degrees, level) * math.sqrt(self.variance)
            most = 1.0 if self.scale == "below zero" else math.inf
            return None if self.variance < _CERTAIN else (self.mean - half, min(most, self.mean + half))
        if self.zero_one or self.variance < _CERTAIN:
            return zero_one_interval(self.mean * self.worth, self.worth, level)
        return share_interval(self.mean, self.variance, self.worth, self.degrees, level)

    @property
    def _ways(self) -> tuple[float, float]:
        """The means of the differences above and below 0, without their signs."""
        return (self.size + self.mean) / 2, (self.size - self.mean) / 2

    @property
    def _pairs(self) -> float:
        """The number of 0/1 pairs that have this variance."""
        if self.zero_one or not self.variance or self.variance < _CERTAIN:
            return self.worth
        return max(1.0, (self.size - self.mean**2) / self.variance)

    @property
    def error(self) -> float | None:
        """The standard error; for differences, of the adjusted Wald interval."""
        if self.variance is None:
            return None
        error = math.sqrt(self.variance)
        return adjusted_wald(self.mean, error, self.worth, self.degrees).error if self.scale == "signed" else error

    @property
    def statistic(self) -> float:
        """The distance of differences from 0 in standard errors, by inverting the wider interval."""
        error = math.sqrt(self.variance or 0.0)
        if self.scale == "any":
            return abs(self.mean) / error if error > 0 else 0.0
        wald = adjusted_wald(self.mean, error, self.worth, self.degrees)
        scored = abs(self.mean) * math.sqrt(self._pairs / self.size) if self.size > _SAME else 0.0
        return min(abs(wald.centre) / wald.error if wald.error else 0.0, scored)


class Spreads(Struct, frozen=True, kw_only=True):
    """A mean and its bounds, each with its variance; `mean` None where nothing is scored."""

    mean: Spread | None
    floor: Spread
    ceiling: Spread

    @property
    def missing(self) -> bool:
        """Whether the bounds differ."""
        return self.ceiling.mean - self.floor.mean > _SAME

    def interval(self, level: float = LEVEL) -> Interval | None:
        """Return the interval of a mean that lies somewhere between floor and ceiling: each end by its own error."""
        if not self.missing:
            return (self.mean or self.floor).interval(level)
        error = self._error
        if error is None:
            return None
        level = identified_level(self.ceiling.mean - self.floor.mean, error, level)
        low, high = self.floor.interval(level), self.ceiling.interval(level)
        return (low[0], high[1]) if low and high else None

    @property
    def _error(self) -> float | None:
        """The larger standard error of the bounds, as their intervals reach outwards."""
        low, high = self.floor.interval(), self.ceiling.interval()
        return max(self.floor.mean - low[0], high[1] - self.ceiling.mean) / Z if low and high else None

    def p(self) -> float | None:
        """Return the two-sided p of no difference, by inverting the interval; None where missing answers can turn its
        sign.

        With z standard errors between 0 and the nearer bound, and w between the bounds: P(Z > z) + P(Z > z + w).
        """
        from scipy.special import ndtr, ndtri, stdtr

        nearer = self.floor if self.floor.mean > 0 else self.ceiling
        if nearer.variance is None or (self.missing and self.floor.mean <= _SAME and self.ceiling.mean >= -_SAME):
            return None
        tail, error = float(stdtr(nearer.degrees, -nearer.statistic)), self._error if self.missing else None
        return tail + float(ndtr(ndtri(tail) - (self.ceiling.mean - self.floor.mean) / error) if error else tail)


def sums(data: Columns, tag: str = "") -> dict[str | None, Sums]:
    """Add up questions (`Breakdown.questions`), those with each value of a tag by themselves: value → sums; None for
    those without the tag.

    The columns of each of `SERIES`: v and w what is averaged and its weight, vv, vw and ww their products, `heard` the
    questions with a weight, `odd` those whose v is neither 0 nor all of w, `beyond` those where it is more than w,
    `size` v without its sign, and the `lowest` v. Where nothing is missing the bounds are the mean, without sums.
    """
    known = data.numbers
    name = f"tag:{tag}"
    places = data.texts[name].codes + 1 if tag and name in data.texts else np.zeros(data.height, dtype=np.int32)
    there = np.flatnonzero(np.bincount(places))
    whole = bool(np.array_equal(known["answered"], known["n"]) and np.array_equal(known["floor"], known["ceiling"]))
    columns = {column: known[column] for column in COUNTED}
    lowest = {}
    for series, (values, weights) in SERIES.items():
        if series and whole:
            break
        v = known[values]
        own = _moments(v, known[weights])
        own["odd"] |= known.get("fraction", np.zeros(1)) > 0  # of differences: whether some score is neither 0 nor 1
        columns |= {f"{series}{column}": series_values for column, series_values in own.items()}
        least = np.full(len(there) and int(there[-1]) + 1, np.inf)
        np.minimum.at(least, places, v)
        lowest[f"{series}lowest"] = least[there]
    nothing = np.zeros(len(there))  # most outcomes do not occur
    by_column = {
        name: np.bincount(places, series_values)[there] if series_values.any() else nothing
        for name, series_values in columns.items()
    } | lowest
    rows = zip(*(column.tolist() for column in by_column.values()), strict=True)
    named = (data.texts[name].values[place - 1] if place else None for place in there.tolist())
    return {value: dict(zip(by_column, row, strict=True)) for value, row in zip(named, rows, strict=True)}


def _moments(v: Numbers, w: Numbers) -> dict[str, Numbers]:
    size = np.abs(v)
    return {
        "v": v,
        "w": w,
        "vv": v * v,
        "vw": v * w,
        "ww": w * w,
        "heard": w > 0,
        "size": size,
        "odd": (size > 0) & (size != w),
        "beyond": size > w + _SAME,
    }


def clusters_of(questions: Columns) -> NDArray[np.int64] | None:
    """Return each question's cluster, as a number; None where each question is its own."""
    if "cluster" not in questions.texts:
        return None
    codes = questions.texts["cluster"].codes.astype(np.int64)
    alone = codes < 0
    codes[alone] = codes.max(initial=-1) + 1 + np.arange(alone.sum())
    return codes if len(np.unique(codes)) < len(codes) else None


def clustered(questions: Columns, over: str = "") -> Clustered | None:
    """Return the clusters of questions, with the groups of a mean over groups; None where there are no clusters."""
    clusters = clusters_of(questions)
    if clusters is None:
        return None
    groups = questions.texts[f"tag:{over}"].codes if f"tag:{over}" in questions.texts else np.zeros_like(clusters)
    return Clustered(questions.numbers, groups.astype(np.int64), clusters)


class Clustered(Struct, frozen=True, eq=False):
    """Clustered questions: what each adds to each of `SERIES`, the group it is averaged in, its cluster."""

    columns: Mapping[str, Numbers]
    groups: NDArray[np.int64]
    clusters: NDArray[np.int64]

    def variance(self, series: str, middles: Sequence[float], apart: Spread) -> tuple[float | None, float, float]:
        """Return the variance of a mean over groups' means, how many questions it is worth, and its degrees of freedom.

        From the clusters' sums of residuals, which may reach over groups, over 1 - their leverage. A group of a single
        cluster has no residuals of its own: its are from the overall mean. Degrees of freedom are one less than the
        clusters are worth, (Σ w²)² / Σ w⁴ by their shares w: one text of a hundred questions with ten of five is hardly
        more than one observation. The worth in questions is their number over the design effect (Kish 1965, Survey
        Sampling, section 8.2), the variance over that of questions `apart`; no fewer than the clusters.
        """
        values, weights = (self.columns[name] for name in SERIES[series])
        kept = weights > 0
        values, weights = values[kept], weights[kept]
        groups, clusters = (
            np.unique(codes[kept], return_inverse=True)[1].ravel() for codes in (self.groups, self.clusters)
        )
        count = len(middles)
        if not len(clusters) or clusters.max() < 1:
            return None if apart.scale != "shares" else 0.0, 1.0, 0.0
        inside = np.bincount(groups, weights=weights)[groups]
        shares = weights / inside / count
        both, pairs = np.unique(np.stack([groups, clusters]), axis=1, return_inverse=True)
        alone = (np.bincount(both[0]) == 1)[groups]
        whole = np.bincount(clusters, weights=shares)
        middle = np.where(alone, statistics.fmean(middles), np.asarray(middles)[groups])
        own = np.bincount(pairs.ravel(), weights=weights)[pairs.ravel()] / inside
        own = np.where(alone, whole[clusters], own)
        leverage = np.bincount(clusters, weights=shares * own) / whole
        residuals = np.bincount(clusters, weights=(values - middle * weights) / inside / count)
        degrees = float((whole**2).sum() ** 2 / (whole**4).sum()) - 1
        variance = float((residuals**2 / (1 - leverage)).sum())
        effect = (apart.variance or 0.0) / variance if variance > 0 else 0.0
        return variance, max(1 / float((whole**2).sum()), apart.worth * min(1.0, effect)), max(1.0, degrees)


def spreads(groups: Sequence[Sums], *, signed: bool = False, clustered: Clustered | None = None) -> Spreads:
    """Return the mean over groups of questions and its bounds, from the groups' sums: of one group the plain mean."""
    made = {series: _spread(series, groups, signed, clustered) for series in SERIES if f"{series}v" in groups[0]}
    mean = made[""]
    floor, ceiling = (made.get(series) or mean for series in ("floor:", "ceiling:"))
    assert floor is not None
    assert ceiling is not None
    return Spreads(mean=mean, floor=floor, ceiling=ceiling)


def mean_of(values: Numbers, questions: Numbers, *, signed: bool = False) -> Spreads:
    """Return the mean of values, one or more a question; `questions`: the number of each value's question."""
    v, w = np.bincount(questions, weights=values), np.bincount(questions).astype(np.float64)
    own = {name: float(moment.sum()) for name, moment in _moments(v, w).items()}
    return spreads([own | {"lowest": float(v.min())}], signed=signed)


def _spread(series: str, groups: Sequence[Sums], signed: bool, clustered: Clustered | None) -> Spread | None:
    there = [{name: group[f"{series}{name}"] for name in _MOMENTS} for group in groups if group[f"{series}w"]]
    if not there:
        return None
    middles = [group["v"] / group["w"] for group in there]
    k, mean = len(there), statistics.fmean(middles)
    scale: Scale = "below zero" if min(group["lowest"] for group in there) < 0 else "shares"
    if signed:
        scale = "any" if any(group["beyond"] for group in there) else "signed"
    squares = [_squares(group, middle) for group, middle in zip(there, middles, strict=True)]
    zero_one = False
    if k == 1:
        group, n = there[0], int(there[0]["heard"])
        worth: float = n
        zero_one = group["w"] == n and not group["odd"]
        if scale == "shares" and squares[0] < ALIKE:
            zero_one = True  # equal scores have no variance to go by; 0/1 scores vary the most
        variance = mean_variance(squares[0], n, group["w"]) if n > 1 else None if signed else 0.0
        degrees = math.inf if signed and zero_one else n - 1.0
    else:
        worth = k**2 / math.fsum(1 / group["heard"] for group in there)
        # More is known of differences between groups than within; one large group says little of the others.
        if sum(min(group["heard"], SMALL_GROUP) for group in there) < 2 * k - 1:
            variance, degrees = math.fsum((middle - mean) ** 2 for middle in middles) / (k - 1) / k, k - 1.0
        else:
            parts = [_of_several(group, each, k) for group, each in zip(there, squares, strict=True)]
            variance, degrees = grouped_variance(parts)
    size = math.fsum(group["size"] / group["w"] for group in there) / k
    spread = Spread(
        mean=mean, variance=variance, worth=worth, degrees=degrees, scale=scale, zero_one=zero_one, size=size
    )
    if clustered is None:
        return spread
    variance, worth, degrees = clustered.variance(series, middles, spread)
    return replace(spread, variance=variance, worth=worth, degrees=degrees, zero_one=False)


_MOMENTS = ("v", "w", "vv", "vw", "ww", "heard", "odd", "beyond", "size", "lowest")


def _squares(group: Sums, middle: float) -> float:
    """Return Σ (v - middle × w)² over questions, from the sums of products."""
    return max(0.0, group["vv"] - 2 * middle * group["vw"] + middle**2 * group["ww"])


def _of_several(group: Sums, squares: float, count: int) -> Group:
    """Return a group as one of `count` groups of equal weight."""
    n, spare = group["heard"], group["heard"] - 1
    squares *= (n / group["w"]) ** 2
    shares = 1 / n / count**2
    own = squares / max(1, spare) * shares
    return Group(worth=n, spare=spare, squares=squares, shares=shares, variance=own, degrees=spare)


def _says_nothing(counts: Mapping[str, float]) -> bool:
    return bool(counts["waiting"] and (counts["gated"] or not counts["settled"]))


def silent(questions: Columns) -> bool:
    """Return whether the decided questions say nothing of those that wait for a verdict."""
    return _says_nothing({name: float(questions.numbers[name].sum()) for name in ("waiting", "gated", "settled")})


def estimate(
    groups: Sequence[Sums],
    *,
    kind: str = "score",
    clustered: Clustered | None = None,
    unit: Unit = "answers",
    over: bool = False,
) -> Estimate:
    """Make the estimate of a mean over groups of questions; of one group the plain mean.

    `over`: whether the groups are those of an exam that averages over groups.
    """
    counts = {name: sum(group[name] for group in groups) for name in COUNTED}
    outcomes: dict[str, int] = {
        name: int(counts[f"outcome:{name}"])
        for name in OUTCOMES
        if counts[f"outcome:{name}"] and (kind == "score" or name not in SCORED)
    }
    clusters = len(np.unique(clustered.clusters)) if clustered else 0
    estimated = Estimate(n=int(counts["n"]), outcomes=outcomes, unit=unit, clusters=clusters)
    if not estimated.n:
        return estimated
    spread = spreads(groups, signed=kind == "difference", clustered=clustered)
    floor, ceiling = spread.floor.mean, spread.ceiling.mean
    estimated = replace(estimated, floor=floor, ceiling=ceiling)
    if over:
        estimated = replace(estimated, groups=len(groups), scored_groups=sum(group["w"] > 0 for group in groups))
    if not counts["replies"]:
        return estimated
    low, high = spread.interval() or (None, None)
    if spread.mean is None or _says_nothing(counts):
        return replace(estimated, low=low, high=high)
    return replace(estimated, mean=min(max(spread.mean.mean, floor), ceiling), low=low, high=high)


UNSURE = "†"
"""Marks a mean that leaves something out."""


def percent(share: float | None, digits: int = 2) -> str:
    """Return a share of 1 as per cent, without the sign; an en dash where there is none."""
    return "–" if share is None else f"{100 * share:.{digits}f}"


def range_text(low: float, high: float) -> str:
    """Return `60.10–62.00`; `-12.50 to 45.31` where a dash would be read as a sign."""
    return f"{percent(low)}{' to ' if low < 0 else '–'}{percent(high)}"


def mean_text(cell: Estimate) -> str:
    """Return `61.20`, `61.20†`, `33.33–71.00†`, and a dash for none: an estimate alone."""
    if cell.mean is None:
        return f"{range_text(cell.floor, cell.ceiling)}{UNSURE}" if cell.ranged else f"–{UNSURE}" if cell.n else "–"
    return percent(cell.mean) + ("" if cell.complete else UNSURE)


def score_text(cell: Estimate) -> str:
    """Return `61.20`, `61.20† (55.10–70.00)`, `33.33–71.00†`: an estimate with its bounds, without its interval."""
    bounds = bounds_text(cell)
    return mean_text(cell) + (f" ({bounds})" if bounds else "")


def interval_text(cell: Estimate) -> str:
    """Return `59.10–63.25`, `-12.50 to 45.31`; empty where there is none."""
    return "" if cell.low is None or cell.high is None else range_text(cell.low, cell.high)


def bounds_text(cell: Estimate) -> str:
    """Return `60.10–62.00`: the least and the most that a marked mean can be; empty for any other."""
    return "" if cell.complete or cell.mean is None else range_text(cell.floor, cell.ceiling)


APART = "questions that belong together count each by itself here: what is said of errors is too small."
"""Note for measures that ignore clusters."""


def clusters_text(clusters: int) -> str:
    """Return the note on intervals over so many clusters."""
    return (
        f"intervals and tests count {plural(clusters, 'group')} of questions that belong together, not each question."
    )


def cell_text(cell: Estimate) -> str:
    """Return `61.20 [59.10, 63.25]`, with ± sd over repeats; `33.33–71.00† [28.10, 76.05]` where there is a range in
    place of a mean, and with its bounds where a mean leaves something out: `61.20† (55.10–70.00) [50.85, 74.90]`.
    """
    text = score_text(cell)
    if cell.sd is not None:
        text += f" ± {percent(cell.sd)}"
    return text + bracket_text(cell)


def bracket_text(cell: Any) -> str:
    """Return ` [59.10, 63.25]` for anything with `low` and `high`; empty where there is no interval."""
    return "" if cell.low is None else f" [{percent(cell.low)}, {percent(cell.high)}]"
