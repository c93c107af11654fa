"""Which questions of CS-Bench's languages are the same.

The published test sets hold the same 2,183 questions four times, numbered through. The Chinese one is in the order of
the English one: question n there is n + 2,419 here, and all agree in subfield, format, and gold of choices and
assertions. The German and the French one are shuffled, each in its own way, and nothing in the files says which is
which: between these and the others only means can be compared.
"""

from __future__ import annotations

from viva.types import Language

_CHINESE = 2419
"""English test and validation questions: the numbers before the first Chinese one."""
IN_ORDER: tuple[Language, ...] = ("en", "zh")
"""Languages whose questions have one numbering."""


def english_number(question: str, language: Language) -> str:
    """The number that a question of the published set has in English; its own where that is not known."""
    if language != "zh" or not question.isascii() or not question.isdecimal():
        return question
    return str(int(question) - _CHINESE)
