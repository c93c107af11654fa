"""What exams have in common that leave something out: no judge, no encoder, no sandbox, nothing for an expert."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from fractions import Fraction

from viva.contracts import Exam
from viva.prompting import Templates
from viva.types import Compare, Constant, Evidence, Execute, Generate, Kind, Opinion, Question, Response, ReviewItem


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


class FromTemplates:
    """The part of `Exam` about prompts, for exams that ask a question in one way, in the words of their `_texts`."""

    _texts: Templates

    @property
    def templates(self) -> Mapping[str, object]:
        """The templates in use."""
        return self._texts.data

    @property
    def exemplar_golds(self) -> Mapping[str, Mapping[str, int]]:
        """No exemplars are shown, or others with each question."""
        return {}

    def variant(self, question: Question, sample: int) -> Question:
        """Return the question itself."""
        return question


class GradedByRule(NoExecution, NoSimilarity, FromTemplates):
    """The part of `Exam` about everybody else, for exams where a rule grades every answer."""

    def constant(self: Exam) -> Constant | None:
        """Return the gold of each kind that scores most; one that counts in part is wrong. None where scores have
        parts.
        """
        headline, sizes = self.headline(), Counter[str]()
        for question in self.questions():
            if question.answer is not None:
                sizes[question.tags.get(headline.over, "")] += question.weight
        shares: dict[Kind, dict[str, Fraction]] = {}
        for question in self.questions():
            if question.answer and question.kind not in ("open", "blank"):  # a judge compares
                golds = shares.setdefault(question.kind, defaultdict(Fraction))
                size = sizes[question.tags.get(headline.over, "")] * len(sizes)
                golds[question.answer] += Fraction(question.weight, size)
        if headline.part or not shares:
            return None
        best = {kind: max(golds, key=golds.__getitem__) for kind, golds in shares.items()}
        return Constant(answers=best, score=float(sum(shares[kind][best[kind]] for kind in best)))

    def judgements(
        self, question: Question, response: Response, samples: int, similarities: Mapping[str, float]
    ) -> tuple[Generate, ...]:
        """Return none: every answer is graded by rule."""
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
