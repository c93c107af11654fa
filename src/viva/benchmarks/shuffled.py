"""An exam whose questions come in a random order, so that those answered so far are a random draw of all.

    viva run cmmlu --shuffle --model openai/NAME

Prompts, exemplars and keys are those of the exam inside. The order is that of a keyed hash of the questions' ids: of
two exams with the same seed, what both ask comes in the same order, whatever else either asks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from viva.benchmarks.wrapper import ExamWrapper
from viva.contracts import Exam
from viva.types import Question


class Shuffled(ExamWrapper):
    """The exam inside in the order that its seed draws. Holds all questions in memory."""

    def __init__(self, inner: Exam) -> None:
        super().__init__(inner)
        key = str(inner.spec.seed).encode()

        def place(question: Question) -> bytes:
            return hashlib.blake2b(question.id.encode("utf-8", "surrogatepass"), key=key, digest_size=16).digest()

        self._shuffled = sorted(inner.questions(), key=place)

    def questions(self) -> Iterator[Question]:
        """All of them, shuffled."""
        return iter(self._shuffled)
