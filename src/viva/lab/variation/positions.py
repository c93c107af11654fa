"""Whether a model prefers options for where they stand: what it chooses at a letter, against where the gold answer is.

With options in every order a model without preference chooses each letter as often as the gold answer stands there
(Zheng et al., arXiv 2309.03882, section 2; Pezeshkpour and Hruschka, arXiv 2308.11483).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from viva.analysis.uncertainty import t_quantile


class Position(Struct, frozen=True, kw_only=True):
    """One letter. Shares of answers."""

    letter: str
    gold: float
    chosen: float
    low: float
    high: float
    """The 95 % interval of `chosen` − `gold`; answers to one question count as one."""
    right: float | None
    """Of the answers whose gold stands there, the share that is right."""


def positions(questions: Sequence[Sequence[tuple[str, str]]]) -> tuple[Position, ...]:
    """Return the letters that are gold somewhere, in their order. `questions`: of each, (chosen, gold) of its answers;
    questions count alike. Empty for fewer than two questions."""
    answered = [answers for answers in questions if answers]
    if len(answered) < 2:
        return ()
    found = []
    for letter in sorted({gold for answers in answered for _, gold in answers}):
        chosen = [sum(said == letter for said, _ in answers) / len(answers) for answers in answered]
        gold = [sum(said == letter for _, said in answers) / len(answers) for answers in answered]
        gains = [one - other for one, other in zip(chosen, gold, strict=True)]
        count = len(gains)
        mean = math.fsum(gains) / count
        error = math.sqrt(math.fsum((gain - mean) ** 2 for gain in gains) / (count - 1) / count)
        there = [said == letter for answers in answered for said, place in answers if place == letter]
        half = t_quantile(count - 1) * error
        found.append(
            Position(
                letter=letter,
                gold=math.fsum(gold) / count,
                chosen=math.fsum(chosen) / count,
                low=mean - half,
                high=mean + half,
                right=sum(there) / len(there) if there else None,
            )
        )
    return tuple(found)
