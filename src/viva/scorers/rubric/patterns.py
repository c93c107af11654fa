"""Regular expressions from strangers, on texts from strangers: Python's syntax and meaning, in bounded time.

Python's own engine cannot be stopped, so the `regex` package does the matching, with a time limit. What differs between
the two is taken out on the way: the pattern is read token by token, everything that Python's syntax does not have is
refused, and what means something else to the other engine is rewritten.

    \\s \\w \\b              Python's white space and word characters, spelt out
    [[:alpha:]]  a{e<=1}   plain characters, no POSIX class and no fuzzy match

Differences that stay: `\\S` and `\\W` inside a character class follow the other engine (they differ on the control
characters U+001C to U+001F, on `²` and `½`, and on combining accents); look-behind may have any width, references may
point forward, a group's name may come twice; `\\B` matches an empty text; the Unicode tables are newer. Verbose
patterns and locale flags are refused.

Bounded before compiling: length, nesting, counted repetition (`(a{1,1000}){1000}`). Bounded while searching: time.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

from viva.errors import VivaError

if TYPE_CHECKING:
    import regex

SECONDS: Final = 0.5
"""CPU time that one search may take."""
MAX_LENGTH: Final = 5_000
"""Characters of a pattern. The longest published one has 146."""
MAX_WRITTEN: Final = 20_000
"""Characters after rewriting."""
MAX_NESTING: Final = 50
"""Groups inside groups."""
MAX_REPEAT: Final = 10_000
"""Counted repetition, the counts of nested groups multiplied."""

_TOKEN = re.compile(
    r"""
      (?P<name>\\N\{[^{}]*\})
    | (?P<escape>\\.)
    | (?P<set>\[\^?+\]?+(?:[^\]\\]|\\.)*\])
    | (?P<flags>\(\?[aimsu]+\))
    | (?P<whole>\(\?(?:P=[^()]*|\#[^)]*)\))
    | (?P<open>\((?:\?(?:[:=!>]|<[=!]|P<[^<>()]*>|\([^()]*\)|[ims]*-?[ims]+:)|(?![?*])))
    | (?P<close>\))
    | (?P<repeat>(?:[*+?]|\{(?:(?P<low>\d+)(?P<comma>,(?P<high>\d*))?|,(?P<most>\d*))\})[?+]?)
    | (?P<plain>[^\\\[(])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = frozenset("AZbBdDsSwWafnrtvxuU0123456789")
_SET_ESCAPES = frozenset("bdDsSwWafnrtvxuU0123456789")
_NAME = re.compile(r"\\N\{[^{}]*\}")
_CLASSES = frozenset({r"\d", r"\D", r"\s", r"\S", r"\w", r"\W"})
"""Escapes that stand for many characters, so that they cannot end a range."""
_ANCHORS = frozenset({"^", "$", r"\A", r"\Z", r"\b", r"\B"})
_SPACE = r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_WORD = r"\p{L}\p{N}_"
_REWRITTEN = {
    r"\s": f"[{_SPACE}]",
    r"\S": f"[^{_SPACE}]",
    r"\w": f"[{_WORD}]",
    r"\W": f"[^{_WORD}]",
    r"\b": f"(?:(?<=[{_WORD}])(?![{_WORD}])|(?<![{_WORD}])(?=[{_WORD}]))",
    r"\B": f"(?:(?<=[{_WORD}])(?=[{_WORD}])|(?<![{_WORD}])(?![{_WORD}]))",
}
_REWRITTEN_IN_SET = {r"\s": _SPACE, r"\w": _WORD}


class PatternError(VivaError):
    """A regular expression that is malformed, too large, or takes too long on a text."""


def search(pattern: str, text: str, *, ignore_case: bool = False) -> bool:
    """Return whether the pattern matches somewhere in the text, like `re.search`.

    Raises PatternError for a pattern that cannot be compiled, or that takes longer than `SECONDS` on this text.
    """
    return _matches("search", pattern, text, ignore_case)


def fullmatch(pattern: str, text: str, *, ignore_case: bool = False) -> bool:
    """Return whether the pattern matches the whole text, like `re.fullmatch`. Raises like `search`."""
    return _matches("fullmatch", pattern, text, ignore_case)


def _matches(how: Literal["search", "fullmatch"], pattern: str, text: str, ignore_case: bool) -> bool:
    compiled = _compile(pattern, ignore_case)
    try:
        return getattr(compiled, how)(text, timeout=SECONDS) is not None
    except (TimeoutError, MemoryError):
        raise PatternError(
            f"the pattern {_shown(pattern)} takes more than {SECONDS} s on a text of {len(text):,} characters: "
            "make it unambiguous, for instance without a repetition inside a repetition"
        ) from None


def compile_error(pattern: str) -> str:
    """Return what is wrong with a pattern, in a sentence; "" if nothing is."""
    try:
        _compile(pattern, False)
    except PatternError as error:
        return str(error)
    return ""


def _shown(pattern: str) -> str:
    return repr(pattern if len(pattern) <= 80 else pattern[:79] + "…")


@lru_cache(maxsize=1024)
def _compile(pattern: str, ignore_case: bool) -> regex.Pattern[str]:
    import regex

    reader = _Reader(pattern)
    flags = regex.VERSION0 | (regex.IGNORECASE if ignore_case else 0)
    try:
        return regex.compile(reader.read(), flags, cache_pattern=False)
    except regex.error as error:
        position = getattr(error, "pos", None)
        place = "" if position is None else f" at character {reader.place(position) + 1}"
        what = getattr(error, "msg", "not a regular expression")
        raise PatternError(f"the pattern {_shown(pattern)} is malformed: {what}{place}") from None
    except (OverflowError, RecursionError, MemoryError, ValueError) as error:
        raise PatternError(f"the pattern {_shown(pattern)} cannot be compiled: {error}") from None


class _Reader:
    """Reads a pattern of Python's syntax once, and writes it for the other engine."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.ascii = False
        self.flags_end = 0
        self.written = ""
        self.origins: list[int] = []
        """Where each character of it comes from in the pattern."""
        self.counts = [1]
        """For each open group the largest repetition inside it, the outermost first."""
        self.last = 1
        """The repetition inside the last item."""
        self.anchored = False
        """Whether the last item is a place, which cannot be repeated."""

    def place(self, position: int) -> int:
        """Return the position in the pattern of a position in what was written."""
        return (self.origins[: position + 1] or [0])[-1]

    def read(self) -> str:
        """Return the pattern for the other engine. Raises PatternError."""
        if len(self.pattern) > MAX_LENGTH:
            raise PatternError(
                f"the pattern {_shown(self.pattern)} has {len(self.pattern):,} characters; {MAX_LENGTH:,} are allowed"
            )
        at = 0
        while at < len(self.pattern):
            token = _TOKEN.match(self.pattern, at)
            if token is None:
                raise self._refused(at)
            self._bound(token)
            piece = self._translated(token)
            self.written += piece
            self.origins += [at] * len(piece)
            if len(self.written) > MAX_WRITTEN:
                raise self._wrong(at, "too many character classes and word boundaries")
            at = token.end()
        if len(self.counts) > 1:
            raise self._wrong(at, "missing )")
        return self.written

    def _bound(self, token: re.Match[str]) -> None:
        """Keep count of groups and repetition."""
        at, kind = token.start(), token.lastgroup
        if kind == "open":
            self.counts.append(1)
            if len(self.counts) > MAX_NESTING + 1:
                raise self._wrong(at, f"groups are nested more than {MAX_NESTING} deep")
        elif kind == "close":
            if len(self.counts) == 1:
                raise self._wrong(at, "unbalanced parenthesis")
            self.last = self.counts.pop()
        elif kind == "repeat":
            if self.anchored:
                raise self._wrong(at, "nothing to repeat")
            self.last *= _count(token)
            if self.last > MAX_REPEAT:
                raise self._wrong(at, f"repetition of more than {MAX_REPEAT:,}, nested counts multiplied")
        else:
            self.last = 1
        self.anchored = token.group() in _ANCHORS
        self.counts[-1] = max(self.counts[-1], self.last)

    def _translated(self, token: re.Match[str]) -> str:
        whole = token.group()
        match token.lastgroup:
            case "escape":
                if whole[1].isascii() and whole[1].isalnum() and whole[1] not in _ESCAPES:
                    raise self._wrong(token.start(), f"bad escape {whole}")
                return whole if self.ascii else _REWRITTEN.get(whole, whole)
            case "set":
                return self._set(whole, token.start())
            case "flags":
                if token.start() != self.flags_end:
                    raise self._wrong(token.start(), "global flags not at the start")
                self.flags_end = token.end()
                self.ascii = self.ascii or "a" in whole
                return whole
            case "plain" if whole in "{]}":
                return "\\" + whole
            case _:
                return whole

    def _set(self, whole: str, start: int) -> str:
        """Return a character class, with what the other engine would take for a POSIX class or a set inside a set
        escaped.
        """
        head = 2 if whole.startswith("[^") else 1
        bracket = whole[head] == "]"
        pieces, at = [whole[:head] + "\\]" * bracket], head + bracket
        low = ""
        """The item before, if a range may begin with it."""
        dash = False
        while at < len(whole) - 1:
            name = _NAME.match(whole, at)
            item = name.group() if name else whole[at : at + 2] if whole[at] == "\\" else whole[at]
            if item[0] == "\\" and item[1].isascii() and item[1].isalnum() and item[1] not in _SET_ESCAPES and not name:
                raise self._wrong(start + at, f"bad escape {item}")
            if (item in _CLASSES and dash) or (item == "-" and low in _CLASSES and at + 2 < len(whole)):
                raise self._wrong(start + at, "bad character range")
            if item == "-" and low and not dash:
                dash = True
            else:
                low = "" if dash else item
                dash = False
            at += len(item)
            if item == "[":
                item = "\\["
            pieces.append(item if self.ascii else _REWRITTEN_IN_SET.get(item, item))
        return "".join(pieces) + "]"

    def _refused(self, at: int) -> PatternError:
        rest = self.pattern[at:]
        if rest[0] == "[":
            return self._wrong(at, "unterminated character set")
        if rest[0] == "\\":
            return self._wrong(at, "bad escape (end of pattern)")
        if rest.startswith("(*"):
            return self._wrong(at + 1, "nothing to repeat")
        return self._wrong(at, f"{rest[:4]!r} is not supported")

    def _wrong(self, at: int, what: str) -> PatternError:
        return PatternError(f"the pattern {_shown(self.pattern)} is malformed: {what}, at character {at + 1}")


def _count(token: re.Match[str]) -> int:
    """Return how often a repetition copies its item at most; 1 for those that only loop."""
    if len(token["high"] or token["most"] or token["low"] or "") > 6:
        return MAX_REPEAT + 1
    return max(1, int(token["high"] or token["most"] or token["low"] or 1))
