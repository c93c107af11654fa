"""Raters and judges: kappas, reliability, correlations, scores from few labels; and columns of figures."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from coverage_sets_work import MEANS, Floats, Rate, Row, Study, counted, inside, sets_of
from scipy.stats import norm

from viva.analysis.agreement import correlated
from viva.analysis.consistency import cronbach
from viva.analysis.correlation import KINDS, Kind, coefficient, interval, outliers
from viva.analysis.gwet import gwet
from viva.analysis.intraclass import intraclass
from viva.analysis.kappa import agreement, cohen, fleiss
from viva.analysis.krippendorff import Level, krippendorff
from viva.analysis.measure import Measure, mean_interval
from viva.analysis.prediction import powered
from viva.analysis.resampling import Resampler

RELIABILITY = (0.0, 0.5, 0.9)
MANY = 40_000
"""Items by which the true value of a measure is found."""
SCALES: dict[str, tuple[float, ...]] = {
    "two marks": (0.5,),
    "two marks, one in ten": (0.9,),
    "five marks": (0.1, 0.3, 0.6, 0.85),
}
Columns = list[list[float | None]]
Measured = Callable[[Columns, Resampler], Measure]


@functools.lru_cache(maxsize=8)
def _resampler(items: int, resamples: int) -> Resampler:
    """All sets of a size share their resamples: they are drawn once."""
    return Resampler(range(items), resamples=resamples)


def rated(dice: np.random.Generator, items: int, raters: int, reliability: float, cuts: Sequence[float]) -> Floats:
    """Marks of raters who see the same quality with errors: items × raters. Without cuts marks are normal."""
    quality, error = dice.standard_normal((items, 1)), dice.standard_normal((items, raters))
    seen = np.sqrt(reliability) * quality + np.sqrt(1 - reliability) * error
    return np.searchsorted(norm.ppf(cuts), seen).astype(float) if cuts else seen


def _columns(marks: Floats) -> Columns:
    return [[None if np.isnan(one) else float(one) for one in column] for column in marks.T]


def _rows(columns: Columns) -> list[list[float | None]]:
    return [list(row) for row in zip(*columns, strict=True)]


def _kappa(kind: Literal["kappa", "kappa_linear", "kappa_quadratic"]) -> Measured:
    return lambda columns, resampler: cohen(columns[0], columns[1], resampler, kind)


def _alpha(level: Level) -> Measured:
    return lambda columns, resampler: krippendorff(_rows(columns), level, resampler)


def _gwet(kind: Literal["ac1", "ac2"], scale: Sequence[float]) -> Measured:
    return lambda columns, resampler: gwet(_rows(columns), kind, scale, "interval", resampler)


MEASURES: dict[str, tuple[Measured, int, str, float]] = {
    "kappa, two marks": (_kappa("kappa"), 2, "two marks", 0.0),
    "kappa, two marks, one in ten": (_kappa("kappa"), 2, "two marks, one in ten", 0.0),
    "kappa, five marks": (_kappa("kappa"), 2, "five marks", 0.0),
    "kappa, linear": (_kappa("kappa_linear"), 2, "five marks", 0.0),
    "kappa, quadratic": (_kappa("kappa_quadratic"), 2, "five marks", 0.0),
    "Fleiss' kappa, two marks": (lambda columns, drawn: fleiss(_rows(columns), drawn), 3, "two marks", 0.0),
    "Fleiss' kappa, five marks": (lambda columns, drawn: fleiss(_rows(columns), drawn), 3, "five marks", 0.0),
    "Krippendorff's alpha, nominal": (_alpha("nominal"), 3, "five marks", 0.2),
    "Krippendorff's alpha, ordinal": (_alpha("ordinal"), 3, "five marks", 0.2),
    "Krippendorff's alpha, interval": (_alpha("interval"), 3, "five marks", 0.2),
    "Cronbach's alpha, Feldt": (lambda columns, drawn: cronbach(_rows(columns), drawn, normal=True), 3, "", 0.0),
    "Cronbach's alpha, two marks": (
        lambda columns, drawn: cronbach(_rows(columns), drawn, normal=False), 3, "two marks", 0.0
    ),
    "Pearson, Fisher": (lambda columns, drawn: correlated("pearson", *columns, drawn, True), 2, "", 0.0),
    "Spearman, Fisher": (lambda columns, drawn: correlated("spearman", *columns, drawn, True), 2, "", 0.0),
    "Pearson, five marks": (lambda columns, drawn: correlated("pearson", *columns, drawn, False), 2, "five marks", 0.0),
    "Spearman, five marks": (
        lambda columns, drawn: correlated("spearman", *columns, drawn, False), 2, "five marks", 0.0
    ),
    "equal marks of two": (lambda columns, drawn: agreement(_rows(columns), drawn), 2, "five marks", 0.0),
    "equal marks of three": (lambda columns, drawn: agreement(_rows(columns), drawn), 3, "five marks", 0.0),
    "ICC(2,1), McGraw and Wong": (lambda columns, drawn: intraclass(_rows(columns), "icc", drawn), 3, "", 0.0),
    "ICC(2,k), McGraw and Wong": (lambda columns, drawn: intraclass(_rows(columns), "icc_mean", drawn), 3, "", 0.0),
    "ICC(2,1), two marks": (
        lambda columns, drawn: intraclass(_rows(columns), "icc", drawn, normal=False), 3, "two marks", 0.0
    ),
    "ICC(2,1), five marks": (
        lambda columns, drawn: intraclass(_rows(columns), "icc", drawn, normal=False), 3, "five marks", 0.0
    ),
    "AC1, two marks, one in ten": (_gwet("ac1", (0, 1)), 2, "two marks, one in ten", 0.0),
    "AC1, five marks": (_gwet("ac1", range(5)), 3, "five marks", 0.2),
    "AC2, five marks": (_gwet("ac2", range(5)), 3, "five marks", 0.2),
}  # fmt: skip
"""The measure, how many raters, their scale (none: normal marks), and which share of the marks is missing."""


@functools.lru_cache(maxsize=64)
def _true_measure(name: str, reliability: float) -> float | None:
    measure, raters, scale, _ = MEASURES[name]
    cuts = SCALES[scale] if scale else ()
    return measure(
        _columns(rated(np.random.default_rng(30), MANY, raters, reliability, cuts)), _resampler(MANY, 1)
    ).value


def of_measure(name: str, repetitions: int, n: int) -> Row:
    """A measure of agreement among raters of three reliabilities; the truth is its value over very many items."""
    measure, raters, scale, missing = MEASURES[name]
    cuts = SCALES[scale] if scale else ()
    dice = np.random.default_rng([n, 31, list(MEASURES).index(name)])
    sets = min(repetitions, 100_000 // n)
    rates = []
    for reliability in RELIABILITY:
        truth = _true_measure(name, reliability)
        hits = []
        for _ in range(sets):
            marks = rated(dice, n, raters, reliability, cuts)
            marks = np.where(dice.random(marks.shape) < missing, np.nan, marks)
            found = measure(_columns(marks), _resampler(n, 2000))
            # Where chance agrees as well, or nothing varies, no value is shown: nothing that could be wrong.
            if found.value is not None and found.low is not None:
                hits.append(truth is not None and inside(found.low, found.high, truth))
        rates.append(counted(hits) if hits else None)
    return Row(name, n, rates)


def of_bias(kind: str, repetitions: int, n: int) -> Row:
    """The judge's mean difference, and mean distance, from a person: Student's t over questions of two items each."""
    dice = np.random.default_rng([n, 32, len(kind)])

    def differences(items: int, reliability: float) -> Floats:
        marks = rated(dice, items, 2, reliability, SCALES["five marks"])
        found: Floats = marks[:, 0] - marks[:, 1]
        return np.abs(found) if kind == "distance" else found

    clusters = [place // 2 for place in range(n)]
    rates = []
    for reliability in RELIABILITY:
        truth = float(differences(50 * MANY, reliability).mean()) if kind == "distance" else 0.0
        hits = []
        for _ in range(sets_of(repetitions, n)):
            _, around = mean_interval(differences(n, reliability).tolist(), clusters)
            if around is not None:
                hits.append(inside(*around, truth))
        rates.append(counted(hits))
    return Row(f"judge's {kind}", n, rates)


def of_labels(kind: str, reading: Literal["questions", "run"], which: str, repetitions: int, n: int) -> Row:
    """n labels of 4n answers, and a judge who is wrong about a tenth of them."""
    dice = np.random.default_rng([n, 33, len(kind)])
    rates: list[Rate | None] = []
    for mean in MEANS:
        hits = []
        for _ in range(sets_of(repetitions, 4 * n)):
            if kind == "0/1 marks":
                marks = (dice.random(4 * n) < mean).astype(float)
            else:
                marks = (
                    dice.binomial(4, mean if mean in (0.0, 1.0) else dice.beta(2 * mean, 2 - 2 * mean, 4 * n), 4 * n)
                    / 4
                )
            wrong = dice.random(4 * n) < 0.1
            verdicts = np.where(wrong, 1 - marks if kind == "0/1 marks" else dice.integers(0, 5, 4 * n) / 4, marks)
            found = powered(verdicts.tolist(), [*marks[:n].tolist(), *[None] * (3 * n)])
            estimate = found.combined if which == "with the judge" else found.labels_alone
            truth = mean if reading == "questions" else float(marks.mean())
            hits.append(estimate is not None and inside(*estimate.interval(reading), truth))
        rates.append(counted(hits))
    return Row(f"{which}, {kind}, over {'such questions' if reading == 'questions' else 'this run'}", n, rates)


def _true(kind: Kind, rho: float) -> float:
    """Of a bivariate normal distribution."""
    if kind == "pearson":
        return rho
    return 2 / np.pi * np.arcsin(rho) if kind == "kendall" else 6 / np.pi * np.arcsin(rho / 2)


def _pair(dice: np.random.Generator, n: int, rho: float) -> tuple[list[float], list[float]]:
    x, error = dice.standard_normal((2, n))
    return x.tolist(), (rho * x + np.sqrt(1 - rho**2) * error).tolist()


def of_correlation(kind: Kind, repetitions: int, n: int) -> Row:
    """Fisher's interval of a coefficient between two columns."""
    dice = np.random.default_rng([n, 34, len(kind)])
    rates = []
    for rho in RELIABILITY:
        hits = []
        for _ in range(sets_of(repetitions, 4 * n)):
            found = coefficient(kind, *_pair(dice, n, rho))
            around = interval(kind, found[0], n) if found else None
            hits.append(around is not None and inside(*around, _true(kind, rho)))
        rates.append(counted(hits))
    return Row(f"{kind.capitalize()}'s coefficient", n, rates)


def of_no_correlation(kind: Kind, repetitions: int, n: int) -> Row:
    """The test of a coefficient, of columns that have nothing to do with each other, without and with many ties."""
    dice = np.random.default_rng([n, 35, len(kind)])
    rates = []
    for places in (None, 1, 0):
        hits = []
        for _ in range(sets_of(repetitions, 4 * n)):
            pair = _pair(dice, n, 0.0)
            xs, ys = pair if places is None else [[round(value, places) for value in column] for column in pair]
            found = coefficient(kind, xs, ys)
            hits.append(found is not None and found[1] <= 0.05)
        rates.append(counted(hits))
    return Row(f"{kind.capitalize()}'s coefficient", n, rates)


def of_outliers(repetitions: int, n: int) -> Row:
    """Whether any row is an outlier (adjusted p at most .05) where all rows are of one normal distribution."""
    dice = np.random.default_rng([n, 36])
    names = [str(place) for place in range(n)]
    hits = []
    for _ in range(sets_of(repetitions, 4 * n)):
        hits.append(any(one.p <= 0.05 for one in outliers(names, *_pair(dice, n, 0.5))))
    return Row("any outlier", n, [counted(hits), None, None])


part = functools.partial
STUDIES = [
    Study(
        "Agreement of raters",
        "Raters see the same quality, with errors; the column is the correlation of two before marks are made of it. "
        "The truth is the measure's value over very many items. Sets without a value or an interval (all marks equal) "
        "are left out.",
        [f"reliability {value:g}" for value in RELIABILITY],
        [*(part(of_measure, name) for name in MEASURES), *(part(of_bias, kind) for kind in ("bias", "distance"))],
        cost=2,
    ),
    Study(
        "Scores from few labels",
        "n labels drawn at random of 4n answers, and a judge's verdicts on all, a tenth of them wrong.",
        [f"mean {mean:g}" for mean in MEANS],
        [
            part(of_labels, kind, reading, which)
            for kind in ("0/1 marks", "five marks")
            for which in ("with the judge", "labels alone")
            for reading in ("questions", "run")
        ],
        cost=2,
    ),
    Study(
        "Correlation of columns: intervals",
        "Rows are drawn from a normal distribution with the column's correlation.",
        [f"ρ {value:g}" for value in RELIABILITY],
        [part(of_correlation, kind) for kind in KINDS],
    ),
    Study(
        "Correlation of columns: tests",
        "The columns have nothing to do with each other (outliers: ρ = ½, and no row is one): p at most .05. "
        "Kendall's is the test of training curves, too.",
        ["all different", "rounded, one decimal", "rounded, whole numbers"],
        [*(part(of_no_correlation, kind) for kind in KINDS), of_outliers],
        test=True,
    ),
]
