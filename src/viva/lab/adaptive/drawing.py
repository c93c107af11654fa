"""Drawing of questions: the least predictable scores are the most likely, each with a known probability.

`analysis.items.weightedsampling` has the estimates that use the probabilities, and the record of a draw.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from viva.analysis.items.weightedsampling import Draw, Term

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

LEAST = 0.04
"""The least predicted variance of a score, about that of a 0/1 score with mean 0.04. Predictions near 0 and 1 are wrong
more often than they say, and a question hardly ever drawn would weigh too much when it is."""


class Target(Struct, frozen=True, kw_only=True, eq=False):
    """A mean to estimate, with predictions for every question."""

    predicted: Floats
    variance: Floats
    lowest: float = 0.0
    """The least that a value can be; −1 of differences."""


class Frame(Struct, frozen=True, kw_only=True, eq=False):
    """The questions of a full score."""

    questions: tuple[str, ...]
    shares: Floats
    """The questions' shares of the full score; they sum to 1."""

    def places(self, drawn: Sequence[Draw]) -> Indices:
        """Return the places of the drawn questions."""
        place_of = {question: place for place, question in enumerate(self.questions)}
        return np.array([place_of[draw.question] for draw in drawn], dtype=np.int64)


def draws(frame: Frame, targets: Sequence[Target], drawn: Sequence[Draw], count: int, seed: int) -> list[Draw]:
    """Return the next `count` questions in the order drawn; fewer where fewer are left. Deterministic.

    Probabilities are those for the last target. `drawn`: all earlier draws.
    """
    number = drawn[-1].round + 1 if drawn else 1
    dice = np.random.default_rng([seed % 2**63, number])
    shares = frame.shares
    left = shares > 0
    left[frame.places(drawn)] = False
    places = np.flatnonzero(left)
    s = shares[places]
    size = s * np.sqrt(np.maximum(targets[-1].variance[places], LEAST))
    # Of exponential times at these rates, each question's is the smallest with probability qₜ; so are the next ones.
    order = np.argsort(dice.exponential(size=len(places)) / size, kind="stable")[:count]

    def remaining(values: Floats) -> Floats:
        """Return the sum over the remaining questions before each draw."""
        return np.flip(np.cumsum(np.flip(np.concatenate([values[order], [np.delete(values, order).sum()]]))))[:-1]

    sizes, share = remaining(size), remaining(s)
    columns: list[list[Term]] = []
    for target in targets:
        m = np.clip(target.predicted[places], target.lowest, 1.0)
        squares = np.maximum(sizes * remaining(s * s * np.maximum(target.variance[places], LEAST) / size), 1e-12)
        down, up = (float((s * gap / size).max(initial=0.0)) for gap in (m - target.lowest, 1 - m))
        columns.append(
            [
                Term(predicted=float(m[place]), rest=rest, variance=variance, down=down * total, up=up * total)
                for place, rest, variance, total in zip(
                    order, remaining(s * m).tolist(), squares.tolist(), sizes.tolist(), strict=True
                )
            ]
        )
    return [
        Draw(
            question=frame.questions[places[place]],
            round=number,
            share=float(s[place]),
            probability=min(float(size[place] / sizes[index]), 1.0),
            left=float(share[index]),
            terms=tuple(terms[index] for terms in columns),
        )
        for index, place in enumerate(order)
    ]
