"""How a model will probably score on each question, from the answers of known models and from its own so far.

Curves (`curves`) of the known models' answers, with lower asymptotes for guessing, say how likely a model of each
full score is to answer a question; the model's own answers say how probable each full score is. A prediction is the
mean over these (adaptive tests of language models: Hofmann et al. 2025, Fluid Benchmarking, arXiv 2509.11106).

Whom a model resembles, found by a ridge logistic regression on the known models' residuals, was tried: on MMLU-Pro's 16
models it narrowed no interval (1.48 points to both sides with it, 1.47 without, of 2,000 of 12,032 questions).
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from viva.lab.items.anchor_choice import Indices, known_curves
from viva.lab.items.curves import GRID, SCORES, Floats, abilities_of

FEWEST = 4
"""Models from which on it is looked whether one ability explains their answers."""
_SIMULATED = 3


class Dimensions(Struct, frozen=True, kw_only=True):
    """Whether one ability explains which questions models answer: the largest eigenvalue of the correlations of the
    models' Pearson residuals over questions, and the largest in answers simulated from the curves (parallel analysis:
    Horn 1965, Psychometrika 30:179-185)."""

    largest: float
    expected: float

    @property
    def several(self) -> bool:
        """Whether there is more than one."""
        return self.largest > 1.05 * self.expected


def predict_scores(curves: Floats, places: Indices, answers: Floats) -> Floats:
    """Return the expected score on every question, given the `answers` (shares of 1) to those at `places`.

    `curves`: probabilities, questions × `GRID`. Before any answer all full scores in the grid are equally probable.
    """
    seen = curves[places]
    probable = answers @ np.log(seen) + (1 - answers) @ np.log1p(-seen) + np.log(SCORES * (1 - SCORES))
    probable = np.exp(probable - probable.max())
    found: Floats = curves @ (probable / probable.sum())
    return found


def dimensions(scores: Floats, shares: Floats) -> Dimensions | None:
    """Of known models' scores, models × questions, nan where there is none; None of too few models.

    Only what all models answered counts.
    """
    there = np.isfinite(scores).all(axis=0)
    if len(scores) < FEWEST or int(there.sum()) <= len(scores):
        return None
    mine = shares[there] / shares[there].sum()
    largest, expected = _largest(scores[:, there], mine)
    dice = np.random.default_rng(0)
    simulated = [_largest((dice.random(expected.shape) < expected).astype(float), mine)[0] for _ in range(_SIMULATED)]
    return Dimensions(largest=largest, expected=max(simulated))


def _largest(scores: Floats, shares: Floats) -> tuple[float, Floats]:
    """Return the largest eigenvalue, and the expected scores."""
    full, curves = known_curves(scores, shares)
    expected = np.array([_at(curves, ability) for ability in abilities_of(full)])
    residuals = (np.clip(scores, 0.0, 1.0) - expected) / np.sqrt(expected * (1 - expected))
    return float(np.linalg.eigvalsh(np.corrcoef(residuals))[-1]), expected


def _at(curves: Floats, ability: float) -> Floats:
    """Return the curves' values at an ability, between the points of the grid linearly."""
    place = float(np.clip((ability - GRID[0]) / (GRID[1] - GRID[0]), 0, len(GRID) - 1 - 1e-9))
    below, part = int(place), place - int(place)
    found: Floats = (1 - part) * curves[:, below] + part * curves[:, below + 1]
    return found
