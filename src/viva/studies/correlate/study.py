"""Correlation of columns of figures over models."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

from msgspec import Struct
from msgspec.structs import replace

from viva.analysis.correlation import correlate, pairs
from viva.analysis.estimate import Estimate
from viva.commands import command
from viva.errors import DataError, VivaError, option
from viva.fields import note
from viva.files import shipped_table
from viva.published import plain
from viva.render.findings import Findings
from viva.render.result import left_out
from viva.studies.correlate.chart import chart
from viva.studies.correlate.tables import Correlations, findings
from viva.studies.item_scores import EXAM, OnlyExams, Sources, existing, listed, once_each, score_sets
from viva.studies.model_table import (
    Families,
    ModelTable,
    families_of,
    is_wide,
    only_model_table,
    published_models,
    read_models,
)
from viva.studies.scaling.sizedmodels import SCORES
from viva.visible import one_line, some


class CorrelateConfig(Struct, kw_only=True):
    """Kendall's, Pearson's and Spearman's coefficients between columns of figures, with intervals, p-values, how far
    they lean on single rows, and the rows that lie far from the line.

    A source is a benchmark's published table (csbench, cmmlu, infibench, syneval), a CSV table (a row a model, a column
    a measure), run folders or tables of item scores (a row a model, a column a format, or whatever --by says). Several
    sources with a benchmark among them: their headlines beside each other, models matched by name.

    \b
    viva correlate infibench --chart humaneval.svg         HumanEval against InfiBench: r = 0.806 over 66 models
    viva correlate syneval                                 the paper's Table 7
    viva correlate csbench cmmlu                           between benchmarks
    viva correlate csbench others.csv                      and scores of other benchmarks, a row a model
    viva correlate runs/a runs/b --columns TF,MC,FITB      between formats
    """

    sources: Sources
    columns: Annotated[
        tuple[str, ...], note("Which columns: the first against each of the others.", metavar="A,B,...")
    ] = ()
    every: Annotated[bool, note("Every column against every other.")] = False
    exclude: Annotated[tuple[str, ...], note("Leave this row out; repeatable.", metavar="ROW")] = ()
    families: Families = None
    exam: OnlyExams = ()
    by: Annotated[
        str | None,
        note(
            "Of runs and item scores: a column for each column of this table of models, or value of this "
            f"tag; `{EXAM}`: the headline of each exam.  [default: the exam's first such table; format]",
            metavar="TABLE|TAG",
        ),
    ] = None


@command(CorrelateConfig, chart="Draw each pair, outliers named")
def study(config: CorrelateConfig) -> Findings[tuple[Correlations, ...]]:
    """Correlate columns of figures over models: coefficients with intervals and p-values, how far they lean on single
    rows, and the rows far from the line. Raises VivaError for unknown columns and rows.
    """
    tables = _tables(config)
    notes = [note for table in tables for note in table.notes]
    correlations = tuple(_correlated(table, config, notes) for table in tables)
    return findings(correlations, tuple(dict.fromkeys(notes)), partial(chart, correlations))


class Shown(Struct, frozen=True):
    """A published table, and the columns of it that are correlated by default."""

    table: str
    title: str
    columns: tuple[str, ...]
    every_row: bool = False
    """Whether rows include baselines, as in SynEval's Table 7; else only models."""


PUBLISHED = shipped_table(__file__, "shown.toml", dict[str, tuple[Shown, ...]])
"""Benchmark → published tables that can be named in place of a file."""


def _tables(config: CorrelateConfig) -> list[ModelTable]:
    """Return the tables to correlate: a published benchmark's, several sources joined by model, a file, or item
    scores.
    """
    named = [source for source in config.sources if source in PUBLISHED]
    if named and config.by not in (None, EXAM):
        raise VivaError(f"{config.by!r} is for runs and item scores; {named[0]} is a published table", field="by")
    if named and len(config.sources) > 1:
        return [_matched([_headlines(source, config.exam) for source in dict.fromkeys(config.sources)])]
    if named:
        tables = [
            (declared, published_models(named[0], declared.table, every_row=declared.every_row))
            for declared in PUBLISHED[named[0]]
        ]
        return [
            replace(table, title=f"{named[0]}, published, {declared.title}", first=declared.columns)
            for declared, table in tables
        ]
    paths = existing(config.sources, PUBLISHED)
    wide = only_model_table(paths)
    return [read_models(wide) if wide else _of_items(paths, config.by, config.exam)]


def _of_items(paths: Sequence[Path], by: str | None, exams: Sequence[str], *, alone: bool = True) -> ModelTable:
    """Return models by the columns of --by, from item scores: shares of 1; per cent where they are not `alone`. With
    several exams or other sources, column names include the exam.
    """
    columns = defaultdict[tuple[str, str], dict[str, Estimate]](dict)
    for scored in once_each(score_sets(paths, by, exams=exams)):
        # The headline, and averages of all questions over another tag, contain the other columns, so their correlation
        # would mean nothing.
        lines = {
            name: shared for name, shared in scored.lines.items()
            if by == EXAM or not (scored.headline in shared or any(line.over and not line.where for line in shared))
        }  # fmt: skip
        for name, cell in scored.measured(lines).items():
            mean = cell.mean if alone or cell.mean is None else 100 * cell.mean
            columns[scored.exam, name][scored.model] = replace(cell, mean=mean)
    plain = alone and len({exam for exam, _ in columns}) < 2
    ranges = dict.fromkeys(model for given in columns.values() for model, cell in given.items() if cell.ranged)
    return ModelTable(
        title="item scores",
        columns={name if plain else f"{exam} {name}": given for (exam, name), given in columns.items()},
        notes=(f"Figures {left_out(list(ranges))}",) if ranges else (),
    )


def _headlines(source: str, exams: Sequence[str]) -> ModelTable:
    """Return a benchmark's headline, those of runs, or a table of a row a model."""
    if source in PUBLISHED:
        name, column = SCORES[source]
        table = published_models(source, name)
        return replace(table, title=source, columns={f"{source} {column}, published": table.columns[column]})
    (path,) = existing([source], PUBLISHED)
    table = read_models(path, fewest=2) if is_wide(path) else _of_items([path], EXAM, exams, alone=False)
    return replace(table, title=source)


def _matched(sources: Sequence[ModelTable]) -> ModelTable:
    """Return the columns of all sources joined by model.

    Rows are the models that have a figure in two of them at least. Names are the same but for case, spaces, hyphens and
    a vendor's prefix; nothing else is guessed: a name shared by two rows of one source is dropped.
    """
    columns: dict[str, dict[str, tuple[str, Estimate]]] = {}
    for source in sources:
        if again := next((name for name in source.columns if name in columns), None):
            raise VivaError(
                f"{source.title} has a column {one_line(again)!r}, as a source before it has: name one of them"
            )
        for column, figures in source.columns.items():
            given = [(plain(name.rpartition("/")[2]), name, cell) for name, cell in figures.items()
                     if cell.mean is not None]  # fmt: skip
            counts = Counter(key for key, *_ in given)
            columns[column] = {key: (name, cell) for key, name, cell in given if counts[key] == 1}
    shown: dict[str, list[str]] = {}
    for by_key in columns.values():
        for key, (name, _) in by_key.items():
            shown.setdefault(key, []).append(name)
    rows = {key: names[0] for key, names in shown.items() if len(names) > 1}
    if not rows:
        raise VivaError(
            f"no model is in two of {', '.join(columns)}: they are matched by name, as Qwen1.5-7B is, but not with "
            "another version or ending"
        )
    named = some([one_line(name, 40) for name in rows.values()], 12)
    matched = f"Matched by name, not by version, prompt or language: {len(rows):,} models ({named})."
    return ModelTable(
        title="models of the same name",
        columns={
            column: {name: by_key[key][1] if key in by_key else Estimate() for key, name in rows.items()}
            for column, by_key in columns.items()
        },
        notes=(matched, *(note for source in sources for note in source.notes)),
    )


def _correlated(table: ModelTable, config: CorrelateConfig, notes: list[str]) -> Correlations:
    """Return the coefficients of every requested pair of columns; `notes` gets the families of its rows. Raises
    VivaError for unknown columns.
    """
    columns, title = _chosen(table, config), table.title
    if unknown := [row for row in config.exclude if row not in table.models]:
        raise VivaError(f"{unknown[0]!r}: {title} has no such row; it has: {listed(table.models)}", field="exclude")
    rows = [row for row in table.models if row not in config.exclude]
    lists = {name: [table.columns[name].get(row, Estimate()).mean for row in rows] for name in columns}
    used = [row for row, *given in zip(rows, *lists.values(), strict=True) if len(given) - given.count(None) > 1]
    own = dict(zip(used, families_of(config.families, used, notes) if used else [], strict=False))
    return Correlations(
        title=title + (f", without {', '.join(config.exclude)}" if config.exclude else ""),
        pairs=tuple(
            correlate(rows, lists, *two, [own.get(row, row) for row in rows] if own else [])
            for two in pairs(columns, every=config.every)
        ),
        partial=tuple(
            row for row in rows if any(row in given and not given[row].complete for given in table.columns.values())
        ),
        labels=table.labels,
    )


def _chosen(table: ModelTable, config: CorrelateConfig) -> list[str]:
    """Return the requested columns, else all of figures. A name containing a comma is tried whole first."""
    asked: list[str] = []
    for given in config.columns:
        asked += [given] if given in table.columns else [part.strip() for part in given.split(",") if part.strip()]
    for name in asked:
        if name in table.strange:
            raise DataError(f"{table.title}: column {name!r} is no column of figures ({table.strange[name]})")
        if name not in table.columns:
            raise VivaError(
                f"{name!r}: {table.title} has no such column; it has: {listed(table.columns)}", field="columns"
            )
    columns = list(dict.fromkeys(asked or table.first or table.columns))
    if len(columns) < 2:
        further = f": name two of {listed(table.columns)} ({option('columns')})" if len(table.columns) > 1 else ""
        if config.by == EXAM and not further:
            further = (
                f": {option('by')} {EXAM} has a column an exam; name runs of several exams, or another tag "
                f"with {option('by')}"
            )
        here = listed(columns) or "none"
        raise VivaError(f"{table.title}: a correlation takes two columns of figures; here is {here}{further}")
    return columns
