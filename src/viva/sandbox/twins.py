"""Twins of tests: the same test with one expected value changed, so that whoever passes the test fails the twin.

A program that shares a process with its test and passes both has not been tested at all: it is listed, never scored. In
Python the assertion is found in the syntax tree. In other languages it is found in the text without its literals and
comments, by its shape and place alone (twins.toml): a statement that certainly runs, of a call compared with a literal.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache

import msgspec

from viva.sandbox.separable import MOST
from viva.scorers.rubric.parsing import parse
from viva.shipped import shipped_table

Span = tuple[int, int]


class _Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of twins.toml, which explains the fields."""

    comments: tuple[str, ...]
    quotes: tuple[str, ...]
    texts: tuple[str, ...]
    refused: str
    ends: str = ""
    inside: str = ""
    blocks: tuple[tuple[str, str], ...] = ()
    raw: tuple[str, ...] = ()
    top: bool = False
    equal: str = ""
    holds: str = ""
    fails: str = ""
    then: str = ""
    modifier: str = ""
    modules: str = ""
    lists: bool = False


@cache
def _forms() -> Mapping[str, _Form]:
    return shipped_table(__file__, "twins.toml", dict[str, _Form])


def failing_twin(language: str, test: str) -> str:
    """The twin; "" where no statement that certainly runs compares a call with a plain value, or where that cannot be
    known."""
    if language == "python":
        return _python(test) if len(test) <= MOST else ""
    form = _forms().get(language)
    return _scanned(form, test) if form and len(test) <= _LONGEST_SCANNED else ""


def _python(test: str) -> str:
    tree = parse(test)
    if tree is None:
        return ""
    for statement in tree.body:
        if not isinstance(statement, ast.Assert) or not isinstance(statement.test, ast.Compare):
            continue
        compared = statement.test
        if len(compared.ops) == 1 and isinstance(compared.ops[0], ast.Eq) and _called(compared.left):
            try:
                other = _other(ast.literal_eval(compared.comparators[0]))
            except (ValueError, TypeError, MemoryError, RecursionError):
                continue
            changed = parse(repr(other))
            if changed is None or not isinstance(changed.body[0], ast.Expr):
                continue
            compared.comparators[0] = changed.body[0].value
            return ast.unparse(tree)
    return ""


def _called(node: ast.expr) -> bool:
    return any(isinstance(part, ast.Call) for part in ast.walk(node))


def _other(value: object) -> object:
    """A value that nothing equals which equals this one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value * 3 + 1_000_003
    if isinstance(value, str):
        return value + "~"
    if isinstance(value, list):
        return [*value, None]
    if isinstance(value, tuple):
        return (*value, None)
    if isinstance(value, dict):
        return {**value, "~": None}
    raise TypeError(type(value).__name__)


# --- other languages ---

_LONGEST_SCANNED = 50_000
_LONGEST_HEAD = 300
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_MORE = re.compile(r"[&|?=!<>]|\b(?:and|or|not)\b")
"""What a condition has that is more than one comparison."""
_COMPARING = re.compile(r"(?<![=!<>])(===?|!==?)(?!=)")
_NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,15})?")
_TEXT = re.compile(r"(['\"])s*\1")
_GOES_ON = re.compile(
    r"(?:\}\s*)?(?:if|for|while|else|do|try|with|unless|switch|case)\b.*[^;{}]|.*[-+*=&|,(<>.]", re.DOTALL
)
"""A line whose statement goes on with the next one."""
_TRUTHS = {"true": "false", "false": "true", "TRUE": "FALSE", "FALSE": "TRUE"}


def _scanned(form: _Form, test: str) -> str:
    text = _masked(form, test)
    if text is None or re.search(form.refused, text, re.MULTILINE):
        return ""
    pairs = _pairs(text)
    if pairs is None:
        return ""
    for start, end in _Finder(form, test, text, pairs).literals():
        return test[:start] + _changed(test[start:end]) + test[end:]
    return ""


def _masked(form: _Form, test: str) -> str | None:
    """The test with its comments blank and its texts filled with s, character by character; None where one does not
    end."""
    masked, at = list(test), 0

    def blank(start: int, end: int, filler: str) -> None:
        for place in range(start, end):
            if masked[place] != "\n" or filler == "s":
                masked[place] = filler

    while at < len(test):
        if any(test.startswith(one, at) for one in form.comments):
            end = test.find("\n", at)
            end = len(test) if end < 0 else end
            blank(at, end, " ")
        elif block := next((one for one in form.blocks if test.startswith(one[0], at)), None):
            end = test.find(block[1], at + len(block[0])) + len(block[1])
            if end < len(block[0]) + len(block[1]):
                return None
            blank(at, end, " ")
        elif test[at] in form.quotes or test[at] in form.raw:
            closed = re.compile(re.escape(test[at]) if test[at] in form.raw else rf"(?<!\\)(?:\\\\)*{test[at]}")
            found = closed.search(test, at + 1)
            if found is None:
                return None
            end = found.end()
            blank(at + 1, end - 1, "s")
        else:
            end = at + 1
        at = end
    return "".join(masked)


def _pairs(text: str) -> dict[int, int] | None:
    """Where every bracket that opens is closed; None where they do not match."""
    found: dict[int, int] = {}
    open_ones: list[int] = []
    for place, character in enumerate(text):
        if character in _CLOSING:
            open_ones.append(place)
        elif character in ")]}":
            if not open_ones or _CLOSING[text[open_ones[-1]]] != character:
                return None
            found[open_ones.pop()] = place
    return None if open_ones else found


def _around(text: str, pairs: Mapping[int, int]) -> list[int]:
    """For every character the innermost bracket that is open there; -1 where there is none."""
    ends = set(pairs.values())
    found, open_ones = [], [-1]
    for place in range(len(text)):
        if place in ends:
            open_ones.pop()
        found.append(open_ones[-1])
        if place in pairs:
            open_ones.append(place)
    return found


class _Finder:
    """Finds literals that calls are compared with, in statements that certainly run."""

    def __init__(self, form: _Form, test: str, text: str, pairs: Mapping[int, int]) -> None:
        self._form, self._text, self._pairs = form, text, pairs
        self._around = _around(text, pairs)
        roots = [found["root"] for found in re.finditer(form.modules, test)] if form.modules else []
        root = "(?:" + "|".join(map(re.escape, roots)) + ")" if roots else r"(?!)"
        self._equal, self._holds = (
            re.compile(one.replace("{root}", root)) if one else None for one in (form.equal, form.holds)
        )
        self._fails = re.compile(form.fails) if form.fails else None
        self._then = re.compile(form.then)
        self._modifier = re.compile(form.modifier, re.MULTILINE) if form.modifier else None

    def literals(self) -> Iterator[Span]:
        """Every one, in the order of the statements."""
        begins = rf"(?:^|{self._form.ends})[ \t]*(?=\S)" if self._form.ends else r"^[ \t]*(?=\S)"
        before = ""
        for found in re.finditer(begins, self._text, re.MULTILINE):
            goes_on = found[0][:1] != ";" and _GOES_ON.fullmatch(before)
            if not goes_on and self._runs(found.end(), indented=found[0][:1] in (" ", "\t")):
                yield from self._of_statement(found.end())
            end = self._text.find("\n", found.end())
            before = self._text[found.end() : end if end >= 0 else None].strip()

    def _runs(self, place: int, *, indented: bool) -> bool:
        """Whether a statement here runs if the test runs to its end."""
        brace = self._around[place]
        if brace < 0:
            return self._form.top and not indented
        before = self._text[max(0, brace - _LONGEST_HEAD) : brace]
        if not self._form.inside or not re.search(self._form.inside, before, re.MULTILINE):
            return False
        return not re.search(r"\breturn\b|\bgoto\b", self._text[brace:place])

    def _of_statement(self, place: int) -> Iterator[Span]:
        if self._equal and (found := self._equal.match(self._text, place)):
            yield from self._literal(self._parts(found.end())[:2])
        elif self._holds and (found := self._holds.match(self._text, place)):
            yield from self._compared(self._parts(found.end())[0], equal=True)
        elif self._fails and (found := self._fails.match(self._text, place)):
            start = found.end()
            bare = self._text[start] != "("
            end = self._text.find("{", start) if bare else self._pairs[start]
            if self._then.match(self._text, end + (not bare)):
                yield from self._compared((start + (not bare), end), equal=False)
        elif self._modifier and (found := self._modifier.match(self._text, place)):
            unless = found["unless"] is not None
            yield from self._compared(found.span("unless" if unless else "if"), equal=unless)

    def _parts(self, opening: int) -> list[Span]:
        """The arguments between an opening parenthesis and its end."""
        parts, start, at, end = [], opening + 1, opening + 1, self._pairs[opening]
        while at < end:
            if self._text[at] == ",":
                parts.append((start, at))
                start = at + 1
            at = self._pairs.get(at, at) + 1
        return [*parts, (start, end)]

    def _compared(self, span: Span, *, equal: bool) -> Iterator[Span]:
        """The literal in a condition, where the condition is that it equals (or does not equal) a call."""
        start, end = self._trimmed(span)
        if self._text[start:end].startswith("!"):
            equal, (start, end) = not equal, self._trimmed((start + 1, end))
            if self._text[start:end].startswith("(") and self._pairs[start] == end - 1:
                start, end = self._trimmed((start + 1, end - 1))
            elif _COMPARING.search(self._level(start, end)):
                return
        wrapped = re.match(r"isTRUE\s*(?=\()", self._text[start:end])
        if wrapped and self._pairs[start + wrapped.end()] == end - 1:
            start, end = self._trimmed((start + wrapped.end() + 1, end - 1))
        level = self._level(start, end)
        named = re.match(r"(?:identical|all\.equal)\s*(?=\()", level)
        if named and self._pairs[start + named.end()] == end - 1 and equal:
            yield from self._literal(self._parts(start + named.end())[:2])
            return
        method = re.search(r"\.(?:equals|Equals|eql\?)\s*(?=\()", level)
        if method and self._pairs[start + method.end()] == end - 1 and equal:
            if _MORE.search(level[: method.start()]):
                return
            yield from self._literal([(start, start + method.start()), (start + method.end() + 1, end - 1)])
            return
        found = list(_COMPARING.finditer(level))
        if len(found) != 1 or _MORE.search(level[: found[0].start()] + level[found[0].end() :]):
            return
        if found[0][1].startswith("=") == equal:
            yield from self._literal([(start, start + found[0].start()), (start + found[0].end(), end)])

    def _level(self, start: int, end: int) -> str:
        """A part of the text with everything in brackets blank."""
        found, at = list(self._text[start:end]), start
        while at < end:
            close = self._pairs.get(at, at)
            for place in range(at + 1, close):
                found[place - start] = " "
            at = close + 1
        return "".join(found)

    def _literal(self, sides: list[Span]) -> Iterator[Span]:
        """The literal of two sides of which the other is a call."""
        spans = [self._trimmed(side) for side in sides]
        texts = [self._text[start:end] for start, end in spans]
        for mine, other in ((1, 0), (0, 1)):
            if len(spans) == 2 and self._plain(spans[mine]) and re.search(r"[\w$\])]\s*\(", texts[other]):
                yield spans[mine]
                return

    def _plain(self, span: Span) -> bool:
        text = self._text[span[0] : span[1]]
        if self._pairs.get(span[0]) == span[1] - 1:
            return self._form.lists and text[0] != "("
        text_like = _TEXT.fullmatch(text)
        return bool(_NUMBER.fullmatch(text) or (text_like and text_like[1] in self._form.texts) or text in _TRUTHS)

    def _trimmed(self, span: Span) -> Span:
        text = self._text[span[0] : span[1]]
        return span[0] + len(text) - len(text.lstrip()), span[1] - len(text) + len(text.rstrip())


def _changed(literal: str) -> str:
    """Another value of the same kind."""
    if literal in _TRUTHS:
        return _TRUTHS[literal]
    if found := _NUMBER.fullmatch(literal):
        return repr(float(literal) * 3 + 1_000_003) if found[1] else str(int(literal) * 3 + 1_000_003)
    if literal[0] in _CLOSING:
        item = "null" if literal[0] == "[" else '"~": null'
        return f"{literal[0]}{item}{', ' if literal[1:-1].strip() else ''}{literal[1:]}"
    return f"{literal[:-1]}~{literal[-1]}"
