"""Two contestants on the same questions: the difference of their means, its uncertainty, and the test's power.

All comparisons are paired: the same question, answered by both. Several answers to a question are one score of it first
(their mean, or the best, as the exam says), so a question is one observation however often it was asked (Miller 2024,
"Adding Error Bars to Evals", arXiv 2411.00640, sections 2 and 4). The difference is the second minus the first.

    difference   the mean of the questions' differences, averaged as the exam's score is (`estimate`)
    interval     at each end the further limit of the adjusted Wald and of Tango's score interval; where answers are
                 missing, of a difference that lies between its bounds
    p            McNemar's exact test (1947, Psychometrika 12:153-157) where all scores are 0/1; else by inverting the
                 interval. A permutation of signs tests symmetry and not the mean: of 20 skewed differences of mean 0 it
                 rejects in up to 37 % of sets
    power        normal approximation: the difference seen in 80 % of such sets at 5 %, two-sided, is
                 (1.960 + 0.842) · error

A paired test that may be looked at after every question: an e-value, and an interval that holds at all times.

A gambler with a capital of 1 bets on the differences d (second contestant minus first), question by question. Bets of λ
against a mean of 0, for any λ from -1 to 1, turn it into Π (1 + λ·d); if the mean is 0 it does not grow on average, and
by Ville's inequality it ever reaches 20 with a probability of at most 1 in 20, however often one looks and whenever one
stops (Waudby-Smith and Ramdas 2024, JRSS B 86:1-27; Ramdas et al. 2023, Statistical Science 38:576-601). The capital
here is an average over many λ, fixed beforehand, with the density of 2θ - 1, θ of Beta(a, a):

    for 0/1 scores, g gained and l lost questions:    e = 2^(g+l)·B(g + a, l + a) / B(a, a)

which ties do not change; for fractions the average is over `NODES` values of λ, an equally valid bet. It does not
depend on the order of the questions answered so far. p = min(1, 1/e) holds at all times.

*Interval*: all means m against which the capital has not reached 20. With x = (1 + d)/2 in 0..1 and μ = (1 + m)/2 the
bets are 1 - s + s·x/μ (the mean is higher) and 1 - s + s·(1 - x)/(1 - μ), s = |λ|. Each is log-convex in μ, so the
average is convex, and what is below 20 is one interval.

Assumptions: the questions answered so far are a random draw from all that could be asked (asked in a random order),
each counts alike, and scores lie in 0..1.
"""

from __future__ import annotations

import functools
import math
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from viva.analysis.columns import Columns, Numbers, Text
from viva.analysis.estimate import Spread, Spreads, clustered, clusters_of, silent, spreads, sums
from viva.analysis.uncertainty import LEVEL, Interval, Z, halved
from viva.errors import DataError
from viva.types import OUTCOMES

Floats = NDArray[np.float64]
POWER = 0.80
SEEN = Z + NormalDist().inv_cdf(POWER)
"""A difference of so many standard errors is significant at 5 % in 80 % of all sets: 2.80."""
Decision = Literal["better by more", "no worse", "equivalent", "no better", "worse by more", "open"]
"""What an interval decides about the second contestant, given a margin."""
_SAME = 1e-9
"""Differences below this are rounding."""


class Difference(Struct, frozen=True, kw_only=True):
    """The second contestant's mean minus the first's, over the questions that both have a score for. Shares of 1."""

    n: int = 0
    """Questions with a score on both sides."""
    first: float | None = None
    second: float | None = None
    """The means over these questions: not always those of the whole set."""
    difference: float | None = None
    """None where nothing is scored on both sides, and where scored answers say nothing of the others (`ranged`)."""
    low: float | None = None
    high: float | None = None
    """The 95 % interval, valid whatever the missing answers are worth; None for fewer than two questions."""
    error: float | None = None
    """The standard error."""
    p: float | None = None
    """None, too, where missing answers can make either the better one."""
    test: str = ""
    adjusted: float | None = None
    """p, adjusted for the number of rows of its table."""
    wins: int | None = None
    """Questions on which the second is better; None, as the two after it, where there are no pairs."""
    ties: int | None = None
    losses: int | None = None
    correlation: float | None = None
    """Pearson's correlation of the two over questions: the higher, the more pairing gains."""
    only_first: int = 0
    only_second: int = 0
    """Questions that the other was not asked."""
    unscored: int = 0
    """Questions that both were asked but that lack a score on one side or both: left out."""
    floor: float | None = None
    ceiling: float | None = None
    """The least and the most that the difference over all shared questions can be when missing answers are decided."""
    first_unscored: int = 0
    second_unscored: int = 0
    """Questions to which this contestant's answers are missing in part or all."""
    tipping: float | None = None
    """The score x (a share of 1) of the leader's missing answers at which, with 1 - x for the other's, there is a tie:
    below 0 the order holds whatever they are worth, above 1 it always changes. None where no answers are missing, and
    for a tie."""
    first_range: Interval | None = None
    second_range: Interval | None = None
    """The ranges of the two means, if the difference is a range."""

    @property
    def ranged(self) -> bool:
        """Whether there is a range in place of a difference."""
        return self.difference is None and self.low is not None

    @property
    def complete(self) -> bool:
        """Whether nothing is missing on the shared questions."""
        return not self.unscored and (self.floor is None or (self.ceiling or 0.0) - self.floor < _SAME)

    @property
    def smallest(self) -> float | None:
        """The smallest true difference that a set like this shows with 80 % power, before any adjusting."""
        return None if self.error is None else SEEN * self.error

    def questions_for(self, difference: float) -> int | None:
        """Return how many questions like these show a true difference with 80 % power."""
        if self.error is None or not self.n:
            return None
        return questions_for(self.error * math.sqrt(self.n), difference)


def decided(interval: Interval | None, margin: float) -> Decision:
    """Return the decision about the second contestant, up to a margin: by where the whole interval lies.

    One-sided, at half of the interval's error (2.5 % of a 95 % one), as for trials of non-inferiority (CONSORT 2012).
    """
    if interval is None:
        return "open"
    low, high = interval
    if low > margin or high < -margin:
        return "better by more" if low > margin else "worse by more"
    if low > -margin:
        return "equivalent" if high < margin else "no worse"
    return "no better" if high < margin else "open"


class Flip(Struct, frozen=True, kw_only=True):
    """A question on which the two differ."""

    question: str
    first: float
    second: float
    first_outcome: str
    second_outcome: str
    first_read: list[str] = []
    second_read: list[str] = []
    """The readings of their answers, a text a sample (untrusted)."""


class Pairs(Struct, frozen=True, kw_only=True, eq=False):
    """Questions that both were asked, in the order of the first."""

    differences: Columns
    """The differences of the questions with a score on both sides, and their bounds, in the columns that `sums`
    reads.
    """
    first: Columns
    second: Columns
    """The same questions of each: `score` (nan for none), `floor`, `ceiling`, `n`, `replies`, and their outcomes."""
    over: str
    only_first: int
    only_second: int

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Mask of the questions with a score on both sides."""
        return np.asarray(self.differences.numbers["answered"] > 0)

    def spreads(self) -> Spreads:
        """Return the mean difference with its bounds."""
        groups = list(sums(self.differences, self.over).values())
        return spreads(groups, signed=True, clustered=clustered(self.differences, self.over))


def paired(first: Columns, second: Columns, over: str = "") -> Pairs:
    """Put two contestants' questions (`Breakdown.questions`) side by side.

    `over`: the tag whose values are averaged first. Raises DataError for a duplicate question or a missing tag.
    """
    _refuse_unknown(first, over)
    places = {name: place for place, name in enumerate(names_of(second))}
    shared = [(index, name) for index, name in enumerate(names_of(first)) if name in places]
    seen: set[str] = set()
    for _, name in shared:
        if name in seen:
            raise DataError(f"question {name!r} is there with different tags: give each question one row of tags")
        seen.add(name)
    left = first.take(np.array([index for index, _ in shared], dtype=np.int64))
    right = second.take(np.array([places[name] for _, name in shared], dtype=np.int64))
    first_side, other = (_per_answer(side) for side in (left, right))
    weight = left.numbers["weight"].astype(np.float64)
    difference = other.numbers["score"] - first_side.numbers["score"]
    scored = np.isfinite(difference)
    quiet = np.full(len(shared), float(silent(first) or silent(second)))
    nothing = np.zeros(len(shared))
    numbers = {
        "n": weight,
        "answered": np.where(scored, weight, 0.0),
        "points": np.where(scored, difference, 0.0) * weight,
        "floor": (other.numbers["floor"] - first_side.numbers["ceiling"]) * weight,
        "ceiling": (other.numbers["ceiling"] - first_side.numbers["floor"]) * weight,
        "fraction": np.any(
            [(side > 0) & (side < 1) for side in (first_side.numbers["score"], other.numbers["score"])], axis=0
        ),
        "replies": weight,
        "gated": quiet,
        "waiting": quiet,
        "settled": nothing,
        **{f"outcome:{name}": nothing for name in OUTCOMES},
    }
    return Pairs(
        differences=Columns(numbers, left.texts),
        first=first_side,
        second=other,
        over=over,
        only_first=first.height - len(shared),
        only_second=second.height - len(shared),
    )


def names_of(questions: Columns) -> list[str]:
    """Return the questions' names, row by row."""
    return questions.texts["question"].rows()


def _refuse_unknown(questions: Columns, tag: str) -> None:
    if tag and tag not in questions.tags:
        raise DataError(f"the questions have no tag {tag!r}; they have: {', '.join(questions.tags) or 'none'}")


def _per_answer(questions: Columns) -> Columns:
    """Return a score a question: the mean of what was answered (nan where nothing was), its bounds, and the outcome.

    The outcome of several answers is the first of OUTCOMES that occurs among them.
    """
    known = questions.numbers
    with np.errstate(invalid="ignore"):
        score = known["points"] / np.where(known["answered"] > 0, known["answered"], np.nan)
    there = np.stack([known[f"outcome:{name}"] > 0 for name in OUTCOMES])
    numbers = {"score": score, "n": known["n"] / known["weight"], "replies": known["replies"]}
    numbers |= {end: known[end] / known["n"] for end in ("floor", "ceiling")}
    return Columns(numbers, {**questions.texts, "outcome": Text(OUTCOMES, np.argmax(there, axis=0).astype(np.int32))})


def compared(pairs: Pairs) -> Difference:
    """Return the difference over all pairs; only its bounds where nothing is scored on both sides."""
    result = Difference(only_first=pairs.only_first, only_second=pairs.only_second)
    scored = pairs.scored
    if not len(scored):
        return result
    spread = pairs.spreads()
    floor, ceiling = spread.floor.mean, spread.ceiling.mean
    low, high = spread.interval() or (None, None)
    result = replace(
        result,
        n=int(scored.sum()),
        unscored=int((~scored).sum()),
        floor=floor,
        ceiling=ceiling,
        first_unscored=_open(pairs.first),
        second_unscored=_open(pairs.second),
    )
    if not all(side.numbers["replies"].any() for side in (pairs.first, pairs.second)):
        return result
    result = replace(result, low=low, high=high, p=spread.p(), test="interval")
    if spread.mean is None:
        return result
    result = replace(result, error=spread.mean.error)
    difference = min(max(spread.mean.mean, floor), ceiling)
    shares = _shares(pairs, np.ones(len(scored), dtype=bool))
    if pairs.differences.numbers["waiting"].any():
        ranges = [
            (float(shares @ side.numbers["floor"]), float(shares @ side.numbers["ceiling"]))
            for side in (pairs.first, pairs.second)
        ]
        return replace(result, error=None, first_range=ranges[0], second_range=ranges[1])
    first, second = (side.numbers["score"][scored] for side in (pairs.first, pairs.second))
    wins, losses = int((second - first > _SAME).sum()), int((second - first < -_SAME).sum())
    if spread.mean.zero_one and not spread.missing:
        result = replace(result, p=sign_test(wins, losses), test="McNemar, exact")
    shares = _shares(pairs, scored)
    return replace(
        result,
        first=float(shares @ first),
        second=float(shares @ second),
        difference=difference,
        tipping=_tipping(difference, floor, ceiling),
        wins=wins,
        losses=losses,
        ties=len(first) - wins - losses,
        correlation=_correlation(first, second),
    )


def sign_test(above: int, below: int) -> float:
    """Return the exact two-sided p of these counts of signs, if both are equally likely; McNemar's for discordant
    pairs.
    """
    from scipy.special import bdtr

    n = above + below
    return min(1.0, 2 * float(bdtr(min(above, below), n, 0.5))) if n else 1.0


def compared_apart(first: Columns, second: Columns, over: str = "") -> Difference:
    """Return the difference of two means over different questions: Welch's t (1947, Biometrika 34:28-35), no pairs.

    `n` is the smaller number of scored questions, and the bounds are over all questions of each. Raises DataError where
    a side does not have the tag `over`.
    """
    spread, sides = apart(first, second, over), [_alone(side, over).mean for side in (first, second)]
    counts = [int((side.numbers["answered"] > 0).sum()) for side in (first, second)]
    result = Difference(
        n=min(counts), unscored=first.height + second.height - sum(counts), floor=spread.floor.mean,
        ceiling=spread.ceiling.mean, first_unscored=_open(first), second_unscored=_open(second),
    )  # fmt: skip
    first_estimate, other = sides
    if first_estimate is None or other is None:
        return result
    low, high = spread.interval() or (None, None)
    if low is not None and high is not None:
        result = replace(result, low=max(-1.0, low), high=min(1.0, high), p=spread.p(), test="Welch's t")
    if silent(first) or silent(second):
        return result
    difference = min(max(other.mean - first_estimate.mean, spread.floor.mean), spread.ceiling.mean)
    return replace(
        result,
        first=first_estimate.mean,
        second=other.mean,
        difference=difference,
        error=spread.mean.error if spread.mean else None,
        tipping=_tipping(difference, spread.floor.mean, spread.ceiling.mean),
    )


def apart(first: Columns, second: Columns, over: str = "") -> Spreads:
    """Return the difference of two means over different questions. Raises DataError where a side lacks the tag
    `over`.
    """
    for questions in (first, second):
        _refuse_unknown(questions, over)
    first_side, other = _alone(first, over), _alone(second, over)
    return Spreads(
        mean=_welch(first_side.mean, other.mean) if first_side.mean and other.mean else None,
        floor=_welch(first_side.ceiling, other.floor),
        ceiling=_welch(first_side.floor, other.ceiling),
    )


def _alone(questions: Columns, over: str) -> Spreads:
    return spreads(list(sums(questions, over).values()), clustered=clustered(questions, over))


def _welch(first: Spread, second: Spread) -> Spread:
    """Return the difference of two independent means, with Satterthwaite's degrees of freedom."""
    parts = [(side.variance or 0.0, side.degrees) for side in (first, second)]
    for index, side in enumerate((first, second)):
        interval = side.interval()
        if parts[index][0] < 1e-12 and interval is not None:  # equal scores, little evidence if few
            parts[index] = (max(side.mean - interval[0], interval[1] - side.mean) / Z) ** 2, side.degrees
    variance = sum(each for each, _ in parts)
    known = variance > 0 and all(degrees > 0 for _, degrees in parts)
    degrees = variance**2 / sum(each**2 / degrees for each, degrees in parts) if known else 0.0
    return Spread(
        mean=second.mean - first.mean,
        variance=variance if known else None,
        worth=first.worth + second.worth,
        degrees=degrees,
        scale="any",
    )


class Weighed(NamedTuple):
    """The scored questions of a comparison, one each."""

    differences: Floats
    shares: Floats
    """Shares of the average; they add up to 1."""
    clusters: NDArray[np.int64]
    worth: float
    """Effective number of questions: of equal shares, each a cluster."""


def weighed(pairs: Pairs) -> Weighed | None:
    """Return the scored questions with their shares; None where nothing has a score on both sides, and for a range."""
    scored = pairs.scored
    spread = pairs.spreads().mean if scored.any() else None
    if spread is None or pairs.differences.numbers["waiting"].any():
        return None
    data = pairs.differences.take(scored)
    clusters = clusters_of(data)
    clusters = np.arange(data.height) if clusters is None else np.unique(clusters, return_inverse=True)[1].ravel()
    return Weighed(data.numbers["points"] / data.numbers["n"], _shares(pairs, scored), clusters, spread.worth)


def counting_alike(pairs: Pairs) -> Floats | None:
    """Return the differences of the scored questions if all have equal weight and each is its own cluster; else None,
    also where scored answers say nothing of the others.
    """
    weights = weighed(pairs)
    if (
        weights is None
        or len(np.unique(weights.clusters)) < len(weights.shares)
        or float(np.ptp(weights.shares)) > _SAME
    ):
        return None
    return weights.differences


def _open(questions: Columns) -> int:
    """Return how many questions have missing answers."""
    return int((questions.numbers["ceiling"] > questions.numbers["floor"] + _SAME).sum())


def _tipping(difference: float, floor: float, ceiling: float) -> float | None:
    """Return `Difference.tipping`, from the bounds over all shared questions."""
    if ceiling - floor < _SAME or abs(difference) < _SAME:
        return None
    return (-floor if difference > 0 else ceiling) / (ceiling - floor)


def _shares(pairs: Pairs, kept: NDArray[np.bool_]) -> Floats:
    """Return the shares in the average of the kept questions; they add up to 1."""
    data = pairs.differences.take(kept)
    weights, name = data.numbers["n"], f"tag:{pairs.over}"
    codes = data.texts[name].codes if name in data.texts else np.zeros(len(weights), dtype=np.int32)
    groups = np.unique(codes, return_inverse=True)[1].ravel()
    totals = np.bincount(groups, weights=weights)
    return np.asarray(weights / totals[groups] / len(totals))


def questions_for(sd: float, difference: float) -> int | None:
    """Return how many questions show a true difference with 80 % power at 5 %, two-sided; None for no difference.

    n = ((z(0.975) + z(0.80)) · sd / difference)², `sd` that of the questions' differences (Miller 2024, section 5).
    """
    if difference == 0:
        return None
    return max(2, math.ceil((SEEN * sd / difference) ** 2 - 1e-9))


def flips(pairs: Pairs, limit: int, direction: Literal["gained", "lost"]) -> list[Flip]:
    """Return the questions on which the second is better ("gained") or worse ("lost"), the largest differences
    first.
    """
    first, second = (side.numbers["score"] for side in (pairs.first, pairs.second))
    gains = (second - first) * (1 if direction == "gained" else -1)
    order = [int(place) for place in np.argsort(-gains, kind="stable") if gains[place] > _SAME][:limit]
    names = names_of(pairs.differences)
    return [
        Flip(
            question=names[place],
            first=float(first[place]),
            second=float(second[place]),
            first_outcome=OUTCOMES[pairs.first.texts["outcome"].codes[place]],
            second_outcome=OUTCOMES[pairs.second.texts["outcome"].codes[place]],
        )
        for place in order
    ]


def _correlation(first: Numbers, second: Numbers) -> float | None:
    if len(first) < 3 or float(np.ptp(first)) < _SAME or float(np.ptp(second)) < _SAME:
        return None
    return float(np.corrcoef(first, second)[0, 1])


PRIOR = 5.0
"""a: bets of about ±0.3, right for 65 of 100 differing questions. With it 80 % power takes about 1.65 times the
questions of a test with a fixed number, and half of the tests end at about that number (`performance/nulltests.py`)."""
NODES = 128
LIMIT = 1 / (1 - LEVEL)
"""The capital that rejects in one test; multiplied by the number of tests that are to hold at once."""


class Anytime(Struct, frozen=True, kw_only=True):
    """Result of a test that may be repeated after every question. Shares of 1."""

    n: int
    e: float
    """The capital: evidence against no difference. From 20 on significant at 5 %; it may be infinite."""
    p: float
    low: float
    high: float
    """The 95 % interval of the difference that holds at all times at once."""


def anytime(differences: Floats, tests: int = 1) -> Anytime | None:
    """Return the e-value and interval of paired differences; None for no differences, and for any outside -1..1.

    `tests`: how many intervals and p are to hold at once (Bonferroni's).
    """
    if not len(differences) or float(np.abs(differences).max()) > 1 + 1e-9:
        return None
    values, counts = np.unique(np.round((1 + np.clip(differences, -1, 1)) / 2, 12), return_counts=True)
    middle = float(np.average(values, weights=counts))
    capital = _log_capital(values, counts, 0.5)
    ends = [_end(values, counts, middle, limit, math.log(LIMIT * tests)) for limit in (0.0, 1.0)]
    return Anytime(
        n=len(differences),
        e=math.exp(capital) if capital < 700 else math.inf,
        p=min(1.0, tests * math.exp(-capital)),
        low=2 * ends[0] - 1,
        high=2 * ends[1] - 1,
    )


def _end(values: Floats, counts: NDArray[np.int64], middle: float, limit: float, enough: float) -> float:
    """Return the point from the mean to `limit` at which the log capital reaches `enough`; `limit` if it never does."""
    if _log_capital(values, counts, limit) < enough:
        return limit
    return halved(lambda mean: _log_capital(values, counts, mean) < enough, middle, limit)[1]


def _log_capital(values: Floats, counts: NDArray[np.int64], mean: float) -> float:
    """Return the logarithm of the average capital of bets against a mean; `values` and `mean` in 0..1."""
    sizes, weights = _bets()
    with np.errstate(divide="ignore", invalid="ignore"):
        more = np.log1p(sizes[:, None] * (np.where(values > 0, values / mean if mean > 0 else np.inf, 0.0) - 1))
        less = np.log1p(
            sizes[:, None] * (np.where(values < 1, (1 - values) / (1 - mean) if mean < 1 else np.inf, 0.0) - 1)
        )
    both = np.concatenate([more @ counts, less @ counts]) + np.tile(np.log(weights), 2)
    largest = float(both.max())
    return largest if math.isinf(largest) else largest + math.log(float(np.exp(both - largest).sum()))


@functools.cache
def _bets() -> tuple[Floats, Floats]:
    """Return sizes of the bets, from 0 to 1, and the weight of each, on either side: Gauss and Jacobi's rule of Beta(a,
    a).
    """
    from scipy.special import roots_jacobi

    nodes, weights = roots_jacobi(NODES, PRIOR - 1, PRIOR - 1)
    kept = nodes > 0
    return nodes[kept], weights[kept] / weights.sum()
