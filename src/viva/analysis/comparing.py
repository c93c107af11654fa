"""Two contestants on the same questions: the difference of their means, how sure it is, and what could have been seen.

Everything goes by pairs: the same question, answered by both. Several answers to a question are one score of it first
(their mean, or the best, as the exam says), so a question is one observation however often it was asked (Miller 2024,
"Adding Error Bars to Evals", arXiv 2411.00640, sections 2 and 4). The difference is the second minus the first.

    difference   Σ c·d over questions, d the question's difference and c its share of the average: weight/Σ weight,
                 or, where an exam averages over groups first, weight/(groups · Σ weight in its group)
    interval     at each end the further limit of Bonett and Price's adjusted Wald and of Tango's score interval (see
                 pairedinterval.py): theirs for 0/1 scores of questions asked once, else `uncertainty.adjusted_wald`
                 with the residuals within groups and Satterthwaite's degrees of freedom, and Tango's for as many 0/1
                 questions as would leave the same doubt. Scores that leave 0..1 have Student's t on the same residuals
    p            sign flips (see signflip.py): McNemar's exact test where scores are 0/1 and asked once. Where one was
                 asked more often than the other, a difference is not as likely to come out the other way round (one
                 answer is right or wrong, ten are nearly always something between), and sign flips find differences
                 that are not there (in up to 30 % of sets of 59 questions near 0 or 1): then p is the interval's
    power        normal approximation: what is seen in 80 % of such sets at 5 %, two-sided, is (1.960 + 0.842) · error
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
import polars.selectors as cs
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray
from scipy import special

from viva.analysis.breakdown import one_sided
from viva.analysis.pairedinterval import paired_interval, weighted_interval
from viva.analysis.signflip import Floats, Test, sign_flip
from viva.analysis.uncertainty import (
    SMALL_GROUP,
    Group,
    Interval,
    Z,
    adjusted_wald,
    grouped_variance,
    identified_level,
    t_quantile,
    wilson,
)
from viva.errors import DataError
from viva.types import OUTCOMES

POWER = 0.80
SEEN = Z + NormalDist().inv_cdf(POWER)
"""A difference of so many standard errors is significant at 5 % in 80 % of all sets: 2.80."""
SIDES = ("first", "second")
Decision = Literal["better by more", "no worse", "equivalent", "no better", "worse by more", "open"]
"""What an interval says of the second contestant beside a margin."""
UNEQUAL = 0.25
"""By so much more answers of one than of the other their differences are no longer symmetric if the two are alike."""
_SAME = 1e-9
"""Differences below this are rounding."""


class Difference(Struct, frozen=True, kw_only=True):
    """The second contestant's mean minus the first's, over the questions that both have a score for. Shares of 1."""

    n: int
    """Questions with a score on both sides."""
    first: float | None
    second: float | None
    """The means over these questions: not always those of the whole set."""
    difference: float | None
    low: float | None = None
    high: float | None = None
    """The 95 % interval; None for fewer than two questions."""
    error: float | None = None
    """The standard error."""
    p: float | None = None
    test: str = ""
    resolution: float | None = None
    """The smallest p that a random test can give."""
    adjusted: float | None = None
    """p, adjusted for the number of rows of its table."""
    wins: int | None = None
    """Questions on which the second is better; None, as the two after it, where there are no pairs."""
    ties: int | None = None
    losses: int | None = None
    correlation: float | None = None
    """Pearson's, of the two over questions: what pairing gains."""
    only_first: int = 0
    only_second: int = 0
    """Questions that the other was not asked."""
    unscored: int = 0
    """Questions that both were asked and one or both have no score for: left out."""
    floor: float | None = None
    ceiling: float | None = None
    """The difference over all shared questions if everything unscored counted for the first, and for the second; or the
    difference itself where that is further out, since it leaves out what is known of one side alone."""
    first_unscored: int = 0
    second_unscored: int = 0
    """Questions of which some answers of this one have no score or cannot be read: the bounds count both."""
    tipping: float | None = None
    """So right (a share of 1) these answers of the one who is ahead would have to be for a tie, if those of the other
    were as wrong: below 0 the order holds whatever they are, above 1 it changes whatever they are. None where there
    are none, and where nobody is ahead."""
    one_sided: bool = False
    """Whether there is no difference, since what is decided depends on what it is worth (`breakdown.one_sided`): it
    lies from `floor` to `ceiling`, `low` to `high` is the interval of that identified set, and `p` is the largest that
    any of its differences has, where all have one sign."""
    first_range: Interval | None = None
    second_range: Interval | None = None
    """Where the means lie, if one-sided."""

    @property
    def smallest(self) -> float | None:
        """The smallest true difference that a set like this shows with 80 % power, before any adjusting."""
        return None if self.error is None else SEEN * self.error

    def whatever_is_lost(self) -> Interval | None:
        """The 95 % interval, moved outwards as far as what is unscored could move the difference."""
        if self.low is None or self.high is None:
            return None
        if self.one_sided or self.difference is None or self.floor is None or self.ceiling is None:
            return self.low, self.high
        return self.low + min(0.0, self.floor - self.difference), self.high + max(0.0, self.ceiling - self.difference)

    def against(self, margin: float) -> Decision:
        """What can be said of the second beside the first, up to a margin: by where the whole interval lies, whatever
        became of what is unscored. One-sided at 2.5 %, as trials of non-inferiority are judged (CONSORT 2012)."""
        interval = self.whatever_is_lost()
        if interval is None:
            return "open"
        low, high = interval
        if low > margin or high < -margin:
            return "better by more" if low > margin else "worse by more"
        if low > -margin:
            return "equivalent" if high < margin else "no worse"
        return "no better" if high < margin else "open"

    def questions_for(self, difference: float) -> int | None:
        """How many questions like these show a true difference with 80 % power."""
        if self.error is None or not self.n:
            return None
        return questions_for(self.error * math.sqrt(self.n), difference)


class Flip(Struct, frozen=True, kw_only=True):
    """A question on which the two differ."""

    question: str
    first: float
    second: float
    first_outcome: str
    second_outcome: str
    first_read: tuple[str, ...] = ()
    second_read: tuple[str, ...] = ()
    """What was read in their answers, a text a sample (hostile)."""


class Pairs(Struct, frozen=True, kw_only=True):
    """Questions that both were asked, a row each, in the order of the first.

    Columns: question, share (of the average, among those scored), group, cluster, first, second, difference (null
    where a score is missing), first_outcome, second_outcome, the least and the most that the difference can be if
    replies that cannot be read are unscored, and the worst and the best if they are wrong.
    """

    rows: pl.DataFrame
    over: str
    zero_one: bool
    """Whether all scores are 0 or 1, of questions asked once that count alike."""
    one_sided: bool
    """Whether what is decided of one of them says nothing of what waits for a verdict."""
    only_first: int
    only_second: int


def paired(first: pl.DataFrame, second: pl.DataFrame, over: str = "", cluster: str = "") -> Pairs:
    """Put two contestants' questions (`Breakdown.questions`) side by side.

    `over`: the tag whose values are averaged first; `cluster`: the tag whose values belong together (questions about
    one text), else every question stands for itself. Raises DataError where no question is in both, or a tag is
    missing.
    """
    _refuse_unknown(first, over, cluster)
    left = _scores(first, "first").with_columns(
        _codes(f"tag:{over}" if over else "").alias("group"),
        _codes(f"tag:{cluster}" if cluster else "question").alias("cluster"),
    )
    right = _scores(second, "second").drop("weight", cs.starts_with("tag:"))
    both = left.join(right, on="question", how="inner", maintain_order="left")
    if both.height and both["question"].n_unique() < both.height:
        twice = both.filter(pl.col("question").is_duplicated())["question"][0]
        raise DataError(f"question {twice!r} is there with different tags: give each question one row of tags")
    rows = both.with_columns(
        difference=pl.col("second") - pl.col("first"),
        least=pl.col("second_floor") - pl.col("first_ceiling"),
        most=pl.col("second_ceiling") - pl.col("first_floor"),
        worst=pl.col("second_floor") - pl.col("first_most"),
        best=pl.col("second_most") - pl.col("first_floor"),
    )
    scored = rows.filter(pl.col("difference").is_not_null())
    zero_one = (
        scored.height > 0
        and not over
        and not cluster
        and scored["weight"].n_unique() == 1
        and int(scored.select(pl.max_horizontal(pl.col("first_answers", "second_answers").max())).item()) == 1
        and bool(scored.select(pl.all_horizontal(pl.col("first", "second").is_in([0.0, 1.0]).all())).item())
    )
    return Pairs(
        rows=rows,
        over=over,
        zero_one=zero_one,
        one_sided=one_sided(first) or one_sided(second),
        only_first=first.height - both.height,
        only_second=second.height - both.height,
    )


def _refuse_unknown(questions: pl.DataFrame, *tags: str) -> None:
    for tag in filter(None, tags):
        if f"tag:{tag}" not in questions.columns:
            known = ", ".join(name.removeprefix("tag:") for name in questions.columns if name.startswith("tag:"))
            raise DataError(f"the questions have no tag {tag!r}; they have: {known or 'none'}")


def compared(pairs: Pairs, seed: int = 0) -> Difference:
    """The difference over all pairs. With nothing scored on both sides there is none, and the bounds say all."""
    rows = pairs.rows
    found = Difference(
        n=0, first=None, second=None, difference=None, wins=0, ties=0, losses=0,
        only_first=pairs.only_first, only_second=pairs.only_second,
    )  # fmt: skip
    if not rows.height:
        return found
    shares = _shares(rows)
    scored = rows.filter(pl.col("difference").is_not_null())
    found = replace(
        found,
        n=scored.height,
        unscored=rows.height - scored.height,
        floor=float(shares @ rows["least"].to_numpy()),
        ceiling=float(shares @ rows["most"].to_numpy()),
        first_unscored=_open(rows, "first_"),
        second_unscored=_open(rows, "second_"),
    )
    if pairs.one_sided:
        return _of_ranges(found, rows, shares, seed)
    return _over_scored(found, scored, pairs, seed) if scored.height else found


def _of_ranges(found: Difference, rows: pl.DataFrame, shares: Floats, seed: int) -> Difference:
    """Where the difference lies, with the interval of that identified set: each end by its own error."""
    groups, clusters = _numbered(rows["group"]), _numbered(rows["cluster"])
    around = []
    for name in ("worst", "best"):
        values = rows[name].to_numpy()
        mean = float(shares @ values)
        scatter = _error(values, shares, groups, clusters, mean) if clusters.any() else (1.0, 1.0)
        around.append((mean, scatter[0], _worth(values, shares, groups, clusters, scatter[0]), scatter[1]))
    least, most = (mean for mean, *_ in around)
    level = identified_level(most - least, max(adjusted_wald(*end).error for end in around))
    (low, _), (_, high) = (adjusted_wald(*end, level).interval for end in around)
    if max(least, -most) > _SAME and not _unequal(rows.select(pl.col(f"{side}_replies").max() for side in SIDES)):
        # Of a sum above 0 the p of sign flips only falls where a difference rises, so the worst case has the largest.
        nearest = rows["worst" if least > 0 else "best"].to_numpy()
        test = sign_flip(np.bincount(clusters, weights=shares * nearest).astype(np.float64), seed)
        found = replace(found, p=test.p, test=test.name, resolution=test.resolution)
    ends = {side: [float(shares @ rows[f"{side}_{end}"].to_numpy()) for end in ("floor", "most")] for side in SIDES}
    return replace(
        found,
        one_sided=True,
        floor=least,
        ceiling=most,
        low=low,
        high=high,
        first_range=(ends["first"][0], ends["first"][1]),
        second_range=(ends["second"][0], ends["second"][1]),
        wins=None,
        ties=None,
        losses=None,
    )


def compared_apart(first: pl.DataFrame, second: pl.DataFrame, over: str = "") -> Difference:
    """The difference of two means over different questions: Welch's t (1947, Biometrika 34:28-35), no pairs.

    `n` is the smaller number of scored questions, and the bounds are over all questions of each. Raises DataError where
    a side does not have the tag `over`.
    """
    for questions in (first, second):
        _refuse_unknown(questions, over)
    sides = [_mean(questions, over) for questions in (first, second)]
    (mean, error, degrees), (other, second_error, second_degrees) = (side[:3] for side in sides)
    counts, bounds = [side[3] for side in sides], [side[4] for side in sides]
    found = Difference(
        n=min(counts), first=mean, second=other, difference=None, unscored=first.height + second.height - sum(counts),
        floor=bounds[1][0] - bounds[0][1], ceiling=bounds[1][1] - bounds[0][0],
        first_unscored=_open(first), second_unscored=_open(second),
    )  # fmt: skip
    if mean is None or other is None:
        return found
    if one_sided(first) or one_sided(second):
        return replace(found, first=None, second=None, one_sided=True)
    found = replace(found, difference=other - mean, tipping=_tipping(other - mean, found.floor, found.ceiling))
    whole = math.hypot(error, second_error)
    if whole < 1e-12 or not min(degrees, second_degrees):
        return found
    freedom = whole**4 / (error**4 / degrees + second_error**4 / second_degrees)
    half = float(special.stdtrit(freedom, 0.975)) * whole
    return replace(
        found,
        low=max(-1.0, other - mean - half),
        high=min(1.0, other - mean + half),
        error=whole,
        p=float(2 * special.stdtr(freedom, -abs(other - mean) / whole)),
        test="Welch's t",
    )


def _mean(questions: pl.DataFrame, over: str) -> tuple[float | None, float, float, int, Interval]:
    """One contestant's mean, its standard error and degrees of freedom, how many questions, and the mean's bounds."""
    rows = _scores(questions, "own").with_columns(
        _codes(f"tag:{over}" if over else "").alias("group"), _codes("question").alias("cluster")
    )
    if not rows.height:
        return None, 0.0, 0, 0, (0.0, 0.0)
    whole = _shares(rows)
    bounds = float(whole @ rows["own_floor"].to_numpy()), float(whole @ rows["own_ceiling"].to_numpy())
    scored = rows.filter(pl.col("own").is_not_null())
    if scored.height < 2:
        return (scored["own"][0] if scored.height else None), 0.0, 0, scored.height, bounds
    values, shares = scored["own"].to_numpy(), _shares(scored)
    mean = float(shares @ values)
    error, degrees = _error(values, shares, _numbered(scored["group"]), _numbered(scored["cluster"]), mean)
    if abs(mean - round(mean)) < _SAME:  # shares add up to 1.0000000000000002, and that is no score
        mean = float(round(mean))
    if error < 1e-12 and 0 <= mean <= 1:  # all alike, which says little where they are few: as Wilson's interval has it
        low, high = wilson(mean * scored.height, scored.height) or (mean, mean)
        error = max(mean - low, high - mean) / Z
    return mean, error, degrees, scored.height, bounds


def _over_scored(found: Difference, scored: pl.DataFrame, pairs: Pairs, seed: int) -> Difference:
    shares = _shares(scored)
    first, second, differences = (scored[name].to_numpy() for name in ("first", "second", "difference"))
    difference = float(shares @ differences)
    clusters = _numbered(scored["cluster"])
    wins, losses = int((differences > _SAME).sum()), int((differences < -_SAME).sum())
    low, high, error, p = _interval(scored, shares, clusters, pairs.zero_one)
    if p is not None:
        test = Test(p=p, name="adjusted Wald")
    else:
        contributions: Floats = np.bincount(clusters, weights=shares * differences).astype(np.float64)
        test = sign_flip(contributions, seed)
        if pairs.zero_one and test.name.startswith("sign"):
            test = Test(p=test.p, name="McNemar, exact")
        elif (scored["first_replies"] != scored["second_replies"]).any():
            test = replace(test, name=test.name.replace("exact", "nearly exact"))
    return replace(
        found,
        first=float(shares @ first),
        second=float(shares @ second),
        difference=difference,
        tipping=_tipping(difference, found.floor, found.ceiling),
        floor=None if found.floor is None else min(found.floor, difference),
        ceiling=None if found.ceiling is None else max(found.ceiling, difference),
        low=low,
        high=high,
        error=error,
        p=test.p,
        test=test.name,
        resolution=test.resolution,
        wins=wins,
        losses=losses,
        ties=scored.height - wins - losses,
        correlation=_correlation(first, second),
    )


class Weighed(NamedTuple):
    """The scored questions of a comparison, one each."""

    differences: Floats
    shares: Floats
    """Of the average; they add up to 1."""
    clusters: NDArray[np.int64]
    worth: float
    """How many questions of equal shares, each a cluster, would tell as much."""


def weighed(pairs: Pairs) -> Weighed | None:
    """What a comparison's difference is made of; None where nothing has a score on both sides."""
    scored = pairs.rows.filter(pl.col("difference").is_not_null())
    if not scored.height:
        return None
    shares, clusters, groups = _shares(scored), _numbered(scored["cluster"]), _numbered(scored["group"])
    differences = scored["difference"].to_numpy()
    error = _error(differences, shares, groups, clusters, float(shares @ differences))[0] if clusters.any() else 0.0
    return Weighed(differences, shares, clusters, _worth(differences, shares, groups, clusters, error))


def counting_alike(pairs: Pairs) -> Floats | None:
    """The differences of the scored questions, where each counts as much as any other and stands for itself; else None,
    and where what is decided says nothing of what is not."""
    found = None if pairs.one_sided else weighed(pairs)
    if found is None or len(np.unique(found.clusters)) < len(found.shares) or float(np.ptp(found.shares)) > _SAME:
        return None
    return found.differences


def _open(questions: pl.DataFrame, side: str = "") -> int:
    """How many questions have answers without a score."""
    return questions.filter(pl.col(f"{side}ceiling") > pl.col(f"{side}floor") + _SAME).height


def _tipping(difference: float, floor: float | None, ceiling: float | None) -> float | None:
    """`Difference.tipping`, from the bounds over all shared questions."""
    if floor is None or ceiling is None or ceiling - floor < _SAME or abs(difference) < _SAME:
        return None
    return (-floor if difference > 0 else ceiling) / (ceiling - floor)


def _shares(rows: pl.DataFrame) -> Floats:
    """What each question's score counts for in the average; they add up to 1."""
    weights = rows["weight"].cast(pl.Float64).to_numpy()
    groups = _numbered(rows["group"])
    sums = np.bincount(groups, weights=weights)
    found: Floats = weights / sums[groups] / len(sums)
    return found


def _interval(
    scored: pl.DataFrame, shares: Floats, clusters: NDArray[np.int64], zero_one: bool
) -> tuple[float | None, float | None, float | None, float | None]:
    """The 95 % interval and the standard error; nothing for fewer than two clusters. p where the interval gives it."""
    differences = scored["difference"].to_numpy()
    count = int(clusters.max()) + 1
    if count < 2:
        return None, None, None, None
    difference = float(shares @ differences)
    if zero_one:
        gained, lost = int((differences > 0).sum()), int((differences < 0).sum())
        (low, high), error = paired_interval(gained, lost, count)
        return low, high, error, None
    groups = _numbered(scored["group"])
    error, degrees = _error(differences, shares, groups, clusters, difference)
    if bool((np.abs(differences) <= 1 + _SAME).all()):  # scores that lie in 0..1
        worth = _worth(differences, shares, groups, clusters, error)
        found = adjusted_wald(difference, error, worth, degrees)
        p = 2 * float(special.stdtr(degrees, -abs(found.centre) / found.error)) if _unequal(scored) else None
        up, down = (float(shares @ np.maximum(sign * differences, 0)) for sign in (1, -1))
        return *weighted_interval(found, up, down, worth, error, degrees), found.error, p
    if error < 1e-12:
        return None, None, None, None
    half = t_quantile(degrees) * error
    return difference - half, difference + half, error, None


def _worth(
    values: Floats, shares: Floats, groups: NDArray[np.int64], clusters: NDArray[np.int64], error: float
) -> float:
    """How many questions of equal shares, each a cluster, would tell as much.

    Where questions belong together, so many as their number over the design effect (Kish 1965, Survey Sampling, section
    8.2), the variance with clusters over that without; at least as many as there are clusters.
    """
    questions = 1 / float((shares**2).sum())
    if int(clusters.max()) + 1 == len(values):
        return questions
    alone, _ = _error(values, shares, groups, np.arange(len(values)), float(shares @ values))
    least = 1 / float((np.bincount(clusters, weights=shares) ** 2).sum())
    return max(least, questions * min(1.0, (alone / error) ** 2)) if error > 0 else least


def _unequal(scored: pl.DataFrame) -> bool:
    """Whether one has noticeably more answers than the other: by more than `UNEQUAL`, an answer lost here and there
    aside."""
    counts = [int(scored[f"{side}_replies"].sum()) for side in SIDES]
    return max(counts) > (1 + UNEQUAL) * min(counts)


def _error(
    differences: Floats, shares: Floats, groups: NDArray[np.int64], clusters: NDArray[np.int64], difference: float
) -> tuple[float, float]:
    """The standard error of Σ share · difference, and its degrees of freedom.

    Residuals are from the group's own mean, and their squares over 1 − the leverage, a question's share of its group;
    what groups add to the variance is added up by `grouped_variance`.
    """
    if int(clusters.max()) + 1 < len(differences):
        return _error_of_clusters(differences, shares, groups, clusters, difference)
    if int(groups.max()) + 1 == len(differences):  # no group has a spread: then they are what is drawn
        groups = np.zeros_like(groups)
        shares = np.full_like(shares, 1 / len(shares))
    spare, whole = np.bincount(groups) - 1.0, np.bincount(groups, weights=shares)
    residuals = differences - (np.bincount(groups, weights=shares * differences) / whole)[groups]
    own = shares / whole[groups]
    worth = 1 / np.bincount(groups, weights=own**2)  # so many questions of equal weight
    leverage = np.where(worth[groups] < SMALL_GROUP - _SAME, 0.0, own)
    columns = {
        "worth": worth,
        "spare": spare,
        "squares": np.bincount(groups, weights=residuals**2),
        "shares": np.bincount(groups, weights=shares**2),
        "variance": np.bincount(groups, weights=(shares * residuals) ** 2 / (1 - leverage)),
        "degrees": 1 / (worth**2 * np.bincount(groups, weights=own**4)) - 1,
    }
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    variance, degrees = grouped_variance([Group(**dict(zip(columns, row, strict=True))) for row in rows])
    return math.sqrt(variance), degrees


def _error_of_clusters(
    differences: Floats, shares: Floats, groups: NDArray[np.int64], clusters: NDArray[np.int64], difference: float
) -> tuple[float, float]:
    """The same where questions belong together: from the clusters' sums of residuals, which may reach over groups.

    A group of a single cluster has no residuals of its own: its are from the overall mean. Degrees of freedom are one
    less than the clusters are worth, (Σ w²)² / Σ w⁴ by their shares w: one text of a hundred questions beside ten of
    five is hardly more than one observation.
    """
    both, pairs = np.unique(np.stack([groups, clusters]), axis=1, return_inverse=True)
    alone = (np.bincount(both[0]) == 1)[groups]
    whole, weights = np.bincount(groups, weights=shares), np.bincount(clusters, weights=shares)
    inside = (np.bincount(groups, weights=shares * differences) / whole)[groups]
    own = np.where(alone, weights[clusters], np.bincount(pairs.ravel(), weights=shares)[pairs.ravel()] / whole[groups])
    leverage = np.bincount(clusters, weights=shares * own) / weights
    sums = np.bincount(clusters, weights=shares * (differences - np.where(alone, difference, inside)))
    degrees = float((weights**2).sum() ** 2 / (weights**4).sum()) - 1
    return math.sqrt(float((sums**2 / (1 - leverage)).sum())), max(1.0, degrees)


def questions_for(sd: float, difference: float) -> int | None:
    """How many questions show a true difference with 80 % power at 5 %, two-sided; None for no difference.

    n = ((z(0.975) + z(0.80)) · sd / difference)², `sd` that of the questions' differences (Miller 2024, section 5).
    """
    if difference == 0:
        return None
    return max(2, math.ceil((SEEN * sd / difference) ** 2 - 1e-9))


def flips(pairs: Pairs, limit: int, direction: Literal["gained", "lost"]) -> list[Flip]:
    """The questions on which the second is better ("gained") or worse ("lost"), the largest differences first."""
    up = direction == "gained"
    moved = pl.col("difference") > _SAME if up else pl.col("difference") < -_SAME
    rows = pairs.rows.filter(moved).sort("difference", descending=up, maintain_order=True).head(limit)
    return [
        Flip(
            question=row["question"],
            first=row["first"],
            second=row["second"],
            first_outcome=row["first_outcome"],
            second_outcome=row["second_outcome"],
        )
        for row in rows.iter_rows(named=True)
    ]


def _scores(questions: pl.DataFrame, side: str) -> pl.DataFrame:
    """A score a question: the mean of what was answered (null where nothing was), its bounds, and the outcome.

    The outcome of several answers is the first that is there, in the order of OUTCOMES.
    """
    n, answered = pl.col("n"), pl.col("answered")
    there = [pl.when(pl.col(f"outcome:{name}") > 0).then(pl.lit(name)) for name in OUTCOMES]
    return questions.select(
        "question",
        "weight",
        cs.starts_with("tag:"),
        pl.when(answered > 0).then(pl.col("points") / answered).alias(side),
        (pl.col("floor") / n).alias(f"{side}_floor"),
        (pl.col("ceiling") / n).alias(f"{side}_ceiling"),
        (pl.col("most") / n).alias(f"{side}_most"),
        (n // pl.col("weight")).alias(f"{side}_answers"),
        pl.col("replies").alias(f"{side}_replies"),
        pl.coalesce(there).alias(f"{side}_outcome"),
    )


def _codes(column: str) -> pl.Expr:
    """Values as numbers; questions without the tag are a group of their own."""
    if not column:
        return pl.lit(0, dtype=pl.Int64)
    return pl.col(column).cast(pl.String).fill_null("").rank("dense").cast(pl.Int64) - 1


def _numbered(codes: pl.Series) -> NDArray[np.int64]:
    """Codes as 0..k−1 with none left out."""
    found: NDArray[np.int64] = np.unique(codes.to_numpy(), return_inverse=True)[1].astype(np.int64)
    return found


def _correlation(first: Floats, second: Floats) -> float | None:
    if len(first) < 3 or float(np.ptp(first)) < _SAME or float(np.ptp(second)) < _SAME:
        return None
    return float(np.corrcoef(first, second)[0, 1])
