"""`viva correlate`: do models that are good at one thing have a good score in another?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from viva.cli.chart_options import chart_option
from viva.cli.options import tables_options
from viva.cli.output import check_writable, emit, screen
from viva.runs.config import pick
from viva.runs.item_scores import EXAM
from viva.studies.correlate.study import CorrelateConfig, read_tables, study

if TYPE_CHECKING:
    from viva.reports.correlation import Correlations


@click.command(name="correlate", short_help="How scores in formats or exams go together over models.")
@click.argument("sources", nargs=-1, required=True, metavar="BENCHMARK|TABLE.csv|RUN...")
@click.option(
    "--columns", multiple=True, metavar="A,B,...", help="Which columns: the first against each of the others."
)
@click.option("--every", is_flag=True, help="Every column against every other.")
@click.option("--exclude", "without", multiple=True, metavar="ROW", help="Leave this row out; repeatable.")
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

    config = pick(CorrelateConfig, given)
    check_writable(config.out)
    tables = read_tables(sources, config)
    found = [study(one, config) for one in tables]
    if config.chart is not None:
        from viva.reports.charts.correlation import chart

        save(chart(found), config.chart)
    emit(_printed(found, [note for one in tables for note in one.notes], config), config.out)
    return 0


def _printed(found: Sequence[Correlations], said: Sequence[str], config: CorrelateConfig) -> str:
    from viva.reports import correlation as report

    notes = [*report.notes_on(found), *said]
    if config.format != "terminal":
        return report.FORMATS[config.format](found, notes)
    width, colour = screen(config.out)
    return report.as_terminal(found, notes, width=width, colour=colour)
