"""Regular expressions from strangers, on texts from strangers: Python's syntax and meaning, in bounded time.

Python's own engine cannot be stopped, so the `regex` package does the matching, with a time limit. Python's parser
rejects invalid patterns; what means something else to the other engine is rewritten.

    \\s \\w \\b              Python's white space and word characters, spelt out
    [[:alpha:]]  a{e<=1}   plain characters, no POSIX class and no fuzzy match

Differences that stay: `\\S` and `\\W` inside a character class follow the other engine (they differ on the control
characters U+001C to U+001F, on `²` and `½`, and on combining accents); look-behind may have any width, references may
point forward, a group's name may come twice; `\\B` matches an empty text; the Unicode tables are newer. Verbose
patterns and locale flags are refused.

Bounded before compiling: length and counted repetition (`(a{1,1000}){1000}`). Bounded while searching: time.
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from re import _parser  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any, Final, Literal

from viva.errors import VivaError

if TYPE_CHECKING:
    import regex

SECONDS: Final = 0.5
"""CPU time that one search may take."""
MAX_LENGTH: Final = 5_000
"""Characters of a pattern. The longest published one has 146."""
MAX_WRITTEN: Final = 20_000
"""Characters after rewriting."""
MAX_REPEAT: Final = 10_000
"""Most counted repetitions, the counts of nested groups multiplied."""

_ESCAPE = r"\\N\{[^{}]*\}|\\."
_DIFFERENT = re.compile(
    rf"(?P<escape>{_ESCAPE})|(?P<set>\[\^?\]?(?:{_ESCAPE}|[^\]\\])*\])"
    r"|\(\?\#[^)]*\)|\{(?:\d+(?:,\d*)?|,\d*)\}|(?P<bare>[{\]}])",
    re.DOTALL,
)
"""Parts that may need rewriting; comments and repetitions are skipped."""
_OF_A_SET = re.compile(rf"{_ESCAPE}|(?<!\A)\[|(?<=\A\[)\]|(?<=\A\[\^)\]", re.DOTALL)
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
    """Return in a sentence what is wrong with a pattern, or ""."""
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

    if len(pattern) > MAX_LENGTH:
        raise PatternError(f"the pattern {_shown(pattern)} has {len(pattern):,} characters; {MAX_LENGTH:,} are allowed")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            tree = _parser.parse(pattern)
        flags = tree.state.flags
        if flags & re.VERBOSE:
            raise PatternError(f"the pattern {_shown(pattern)} is verbose, which is not supported")
        if _repetition(tree) > MAX_REPEAT:
            raise PatternError(
                f"the pattern {_shown(pattern)} has a repetition of more than {MAX_REPEAT:,}, nested counts multiplied"
            )
        written = pattern if flags & re.ASCII else _DIFFERENT.sub(_rewritten, pattern)
        if len(written) > MAX_WRITTEN:
            raise PatternError(f"the pattern {_shown(pattern)} has too many character classes and word boundaries")
        return regex.compile(written, regex.VERSION0 | (regex.IGNORECASE if ignore_case else 0), cache_pattern=False)
    except re.error as error:
        place = "" if error.pos is None else f", at character {error.pos + 1}"
        raise PatternError(f"the pattern {_shown(pattern)} is malformed: {error.msg}{place}") from None
    except regex.error as error:
        raise PatternError(f"the pattern {_shown(pattern)} is malformed: {error}") from None
    except (OverflowError, RecursionError, MemoryError, ValueError) as error:
        raise PatternError(f"the pattern {_shown(pattern)} cannot be compiled: {error}") from None


def _repetition(part: Any) -> int:
    """Return the most copies that a part of a parsed pattern makes; 1 where repetition is a loop."""
    if not isinstance(part, (tuple, list, _parser.SubPattern)):
        return 1
    inside = max(map(_repetition, part), default=1)
    match part:
        case (int(least), int(most), _parser.SubPattern()):
            return inside * max(1, least if most is _parser.MAXREPEAT else most)
    return inside


def _rewritten(match: re.Match[str]) -> str:
    if match["escape"]:
        return _REWRITTEN.get(match["escape"], match["escape"])
    if match["set"]:
        return _OF_A_SET.sub(_in_a_set, match["set"])
    return "\\" + match["bare"] if match["bare"] else match[0]


def _in_a_set(match: re.Match[str]) -> str:
    """Return a part of a character class, escaping what the other engine would read as a nested class."""
    return "\\" + match[0] if len(match[0]) == 1 else _REWRITTEN_IN_SET.get(match[0], match[0])
