"""`viva export SOURCE --to parquet|hf`: tables of a run, or of question sets."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from viva.benchmarks import BENCHMARKS, find_benchmark, question_file
from viva.contracts import Exam
from viva.errors import VivaError, flag
from viva.interop.writing import tables
from viva.interop.writing.card import Card, Set, Subset, licence_of
from viva.interop.writing.tables import Names
from viva.runs.scorefile import score_rows
from viva.studies.export.evaluations import ExportedRun, Source, without_gold
from viva.studies.export.exportformats import Written
from viva.visible import one_line


class Questions(Struct, kw_only=True):
    """An exam's questions, to export."""

    label: str
    exam: Exam
    bundled: bool
    """Whether they are the sample shipped with Viva."""


def _questions(source: Source) -> list[Questions]:
    """Return the questions of the sets, or of the runs, which are opened. Raises VivaError for a mixture, and for
    sources that are neither.
    """
    sources = source.config.sources
    sets = tuple(name for name in sources if name in BENCHMARKS or question_file(name))
    if not sets:
        for name in sources:
            _refuse_folder(name)
        source.evaluations()
        return list(_asked(source.runs))
    if len(sets) < len(sources):
        raise VivaError("runs and question sets make two exports: name either the one or the other")
    from viva.runs.exams import open_exams

    opened = open_exams(sets, source.config.choice)
    return [Questions(label=exam.spec.label, exam=exam, bundled=data is None) for exam, data in opened]


def _refuse_folder(name: str) -> None:
    path = Path(name)
    if not path.exists():
        raise VivaError(
            f"{name!r} is no run folder, no question file (NAME.yaml) and no benchmark ({', '.join(BENCHMARKS)})"
        )
    if path.is_dir() and not (path / "run.json").exists() and (path / "build.json").exists():
        raise VivaError(
            f"{name} is no run, but a set that was built: name its benchmark, as in "
            f"`viva export syneval {flag('data')} {name} {flag('to')} hf {flag('out', 'DIR')}`"
        )


def _asked(runs: list[ExportedRun]) -> Iterator[Questions]:
    """Yield the exams of the runs, each set of questions once. Raises VivaError for two sets under one name."""
    seen: set[tuple[str, str, tuple[str, ...], int | None]] = set()
    data: dict[str, str] = {}
    for run in runs:
        if run.read.opened_run is None:
            continue
        for exam, record in zip(run.read.opened_run.exams, run.read.folder.record.exams, strict=True):
            if data.setdefault(exam.spec.label, record.fingerprint) != record.fingerprint:
                raise VivaError(
                    f"these runs asked different sets as {one_line(exam.spec.label)} (fingerprints "
                    f"{data[exam.spec.label]} and {record.fingerprint}): an answer would not find its question; export "
                    "them apart"
                )
            key = (exam.spec.label, record.fingerprint, record.spec.questions, record.spec.limit)
            if key not in seen:
                seen.add(key)
                yield Questions(label=exam.spec.label, exam=exam, bundled=record.data is None)


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


def write_parquet(source: Source, folder: Path) -> Written:
    """Write scores.parquet, answers.parquet and questions.parquet; for a set only the last."""
    counts: dict[str, int] = {}
    for name, columns, rows in _subsets(source, _questions(source)):
        wanted = {name: columns}
        if name == "answers":
            wanted = {
                "scores": _kept(source, tables.score_columns(_answer_names(source))),
                name: _kept(source, tables.answer_columns()),
            }
        count = tables.write_tables({folder / f"{each}.parquet": shown for each, shown in wanted.items()}, rows)
        counts |= dict.fromkeys(wanted, count)
    return _counted(counts), ()


def write_hf(source: Source, folder: Path) -> Written:
    """Write a data set for `datasets.load_dataset`: Parquet shards, a card, Croissant metadata."""
    from viva.interop.writing.card import card_text
    from viva.interop.writing.croissant import croissant_text

    questions = _questions(source)
    subsets: list[Subset] = []
    for name, columns, rows in _subsets(source, questions):
        count, files = tables.write_shards(folder / name, columns, rows)
        size = sum(file.stat().st_size for file in files)
        subsets.append(Subset(name=name, columns=columns, rows=count, size=size))
    card = Card(
        evaluations=[result for run in source.runs for result in run.evaluations],
        sets=_sets(source, questions),
        subsets=subsets,
        gold=source.config.gold,
    )
    (folder / "README.md").write_bytes(card_text(card).encode())
    (folder / "croissant.json").write_bytes(croissant_text(card))
    return _counted({subset.name: subset.rows for subset in subsets}), list(card.warnings())


def _kept(source: Source, columns: tuple[tables.Column, ...]) -> tuple[tables.Column, ...]:
    return columns if source.config.gold else tables.without_gold(columns)


def _answer_names(source: Source) -> Names:
    """Return the tags, parts and aspects of the scores."""
    return Names.of(itertools.chain.from_iterable(score_rows(run.path) for run in source.runs))


def _subsets(
    source: Source, sets: Sequence[Questions]
) -> Iterator[tuple[str, tuple[tables.Column, ...], Iterator[dict[str, Any]]]]:
    """Yield name, columns and rows of each configuration of the data set."""
    if source.runs:
        names = _answer_names(source)
        yield (
            "answers",
            _kept(source, tables.whole_columns(names)),
            (
                tables.answer_row(result.run, answer, names)
                for run in source.runs
                for result in run.evaluations
                for answer in result.answers()
            ),
        )
    if sets:
        names = Names.of(question for each in sets for question in each.exam.questions())
        yield (
            "questions",
            _kept(source, tables.question_columns(names)),
            _question_rows(sets, names, gold=source.config.gold),
        )


def _question_rows(sets: Sequence[Questions], names: Names, *, gold: bool) -> Iterator[dict[str, Any]]:
    """Yield the questions of every exam, each once, though several runs asked it."""
    several = len({each.label for each in sets}) < len(sets)
    seen: set[tuple[str, str]] = set()
    for each in sets:
        for question in each.exam.questions():
            if several and (each.label, question.id) in seen:
                continue
            if several:
                seen.add((each.label, question.id))
            yield tables.question_row(each.label, question if gold else without_gold(question), names)


def _sets(source: Source, questions: Sequence[Questions]) -> list[Set]:
    of_runs = {each.label: each.exam for run in source.runs for each in run.evaluations}
    asked = [
        (question.label, question.exam.spec, len(question.exam), question.exam.fingerprint, question.bundled)
        for question in questions
    ] or [
        (name, opened.spec, opened.questions, opened.fingerprint, opened.data is None)
        for name, opened in of_runs.items()
    ]
    return [
        Set(
            label=label,
            about=find_benchmark(spec.benchmark).about,
            language=spec.language,
            questions=questions,
            fingerprint=fingerprint,
            bundled=bundled,
            licence=licence_of(spec.benchmark, bundled=bundled),
        )
        for label, spec, questions, fingerprint, bundled in asked
    ]
