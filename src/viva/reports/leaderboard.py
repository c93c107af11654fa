"""From item scores to the rows of a leaderboard, beside the published ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
from msgspec import Struct

from viva.analysis.best import Estimate, Scores, best_in_groups, best_of, mean_score, passing
from viva.published import Entry, share
from viva.reports.printing import StudyResult
from viva.reports.result import UNSURE, Grid, percent

MOST_LOST = 0.05
"""The share of a row's questions without a score up to which a published figure stands beside it."""
SHORT = "‡"
"""Marks a best@k or pass@k for which some questions have fewer than k answers."""
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
    unscored: int
    group: int
    mean: Estimate
    grouped: Estimate
    best: dict[int, Estimate]
    """k → best@k, unbiased."""
    passed: dict[int, Estimate]
    """k → pass@k, unbiased."""
    published_as: str = ""
    """The published row beside it; "" for none."""
    published: float | None = None
    published_sd: float | None = None
    published_mean: float | None = None


class Leaderboard(Struct, frozen=True, kw_only=True):
    """Everything that `viva score TABLE` found out."""

    benchmark: str
    table: str
    group: int
    standings: tuple[LeaderboardRow, ...]
    parts: tuple[LeaderboardRow, ...] = ()
    """The same by tag."""
    notes: tuple[str, ...] = ()


def standing(
    model: str, questions: Sequence[Scores], group: int, ks: Iterable[int], published: Entry | None = None
) -> LeaderboardRow:
    """A model's row."""
    found = _measured(model, questions, group, ks)
    if published is None or not same_questions(questions):
        return found
    return msgspec.structs.replace(
        found,
        published_as=published.name,
        published=share(published.figures["score"]),
        published_sd=_deviation(published),
        published_mean=share(published.figures["mean_score"]),
    )


def same_questions(questions: Sequence[Scores]) -> bool:
    """Return whether a mean is over the questions that a published one is over, but for a few that were lost.

    A table of item scores does not say what is missing: more than a few may be a kind of question, as unit tests are
    where no program was run.
    """
    lost = sum(all(score is None for score in scores) for scores in questions)
    return lost <= MOST_LOST * len(questions)


def _deviation(published: Entry) -> float | None:
    """The published standard deviation over groups of ten; None for a single group, where the table prints 0."""
    return share(published.figures["score_std"]) if published.figures["responses"] > 10 else None


def parts(
    model: str,
    scores: Mapping[str, Scores],
    tag: str,
    values: Mapping[str, str],
    group: int,
    ks: Iterable[int],
    published: Entry | None = None,
) -> list[LeaderboardRow]:
    """A model's rows by the values of a tag (question → value), in the order of the values."""
    ks = tuple(ks)
    questions: dict[str, list[Scores]] = {}
    for question, answers in scores.items():
        questions.setdefault(values[question], []).append(answers)
    rows: list[LeaderboardRow] = []
    for value in sorted(questions):
        row = msgspec.structs.replace(_measured(model, questions[value], group, ks), tag=tag, value=value)
        beside = published is not None and same_questions(questions[value])
        figure = published.figures.get(_figure(tag, value)) if published and beside else None
        if published and figure is not None:
            row = msgspec.structs.replace(row, published_as=published.name, published=share(figure))
        rows.append(row)
    return rows


def _measured(model: str, questions: Sequence[Scores], group: int, ks: Iterable[int]) -> LeaderboardRow:
    counts = [len(scores) for scores in questions]
    wanted = tuple(ks)
    return LeaderboardRow(
        model=model,
        questions=len(questions),
        fewest=min(counts),
        most=max(counts),
        answers=sum(counts),
        unscored=sum(1 for scores in questions for score in scores if score is None),
        group=group,
        mean=mean_score(questions),
        grouped=best_in_groups(questions, group),
        best={k: best_of(questions, k) for k in wanted},
        passed={k: passing(questions, k) for k in dict.fromkeys((1, *wanted))},
    )


def _figure(tag: str, value: str) -> str:
    """The published column of a tag's value: level and "level-1" → level_1; none that exists where there is none."""
    name, words = tag.casefold(), "_".join(value.casefold().replace("-", " ").split())
    if name not in _FIGURES:
        return ""
    return _FIGURES[name] + words.removeprefix(f"{name}_")


def estimate_text(estimate: Estimate, *, unscored: int = 0) -> str:
    """`70.50 ± 0.66 [65.80, 75.20]`, marked † where answers are left out and ‡ where there are too few."""
    if estimate.mean is None:
        return "–"
    text = percent(estimate.mean) + (UNSURE if unscored else "") + (SHORT if estimate.short else "")
    if estimate.sd is not None:
        text += f" ± {percent(estimate.sd)}"
    if estimate.low is not None:
        text += f" [{percent(estimate.low)}, {percent(estimate.high)}]"
    return text


def _bounds(row: LeaderboardRow) -> str:
    found = row.grouped
    return "" if found.floor is None else f"{percent(found.floor)}–{percent(found.ceiling)}"


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
    ks, passes, group = list(rows[0].best), list(rows[0].passed), rows[0].group
    unscored, published = any(row.unscored for row in rows), any(row.published is not None for row in rows)
    header = [first, "questions", "samples", "mean@1", f"best@{group} ± sd"]
    header += [f"best@{k} unbiased" for k in ks] + [f"pass@{k}" for k in passes]
    header += ["unscored", f"bounds of best@{group}"] if unscored else []
    header += ["published best@10", "published as"] if published else []
    lines: list[tuple[str, ...]] = []
    for row in rows:
        cells = [row.mean, row.grouped, *row.best.values(), *row.passed.values()]
        line = [
            (row.value or "(none)") if row.tag else row.model,
            f"{row.questions:,}",
            f"{row.most:,}" if row.fewest == row.most else f"{row.fewest:,} to {row.most:,}",
            *(estimate_text(cell, unscored=row.unscored) for cell in cells),
        ]
        line += [f"{row.unscored:,}", _bounds(row)] if unscored else []
        line += [_published(row), row.published_as] if published else []
        lines.append(tuple(line))
    return Grid(title, tuple(header), tuple(lines))


def legend(group: int) -> str:
    """How to read the columns."""
    return (
        f"Per cent with 95 % intervals over questions. best@{group} ± sd: the best of each group of {group} answers in "
        "their order, averaged; sd (n-1) over the groups' means, as in the paper. Unbiased: to expect of k answers "
        "drawn from all. pass: the share of questions with full marks. Published: the authors' best@10 ± sd."
    )


def notes_on(board: Leaderboard) -> list[str]:
    """What a reader must know about marked numbers and uneven tables."""
    notes: list[str] = []
    for row in board.standings:
        if row.unscored == row.answers:
            notes.append(f"{UNSURE} {row.model}: none of its {row.answers:,} answers has a score.")
        elif row.unscored:
            notes.append(
                f"{UNSURE} {row.model}: {row.unscored:,} of {row.answers:,} answers have no score and are left out. If "
                f"they were worth nothing, or everything, best@{row.group} would be {_bounds(row)}."
            )
        if row.fewest != row.most:
            notes.append(
                f"{row.model}: not all questions have the same number of answers: {row.fewest:,} to {row.most:,}."
            )
        if row.grouped.short:
            notes.append(
                f"{SHORT} {row.model}: {row.grouped.short:,} of {row.questions:,} questions have a last group of fewer "
                f"than {row.group} answers, or fewer answers than others."
            )
        for k, found in row.best.items():
            if found.mean is None and found.short:
                notes.append(
                    f"{row.model}: best@{k} and pass@{k} cannot be told, no question has {k:,} scored answers."
                )
            elif found.short:
                notes.append(
                    f"{SHORT} {row.model}: {found.short:,} of {row.questions:,} questions have fewer than {k:,} scored "
                    f"answers; best@{k} and pass@{k} take all that they have."
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

    def records(self) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
        """A row a number, in shares of 1: `measure` is mean, best_grouped, best or pass."""
        counted = ("answers", "unscored", "published", "published_sd", "published_as")
        rows = (*self.board.standings, *self.board.parts)
        return ("model", "tag", "value", "measure", "k", "estimate", *_NUMBERS[1:], *counted), [
            cells for row in rows for cells in _cells(row)
        ]

    def data(self) -> object:
        """The whole board."""
        return self.board


_NUMBERS = ("mean", "low", "high", "sd", "floor", "ceiling", "questions", "short")


def _cells(row: LeaderboardRow) -> Iterator[Sequence[object]]:
    measures: list[tuple[str, int, Estimate]] = [("mean", 1, row.mean), ("best_grouped", row.group, row.grouped)]
    measures += [("best", k, found) for k, found in row.best.items()]
    measures += [("pass", k, found) for k, found in row.passed.items()]
    for measure, k, found in measures:
        beside: Sequence[object] = (None, None, "")
        if measure == "best_grouped" and row.published is not None:
            beside = (row.published, row.published_sd, row.published_as)
        if measure == "mean" and row.published_mean is not None:
            beside = (row.published_mean, None, row.published_as)
        values = [getattr(found, number) for number in _NUMBERS]
        yield row.model, row.tag, row.value, measure, k, *values, row.answers, row.unscored, *beside
