"""Anchors: chosen from item_sources scores, and full scores predicted from answers to them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from viva.errors import DataError
from viva.studies.items.anchors_file import read_anchors
from viva.studies.items.sources import ItemSources, item_sources
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.analysis.itemscores import ItemScores
    from viva.reports.anchors import Anchors, AnchorSet, Prediction, Predictions

LACKING = 0.05
"""A model that lacks a larger share of the questions is no example of a full score."""
MOST_MISSING = 0.2
"""With a larger share of the anchors unscored nothing is predicted."""


def chosen(one: ItemSources, count: int, seed: int, listed: int) -> Anchors:
    """Anchors by all models that took the whole exam, with their cross-validated error; `listed`: shown at most.

    Raises DataError for too few such models or questions.
    """
    from viva.analysis.anchors import FEWEST, choose, validate
    from viva.analysis.itemscores import item_scores
    from viva.analysis.itemstatistics import item_statistics
    from viva.reports.anchors import Anchor, Anchors, AnchorSet

    scores, notes = _whole(item_scores(one.exam, one.frames, one.headline))
    names = [one.found[model].model for model in scores.models]
    if len(set(names)) < FEWEST <= len(names):
        notes.append(
            f"These are several runs of fewer than {FEWEST} different models: they are predicted from each other, and "
            "the error is one for further runs of the same, not for another model."
        )
        names = []
    validation = validate(scores.scores, count, scores.shares, names=names)
    anchors = choose(scores.scores, count, scores.shares, seed=seed)
    stats = item_statistics(scores.scores)
    found = AnchorSet(
        exam=one.exam,
        anchors=tuple(
            Anchor(
                question=scores.questions[place],
                weight=float(weight),
                facility=float(stats.facility[place]),
                discrimination=float(d) if math.isfinite(d := stats.discrimination[place]) else None,
            )
            for place, weight in zip(anchors.questions, anchors.weights, strict=True)
        ),
        line=anchors.line,
        lowest=anchors.lowest,
        highest=anchors.highest,
        error=validation.anchors.error,
        models=validation.models,
        of_questions=len(scores.questions),
    )
    return Anchors(found, validation, (*one.notes, *notes), listed)


def _whole(scores: ItemScores) -> tuple[ItemScores, list[str]]:
    """The models that have nearly all questions, and the questions that all of these have."""
    import numpy as np

    notes: list[str] = []
    there = np.isfinite(scores.scores)
    most = int(there.sum(axis=1).max(initial=0))
    full = there.sum(axis=1) >= (1 - LACKING) * most
    if not full.all():
        short = ", ".join(name for name, kept in zip(scores.models, full, strict=True) if not kept)
        notes.append(f"Left out, as they lack more than {LACKING:.0%} of the questions: {short}.")
    shared = there[full].all(axis=0)
    if not shared.all():
        notes.append(f"{int((~shared).sum()):,} questions that some model has no score on are left out everywhere.")
    if not shared.any():
        raise DataError(f"{scores.exam}: there is no question that all models have a score on")
    return scores.of(full, shared), notes


def predicted(sources: Sequence[Path], file: Path | None, exam: str | None) -> Predictions:
    """The full scores of the sources' models."""
    from viva.reports.anchors import Predictions

    assert file is not None
    anchors = read_anchors(file)
    found = [
        prediction
        for one in item_sources(sources, exam)
        for prediction in _predictions(one, anchors, file, alone=exam is None)
    ]
    if not found:
        raise DataError(
            f"none of {', '.join(map(str, sources))} holds {anchors.exam}, which {file} is about; if another name is "
            "the same exam, say --exam NAME"
        )
    return Predictions(tuple(found), anchors)


def _predictions(one: ItemSources, anchors: AnchorSet, file: Path, *, alone: bool) -> list[Prediction]:
    """Of one exam's models. `alone`: no --exam was given, so another exam's runs are passed over."""
    from viva.analysis.anchors import predict
    from viva.analysis.itemscores import item_scores
    from viva.reports.anchors import Prediction

    scores = item_scores(one.exam, one.frames, one.headline)
    places = {question: place for place, question in enumerate(scores.questions)}
    wanted = [(places[anchor.question], anchor.weight) for anchor in anchors.anchors if anchor.question in places]
    if alone and one.exam != anchors.exam and not wanted:
        return []
    found: list[Prediction] = []
    for row, model in enumerate(scores.models):
        mine = scores.scores[row]
        scored = [(float(mine[place]), weight) for place, weight in wanted if math.isfinite(mine[place])]
        if len(scored) < (1 - MOST_MISSING) * len(anchors.anchors):
            raise DataError(
                f"{one_line(model, 60)} on {one.exam} has scores on {len(scored):,} of the {len(anchors.anchors):,} "
                f"anchors: too few to predict from; `viva run ... --questions {file}` asks them"
            )
        values, weights = [value for value, _ in scored], [weight for _, weight in scored]
        value, low, high = predict(values, weights, anchors.line, anchors.error, anchors.models)
        whole = len(scores.questions) >= anchors.of_questions and all(math.isfinite(score) for score in mine)
        found.append(
            Prediction(
                model=model,
                source=str(one.found[model].source),
                value=value,
                low=low,
                high=high,
                anchor_mean=math.fsum(v * w for v, w in scored) / math.fsum(weights),
                answered=len(scored),
                of=len(anchors.anchors),
                full=float(mine @ scores.shares) if whole else None,
            )
        )
    return found
