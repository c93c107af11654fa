"""Leaderboard rows from item scores, with the published ones."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from viva.analysis.breakdown import Breakdown, frame
from viva.analysis.estimate import UNSURE, Estimate, cell_text, percent
from viva.analysis.items.itemscores import Levels, agreement, named
from viva.errors import flag
from viva.published import Entry, share
from viva.render.findings import Findings
from viva.render.result import LEFT_OUT
from viva.render.table import COUNT, ESTIMATE, FIGURE, NAME, Column, Kind, Table, fields, item
from viva.types import Aggregate, ScoreRow
from viva.visible import some

MOST_LOST = 0.05
"""The largest share of a row's questions without a score for which a published figure is shown."""
_FIGURES = {"level": "level_", "lang": "lang_", "language": "lang_", "type": ""}
"""Tag → prefix of the published columns of its values."""


class LeaderboardRow(Struct, frozen=True, kw_only=True):
    """One row: a model on all its questions, or on those whose `tag` has this `value`. Shares of 1."""

    model: str
    tag: str = ""
    value: str = ""
    questions: int
    fewest: int
    """The fewest answers to any question."""
    most: int
    answers: int
    group: int
    measures: dict[str, Estimate]
    """mean, best (of each group), best@k, pass@k and pass^k, unbiased → its estimate."""
    published_as: str = ""
    """Name of its published row; "" for none."""
    published: float | None = None
    published_sd: float | None = None
    published_mean: float | None = None

    @property
    def unscored(self) -> int:
        """Answers without a score."""
        return self.measures["mean"].unanswered

    @property
    def samples(self) -> str:
        """Answers to a question, in words."""
        return f"{self.most:,}" if self.fewest == self.most else f"{self.fewest:,} to {self.most:,}"

    @property
    def printed(self) -> str:
        """The published figure in per cent."""
        figure, sd = self.published, self.published_sd
        return "" if figure is None else percent(figure) + ("" if sd is None else f" ± {percent(sd)}")


def measures_of(group: int, ks: Iterable[int]) -> dict[str, Aggregate]:
    """Return a row's measures: label → how a question's answers count."""
    ways = [
        *(f"best@{k}" for k in ks),
        *(f"pass@{k}" for k in dict.fromkeys((1, *ks))),
        *(f"pass^{k}" for k in ks if k > 1),
    ]
    return {way: Aggregate(way, attempts=way) for way in ("mean", "best", *ways)}


def ranked_rows(
    model: str, rows: Sequence[ScoreRow], group: int, ks: Sequence[int], tag: str = "", published: Entry | None = None
) -> Iterator[LeaderboardRow]:
    """Yield a model's row, with `group` answers to a repeat; with a tag, its rows by the tag's values, in their
    order.
    """
    whole, ways = Breakdown(frame(rows)), measures_of(group, ks).items()
    for value in sorted({row.tags.get(tag, "") for row in rows}):
        own = [row for row in rows if row.tags.get(tag, "") == value]
        # Where a question has too few answers, the gain from more is estimated over the whole table.
        part = Breakdown(frame(own)) if tag and not value else whole
        where, counts = Aggregate("", where={tag: (value,)} if value else {}), Counter(row.question for row in own)
        row = LeaderboardRow(
            model=model,
            tag=tag,
            value=value,
            questions=len(counts),
            fewest=min(counts.values()),
            most=max(counts.values()),
            answers=len(own),
            group=group,
            measures={name: part.cell(where, way) for name, way in ways},
        )
        yield _with_published(row, published.figures, published.name) if published else row


def _with_published(row: LeaderboardRow, figures: Mapping[str, float], name: str) -> LeaderboardRow:
    figure = figures.get(_figure(row.tag, row.value) if row.tag else "score")
    if figure is None or not same_questions(row):
        return row
    row = msgspec.structs.replace(row, published_as=name, published=share(figure))
    if row.tag:
        return row
    # A single group has no deviation; the published table prints 0.
    sd = share(figures["score_std"]) if figures["responses"] > 10 else None
    return msgspec.structs.replace(row, published_sd=sd, published_mean=share(figures["mean_score"]))


def same_questions(row: LeaderboardRow) -> bool:
    """Return whether a mean is over the questions of the published one, but for a few lost ones.

    A table does not say why scores are missing: more than a few may be a whole kind of question, such as unit tests if
    no program was run.
    """
    return row.unscored <= MOST_LOST * row.answers


def _figure(tag: str, value: str) -> str:
    """Return the published column of a tag's value: level and "level-1" → level_1. It need not exist."""
    name, words = tag.casefold(), "_".join(value.casefold().replace("-", " ").split())
    if name not in _FIGURES:
        return ""
    return _FIGURES[name] + words.removeprefix(f"{name}_")


class Figure(NamedTuple):
    """A measure of a row in CSV: mean, best_grouped, best, pass or pass^ of `k` answers."""

    row: LeaderboardRow
    cell: Estimate
    measure: str
    k: int
    published: float | None
    published_sd: float | None
    published_as: str


def _figures(row: LeaderboardRow) -> Iterator[Figure]:
    published = {"best": (row.published, row.published_sd), "mean": (row.published_mean, None)}
    for name, cell in row.measures.items():
        called = f"best_grouped@{row.group}" if name == "best" else name.replace("^", "^@")
        measure, _, k = called.partition("@")
        mean, sd = published.get(name, (None, None))
        yield Figure(row, cell, measure, int(k or 1), mean, sd, "" if mean is None else row.published_as)


_FIGURE = (
    *fields("row", "model", "tag", "value"), *fields("", "measure", "k"),
    *fields("cell", mean="estimate"), *fields("cell", "low", "high", "sd", "floor", "ceiling", "n", "unanswered"),
    *fields("row", "answers", "unscored"), *fields("", "published", "published_sd", "published_as"),
)  # fmt: skip
_VALUE = Kind(lambda value: value or "(none)", words=True, name=True)
_PLAIN = Kind(lambda cell: cell_text(msgspec.structs.replace(cell, sd=None)))
"""An estimate printed without the deviation over repeats."""


def _table(title: str, first: Column, rows: Sequence[LeaderboardRow]) -> Table:
    called = {name: f"{name} unbiased" for name in rows[0].measures if name.startswith("best@")}
    called |= {"mean": "mean@1", "best": f"best@{rows[0].group} ± sd"}
    columns = [first, Column("questions", "questions", COUNT), Column("samples", "samples", FIGURE, None)]
    columns += [
        Column(called.get(name, name), item("measures", name), ESTIMATE if name == "best" else _PLAIN, name)
        for name in rows[0].measures
    ]
    columns += [Column("unscored", "unscored", COUNT)] if any(row.unscored for row in rows) else []
    if any(row.published is not None for row in rows):
        columns += [
            Column("published best@10", "printed", FIGURE, None, keep=True),
            Column("published as", "published_as"),
        ]
    more = fields(
        "", "tag", "value", "fewest", "most", "answers", "group", "published", "published_sd", "published_mean"
    )
    return Table(title, (*columns, *more), rows)


def findings(
    title: str,
    standings: Sequence[LeaderboardRow],
    parts: Mapping[tuple[str, str], Sequence[LeaderboardRow]],
    notes: Sequence[str],
) -> Findings[tuple[LeaderboardRow, ...]]:
    """Return the table of models, then one a tag and model (`parts`); `rows` has one a measure. `notes`: about
    published rows.
    """
    rows = (*standings, *itertools.chain(*parts.values()))
    return Findings(
        found=rows,
        shown=[
            _table(f"Leaderboard · {title}", Column("model", "model", NAME), standings),
            *(_table(f"By {tag} · {model}", Column(tag, "value", _VALUE), own) for (tag, model), own in parts.items()),
        ],
        rows=Table(title, _FIGURE, [figure for row in rows for figure in _figures(row)]),
        notes=[*notes_on(standings), *notes, legend(standings[0].group)],
    )


def legend(group: int) -> str:
    """Return how to read the columns."""
    return (
        f"Per cent with 95 % intervals over questions. best@{group} ± sd: the best of each group of {group} answers "
        "in their order, averaged; sd (n-1) over the groups' means, as in the paper. Unbiased: to expect of k "
        "answers drawn from all. pass@k: the share of questions with full marks once in k answers; pass^k: in all k. "
        "Published: the authors' best@10 ± sd."
    )


def notes_on(standings: Sequence[LeaderboardRow]) -> list[str]:
    """Return notes on marked numbers and uneven tables."""
    notes: list[str] = []
    for row in standings:
        if row.unscored == row.answers:
            notes.append(f"{UNSURE} {row.model}: none of its {row.answers:,} answers has a score.")
        elif row.unscored:
            notes.append(
                f"{UNSURE} {row.model}: {row.unscored:,} of {row.answers:,} answers have no score. A question counts "
                f"where as many answers have one as a measure takes: {LEFT_OUT}."
            )
        if row.fewest != row.most:
            notes.append(
                f"{row.model}: not all questions have the same number of answers: {row.fewest:,} to {row.most:,}."
            )
    return notes


_LISTED = 20


class Grouping(Struct, frozen=True, kw_only=True):
    """Result of the rule for levels of difficulty. `warm` is "" without a run at temperature 1.0."""

    table: str
    weaker: str
    stronger: str
    warm: str
    trials: int
    found: dict[str, Levels]
    """Question → its possible levels; empty where an examiner has no scored answer."""
    given: dict[str, int] = {}
    """Question → its level in the grouping to compare with."""


def grouping_findings(grouping: Grouping, more: Sequence[str] = ()) -> Findings[Grouping]:
    """Return the number of questions by level, and by level in the other grouping; `rows` has every question: `level`
    is None where several are possible, `possible` lists them. `more`: further notes.
    """
    sizes, counts = Counter(grouping.found.values()), agreement(grouping.found, grouping.given)
    there = sorted(set(grouping.given.values()))
    columns = [Column("level", named, NAME), Column("questions", sizes.__getitem__, COUNT)]
    columns += [Column(f"level {n} there", lambda possible, n=n: counts[possible, n], COUNT) for n in there]  # type: ignore[misc]
    if there:
        columns.append(Column("agree", lambda possible: sum(counts[possible, n] for n in possible), COUNT))
    questions = (
        Column(None, "0", key="question"),
        Column(None, lambda pair: pair[1][0] if len(pair[1]) == 1 else None, key="level"),
        Column(None, lambda pair: " ".join(map(str, pair[1])), key="possible"),
        Column(None, lambda pair: grouping.given.get(pair[0]), key="given"),
    )
    title = f"Difficulty · {grouping.table}"
    return Findings(
        found=grouping,
        shown=[
            Table(title, tuple(columns), sorted(sizes, key=lambda possible: possible or (9,))),
            Table("Examiners", fields("", "weaker", "stronger", "warm", "trials"), [grouping]),
        ],
        rows=Table(title, questions, [*grouping.found.items()]),
        notes=[*_grouping_notes(grouping), *more],
    )


def _grouping_notes(grouping: Grouping) -> list[str]:
    """Return notes on the examiners, undecided levels, and questions that disagree with the other grouping."""
    levels, given = grouping.found, grouping.given
    notes = [
        f"Level 1: {grouping.weaker} has a mean of at least 50. Level 2: {grouping.stronger} has. Level 3: "
        + (f"{grouping.warm} reaches 50 in its first ten answers. " if grouping.warm else "not told. ")
        + f"Level 4: {grouping.stronger} scores above 0 at least once. Level 5: not in {grouping.trials} answers."
    ]
    open_ones = sum(1 for possible in levels.values() if len(possible) > 1)
    if not grouping.warm and any(3 in possible for possible in levels.values()):
        notes.append(
            f"Level 3 takes ten answers at temperature 1.0 ({flag('warm', 'MODEL')}): without them any question beyond "
            "level 2 may be of level 3."
        )
    if any({4, 5} <= set(possible) for possible in levels.values()):
        notes.append(
            f"Level 5 takes {grouping.trials} answers without a point; with fewer it cannot be told from level 4 "
            f"({flag('trials', 'N')} makes do with N)."
        )
    nobody = [question for question, possible in levels.items() if not possible]
    if nobody:
        notes.append(f"{len(nobody):,} questions have no scored answer of one of the two: {some(nobody, _LISTED)}.")
    notes.append(
        f"{sum(1 for possible in levels.values() if len(possible) == 1):,} questions decided, {open_ones:,} open."
    )
    if given:
        notes.extend(_comparison(levels, given))
    return notes


def _comparison(levels: dict[str, Levels], given: dict[str, int]) -> list[str]:
    both = [question for question in levels if question in given]
    against = [question for question in both if levels[question] and given[question] not in levels[question]]
    notes = [f"{len(both) - len(against):,} of {len(both):,} questions agree with the other grouping, or may."]
    if against:
        told = [f"{question} ({named(levels[question])}, there {given[question]})" for question in against]
        notes.append(f"They disagree about {some(told, _LISTED)}.")
    for where, missing in (
        ("the other grouping", [question for question in levels if question not in given]),
        ("this table", [question for question in given if question not in levels]),
    ):
        if missing:
            notes.append(f"{len(missing):,} questions are not in {where}: {some(missing, _LISTED)}.")
    return notes
