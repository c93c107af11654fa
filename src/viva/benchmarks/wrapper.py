"""An exam around another exam: what it does not change is the inner one's.

An exam of listed questions only: a cheap re-examination with anchor questions, or a second look at some.

    viva run cmmlu --questions anchors.csv --model openai/NAME

Questions are asked in the order of the set, with the prompts, exemplars and keys that they have in the whole exam, so
answers of one can be taken over by the other (`--reuse`). A mean over chosen questions estimates nothing by itself:
`viva item-analysis --predict` does.

A part of an exam for one of several processes: every n-th question, asked exactly as in the whole exam.

    viva run cmmlu --model openai/NAME --shard 3/8

The k-th question of an exam (from 0) belongs to shard i of n (from 1) where k mod n is i - 1. Prompts, exemplars, keys,
fingerprint and tables are those of the whole exam, so `viva merge` makes of all shards what one run would have been. A
shard's own mean is one of a sample of the questions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from msgspec import Struct

from viva.contracts import ContextWindow, Exam
from viva.errors import DataError, VivaError, flag
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
from viva.visible import one_line, some


class ExamWrapper:
    """An `Exam` that asks, grades and tabulates as the one inside; a way of asking overrides what it does otherwise."""

    def __init__(self, inner: Exam) -> None:
        self._inner = inner
        self.spec: ExamSpec = inner.spec
        self.fingerprint = inner.fingerprint

    @property
    def inner(self) -> Exam:
        """The exam inside."""
        return self._inner

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
        """Return those of the exam inside."""
        return self._inner.questions()

    def request(
        self, question: Question, sample: int, sampling: Sampling, context_window: ContextWindow | None = None
    ) -> Request:
        """Return the prompt of the exam inside."""
        return self._inner.request(question, sample, sampling, context_window)

    def constant(self) -> Constant | None:
        """That of the exam inside."""
        return self._inner.constant()

    def variant(self, question: Question, sample: int) -> Question:
        """As the exam inside."""
        return self._inner.variant(question, sample)

    def executions(self, question: Question, response: Response) -> tuple[Execute, ...]:
        """Return what the exam inside runs."""
        return self._inner.executions(question, response)

    def comparisons(self, question: Question, response: Response) -> tuple[Compare, ...]:
        """Return what the exam inside compares."""
        return self._inner.comparisons(question, response)

    def judgements(
        self, question: Question, response: Response, samples: int, similarities: Mapping[str, float]
    ) -> tuple[Generate, ...]:
        """Return what the exam inside has judged."""
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
        """Return the tables of the exam inside."""
        return self._inner.layouts()

    def headline(self) -> Aggregate:
        """That of the exam inside."""
        return self._inner.headline()


_NAMED = 10


class Selected(ExamWrapper):
    """The exam inside, with the listed questions only. Raises DataError for an id that it lacks."""

    def __init__(self, inner: Exam, listed: Sequence[str], source: str = flag("questions")) -> None:
        super().__init__(inner)
        wanted = frozenset(listed)
        self._listed = [question for question in inner.questions() if question.id in wanted]
        found = {question.id for question in self._listed}
        unknown = [name for name in listed if name not in found]
        if unknown:
            named = some([repr(one_line(name, 60)) for name in unknown], _NAMED)
            first = next(iter(inner.questions()), None)
            like = f"; its ids look like {one_line(first.id, 60)!r}" if first else ""
            raise DataError(
                f"{source}: {inner.spec.benchmark} ({inner.spec.language}) has no question {named} with "
                f"these options{like}"
            )

    def __len__(self) -> int:
        return len(self._listed)

    def questions(self) -> Iterator[Question]:
        """Return those listed, in the order of the set."""
        return iter(self._listed)


MOST = 100_000
"""Shards of a run: more than any queue takes."""
_WRITTEN = re.compile(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})")


class Shard(Struct, frozen=True, order=True):
    """Shard `number` (from 1) of `of`."""

    of: int
    number: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


def read_shard(text: str) -> Shard:
    """Return `3/8`. Raises VivaError for what is no shard."""
    found = _WRITTEN.fullmatch(text)
    if found is None or not int(found[1]) <= int(found[2]) <= MOST:
        raise VivaError(
            f"{one_line(text, 40)!r}: write I/N, the number of this shard and how many there are, from 1/N to "
            f"N/N (such as 3/8; at most {MOST:,})",
            field="shard",
        )
    return Shard(int(found[2]), int(found[1]))


class Sharded(ExamWrapper):
    """The exam inside, with one shard's questions only. Raises VivaError where some shard would have none."""

    def __init__(self, inner: Exam) -> None:
        super().__init__(inner)
        self.shard = read_shard(inner.spec.shard)
        if self.shard.of > len(inner):
            raise VivaError(
                f"{self.shard}: {inner.spec.label} has {len(inner):,} questions with these options, so there "
                f"can be at most {len(inner):,} shards",
                field="shard",
            )

    def __len__(self) -> int:
        return len(range(self.shard.number - 1, len(self._inner), self.shard.of))

    def questions(self) -> Iterator[Question]:
        """Return every n-th of the exam inside."""
        return islice(self._inner.questions(), self.shard.number - 1, None, self.shard.of)


def unsharded(exam: Exam) -> Exam:
    """Return the exam that this one is a shard of; itself where it is none."""
    return exam.inner if isinstance(exam, Sharded) else exam
