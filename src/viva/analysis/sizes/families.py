"""Errors that allow for families: models of one family are alike, and tell less than as many independent ones.

Two methods; in both, families are drawn, not models:

*Jackknife by family*, for any statistic: the error of θ is √((G-1)/G · Σ (θ₋ᵍ - θ)²) over G families, θ₋ᵍ without the
family g (Shao and Wu 1989, Annals of Statistics 17:1176-1197), with Student's t on G - 2 degrees of freedom.

*Variance components*, for the scatter around a curve: each model is off by its family's part (variance τ²) and its own
(σ²). With e the residuals of least squares, M = I - J J⁺ and Z the families' indicators, the expectations

    e'e      = σ²·tr M       + τ²·tr Z'MZ
    |Z'e|²   = σ²·tr Z'MZ    + τ²·|Z'MZ|²  (Frobenius)

are solved for both (as Henderson's method 3 does: Searle, Casella and McCulloch 1992, Variance Components, section
5.5); a negative one is 0. Degrees of freedom are Satterthwaite's, of the families' means (G - 2) and of what is within
(n - G).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Matrix = tuple[tuple[float, ...], ...]

FEWEST = 4
"""The fewest families for an inference about a further one."""


class FamilyScatter(Struct, frozen=True, kw_only=True):
    """Scatter of models around a curve, in variances of scores as shares of 1."""

    count: int
    """Families."""
    models: int
    size: float
    """Models of a family: the harmonic mean."""
    within: float
    """σ²: of models of one family around it."""
    between: float
    """τ²: of families around the curve."""
    alone: Matrix
    """Covariance of the curve's parameters for σ² = 1."""
    together: Matrix
    """Covariance of the curve's parameters for τ² = 1."""

    @property
    def covariance(self) -> Floats:
        """Covariance of the curve's parameters."""
        result: Floats = self.within * np.array(self.alone) + self.between * np.array(self.together)
        return result

    def degrees(self, gradient: Floats) -> float:
        """Return degrees of freedom of the variance of a further model's score, from a new family."""
        by_between = 1 + float(gradient @ np.array(self.together) @ gradient)
        by_within = 1 + float(gradient @ np.array(self.alone) @ gradient) - by_between / self.size
        means, inside = by_between * (self.between + self.within / self.size), by_within * self.within
        spread = means**2 / (self.count - 2) + inside**2 / max(1, self.models - self.count)
        return max(1.0, min(self.models - 2.0, (means + inside) ** 2 / spread)) if spread > 0 else 1.0


def numbered(families: Sequence[str]) -> Codes:
    """Return each model's family as a number from 0."""
    return np.unique(np.asarray(families, dtype=str), return_inverse=True)[1].astype(np.int64)


def are_groups(families: Sequence[str]) -> bool:
    """Return whether some family has two models, and there are enough families (`FEWEST`)."""
    return FEWEST <= len(set(families)) < len(families)


def jackknife(statistic: Callable[[NDArray[np.bool_]], float | None], codes: Codes) -> tuple[float, float] | None:
    """Return the standard error of a statistic and its degrees of freedom, leaving out each family in turn.

    `statistic`: a function of the mask of kept models; if it returns None for any, so does this.
    """
    count = int(codes.max(initial=-1)) + 1
    whole = statistic(np.ones(len(codes), dtype=bool))
    left = [statistic(codes != family) for family in range(count)]
    if count < FEWEST or whole is None:
        return None
    away = [value - whole for value in left if value is not None]
    if len(away) < count:
        return None
    return math.sqrt((count - 1) / count * math.fsum(each * each for each in away)), count - 2


MOST = 300
"""The most rows of which each is left out in turn: every row takes one more computation."""


class Leaning(Struct, frozen=True, kw_only=True):
    """Influence of single rows on a statistic: its lowest and highest value when one is left out."""

    low: float
    low_without: str
    """The row whose omission gives `low`."""
    high: float
    high_without: str


def leaning(
    statistic: Callable[[NDArray[np.bool_]], float | None],
    names: Sequence[str],
    order: Callable[[tuple[float, str]], Any] | None = None,
) -> Leaning | None:
    """Return the extremes of a statistic without each row in turn; None for more rows than `MOST`, or if never defined.

    `statistic`: a function of the mask of kept rows, None where undefined. `order`: sort key of (value, name).
    """
    rows = np.arange(len(names))
    values = [
        (value, name)
        for row, name in enumerate(names if len(names) <= MOST else ())
        if (value := statistic(rows != row)) is not None
    ]
    if not values:
        return None
    (low, low_without), (high, high_without) = min(values, key=order), max(values, key=order)
    return Leaning(low=low, low_without=low_without, high=high, high_without=high_without)


def family_scatter(jacobian: Floats, residuals: Floats, codes: Codes) -> FamilyScatter | None:
    """Return variance components around a curve fitted by least squares; None where they cannot be separated.

    `jacobian`: models × parameters, of full rank; `residuals` and `codes`: one a model.
    """
    count, (models, parameters) = int(codes.max()) + 1, jacobian.shape
    members = np.bincount(codes)
    if count < FEWEST or count == models:
        return None
    indicators = (codes[:, None] == np.arange(count)).astype(np.float64)
    inverse = np.linalg.pinv(jacobian)
    left = indicators - jacobian @ (inverse @ indicators)  # M Z
    crossed = indicators.T @ left
    trace, squares = float(np.trace(crossed)), float((crossed**2).sum())
    sums = float(((indicators.T @ residuals) ** 2).sum())
    whole = float(residuals @ residuals)
    spare = models - parameters
    determinant = spare * squares - trace**2
    if determinant <= 1e-9 * spare * squares:
        return None
    within = (whole * squares - trace * sums) / determinant
    between = (spare * sums - trace * whole) / determinant
    if between < 0:
        within, between = whole / spare, 0.0
    elif within < 0:
        within, between = 0.0, sums / squares
    by_family = inverse @ indicators
    return FamilyScatter(
        count=count,
        models=models,
        size=count / float((1 / members).sum()),
        within=within,
        between=between,
        alone=matrix(inverse @ inverse.T),
        together=matrix(by_family @ by_family.T),
    )


def matrix(values: Floats) -> Matrix:
    """Return an array as tuples of floats."""
    return tuple(tuple(map(float, row)) for row in values)
