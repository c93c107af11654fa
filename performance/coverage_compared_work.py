"""Comparisons: differences paired and not, their tests, slices against the rest, ranks, shares of error types."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
import polars as pl
from coverage_means_work import small_groups
from coverage_sets_work import (
    MEANS,
    Floats,
    Rate,
    Row,
    Study,
    counted,
    drawn,
    frame_of,
    inside,
    sets_of,
)
from numpy.typing import NDArray

from viva.analysis.breakdown import Breakdown
from viva.analysis.comparing import Difference, compared, compared_apart, paired
from viva.analysis.errortypes import Typed
from viva.analysis.errortypes import counted as errors_counted
from viva.analysis.multiplicity import adjusted
from viva.analysis.pairedranks import paired_ranks
from viva.analysis.pooling import Scored, pooled
from viva.analysis.posterior import Posterior, posterior
from viva.analysis.slices import slices
from viva.types import OUTCOMES, Aggregate

Asked = Literal["interval", "test"]
WHOLE = Aggregate("")
LEVEL = 0.05
PAIRS: dict[str, tuple[str, str, str]] = {
    "once": ("once", "once", ""),
    "fractions": ("fractions", "fractions", ""),
    "ten answers": ("ten answers", "ten answers", ""),
    "one sample against ten": ("once", "ten answers", ""),
    "once, weighted": ("once", "once", "weight"),
    "once, macro over groups of 2 to 12": ("once", "once", "over"),
    "fractions, macro over groups of 2 to 12": ("fractions", "fractions", "over"),
    "once, five questions a text": ("once", "once", "cluster"),
}
"""What a paired comparison is made of: the kinds of scores of both, and what the questions' groups are."""
BELIEFS = ("once", "fractions", "once, macro over groups of 2 to 12", "once, five questions a text")
APART = {name: PAIRS[name] for name in ("once", "fractions", "ten answers", "once, macro over groups of 2 to 12")}


def _questions(scores: Floats, weights: NDArray[np.int64] | None, groups: NDArray[np.int64] | None) -> pl.DataFrame:
    """One set's questions × answers as `Breakdown.questions` has them, where nothing is lost."""
    count, answers = scores.shape
    weight = np.ones(count, dtype=np.int64) if weights is None else weights
    points = scores.sum(axis=1) * weight
    columns: dict[str, object] = {
        "question": np.arange(count), "weight": weight, "n": answers * weight, "points": points,
        "answered": answers * weight, "floor": points, "ceiling": points, "most": points,
        "replies": answers * weight,
        **dict.fromkeys(("gated", "settled", "waiting"), np.zeros(count, dtype=int)),
        **{f"outcome:{name}": (points > 0 if name == "right" else points <= 0 if name == "wrong" else points < 0)
           for name in OUTCOMES},
    }  # fmt: skip
    if groups is not None:
        columns["tag:group"] = groups.astype(str)
    return pl.DataFrame(columns)


def _differences(
    name: str,
    worse: float,
    mean: float,
    sets: int,
    n: int,
    dice: np.random.Generator,
    *,
    pairs: bool,
    bayesian: bool = False,
) -> Iterator[Difference | Posterior | None]:
    """Comparisons of two models, or what is to be thought of them. Where `worse` is 1 they are alike on every question,
    else the second loses some.

    Questions differ in difficulty (beta, a + b = 2), and both models find the same ones hard; questions about one text
    are equally hard. Raises AssertionError where `Breakdown` has other questions.
    """
    first_kind, second_kind, role = PAIRS[name]
    groups = weights = None
    if role == "over":
        groups = small_groups(dice, n)
    elif role == "cluster":
        groups = np.arange(n) // 5
    elif role == "weight":
        weights = dice.integers(1, 6, n)
    shape = (sets, n)

    def chances() -> Floats:
        if mean in (0.0, 1.0):
            return np.full(shape, mean)
        found = dice.beta(2 * mean, 2 * (1 - mean), shape)
        return found[:, 5 * (np.arange(n) // 5)] if role == "cluster" else found

    own = chances()
    other = own if pairs else chances()
    sides = [drawn(dice, first_kind, shape, own), drawn(dice, second_kind, shape, worse * other)]
    for side in sides:
        theirs = Breakdown(frame_of(side[:1], weights=weights, groups=groups)).questions(WHOLE)
        ours = _questions(side[0], weights, groups)
        assert all(
            np.allclose(ours[one], theirs[one]) for one in ("weight", "n", "points", "answered", "most", "replies")
        )
    known: dict[bytes, Difference | Posterior | None] = {}
    for one, two in zip(*sides, strict=True):
        key = one.tobytes() + two.tobytes()
        if not role and one.shape[1] == two.shape[1] == 1:  # the order of questions tells nothing
            both = np.concatenate([one, two], axis=1)
            key = both[np.lexsort(both.T)].tobytes()
        if key not in known:
            first, second = (_questions(side, weights, groups) for side in (one, two))
            over, cluster = ("group" if role == kind else "" for kind in ("over", "cluster"))
            together = paired(first, second, over, cluster) if pairs else None
            if together is None:
                known[key] = compared_apart(first, second, over)
            else:
                known[key] = posterior(together, draws=4000) if bayesian else compared(together)
        yield known[key]


def of_posterior(name: str, worse: float, asked: Asked, repetitions: int, n: int) -> Row:
    """The credible interval, or how often the second of two equal models is called better, or worse, with 97.5 %."""
    dice = np.random.default_rng([n, 26, list(PAIRS).index(name), round(10 * worse)])
    rates = []
    for mean in MEANS:
        hits = []
        for one in _differences(name, worse, mean, sets_of(repetitions, 4 * n), n, dice, pairs=True, bayesian=True):
            assert isinstance(one, Posterior)
            sure = not 0.025 < one.better < 0.975
            hits.append(sure if asked == "test" else inside(one.low, one.high, (worse - 1) * mean))
        rates.append(counted(hits))
    return Row(name if worse == 1 else f"{name}, the second {worse:g} as good", n, rates)


@functools.lru_cache(maxsize=64)
def _found(
    name: str, worse: float, pairs: bool, repetitions: int, n: int
) -> dict[float, list[tuple[float | None, float | None, float | None]]]:
    """True mean → every set's limits and p: what both tables are made of."""
    dice = np.random.default_rng([n, 21, list(PAIRS).index(name), round(10 * worse), pairs])
    sets = sets_of(repetitions, n * (4 if "fractions" in name or "macro" in name else 1))
    return {
        mean: [
            (one.low, one.high, one.p)
            for one in _differences(name, worse, mean, sets, n, dice, pairs=pairs)
            if isinstance(one, Difference)
        ]
        for mean in MEANS
    }


def of_difference(name: str, worse: float, asked: Asked, pairs: bool, repetitions: int, n: int) -> Row:
    """Whether the interval of a difference holds it, or the test finds one that is none."""
    found = _found(name, worse, pairs, repetitions, n)
    rates = []
    for mean, sets in found.items():
        if asked == "test":
            rates.append(counted([p is not None and p <= LEVEL for _, _, p in sets]))
        else:
            rates.append(counted([inside(low, high, (worse - 1) * mean) for low, high, _ in sets]))
    way = f"{name}{'' if pairs else ', unpaired'}"
    return Row(way if asked == "test" else f"{way}, {'alike' if worse == 1 else 'a fifth worse'}", n, rates)


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
                    "exam", "model", frame_of(one[None], groups=groups), [("group",)], smallest=5
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
            found = slices("exam", "model", frame_of(one[None], groups=groups), [("group",)], smallest=2)
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
            first, *others = (_questions(one, None, None) for one in drawn(dice, "once", (10, n), chance.repeat(10, 0)))
            found = adjusted([compared(paired(first, one)).p for one in others], "holm")
            hits.append(any(p is not None and p <= LEVEL for p in found))
        rates.append(counted(hits))
    return Row("any of nine models against one, Holm", n, rates)


def of_ranks(lost: float, repetitions: int, n: int) -> Row:
    """Whether all ranges of a board of ten hold the true ranks; the true means lie around the column's."""
    dice = np.random.default_rng([n, 25, round(100 * lost)])
    rates = []
    for mean in MEANS:
        hits = []
        for _ in range(sets_of(repetitions, 10 * n)):
            truths = np.clip(mean + dice.normal(0, 0.05, 10), 0.0, 1.0)
            scores = drawn(dice, "once", (10, n), truths[:, None])
            odds = lost * (3 - 2 * scores) / (3 - 2 * mean)
            kept = np.where(dice.random(scores.shape) < odds, np.nan, scores)
            asked = [Breakdown(frame_of(kept[place : place + 1])).questions(WHOLE) for place in range(10)]
            ranges = paired_ranks(asked) or [(1, 10)] * 10
            better = (truths[None, :] > truths[:, None]).sum(axis=1)
            worse = (truths[None, :] < truths[:, None]).sum(axis=1)
            hits.append(
                all(
                    first <= 1 + up and last >= 10 - down
                    for (first, last), up, down in zip(ranges, better, worse, strict=True)
                )
            )
        rates.append(counted(hits))
    return Row(f"all ranges of ten models{f', {lost:.0%} lost, wrong ones more often' if lost else ''}", n, rates)


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
        [part(of_ranks, lost) for lost in (0.0, 0.02, 0.10)],
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
