"""Posteriors of abilities: Gauss-Hermite quadrature around each model's own posterior, and sums over its nodes.

The numerical half of `viva.lab.items.response`, whose docstring has the model, the notation and the sources.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NODES = 9
"""Quadrature nodes a model; around its own posterior, seven would do."""
_AT_ONCE = 1_500_000
"""Entries of one chunk of models × nodes × questions: 12 MB each of a few."""
LONGEST = 1.0
"""The longest Newton step."""


class Work:
    """The scores prepared for sums, with 0 where missing."""

    def __init__(self, scores: Floats) -> None:
        self.there = np.isfinite(scores)
        self.points: Floats = np.where(self.there, scores, 0.0)
        self.whole = bool(self.there.all())
        self.nodes, weights = np.polynomial.hermite.hermgauss(NODES)
        self.log_weights = np.log(weights) + self.nodes**2

    def chunks(self, deep: int) -> Iterator[slice]:
        """Return the questions in parts, so that models × `deep` × part stays bounded."""
        models, questions = self.points.shape
        size = max(1, _AT_ONCE // (models * deep))
        for start in range(0, questions, size):
            yield slice(start, min(start + size, questions))


class State(Struct, frozen=True, kw_only=True, eq=False):
    """State of the algorithm. `slope` is a, `intercept` −ab; `modes` are the models' most likely abilities."""

    slope: Floats
    intercept: Floats
    modes: Floats
    middle: float
    """Mean of the intercepts' prior."""
    spread: float
    """Standard deviation of the intercepts' prior."""
    usual: float
    """Mean of log a."""
    guessing: float = 0.0
    """c, the lower asymptote of all questions."""


class Posterior(Struct, frozen=True, kw_only=True, eq=False):
    """Posterior of each model's ability."""

    modes: Floats
    nodes: Floats
    """Models × nodes."""
    weights: Floats
    """Models × nodes, summing to 1 a model."""
    mean: Floats
    variance: Floats
    log_likelihood: Floats
    """Marginal log-likelihood of each model."""


def posterior_of(work: Work, state: State, *, newton: int = 3) -> Posterior:
    """Return the posterior by Gauss-Hermite quadrature around each model's mode, found by Newton's method: the log
    posterior is concave, and nearly so with guessing, where steps use the expected information.
    """
    modes = state.modes
    for _ in range(newton):
        slope, curve = _slopes(work, state, modes)
        step = np.clip(slope / curve, -LONGEST, LONGEST)
        modes = modes + step
        if np.abs(step).max() < 1e-6:
            break
    width = 1 / np.sqrt(_slopes(work, state, modes)[1])
    nodes = modes[:, None] + math.sqrt(2) * width[:, None] * work.nodes
    logs = work.log_weights - nodes**2 / 2 - math.log(math.sqrt(math.pi)) + np.log(width)[:, None]
    if not state.guessing:
        logs += nodes * (work.points @ state.slope)[:, None] + (work.points @ state.intercept)[:, None]
    for part in work.chunks(NODES):
        z = nodes[:, :, None] * state.slope[part] + state.intercept[part]
        size, there = _softplus(z), work.there[:, part].astype(float)
        if state.guessing:
            logs += np.einsum("mqj,mj->mq", np.log(guessed(expit(z), state.guessing)) + size, work.points[:, part])
            logs += math.log1p(-state.guessing) * (there - work.points[:, part]).sum(axis=1, keepdims=True)
        logs -= size.sum(axis=2) if work.whole else np.einsum("mqj,mj->mq", size, there)
    top = logs.max(axis=1, keepdims=True)
    weights = np.exp(logs - top)
    total = weights.sum(axis=1, keepdims=True)
    weights /= total
    mean = (weights * nodes).sum(axis=1)
    variance = (weights * (nodes - mean[:, None]) ** 2).sum(axis=1)
    return Posterior(
        modes=modes,
        nodes=nodes,
        weights=weights,
        mean=mean,
        variance=variance,
        log_likelihood=(top + np.log(total))[:, 0],
    )


def _slopes(work: Work, state: State, abilities: Floats) -> tuple[Floats, Floats]:
    """Return the first derivative of each model's log posterior, and minus the second."""
    slope, curve = -abilities, np.ones(len(abilities))
    for part in work.chunks(1):
        a = state.slope[part]
        known = expit(abilities[:, None] * a + state.intercept[part])
        there = work.there[:, part]
        rise, information = derivatives(known, work.points[:, part], state.guessing)
        slope = slope + np.where(there, rise, 0.0) @ a
        curve = curve + np.where(there, information, 0.0) @ a**2
    return slope, curve


class Sums(NamedTuple):
    """A question's gradient and information, over models and nodes: of the intercept (0) and of a itself (1)."""

    g0: Floats
    g1: Floats
    h00: Floats
    h01: Floats
    h11: Floats


def sums_of(work: Work, state: State, posterior: Posterior) -> Sums:
    """Return the expected complete-data derivatives, by matrix products over models × nodes."""
    nodes, weights = posterior.nodes, posterior.weights
    flat, known = nodes.ravel(), weights.ravel()
    powers = np.stack([known, known * flat, known * flat**2])
    sums = np.empty((5, len(state.slope)))
    if state.guessing:
        return _sums_with_guessing(work, state, posterior)
    for part in work.chunks(NODES):
        p = expit(flat[:, None] * state.slope[part] + state.intercept[part])
        if not work.whole:
            there = np.repeat(work.there[:, part].astype(float), NODES, axis=0)
            p *= there
            information = p * (there - p)
        else:
            information = p * (1 - p)
        points = work.points[:, part]
        sums[0, part] = points.sum(axis=0) - powers[0] @ p
        sums[1, part] = posterior.mean @ points - powers[1] @ p
        sums[2:, part] = powers @ information
    return Sums(*sums)


def _sums_with_guessing(work: Work, state: State, posterior: Posterior) -> Sums:
    c, nodes, weights = state.guessing, posterior.nodes, posterior.weights
    sums = np.empty((5, len(state.slope)))
    for part in work.chunks(NODES):
        known = expit(nodes[:, :, None] * state.slope[part] + state.intercept[part])
        points, there = work.points[:, None, part], work.there[:, None, part]
        rise, information = (np.where(there, derivative, 0.0) for derivative in derivatives(known, points, c))
        sums[0, part] = np.einsum("mq,mqj->j", weights, rise)
        sums[1, part] = np.einsum("mq,mqj->j", weights * nodes, rise)
        for power in range(3):
            sums[2 + power, part] = np.einsum("mq,mqj->j", weights * nodes**power, information)
    return Sums(*sums)


def guessed(known: Floats, guessing: float) -> Floats:
    """Return the probability of a point: the question is known, or guessed."""
    return guessing + (1 - guessing) * known


def derivatives(known: Floats, points: Floats, guessing: float) -> tuple[Floats, Floats]:
    """Return derivatives of a score's log-likelihood by the logit of `known`: the first, and minus the expected
    second.
    """
    if not guessing:
        return points - known, known * (1 - known)
    share = known / guessed(known, guessing)
    return points * share - known, (1 - guessing) * known * (1 - known) * share


def expit(z: Floats) -> Floats:
    """Return 1 / (1 + exp(−z))."""
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-z))


def _softplus(z: Floats) -> Floats:
    return np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z)))
