"""What judges gave answers whose marks are known: how far their verdicts can be trusted at all."""

from __future__ import annotations

from collections.abc import Sequence

from viva.analysis.canaries import NEAR, CanaryMarks
from viva.analysis.wording import percent
from viva.render.table import Grid

POOR = 0.9
"""Below this share of verdicts that agree, a note says so."""


def canaries_grid(found: Sequence[CanaryMarks]) -> Grid:
    """A row an exam and judge, marks in per cent of the full mark."""
    header = (
        *("exam", "judge", "verdicts", "known right: mean mark", "known wrong: mean mark"),
        *(f"within {NEAR:g} of the known mark", "no mark"),
    )
    rows = tuple(
        (
            one.exam,
            one.judge,
            f"{len(one.known):,}",
            *(f"{percent(mean)} ({count:,})" for mean, count in (one.mean(right=True), one.mean(right=False))),
            "–" if one.agreement is None else f"{percent(one.agreement, 1)} %",
            f"{one.given.count(None):,}",
        )
        for one in found
    )
    return Grid("Canaries: answers with known marks, in no mean", header, rows)


def canary_notes(found: Sequence[CanaryMarks]) -> list[str]:
    """A line for every judge that marks known answers otherwise."""
    return [
        f"{one.judge} gave {percent(one.agreement, 0)} % of the canaries of {one.exam} their known marks: read its "
        "verdicts with care."
        for one in found
        if one.agreement is not None and one.agreement < POOR
    ]
