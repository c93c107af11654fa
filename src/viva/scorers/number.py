"""The number that a reply ends with, and whether it is the one that it should be: by value, not by how it is written.

Read are digits with separators (1,024), decimals, exponents, fractions (3/4, 1 1/2, \\frac{3}{4}), percentages, a
currency in front and a unit behind. A percentage is its value (50 % is 0.5) or, where the gold is written without the
sign, its number (50 % is 50).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct

from viva.scorers.fold import after_thinking
from viva.scorers.stated import stated

_DIGITS = r"\d{1,3}(?:[,\u202f\u00a0 ]\d{3})+(?![\d,])(?:\.\d{1,60})?|\d{1,60}(?:\.\d{0,60})?|\.\d{1,60}"
_FRACTION = r"\\[dt]?frac\s?\{\s?(-?\d{1,40})\s?\}\s?\{\s?(\d{1,40})\s?\}"
_NUMBER = re.compile(
    rf"(?<![\w.])(?P<sign>[-−+]\s?)?(?:[$€£¥]\s?|\\\$\s?)?(?P<minus>[-−])?"
    rf"(?:{_FRACTION}|(?:(?P<whole>\d{{1,40}})\s)?(?P<above>\d{{1,40}})\s?/\s?(?P<below>\d{{1,40}})(?!\d)"
    rf"|(?P<plain>{_DIGITS})(?:\s?(?:[eE]|(?:×|\\times|\*|x)\s?10\s?\^)\s?\{{?(?P<power>[-−+]?\d{{1,3}})\}}?)?)"
    r"\s?(?P<percent>\\?%|percent\b)?"
)
_BOXED = re.compile(r"\\(?:boxed|fbox)\s?\{")
_MARK = re.compile(r"####\s*([^\n]{1,200})")
_TAIL = 4_000
"""Characters from the end in which the last number is looked for."""


class NumberRead(Struct, frozen=True):
    """A number as it was written, its value, whether it is a percentage, and how it was found."""

    text: str
    value: Fraction
    percent: bool
    rule: str = ""


def boxed(text: str) -> str | None:
    """What stands in the last `\\boxed{…}` of a text, braces balanced; None where there is none."""
    starts = [match.end() for match in _BOXED.finditer(text)]
    for start in reversed(starts[-20:]):
        depth = 1
        for at in range(start, min(len(text), start + 2_000)):
            depth += (text[at] == "{") - (text[at] == "}")
            if depth == 0:
                return text[start:at].strip()
    return None


def value_of(text: str) -> Fraction | None:
    """The value of a text that is a number, perhaps with a currency and a unit; None for what is none."""
    found = _only(text)
    if found is None:
        return None
    return found.value / 100 if found.percent else found.value


def read_number(reply: str) -> NumberRead | None:
    """The number that a reply commits to: behind ####, in \\boxed{}, stated as its answer, else its last one."""
    start, unfinished = after_thinking(reply)
    if unfinished:
        return None
    text = reply[start:]
    if whole := _only(text):
        return whole
    marks = _MARK.findall(text[-_TAIL:])
    statement = stated(text, "term")
    for rule, said in (
        ("behind ####", marks[-1] if marks else None),
        ("boxed", boxed(text[-_TAIL:])),
        ("stated at the end", statement.text if statement else None),
    ):
        numbers = _numbers(said) if said is not None else []
        if numbers:
            first = numbers[0] if rule != "boxed" else numbers[-1]
            return NumberRead(first.text, first.value, first.percent, rule)
    numbers = _numbers(text[-_TAIL:])
    if not numbers:
        return None
    last = numbers[-1]
    return NumberRead(last.text, last.value, last.percent, "the last number")


def same_number(found: NumberRead, accepted: Sequence[str], tolerance: float = 0.0) -> str | None:
    """The accepted number that was found, within `tolerance` of it; None for none."""
    within = Fraction(tolerance)
    for wanted in accepted:
        gold = _only(wanted)
        if gold is None:
            continue
        if found.percent == gold.percent:
            pairs = [(found.value, gold.value)]
        elif found.percent:
            pairs = [(found.value, gold.value), (found.value / 100, gold.value)]
        else:
            pairs = [(found.value, gold.value), (found.value, gold.value / 100)]
        if any(abs(said - true) <= within for said, true in pairs):
            return wanted
    return None


def _only(text: str) -> NumberRead | None:
    """The number of a short text that has one and nothing but words around it."""
    bare = re.sub(r"\\[()\[\]]|^\\(?=[$%])", "", text).strip().strip("$*` ").rstrip(".。 \\")
    if not bare or len(bare) > 100:
        return None
    numbers = _numbers(bare)
    if len(numbers) != 1 or re.search(r"[=<>^_+]|\\(?!frac|dfrac|tfrac|%|\$|text|mathrm|times|,|!| )", bare):
        return None
    return numbers[0]


def _numbers(text: str) -> list[NumberRead]:
    return [one for match in _NUMBER.finditer(text) if (one := _found(match)) is not None]


def _found(match: re.Match[str]) -> NumberRead | None:
    over, under = match[3], match[4]
    if over is not None:
        below = int(under)
        value = Fraction(int(over), below) if below else None
    elif match["below"] is not None:
        below = int(match["below"])
        value = Fraction(int(match["above"]), below) + int(match["whole"] or 0) if below else None
    else:
        value = Fraction(re.sub(r"[,\s]", "", match["plain"]).rstrip(".") or "0")
        if match["power"]:
            value *= Fraction(10) ** int(match["power"].replace("−", "-"))
    if value is None:
        return None
    if "-" in (sign := (match["sign"] or "") + (match["minus"] or "")) or "−" in sign:
        value = -value
    return NumberRead(match[0].strip().rstrip("."), value, match["percent"] is not None)
