"""Comparison of mathematical answers: by value, not by how they are written.

What does not count: LaTeX's spacing, delimiters and fonts, thousands separators, how a fraction, a root, a product or
a percentage is written, a unit that only one of the two names (MATH's normalisation strips it), `x =` in front, which
side of an inequality is the greater. What counts: the value; the order in tuples, the kind of an interval's brackets;
how much it is where both name a unit (`5 cm` is `50 mm`, and not `5 m`). Sets, unions and bare lists have no order.

An answer is taken apart once, into a tree whose leaves are formulas and words; two trees are compared part by part.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from functools import cache, lru_cache

from msgspec import Struct

from viva.files import shipped_table
from viva.scorers.formula import close, values_of
from viva.scorers.lexicon import rewritten
from viva.scorers.number import times
from viva.scorers.term import CLOSE, OPEN, is_enclosed, same_term, with_digits
from viva.scorers.units import Unit, how_many, unit_of

LONGEST = 1_000
"""Characters of an answer; a longer one never matches."""
_DEEPEST = 12
"""Levels of brackets, lists and relations; deeper parts are compared as texts."""
_MOST_PARTS = 64
"""Separators in an answer that is taken apart; one with more is compared as a text."""
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻ⁿ", "0123456789-n")
_TEXT = re.compile(r"\\((?:math)?rm|operatorname|text[a-z]*|mbox)\s*\{([^{}]{0,200})\}")
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:[, ]\d{3})+(?!\d|,\d)")
_MIXED = re.compile(
    r"(?<![\d.^_{])(\d{1,9})\s*(?:\\frac\s*\{(\d{1,9})\}\s*\{(\d{1,9})\}|(?<=\s)(\d{1,9})\s*/\s*(\d{1,9}))"
)
_SEPARATORS = {
    "blanks": ";",
    "list": r"\s*(?:,\s*(?:(?:and|or)(?![a-z]))?|(?<![A-Za-z\\])(?:and|or)(?![a-z])|[和或])\s*",
    "chain": r"[=<>≤≥≠∈]",
    "union": r"[∪∩∖]|(?<=[\])⦄}])\s*U\s*(?=[\[(⦃{])",
}
_ANY_SEPARATOR = re.compile("|".join(_SEPARATORS.values()))
_DESCRIBED = re.compile(r"\s*[a-z]\s*(?:∈[^|:]{0,20})?[|:]")
"""The head of a set that is described: `x |`."""
_MIRRORED = {">": "<", "≥": "≤"}
_INEQUALITIES = ("<", "≤", "≠")
_UNORDERED = {"list", "⦃⦄", "∪", "∩", "chain"}
_NAME = re.compile(r"(?:\\?[A-Za-z](?:_(?:\w|\{\s?\w{1,9}\}))?'*|[|(){}:/,\s]|(?<=\()-?\d+(?=\)))*")
_MATRIX = re.compile(r"\\begin\s*\{([a-z]?matrix|array)\}(?:\{[lcr|]*\})?(.*)\\end\s*\{\1\}", re.DOTALL)
_BASE = re.compile(r"([0-9A-F]{1,40})_\{?(\d{1,2})\}?")
_MEASURED = re.compile(
    r"(?P<number>(?:[^a-zA-Z=+\\\x1f]|\\?(?:frac|sqrt|times|cdot|pi)(?![a-z]))*(?<=[\d)}i]))(?P<gap>\s*)(?P<unit>[^\W\d_].{0,80})"
    r"|(?P<value>[^\x1f]*[^\s\x1f])\s*\x1f\s*(?P<of>.{1,80})"
)
_VARIABLE = re.compile("[a-zA-Zµ](?![a-zA-Zµ])")
_COUNTED = re.compile(r"(?:[a-zA-Zµ]{2,}|[\u4e00-\u9fffΩ]+)(?:[\s/.]+[a-zA-Z\u4e00-\u9fff]+)*(?:\s*\^\s*\{?\d\}?)?")
"""Names of counted things that no table has: apples, miles per gallon."""
_WORDS = re.compile(r"[^\W\d_][^\W_]*(?:[\s'-]+[^\W_]+)*")


@cache
def _signs() -> tuple[re.Pattern[str], dict[str, str]]:
    table = shipped_table(__file__, "mathanswer.toml", dict[str, dict[str, list[str]]])["signs"]
    signs = {written: sign for sign, ways in table.items() for written in ways}
    ends = [re.escape(written) + "(?![A-Za-z])" * written[-1].isalpha() for written in sorted(signs, reverse=True)]
    return re.compile("|".join(ends)), signs


class _Answer(Struct, frozen=True):
    """A part of an answer: its kind, and its parts or, of a leaf (a formula or words), its text.

    Kinds are `list`, `blanks` (in their order), `union`, `chain` (of relations), `matrix`, the sign of a relation, the
    brackets around a set (`⦃⦄`), tuple or interval, and "" for a leaf.
    """

    kind: str
    text: str
    parts: tuple[_Answer, ...] = ()


def same_answer(given: str, accepted: Iterable[str], tolerance: float = 0.0) -> str | None:
    """Return the accepted answer that `given` equals, or None."""
    return next((wanted for wanted in accepted if _same_text(given, wanted, tolerance)), None)


@lru_cache(8_192)
def _same_text(given: str, wanted: str, tolerance: float) -> bool:
    if max(len(given), len(wanted)) > LONGEST or not given.strip() or not wanted.strip():
        return False
    return _bare(given) == _bare(wanted) or any(
        _same(reading, other, tolerance) for reading in _readings(given) for other in _readings(wanted)
    )


def _bare(text: str) -> str:
    return re.sub(r"[\s{}]", "", text)


@lru_cache(4_096)
def _readings(text: str) -> tuple[_Answer, ...]:
    """Return all ways to take an answer apart: several where commas may separate thousands or a list, it has ≈, or it
    ends in an equation of equal values (`x = 3/4 = 0.75` is 0.75).
    """
    text = _cleaned(text)
    joined = text if re.search(r"[(\[⦃]", text) else _GROUPED.sub(lambda match: re.sub("[, ]", "", match[0]), text)
    ways = [
        _parsed(part, 0 if len(_ANY_SEPARATOR.findall(part)) <= _MOST_PARTS else _DEEPEST)
        for each in dict.fromkeys((joined, text))
        for part in each.split("≈")
        if part.strip()
    ]
    ends = [way.parts[-1] if way.kind == "chain" else way for way in ways]
    return (*ways, *(end.parts[1] for end in ends if end.kind == "=" and _same(end.parts[0], end.parts[1], 0.0)))


def _cleaned(text: str) -> str:
    """Return an answer without what does not count; `\\x1f`, a space, comes before text within LaTeX."""
    text = re.sub(
        "[²³⁰¹⁴-⁹⁻ⁿ]+", lambda match: f"^{{{match[0].translate(_RAISED)}}}", with_digits(text.strip().strip("*` "))
    )
    text = text.rstrip(".。 ").replace("\\\\", "\x1e" if "\\begin" in text else "\\")
    pattern, signs = _signs()
    text = pattern.sub(lambda match: signs[match[0]], _TEXT.sub(_as_text, rewritten("formula", text)))
    many, powers = times()
    text = re.sub(
        rf"(?i)(?<=\d){many.pattern}",
        lambda match: f"*10^{{{powers[match[0].strip().lower()]}}}",
        rewritten("formula_signs", text),
    )
    return _MIXED.sub(_mixed, text).strip().rstrip(".。 ")


def _mixed(match: re.Match[str]) -> str:
    whole, above, below = map(int, filter(None, match.groups()))
    return f"({whole * below + above}/{below})"


def _as_text(match: re.Match[str]) -> str:
    """Mark words and upright units as text; anything else upright (`\\mathrm{i}`) is part of the formula."""
    words = re.sub(r"\\[,;:! ]|~", " ", match[2])
    unit = unit_of(words)
    apart = match[1].startswith(("text", "mbox")) or (unit and unit.known)
    return f"\x1f{words} " if apart else words


def _parsed(text: str, depth: int = 0) -> _Answer:
    """Take an answer apart: at separators outside of brackets, at signs of relations, at unions, inside brackets."""
    text = text.strip("\n ,;\x1f")
    while text[:1] == "{" and is_enclosed(text):
        text = text[1:-1].strip()
    kind, parts, marks = "", list[str](), list[str]()
    if matrix := _MATRIX.fullmatch(text.strip("[]() ")):
        rows = matrix[2].strip("\x1e ").split("\x1e")
        kind, parts = "matrix", [cell for row in rows for cell in [*row.split("&"), "row"]]
    for separated, mark in _SEPARATORS.items() if depth < _DEEPEST and not matrix else ():
        parts, marks = _split(text, mark)
        if separated == "list":
            parts = [
                part.replace("±", sign)
                for part in parts
                if part.strip()
                for sign in ("+-" if part.count("±") == 1 and "⦃" not in part else "±")
            ]
        if len(parts) > 1:
            kind = "".join(sorted(set(marks))).replace("U", "∪") if separated == "union" else separated
            break
    nodes = tuple(_parsed(part, depth + 1) for part in parts if kind)
    if kind == "chain":
        nodes = tuple(map(_related, nodes, nodes[1:], marks))
        return nodes[0] if len(nodes) == 1 else _Answer(kind, text, nodes)
    return _Answer(kind, text, nodes) if kind or depth >= _DEEPEST or not is_enclosed(text) else _bracketed(text, depth)


def _bracketed(text: str, depth: int) -> _Answer:
    """Return a tuple, an interval, a set, or the content of redundant brackets."""
    brackets, inside = text[0] + text[-1], text[1:-1]
    if brackets == "⦃⦄":
        inside = _DESCRIBED.sub("", inside, count=1)
    inner = _parsed(inside, depth + 1)
    if inner.kind in ("list", "blanks") or not inside.strip():
        return _Answer(brackets, text, inner.parts)
    return inner if brackets in ("⦃⦄", "()", "[]") else _Answer("", text)


def _related(left: _Answer, right: _Answer, sign: str) -> _Answer:
    """Return a relation, the smaller side first, a name before its value; of tuples (`(p, q) = (3, 2)`) a list of
    relations.
    """
    sign = "=" if sign == "∈" else sign
    if sign in _MIRRORED or (sign == "=" and _NAME.fullmatch(right.text) and not _NAME.fullmatch(left.text)):
        left, right, sign = right, left, _MIRRORED.get(sign, sign)
    if sign == "=" and left.kind == right.kind == "()" and len(left.parts) == len(right.parts):
        pairs = zip(left.parts, right.parts, strict=True)
        return _Answer("list", "", tuple(_Answer(sign, "", pair) for pair in pairs))
    return _Answer(sign, "", (left, right))


def _split(text: str, mark: str | re.Pattern[str]) -> tuple[list[str], list[str]]:
    """Split a text at the marks outside of brackets; return the parts and the marks."""
    parts, marks, depth, start, counted = list[str](), list[str](), 0, 0, 0
    for match in re.finditer(mark, text):
        between = text[counted : match.start()]
        depth += sum(map(between.count, OPEN)) - sum(map(between.count, CLOSE))
        counted = match.end()
        if depth == 0:
            parts.append(text[start : match.start()])
            marks.append(match[0].strip())
            start = match.end()
    return [*parts, text[start:]], marks


def _same(left: _Answer, other: _Answer, tolerance: float) -> bool:
    kinds = {left.kind, other.kind}
    if kinds == {""}:
        return _same_leaf(left.text, other.text, tolerance)
    if "=" in kinds:
        return _same_equation(left, other, tolerance)
    listed = left if left.kind == "list" else other
    bare = kinds == {"list", "()"} and (len(listed.parts) > 2 or all(part.kind == "=" for part in listed.parts))
    ordered = bare or not kinds <= _UNORDERED  # a pair without brackets is no tuple: (1, 2) may be an interval
    alike = bare or len(kinds) == 1 or kinds <= {"list", "⦃⦄", "blanks"}
    if not alike or (left.kind in _INEQUALITIES and _are_proportional(left, other)):
        return alike
    if ordered:
        return len(left.parts) == len(other.parts) and all(
            _same(part, its, tolerance) for part, its in zip(left.parts, other.parts, strict=True)
        )
    rows = [[_same(part, its, tolerance) for its in other.parts] for part in left.parts]
    repeats = kinds != {"list"} or all(part.parts for part in left.parts)
    covered = all(map(any, rows)) and all(map(any, zip(*rows, strict=True))) and bool(rows) == bool(other.parts)
    return covered and (repeats or all(sum(row) == rows.count(row) for row in rows))


def _same_equation(left: _Answer, other: _Answer, tolerance: float) -> bool:
    """Compare two answers of which one at least is an equation: `x = 5` is 5, and `y = 2x` is `2x - y = 0`."""
    equations = [answer for answer in (left, other) if answer.kind == "="]
    names = [equation.parts[0].text for equation in equations if _NAME.fullmatch(equation.parts[0].text)]
    if len(equations) == 2 and _are_proportional(left, other):
        return True
    heads = {re.split(r"[_(]", name)[0].strip() for name in names}
    called = len({"(" in name for name in names}) > 1
    if len(names) < len(equations) or (len(heads) > 1 and not called and max(map(len, heads)) == 1):
        return False
    given, wanted = (each.parts[1] if each.kind == "=" else each for each in (left, other))
    return _same(given, wanted, tolerance)


def _are_proportional(first: _Answer, other: _Answer) -> bool:
    """Return whether the differences of the two relations' sides have the same ratio at every point."""
    sides = [values_of(side.text) for side in (*first.parts, *other.parts)]
    try:
        ratios = [
            (right - left) / (greater - less)
            for left, right, less, greater in zip(*(side or () for side in sides), strict=False)
            if None not in (left, right, less, greater)
        ]
    except ArithmeticError:
        return False
    positive = first.kind in "=≠" or all(ratio.real > 0 for ratio in ratios)
    return positive and bool(ratios) and ratios[0] != 0 and all(close(ratio, ratios[0]) for ratio in ratios)


def _same_leaf(left: str, other: str, tolerance: float) -> bool:
    bases = [_BASE.fullmatch(text.replace(" ", "")) for text in (left, other)]
    if any(bases):
        left, other = (base[1] if base else text for base, text in zip(bases, (left, other), strict=True))
        return left == other and len({base[2] for base in bases if base}) == 1
    (left, unit), (other, its) = _measured(left), _measured(other)
    times = how_many(unit, its) if unit and its else Fraction(1)
    if times is None:
        return False
    percent = left.endswith("%") - other.endswith("%")
    left, other = left.rstrip("% "), other.rstrip("% ")
    if _bare(left) == _bare(other) or (
        (_WORDS.fullmatch(left) or _WORDS.fullmatch(other)) and same_term(left, [other]) is not None
    ):
        return times == 1
    values, wanted = values_of(left), values_of(other)
    scales = {times, times / Fraction(100) ** percent} if values and wanted else ()
    return any(
        all(
            close(had * scale, true, tolerance)
            for had, true in zip(values or (), wanted or (), strict=True)
            if had is not None and true is not None
        )
        for scale in scales
    )


@lru_cache(4_096)
def _measured(text: str) -> tuple[str, Unit | None]:
    """Return a number and its unit, None without one. A single letter is a variable, unless it is a unit behind a
    space.
    """
    match = _MEASURED.fullmatch(text)
    if match is None or (match["unit"] and _VARIABLE.match(match["unit"]) and (not match["gap"] or "pi" in match[1])):
        return text, None
    name = match["unit"] or match["of"]
    unit = unit_of(name)
    if unit is None or not (unit.known or _COUNTED.fullmatch(name.strip())):
        return text, None
    return (match["number"] or match["value"]).strip(), unit
