"""Which questions of CS-Bench's languages are the same.

The published test sets hold the same 2,183 questions four times, numbered through. The Chinese one is in the order of
the English one: question n there is n + 2,419 here, and all agree in subfield, format, and gold of choices and
assertions. The German and the French one are shuffled, each in its own way, and no id or position says which is which.
What a translation keeps does (`build.pairing`: the letters of 1,331 of 1,331 German and 1,327 of 1,329 French choices
agree), but that is an inference, wrong for a pair or two: it serves to check a translation. Scores are compared by
numbers only, so between these and the others by means.
"""

from __future__ import annotations

from collections.abc import Mapping

from viva.languages import renumbered
from viva.types import Language

NUMBERING: Mapping[Language, int] = {"en": 0, "zh": 2419}
"""Languages whose questions have one numbering → the English test and validation questions that come before it."""


def english_number(question: str, language: Language) -> str:
    """The number that a question of the published set has in English; its own where that is not known."""
    return renumbered(question, NUMBERING.get(language, 0))
