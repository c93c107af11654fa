"""The letter in the sentence that closes a reply, where no rule for plain statements applies.

"This is precisely the strategy that D proposes." says nothing that a list of phrases could hold; what gives it away is
where it stands: a finished reply ends in one option, pointed at. As evidence this is weak, so everything that could
mean something else is turned down: a second letter, a denial, a doubt, a comparison, letters that name things.
"""

from __future__ import annotations

import re

from viva.scorers.candidates import Candidate, Firmness
from viva.scorers.lexicon import pattern, unaccented
from viva.scorers.mentions import Marked

RULE = "option in the closing sentence"
_REACH = 60
"""Tokens that a closing sentence may have."""
_FINISHED = re.compile(r"(?:(?<!\.)[.!]|[)\]\"'}])$")
_UNSURE = re.compile(r"[!hix?~]")
_NEXT = re.compile(r"O?(?:$|[.n,r)&:\-]|[+NVcf](?![LP])|=[fd]{0,3}[+N])")


def _pattern(role: str) -> re.Pattern[str]:
    """Return a list of `phrases.toml` as a pattern."""
    return pattern("phrases.toml", rf"(?<![a-z])<{role}>(?![a-z])", 0)


def found_in(role: str, text: str) -> re.Match[str] | None:
    """Return where a phrase of the list occurs in a folded text."""
    return _pattern(role).search(unaccented(text.lower()))


def finished(text: str) -> bool:
    """Return whether a folded text ends as finished texts do, not in the middle of a sentence or with an ellipsis."""
    return _FINISHED.search(text.rstrip()[-3:].rstrip("*_ ")) is not None


def last_sentence(kinds: str) -> tuple[int, int]:
    """Return the tokens of the last sentence, without the stop."""
    end = len(kinds.rstrip(".n"))
    return max(kinds.rfind(stop, 0, end) for stop in ".n?") + 1, end


def concluded(marked: Marked) -> Candidate | None:
    """Return the option that the closing sentence points at."""
    kinds = marked.kinds
    start, end = last_sentence(kinds)
    alone = start < 3 and not kinds.endswith("=P", start, end)
    if end - start > _REACH or alone or kinds.startswith("?", end - 1):
        return None
    at = [index for index in range(start, end) if kinds[index] in "LPM" or _introduced(marked, index, start, end)]
    named = {letter for index in at for letter in marked.letters(index)}
    if len(named) != 1 or not (finished(marked.text) or at[-1] == end - 1):
        return None
    letter = named.pop()
    first = 0 if kinds[at[-1]] == "l" else start  # letters that name things: process A, node B
    others = [index for index in range(first + 1, end) if kinds[index] == "l" and kinds[index - 1] in "wl#"]
    if _UNSURE.search(kinds, start, end) or not {*others} <= {*at}:
        return None
    if found_in("comparison", marked.said(start, end)) or not any(_points(marked, index, start, end) for index in at):
        return None
    return Candidate(letter, Firmness.STATED, RULE, at[-1], marked.span(start, end))


def _introduced(marked: Marked, index: int, start: int, end: int) -> bool:
    """Return whether a letter that looks like a name stands right behind or before words that an option is given in."""
    if marked.kinds[index] != "l" or not marked.said(index, index + 1).isupper():
        return False
    left, right = (unaccented(marked.said(*part).lower()) for part in ((start, index), (index + 1, end)))
    before = [match.end() for match in _pattern("conclusive").finditer(left)]
    return bool((before and before[-1] >= len(left)) or _pattern("conclusive_after").match(right))


def _points(marked: Marked, index: int, start: int, end: int) -> bool:
    """Return whether the sentence leads up to this letter, or says of it what is said of an answer."""
    kinds, left = marked.kinds, marked.said(start, index)
    before = found_in("conclusive", left)
    if found_in("conclusive_after", marked.said(index + 1, end)) and not re.search(r"[LPM]", kinds[index + 1 : end]):
        return True
    if before and len(left) - before.end() <= 60 and _NEXT.match(kinds, index + 1):
        return True
    named = kinds[index - 1 : end] == "=P" and marked.said(index, index + 1).isupper()  # "The metal that fits is (H)."
    return kinds[index] == "l" or named
