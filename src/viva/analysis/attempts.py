"""What several answers to one question count as: the best of each repeat, or what to expect of k drawn from all.

Rows come marked (see marks.py): points, answered, floor, ceiling, outcome. The best of nine answers is less than that
of ten: where fewer than k are known, what more of them add on the questions that have k is added; where hardly any
question has k, only the bounds are known. Whether a question counts never depends on how good its known answers are.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from viva.analysis.best import all_at, best_at, pass_at
from viva.analysis.columns import Columns, Numbers, Text, greatest, sums
from viva.analysis.marks import graded_as
from viva.errors import VivaError
from viva.types import NOT_ASKED, OUTCOMES

Expected = Callable[[Sequence[float], int], float]
"""From some scores of a question, what k of them come to."""
WAYS: dict[str, Expected] = {"best@": best_at, "pass@": pass_at, "pass^": all_at}
ENOUGH = 0.1
"""The share of questions with all answers from which what one more adds is read off these."""
WAY = re.compile(r"(best@|pass@|pass\^)([1-9][0-9]{0,4})")


def best_of_repeats(marked: Columns, tags: Sequence[str]) -> Columns:
    """Reduce to one row a question and repeat: the best of its answers.

    Repeats that were asked fewer times count as they are, as the paper's last groups do (InfiBench, NeurIPS 2024). The
    bounds take a missing answer as the worst and as the best that it can be.
    """
    answered = marked.numbers["answered"] == 1
    in_line = marked.take(np.lexsort((-marked.numbers["points"], ~answered)))  # the best first, missing ones last
    groups, starts = in_line.groups("question", "repeat", *tags)
    numbers = in_line.numbers
    known = greatest(np.where(numbers["answered"] == 1, numbers["floor"], -np.inf), groups, len(starts))
    floor, ceiling = (greatest(numbers[end], groups, len(starts)) for end in ("floor", "ceiling"))
    bounds = {"floor": np.where(np.isfinite(known), known, floor), "ceiling": ceiling}
    points = numbers["points"][starts]
    if not answered.all():
        asked = np.bincount(groups)
        points = _expected(in_line, groups, best_at, int(asked.max()), asked)
    return _reduced(in_line, groups, starts, points, bounds)


def drawn(marked: Columns, tags: Sequence[str], attempts: str) -> Columns:
    """Reduce to one row a question: what to expect of k of its answers ("best@5", "pass@5", "pass^5").

    The bounds are the same expectation with a missing answer worth nothing, and worth full marks. Raises VivaError for
    another word.
    """
    way = WAY.fullmatch(attempts)
    if way is None:
        raise VivaError(f"there is no way to count attempts called {attempts!r}")
    expect, count = WAYS[way[1]], int(way[2])
    groups, starts = marked.groups("question", *tags)
    bounds = {
        end: np.array(
            [expect([*each, *[worth] * (count - len(each))], count) for each in _split(marked.numbers[end], groups)],
            dtype=float,
        )
        for end, worth in (("floor", 0.0), ("ceiling", 1.0))
    }
    points = _expected(marked, groups, expect, count, np.full(len(starts), count))
    found = _reduced(marked, groups, starts, points, bounds)
    outcome = np.where(found.numbers["answered"] == 1, graded_as(found.numbers["points"]), found.texts["outcome"].codes)
    texts = {**found.texts, "outcome": Text(OUTCOMES, outcome.astype(np.int32))}
    return Columns({**found.numbers, "repeat": np.zeros(len(starts), dtype=np.int32)}, texts)


def _split(values: Numbers, groups: Numbers) -> list[list[float]]:
    """Values, group by group."""
    ends = np.cumsum(np.bincount(groups))[:-1]
    return [each.tolist() for each in np.split(values[np.argsort(groups, kind="stable")], ends)] if len(values) else []


def _expected(answers: Columns, groups: Numbers, expect: Expected, count: int, wanted: Numbers) -> NDArray[np.float64]:
    """What as many of each group's answers as are wanted come to, at most `count`; nan where that cannot be told."""
    points, answered = (_split(answers.numbers[name], groups) for name in ("points", "answered"))
    known = [[v for v, there in zip(*each, strict=True) if there] for each in zip(points, answered, strict=True)]
    whole = [scores for scores in known if len(scores) >= count]
    short = {len(scores) for scores, most in zip(known, wanted.tolist(), strict=True) if 0 < len(scores) < most}
    if short and len(whole) < max(1.0, ENOUGH * len(known)):
        return np.full(len(known), np.nan)
    gains = {few: statistics.fmean(expect(scores, count) - expect(scores, few) for scores in whole) for few in short}

    def value(scores: list[float], most: int) -> float:
        few = min(len(scores), count)
        return expect(scores, few) + (gains[few] if few < most else 0.0) if few else np.nan

    return np.array(list(map(value, known, wanted.tolist())), dtype=float)


def _reduced(
    answers: Columns, groups: Numbers, starts: Numbers, points: Numbers, bounds: dict[str, Numbers]
) -> Columns:
    """A row a group of answers; unanswered where its points are nan."""
    found, numbers, count = answers.take(starts), answers.numbers, len(starts)
    known = np.isfinite(points)
    more = {name: greatest(numbers[name], groups, count) for name in ("gated", "settled", "waiting")}
    more |= {"answered": known.astype(np.int32), "replies": sums(numbers["replies"], groups, count), **bounds}
    more["points"] = np.where(known, np.clip(np.nan_to_num(points), bounds["floor"], bounds["ceiling"]), 0.0)
    outcome = answers.texts["outcome"].codes
    missing = greatest(np.where(numbers["answered"] == 1, -1, outcome), groups, count)
    missing = np.where(missing < 0, OUTCOMES.index(NOT_ASKED), missing)
    codes = np.where(known, found.texts["outcome"].codes, missing).astype(np.int32)
    return Columns({**found.numbers, **more}, {**found.texts, "outcome": Text(OUTCOMES, codes)})
