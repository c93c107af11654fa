"""Classical item statistics: is a question too easy or too hard, and does it tell good models from poor ones?

- *Facility*: the mean score of the models (p in textbooks). Near 0 or 1, a question does not discriminate.
- *Discrimination*: Pearson's correlation, over models, of the score on the question with the mean score on all the
  others (corrected item-total correlation; for 0/1 scores the corrected point-biserial, Henrysson 1963). Below 0, good
  models do worse than poor ones: often a wrong gold answer. Two-sided p from Student's t, but at least 1 over
  the ways to deal the question's scores out to the models: no test can give less.
- *Cronbach's alpha* (1951, Psychometrika 16:297-334): which share of the variance of total scores another set of such
  questions would reproduce; with scores of 0 and 1 it is Kuder and Richardson's formula 20 (KR-20). The interval is
  Feldt's (1965, Psychometrika 30:357-370), (1 − low) = (1 − alpha) F.

All statistics are over models; with three models, three points a question, chance moves them far.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from viva.analysis.multiplicity import benjamini_hochberg
from viva.analysis.uncertainty import LEVEL
from viva.errors import DataError

Floats = NDArray[np.float64]

FEWEST = 3
"""The fewest models for a correlation: two points always lie on a line."""
SURE = 0.05
"""The share of false alarms among the questions called surely negative."""
_FEW = 100
"""The most models for which ways to deal scores out are counted; with more they are too many to limit p."""
_TINY = 1e-12


class Reliability(Struct, frozen=True, kw_only=True):
    """Cronbach's alpha over the questions that every model has a score on."""

    value: float
    low: float
    high: float
    models: int
    questions: int
    left_out: int
    """Questions that some model has no score on."""
    binary: bool
    """Whether all scores are 0 or 1, so that it is KR-20."""


class ItemStatistics(Struct, frozen=True, kw_only=True, eq=False):
    """Arrays with an entry a question; nan where undefined."""

    facility: Floats
    discrimination: Floats
    """nan where fewer than three models have a score, or all have the same."""
    p: Floats
    """Two-sided, against no correlation."""
    models: NDArray[np.int64]
    """Number of models with a score."""
    nobody: NDArray[np.bool_]
    """No model has a point."""
    everybody: NDArray[np.bool_]
    """Every model has full marks."""
    surely_negative: NDArray[np.bool_]
    """Discrimination below 0 after adjusting for the number of questions (Benjamini-Hochberg, 5 %)."""
    reliability: Reliability | None
    """None for fewer than three models or two questions, and where all models' totals are equal."""

    @property
    def negative(self) -> NDArray[np.bool_]:
        """Discrimination below 0, perhaps by chance."""
        return np.nan_to_num(self.discrimination) < 0


def item_statistics(scores: Floats) -> ItemStatistics:
    """Return the statistics of scores, models × questions, shares of 1; nan where a model has no score on a question.

    Raises DataError where there is no score at all on a question.
    """
    there = np.isfinite(scores)
    models = there.sum(axis=0)
    if scores.ndim != 2 or not scores.size or not models.all():
        raise DataError("item statistics need scores, at least one on every question")
    points = np.where(there, scores, 0.0)
    facility = points.sum(axis=0) / models
    discrimination = _discrimination(points, there)
    p = np.fmax(_p_values(discrimination, models), _least_p(scores))
    p[np.isnan(discrimination)] = np.nan
    return ItemStatistics(
        facility=facility,
        discrimination=discrimination,
        p=p,
        models=models,
        nobody=np.where(there, scores, 0.0).max(axis=0) <= 0.0,
        everybody=np.where(there, scores, 1.0).min(axis=0) >= 1.0,
        surely_negative=_surely_negative(discrimination, p),
        reliability=reliability(scores),
    )


def reliability(scores: Floats) -> Reliability | None:
    """Return Cronbach's alpha with Feldt's 95 % interval; None where it is not defined."""
    from scipy.special import fdtri

    whole = np.isfinite(scores).all(axis=0)
    kept = scores[:, whole]
    models, questions = kept.shape
    if models < FEWEST or questions < 2:
        return None
    total = kept.sum(axis=1).var(ddof=1)
    if total < _TINY:
        return None
    value = float(questions / (questions - 1) * (1 - kept.var(axis=0, ddof=1).sum() / total))
    degrees = (models - 1, (models - 1) * (questions - 1))
    outer = (1 + LEVEL) / 2
    return Reliability(
        value=value,
        low=1 - (1 - value) * float(fdtri(*degrees, outer)),
        high=1 - (1 - value) * float(fdtri(*degrees, 1 - outer)),
        models=models,
        questions=questions,
        left_out=int((~whole).sum()),
        binary=bool(np.isin(kept, (0.0, 1.0)).all()),
    )


def _discrimination(points: Floats, there: NDArray[np.bool_]) -> Floats:
    """Return the correlation of each question with the mean of the others, over the models that have a score on it."""
    total, answered = points.sum(axis=1, keepdims=True), there.sum(axis=1, keepdims=True)
    others = answered - there
    rest = np.where(others > 0, (total - points) / np.maximum(others, 1), np.nan)
    known = there & np.isfinite(rest)
    n = np.maximum(known.sum(axis=0), 1)
    x = np.where(known, points, 0.0)
    y = np.where(known, rest, 0.0)
    x = np.where(known, x - x.sum(axis=0) / n, 0.0)
    y = np.where(known, y - y.sum(axis=0) / n, 0.0)
    sxx, syy, sxy = (x * x).sum(axis=0), (y * y).sum(axis=0), (x * y).sum(axis=0)
    defined = (known.sum(axis=0) >= FEWEST) & (sxx > _TINY) & (syy > _TINY)
    correlations = np.full(points.shape[1], np.nan)
    correlations[defined] = np.clip(sxy[defined] / np.sqrt(sxx[defined] * syy[defined]), -1.0, 1.0)
    return correlations


def _p_values(correlation: Floats, n: NDArray[np.int64]) -> Floats:
    from scipy.special import stdtr

    degrees = np.maximum(n - 2, 1)
    r = np.clip(correlation, -1 + 1e-15, 1 - 1e-15)
    p: Floats = 2 * stdtr(degrees, -np.abs(r) * np.sqrt(degrees / (1 - r * r)))
    return p


def _least_p(scores: Floats) -> Floats:
    """Return the smallest p that any test can have: 1 over the ways to deal a question's scores out to the models.

    Three models often lie on a line, which gives Student's t a p of 0; but of any three scores one order in six does
    so.
    """
    p = np.zeros(scores.shape[1])
    if len(scores) <= _FEW:
        for place, column in enumerate(scores.T):
            _, times = np.unique(column[np.isfinite(column)], return_counts=True)
            p[place] = math.prod(map(math.factorial, times.tolist())) / math.factorial(int(times.sum()))
    return p


def _surely_negative(discrimination: Floats, p: Floats) -> NDArray[np.bool_]:
    negative = np.zeros(len(p), dtype=bool)
    defined = np.flatnonzero(np.isfinite(p))
    q = np.array(benjamini_hochberg([float(p[place]) for place in defined])) if len(defined) else np.array([])
    negative[defined] = (q <= SURE) & (discrimination[defined] < 0)
    return negative
