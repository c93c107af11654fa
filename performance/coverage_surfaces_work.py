"""The numbers that a user gets: `viva.grade` over a file of questions, then `viva.compare` and `viva.breakdown`.

A world is a set and two models that are equal on it, drawn over and over: all these models are one run. A reply has as
many of twenty wanted words as it earns twentieths; one that is lost is null in the file, or not in it.
"""

from __future__ import annotations

import functools
import json
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from coverage_clusters_work import Design, answered
from coverage_compared_work import SKEWED, alarms
from coverage_means_work import of_several
from coverage_sets_work import LEVEL, Floats, Rate, Row, Study, counted, drawn, held, inside, lost

import viva
from viva.analysis.comparing import Difference

WORDS = [f"word{chr(ord('a') + place)}" for place in range(20)]
FIVE = "5 questions a text"
PARTS = 4
"""Slices of whole texts, the first of which is looked at."""
Pair = tuple[Floats, Floats]


class World(NamedTuple):
    """What two equal models' scores are like, and what is lost of them."""

    name: str
    scores: Callable[[np.random.Generator, int, int], Pair]
    """Of (sets, questions): two models' sets × questions × answers."""
    mean: float
    lost: float = 0.0
    hard: bool = False
    """Whether wrong answers are lost three times as often as right ones."""
    clustered: bool = False


def alone(kind: str, mean: float, dice: np.random.Generator, sets: int, n: int) -> Pair:
    """Questions of unlike difficulty; hard ones are so for both."""
    if kind == "ten answers":
        chance = dice.beta(mean / 2, (1 - mean) / 2, (sets, n, 1))
        first, second = ((dice.random((sets, n, 10)) < chance).astype(float) for _ in range(2))
        return first, second
    chance = dice.beta(2 * mean, 2 * (1 - mean), (sets, n))
    first, second = (np.round(20 * drawn(dice, kind, (sets, n), chance)) / 20 for _ in range(2))
    return first, second


def shared(mean: float, dice: np.random.Generator, sets: int, n: int) -> Pair:
    """Five questions about a text."""
    first, second = answered(dice, Design(FIVE).shape(dice, n // 5), sets, [mean, mean])
    return first, second


def skewed(dice: np.random.Generator, sets: int, n: int) -> Pair:
    """Few questions gain much, the others lose a little."""
    differences = SKEWED["one in ten gains .45, the others lose .05"]
    apart = np.stack([differences(dice, n) for _ in range(sets)])[:, :, None]
    return np.full_like(apart, 0.5), 0.5 + apart


WORLDS = [
    *(World("once", functools.partial(alone, "once", mean), mean) for mean in (0.5, 0.9)),
    World("fractions", functools.partial(alone, "fractions", 0.8), 0.8),
    World("skewed pairs", skewed, 0.5),
    *(World("shared texts", functools.partial(shared, mean), mean, clustered=True) for mean in (0.5, 0.9)),
    World("10 % lost at random", functools.partial(alone, "once", 0.8), 0.8, 0.1),
    World("10 % lost, wrong ones more often", functools.partial(alone, "once", 0.8), 0.8, 0.1, True),
    World("shared texts, 10 % lost", functools.partial(shared, 0.8), 0.8, 0.1, clustered=True),
]
TEN = functools.partial(alone, "ten answers", 0.5)
SEVERAL = [
    World("ten answers", TEN, 0.5),
    World("ten answers, 10 % lost at random", TEN, 0.5, 0.1),
    World("ten answers, 10 % lost, wrong ones more often", TEN, 0.5, 0.1, True),
]
MOST = 500
"""Pairs that `viva.compare` takes at once."""
WAYS = ("mean", "best", "pass@5", "pass^5")


@contextmanager
def graded(world: World, sets: int, n: int) -> Iterator[viva.Run]:
    """A run of models a0, b0, a1, ..., graded."""
    dice = np.random.default_rng([n, 71, len(world.name), round(100 * world.mean)])
    sides = list(world.scores(dice, sets, n))
    if world.lost:
        sides = [lost(dice, each, world.lost, world.mean, hard=world.hard) for each in sides]
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore", viva.UnansweredWarning)
        folder = Path(name)
        wanted = WORDS if set(np.unique(sides)) - {0.0, 1.0} else WORDS[:1]
        questions = [
            {
                "id": f"q{place}",
                "question": f"Question {place}?",
                "tags": {"part": str(place // 5 % PARTS)},
                "grading": {"keywords": wanted},
            }
            | ({"cluster": f"text {place // 5}"} if world.clustered else {})
            for place in range(n)
        ]
        (folder / "set.json").write_text(json.dumps({"questions": questions}), "utf-8")
        files = [folder / f"{side}{number}.jsonl" for number in range(sets) for side in "ab"]
        for number in range(sets):
            for side, scores in zip("ab", sides, strict=True):
                file = folder / f"{side}{number}.jsonl"
                file.write_text("\n".join(_replies(scores[number], wanted)), "utf-8")
        yield viva.grade(folder / "set.json", files, run=folder / "run")


def _replies(scores: Floats, wanted: Sequence[str]) -> Iterator[str]:
    for place, answers in enumerate(scores.tolist()):
        for sample, score in enumerate(answers):
            reply = {"question": f"q{place}", "sample": sample}
            if score == score:
                yield json.dumps(reply | {"text": " ".join(["no", *wanted[: round(score * len(wanted))]])})
            elif place % 2:
                yield json.dumps(reply | {"text": None})


def compared(run: viva.Run, sets: int, truth: float, way: str = "mean") -> list[Rate]:
    """Of a score, of a difference, and of its test: how often it is right."""
    pairs = [f"a{number}=b{number}" for number in range(sets)]
    (found,) = viva.compare(run, pairs=pairs, aggregate=way, correct="none").found
    scores = {side.name: side.estimate for side in found.contestants}
    if way == "mean":
        assert scores == {result.model: result.overall for result in run.results}, "two numbers for one score"
    differences = [row.found for row in found.rows]
    return [held([scores[f"a{number}"] for number in range(sets)], truth), held(differences, 0.0), quiet(differences)]


def quiet(differences: Sequence[Difference]) -> Rate:
    """How many have no p of at most .05."""
    found = alarms(differences)
    return Rate(found.of - found.hits, found.of)


def sliced(run: viva.Run, sets: int) -> list[Rate]:
    """Of the first slice's difference from the rest, and of its test."""
    found = viva.breakdown(run, by=["part"], model=[f"a{number}" for number in range(sets)]).found
    parts = [next(part for part in each.slices if part.name == "0") for each in found]
    alarm = [part.p is not None and part.p <= LEVEL for part in parts]
    return [counted([inside(part.low, part.high, 0.0) for part in parts]), counted(np.logical_not(alarm))]


def of_world(world: World, repetitions: int, n: int) -> Row:
    """One answer to a question."""
    sets = min(repetitions, MOST)
    with graded(world, sets, n) as run:
        rates = [*compared(run, sets, world.mean), *sliced(run, sets)]
    return Row(f"{world.name}, mean {world.mean:g}", n, rates)


def of_several_ways(world: World, repetitions: int, n: int) -> Row:
    """Ten answers to a question, that count as their mean, the best of them, and what k of them come to."""
    sets = min(repetitions, MOST)
    with graded(world, sets, n) as run:
        rates = [
            rate
            for way in WAYS
            for rate in compared(run, sets, world.mean if way == "mean" else of_several(way, world.mean), way)
        ]
    return Row(world.name, n, rates)


TEXT = (
    "A run of equal models, graded by `viva.grade` and compared in pairs by `viva.compare`; a slice of whole texts "
    "against the rest by `viva.breakdown`. A score's truth is the mean of all questions that might have been asked, "
    "nothing lost; that of a difference is 0. A cell is how often an interval holds it, and how often p is above .05."
)
STUDIES = [
    Study(
        "What users get: one answer to a question",
        TEXT,
        ("score", "difference", "its p", "slice", "its p"),
        [functools.partial(of_world, world) for world in WORLDS],
        sizes=(60,),
        cost=5,
    ),
    Study(
        "What users get: ten answers to a question",
        TEXT,
        [f"{way}{what}" for way in WAYS for what in (": score", ": difference", ": its p")],
        [functools.partial(of_several_ways, world) for world in SEVERAL],
        sizes=(20,),
        cost=5,
    ),
]
