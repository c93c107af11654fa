"""Whether an answer to a mathematical problem is the gold one: by value, not by how it is written.

What does not count: LaTeX's spacing, delimiters and fonts, thousands separators, how a fraction, a root, a product or
a percentage is written, a unit that only one of the two names (MATH's normalisation strips it), `x =` in front. What
counts: the value; the order in tuples, the kind of an interval's brackets; how much it is where both name a unit
(`5 cm` is `50 mm`, and not `5 m`). Sets and bare lists have no order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import permutations

from viva.scorers.formula import POINTS, NoFormula, same_formula, value_at
from viva.scorers.term import same_term
from viva.scorers.units import Unit, how_many, unit_of

LONGEST = 1_000
"""Characters of an answer."""
_MOST_ANY_ORDER = 6
_SIGNS = str.maketrans({
    "²": "^2", "³": "^3", "−": "-", "–": "-", "×": "*", "·": "*", "÷": "/", "π": "\\pi ", "∞": "\\infty ", "，": ",",
    "；": ";", "（": "(", "）": ")", "±": "\\pm ", "∪": "\\cup ",
})  # fmt: skip
_FONTS = re.compile(r"\\(?:math(?:rm|bf|it|sf|bb|cal)|boldsymbol|operatorname|displaystyle|mbox)\s*")
_TEXTS = re.compile(r"\\(?:text|textbf|textit|textrm|mbox)\s*\{([^{}]{0,200})\}")
_SPACES = re.compile(
    r"(?<!\\)\\(?:[,;:!> ]|q?quad\b|left(?![a-z])\.?|right(?![a-z])\.?|[bB]igg?[lr]?(?![a-z]))"
    r"|~|(?<!\\)\$|\\[()]|\\\[|\\\]"
)
_DEGREES = re.compile(r"\s*(?:\^\s*\{?\s*\\circ\s*\}?|°|\bdegrees?\b)")
_GROUPED = re.compile(r"(?<![\d.,])-?\d{1,3}(?:(?:,|\{,\}| )\d{3})+(?!\d|,\d)")
_MIXED = re.compile(
    r"(?<![\d.^_{])(\d{1,9})\s*(?:\\frac\s*\{(\d{1,9})\}\s*\{(\d{1,9})\}|(?<=\s)(\d{1,9})\s*/\s*(\d{1,9}))"
)
_EXPONENT = re.compile(r"(?<=\d)[eE]([-+]?\d{1,3})\b")
_NAMED = re.compile(r"\s*([A-Za-z](?:_\{?\w{1,5}\}?)?(?:\([A-Za-z](?:,\s*[A-Za-z])*\))?)\s*(?:=|\\in\b)\s*")
_MEASURED = re.compile(
    r"(?P<number>\(\d+\+\d+/\d+\)|-?[^a-zA-Z=+]{0,60}?(?:\\(?:frac|sqrt|times|cdot)[^a-zA-Z=+]{0,60})?[\d)}])(?P<gap>\s*)"
    r"(?P<unit>[^\W\d_].{0,80})"
)
_UPRIGHT = re.compile(r"(?<=[\d)}\s~,;:/])\\(?:mathrm|rm|mathsf|text)\s*\{([^{}]{1,60})\}")
_VARIABLE = re.compile("[a-zA-Zµ](?![a-zA-Zµ])")
_COUNTED = re.compile(r"(?:[a-zA-Zµ]{2,}|[\u4e00-\u9fffΩ]+)(?:[\s/.]+[a-zA-Z\u4e00-\u9fff]+)*(?:\s*\^\s*\{?\d\}?)?")
"""What is counted, of names that no table has: apples, miles per gallon."""
_WORDS = re.compile(r"[^\W\d_][^\W_]*(?:[\s'-]+[^\W_]+)*")
_MATRIX = re.compile(r"\s*\\begin\{([a-z]?)matrix\}(.{0,800})\\end\{\1matrix\}\s*", re.DOTALL)
_BASE = re.compile(r"([0-9A-F]{1,40})_\{?(\d{1,2})\}?")
_AND = re.compile(r"\s*(?:,\s*)?\b(?:and|or)\b\s*|\s*[或和]\s*")
_CURRENCY = re.compile(r"\A\s*(-?)\s*(?:\\\$|[€£¥])\s*(?=[\d.])")


def same_answer(said: str, accepted: Iterable[str], tolerance: float = 0.0) -> str | None:
    """The accepted answer that `said` is, or None."""
    return next((wanted for wanted in accepted if _same(said, wanted, tolerance)), None)


@lru_cache(8_192)
def _same(said: str, wanted: str, tolerance: float) -> bool:
    if max(len(said), len(wanted)) > LONGEST or not said.strip() or not wanted.strip():
        return False
    one, other = _cleaned(said), _cleaned(wanted)
    if not one or not other:
        return _bare(said) == _bare(wanted)
    return _bare(one) == _bare(other) or _compared(one, other, tolerance)


def _bare(text: str) -> str:
    return re.sub(r"[\s{}]", "", text)


def _cleaned(text: str) -> str:
    """An answer without what does not count; texts stay as words."""
    text = text.strip().strip("*` ").rstrip(".。 ").translate(_SIGNS)
    text = re.sub(r"\binfinity\b", r"\\infty", re.sub(r"\\[dtc]frac", r"\\frac", text))
    text = text.replace("\\varnothing", "\\emptyset")
    text = _TEXTS.sub(r" \1 ", _FONTS.sub("", _UPRIGHT.sub(_as_unit, text)))
    text = re.sub(r"\\ ?%", "%", _CURRENCY.sub(r"\1", text))
    text = _DEGREES.sub("", _CURRENCY.sub(r"\1", _SPACES.sub(" ", text)))
    if not re.search(r"[()\[\]]|\\\{", text):
        text = _GROUPED.sub(lambda match: re.sub(r"[^\d-]", "", match.group()), text)
    text = _MIXED.sub(lambda m: f"({m[1]}+{m[2] or m[4]}/{m[3] or m[5]})", text)
    return _EXPONENT.sub(r"*10^{\1}", text.replace("{,}", "")).strip().rstrip(".。 ")


def _compared(one: str, other: str, tolerance: float) -> bool:
    """Two cleaned answers, taken apart until both are formulas or texts."""
    for apart, compared in ((_matrix, _all), (_union, _all), (_blanks, _all), (_spread, _any_order)):
        if apart is _blanks and not (";" in one or ";" in other):
            continue
        parts = apart(one), apart(other)
        if max(map(len, parts)) > 1:
            return compared(*parts, tolerance)
    if re.search(r"=|\\in\b", one + " " + other):
        return _same_named(one, other, tolerance)
    given, wanted = _inside(one), _inside(other)
    if given and wanted:
        compared_parts = _any_order if given[0] == "{}" else _all
        return given[0] == wanted[0] and compared_parts(given[1], wanted[1], tolerance)
    return not given and not wanted and _same_value(one, other, tolerance)


def _union(text: str) -> list[str]:
    return text.split("\\cup")


def _blanks(text: str) -> list[str]:
    """The answers to several blanks: in their order, whatever the other text has between them."""
    return _split(text.replace(";", ","))


def _same_named(one: str, other: str, tolerance: float) -> bool:
    """Two answers of which one at least has a sign of equality: `x = 5` is 5, and `y = 2x` is `2x - y = 0`."""
    (name, given), (its, wanted) = _without_name(one), _without_name(other)
    if "=" in given or "=" in wanted:
        return _same_equation(one, other)
    if name and its and name != its and len(name) == len(its) == 1:
        return False
    if (given, wanted) == (one, other):
        return False  # words before the sign: no name to take away
    return _same(given, wanted, tolerance)


def _without_name(text: str) -> tuple[str, str]:
    """What an answer calls the value (`x`, `f(x)`; "" for nothing), and the value; all of an equation that is more."""
    match = _NAMED.match(text)
    if match is None or "=" in text[match.end() :]:
        return "", text
    return match[1], text[match.end() :]


def _same_equation(one: str, other: str) -> bool:
    """Whether the sides of one equation differ by a multiple of what those of the other differ by."""
    if one.count("=") != 1 or other.count("=") != 1:
        return False
    left, right = (f"({text.replace('=', ')-(')})" for text in (one, other))
    try:
        ratios = [value_at(left, point) / value_at(right, point) for point in range(POINTS)]
    except (NoFormula, ZeroDivisionError):
        return False
    return ratios[0] != 0 and all(abs(ratio - ratios[0]) <= 1e-9 * abs(ratios[0]) for ratio in ratios)


def _matrix(text: str) -> list[str]:
    """The cells of a matrix, a mark behind every row; none of anything else."""
    match = _MATRIX.fullmatch(text)
    if match is None:
        return []
    rows = match[2].strip().removesuffix("\\\\").split("\\\\")
    return [cell for row in rows for cell in [*row.split("&"), "row"]]


def _inside(text: str) -> tuple[str, list[str]] | None:
    """The brackets around a whole list, and its parts: a tuple, an interval, a set."""
    text = text.strip()
    if text.startswith("\\{") and text.endswith("\\}"):
        return "{}", _split(text[2:-2])
    brackets = text[:1] + text[-1:]
    if brackets not in ("()", "[]", "(]", "[)", "{}"):
        return None
    depth = [0]
    for char in text:
        depth.append(depth[-1] + (char in "([{") - (char in ")]}"))
    parts = _split(text[1:-1]) if 0 not in depth[1:-1] else []
    return (brackets, parts) if len(parts) > 1 else None


def _split(text: str) -> list[str]:
    """A list at its commas, brackets closed."""
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


def _spread(text: str) -> list[str]:
    """A bare list, `\\pm` written out."""
    parts = [part for one in _split(text) for part in _AND.split(one) if part.strip()]
    found = []
    for part in parts:
        found += [part.replace("\\pm", "+"), part.replace("\\pm", "-")] if part.count("\\pm") == 1 else [part]
    return found


def _all(said: Sequence[str], wanted: Sequence[str], tolerance: float) -> bool:
    return len(said) == len(wanted) and all(
        _same(one, other, tolerance) for one, other in zip(said, wanted, strict=True)
    )


def _any_order(said: Sequence[str], wanted: Sequence[str], tolerance: float) -> bool:
    if len(said) != len(wanted) or len(said) > _MOST_ANY_ORDER:
        return _all(said, wanted, tolerance)
    return any(_all(order, wanted, tolerance) for order in permutations(said))


def _same_value(one: str, other: str, tolerance: float) -> bool:
    bases = _BASE.fullmatch(one.replace(" ", "")), _BASE.fullmatch(other.replace(" ", ""))
    if bases[0] or bases[1]:
        digits, in_base = zip(
            *(
                (base[1], base[2]) if base else (text.strip(), "")
                for base, text in zip(bases, (one, other), strict=True)
            ),
            strict=True,
        )
        return digits[0] == digits[1] and ("" in in_base or in_base[0] == in_base[1])
    (one, unit), (other, its) = _measured(one), _measured(other)
    if unit and its:
        times = how_many(unit, its)
        if times is None:
            return False
        if times != 1:
            one = f"({one})*{times.numerator}/{times.denominator}"
    percents = one.endswith("%"), other.endswith("%")
    one, other = one.rstrip("% "), other.rstrip("% ")
    same = _same_text(one, other)
    if same is None or (tolerance and not same):
        same = same_formula(one, other, tolerance)
    if same or same is None or percents[0] == percents[1]:
        return bool(same) or _bare(one).casefold() == _bare(other).casefold()
    whole, part = (one, other) if percents[0] else (other, one)
    return bool(same_formula(f"({whole})/100", part, tolerance))


def _same_text(one: str, other: str) -> bool | None:
    """Two numbers exactly, or words; None for what is neither."""
    exact = _fraction(one), _fraction(other)
    if exact[0] is not None and exact[1] is not None:
        return exact[0] == exact[1]
    words = one.strip("() "), other.strip("() ")
    if all(_WORDS.fullmatch(word) or _fraction(word) is not None for word in words):
        return same_term(words[0], [words[1]]) is not None or None
    return None


def _fraction(text: str) -> Fraction | None:
    """A number of digits alone, exactly."""
    match = re.fullmatch(r"([-+]?)\s?(\d{1,60}(?:\.\d{0,60})?|\.\d{1,60})(?:\s?/\s?(\d{1,60}))?", text.strip())
    if match is None or (match[3] and not int(match[3])):
        return None
    return Fraction(match[1] + match[2]) / Fraction(match[3] or 1)


def _measured(text: str) -> tuple[str, Unit | None]:
    """A number and its unit, None without one. A single letter is a variable, unless it is a unit behind a space."""
    match = _MEASURED.fullmatch(text.strip())
    if match is None or match["number"].endswith("\\") or (_VARIABLE.match(match["unit"]) and not match["gap"]):
        return text, None
    unit = unit_of(match["unit"])
    if unit is None or not (unit.known or _COUNTED.fullmatch(match["unit"])):
        return text, None
    return match["number"].strip(), unit


def _as_unit(match: re.Match[str]) -> str:
    """A unit in upright letters as a word; what else is upright (`\\mathrm{i}`) stays."""
    words = re.sub(r"\\[,;:! ]|~", " ", match[1])
    unit = unit_of(words)
    return f" {words} " if unit is not None and unit.known else match[0]
