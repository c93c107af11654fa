"""How far a judge's marks move where the content of an answer does not.

A probe gives the same judge the same answers in another form: each answer is its own control, so that neither how good
answers are nor how strict the judge is has a part in the difference (paired counterfactuals; Zheng et al. 2023, arXiv
2306.05685, for position, length and self-preference; Ye et al. 2024, arXiv 2410.02736, for others). What adds text is
compared with as much neutral text, or a judge that likes long answers would seem to like whatever was added. Marks are
shares of the full mark. Several answers to one question are one cluster.

- The mean change has the adjusted Wald interval over questions (`uncertainty.adjusted_wald`), which keeps a width where
  few marks change, and shares of marks that rise or fall the interval of means over questions.
- p is that of the sign-flip test over questions (`signflip`). A judge without bias gives either form as if it drew from
  the same marks: which of the two is the higher is then chance, whatever its noise, and the test is exact. Holm's
  correction over the probes of a judge: of a judge without any bias, one is named in 5 % of the studies at most.
- Self-preference has no counterfactual: no answer can be somebody else's. The judge's marks of its own model's answers
  are compared with those of others' answers that have the same reference mark (an expert's, else other judges'): the
  slope of the mark on "own" with an intercept a reference mark, whose standard error is by question (Liang and Zeger
  1986, with the small-sample factor G/(G − 1)), Student's t on G − 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from viva.analysis.multiplicity import holm
from viva.analysis.signflip import sign_flip
from viva.analysis.tilting import numbered
from viva.analysis.uncertainty import Interval, adjusted_wald, interval_of_scores, mean_variance, t_quantile

LEAST = 10
"""Answers of its own, and of others, that self-preference is taken from at least."""
PASSING = 0.5
"""The mark from which an answer counts as passed."""
LEVEL = 0.05


class Pair(Struct, frozen=True):
    """A judge's mark of an answer as it came (or with neutral text), and in another form; None where it gave none."""

    question: str
    plain: float | None
    changed: float | None


class Share(Struct, frozen=True):
    """A share with its 95 % interval."""

    value: float
    low: float
    high: float


class Effect(Struct, frozen=True, kw_only=True):
    """What a probe did: `change` of the mean mark, `up` and `down` the shares of marks that rose and fell."""

    probe: str
    answers: int
    """Pairs of two marks."""
    lost: int = 0
    """Pairs without: one of the two has no verdict that can be read."""
    change: float | None = None
    low: float | None = None
    high: float | None = None
    up: Share | None = None
    down: Share | None = None
    p: float | None = None
    adjusted: float | None = None
    """p by Holm, over the probes of the judge."""
    reason: str = ""
    """Why there is no figure."""

    @property
    def biased(self) -> bool:
        """Whether more than chance shows."""
        return self.adjusted is not None and self.adjusted <= LEVEL


class Control(Struct, frozen=True, kw_only=True):
    """What a judge must get right whatever its taste: the same answer again, and what is no answer."""

    control: str
    answers: int
    lost: int
    mean: float | None = None
    """The mean mark; of the same answer asked again the mean distance of its two marks."""
    failed: Share | None = None
    """Marks of PASSING and more; of the same answer asked again: marks that changed."""


def effect(probe: str, pairs: Sequence[Pair], seed: int = 0) -> Effect:
    """What one probe did to the marks; `adjusted` is still missing (see `corrected`)."""
    changes, clusters, lost = _changes(pairs)
    found = Effect(probe=probe, answers=len(changes), lost=lost)
    sums = _sums(changes, clusters)
    if not pairs:
        return replace(found, reason="none of these answers can be given this form")
    if len(sums) < 2:
        return replace(
            found, reason=f"it takes both marks of answers to two questions; {lost} of {len(pairs)} lack one"
        )
    mean = math.fsum(changes) / len(changes)
    counts = np.bincount(clusters)
    variance = mean_variance(float(((sums - mean * counts) ** 2).sum()), len(sums), len(changes))
    interval = adjusted_wald(mean, math.sqrt(variance), len(sums), len(sums) - 1).interval
    return replace(
        found,
        change=mean,
        low=min(interval[0], mean),
        high=max(interval[1], mean),
        up=_share([float(one > 0) for one in changes], clusters),
        down=_share([float(one < 0) for one in changes], clusters),
        p=sign_flip(sums, seed).p,
    )


def corrected(effects: Sequence[Effect]) -> tuple[Effect, ...]:
    """All probes of one judge, with p corrected for how many they are."""
    there = [one.p for one in effects if one.p is not None]
    adjusted = iter(holm(there))
    return tuple(one if one.p is None else replace(one, adjusted=next(adjusted)) for one in effects)


def asked_again(control: str, pairs: Sequence[Pair]) -> Control:
    """Test and retest: how far two marks of one judge for one answer lie apart, and how many differ."""
    changes, clusters, lost = _changes(pairs)
    if not changes:
        return Control(control=control, answers=0, lost=lost)
    return Control(
        control=control,
        answers=len(changes),
        lost=lost,
        mean=math.fsum(map(abs, changes)) / len(changes),
        failed=_share([float(one != 0) for one in changes], clusters),
    )


def negative_control(control: str, pairs: Sequence[Pair]) -> Control:
    """What deserves no mark: what it got, and how often it passed."""
    given = [(one.question, one.changed) for one in pairs if one.changed is not None]
    if not given:
        return Control(control=control, answers=0, lost=len(pairs))
    marks = [mark for _, mark in given]
    clusters = numbered([question for question, _ in given], len(given))
    return Control(
        control=control,
        answers=len(marks),
        lost=len(pairs) - len(marks),
        mean=math.fsum(marks) / len(marks),
        failed=_share([float(mark >= PASSING) for mark in marks], clusters),
    )


def self_preference(
    probe: str, own: Sequence[bool], marks: Sequence[float], references: Sequence[float], questions: Sequence[str]
) -> Effect:
    """By how much higher a judge marks answers of its own model than others' with the same reference mark."""
    y, x = np.array(marks, dtype=float), np.array(own, dtype=float)
    clusters = np.array(numbered(questions, len(y)), dtype=np.int64)
    found = Effect(probe=probe, answers=int(x.sum()))
    for reference in set(references):
        same = np.array([one == reference for one in references])
        y[same] -= y[same].mean()
        x[same] -= x[same].mean()
    compared = np.abs(x) > 1e-12
    squares = float((x**2).sum())
    fewest = min(found.answers, len(own) - found.answers)
    count = len(set(clusters[compared].tolist()))
    if fewest < LEAST or count < LEAST or squares < 1e-12:
        return replace(found, reason=f"it takes {LEAST} answers of its own and of others with the same reference marks")
    slope = float((x * y).sum()) / squares
    scores = _sums((x * (y - slope * x)).tolist(), clusters.tolist())
    error = math.sqrt(float((scores**2).sum()) * count / (count - 1)) / squares
    half = t_quantile(count - 1) * error
    return replace(found, change=slope, low=slope - half, high=slope + half, p=_two_sided(slope, error, count - 1))


def _two_sided(value: float, error: float, degrees: int) -> float:
    from scipy.special import stdtr

    if error < 1e-12:
        return 1.0 if abs(value) < 1e-12 else 0.0
    return float(2 * stdtr(degrees, -abs(value) / error))


def _changes(pairs: Sequence[Pair]) -> tuple[list[float], list[int], int]:
    there = [
        (one.question, round(one.changed - one.plain, 9))
        for one in pairs
        if one.plain is not None and one.changed is not None
    ]
    return [change for _, change in there], numbered([name for name, _ in there], 0), len(pairs) - len(there)


def _sums(values: Sequence[float], clusters: Sequence[int]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.bincount(clusters, weights=values).astype(float) if len(values) else np.zeros(0)
    return found


def _share(hits: Sequence[float], clusters: Sequence[int]) -> Share:
    """A share of answers with its interval over questions."""
    mean = math.fsum(hits) / len(hits)
    sums, counts = _sums(hits, clusters), np.bincount(clusters)
    squares = float(((sums - mean * counts) ** 2).sum())
    interval: Interval = interval_of_scores(mean, squares, len(sums), len(hits), zero_one=len(sums) == len(hits)) or (
        0.0,
        1.0,
    )
    return Share(mean, *interval)
