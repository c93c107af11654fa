"""Simulated models of known ability on questions of known difficulty, and the LSAT's section 6 of the textbooks."""

from typing import NamedTuple

import numpy as np

from viva.analysis.items.itemscores import Floats

# Bock and Lieberman (1970, Psychometrika 35:179-197): how many of 1,000 people gave each pattern of right answers to
# the five questions, 00000 to 11111 in the order of binary numbers.
LSAT6 = (
    *(3, 6, 2, 11, 1, 1, 3, 4, 1, 8, 0, 16, 0, 3, 2, 15),
    *(10, 29, 14, 81, 3, 28, 15, 80, 16, 56, 21, 173, 11, 61, 28, 298),
)


def lsat6() -> Floats:
    """People × questions."""
    patterns = np.array([[int(digit) for digit in f"{number:05b}"] for number in range(32)], dtype=float)
    return np.repeat(patterns, LSAT6, axis=0)


class World(NamedTuple):
    """What is true, and what was answered."""

    ability: Floats
    discrimination: Floats
    difficulty: Floats
    scores: Floats

    @property
    def standard(self) -> Floats:
        """Abilities on the scale of a fit: mean 0, variance 1 over these models."""
        found: Floats = (self.ability - self.ability.mean()) / self.ability.std()
        return found


def probability(ability: Floats, discrimination: Floats, difficulty: Floats) -> Floats:
    """How likely each model is to answer each question, by the 2PL: models × questions."""
    return 1 / (1 + np.exp(-(np.outer(ability, discrimination) - discrimination * difficulty)))


def world(
    models: int, questions: int, seed: int, *, spread: float = 0.3, easy: float = 0.5, guessing: float = 0.0
) -> World:
    """A 2PL world, or a 3PL one; `easy` is how far the mean question lies below the mean model."""
    dice = np.random.default_rng(seed)
    ability = dice.normal(size=models)
    discrimination = np.exp(dice.normal(0, spread, questions))
    difficulty = dice.normal(-easy, 1, questions)
    p = guessing + (1 - guessing) * probability(ability, discrimination, difficulty)
    return World(ability, discrimination, difficulty, (dice.random(p.shape) < p).astype(float))


def subjects(models: int, questions: int, seed: int) -> Floats:
    """Scores of models that also have strengths of their own, in eight subjects and single questions, and guess."""
    dice = np.random.default_rng(seed)
    able = 0.8 * dice.normal(size=(models, 1)) + 0.4 * dice.normal(size=(models, 8))[:, dice.integers(0, 8, questions)]
    able = able + 0.3 * dice.normal(size=(models, questions))
    p = 0.2 + 0.8 / (1 + np.exp(-np.exp(dice.normal(0, 0.35, questions)) * (able - dice.normal(-0.5, 1.3, questions))))
    return (dice.random(p.shape) < p).astype(float)
