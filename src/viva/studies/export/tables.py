"""`viva export SOURCE --to parquet|hf`: tables of a run, or of question sets."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from msgspec import Struct

from viva.benchmarks import BENCHMARKS, find_benchmark, question_file
from viva.contracts import Exam
from viva.engine.scorefile import score_rows
from viva.errors import VivaError, flag
from viva.interop.writing import tables
from viva.interop.writing.card import Card, Set, Subset, licence_of
from viva.interop.writing.tables import Names
from viva.studies.export.evaluations import ExportedRun, exported, opened_runs, without_gold
from viva.studies.export.exportformats import ExportConfig
from viva.visible import one_line


class Questions(Struct, kw_only=True):
    """An exam's questions, to be written."""

    label: str
    exam: Exam
    bundled: bool
    """Whether they are Viva's own sample."""


class Source(Struct, kw_only=True):
    """What is to be written: runs, and the questions of their exams; or sets alone."""

    runs: list[ExportedRun]
    sets: list[Questions]

    def question_names(self) -> Names:
        """Return the tags of the questions."""
        return Names.of(question for one in self.sets for question in one.exam.questions())

    def question_rows(self, names: Names, *, gold: bool) -> Iterator[dict[str, Any]]:
        """Yield the questions of every exam, each once, though several runs asked it."""
        several = len({one.label for one in self.sets}) < len(self.sets)
        seen: set[tuple[str, str]] = set()
        for one in self.sets:
            for question in one.exam.questions():
                if several and (one.label, question.id) in seen:
                    continue
                if several:
                    seen.add((one.label, question.id))
                yield tables.question_row(one.label, question if gold else without_gold(question), names)

    def answer_names(self) -> Names:
        """Return the tags, parts and aspects of the scores."""
        return Names.of(itertools.chain.from_iterable(score_rows(run.path) for run in self.runs))

    def answer_rows(self, names: Names) -> Iterator[dict[str, Any]]:
        """Yield the answers of every run."""
        for run in self.runs:
            for result in run.evaluations:
                for answer in result.answers():
                    yield tables.answer_row(result.run, answer, names)


def opened_source(config: ExportConfig, stack: ExitStack) -> Source:
    """Return runs with their questions, or sets. Raises VivaError for a mixture, and for what is neither."""
    sets = [source for source in config.sources if source in BENCHMARKS or question_file(source)]
    if not sets:
        _refuse_folders(config)
        runs = opened_runs(config, stack)
        return Source(runs=runs, sets=list(_asked(runs)))
    if len(sets) < len(config.sources):
        raise VivaError("runs and question sets make two exports: name either the one or the other")
    from viva.runs.exams import open_exams

    return Source(
        runs=[],
        sets=[
            Questions(label=exam.spec.label, exam=exam, bundled=data is None)
            for exam, data in open_exams(tuple(sets), config.choice)
        ],
    )


def _refuse_folders(config: ExportConfig) -> None:
    for source in config.sources:
        path = Path(source)
        if not path.exists():
            raise VivaError(
                f"{source!r} is no run folder, no question file (NAME.yaml) and no benchmark ({', '.join(BENCHMARKS)})"
            )
        if path.is_dir() and not (path / "run.json").exists() and (path / "build.json").exists():
            raise VivaError(
                f"{source} is no run, but a set that was built: name its benchmark, as in "
                f"`viva export syneval {flag('data')} {source} {flag('to')} hf {flag('out', 'DIR')}`"
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
                    f"these runs asked different sets as {one_line(exam.spec.label, 60)} (fingerprints "
                    f"{data[exam.spec.label]} and {record.fingerprint}): an answer would not find its question; export "
                    "them apart"
                )
            key = (exam.spec.label, record.fingerprint, record.spec.questions, record.spec.limit)
            if key not in seen:
                seen.add(key)
                yield Questions(label=exam.spec.label, exam=exam, bundled=record.data is None)


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


def export_parquet(config: ExportConfig) -> int:
    """Return a folder with scores.parquet, answers.parquet and questions.parquet; of a set the questions alone."""

    def write(stack: ExitStack, folder: Path) -> tuple[list[ExportedRun], str, Sequence[str]]:
        source = opened_source(config, stack)
        counts: dict[str, int] = {}
        for name, columns, rows in _subsets(source, gold=config.gold):
            wanted = {name: columns}
            if name == "answers":
                wanted = {"scores": _kept(tables.score_columns(source.answer_names()), gold=config.gold),
                          name: _kept(tables.answer_columns(), gold=config.gold)}  # fmt: skip
            count = tables.write_tables({folder / f"{each}.parquet": one for each, one in wanted.items()}, rows)
            counts |= dict.fromkeys(wanted, count)
        return source.runs, _counted(counts), ()

    return exported(config, "parquet", write)


def export_hf(config: ExportConfig) -> int:
    """Return a folder that `datasets.load_dataset` opens: Parquet shards, a card, Croissant metadata."""
    from viva.interop.writing.card import card_text
    from viva.interop.writing.croissant import croissant_text

    def write(stack: ExitStack, folder: Path) -> tuple[list[ExportedRun], str, Sequence[str]]:
        source = opened_source(config, stack)
        subsets: list[Subset] = []
        for name, columns, rows in _subsets(source, gold=config.gold):
            count, files = tables.write_shards(folder / name, columns, rows)
            size = sum(file.stat().st_size for file in files)
            subsets.append(Subset(name=name, columns=columns, rows=count, size=size))
        card = Card(
            evaluations=[result for run in source.runs for result in run.evaluations],
            sets=_sets(source),
            subsets=subsets,
            gold=config.gold,
        )
        (folder / "README.md").write_bytes(card_text(card).encode())
        (folder / "croissant.json").write_bytes(croissant_text(card))
        return source.runs, _counted({subset.name: subset.rows for subset in subsets}), list(card.warnings())

    return exported(config, "hf", write)


def _kept(columns: tuple[tables.Column, ...], *, gold: bool) -> tuple[tables.Column, ...]:
    return columns if gold else tables.without_gold(columns)


def _subsets(
    source: Source, *, gold: bool
) -> Iterator[tuple[str, tuple[tables.Column, ...], Iterator[dict[str, Any]]]]:
    """Name, columns and rows of one configuration of the data set."""
    if source.runs:
        names = source.answer_names()
        yield "answers", _kept(tables.whole_columns(names), gold=gold), source.answer_rows(names)
    if source.sets:
        names = source.question_names()
        yield "questions", _kept(tables.question_columns(names), gold=gold), source.question_rows(names, gold=gold)


def _sets(source: Source) -> list[Set]:
    of_runs = {one.label: one.exam for run in source.runs for one in run.evaluations}
    asked = [(one.label, one.exam.spec, len(one.exam), one.exam.fingerprint, one.bundled) for one in source.sets] or [
        (name, one.spec, one.questions, one.fingerprint, one.data is None) for name, one in of_runs.items()
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
