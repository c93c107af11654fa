"""Unbiased mean from few labels: an expert's marks on a sample, combined with a judge's verdicts on all answers.

Of M answers the judge has a verdict f on each, and n, DRAWN AT RANDOM, have an expert's mark Y. Prediction-powered
inference (Angelopoulos et al. 2023, arXiv 2301.09633) takes the judge's mean and corrects it by what the labelled
answers say of the judge's error; with power tuning (PPI++: Angelopoulos, Duchi and Zrnic 2023, arXiv 2311.01453)

    estimate = λ · mean f over all M + mean of e over the n labelled,    e = Y − λ f

which is the paper's Ȳ + λ' (f̄_unlabelled − f̄_labelled) with λ' = λ (M − n)/M. Its best λ is the slope of Y on f,
clipped to 0…1: a judge with a constant bias costs nothing, a useless one gets λ = 0. The slope is taken within the
labelled answers. One slope for all, taken from the labels that it then corrects, is off by up to a point on 20 or 30
labels; so each labelled question is corrected with the slope of all the others (cross-fitting), and the mean of the
estimate over all ways to draw labels is the truth, exactly. Labels that were not drawn at random (disagreement first,
the reviewer's choice) make every interval here wrong, and nothing in the numbers would show it.

Two readings, one estimate:

    run        what the experts' mean over these M answers would be: (1/n − 1/M) s²_e. Zero once all are labelled.
    questions  what it would be over more questions of the kind: the same, and s²_Y / M for the choice of questions.

`questions` is the default, because every other interval of Viva is of that kind (Wilson, Student's t over questions),
and two models are compared by it. `run` answers a narrower question: how far off the judge may be here.

Intervals are Student's t over labelled questions. Rare disagreements need more than that: 30 labels without one look
like certainty, though a judge wrong in a tenth of all answers gives such a sample once in 24. So s²_e counts one more
disagreement of the usual size (where none was seen: that of two marks that differ), by the share of labels in exact
agreement, and never falls below what three disagreements make (the rule of three). Labels alone are treated alike. In
simulations (performance/coverage.md) intervals hold 93 to 97 % from n = 30 on, more where disagreements are
rare; with 20 or 30 labels and marks of which six in seven are the best one, 91 % at least.

Strata: labels drawn at random within each, with fractions that may differ, weigh by their stratum; one λ for all
(Cochran 1977, Sampling Techniques, section 7.10). Clusters: several answers to one question count as one draw; that is
right where whole questions were drawn for labelling, and careful where single answers were.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from viva.analysis.tilting import numbered
from viva.analysis.uncertainty import Interval, t_quantile
from viva.visible import plural

Reading = Literal["questions", "run"]
FEWEST = 3
"""The fewest labels for a result."""
VERIFIED = 20
"""The fewest labels for which the intervals' coverage was simulated."""
PSEUDO = 1
"""Disagreements added, by the share of labels in exact agreement."""
RARE = 3
"""The variance is at least that of this many disagreements: 1 − 0.95 = (1 − 3/n)^n."""
ROUNDING = 1e-24
"""Variances below this are rounding."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Estimate(Struct, frozen=True, kw_only=True):
    """A mean with its 95 % interval in each reading."""

    value: float
    questions: Interval
    run: Interval

    def interval(self, reading: Reading = "questions") -> Interval:
        """Return the interval of a reading."""
        return self.run if reading == "run" else self.questions


class Powered(Struct, frozen=True, kw_only=True):
    """Estimates from labels and verdicts together. Where `combined` and `labels_alone` are None, `reason` says why."""

    answers: int
    """Number of all answers of the run: M."""
    labels: int
    unjudged: int
    """Answers without a verdict; the judge's mean stands in, which costs width and no bias."""
    judge: float | None
    """The judge's mean over the answers that it decided on."""
    labels_alone: Estimate | None = None
    combined: Estimate | None = None
    power: float | None = None
    """λ: the weight of the judge's verdicts, 0 to 1."""
    correlation: float | None = None
    """Correlation of mark and verdict over the labelled answers (within strata)."""
    variance: float | None = None
    """Variance of the marks over the labelled answers."""
    effective: float | None = None
    """The number of labels that alone would give as narrow an interval; at most M."""
    reason: str = ""


class _Sample(Struct, frozen=True):
    """The answers as arrays: verdicts f, stratum and cluster of all of them, and where the labelled ones are."""

    f: Floats
    stratum: Ints
    cluster: Ints
    at: Ints
    y: Floats
    """Marks of the labelled answers, their verdicts, strata and clusters."""
    verdicts: Floats
    own: Ints
    asked: Ints

    @property
    def sizes(self) -> Floats:
        """Number of answers of each stratum: M_h."""
        return np.bincount(self.stratum).astype(float)

    @property
    def drawn(self) -> Floats:
        """Number of labels of each stratum: n_h."""
        return self.by_stratum(None)

    def by_stratum(self, values: Floats | None) -> Floats:
        """Return the sums of the labelled answers' values by stratum; their numbers for None."""
        return np.bincount(self.own, values, minlength=int(self.stratum.max()) + 1).astype(float)

    def centred(self, values: Floats) -> tuple[Floats, Floats]:
        """Return labelled values about the mean of their stratum, and these means."""
        means = self.by_stratum(values) / np.maximum(self.drawn, 1.0)
        return values - means[self.own], means

    @property
    def within(self) -> tuple[Floats, Floats]:
        """Marks and verdicts of the labelled answers, each about the mean of its stratum."""
        return self.centred(self.y)[0], self.centred(self.verdicts)[0]

    @property
    def shares(self) -> Floats:
        """Factors of each stratum's s² in the run's variance: (M_h/M)² (1/n_h − 1/M_h)."""
        result: Floats = (self.sizes / self.sizes.sum()) ** 2 * (1 / self.drawn - 1 / self.sizes)
        return result


def powered(
    verdicts: Sequence[float | None],
    marks: Sequence[float | None],
    *,
    strata: Sequence[str] = (),
    questions: Sequence[str] = (),
    bounds: Interval = (0.0, 1.0),
) -> Powered:
    """Return the experts' mean over all answers, from the marks of a random sample of them.

    `verdicts` and `marks` go over all answers of the run; a mark is None where the answer was not drawn. `strata` names
    each answer's stratum where labels were drawn by stratum, `questions` its question where several answer one.
    `bounds`: the lowest and the highest mark. The labelled answers must be a random sample (of each stratum).
    """
    given = [value for value in verdicts if value is not None]
    middle = statistics.fmean(given) if given else None
    labelled = [index for index, mark in enumerate(marks) if mark is not None]
    result = Powered(
        answers=len(verdicts), labels=len(labelled), unjudged=len(verdicts) - len(given), judge=middle
    )  # fmt: skip
    f = np.array([middle or 0.0 if value is None else value for value in verdicts], dtype=float)
    stratum = np.array(numbered(strata, 0) if strata else [0] * len(verdicts), dtype=np.int64)
    cluster, places = np.array(numbered(questions, len(verdicts)), dtype=np.int64), np.array(labelled, dtype=np.int64)
    y = np.array([marks[index] for index in labelled], dtype=float)
    sample = _Sample(f, stratum, cluster, places, y, f[places], stratum[places], cluster[places])
    reason = _too_little(sample, list(dict.fromkeys(strata)), bool(given))
    if reason:
        return msgspec.structs.replace(result, reason=reason)
    span = max(bounds[1] - bounds[0], 1e-12)
    power, tuned = _power(sample)
    alone, alone_variance = _estimate(sample, 0.0, np.zeros(len(sample.y)), False, span, bounds)
    combined, variance = _estimate(sample, power, _without_own(sample), tuned, span, bounds)
    spread, together = _within(sample)
    return msgspec.structs.replace(
        result,
        labels_alone=alone,
        combined=combined,
        power=power,
        correlation=together,
        variance=spread,
        effective=_effective(sample, variance, alone_variance),
    )


def labels_needed(
    half_width: float,
    answers: int,
    *,
    variance: float = 0.25,
    correlation: float = 0.0,
    reading: Reading = "questions",
) -> int | None:
    """Return the fewest labels that an interval of ± `half_width` takes, drawn at random of `answers`.

    `variance` of the marks (0.25 is the most that shares of 1 can have) and their `correlation` with the verdicts come
    from a pilot (`Powered.variance`, `.correlation`), or are assumed: correlation 0 is labels alone. A pilot of few
    labels flatters as often as not; plan with less. None where even all labels are not enough, which only the reading
    `questions` knows: then it takes more questions.
    """
    if not (math.isfinite(half_width) and half_width > 0 and answers > 0):
        raise ValueError(f"a half-width above 0 and some answers are needed, not {half_width} and {answers}")
    left = variance * (1 - min(1.0, max(0.0, correlation)) ** 2)

    def enough(labels: int) -> bool:
        # At least three disagreements, as the interval itself will assume; of half the scale, which is usual.
        residual = max(left, min(variance, 0.5 * RARE / labels))
        total = (1 / labels - 1 / answers) * residual + (variance / answers if reading == "questions" else 0.0)
        return t_quantile(max(1, labels - 2)) * math.sqrt(max(0.0, total)) <= half_width

    low, high = min(2, answers), answers
    if not enough(high):
        return None
    while low < high:  # the width falls with every label
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


def _too_little(sample: _Sample, names: Sequence[str], judged: bool) -> str:
    if not judged:
        return "the judge has given no verdict"
    if len(sample.y) < FEWEST:
        return f"it takes {FEWEST} labels; there {'is one' if len(sample.y) == 1 else f'are {len(sample.y)}'}"
    for stratum, (size, drawn) in enumerate(zip(sample.sizes, sample.drawn, strict=True)):
        if drawn < min(2.0, size):
            which = f"stratum {names[stratum]!r}" if names[stratum] else "the sample"
            return f"{which} has {plural(int(drawn), 'label')} of {size:.0f} answers and needs two"
    if len(np.unique(sample.asked)) < 2:
        return "all labels are of one question: it takes two"
    return ""


def _power(sample: _Sample) -> tuple[float, bool]:
    """Return λ, and whether estimating it took a degree of freedom."""
    y, f = sample.within
    weights = (sample.shares / np.maximum(sample.drawn - 1, 1.0))[sample.own]
    below = float((weights * f * f).sum())
    if below <= 1e-12 * max(1e-300, float((weights * sample.verdicts**2).sum())):
        return 0.0, False
    return min(1.0, max(0.0, float((weights * y * f).sum()) / below)), True


def _without_own(sample: _Sample) -> Floats:
    """Return λ for each labelled answer, from the answers to other questions."""
    places, (y, f) = np.unique(sample.asked, return_inverse=True)[1], sample.within
    left: list[Floats] = []
    for values in (np.ones_like(y), y, f, y * f, f * f):
        mine = np.zeros((int(places.max()) + 1, len(sample.sizes)))
        np.add.at(mine, (places, sample.own), values)
        left.append(mine.sum(axis=0) - mine)
    count, ys, fs, yf, ff = left
    there = np.maximum(count, 1.0)
    weights = sample.shares / np.maximum(count - 1, 1.0)
    above = (weights * (yf - ys * fs / there)).sum(axis=1)
    below = (weights * (ff - fs * fs / there)).sum(axis=1)
    some = below > 1e-12 * max(1e-300, float((weights.max() * sample.verdicts**2).sum()))
    result: Floats = np.where(some, np.clip(above / np.where(some, below, 1.0), 0.0, 1.0), 0.0)
    return result[places]


def _within(sample: _Sample) -> tuple[float, float | None]:
    """Return variance of the marks, and their correlation with the verdicts within strata."""
    y, f = sample.within
    both = float((y * y).sum() * (f * f).sum())
    return float(np.var(sample.y, ddof=1)), float((y * f).sum()) / math.sqrt(both) if both > 1e-18 else None


def _estimate(
    sample: _Sample, power: float, powers: Floats, tuned: bool, span: float, bounds: Interval
) -> tuple[Estimate, float]:
    """Return the estimate with λ for each labelled answer (`power`: for all together), and its variance over draws."""
    sizes, drawn, own, shares = sample.sizes, sample.drawn, sample.own, sample.shares
    total, labels = sizes.sum(), len(sample.y)
    e, means = sample.centred(sample.y - power * sample.verdicts)
    guesses = np.bincount(sample.stratum, weights=sample.f) / sizes
    value = float((sizes / total * (power * guesses + means)).sum())
    # How far the labelled answers' verdicts are from those of the others, each with the λ that it had no part in.
    away = (sizes - drawn)[own] * sample.verdicts - (guesses * sizes - sample.by_stratum(sample.verdicts))[own]
    centre = float((sample.by_stratum(sample.y) / drawn * sizes / total).sum())
    centre -= float((powers * away / drawn[own]).sum() / total)

    # Squares of the labelled questions' deviations, stratum by stratum.
    kinds = int(sample.cluster.max()) + 1
    keys, places = np.unique(own * kinds + sample.asked, return_inverse=True)
    count, squares = (
        np.bincount(keys // kinds, each, minlength=len(sizes)).astype(float)
        for each in (None, np.bincount(places, weights=e) ** 2)
    )
    spare = labels - len(sizes) if labels > len(sizes) else 1
    small = np.where(count > 1, count / np.maximum(count - 1, 1.0), 1.0) * (spare / max(1, spare - 1) if tuned else 1.0)
    parts = shares * small * squares / drawn
    missing = _missing(sample, sample.y if not power else sample.y - sample.verdicts, e, span, tuned)
    within = float(parts.sum()) + missing * float(shares.sum())

    # Over questions: the contribution of each answer, labelled or not (the sandwich estimator).
    each = (power * sample.f + (means - value)[sample.stratum]) / total
    np.add.at(each, sample.at, (np.sqrt(small) * sizes / drawn)[own] * e / total)
    by_question = np.bincount(sample.cluster, weights=each)
    clusters = len(by_question)
    over = float((by_question**2).sum()) * clusters / max(1, clusters - 1) + missing * float(shares.sum())
    freedom = _freedom(parts, count, tuned)
    run, questions = (t_quantile(freedom) * math.sqrt(max(0.0, v)) for v in (within, max(within, over)))

    def around(half: float) -> Interval:
        return max(bounds[0], centre - half), min(bounds[1], centre + half)

    inside = min(bounds[1], max(bounds[0], centre))
    return Estimate(value=inside, questions=around(questions), run=around(run)), within


def _missing(sample: _Sample, differences: Floats, e: Floats, span: float, tuned: bool) -> float:
    """Return the increase of s²_e that allows for rare disagreements (see the module's docstring)."""
    labels = len(e)
    away = differences - np.median(differences)
    apart = np.abs(away) > 1e-9 * span
    size = float((away[apart] ** 2).mean()) if apart.any() else _unlike(sample.y, span)
    equal = 1 - float(apart.mean())
    spare = max(1, labels - len(sample.sizes) - tuned)
    seen = float((e * e).sum())
    wanted = max((seen + PSEUDO * equal * size) / (spare + PSEUDO * equal), size * RARE / labels)
    return max(0.0, wanted - seen / spare)


def _unlike(marks: Floats, span: float) -> float:
    """Return the mean squared difference of two marks that differ; of the ends of the scale where all are equal."""
    counts = np.unique(marks, return_counts=True)[1]
    differing = float(len(marks) ** 2 - (counts**2).sum())
    return 2 * len(marks) ** 2 * float(marks.var()) / differing if differing else span**2


def _freedom(parts: Floats, count: Floats, tuned: bool) -> int:
    """Return degrees of freedom, by Satterthwaite over strata."""
    squares = float((parts**2 / np.maximum(count - 1, 1.0)).sum())
    degrees = float(parts.sum()) ** 2 / squares if squares > 0 else float((count - 1).sum())
    return max(1, math.floor(degrees + 1e-9) - tuned)


def _effective(sample: _Sample, variance: float, alone: float) -> float:
    total, labels = float(sample.sizes.sum()), float(len(sample.y))
    if labels >= total or alone <= ROUNDING:
        return total if labels >= total else labels
    return 1 / (1 / total + (1 / labels - 1 / total) * variance / alone)
