"""Who decided what: the share of rule, similarity, judges and experts in each aspect, and how far judges agreed."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import get_args

from msgspec import Struct

from viva.analysis.estimate import percent
from viva.render.table import COUNT, FIGURE, NAME, Column, Kind, Table, figure, item
from viva.types import Decider

DECIDERS: tuple[Decider, ...] = get_args(Decider)
OPEN = "undecided"
UNREAD = "not read"
"""Nothing to decide: empty, refused, or nothing in it that could be read as this aspect."""


class Several(Struct, frozen=True):
    """Answers with several verdicts: how many, the share on which all judges agree, and the mean of their spreads."""

    answers: int
    unanimous: float
    spread: float


class Decided(Struct, frozen=True):
    """Who decided how many answers, aspect by aspect, and how far judges agreed."""

    answers: int = 0
    counts: dict[str, dict[str, int]] = {}
    """Aspect → who decided it → how many answers."""
    several: dict[str, Several] = {}


def deciding_tables(found: Decided, about: str) -> list[Table]:
    """Return who decided each aspect, in shares of all answers, and how far judges agreed."""
    share = Kind(lambda count: f"{count:,} ({percent(count / found.answers, 1)} %)")
    deciders = (Column(name, item("1", name), share) for name in (*DECIDERS, OPEN, UNREAD))
    titled = (
        ("Who decided", (_ASPECT, *deciders), found.counts),
        ("How far the judges agreed (`viva agreement` says more)", _AGREED, found.several),
    )
    return [Table(f"{title}{about}", columns, list(rows.items())) for title, columns, rows in titled if rows]


_ASPECT = Column("", "0", NAME)
_AGREED = (
    _ASPECT, Column("answers with several verdicts", "1.answers", COUNT),
    Column("unanimous", "1.unanimous", Kind(lambda share: f"{percent(share, 1)} %")),
    Column("mean spread", "1.spread", figure(".3f")),
)  # fmt: skip


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
