"""Texts as they are compared: what merely looks different made equal, and how much of one stands in another."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from viva.types import Question

_GRAM = 5
_ENOUGH = 0.6
_LONGEST = 20_000
"""Characters of a prompt that are looked at for what is merely alike."""


def bare(text: str) -> str:
    """Return a text without blanks, in one case, and with one form of every letter (NFKC)."""
    if text.isascii():
        return "".join(text.lower().split())
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def grams(text: str) -> frozenset[str]:
    """The runs of five characters; a shorter text is one."""
    return frozenset(text[at : at + _GRAM] for at in range(max(1, len(text) - _GRAM + 1))) if text else frozenset()


class QuestionOverlap:
    """How much of a question stands in a text, for messages and for ids whose text was edited; never for a match."""

    def __init__(self, questions: Iterable[Question]) -> None:
        self._questions = list(questions)
        self._grams = [grams(bare(question.text)) for question in self._questions]
        self._at = {question.id: at for at, question in enumerate(self._questions)}
        self._having: dict[str, list[int]] = {}
        for at, found in enumerate(self._grams):
            for gram in found:
                self._having.setdefault(gram, []).append(at)

    def share(self, question: Question, texts: Sequence[str]) -> float:
        """The share of a question's runs that stand in the texts, 0 to 1."""
        own = self._grams[self._at[question.id]]
        inside = frozenset[str]().union(*(grams(bare(text[:_LONGEST])) for text in texts))
        return len(own & inside) / len(own) if own else 0.0

    def nearest(self, texts: Sequence[str]) -> Question | None:
        """Return the question of which most stands in the texts, where that is more than three fifths of it."""
        counted: Counter[int] = Counter()
        for gram in frozenset[str]().union(*(grams(bare(text[:_LONGEST])) for text in texts)):
            counted.update(self._having.get(gram, ()))
        best = max(counted, key=lambda at: counted[at] / len(self._grams[at]), default=None)
        if best is None or counted[best] < _ENOUGH * len(self._grams[best]):
            return None
        return self._questions[best]
