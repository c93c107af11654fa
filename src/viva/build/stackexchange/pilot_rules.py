"""Pilot runs tell which questions are no good: nobody passes, everybody passes, or the better models fail.

Pure: scores in, findings out. Passing is full marks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

Kind = Literal["nobody", "everybody", "unscored", "against the rest"]
KINDS: dict[Kind, str] = {
    "nobody": "no answer passes: too hard, or the criteria refuse right answers",
    "everybody": "every answer passes: too easy, or the criteria take anything",
    "unscored": "answers that could not be graded: no toolchain, or a pattern without end",
    "against the rest": "better models do worse: often a wrong criterion",
}
FULL = 1.0 - 1e-9


class Tried(Struct, frozen=True, kw_only=True):
    """What pilot models' answers to a question scored: `scores` is model → a score an answer, None for unscored.

    `discrimination` is the correlation of the models' scores on it with those on all other questions, None where
    fewer than three models were asked; `surely` whether it is below 0 also when it is kept in mind how many there are.
    """

    question: str
    scores: Mapping[str, Sequence[float | None]]
    discrimination: float | None = None
    surely: bool = False

    @property
    def graded(self) -> list[float]:
        """All scores there are."""
        return [score for scores in self.scores.values() for score in scores if score is not None]


class Finding(Struct, frozen=True, kw_only=True):
    """What is suspicious about a question; `show` says which answers to look at: the best, or the worst."""

    question: str
    kind: Kind
    said: str
    show: Literal["best", "worst"]
    chance: bool = False
    """Whether it may well be chance: few models move a correlation far."""


def findings(tried: Sequence[Tried]) -> list[Finding]:
    """What is suspicious, question by question in order; behind all else what may be chance."""
    found = [finding for one in tried for finding in _findings(one)]
    return [one for one in found if not one.chance] + [one for one in found if one.chance]


def _findings(one: Tried) -> list[Finding]:
    found: list[Finding] = []
    graded = one.graded
    total = sum(len(scores) for scores in one.scores.values())
    models = f"{len(one.scores):,} model{'' if len(one.scores) == 1 else 's'}"
    if graded and max(graded) < FULL:
        points = "none has a point" if max(graded) <= 0 else f"the best has {max(graded):.3g}"
        found.append(_finding(one, "nobody", f"{len(graded):,} answers of {models}: {points}", "best"))
    elif graded and min(graded) >= FULL:
        found.append(_finding(one, "everybody", f"{len(graded):,} answers of {models}", "worst"))
    if len(graded) < total:
        found.append(_finding(one, "unscored", f"{total - len(graded):,} of {total:,} answers", "best"))
    if one.discrimination is not None and one.discrimination < 0:
        sure = "also when it is kept in mind how many questions there are" if one.surely else "perhaps by chance"
        said = f"correlation with the rest {one.discrimination:+.2f} over {models}, {sure}"
        found.append(_finding(one, "against the rest", said, "worst", chance=not one.surely))
    return found


def _finding(one: Tried, kind: Kind, said: str, show: Literal["best", "worst"], *, chance: bool = False) -> Finding:
    return Finding(question=one.question, kind=kind, said=said, show=show, chance=chance)
