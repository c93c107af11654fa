"""`viva build stats`: a set's questions by every dimension, how long they are, and how little they surprise a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from viva.build.statistics.study import SetStatisticsConfig, open_sets, study
from viva.cli.ask.perplexity import show_perplexity
from viva.cli.chart_options import chart_option
from viva.cli.options import derive, tables_options, weights_options
from viva.cli.output import check_writable, show_study
from viva.errors import VivaError
from viva.lab.surprisal.study import PerplexityConfig
from viva.runs.config import TaskOptions

_METAVARS = {"language": "LANG", "by": "NAME,...", "cross": "A,B", "group": "NAME"}


@click.command(name="stats", short_help="Counts by every dimension, lengths, perplexity.")
@click.argument("set", metavar="SET")
@derive(SetStatisticsConfig, metavars=_METAVARS)
@click.option(
    "--model",
    multiple=True,
    metavar="hf/FOLDER|PROVIDER/NAME",
    help="Also the questions' perplexity under these models, as `viva perplexity` tells it.",
)
@click.option("--reference", multiple=True, metavar="SET", help="With --model: other sets to put beside it.")
@derive(PerplexityConfig, only=("base_url", "api_key_env"), metavars={"base_url": "URL", "api_key_env": "NAME"})
@click.option(
    "--items", type=click.Path(path_type=Path), metavar="FILE.jsonl", help="With --model: keeps every figure."
)
@weights_options
@chart_option("Draw the lengths")
@tables_options
def stats_command(**given: Any) -> int:
    """The statistics of SET: a benchmark, a folder or file of CS-Bench's format (both halves), or a question file.

    \b
    viva build stats csbench --data DIR --language en,zh
    viva build stats myset --language de --chart lengths.svg
    viva build stats csbench --data DIR --model hf/FOLDER --reference cmmlu     a low perplexity suggests leakage

    Exit codes: 0 told; 2 wrong use or unreadable files; with --model also those of `viva perplexity`.
    """
    out, form, model, reference = given["out"], given["format"], given["model"], given["reference"]
    check_writable(out)
    if reference and not model:
        raise VivaError("--reference goes with --model: whose perplexity?")
    if model and (out or form in ("json", "csv")):
        raise VivaError(f"--model prints tables: leave out {'--out' if out else f'--format {form}'}, or measure with "
                        "`viva perplexity`, which writes files")  # fmt: skip
    show_study(study, SetStatisticsConfig, given)
    if not model:
        return 0
    sets = open_sets(given["set"], TaskOptions(data=given["data"], language=given["language"]))
    names = (*dict.fromkeys(one.perplexity for one in sets), *reference)
    languages = tuple(one.language for one in sets)
    asked = {"sets": names, "language": languages, "data": sets[0].data or given["data"], "by": None}
    return show_perplexity({**given, **asked, "field": "question"})
