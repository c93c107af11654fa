"""What judges gave answers whose marks are known: how far their verdicts can be trusted at all."""

from __future__ import annotations

from collections.abc import Sequence

from viva.analysis.knownmarks import NEAR, CanaryMarks
from viva.analysis.wording import percent
from viva.render.table import COUNT, FIGURE, NAME, Column, Kind, Table

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
    """A row an exam and judge, marks in per cent of the full mark."""
    return Table("Canaries: answers with known marks, in no mean", _COLUMNS, marks)


def canary_notes(found: Sequence[CanaryMarks]) -> list[str]:
    """A line for every judge that marks known answers otherwise."""
    return [
        f"{one.judge} gave {percent(one.agreement, 0)} % of the canaries of {one.exam} their known marks: read its "
        "verdicts with care."
        for one in found
        if one.agreement is not None and one.agreement < POOR
    ]
