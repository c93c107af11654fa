"""Is a mean of paired differences more than chance? The sign-flip permutation test, exact wherever it can be.

If two contestants are alike on every question, each question's difference was as likely to come out the other way
round. So the test turns over all the signs in all 2^k ways and asks how often the sum comes out as far from nothing as
it did (Fisher 1935, The Design of Experiments, section 21). Questions without a difference say nothing and drop out.

Which way it is computed does not change what is tested, only how exactly:

- all differences of one size: the binomial sign test; for 0/1 scores that is McNemar's exact test (1947,
  Psychometrika 12:153-157);
- differences on a grid (shares of so many repeats): all 2^k sums at once, by convolution;
- up to 20 differing questions: all 2^k sums one by one;
- else so many random turns, seeded, with the observed one among them (p = (hits + 1) / (turns + 1): Phipson and Smyth
  2010, Statistical Applications in Genetics and Molecular Biology 9:39), so that p is never 0 and the smallest one
  that could come out, the resolution, is told.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FEW = 20
"""Differing questions up to which every one of the 2^k sums is looked at."""
TURNS = 99_999
MANY = 10_000
"""Different sizes of difference from which a tenth of the turns must do."""
_STEPS = 1000
"""The finest grid that is looked for: differences as multiples of 1/1000."""
_WORK = 100_000_000
"""Additions up to which a convolution is done: a fraction of a second."""
_ALIKE = 1e-9
_BUNDLE = 8
"""Differences whose sums fit one table with an entry a byte; so many of one size are drawn as a binomial number."""


class Test(Struct, frozen=True, kw_only=True):
    """What a test found. `resolution` is the smallest p that it can give; None where it is exact."""

    p: float
    name: str
    resolution: float | None = None


def sign_flip(contributions: Sequence[float] | Floats, seed: int = 0, turns: int | None = None) -> Test:
    """The two-sided p-value of a sum of differences; every one may turn its sign.

    `contributions` are what each question adds to the sum, its weight included; `turns` are those of the random test,
    99,999 or, of more than 10,000 sizes, 9,999 by default.
    """
    given = np.asarray(contributions, dtype=np.float64)
    largest = float(np.abs(given).max(initial=0.0))
    differing = given[np.abs(given) > _ALIKE * max(largest, 1e-300)] if largest > 1e-15 else given[:0]
    if not len(differing):
        return Test(p=1.0, name="none differ")
    sizes = np.abs(differing)
    if float(np.ptp(sizes)) <= _ALIKE * largest:
        above = int((differing > 0).sum())
        return Test(p=sign_test(above, len(differing) - above), name="sign, exact")
    observed = abs(float(differing.sum()))
    steps = _grid(sizes)
    if steps is not None and len(steps) * int(steps.sum()) <= _WORK:
        total = abs(int(np.rint(differing / sizes * steps).sum()))
        return Test(p=_convolved(steps, total), name="permutation, exact")
    bound = observed - _ALIKE * float(sizes.sum())
    if len(sizes) <= FEW:
        sums = _all_sums(sizes)
        return Test(p=min(1.0, float((np.abs(sums) >= bound).mean())), name="permutation, exact")
    kinds = len(np.unique(sizes))
    count = turns or (TURNS if kinds <= MANY else TURNS // 10)
    hits = int((np.abs(_random_sums(sizes, count, seed)) >= bound).sum())
    return Test(p=(hits + 1) / (count + 1), name="permutation, random", resolution=1 / (count + 1))


def sign_test(above: int, below: int) -> float:
    """The exact two-sided p of so many signs up and down, were both as likely; McNemar's for discordant pairs."""
    from scipy.special import bdtr

    n = above + below
    return min(1.0, 2 * float(bdtr(min(above, below), n, 0.5))) if n else 1.0


def _grid(sizes: Floats) -> NDArray[np.int64] | None:
    """The sizes as whole numbers of steps of the widest grid that they all lie on; None where there is none."""
    different = np.unique(np.round(sizes / sizes.max(), 12))
    if len(different) > _STEPS:
        return None
    # Relative to the largest, a size is a fraction m/n; the grid is right where all are whole.
    parts = np.arange(1, _STEPS + 1)
    for size in different:
        scaled = size * parts
        parts = parts[(np.abs(scaled - np.rint(scaled)) <= _ALIKE * parts) & (scaled >= 0.5)]
    if not len(parts):
        return None
    steps: NDArray[np.int64] = np.rint(sizes / sizes.max() * parts[0]).astype(np.int64)
    return steps


def _convolved(steps: NDArray[np.int64], observed: int) -> float:
    """P(|sum of ± steps| ≥ observed). The number of steps upwards is spread over 0..Σ; the sum is 2·upwards − Σ."""
    whole = int(steps.sum())
    chances = np.zeros(whole + 1)
    chances[0] = 1.0
    reached = 0
    for step in np.sort(steps):
        size = int(step)
        spread = chances[: reached + 1] / 2
        chances[: reached + 1] /= 2
        chances[size : reached + size + 1] += spread
        reached += size
    sums = np.abs(2 * np.arange(whole + 1) - whole)
    return min(1.0, float(chances[sums >= observed].sum()))


def _all_sums(sizes: Floats) -> Floats:
    """The sums of all 2^k ways to choose the signs."""
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums + size, sums - size])
    return sums


def _random_sums(sizes: Floats, turns: int, seed: int) -> Floats:
    """Sums with signs drawn at random. Of many differences of one size only the number turned is drawn."""
    generator = np.random.default_rng(seed)
    values, counts = np.unique(sizes, return_counts=True)
    sums = np.zeros(turns)
    for value, count in zip(values[counts >= _BUNDLE], counts[counts >= _BUNDLE], strict=True):
        sums += value * (2.0 * generator.binomial(int(count), 0.5, size=turns) - float(count))
    few = counts < _BUNDLE
    single = np.repeat(values[few], counts[few])
    signs = 2.0 * ((np.arange(1 << _BUNDLE)[:, None] >> np.arange(_BUNDLE)) & 1) - 1.0
    for start in range(0, len(single), _BUNDLE):
        bundle = single[start : start + _BUNDLE]
        table: Floats = signs[:, : len(bundle)] @ bundle
        sums += table[generator.integers(0, 1 << _BUNDLE, size=turns, dtype=np.uint8)]
    return sums
