"""Several answers to one question, as one number: best@k, pass@k and pass^k, unbiased for any k up to their number.

The maximum to expect of k answers drawn from the n without replacement. Of the sorted answers, the i-th from the top is
the maximum of C(n-i, k-1) of the C(n, k) draws. With scores of 0 and 1 that is pass@k of Chen et al. 2021 (arXiv
2107.03374); that all of k are right, pass^k, is Yao et al.'s (2024, arXiv 2406.12045, section 3). Grouped, as the
InfiBench paper reports it, answers in their order are cut into groups of k, whose maxima are averaged (`attempts`):
both expect the same, and the unbiased one scatters less.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache

from viva.errors import DataError

FULL = 1.0 - 1e-6
"""From here on a score is full marks: published scores are rounded to six decimals."""


@lru_cache(maxsize=256)
def maximum_weights(n: int, k: int) -> tuple[float, ...]:
    """How likely each of n scores, sorted downwards, is the maximum of k of them. Exact integers, rounded once.

    Raises DataError unless 1 <= k <= n.
    """
    if not 1 <= k <= n:
        raise DataError(f"best@{k} of {n} answers cannot be told: k is from 1 to the number of answers")
    draws = math.comb(n, k)
    count = math.comb(n - 1, k - 1)  # the draws of which the best score is one
    weights: list[float] = []
    for left in range(n - 1, k - 2, -1):  # so many scores are not better than this one
        weights.append(count / draws)
        count = count * (left - k + 1) // left if left else 0
    return tuple(weights)


def best_at(scores: Iterable[float], k: int) -> float:
    """The expected maximum of k of `scores`, drawn without replacement. Raises DataError: k > n, NaN, infinity."""
    ranked = sorted(_finite(scores), reverse=True)
    weights = maximum_weights(len(ranked), k)
    return math.fsum(weight * score for weight, score in zip(weights, ranked, strict=False))


def pass_at(scores: Iterable[float], k: int = 1, full: float = FULL) -> float:
    """pass@k, unbiased: how likely at least one of k answers, drawn without replacement, has full marks."""
    return best_at([float(score >= full) for score in _finite(scores)], k)


def all_at(scores: Iterable[float], k: int = 1, full: float = FULL) -> float:
    """pass^k, unbiased: how likely all of k answers, drawn without replacement, have full marks."""
    return 1.0 - best_at([float(score < full) for score in _finite(scores)], k)


def _finite(scores: Iterable[float]) -> list[float]:
    found = list(scores)
    for place, score in enumerate(found):
        if not math.isfinite(score):
            raise DataError(f"score {score} (the {place + 1}. of {len(found)}) is no number that can be compared")
    return found
