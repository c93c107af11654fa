"""An exam around another exam: what it does not change is the inner one's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from viva.contracts import ContextWindow, Exam
from viva.types import (
    NOTHING,
    Aggregate,
    Compare,
    Constant,
    Defect,
    Evidence,
    ExamSpec,
    Execute,
    Generate,
    Opinion,
    Question,
    Request,
    Response,
    ReviewItem,
    Sampling,
    Score,
    TableSpec,
)


class ExamWrapper:
    """An `Exam` that asks, grades and tabulates as the one inside; a way of asking overrides what it does otherwise."""

    def __init__(self, inner: Exam) -> None:
        self._inner = inner
        self.spec: ExamSpec = inner.spec
        self.fingerprint = inner.fingerprint

    @property
    def defects(self) -> Sequence[Defect]:
        """Those of the exam inside."""
        return self._inner.defects

    @property
    def templates(self) -> Mapping[str, object]:
        """Those of the exam inside."""
        return self._inner.templates

    @property
    def exemplar_golds(self) -> Mapping[str, Mapping[str, int]]:
        """Those of the exam inside."""
        return self._inner.exemplar_golds

    def __len__(self) -> int:
        return len(self._inner)

    def questions(self) -> Iterator[Question]:
        """Those of the exam inside."""
        return self._inner.questions()

    def request(
        self, question: Question, sample: int, sampling: Sampling, context_window: ContextWindow | None = None
    ) -> Request:
        """The prompt of the exam inside."""
        return self._inner.request(question, sample, sampling, context_window)

    def constant(self) -> Constant | None:
        """That of the exam inside."""
        return self._inner.constant()

    def variant(self, question: Question, sample: int) -> Question:
        """As the exam inside."""
        return self._inner.variant(question, sample)

    def executions(self, question: Question, response: Response) -> tuple[Execute, ...]:
        """What the exam inside runs."""
        return self._inner.executions(question, response)

    def comparisons(self, question: Question, response: Response) -> tuple[Compare, ...]:
        """What the exam inside compares."""
        return self._inner.comparisons(question, response)

    def judgements(
        self, question: Question, response: Response, samples: int, similarities: Mapping[str, float]
    ) -> tuple[Generate, ...]:
        """What the exam inside has judged."""
        return self._inner.judgements(question, response, samples, similarities)

    def readable(self, question: Question, opinion: Opinion) -> bool:
        """As the exam inside."""
        return self._inner.readable(question, opinion)

    def mark(self, question: Question, opinion: Opinion) -> float | None:
        """As the exam inside."""
        return self._inner.mark(question, opinion)

    def score(self, question: Question, response: Response, evidence: Evidence = NOTHING) -> Score:
        """As the exam inside."""
        return self._inner.score(question, response, evidence)

    def drafts(self, question: Question, response: Response, evidence: Evidence) -> tuple[ReviewItem, ...]:
        """As the exam inside."""
        return self._inner.drafts(question, response, evidence)

    def layouts(self) -> tuple[TableSpec, ...]:
        """The tables of the exam inside."""
        return self._inner.layouts()

    def headline(self) -> Aggregate:
        """That of the exam inside."""
        return self._inner.headline()
