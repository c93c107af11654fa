"""What several answers to one question count as: the best of each repeat, or what to expect of k drawn from all.

Rows come marked (see marks.py): points, answered, floor, ceiling, fraction, outcome.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viva.analysis.best import best_at, pass_at
from viva.analysis.columns import Columns, Numbers, Text, greatest, sums
from viva.analysis.marks import graded_as
from viva.errors import VivaError
from viva.types import OUTCOMES

_MOST = ("answered", "gated", "settled", "waiting")


def best_of_repeats(marked: Columns, tags: Sequence[str]) -> Columns:
    """Reduce to one row a question and repeat: the best of its known answers.

    What is known never depends on how good it is: a question with a missing answer counts with the best of the others
    (and `short` is 1), whether that is full marks or nothing; a question without a known answer is unanswered. The
    bounds take a missing answer as the worst and as the best that it can be.
    """
    answered = marked.numbers["answered"] == 1
    behind = -np.where(answered, marked.numbers["points"], -np.inf)  # the best first, missing ones last
    in_line = marked.take(np.argsort(behind, kind="stable"))
    groups, starts = in_line.groups("question", "repeat", *tags)
    best, numbers = in_line.take(starts), in_line.numbers
    worst = np.where(numbers["answered"] == 1, numbers["floor"], -np.inf)
    known = greatest(worst, groups, len(starts))
    more = {name: greatest(numbers[name], groups, len(starts)) for name in ("floor", "ceiling", "most", *_MOST)}
    more["floor"] = np.where(np.isfinite(known), known, more["floor"])
    return _reduced(best.replace(**more), in_line, groups)


def drawn(marked: Columns, tags: Sequence[str], attempts: str) -> Columns:
    """Reduce to one row a question: what to expect of k answers drawn from all that are known ("best@5", "pass@5").

    A question with fewer than k known answers counts with all of them; one with a missing answer is `short`. The bounds
    are the same expectation over all answers, with a missing one worth nothing, and worth full marks. Raises VivaError
    for another word.
    """
    name, _, count = attempts.partition("@")
    estimate = {"best": best_at, "pass": pass_at}.get(name)
    if estimate is None or not count.isdecimal():
        raise VivaError(f"there is no way to count attempts called {attempts!r}")
    # Missing answers first, so that the outcome of one comes first.
    in_line = marked.take(np.argsort(marked.numbers["answered"], kind="stable"))
    groups, starts = in_line.groups("question", *tags)
    order, ends = np.argsort(groups, kind="stable"), np.cumsum(np.bincount(groups, minlength=len(starts)))[:-1]
    heard = np.split(in_line.numbers["answered"][order] == 1, ends)

    def expected(column: str) -> Numbers:
        each = np.split(in_line.numbers[column][order], ends)
        chosen = [one[known] for one, known in zip(each, heard, strict=True)] if column == "points" else each
        values = [one.tolist() for one in chosen]
        return np.array([estimate(one, min(int(count), len(one))) if one else 0.0 for one in values], dtype=float)

    more = {column: expected(column) for column in ("points", "floor", "ceiling", "most")}
    more |= {column: greatest(in_line.numbers[column], groups, len(starts)) for column in _MOST}
    found = _reduced(
        in_line.take(starts).replace(**more, repeat=np.zeros(len(starts), dtype=np.int32)), in_line, groups
    )
    graded = np.where(found.numbers["answered"] == 1, graded_as(more["points"]), found.texts["outcome"].codes)
    return Columns(found.numbers, {**found.texts, "outcome": Text(OUTCOMES, graded.astype(np.int32))})


def _reduced(found: Columns, answers: Columns, groups: Numbers) -> Columns:
    """With the columns that say how many answers each row is made of."""
    count = found.height
    answered, points = found.numbers["answered"], found.numbers["points"]
    return found.replace(
        replies=sums(answers.numbers["replies"], groups, count),
        short=(-greatest(-answers.numbers["answered"], groups, count) < answered).astype(np.int32),
        fraction=((points != 0.0) & (points != 1.0) & (answered == 1)).astype(np.int32),
    )
