"""What people answered, as answers to the questions of a set: the human reference points of InfiBench's Table 6.

One file a reference: the accepted answer, the answer with most votes, and the ten with most votes, of which the best
counts. What was answered is HTML of strangers; it is given as a model would give it, Markdown with fenced code.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from viva.build.stackexchange.kit import fenced, question_id
from viva.build.stackexchange.plaintext import plain
from viva.build.stackexchange.pool import PoolAnswer, PoolQuestion
from viva.errors import DataError
from viva.files import write_whole

TEN = 10
"""People's answers of which the best counts, as ten answers of a model."""


class HumanAnswer(Struct, frozen=True):
    """A line of a file of answers: the answer to a question, as `viva grade` reads it."""

    question: str
    sample: int
    text: str


def _accepted(question: PoolQuestion) -> Sequence[PoolAnswer]:
    return [answer for answer in question.answers if answer.id == question.accepted]


REFERENCES: dict[str, tuple[Callable[[PoolQuestion], Sequence[PoolAnswer]], int]] = {
    "accepted": (_accepted, 1),
    "top-voted": (lambda question: question.answers[:1], 1),
    "best-of-ten": (lambda question: question.answers[:TEN], TEN),
}
"""File → which answers of a question, and how many samples it has."""


def human_answers(pool: Iterable[PoolQuestion], wanted: Collection[str]) -> dict[str, list[HumanAnswer]]:
    """Return the lines of each file, for the questions of a set (`wanted`: their ids).

    A question that fewer than ten people answered has empty answers for the others: they earn nothing, and none of them
    is the best. Raises DataError where the pool has none of the questions.
    """
    asked = [question for question in pool if question_id(question) in wanted]
    if not asked:
        raise DataError("the pool holds none of the set's questions: name the project that the set was exported from")
    found: dict[str, list[HumanAnswer]] = {}
    for name, (chosen, samples) in REFERENCES.items():
        rows = found.setdefault(name, [])
        for question in asked:
            texts = [fenced(plain(answer.body)) for answer in chosen(question)]
            texts += [""] * (samples - len(texts))
            rows += [HumanAnswer(question_id(question), sample, text) for sample, text in enumerate(texts)]
    return found


def write_human_answers(folder: Path, found: dict[str, list[HumanAnswer]]) -> list[Path]:
    """Write a file a reference into a new or empty folder, or over such files. Raises StorageError."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, rows in found.items():
        paths.append(folder / f"{name}.jsonl")
        write_whole(paths[-1], msgspec.json.Encoder().encode_lines(rows))
    return paths
