"""What several answers to one question count as: the best of each repeat, or what to expect of k drawn from all.

Rows come marked (`marked`): points, answered, floor, ceiling, outcome. The best of nine answers is less than that
of ten: where fewer than k are known, what more of them add on the questions that have k is added; where hardly any
question has k, only the bounds are known. Whether a question counts never depends on how good its known answers are.

Several answers to one question, as one number: best@k, pass@k and pass^k, unbiased for any k up to their number.

The maximum to expect of k answers drawn from the n without replacement. Of the sorted answers, the i-th from the top is
the maximum of C(n-i, k-1) of the C(n, k) draws. With scores of 0 and 1 that is pass@k of Chen et al. 2021 (arXiv
2107.03374); that all of k are right, pass^k, is Yao et al.'s (2024, arXiv 2406.12045, section 3). Grouped, as the
InfiBench paper reports it, answers in their order are cut into groups of k, whose maxima are averaged (`attempts`):
both expect the same, and the unbiased one scatters less.

What each answer counts for: its points, its bounds, and who could decide it; breakdown.py says how cells count.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from viva.analysis.columns import Columns, Numbers, Text, greatest, sums
from viva.errors import DataError, VivaError
from viva.types import NOT_ASKED, OUTCOMES, RATIONALE, SCORED, UNANSWERED

FULL = 1.0 - 1e-6
"""From here on a score is full marks: published scores are rounded to six decimals."""


@lru_cache(maxsize=256)
def maximum_weights(n: int, k: int) -> tuple[float, ...]:
    """How likely each of n scores, sorted downwards, is the maximum of k of them. Exact integers, rounded once.

    Raises DataError unless 1 <= k <= n.
    """
    if not 1 <= k <= n:
        raise DataError(f"best@{k} of {n} answers cannot be told: k is from 1 to the number of answers")
    draws = math.comb(n, k)
    count = math.comb(n - 1, k - 1)  # the draws of which the best score is one
    weights: list[float] = []
    for left in range(n - 1, k - 2, -1):  # so many scores are not better than this one
        weights.append(count / draws)
        count = count * (left - k + 1) // left if left else 0
    return tuple(weights)


def best_at(scores: Iterable[float], k: int) -> float:
    """The expected maximum of k of `scores`, drawn without replacement. Raises DataError: k > n, NaN, infinity."""
    ranked = sorted(_finite(scores), reverse=True)
    weights = maximum_weights(len(ranked), k)
    return math.fsum(weight * score for weight, score in zip(weights, ranked, strict=False))


def pass_at(scores: Iterable[float], k: int = 1, full: float = FULL) -> float:
    """pass@k, unbiased: how likely at least one of k answers, drawn without replacement, has full marks."""
    return best_at([float(score >= full) for score in _finite(scores)], k)


def all_at(scores: Iterable[float], k: int = 1, full: float = FULL) -> float:
    """pass^k, unbiased: how likely all of k answers, drawn without replacement, have full marks."""
    return 1.0 - best_at([float(score < full) for score in _finite(scores)], k)


def _finite(scores: Iterable[float]) -> list[float]:
    found = list(scores)
    for place, score in enumerate(found):
        if not math.isfinite(score):
            raise DataError(f"score {score} (the {place + 1}. of {len(found)}) is no number that can be compared")
    return found


def given_full(scores: Columns, given: str, part: str) -> Columns:
    """The answers with full marks in a part, and those that may have them: unanswered, whatever else is known."""
    if not given:
        return scores
    mark = scores.number(f"part:{given}")
    full = mark >= 1.0
    kept = full | (np.isnan(mark) & scores.among("outcome", UNANSWERED))
    counted = {f"part:{part}": np.where(full, scores.number(f"part:{part}"), np.nan)}
    return scores.replace(**counted).take(kept)


def marked(scores: Columns, part: str = "", aspects: tuple[str, ...] = ()) -> Columns:
    """Every answer with what it counts for: the part of its score, where it has such a part, else its value."""
    apart = scores.number(f"part:{part}")
    known = ~np.isnan(apart)
    unanswered = scores.among("outcome", UNANSWERED) & ~known
    points = np.where(unanswered, 0.0, np.nan_to_num(np.where(known, apart, scores.numbers["value"])))
    unscored = ~scores.among("outcome", SCORED) & ~known
    graded = known & scores.among("outcome", UNANSWERED | SCORED)
    outcome = np.where(graded, graded_as(apart), scores.texts["outcome"].codes)
    deciding = aspects or tuple(name.removeprefix("by:") for name in scores.texts if name.startswith("by:"))
    similar = (scores.among(f"by:{aspect}", {"similarity"}) for aspect in deciding)
    alike = np.logical_or.reduce([np.zeros(scores.height, dtype=bool), *similar]) & ~unanswered
    # No rationale: it is wrong.
    absent = scores.among(f"by:{RATIONALE}", {"rule"}) & (RATIONALE in deciding)
    waiting = unanswered & scores.among("outcome", {"ungraded"})
    worst, best = (np.where(unanswered, scores.number(f"{end}:{part}"), np.nan) for end in ("least", "most"))
    counts = {
        "answered": ~unanswered,
        "replies": ~unanswered,
        "gated": waiting & alike.any(),
        "settled": ~unscored & ~alike & ~absent,
        "waiting": waiting,
    }
    found = scores.replace(
        points=points,
        floor=np.where(unanswered, np.nan_to_num(worst), points),
        ceiling=np.where(unanswered, np.nan_to_num(best, nan=1.0), points),
        **{name: values.astype(np.int32) for name, values in counts.items()},
    )
    return Columns(found.numbers, {**scores.texts, "outcome": Text(OUTCOMES, outcome.astype(np.int32))})


def graded_as(points: Numbers) -> Numbers:
    """The places in OUTCOMES of right, partly and wrong, by what answers are worth."""
    right, partly, wrong = (OUTCOMES.index(outcome) for outcome in ("right", "partly", "wrong"))
    return np.where(points >= 1.0, right, np.where(points > 0.0, partly, wrong))


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
