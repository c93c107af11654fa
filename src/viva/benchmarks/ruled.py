"""What exams have in common whose answers a rule grades: no judge is asked, and nothing is run."""

from __future__ import annotations

from viva.types import Execute, Generate, Question, Response


class GradedByRule:
    """The part of `Exam` about judges and programs, for exams that need neither."""

    def judgements(self, question: Question, response: Response, samples: int) -> tuple[Generate, ...]:
        """None: every answer is graded by rule."""
        return ()

    def readable(self, question: Question, verdict: str) -> bool:
        """No judge is asked."""
        return True

    def executions(self, question: Question, response: Response) -> tuple[Execute, ...]:
        """Nothing is run: no answer is a program."""
        return ()
