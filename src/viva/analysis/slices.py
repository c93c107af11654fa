"""Comparison of every slice of a set with the rest of its questions, with tests for chance.

A slice is the questions that share the values of one or more tags (domain OS; negated; OS and reasoning). Its mean is
compared with the mean of all other questions of the exam.

Difference. From the two means' own intervals, recovered as Zou and Donner (2008, Statistics in Medicine 27:1693-1702)
do it; with Wilson's intervals, which 0/1 scores have but for very few right or wrong ones, that is Newcombe's method 10
(1998, Statistics in Medicine 17:873-890). Both sides' intervals count questions, not answers.

Test. The null hypothesis is a slice drawn at random from the questions: p is the chance, in the permutation
distribution of the slice's sum, of a sum as far from its expectation. For 0/1 scores of questions asked once it is
computed exactly, which is Fisher's exact test with the tables ordered by that distance; else it is drawn (seeded), or
normal with the distribution's own variance where slice and rest both have hundreds of questions, and enough of these
are off the mean. It does not assume normal scores, and holds for the smallest slices. With clusters or missing answers
questions are not exchangeable, and p is by inverting the interval of the difference.

Many slices. p-values are adjusted for the number of different comparisons (`multiplicity`): a slice and its complement
are one comparison, and so are two slices of the same questions. The lowest of many slices is lowest partly by chance:
its difference is overstated (a winner's curse), and its interval is valid only for a slice chosen beforehand.

Partial pooling: scores of groups of few questions are shrunk towards the groups' common mean.

A group with s points of n questions has a chance θ, and the chances of all groups are from one beta distribution of
mean μ and size M (the beta-binomial model: Gelman et al. 2013, Bayesian Data Analysis, section 5.3). Given μ and M,

    θ ~ Beta(s + μM, n - s + (1 - μ)M),    its mean (s + μM)/(n + M): the group's own, shrunk towards μ

How far groups differ is known from few groups, so that an interval from an estimate of M would be too short (Morris
1983, JASA 78:47-55). Both are averaged over, by how well they go with all groups' scores: from even priors for μ and
for 1/(M + 1), the correlation of two questions of a group. (With a prior that is even on how far a group of the usual
size is drawn, up to three in a hundred fewer intervals held.) The sum is over a grid that is narrowed to where the
weight lies.

Fractions, or means of several answers, vary less than 0/1 scores of the same mean. They count as the number of 0/1
questions with the same variance; the ratio is estimated over all groups, since one group has too few questions.

Intervals hold on average over groups like these, not for each: a group unlike all others is shrunk too far.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from viva.analysis.breakdown import Breakdown
from viva.analysis.columns import Columns
from viva.analysis.estimate import Estimate, Spread, Spreads, clustered, clusters_of, silent, spreads
from viva.analysis.estimate import sums as sums_by
from viva.analysis.multiplicity import Correction, adjusted
from viva.analysis.uncertainty import ALIKE, halved, identified_level, mean_variance
from viva.analysis.uncertainty import LEVEL as OF_INTERVALS
from viva.types import Aggregate

Floats = NDArray[np.float64]

FEWEST = 3
"""The fewest groups for pooling; fewer keep their plain mean and interval."""
_STEPS = 16
"""Steps of a grid, each way."""
_GRIDS = 4
"""Number of grids, each narrowed to the weight of the one before."""
_NEGLIGIBLE = 1e-5
"""Weight of a point, as a share of the largest, below which it is left out."""
_BISECTIONS = 18


class Scored(Struct, frozen=True, kw_only=True):
    """One group of questions: the mean of their scores in 0..1, how many they are, and Σ (score - mean)²."""

    mean: float
    questions: int
    squares: float


class Pooled(Struct, frozen=True, kw_only=True):
    """A group's mean, given the scores of all groups, with its 95 % interval. Shares of 1."""

    mean: float
    low: float
    high: float


def pooled(groups: Sequence[Scored]) -> list[Pooled]:
    """Return each group's posterior mean and 95 % interval, in order; the plain ones for fewer than three groups.

    Every group has a question at least.
    """
    if len(groups) < FEWEST:
        return [_plain(group) for group in groups]
    mean, n, squares = (np.array([getattr(group, name) for group in groups]) for name in Scored.__struct_fields__)
    worth = n / _ratio(mean, n, squares)
    right, wrong = np.clip(mean, 0, 1) * worth, (1 - np.clip(mean, 0, 1)) * worth
    size, share, weights = _components(right, wrong)
    alike, places = np.unique(np.stack([right, wrong], axis=1), axis=0, return_inverse=True)
    a, b = alike[:, :1] + share * size, alike[:, 1:] + (1 - share) * size
    ends = [_quantile(a, b, weights, end) for end in ((1 - OF_INTERVALS) / 2, (1 + OF_INTERVALS) / 2)]
    ends_of_means = np.stack([(a / (a + b)) @ weights, *ends], axis=1)[places.ravel()]
    return [Pooled(mean=middle, low=low, high=high) for middle, low, high in ends_of_means.tolist()]


def _plain(group: Scored) -> Pooled:
    most = group.questions * group.mean * (1 - group.mean)
    zero_one = abs(group.squares - most) < ALIKE  # only scores of 0 and 1
    n = group.questions
    variance = mean_variance(group.squares, n, n) if n > 1 else 0.0
    spread = Spread(mean=group.mean, variance=variance, worth=n, degrees=n - 1, zero_one=zero_one)
    low, high = spread.interval() or (0.0, 1.0)
    return Pooled(mean=group.mean, low=low, high=high)


def _ratio(mean: Floats, n: Floats, squares: Floats) -> float:
    """Return the variance of a score within its group, as a part of that of 0/1 scores of the same means: 1 for these.

    Both with one more question of score 0 or 1, so that equal scores do not count as infinitely many questions.
    """
    spare, middle = n.sum() - len(n), float(mean @ n / n.sum())
    if spare < 1 or squares.sum() < ALIKE:
        return 1.0
    spread = middle * (1 - middle)
    within = (squares.sum() + spread) / (spare + 1)
    most = ((n * mean * (1 - mean)).sum() + spread + len(n) * within) / (n.sum() + 1)
    return float(within / most)


def _components(right: Floats, wrong: Floats) -> tuple[Floats, Floats, Floats]:
    """Return a grid of sizes M and means μ, with the posterior weight of each pair; the weights add up to 1."""
    from scipy.special import betaln

    steps = (np.arange(_STEPS) + 0.5) / _STEPS
    box = np.array([[0.0, 1.0], [0.0, 1.0]])
    for _ in range(_GRIDS):
        middle, inner = (each.ravel() for each in np.meshgrid(*(low + (high - low) * steps for low, high in box)))
        size = 1 / inner - 1
        a, b = middle * size, (1 - middle) * size
        logs = betaln(right[:, None] + a, wrong[:, None] + b).sum(axis=0) - len(right) * betaln(a, b)
        weights = np.exp(logs - logs.max())
        there = weights > _NEGLIGIBLE
        margin = (box[:, 1] - box[:, 0]) / _STEPS
        ends = [(each[there].min(), each[there].max()) for each in (middle, inner)]
        box = np.clip(np.array(ends) + margin[:, None] * [-1, 1], 0, 1)
    return size[there], middle[there], weights[there] / weights[there].sum()


def _quantile(a: Floats, b: Floats, weights: Floats, share: float) -> Floats:
    """Return the quantile of each group's mixture, by bisection."""
    from scipy.special import betainc

    low, high = np.zeros(len(a)), np.ones(len(a))
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        below = betainc(a, b, middle[:, None]) @ weights < share
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray((low + high) / 2)


LEVEL = 0.05
"""The highest adjusted p-value at which a slice is called different."""
SMALLEST = 10
"""Questions with an answer that a slice (and its rest) must have to be tested, unless the user says otherwise."""
DRAWS = 9_999
MOST_DRAWS = 99_999
"""Permutations to draw; more where many slices make adjusted levels small."""
_LARGE = 400
"""Questions on both sides from which the sum of a slice is taken as normal."""
_ENOUGH = 30
"""Expected questions off the mean, in a slice and in its rest, from which its sum is taken as normal: with five scores
below full marks in four thousand it is far from normal."""
_KINDS = 50
"""The most different scores for which a sum that is not normal is drawn as counts of each score."""
_WHOLE = 20_000
"""The most questions for permutations without replacement; of more, a slice is drawn with replacement, which is
conservative: the variance is too large by less than 400 in 20,000."""
_AT_ONCE = 4_000_000
"""Numbers of one chunk of permutations: 32 MB."""
_FURTHEST = 7.2
"""Standard errors up to which p is searched: 6e-13, before levels round to 1."""

_PLAIN = Aggregate("mean")

Where = tuple[tuple[str, str], ...]
"""A slice by its tags and their values."""


class Slice(Struct, frozen=True, kw_only=True):
    """One slice compared with the rest of the questions. Shares of 1; None where there is nothing to compare."""

    where: Where
    questions: int
    """Questions with an answer that counts."""
    cell: Estimate
    rest: float | None = None
    """The mean over all other questions."""
    difference: float | None = None
    """Slice minus rest."""
    low: float | None = None
    high: float | None = None
    p: float | None = None
    """Two-sided, against a random choice of questions; None where the slice is too small to be tested, or has no
    mean.
    """
    adjusted: float | None = None
    """p adjusted for the number of comparisons."""
    test: str = ""
    """The method of p: "exact", "permutation", "normal", "interval"."""
    pooled: Pooled | None = None
    """Its mean given all slices by the same tags, if requested and scores are in 0..1."""

    @property
    def name(self) -> str:
        """The slice's values, in the order of the tags."""
        return " · ".join(value for _, value in self.where)

    @property
    def significant(self) -> bool:
        """Whether it differs from the rest by more than chance, all comparisons considered."""
        return self.adjusted is not None and self.adjusted <= LEVEL


class Slices(Struct, frozen=True, kw_only=True):
    """All slices of one model on one exam, in the order of the tags and of their values' first question."""

    exam: str
    model: str
    tags: tuple[tuple[str, ...], ...]
    """The combinations of tags that define the slices."""
    overall: Estimate
    slices: tuple[Slice, ...]
    compared: int
    """Number of different comparisons that the p-values are adjusted for."""
    smallest: int
    correct: Correction

    @property
    def untested(self) -> int:
        """Slices too small to be tested, or whose rest is."""
        return sum(each.p is None for each in self.slices)

    def worst(self, count: int) -> list[Slice]:
        """Return the tested slices that lie furthest below their rest, the lowest first."""
        return [each for each in self._ranked() if (each.difference or 0.0) < 0][:count]

    def best(self, count: int) -> list[Slice]:
        """Return the tested slices that lie furthest above their rest, the highest first."""
        return [each for each in reversed(self._ranked()) if (each.difference or 0.0) > 0][:count]

    def _ranked(self) -> list[Slice]:
        return sorted((each for each in self.slices if each.p is not None), key=lambda each: each.difference or 0.0)


def slices(
    exam: str,
    model: str,
    scores: Columns,
    tags: Sequence[tuple[str, ...]],
    *,
    headline: Aggregate = _PLAIN,
    smallest: int = SMALLEST,
    correct: Correction = "holm",
    seed: int = 0,
    pool: bool = False,
) -> Slices:
    """Cut one model's scores on one exam (`breakdown.frame`) by every combination of `tags`, and test every slice.

    Slices average what the exam's `headline` averages, but over questions, not over groups: a macro average over a
    slice's few subjects would mean little. `overall` is the headline itself. `pool`: also pool slices by the same tags.
    """
    breakdown = Breakdown(scores)
    measure = msgspec.structs.replace(headline, over="")
    questions = breakdown.questions(measure)
    cuts = list(_cut(questions, tags))
    heard = questions.numbers["answered"] > 0
    inverted = clusters_of(questions) is not None or not bool(
        np.array_equal(questions.numbers["floor"], questions.numbers["ceiling"])
    )
    described = [_described(breakdown, measure, questions, where, mask) for where, mask in cuts]
    if pool and measure.kind == "score" and float(questions.numbers["points"].min(initial=0)) >= 0:
        described = _pooled(described, questions, [mask & heard for _, mask in cuts])
    # A slice and its complement are one comparison; so are two slices of the same questions.
    keys = [min(np.packbits(side & heard).tobytes() for side in (mask, ~mask)) for _, mask in cuts]
    testable = [
        described_slice.difference is not None
        and min(described_slice.questions, int(heard.sum()) - described_slice.questions) >= max(1, smallest)
        for described_slice in described
    ]
    distinct = {key: index for index, key in enumerate(keys) if testable[index]}
    chosen = [cuts[index][1] for index in distinct.values()]
    tested = _inverted(questions, chosen, measure) if inverted else _p_values(questions, chosen, seed)
    corrected = adjusted([p for p, _ in tested], correct)
    tests = {
        key: {"p": p, "adjusted": other, "test": test}
        for key, (p, test), other in zip(distinct, tested, corrected, strict=True)
    }
    whole = tuple(
        msgspec.structs.replace(described_slice, **tests[key]) if able else described_slice
        for described_slice, key, able in zip(described, keys, testable, strict=True)
    )
    return Slices(
        exam=exam,
        model=model,
        tags=tuple(tags),
        overall=breakdown.cell(headline),
        slices=whole,
        compared=len(tested),
        smallest=smallest,
        correct=correct,
    )


def difference_interval(first: tuple[float, float, float], second: tuple[float, float, float]) -> tuple[float, float]:
    """Return the interval of a difference of two independent means, each given as (mean, low, high)."""
    (a, a_low, a_high), (b, b_low, b_high) = first, second
    return a - b - math.hypot(a - a_low, b_high - b), a - b + math.hypot(a_high - a, b - b_low)


def _between(first: Spreads, second: Spreads, level: float) -> tuple[float, float] | None:
    """Return the interval of a difference of two means that lie somewhere between their bounds."""
    ends = (first.floor, second.ceiling), (first.ceiling, second.floor)
    low, high = (_apart(*end, level) for end in ends)
    if low is None or high is None:
        return None
    width = ends[1][0].mean - ends[1][1].mean - ends[0][0].mean + ends[0][1].mean
    if width > 1e-9:
        far = max(ends[0][0].mean - ends[0][1].mean - low[0], high[1] - ends[1][0].mean + ends[1][1].mean)
        level = identified_level(width, far / NormalDist().inv_cdf(0.5 + level / 2), level)
        low, high = (_apart(*end, level) for end in ends)
    return None if low is None or high is None else (low[0], high[1])


def _apart(first: Spread, second: Spread, level: float) -> tuple[float, float] | None:
    left, other = first.interval(level), second.interval(level)
    return None if left is None or other is None else difference_interval((first.mean, *left), (second.mean, *other))


def _inverted(
    questions: Columns, masks: Sequence[NDArray[np.bool_]], measure: Aggregate
) -> list[tuple[float | None, str]]:
    """Return for each comparison the p at which the interval of the difference just reaches 0; None where undefined."""

    def p_of(mask: NDArray[np.bool_]) -> float | None:
        inside, outside = (_spreads(questions.take(part), measure) for part in (mask, ~mask))

        def excludes(z: float) -> bool:
            between = _between(inside, outside, 1 - math.erfc(z / math.sqrt(2)))
            return between is None or not between[0] <= 0 <= between[1]

        if _between(inside, outside, 1 - LEVEL) is None:
            return None
        return math.erfc(halved(excludes, 0.0, _FURTHEST)[0] / math.sqrt(2))

    return [(p_of(mask), "interval") for mask in masks]


def _cut(questions: Columns, tags: Sequence[tuple[str, ...]]) -> Iterator[tuple[Where, NDArray[np.bool_]]]:
    """Yield every combination of values that occurs, with a mask of its questions."""
    for combination in dict.fromkeys(tags):
        texts = [questions.tags[tag] for tag in combination]
        groups, starts = questions.groups(*(f"tag:{tag}" for tag in combination))
        for group, start in enumerate(starts.tolist()):
            codes = [int(text.codes[start]) for text in texts]
            if min(codes) >= 0:
                values = [text.values[code] for text, code in zip(texts, codes, strict=True)]
                yield tuple(zip(combination, values, strict=True)), groups == group


def _described(
    breakdown: Breakdown, measure: Aggregate, questions: Columns, where: Where, mask: NDArray[np.bool_]
) -> Slice:
    """Return a slice with its estimate and its difference from the rest, not yet tested."""
    cell = breakdown.cell(measure, Aggregate("", where={tag: (value,) for tag, value in where}))
    described = Slice(where=where, questions=int((mask & (questions.numbers["answered"] > 0)).sum()), cell=cell)
    rest = questions.take(~mask)
    if cell.mean is None or not rest.height or silent(rest):
        return described
    inside, outside = (_spreads(part, measure) for part in (questions.take(mask), rest))
    if outside.mean is None:
        return described
    low, high = _between(inside, outside, 1 - LEVEL) or (None, None)
    return msgspec.structs.replace(
        described,
        rest=outside.mean.mean,
        difference=cell.mean - outside.mean.mean,
        low=low,
        high=high,
    )


def _spreads(part: Columns, measure: Aggregate) -> Spreads:
    groups = list(sums_by(part).values())
    return spreads(groups, signed=measure.kind == "difference", clustered=clustered(part))


def _pooled(described: Sequence[Slice], questions: Columns, members: Sequence[NDArray[np.bool_]]) -> list[Slice]:
    """Return the slices with `pooled` set for those that have a mean, pooled with those by the same tags."""
    by_tags: dict[tuple[str, ...], dict[int, Scored]] = {}
    for index, (described_slice, mask) in enumerate(zip(described, members, strict=True)):
        if described_slice.cell.mean is not None:
            points, answered = (questions.numbers[name][mask] for name in ("points", "answered"))
            mean, each = points.sum() / answered.sum(), answered.mean()
            squares = (((points - mean * answered) / each) ** 2).sum()
            scored = Scored(mean=float(mean), questions=len(points), squares=float(squares))
            by_tags.setdefault(tuple(tag for tag, _ in described_slice.where), {})[index] = scored
    known = {
        index: each
        for group in by_tags.values()
        for index, each in zip(group, pooled(list(group.values())), strict=True)
    }
    return [
        msgspec.structs.replace(described_slice, pooled=known.get(index))
        for index, described_slice in enumerate(described)
    ]


def _p_values(questions: Columns, masks: Sequence[NDArray[np.bool_]], seed: int) -> list[tuple[float, str]]:
    """Return p and its method for each comparison."""
    points, answered = (questions.numbers[name].astype(np.float64) for name in ("points", "answered"))
    heard = answered > 0
    points, answered = points[heard], answered[heard]
    members = [mask[heard] for mask in masks]
    if not members:
        return []
    if bool(np.all(answered == 1)) and bool(np.all((points == 0) | (points == 1))):
        return [(_exact(points, mask), "exact") for mask in members]
    residuals = points - points.sum() / answered.sum() * answered
    return _permuted(residuals, members, seed)


def _exact(points: Floats, mask: NDArray[np.bool_]) -> float:
    """Return the share, among all choices of as many questions, whose right answers are as far from the expected
    number.
    """
    from scipy.special import gammaln  # scipy.stats takes a second to load

    count, inside, right = len(points), int(mask.sum()), int(points.sum())
    possible = np.arange(max(0, inside + right - count), min(inside, right) + 1)
    away = np.abs(possible * count - inside * right)  # in integers, so that ties are exact
    extreme = possible[away >= abs(int(points[mask].sum()) * count - inside * right)]

    def ways(of: int, take: NDArray[np.int64] | int) -> Floats:
        """Return the logarithm of the binomial coefficient."""
        taken = np.asarray(take, dtype=np.float64)
        return np.asarray(gammaln(of + 1.0) - gammaln(taken + 1) - gammaln(of - taken + 1), dtype=np.float64)

    chances = np.exp(ways(right, extreme) + ways(count - right, inside - extreme) - ways(count, inside))
    return min(1.0, float(chances.sum()))


def _permuted(residuals: Floats, members: Sequence[NDArray[np.bool_]], seed: int) -> list[tuple[float, str]]:
    """Return for each slice the share of random choices of as many questions with a sum as far from 0, and the method.

    The residuals add up to 0, so a slice's sum is minus that of its rest: the smaller of the two is drawn, and all
    slices of a draw share one permutation.
    """
    count = len(residuals)
    sums = [abs(float(residuals[mask].sum())) for mask in members]
    sizes = [min(int(mask.sum()), count - int(mask.sum())) for mask in members]
    tests: list[tuple[float, str]] = [(1.0, "permutation")] * len(members)
    spread = float((residuals**2).sum())
    if spread < 1e-12 * max(1, count):
        return tests  # all questions have the same score
    drawn = [index for index, size in enumerate(sizes) if size < _LARGE]
    draws = min(MOST_DRAWS, max(DRAWS, 40 * len(members) - 1))
    off = spread**2 / float((residuals**4).sum()) / count  # the effective share of questions off the mean
    for index, size in enumerate(sizes):
        if size >= _LARGE:
            if off * size < _ENOUGH and (p := _counted(residuals, size, sums[index], draws, seed)) is not None:
                tests[index] = (p, "permutation")
                continue
            deviation = math.sqrt(spread * size * (count - size) / (count * (count - 1)))
            tests[index] = (math.erfc(sums[index] / deviation / math.sqrt(2)), "normal")
    if drawn:
        wanted, last = np.array([sizes[index] for index in drawn]), np.array([sums[index] for index in drawn])
        beyond = np.zeros(len(drawn), dtype=np.int64)
        for chosen in _choices(residuals, int(wanted.max()), draws, seed):
            reached = np.abs(np.cumsum(chosen, axis=0)[wanted - 1])
            beyond += (reached >= last[:, None] - 1e-9).sum(axis=1)
        for index, times in zip(drawn, beyond.tolist(), strict=True):
            tests[index] = ((times + 1) / (draws + 1), "permutation")
    return tests


def _counted(residuals: Floats, size: int, last: float, draws: int, seed: int) -> float | None:
    """Return p of one large slice, drawn as counts of each different score; None where there are too many scores."""
    _, first, times = np.unique(np.round(residuals, 12), return_index=True, return_counts=True)
    if len(times) > _KINDS:
        return None
    chosen = np.random.default_rng(seed).multivariate_hypergeometric(times, size, size=draws)
    return (int((np.abs(chosen @ residuals[first]) >= last - 1e-9).sum()) + 1) / (draws + 1)


def _choices(residuals: Floats, most: int, draws: int, seed: int) -> Iterator[Floats]:
    """Yield random choices of `most` residuals, a choice a column, in chunks; the first n of a column are a choice of
    n.
    """
    generator = np.random.default_rng(seed)
    count = len(residuals)
    size = max(1, _AT_ONCE // (count if count <= _WHOLE else most))
    for start in range(0, draws, size):
        columns = min(size, draws - start)
        if count > _WHOLE:
            yield residuals[generator.integers(count, size=(most, columns))]
            continue
        # Only as many steps of the usual shuffle (Fisher and Yates) as there are questions to choose.
        shuffled = np.repeat(residuals[:, None], columns, axis=1)
        every = np.arange(columns)
        for place in range(most):
            other = generator.integers(place, count, size=columns)
            taken = shuffled[other, every]
            shuffled[other, every] = shuffled[place]
            shuffled[place] = taken
        yield shuffled[:most]
