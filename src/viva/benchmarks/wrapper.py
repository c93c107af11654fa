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
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from viva.contracts import Exam
from viva.errors import DataError, VivaError, flag
from viva.types import ExamSpec, Question
from viva.visible import one_line, some

if TYPE_CHECKING:  # what it does not do itself, an exam around another one has from that one
    from typing import Any as _Exam
else:
    _Exam = object


class ExamWrapper(_Exam):  # type: ignore[misc]
    """An `Exam` that asks, grades and tabulates as the one inside; a way of asking overrides what it does otherwise."""

    def __init__(self, inner: Exam) -> None:
        self.inner = inner
        self.spec: ExamSpec = inner.spec

    def __len__(self) -> int:
        return len(self.inner)

    def __getattr__(self, name: str) -> Any:
        """Return what the exam inside has."""
        if name == "inner":  # of a copy in the making
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
        """Return every n-th of the exam inside."""
        return islice(self.inner.questions(), self.shard.number - 1, None, self.shard.of)


def unsharded(exam: Exam) -> Exam:
    """Return the exam that this one is a shard of; itself where it is none."""
    return exam.inner if isinstance(exam, Sharded) else exam
