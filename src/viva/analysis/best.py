"""Several answers to one question, as one number: best@k, pass@k, the mean, and how far each can be trusted.

Two ways to best@k. *Grouped*, as the InfiBench paper (NeurIPS 2024) reports it: the answers in their order are cut into
groups of k (the last may be short), and the maxima of the groups are averaged; ± is the standard deviation (n-1) of
the groups' totals over the suite, divided by the number of questions. *Unbiased*, for any k up to n: the maximum to
expect of k answers drawn from the n without replacement. Of the sorted answers, the i-th from the top is the maximum of
C(n-i, k-1) of the C(n, k) draws. With scores of 0 and 1 that is pass@k of Chen et al. 2021 (arXiv 2107.03374). Both
expect the same; the unbiased one uses every set of k instead of n/k of them, so it scatters less.

An answer without a score (None) is no zero: it is left out, and kept in the bounds `floor` and `ceiling`. In a group it
keeps its place, so that the groups after it stay what they were.

Intervals are 95 %, over questions, as in `uncertainty`: the answers to one question are not
independent, and what another set of questions would give is the larger part of the doubt. They need no random numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from viva.analysis.uncertainty import Interval, interval_of_scores, mean_variance, standard_deviation, t_quantile
from viva.errors import DataError

FULL = 1.0 - 1e-6
"""From here on a score is full marks: published scores are rounded to six decimals."""

Scores = Sequence[float | None]
"""The answers to one question in their order, shares of 1; None where an answer has no score."""


class Estimate(Struct, frozen=True, kw_only=True):
    """A number over questions. Shares of 1; `mean` is None where no question could be counted."""

    mean: float | None
    low: float | None = None
    high: float | None = None
    floor: float | None = None
    """What the mean would be if everything unscored were worth nothing; None where nothing is unscored."""
    ceiling: float | None = None
    """The same if everything unscored were worth full marks."""
    sd: float | None = None
    """Grouped best@k only: the standard deviation of the groups' means; None for a single group."""
    questions: int = 0
    """How many questions the mean rests on."""
    short: int = 0
    """How many of them have fewer than k scored answers; grouped: a short last group, or fewer answers than others."""


@lru_cache(maxsize=256)
def maximum_weights(n: int, k: int) -> tuple[float, ...]:
    """How likely each of n scores, sorted downwards, is the maximum of k of them. Exact integers, rounded once.

    Raises DataError unless 1 <= k <= n.
    """
    if not 1 <= k <= n:
        raise DataError(f"best@{k} of {n} answers cannot be told: k is from 1 to the number of answers")
    draws = math.comb(n, k)
    count = math.comb(n - 1, k - 1)  # the draws of which the best score is one
    weights: list[float] = []
    for left in range(n - 1, k - 2, -1):  # so many scores are not better than this one
        weights.append(count / draws)
        count = count * (left - k + 1) // left if left else 0
    return tuple(weights)


def best_at(scores: Iterable[float], k: int) -> float:
    """The expected maximum of k of `scores`, drawn without replacement. Raises DataError: k > n, NaN, infinity."""
    ranked = sorted(_finite(scores), reverse=True)
    weights = maximum_weights(len(ranked), k)
    return math.fsum(weight * score for weight, score in zip(weights, ranked, strict=False))


def pass_at(scores: Iterable[float], k: int = 1, full: float = FULL) -> float:
    """pass@k, unbiased: how likely at least one of k answers, drawn without replacement, has full marks."""
    return best_at([float(score >= full) for score in _finite(scores)], k)


def group_maxima(scores: Scores, size: int) -> list[float | None]:
    """The best score of each group of `size` answers in their order; None for a group in which nothing is scored."""
    if size < 1:
        raise DataError(f"groups of {size} answers are none; write a size from 1 on")
    cut = [scores[start : start + size] for start in range(0, len(scores), size)]
    return [max(_finite(score for score in group if score is not None), default=None) for group in cut]


def grouped_best(scores: Scores, size: int) -> tuple[float, float]:
    """One question as the paper reduces it: the mean of the groups' maxima and their sd (0 for one group).

    Raises DataError where nothing is scored.
    """
    maxima = [best for best in group_maxima(scores, size) if best is not None]
    if not maxima:
        raise DataError("no answer to this question has a score, so it has no best one")
    return math.fsum(maxima) / len(maxima), standard_deviation(maxima) or 0.0


def interval(values: Sequence[float]) -> Interval | None:
    """95 % for the mean of one value a question; None for fewer than two questions.

    As in `uncertainty`: Wilson's interval for as many 0/1 questions as leave the same doubt. Values outside 0..1 are no
    shares: Student's t.
    """
    n = len(values)
    if n < 2:
        return None
    mean = math.fsum(values) / n
    squares = math.fsum((value - mean) ** 2 for value in values)
    if min(values) >= 0.0 and max(values) <= 1.0:
        return interval_of_scores(mean, squares, n, n, zero_one=all(value in (0.0, 1.0) for value in values))
    half = t_quantile(n - 1) * math.sqrt(mean_variance(squares, n, n))
    return mean - half, mean + half


def mean_score(questions: Sequence[Scores]) -> Estimate:
    """mean@1: the mean over questions of the mean over answers."""
    return _over(questions, lambda scores: math.fsum(scores) / len(scores), least=1)


def best_of(questions: Sequence[Scores], k: int) -> Estimate:
    """best@k, unbiased. A question with fewer than k scored answers counts with the best it has, and is `short`."""
    return _over(questions, lambda scores: best_at(scores, min(k, len(scores))), least=k)


def passing(questions: Sequence[Scores], k: int = 1, full: float = FULL) -> Estimate:
    """pass@k, unbiased: the share of questions to expect solved in full within k answers. `short` as in `best_of`."""
    return _over(questions, lambda scores: pass_at(scores, min(k, len(scores)), full), least=k)


def best_in_groups(questions: Sequence[Scores], size: int) -> Estimate:
    """best@size as in the paper's table: the mean over questions of `grouped_best`, and ± over the groups' means."""
    maxima = [group_maxima(scores, size) for scores in questions]
    longest = max(map(len, questions), default=0)
    columns = [[row[group] for row in maxima if len(row) > group] for group in range(-(-longest // size))]
    scored = [[best for best in column if best is not None] for column in columns]
    per_group = [math.fsum(column) / len(column) for column in scored if column]
    found = _over_places(questions, lambda scores: grouped_best(scores, size)[0])
    short = sum(1 for scores in questions if _heard(scores) and (len(scores) % size or len(scores) < longest))
    sd = None if found.mean is None else standard_deviation(per_group)
    return replace(found, sd=sd, short=short)


def _over(questions: Sequence[Scores], value: Callable[[list[float]], float], *, least: int) -> Estimate:
    """`value` of the scored answers of each question. Nothing to be told where every question is short."""
    found = _over_places(questions, lambda scores: value([score for score in scores if score is not None]))
    short = sum(1 for scores in questions if 0 < _heard(scores) < least)
    if short == found.questions:
        return Estimate(mean=None, short=short)
    return replace(found, short=short)


def _over_places(questions: Sequence[Scores], value: Callable[[Scores], float]) -> Estimate:
    values = [value(scores) for scores in questions if _heard(scores)]
    if not values:
        return Estimate(mean=None)
    low, high = interval(values) or (None, None)
    floor = ceiling = None
    if any(score is None for scores in questions for score in scores):
        floor, ceiling = (
            math.fsum(value([worth if score is None else score for score in scores]) for scores in questions if scores)
            / sum(1 for scores in questions if scores)
            for worth in (0.0, 1.0)
        )
    mean = math.fsum(values) / len(values)
    return Estimate(mean=mean, low=low, high=high, floor=floor, ceiling=ceiling, questions=len(values))


def _heard(scores: Scores) -> int:
    return sum(1 for score in scores if score is not None)


def _finite(scores: Iterable[float]) -> list[float]:
    found = list(scores)
    for place, score in enumerate(found):
        if not math.isfinite(score):
            raise DataError(f"score {score} (the {place + 1}. of {len(found)}) is no number that can be compared")
    return found
