"""Fits of two lines over log size that meet at a break, tested against a single line.

s(x) = level + below·z up to the break c, and from there on with the slope `above`; z = log10 of the size in billions,
scores as shares of 1. For a given break this is least squares, and the break is searched from the smallest size to the
largest. Beyond the second largest size the second line rests on one size alone and passes through its mean wherever the
break is: all breaks from there to the largest size fit equally well, and `tied` says so (at the small end likewise).

*Interval of the break*: the profile likelihood's, all breaks whose sum of squares is at most SSE·(1 + F/(n-4)), F the
95 % quantile with (1, n-4) degrees of freedom. Where it reaches the smallest or largest size the data do not bound the
break on that side. A percentile bootstrap over models is computed as well.

*One line or two*: the F-test of a break known beforehand, made where the gain is largest, finds breaks far too often,
and under one line the break is not identified (Davies 1987, Biometrika 74:33-43). The statistic is the largest such F
over all breaks, and its distribution for one line is simulated twice: with normal errors of one spread, on which it
depends by the sizes alone; and with the residuals' own sizes and random signs, each over 1 − its leverage (a wild
bootstrap: Davidson and Flachaire 2008, Journal of Econometrics 146:162-169), since small models may scatter more than
large ones, which the first simulation takes for a break. The larger p counts. One line passes for two in 1 to 6 % of
cases where scatter is alike or changes by up to half with a tenfold of size, and in up to 16 % of 8 to 20 models whose
scatter changes fourfold (`performance/nulltests.py`). Both take models as independent: families of six, each of its own
range of sizes, show a break in up to 30 % of cases. Where families are known there is a third, normal errors with a
part for each family (`families`), the bootstrap draws families, and the profile is that of generalised least squares,
with the two parts of the scatter around the best break and F with (1, families - 2) degrees of freedom.

*Influence of single models*: the break without each of them in turn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from viva.analysis.sizes.families import Codes, FamilyScatter, Leaning, are_groups, family_scatter, leaning, numbered
from viva.analysis.sizes.scaling import Fit, Floats, assembled, curve, gradient
from viva.analysis.uncertainty import LEVEL
from viva.errors import DataError

FEWEST = 6
"""The fewest models for two lines and a break: they have four parameters."""
DRAWS = 1999
"""Draws of the null distribution."""
RESAMPLES = 499
_AT_ONCE = 2_000_000
"""Numbers in a chunk of simulated data: 16 MB."""
_STEPS = 240
_COARSE = 80
"""Places of the break that the bootstrap searches."""
_TINY = 1e-12


class Segments(Struct, frozen=True, kw_only=True):
    """Two lines and their break. Sizes in billions, slopes in shares of 1 for a tenfold of size."""

    fit: Fit
    at: float
    """The break."""
    tied: tuple[float, float]
    """The range of breaks that fit equally well: (`at`, `at`) except at either end of the sizes."""
    low: float
    high: float
    """The break's 95 % interval by profile likelihood, with the families' part of the scatter if there are families."""
    open_low: bool
    open_high: bool
    """Whether the interval reaches the smallest, or the largest, size."""
    boot_low: float | None
    boot_high: float | None
    below: float
    above: float
    gain: float
    """F of two lines over one, (1, n-3) degrees of freedom, at the best break."""
    p: float
    """p of one line, by simulating the largest gain: the largest of two, with families three, simulations (see the
    module)."""
    p_naive: float
    """p of the F-test for a break known beforehand, invalid here; shown for comparison."""
    moved: Leaning | None
    """The lowest and highest break when one model is left out; None for many models, and for models without names."""


class Bend(Struct, frozen=True, kw_only=True):
    """A departure of models from the curve fitted to them."""

    at: float
    """The size, in billions, from which on they depart most."""
    upwards: bool
    p: float
    """p under the hypothesis that models follow the curve."""


def fit_segments(
    sizes: Sequence[float],
    scores: Sequence[float],
    names: Sequence[str] = (),
    *,
    families: Sequence[str] = (),
    seed: int = 0,
    draws: int = DRAWS,
    resamples: int = RESAMPLES,
) -> Segments:
    """Return two lines that meet. `families`: of the models, each its own for none. Raises DataError for fewer than six
    models or four different sizes.
    """
    from scipy import stats

    x, y = np.asarray(sizes, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    distinct = np.unique(x)
    if len(x) < FEWEST or len(distinct) < 4:
        raise DataError(
            f"two lines and their break take {FEWEST} models of 4 different sizes; here are {len(x)} of {len(distinct)}"
        )
    z = np.log10(x)
    search = _Search(z, _STEPS)
    residual = search.residual(y)
    sse_one = float(residual @ residual)
    gains = search.gains(residual)
    c = search.polished(y, int(np.argmax(gains)))
    level, below, above, sse = _lines(z, y, c)
    groups = families if are_groups(families) else ()
    fit = assembled("segments", (level, below, above, 10**c), x, y, families=groups)
    spare = len(x) - 4
    limit = sse * (1 + float(stats.f.ppf(LEVEL, 1, spare)) / spare) + _TINY
    inside = search.places[sse_one - gains <= limit]
    codes = numbered(groups) if groups else None
    around = None if codes is None else family_scatter(_design(z, c), y - curve(fit, x), codes)
    if codes is not None and around is not None and around.between > 0:
        inside = search.places[search.within_families(y, codes, around)]
    low, high = min([*map(float, inside), c]), max([*map(float, inside), c])
    open_low, open_high = low <= search.places[0] + 1e-9, high >= search.places[-1] - 1e-9
    first, last = float(distinct[0]), float(distinct[-1])
    gain = max(0.0, sse_one - sse) / (sse / (len(x) - 3)) if sse > _TINY * max(sse_one, _TINY) else math.inf
    gain = gain if sse_one > _TINY else 0.0
    boot = _bootstrap(z, y, codes, resamples, seed)

    def without(kept: NDArray[np.bool_]) -> float | None:
        other = _break_of(z[kept], y[kept])
        return None if other is None else 10**other

    return Segments(
        fit=fit,
        at=10**c,
        tied=(
            first if c <= search.places[0] + 1e-9 else 10**c,
            last if c >= search.places[-1] - 1e-9 else 10**c,
        ),
        low=first if open_low else 10**low,
        high=last if open_high else 10**high,
        open_low=bool(open_low),
        open_high=bool(open_high),
        boot_low=10 ** boot[0] if boot else None,
        boot_high=10 ** boot[1] if boot else None,
        below=below,
        above=above,
        gain=gain,
        p=_p_of_no_break(search, residual, codes, draws, seed),
        p_naive=float(stats.f.sf(gain, 1, len(x) - 3)),
        moved=leaning(without, names) if len(names) == len(z) else None,
    )


def bend(
    fit: Fit, sizes: Sequence[float], scores: Sequence[float], families: Sequence[str] = (), *, draws: int = DRAWS
) -> Bend | None:
    """Return the departure of models from the curve fitted to them; p is simulated as for one line (see the module).

    Of an average, the least significant among its curves' bends. None for a curve with `trouble`, and for too few
    models.
    """
    shapes = [shape for shape in fit.shapes or (fit,) if shape.kind != "segments" and shape.basis == "scatter"]
    if not shapes or fit.n < FEWEST or len(np.unique(sizes)) < 4:
        return None
    z, y = np.log10(np.asarray(sizes, dtype=np.float64)), np.asarray(scores, dtype=np.float64)
    codes = numbered(families) if are_groups(families) else None
    bends = []
    for shape in shapes:
        search = _Search(z, _STEPS, gradient(shape.kind, shape.parameters, 10**z))
        left = search.residual(y - curve(shape, 10**z))
        index = int(np.argmax(search.gains(left)))
        bends.append(
            Bend(
                at=10 ** float(search.places[index]),
                upwards=bool(search.directions[index] @ left > 0),
                p=_p_of_no_break(search, left, codes, draws, 0),
            )
        )
    return max(bends, key=lambda candidate: candidate.p)


class _Search:
    """Search over places of a break, as unit directions in which the second line can leave the first.

    From the second smallest to the second largest size: beyond them nothing changes but the break's own place.
    `gradient`: derivatives of a curve other than a line by its parameters, which are refitted as well.
    """

    def __init__(self, z: Floats, steps: int, gradient: Floats | None = None) -> None:
        distinct = np.unique(z)
        first, last = distinct[1], distinct[-2]
        places = np.linspace(first, last, steps)
        if len(distinct) <= _STEPS:  # a kink at a size is where the sum of squares may have its minimum
            places = np.union1d(places, distinct[1:-1])
        self.z = z
        basis, _ = np.linalg.qr(np.stack([np.ones_like(z), z], axis=1) if gradient is None else gradient)
        self.basis = basis
        hinges = np.maximum(z[None, :] - places[:, None], 0)
        hinges -= (hinges @ basis) @ basis.T
        norms = np.sqrt((hinges**2).sum(axis=1))
        kept = norms > 1e-9
        self.places: Floats = places[kept]
        self.directions: Floats = hinges[kept] / norms[kept, None]

    def residual(self, y: Floats) -> Floats:
        """Return the residuals of one line from scores, or from several columns of them."""
        left: Floats = y - self.basis @ (self.basis.T @ y)
        return left

    def gains(self, left: Floats) -> Floats:
        """Return the reduction of the sum of squares by each break."""
        result: Floats = (self.directions @ left) ** 2
        return result

    def share(self, left: Floats) -> Floats:
        """Return the largest share of the sum of squares that a break takes away, which F rises with."""
        result: Floats = self.gains(left).max(axis=0) / np.maximum((left**2).sum(axis=0), 1e-300)
        return result

    def within_families(self, y: Floats, codes: Codes, parts: FamilyScatter) -> NDArray[np.bool_]:
        """Return which breaks fit nearly as well as the best by generalised least squares, with these parts of the
        scatter.
        """
        from scipy import stats

        within = max(parts.within, 1e-3 * (parts.within + parts.between))
        shared = (codes[:, None] == codes[None, :]).astype(np.float64)
        root = np.linalg.cholesky(within * np.eye(len(y)) + parts.between * shared)
        lines, _ = np.linalg.qr(np.linalg.solve(root, np.stack([np.ones_like(y), self.z], axis=1)))
        hinges = np.linalg.solve(root, np.maximum(self.z[:, None] - self.places[None, :], 0))
        hinges -= lines @ (lines.T @ hinges)
        norms = (hinges**2).sum(axis=0)
        known = norms > 1e-9 * norms.max()
        gains = np.where(known, (np.linalg.solve(root, y) @ hinges) ** 2 / np.where(known, norms, 1.0), 0.0)
        nearly: NDArray[np.bool_] = gains.max() - gains <= float(stats.f.ppf(LEVEL, 1, parts.count - 2))
        return nearly

    def polished(self, y: Floats, index: int) -> float:
        """Return the best break between the neighbours of the best place."""
        from scipy.optimize import minimize_scalar

        start, end = self.places[max(index - 1, 0)], self.places[min(index + 1, len(self.places) - 1)]
        best = float(self.places[index])
        if end <= start:
            return best
        optimum = minimize_scalar(
            lambda c: _lines(self.z, y, float(c))[3], bounds=(start, end), method="bounded", options={"xatol": 1e-6}
        )
        return float(optimum.x) if optimum.fun < _lines(self.z, y, best)[3] else best


def _design(z: Floats, c: float) -> Floats:
    """Return the design matrix: models × (level, slope, change of slope at c)."""
    return np.stack([np.ones_like(z), z, np.maximum(z - c, 0)], axis=1)


def _lines(z: Floats, y: Floats, c: float) -> tuple[float, float, float, float]:
    """Return level, slope below, slope above, and the sum of squares, for a break at c."""
    design = _design(z, c)
    (level, below, change), *_ = np.linalg.lstsq(design, y, rcond=None)
    left = y - design @ np.array([level, below, change])
    return float(level), float(below), float(below + change), float(left @ left)


def _p_of_no_break(search: _Search, left: Floats, codes: Codes | None, draws: int, seed: int) -> float:
    """Return the largest p of the simulations: the share of data sets without a break that show a gain as large as the
    residuals `left` do; never 0.

    Real and simulated gains are the largest over the places of the search, without polishing between them.
    """
    rows, whole, observed = len(left), float(left @ left), float(search.share(left))
    if whole <= _TINY**2:
        return 1.0  # the curve fits exactly

    def alike(dice: np.random.Generator, count: int) -> Floats:
        return dice.standard_normal((rows, count))

    def wild(dice: np.random.Generator, count: int) -> Floats:
        """Return the residuals' own sizes with random signs."""
        sizes = left / np.maximum(1 - (search.basis**2).sum(axis=1), 1e-3)
        return np.asarray(sizes[:, None] * dice.choice([-1.0, 1.0], size=(rows, count)))

    nulls = [alike, *([wild] if whole > _TINY else [])]
    parts = None if codes is None else family_scatter(search.basis, left, codes)
    if codes is not None and parts is not None:

        def of_families(dice: np.random.Generator, count: int) -> Floats:
            own, shared = alike(dice, count), dice.standard_normal((parts.count, count))
            return np.asarray(math.sqrt(parts.within) * own + math.sqrt(parts.between) * shared[codes])

        nulls.append(of_families)

    def p_under(null: Callable[[np.random.Generator, int], Floats]) -> float:
        dice, above, step = np.random.default_rng(seed), 0, max(1, _AT_ONCE // rows)
        for done in range(0, draws, step):
            shares = search.share(search.residual(null(dice, min(step, draws - done))))
            above += int(np.sum(shares >= observed - 1e-9))
        return (above + 1) / (draws + 1)

    return max(map(p_under, nulls))


def _break_of(z: Floats, y: Floats) -> float | None:
    if len(np.unique(z)) < 4:
        return None
    search = _Search(z, _COARSE)
    return float(search.places[int(np.argmax(search.gains(search.residual(y))))])


def _bootstrap(z: Floats, y: Floats, codes: Codes | None, resamples: int, seed: int) -> tuple[float, float] | None:
    """Return percentiles of the break over a bootstrap of models, or of families."""
    generator = np.random.default_rng(seed + 1)
    members = [] if codes is None else [np.flatnonzero(codes == family) for family in range(int(codes.max()) + 1)]
    breaks: list[float] = []
    for _ in range(resamples):
        count = len(members) or len(z)
        drawn = generator.integers(0, count, count)
        drawn = np.concatenate([members[family] for family in drawn]) if members else drawn
        c = _break_of(z[drawn], y[drawn])
        if c is not None:
            breaks.append(c)
    if len(breaks) < 0.95 * resamples or not breaks:
        return None
    low, high = np.quantile(breaks, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
