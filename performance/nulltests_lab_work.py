"""Tests and plans of the lab where the truth is known: judges, levels of a design, power, few drawn questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from msgspec.structs import replace
from scipy.special import stdtr

from viva.analysis.estimate import Clustered, mean_of
from viva.analysis.items.weightedsampling import Answers, Draw, fixed
from viva.lab.adaptive.drawing import Frame, Target, draws
from viva.lab.items.anchor_choice import known_curves
from viva.lab.items.curves import Floats, predict_scores
from viva.lab.judges.effects import Pair, corrected, effect
from viva.lab.planning.power import Clusters, Scatter, measured_difference, power, questions_for_difference
from viva.lab.variation.components import JUDGE, estimate

Found = tuple[str, str, float]
PROBES = 6
MARKS = [0.0, 0.5, 1.0]
POWER = "80 % of sets find it"


def of_probes(repetitions: int) -> Iterator[Found]:
    """Judges who draw a new mark with probability `noise`, whatever a probe changes: how often one is called biased."""
    for questions, answers, noise in ((30, 30, 0.2), (20, 60, 0.1), (60, 60, 0.02), (50, 100, 0.5)):
        dice = np.random.default_rng([questions, answers])
        called = 0
        for _ in range(repetitions):
            effects = [effect(str(probe), _marked(dice, questions, answers, noise)) for probe in range(PROBES)]
            called += any(one.biased for one in corrected(effects))
        name = f"{answers} answers to {questions} questions, {noise:.0%} marked anew"
        yield name, "any biased: 5 % at most", called / repetitions


def _marked(dice: np.random.Generator, questions: int, answers: int, noise: float) -> list[Pair]:
    places = np.arange(answers) % questions
    worth = dice.choice(MARKS, questions)[places]
    plain, changed = (np.where(dice.random(answers) < noise, dice.choice(MARKS, answers), worth) for _ in range(2))
    return [Pair(f"q{place}", float(a), float(b)) for place, a, b in zip(places, plain, changed, strict=True)]


def of_severity(repetitions: int) -> Iterator[Found]:
    """Judges who are equally severe, and differ on single questions and answers all the same."""
    dice = np.random.default_rng(37)
    for judges in (2, 4):
        shown = 0
        for _ in range(repetitions):
            panel = 0.6 + dice.normal(0, 0.3, (60, 1, 1, 1)) + np.zeros((1, 1, 2, judges))
            panel = panel + dice.normal(0, 0.2, (60, 1, 1, judges)) + dice.normal(0, 0.2, panel.shape)
            found = estimate(panel, [()], ())
            shown += any(one.low > 0 for one in found.components if one.name == JUDGE)
        yield f"{judges} judges equally severe", "told apart in 1 to 4 %", shown / repetitions


def of_levels(repetitions: int) -> Iterator[Found]:
    """Three prompts under which all answers are the same, and one that is as good on other questions: the differences
    of four means have one degree of freedom, not three."""
    dice, shown = np.random.default_rng(19), 0
    for _ in range(repetitions):
        values = np.repeat(dice.random((200, 1)) < 0.5, 4, axis=1) * 1.0
        values[:, 3] = dice.random(200) < 0.5
        shown += estimate(values[:, :, None], [(level,) for level in range(4)], ["prompt"]).p <= 0.05
    yield "three prompts alike, one apart", "p <= .05 in 5 % at most", shown / repetitions


def of_power(repetitions: int) -> Iterator[Found]:
    """How often the planned number of questions finds a difference: several answers to each, and questions in clusters
    (measured on one set; planned for fewer of its questions, and for more clusters or questions)."""
    dice = np.random.default_rng(2)
    for samples in (2, 8):
        scatter, gap = _pilot(dice, 40_000)
        needed = questions_for_difference(scatter, gap, 0.8, samples) or 0
        hits = 0
        for _ in range(repetitions):
            first, second = _answers(dice, needed, samples)
            hits += (mean_of(second - first, np.arange(needed), signed=True).p() or 0.0) <= 0.05
        yield f"{samples} answers to {needed} questions", POWER, hits / repetitions
    for name, sizes, spread in (
        ("subset, alike", np.full(40, 100), 0.09),
        ("subset, unequal", np.linspace(40, 160, 40).astype(int), 0.07),
        ("subset, few", np.full(16, 400), 0.05),
        ("subset, passages", np.full(600, 5), 0.25),
        ("more clusters, alike", np.full(20, 10), 0.15),
        ("more clusters, unequal", np.linspace(2, 18, 20).astype(int), 0.15),
    ):
        yield from _clustered(dice, name, sizes, spread, repetitions)


def _answers(dice: np.random.Generator, questions: int, samples: int) -> list[Floats]:
    """Two models' right answers, a share a question: a difficulty that both share, one of their own, and chance."""
    shared, own = dice.normal(0, 1, questions), [dice.normal(0, 0.7, questions) for _ in range(2)]
    chances = [1 / (1 + np.exp(-(0.8 + shift + shared + mine))) for shift, mine in zip((0, 0.25), own, strict=True)]
    return [dice.binomial(samples, chance) / samples for chance in chances]


def _pilot(dice: np.random.Generator, size: int) -> tuple[Scatter, float]:
    """What two answers to each of many questions say of the scatter, and of the difference."""
    rights = [dice.binomial(1, each[:, None], (size, 2)) for each in _answers(dice, size, 10**6)]
    means = rights[0].mean(axis=1), rights[1].mean(axis=1)
    squares = tuple(((each - each.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) for each in rights)
    counts = np.full(size, 2.0)
    found = measured_difference(means, (squares[0], squares[1]), (counts, counts), None)
    return found.scatter, found.mean


def _clustered(
    dice: np.random.Generator, name: str, sizes: np.ndarray, spread: float, repetitions: int
) -> Iterator[Found]:
    number = len(sizes)
    clusters = Clusters.like(np.repeat(np.arange(number), sizes))
    scatter = Scatter(between=0.3 + spread**2, within=0.0, shared=spread**2, clusters=clusters)
    needed = questions_for_difference(scatter, 0.05, 0.8) or 0

    def drawn() -> np.ndarray:
        if name.startswith("subset"):
            return dice.multivariate_hypergeometric(sizes, needed)
        many = np.tile(sizes, -(-needed // sizes.sum()))
        return dice.permutation(many)[: round(needed / sizes.mean())]

    yield f"{name}: {needed} questions", POWER, _detected(dice, drawn, spread, repetitions)
    few = replace(scatter, clusters=Clusters.so_many(number))
    if power(few, 0.05, 10**9) >= 0.8:
        kept = questions_for_difference(few, 0.05, 0.8) or 0
        held = _detected(dice, lambda: np.arange(kept, kept + number) // number, spread, repetitions)
        yield f"{name}: {kept} questions of as many clusters", POWER, held


def _detected(dice: np.random.Generator, sizes: Callable[[], np.ndarray], spread: float, repetitions: int) -> float:
    """How often the test that `viva compare` decides by finds the difference, in clusters of such sizes."""
    return float(np.mean([_p_of_clusters(dice, sizes(), spread) <= 0.05 for _ in range(repetitions)]))


def _p_of_clusters(dice: np.random.Generator, sizes: np.ndarray, spread: float) -> float:
    """p of the differences -1, 0 and 1 of two models: each cluster's mean is normal around .05, its variance .3."""
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    means = np.clip(0.05 + dice.normal(0, spread, len(sizes)), -0.83, 0.83)[clusters]
    drawn, differing = dice.random(len(clusters)), 0.3 + means**2
    values = np.where(drawn < (differing + means) / 2, 1.0, np.where(drawn < differing, -1.0, 0.0))
    alone = mean_of(values, np.arange(len(values)), signed=True).floor
    columns = {"points": values, "answered": np.ones(len(values))}
    variance, worth, degrees = Clustered(columns, 0 * clusters, clusters).variance("", [alone.mean], alone)
    spread_of = replace(alone, variance=variance, worth=worth, degrees=degrees, zero_one=False)
    return float(2 * stdtr(degrees, -spread_of.statistic))


def of_few(repetitions: int) -> Iterator[Found]:
    """Intervals from few questions drawn by weight; by normal theory 75 % held with 5 questions."""
    for name, model, counts in (("guesser", _guesser, (2, 5, 20, 40, 60)), ("expert", _expert, (20, 60, 200))):
        held = np.mean([_held(*model(seed), counts, seed) for seed in range(repetitions)], axis=0)
        for count, share in zip(counts, held, strict=True):
            yield f"{name}, {count} questions drawn", "holds in 95 %", float(share)


def _guesser(seed: int) -> tuple[Floats, Floats]:
    """Four guessers' answers to 96 questions with four options, and one more's: nothing tells easy ones from hard."""
    scores = (np.random.default_rng([seed, 77]).random((5, 96)) < 0.25).astype(float)
    return scores[:4], scores[4]


def _expert(seed: int) -> tuple[Floats, Floats]:
    """Six models' answers to 400 questions, and those of one that fails in 3 %, at random."""
    dice = np.random.default_rng(seed)
    known = dice.random((6, 400)) < 1 / (1 + np.exp(2 * (np.linspace(-2.5, 2.5, 400) - dice.normal(size=(6, 1)))))
    return known.astype(float), (dice.random(400) < 0.97).astype(float)


def _held(known: Floats, mine: Floats, counts: tuple[int, ...], seed: int) -> list[bool]:
    """Whether the interval of each number of questions holds."""
    size, full, drawn = len(mine), float(mine.mean()), list[Draw]()
    frame = Frame(questions=tuple(map(str, range(size))), shares=np.full(size, 1 / size))
    _, curves = known_curves(known, np.full(size, 1 / size))
    for count in (50, *[20] * 8):
        if len(drawn) < max(counts):
            places = frame.places(drawn)
            expected = predict_scores(curves, places, mine[places])
            targets = [Target(predicted=expected, variance=expected * (1 - expected))]
            drawn += draws(frame, targets, drawn, count, seed)
    at = [Answers(draws=drawn[:count], values=mine[frame.places(drawn[:count])]) for count in counts]
    return [found.low <= full <= found.high for found in (fixed(one, len(one.draws)) for one in at)]


DESIGNS = (of_probes, of_severity, of_levels, of_power, of_few)
