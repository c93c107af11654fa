"""Anchor questions: a few that tell what a model would score on all of them, and how far off that may be.

Published ways to choose anchors (clusters of questions that models answer alike, Vivek et al. 2024, arXiv 2309.08638;
item-response theory, Polo et al. 2024, arXiv 2402.14992) were compared here on simulated models of several abilities
each. With the six to forty models that people have, what helped was less which questions were asked than how the
answers were read. So both are kept simple:

1. *Choosing*: questions are sorted by the mean score of the known models, cut into as many strata of equal number as
   anchors are wanted, and one question is drawn from each. Of many such draws the one counts whose calibration predicts
   the known models best, each left out in turn. An anchor's weight is its stratum's share of the exam.
2. *Reading*: a model's full score is predicted from its weighted anchor mean x by a line through the known models,
   intercept + slope · x. The slope is drawn to 1, as strongly as one stray set of answers deserves (prior standard
   deviation 0.3), so that three models do not bend it, and forty do.

The error is found by cross-validation over models. Everything, the choosing too, is done anew without the models that
are predicted, in all their runs. Beside it stands what random questions of the same number give: read as people read
them (their plain mean) and read by the same line; and what it costs to ask nothing, and call every model average. If
anchors do not beat these, that is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from viva.analysis.uncertainty import t_quantile
from viva.errors import DataError

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

FEWEST = 3
"""Models without which nothing can be held out and predicted from two others."""
DRAWS = 50
"""Draws of anchors of which the best is taken."""
ROUNDS = 20
"""Times that the cross-validation is done, with other random numbers each."""
FOLDS = 10
"""Parts of the models that are predicted from the others; each model is one up to so many."""
SLOPE = 0.3
"""Prior standard deviation of the slope around 1."""


class Line(Struct, frozen=True, kw_only=True):
    """A full score from an anchor mean: intercept + slope · x."""

    intercept: float
    slope: float

    def at(self, x: Floats) -> Floats:
        """The predicted full scores."""
        return self.intercept + self.slope * x


class Anchors(Struct, frozen=True, kw_only=True, eq=False):
    """The chosen questions, in the order of the exam."""

    questions: Indices
    weights: Floats
    """Of each, summing to 1."""
    line: Line
    lowest: float
    """The lowest anchor mean of a known model; beyond the known ones a line is a guess."""
    highest: float


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


class Validation(Struct, frozen=True, kw_only=True):
    """The cross-validated errors."""

    anchors: Way
    plain: Way
    """Random questions and their plain mean."""
    calibrated: Way
    """Random questions and the line."""
    nothing: Way
    """The mean score of the other models."""
    models: int
    """Different ones."""
    folds: int
    rounds: int


def choose(scores: Floats, count: int, shares: Floats | None = None, *, seed: int = 0) -> Anchors:
    """`count` anchors by the scores of known models, models × questions without gaps.

    `shares`: which share of the full score each question is; equal ones for None. Raises DataError for a count that is
    not from 2 to the number of questions.
    """
    shares = _checked(scores, count, shares)
    questions, weights = _drawn(scores, count, shares, np.random.default_rng(seed))
    means = scores[:, questions] @ weights
    return Anchors(
        questions=questions,
        weights=weights,
        line=_line(means, scores @ shares, _noise(scores[:, questions], weights)),
        lowest=float(means.min()),
        highest=float(means.max()),
    )


def validate(
    scores: Floats, count: int, shares: Floats | None = None, *, names: Sequence[str] = (), rounds: int = ROUNDS
) -> Validation:
    """The error that `choose` and its line make on models that they have not seen.

    `names`: of the models; rows of one name (a model at two temperatures, say) are never predicted from each other.
    Raises DataError for fewer than three models and for what `choose` refuses.
    """
    shares = _checked(scores, count, shares)
    models = len(scores)
    names = names or [str(place) for place in range(models)]
    different = list(dict.fromkeys(names))
    of = np.array([different.index(name) for name in names])
    if len(different) < FEWEST:
        raise DataError(
            f"the error of anchors is found by predicting models from others, and {len(different)} are too few for "
            f"that: it takes {FEWEST}"
        )
    full = scores @ shares
    folds = [np.flatnonzero(of % FOLDS == start) for start in range(min(FOLDS, len(different)))]

    def predicted(read: Callable[[Floats, Floats, np.random.Generator], Floats], times: int) -> Floats:
        found = np.empty((times, models))
        for round_ in range(times):
            for number, fold in enumerate(folds):
                known = np.delete(np.arange(models), fold)
                dice = np.random.default_rng([round_, number])
                found[round_, fold] = read(scores[known], scores[fold], dice)
        return found - full

    def by_anchors(known: Floats, new: Floats, dice: np.random.Generator) -> Floats:
        questions, weights = _drawn(known, count, shares, dice)
        return _read(known, new, questions, weights, shares)

    def by_random(known: Floats, new: Floats, dice: np.random.Generator) -> Floats:
        questions = _random(count, shares, dice)
        return _read(known, new, questions, np.full(count, 1 / count), shares)

    def by_plain_mean(known: Floats, new: Floats, dice: np.random.Generator) -> Floats:
        means: Floats = new[:, _random(count, shares, dice)].mean(axis=1)
        return means

    def by_nothing(known: Floats, new: Floats, dice: np.random.Generator) -> Floats:
        return np.full(len(new), (known @ shares).mean())

    return Validation(
        anchors=_way("anchors", predicted(by_anchors, rounds)),
        plain=_way("random questions, plain mean", predicted(by_plain_mean, rounds)),
        calibrated=_way("random questions, same line", predicted(by_random, rounds)),
        nothing=_way("nothing asked: the others' mean", predicted(by_nothing, 1)),
        models=len(different),
        folds=len(folds),
        rounds=rounds,
    )


def predict(
    anchors_scores: Sequence[float], weights: Sequence[float], line: Line, error: float, models: int
) -> tuple[float, float, float]:
    """A full score and its 95 % interval, from a model's scores on the anchors.

    Shares of 1: where the line leads beyond 0 or 1 the score is that, and the interval lies around it.

    `error`: the cross-validated one; `models`: how many it was found with. Student's t, as it rests on so few.
    """
    x = float(np.dot(anchors_scores, weights) / np.sum(weights))
    value = min(1.0, max(0.0, line.intercept + line.slope * x))
    half = t_quantile(max(models - 1, 1)) * error
    return value, max(0.0, value - half), min(1.0, value + half)


def _checked(scores: Floats, count: int, shares: Floats | None) -> Floats:
    questions = scores.shape[1]
    if not 2 <= count <= questions:
        raise DataError(f"{count:,} anchors of {questions:,} questions cannot be chosen: it takes 2 to {questions:,}")
    if not np.isfinite(scores).all():
        raise DataError("anchors are chosen among questions that every model has a score on")
    if shares is None:
        return np.full(questions, 1 / questions)
    found: Floats = shares / shares.sum()
    return found


def _random(count: int, shares: Floats, dice: np.random.Generator) -> Indices:
    """Without replacement, a question with twice the share of the full score twice as likely."""
    found: Indices = dice.choice(len(shares), count, replace=False, p=shares)
    return found


def _drawn(scores: Floats, count: int, shares: Floats, dice: np.random.Generator) -> tuple[Indices, Floats]:
    """The best of many draws of one question a stratum, and the strata's shares."""
    order = np.lexsort((dice.random(scores.shape[1]), scores.mean(axis=0)))  # ties in random order
    picks = np.empty((DRAWS, count), dtype=np.int64)
    weights = np.empty(count)
    for place, stratum in enumerate(np.array_split(order, count)):
        weights[place] = shares[stratum].sum()
        picks[:, place] = dice.choice(stratum, DRAWS, p=shares[stratum] / weights[place])
    full = scores @ shares
    errors = [_left_out(scores[:, pick] @ weights, full, _noise(scores[:, pick], weights)) for pick in picks]
    best = picks[int(np.argmin(errors))]
    return np.sort(best), weights[np.argsort(best)]


def _read(known: Floats, new: Floats, questions: Indices, weights: Floats, shares: Floats) -> Floats:
    means = known[:, questions] @ weights
    line = _line(means, known @ shares, _noise(known[:, questions], weights))
    return line.at(new[:, questions] @ weights)


def _noise(scores: Floats, weights: Floats) -> float:
    """The variance of an anchor mean if each question were answered by a coin of the models' mean score."""
    facility = np.clip(scores.mean(axis=0), 0.0, 1.0)
    return float(np.sum(weights**2 * facility * (1 - facility)))


def _line(x: Floats, full: Floats, noise: float) -> Line:
    """Least squares with the prior that the slope is about 1, which weighs noise / SLOPE²."""
    prior = noise / SLOPE**2 + 1e-12
    away = x - x.mean()
    slope = float((away @ (full - full.mean()) + prior) / (away @ away + prior))
    return Line(intercept=float(full.mean() - slope * x.mean()), slope=slope)


def _left_out(x: Floats, full: Floats, noise: float) -> float:
    """The mean squared error of the line on each model, found without it."""
    n, prior = len(x), noise / SLOPE**2 + 1e-12
    if n < 2:
        return 0.0
    x_others, y_others = (x.sum() - x) / (n - 1), (full.sum() - full) / (n - 1)
    away, off = x - x.mean(), full - full.mean()
    lost = n / (n - 1)  # Σ over the others around their own mean = Σ over all around theirs − n/(n−1) · the one's own
    sxx = away @ away - lost * away * away
    sxy = away @ off - lost * away * off
    slope = (sxy + prior) / (sxx + prior)
    return float(np.mean((y_others + slope * (x - x_others) - full) ** 2))


def _way(name: str, errors: Floats) -> Way:
    """Errors: rounds × models."""
    each = np.sqrt((errors**2).mean(axis=1))
    return Way(
        name=name,
        error=float(np.sqrt((errors**2).mean())),
        spread=float(each.std(ddof=1)) if len(each) > 1 else 0.0,
        bias=float(errors.mean()),
        worst=float(np.abs(errors).max(axis=1).mean()),
    )
