"""`viva correlate`: do models that are good at one thing have a good score in another?"""

from __future__ import annotations

from typing import Any

import click

from viva.cli.chart_options import chart_option
from viva.cli.options import derive, tables_options
from viva.cli.output import show_study
from viva.studies.correlate.study import CorrelateConfig, study


@click.command(name="correlate", short_help="How scores in formats or exams go together over models.")
@click.argument("sources", nargs=-1, required=True, metavar="BENCHMARK|TABLE.csv|RUN...")
@derive(CorrelateConfig, metavars={"columns": "A,B,...", "exclude": "ROW", "by": "TABLE|TAG", "families": "FILE|none"})
@chart_option("Draw each pair, outliers named")
@tables_options
def correlate_command(**given: Any) -> int:
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
    show_study(study, CorrelateConfig, given)
    return 0
