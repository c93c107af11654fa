"""Raters and judges: kappas, reliability, correlations, scores from few labels; and columns of figures."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple
from unittest.mock import patch

import numpy as np
from coverage_sets_work import MEANS, Floats, Rate, Row, Study, counted, inside, sets_of
from scipy.stats import norm

from viva.analysis import tilting
from viva.analysis.correlation import KINDS, Kind, coefficient, interval, outliers
from viva.analysis.raters.agreement import _differences, _Marks, correlated
from viva.analysis.raters.coefficients import Level, agreement, cohen, cronbach, fleiss, gwet, intraclass, krippendorff
from viva.analysis.raters.prediction import powered
from viva.analysis.raters.ratings import Measure

RELIABILITY = (0.0, 0.5, 0.9)
MANY = 40_000
"""Items by which the true value of a measure is found."""
TWO = {"1 in 20": (0.95,), "1 in 10": (0.9,), "half": (0.5,)}
"""Two marks, by how often the second is given."""
FIVE = {"five marks": (0.1, 0.3, 0.6, 0.85), "five marks, 90 % the lowest": (0.9, 0.93, 0.96, 0.98)}
MANY_MARKS: dict[str, tuple[float, ...]] = {
    "eight marks, 70 % the lowest": (0.7, 0.8, 0.86, 0.9, 0.94, 0.97, 0.985), "normal marks": (),
}  # fmt: skip
SCALES: dict[str, tuple[float, ...]] = {**TWO, **FIVE, **MANY_MARKS}
Rated = Sequence[Sequence[float | None]]
Measured = Callable[[Rated, Sequence[int], Sequence[float]], Measure]
"""Items × raters, the question of each item, and the scale."""


def rated(
    dice: np.random.Generator, items: int, raters: int, reliability: float, cuts: Sequence[float], together: int = 1
) -> Floats:
    """Marks of raters who see the same quality with errors: items × raters. Without cuts marks are normal.

    Of `together` items of a question half of the quality, and half of each error, are the question's.
    """

    def deviates(columns: int) -> Floats:
        own = dice.standard_normal((items, columns))
        if together == 1:
            return own
        shared = np.repeat(dice.standard_normal((items // together, columns)), together, axis=0)
        found: Floats = np.sqrt(0.5) * (own + shared)
        return found

    seen = np.sqrt(reliability) * deviates(1) + np.sqrt(1 - reliability) * deviates(raters)
    return np.searchsorted(norm.ppf(cuts), seen).astype(float) if cuts else seen


def _kappa(kind: Literal["kappa", "kappa_linear", "kappa_quadratic"]) -> Measured:
    return lambda rows, asked, scale: cohen(rows, asked, kind)


def _alpha(level: Level) -> Measured:
    return lambda rows, asked, scale: krippendorff(rows, level, asked)


def _gwet(kind: Literal["ac1", "ac2"]) -> Measured:
    return lambda rows, asked, scale: gwet(rows, kind, scale, "interval", asked)


def _related(kind: Literal["pearson", "spearman"]) -> Measured:
    return lambda rows, asked, scale: correlated(kind, rows, asked)


def _judged(kind: Literal["bias", "distance"]) -> Measured:
    """Of the judge, the first rater, against the second."""

    def measured(rows: Rated, asked: Sequence[int], scale: Sequence[float]) -> Measure:
        marks = _Marks(level="interval", scale=tuple(scale), questions=tuple(asked))
        return next(one for one in _differences(rows, marks) if one.kind == kind)

    return measured


class Case(NamedTuple):
    """A measure, its raters, their scale, which share of the marks is missing, and how many items a question has."""

    measure: Measured
    raters: int
    scale: str
    missing: float = 0.0
    together: int = 1


def _cases() -> Iterator[tuple[str, Case]]:
    for scale in TWO:
        yield "kappa", Case(_kappa("kappa"), 2, scale)
        for raters, missing in ((2, 0.0), (2, 0.2), (3, 0.2)):
            yield "Krippendorff's alpha, nominal", Case(_alpha("nominal"), raters, scale, missing)
            yield "AC1", Case(_gwet("ac1"), raters, scale, missing)
            yield "equal marks", Case(lambda rows, asked, _: agreement(rows, asked), raters, scale, missing)
        yield "Fleiss' kappa", Case(lambda rows, asked, _: fleiss(rows, asked), 3, scale)
    for scale in FIVE:
        for name in ("kappa", "kappa_linear", "kappa_quadratic"):
            yield name.replace("_", ", "), Case(_kappa(name), 2, scale)  # type: ignore[arg-type]
        for level in ("ordinal", "interval"):
            yield f"Krippendorff's alpha, {level}", Case(_alpha(level), 3, scale, 0.2)  # type: ignore[arg-type]
        yield "AC1", Case(_gwet("ac1"), 3, scale, 0.2)
        yield "AC2", Case(_gwet("ac2"), 2, scale)
        yield "AC2", Case(_gwet("ac2"), 3, scale, 0.2)
        yield "Spearman", Case(_related("spearman"), 2, scale)
    for scale in ("1 in 10", *FIVE, *MANY_MARKS):
        yield "Pearson", Case(_related("pearson"), 2, scale)
        yield "ICC(2,1)", Case(lambda rows, asked, _: intraclass(rows, "icc", asked), 2, scale)
        yield "ICC(2,k)", Case(lambda rows, asked, _: intraclass(rows, "icc_mean", asked), 3, scale)
        yield "Cronbach's alpha", Case(lambda rows, asked, _: cronbach(rows, asked), 3, scale)
        yield "mean difference", Case(_judged("bias"), 2, scale)
        yield "mean absolute difference", Case(_judged("distance"), 2, scale)
    yield "Krippendorff's alpha, interval", Case(_alpha("interval"), 2, "eight marks, 70 % the lowest")
    for scale in ("1 in 10", "five marks", "normal marks"):
        yield "Pearson", Case(_related("pearson"), 2, scale, 0.0, 2)
        yield "Krippendorff's alpha, interval", Case(_alpha("interval"), 3, scale, 0.2, 2)
        yield "mean difference", Case(_judged("bias"), 2, scale, 0.0, 2)


def _name(measure: str, case: Case) -> str:
    more = f", {100 * case.missing:.0f} % missing" if case.missing else ""
    return f"{measure}, {case.raters} raters, {case.scale}{more}{', two items a question' if case.together > 1 else ''}"


CASES = {_name(measure, case): case for measure, case in _cases()}


def _measured(case: Case, marks: Floats) -> Measure:
    rows = [[None if np.isnan(one) else float(one) for one in row] for row in marks]
    scale = tuple(map(float, range(len(SCALES[case.scale]) + 1))) if SCALES[case.scale] else ()
    return case.measure(rows, [place // case.together for place in range(len(rows))], scale)


@functools.lru_cache(maxsize=64)
def _true_measure(name: str, reliability: float) -> float | None:
    case = CASES[name]
    marks = rated(np.random.default_rng(30), MANY, case.raters, reliability, SCALES[case.scale], case.together)
    with patch.object(tilting, "score_interval", lambda *_: (None, "")):  # which takes most of the time
        return _measured(case, marks).value


def of_measure(name: str, repetitions: int, n: int) -> Row:
    """A measure of agreement among raters of three reliabilities; the truth is its value over very many items."""
    case = CASES[name]
    dice = np.random.default_rng([n, 31, list(CASES).index(name)])
    rates = []
    for reliability in RELIABILITY:
        truth = _true_measure(name, reliability)
        seen: dict[bytes, Measure] = {}
        hits = []
        for _ in range(repetitions):
            marks = rated(dice, n, case.raters, reliability, SCALES[case.scale], case.together)
            marks = np.where(dice.random(marks.shape) < case.missing, np.nan, marks)
            if case.together == 1:  # the order of items does not matter
                marks = marks[np.lexsort(marks.T)]
            key = marks.tobytes()
            found = seen[key] = seen.get(key) or _measured(case, marks)
            # Where chance agrees as well, or nothing varies, no value is shown: nothing that could be wrong.
            if found.value is not None and found.low is not None:
                hits.append(truth is not None and inside(found.low, found.high, truth))
        rates.append(counted(hits) if hits else None)
    return Row(name, n, rates)


def of_labels(
    kind: str, reading: Literal["questions", "run"], which: str, errors: float, repetitions: int, n: int
) -> Row:
    """n labels of 4n answers, and a judge who is wrong about such a share of them."""
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
            wrong = dice.random(4 * n) < errors
            verdicts = np.where(wrong, 1 - marks if kind == "0/1 marks" else dice.integers(0, 5, 4 * n) / 4, marks)
            found = powered(verdicts.tolist(), [*marks[:n].tolist(), *[None] * (3 * n)])
            estimate = found.combined if which == "with the judge" else found.labels_alone
            truth = mean if reading == "questions" else float(marks.mean())
            hits.append(estimate is not None and inside(*estimate.interval(reading), truth))
        rates.append(counted(hits))
    over = "such questions" if reading == "questions" else "this run"
    rare = "" if errors == 0.1 else f" wrong in {errors:.0%}"
    return Row(f"{which}{rare}, {kind}, over {over}", n, rates)


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
        "Of two marks: how often the second is given. The truth is the measure's value over very many items. Sets "
        "without an interval (marks all equal, or under three items with another than the commonest) are left out.",
        [f"reliability {value:g}" for value in RELIABILITY],
        [part(of_measure, name) for name in CASES],
        sizes=(20, 50, 200),
        cost=4,
    ),
    Study(
        "Scores from few labels",
        "n labels drawn at random of 4n answers, and a judge's verdicts on all, a tenth of them wrong, or 3%.",
        [f"mean {mean:g}" for mean in MEANS],
        [
            part(of_labels, kind, reading, which, errors)
            for kind in ("0/1 marks", "five marks")
            for which, errors in (("with the judge", 0.1), ("with the judge", 0.03), ("labels alone", 0.1))
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
