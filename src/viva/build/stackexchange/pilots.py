"""Pilot runs: find a project's bad questions by models' answers.

A question is suspicious if nobody passes, everybody passes, or the better models fail. Passing is full marks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from msgspec import Struct

from viva.analysis.items.itemstatistics import FEWEST, item_statistics
from viva.build.stackexchange.project import Project, key_of
from viva.engine.folder import RunFolder
from viva.runs.answers import answered
from viva.runs.open import prepare
from viva.runs.scorefile import find_run
from viva.types import UNANSWERED
from viva.visible import plural

LONGEST = 2_000
"""Characters of an answer that are kept."""
REPLIES = {"question": pl.String, "model": pl.String, "score": pl.Float64, "text": pl.String, "why": pl.String}
"""Columns of the table of answers; without a score is one that could not be graded."""


def replies_of(project: Project, runs: Sequence[Path]) -> tuple[pl.DataFrame, set[str]]:
    """Return the runs' answers to the project's questions, and the questions whose text has changed since the sets were
    exported. A model of several runs is named with its run.
    """
    places = list(dict.fromkeys(find_run(run).resolve() for run in runs))
    known = {f"so-{about.id}" for about in project.pool}
    rows: list[tuple[object, ...]] = []
    fingerprints: set[str] = set()
    for place in places:
        opened = prepare(RunFolder.open(place))
        fingerprints |= {exam.fingerprint for exam in opened.exams}
        evaluated = Counter(evaluation.model.name for evaluation in opened.evaluations)
        for answer in answered(opened):
            row = answer.row
            if row.question in known:
                model = f"{row.model} ({place.name})" if len(places) > 1 and evaluated[row.model] < 2 else row.model
                score = None if row.outcome in UNANSWERED else row.value or 0.0
                rows.append((row.question, model, score, answer.response.text[:LONGEST], row.explanation))
    texts = {(made.fingerprint, question): text for made in project.exports() for question, text in made.texts.items()}
    now = {state.id: key_of(state) for state in project.states()} if texts else {}
    changed = {name for (made, name), text in texts.items() if made in fingerprints and now.get(name) != text}
    return pl.DataFrame(rows, REPLIES, orient="row"), changed


class Tried(Struct, frozen=True):
    """What models made of one question."""

    question: str
    answers: int
    models: int
    graded: int
    """Answers with a score."""
    best: float | None
    worst: float | None
    discrimination: float = np.nan
    """Correlation of the models' scores on it with those on all other questions; nan for fewer than three models."""
    surely: bool = False
    """Whether it is below 0 even when corrected for the number of questions."""


def tried(replies: pl.DataFrame) -> list[Tried]:
    """Return the questions, in the order of the answers."""
    score = pl.col("score")
    counts = (
        pl.len(),
        pl.col("model").n_unique(),
        score.count(),
        score.max().alias("best"),
        score.min().alias("worst"),
    )
    questions = replies.group_by("question", maintain_order=True).agg(counts)
    means = replies.pivot("question", index="model", values="score", aggregate_function="mean").sort("model")
    matrix = means.drop("model").to_numpy()
    there = np.isfinite(matrix).any(axis=0)
    correlations, surely = np.full(len(there), np.nan), np.zeros(len(there), np.bool_)
    if len(means) >= FEWEST and there.sum() > 1:
        statistics = item_statistics(matrix[:, there])
        correlations[there], surely[there] = statistics.discrimination, statistics.surely_negative
    rows = zip(questions.iter_rows(), correlations.tolist(), surely.tolist(), strict=True)
    return [Tried(*counted, *tests) for counted, *tests in rows]


Kind = Literal["nobody", "everybody", "unscored", "against the rest"]
KINDS: dict[Kind, str] = {
    "nobody": "no answer passes: too hard, or the criteria refuse right answers",
    "everybody": "every answer passes: too easy, or the criteria take anything",
    "unscored": "answers that could not be graded: no toolchain, or a pattern without end",
    "against the rest": "better models do worse: often a wrong criterion",
}
FULL = 1.0 - 1e-9


class Finding(Struct, frozen=True, kw_only=True):
    """A suspicious question and why; `show`: whether to look at its best or its worst answers."""

    question: str
    kind: Kind
    said: str
    show: Literal["best", "worst"]
    chance: bool = False
    """Whether it may be chance, since a correlation over few models is noisy."""


def findings(questions: Sequence[Tried]) -> list[Finding]:
    """Return the findings in the order of questions, those that may be chance last."""
    told = [finding for question in questions for finding in _findings(question)]
    return sorted(told, key=lambda finding: finding.chance)


def _findings(tried: Tried) -> Iterator[Finding]:
    told = partial(Finding, question=tried.question)
    models, graded = plural(tried.models, "model"), f"{tried.graded:,} answers"
    if tried.best is not None and tried.best < FULL:
        points = "none has a point" if tried.best <= 0 else f"the best has {tried.best:.3g}"
        yield told(kind="nobody", said=f"{graded} of {models}: {points}", show="best")
    elif tried.worst is not None and tried.worst >= FULL:
        yield told(kind="everybody", said=f"{graded} of {models}", show="worst")
    if tried.graded < tried.answers:
        yield told(kind="unscored", said=f"{tried.answers - tried.graded:,} of {tried.answers:,} answers", show="best")
    if tried.discrimination < 0:
        sure = "also when it is kept in mind how many questions there are" if tried.surely else "perhaps by chance"
        correlated = f"correlation with the rest {tried.discrimination:+.2f} over {models}, {sure}"
        yield told(kind="against the rest", said=correlated, show="worst", chance=not tried.surely)


def shown(replies: pl.DataFrame, finding: Finding, most: int) -> list[dict[str, Any]]:
    """Return the best or worst answers for a finding; among equal scores, of as many models as possible."""
    graded = replies.filter(pl.col("question") == finding.question, pl.col("score").is_not_null())
    turns = graded.with_columns(turn=pl.int_range(pl.len()).over("model", "score"))
    ranked = turns.sort("score", "turn", descending=[finding.show == "best", False], maintain_order=True)
    return ranked.head(most).to_dicts()
