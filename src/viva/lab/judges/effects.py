"""Effects on a judge's marks of changes that leave an answer's content alone.

A probe gives the same judge the same answers in another form: each answer is its own control, so that neither the
quality of answers nor the judge's strictness affects the difference (paired counterfactuals; Zheng et al. 2023, arXiv
2306.05685, for position, length and self-preference; Ye et al. 2024, arXiv 2410.02736, for others). Probes that add
text are compared with as much neutral text, or a judge that likes long answers would seem to like any addition. Marks
are shares of the full mark. Several answers to one question are one cluster.

- The mean change has the interval and the p of differences (`estimate`), the shares of marks that rise or fall those of
  means. Holm's correction over the probes of a judge: of a judge without any bias, one is named in 5 % of the studies.
- Self-preference has no counterfactual: no answer can be somebody else's. Where answers of the judge's own model are
  better, others' with the same reference mark (an expert's, else other judges') are worse than these, since some have
  it by an error of the reference; so a judge without any preference gives them less. Comparing others' answers to which
  the judge itself gave the same mark reverses this bias. The two comparisons enclose the truth (direct and reverse
  regression; Goldberger, Journal of Human Resources 19, 1984), as long as errors of both fall on own and others'
  answers alike, and these differ only in quality. Since marks cannot show that, there is no p. Each side is the slope
  on "own" with an intercept a mark, whose standard error is by question (Liang and Zeger 1986, with the small-sample
  factor G/(G − 1)), Student's t on G − 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from viva.analysis.estimate import mean_of
from viva.analysis.multiplicity import adjusted
from viva.analysis.tilting import numbered
from viva.analysis.uncertainty import t_quantile

Floats = NDArray[np.float64]
LEAST = 10
"""The fewest answers of its own, and of others, for self-preference."""
PASSING = 0.5
"""The lowest mark of a passed answer."""
LEVEL = 0.05


class Pair(Struct, frozen=True):
    """A judge's mark of an original answer (or with neutral text), and in another form; None where missing."""

    question: str
    plain: float | None
    changed: float | None


class Share(Struct, frozen=True):
    """A share with its 95 % interval."""

    value: float
    low: float
    high: float


class Effect(Struct, frozen=True, kw_only=True):
    """The effect of a probe: `change` of the mean mark, `up` and `down` the shares of marks that rose and fell."""

    probe: str
    answers: int
    """Number of pairs with two marks."""
    lost: int = 0
    """Number of pairs in which a readable verdict is missing."""
    change: float | None = None
    low: float | None = None
    high: float | None = None
    up: Share | None = None
    down: Share | None = None
    p: float | None = None
    adjusted: float | None = None
    """p adjusted by Holm over the probes of the judge."""
    reason: str = ""
    """Why there is no estimate."""

    @property
    def biased(self) -> bool:
        """Whether the effect is significant."""
        return self.adjusted is not None and self.adjusted <= LEVEL


class Control(Struct, frozen=True, kw_only=True):
    """A control that every judge must pass: the same answer again, or an invalid answer."""

    control: str
    answers: int
    lost: int
    mean: float | None = None
    """The mean mark; for the same answer asked again, the mean distance of its two marks."""
    failed: Share | None = None
    """Share of marks of at least PASSING; for the same answer asked again, of changed marks."""


def effect(probe: str, pairs: Sequence[Pair]) -> Effect:
    """Return the effect of one probe, without `adjusted` (see `corrected`)."""
    given = _changes(pairs)
    changes, clusters = _by_question(given)
    result = Effect(probe=probe, answers=len(given), lost=len(pairs) - len(given))
    if not pairs:
        return replace(result, reason="none of these answers can be given this form")
    if len({*clusters.tolist()}) < 2:
        return replace(
            result, reason=f"it takes both marks of answers to two questions; {result.lost} of {len(pairs)} lack one"
        )
    mean = mean_of(changes, clusters, signed=True)
    low, high = mean.interval() or (None, None)
    return replace(
        result,
        change=mean.floor.mean,
        low=low,
        high=high,
        up=_share(changes > 0, clusters),
        down=_share(changes < 0, clusters),
        p=mean.p(),
    )


def corrected(effects: Sequence[Effect]) -> tuple[Effect, ...]:
    """Return the effects of all probes of one judge, with p adjusted for their number."""
    p_values = adjusted([each.p for each in effects], "holm")
    return tuple(replace(each, adjusted=p) for each, p in zip(effects, p_values, strict=True))


def asked_again(control: str, pairs: Sequence[Pair]) -> Control:
    """Return the retest control: the mean distance of two marks of one judge for one answer, and the share that
    differ.
    """
    return _control(control, pairs, _changes(pairs), 1e-9)


def negative_control(control: str, pairs: Sequence[Pair]) -> Control:
    """Return the control of invalid answers: their mean mark, and the share that passed."""
    return _control(
        control, pairs, [(pair.question, pair.changed) for pair in pairs if pair.changed is not None], PASSING
    )


def _control(control: str, pairs: Sequence[Pair], given: Sequence[tuple[str, float]], fails: float) -> Control:
    """Return a control from marks, or changes of marks; those of at least `fails` are failures."""
    control_of = Control(control=control, answers=len(given), lost=len(pairs) - len(given))
    if not given:
        return control_of
    values, clusters = _by_question(given)
    sizes = np.abs(values)
    return replace(control_of, mean=float(sizes.mean()), failed=_share(sizes >= fails, clusters))


def self_preference(
    probe: str, own: Sequence[bool], marks: Sequence[float], references: Sequence[float], questions: Sequence[str]
) -> Effect:
    """Return how much higher a judge marks answers of its own model than the reference does.

    `low` to `high` goes from the lower end of one comparison to the higher end of the other, `change` is their middle.
    """
    clusters, result = numbered(questions, len(own)), Effect(probe=probe, answers=sum(own))
    sides = [
        side
        for values, matched in ((marks, references), ([-reference for reference in references], marks))
        if (side := _of_own(own, values, matched, clusters))
    ]
    if len(sides) < 2 or min(result.answers, len(own) - result.answers) < LEAST:
        return replace(result, reason=f"it takes {LEAST} answers of its own and of others with the same marks")
    changes, lows, highs = zip(*sides, strict=True)
    return replace(result, change=math.fsum(changes) / 2, low=min(lows), high=max(highs))


def _of_own(
    own: Sequence[bool], values: Sequence[float], matched: Sequence[float], clusters: Sequence[int]
) -> tuple[float, float, float] | None:
    """Return how much higher the values of own answers are than of others that match to a tenth of the full mark, with
    the 95 % interval; None where fewer than LEAST questions have any to compare.
    """
    (y, x), marks = np.array([values, own], dtype=float), np.rint(10 * np.array(matched))
    for mark in np.unique(marks):
        same = marks == mark
        y[same] -= y[same].mean()
        x[same] -= x[same].mean()
    count = len(np.unique(np.array(clusters)[np.abs(x) > 1e-12]))
    if count < LEAST:
        return None
    squares = float((x**2).sum())
    slope = float((x * y).sum()) / squares
    scores = np.bincount(clusters, weights=x * (y - slope * x))
    half = t_quantile(count - 1) * math.sqrt(float((scores**2).sum()) * count / (count - 1)) / squares
    return slope, slope - half, slope + half


def _changes(pairs: Sequence[Pair]) -> list[tuple[str, float]]:
    """Return question and change of the mark, of pairs of two marks."""
    return [
        (pair.question, round(pair.changed - pair.plain, 9))
        for pair in pairs
        if pair.plain is not None and pair.changed is not None
    ]


def _by_question(given: Sequence[tuple[str, float]]) -> tuple[Floats, NDArray[np.int64]]:
    """Return the values, and each one's question as a number."""
    clusters = numbered([question for question, _ in given], len(given))
    return np.array([value for _, value in given]), np.array(clusters, dtype=np.int64)


def _share(hits: NDArray[np.bool_], clusters: NDArray[np.int64]) -> Share:
    """Return a share of answers with its interval over questions."""
    return Share(float(hits.mean()), *(mean_of(hits, clusters).interval() or (0.0, 1.0)))
