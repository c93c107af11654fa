"""Units of measurement: their names, and the factors between them.

`units.csv` has for each its quantity, its size in the quantity's first unit, and its names. Factors are exact: those of
the SI (its brochure, 9th edition, tables 4, 7 and 8), and the inch and the pound of 1959 (25.4 mm, 0.45359237 kg).
"""

from __future__ import annotations

import csv
import re
from fractions import Fraction
from functools import cache

from msgspec import Struct

from viva.files import shipped_text
from viva.scorers.lexicon import rewritten

_WORD = re.compile(
    r"(?P<over>/|\bper\b|每)|(?P<word>[^\W\d_]+)\.?(?:\s*\^\s*\{?\s*(?P<power>-?\d)\s*\}?)?|(?P<other>[^\s.*()·{}])"
)
_POWERS = {"square": 2, "sq": 2, "cubic": 3, "cu": 3}


class Unit(Struct, frozen=True):
    """A unit, perhaps compound: its size in the first units of its quantities, and these with their powers."""

    factor: Fraction
    powers: tuple[tuple[str, int], ...]
    known: bool
    """Whether the table has all its parts; a missing one counts as a separate quantity ("apple")."""


def unit_of(text: str) -> Unit | None:
    """Parse a unit: `km/h`, `kilometers per hour`, `m s^{-1}`, `square feet`, `apples`; None for anything else."""
    factor, powers, known, below, before = Fraction(1), dict[str, int](), True, 1, 1
    for match in _WORD.finditer(rewritten("unit", text)):
        if match["other"]:
            return None
        if match["over"]:
            below = -1
            continue
        word = match["word"]
        if word.lower() in _POWERS and not match["power"]:
            before = _POWERS[word.lower()]
            continue
        quantity, unit = _named(word) or ("", Fraction(1))
        known &= bool(quantity)
        power = below * before * int(match["power"] or 1)
        quantity, before = quantity or word.lower().rstrip("s"), 1
        powers[quantity] = powers.get(quantity, 0) + power
        factor *= unit**power
    return Unit(factor, tuple(sorted(powers.items())), known) if powers else None


def how_many(left: Unit, other: Unit) -> Fraction | None:
    """Return how many of `other` make one of `left`; None where they measure different things.

    A power that only one of them has is ignored: `cm` is often written for `cm^2`.
    """
    if left.powers == other.powers:
        return left.factor / other.factor
    if len(left.powers) != 1 or len(other.powers) != 1:
        return None
    (quantity, power), (its, other_power) = left.powers[0], other.powers[0]
    alike = quantity == its and 1 in (power, other_power) and left.factor**other_power == other.factor**power
    return Fraction(1) if alike else None


def _named(word: str) -> tuple[str, Fraction] | None:
    """Return the quantity and factor of a unit; looked up as written, else in lower case, else without its plural s."""
    units = _units()
    lower = word.lower()
    return units.get(word) or units.get(lower) or (units.get(lower.rstrip("s")) if len(word) > 2 else None)


@cache
def _units() -> dict[str, tuple[str, Fraction]]:
    rows = list(csv.DictReader(shipped_text(__file__, "units.csv").splitlines()))
    return {name: (row["quantity"], Fraction(row["factor"])) for row in rows for name in row["names"].split("|")}
