"""Tables of means with intervals and outcome counts, from rows of scores.

How a cell counts. A reply that cannot be read (unparsed, empty, truncated, refused) earns no point but stays in the
denominator, as in the papers; what is not the model's doing (no reply, not graded, no usable gold) is left out of the
mean, marks the cell as incomplete, and is never a zero. The bounds take the full set as denominator: what the mean
would be if everything unscored were wrong, and if it were right.

Several answers to a question count as their mean, or as the best of each repeat, as a line says (`Line.attempts`). A
question that the set lists several times counts so often (`ScoreRow.weight`), and is one question to the intervals. A
line may average a part of the scores in place of their values (`Line.part`); an answer whose part is known counts
there even where its score is not (its answer is graded, its rationale waits for a judge).

Where what is decided depends on what it is worth, those decided say nothing of the others, and there is no mean: a
similarity can only say "right", and what is unlike the gold waits for a judge; an empty reply is wrong, and all others
wait. Such a cell has bounds, and an interval from the lower limit of the floor to the upper limit of the ceiling.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from viva.analysis.attempts import best_of_repeats, drawn
from viva.analysis.columns import Columns, Numbers, Text, by_name, coded, joined, sums, tag_columns
from viva.analysis.marks import given_full, marked
from viva.analysis.uncertainty import (
    ALIKE,
    LEVEL,
    Group,
    Interval,
    Z,
    adjusted_wald,
    grouped_variance,
    identified_level,
    interval_below_zero,
    interval_of_scores,
    mean_variance,
    share_interval,
    standard_deviation,
    zero_one_interval,
)
from viva.types import OUTCOMES, UNANSWERED, Aggregate, ScoreRow, TableSpec

if TYPE_CHECKING:
    import polars as pl


class Cell(Struct, frozen=True, kw_only=True):
    """One number with all that belongs to it. Shares are in 0..1.

    `mean` is None where nothing could be scored, and where what could be depends on what it is worth (`one_sided`).
    """

    n: int
    """Answers in all, each as often as its question is listed: the full denominator."""
    mean: float | None
    low: float | None = None
    high: float | None = None
    """The 95 % interval of the mean; of a one-sided cell that of the identified set."""
    floor: float = 0.0
    """The mean over all n if everything unscored were wrong."""
    ceiling: float = 1.0
    most: float = 1.0
    """The mean over all n if everything left out of the mean were right, and what cannot be read still wrong: from
    `floor` to here is the identified set."""
    least_low: float | None = None
    most_high: float | None = None
    """The 95 % interval of the mean whatever became of what is left out, where something is."""
    one_sided: bool = False
    """Whether there is no mean since those that decided could say only one thing of an answer, and others wait."""
    sd: float | None = None
    """Standard deviation of the mean over repeats."""
    outcomes: dict[str, int] = {}
    zeroed: float | None = None
    """The mean with answers not judged counted 0; None where there are none. An answer that keeps its judge from a
    verdict gains nothing here."""
    short: int = 0
    """Questions that count with the best of fewer answers than they were asked for: some are missing."""
    unit: Literal["answers", "questions"] = "answers"
    """What `n` counts: answers (of several repeats, the best of each), or questions where each has one, or its answers
    count as one."""
    lacks: tuple[str, ...] = ()
    """Parts that the exam's tables tell apart, of which less than half is scored (see `_SOME`)."""

    @property
    def same_parts(self) -> bool:
        """Whether the mean is over all the parts that the cell is about, as a published figure is."""
        return not self.lacks and 2 * self.unanswered <= self.n

    @property
    def unanswered(self) -> int:
        """Answers that are missing from the mean."""
        return sum(self.outcomes.get(outcome, 0) for outcome in UNANSWERED)

    @property
    def complete(self) -> bool:
        """Whether the mean rests on everything that was asked."""
        return self.unanswered == 0 and self.short == 0


class Table(Struct, frozen=True, kw_only=True):
    """A layout filled in for one model and exam."""

    exam: str
    model: str
    name: str
    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    detail: bool
    cells: tuple[tuple[Cell, ...], ...]
    across: bool = False


_CHUNK = 4096
_TEN = 10
"""Answers to a question of which exams that take the best of several speak."""
_SUMMED = (
    "points", "answered", "replies", "floor", "ceiling", "most", "gated", "settled", "waiting", "fraction", "short",
)  # fmt: skip
"""What a question's answers add up to."""
_BOUNDS = ("floor", "ceiling", "most")
_DECIDED = ("gated", "settled", "answered", "waiting")
"""What tells whether a cell is one-sided."""
_NUMBERS = {"value": np.float64, "repeat": np.int32, "weight": np.int32}


def frame(rows: Iterable[ScoreRow]) -> Columns:
    """Rows of one model's scores on one exam as columns, one a tag or part (no text or nan where a row has none).

    Built in chunks: as columns, rows take a tenth of the memory that they take as objects.
    """
    source = iter(rows)
    known: dict[str, dict[str, int]] = {"question": {}, "outcome": {name: at for at, name in enumerate(OUTCOMES)}}
    chunks: list[dict[str, Numbers]] = [{name: np.empty(0, dtype=kind) for name, kind in _NUMBERS.items()}]
    while taken := list(itertools.islice(source, _CHUNK)):
        columns: dict[str, Numbers] = {
            name: np.array(list(map(attrgetter(name), taken)), dtype=kind) for name, kind in _NUMBERS.items()
        }
        parts = by_name("part", [row.parts for row in taken])
        limits = [row.limits for row in taken]
        for part in dict.fromkeys(itertools.chain.from_iterable(limits)):
            for end, name in enumerate((f"least:{part}", f"most:{part}")):
                parts[name] = [one[part][end] if part in one else None for one in limits]
        columns |= {name: np.array(values, dtype=float) for name, values in parts.items()}
        texts: dict[str, list[str | None]] = {
            name: list(map(attrgetter(name), taken)) for name in ("question", "outcome")
        }
        texts |= by_name("by", [row.decided for row in taken])
        columns |= {name: coded(values, known.setdefault(name, {})) for name, values in texts.items()}
        columns |= tag_columns([row.tags for row in taken], known)
        chunks.append(columns)
    names = dict.fromkeys(itertools.chain(itertools.chain.from_iterable(chunks), known))
    whole = {name: joined(chunks, name, np.int32(-1) if name in known else np.float64("nan")) for name in names}
    words = {name: Text(list(index), whole.pop(name)) for name, index in known.items()}
    return Columns(whole, words)


_Sums = Mapping[str, float]
"""What a cell is made of, by column: see `_sums`."""


class _View(Struct, frozen=True):
    """The answers as they count: one row a counted answer, summed up a question, and again a value of a tag."""

    answers: Columns
    questions: Columns
    by_tag: dict[str, dict[str, _Sums]] = {}
    """Tag → value → sums, made when first asked for: a table of a hundred subjects is one pass over the questions."""

    def sums(self, lines: Sequence[Aggregate]) -> _Sums:
        """The sums over the questions that all `lines` share."""
        asked = [(tag, values) for line in lines for tag, values in line.where.items()]
        if len(asked) != 1 or len(asked[0][1]) != 1 or f"tag:{asked[0][0]}" not in self.questions.texts:
            return _summed(_part(self.questions, lines), _sums)
        tag, (value,) = asked[0]
        if tag not in self.by_tag:
            codes, found = _grouped(self.questions, tag, _sums(self.questions))
            text = self.questions.texts[f"tag:{tag}"]
            lowest = np.full(len(text.values) + 1, np.inf)
            np.minimum.at(lowest, text.codes, self.questions.numbers["points"])
            columns = [column.tolist() for column in (lowest[codes], *found.values())]
            rows = zip((text.values[code] if code >= 0 else "" for code in codes), *columns, strict=True)
            self.by_tag[tag] = {
                name: dict(zip(("lowest", *found), row, strict=True))
                for code, (name, *row) in zip(codes, rows, strict=True)
                if code >= 0
            }
        return self.by_tag[tag].get(value, {"n": 0})


class Breakdown:
    """The scores of one model on one exam, summed up a question, ready for any cell.

    `attempts` is what several answers to a question count as, where a line does not say otherwise. `layouts` are the
    exam's tables: their lines are the parts that a cell may lack.
    """

    def __init__(self, scores: Columns, attempts: str = "", layouts: Iterable[TableSpec] = ()) -> None:
        self._scores = scores
        self._parts = _parts(layouts, scores.columns)
        self._known = [*(name for name in scores.columns if name.startswith("tag:")), "weight"]
        """What is the same for all answers to a question."""
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
        self._frames: dict[bytes, pl.DataFrame] = {}

    def _view(self, attempts: str, part: str, given: str, aspects: tuple[str, ...]) -> _View:
        """Made when first asked for: most tables need one only."""
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
        """A layout's cells, without the lines that want more answers to a question than there are."""
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
        """A line's label; of the best of ten answers with the number that there are, where they are fewer."""
        if line.attempts != "best" or not 0 < self._each < _TEN:
            return line.label
        return re.sub(r"\bten\b|(?<=@)10\b", str(self._each), line.label)

    def _enough(self, line: Aggregate) -> bool:
        """Whether any question has the answers that "best@10" wants: of two there is no best of ten."""
        count = line.attempts.partition("@")[2]
        return not count.isdecimal() or int(count) <= self._most

    def cell(self, *lines: Aggregate) -> Cell:
        """The answers that all `lines` share, averaged as they say."""
        over = next((line.over for line in lines if line.over), "")
        signed = any(line.signed for line in lines)
        attempts, view = self._viewed(lines)
        summed = view.sums(lines)
        if not summed["n"]:
            return Cell(n=0, mean=None)
        outcomes: dict[str, int] = {name: count for name in OUTCOMES if (count := int(summed[f"outcome:{name}"]))}
        each = attempts == "mean" or (attempts == "best" and self._repeats > 1)  # the best of each repeat counts
        unit: Literal["answers", "questions"] = "answers" if self._most > 1 and each else "questions"
        found = Cell(n=int(summed["n"]), mean=None, outcomes=outcomes, short=int(summed["short"]), unit=unit)
        repeated = self._repeats > 1 and attempts in ("mean", "best")
        bounds = tuple(summed[name] / summed["n"] for name in _BOUNDS)
        if found.complete and summed["answered"] == summed["n"] and not over:  # most cells: their sums say it all
            mean, low, high = _micro(summed, LEVEL, signed=signed)
            sd = self._deviation(view.answers, lines, over) if repeated else None
            return replace(_bounded(found, *bounds), mean=mean, low=low, high=high, sd=sd)
        part = _part(view.questions, lines)
        found = _bounded(found, *(_macro_bounds(part, over) if over else bounds))
        if summed["answered"] < summed["n"]:
            found = replace(found, lacks=self._lacks(part, found.n))
        if not summed["answered"]:
            return replace(found, zeroed=0.0) if outcomes.get("ungraded") else found
        least_low, most_high = (
            (None, None) if found.complete else _identified(part, over, found.floor, found.most, signed=signed)
        )
        found = replace(found, least_low=least_low, most_high=most_high)
        if _one_sided(summed):
            return replace(found, one_sided=True, low=least_low, high=most_high)
        mean, low, high = _averaged(part, over, signed=signed)
        sd = self._deviation(view.answers, lines, over) if repeated else None
        zeroed = _zeroed(part, over) if outcomes.get("ungraded") else None
        return replace(found, mean=mean, low=low, high=high, sd=sd, zeroed=zeroed)

    def _viewed(self, lines: Sequence[Aggregate]) -> tuple[str, _View]:
        """What several answers count as, and the answers as `lines` count them."""
        attempts = next((line.attempts for line in lines if line.attempts), self._attempts)
        measured = next((line for line in lines if line.part), None)
        given = next((line.given for line in lines if line.given), "")
        aspects = measured.aspects if measured else ()
        return attempts, self._view(attempts, measured.part if measured else "", given, aspects)

    def _lacks(self, part: Columns, n: int) -> tuple[str, ...]:
        found: list[tuple[bool, list[str]]] = []
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
            found.append((len(few) == len(starts), few))
        # First what tells most: a format that nobody graded is short in every domain, too.
        return tuple(dict.fromkeys(name for _, few in sorted(found, key=lambda one: one[0]) for name in few))

    def questions(self, *lines: Aggregate) -> pl.DataFrame:
        """The questions that all `lines` share, a row each, for what compares questions.

        Columns `question`, `weight`, `tag:*`, and the sums over a question's answers as a cell counts them, each as
        often as the question is listed: `n` answers, `answered` of them, their `points`, the bounds `floor`, `ceiling`
        and `most` (as a cell has them); `fraction` counts the scores that are neither 0 nor 1, `outcome:NAME` each
        outcome, `gated`, `settled` and `waiting` the answers by who could decide (see `one_sided`), `replies` those
        that are known, several of which may be one of the `answered`.
        """
        asked = msgspec.json.encode(lines)
        if asked not in self._frames:  # a model is compared with many others
            self._frames[asked] = _part(self._viewed(lines)[1].questions, lines).to_frame()
        return self._frames[asked]

    def _deviation(self, answers: Columns, lines: Sequence[Aggregate], over: str) -> float | None:
        part = _part(answers, lines)
        part = part.take(part.numbers["answered"] == 1)
        groups, starts = part.groups("repeat", *([f"tag:{over}"] if f"tag:{over}" in part.texts else []))
        weight = part.numbers["weight"]
        points = sums(part.numbers["points"] * weight, groups, len(starts)) / sums(weight, groups, len(starts))
        repeats = np.unique(part.numbers["repeat"][starts], return_inverse=True)[1]
        return standard_deviation((np.bincount(repeats, points) / np.bincount(repeats)).tolist())


def _bounded(cell: Cell, floor: float, ceiling: float, most: float) -> Cell:
    return replace(cell, floor=floor, ceiling=ceiling, most=most)


def _part(data: Columns, lines: Sequence[Aggregate]) -> Columns:
    """The rows that all `lines` share."""
    masks = [data.among(f"tag:{tag}", values) for line in lines for tag, values in line.where.items()]
    return data.take(np.logical_and.reduce(masks)) if masks else data


_SOME = 0.005
"""Share of a cell's answers that a part must lack to be named: one answer lost of a handful makes no other quantity."""


def _parts(layouts: Iterable[TableSpec], columns: Sequence[str]) -> dict[str, dict[str, str]]:
    """Tag → its values that are lines of the tables by themselves → what the lines are called."""
    found: dict[str, dict[str, str]] = {}
    for layout in layouts:
        for line in (*layout.rows, *layout.columns):
            for tag, values in line.where.items():
                if len(line.where) == len(values) == 1 and f"tag:{tag}" in columns:
                    found.setdefault(tag, {}).setdefault(values[0], line.label)
    return found


def mean_of(questions: Columns) -> tuple[float | None, float | None, float | None]:
    """The mean over some of `Breakdown.questions`, given its columns of sums, with its interval, as a cell has it."""
    decided = {name: float(questions.numbers[name].sum()) for name in _DECIDED}
    return (None, None, None) if _one_sided(decided) else _averaged(questions, "")


def one_sided(questions: pl.DataFrame) -> bool:
    """Whether those of `Breakdown.questions` that are decided say nothing of those that wait for a verdict.

    So it is where a similarity decides in this exam, which can only find an answer right: those that wait were not like
    the gold. And where nothing was decided but what can only be wrong: replies that cannot be read, and those without a
    rationale.
    """
    return _one_sided({name: float(questions[name].sum()) for name in _DECIDED})


def _one_sided(summed: _Sums) -> bool:
    return bool(summed["waiting"] and summed["answered"] and (summed["gated"] or not summed["settled"]))


def _by_question(answers: Columns, known: Sequence[str]) -> Columns:
    """One row a question: what its answers add up to, as often as the set lists it, and what is the same for all."""
    groups, starts = answers.groups("question", *known)
    weight = answers.numbers["weight"][starts]
    outcome = answers.texts["outcome"]
    found: dict[str, Numbers] = {"n": np.bincount(groups, minlength=len(starts)).astype(np.int32) * weight}
    for name in _SUMMED:
        found[name] = sums(answers.numbers[name], groups, len(starts)) * (1 if name == "fraction" else weight)
    for name in OUTCOMES:
        found[f"outcome:{name}"] = sums(outcome.among({name}).astype(np.int32), groups, len(starts)) * weight
    texts = {name: text for name, text in answers.texts.items() if name == "question" or name in known}
    return Columns({"weight": weight, **found}, Columns({}, texts).take(starts).texts)


def _scores(part: Columns) -> dict[str, Numbers]:
    """What a mean and its interval need of the questions that they are over."""
    points, answered = part.numbers["points"], part.numbers["answered"]
    products = {"pp": points * points, "pa": points * answered, "aa": answered * answered, "heard": answered > 0}
    return {"points": points, "answered": answered, "fraction": part.numbers["fraction"], **products}


def _sums(part: Columns) -> dict[str, Numbers]:
    """What a cell needs of the questions that it is over."""
    outcomes = (f"outcome:{name}" for name in OUTCOMES)
    more = ("n", "short", "gated", "settled", "waiting", *_BOUNDS, *outcomes)
    return {**_scores(part), **{name: part.numbers[name] for name in more}}


def _summed(part: Columns, columns: Callable[[Columns], Mapping[str, Numbers]]) -> _Sums:
    found = {name: float(values.sum().item()) for name, values in columns(part).items()}
    return {**found, "lowest": float(part.numbers["points"].min(initial=np.inf))}


def _squares(summed: _Sums, mean: float) -> float:
    """Σ (points − mean × answers)² over questions, from the sums of products."""
    return max(0.0, summed["pp"] - 2 * mean * summed["pa"] + mean * mean * summed["aa"])


_Averaged = tuple[float | None, float | None, float | None]


def _averaged(part: Columns, over: str, level: float = LEVEL, *, signed: bool = False) -> _Averaged:
    """The mean of points over answers, with its interval; over groups of questions first, if `over` names them.

    `signed` points are differences of shares.
    """
    if over:
        return _macro(part, over, level, signed=signed)
    return _micro(_summed(part, _scores), level, signed=signed)


def _macro_bounds(part: Columns, over: str) -> tuple[float, ...]:
    """The means of the bounds over groups of questions, of all answers, be they answered or not."""
    found = _grouped(part, over, {name: part.numbers[name] for name in ("n", *_BOUNDS)})[1]
    return tuple(_mean(found[name] / found["n"]) for name in _BOUNDS)


def _mean(groups: Iterable[float]) -> float:
    """Of groups, rounded once: in any order the same, and no bound on the wrong side of the mean by a last digit."""
    values = [float(one) for one in groups]
    return math.fsum(values) / len(values)


def _identified(
    part: Columns, over: str, floor: float, most: float, *, signed: bool
) -> tuple[float | None, float | None]:
    """The 95 % interval of a mean that lies somewhere between floor and most: each end by its own error."""

    def end(name: str, level: float) -> tuple[float | None, float | None]:
        points, n = part.numbers[name], part.numbers["n"]
        whole = part.replace(points=points, answered=n, fraction=(points != 0.0) & (points != n))
        return _averaged(whole, over, level, signed=signed)[1:]

    low, high = end("floor", LEVEL)[0], end("most", LEVEL)[1]
    if low is None or high is None:
        return None, None
    level = identified_level(most - floor, max(floor - low, high - most) / Z)
    return end("floor", level)[0], end("most", level)[1]


def _micro(summed: _Sums, level: float, *, signed: bool) -> _Averaged:
    answered, questions = int(summed["answered"]), int(summed["heard"])
    if not answered:
        return None, None, None
    mean = summed["points"] / answered
    squares = _squares(summed, mean)
    interval: Interval | None = None
    if signed:
        if questions > 1:
            error = math.sqrt(mean_variance(squares, questions, answered))
            interval = adjusted_wald(mean, error, questions, questions - 1, level).interval
    elif summed["lowest"] >= 0:
        zero_one = answered == questions and not summed["fraction"]
        interval = interval_of_scores(mean, squares, questions, answered, level, zero_one=zero_one)
    elif squares >= ALIKE:  # no interval for what did not vary at all
        interval = interval_below_zero(mean, mean_variance(squares, questions, answered), questions - 1, level)
    return (mean, *interval) if interval else (mean, None, None)


_Scale = Literal["shares", "signed", "below zero"]
"""What the scores of a mean are: in 0..1, differences of such scores, or at most 1 and some below 0."""


class _Group(Struct, frozen=True):
    """One group of a macro average: its mean over `questions`, and their summed squared residuals as scores."""

    mean: float
    questions: int
    squares: float


def _grouped(part: Columns, over: str, columns: Mapping[str, Numbers]) -> tuple[Numbers, dict[str, Numbers]]:
    """The groups that a tag's values make of questions, by code, and the sums over each; -1: those without the tag."""
    name = f"tag:{over}"
    places = part.texts[name].codes + 1 if name in part.texts else np.zeros(part.height, dtype=np.int32)
    there = np.flatnonzero(np.bincount(places))
    nothing = np.zeros(len(there))  # of most outcomes there are none
    found = ((name, np.bincount(places, one)[there] if one.any() else nothing) for name, one in columns.items())
    return there - 1, dict(found)


def _macro(part: Columns, over: str, level: float, *, signed: bool) -> _Averaged:
    """The mean over groups of the groups' means, with its interval."""
    summed = _grouped(part, over, _scores(part))[1]
    groups: list[_Group] = []
    for values in zip(*(column.tolist() for column in summed.values()), strict=True):
        row = dict(zip(summed, values, strict=True))
        if row["answered"]:
            mean, each = row["points"] / row["answered"], row["answered"] / row["heard"]
            groups.append(_Group(mean, int(row["heard"]), _squares(row, mean) / each**2))
    if not groups:
        return None, None, None
    mean = _mean([group.mean for group in groups])
    scale: _Scale = "signed" if signed else "below zero" if part.numbers["points"].min() < 0 else "shares"
    interval = _macro_interval(mean, groups, level, scale)
    return (mean, *interval) if interval else (mean, None, None)


def _zeroed(part: Columns, over: str) -> float:
    """The mean with answers not judged counted 0; over groups the mean of the groups'."""
    graded = part.numbers["answered"] + part.numbers["outcome:ungraded"]
    found = _grouped(part, over, {"points": part.numbers["points"], "graded": graded})[1]
    there = found["graded"] > 0
    return _mean(found["points"][there] / found["graded"][there])


def _macro_interval(mean: float, groups: Sequence[_Group], level: float, scale: _Scale) -> Interval | None:
    """The groups' sampling variances add up, each weighted 1/k² (`grouped_variance`).

    Where every group is a single question, the groups are the sample. None where nothing tells how sure the mean is.
    """
    k = len(groups)
    if all(group.questions < 2 for group in groups):
        if k < 2:
            return None
        variance, degrees = math.fsum((group.mean - mean) ** 2 for group in groups) / (k - 1) / k, k - 1.0
    else:
        variance, degrees = grouped_variance([_weighted(group, k) for group in groups])
    worth = k**2 / sum(1 / group.questions for group in groups)
    if scale == "signed":
        return adjusted_wald(mean, math.sqrt(variance), worth, degrees, level).interval
    if scale == "below zero":
        return None if variance < 1e-12 else interval_below_zero(mean, variance, degrees, level)
    if variance < 1e-12:
        return zero_one_interval(mean * worth, worth, level)
    return share_interval(mean, variance, worth, degrees, level)


def _weighted(group: _Group, count: int) -> Group:
    """A group as one of `count` that count alike."""
    n, spare = group.questions, group.questions - 1
    shares = 1 / n / count**2
    own = group.squares / max(1, spare) * shares
    return Group(worth=n, spare=spare, squares=group.squares, shares=shares, variance=own, degrees=spare)
