"""Questions that belong together (about one text): means, differences, tests, slices and ranks."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from coverage_compared_work import Asked, alarms, all_ranks
from coverage_sets_work import (
    LEVEL,
    MACRO,
    SPREAD,
    WHOLE,
    Codes,
    Floats,
    Row,
    Shape,
    Study,
    cells,
    counted,
    expected,
    frame_of,
    held,
    inside,
    lost,
    middle_of,
    questions_of,
    sets_of,
)
from scipy.special import expit

from viva.analysis.columns import Columns
from viva.analysis.comparing import compared, compared_apart, paired
from viva.analysis.posterior import posterior
from viva.analysis.slices import slices
from viva.types import Aggregate

MEANS = (0.1, 0.5, 0.8, 0.98)
OWN = 1.0
"""Standard deviation over texts of what a text is harder for one model than for another, in logits."""
SIZES: dict[str, Callable[[np.random.Generator, int], Codes]] = {
    "5 questions a text": lambda dice, texts: np.full(texts, 5),
    "1 to 12 a text": lambda dice, texts: dice.integers(1, 13, texts),
    "18 to 24 a text": lambda dice, texts: dice.integers(18, 25, texts),
    "4 a text, one of ten 40": lambda dice, texts: np.where(np.arange(texts) % 10 == 0, 40, 4),
    "half of the questions about one text": lambda dice, texts: np.where(np.arange(texts) == 0, 5 * (texts - 1), 5),
}
"""How many questions each text has: "18 to 24" is SynEval's, with 50 sentences."""
Grouped = Callable[[Codes], Codes]
GROUPS: dict[str, Grouped | None] = {
    "": None,
    ", macro over kinds in each text": lambda codes: _place(codes) % 4,
    ", macro over groups of whole texts": lambda codes: np.searchsorted([0.5, 0.75, 0.9], codes / codes.max()),
}
"""The group of each question, from its text's number."""


def _place(codes: Codes) -> Codes:
    """The place of each question in its text."""
    return np.arange(len(codes)) - np.searchsorted(codes, codes)


class Design(NamedTuple):
    """Texts with questions, which are averaged in groups."""

    sizes: str
    groups: str = ""

    def shape(self, dice: np.random.Generator, texts: int) -> Shape:
        """Draw how many questions each text has."""
        codes = np.repeat(np.arange(texts), SIZES[self.sizes](dice, texts))
        grouped = GROUPS[self.groups]
        return Shape(groups=None if grouped is None else grouped(codes), clusters=codes)

    @property
    def name(self) -> str:
        return f"{self.sizes}{self.groups}"

    @property
    def line(self) -> Aggregate:
        return MACRO if self.groups else WHOLE

    @property
    def over(self) -> str:
        return self.line.over


def answered(
    dice: np.random.Generator, shape: Shape, sets: int, means: Sequence[float], own: float = OWN
) -> list[Floats]:
    """Answers of models with these means: a text is hard for all of them, and for each by itself (`own`).

    Whatever the sizes and groups, each mean is that of every question that might have been asked.
    """
    codes = shape.clusters
    assert codes is not None
    texts = int(codes.max()) + 1
    hard = np.sqrt(SPREAD**2 - own**2) * dice.standard_normal((sets, texts))
    found = []
    for mean in means:
        logits = middle_of(mean) + hard + own * dice.standard_normal((sets, texts))
        found.append((dice.random((sets, len(codes))) < expit(logits)[:, codes]).astype(float)[:, :, None])
    return found


DESIGNS = [Design(*both) for both in itertools.product(SIZES, GROUPS)]


def of_means(design: Design, share: float, hard: bool, repetitions: int, n: int) -> Row:
    """Means over questions of n texts, of which some answers are lost."""
    dice = np.random.default_rng([n, 61, DESIGNS.index(design), round(100 * share), hard])
    rates = []
    for mean in MEANS:
        shape = design.shape(dice, n)
        (scores,) = answered(dice, shape, sets_of(repetitions, 20 * n), [mean])
        kept = lost(dice, scores, share, mean, hard=hard) if share else scores
        rates.append(held(cells(kept, design.line, shape), mean))
    how = f", {share:.0%} lost{', wrong ones more often' if hard else ' at random'}" if share else ""
    return Row(f"{design.name}{how}", n, rates)


def of_larger(repetitions: int, n: int) -> Row:
    """Hard texts have more questions: 1 to 12. The truth is the mean over questions."""
    dice = np.random.default_rng([n, 62])
    rates = []
    for mean in MEANS:
        found, middle = [], middle_of(mean)
        size = np.arange(1, 13)  # by which twelfth of the texts, from the easiest
        ranks = (np.arange(200_000) + 0.5) / 200_000
        logits = middle - SPREAD * _normal(ranks)
        share = size[np.minimum((12 * ranks).astype(int), 11)]
        truth = float((expit(logits) * share).sum() / share.sum())
        for _ in range(sets_of(repetitions, 20 * n)):
            place = dice.random(n)
            codes = np.repeat(np.arange(n), size[np.minimum((12 * place).astype(int), 11)])
            chance = expit(middle - SPREAD * _normal(place))[codes]
            found += cells((dice.random(len(codes)) < chance).astype(float)[None, :, None], shape=Shape(clusters=codes))
        rates.append(held(found, truth))
    return Row("1 to 12 a text, the more the harder", n, rates)


def _normal(shares: Floats) -> Floats:
    from scipy.special import ndtri

    found: Floats = ndtri(shares)
    return found


def _sides(
    design: Design, worse: float, mean: float, repetitions: int, n: int, seed: int
) -> Iterator[tuple[Columns, Columns]]:
    """The questions of two models; the second's mean is so many times the first's."""
    dice = np.random.default_rng([n, seed, DESIGNS.index(design), round(10 * worse), round(100 * mean)])
    shape = design.shape(dice, n)
    sides = answered(dice, shape, sets_of(repetitions, 20 * n), [mean, worse * mean])
    return zip(*(questions_of(side, shape=shape) for side in sides), strict=True)


def of_differences(design: Design, worse: float, asked: Asked, pairs: bool, repetitions: int, n: int) -> Row:
    """Whether the interval of a difference holds it, or the test finds one that is none."""
    rates = []
    for mean in MEANS:
        sides = _sides(design, worse, mean, repetitions, n, 63 + pairs)
        if pairs:
            found = [compared(paired(*both, design.over)) for both in sides]
        else:
            found = [compared_apart(*both, design.over) for both in sides]
        rates.append(alarms(found) if asked == "test" else held(found, (worse - 1) * mean))
    how = "" if worse == 1 else ", a fifth worse"
    return Row(f"{design.name}{how}{'' if pairs else ', unpaired'}", n, rates)


def of_posterior(design: Design, asked: Asked, repetitions: int, n: int) -> Row:
    """The credible interval, or how often one of two equal models is called better with 97.5 %."""
    rates = []
    for mean in MEANS:
        hits = []
        for both in _sides(design, 1.0, mean, repetitions // 4 or 2, n, 65):
            one = posterior(paired(*both, design.over), draws=2000)
            assert one is not None
            hits.append(not 0.025 < one.better < 0.975 if asked == "test" else inside(one.low, one.high, 0.0))
        rates.append(counted(hits))
    return Row(f"{design.name}, probably better", n, rates)


CUTS: dict[str, Grouped] = {
    "one question of each text": lambda codes: (_place(codes) == 0).astype(np.int64),
    "a quarter of the texts": lambda codes: (codes % 4 == 0).astype(np.int64),
}
"""Which questions are the slice."""


def of_slices(cut: str, sizes: str, asked: Asked, repetitions: int, n: int) -> Row:
    """A slice that is no harder than the rest."""
    dice = np.random.default_rng([n, 66, list(CUTS).index(cut), list(SIZES).index(sizes)])
    rates = []
    for mean in MEANS:
        shape = Design(sizes).shape(dice, n)
        assert shape.clusters is not None
        shape = shape._replace(groups=CUTS[cut](shape.clusters))
        hits = []
        for one in answered(dice, shape, sets_of(repetitions, 20 * n), [mean])[0]:
            found = slices("exam", "model", frame_of(one[None], shape), [("group",)], smallest=2).slices
            (part,) = (each for each in found if each.name == "1")
            hits.append(part.p is not None and part.p <= LEVEL if asked == "test" else inside(part.low, part.high, 0.0))
        rates.append(counted(hits))
    return Row(f"{cut}, {sizes}", n, rates)


def of_many_slices(repetitions: int, n: int) -> Row:
    """Whether any of five topics of whole texts is called different, by Holm, where none is."""
    dice = np.random.default_rng([n, 67])
    shape = Design("5 questions a text").shape(dice, n)
    assert shape.clusters is not None
    shape = shape._replace(groups=shape.clusters % 5)
    rates = []
    for mean in MEANS:
        hits = []
        for one in answered(dice, shape, sets_of(repetitions, 20 * n), [mean])[0]:
            found = slices("exam", "model", frame_of(one[None], shape), [("group",)], smallest=2)
            hits.append(any(part.significant for part in found.slices))
        rates.append(counted(hits))
    return Row("any of five topics of whole texts, Holm", n, rates)


def of_ranks(design: Design, spread: float, share: float, repetitions: int, n: int) -> Row:
    """Whether all ranges of a board of ten hold the true ranks; every second model loses answers."""
    dice = np.random.default_rng([n, 68, DESIGNS.index(design), round(10 * spread), round(100 * share)])
    rates = []
    for mean in MEANS:
        hits = []
        for _ in range(repetitions):
            shape = design.shape(dice, n)
            truths = np.array([expected(middle_of(mean) + spread * off) for off in dice.standard_normal(10)])
            models = np.concatenate(answered(dice, shape, 1, truths.tolist()))
            models[1::2] = lost(dice, models[1::2], share, mean, hard=True) if share else models[1::2]
            hits.append(all_ranks(list(questions_of(models, shape=shape)), truths, design.over))
        rates.append(counted(hits))
    apart = "equal models" if not spread else f"models ± {spread:g} logits apart"
    return Row(f"{design.name}, {apart}{f', {share:.0%} lost of five' if share else ''}", n, rates)


part = functools.partial
COLUMNS = [f"mean {mean:g}" for mean in MEANS]
TEXTS = (10, 50)
FIVE, MANY = "5 questions a text", "18 to 24 a text"
TEXT = "n texts; the logits of being right have a standard deviation of 1.5 over texts, of which two models share 1.1. "
STUDIES = [
    Study(
        "Questions about shared texts: means",
        f"{TEXT}The truth is the mean of all questions about all texts.",
        COLUMNS,
        [
            *(part(of_means, design, 0.0, False) for design in DESIGNS),
            of_larger,
            *(part(of_means, Design(FIVE), 0.1, hard) for hard in (False, True)),
        ],
        sizes=TEXTS,
    ),
    *(
        Study(
            f"Questions about shared texts: differences, {asked}s",
            f"{TEXT}Two models that are equal on average, or a fifth apart.",
            COLUMNS,
            [
                *(
                    part(of_differences, design, worse, asked, True)
                    for design, worse in itertools.product(DESIGNS, (1.0, 0.8) if asked == "interval" else (1.0,))
                ),
                *(part(of_differences, Design(FIVE, groups), 1.0, asked, False) for groups in GROUPS),
                part(of_posterior, Design(FIVE), asked),
            ],
            test=asked == "test",
            sizes=TEXTS,
            cost=2,
        )
        for asked in ("interval", "test")
    ),
    *(
        Study(
            f"Questions about shared texts: slices, {asked}s",
            f"{TEXT}Questions of every text, or all of some texts, against the rest, which are no harder.",
            COLUMNS,
            [
                *(part(of_slices, cut, sizes, asked) for cut, sizes in itertools.product(CUTS, (FIVE, MANY))),
                *([of_many_slices] if asked == "test" else []),
            ],
            test=asked == "test",
            sizes=TEXTS[1:],
            cost=4,
        )
        for asked in ("interval", "test")
    ),
    Study(
        "Questions about shared texts: ranks",
        f"{TEXT}The share of boards of ten on which every range holds the model's true rank.",
        COLUMNS,
        [
            *(part(of_ranks, Design(FIVE, groups), spread, 0.0) for groups in GROUPS for spread in (0.0, 0.3)),
            part(of_ranks, Design(FIVE), 0.0, 0.05),
        ],
        sizes=TEXTS[1:],
        cost=10,
    ),
]
