"""Ratings of known reliability: CS-Bench's consistency design, 100 answers, three annotators and a judge.

An answer's true mark is T, standard normal. A person marks T + s·E with an independent error E, the judge T + j·E. The
population's Cronbach's alpha of k people is k ρ / (1 + (k − 1) ρ) with ρ = 1/(1 + s²), and the correlation of the judge
with the mean person is √alpha / √(1 + j²). Both are chosen, s and j follow.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from viva.analysis.raters.ratings import Ratings

Floats = NDArray[np.float64]
MARKS: dict[str, Callable[[Floats], Floats]] = {
    "latent": lambda x: x,
    "1..10": lambda x: np.clip(np.round(5.5 + 2.2 * x), 1, 10),
    "0, 0.5, 1": lambda x: np.where(x > 0.3, 1.0, np.where(x > -0.6, 0.5, 0.0)),
    "0, 1": lambda x: (x > -0.25).astype(float),
}


def drawn(alpha: float, together: float, answers: int, seed: int, marks: str, people: int = 3) -> tuple[Floats, Floats]:
    """Answers × people, and the judge's marks."""
    generator = np.random.default_rng(seed)
    rho = alpha / (people - (people - 1) * alpha)
    own, judges = np.sqrt(1 / rho - 1), np.sqrt(alpha / together**2 - 1)
    worth = generator.normal(size=answers)
    human = worth[:, None] + own * generator.normal(size=(answers, people))
    judge = worth + judges * generator.normal(size=answers)
    return MARKS[marks](human), MARKS[marks](judge)


def consistency_design(alpha: float, together: float, seed: int, marks: str, answers: int = 100) -> Ratings:
    """The design, as ratings."""
    human, judge = drawn(alpha, together, answers, seed, marks)
    people = tuple(f"annotator {index + 1}" for index in range(human.shape[1]))
    return Ratings(
        items=tuple(f"answer {index}" for index in range(answers)),
        raters=(*people, "judge"),
        values=tuple((*map(float, row), float(mark)) for row, mark in zip(human, judge, strict=True)),
    )
