"""Fitted curves of scores over the number of parameters, and their predictions for other sizes.

Curves through the points of models (size x in billions of parameters, score s as a share of 1):

`family`  s(x) = 1 - 1/(a·ln(b·x + 1) + 1), least squares in the score, a and b above 0. CS-Bench (arXiv 2406.08587)
          fits it within a family of models. It says that the odds s/(1-s) grow with the logarithm of the size: nothing
          at size 0, and no size is enough for a score of 1.
`log`     s(x) = level + slope·log10 x, least squares: every tenfold of size adds the same.
`logistic` s(x) = 1/(1 + exp(-(level + slope·log10 x))), least squares in the score: the log odds grow with log size (so
          fit Ruan, Maddison and Hashimoto, arXiv 2405.10938, scores over capabilities), and the score ends at 1.
`power`   s(x) = ceiling - drop·x^-exponent, least squares: a power law with an offset, as of losses (Hoffmann and
          others, arXiv 2203.15556); the score ends at the ceiling.

`breakpoint` has two lines that meet at a break. On CS-Bench's own table Qwen1.5 of 7, 14, 32 and 72 billion predicts
67.79 for 110 billion (measured 67.95), Llama2 of 7 and 13 predicts 55.03 for 70 (measured 52.52).

A prediction's 95 % interval is one for the score that a further model of the family would *measure*, not for the curve:
t·√(σ² + gᵀCg), with n - p degrees of freedom, g the curve's gradient by its parameters there, and C their covariance
σ²(JᵀJ)⁻¹ (for `family` the delta method; for `log` exact). σ is how far the points scatter around the curve. Where
models belong to families, scatter has two parts, of families and of models within them, C has both, and the model that
is predicted is of a further family (`families`). Two points determine two parameters exactly, and there is no such
interval; where the number of questions behind each score is known, their sampling error alone gives one, which ignores
the scatter of models around the curve. All of these take the curve as true beyond the sizes that were fitted, where
curves that fit equally well part.

`average` does not: it is the mean of `log`, `family`, `logistic` and `power`, with weights in proportion to 1/σ², and
its interval holds 95 % of the mixture of their t distributions. Weights by AICc, BIC, or the prediction of the largest
models from the others were tried: with 12 and more models they choose one curve, and where the truth is none of the
four, the interval for ten times the largest size holds it in 28 to 100 % of sets; with these weights in 99 to 100 %
(performance/README.md, Curves of unknown shape: also where no mean of these curves holds).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from viva.analysis.sizes.families import FamilyScatter, Matrix, family_scatter, matrix, numbered
from viva.analysis.uncertainty import LEVEL, Z, t_quantile
from viva.errors import DataError

Kind = Literal["family", "log", "segments", "logistic", "power", "average"]
KINDS: tuple[Kind, ...] = ("family", "log", "segments", "logistic", "power", "average")
Basis = Literal["scatter", "questions", "nothing"]
"""Basis of an interval: scatter of models around the curve, sampling of questions alone, or no interval."""
Floats = NDArray[np.float64]

_BASES: tuple[Basis, ...] = ("scatter", "questions", "nothing")
_ENDS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
_STEPS = 120
_FLAT, _STEEP = 1e-7, 1e14
"""Limits of b·x: below, the odds are proportional to the size; above, they hardly grow."""
_STEEPEST = 60.0
"""The steepest logistic curve, in logits for a tenfold of size: practically a step."""
_EXACT = 1e-4
"""Scatter below which curves fit equally well, as a share of 1."""
_EXPONENTS = (0.02, 6.0)
"""Limits of the power law's exponent: below, it is a line over log size; above, it levels off before the second
size.
"""


class Fit(Struct, frozen=True, kw_only=True):
    """A curve through n points."""

    kind: Kind
    parameters: tuple[float, ...]
    """family: a, b. log: level at size 1, slope per tenfold; logistic: the same of the logit. power: ceiling, drop and
    exponent. segments: level at size 1, the slopes below and above the break, and the break (a size). average: none."""
    n: int
    smallest: float
    largest: float
    """Sizes that were fitted, in billions."""
    sse: float = 0.0
    """Sum of squared residuals, in shares of 1."""
    sd: float | None = None
    """Scatter of points around the curve, √(SSE/(n-p)); None where no point is left over."""
    r2: float | None = None
    aicc: float | None = None
    """Akaike's criterion for few points: of several curves through the same points, the lowest is the best."""
    covariance: Matrix | None = None
    """Covariance of the parameters as in `gradient`; None where they are not identified, or no point is left over."""
    basis: Basis = "nothing"
    new: float = 0.0
    """Variance of a further model's score around the curve, on the same basis."""
    trouble: str = ""
    """Why the curve is unreliable, in words; empty where it is not."""
    families: FamilyScatter | None = None
    """The parts of the scatter where families were given; None where each model is its own."""
    shapes: tuple[Fit, ...] = ()
    """The curves that `average` is the mean of."""
    weights: tuple[float, ...] = ()
    """Weights of `shapes`; their sum is 1."""

    @property
    def spare(self) -> int:
        """Points left over: n less the parameters."""
        return self.n - len(self.parameters)


class Prediction(Struct, frozen=True, kw_only=True):
    """The prediction of a curve for a size. Shares of 1."""

    size: float
    score: float
    """The curve's value clipped to 0..1, as the interval's ends are."""
    curve: float
    """The curve's value itself, which may lie outside 0..1."""
    low: float | None
    high: float | None
    basis: Basis
    beyond: float
    """The size as a multiple of the largest fitted one; 1 if it is no larger."""


def family_curve(size: float | Floats, a: float, b: float) -> Floats:
    """Return CS-Bench's curve: 1 - 1/(a·ln(b·x + 1) + 1)."""
    odds: Floats = a * np.log1p(b * np.asarray(size, dtype=np.float64))
    return odds / (odds + 1)


def fit_curve(
    kind: Kind,
    sizes: Sequence[float],
    scores: Sequence[float],
    variances: Sequence[float] | None = None,
    families: Sequence[str] = (),
) -> Fit:
    """Fit a curve by least squares in the score; two lines and their break are fitted by `breakpoint`.

    `variances`: of each score by its questions; they give an interval where no point is left over, and are not used as
    weights. `families`: of the models; empty if each is its own. Raises DataError for fewer than two different sizes,
    sizes not above 0, and scores beyond 0 and 1 where the curve ends there.
    """
    x, y = np.asarray(sizes, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    if x.shape != y.shape or not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise DataError(f"a fit takes a finite size and score a model; here are {len(x)} sizes and {len(y)} scores")
    if len(x) and x.min() <= 0:
        raise DataError(f"a size of {x.min():g} billion parameters has no logarithm: sizes must be above 0")
    if len(np.unique(x)) < 2:
        raise DataError(f"a curve over size takes two different sizes at least; here is {len(np.unique(x))}")
    if kind in ("family", "logistic") and (y.min() < 0 or y.max() > 1):
        raise DataError(f"the {kind} curve is for scores from 0 to 1; one is {y.min() if y.min() < 0 else y.max():g}")
    if kind == "average":
        return _average([fit_curve(shape, sizes, scores, variances, families) for shape in _AVERAGED], x, y)
    parameters, trouble = _FITTERS[kind](x, y)
    return assembled(kind, parameters, x, y, variances, trouble, families)


Fitted = tuple[tuple[float, ...], str]
"""The parameters of the best curve, and why it is unreliable ("" if it is not)."""


def _best_family(x: Floats, y: Floats) -> Fitted:
    """Return the best a and b: by Newton's steps for a on a grid of b over all orders of magnitude, then polished in
    both from the best point of the grid, so that no starting value matters.
    """
    lowest, highest = math.log(_FLAT / x.max()), math.log(_STEEP / x.min())
    grid = np.linspace(lowest, highest, _STEPS)
    a, sse = _best_a(x, y, np.exp(grid))
    place = int(np.argmin(sse))
    start = np.array([math.log(max(a[place], 1e-12)), grid[place]])
    bounds = ([-60.0, lowest - 1e-9], [60.0, highest + 1e-9])
    polished, least = _polished("family", x, y, start, bounds, 1e-15, _exponentials)
    theta = polished if least <= sse[place] else start
    trouble = ""
    if min(theta[1] - lowest, highest - theta[1]) < 0.5:
        trouble = (
            "scores do not grow with size as the curve has it: the best it can do is flat"
            if theta[1] > (lowest + highest) / 2
            else "scores grow faster than the curve can: the best it can do is odds in proportion to size"
        )
    return _exponentials(theta), trouble


def _exponentials(theta: Floats) -> tuple[float, ...]:
    return tuple(map(math.exp, theta))


def _best_log(x: Floats, y: Floats) -> Fitted:
    """Return level and slope by ordinary least squares on log10 of the size."""
    z = np.log10(x)
    slope = float(((z - z.mean()) * (y - y.mean())).sum() / ((z - z.mean()) ** 2).sum())
    return (float(y.mean() - slope * z.mean()), slope), ""


def _best_logistic(x: Floats, y: Floats) -> Fitted:
    inside = np.clip(y, 0.005, 0.995)
    start, _ = _best_log(x, np.log(inside / (1 - inside)))
    far = _STEEPEST * (1 + float(np.abs(np.log10(x)).max()))
    begin = np.clip(start, [-far, -_STEEPEST], [far, _STEEPEST])
    bounds = ([-far - 1, -_STEEPEST - 1], [far + 1, _STEEPEST + 1])
    level, slope = map(float, _polished("logistic", x, y, begin, bounds, 1e-12, tuple)[0])
    steep = abs(slope) > 0.9 * _STEEPEST
    return (level, slope), "scores jump with size: the best it can do is a step" if steep else ""


def _polished(
    kind: Kind,
    x: Floats,
    y: Floats,
    start: Floats,
    bounds: tuple[list[float], list[float]],
    tolerance: float,
    parameters: Callable[[Floats], tuple[float, ...]],
) -> tuple[Floats, float]:
    """Return the least-squares solution from a start, and the sum of squares; `parameters`: maps a point to the
    curve's.
    """
    from scipy.optimize import least_squares

    def residuals(theta: Floats) -> Floats:
        return _value(kind, parameters(theta), x) - y

    def jacobian(theta: Floats) -> Floats:
        return gradient(kind, parameters(theta), x)

    optimum = least_squares(
        residuals,
        start,
        jac=jacobian,
        bounds=bounds,
        xtol=tolerance,
        ftol=tolerance,
        gtol=tolerance,
    )
    return optimum.x, 2 * optimum.cost


def _best_power(x: Floats, y: Floats) -> Fitted:
    """Return ceiling, drop and exponent: linear for a given exponent, so only that is searched, over its whole
    range.
    """
    from scipy.optimize import minimize_scalar

    z, away = np.log(x), y - y.mean()

    def drop(logarithm: float) -> tuple[float, float, float]:
        """Return the best ceiling and drop for an exponent, and the sum of squares."""
        fallen = np.exp(-math.exp(logarithm) * (z - z.min()))  # relative to the smallest size: no overflow
        middle = float(fallen.mean())
        fallen -= middle
        slope = -float(fallen @ away) / (float(fallen @ fallen) or 1.0)  # 0: sizes that differ in their last digit
        left = away + slope * fallen
        scale = math.exp(math.exp(logarithm) * float(z.min()))
        return float(y.mean()) + slope * middle, slope * scale, float(left @ left)

    first, last = map(math.log, _EXPONENTS)
    grid = np.linspace(first, last, _STEPS)
    best = int(np.argmin([drop(float(value))[2] for value in grid]))
    polished = minimize_scalar(
        lambda value: drop(float(value))[2],
        bounds=(grid[max(best - 1, 0)], grid[min(best + 1, _STEPS - 1)]),
        method="bounded",
        options={"xatol": 1e-8},
    )
    logarithm = min(float(grid[best]), float(polished.x), key=lambda value: drop(value)[2])
    ceiling, slope, _ = drop(logarithm)
    trouble = ""
    if logarithm < first + 0.05:
        trouble = "scores do not level off: the best it can do is a line over log size"
    elif logarithm > last - 0.05:
        trouble = "scores level off at once: the best it can do is a step after the smallest size"
    return (ceiling, slope, math.exp(logarithm)), trouble


_FITTERS: dict[Kind, Callable[[Floats, Floats], Fitted]] = {
    "family": _best_family, "log": _best_log, "logistic": _best_logistic, "power": _best_power,
}  # fmt: skip
_AVERAGED: tuple[Kind, ...] = ("log", "family", "logistic", "power")


def _average(fitted: Sequence[Fit], x: Floats, y: Floats) -> Fit:
    """Return the average of the curves without trouble, whose intervals have the same basis."""
    sound = [fit for fit in fitted if not fit.trouble and fit.spare >= 0]
    basis: Basis = next((each for each in _BASES if any(fit.basis == each for fit in sound)), "nothing")
    shapes = tuple(fit for fit in sound if fit.basis == basis)
    support = [1 / max(shape.sd or 0.0, _EXACT) ** 2 if basis == "scatter" else 1.0 for shape in shapes]
    weights = tuple(each / math.fsum(support) for each in support)
    n, smallest, largest = len(x), float(x.min()), float(x.max())
    bare = Fit(
        kind="average", parameters=(), n=n, smallest=smallest, largest=largest, basis=basis, shapes=shapes,
        weights=weights,
    )  # fmt: skip
    sse, total = float(((y - curve(bare, x)) ** 2).sum()), float(((y - y.mean()) ** 2).sum())
    return replace(bare, sse=sse, r2=1 - sse / total if total > 0 else None)


def curve(fit: Fit, size: float | Floats) -> Floats:
    """Return the curve's value at sizes. Of an average the mean of its shapes', each from 0 to 1."""
    x = np.asarray(size, dtype=np.float64)
    if fit.kind == "average":
        within = [np.clip(curve(shape, x), 0, 1) for shape in fit.shapes]
        return np.asarray(np.average(within, axis=0, weights=fit.weights))
    return _value(fit.kind, fit.parameters, x)


def _value(kind: Kind, parameters: Sequence[float], x: Floats) -> Floats:
    if kind == "family":
        return family_curve(x, *parameters)
    z = np.log10(x)
    if kind == "power":
        ceiling, drop, exponent = parameters
        return np.asarray(ceiling - drop * np.exp(-exponent * np.log(x)))
    if kind in ("log", "logistic"):
        level, slope = parameters
        return np.asarray(level + slope * z) if kind == "log" else _logistic(z, level, slope)
    level, below, above, bend = parameters
    return np.asarray(level + below * z + (above - below) * np.maximum(z - math.log10(bend), 0))


def predict(fit: Fit, size: float) -> Prediction:
    """Return the score to expect of a model of this size, with its 95 % interval where there is one."""
    value = float(curve(fit, size))
    low = high = None
    components = [
        component for component in (_component(shape, size) for shape in fit.shapes or (fit,)) if component is not None
    ]
    if fit.shapes and components:
        centres, errors, degrees = zip(*components, strict=True)
        low, high = (mixture_quantile(share, centres, errors, degrees, fit.weights) for share in _ENDS)
    elif components:
        _, error, degrees_left = components[0]
        half = (Z if degrees_left == NORMAL else t_quantile(degrees_left)) * error
        low, high = value - half, value + half
    if low is not None and high is not None:
        low, high = (min(1.0, max(0.0, end)) for end in (low, high))
    return Prediction(
        size=size,
        score=min(1.0, max(0.0, value)),
        curve=value,
        low=low,
        high=high,
        basis=fit.basis if low is not None else "nothing",
        beyond=max(1.0, size / fit.largest),
    )


def gradient(kind: Kind, parameters: Sequence[float], sizes: Floats) -> Floats:
    """Return derivatives of the curve by its parameters, points × parameters (by logarithms for `family`, the break and
    the exponent).
    """
    if kind == "family":
        return _family_jacobian(sizes, *parameters)
    z = np.log10(sizes)
    if kind == "log":
        return np.stack([np.ones_like(z), z], axis=1)
    if kind == "logistic":
        share = _logistic(z, *parameters)
        return np.stack([share * (1 - share), share * (1 - share) * z], axis=1)
    if kind == "power":
        _, drop, exponent = parameters
        fallen = np.exp(-exponent * np.log(sizes))
        return np.stack([np.ones_like(z), -fallen, drop * exponent * np.log(sizes) * fallen], axis=1)
    _, below, above, bend = parameters
    c = math.log10(bend)
    past = np.maximum(z - c, 0)
    return np.stack([np.ones_like(z), z - past, past, (below - above) * (z > c)], axis=1)


def assembled(
    kind: Kind,
    parameters: tuple[float, ...],
    x: Floats,
    y: Floats,
    variances: Sequence[float] | None = None,
    trouble: str = "",
    families: Sequence[str] = (),
) -> Fit:
    """Return a fit from its parameters, with its scatter and covariance."""
    n, smallest, largest = len(x), float(x.min()), float(x.max())
    fit = Fit(kind=kind, parameters=parameters, n=n, smallest=smallest, largest=largest, trouble=trouble)
    left, spare = y - curve(fit, x), fit.spare
    sse, total = float((left**2).sum()), float(((y - y.mean()) ** 2).sum())
    sd = math.sqrt(sse / spare) if spare > 0 else None
    fit = replace(
        fit, sse=sse, sd=sd, r2=1 - sse / total if total > 0 else None, aicc=_aicc(sse, n, len(parameters) + 1)
    )
    counted = variances is not None and spare == 0 and len(variances) == n
    if trouble or not (sd is not None or counted):
        return fit
    each = np.asarray(variances, dtype=np.float64) if sd is None else np.full(n, sd * sd)
    jacobian = gradient(kind, parameters, x)
    covariance, new = _inverse(jacobian, each), float(each.mean()) if sd is None else sd * sd
    parts = None
    if families and covariance is not None and sd is not None:
        parts = family_scatter(jacobian, left, numbered(families))
    if parts is not None:
        covariance, new = matrix(parts.covariance), parts.within + parts.between
    basis: Basis = "nothing" if covariance is None else "questions" if sd is None else "scatter"
    return replace(fit, covariance=covariance, basis=basis, new=new, families=parts)


def _logistic(z: Floats, level: float, slope: float) -> Floats:
    result: Floats = 1 / (1 + np.exp(-np.clip(level + slope * z, -500, 500)))
    return result


def _best_a(x: Floats, y: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return the best a for every b and its sum of squares. Gauss-Newton in ln a, from least squares on the odds."""
    logs = np.log1p(b[:, None] * x[None, :])
    inside = np.clip(y, 0.005, 0.995)
    odds = inside / (1 - inside)
    a = (logs @ odds) / (logs**2).sum(axis=1)
    a = np.maximum(a, 1e-300)

    def residuals(points: Floats) -> tuple[Floats, Floats]:
        u = points[:, None] * logs
        return u / (1 + u) - y, u / (1 + u) ** 2

    best, best_a = np.full(len(b), np.inf), a
    for _ in range(25):
        r, j = residuals(a)
        sse = (r**2).sum(axis=1)
        better = sse < best
        best, best_a = np.where(better, sse, best), np.where(better, a, best_a)
        step = -(r * j).sum(axis=1) / np.maximum((j**2).sum(axis=1), 1e-300)
        a = np.exp(np.clip(np.log(best_a) + np.clip(step, -2, 2), -200, 200))
    return best_a, best


def _family_jacobian(x: Floats, a: float, b: float) -> Floats:
    """Return derivatives of the family curve by ln a and ln b."""
    u = a * np.log1p(b * x)
    by_odds = 1 / (1 + u) ** 2
    return np.stack([by_odds * u, by_odds * a * b * x / (1 + b * x)], axis=1)


def _inverse(jacobian: Floats, variances: Floats) -> Matrix | None:
    """Return the parameters' covariance, J⁺ V J⁺ᵀ; None where the points do not identify them."""
    norms = np.sqrt((jacobian**2).sum(axis=0))
    if not norms.all() or np.linalg.cond(jacobian / norms) > 1e8:
        return None
    pseudo = np.linalg.pinv(jacobian)
    return matrix((pseudo * variances) @ pseudo.T)


def _aicc(sse: float, n: int, parameters: int) -> float | None:
    if n - parameters - 1 <= 0 or sse <= 0:
        return None
    return n * math.log(sse / n) + 2 * parameters + 2 * parameters * (parameters + 1) / (n - parameters - 1)


def _component(fit: Fit, size: float) -> tuple[float, float, float] | None:
    """Return the curve's value, the standard error of one more model's score around it, and its degrees of freedom;
    None where there is no interval. Student's t where the scatter was estimated, else the normal.
    """
    if fit.covariance is None:
        return None
    g = gradient(fit.kind, fit.parameters, np.array([size]))[0]
    variance = fit.new + float(g @ np.array(fit.covariance) @ g)
    degrees = fit.families.degrees(g) if fit.families is not None else fit.spare if fit.basis == "scatter" else NORMAL
    return float(curve(fit, size)), math.sqrt(max(variance, 0.0)), degrees


NORMAL = 1e9
"""Degrees of freedom that stand for a normal distribution."""
_HALVINGS = 60


def mixture_quantile(
    share: float,
    centres: Sequence[float],
    errors: Sequence[float],
    degrees: Sequence[float],
    weights: Sequence[float],
) -> float:
    """Return the value below which a share of the mixture lies: components centre + error·t(degrees), with weights of
    sum 1.

    Found by bisection between the smallest and the largest of the components' own quantiles.
    """
    from scipy.special import stdtr, stdtrit

    middle, width, freedom = (np.asarray(each, dtype=np.float64) for each in (centres, errors, degrees))
    ends = middle + width * stdtrit(freedom, share)
    low, high = float(ends.min()), float(ends.max())
    positive = np.maximum(width, 1e-300)
    for _ in range(_HALVINGS):
        guess = (low + high) / 2
        below = float(np.asarray(weights) @ stdtr(freedom, (guess - middle) / positive))
        low, high = (guess, high) if below < share else (low, guess)
    return (low + high) / 2
