"""Texts that share most of their words, found without comparing every two."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

THRESHOLD = 0.8
"""Shared words among all words of two texts (Jaccard), from which on they are told."""


def words(text: str) -> list[str]:
    """The words and numbers of a text in lower case, and its other signs; a CJK character is a word."""
    return re.findall(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+|[^\w\s.,;:?!'\"()]", text.casefold())


def near_duplicates(texts: Sequence[str], threshold: float = THRESHOLD) -> Iterator[tuple[int, int, float]]:
    """Pairs of positions and how alike they are. Texts that differ in a number are told apart: exercises vary them.

    Two sets that are so alike share one of their rarest words (prefix filtering), so only those are compared.
    """
    found = [frozenset(words(text)) for text in texts]
    frequency = Counter(word for each in found for word in each)
    numbers = [tuple(sorted(word for word in each if any(c.isdigit() for c in word))) for each in found]
    at: defaultdict[str, list[int]] = defaultdict(list)
    for index, each in enumerate(found):
        if len(each) < 4:
            continue
        rare = sorted(each, key=lambda word: (frequency[word], word))
        prefix = rare[: len(each) - math.ceil(threshold * len(each)) + 1]
        for other in sorted({other for word in prefix for other in at[word]}):
            alike = len(each & found[other]) / len(each | found[other])
            if alike >= threshold and numbers[index] == numbers[other]:
                yield other, index, alike
        for word in prefix:
            at[word].append(index)
