"""Anchor questions: a few that predict a model's score on all questions, with an error.

1. *Curves*: how likely a model of each full score is to answer each question (`curves`).
2. *Choosing*: the exam, in a given order that keeps alike questions together, is cut into blocks of equal share, and
   each block gives the same number of anchors: models have strengths by subject, and anchors that are the sharpest of
   all come from few subjects. Within a block the questions are taken one by one that most reduce the expected squared
   error of a score (Fisher information, as adaptive tests use it, for language models Hofmann et al. 2025, arXiv
   2509.11106), evenly over the scores of the known models and a little beyond. Nothing is random.
   (The known models' own answers determined the anchors, so their scores cannot be predicted.)
3. *Reading*: the answers to the anchors, by the same curves, say how probable each ability is; the prediction is what
   the model scored on the anchors and what such abilities are expected to score on all other questions, each with its
   share of the exam (p-IRT of Polo et al. 2024, arXiv 2402.14992, with a distribution for the ability).

`anchor_error` estimates the error by cross-validation over families of models.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from viva.analysis.uncertainty import t_quantile
from viva.errors import DataError
from viva.lab.items.curves import GRID, SLOPE, Floats, Indices, abilities_of, known_curves, probable_scores

BLOCKS = 25
"""Number of blocks of the exam, if there are enough anchors."""
PER_BLOCK = 4
"""The fewest anchors of a block."""
BEYOND = 0.5
"""Anchors are chosen for abilities up to this many logits below the worst and above the best known model."""
KNOWN = 1.0
"""Information on every ability before a block's first anchor, which would otherwise be chosen for one ability alone."""

_ALIKE = 1 - 1e-9


class Reader(Struct, frozen=True, kw_only=True, eq=False):
    """All data for a prediction except the answers."""

    shares: Floats
    """The anchors' shares of the full score."""
    curves: Floats
    """Anchors × `GRID`."""
    rest: Floats
    """The expected contribution of all other questions to the full score, by ability."""
    scatter: float
    """The variance of that contribution, given the ability."""


class Anchors(Struct, frozen=True, kw_only=True, eq=False):
    """The chosen questions, in their order."""

    questions: Indices
    reader: Reader
    lowest: float
    """The lowest full score of a known model."""
    highest: float


def choose(scores: Floats, count: int, shares: Floats | None = None) -> Anchors:
    """Return `count` anchors from the scores of known models, models × questions, nan where missing.

    `shares`: the questions' shares of the full score; equal for None. Similar questions should be adjacent; their order
    has no other meaning. Raises DataError for a count that is not from 2 to the number of questions, and for a model
    without a score.
    """
    shares = checked(scores, count, shares)
    full, curves = known_curves(scores, shares)
    questions = chosen_by(curves, count, shares, full, np.arange(len(shares)))
    return Anchors(
        questions=questions,
        reader=reader_of(curves, questions, shares),
        lowest=float(full.min()),
        highest=float(full.max()),
    )


def predict(reader: Reader, answers: Floats) -> tuple[float, float]:
    """Return a full score predicted from scores on the anchors (nan: missing), and its standard deviation.

    Both are shares of 1; the deviation is that of models whose answers follow the curves.
    """
    there = np.isfinite(answers)
    points, curves = np.clip(answers[there], 0.0, 1.0), reader.curves[there]
    probable = probable_scores(curves, points)
    rest = reader.rest + reader.shares[~there] @ reader.curves[~there]
    value = float(probable @ rest)
    spread = float(probable @ (rest - value) ** 2)
    seen = float(reader.shares[there] @ answers[there])
    return min(1.0, max(0.0, seen + value)), float(np.sqrt(spread + reader.scatter))


def interval(value: float, spread: float, inflation: float, families: int) -> tuple[float, float]:
    """Return the 95 % interval of a prediction: Student's t, as `inflation` is known from so few families."""
    half = t_quantile(max(families - 1, 1)) * inflation * spread
    return max(0.0, value - half), min(1.0, value + half)


def checked(scores: Floats, count: int, shares: Floats | None) -> Floats:
    """Return the questions' shares of the full score, summing to 1. Raises as `choose` does."""
    questions = scores.shape[1]
    if not 2 <= count <= questions:
        raise DataError(f"{count:,} anchors of {questions:,} questions cannot be chosen: it takes 2 to {questions:,}")
    if not np.isfinite(scores).any(axis=1).all():
        raise DataError("anchors are chosen by models that have scores, and one has none")
    if shares is None:
        return np.full(questions, 1 / questions)
    normalised: Floats = shares / shares.sum()
    return normalised


def chosen_by(
    curves: Floats, count: int, shares: Floats, full: Floats, among: Indices, *, blocks: int = BLOCKS
) -> Indices:
    """Return the anchors among the questions `among`, which are in the exam's order."""
    lowest, highest = abilities_of(np.array([full.min(), full.max()]))
    serves = (lowest - BEYOND <= GRID) & (highest + BEYOND >= GRID)
    weights = SLOPE[serves] ** 3  # a variance of the ability is one of the score by slope²; scores count evenly
    steps = np.gradient(curves[among], GRID, axis=1)[:, serves]
    likely = curves[among][:, serves]
    information = steps**2 / (likely * (1 - likely))
    chosen: list[Indices] = []
    for block, wanted in _blocks(shares[among], count, blocks):
        known = np.full(int(serves.sum()), KNOWN)
        left = np.ones(len(block), dtype=bool)
        for _ in range(wanted):
            gain = np.where(left, (1 / known - 1 / (known + information[block])) @ weights, -1.0)
            best = int(np.argmax(gain >= gain.max() * _ALIKE))  # the first of equals, whatever the rounding
            left[best] = False
            known = known + information[block[best]]
        chosen.append(among[block[~left]])
    return np.sort(np.concatenate(chosen))


def reader_of(curves: Floats, questions: Indices, shares: Floats) -> Reader:
    """Return the reader of answers to these questions."""
    others = np.ones(len(shares), dtype=bool)
    others[questions] = False
    likely = curves[others]
    middle = likely[:, len(GRID) // 2] if len(likely) else np.zeros(0)
    return Reader(
        shares=shares[questions],
        curves=curves[questions],
        rest=shares[others] @ likely,
        scatter=float(shares[others] ** 2 @ (middle * (1 - middle))),
    )


def _blocks(shares: Floats, count: int, most: int) -> list[tuple[Indices, int]]:
    """Return blocks of consecutive questions of about equal share, each with its number of anchors, at most its
    size.
    """
    number = max(1, min(most, count // PER_BLOCK))
    middle = np.cumsum(shares) - shares / 2
    of = np.minimum((middle / shares.sum() * number).astype(np.int64), number - 1)
    blocks = [np.flatnonzero(of == place) for place in range(number)]
    wanted = [len(part) for part in np.array_split(np.arange(count), number)]
    short = 0
    for place in [*range(number), *range(number)]:  # anchors that a block is too small for go to the next ones
        asked = wanted[place] + short
        wanted[place] = min(asked, len(blocks[place]))
        short = asked - wanted[place]
    return list(zip(blocks, wanted, strict=True))
