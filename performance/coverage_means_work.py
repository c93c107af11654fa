"""Intervals of means: once and ten answers a question, fractions, weights, macro averages, lost answers, best@k."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

import numpy as np
from coverage_sets_work import (
    MEANS,
    Floats,
    Rate,
    Row,
    Study,
    cells,
    counted,
    drawn,
    frame_of,
    holds,
    identified,
    inside,
    sets_of,
)
from numpy.typing import NDArray
from scipy.special import betaln
from scipy.stats import binom

from viva.analysis.breakdown import Breakdown
from viva.analysis.standings import widest
from viva.analysis.uncertainty import adjusted_wald, mean_variance
from viva.types import Aggregate

LOST = (0.02, 0.10)
KINDS = ("once", "ten answers", "fractions")
WHOLE = Aggregate("")
MACRO = Aggregate("", over="group")
Grouping = Callable[[np.random.Generator, int], NDArray[np.int64]]


def exactly(repetitions: int, n: int) -> Row:
    """0/1 scores of questions asked once: every number of right answers by its probability, so there is no noise."""
    del repetitions
    right = np.arange(n + 1)
    scores = (np.arange(n)[None, :] < right[:, None]).astype(float)[:, :, None]
    found = cells(scores, WHOLE)
    rates = [Rate(float(binom.pmf(right, n, mean) @ holds(found.low, found.high, mean)), 0) for mean in MEANS]
    return Row("once (exact)", n, rates)


def of_means(kind: str, weighted: bool, repetitions: int, n: int) -> Row:
    """Means over questions; weighted: a question is listed one to five times."""
    dice = np.random.default_rng([n, KINDS.index(kind), weighted])
    sets = repetitions
    weights = dice.integers(1, 6, n) if weighted else None
    rates = []
    for mean in MEANS:
        found = cells(drawn(dice, kind, (sets, n), mean), WHOLE, weights=weights)
        rates.append(counted(holds(found.low, found.high, mean)))
    return Row(f"{kind}{', weighted' if weighted else ''}", n, rates)


def small_groups(dice: np.random.Generator, n: int) -> NDArray[np.int64]:
    """Groups of 2 to 12 questions."""
    return np.repeat(np.arange(n), dice.integers(2, 13, n))[:n]


def unlike_groups(dice: np.random.Generator, n: int) -> NDArray[np.int64]:
    """Five groups, each with half the questions of the one before it."""
    del dice
    return np.searchsorted(np.cumsum([16, 8, 4, 2]) / 31, (np.arange(n) + 0.5) / n).astype(np.int64)


def single_groups(dice: np.random.Generator, n: int) -> NDArray[np.int64]:
    """A group a question."""
    del dice
    return np.arange(n)


GROUPINGS: dict[str, Grouping] = {
    "groups of 2 to 12": small_groups,
    "five groups, halving": unlike_groups,
    "groups of one": single_groups,
}


def _by_group(
    dice: np.random.Generator, kind: str, groups: NDArray[np.int64], sets: int, mean: float
) -> tuple[Floats, Floats]:
    """Scores of sets whose groups differ in difficulty (beta, a + b = 8), and each set's true macro mean."""
    count = int(groups.max()) + 1
    inner = mean if 0 < mean < 1 else 0.5
    chance = np.full((sets, count), mean) if inner != mean else dice.beta(8 * mean, 8 * (1 - mean), (sets, count))
    return drawn(dice, kind, (sets, len(groups)), chance[:, groups]), chance.mean(axis=1)


def of_macro(kind: str, grouping: str, repetitions: int, n: int) -> Row:
    """Macro averages; the truth is the mean of the groups' expected scores."""
    dice = np.random.default_rng([n, 11, KINDS.index(kind), list(GROUPINGS).index(grouping)])
    groups = GROUPINGS[grouping](dice, n)
    sets = sets_of(repetitions, 4 * n)
    rates = []
    for mean in MEANS:
        scores, truths = _by_group(dice, kind, groups, sets, mean)
        found = cells(scores, MACRO, groups=groups)
        rates.append(counted(holds(found.low, found.high, truths)))
    return Row(f"{grouping}, {kind}", n, rates)


def _lost(dice: np.random.Generator, scores: Floats, share: float, mean: float, *, hard: bool) -> Floats:
    """The scores with nan where an answer is lost: any as likely, or wrong ones three times as often as right ones."""
    odds = share * (3 - 2 * scores) / (3 - 2 * mean) if hard else share
    return np.where(dice.random(scores.shape) < odds, np.nan, scores)


def _hit(
    scores: Floats, line: Aggregate, truths: Floats | float, groups: NDArray[np.int64] | None, *, hard: bool
) -> Rate:
    """How often the means' intervals hold the truth, or, where wrong answers are lost, those of what they may be."""
    if hard:
        return counted(holds(*identified(scores, line, groups=groups), truths))
    found = cells(scores, line, groups=groups)
    return counted(holds(found.low, found.high, truths))


def best_of_ten(kind: str, mean: float) -> float:
    """The expected best@k or pass@k of k answers whose chance is from the beta distribution of "ten answers"."""
    count = int(kind.partition("@")[2] or 10)
    if mean in (0.0, 1.0):
        return mean
    a, b = 0.5 * mean, 0.5 * (1 - mean)
    return 1 - float(np.exp(betaln(a, b + count) - betaln(a, b)))


def of_lost(kind: str, share: float, hard: bool, grouping: str, repetitions: int, n: int) -> Row:
    """Means where answers are lost: at random the mean's interval, else the one that the leaderboard ranks by."""
    dice = np.random.default_rng([n, 12, round(100 * share), hard, KINDS.index(kind), bool(grouping)])
    groups = GROUPINGS[grouping](dice, n) if grouping else None
    sets = sets_of(repetitions, 4 * n)
    rates = []
    for mean in MEANS:
        truths = np.full(sets, mean)
        if groups is None:
            scores = drawn(dice, kind, (sets, n), mean)
        else:
            scores, truths = _by_group(dice, kind, groups, sets, mean)
        kept = _lost(dice, scores, share, mean, hard=hard)
        rates.append(_hit(kept, MACRO if grouping else WHOLE, truths, groups, hard=hard))
    return Row(f"{f'{grouping}, ' if grouping else ''}{kind}, {share:.0%} lost", n, rates)


def of_attempts(attempts: str, share: float, hard: bool, repetitions: int, n: int) -> Row:
    """best@k and pass@k of ten answers, none, some at random, or more of the wrong ones lost."""
    dice = np.random.default_rng([n, 13, round(100 * share), hard, len(attempts)])
    sets = sets_of(repetitions, 4 * n)
    line = Aggregate("", attempts=attempts)
    rates = []
    for mean in MEANS:
        scores = _lost(dice, drawn(dice, "ten answers", (sets, n), mean), share, mean, hard=hard)
        rates.append(_hit(scores, line, best_of_ten(attempts, mean), None, hard=hard))
    return Row(f"{attempts.replace('best', 'best of ten') if attempts == 'best' else attempts}"
               f"{f', {share:.0%} lost' if share else ''}", n, rates)  # fmt: skip


def of_gaps(behind: float, repetitions: int, n: int) -> Row:
    """Differences of two scores of one answer, from -1 to 1: the second is `behind` times as likely as the first."""
    dice = np.random.default_rng([n, 14, round(10 * behind)])
    rates: list[Rate | None] = []
    for mean in MEANS:
        second = behind * mean
        shape = (repetitions, n)
        scores = drawn(dice, "once", shape, mean) - drawn(dice, "once", shape, second)
        means = scores.mean(axis=(1, 2))
        squares = ((scores - means[:, None, None]) ** 2).sum(axis=(1, 2))
        found = [
            adjusted_wald(middle, float(np.sqrt(mean_variance(spread, n, n))), n, n - 1).interval
            for middle, spread in zip(means.tolist(), squares.tolist(), strict=True)
        ]
        cell = Breakdown(frame_of(scores[:1])).cell(Aggregate("", signed=True))
        assert np.allclose([cell.low or 0.0, cell.high or 0.0], found[0], atol=1e-7)
        rates.append(counted([inside(*ends, mean - second) for ends in found]))
    return Row(f"gap to a part {behind:g} times as likely", n, rates)


def of_published(kind: str, repetitions: int, n: int) -> Row:
    """The widest interval that a published mean over so many questions can have."""
    dice = np.random.default_rng([n, 15, KINDS.index(kind)])
    sets = sets_of(repetitions, n)
    rates = []
    for mean in MEANS:
        means = drawn(dice, kind, (sets, n), mean).mean(axis=(1, 2))
        bounds = (widest(float(middle), n) or (None, None) for middle in means)
        rates.append(counted([inside(*pair, mean) for pair in bounds]))
    return Row(f"published mean, {kind}", n, rates)


part = functools.partial
COLUMNS = [f"mean {mean:g}" for mean in MEANS]
STUDIES = [
    Study(
        "Means over questions",
        "The truth is the mean of all questions that might have been asked.",
        COLUMNS,
        [
            exactly,
            part(of_means, "once", True),
            *(part(of_means, kind, weighted) for kind in KINDS[1:] for weighted in (False, True)),
            *(part(of_published, kind) for kind in KINDS[1:]),
        ],
    ),
    Study(
        "Macro averages",
        "The truth is the mean over the groups of their expected scores.",
        COLUMNS,
        [part(of_macro, kind, name) for name in GROUPINGS for kind in KINDS],
    ),
    Study(
        "Answers lost at random: the mean's interval",
        "The truth is the mean of all questions that might have been asked.",
        COLUMNS,
        [
            part(of_lost, kind, share, False, grouping)
            for (kind, grouping), share in itertools.product(
                (("once", ""), ("ten answers", ""), ("fractions", ""), ("once", "groups of 2 to 12")), LOST
            )
        ],
    ),
    Study(
        "Answers lost, wrong ones three times as often: the interval of what is identified",
        "It reaches from the lower limit of the floor to the upper limit of the ceiling, and is what the leaderboard "
        "ranks by. The truth is the mean of all questions that might have been asked, nothing lost.",
        COLUMNS,
        [
            *(
                part(of_lost, kind, share, True, grouping)
                for (kind, grouping), share in itertools.product(
                    (("once", ""), ("ten answers", ""), ("fractions", ""), ("once", "groups of 2 to 12")), LOST
                )
            ),
            *(part(of_attempts, way, share, True) for way in ("best", "best@5", "pass@1") for share in LOST),
        ],
    ),
    Study(
        "Best@k and pass@k of ten answers",
        "The truth is what to expect of k answers to all questions that might have been asked.",
        COLUMNS,
        [
            *(part(of_attempts, way, 0.0, False) for way in ("best", "best@3", "best@5", "pass@1", "pass@5")),
            *(part(of_attempts, way, share, False) for way in ("best", "best@5", "pass@1") for share in LOST),
        ],
    ),
    Study(
        "Gaps between two scores of one answer",
        "Of an answer that is right with the column's chance, less a part that is as many times as likely.",
        COLUMNS,
        [part(of_gaps, behind) for behind in (0.5, 1.0)],
        ends=False,
    ),
]
