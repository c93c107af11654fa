"""Who decided what: the share of rule, similarity, judges and experts in each aspect, and how far judges agreed."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import get_args

from viva.analysis.wording import percent
from viva.render.table import Grid
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


class DeciderCounts:
    """Sums up, score by score, who decided each aspect."""

    def __init__(self) -> None:
        self._by: dict[str, Counter[str]] = {}
        self._spreads: dict[str, list[float]] = {}
        self._answers = 0

    def watched(self, rows: Iterable[ScoreRow]) -> Iterator[ScoreRow]:
        """The rows of a run on their way: each is taken in."""
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

    def shares(self) -> tuple[Grid, ...]:
        """As tables, shares of all answers; none where rules decided everything."""
        tables: list[Grid] = []
        columns = (*DECIDERS, OPEN, UNREAD)
        if any(set(found) - {"rule"} for found in self._by.values()):
            rows = tuple(
                (
                    aspect,
                    *(
                        f"{count:,} ({percent(count / self._answers, 1)} %)"
                        for count in (*(found[name] for name in columns[:-1]), self._answers - found.total())
                    ),
                )
                for aspect, found in self._by.items()
            )
            tables.append(Grid("Who decided", ("", *columns), rows))
        if self._spreads:
            rows = tuple(
                (
                    aspect,
                    f"{len(found):,}",
                    f"{percent(found.count(0.0) / len(found), 1)} %",
                    f"{sum(found) / len(found):.3f}",
                )
                for aspect, found in self._spreads.items()
            )
            header = ("", "answers with several verdicts", "unanimous", "mean spread")
            tables.append(Grid("How far the judges agreed (`viva agreement` says more)", header, rows))
        return tuple(tables)
