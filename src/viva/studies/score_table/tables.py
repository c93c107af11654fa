"""From item scores to the rows of a leaderboard, beside the published ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import msgspec
from msgspec import Struct

from viva.analysis.breakdown import Breakdown, frame
from viva.analysis.estimate import Estimate
from viva.analysis.wording import UNSURE, cell_text, percent
from viva.published import Entry, share
from viva.render.printing import Records, StudyResult
from viva.render.result import LEFT_OUT
from viva.render.table import Grid
from viva.types import Aggregate, ScoreRow

MOST_LOST = 0.05
"""The share of a row's questions without a score up to which a published figure stands beside it."""
_FIGURES = {"level": "level_", "lang": "lang_", "language": "lang_", "type": ""}
"""Tag → what the published columns of its values begin with."""


class LeaderboardRow(Struct, frozen=True, kw_only=True):
    """One row: a model on all its questions, or on those whose `tag` has this `value`. Shares of 1."""

    model: str
    tag: str = ""
    value: str = ""
    questions: int
    fewest: int
    """Answers to the question that has fewest."""
    most: int
    answers: int
    group: int
    measures: dict[str, Estimate]
    """mean, best (of each group), best@k, pass@k and pass^k, unbiased → its estimate."""
    published_as: str = ""
    """The published row next to it; "" for none."""
    published: float | None = None
    published_sd: float | None = None
    published_mean: float | None = None

    @property
    def unscored(self) -> int:
        """Answers without a score."""
        return self.measures["mean"].unanswered


class Leaderboard(Struct, frozen=True, kw_only=True):
    """Everything that `viva score TABLE` found out."""

    benchmark: str
    table: str
    group: int
    standings: tuple[LeaderboardRow, ...]
    parts: tuple[LeaderboardRow, ...] = ()
    """The same by tag."""
    notes: tuple[str, ...] = ()


def measures_of(group: int, ks: Iterable[int]) -> dict[str, Aggregate]:
    """What a row has an estimate of: what a question's answers count as."""
    ways = [
        *(f"best@{k}" for k in ks),
        *(f"pass@{k}" for k in dict.fromkeys((1, *ks))),
        *(f"pass^{k}" for k in ks if k > 1),
    ]
    return {way: Aggregate(way, attempts=way) for way in ("mean", "best", *ways)}


def standing(
    model: str, rows: Sequence[ScoreRow], group: int, ks: Sequence[int], published: Entry | None = None
) -> LeaderboardRow:
    """A model's row, of its scores with `group` answers to a repeat."""
    found = _measured(model, Breakdown(frame(rows)), rows, group, ks)
    if published is None or not same_questions(found):
        return found
    return msgspec.structs.replace(
        found,
        published_as=published.name,
        published=share(published.figures["score"]),
        published_sd=_deviation(published),
        published_mean=share(published.figures["mean_score"]),
    )


def same_questions(row: LeaderboardRow) -> bool:
    """Return whether a mean is over the questions that a published one is over, but for a few that were lost.

    A table of item scores does not say what is missing: more than a few may be a kind of question, as unit tests are
    where no program was run.
    """
    return row.unscored <= MOST_LOST * row.answers


def _deviation(published: Entry) -> float | None:
    """The published standard deviation over groups of ten; None for a single group, where the table prints 0."""
    return share(published.figures["score_std"]) if published.figures["responses"] > 10 else None


def parts(
    model: str,
    rows: Sequence[ScoreRow],
    tag: str,
    group: int,
    ks: Sequence[int],
    published: Entry | None = None,
) -> list[LeaderboardRow]:
    """A model's rows by the values of a tag, in their order."""
    breakdown = Breakdown(frame(rows))
    found: list[LeaderboardRow] = []
    for value in sorted({row.tags.get(tag, "") for row in rows}):
        own = [row for row in rows if row.tags.get(tag, "") == value]
        part = Breakdown(frame(own)) if not value else breakdown
        where = {tag: (value,)} if value else {}
        row = msgspec.structs.replace(_measured(model, part, own, group, ks, where), tag=tag, value=value)
        figure = published.figures.get(_figure(tag, value)) if published and same_questions(row) else None
        if published and figure is not None:
            row = msgspec.structs.replace(row, published_as=published.name, published=share(figure))
        found.append(row)
    return found


def _measured(
    model: str,
    breakdown: Breakdown,
    rows: Sequence[ScoreRow],
    group: int,
    ks: Sequence[int],
    where: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
) -> LeaderboardRow:
    counts = Counter(row.question for row in rows)
    part = Aggregate("", where=dict(where))
    return LeaderboardRow(
        model=model,
        questions=len(counts),
        fewest=min(counts.values()),
        most=max(counts.values()),
        answers=len(rows),
        group=group,
        measures={name: breakdown.cell(part, line) for name, line in measures_of(group, ks).items()},
    )


def _figure(tag: str, value: str) -> str:
    """The published column of a tag's value: level and "level-1" → level_1; none that exists where there is none."""
    name, words = tag.casefold(), "_".join(value.casefold().replace("-", " ").split())
    if name not in _FIGURES:
        return ""
    return _FIGURES[name] + words.removeprefix(f"{name}_")


def _published(row: LeaderboardRow) -> str:
    if row.published is None:
        return ""
    return percent(row.published) + ("" if row.published_sd is None else f" ± {percent(row.published_sd)}")


def leaderboard_grids(board: Leaderboard) -> list[Grid]:
    """The table of models, then one a tag and model."""
    grids = [_grid(f"Leaderboard · {board.benchmark or 'item scores'} · {board.table}", "model", board.standings)]
    groups: dict[tuple[str, str], list[LeaderboardRow]] = {}
    for row in board.parts:
        groups.setdefault((row.tag, row.model), []).append(row)
    grids.extend(_grid(f"By {tag} · {model}", tag, rows) for (tag, model), rows in groups.items())
    return grids


def _grid(title: str, first: str, rows: Sequence[LeaderboardRow]) -> Grid:
    group = rows[0].group
    unscored, published = any(row.unscored for row in rows), any(row.published is not None for row in rows)
    called = {"mean": "mean@1", "best": f"best@{group} ± sd"}
    called |= {name: f"{name} unbiased" for name in rows[0].measures if name.startswith("best@")}
    header = [first, "questions", "samples", *(called.get(name, name) for name in rows[0].measures)]
    header += ["unscored"] if unscored else []
    header += ["published best@10", "published as"] if published else []
    lines: list[tuple[str, ...]] = []
    for row in rows:
        line = [
            (row.value or "(none)") if row.tag else row.model,
            f"{row.questions:,}",
            f"{row.most:,}" if row.fewest == row.most else f"{row.fewest:,} to {row.most:,}",
            *(
                cell_text(found if name == "best" else msgspec.structs.replace(found, sd=None))
                for name, found in row.measures.items()
            ),
        ]
        line += [f"{row.unscored:,}"] if unscored else []
        line += [_published(row), row.published_as] if published else []
        lines.append(tuple(line))
    return Grid(title, tuple(header), tuple(lines), keep=("published best@10",) if published else ())


def legend(group: int) -> str:
    """How to read the columns."""
    return (
        f"Per cent with 95 % intervals over questions. best@{group} ± sd: the best of each group of {group} answers "
        "in their order, averaged; sd (n-1) over the groups' means, as in the paper. Unbiased: to expect of k "
        "answers drawn from all. pass@k: the share of questions with full marks once in k answers; pass^k: in all k. "
        "Published: the authors' best@10 ± sd."
    )


def notes_on(board: Leaderboard) -> list[str]:
    """What a reader must know about marked numbers and uneven tables."""
    notes: list[str] = []
    for row in board.standings:
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


@dataclass(frozen=True, repr=False)
class ScoreTable(StudyResult):
    """A leaderboard's rows."""

    board: Leaderboard

    def tables(self) -> list[Grid]:
        """The table of models, then one a tag and model."""
        return leaderboard_grids(self.board)

    def closing(self) -> list[str]:
        """Notes and legend."""
        return [*self.board.notes, legend(self.board.group)]

    def records(self) -> Records:
        """A row a number, in shares of 1: `measure` is mean, best_grouped, best, pass or pass^."""
        counted = ("answers", "unscored", "published", "published_sd", "published_as")
        rows = (*self.board.standings, *self.board.parts)
        return ("model", "tag", "value", "measure", "k", "estimate", *_NUMBERS[1:], *counted), [
            cells for row in rows for cells in _cells(row)
        ]

    def data(self) -> object:
        """The whole board."""
        return self.board


_NUMBERS = ("mean", "low", "high", "sd", "floor", "ceiling", "n", "unanswered")


def _cells(row: LeaderboardRow) -> Iterator[Sequence[object]]:
    for name, found in row.measures.items():
        measure, _, k = name.replace("^", "^@").partition("@")
        beside: Sequence[object] = (None, None, "")
        if name == "best":
            measure, k = "best_grouped", str(row.group)
            beside = beside if row.published is None else (row.published, row.published_sd, row.published_as)
        if name == "mean" and row.published_mean is not None:
            beside = (row.published_mean, None, row.published_as)
        values = [getattr(found, number) for number in _NUMBERS]
        yield row.model, row.tag, row.value, measure, int(k or 1), *values, row.answers, row.unscored, *beside
