"""Two replies side by side: which words only one of them has, and which both have."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from msgspec import Struct

LONGEST_COMPARED = 2_000
"""Words of a reply that are compared; the rest is shown without marks."""
_WORD = re.compile(r"[^\W\d_]+|\d+|[^\w\s]|_")

Spans = list[tuple[int, int]]


class Compared(Struct, frozen=True):
    """Parts (start, end) of two texts that are only in one of them, in its order, or in both."""

    only: tuple[Spans, Spans]
    both: tuple[Spans, Spans]

    @property
    def alike(self) -> bool:
        """Whether most of the two is the same, so that what differs is worth a mark; else what is the same is."""
        same, different = (
            sum(end - start for spans in pair for start, end in spans) for pair in (self.both, self.only)
        )
        return same >= different


def compare_words(first: str, second: str) -> Compared:
    """Compare two texts by words, numbers and signs.

    difflib's popular words (over one per cent of 200 and more) begin no match, which also bounds the time.
    """
    known, other = ([(one.start(), one.end()) for one in _WORD.finditer(text)] for text in (first, second))
    known, other = known[:LONGEST_COMPARED], other[:LONGEST_COMPARED]
    blocks = SequenceMatcher(
        None, [first[a:b] for a, b in known], [second[a:b] for a, b in other]
    ).get_matching_blocks()  # the last one is empty, at the ends
    found = Compared(([], []), ([], []))
    at = to = 0
    for block in blocks:
        same = known[block.a : block.a + block.size]
        if same and not any(first[start].isalnum() for start, _ in same):
            continue  # a bracket between two changes is part of them
        _add(found.only[0], known[at : block.a])
        _add(found.only[1], other[to : block.b])
        _add(found.both[0], same)
        _add(found.both[1], other[block.b : block.b + block.size])
        at, to = block.a + block.size, block.b + block.size
    return found


def _add(found: Spans, words: Spans) -> None:
    if words:
        found.append((words[0][0], words[-1][1]))
