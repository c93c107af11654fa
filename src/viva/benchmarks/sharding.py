"""A part of an exam for one of several processes: every n-th question, asked exactly as in the whole exam.

    viva run cmmlu --model openai/NAME --shard 3/8

The k-th question of an exam (from 0) belongs to shard i of n (from 1) where k mod n is i - 1. Prompts, exemplars, keys,
fingerprint and tables are those of the whole exam, so `viva merge` makes of all shards what one run would have been. A
shard's own mean is one of a sample of the questions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from viva.benchmarks.wrapper import ExamWrapper
from viva.contracts import Exam
from viva.errors import VivaError
from viva.types import Question
from viva.visible import one_line

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
    """`3/8`. Raises VivaError for what is no shard."""
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

    @property
    def inner(self) -> Exam:
        """The whole exam."""
        return self._inner

    def __len__(self) -> int:
        return len(range(self.shard.number - 1, len(self._inner), self.shard.of))

    def questions(self) -> Iterator[Question]:
        """Every n-th of the exam inside."""
        return islice(self._inner.questions(), self.shard.number - 1, None, self.shard.of)


def unsharded(exam: Exam) -> Exam:
    """The exam that this one is a shard of; itself where it is none."""
    return exam.inner if isinstance(exam, Sharded) else exam
