"""Wrappers of exams: what they do not change is the inner exam's.

Selected: an exam of listed questions only, for a cheap test with anchor questions, or a second look at some.

    viva run cmmlu --questions anchors.csv --model openai/NAME

Questions are asked in the order of the set, with the prompts, exemplars and keys that they have in the whole exam, so
answers can be reused between the two (`--reuse`). A mean over chosen questions estimates nothing by itself:
`viva item-analysis --predict` does.

Sharded: a part of an exam for one of several processes: every n-th question, asked exactly as in the whole exam.

    viva run cmmlu --model openai/NAME --shard 3/8

The k-th question of an exam (from 0) belongs to shard i of n (from 1) where k mod n is i - 1. Prompts, exemplars, keys,
fingerprint and tables are those of the whole exam, so `viva merge` makes all shards the equivalent of one run. A
shard's own mean is that of a sample of the questions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from viva.contracts import Exam
from viva.errors import DataError, VivaError, flag
from viva.types import ExamSpec, Question
from viva.visible import one_line, some

if TYPE_CHECKING:
    from typing import Any as _FromInside

    class _Exam(Exam, _FromInside):  # type: ignore[misc]
        """An exam in every method, of which a wrapper need not define those that it gets from the exam inside."""
else:
    _Exam = object


class ExamWrapper(_Exam):
    """An `Exam` that asks, grades and tabulates like the one inside; subclasses override what they change."""

    def __init__(self, inner: Exam) -> None:
        self.inner = inner
        self.spec: ExamSpec = inner.spec

    def __len__(self) -> int:
        return len(self.inner)

    def __getattr__(self, name: str) -> Any:
        """Return the attribute of the exam inside."""
        if name == "inner":  # while a copy is being made
            raise AttributeError(name)
        return getattr(self.inner, name)


_NAMED = 10


class Selected(ExamWrapper):
    """The exam inside, with the listed questions only. Raises DataError for an id that it lacks."""

    def __init__(self, inner: Exam, listed: Sequence[str], source: str = flag("questions")) -> None:
        super().__init__(inner)
        wanted = frozenset(listed)
        self._listed = [question for question in inner.questions() if question.id in wanted]
        ids = {question.id for question in self._listed}
        unknown = [name for name in listed if name not in ids]
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
        """Return the listed questions, in the order of the set."""
        return iter(self._listed)


MOST = 100_000
"""Most shards of a run, more than any queue accepts."""
_WRITTEN = re.compile(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})")


class Shard(Struct, frozen=True, order=True):
    """Shard `number` (from 1) of `of`."""

    of: int
    number: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


def read_shard(text: str) -> Shard:
    """Parse a shard such as `3/8`. Raises VivaError for anything else."""
    match = _WRITTEN.fullmatch(text)
    if match is None or not int(match[1]) <= int(match[2]) <= MOST:
        raise VivaError(
            f"{one_line(text, 40)!r}: write I/N, the number of this shard and how many there are, from 1/N to "
            f"N/N (such as 3/8; at most {MOST:,})",
            field="shard",
        )
    return Shard(int(match[2]), int(match[1]))


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
        return len(range(self.shard.number - 1, len(self.inner), self.shard.of))

    def questions(self) -> Iterator[Question]:
        """Return every n-th question of the exam inside."""
        return islice(self.inner.questions(), self.shard.number - 1, None, self.shard.of)


def unsharded(exam: Exam) -> Exam:
    """Return the exam that this one is a shard of, or the exam itself."""
    return exam.inner if isinstance(exam, Sharded) else exam
