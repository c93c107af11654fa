"""Many tests at once: p-values adjusted so that a table of them may be read row by row.

Of twenty true null hypotheses, one is "significant at 5 %" by chance. Two answers to that:

- Holm's (1979, Scandinavian Journal of Statistics 6:65-70) keeps the chance of even one false alarm in the whole table
  at 5 %, whatever the tests have to do with each other. For few comparisons each of which will be acted on.
- Benjamini-Hochberg's (1995, JRSS B 57:289-300) keeps the expected share of false alarms among the rows called
  different at 5 %, for tests that are independent or positively dependent. For a look over many slices.

An adjusted p-value is compared with the level as it is: adjusted ≤ 0.05 is what the whole procedure would reject.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

from viva.errors import DataError

Correction = Literal["holm", "bh", "none"]
"""Methods of adjusting p-values for their number."""


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's step-down adjusted p-values, in the order given. Raises DataError for values outside 0..1.

    With p(1) ≤ … ≤ p(m): adjusted p(i) = max over j ≤ i of min(1, (m − j + 1) · p(j)).
    """
    order = _ascending(p_values)
    adjusted_p = [0.0] * len(order)
    largest = 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p_values[place]))
        adjusted_p[place] = largest
    return adjusted_p


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Return Benjamini and Hochberg's step-up adjusted p-values ("q-values"), in the order given.

    With p(1) ≤ … ≤ p(m): adjusted p(i) = min over j ≥ i of min(1, m/j · p(j)). Raises DataError for values outside
    0..1.
    """
    order = _ascending(p_values)
    adjusted_p = [0.0] * len(order)
    smallest = 1.0
    for rank in range(len(order), 0, -1):
        place = order[rank - 1]
        smallest = min(smallest, len(order) / rank * p_values[place])
        adjusted_p[place] = smallest
    return adjusted_p


def adjusted(p_values: Sequence[float | None], correction: Correction) -> list[float | None]:
    """Return the p-values adjusted for their number; None stays None and is not counted."""
    corrected = iter(CORRECTIONS[correction]([p for p in p_values if p is not None]))
    return [None if p is None else next(corrected) for p in p_values]


def _ascending(p_values: Sequence[float]) -> list[int]:
    """Return the places of the p-values, the smallest first."""
    for value in p_values:
        if not (math.isfinite(value) and 0.0 <= value <= 1.0):
            raise DataError(f"{value} is no p-value: give numbers from 0 to 1")
    return sorted(range(len(p_values)), key=p_values.__getitem__)


CORRECTIONS: dict[Correction, Callable[[Sequence[float]], list[float]]] = {
    "holm": holm,
    "bh": benjamini_hochberg,
    "none": list,
}
NAMES: dict[Correction, str] = {"holm": "Holm", "bh": "Benjamini-Hochberg", "none": "none"}
"""Names of corrections in reports."""
