"""How much of a prompt is its original: copied questions are in every model's training data, so they are paraphrased.

Only prose counts: code may have to stay as it is. Compared are runs of words, in lower case, without punctuation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from viva.build.stackexchange.plaintext import prose

RUN = 4
"""Words of a piece that is looked for in the original."""
COPIED = 0.6
"""Share of pieces found in the original from which on a prompt counts as a copy."""
CLOSE = 0.3
"""The share from which on it is told that a prompt is close to its original."""
_PRIME, _FACTOR = (1 << 61) - 1, 1_000_003
_WORD = re.compile(r"[^\W_]+(?:['.+#-][^\W_]+)*")


class SharedText(Struct, frozen=True):
    """`share`: of the prompt's runs of four words, those that the original has too (0 to 1). `longest`: words of the
    longest run that both have. `words`: of the prompt."""

    share: float
    longest: int
    words: int

    def __str__(self) -> str:
        return f"{self.share:.0%} of its runs of {RUN} words are the original's, the longest run has {self.longest}"


def words(text: str) -> list[str]:
    """Return the words of a text's prose, in lower case."""
    return _WORD.findall(prose(text).casefold())


def shared_text(prompt: str, original: str) -> SharedText:
    """Return how much of a prompt is its original's. A prompt of fewer than four words is compared as one piece."""
    mine, theirs = words(prompt), words(original)
    longest = _longest(mine, theirs)
    if len(mine) < RUN:
        return SharedText(float(bool(mine) and longest == len(mine)), longest, len(mine))
    pieces = _runs(mine, RUN)
    there = set(_runs(theirs, RUN))
    return SharedText(sum(piece in there for piece in pieces) / len(pieces), longest, len(mine))


def _runs(found: Sequence[str], length: int) -> list[tuple[str, ...]]:
    return [tuple(found[at : at + length]) for at in range(len(found) - length + 1)]


def _longest(mine: Sequence[str], theirs: Sequence[str]) -> int:
    """Return words of the longest run in common: whoever shares a run shares all shorter ones, so halving finds it."""
    codes = {word: code for code, word in enumerate(dict.fromkeys([*mine, *theirs]), start=1)}
    ours, others = [codes[word] for word in mine], [codes[word] for word in theirs]
    low, high = 0, min(len(mine), len(theirs))
    while low < high:
        middle = (low + high + 1) // 2
        if _prints(ours, middle) & _prints(others, middle):
            low = middle
        else:
            high = middle - 1
    return low


def _prints(codes: Sequence[int], length: int) -> set[int]:
    """Return a number for each run of so many words, the same for the same words (Rabin and Karp): runs themselves
    would take as much memory as the square of a long text.
    """
    top = pow(_FACTOR, length, _PRIME)
    found: set[int] = set()
    value = 0
    for at, code in enumerate(codes):
        value = (value * _FACTOR + code) % _PRIME
        if at >= length:
            value = (value - codes[at - length] * top) % _PRIME
        if at >= length - 1:
            found.add(value)
    return found
