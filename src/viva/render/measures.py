"""Measures of agreement by name, and as text."""

from __future__ import annotations

from viva.analysis.correlation import Coefficient
from viva.analysis.raters.ratings import Kind, Measure
from viva.files import shipped_table
from viva.render.table import DASH, minus
from viva.render.table import Kind as Printed

NAMES = shipped_table(__file__, "measures.toml", dict[Kind, str])


def number(value: float | None) -> str:
    """Return a figure, or a dash."""
    return DASH if value is None else minus(f"{value:z.3f}")


def measure_text(measure: Measure | Coefficient) -> str:
    """Return `0.743 [0.612, 0.851]`."""
    if measure.low is None or measure.high is None:
        return number(measure.value)
    return f"{number(measure.value)} [{number(measure.low)}, {number(measure.high)}]"


MEASURE = Printed(measure_text)
