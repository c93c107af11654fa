"""The value of a formula, in LaTeX or plain: arithmetic, roots, powers, functions, variables. Nothing is executed.

Rational numbers are exact. Formulas with variables are the same where they have the same value at a few fixed points
(Schwartz 1980, Zippel 1979: polynomials that differ agree at a random point with probability near 0). At the last point
variables are negative, so that |x| is not x; it does not count where a formula has no real value there.
"""

from __future__ import annotations

import cmath
import math
import random
import re
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

LONGEST = 400
"""Characters of a formula."""
POINTS = 4
CLOSE = 1e-11
"""Relative tolerance for irrational numbers."""
_DEEPEST = 40
_MOST_BITS = 20_000
"""Bits of an exact number; 2,000! has 19,053."""
Value = Fraction | complex
_FUNCTIONS: dict[str, Callable[[complex], complex]] = {
    **{name: getattr(cmath, name) for name in ("sin", "cos", "tan", "exp", "sinh", "cosh", "tanh")},
    **{f"arc{name}": getattr(cmath, f"a{name}") for name in ("sin", "cos", "tan")},
    "ln": cmath.log, "log": cmath.log, "lg": cmath.log10, "cot": lambda x: 1 / cmath.tan(x),
    "sec": lambda x: 1 / cmath.cos(x), "csc": lambda x: 1 / cmath.sin(x),
}  # fmt: skip
_CONSTANTS = {"pi": cmath.pi, **dict.fromkeys(("infinity", "infty", "inf"), math.inf), "i": 1j, "e": cmath.e}
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:\\overline\s*\{\d+\})?)"
    rf"|(?P<name>\\?(?:{'|'.join(sorted(_FUNCTIONS, reverse=True))}|frac|binom|sqrt|pi|infinity|infty|inf|alpha|beta"
    "|gamma|delta|(?:var)?(?:epsilon|theta|phi)|lambda|mu|nu|xi|rho|sigma|tau|psi|omega))"
    r"|(?P<word>[A-Z]{2,10}|[A-Za-z])(?:_(?:\{(?P<low>\w{1,10})\}|(?P<one>\w)))?"
    r"|(?P<sign>[-+*/^!()\[\]{}|_]|\\cdot|\\times))"
)
_BINDS = {"+": 1, "-": 1, "": 2, "*": 2, "/": 2, "^": 3, "!": 3}
_CLOSING = {"(": ")", "[": "]", "{": "}", "|": "|"}


class NoFormula(Exception):  # noqa: N818 - a text that is none is compared as a text
    """A text that is no formula, or has no value."""


@lru_cache(8_192)
def values_of(text: str) -> tuple[Value | None, ...] | None:
    """Return the values of a formula at `POINTS` points, where each variable has a value that its name and the point
    decide.

    The last is None where the formula has no real value for negative variables; all are where the text is no formula.
    """
    values: list[Value | None] = []
    try:
        tokens = _tokens(text)
        for point in range(POINTS):
            reader = _Reader(tokens, point)
            values.append(reader.whole())
            if not reader.varies:
                return tuple(values * POINTS)
    except NoFormula:
        return (*values, None) if len(values) == POINTS - 1 else None
    return tuple(values)


def close(left: Value, other: Value, tolerance: float = 0.0) -> bool:
    """Return whether two values are the same, within `tolerance`; rational numbers exactly."""
    if left == other:
        return True
    if isinstance(left, Fraction) and isinstance(other, Fraction):
        return abs(left - other) <= tolerance
    try:
        most = max(abs(complex(left)), abs(complex(other)))
        return most < math.inf and abs(complex(left) - complex(other)) <= tolerance + CLOSE * most
    except OverflowError:
        return False


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens, place = list[tuple[str, str]](), 0
    text = text.rstrip()
    if len(text) > LONGEST:
        raise NoFormula("too long")
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise NoFormula(text[place : place + 10])
        kind = "word" if match["word"] else str(match.lastgroup)
        token = match[kind] + (match["low"] or match["one"] or "")
        tokens.append((kind, "*" if len(token) > 1 and kind == "sign" else token))
        place = match.end()
    return tokens


class _Reader:
    """Operator precedence over tokens (Pratt 1973); the depth is bounded."""

    def __init__(self, tokens: list[tuple[str, str]], point: int) -> None:
        self.varies = False
        self._tokens, self._at, self._point, self._depth = tokens, 0, point, 0

    def whole(self) -> Value:
        """Return the value of all tokens. Raises NoFormula."""
        try:
            value = self._value(0)
        except (ArithmeticError, ValueError):
            raise NoFormula("no value") from None
        self._check_real(value.imag and -1)
        if self._at < len(self._tokens) or value != value:  # noqa: PLR0124 - not a number
            raise NoFormula("more than a formula")
        return value

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._at] if self._at < len(self._tokens) else ("end", "")

    def _take(self, signs: str) -> str:
        """Return the next token where it is of these signs; else ""."""
        kind, text = self._peek()
        taken = kind == "sign" and text in signs
        self._at += taken
        return text if taken else ""

    def _value(self, least: int) -> Value:
        """Return the value of an operand and of the operators behind it that bind more than `least`."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise NoFormula("too deep")
        sign = self._take("+-")
        value = self._value(_BINDS["*"]) if sign else self._atom()
        value = -value if sign == "-" else value
        while True:
            kind, text = self._peek()
            operator = "" if kind in ("word", "name") or text in ("(", "[", "{") else text
            if _BINDS.get(operator, 0) <= least or kind == "end":
                break
            self._at += len(operator)
            value = self._applied(operator, value)
            if isinstance(value, Fraction) and _bits(value) > _MOST_BITS:
                raise NoFormula("too large")
        self._depth -= 1
        return value

    def _applied(self, operator: str, value: Value) -> Value:
        if operator == "!":
            return _factorial(value)
        if operator == "^":
            return self._raised(value, self._atom() if self._peek()[1] == "{" else self._value(_BINDS["*"]))
        other = self._value(_BINDS[operator])
        match operator:
            case "+":
                return value + other
            case "-":
                return value - other
            case "/":
                return value / other
        return value * other

    def _raised(self, base: Value, exponent: Value) -> Value:
        if isinstance(exponent, Fraction) and exponent.denominator == 1:
            if isinstance(base, Fraction) and abs(exponent) * _bits(base) > _MOST_BITS:
                raise NoFormula("too large")
            power: Value = base**exponent.numerator
            return power
        self._check_real(base)
        return complex(base) ** complex(exponent)

    def _check_real(self, value: Value) -> None:
        """Raise NoFormula at the point of negative variables for what has several roots and logarithms."""
        if self._point == POINTS - 1 and self.varies and value.real < 0:
            raise NoFormula("no real value")

    def _atom(self) -> Value:
        kind, text = self._peek()
        self._at += 1
        if kind == "number":
            return _decimal(text)
        if kind == "word":
            return self._named(text)
        if kind == "name":
            return self._command(text.lstrip("\\"), latex=text.startswith("\\"))
        if text not in _CLOSING:
            raise NoFormula(text)
        value = self._value(0)
        if not self._take(_CLOSING[text]):
            raise NoFormula("a bracket is not closed")
        return value if text != "|" else abs(value) if isinstance(value, Fraction) else abs(complex(value))

    def _group(self, latex: bool) -> Value:
        """Read a command's argument: in LaTeX a single digit if it has no braces (`\\frac12`), else a whole number."""
        kind, text = self._peek()
        if latex and kind == "number" and text[1:].isdigit():
            self._tokens[self._at : self._at + 1] = [(kind, text[0]), (kind, text[1:])]
        return self._atom()

    def _command(self, name: str, *, latex: bool) -> Value:
        if name in ("frac", "binom"):
            above, below = self._group(latex), self._group(latex)
            if name == "frac":
                return above / below
            return _factorial(above) / (_factorial(below) * _factorial(above - below))
        if name == "sqrt":
            degree = self._value(0) if self._take("[") else Fraction(2)
            self._take("]")
            inner = self._group(latex)
            odd = -1 if not inner.imag and inner.real < 0 and degree.real % 2 == 1 else 1
            return odd * self._raised(odd * inner, 1 / degree)
        if name not in _FUNCTIONS:
            return self._named(name)
        base = self._group(latex) if self._take("_") else cmath.e
        power = self._value(_BINDS["*"]) if self._take("^") else 1
        argument = self._argument()
        if power == -1:
            name, power = f"arc{name}", 1
        return (_FUNCTIONS[name](complex(argument)) / cmath.log(complex(base))) ** complex(power)

    def _argument(self) -> Value:
        """Read a function's argument: the content of brackets, else all factors up to a sign (`\\sin 2x`)."""
        bracket = self._peek()[1] in _CLOSING
        value = self._value(_BINDS["*"])
        while not bracket and self._peek()[1].lstrip("\\") not in _FUNCTIONS and self._peek()[0] in ("word", "name"):
            value *= self._value(_BINDS["*"])
        return value

    def _named(self, name: str) -> Value:
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        self.varies = True
        value = random.Random(f"{name}/{self._point}").uniform(0.3, 2.9)
        return -value if self._point == POINTS - 1 else value


def _decimal(text: str) -> Fraction:
    """Return the value of digits, perhaps with a repeating period: `0.1\\overline{6}` is 1/6."""
    digits, _, period = text.rstrip("}").partition("\\overline")
    value = Fraction(digits.rstrip("."))
    if not period:
        return value
    period = period.strip(" {")
    behind = len(digits.partition(".")[2])
    return value + Fraction(int(period), (10 ** len(period) - 1) * 10**behind)


def _factorial(value: Value) -> Value:
    """Return the factorial; of what is no natural number Euler's function, where that is real."""
    if isinstance(value, Fraction) and value.denominator == 1 and 0 <= value <= 2_000:
        return Fraction(math.factorial(int(value)))
    if value.imag:
        raise NoFormula("no factorial")
    return complex(math.gamma(value.real + 1))


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())
