"""Power of comparisons: the number of questions and answers that a decision needs, and what a given number can show.

A question has a true score, its mean over many answers; an answer scatters around it. So the mean of `n` questions with
`k` answers each has the variance

    (between + within / k + shared · others) / n

(Miller 2024, "Adding Error Bars to Evals", arXiv 2411.00640, sections 2 to 5). `shared` is the variance common to
questions of one cluster, such as those on one text, and `others` the number of other questions in a question's cluster:
m - 1 in clusters of m (Kish 1965, Survey Sampling, section 5.4). Of two models on the same questions the score of a
question is the difference of theirs, so common difficulty is not in `between`. Questions, and their clusters, are taken
as drawn from a large pool, as by every interval of Viva. All figures are shares of 1, not points of per cent.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from viva.analysis.uncertainty import halved

Floats = NDArray[np.float64]
LEVEL = 0.05
_MOST = 10**9
"""The most questions of a result; larger numbers are meaningless."""
_EXACT = 20_000
"""The most questions for exact power of McNemar's test; beyond, the normal approximation is as good."""
_LARGEST = 0.9999
"""The largest difference at which both models still have a variance."""
_HALVINGS = 20
"""Steps of bisection, to a ten-thousandth of a point."""
_NORMAL = NormalDist()
_MANY = 300
"""The fewest degrees of freedom for which Student's t is taken as normal."""
_CERTAIN = 30
"""Standard errors between a difference and 0 from which only the estimate of the error matters; the noncentral t
distribution is not computed there."""


class Clusters(Struct, frozen=True, kw_only=True):
    """The division of a set of questions into clusters, which are drawn from many like them."""

    slope: float
    offset: float
    """In a set of n questions, a question's cluster has on average `slope · n - offset` others, at least 0."""
    number: float
    """Effective number of clusters of `most` questions: (Σ w²)² / Σ w⁴ by their shares w."""
    most: float = math.inf
    """Beyond this number of questions clusters are added, not enlarged."""

    @classmethod
    def like(cls, cluster: NDArray[np.int64]) -> Clusters:
        """Return the clusters of a set; `cluster`: that of each question, from 0. A smaller set is a random subset, a
        larger one has more clusters.
        """
        sizes = np.bincount(cluster).astype(np.float64)
        count = sizes.sum()
        alike = float((sizes * (sizes - 1)).sum() / (count * (count - 1)))  # of two questions: to share a cluster
        worth = float((sizes**2).sum() ** 2 / (sizes**4).sum())
        return cls(slope=alike, offset=alike, number=worth, most=float(count))

    @classmethod
    def of_size(cls, size: int) -> Clusters:
        """Return clusters of `size` questions each: a larger set has more clusters."""
        return cls(slope=1.0, offset=1.0, number=1.0, most=float(size))

    @classmethod
    def so_many(cls, number: int) -> Clusters:
        """Return `number` clusters of equal size: a larger set has more questions in each."""
        return cls(slope=1 / number, offset=1.0, number=float(number))

    @property
    def measured(self) -> bool:
        """Whether they were measured on a set of `most` questions."""
        return self.number > 1 and self.most < math.inf

    def others(self, questions: float) -> float:
        """Return the mean number of other questions in a question's cluster."""
        return max(0.0, self.slope * min(questions, self.most) - self.offset)

    def worth(self, questions: float) -> float:
        """Return the effective number of clusters of a set of `questions`."""
        return min(questions, self.number * max(1.0, questions / self.most))


class Scatter(Struct, frozen=True, kw_only=True):
    """Variance components of a question's score, or of the difference of two models' scores."""

    between: float
    """Variance of questions' true scores."""
    within: float
    """Variance of one answer around its question's true score; of a difference, of both models' answers together."""
    shared: float = 0.0
    """The part of `between` that is the variance of clusters' means."""
    clusters: Clusters | None = None
    """None where questions are independent."""

    def error(self, questions: float, samples: int = 1) -> float:
        """Return the standard error of the mean over `questions` with `samples` answers each."""
        alike = self.shared * self.clusters.others(questions) if self.clusters else 0.0
        return math.sqrt((self.between + self.within / samples + alike) / questions)

    def degrees(self, questions: float) -> float:
        """Return degrees of freedom of that error: the effective number of clusters less one; infinite without
        clusters.
        """
        return self.clusters.worth(questions) - 1 if self.clusters else math.inf


def half_width(scatter: Scatter, questions: int, samples: int = 1) -> float:
    """Return half the width of a 95 % interval of the mean; infinite for a single cluster."""
    degrees = scatter.degrees(questions)
    return _critical(LEVEL, degrees) * scatter.error(questions, samples) if degrees >= 1 else math.inf


def questions_for_width(scatter: Scatter, width: float, samples: int = 1) -> int | None:
    """Return the fewest questions for a 95 % interval no wider than `width`, from end to end; None if no number
    suffices.
    """
    if scatter.clusters is None:
        return _ceiling((2 * _critical(LEVEL) / width) ** 2 * scatter.error(1, samples) ** 2)
    return _first_of_all(lambda n: 2 * half_width(scatter, n, samples) <= width)


def power(scatter: Scatter, difference: float, questions: int, samples: int = 1) -> float:
    """Return the chance that a true difference is significant at 5 %, two-sided, by the normal approximation.

    With clusters by the noncentral t distribution.
    """
    shift = abs(difference) / max(scatter.error(questions, samples), 1e-12)
    degrees = scatter.degrees(questions)
    if degrees < 1:
        return 0.0
    critical = _critical(LEVEL, degrees)
    if degrees > _MANY:
        return _NORMAL.cdf(shift - critical) + _NORMAL.cdf(-shift - critical)
    from scipy.special import chdtr, nctdtr

    if shift > _CERTAIN:
        return float(chdtr(degrees, degrees * (shift / critical) ** 2))
    other_way = np.nan_to_num(nctdtr(degrees, shift, -critical))  # far from 0 the sum for it is no number
    return float(1 - nctdtr(degrees, shift, critical) + other_way)


def questions_for_difference(scatter: Scatter, difference: float, wanted: float, samples: int = 1) -> int | None:
    """Return the fewest questions that show a true difference with power `wanted`; None if no number does."""
    if scatter.clusters is None:
        return _ceiling(((_critical(LEVEL) + _NORMAL.inv_cdf(wanted)) * scatter.error(1, samples) / difference) ** 2)
    return _first_of_all(lambda n: power(scatter, difference, n, samples) >= wanted)


def smallest_difference(scatter: Scatter, questions: int, wanted: float, samples: int = 1) -> float | None:
    """Return the smallest true difference that `questions` show with power `wanted`; None if none below 1."""
    if scatter.clusters is not None:
        return _smallest(lambda difference: power(scatter, difference, questions, samples), wanted)
    smallest = (_critical(LEVEL) + _NORMAL.inv_cdf(wanted)) * scatter.error(questions, samples)
    return smallest if smallest <= 1 else None


class Discordance(Struct, frozen=True):
    """Two models on the same questions, one right or wrong answer each: the chances that only one of them is right."""

    up: float
    """The chance that only the second is right."""
    down: float
    """The chance that only the first is right."""

    @property
    def difference(self) -> float:
        """Difference of the two scores."""
        return self.up - self.down

    @property
    def scatter(self) -> Scatter:
        """The variance of one question's difference, all as `between`."""
        return Scatter(between=self.up + self.down - self.difference**2, within=0.0)

    def power(self, questions: int) -> float:
        """Return the chance that McNemar's exact test finds the difference, at 5 %, two-sided."""
        if questions > _EXACT:
            return power(self.scatter, self.difference, questions)
        from scipy.special import bdtr
        from scipy.stats import binom

        share = self.up + self.down
        if share <= 0.0:
            return 0.0
        counts = np.arange(questions + 1)
        chances: Floats = binom.pmf(counts, questions, share)
        few = _significantly_few(1 << questions.bit_length())[: questions + 1]
        powers = np.zeros(len(counts))
        some = few >= 0
        for likely in (self.up / share, self.down / share):
            powers[some] += bdtr(few[some], counts[some], likely)
        return float(chances @ powers)

    def questions_for(self, wanted: float) -> int:
        """Return the fewest questions that show the difference with power `wanted`, by McNemar's exact test.

        Its power rises in steps and falls a little between them: beyond this number it stays within two points of
        `wanted`.
        """
        about = questions_for_difference(self.scatter, self.difference, wanted) or _MOST
        return about if about > _EXACT else _first(lambda n: self.power(n) >= wanted, max(6, about // 2))


@functools.cache
def _significantly_few(size: int) -> Floats:
    """Return the largest significantly small count of ups, for every number of discordant questions below `size`; -1
    for none.

    Cached, since a plan calls it hundreds of times; `size` is a power of two, so that few results are kept.
    """
    from scipy.special import bdtr
    from scipy.stats import binom

    counts = np.arange(size)
    few = binom.ppf(LEVEL / 2, counts, 0.5) - 1
    most: Floats = np.where(bdtr(np.clip(few + 1, 0, counts), counts, 0.5) <= LEVEL / 2, few + 1, few)
    return most


def discordance(score: float, difference: float, correlation: float) -> Discordance:
    """Return the discordance of two models around `score`, with this difference and correlation of answers, or the
    nearest possible one.
    """
    upper = min(max(score + difference / 2, difference), 1.0)
    lower = upper - difference
    both = lower * upper + correlation * math.sqrt(lower * (1 - lower) * upper * (1 - upper))
    both = min(max(both, lower + upper - 1), lower)
    return Discordance(upper - both, lower - both)


def with_difference(scatter: Scatter, difference: float) -> Discordance:
    """Return models with this difference that disagree as often as measured in a scatter of 0/1 differences, or at
    least as often as the difference requires.
    """
    disagree = min(1.0, max(difference, scatter.between + difference**2))
    return Discordance((disagree + difference) / 2, (disagree - difference) / 2)


class Basis(Struct, frozen=True, kw_only=True):
    """The input of a plan. Shares of 1."""

    single: Scatter
    """Scatter of one model's score."""
    pair: Scatter
    """Scatter of the difference of two models on the same questions."""
    apart: Scatter
    """Scatter of the difference of two models on different questions."""
    score: float
    correlation: float | None
    """Correlation of right answers if all scores are 0 or 1, so that McNemar's test decides; else None."""
    disagree: Scatter | None = None
    """Measured scatter of 0/1 differences, where McNemar's test decides."""
    questions: int = 0
    """Number of questions of the runs; 0 without runs."""
    seconds: float | None = None
    """Wall time of an answer in seconds, at the runs' concurrency."""
    dollars: float | None = None

    def discordance(self, difference: float) -> Discordance | None:
        """Return the discordance of two models with this difference if every score is 0 or 1, else None."""
        if self.disagree is not None:
            return with_difference(self.disagree, difference)
        if self.correlation is None:
            return None
        return discordance(self.score, difference, self.correlation)

    def on_others(self, difference: float) -> Scatter:
        """Return the scatter of the difference of two such models on different questions."""
        if self.correlation is None:
            return self.apart
        return discordance(self.score, difference, 0.0).scatter

    def needed(self, difference: float, wanted: float, samples: int = 1) -> tuple[int | None, int | None]:
        """Return the fewest questions that show a difference with power `wanted`: the same for both models, and
        different ones; None if no number in these clusters does.

        Where McNemar's test decides, repeated answers are equal. The normal approximation for different questions is
        too optimistic for small numbers: they are never fewer than the same ones.
        """
        others = questions_for_difference(self.on_others(difference), difference, wanted, samples)
        exact = self.discordance(difference)
        if exact is None:
            return questions_for_difference(self.pair, difference, wanted, samples), others
        same = exact.questions_for(wanted)
        return same, max(same, others) if self._alike and others else others

    def smallest(self, questions: int, wanted: float, samples: int = 1) -> tuple[float | None, float | None]:
        """Return the smallest difference that `questions` show: the same for both models, and different ones; None if
        none.
        """
        same = smallest_difference(self.pair, questions, wanted, samples)
        others = smallest_difference(self.apart, questions, wanted, samples)
        if self.discordance(0.5) is not None:
            same = _smallest(lambda points: self._paired(points, questions), wanted)
        if self.correlation is not None:
            others = _smallest(lambda points: power(self.on_others(points), points, questions, samples), wanted)
        if self._alike and (same is None or others is None or others < same):
            others = same
        return same, others

    def _paired(self, difference: float, questions: int) -> float:
        """Return the power of McNemar's test."""
        pairs = self.discordance(difference)
        return pairs.power(questions) if pairs else 0.0

    @property
    def _alike(self) -> bool:
        """Whether McNemar's test decides, and the models' right answers are positively correlated."""
        return self.correlation is not None and self.correlation >= 0


class Measured(Struct, frozen=True, kw_only=True):
    """Scatter measured from existing answers."""

    scatter: Scatter
    mean: float
    questions: int
    separated: bool
    """Whether some question has two answers, so that `within` is known; else all scatter counts as between."""


def measured(means: Floats, squares: Floats, counts: Floats, cluster: NDArray[np.int64] | None = None) -> Measured:
    """Return the scatter from questions' means, the sums of squares around them, and their numbers of answers.

    One-way analysis of variance with unequal numbers of answers; `between` is at least 0. `cluster`: the number of each
    question's cluster; `shared` is the analysis of variance's component of clusters of unequal sizes (Donner 1986,
    International Statistical Review 54:67).
    """
    degrees = float((counts - 1).sum())
    within = float(squares.sum() / degrees) if degrees else 0.0
    return _measured(means, within / counts, within, degrees > 0, cluster)


def measured_difference(
    means: tuple[Floats, Floats],
    squares: tuple[Floats, Floats],
    counts: tuple[Floats, Floats],
    cluster: NDArray[np.int64] | None = None,
) -> Measured:
    """Return the scatter of two models' differences on the same questions, the second minus the first."""
    degrees = [float((each - 1).sum()) for each in counts]
    within = [float(s.sum() / d) if d else 0.0 for s, d in zip(squares, degrees, strict=True)]
    noise = within[0] / counts[0] + within[1] / counts[1]
    return _measured(means[1] - means[0], noise, sum(within), all(degrees), cluster)


def _measured(
    values: Floats, noise: Floats, within: float, separated: bool, cluster: NDArray[np.int64] | None
) -> Measured:
    mean = float(values.mean())
    whole = float(values.var(ddof=1))
    shared, clusters = 0.0, None
    if cluster is not None:
        _, numbered = np.unique(cluster, return_inverse=True)
        clusters = Clusters.like(numbered)
        shared, inside = _components(values, numbered)
        whole = shared + inside if shared else whole
    between = max(0.0, whole - float(noise.mean()))
    scatter = Scatter(between=between, within=within, shared=min(shared, between), clusters=clusters)
    return Measured(scatter=scatter, mean=mean, questions=len(values), separated=separated)


def _components(values: Floats, cluster: NDArray[np.int64]) -> tuple[float, float]:
    """Return the variance of clusters' means, at least 0, and that of values around them."""
    sizes = np.bincount(cluster).astype(np.float64)
    count, clusters = float(len(values)), len(sizes)
    if not 1 < clusters < count:
        return 0.0, 0.0
    means = np.bincount(cluster, weights=values) / sizes
    inside = float(((values - means[cluster]) ** 2).sum() / (count - clusters))
    outside = float((sizes * (means - values.mean()) ** 2).sum() / (clusters - 1))
    usual = (count - float((sizes**2).sum()) / count) / (clusters - 1)
    return max(0.0, (outside - inside) / usual), inside


def _critical(level: float, degrees: float = math.inf) -> float:
    if degrees > _MANY:
        return _NORMAL.inv_cdf(1 - level / 2)
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 1 - level / 2))


def _ceiling(questions: float) -> int:
    return min(_MOST, max(2, math.ceil(questions - 1e-9)))


def _smallest(power_at: Callable[[float], float], wanted: float) -> float | None:
    """Return the smallest difference with power `wanted`, which grows with it; None if none."""
    if power_at(_LARGEST) < wanted:
        return None
    return halved(lambda difference: power_at(difference) < wanted, 0.0, _LARGEST, _HALVINGS)[1]


def _first_of_all(enough: Callable[[int], bool]) -> int | None:
    """Return the first number of questions from 2 on that is enough; None if none is."""
    return _first(enough, 2) if enough(_MOST) else None


def _first(enough: Callable[[int], bool], start: int) -> int:
    """Return the first number from `start` on that is enough, by doubling and bisection: `enough` is nearly
    monotone.
    """
    low, high = start - 1, start
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
