"""Correlation coefficients as functions of the items' weights, for the bootstrap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viva.analysis.resampling import Floats, Statistic, Weights, midranks


def pearson_of(xs: Sequence[float], ys: Sequence[float]) -> Statistic:
    """Pearson's coefficient."""
    x, y = _scaled(xs), _scaled(ys)
    products = np.column_stack([np.ones(len(x)), x, y, x * x, y * y, x * y])

    def statistic(weights: Weights) -> Floats:
        n, sx, sy, xx, yy, xy = (weights @ products).T
        return _coefficient(n * xy - sx * sy, (n * xx - sx * sx) * (n * yy - sy * sy), n)

    return statistic


def spearman_of(xs: Sequence[float], ys: Sequence[float]) -> Statistic:
    """Spearman's: Pearson's of the ranks that the items have in each resample."""
    coded = [np.unique(np.asarray(values, dtype=float), return_inverse=True) for values in (xs, ys)]

    def statistic(weights: Weights) -> Floats:
        total = np.maximum(weights.sum(axis=1, keepdims=True), 1.0)
        x, y = (midranks(weights, codes, len(kinds))[:, codes] / total - 0.5 for kinds, codes in coded)
        both, own = (weights * x * y).sum(axis=1), (weights * x * x).sum(axis=1) * (weights * y * y).sum(axis=1)
        return _coefficient(both, own, np.ones(len(weights)))

    return statistic


def _coefficient(together: Floats, own: Floats, n: Floats) -> Floats:
    some = own > 1e-18 * n**4
    return np.where(some, np.clip(together / np.sqrt(np.where(some, own, 1.0)), -1.0, 1.0), np.nan)


def _scaled(values: Sequence[float]) -> Floats:
    """About the mean and from -1 to 1, so that no digits are lost."""
    found: Floats = np.asarray(values, dtype=float) - np.mean(values)
    largest = float(np.abs(found).max(initial=0.0))
    return np.divide(found, largest if largest > 0 else 1.0)
