"""Whether a filled-in blank is the term or number that it should be: exact after normalisation.

What does not count: case, width, articles, punctuation around words, markup, hyphens between words, how a number is
written ("1,024", "1024.0", "seven"). What counts: everything else; "C" is not "C++", 25 is not 5, O(n) is not O(n²).
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from pathlib import Path

LONGEST = 2_000
"""Characters; no term is longer."""
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n")
_RAISED = re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ]+")
_LATEX = re.compile(
    r"\\(?:boxed|text|mathrm|mathbf|mathit|operatorname|textbf|emph)\s*(?=\{)|\\[,;!() \[\]]|\\(?=[%$#&_])"
)
_COMMANDS = {
    r"\log": "log",
    r"\ln": "ln",
    r"\theta": "θ",
    r"\omega": "ω",
    r"\cdot": "*",
    r"\times": "*",
    r"\le": "<=",
    r"\ge": ">=",
}
_COMMAND = re.compile(r"\\[a-z]+", re.IGNORECASE)
_LEAD = re.compile(
    r"\s*(?:(?:so |thus |therefore,? )?(?:the |my )?(?:final |correct |right |missing )?(?:answer|word|term|blank)"
    r"(?: here)?\s?(?:is|=|:)\s?:?|_{2,}\s?(?:is|=|:))\s*",
    re.IGNORECASE,
)
_LIST_LEAD = re.compile(r"\(?[1aA][.)]\s+")
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:[, ' ]\d{3})+(?![\d,])")
_NUMBER = re.compile(r"(?<![\w.])([+-]?)(\d{1,40}(?:\.\d{1,40})?|\.\d{1,40})(?![\w.]*\d)")
_QUIET = re.compile(r"[\"'`“”‘’«»„*_~$(){}\[\],;:!?…、。，；：！？（）【】《》]+")
_HYPHEN = re.compile(r"(?<=[^\W\d_])[-‐‑–—](?=[^\W\d_])|(?<=\d)[-‐‑](?=[^\W\d_])")
_POINT = re.compile(r"\.(?=\s|$)|(?<!\d)\.(?!\d)")
_ARTICLE = re.compile(r"\b(?:an?|the)\s+(?=\S)")
_GAP = re.compile(r"(?<=\D) | (?=\D)")


@cache
def _numbers() -> tuple[dict[str, int], dict[str, int]]:
    """Words for 0 to 19, and for the tens."""
    content = tomllib.loads((Path(__file__).parent / "numbers.toml").read_text(encoding="utf-8"))
    tens = {word: 10 * value for value, word in enumerate(content["tens"], 2)}
    return {word: value for value, word in enumerate(content["units"])}, tens


def normal_form(text: str) -> str:
    """What is left of an answer when the things that do not count are taken away; at most `LONGEST` characters in."""
    text = _RAISED.sub(lambda match: "^" + match.group().translate(_SUPERSCRIPTS), text[:LONGEST])
    text = unicodedata.normalize("NFKC", text).replace("\u2212", "-")
    text = _COMMAND.sub(lambda match: _COMMANDS.get(match.group().lower(), match.group()), _LATEX.sub("", text))
    text = _LEAD.sub("", text.strip(), count=1) or text
    text = _LIST_LEAD.sub("", text, count=1) or text
    text = _GROUPED.sub(lambda match: re.sub(r"\D", "", match.group()), text)
    text = _HYPHEN.sub(" ", _QUIET.sub(" ", text))
    text = " ".join(_POINT.sub(" ", text).casefold().split())
    text = _ARTICLE.sub("", text).strip()
    return _NUMBER.sub(_canonical, _with_digits(text))


def _canonical(match: re.Match[str]) -> str:
    """A number without signs and zeros that say nothing."""
    sign, digits = match[1], match[2]
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
    whole, point, fraction = digits.partition(".")
    value = f"{whole.lstrip('0') or '0'}{point}{fraction}"
    return f"-{value}" if sign == "-" and value != "0" else value


def _with_digits(text: str) -> str:
    """Number words up to ninety-nine as digits ("twenty one" is 21, "two one" stays two numbers)."""
    words = text.split(" ")
    below_twenty, tens_of = _numbers()
    found: list[str] = []
    tens = False
    for word in words:
        if word in tens_of:
            found.append(str(tens_of[word]))
            tens = True
            continue
        if word in below_twenty:
            if tens and 0 < below_twenty[word] < 10:
                found[-1] = str(int(found[-1]) + below_twenty[word])
            else:
                found.append(str(below_twenty[word]))
        else:
            found.append(word)
        tens = False
    return " ".join(found)


def same_term(answer: str, accepted: Iterable[str]) -> str | None:
    """The accepted answer that `answer` is, or None.

    Spaces do not count where no digits would run together, and an answer that is nothing but a number is compared by
    its value, so that 1/2 is 0.5 and 50 % is 50 %, but not 0.5.
    """
    if not answer.strip() or len(answer) > LONGEST:
        return None
    given = normal_form(answer)
    if not given:
        return None
    value = _value(given)
    for wanted in accepted:
        form = normal_form(wanted)
        if given == form or _GAP.sub("", given) == _GAP.sub("", form) or (value is not None and value == _value(form)):
            return wanted
    return None


def _value(form: str) -> Fraction | None:
    match = re.fullmatch(r"(-?\d{1,40}(?:\.\d{1,40})?)(?:\s?/\s?(\d{1,40}(?:\.\d{1,40})?))?", form)
    if match is None:
        return None
    below = Fraction(match[2]) if match[2] else Fraction(1)
    return Fraction(match[1]) / below if below else None
