"""Comparison of a filled-in blank with accepted terms or numbers: exact after normalisation.

What does not count: case, width, articles, punctuation around words, markup, hyphens between words, brackets that group
nothing, how a number is written ("1,024", "1024.0", "seven"). What counts: everything else; "C" is not "C++", 25 is not
5, O(n) is not O(n²), 2^(n-1) is not 2^n - 1, n! is not n, 0101 is not 101.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

from msgspec import Struct

from viva.files import shipped_table
from viva.scorers.formula import values_of
from viva.scorers.lexicon import rewritten

LONGEST = 2_000
"""Characters; no term is longer."""
OPEN, CLOSE = "([{⦃", ")]}⦄"
LONGEST_TERM = 25
"""Words; a longer reply that neither is nor states an accepted answer is unparsed."""
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n")
_RAISED = re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ]+")
_COMMAND = re.compile(r"\\([a-z]{2,20})")
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:[, ' ]\d{3})+(?![\d,])")
_OPERATOR = re.compile(r"[+*/^=<>|,]|(?<![^\W\d_]{2})-(?![^\W\d_]{2})")
_NUMBER = re.compile(r"(?<![\w.])(-?)(\d{1,40}(?:\.\d{1,40})?|\.\d{1,40})(?![\w.]*\d)")
_GAP = re.compile(r"(?<=\D) | (?=\D)")
_VALUE = re.compile(r"-?(?!0\d)\d{1,40}(?:\.\d{1,40})?(?:\s?/\s?(?!0\d)\d{1,40}(?:\.\d{1,40})?)?")
_WRAPPING = " \t\r\n\"'`“”‘’"


class _Words(Struct):
    """The content of numbers.toml."""

    units: dict[str, int]
    """Words for 0 to 19, and for tens."""
    tens: dict[str, int]
    signs: dict[str, str]
    """Characters that are written in several ways."""
    commands: dict[str, str]
    """LaTeX commands other than Greek letters."""
    spelt: dict[str, str]
    """Words for signs."""
    greek: dict[str, str]


@cache
def _words() -> tuple[_Words, dict[int, str], re.Pattern[str]]:
    """Return the words, the translation table of signs, and the pattern of spelt signs."""
    words = shipped_table(__file__, "numbers.toml", _Words)
    words.spelt |= words.greek
    words.commands |= words.greek
    spelt = "|".join(sorted(words.spelt, key=len, reverse=True))
    return words, str.maketrans(words.signs), re.compile(rf"\b(?:{spelt})\b")


@cache
def _number_words() -> tuple[dict[str, int], re.Pattern[str]]:
    """Return the values of number words, and the numbers made of them."""
    words = _words()[0]
    ones = (word for word, value in words.units.items() if 0 < value < 10)
    units = "|".join(words.units)
    below = rf"(?:(?:{'|'.join(words.tens)})(?: (?:{'|'.join(ones)})(?![^ ]))?|{units})"
    hundreds = rf"(?:{units}) hundred(?: (?:and )?{below}(?! hundred))?"
    return words.units | words.tens | {"and": 0}, re.compile(rf"(?<![^ ])(?:{hundreds}|{below})(?![^ ])")


def normal_form(text: str) -> str:
    """Return an answer's normal form, without what does not count; only its first `LONGEST` characters are used."""
    words, signs, spelt = _words()
    text = _RAISED.sub(lambda match: "^" + match.group().translate(_SUPERSCRIPTS), text[:LONGEST])
    text = unicodedata.normalize("NFKC", text).translate(signs).casefold()
    text = rewritten("term_unwrapped", text)
    text = _COMMAND.sub(lambda match: words.commands.get(match[1], match[1]), text)
    text = spelt.sub(lambda match: words.spelt[match.group()], text)
    text = _GROUPED.sub(lambda match: re.sub(r"\D", "", match.group()), text)
    text = rewritten("term_quiet", _without_brackets(rewritten("term_bare", text)))
    text = with_digits(text).removeprefix("+").strip()
    return _NUMBER.sub(_canonical, text)


def _without_brackets(text: str) -> str:
    """Remove round and curly brackets that group nothing ("O(n)", "x^{2}"); make others round ("2^{n-1}").

    Square brackets stay, and so do those of a half-open interval.
    """
    out, opened = list(text), []
    for place, char in enumerate(text):
        if char in "([{":
            opened.append(place)
        elif char in ")]}":
            start = opened.pop() if opened else -1
            if start < 0:
                out[place] = " "
            elif text[start] in "({" and char in ")}":
                out[start], out[place] = "()" if _OPERATOR.search(text, start + 1, place) else "  "
    for start in opened:
        out[start] = " "
    return "".join(out)


def _canonical(match: re.Match[str]) -> str:
    """Return a number without redundant signs and zeros; zeros before ones are bits, and stay."""
    sign, digits = match[1], match[2]
    if "." not in digits and len(digits) > 1 and set(digits) <= {"0", "1"}:
        return sign + digits
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
    whole, point, fraction = digits.partition(".")
    value = f"{whole.lstrip('0') or '0'}{point}{fraction}"
    return f"-{value}" if sign and value != "0" else value


def with_digits(text: str) -> str:
    """Write number words below two thousand as digits ("twenty one" is 21, "two one" stays two numbers)."""
    values, numbers = _number_words()

    def value(match: re.Match[str]) -> str:
        hundreds, _, rest = match[0].rpartition(" hundred")
        return str(100 * values.get(hundreds, 0) + sum(values[word] for word in rest.split()))

    return numbers.sub(value, text)


_UNSPACED = re.compile("[^\x00-\u2e7f]")


def words_in(text: str) -> int:
    """Count the words of a text; two characters of a script without spaces are one."""
    text = text[: 2 * LONGEST]
    return len(text.split()) + len(_UNSPACED.findall(text)) // 2


def same_term(answer: str, accepted: Iterable[str]) -> str | None:
    """Return the accepted answer that `answer` equals, or None.

    Spaces do not count where no digits would run together, nor do brackets around the whole of one of the two. An
    answer that is nothing but a number is compared by its value, so that 1/2 is 0.5 and 50 % is 50 %, but not 0.5; one
    without letters and digits (";", ":=") as it stands.
    """
    if not answer.strip() or len(answer) > LONGEST:
        return None
    given = normal_form(answer)
    return next((wanted for wanted in accepted if _same(answer, given, wanted)), None)


def _same(answer: str, given: str, wanted: str) -> bool:
    form = normal_form(wanted)
    if not any(map(str.isalnum, given + form)):
        return "".join(answer.split()).strip(_WRAPPING) == "".join(wanted.split()).strip(_WRAPPING) != ""
    if not given or not form:
        return False
    left, other = _GAP.sub("", given), _GAP.sub("", form)
    if left == other or _inside(left) == other or left == _inside(other):
        return True
    numbers = _VALUE.fullmatch(given) and _VALUE.fullmatch(form)
    return numbers is not None and None is not values_of(given) == values_of(form)


def _inside(form: str) -> str:
    """Return the content of brackets that enclose the whole form; without them the form itself."""
    return form[1:-1] if form[:1] + form[-1:] in ("()", "[]") and is_enclosed(form) else form


def is_enclosed(text: str) -> bool:
    """Return whether the bracket that opens a text is closed at its end."""
    depth = 0
    for char in text[:-1]:
        depth += (char in OPEN) - (char in CLOSE)
        if depth < 1:
            return False
    return text[-1:] in CLOSE and len(text) > 1
