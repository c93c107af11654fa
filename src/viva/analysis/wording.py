"""Numbers in words, the same on every surface: per cent, an estimate with its bounds and interval."""

from __future__ import annotations

from typing import Any

from viva.analysis.estimate import Estimate
from viva.visible import plural

UNSURE = "†"
"""Marks a mean that leaves something out."""


def percent(share: float | None, digits: int = 2) -> str:
    """Return a share of 1 as per cent, without the sign; an en dash where there is none."""
    return "–" if share is None else f"{100 * share:.{digits}f}"


def range_text(low: float, high: float) -> str:
    """Return `60.10–62.00`; `-12.50 to 45.31` where a dash would be read as a sign."""
    return f"{percent(low)}{' to ' if low < 0 else '–'}{percent(high)}"


def mean_text(cell: Estimate) -> str:
    """Return `61.20`, `61.20†`, `33.33–71.00†`, and a dash for none: an estimate alone."""
    if cell.mean is None:
        return f"{range_text(cell.floor, cell.ceiling)}{UNSURE}" if cell.ranged else f"–{UNSURE}" if cell.n else "–"
    return percent(cell.mean) + ("" if cell.complete else UNSURE)


def score_text(cell: Estimate) -> str:
    """Return `61.20`, `61.20† (55.10–70.00)`, `33.33–71.00†`: an estimate with its bounds, without its interval."""
    bounds = bounds_text(cell)
    return mean_text(cell) + (f" ({bounds})" if bounds else "")


def interval_text(cell: Estimate) -> str:
    """Return `59.10–63.25`, `-12.50 to 45.31`; empty where there is none."""
    return "" if cell.low is None or cell.high is None else range_text(cell.low, cell.high)


def bounds_text(cell: Estimate) -> str:
    """Return `60.10–62.00`: the least and the most that a marked mean can be; empty for any other."""
    return "" if cell.complete or cell.mean is None else range_text(cell.floor, cell.ceiling)


APART = "questions that belong together count each by itself here: what is said of errors is too small."
"""Where a measure knows no clusters."""


def clusters_text(clusters: int) -> str:
    """Return what intervals of so many clusters count."""
    return (
        f"intervals and tests count {plural(clusters, 'group')} of questions that belong together, not each question."
    )


def cell_text(cell: Estimate) -> str:
    """Return `61.20 [59.10, 63.25]`, with ± sd over repeats; `33.33–71.00† [28.10, 76.05]` where there is a range in
    place of a mean, and with its bounds where a mean leaves something out: `61.20† (55.10–70.00) [50.85, 74.90]`.
    """
    text = score_text(cell)
    if cell.sd is not None:
        text += f" ± {percent(cell.sd)}"
    return text + bracket_text(cell)


def bracket_text(cell: Any) -> str:
    """Return ` [59.10, 63.25]` of whatever has an interval; empty where there is none."""
    return "" if cell.low is None else f" [{percent(cell.low)}, {percent(cell.high)}]"
