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

from viva.files import shipped_table
from viva.scorers.lexicon import pattern, rewritten
from viva.scorers.reading import Unsure

_DIGITS = (
    r"\d{1,3}(?:\.\d{3}){2,}(?:,\d{1,9})?|\d{1,3}(?:[. ]\d{3})+,\d{1,2}(?![\d,])|\d{1,3}(?:'\d{3})+"
    r"|\d{1,2}(?:,\d{2})+,\d{3}(?![\d,])|\d{1,3}(?:[,\u202f\u00a0 ]\d{3})+(?![\d,])(?:\.\d{1,60})?"
    r"|\d{1,60}(?:\.\d{0,60})?|\.\d{1,60}"
)
"""1.234.567 and 1.234,50; 1'234; 12,34,567; 1,024.5, and without separators."""
_FRACTION = r"(?:(?P<units>\d{1,40})\s?)?\\[dt]?frac\s?\{\s?(?P<over>-?\d{1,40})\s?\}\s?\{\s?(?P<under>\d{1,40})\s?\}"
_NUMBER = re.compile(
    rf"(?<![^\W\u2e80-\uffff])(?<!\.)(?P<sign>(?<!\d\s)[-−+]\s?)?(?:[$€£¥]\s?|\\\$\s?)?(?P<minus>(?<!\d\s)[-−])?"
    rf"(?:{_FRACTION}|(?:(?P<whole>\d{{1,40}})\s)?(?P<above>\d{{1,40}})\s?/\s?(?P<below>\d{{1,40}})(?!\d)"
    rf"|(?P<plain>{_DIGITS})(?:\s?(?:[eE]|(?:×|\\times|\*|x)\s?10\s?\^)\s?\{{?(?P<power>[-−+]?\d{{1,3}})\}}?)?)"
    r"\s?(?P<percent>\\?%|percent\b)?"
)
_LETTERS = re.compile(r"\s?([kKmMB]|b(?=n?(?![A-Za-z])))n?(?<![kKmMB]n)(?![A-Za-z])")
_OTHERS = re.compile(
    r"[^\d]{0,40}?"
    r"(?:[-–—]|,?\s?\(?(?:\bor\b|\band\b|\bto\b|\bi\.e\.|\bthat is\b|\boder\b|\bbis\b|\bou\b|\bà\b|[或至到]))"
    r"(?: (?:about|rather|even))?,?\s*[#$€£¥]?"
)
"""Words and signs between two numbers of which either may be meant."""
_BETWEEN = re.compile(r"(?:\b(?:between|zwischen|entre)\b|在|介于).{0,24}\Z", re.IGNORECASE)
_ROOTS = re.compile(
    r"(?:(?:\A|=|\b(?:is|are)\s)[^\d=]{0,24}?(?:±|\\pm)"
    r"|(?:(?<![\w*^+/)-])([A-Za-z])\s?=\s?|\A\W?)(-?\d+(?:\.\d+)?)\s?\$?"
    r"(?:[,.]?\s?(?:and|or|und|oder|et|ou|或)\s|[,.]\s)\$?(?(1)\1|[A-Za-z])\s?=(?!\s?\2(?:\.0)?(?!\.?\d)))[^=]*\Z"
)
"""One name with two values: "x = 2 or x = -2", "x = ±2"."""
_JOINED = re.compile(r"\s?(?:[-+＋*/^×÷·]|\\times|\\cdot)\s?[({]?\s?|[,:]")


class NumberRead(Struct, frozen=True):
    """A number as it was written, its value, and whether it is a percentage."""

    text: str
    value: Fraction
    percent: bool = False

    @property
    def share(self) -> Fraction:
        """The value; of a percentage, divided by 100."""
        return self.value / 100 if self.percent else self.value


def value_of(text: str) -> Fraction | None:
    """Return the value of a text that is a number, perhaps with a currency and a unit; else None."""
    number = only_number(text)
    return number.share if number else None


def same_number(number: NumberRead, accepted: Sequence[str], tolerance: float = 0.0) -> str | None:
    """Return the accepted number within `tolerance` of the one that was read; else None."""
    within = Fraction(tolerance)
    for wanted in accepted:
        gold = only_number(wanted)
        if gold and (
            abs(number.value - gold.value) <= within
            or (number.percent != gold.percent and abs(number.share - gold.share) <= within)
        ):
            return wanted
    return None


def only_number(text: str) -> NumberRead | None:
    """Return the number in a short text that otherwise has only words; else None."""
    bare = re.sub(r"\\[()\[\]]|^\\(?=[$%])", "", text).strip().strip("$*` ").rstrip(".。 \\")
    if not bare or len(bare) > 100:
        return None
    numbers = numbers_in(bare)
    if len(numbers) != 1 or re.search(r"[=<>^_+]|\\(?!frac|dfrac|tfrac|%|\$|text|mathrm|times|,|!| )", bare):
        return None
    return numbers[0]


def the_number(text: str, *, last: bool = False, result: Fraction | None = None) -> NumberRead | None:
    """Return the number that a text gives as the answer: the last of an equation or after "is", else the `result` that
    was computed before, else the first (or `last`) that does not repeat the question ("of the 5", "in 2010", "10th").

    None where it has none. Raises Unsure where any of several may be meant: a range, alternatives, a term.
    """
    if _ROOTS.search(text):
        raise Unsure
    cleaned = whole = rewritten(
        "number", pattern("reading/slots.toml", "<with_aside>").sub(r"\1", text) if last else text
    )
    prose = not re.match(r"\W*\d", whole)
    for end in pattern("reading/slots.toml", "<equates>" if prose else "<figures>").finditer(whole):
        cleaned = whole[end.end() :]
    if "‽" in cleaned:
        raise Unsure
    places = _places(cleaned)
    if not places:
        cleaned, places = whole, _places(whole)
    last = last and cleaned is whole
    if prose and cleaned is whole:
        places = [place for place in places if place[1].value == result] or places
    if len(places) > 1:
        (before, left), (after, other) = places[-2:] if last else places[:2]
        between = cleaned[before.end() : after.start()]
        ranged = _OTHERS.fullmatch(between) or _JOINED.fullmatch(between) or _BETWEEN.search(cleaned[: before.start()])
        if left.share != other.share and ranged:
            raise Unsure
    given = pattern("reading/slots.toml", r"<given>\s{0,3}\Z")
    new = [(match, number) for match, number in places if not given.search(cleaned[: match.start()][-30:])] or places
    if not new:
        return None
    match, number = new[-last]  # the last is at -1, the first at 0
    if cleaned.endswith("⊘", 0, match.start()):
        raise Unsure
    return number


def numbers_in(text: str) -> list[NumberRead]:
    """Return all numbers of a text, in order."""
    text = rewritten("number", text)
    return [number for match, number in _places(text) if not text.endswith("⊘", 0, match.start())]


def _places(text: str) -> list[tuple[re.Match[str], NumberRead]]:
    return [(match, number) for match in _NUMBER.finditer(text) if (number := _number(match, text))]


@cache
def times() -> tuple[re.Pattern[str], dict[str, int]]:
    """Return words that multiply the number in front of them ("million"), and by which power of ten."""
    table = shipped_table(__file__, "numbers.toml", dict[str, Any])["times"]
    either = "|".join(sorted(table, key=len, reverse=True))
    return re.compile(rf"\s?(?:({either})(?![a-z])|(?<=[\d ])([万亿千]))", re.IGNORECASE), table


def _number(match: re.Match[str], text: str) -> NumberRead | None:
    above, below = match["over"] or match["above"], int(match["under"] or match["below"] or 1)
    if not below:
        return None
    plain = match["plain"] or "0"
    if re.search(r",\d{1,2}\Z|\..*\.", plain):  # 1.234,50
        plain = plain.replace(".", "").replace(",", ".")
    value = Fraction(re.sub(r"[,'\s]", "", plain).rstrip("."))
    value *= Fraction(10) ** int((match["power"] or "0").replace("−", "-"))
    if above:
        value = Fraction(int(above), below) + int(match["units"] or match["whole"] or 0)
    if re.search("[-−]", f"{match['sign']}{match['minus']}"):
        value = -value
    written = match[0].strip().rstrip(".")
    spelt, powers = times()
    if more := spelt.match(text, match.start() + len(match[0].rstrip())):
        word = more[0].strip().lower()
        return NumberRead(f"{written} {word}", value * 10 ** powers[word])
    letter = _LETTERS.match(text, match.end())
    if letter and (letter[0] == "k" or re.search("[$€£¥]", match[0])):
        value *= 10 ** {"k": 3, "m": 6, "b": 9}[letter[1].lower()]
        return NumberRead(written + letter[0].strip(), value)
    return NumberRead(written, value, match["percent"] is not None)
