"""Numbers as replies and gold answers write them, and whether two are the same: by value, not by how it is written.

Read are digits with separators (1,024, 14{,}916), decimals, exponents, fractions (3/4, 1 1/2, \\frac{3}{4}),
percentages, words for large numbers (70k, 1.5 million), a currency in front and a unit behind. A
percentage is its value (50 % is 0.5) or, where the gold is written without the sign, its number (50 % is 50).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

from msgspec import Struct

from viva.scorers.reading.slots import UNSURE, Unsure
from viva.shipped import shipped_table

_DIGITS = r"\d{1,3}(?:[,\u202f\u00a0 ]\d{3})+(?![\d,])(?:\.\d{1,60})?|\d{1,60}(?:\.\d{0,60})?|\.\d{1,60}"
_FRACTION = r"\\[dt]?frac\s?\{\s?(-?\d{1,40})\s?\}\s?\{\s?(\d{1,40})\s?\}"
_NUMBER = re.compile(
    rf"(?<![^\W\u2e80-\uffff])(?<!\.)(?P<sign>(?<!\d\s)[-−+]\s?)?(?:[$€£¥]\s?|\\\$\s?)?(?P<minus>(?<!\d\s)[-−])?"
    rf"(?:{_FRACTION}|(?:(?P<whole>\d{{1,40}})\s)?(?P<above>\d{{1,40}})\s?/\s?(?P<below>\d{{1,40}})(?!\d)"
    rf"|(?P<plain>{_DIGITS})(?:\s?(?:[eE]|(?:×|\\times|\*|x)\s?10\s?\^)\s?\{{?(?P<power>[-−+]?\d{{1,3}})\}}?)?)"
    r"\s?(?P<percent>\\?%|percent\b)?"
)
_SPACING = re.compile(r"\\[!,;: ]|~")
_TEXT = re.compile(r"\\(?:text|mathrm|textbf|mathbf|mbox|textrm)\s?\{([^{}]{0,200})\}")
_THOUSANDS = re.compile(r"k(?![A-Za-z])")
_LETTERS = re.compile(r"\s?(?:k|K|m|M|bn|B|b)(?![A-Za-z])")
_CURRENCY = re.compile(r"[$€£¥]")
_OTHERS = re.compile(
    r"(?P<unit>[^\d]{0,40}?)"
    r"(?P<link>[-–—]|,?\s?\(?(?:\bor\b|\bto\b|\bi\.e\.|\bthat is\b|\boder\b|\bbis\b|\bou\b|\bà\b|[或至到]))"
    r"(?: (?:about|rather|even))?,?\s*[$€£¥]?"
)
"""Between two numbers of which either may be meant."""
_BETWEEN = re.compile(r"\b(?:between|zwischen|entre)\b|在|介于", re.IGNORECASE)
_JOINED = re.compile(r"\s?(?:[-+*/^×·]|\\times|\\cdot)\s?[({]?\s?|[,:]")


class NumberRead(Struct, frozen=True):
    """A number as it was written, its value, and whether it is a percentage."""

    text: str
    value: Fraction
    percent: bool

    @property
    def share(self) -> Fraction:
        """Its value, of a percentage the hundredth part."""
        return self.value / 100 if self.percent else self.value


def value_of(text: str) -> Fraction | None:
    """Return the value of a text that is a number, perhaps with a currency and a unit; None for what is none."""
    found = only_number(text)
    return found.share if found else None


def same_number(found: NumberRead, accepted: Sequence[str], tolerance: float = 0.0) -> str | None:
    """Return the accepted number that was found, within `tolerance` of it; None for none."""
    within = Fraction(tolerance)
    for wanted in accepted:
        gold = only_number(wanted)
        if gold and (
            abs(found.value - gold.value) <= within
            or (found.percent != gold.percent and abs(found.share - gold.share) <= within)
        ):
            return wanted
    return None


def only_number(text: str) -> NumberRead | None:
    """Return the number of a short text that has one and nothing but words around it."""
    bare = re.sub(r"\\[()\[\]]|^\\(?=[$%])", "", text).strip().strip("$*` ").rstrip(".。 \\")
    if not bare or len(bare) > 100:
        return None
    numbers = numbers_in(bare)
    if len(numbers) != 1 or re.search(r"[=<>^_+]|\\(?!frac|dfrac|tfrac|%|\$|text|mathrm|times|,|!| )", bare):
        return None
    return numbers[0]


def the_number(text: str, *, last: bool = False) -> NumberRead | Unsure | None:
    """Return the number that a text gives as the answer: what an equation ends in, else the first (or `last`) one.

    None where it has none; `UNSURE` where it has several of which any may be meant: a range, alternatives, a term.
    """
    whole = _cleaned(text)
    ways = whole[max(map(whole.rfind, "=≈")) + 1 :], whole
    cleaned, places = next(((way, places) for way in ways if (places := _places(way))), (whole, []))
    if len(places) > 1:
        (before, one), (after, other) = places[-2:] if last else places[:2]
        between = cleaned[before.end() : after.start()]
        apart = _OTHERS.fullmatch(between) or _JOINED.fullmatch(between)
        ranged = _BETWEEN.search(cleaned, max(0, before.start() - 30), before.start())
        restated = not last and _restated(cleaned, between, after.end())  # "18 dollars a day, i.e. 126 a week"
        if one.value != other.value and (ranged or (apart and not restated)):
            return UNSURE
    return places[-1 if last else 0][1] if places else None


def _restated(text: str, between: str, end: int) -> bool:
    """Return whether a number is said again in another unit."""
    match = _OTHERS.fullmatch(between)
    unit, link = (match[part].strip(" ,(") for part in ("unit", "link")) if match else ("", "")
    return bool(unit) and len(link) > 1 and link not in {"to", "bis"} and unit not in text[end : end + 40]


def numbers_in(text: str) -> list[NumberRead]:
    """Return all numbers of a text, in order."""
    return [number for _, number in _places(_cleaned(text))]


def _cleaned(text: str) -> str:
    """Return a text without LaTeX's spacing and texts; a brace around a comma of thousands gone."""
    if "\\" not in text and "{" not in text and "~" not in text:
        return text
    return _TEXT.sub(r" \1 ", _SPACING.sub("", text).replace("{,}", ","))


def _places(text: str) -> list[tuple[re.Match[str], NumberRead]]:
    found = ((match, _number(match, text)) for match in _NUMBER.finditer(text))
    return [(match, number) for match, number in found if number is not None]


@cache
def times() -> tuple[re.Pattern[str], dict[str, int]]:
    """Return words that multiply the number in front of them ("million"), and by which power of ten."""
    table = shipped_table(__file__, "numbers.toml", dict[str, Any])["times"]
    either = "|".join(sorted(table, key=len, reverse=True))
    return re.compile(rf"\s?(?:({either})(?![a-z])|(?<=[\d ])([万亿千]))", re.IGNORECASE), table


def _number(match: re.Match[str], text: str) -> NumberRead | None:
    above, below = match[3] or match["above"], int(match[4] or match["below"] or 1)
    if not below:
        return None
    if above:
        value = Fraction(int(above), below) + int(match["whole"] or 0)
    else:
        value = Fraction(re.sub(r"[,\s]", "", match["plain"]).rstrip(".") or "0")
        if match["power"]:
            value *= Fraction(10) ** int(match["power"].replace("−", "-"))
    if re.search("[-−]", f"{match['sign']}{match['minus']}"):
        value = -value
    written, end = match[0].strip().rstrip("."), match.end()
    spelt, powers = times()
    if more := spelt.match(text, end - len(match[0]) + len(match[0].rstrip())):
        word = (more[1] or more[2]).lower()
        return NumberRead(f"{written} {word}", value * 10 ** powers[word], percent=False)
    letter = _LETTERS.match(text, end)
    if letter and (_THOUSANDS.match(text, end) or _CURRENCY.search(match[0])):
        power = {"k": 3, "m": 6, "b": 9}[letter.group().strip()[0].lower()]
        return NumberRead(written + letter.group().strip(), value * 10**power, percent=False)
    return NumberRead(written, value, match["percent"] is not None)
