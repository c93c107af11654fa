"""`viva correlate`: do models that are good at one thing have a good score in another?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from viva.cli.analysisoptions import chart_option
from viva.cli.correlatetables import PUBLISHED, Correlated, matched, published_tables
from viva.cli.options import tables_options
from viva.cli.output import check_writable, emit, screen
from viva.cli.widetable import WideTable, read_wide, the_wide_one
from viva.errors import DataError, VivaError
from viva.runs.config import pick
from viva.runs.item_scores import EXAM, existing, scored
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.reports.correlation import Correlations


class Wanted(Struct, kw_only=True):
    """What is to be told, and how."""

    columns: tuple[str, ...] = ()
    every: bool = False
    without: tuple[str, ...] = ()
    by: str | None = None
    chart: Path | None = None
    format: str = "terminal"
    out: Path | None = None


@click.command(name="correlate", short_help="How scores in formats or exams go together over models.")
@click.argument("sources", nargs=-1, required=True, metavar="BENCHMARK|TABLE.csv|RUN...")
@click.option(
    "--columns", multiple=True, metavar="A,B,...", help="Which columns: the first against each of the others."
)
@click.option("--every", is_flag=True, help="Every column against every other.")
@click.option("--without", multiple=True, metavar="ROW", help="Leave this row out; repeatable.")
@click.option(
    "--by",
    metavar="TABLE|TAG",
    help="Of runs and item scores: a column for each column of this table of models, or value of this tag; "
    f"`{EXAM}`: the headline of each exam.  [default: the exam's first such table; format]",
)
@chart_option("Draw each pair, outliers named")
@tables_options
def correlate_command(sources: tuple[str, ...], **given: Any) -> int:
    """Kendall's, Pearson's and Spearman's coefficients between columns of figures, with intervals, p-values, how far
    they lean on single rows, and the rows that lie far from the line.

    A source is a benchmark's published table (csbench, cmmlu, infibench, syneval), a CSV table (a row a model, a column
    a measure), run folders or tables of item scores (a row a model, a column a format, or whatever --by says). Several
    sources with a benchmark among them: their headlines beside each other, models matched by name.

    \b
    viva correlate infibench --chart humaneval.svg         HumanEval against InfiBench: r = 0.806 over 66 models
    viva correlate syneval                                 the paper's Table 7
    viva correlate csbench cmmlu                           between benchmarks
    viva correlate runs/a runs/b --columns TF,MC,FITB      between formats
    """
    from viva.reports.charts import save

    wanted = pick(Wanted, given)
    check_writable(wanted.out)
    tables = _tables(sources, wanted)
    found = [_correlated(one, wanted) for one in tables]
    if wanted.chart is not None:
        from viva.reports.charts.correlation import chart

        save(chart(found), wanted.chart)
    emit(_printed(found, [note for one in tables for note in one.notes], wanted), wanted.out)
    return 0


def _tables(sources: Sequence[str], wanted: Wanted) -> list[Correlated]:
    """What is to be correlated: a published benchmark, several sources by model's name, a table, or item scores."""
    named = [source for source in sources if source in PUBLISHED]
    if named and wanted.by not in (None, EXAM):
        raise VivaError(f"--by {wanted.by!r} is for runs and item scores; {named[0]} is a published table")
    if len(sources) == 1 and named:
        return published_tables(named[0])
    if named:
        return [matched(sources)]
    paths = existing(sources, PUBLISHED)
    wide = the_wide_one(paths)
    if wide is not None:
        return [Correlated(title=wide.name, table=read_wide(wide))]
    return [Correlated(title="item scores", table=_of_items(paths, wanted))]


def _of_items(paths: Sequence[Path], wanted: Wanted) -> WideTable:
    """Models by the columns of --by, from item scores. Of several exams, columns are called by exam and column."""
    from viva.analysis.training import measured

    figures: dict[str, dict[tuple[str, str], float | None]] = {}
    origin: dict[tuple[str, str], Path] = {}
    partial: set[str] = set()
    for one in scored(paths, wanted.by):
        if earlier := origin.get((one.exam, one.model)):
            raise DataError(
                f"{one_line(one.model, 60)} took {one.exam} both in {earlier} and in {one.source}: name one of them"
            )
        origin[one.exam, one.model] = one.source
        # The headline has the other columns in it: how it goes together with them is no finding.
        lines = one.lines if wanted.by == EXAM else {
            name: shared for name, shared in one.lines.items() if one.headline not in shared
        }  # fmt: skip
        cells = measured(one.scores, lines, one.headline.attempts)
        row = figures.setdefault(one.model, {})
        partial |= {one.model} if any(not cell.complete for cell in cells.values()) else set()
        row.update({(one.exam, name): cell.mean for name, cell in cells.items()})
    columns = list(dict.fromkeys(column for row in figures.values() for column in row))
    several = len({exam for exam, _ in columns}) > 1
    return WideTable(
        rows=tuple(figures),
        columns={
            f"{exam} {name}" if several else name: tuple(row.get((exam, name)) for row in figures.values())
            for exam, name in columns
        },
        words={},
        partial=frozenset(partial),
    )


def _correlated(found: Correlated, wanted: Wanted) -> Correlations:
    from viva.analysis.correlation import correlate, pairs
    from viva.reports.correlation import Correlations

    title, table = found.title, found.table
    columns = _chosen(found, wanted)
    unknown = [row for row in wanted.without if row not in table.rows]
    if unknown:
        raise VivaError(f"--without {unknown[0]!r}: {title} has no such row; it has: {_listed(table.rows)}")
    kept = [index for index, row in enumerate(table.rows) if row not in wanted.without]
    rows = [table.rows[index] for index in kept]
    figures = {name: [table.columns[name][index] for index in kept] for name in columns}
    return Correlations(
        title=title + (f", without {', '.join(wanted.without)}" if wanted.without else ""),
        pairs=tuple(correlate(rows, figures, first, second) for first, second in pairs(columns, every=wanted.every)),
        partial=tuple(row for row in rows if row in table.partial),
    )


def _chosen(found: Correlated, wanted: Wanted) -> list[str]:
    """The columns asked for, else all that are figures. A name that holds a comma is taken whole where it fits."""
    title, table = found.title, found.table
    asked: list[str] = []
    for given in wanted.columns:
        asked += [given] if given in table.columns else [part.strip() for part in given.split(",") if part.strip()]
    for name in asked:
        if name in table.words:
            raise DataError(f"{title}: column {name!r} is no column of figures ({table.words[name]})")
        if name not in table.columns:
            raise VivaError(f"--columns {name!r}: {title} has no such column; it has: {_listed(table.columns)}")
    columns = list(dict.fromkeys(asked)) or list(found.columns or table.columns)
    if len(columns) < 2:
        raise VivaError(f"{title}: a correlation takes two columns of figures; here is {_listed(columns) or 'none'}")
    return columns


def _printed(found: Sequence[Correlations], said: Sequence[str], wanted: Wanted) -> str:
    from viva.reports import correlation as report

    notes = [*report.notes_on(found), *said]
    if wanted.format != "terminal":
        return report.FORMATS[wanted.format](found, notes)
    width, colour = screen(wanted.out)
    return report.as_terminal(found, notes, width=width, colour=colour)


def _listed(names: Sequence[str] | Any) -> str:
    found = [repr(one_line(str(name), 60)) for name in names]
    return ", ".join(found[:20]) + (" …" if len(found) > 20 else "")
