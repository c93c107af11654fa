"""The value of a formula, in LaTeX or plain: arithmetic, roots, powers, functions, variables. Nothing is executed.

Two formulas are the same where they have the same value at a few fixed points of their variables (Schwartz 1980, Zippel
1979: polynomials that differ agree at a random point with probability near 0).
"""

from __future__ import annotations

import cmath
import math
import random
import re
from collections.abc import Callable, Sequence
from functools import lru_cache

LONGEST = 400
"""Characters of a formula."""
_DEEPEST = 40
POINTS = 3
_CLOSE = 1e-11
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?|\.\d+)|\\(?P<command>[A-Za-z]+)|(?P<word>[A-Z]{2,10}|[A-Za-z])(?:_(?:\{(?P<low>\w{1,10})\}|(?P<one>\w)))?"
    r"|(?P<sign>[-+*/^!()\[\]{}|_]))"
)
_CONSTANTS = {"pi": cmath.pi, "infty": complex("inf")}
_FUNCTIONS: dict[str, Callable[[complex], complex]] = {
    "sin": cmath.sin, "cos": cmath.cos, "tan": cmath.tan, "arcsin": cmath.asin, "arccos": cmath.acos,
    "arctan": cmath.atan, "ln": cmath.log, "log": cmath.log, "exp": cmath.exp, "sinh": cmath.sinh,
    "cosh": cmath.cosh, "tanh": cmath.tanh, "cot": lambda x: 1 / cmath.tan(x), "sec": lambda x: 1 / cmath.cos(x),
    "csc": lambda x: 1 / cmath.sin(x),
}  # fmt: skip
_TIMES = {"cdot", "times", "ast"}


class NoFormula(Exception):  # noqa: N818 - a text that is none is compared as a text
    """A text that is no formula, or has no value."""


def same_formula(one: str, other: str, tolerance: float = 0.0) -> bool | None:
    """Whether two formulas have the same value, within `tolerance`; None where one of them is no formula."""
    try:
        for point in range(POINTS):
            found, wanted = value_at(one, point), value_at(other, point)
            if not abs(found - wanted) <= tolerance + _CLOSE * max(abs(found), abs(wanted)):
                return found == wanted  # infinities
    except NoFormula:
        return None
    return True


@lru_cache(4_096)
def value_at(text: str, point: int) -> complex:
    """The value of a formula where each variable has one that its name and the number of the point decide.

    Raises NoFormula.
    """
    if len(text) > LONGEST:
        raise NoFormula("too long")
    reader = _Reader(_tokens(text), point)
    try:
        value = reader.sum()
    except (ArithmeticError, ValueError, IndexError):
        raise NoFormula("no value") from None
    if reader.at < len(reader.tokens) or cmath.isnan(value):
        raise NoFormula("more than a formula")
    return value


def _tokens(text: str) -> list[tuple[str, str]]:
    found, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.end() == at:
            raise NoFormula(text[at : at + 10])
        if match["word"]:
            found.append(("word", match["word"] + (match["low"] or match["one"] or "")))
        else:
            kind = str(match.lastgroup)
            found.append((kind, match[kind]))
        at = match.end()
    return found


class _Reader:
    """Recursive descent over tokens; the depth is bounded."""

    def __init__(self, tokens: Sequence[tuple[str, str]], point: int) -> None:
        self.tokens, self.at, self._point, self._depth = tokens, 0, point, 0

    def _peek(self) -> tuple[str, str]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")

    def _take(self, *signs: str) -> bool:
        kind, text = self._peek()
        if kind == "sign" and text in signs:
            self.at += 1
            return True
        return False

    def sum(self) -> complex:
        """Terms with + and - between them."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise NoFormula("too deep")
        value = self._product()
        while self._peek() in (("sign", "+"), ("sign", "-")):
            value += self._product()  # which reads its sign
        self._depth -= 1
        return value

    def _product(self) -> complex:
        value = self._signed()
        while True:
            kind, text = self._peek()
            if self._take("*") or (kind == "command" and text in _TIMES):
                self.at += kind == "command"
                value *= self._signed()
            elif self._take("/") or (kind, text) == ("command", "div"):
                self.at += kind == "command"
                value /= self._signed()
            elif kind in ("word", "command") or (kind == "sign" and text in "([{"):
                value *= self._power()
            else:
                return value

    def _signed(self) -> complex:
        negative = False
        while self._peek() in (("sign", "+"), ("sign", "-")):
            negative ^= self._peek()[1] == "-"
            self.at += 1
        value = self._power()
        return -value if negative else value

    def _power(self) -> complex:
        base = self._atom()
        while self._take("!"):
            base = complex(math.factorial(_whole(base)))
        if self._take("^"):
            self._depth += 1
            if self._depth > _DEEPEST:
                raise NoFormula("too deep")
            negative = self._take("-")
            exponent = self._power() if negative else self._atom() if self._peek()[1] == "{" else self._power()
            self._depth -= 1
            return complex(base ** (-exponent if negative else exponent))
        return base

    def _atom(self) -> complex:
        kind, text = self._peek()
        self.at += 1
        if kind == "number":
            return complex(float(text))
        if kind == "word":
            return {"i": 1j, "e": cmath.e}.get(text) or self._variable(text)
        if kind == "command":
            return self._command(text)
        if text in ("(", "[", "{", "|"):
            value = self.sum()
            if not self._take({"(": ")", "[": "]", "{": "}", "|": "|"}[text]):
                raise NoFormula("a bracket is not closed")
            return complex(abs(value)) if text == "|" else value
        raise NoFormula(text)

    def _group(self) -> complex:
        """What stands in braces behind a command; without braces one digit or letter (`\\frac12`)."""
        kind, text = self._peek()
        if kind == "number" and len(text) > 1 and "." not in text:
            self.tokens = [
                *self.tokens[: self.at],
                ("number", text[0]),
                ("number", text[1:]),
                *self.tokens[self.at + 1 :],
            ]
        return self._atom()

    def _command(self, name: str) -> complex:
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if name in ("frac", "binom"):
            above, below = self._group(), self._group()
            return above / below if name == "frac" else complex(math.comb(_whole(above), _whole(below)))
        if name == "sqrt":
            return self._root()
        if name == "log" and self._take("_"):
            base = self._group()
            return cmath.log(self._power()) / cmath.log(base)
        if name in _FUNCTIONS:
            power = self._atom() if self._take("^") else 1
            return complex(_FUNCTIONS[name](self._power()) ** power)
        if re.fullmatch(
            r"(?:var)?(?:alpha|beta|gamma|delta|epsilon|theta|lambda|mu|nu|xi|rho|sigma|tau|phi|omega)", name
        ):
            return self._variable(name)
        raise NoFormula(name)

    def _root(self) -> complex:
        degree = 2 + 0j
        if self._take("["):
            degree = self.sum()
            if not self._take("]"):
                raise NoFormula("a bracket is not closed")
        inner = self._group()
        if inner.real < 0 and not inner.imag and degree.real % 2 == 1:
            return complex(-((-inner) ** (1 / degree)))
        return cmath.sqrt(inner) if degree == 2 else complex(inner ** (1 / degree))

    def _variable(self, name: str) -> complex:
        return complex(random.Random(f"{name}/{self._point}").uniform(0.3, 2.9))


def _whole(value: complex) -> int:
    """A natural number that factorials are small enough for. Raises NoFormula."""
    if value.imag or not 0 <= value.real <= 170 or value.real != int(value.real):
        raise NoFormula("no natural number")
    return int(value.real)
