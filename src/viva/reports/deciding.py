"""Who decided what: the share of rule, similarity, judges and experts in each aspect, and how far judges agreed."""

from __future__ import annotations

from collections import Counter
from typing import get_args

from viva.reports.result import Grid, percent
from viva.scorers.deciding import spread
from viva.types import Decider, Question, Score

DECIDERS: tuple[Decider, ...] = get_args(Decider)
OPEN = "undecided"


class Deciding:
    """Sums up, score by score, who decided each aspect."""

    def __init__(self) -> None:
        self._by: dict[str, Counter[str]] = {}
        self._spreads: dict[str, list[float]] = {}

    def watch(self, question: Question, score: Score) -> None:
        """Take in one score."""
        for aspect, decider in score.decided.items():
            self._by.setdefault(aspect, Counter())[decider] += 1
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
        """As tables; none where rules decided everything."""
        tables: list[Grid] = []
        columns = (*DECIDERS, OPEN)
        if any(set(found) - {"rule"} for found in self._by.values()):
            rows = tuple(
                (aspect, *(f"{found[name]:,} ({percent(found[name] / found.total(), 1)} %)" for name in columns))
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
            tables.append(Grid("How far the judges agreed (`viva agree` says more)", header, rows))
        return tuple(tables)
