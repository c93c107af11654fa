"""`viva perplexity`: how little texts surprise a model, beside other texts."""

from __future__ import annotations

from typing import Any

import click

from viva.cli.options import derive, tables_options, weights_options
from viva.cli.output import check_writable, print_study
from viva.errors import EXIT_INTERRUPTED
from viva.lab.surprisal.study import PerplexityConfig, study
from viva.runs.config import WeightsOptions, pick
from viva.runs.live_line import say

_METAVARS = {
    "model": "hf/FOLDER|PROVIDER/NAME", "base_url": "URL", "api_key_env": "NAME", "field": "NAME", "by": "TAG",
    "language": "LANG", "items": "FILE.jsonl",
}  # fmt: skip
_LATE = ("concurrency", "timeout", "progress")


@click.command(name="perplexity", short_help="Perplexity of sets of texts under models.")
@click.argument("sets", nargs=-1, required=True, metavar="SET...")
@derive(PerplexityConfig, without=(*WeightsOptions.__struct_fields__, *_LATE), metavars=_METAVARS)
@weights_options
@derive(PerplexityConfig, only=_LATE, metavars={})
@tables_options
def perplexity_command(**given: Any) -> int:
    """The perplexity of every SET under every model, per token, byte and character, and Min-K% Prob; with several
    sets, the first compared with each of the others: a set of unusually low perplexity may have leaked into its
    training.

    A SET is a benchmark, a question file (.yaml), or a file with a text a row (.jsonl, .csv, .json, .txt; a folder of
    them); NAME=SET gives it another name.

    \b
    viva perplexity csbench cmmlu --data DIR --model hf/checkpoints/last
    viva perplexity test=test.jsonl valid=valid.jsonl --field Question --model hf/A --model hf/B --items items.jsonl
    """
    return show_perplexity(given)


def show_perplexity(given: dict[str, Any]) -> int:
    """Measure and print; the exit code."""
    check_writable(given["out"])
    try:
        result = study(pick(PerplexityConfig, given))
    except KeyboardInterrupt as stopped:
        if not stopped.args:
            raise
        say(f"viva: {stopped}")
        return EXIT_INTERRUPTED
    if result.measured:
        print_study(result, given["format"], given["out"], everything=given["all"])
    return result.exit_code
