"""What was read in the answers to a few questions of many: one more pass over a file of scores, for those alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from viva.analysis.comparing import Flip
from viva.benchmarks import find_benchmark
from viva.engine.scorefile import SCORES
from viva.files import lines, reading
from viva.languages import renumbered
from viva.runs.score_table import QUESTION, rows_of
from viva.studies.compare.tables import Row
from viva.studies.item_scores import ScoreSet


class _Read(Struct):
    """The few fields of a row of scores that are wanted here."""

    exam: str
    model: str
    question: str
    answer: str = ""


Told = Mapping[tuple[Path, str, str, str], Sequence[str]]
"""Source, exam, model and question → what was read. Questions also go by the number that all languages share."""


def with_readings(rows: Sequence[Row], sides: Sequence[tuple[ScoreSet, ScoreSet]]) -> Iterator[Row]:
    """Yield the rows, their flips with what was read; `sides` says whose answers each row compares."""
    wanted = defaultdict[Path, set[str]](set)
    for row, both in zip(rows, sides, strict=True):
        for one in both:
            wanted[one.source].update(flip.question for flip in (*row.gained, *row.lost))
    before = {(one.exam, one.model): _before(one) for both in sides for one in both}
    told = defaultdict[tuple[Path, str, str, str], list[str]](list)
    for source, questions in wanted.items():
        read = () if not questions else _of_run(source) if source.is_dir() else _of_table(source)
        for exam, model, question, text in read:
            for name in {question, renumbered(question, before.get((exam, model), 0))} & questions:
                told[source, exam, model, name].append(text)
    for row, both in zip(rows, sides, strict=True):
        yield replace(row, gained=_with(row.gained, both, told), lost=_with(row.lost, both, told))


def _with(flips: Sequence[Flip], both: tuple[ScoreSet, ScoreSet], told: Told) -> tuple[Flip, ...]:
    return tuple(
        replace(
            flip,
            **{
                f"{side}_read": tuple(told.get((one.source, one.exam, one.model, flip.question), ()))
                for side, one in zip(("first", "second"), both, strict=True)
            },
        )
        for flip in flips
    )


def _before(one: ScoreSet) -> int:
    """Return how many numbers come before those of the exam's questions, where other languages number them alike."""
    if one.record is None or not one.record.data:
        return 0
    return find_benchmark(one.record.spec.benchmark).about.numbering.get(one.record.spec.language, 0)


def _of_run(source: Path) -> Iterator[tuple[str, str, str, str]]:
    decode = msgspec.json.Decoder(_Read).decode
    with reading(source / SCORES) as content:
        for line in lines(content, source / SCORES):
            row = decode(line)
            yield row.exam, row.model, row.question, row.answer


def _of_table(source: Path) -> Iterator[tuple[str, str, str, str]]:
    """A table need not say what was read; what is no text is left out."""
    for _, row in rows_of(source):
        question = next((str(row[name]) for name in QUESTION if name in row), "")
        if isinstance(text := row.get("answer"), str):
            yield source.name, str(row.get("model", source.name)), question, text
