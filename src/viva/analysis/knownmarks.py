"""Judges held to answers whose marks are known."""

from __future__ import annotations

import statistics

from msgspec import Struct

NEAR = 0.2
"""So near to the known mark a verdict agrees: on 0, ½, 1 the same mark, on 1 to 10 two steps at most."""


class CanaryMarks(Struct, frozen=True, kw_only=True):
    """One judge's marks for the canaries of one exam."""

    exam: str
    judge: str
    known: tuple[float, ...]
    """The known mark of every verdict that was asked for."""
    given: tuple[float | None, ...]
    """What the judge gave; None where it gave nothing that could be read, or no decision."""

    @property
    def agreement(self) -> float | None:
        """The share of verdicts that agree; one that is missing does not. None where none was asked for."""
        near = [
            mark is not None and abs(mark - known) <= NEAR + 1e-9
            for known, mark in zip(self.known, self.given, strict=True)
        ]
        return statistics.fmean(near) if near else None

    def mean(self, *, right: bool) -> tuple[float | None, int]:
        """The mean mark of the answers known to be right (from ½ on), or wrong, and how many verdicts that is of."""
        pairs = zip(self.known, self.given, strict=True)
        marks = [mark for known, mark in pairs if mark is not None and (known >= 0.5) == right]
        return (statistics.fmean(marks) if marks else None), len(marks)
