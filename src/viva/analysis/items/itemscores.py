"""Scores of several models on the questions of one exam, as a matrix for item statistics and fits.

Five levels of difficulty, by the rule of the InfiBench paper (NeurIPS 2024), from item scores.

Two examiners of known strength take every question, and the first line that holds decides:

    1  the weaker one's mean score is at least 0.5                                  (GPT-3.5)
    2  the stronger one's mean score is at least 0.5                                (GPT-4, temperature 0.2)
    3  the stronger one, at temperature 1.0, reaches 0.5 at best in 10 answers
    4  the stronger one, at temperature 0.2, scores above 0 in any of 100 answers
    5  none of these

Missing runs leave several possible levels: without the run at temperature 1.0, level 3 may be level 4 or 5 as well, and
with fewer than 100 answers that all score 0, level 4 cannot be told from 5.
"""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import compress

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from viva.analysis.breakdown import Breakdown
from viva.analysis.columns import Columns
from viva.analysis.comparing import names_of
from viva.errors import DataError
from viva.types import UNANSWERED, Aggregate

Floats = NDArray[np.float64]
Which = NDArray[np.bool_] | NDArray[np.int64]


class ItemScores(Struct, frozen=True, kw_only=True, eq=False):
    """Models × questions. A question with several answers has the score that the exam's headline gives it."""

    exam: str
    models: tuple[str, ...]
    questions: tuple[str, ...]
    scores: Floats
    """Shares of 1; nan where a model has no score on a question."""
    shares: Floats
    """The share of each question in the headline; they sum to 1."""
    unasked: int = 0
    """Questions left out because no model has a score on them."""
    ranges: Mapping[str, tuple[float, float]] = {}
    """Models whose score is a range (`Estimate.ranged`) → where it lies."""
    tags: Mapping[str, Mapping[str, str]] = {}
    """Question → tag → value, of questions that have any."""

    def of(self, models: Which, questions: Which) -> ItemScores:
        """Return these models and questions, chosen by masks, or by places and in their order."""
        shares = self.shares[questions]
        return ItemScores(
            exam=self.exam,
            models=tuple(self.models[place] for place in np.arange(len(self.models))[models]),
            questions=tuple(self.questions[place] for place in np.arange(len(self.questions))[questions]),
            scores=self.scores[models][:, questions],
            shares=shares / shares.sum(),
            unasked=self.unasked,
            ranges=self.ranges,
            tags=self.tags,
        )


def item_scores(exam: str, frames: Mapping[str, Columns], headline: Aggregate) -> ItemScores:
    """Build the matrix from each model's scores (`analysis.breakdown.frame`), questions in order of first
    occurrence.
    """
    columns: dict[str, dict[str, float]] = {}
    groups: dict[str, tuple[str, float]] = {}
    ranges: dict[str, tuple[float, float]] = {}
    tags: dict[str, Mapping[str, str]] = {}
    for model, scores in frames.items():
        breakdown = Breakdown(scores, headline.attempts)
        summed, cell = breakdown.questions(headline), breakdown.cell(headline)
        if cell.ranged:
            ranges[model] = (cell.floor, cell.ceiling)
        names, points, answered = names_of(summed), summed.numbers["points"], summed.numbers["answered"]
        values = np.divide(points, answered, out=np.full(len(names), np.nan), where=answered > 0)
        columns[model] = dict(zip(names, values.tolist(), strict=True))
        words = {tag: text.rows() for tag, text in summed.tags.items()}
        for name, weight, *row in zip(names, summed.numbers["weight"].tolist(), *words.values(), strict=True):
            if not tags.get(name):  # another source may know no tags
                tags[name] = {tag: text for tag, text in zip(words, row, strict=True) if text}
            groups.setdefault(name, (tags[name].get(headline.over, ""), float(weight)))
    everything = [[column.get(name, np.nan) for name in groups] for column in columns.values()]
    matrix = np.array(everything, dtype=float).reshape(len(columns), len(groups))
    asked = np.isfinite(matrix).any(axis=0)
    kept = list(compress(groups, asked))
    return ItemScores(
        exam=exam,
        models=tuple(columns),
        questions=tuple(kept),
        scores=matrix[:, asked],
        shares=shares_of([groups[name] for name in kept], headline.over),
        unasked=len(groups) - len(kept),
        ranges=ranges,
        tags=tags,
    )


def answers(scores: Columns) -> dict[str, list[float | None]]:
    """Return question → the scores of its answers in order; None for unscored, 0 for unreadable answers."""
    question = scores.texts["question"]
    scores_by_model: dict[str, list[float | None]] = {name: [] for name in question.values}
    points, lost = np.nan_to_num(scores.numbers["value"]), scores.among("outcome", UNANSWERED)
    for code, score, missing in zip(question.codes.tolist(), points.tolist(), lost.tolist(), strict=True):
        scores_by_model[question.values[code]].append(None if missing else score)
    return scores_by_model


def shares_of(groups: list[tuple[str, float]], over: str) -> Floats:
    """Return the questions' shares of a mean, by their groups and weights.

    In a mean over questions, proportional to weight; in a mean over groups, proportional within each group.
    """
    weights = np.array([weight for _, weight in groups])
    if over:
        total: dict[str, float] = {}
        for group, weight in groups:
            total[group] = total.get(group, 0.0) + weight
        weights = weights / np.array([total[group] for group, _ in groups])
    shares: Floats = weights / weights.sum() if len(weights) else weights
    return shares


HALF = 0.5 - 1e-6
"""Published scores are rounded to six decimals, and seven questions of the suite have a mean of exactly one half."""
DRAWS = 10
TRIALS = 100

Levels = tuple[int, ...]
"""The levels that a question may have, lowest first; one where the rule decides."""
Answers = Sequence[float | None]
"""The scores of the answers to one question in their order; None for unscored."""

_LEVEL = re.compile(r"level[-_ ]?([1-9])\s*:\s*(?:#.*)?")
_ITEM = re.compile(r"""\s*-\s+(?:['"])?([^'"#]+?)(?:['"])?\s*(?:#.*)?""")


def level(weaker: Answers, stronger: Answers, warm: Answers | None = None, *, trials: int = TRIALS) -> Levels:
    """Return the levels that one question may have.

    `warm`: the stronger examiner at temperature 1.0, of which the first ten answers count; None where there was no such
    run. `trials`: how many answers without a point it takes to call a question level 5 (the paper's 100). Raises
    DataError where an examiner has no scored answer.
    """
    low, high = _scored(weaker, "the weaker examiner"), _scored(stronger, "the stronger examiner")
    if statistics.fmean(low) >= HALF:
        return (1,)
    if statistics.fmean(high) >= HALF:
        return (2,)
    beyond: Levels = (4,) if max(high) > 0.0 else (5,) if len(high) >= trials else (4, 5)
    if warm is None:
        return (3, *beyond)
    drawn = _scored(warm[:DRAWS], "the stronger examiner at temperature 1.0")
    if max(drawn) >= HALF:
        return (3,)
    return beyond if len(drawn) >= DRAWS else (3, *beyond)


def levels(
    weaker: Mapping[str, Answers],
    stronger: Mapping[str, Answers],
    warm: Mapping[str, Answers] | None = None,
    *,
    trials: int = TRIALS,
) -> dict[str, Levels]:
    """Return the levels of all questions that both examiners took; an empty tuple where one has no scored answer."""
    possible_levels: dict[str, Levels] = {}
    for question, answers in weaker.items():
        if question in stronger:
            known = _any_scored(answers) and _any_scored(stronger[question])
            heated = warm.get(question, ()) if warm else ()
            possible_levels[question] = (
                level(answers, stronger[question], heated if _any_scored(heated[:DRAWS]) else None, trials=trials)
                if known
                else ()
            )
    return possible_levels


def agreement(possible_levels: Mapping[str, Levels], given: Mapping[str, int]) -> Counter[tuple[Levels, int]]:
    """Count pairs (possible levels, level in another grouping) over the questions in both."""
    return Counter((possible, given[question]) for question, possible in possible_levels.items() if question in given)


def named(possible: Levels) -> str:
    """Return `2`, `3 or 4`, `3, 4 or 5`, and `–` for none."""
    words = [str(number) for number in possible]
    return " or ".join(part for part in (", ".join(words[:-1]), words[-1]) if part) if words else "–"


def read_levels(text: str, name: str) -> dict[str, int]:
    """Return question → level from the authors' file: `level-1:` and below it lines such as `- cases/eval_0-0-8.yaml`.

    `name` is what errors call the text. A question is called by its id (0-0-8). Raises DataError with the line.
    """
    level_by_question: dict[str, int] = {}
    current = 0
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if heading := _LEVEL.fullmatch(line.strip()):
            current = int(heading[1])
            continue
        item = _ITEM.fullmatch(line)
        if item is None or not current:
            raise DataError(f"{name}, line {number}: {line[:60]!r} is neither `level-N:` nor `- QUESTION` below one")
        question = item[1].rpartition("/")[2].removesuffix(".yaml").removeprefix("eval_")
        if question in level_by_question:
            raise DataError(
                f"{name}, line {number}: question {question!r} is also in level {level_by_question[question]}"
            )
        level_by_question[question] = current
    if not level_by_question:
        raise DataError(f"{name} holds no levels; it should look like `level-1:` and, below it, `- QUESTION`")
    return level_by_question


def _any_scored(answers: Answers) -> bool:
    return any(score is not None for score in answers)


def _scored(answers: Answers, whose: str) -> list[float]:
    scores = [score for score in answers if score is not None]
    if not scores:
        raise DataError(f"{whose} has no scored answer to this question, so its difficulty cannot be told")
    for score in scores:
        if not math.isfinite(score):
            raise DataError(f"{whose} has a score {score}, which is no number that can be compared")
    return scores
