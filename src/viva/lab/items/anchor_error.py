"""Error of anchors on models not used in choosing them, by cross-validation over families of models.

All steps (curves, choice, reading) are repeated without a family, and its models are predicted. Models of a family are
never predicted from each other: two sizes of one model, or a model and a fine-tuned one, answer alike, and a relative
among the known models makes the error look too small for unrelated ones.

For comparison: the errors of as many random questions, by their plain mean and by the same curves; of asking nothing,
calling every model average; and, to show the part of luck in the choice, of anchors chosen from random halves of the
questions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from viva.errors import DataError
from viva.lab.items.anchor_choice import checked, chosen_by, predict, reader_of
from viva.lab.items.curves import Floats, known_curves

FEWEST = 3
"""The fewest families: one is held out and predicted from two others."""
FOLDS = 10
"""The most folds of families; up to this number each family is one."""
ROUNDS = 20
"""Random sets of questions in each fold."""
HALVES = 6
"""Random halves of the questions in each fold."""


class Way(Struct, frozen=True, kw_only=True):
    """Errors of one method of predicting full scores, over models and rounds. Shares of 1."""

    name: str
    error: float
    """Root mean square of predicted − true."""
    spread: float
    """Standard deviation of that over rounds, each with other random questions; 0 where nothing is random."""
    bias: float
    worst: float
    """The largest error, on average over rounds."""
    errors: tuple[float, ...] = ()
    """Root mean square of each round."""


class Validation(Struct, frozen=True, kw_only=True):
    """The cross-validated errors."""

    anchors: Way
    halves: Way
    """Anchors chosen among half of the questions, drawn at random."""
    plain: Way
    """Random questions and their plain mean."""
    calibrated: Way
    """Random questions, read by curves as anchors are."""
    nothing: Way
    """The mean score of the other models."""
    inflation: float
    """Root mean square over families of errors in standard deviations of the reading; at least 1."""
    families: int
    models: int
    folds: int
    rounds: int


def validate(
    scores: Floats, count: int, shares: Floats | None = None, *, families: Sequence[str] = (), rounds: int = ROUNDS
) -> Validation:
    """Return the errors of `count` anchors on unseen models; `scores`: models × questions, nan where missing.

    `families`: of the models; empty if each is its own. Folds take them in alphabetical order. A model with gaps is
    predicted on the questions that it answered. Raises DataError for fewer than three families, for a fold whose models
    share fewer questions than anchors, and as `choose` does.
    """
    shares = checked(scores, count, shares)
    names = list(families) or [f"{place:06}" for place in range(len(scores))]
    different = sorted(set(names))
    if len(different) < FEWEST:
        raise DataError(
            f"the error of anchors is found by predicting families of models from others, and {len(different)} are too "
            f"few for that: it takes {FEWEST}"
        )
    of = np.array([different.index(name) for name in names])
    parts = [np.flatnonzero(of % FOLDS == start) for start in range(min(FOLDS, len(different)))]
    halves, sets = min(HALVES, rounds), rounds
    deviations = np.empty((1 + halves, len(scores), 2))  # predicted − true, and the reading's standard deviation
    plain, calibrated = np.empty((sets, len(scores))), np.empty((sets, len(scores)))
    nothing = np.empty((1, len(scores)))
    for number, part in enumerate(parts):
        answered = np.isfinite(scores[part]).all(axis=0)
        if int(answered.sum()) < count:
            raise DataError(
                f"{int(answered.sum()):,} questions were answered by all models that are predicted together, and "
                f"{count:,} anchors are more: leave out a model with gaps, or choose fewer"
            )
        mine = shares[answered] / shares[answered].sum()
        new = scores[part][:, answered]
        true = new @ mine
        full, curves = known_curves(np.delete(scores, part, axis=0)[:, answered], mine)
        everything = np.arange(len(mine))
        nothing[0, part] = full.mean() - true
        for round_ in range(1 + halves):
            dice = np.random.default_rng([round_, number])
            among = everything if not round_ else np.sort(dice.permutation(everything)[: max(count, len(mine) // 2)])
            reader = reader_of(curves, questions := chosen_by(curves, count, mine, full, among), mine)
            deviations[round_, part] = [predict(reader, row) for row in new[:, questions]]
            deviations[round_, part, 0] -= true
        for round_ in range(sets):
            questions = np.random.default_rng([round_, number, 1]).choice(len(mine), count, replace=False, p=mine)
            reader = reader_of(curves, questions, mine)
            calibrated[round_, part] = [predict(reader, row)[0] for row in new[:, questions]] - true
            plain[round_, part] = new[:, questions].mean(axis=1) - true
    return Validation(
        anchors=_way("anchors", deviations[:1, :, 0]),
        halves=_way("anchors of a random half", deviations[1:, :, 0]),
        plain=_way("random questions, plain mean", plain),
        calibrated=_way("random questions, same curves", calibrated),
        nothing=_way("nothing asked: the others' mean", nothing),
        inflation=_inflation(deviations, of),
        families=len(different),
        models=len(scores),
        folds=len(parts),
        rounds=sets,
    )


def _inflation(off: Floats, of: Floats) -> float:
    """Return `Validation.inflation`. All families have equal weight, whatever their number of models."""
    squares = np.divide(off[..., 0], off[..., 1], out=np.zeros(off.shape[:2]), where=off[..., 1] > 0) ** 2
    return max(1.0, float(np.sqrt(np.mean([squares[:, of == family].mean() for family in np.unique(of)]))))


def _root_mean_square(errors: Floats) -> float:
    return float(np.sqrt((errors**2).mean()))


def _way(name: str, errors: Floats) -> Way:
    """Return the summary of errors, rounds × models."""
    each = np.sqrt((errors**2).mean(axis=1))
    return Way(
        name=name,
        error=_root_mean_square(errors),
        spread=float(each.std(ddof=1)) if len(each) > 1 else 0.0,
        bias=float(errors.mean()),
        worst=float(np.abs(errors).max(axis=1).mean()),
        errors=tuple(float(error) for error in each),
    )
