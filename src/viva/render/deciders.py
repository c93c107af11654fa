"""Who decided what: the share of rule, similarity, judges and experts in each aspect, and how far judges agreed."""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import get_args

from msgspec import Struct

from viva.analysis.wording import percent
from viva.render.table import COUNT, FIGURE, NAME, Column, Kind, Table, figure, item
from viva.scorers.resolution import spread
from viva.types import ANSWER, SCORED, Decider, Score, ScoreRow

DECIDERS: tuple[Decider, ...] = get_args(Decider)
OPEN = "undecided"
UNREAD = "not read"
"""Nothing to decide: empty, refused, or nothing in it that could be read as this aspect."""


_UNDECIDED = frozenset({"error", "not asked", "unsound"})
_CHUNK = 4096
_BY_RULE: Mapping[str, Decider] = {ANSWER: "rule"}
"""Of a score that names nobody: exams without rationales say only who else decided."""


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


class DeciderCounts:
    """Sums up, score by score, who decided each aspect."""

    def __init__(self) -> None:
        self._by: dict[str, Counter[str]] = {}
        self._spreads: dict[str, list[float]] = {}
        self._answers = 0

    def watched(self, rows: Iterable[ScoreRow]) -> Iterator[ScoreRow]:
        """Yield the rows of a run on their way: each is taken in."""
        source = iter(rows)
        while taken := list(itertools.islice(source, _CHUNK)):
            self.watch_all(taken)
            yield from taken

    def watch_all(self, rows: Sequence[ScoreRow]) -> None:
        """Take in several scores; those of a rule alone, which may be a million, by their outcomes."""
        if any(map(attrgetter("decided"), rows)) or any(map(attrgetter("verdicts"), rows)):
            for row in rows:
                self.watch(row)
            return
        for outcome, count in Counter(map(attrgetter("outcome"), rows)).items():
            self._answers += 0 if outcome in _UNDECIDED else count
            if outcome in SCORED:
                for aspect, decider in _BY_RULE.items():
                    self._by.setdefault(aspect, Counter())[decider] += count

    def watch(self, score: Score | ScoreRow) -> None:
        """Take in one score; where there was no reply, or no gold, nothing could be decided."""
        if score.outcome in _UNDECIDED:
            return
        self._answers += 1
        decided: Mapping[str, Decider] = score.decided
        if not decided and score.outcome in SCORED:
            decided = _BY_RULE
        for aspect, decider in decided.items():
            if (counts := self._by.get(aspect)) is None:
                counts = self._by[aspect] = Counter()
            counts[decider] += 1
        if score.outcome == "ungraded":
            for aspect in score.verdicts:
                if aspect not in score.decided:
                    self._by.setdefault(aspect, Counter())[OPEN] += 1
        for aspect, verdicts in score.verdicts.items():
            if len(verdicts) > 1:
                self._spreads.setdefault(aspect, []).append(spread(verdicts))

    @property
    def reviewed(self) -> bool:
        """Whether experts decided anything."""
        return any(found["expert"] for found in self._by.values())

    def decided(self) -> Decided:
        """Return the counts; none where rules decided everything."""
        counts: dict[str, dict[str, int]] = {}
        if any(set(counted) - {"rule"} for counted in self._by.values()):
            for aspect, counted in self._by.items():
                counts[aspect] = {name: counted[name] for name in (*DECIDERS, OPEN)}
                counts[aspect][UNREAD] = self._answers - counted.total()
        several = {
            aspect: Several(len(spreads), spreads.count(0.0) / len(spreads), sum(spreads) / len(spreads))
            for aspect, spreads in self._spreads.items()
        }
        return Decided(self._answers, counts, several)


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
