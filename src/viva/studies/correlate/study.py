"""Columns of figures correlated over models."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

from msgspec import Struct

from viva.analysis.correlation import correlate, pairs
from viva.analysis.estimate import Estimate
from viva.commands import command
from viva.errors import DataError, VivaError, option
from viva.fields import note
from viva.files import shipped_table
from viva.published import plain, table
from viva.render.findings import Findings
from viva.render.result import left_out
from viva.studies.correlate.chart import chart
from viva.studies.correlate.tables import Correlations, findings
from viva.studies.item_scores import EXAM, ScoreSet, Sources, existing, listed, once_each, score_sets
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
    if named:
        return published_tables(named[0]) if len(sources) == 1 else [matched(sources)]
    paths = existing(sources, PUBLISHED)
    wide = only_model_table(paths)
    return [Correlated(title=wide.name, table=read_wide(wide)) if wide else _of_items(paths, config.by)]


Scored = tuple[tuple[str, str], str, Estimate]
"""Exam and column, model, score."""


def _scores(sets: Iterable[ScoreSet], by: str | None) -> Iterator[Scored]:
    for one in sets:
        # The headline, and what averages all questions over another tag, has the other columns in it: how it goes
        # together with them is no finding.
        lines = {
            name: shared for name, shared in one.lines.items()
            if by == EXAM or not (one.headline in shared or any(line.over and not line.where for line in shared))
        }  # fmt: skip
        yield from (((one.exam, name), one.model, cell) for name, cell in one.measured(lines).items())


def _of_items(paths: Sequence[Path], by: str | None) -> Correlated:
    """Return models by the columns of --by, from item scores. Of several exams, columns are called by exam and
    column.
    """
    found = list(_scores(once_each(score_sets(paths, by)), by))
    several = len({exam for (exam, _), *_ in found}) > 1
    columns = defaultdict[str, dict[str, float | None]](dict)
    for (exam, name), model, cell in found:
        columns[f"{exam} {name}" if several else name][model] = cell.mean
    models = dict.fromkeys(model for _, model, _ in found)
    partial = (model for _, model, cell in found if not cell.complete)
    return Correlated(title="item scores", table=_wide(columns, models, partial), notes=_noted(found))


def _wide(
    columns: Mapping[str, Mapping[str, float | None]], rows: Iterable[str], partial: Iterable[str] = ()
) -> WideTable:
    names = tuple(rows)
    figures = {name: tuple(map(given.get, names)) for name, given in columns.items()}
    return WideTable(rows=names, columns=figures, words={}, partial=frozenset(partial))


def _noted(found: Iterable[Scored]) -> tuple[str, ...]:
    """Return a note that names models with a range in place of a figure, where there are any."""
    ranges = list(dict.fromkeys(model for _, model, cell in found if cell.ranged))
    return (f"Figures {left_out(ranges)}",) if ranges else ()


def _correlated(found: Correlated, config: CorrelateConfig, notes: list[str]) -> Correlations:
    """Return the coefficients of every pair of columns that is asked for, and what families were made of its rows into
    `notes`. Raises VivaError for unknown columns.
    """
    title, table = found.title, found.table
    columns = _chosen(found, config)
    if unknown := [row for row in config.exclude if row not in table.rows]:
        raise VivaError(f"{unknown[0]!r}: {title} has no such row; it has: {listed(table.rows)}", field="exclude")
    rows = [row for row in table.rows if row not in config.exclude]
    figures = {name: dict(zip(table.rows, table.columns[name], strict=True)) for name in columns}
    used = [row for row in rows if sum(given[row] is not None for given in figures.values()) > 1]
    own = dict(zip(used, families_of(config.families, used, notes) if used else [], strict=False))
    families = [own.get(row, row) for row in rows] if own else []
    lists = {name: [given[row] for row in rows] for name, given in figures.items()}
    return Correlations(
        title=title + (f", without {', '.join(config.exclude)}" if config.exclude else ""),
        pairs=tuple(correlate(rows, lists, *two, families) for two in pairs(columns, every=config.every)),
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
            raise VivaError(f"{name!r}: {title} has no such column; it has: {listed(table.columns)}", field="columns")
    columns = list(dict.fromkeys(asked)) or list(found.columns or table.columns)
    if len(columns) < 2:
        further = f": name two of {listed(table.columns)} ({option('columns')})" if len(table.columns) > 1 else ""
        if config.by == EXAM and not further:
            further = (
                f": {option('by')} {EXAM} has a column an exam; name runs of several exams, or another tag "
                f"with {option('by')}"
            )
        here = listed(columns) or "none"
        raise VivaError(f"{title}: a correlation takes two columns of figures; here is {here}{further}")
    return columns


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
        labels = {column.name: f"{column.label}, per cent" for column in known.columns if column.unit == "%"}
        figures = {name: {entry.name: entry.figures.get(name) for entry in entries} for name in labels}
        found.append(
            Correlated(
                title=f"{benchmark}, published, {shown.title}", table=_wide(figures, (one.name for one in entries)),
                columns=shown.columns, labels=labels,
            )
        )  # fmt: skip
    return found


def matched(sources: Sequence[str]) -> Correlated:
    """Benchmarks beside each other: a column each, its headline; published tables by name, runs by their exams; of a
    table of a row a model (other benchmarks' scores) every column of figures, each called by its name there.

    Rows are the models that have a figure in two of them at least. Names are the same but for case, spaces, hyphens and
    a vendor's prefix; nothing else is guessed: a name that two rows of one source share is in none.
    """
    columns: dict[str, dict[str, tuple[str, float]]] = {}
    scored: list[Scored] = []
    for source in dict.fromkeys(sources):
        figures = defaultdict[str, list[tuple[str, float | None]]](list)
        if source in PUBLISHED:
            name, column = SCORES[source]
            models = table(source, name).models
            figures[f"{source} {column}, published"] = [(one.name, one.figures.get(column)) for one in models]
        elif is_wide(path := existing([source], PUBLISHED)[0]):
            wide = read_wide(path, fewest=2)
            figures |= {name: list(zip(wide.rows, given, strict=True)) for name, given in wide.columns.items()}
        else:
            own = list(_scores(score_sets([path], EXAM), EXAM))
            scored += own
            for (exam, name), model, cell in own:
                if cell.mean is not None:
                    figures[f"{exam} {name}"].append((model, 100 * cell.mean))
        if again := next((name for name in figures if name in columns), None):
            raise VivaError(
                f"{source} has a column {one_line(again, 60)!r}, as a source before it has: name one of them"
            )
        columns |= {name: _unique(given) for name, given in figures.items()}
    shown: dict[str, list[str]] = {}
    for figures_of in columns.values():
        for key, (name, _) in figures_of.items():
            shown.setdefault(key, []).append(name)
    rows = {key: names[0] for key, names in shown.items() if len(names) > 1}
    if not rows:
        raise VivaError(
            f"no model is in two of {', '.join(columns)}: they are matched by name, as Qwen1.5-7B is, but not with "
            "another version or ending"
        )
    partial = {_plain(model) for _, model, cell in scored if not cell.complete}
    said = some([one_line(name, 40) for name in rows.values()], 12)
    by_name = {
        column: {rows[key]: figure for key, (_, figure) in given.items() if key in rows}
        for column, given in columns.items()
    }
    return Correlated(
        title="models of the same name",
        table=_wide(by_name, rows.values(), (name for key, name in rows.items() if key in partial)),
        notes=(
            f"Matched by name, not by version, prompt or language: {len(rows):,} models ({said}).", *_noted(scored)
        ),
    )  # fmt: skip


def _plain(name: str) -> str:
    return plain(name.rpartition("/")[2])


def _unique(figures: Iterable[tuple[str, float | None]]) -> dict[str, tuple[str, float]]:
    """Plain name → name and figure; without names that are there twice."""
    given = [(name, figure) for name, figure in figures if figure is not None]
    counts = Counter(_plain(name) for name, _ in given)
    return {_plain(name): (name, figure) for name, figure in given if counts[_plain(name)] == 1}
