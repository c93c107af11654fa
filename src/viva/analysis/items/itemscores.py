"""Scores of several models on the questions of one exam, as a matrix: what item statistics and fits are made of."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from viva.analysis.breakdown import Breakdown
from viva.analysis.columns import Columns
from viva.analysis.comparing import names_of
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
    """Which share of the headline each question is; they sum to 1."""
    unasked: int = 0
    """Questions that were left out, as no model has a score on them."""
    ranges: Mapping[str, tuple[float, float]] = {}
    """Models whose score is a range (`Estimate.ranged`) → where it lies."""
    tags: Mapping[str, Mapping[str, str]] = {}
    """Question → tag → value, of questions that have any."""

    def of(self, models: Which, questions: Which) -> ItemScores:
        """The part of these models and questions; places put them in their order."""
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
    """From each model's scores (`analysis.breakdown.frame`). Questions stand in the order in which they first occur."""
    columns: dict[str, dict[str, float]] = {}
    groups: dict[str, tuple[str, float]] = {}
    ranges: dict[str, tuple[float, float]] = {}
    tags: dict[str, Mapping[str, str]] = {}
    for model, scores in frames.items():
        tag = f"tag:{headline.over}"
        breakdown = Breakdown(scores, headline.attempts)
        summed, cell = breakdown.questions(headline), breakdown.cell(headline)
        if cell.ranged:
            ranges[model] = (cell.floor, cell.ceiling)
        names = names_of(summed)
        words = {
            name.removeprefix("tag:"): [*text.values, ""]
            for name, text in summed.texts.items()
            if name.startswith("tag:")
        }
        for place, name in enumerate(names) if words else ():
            if name not in tags:
                tags[name] = {
                    tag: text
                    for tag, values in words.items()
                    if (text := values[summed.texts[f"tag:{tag}"].codes[place]])
                }
        mine = columns.setdefault(model, {})
        group_codes = summed.texts[tag].codes.tolist() if tag in summed.texts else [-1] * len(names)
        grouped = [*summed.texts[tag].values, ""] if tag in summed.texts else [""]
        points, answered, weights = (summed.numbers[column].tolist() for column in ("points", "answered", "weight"))
        for name, score, heard, code, weight in zip(names, points, answered, group_codes, weights, strict=True):
            mine[name] = score / heard if heard else np.nan
            groups.setdefault(name, (grouped[code], float(weight)))
    everything = list(groups)
    matrix = np.array([[found.get(name, np.nan) for name in everything] for found in columns.values()], dtype=float)
    asked = np.isfinite(matrix).any(axis=0) if matrix.size else np.zeros(len(everything), dtype=bool)
    return ItemScores(
        exam=exam,
        models=tuple(columns),
        questions=tuple(name for name, kept in zip(everything, asked, strict=True) if kept),
        scores=matrix[:, asked] if matrix.size else np.empty((len(columns), 0)),
        shares=shares_of([groups[name] for name, kept in zip(everything, asked, strict=True) if kept], headline.over),
        unasked=int((~asked).sum()),
        ranges=ranges,
        tags=tags,
    )


def answers(scores: Columns) -> dict[str, list[float | None]]:
    """Question → the scores of its answers in their order, None for unscored; what could not be read is a zero."""
    question = scores.texts["question"]
    found: dict[str, list[float | None]] = {name: [] for name in question.values}
    points, lost = np.nan_to_num(scores.numbers["value"]), scores.among("outcome", UNANSWERED)
    for code, score, missing in zip(question.codes.tolist(), points.tolist(), lost.tolist(), strict=True):
        found[question.values[code]].append(None if missing else score)
    return found


def shares_of(groups: list[tuple[str, float]], over: str) -> Floats:
    """The questions' shares of a mean, by their groups and weights.

    Of a mean over questions each its weight; of a mean over groups of questions, the same within its group.
    """
    weights = np.array([weight for _, weight in groups])
    if over:
        total: dict[str, float] = {}
        for group, weight in groups:
            total[group] = total.get(group, 0.0) + weight
        weights = weights / np.array([total[group] for group, _ in groups])
    found: Floats = weights / weights.sum() if len(weights) else weights
    return found
