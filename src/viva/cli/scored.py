"""Item scores of any origin, a frame a model and exam: run folders (also a folder of runs), and tables of item scores.

What compares models with each other (`viva correlate`) or with their own past (`viva training`) reads these.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from viva.cli.exams import reopen
from viva.cli.scoretable import ModelScores, read_scores_table
from viva.engine.folder import ExamRecord, ModelRecord, RunFolder, RunRecord
from viva.errors import DataError, StorageError, VivaError
from viva.types import Layout, Line, Outcome, ScoreRow

if TYPE_CHECKING:
    import polars as pl

    from viva.analysis.training import Lines

EXAM = "exam"
"""What --by calls the headline of each exam."""
FORMAT = "format"
"""The tag that --by means where an exam has no table of models."""
WHATEVER = ""
"""What --by may be called by who can do with one column."""
PLAIN = "question"
"""What --over calls the plain mean over questions."""


class Scored(Struct, frozen=True, kw_only=True):
    """One model's scores on one exam."""

    source: Path
    """The run folder or table."""
    exam: str
    model: str
    lines: Lines
    """Column or curve → which of its answers, averaged how."""
    headline: Line
    scores: pl.DataFrame
    """As analysis.breakdown.frame makes it."""
    run: RunRecord | None = None
    """The run that it is of; None for a table."""
    record: ExamRecord | None = None
    """The exam in it."""
    opened: ModelRecord | None = None
    """The model in it; None where an earlier Viva did not say what it calls its models."""


def scored(
    sources: Sequence[Path], by: str | None, over: str | None = None, tags: Sequence[str] = ()
) -> Iterator[Scored]:
    """Everything that the sources hold, one at a time.

    `by`: a table of the exam that has a row a model, or a tag; `EXAM` for the headline alone; None for the exam's first
    such table, else the tag `format`; `WHATEVER` for these or, where there is neither, the headline alone. `over`: the
    tag whose values the headline averages first, `PLAIN` for none; None for the headline of the exam's paper (of a
    table of item scores, which knows no exam: the plain mean). `tags`: what else the scores of a table are to keep;
    those of a run keep all. Raises VivaError for what is no source, damaged, not graded, or has no such table or tag.
    """
    wanted = None if over is None else Line("mean", over="" if over == PLAIN else over)
    for source in sources:
        if source.is_dir():
            for folder in _runs(source):
                yield from _of_run(folder, by, wanted)
        else:
            yield from _of_table(source, by, wanted or Line("mean"), tags)


def _lines(scores: pl.DataFrame, by: str | None, headline: Line, tables: Sequence[Layout], where: str) -> Lines:
    """What `by` names. The exam's own table has the exam's own averages, so --over takes a tag instead."""
    from viva.analysis.training import by_table, by_tag, parts_of

    if by == EXAM:
        return {headline.label: (headline,)}
    table = next((one for one in tables if by in (None, WHATEVER, one.name)), None)
    if table is not None:
        return by_table(table)
    tags = [name.removeprefix("tag:") for name in scores.columns if name.startswith("tag:")]
    if by == WHATEVER and not parts_of(scores, FORMAT):
        return {headline.label: (headline,)}
    for option, tag in (("--by", by or FORMAT), ("--over", headline.over)):
        if tag and not parts_of(scores, tag):
            known = ", ".join([*(one.name for one in tables), *tags]) or "none"
            raise DataError(f"{option} {tag!r}: {where} has no such tag; it has: {known}")
    return by_tag(scores, by or FORMAT, headline)


def _runs(folder: Path) -> list[Path]:
    """The folder itself where it is a run, else all runs in it."""
    if (folder / "run.json").exists():
        return [folder]
    found = sorted(path.parent for path in folder.glob("*/run.json"))
    if not found:
        raise VivaError(f"{folder} is no run folder and holds none (no run.json in it)")
    return found


def _of_run(path: Path, by: str | None, wanted: Line | None) -> Iterator[Scored]:
    from viva.analysis.breakdown import frame

    record = RunFolder.open(path).record
    exams = {exam.spec.name or f"{exam.spec.benchmark}-{exam.spec.language}": exam for exam in record.exams}
    seen: set[tuple[str, str]] = set()
    for (exam, model), rows in itertools.groupby(_rows(path), key=lambda row: (row.exam, row.model)):
        if exam not in exams or (exam, model) in seen:
            raise StorageError(f"{path / 'scores.jsonl'} is damaged; `viva score {path}` makes it anew")
        seen.add((exam, model))
        own, tables = _published_averages(exams[exam])
        headline, scores = wanted or own, frame(rows)
        lines = _lines(scores, by, headline, () if wanted else tables, f"{exam} in {path}")
        yield Scored(
            source=path,
            exam=exam,
            model=model,
            lines=lines,
            headline=headline,
            scores=scores,
            run=record,
            record=exams[exam],
            opened=next((known for known in record.models if model in (known.shown, known.name)), None),
        )
    _complain_of_missing(path, record, seen)


def _rows(path: Path) -> Iterator[ScoreRow]:
    file = path / "scores.jsonl"
    decode = msgspec.json.Decoder(ScoreRow).decode
    try:
        with file.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    yield decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError) as problem:
                    raise StorageError(
                        f"{file}, line {number} is damaged ({problem}); `viva score {path}` makes it anew"
                    ) from None
    except FileNotFoundError:
        raise StorageError(f"{path} is not graded yet: `viva resume {path}`, or `viva score {path}` as it is") from None
    except OSError as problem:
        raise StorageError(f"cannot read {file}: {problem.strerror}") from None


def _complain_of_missing(path: Path, record: RunRecord, seen: set[tuple[str, str]]) -> None:
    if len(seen) < len(record.exams) * len(record.models):
        raise StorageError(
            f"{path / 'scores.jsonl'} lacks some of the {len(record.models)} models; `viva score {path}` makes it anew"
        )


Averages = tuple[Line, tuple[Layout, ...]]
_AVERAGES: dict[bytes, Averages] = {}


def _published_averages(record: ExamRecord) -> Averages:
    """The exam's headline and its tables with a row a model: the exam is opened for them, once for all runs alike."""
    key = msgspec.json.encode(record, order="deterministic")
    if key not in _AVERAGES:
        exam = reopen(record)
        _AVERAGES[key] = exam.headline(), tuple(layout for layout in exam.layouts() if layout.across)
    return _AVERAGES[key]


def _of_table(path: Path, by: str | None, headline: Line, more: Sequence[str]) -> Iterator[Scored]:
    from viva.analysis.breakdown import frame

    tag = "" if by == EXAM else by or FORMAT
    tags = tuple(dict.fromkeys(name for name in (tag, headline.over, *more) if name))
    for model, found in read_scores_table(path, tags).items():
        scores = frame(_table_rows(path.name, model, found))
        lines = _lines(scores, by, headline, (), str(path))
        yield Scored(source=path, exam=path.name, model=model, lines=lines, headline=headline, scores=scores)


def _table_rows(exam: str, model: str, found: ModelScores) -> Iterator[ScoreRow]:
    for question, values in found.scores.items():
        for sample, value in enumerate(values):
            yield ScoreRow(
                benchmark="",
                exam=exam,
                model=model,
                question=question,
                sample=sample,
                repeat=0,
                value=value,
                outcome=_outcome(value),
                answer="",
                explanation="",
                tags={tag: text for tag, text in found.tags[question].items() if text},
            )


def _outcome(value: float | None) -> Outcome:
    """A table says no more than the score: one that is missing is not the model's doing."""
    if value is None:
        return "ungraded"
    return "right" if value >= 1.0 else "partly" if value > 0.0 else "wrong"
