"""Measures of agreement by name, and as text."""

from __future__ import annotations

from viva.analysis.raters.measure import Kind, Measure
from viva.render.table import Kind as Printed

NAMES: dict[Kind, str] = {
    "cronbach": "Cronbach's alpha",
    "icc": "ICC(2,1), one rater",
    "icc_mean": "ICC(2,k), their mean",
    "krippendorff": "Krippendorff's alpha",
    "fleiss": "Fleiss' kappa",
    "pearson": "Pearson's r",
    "spearman": "Spearman's rho",
    "kappa": "Cohen's kappa",
    "kappa_linear": "Cohen's kappa, linear",
    "kappa_quadratic": "Cohen's kappa, quadratic",
    "ac1": "Gwet's AC1",
    "ac2": "Gwet's AC2",
    "agreement": "equal marks (share)",
    "bias": "mean difference",
    "distance": "mean absolute difference",
}


def number(value: float | None, digits: int = 3) -> str:
    """Return a figure, or a dash."""
    return "–" if value is None else f"{value:.{digits}f}"


def measure_text(measure: Measure) -> str:
    """Return `0.743 [0.612, 0.851]`."""
    if measure.low is None or measure.high is None:
        return number(measure.value)
    return f"{number(measure.value)} [{measure.low:.3f}, {measure.high:.3f}]"


MEASURE = Printed(measure_text)
