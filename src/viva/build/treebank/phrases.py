"""Tidy phrases, and compare them word by word, ignoring punctuation attached to words."""

from __future__ import annotations

import re
from functools import lru_cache

from viva.build.treebank.tree import WORDS

_EDGES = ",;:-– "
_WORD_EDGES = ".,;:!?\"'`()[]{}“”‘’-–"
_PAIRS = {")": "(", "]": "[", "}": "{"}
_PAIRED = re.compile(r'["()\[\]{}]')


@lru_cache(maxsize=4096)
def tidy_text(text: str) -> str:
    """Remove punctuation at the edges, and quotation marks and brackets without a partner.

    Returns "" for a clitic verb ("'s").
    """
    orphans = _orphans(text) if _PAIRED.search(text) else ()
    if orphans:
        text = "".join(character for index, character in enumerate(text) if index not in orphans)
    while True:
        tidied = text.strip().strip(_EDGES)
        if tidied.startswith('"') and tidied.endswith('"') and tidied.count('"') == 2:
            tidied = tidied[1:-1]
        if tidied == text:
            return "" if text.lower() in WORDS["clitics"] else text
        text = tidied


def _orphans(text: str) -> set[int]:
    """Return the positions of quotation marks and brackets without a partner."""
    orphans: set[int] = set()
    quote: int | None = None
    brackets: list[int] = []
    for index, character in enumerate(text):
        if character == '"':
            opens = index == 0 or text[index - 1] in " ([{-"
            if opens and quote is not None:
                orphans.add(quote)
            if opens:
                quote = index
            elif quote is None:
                orphans.add(index)
            else:
                quote = None
        elif character in "([{":
            brackets.append(index)
        elif character in _PAIRS:
            if brackets and text[brackets[-1]] == _PAIRS[character]:
                brackets.pop()
            elif not text[:index].rpartition(" ")[2].isdigit():  # but keep "1) reduced volatility"
                orphans.add(index)
    return orphans.union(brackets, () if quote is None else (quote,))


@lru_cache(maxsize=8192)
def bare(text: str) -> str:
    """Return the words alone, lower-cased, with a space before, between and after them, for substring search."""
    words = [word.strip(_WORD_EDGES) for word in text.lower().split() if word not in WORDS["no_word"]]
    return f" {' '.join(word for word in words if word)} "


def overlap(left: str, other: str) -> bool:
    """Return whether one phrase contains the other, word by word."""
    first, second = bare(left), bare(other)
    return first in second or second in first


def times(phrase: str, sentence: str) -> int:
    """Count a phrase's occurrences in a sentence, word by word."""
    wanted, text = bare(phrase), bare(sentence)
    count, start = 0, text.find(wanted)
    while start >= 0:
        count, start = count + 1, text.find(wanted, start + 1)
    return count
