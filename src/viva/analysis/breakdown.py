"""Tables of estimates from rows of scores.

How an answer counts. A reply that cannot be read (unparsed, empty, truncated, refused) earns no point but stays in the
denominator, as in the papers; what is not the model's doing (no reply, not graded, no usable gold) is left out of the
mean, marks it as incomplete, and is never a zero. The bounds have it worth the least and the most that it can be.

Several answers to a question count as their mean, or as the best of each repeat, as a line says (`Aggregate.attempts`).
A question that the set lists several times counts so often (`ScoreRow.weight`), and is one question to the intervals;
questions of one `ScoreRow.cluster` are one observation. A line may average a part of the scores in place of their
values (`Aggregate.part`); an answer whose part is known counts there even where its score is not (its answer is graded,
its rationale waits for a judge). What a score is made of its questions, `estimate` says.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from operator import attrgetter

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from viva.analysis.attempts import best_of_repeats, drawn, given_full, marked
from viva.analysis.columns import Columns, Numbers, Text, by_name, coded, joined, sums, tag_columns
from viva.analysis.estimate import Clustered, Estimate, Sums, clustered, clusters_of, estimate
from viva.analysis.estimate import sums as sums_by
from viva.analysis.uncertainty import standard_deviation
from viva.types import OUTCOMES, Aggregate, ScoreRow, TableSpec


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
"""Answers to a question of which exams that take the best of several speak."""
_SUMMED = ("points", "answered", "replies", "floor", "ceiling", "gated", "settled", "waiting")
"""What a question's answers add up to."""
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
    """The answers as they count: one row a counted answer, summed up a question, and again a value of a tag."""

    answers: Columns
    questions: Columns
    by_tag: dict[str, dict[str, Sums]] = {}
    """Tag → value → sums, made when first asked for: a table of a hundred subjects is one pass over the questions."""

    def groups(self, lines: Sequence[Aggregate], over: str) -> tuple[list[Sums], Clustered | None]:
        """The sums of the questions that all `lines` share, by the groups that are averaged first."""
        asked = [(tag, values) for line in lines for tag, values in line.where.items()]
        if not over and len(asked) == 1 and len(asked[0][1]) == 1 and clusters_of(self.questions) is None:
            tag, (value,) = asked[0]
            if f"tag:{tag}" in self.questions.texts:
                if tag not in self.by_tag:
                    self.by_tag[tag] = sums_by(self.questions, tag)
                return [group for name, group in self.by_tag[tag].items() if name == value], None
        part = _part(self.questions, lines)
        return list(sums_by(part, over).values()), clustered(part, over)


class Breakdown:
    """The scores of one model on one exam, summed up a question, ready for any cell.

    `attempts` is what several answers to a question count as, where a line does not say otherwise. `layouts` are the
    exam's tables: their lines are the parts that a cell may lack.
    """

    def __init__(self, scores: Columns, attempts: str = "", layouts: Iterable[TableSpec] = ()) -> None:
        self._scores = scores
        self._parts = _parts(layouts, scores.columns)
        self._known = [*(name for name in scores.texts if name.startswith("tag:") or name == "cluster"), "weight"]
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
        self._asked: dict[bytes, Columns] = {}

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

    def cell(self, *lines: Aggregate) -> Estimate:
        """The answers that all `lines` share, averaged as they say."""
        over = next((line.over for line in lines if line.over), "")
        kind = next((line.kind for line in lines if line.kind != "score"), lines[0].kind)
        attempts, view = self._viewed(lines)
        if per := next((line.per for line in lines if line.per), ""):
            kind, view = "difference", self._ratio(lines, per)  # a term of a ratio may be below 0 or above 1
        groups, clusters = view.groups(lines, over)
        if not groups:
            return Estimate()
        each = attempts == "mean" or (attempts == "best" and self._repeats > 1)  # the best of each repeat counts
        found = estimate(
            groups,
            clustered=clusters,
            unit="answers" if self._most > 1 and each else "questions",
            over=bool(over),
            kind=kind,
        )
        if per and found.low is not None and found.high is not None:
            found = replace(found, low=max(0.0, found.low), high=min(1.0, found.high))
        if found.unanswered:
            found = replace(found, lacks=self._lacks(_part(view.questions, lines), found.n))
        if self._repeats > 1 and attempts in ("mean", "best") and found.mean is not None:
            found = replace(found, sd=self._deviation(view.answers, lines, over))
        return found

    def _ratio(self, lines: Sequence[Aggregate], per: str) -> _View:
        """The answers with the terms whose mean is the ratio of the means of two parts, and whose variance is that of
        the ratio (Taylor's first order: Cochran, Sampling Techniques, 3rd ed., section 2.11).
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

    def questions(self, *lines: Aggregate) -> Columns:
        """The questions that all `lines` share, a row each, for what compares questions.

        Columns `question`, `weight`, `cluster`, `tag:*`, and the sums over a question's answers as a cell counts them,
        each as often as the question is listed: `n` answers, `answered` of them, their `points`, the bounds `floor` and
        `ceiling`; `outcome:NAME` counts each outcome, `gated`, `settled` and `waiting` the answers by who could decide
        (`estimate`), `replies` those that are known, several of which may be one of the `answered`.
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


def _by_question(answers: Columns, known: Sequence[str]) -> Columns:
    """One row a question: what its answers add up to, as often as the set lists it, and what is the same for all."""
    groups, starts = answers.groups("question", *known)
    weight = answers.numbers["weight"][starts]
    outcome = answers.texts["outcome"]
    found: dict[str, Numbers] = {"n": np.bincount(groups, minlength=len(starts)).astype(np.int32) * weight}
    for name in _SUMMED:
        found[name] = sums(answers.numbers[name], groups, len(starts)) * weight
    for name in OUTCOMES:
        found[f"outcome:{name}"] = sums(outcome.among({name}).astype(np.int32), groups, len(starts)) * weight
    texts = {name: text for name, text in answers.texts.items() if name == "question" or name in known}
    return Columns({"weight": weight, **found}, Columns({}, texts).take(starts).texts)
