"""Item scores by model and exam, from any source: run folders (also a folder of runs), and tables of item scores.

Input of studies that compare models (`viva correlate`) or checkpoints (`viva training`).
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
from msgspec import UNSET, Struct

from viva.analysis.breakdown import frame
from viva.analysis.columns import Columns
from viva.analysis.estimate import Estimate
from viva.analysis.multiplicity import Correction
from viva.analysis.training import Lines, by_rows, by_table, by_tag, measured, parts_of
from viva.engine.folder import ExamRecord, ModelRecord, RunFolder, RunRecord
from viva.errors import DataError, VivaError
from viva.fields import note
from viva.runs.exams import reopen
from viva.runs.progress import Mode, notify
from viva.runs.score_table import CLUSTER, ModelScores, read_scores_table
from viva.runs.scorefile import Averages, averages_of, refuse_adaptive, rows_by_evaluation, runs_in
from viva.types import NOT_ASKED, Aggregate, Outcome, ScoreRow, TableSpec
from viva.visible import one_line, some

EXAM = "exam"
"""`--by` value for the headline of each exam."""
FORMAT = "format"
"""Default tag of `--by` where an exam has no table of models."""
AUTO = ""
"""`--by` value of callers that accept a single column."""
UNGROUPED = "question"
"""`--macro-average` value for the plain mean over questions."""


class ScoreSet(Struct, frozen=True, kw_only=True):
    """One model's scores on one exam."""

    source: Path
    """The run folder or table."""
    exam: str
    model: str
    lines: Lines
    """Column or curve → its answers and how they are averaged."""
    headline: Aggregate
    scores: Columns
    """Columns from `analysis.breakdown.frame`."""
    run: RunRecord | None = None
    """The scores' run; None for a table."""
    record: ExamRecord | None = None
    """The run's record of the exam."""
    opened: ModelRecord | None = None
    """The run's record of the model; None for runs of earlier versions, which lack its name."""

    def measured(self, lines: Lines | None = None) -> dict[str, Estimate]:
        """Return the score on each of its lines, or on the given ones."""
        return measured(self.scores, self.lines if lines is None else lines, self.headline.attempts)


def is_called(model: str, names: Collection[str]) -> bool:
    """Return whether --model means it: by its whole name, or without its provider."""
    return model in names or model.rpartition("/")[2] in names


def score_sets(
    sources: Sequence[Path],
    by: str | None,
    over: str | None = None,
    tags: Sequence[str] = (),
    *,
    required: Sequence[str] = (),
    cluster: str = "",
    first_cell: bool = False,
    models: Collection[str] = (),
    exams: Collection[str] = (),
) -> Iterator[ScoreSet]:
    """Yield the score sets of all sources, lazily.

    `by`: a table of the exam (its columns where it has a row a model, else its rows), or a tag; `EXAM` for the headline
    alone; None for the exam's first table with a row a model, else the tag `format`; `AUTO` for these or, where there
    is neither, the headline alone. `over`: the tag whose values the headline averages first, `PLAIN` for none; None for
    the headline of the exam's paper (for a table of item scores: the plain mean). `tags`: further tags to keep of a
    table; a run keeps all. `required`: tags that an exam must have. `cluster`: the tag whose values are the clusters,
    in place of declared ones. `first_cell`: only the first combination of a run with a design, as a plain run asks.
    `models`, `exams`: only these; all for none.

    An exam that lacks a tag which another has is left out, and the user told. Raises VivaError for a source that is
    invalid, damaged, not graded, and where no exam has the table, tag, model or name.
    """
    wanted = None if over is None else Aggregate("mean", over="" if over == UNGROUPED else over)
    column = "" if by == EXAM else by or FORMAT
    columns = tuple(filter(None, dict.fromkeys((column, wanted.over if wanted else "", *tags, cluster))))
    runs = (run for source in sources for run in (runs_in(source) if source.is_dir() else [source]))
    known_exams: dict[str, None] = {}
    known_models: dict[str, None] = {}  # of the chosen exams
    lacking: dict[str, DataError] = {}
    yielded = False
    sets = (_of_run(run, first_cell) if run.is_dir() else _of_table(run, columns) for run in runs)
    for each in itertools.chain.from_iterable(sets):
        known_exams[one_line(each.exam)] = None
        if exams and each.exam not in exams:
            continue
        known_models[one_line(each.model)] = None
        if models and not is_called(each.model, models):
            continue
        headline, scores = wanted or each.headline, frame(each.rows)
        where = f"{one_line(each.exam)} in {each.source}"
        try:
            lines = _lines(scores, by, headline, () if wanted else each.tables, where)
            for field, tag in (*(("by", tag) for tag in required), ("cluster", cluster)):
                _require(tag, field, scores, where)
        except DataError as problem:
            lacking[str(problem)] = problem
            continue
        if cluster:
            scores = Columns(scores.numbers, {**scores.texts, "cluster": scores.tags[cluster]})
        yield ScoreSet(
            source=each.source, exam=each.exam, model=each.model, lines=lines, headline=headline, scores=scores,
            run=each.run, record=each.record, opened=each.run.model(each.model) if each.run else None,
        )  # fmt: skip
        yielded = True
    if yielded:
        for text in lacking:
            notify(f"left out, {text}")
        return
    for refused in lacking.values():
        raise refused
    if exams and not known_models:
        raise VivaError(f"{', '.join(exams)}: no exam is called so; there are: {', '.join(known_exams)}", field="exam")
    if models:
        raise VivaError(
            f"{', '.join(models)}: nobody is called so; there are: {', '.join([*known_models][:20])}", field="model"
        )


def once_each(sets: Iterable[ScoreSet]) -> Iterator[ScoreSet]:
    """Yield `sets`. Raises DataError for a model that took an exam in two sources."""
    origin: dict[tuple[str, str], Path] = {}
    for scored in sets:
        if earlier := origin.get((scored.exam, scored.model)):
            raise DataError(
                f"{one_line(scored.model)} took {scored.exam} both in {earlier} and in {scored.source}: name "
                "one of them"
            )
        origin[scored.exam, scored.model] = scored.source
        yield scored


def _require(tag: str, field: str, scores: Columns, where: str, also: Sequence[str] = ()) -> None:
    if tag and not parts_of(scores, tag):
        known = ", ".join([*also, *scores.tags]) or "none"
        raise DataError(f"{tag!r}: {where} has no such tag; it has: {known}", field=field)


def listed(names: Iterable[str]) -> str:
    """Return known names for an error message, at most 20."""
    return some([repr(one_line(name)) for name in names], 20)


def existing(sources: Sequence[str], published: Iterable[str]) -> list[Path]:
    """Return the sources as paths. Raises DataError for one that is not there; `published`: names that are no paths."""
    paths = [Path(source) for source in sources]
    for path in paths:
        if not path.exists():
            known = ", ".join(published)
            more = f" (published tables that can be named: {known})" if known else ""
            raise DataError(f"there is no table or run {path}{more}")
    return paths


def _lines(scores: Columns, by: str | None, headline: Aggregate, tables: Sequence[TableSpec], where: str) -> Lines:
    """Return the lines that `by` names. The exam's own table has its own averages, so --macro-average needs a tag."""
    if by == EXAM:
        return {headline.label: (headline,)}
    table = next(
        (each_table for each_table in tables if each_table.across and by in (None, AUTO, each_table.name)), None
    )
    if table is not None:
        return by_table(table)
    tags = scores.tags
    rows = [
        each_table
        for each_table in tables
        if _goes_beyond(each_table, by) or (each_table.name == by and by not in tags and not each_table.across)
    ]
    if rows:
        return by_rows(rows[0], headline)
    if by == AUTO and not parts_of(scores, FORMAT):
        return {headline.label: (headline,)}
    for field, tag in (("by", by or FORMAT), ("macro_average", headline.over)):
        _require(tag, field, scores, where, [each_table.name for each_table in tables if each_table.across])
    return by_tag(scores, by or FORMAT, headline)


def _goes_beyond(table: TableSpec, tag: str | None) -> bool:
    """Return whether a table has rows besides a tag's values: CMMLU's categories, and its China-specific subjects."""
    tags = {name for row in table.rows for name in row.where}
    return not table.across and len(tags) > 1 and sum(tag in row.where for row in table.rows) > 1


class _Rows(NamedTuple):
    """One model's rows on one exam, which averages them so."""

    source: Path
    exam: str
    model: str
    rows: Iterable[ScoreRow]
    headline: Aggregate
    tables: Sequence[TableSpec] = ()
    run: RunRecord | None = None
    record: ExamRecord | None = None


def _of_run(path: Path, first_cell: bool) -> Iterator[_Rows]:
    record = RunFolder.open(path).record
    refuse_adaptive(path, record)
    averages = averages_of(path)
    known = len(averages) == len(record.exams)
    for exam, model, rows in rows_by_evaluation(path, record):
        headline, tables = averages[record.exams.index(exam)] if known else _averages(exam)
        cells = len(exam.spec.vary.cells) if first_cell and exam.spec.vary is not UNSET else 1
        kept = (row for row in rows if row.sample % cells == 0)
        yield _Rows(path, exam.spec.label, model, kept, headline, tables, record, exam)


_REOPENED: dict[bytes, Averages] = {}


def _averages(record: ExamRecord) -> Averages:
    """Return the exam's headline and tables; reopens the exam, once for equal records."""
    key = msgspec.json.encode(record, order="deterministic")
    if key not in _REOPENED:
        exam = reopen(record)
        _REOPENED[key] = exam.headline(), exam.layouts()
    return _REOPENED[key]


def _of_table(path: Path, tags: tuple[str, ...]) -> Iterator[_Rows]:
    for model, scores in read_scores_table(path, tags).items():
        yield _Rows(path, path.name, model, table_rows(path.name, model, scores), Aggregate("mean"))


def table_rows(exam: str, model: str, model_scores: ModelScores, group: int = 0) -> Iterator[ScoreRow]:
    """Yield a model's rows of a table of item scores; `group`: answers to a question in a repeat, 0 for all.

    A table has only the score, so a missing one is not counted against the model.
    """
    for question, values in model_scores.scores.items():
        missing: Outcome = NOT_ASKED if question in model_scores.missing else "ungraded"
        tags = {tag: text for tag, text in model_scores.tags[question].items() if text}
        cluster = tags.pop(CLUSTER, "")
        for sample, value in enumerate(values):
            yield ScoreRow(
                benchmark="",
                exam=exam,
                model=model,
                question=question,
                sample=sample,
                repeat=sample // group if group else 0,
                value=value,
                outcome=missing if value is None else "right" if value >= 1.0 else "partly" if value > 0.0 else "wrong",
                answer="",
                explanation="",
                tags=tags,
                cluster=cluster,
            )


Runs = Annotated[
    tuple[Path, ...],
    note("Run folders, folders of runs, tables of item scores.", metavar="RUN|TABLE...", argument=True),
]
Sources = Annotated[
    tuple[str, ...],
    note(
        "Run folders, folders of runs, tables, or a benchmark: its published table.",
        metavar="BENCHMARK|RUN|TABLE...",
        argument=True,
    ),
]
Correct = Annotated[
    Correction, note("How p-values are adjusted for their number: Holm; Benjamini-Hochberg; not at all.")
]
OnlyModels = Annotated[tuple[str, ...], note("Only this model; repeatable.", metavar="NAME")]
OnlyExams = Annotated[tuple[str, ...], note("Only this exam (csbench-en, say); repeatable.", metavar="NAME")]
BenchmarkFiles = Annotated[Path | None, note("Folder of the published files of benchmarks.", metavar="DIR")]
Languages = Annotated[tuple[str, ...], note("en, zh, de, fr (CS-Bench); several: en,zh or repeat.", metavar="LANG")]
ProgressLine = Annotated[Mode, note("A live line, plain lines for logs, or nothing.")]
PAPERS_MEAN = f"`{UNGROUPED}`: the plain mean.  [default: the paper's]"
