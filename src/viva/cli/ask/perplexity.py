"""`viva perplexity`: how little texts surprise a model, beside other texts."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from viva.cli.options import tables_options, weights_options
from viva.cli.output import check_writable, emit, screen
from viva.errors import EXIT_INCOMPLETE, EXIT_INTERRUPTED, EXIT_OK, EXIT_REFUSED, VivaError
from viva.runs.config import TaskOptions, WeightsOptions, pick
from viva.studies.perplexity.study import PerplexityConfig, study
from viva.visible import escape_invisible

if TYPE_CHECKING:
    from viva.contracts import Model
    from viva.reports.perplexity import Perplexities
    from viva.studies.perplexity.text_logprobs import Measured


@click.command(name="perplexity", short_help="Perplexity of sets of texts under models.")
@click.argument("sets", nargs=-1, required=True, metavar="SET...")
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="hf/FOLDER|PROVIDER/NAME",
    help="Repeat for several: hf/..., openai/... with a server whose completions echo log-probabilities.",
)
@click.option("--base-url", metavar="URL", help="OpenAI-compatible server of the openai/ models, ending in /v1.")
@click.option("--api-key-env", metavar="NAME", help="Environment variable with the key.  [default: the provider's own]")
@click.option(
    "--field",
    default="question",
    show_default=True,
    metavar="NAME",
    help="Of a question: question, options, answer, explanation, whole. Of a file: the column.",
)
@click.option("--by", metavar="TAG", help="Also a row for every value of this tag, or column of a file.")
@click.option("--limit", type=click.IntRange(1), help="Measure so many texts of a set, evenly spread over it.")
@click.option("--data", type=click.Path(path_type=Path), help="Folder of the published files of benchmarks.")
@click.option("--language", multiple=True, metavar="LANG", help="en, zh, de, fr (CS-Bench); several: en,zh or repeat.")
@click.option(
    "--k",
    type=click.FloatRange(0, 100, min_open=True),
    default=20.0,
    show_default=True,
    help="Min-K%: per cent of a text's tokens, the least probable ones.",
)
@click.option(
    "--items",
    type=click.Path(path_type=Path),
    metavar="FILE.jsonl",
    help="Keep every text's figures here; what it holds already is not measured again.",
)
@weights_options
@click.option("--concurrency", type=click.IntRange(1), help="Texts in flight.  [default: 64; more for hf/]")
@click.option("--timeout", type=click.FloatRange(0.1), default=300.0, show_default=True, help="Seconds; servers only.")
@click.option(
    "--progress",
    type=click.Choice(["auto", "live", "plain", "quiet"]),
    default="auto",
    show_default=True,
    help="A live line, plain lines for logs, or nothing.",
)
@tables_options
def perplexity_command(sets: tuple[str, ...], models: tuple[str, ...], **given: Any) -> int:
    """The perplexity of every SET under every model, per token, byte and character, and Min-K% Prob; with several
    sets, the first beside each of the others: a set that surprises a model strangely little may have leaked into its
    training.

    A SET is a benchmark, a question file (.yaml), or a file with a text a row (.jsonl, .csv, .json, .txt; a folder of
    them); NAME=SET calls it otherwise.

    \b
    viva perplexity csbench cmmlu --data DIR --model hf/checkpoints/last
    viva perplexity test=test.jsonl valid=valid.jsonl --field Question --model hf/A --model hf/B --items items.jsonl
    """
    from viva.runs.model_names import separate_benchmarks_and_models
    from viva.studies.perplexity.item_file import Items
    from viva.studies.perplexity.text_logprobs import MeasureConfig, StoppedError, measure, need_measurers
    from viva.studies.text_sets import open_sets

    config = pick(PerplexityConfig, given)
    check_writable(config.out)
    opening, choice = pick(WeightsOptions, given), pick(TaskOptions, given)
    if opening.template:
        raise VivaError(
            f"--template {opening.template!r} writes messages, and texts are measured as they are: leave it out"
        )
    named, typed = separate_benchmarks_and_models(sets, models)
    if not named:
        raise VivaError("of which texts? name a benchmark, a question file or a file of texts")
    opened = _models(typed, config, opening)
    need_measurers(opened)
    found = open_sets(named, config.field, config.by, choice)
    wish = MeasureConfig(
        sets=found,
        field=config.field,
        k=config.k,
        concurrency=config.concurrency,
        timeout=config.timeout,
        progress=config.progress,
    )
    items = Items(config.items)
    try:
        measured = asyncio.run(measure(opened, wish, items))
    except StoppedError as stopped:
        kept = f"; go on with the same command, {config.items} keeps them" if config.items else " (--items keeps them)"
        print(
            f"viva: interrupted, {stopped.measured:,} of {stopped.total:,} texts measured{kept}",
            file=sys.stderr,
        )
        return EXIT_INTERRUPTED
    finally:
        items.close()
    if all(one.refused and not any(one.readings.values()) for one in measured):
        return _ended(measured)
    emit(_printed(study(found, measured, config, choice), config), config.out)
    return _ended(measured)


def _models(typed: Sequence[str], config: PerplexityConfig, opening: WeightsOptions) -> list[Model]:
    """Every model that is named, as `viva run` would reach it."""
    from viva.runs.model_names import named_models
    from viva.runs.open import reach
    from viva.runs.plan import model_record
    from viva.runs.preflight import refuse_unopened

    named = named_models(typed, opening.revision, None)
    if config.base_url and not any(one.name.startswith("openai/") for one in named):
        raise VivaError(f"--base-url is for openai/ models; here is only {named[0].name}")
    refuse_unopened(opening, "chat", [one.name for one in named])
    models: dict[str, Model] = {}
    for one in named:
        record = model_record(one.name, config.base_url, config.api_key_env, opening)
        model = reach(msgspec.structs.replace(record, shown=one.shown), 0)
        if model.name in models:
            raise VivaError(f"two models are both called {model.name}: nobody could tell their figures apart")
        models[model.name] = model
    return list(models.values())


def _ended(measured: Sequence[Measured]) -> int:
    """The exit code, and a sentence for everything that is missing."""
    code = EXIT_OK
    for one in measured:
        if one.refused:
            said = f"{one.model}: {one.refused}" if one.absent else f"{one.model} was given up: {one.refused}"
            print(escape_invisible(f"viva: {said}"), file=sys.stderr)
            code = max(code, EXIT_INCOMPLETE if one.absent else EXIT_REFUSED)
        elif one.failed:
            print(
                escape_invisible(f"viva: {one.model}: {one.failed:,} texts not measured ({one.why})"), file=sys.stderr
            )
            code = code or EXIT_INCOMPLETE
    return code


def _printed(found: Perplexities, config: PerplexityConfig) -> str:
    from viva.reports import perplexity as report

    if config.format != "terminal":
        return report.FORMATS[config.format](found)
    width, colour = screen(config.out)
    return report.as_terminal(found, width=width, colour=colour)
