"""What judges gave answers whose marks are known: how far their verdicts can be trusted at all."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from msgspec import Struct

from viva.analysis.wording import percent
from viva.render.table import COUNT, FIGURE, NAME, Column, Kind, Table

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
        """Return the mean mark of the answers known to be right (from ½ on), or wrong, and how many verdicts that is
        of.
        """
        pairs = zip(self.known, self.given, strict=True)
        marks = [mark for known, mark in pairs if mark is not None and (known >= 0.5) == right]
        return (statistics.fmean(marks) if marks else None), len(marks)


POOR = 0.9
"""Below this share of verdicts that agree, a note says so."""


def _mean(*, right: bool) -> Column:
    def value(marks: CanaryMarks) -> str:
        mean, count = marks.mean(right=right)
        return f"{percent(mean)} ({count:,})"

    return Column(f"known {'right' if right else 'wrong'}: mean mark", value, FIGURE)


_COLUMNS = (
    Column("exam", "exam", NAME), Column("judge", "judge", NAME),
    Column("verdicts", lambda marks: len(marks.known), COUNT), _mean(right=True), _mean(right=False),
    Column(f"within {NEAR:g} of the known mark", "agreement", Kind(lambda share: f"{percent(share, 1)} %")),
    Column("no mark", lambda marks: marks.given.count(None), COUNT),
)  # fmt: skip


def canaries_table(marks: Sequence[CanaryMarks]) -> Table:
    """Return a row an exam and judge, marks in per cent of the full mark."""
    return Table("Canaries: answers with known marks, in no mean", _COLUMNS, marks)


def canary_notes(found: Sequence[CanaryMarks]) -> list[str]:
    """Return a line for every judge that marks known answers otherwise."""
    return [
        f"{one.judge} gave {percent(one.agreement, 0)} % of the canaries of {one.exam} their known marks: read its "
        "verdicts with care."
        for one in found
        if one.agreement is not None and one.agreement < POOR
    ]
