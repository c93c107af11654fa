"""The error of anchors on models that had no part in choosing them: cross-validation over families of models.

Everything (curves, choice, reading) is done anew without a family, and its models are predicted. A family's models are
never predicted from each other: two sizes of one model, or a model and what was tuned from it, answer alike, and with a
relative among the known ones the error looks smaller than it is on a model from elsewhere.

Beside it stands what random questions of the same number give, read as people read them (their plain mean) and read by
the same curves; what asking nothing costs, calling every model average; and, for how much the choice owes to luck, the
anchors that are chosen from random halves of the questions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from viva.errors import DataError
from viva.lab.items.anchor_choice import checked, chosen_by, predict, reader_of
from viva.lab.items.curves import Floats, known_curves

FEWEST = 3
"""Families without which nothing can be held out and predicted from two others."""
FOLDS = 10
"""Parts of the families that are predicted from the others; each family is one up to so many."""
ROUNDS = 20
"""Random sets of questions, in each part."""
HALVES = 6
"""Random halves of the questions, in each part."""


class Way(Struct, frozen=True, kw_only=True):
    """How well one way of predicting full scores does, over models and rounds. Shares of 1."""

    name: str
    error: float
    """Root mean square of predicted − true."""
    spread: float
    """Standard deviation of that over rounds, each with other random questions; 0 where nothing is random."""
    bias: float
    worst: float
    """The largest error, on average over rounds."""
    errors: tuple[float, ...] = ()
    """Of each round, root mean squares."""


class Validation(Struct, frozen=True, kw_only=True):
    """The cross-validated errors."""

    anchors: Way
    halves: Way
    """Anchors chosen among half of the questions, drawn at random."""
    plain: Way
    """Random questions and their plain mean."""
    calibrated: Way
    """Random questions, read as anchors are."""
    nothing: Way
    """The mean score of the other models."""
    inflation: float
    """Errors in standard deviations of the reading, root mean square over families; 1 at least."""
    families: int
    models: int
    folds: int
    rounds: int


def validate(
    scores: Floats, count: int, shares: Floats | None = None, *, families: Sequence[str] = (), rounds: int = ROUNDS
) -> Validation:
    """Return the error of as many anchors on models that they have not seen; models × questions, nan where there is no
    score.

    `families`: of the models, each its own for none; parts are made of them in alphabetical order. A model with gaps is
    predicted on the questions that it answered. Raises DataError for fewer than three families, for a part whose models
    share fewer questions than anchors, and for what `choose` refuses.
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
    """Every family counts the same, whatever its number of models."""
    squares = np.divide(off[..., 0], off[..., 1], out=np.zeros(off.shape[:2]), where=off[..., 1] > 0) ** 2
    return max(1.0, float(np.sqrt(np.mean([squares[:, of == family].mean() for family in np.unique(of)]))))


def _root_mean_square(errors: Floats) -> float:
    return float(np.sqrt((errors**2).mean()))


def _way(name: str, errors: Floats) -> Way:
    """Return errors: rounds × models."""
    each = np.sqrt((errors**2).mean(axis=1))
    return Way(
        name=name,
        error=_root_mean_square(errors),
        spread=float(each.std(ddof=1)) if len(each) > 1 else 0.0,
        bias=float(errors.mean()),
        worst=float(np.abs(errors).max(axis=1).mean()),
        errors=tuple(float(error) for error in each),
    )
