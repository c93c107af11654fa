"""Columns of figures correlated over models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

from msgspec import Struct

from viva.analysis.correlation import correlate, pairs
from viva.commands import command
from viva.errors import DataError, VivaError, option
from viva.fields import note
from viva.published import plain, table
from viva.render.findings import Findings
from viva.render.result import left_out
from viva.shipped import shipped_table
from viva.studies.correlate.chart import chart
from viva.studies.correlate.tables import Correlations, findings
from viva.studies.item_scores import EXAM, Sources, existing, once_each, score_sets
from viva.studies.model_table import Families, WideTable, families_of, is_wide, only_model_table, read_wide
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
    tables = _tables(config.sources, config)
    notes = [note for one in tables for note in one.notes]
    found = tuple(_correlated(one, config, notes) for one in tables)
    return findings(found, tuple(dict.fromkeys(notes)), partial(chart, found))


def _tables(sources: Sequence[str], config: CorrelateConfig) -> list[Correlated]:
    """Return what is to be correlated: a published benchmark, several sources by model's name, a table, or item
    scores.
    """
    named = [source for source in sources if source in PUBLISHED]
    if named and config.by not in (None, EXAM):
        raise VivaError(f"{config.by!r} is for runs and item scores; {named[0]} is a published table", field="by")
    if len(sources) == 1 and named:
        return published_tables(named[0])
    if named:
        return [matched(sources)]
    paths = existing(sources, PUBLISHED)
    wide = only_model_table(paths)
    if wide is not None:
        return [Correlated(title=wide.name, table=read_wide(wide))]
    rows, ranges = _of_items(paths, config)
    return [Correlated(title="item scores", table=rows, notes=noted(ranges))]


def _of_items(paths: Sequence[Path], config: CorrelateConfig) -> tuple[WideTable, list[str]]:
    """Return models by the columns of --by, from item scores, and the models that have a range in place of some figure.
    Of several exams, columns are called by exam and column.
    """
    figures: dict[str, dict[tuple[str, str], float | None]] = {}
    partial: set[str] = set()
    ranges: list[str] = []
    for one in once_each(score_sets(paths, config.by)):
        # The headline, and what averages all questions over another tag, has the other columns in it: how it goes
        # together with them is no finding.
        lines = one.lines if config.by == EXAM else {
            name: shared for name, shared in one.lines.items()
            if one.headline not in shared and not any(line.over and not line.where for line in shared)
        }  # fmt: skip
        cells = one.measured(lines)
        row = figures.setdefault(one.model, {})
        partial |= {one.model} if any(not cell.complete for cell in cells.values()) else set()
        ranges += [one.model] if any(cell.ranged for cell in cells.values()) else []
        row.update({(one.exam, name): cell.mean for name, cell in cells.items()})
    columns = list(dict.fromkeys(column for row in figures.values() for column in row))
    several = len({exam for exam, _ in columns}) > 1
    found = WideTable(
        rows=tuple(figures),
        columns={
            f"{exam} {name}" if several else name: tuple(row.get((exam, name)) for row in figures.values())
            for exam, name in columns
        },
        words={},
        partial=frozenset(partial),
    )
    return found, ranges


def _correlated(found: Correlated, config: CorrelateConfig, notes: list[str]) -> Correlations:
    """Return the coefficients of every pair of columns that is asked for, and what families were made of its rows into
    `notes`. Raises VivaError for unknown columns.
    """
    title, table = found.title, found.table
    columns = _chosen(found, config)
    unknown = [row for row in config.exclude if row not in table.rows]
    if unknown:
        raise VivaError(f"{unknown[0]!r}: {title} has no such row; it has: {_listed(table.rows)}", field="exclude")
    kept = [index for index, row in enumerate(table.rows) if row not in config.exclude]
    rows = [table.rows[index] for index in kept]
    used = [index for index in kept if sum(table.columns[name][index] is not None for name in columns) > 1]
    found_families = families_of(config.families, [table.rows[index] for index in used], notes) if used else []
    by_row = dict(zip(used, found_families, strict=False))
    families = [by_row.get(index, table.rows[index]) for index in kept] if by_row else []
    figures = {name: [table.columns[name][index] for index in kept] for name in columns}
    return Correlations(
        title=title + (f", without {', '.join(config.exclude)}" if config.exclude else ""),
        pairs=tuple(
            correlate(rows, figures, first, second, families) for first, second in pairs(columns, every=config.every)
        ),
        partial=tuple(row for row in rows if row in table.partial),
        labels=found.labels,
    )


def _chosen(found: Correlated, config: CorrelateConfig) -> list[str]:
    """Return the columns asked for, else all that are figures. A name that holds a comma is taken whole where it
    fits.
    """
    title, table = found.title, found.table
    asked: list[str] = []
    for given in config.columns:
        asked += [given] if given in table.columns else [part.strip() for part in given.split(",") if part.strip()]
    for name in asked:
        if name in table.words:
            raise DataError(f"{title}: column {name!r} is no column of figures ({table.words[name]})")
        if name not in table.columns:
            raise VivaError(f"{name!r}: {title} has no such column; it has: {_listed(table.columns)}", field="columns")
    columns = list(dict.fromkeys(asked)) or list(found.columns or table.columns)
    if len(columns) < 2:
        further = f": name two of {_listed(table.columns)} ({option('columns')})" if len(table.columns) > 1 else ""
        if config.by == EXAM and not further:
            further = (
                f": {option('by')} {EXAM} has a column an exam; name runs of several exams, or another tag "
                f"with {option('by')}"
            )
        here = _listed(columns) or "none"
        raise VivaError(f"{title}: a correlation takes two columns of figures; here is {here}{further}")
    return columns


def _listed(names: Iterable[str]) -> str:
    return some([repr(one_line(name, 60)) for name in names], 20)


class Shown(Struct, frozen=True):
    """A published table, and which of its columns meet where nothing is asked for."""

    table: str
    title: str
    columns: tuple[str, ...]
    every_row: bool = False
    """Whether baselines are among the rows, as in SynEval's Table 7; else models alone."""


PUBLISHED = shipped_table(__file__, "shown.toml", dict[str, tuple[Shown, ...]])
"""Benchmarks whose published tables can be named in place of a file."""


class Correlated(Struct, frozen=True, kw_only=True):
    """A table with the columns that meet by default (all where there are none), and what to say about it."""

    title: str
    table: WideTable
    columns: tuple[str, ...] = ()
    labels: Mapping[str, str] = {}
    """What a chart calls a column that has a label."""
    notes: tuple[str, ...] = ()


def published_tables(benchmark: str) -> list[Correlated]:
    """Return a benchmark's own tables, a row a model."""
    found: list[Correlated] = []
    for shown in PUBLISHED[benchmark]:
        known = table(benchmark, shown.table)
        entries = known.entries if shown.every_row else known.models
        figures = {
            column.name: tuple(entry.figures.get(column.name) for entry in entries)
            for column in known.columns
            if column.unit == "%"
        }
        rows = WideTable(rows=tuple(entry.name for entry in entries), columns=figures, words={})
        labels = {one.name: f"{one.label}, per cent" for one in known.columns if one.unit == "%"}
        title = f"{benchmark}, published, {shown.title}"
        found.append(Correlated(title=title, table=rows, columns=shown.columns, labels=labels))
    return found


def matched(sources: Sequence[str]) -> Correlated:
    """Benchmarks beside each other: a column each, its headline; published tables by name, runs by their exams; of a
    table of a row a model (other benchmarks' scores) every column of figures, each called by its name there.

    Rows are the models that have a figure in two of them at least. Names are the same but for case, spaces, hyphens and
    a vendor's prefix; nothing else is guessed: a name that two rows of one source share is in none.
    """
    columns: dict[str, dict[str, tuple[str, float]]] = {}
    partial: set[str] = set()
    ranges: list[str] = []
    for source in dict.fromkeys(sources):
        if source in PUBLISHED:
            name, column = SCORES[source]
            shown = f"{source} {column}, published"
            models = table(source, name).models
            columns[shown] = _unique((one.name, one.figures[column]) for one in models if column in one.figures)
            continue
        path = existing([source], PUBLISHED)[0]
        found = _columns_of(path, columns) if is_wide(path) else _headlines(path, columns, partial, ranges)
        columns.update(found)
    names = dict.fromkeys(key for figures in columns.values() for key in figures)
    keys = [key for key in names if sum(key in figures for figures in columns.values()) > 1]
    if not keys:
        raise VivaError(
            f"no model is in two of {', '.join(columns)}: they are matched by name, as Qwen1.5-7B is, but not with "
            "another version or ending"
        )
    shown_names = {key: next(figures[key][0] for figures in columns.values() if key in figures) for key in keys}
    rows = WideTable(
        rows=tuple(shown_names.values()),
        columns={
            name: tuple(figures[key][1] if key in figures else None for key in keys)
            for name, figures in columns.items()
        },
        words={},
        partial=frozenset(name for key, name in shown_names.items() if key in partial),
    )
    said = some([one_line(name, 40) for name in shown_names.values()], 12)
    return Correlated(
        title="models of the same name",
        table=rows,
        notes=(
            f"Matched by name, not by version, prompt or language: {len(keys):,} models ({said}).",
            *noted(ranges),
        ),
    )


def _columns_of(path: Path, earlier: Mapping[str, object]) -> dict[str, dict[str, tuple[str, float]]]:
    """Return a table's columns of figures, each with its models' figures."""
    wide = read_wide(path, fewest=2)
    if again := next((name for name in wide.columns if name in earlier), None):
        raise VivaError(f"{path} has a column {one_line(again, 60)!r}, as a source before it has: name one of them")
    return {
        name: _unique((row, figure) for row, figure in zip(wide.rows, figures, strict=True) if figure is not None)
        for name, figures in wide.columns.items()
    }


def noted(ranges: Sequence[str]) -> tuple[str, ...]:
    """Return a note that names models with a range in place of a figure, where there are any."""
    return (f"Figures {left_out(list(dict.fromkeys(ranges)))}",) if ranges else ()


def _headlines(
    path: Path, earlier: Mapping[str, object], partial: set[str], ranges: list[str]
) -> dict[str, dict[str, tuple[str, float]]]:
    """Headline → its models' figures; `partial` takes in the keys of those that leave something out, `ranges` the names
    of those that have none but a range."""
    found: dict[str, list[tuple[str, float]]] = {}
    for one in score_sets([path], EXAM):
        (cell,) = one.measured().values()
        partial |= set() if cell.complete else {plain(one.model.rpartition("/")[2])}
        if cell.ranged:
            ranges.append(one.model)
        if cell.mean is not None:
            found.setdefault(f"{one.exam} {one.headline.label}", []).append((one.model, 100 * cell.mean))
    if again := next((name for name in found if name in earlier), None):
        raise VivaError(f"{again} is in {path} and in a run before it: name one of them")
    return {name: _unique(figures) for name, figures in found.items()}


def _unique(figures: Iterable[tuple[str, float]]) -> dict[str, tuple[str, float]]:
    """Plain name → name and figure; without names that are there twice."""
    given = list(figures)
    keys = [plain(name.rpartition("/")[2]) for name, _ in given]
    return {key: pair for key, pair in zip(keys, given, strict=True) if keys.count(key) == 1}
