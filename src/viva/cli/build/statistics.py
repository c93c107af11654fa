"""`viva build stats`: a set's questions by every dimension, how long they are, and how little they surprise a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from viva.cli.chart_options import chart_option
from viva.cli.options import tables_options, weights_options
from viva.cli.output import check_writable, emit, screen
from viva.errors import VivaError
from viva.runs.config import TaskOptions, pick
from viva.studies.set_statistics.study import Opened, open_sets, pair_of, study

if TYPE_CHECKING:
    from viva.reports.setstatistics import SetStatistics

FIELDS = ("question", "asked", "options", "answer", "explanation")


@click.command(name="stats", short_help="Counts by every dimension, lengths, perplexity.")
@click.argument("given", metavar="SET")
@click.option("--data", type=click.Path(path_type=Path), help="Folder of the published files of benchmarks.")
@click.option("--language", multiple=True, metavar="LANG", help="en, zh, de, fr (CS-Bench); several: en,zh or repeat.")
@click.option("--by", default="", metavar="NAME,...", help="Dimensions to count by.  [default: all there are]")
@click.option("--cross", multiple=True, metavar="A,B", help="Cross table of two.  [default: with the format, or all]")
@click.option(
    "--field",
    type=click.Choice(FIELDS),
    default="question",
    show_default=True,
    help="Whose length is told; asked: with the options.",
)
@click.option("--group", default="", metavar="NAME", help="Lengths for each of its values.  [default: format]")
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="hf/FOLDER|PROVIDER/NAME",
    help="Also the questions' perplexity under these models, as `viva perplexity` tells it.",
)
@click.option("--reference", "beside", multiple=True, metavar="SET", help="With --model: other sets to put beside it.")
@click.option("--base-url", metavar="URL", help="OpenAI-compatible server of the openai/ models, ending in /v1.")
@click.option("--api-key-env", metavar="NAME", help="Environment variable with the key.  [default: the provider's own]")
@click.option(
    "--items", type=click.Path(path_type=Path), metavar="FILE.jsonl", help="With --model: keeps every figure."
)
@weights_options
@chart_option("Draw the lengths")
@tables_options
def stats_command(given: str, **options: Any) -> int:
    """The statistics of SET: a benchmark, a folder or file of CS-Bench's format (both halves), or a question file.

    \b
    viva build stats csbench --data DIR --language en,zh
    viva build stats myset --language de --chart lengths.svg
    viva build stats csbench --data DIR --model hf/FOLDER --reference cmmlu     a low perplexity suggests leakage

    Exit codes: 0 told; 2 wrong use or unreadable files; with --model also those of `viva perplexity`.
    """
    out, form = options["out"], options["format"]
    check_writable(out)
    models, beside = options["models"], options["beside"]
    if beside and not models:
        raise VivaError("--reference goes with --model: whose perplexity?")
    if models and (out or form in ("json", "csv")):
        raise VivaError(f"--model prints tables: leave out {'--out' if out else f'--format {form}'}, or measure with "
                        "`viva perplexity`, which writes files")  # fmt: skip
    sets = open_sets(given, pick(TaskOptions, options))
    crosses = [pair_of(one) for one in options["cross"]]
    by = tuple(part.strip() for part in options["by"].split(",") if part.strip())
    found = [study(one, by, crosses, options["field"], options["group"]) for one in sets]
    _print(found, options)
    if options["chart"]:
        from viva.reports import charts
        from viva.reports.charts.lengths import lengths_chart

        charts.save(lengths_chart(found), options["chart"])
    return _perplexity(sets, options) if models else 0


def _print(found: Sequence[SetStatistics], options: dict[str, Any]) -> None:
    from viva.reports import setstatistics as report

    if options["format"] != "terminal":
        emit(report.FORMATS[options["format"]](found), options["out"])
        return
    width, colour = screen(options["out"])
    emit(report.as_terminal(found, width=width, colour=colour), options["out"])


def _perplexity(sets: Sequence[Opened], options: dict[str, Any]) -> int:
    """What `viva perplexity` says of the questions, beside those of other sets."""
    from viva.cli.ask.perplexity import perplexity_command

    wanted = {
        **{parameter.name: parameter.default for parameter in perplexity_command.params if parameter.name},
        **{name: value for name, value in options.items() if name not in ("by", "field")},
        **{"field": "question", "data": sets[0].data or options["data"], "by": None, "progress": "auto"},
        **{"limit": None, "concurrency": None, "timeout": 300.0, "k": 20.0},
        "language": tuple(one.language for one in sets),
    }
    names = tuple(parameter.name for parameter in perplexity_command.params)
    call = {name: wanted[name] for name in names if name and name not in ("sets", "models")}
    assert perplexity_command.callback is not None
    code: int = perplexity_command.callback(
        sets=(*dict.fromkeys(one.perplexity for one in sets), *options["beside"]), models=options["models"], **call
    )
    return code
