"""Comparisons: differences paired and not, their tests, slices against the rest, ranks, shares of error types."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np
from coverage_means_work import small_groups
from coverage_sets_work import (
    LEVEL,
    MEANS,
    Floats,
    Rate,
    Row,
    Shape,
    Study,
    counted,
    drawn,
    frame_of,
    held,
    inside,
    lost,
    questions_of,
    sets_of,
)

from viva.analysis.columns import Columns
from viva.analysis.comparing import Difference, compared, compared_apart, paired
from viva.analysis.errortypes import Typed
from viva.analysis.errortypes import counted as errors_counted
from viva.analysis.multiplicity import adjusted
from viva.analysis.pairedranks import paired_ranks
from viva.analysis.posterior import posterior
from viva.analysis.slices import Scored, pooled, slices
from viva.types import Aggregate

Asked = Literal["interval", "test"]
PAIRS: dict[str, tuple[str, str, str]] = {
    "once": ("once", "once", ""),
    "fractions": ("fractions", "fractions", ""),
    "ten answers": ("ten answers", "ten answers", ""),
    "one sample against ten": ("once", "ten answers", ""),
    "once, weighted": ("once", "once", "weight"),
    "once, macro over groups of 2 to 12": ("once", "once", "over"),
    "fractions, macro over groups of 2 to 12": ("fractions", "fractions", "over"),
}
"""What a paired comparison is made of: the kinds of scores of both, and what the questions' groups are."""
BELIEFS = ("once", "fractions", "once, macro over groups of 2 to 12")
APART = {name: PAIRS[name] for name in ("once", "fractions", "ten answers", "once, macro over groups of 2 to 12")}


def _sides(
    name: str, worse: float, mean: float, sets: int, n: int, dice: np.random.Generator, *, pairs: bool = True
) -> Iterator[tuple[Columns, Columns]]:
    """The questions of two models. Where `worse` is 1 they are alike on every question, else the second loses some.

    Questions differ in difficulty (beta, a + b = 2), and both models find the same ones hard.
    """
    first_kind, second_kind, role = PAIRS[name]
    shape = Shape(
        weights=dice.integers(1, 6, n) if role == "weight" else None,
        groups=small_groups(dice, n) if role == "over" else None,
    )

    def chances() -> Floats:
        if mean in (0.0, 1.0):
            return np.full((sets, n), mean)
        return dice.beta(2 * mean, 2 * (1 - mean), (sets, n))

    own = chances()
    other = own if pairs else chances()
    sides = drawn(dice, first_kind, (sets, n), own), drawn(dice, second_kind, (sets, n), worse * other)
    return zip(*(questions_of(side, shape=shape) for side in sides), strict=True)


def _over(name: str) -> str:
    return "group" if PAIRS[name][2] == "over" else ""


def of_posterior(name: str, worse: float, asked: Asked, repetitions: int, n: int) -> Row:
    """The credible interval, or how often the second of two equal models is called better, or worse, with 97.5 %."""
    dice = np.random.default_rng([n, 26, list(PAIRS).index(name), round(10 * worse)])
    rates = []
    for mean in MEANS:
        hits = []
        for sides in _sides(name, worse, mean, sets_of(repetitions, 4 * n), n, dice):
            one = posterior(paired(*sides, _over(name)), draws=4000)
            assert one is not None
            sure = not 0.025 < one.better < 0.975
            hits.append(sure if asked == "test" else inside(one.low, one.high, (worse - 1) * mean))
        rates.append(counted(hits))
    return Row(name if worse == 1 else f"{name}, the second {worse:g} as good", n, rates)


@functools.lru_cache(maxsize=64)
def _found(name: str, worse: float, pairs: bool, repetitions: int, n: int) -> dict[float, list[Difference]]:
    """True mean → every set's difference: what both tables are made of."""
    dice = np.random.default_rng([n, 21, list(PAIRS).index(name), round(10 * worse), pairs])
    sets = sets_of(repetitions, n * (4 if "fractions" in name or "macro" in name else 1))
    return {
        mean: [
            compared(paired(*sides, _over(name))) if pairs else compared_apart(*sides, _over(name))
            for sides in _sides(name, worse, mean, sets, n, dice, pairs=pairs)
        ]
        for mean in MEANS
    }


def alarms(found: Sequence[Difference]) -> Rate:
    """How many have a p of at most .05."""
    return counted([one.p is not None and one.p <= LEVEL for one in found])


def of_difference(name: str, worse: float, asked: Asked, pairs: bool, repetitions: int, n: int) -> Row:
    """Whether the interval of a difference holds it, or the test finds one that is none."""
    found = _found(name, worse, pairs, repetitions, n)
    way = f"{name}{'' if pairs else ', unpaired'}"
    if asked == "test":
        return Row(way, n, [alarms(sets) for sets in found.values()])
    rates = [held(sets, (worse - 1) * mean) for mean, sets in found.items()]
    return Row(f"{way}, {'alike' if worse == 1 else 'a fifth worse'}", n, rates)


LOSSES = [*itertools.product(("", "best", "pass@5", "pass^5"), (0.1, 0.4), (False, True))]


@functools.lru_cache(maxsize=64)
def _lossy(way: str, share: float, hard: bool, repetitions: int, n: int) -> list[list[Difference]]:
    """Two equal models, one of which loses answers: of ten to a question that count as `way`, or the only one."""
    dice = np.random.default_rng([n, 28, LOSSES.index((way, share, hard))])
    found = []
    for mean in MEANS:
        shape = (sets_of(repetitions, (10 if way else 1) * n), n)
        chance = np.full(shape, mean) if mean in (0.0, 1.0) else dice.beta(2 * mean, 2 * (1 - mean), shape)
        count = 10 if way else 1
        sides = [(dice.random((*shape, count)) < chance[:, :, None]).astype(float) for _ in range(2)]
        sides[1] = lost(dice, sides[1], share, mean, hard=hard)
        each = (questions_of(side, Aggregate("", attempts=way)) for side in sides)
        found.append([compared(paired(*both)) for both in zip(*each, strict=True)])
    return found


def of_lossy(asked: Asked, way: str, share: float, hard: bool, repetitions: int, n: int) -> Row:
    """Whether the interval holds that the models are equal, or the test finds a difference."""
    rates = [alarms(sets) if asked == "test" else held(sets, 0.0) for sets in _lossy(way, share, hard, repetitions, n)]
    how = "wrong ones more often" if hard else "at random"
    name = "best of ten" if way == "best" else way or "once"
    return Row(f"{name}, {share:.0%} lost {how}", n, rates)


SKEWED: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "one in ten gains .45, the others lose .05": lambda dice, n: np.where(dice.random(n) < 0.1, 0.45, -0.05),
    "one in five gains .4, the others lose .1": lambda dice, n: np.where(dice.random(n) < 0.2, 0.4, -0.1),
    "one in twenty gains .5, the others lose up to .05": lambda dice, n: np.where(
        dice.random(n) < 1 / 20, 0.5, -dice.uniform(0, 1 / 19, n)
    ),
    "exponential": lambda dice, n: np.minimum(dice.exponential(0.08, n), 0.9) - 0.08 * (1 - np.exp(-0.9 / 0.08)),
}
"""How differences of mean 0 are drawn, of scores between 0 and 1."""


@functools.lru_cache(maxsize=16)
def _skewed(repetitions: int, n: int) -> list[list[Difference]]:
    dice = np.random.default_rng([n, 29])
    found = []
    for differences in SKEWED.values():
        apart = np.stack([differences(dice, n) for _ in range(repetitions)])[:, :, None]
        first = np.full_like(apart, 0.1)
        sides = questions_of(first), questions_of(first + apart)
        found.append([compared(paired(*both)) for both in zip(*sides, strict=True)])
    return found


def of_skewed(asked: Asked, repetitions: int, n: int) -> Row:
    """Fractions whose differences are skewed and have a mean of 0."""
    rates = [alarms(sets) if asked == "test" else held(sets, 0.0) for sets in _skewed(repetitions, n)]
    return Row("p at most .05" if asked == "test" else "interval holds 0", n, rates)


def of_slices(kind: str, asked: Asked, repetitions: int, n: int) -> Row:
    """A quarter of the questions against the rest, which are no easier."""
    dice = np.random.default_rng([n, 22, len(kind)])
    groups = (np.arange(n) % 4 == 0).astype(np.int64)
    rates = []
    for mean in MEANS:
        scores = drawn(dice, kind, (sets_of(repetitions, 4 * n), n), mean)
        hits = []
        for one in scores:
            (part,) = [
                found
                for found in slices(
                    "exam", "model", frame_of(one[None], Shape(groups=groups)), [("group",)], smallest=5
                ).slices
                if found.name == "1"
            ]
            hits.append(part.p is not None and part.p <= LEVEL if asked == "test" else inside(part.low, part.high, 0.0))
        rates.append(counted(hits))
    return Row(f"a slice of a quarter, {kind}", n, rates)


def of_many_slices(repetitions: int, n: int) -> Row:
    """Whether any of ten slices is called different, by Holm, where none is."""
    dice = np.random.default_rng([n, 23])
    groups = np.arange(n) % 10
    rates = []
    for mean in MEANS:
        hits = []
        for one in drawn(dice, "once", (sets_of(repetitions, 4 * n), n), mean):
            found = slices("exam", "model", frame_of(one[None], Shape(groups=groups)), [("group",)], smallest=2)
            hits.append(any(part.significant for part in found.slices))
        rates.append(counted(hits))
    return Row("any of ten slices, Holm", n, rates)


def of_many_models(repetitions: int, n: int) -> Row:
    """Whether any of nine models is called different from the tenth, by Holm, where none is."""
    dice = np.random.default_rng([n, 24])
    rates = []
    for mean in MEANS:
        hits = []
        for _ in range(sets_of(repetitions, 10 * n)):
            chance = np.full((1, n), mean) if mean in (0.0, 1.0) else dice.beta(2 * mean, 2 * (1 - mean), (1, n))
            first, *others = questions_of(drawn(dice, "once", (10, n), chance.repeat(10, 0)))
            found = adjusted([compared(paired(first, one)).p for one in others], "holm")
            hits.append(any(p is not None and p <= LEVEL for p in found))
        rates.append(counted(hits))
    return Row("any of nine models against one, Holm", n, rates)


def all_ranks(models: list[Columns], truths: Floats, over: str = "") -> bool:
    """Whether every range holds the model's true rank."""
    ranges = paired_ranks(models, over)
    assert ranges is not None
    better = (truths[None, :] > truths[:, None] + 1e-12).sum(axis=1)
    worse = (truths[None, :] < truths[:, None] - 1e-12).sum(axis=1)
    each = zip(ranges, better, worse, strict=True)
    return all(first <= 1 + up and last >= len(models) - down for (first, last), up, down in each)


def of_ranks(share: float, repetitions: int, n: int) -> Row:
    """Whether all ranges of a board of ten hold the true ranks; the true means lie around the column's."""
    dice = np.random.default_rng([n, 25, round(100 * share)])
    rates = []
    for mean in MEANS:
        hits = []
        for _ in range(sets_of(repetitions, 10 * n)):
            truths = np.clip(mean + dice.normal(0, 0.05, 10), 0.0, 1.0)
            kept = lost(dice, drawn(dice, "once", (10, n), truths[:, None]), share, mean, hard=True)
            hits.append(all_ranks(list(questions_of(kept)), truths))
        rates.append(counted(hits))
    return Row(f"all ranges of ten models{f', {share:.0%} lost, wrong ones more often' if share else ''}", n, rates)


def of_errors(answers: int, repetitions: int, n: int) -> Row:
    """The share of wrong answers that show a type of error; several answers to a question mostly show the same."""
    dice = np.random.default_rng([n, 26, answers])
    rates = []
    for mean in MEANS:
        shape = (sets_of(repetitions, 4 * n * answers), n)
        if answers == 1:
            shown = drawn(dice, "once", shape, mean)[:, :, 0] > 0
            which = [np.arange(n)] * len(shown)
        else:
            some = dice.integers(1, answers + 1, shape)  # so many of a question's answers are wrong
            every = drawn(dice, "ten answers", shape, mean)[:, :, :answers] > 0
            kept = np.arange(answers) < some[:, :, None]
            which = [np.nonzero(one)[0] for one in kept]
            shown = [one[mask] for one, mask in zip(every, kept, strict=True)]  # type: ignore[assignment]
        hits = []
        for has, places in zip(shown, which, strict=True):
            typed = [
                Typed(model="m", question=str(place), group="", tags={}, labels=("t",) if one else ())
                for one, place in zip(has.tolist(), places.tolist(), strict=True)
            ]
            (found,) = errors_counted("exam", typed, {"": ["t"]})
            hits.append(inside(found.shares[0].low, found.shares[0].high, mean))
        rates.append(counted(hits))
    return Row(
        "one wrong answer a question" if answers == 1 else f"one to {answers} wrong answers a question", n, rates
    )


CHANCES: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "alike": lambda dice, count: np.full(count, 0.7),
    "moderately unlike": lambda dice, count: dice.beta(0.7 * 32, 0.3 * 32, count),
    "very unlike": lambda dice, count: dice.random(count),
    "one unlike the others": lambda dice, count: np.where(np.arange(count) == 0, 0.2, 0.7),
}
"""How the true scores of slices are drawn."""


def of_pooled(kind: str, which: str, how: str, count: int, repetitions: int, n: int) -> Row:
    """Slices of n questions: how many of their true scores, or whether that of the lowest, the intervals hold."""
    dice = np.random.default_rng([n, 27, count, len(kind)])
    rates: list[Rate | None] = []
    for chances in CHANCES.values():
        hits = 0.0
        for _ in range(repetitions):
            truths = chances(dice, count)
            scores = drawn(dice, kind, (count, n), truths[:, None])[:, :, 0]
            means = scores.mean(axis=1)
            squares = ((scores - means[:, None]) ** 2).sum(axis=1)
            groups = [Scored(mean=float(m), questions=n, squares=float(s)) for m, s in zip(means, squares, strict=True)]
            found = pooled(groups) if how == "pooled" else [pooled([group])[0] for group in groups]
            held = [inside(one.low, one.high, truth) for one, truth in zip(found, truths.tolist(), strict=True)]
            hits += held[int(means.argmin())] if which == "the lowest" else float(np.mean(held))
        rates.append(Rate(hits, repetitions))
    return Row(f"{how}, {kind}, {which} of {count}", n, rates)


part = functools.partial
KINDS_ASKED: tuple[Asked, Asked] = ("interval", "test")
COLUMNS = [f"mean {mean:g}" for mean in MEANS]
STUDIES = [
    Study(
        "Differences of two models: intervals",
        "The first model's mean is the column's; the second is as good on every question, or a fifth worse. Questions "
        "differ in difficulty, the same ones are hard for both.",
        COLUMNS,
        [
            *(
                part(of_difference, name, worse, "interval", True)
                for name, worse in itertools.product(PAIRS, (1.0, 0.8))
            ),
            *(
                part(of_difference, name, worse, "interval", False)
                for name, worse in itertools.product(APART, (1.0, 0.8))
            ),
        ],
        ends=False,
        cost=4,
    ),
    Study(
        "Differences of two models: tests",
        "The two are alike on every question: the share with p at most .05.",
        COLUMNS,
        [
            *(part(of_difference, name, 1.0, "test", True) for name in PAIRS),
            *(part(of_difference, name, 1.0, "test", False) for name in APART),
            of_many_models,
        ],
        test=True,
        cost=4,
    ),
    *(
        Study(
            f"Differences of two equal models, one of which loses answers: {asked}s",
            "Of ten answers to a question, or of one. The truth is 0, whatever was lost.",
            COLUMNS,
            [part(of_lossy, asked, *losses) for losses in LOSSES],
            test=asked == "test",
            cost=4,
        )
        for asked in KINDS_ASKED
    ),
    *(
        Study(
            f"Paired fractions, differences skewed: {asked}s",
            "Differences of fractions whose true mean is 0.",
            list(SKEWED),
            [part(of_skewed, asked)],
            test=asked == "test",
            sizes=(20, 50, 200),
        )
        for asked in KINDS_ASKED
    ),
    Study(
        "Probably better: credible intervals",
        "The same two models; how often the truth lies in the 95 % credible interval of the difference.",
        COLUMNS,
        [part(of_posterior, name, worse, "interval") for name, worse in itertools.product(BELIEFS, (1.0, 0.8))],
        cost=10,
    ),
    Study(
        "Probably better: equal models",
        "The two are alike on every question: how often one is called better with a probability of 97.5 % and more.",
        COLUMNS,
        [part(of_posterior, name, 1.0, "test") for name in BELIEFS],
        test=True,
        cost=10,
    ),
    Study(
        "Slices against the rest: intervals",
        "A quarter of the questions, which are no easier than the others.",
        COLUMNS,
        [part(of_slices, kind, "interval") for kind in ("once", "ten answers", "fractions")],
        cost=8,
    ),
    Study(
        "Slices against the rest: tests",
        "The same: the share with p at most .05, and with any of ten adjusted p at most .05.",
        COLUMNS,
        [*(part(of_slices, kind, "test") for kind in ("once", "ten answers", "fractions")), of_many_slices],
        test=True,
        cost=8,
    ),
    Study(
        "Pooled slices",
        "Slices of n questions whose true scores are all .7; from a beta distribution of mean .7 and standard "
        "deviation .08; even on 0..1; or .7 but for one of .2.",
        list(CHANCES),
        [
            part(of_pooled, kind, which, how, count)
            for count in (5, 30)
            for kind, which, how in (
                ("once", "all", "pooled"),
                ("once", "all", "plain"),
                ("once", "the lowest", "pooled"),
                ("once", "the lowest", "plain"),
                ("fractions", "all", "pooled"),
            )
        ],
        sizes=(5, 20),
        cost=10,
    ),
    Study(
        "Ranks",
        "The share of boards of ten on which every range holds the model's true rank; it is to be at least 95 %.",
        COLUMNS,
        [part(of_ranks, share) for share in (0.0, 0.02, 0.10)],
        cost=5,
    ),
    Study(
        "Shares of error types",
        "The truth is the share among all wrong answers that there might have been.",
        COLUMNS,
        [part(of_errors, answers) for answers in (1, 3)],
        cost=2,
    ),
]
