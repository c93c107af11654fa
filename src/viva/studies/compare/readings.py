"""What was read in the answers to a few questions of many: one more pass over a file of scores, for those alone."""

from __future__ import annotations

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

Answerer = tuple[str, str]
"""(exam, model) in a run; ("", model) in a table."""


class _Read(Struct):
    """The few fields of a row of scores that are wanted here."""

    exam: str
    model: str
    question: str
    answer: str = ""


def with_readings(rows: Sequence[Row], sides: Sequence[tuple[ScoreSet, ScoreSet]]) -> Iterator[Row]:
    """Yield the rows, their flips with what was read; `sides` says whose answers each row compares."""
    wanted: dict[Path, set[str]] = {}
    for row, both in zip(rows, sides, strict=True):
        questions = {flip.question for flip in (*row.gained, *row.lost)}
        for one in both if questions else ():
            wanted.setdefault(one.source, set()).update(questions)
    before = {_answerer(one): _before(one) for both in sides for one in both}
    read = {source: _read(source, questions, before) for source, questions in wanted.items()}
    for row, both in zip(rows, sides, strict=True):
        mine, other = (read.get(one.source, {}).get(_answerer(one), {}) for one in both)
        yield replace(row, gained=_with(row.gained, mine, other), lost=_with(row.lost, mine, other))


def _with(flips: Sequence[Flip], mine: Mapping[str, list[str]], other: Mapping[str, list[str]]) -> tuple[Flip, ...]:
    return tuple(
        replace(flip, first_read=tuple(mine.get(flip.question, ())), second_read=tuple(other.get(flip.question, ())))
        for flip in flips
    )


def _answerer(one: ScoreSet) -> Answerer:
    return (one.exam, one.model) if one.source.is_dir() else ("", one.model)


def _before(one: ScoreSet) -> int:
    """Return how many numbers come before those of the exam's questions, where other languages number them alike."""
    if one.record is None or not one.record.data:
        return 0
    return find_benchmark(one.record.spec.benchmark).about.numbering.get(one.record.spec.language, 0)


def _read(source: Path, questions: set[str], before: Mapping[Answerer, int]) -> dict[Answerer, dict[str, list[str]]]:
    """Answerer → question → what was read. Questions also go by the number that all languages share."""
    found: dict[Answerer, dict[str, list[str]]] = {}
    for answerer, question, text in _of_run(source) if source.is_dir() else _of_table(source):
        names = {question, renumbered(question, before.get(answerer, 0))}
        for name in names & questions:
            found.setdefault(answerer, {}).setdefault(name, []).append(text)
    return found


def _of_run(source: Path) -> Iterator[tuple[Answerer, str, str]]:
    decode = msgspec.json.Decoder(_Read).decode
    with reading(source / SCORES) as content:
        for line in lines(content, source / SCORES):
            row = decode(line)
            yield (row.exam, row.model), row.question, row.answer


def _of_table(source: Path) -> Iterator[tuple[Answerer, str, str]]:
    """A table need not say what was read; what is no text is left out."""
    for _, row in rows_of(source):
        text = row.get("answer")
        if not isinstance(text, str):
            continue
        question = next((str(row[name]) for name in QUESTION if name in row), "")
        yield ("", str(row.get("model", source.name))), question, text
