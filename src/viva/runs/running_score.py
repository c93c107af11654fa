"""The score so far, for the live line: of answers that rules alone can grade, with its interval."""

from __future__ import annotations

import asyncio
import time

from viva.analysis.uncertainty import wilson
from viva.engine.asking import Tally
from viva.engine.flow import Feed
from viva.engine.journal import Journal
from viva.engine.stages import Evaluation, Ready
from viva.types import UNANSWERED, points_of

EVERY, SPENT = 0.5, 0.025
"""Seconds between two rounds, and seconds of work in each at most: a twentieth of one core."""


class RunningScore:
    """Grades answers of a feed beside the run, as many as the time allows, and says in the tally what they come to.

    What needs a sandbox, an encoder or a judge is not in it: tables alone have the score.
    """

    def __init__(self, feed: Feed[Ready], answers: Journal, tally: Tally, *, several: bool) -> None:
        self._waiting = iter(feed)
        self._answers = answers
        self._tally = tally
        self._several = several
        self._sums: dict[int, tuple[int, float]] = {}

    async def follow(self, ended: asyncio.Event) -> None:
        """Go on until the run has `ended`."""
        while not ended.is_set():
            self._round()
            try:
                await asyncio.wait_for(ended.wait(), EVERY)
            except TimeoutError:
                continue

    def _round(self) -> None:
        until = time.monotonic() + SPENT
        last = None
        while time.monotonic() < until and (ready := next(self._waiting, None)) is not None:
            last = ready.evaluation if self._count(ready) else last
        if last is not None:
            self._tally.score = self._said(last)

    def _count(self, ready: Ready) -> bool:
        entry = self._answers.read(ready.key)
        if entry is None or entry.error:
            return False
        score = ready.evaluation.exam.score(ready.question, entry.response())
        points = points_of(score.outcome, score.value)
        if score.outcome in UNANSWERED or points is None:
            return False
        number, total = self._sums.get(id(ready.evaluation), (0, 0.0))
        self._sums[id(ready.evaluation)] = number + 1, total + min(1.0, max(0.0, points))
        return True

    def _said(self, evaluation: Evaluation) -> str:
        number, total = self._sums[id(evaluation)]
        bounds = wilson(total, number)
        of = f" {evaluation.label} {evaluation.model.name}" if self._several else ""
        between = f" ({100 * bounds[0]:.0f}–{100 * bounds[1]:.0f})" if bounds else ""
        return f"score{of} {100 * total / number:.1f}{between} of {number:,}"
