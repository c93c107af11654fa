"""What exams have in common that leave something out: no judge, no encoder, no sandbox, nothing for an expert."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from viva.contracts import Exam
from viva.types import Compare, Evidence, Execute, Generate, Kind, Opinion, Question, Response, ReviewItem

_CONSTANTS = 5
"""Golds of a kind that are tried as a constant answer."""


class NoExecution:
    """The part of `Exam` about programs, for exams whose answers are none."""

    def executions(self, question: Question, response: Response) -> tuple[Execute, ...]:
        """Nothing is run: no answer is a program."""
        return ()


class NoSimilarity:
    """The part of `Exam` about similarity, for exams that do without."""

    def comparisons(self, question: Question, response: Response) -> tuple[Compare, ...]:
        """No encoder is needed."""
        return ()


class NoDesign:
    """The part of `Exam` about designs, for exams that ask a question in one way."""

    def variant(self, question: Question, sample: int) -> Question:
        """The question itself."""
        return question


class GradedByRule(NoExecution, NoSimilarity, NoDesign):
    """The part of `Exam` about everybody else, for exams where a rule grades every answer."""

    def constants(self: Exam) -> Mapping[Kind, Sequence[str]]:
        """The most frequent golds."""
        counts: dict[Kind, Counter[str]] = {}
        for question in self.questions():
            if question.answer and question.kind != "open":
                counts.setdefault(question.kind, Counter())[question.answer] += question.weight
        return {kind: tuple(gold for gold, _ in golds.most_common(_CONSTANTS)) for kind, golds in counts.items()}

    def judgements(
        self, question: Question, response: Response, samples: int, similarities: Mapping[str, float]
    ) -> tuple[Generate, ...]:
        """None: every answer is graded by rule."""
        return ()

    def readable(self, question: Question, opinion: Opinion) -> bool:
        """No judge is asked."""
        return True

    def mark(self, question: Question, opinion: Opinion) -> float | None:
        """No judge is asked."""
        return None

    def drafts(self, question: Question, response: Response, evidence: Evidence) -> tuple[ReviewItem, ...]:
        """Nothing is left to an expert's judgement."""
        return ()
