"""Tables of estimates from rows of scores.

How an answer counts. An unreadable reply (unparsed, empty, truncated, refused) earns no point but stays in the
denominator, as in the papers. An answer missing for other reasons (no reply, not graded, no usable gold) is left out of
the mean, marks it as incomplete, and is never a zero; the bounds give it the least and the most that it can be worth.

Several answers to a question count as their mean, as the best of each repeat, or as the expectation over k drawn from
all (`Aggregate.attempts`). The best of nine answers is less than that of ten: where fewer than k are known, the gain
from more answers on the questions that have k is added; where hardly any question has k, only the bounds are known.
Whether a question counts never depends on how good its known answers are.

Expected maximum of k answers drawn from n without replacement: of the sorted answers, the i-th from the top is the
maximum of C(n-i, k-1) of the C(n, k) draws. With scores of 0 and 1 that is pass@k of Chen et al. 2021 (arXiv
2107.03374); that all of k are right, pass^k, is Yao et al.'s (2024, arXiv 2406.12045, section 3). Grouped, as the
InfiBench paper reports it, answers in their order are cut into groups of k, whose maxima are averaged: both expect the
same, and the unbiased one scatters less.

A question listed several times counts that often (`ScoreRow.weight`), but the intervals take it as one question;
questions of one `ScoreRow.cluster` are one observation. A line may average a part of the scores in place of their
values (`Aggregate.part`); an answer whose part is known counts there even where its score is not (its answer is graded,
its rationale waits for a judge). `estimate` computes the score from the questions.
"""

from __future__ import annotations

import itertools
import math
import re
import statistics
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from operator import attrgetter

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from viva.analysis.columns import Columns, Numbers, Text, by_name, coded, greatest, joined, sums, tag_columns
from viva.analysis.estimate import Clustered, Estimate, Sums, Unit, clustered, clusters_of, estimate
from viva.analysis.estimate import sums as sums_by
from viva.analysis.uncertainty import standard_deviation
from viva.errors import DataError, VivaError
from viva.types import NOT_ASKED, OUTCOMES, RATIONALE, SCORED, UNANSWERED, Aggregate, ScoreRow, TableSpec


class Table(Struct, frozen=True, kw_only=True):
    """A layout filled in for one model and exam."""

    exam: str
    model: str
    name: str
    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    detail: bool
    cells: tuple[tuple[Estimate, ...], ...]
    across: bool = False


_CHUNK = 4096
_TEN = 10
"""Answers to a question that labels such as "best of ten" assume."""
_SUMMED = ("points", "answered", "replies", "floor", "ceiling", "gated", "settled", "waiting")
"""Columns summed over the answers to a question."""
_NUMBERS = {"value": np.float64, "repeat": np.int32, "weight": np.int32}


def frame(rows: Iterable[ScoreRow]) -> Columns:
    """Return rows of one model's scores on one exam as columns, one a tag or part (no text or nan where a row has
    none).

    Built in chunks: as columns, rows take a tenth of the memory that they take as objects.
    """
    source = iter(rows)
    known: dict[str, dict[str, int]] = {"question": {}, "outcome": {name: code for code, name in enumerate(OUTCOMES)}}
    chunks: list[dict[str, Numbers]] = [{name: np.empty(0, dtype=kind) for name, kind in _NUMBERS.items()}]
    while taken := list(itertools.islice(source, _CHUNK)):
        columns: dict[str, Numbers] = {
            name: np.array(list(map(attrgetter(name), taken)), dtype=kind) for name, kind in _NUMBERS.items()
        }
        parts = by_name("part", [row.parts for row in taken])
        limits = [row.limits for row in taken]
        for part in dict.fromkeys(itertools.chain.from_iterable(limits)):
            for end, name in enumerate((f"least:{part}", f"most:{part}")):
                parts[name] = [limit[part][end] if part in limit else None for limit in limits]
        columns |= {name: np.array(values, dtype=float) for name, values in parts.items()}
        texts: dict[str, list[str | None]] = {
            name: list(map(attrgetter(name), taken)) for name in ("question", "outcome")
        }
        texts |= by_name("by", [row.decided for row in taken])
        if any(row.cluster for row in taken):
            texts["cluster"] = [row.cluster or None for row in taken]
        columns |= {name: coded(values, known.setdefault(name, {})) for name, values in texts.items()}
        columns |= tag_columns([row.tags for row in taken], known)
        chunks.append(columns)
    names = dict.fromkeys(itertools.chain(itertools.chain.from_iterable(chunks), known))
    whole = {name: joined(chunks, name, np.int32(-1) if name in known else np.float64("nan")) for name in names}
    words = {name: Text(list(index), whole.pop(name)) for name, index in known.items()}
    return Columns(whole, words)


class _View(Struct, frozen=True):
    """Counted answers: one row each, and their sums by question and by value of a tag."""

    answers: Columns
    questions: Columns
    by_tag: dict[str, dict[str | None, Sums]] = {}
    """Tag, and what else is asked → value → sums, made when first asked for: a table's row is one pass over the
    questions.
    """

    def groups(self, lines: Sequence[Aggregate], over: str) -> tuple[list[Sums], Clustered | None]:
        """Return the sums of the questions that all `lines` share, by the groups that are averaged first."""
        *others, last = [line for line in lines if line.where] or lines
        if not over and [*map(len, last.where.values())] == [1] and clusters_of(self.questions) is None:
            ((tag, (value,)),) = last.where.items()
            key = str((tag, others))
            if key not in self.by_tag:
                self.by_tag[key] = sums_by(_part(self.questions, others), tag)
            group = self.by_tag[key].get(value)
            return [group] if group else [], None
        part = _part(self.questions, lines)
        return list(sums_by(part, over).values()), clustered(part, over)


class Breakdown:
    """The scores of one model on one exam, summed by question. `attempts`: how several answers to a question count,
    unless a line says otherwise. `layouts`: the exam's tables, whose lines are the parts that a cell may lack.
    """

    def __init__(self, scores: Columns, attempts: str = "", layouts: Iterable[TableSpec] = ()) -> None:
        self._scores = scores
        self._parts = _parts(layouts, scores.columns)
        self._known = [*(name for name in scores.texts if name.startswith("tag:") or name == "cluster"), "weight"]
        """Columns that are equal for all answers to a question."""
        self._attempts = attempts or "mean"
        asked, starts = scores.groups("question")
        each, there = scores.groups("question", "repeat")
        self._repeats = len(scores.groups("repeat")[1])
        self._several = scores.height > len(there)
        self._most = int(np.bincount(asked, minlength=len(starts)).max(initial=0))
        self._each = int(np.bincount(each, minlength=len(there)).max(initial=0))
        """Answers to a question in a repeat."""
        self._marked: dict[tuple[str, str, tuple[str, ...]], Columns] = {}
        self._views: dict[tuple[str, str, str, tuple[str, ...]], _View] = {}
        self._asked: dict[bytes, Columns] = {}

    def _view(self, attempts: str, part: str, given: str, aspects: tuple[str, ...]) -> _View:
        """Return the view for these settings, cached: most tables need a single one."""
        if attempts in ("mean", "best") and not self._several:
            attempts = "mean"
        if (attempts, part, given, aspects) not in self._views:
            answers = self._marked.get((part, given, aspects))
            if answers is None:
                answers = marked(given_full(self._scores, given, part), part, aspects)
                self._marked[part, given, aspects] = answers
            if attempts == "best":
                answers = best_of_repeats(answers, self._known)
            elif attempts != "mean":
                answers = drawn(answers, self._known, attempts)
            self._views[attempts, part, given, aspects] = _View(answers, _by_question(answers, self._known))
        return self._views[attempts, part, given, aspects]

    def table(self, layout: TableSpec, exam: str, model: str) -> Table:
        """Return a layout's cells, without lines that need more answers to a question than there are."""
        rows, columns = (tuple(filter(self._enough, lines)) for lines in (layout.rows, layout.columns))
        return Table(
            exam=exam,
            model=model,
            name=layout.name,
            title=layout.title,
            rows=tuple(map(self.label, rows)),
            columns=tuple(map(self.label, columns)),
            detail=layout.detail,
            across=layout.across,
            cells=tuple(tuple(self.cell(row, column) for column in columns) for row in rows),
        )

    def label(self, line: Aggregate) -> str:
        """Return a line's label; where "best of ten" has fewer answers, the label says how many."""
        if line.attempts != "best" or not 0 < self._each < _TEN:
            return line.label
        return re.sub(r"\bten\b|(?<=@)10\b", str(self._each), line.label)

    def _enough(self, line: Aggregate) -> bool:
        """Return whether some question has as many answers as "best@10" needs."""
        count = line.attempts.partition("@")[2]
        return not count.isdecimal() or int(count) <= self._most

    def cell(self, *lines: Aggregate) -> Estimate:
        """Return the average of the answers that belong to all `lines`."""
        over = next((line.over for line in lines if line.over), "")
        kind = next((line.kind for line in lines if line.kind != "score"), lines[0].kind)
        attempts, view = self._viewed(lines)
        if per := next((line.per for line in lines if line.part and line.per), ""):
            kind, view = "difference", self._ratio(lines, per)  # a term of a ratio may be below 0 or above 1
        groups, clusters = view.groups(lines, over)
        if not groups:
            return Estimate()
        unit: Unit = "answers" if attempts == "mean" and self._most > 1 else "questions"
        if attempts == "best" and self._repeats > 1:  # the best of each repeat counts
            unit = "groups of answers"
        estimated = estimate(
            groups,
            clustered=clusters,
            unit=unit,
            over=bool(over),
            kind=kind,
        )
        if per and estimated.low is not None and estimated.high is not None:
            estimated = replace(estimated, low=max(0.0, estimated.low), high=min(1.0, estimated.high))
        if estimated.unanswered:
            estimated = replace(estimated, lacks=self._lacks(_part(view.questions, lines), estimated.n))
        if self._repeats > 1 and attempts in ("mean", "best") and estimated.mean is not None:
            estimated = replace(estimated, sd=self._deviation(view.answers, lines, over))
        return estimated

    def _ratio(self, lines: Sequence[Aggregate], per: str) -> _View:
        """Return the answers with the terms whose mean is the ratio of the means of two parts, and whose variance is
        that of the ratio (Taylor's first order: Cochran, Sampling Techniques, 3rd ed., section 2.11).
        """
        part = next(line.part for line in lines if line.part)
        scores = _part(self._scores, lines)
        above, below = scores.number(f"part:{part}"), scores.number(f"part:{per}")
        whole = np.nansum(below)
        if not whole:
            return self._view("mean", part, "", ())
        rate, size = np.nansum(above) / whole, np.nanmean(below)
        answers = marked(scores.replace(**{f"part:{part}": rate + (above - rate * below) / size}), part)
        return _View(answers, _by_question(answers, self._known))

    def _viewed(self, lines: Sequence[Aggregate]) -> tuple[str, _View]:
        """Return how several answers count (`Aggregate.attempts`), and the view that `lines` need."""
        attempts = next((line.attempts for line in lines if line.attempts), self._attempts)
        measured = next((line for line in lines if line.part), None)
        given = next((line.given for line in lines if line.given), "")
        aspects = measured.aspects if measured else ()
        return attempts, self._view(attempts, measured.part if measured else "", given, aspects)

    def _lacks(self, part: Columns, n: int) -> tuple[str, ...]:
        parts_lacking: list[tuple[bool, list[str]]] = []
        for tag, labels in self._parts.items():
            text = part.texts[f"tag:{tag}"]
            groups, starts = part.groups(f"tag:{tag}")
            counts = zip(*(sums(part.numbers[name], groups, len(starts)) for name in ("n", "answered")), strict=True)
            few = [
                labels[text.values[code]]
                for code, (all_of_it, scored) in zip(text.codes[starts], counts, strict=True)
                if code >= 0 and text.values[code] in labels
                if 2 * scored < all_of_it and all_of_it - scored >= _SOME * n
            ]
            parts_lacking.append((len(few) == len(starts), few))
        # The most informative first: an ungraded format is missing in every domain as well.
        return tuple(dict.fromkeys(name for _, few in sorted(parts_lacking, key=lambda pair: pair[0]) for name in few))

    def questions(self, *lines: Aggregate) -> Columns:
        """Return the questions that belong to all `lines`, a row each, for comparisons by question.

        Columns `question`, `weight`, `cluster`, `tag:*`, and the sums over a question's answers as a cell counts them,
        each as often as the question is listed: `n` answers, `answered` of them, their `points`, the bounds `floor` and
        `ceiling`; `outcome:NAME` counts each outcome; `gated`, `settled` and `waiting` count answers by who could
        decide them (`estimate`); `replies` counts known replies, several of which may make one of the `answered`.
        """
        asked = msgspec.json.encode(lines)
        if asked not in self._asked:  # a model is compared with many others
            self._asked[asked] = _part(self._viewed(lines)[1].questions, lines)
        return self._asked[asked]

    def _deviation(self, answers: Columns, lines: Sequence[Aggregate], over: str) -> float | None:
        part = _part(answers, lines)
        part = part.take(part.numbers["answered"] == 1)
        groups, starts = part.groups("repeat", *([f"tag:{over}"] if f"tag:{over}" in part.texts else []))
        weight = part.numbers["weight"]
        points = sums(part.numbers["points"] * weight, groups, len(starts)) / sums(weight, groups, len(starts))
        repeats = np.unique(part.numbers["repeat"][starts], return_inverse=True)[1]
        return standard_deviation((np.bincount(repeats, points) / np.bincount(repeats)).tolist())


def _part(data: Columns, lines: Sequence[Aggregate]) -> Columns:
    """Return the rows that belong to all `lines`."""
    masks = [data.among(f"tag:{tag}", values) for line in lines for tag, values in line.where.items()]
    return data.take(np.logical_and.reduce(masks)) if masks else data


_SOME = 0.005
"""Share of a cell's answers that a part must lack to be named: a few lost answers do not change what is measured."""


def _parts(layouts: Iterable[TableSpec], columns: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return tag → value → label, for the values that are lines of a table by themselves."""
    labels: dict[str, dict[str, str]] = {}
    for layout in layouts:
        for line in (*layout.rows, *layout.columns):
            for tag, values in line.where.items():
                if len(line.where) == len(values) == 1 and f"tag:{tag}" in columns:
                    labels.setdefault(tag, {}).setdefault(values[0], line.label)
    return labels


def _by_question(answers: Columns, known: Sequence[str]) -> Columns:
    """Return one row a question: the sums over its answers, times its weight, and the columns that all of them
    share.
    """
    groups, starts = answers.groups("question", *known)
    weight = answers.numbers["weight"][starts]
    outcome = answers.texts["outcome"]
    summed: dict[str, Numbers] = {"n": np.bincount(groups, minlength=len(starts)).astype(np.int32) * weight}
    for name in _SUMMED:
        summed[name] = sums(answers.numbers[name], groups, len(starts)) * weight
    for name in OUTCOMES:
        summed[f"outcome:{name}"] = sums(outcome.among({name}).astype(np.int32), groups, len(starts)) * weight
    texts = {name: text for name, text in answers.texts.items() if name == "question" or name in known}
    return Columns({"weight": weight, **summed}, Columns({}, texts).take(starts).texts)


FULL = 1.0 - 1e-6
"""The lowest score that counts as full marks: published scores are rounded to six decimals."""


@lru_cache(maxsize=256)
def maximum_weights(n: int, k: int) -> tuple[float, ...]:
    """Return how likely each of n scores, sorted downwards, is the maximum of k of them. Exact integers, rounded once.

    Raises DataError unless 1 <= k <= n.
    """
    if not 1 <= k <= n:
        raise DataError(f"best@{k} of {n} answers cannot be told: k is from 1 to the number of answers")
    draws = math.comb(n, k)
    count = math.comb(n - 1, k - 1)  # the draws whose maximum is the best score
    weights: list[float] = []
    for left in range(n - 1, k - 2, -1):  # scores that are no better than this one
        weights.append(count / draws)
        count = count * (left - k + 1) // left if left else 0
    return tuple(weights)


def best_at(scores: Iterable[float], k: int) -> float:
    """Return the expected maximum of k of `scores`, drawn without replacement. Raises DataError: k > n, NaN,
    infinity.
    """
    ranked = sorted(_finite(scores), reverse=True)
    weights = maximum_weights(len(ranked), k)
    return math.fsum(weight * score for weight, score in zip(weights, ranked, strict=False))


def pass_at(scores: Iterable[float], k: int = 1, full: float = FULL) -> float:
    """Return the unbiased pass@k: the probability that one of k answers drawn without replacement has full marks."""
    return best_at([float(score >= full) for score in _finite(scores)], k)


def all_at(scores: Iterable[float], k: int = 1, full: float = FULL) -> float:
    """Return the unbiased pass^k: the probability that all of k answers drawn without replacement have full marks."""
    return 1.0 - best_at([float(score < full) for score in _finite(scores)], k)


def _finite(scores: Iterable[float]) -> list[float]:
    checked = list(scores)
    for place, score in enumerate(checked):
        if not math.isfinite(score):
            raise DataError(f"score {score} (the {place + 1}. of {len(checked)}) is no number that can be compared")
    return checked


def given_full(scores: Columns, given: str, part: str) -> Columns:
    """Return the answers with full marks in the part `given`, and those that may still get them, with `part` as nan."""
    if not given:
        return scores
    mark = scores.number(f"part:{given}")
    full = mark >= 1.0
    kept = full | (np.isnan(mark) & scores.among("outcome", UNANSWERED))
    counted = {f"part:{part}": np.where(full, scores.number(f"part:{part}"), np.nan)}
    return scores.replace(**counted).take(kept)


def marked(scores: Columns, part: str = "", aspects: tuple[str, ...] = ()) -> Columns:
    """Return every answer with its points: the named part of its score where it has one, else its value."""
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
    replaced = scores.replace(
        points=points,
        floor=np.where(unanswered, np.nan_to_num(worst), points),
        ceiling=np.where(unanswered, np.nan_to_num(best, nan=1.0), points),
        **{name: values.astype(np.int32) for name, values in counts.items()},
    )
    return Columns(replaced.numbers, {**scores.texts, "outcome": Text(OUTCOMES, outcome.astype(np.int32))})


def graded_as(points: Numbers) -> Numbers:
    """Return places in OUTCOMES: right, partly or wrong, by the points of each answer."""
    right, partly, wrong = (OUTCOMES.index(outcome) for outcome in ("right", "partly", "wrong"))
    return np.where(points >= 1.0, right, np.where(points > 0.0, partly, wrong))


Expected = Callable[[Sequence[float], int], float]
"""Computes from the scores of a question the expectation over k of them."""
WAYS: dict[str, Expected] = {"best@": best_at, "pass@": pass_at, "pass^": all_at}
ENOUGH = 0.1
"""Share of questions that must have all answers for the gain from further answers to be read off them."""
WAY = re.compile(r"(best@|pass@|pass\^)([1-9][0-9]{0,4})")


def best_of_repeats(marked: Columns, tags: Sequence[str]) -> Columns:
    """Reduce to one row a question and repeat: the best of its answers.

    Repeats with fewer answers count as they are, as the paper's last groups do (InfiBench, NeurIPS 2024). In the bounds
    a missing answer is the worst and the best that it can be.
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
    """Reduce to one row a question: the expectation over k of its answers ("best@5", "pass@5", "pass^5").

    The bounds are the same expectation with a missing answer worth nothing, and worth full marks. Raises VivaError for
    any other `attempts`.
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
    merged = _reduced(marked, groups, starts, points, bounds)
    outcome = np.where(
        merged.numbers["answered"] == 1, graded_as(merged.numbers["points"]), merged.texts["outcome"].codes
    )
    texts = {**merged.texts, "outcome": Text(OUTCOMES, outcome.astype(np.int32))}
    return Columns({**merged.numbers, "repeat": np.zeros(len(starts), dtype=np.int32)}, texts)


def _split(values: Numbers, groups: Numbers) -> list[list[float]]:
    """Return values, group by group."""
    ends = np.cumsum(np.bincount(groups))[:-1]
    return [each.tolist() for each in np.split(values[np.argsort(groups, kind="stable")], ends)] if len(values) else []


def _expected(answers: Columns, groups: Numbers, expect: Expected, count: int, wanted: Numbers) -> NDArray[np.float64]:
    """Return for each group the expectation over `wanted` of its answers, at most `count`; nan where it is unknown."""
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
    """Return a row a group of answers; unanswered where its points are nan."""
    first, numbers, count = answers.take(starts), answers.numbers, len(starts)
    known = np.isfinite(points)
    more = {name: greatest(numbers[name], groups, count) for name in ("gated", "settled", "waiting")}
    more |= {"answered": known.astype(np.int32), "replies": sums(numbers["replies"], groups, count), **bounds}
    more["points"] = np.where(known, np.clip(np.nan_to_num(points), bounds["floor"], bounds["ceiling"]), 0.0)
    outcome = answers.texts["outcome"].codes
    missing = greatest(np.where(numbers["answered"] == 1, -1, outcome), groups, count)
    missing = np.where(missing < 0, OUTCOMES.index(NOT_ASKED), missing)
    codes = np.where(known, first.texts["outcome"].codes, missing).astype(np.int32)
    return Columns({**first.numbers, **more}, {**first.texts, "outcome": Text(OUTCOMES, codes)})
