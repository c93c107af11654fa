"""Intervals of means: once and ten answers a question, fractions, weights, macro averages, lost answers, best@k."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

import numpy as np
from coverage_sets_work import (
    MACRO,
    MEANS,
    WHOLE,
    Codes,
    Floats,
    Rate,
    Row,
    Shape,
    Study,
    cells,
    counted,
    drawn,
    held,
    inside,
    lost,
    sets_of,
)
from scipy.special import betaln
from scipy.stats import binom

from viva.analysis.standings import widest
from viva.types import Aggregate

LOST = (0.02, 0.10)
KINDS = ("once", "ten answers", "fractions")
WAYS = ("best", "pass@1", "pass@5", "pass^5")
Grouping = Callable[[np.random.Generator, int], Codes]


def exactly(repetitions: int, n: int) -> Row:
    """0/1 scores of questions asked once: every number of right answers by its probability, so there is no noise."""
    del repetitions
    right = np.arange(n + 1)
    scores = (np.arange(n)[None, :] < right[:, None]).astype(float)[:, :, None]
    found = cells(scores)
    rates = [
        Rate(float(binom.pmf(right, n, mean) @ [inside(one.low, one.high, mean) for one in found]), 0) for mean in MEANS
    ]
    return Row("once (exact)", n, rates)


def of_means(kind: str, weighted: bool, repetitions: int, n: int) -> Row:
    """Means over questions; weighted: a question is listed one to five times."""
    dice = np.random.default_rng([n, KINDS.index(kind), weighted])
    shape = Shape(weights=dice.integers(1, 6, n) if weighted else None)
    sets = sets_of(repetitions, n)
    rates = [held(cells(drawn(dice, kind, (sets, n), mean), shape=shape), mean) for mean in MEANS]
    return Row(f"{kind}{', weighted' if weighted else ''}", n, rates)


def small_groups(dice: np.random.Generator, n: int) -> Codes:
    """Groups of 2 to 12 questions."""
    return np.repeat(np.arange(n), dice.integers(2, 13, n))[:n]


def unlike_groups(dice: np.random.Generator, n: int) -> Codes:
    """Five groups, each with half the questions of the one before it."""
    del dice
    return np.searchsorted(np.cumsum([16, 8, 4, 2]) / 31, (np.arange(n) + 0.5) / n).astype(np.int64)


def single_groups(dice: np.random.Generator, n: int) -> Codes:
    """A group a question."""
    del dice
    return np.arange(n)


GROUPINGS: dict[str, Grouping] = {
    "groups of 2 to 12": small_groups,
    "five groups, halving": unlike_groups,
    "groups of one": single_groups,
}


def _by_group(dice: np.random.Generator, kind: str, groups: Codes, sets: int, mean: float) -> tuple[Floats, Floats]:
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
        rates.append(held(cells(scores, MACRO, Shape(groups=groups)), truths))
    return Row(f"{grouping}, {kind}", n, rates)


def of_lost(kind: str, share: float, hard: bool, grouping: str, repetitions: int, n: int) -> Row:
    """Means where answers are lost: the interval that is printed, whatever they are worth."""
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
        kept = lost(dice, scores, share, mean, hard=hard)
        rates.append(held(cells(kept, MACRO if grouping else WHOLE, Shape(groups=groups)), truths))
    return Row(f"{f'{grouping}, ' if grouping else ''}{kind}, {share:.0%} lost", n, rates)


def of_several(way: str, mean: float) -> float:
    """What k answers come to whose chance is from the beta distribution of "ten answers"."""
    count = int(way.lstrip("bestpa@^") or 10)
    if mean in (0.0, 1.0):
        return mean
    a, b = 0.5 * mean, 0.5 * (1 - mean)
    if "^" in way:
        return float(np.exp(betaln(a + count, b) - betaln(a, b)))
    return 1 - float(np.exp(betaln(a, b + count) - betaln(a, b)))


def of_attempts(way: str, share: float, hard: bool, repetitions: int, n: int) -> Row:
    """best@k, pass@k and pass^k of ten answers, none, some at random, or more of the wrong ones lost."""
    dice = np.random.default_rng([n, 13, round(100 * share), hard, len(way)])
    sets = sets_of(repetitions, 10 * n) if share else sets_of(repetitions, 4 * n)
    line = Aggregate("", attempts=way)
    rates = []
    for mean in MEANS:
        scores = lost(dice, drawn(dice, "ten answers", (sets, n), mean), share, mean, hard=hard)
        rates.append(held(cells(scores, line), of_several(way, mean)))
    how = f", {share:.0%} lost{', wrong ones more often' if hard else ' at random'}" if share else ""
    return Row(f"{'best of ten' if way == 'best' else way}{how}", n, rates)


def of_gaps(behind: float, repetitions: int, n: int) -> Row:
    """Differences of two scores of one answer, from -1 to 1: the second is `behind` times as likely as the first."""
    dice = np.random.default_rng([n, 14, round(10 * behind)])
    shape = (sets_of(repetitions, n), n)
    rates: list[Rate | None] = []
    for mean in MEANS:
        scores = drawn(dice, "once", shape, mean) - drawn(dice, "once", shape, behind * mean)
        rates.append(held(cells(scores, Aggregate("", kind="difference")), mean - behind * mean))
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
    *(
        Study(
            f"Answers lost{', wrong ones three times as often' if hard else ' at random'}",
            "The interval reaches from the lower limit of the floor to the upper limit of the ceiling. The truth is "
            "the mean of all questions that might have been asked, nothing lost.",
            COLUMNS,
            [
                part(of_lost, kind, share, hard, grouping)
                for (kind, grouping), share in itertools.product(
                    (("once", ""), ("ten answers", ""), ("fractions", ""), ("once", "groups of 2 to 12")), LOST
                )
            ],
        )
        for hard in (False, True)
    ),
    Study(
        "Best@k, pass@k and pass^k of ten answers",
        "The truth is what to expect of k answers to all questions that might have been asked, nothing lost.",
        COLUMNS,
        [
            *(part(of_attempts, way, 0.0, False) for way in ("best", "best@3", "best@5", "pass@1", "pass@5", "pass^5")),
            *(
                part(of_attempts, way, share, hard)
                for way, share, hard in itertools.product(WAYS, (0.1, 0.4), (False, True))
            ),
        ],
        cost=2,
    ),
    Study(
        "Gaps between two scores of one answer",
        "Of an answer that is right with the column's chance, less a part that is as many times as likely.",
        COLUMNS,
        [part(of_gaps, behind) for behind in (0.5, 1.0)],
        ends=False,
    ),
]
