"""Perplexities of sets of texts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta
from msgspec.structs import replace

from viva.commands import command
from viva.engine.budget import Positive
from viva.errors import EXIT_INCOMPLETE, EXIT_OK, EXIT_REFUSED, VivaError, option
from viva.fields import note
from viva.providers import traits_of
from viva.runs.config import BaseUrl, KeyVariable, TaskOptions, WeightsOptions
from viva.runs.progress import notify
from viva.studies.item_scores import BenchmarkFiles, Languages, ProgressLine

if TYPE_CHECKING:
    from viva.contracts import Model
    from viva.lab.surprisal.tables import Perplexities
    from viva.lab.surprisal.text_logprobs import Measured
    from viva.render.findings import Findings


class PerplexityConfig(WeightsOptions, frozen=True, kw_only=True):
    """The perplexity of every SET under every model, per token, byte and character, and Min-K% Prob; with several
    sets, the first compared with each of the others: a set of unusually low perplexity may have leaked into its
    training.

    A SET is a benchmark, a question file (.yaml), or a file with a text a row (.jsonl, .csv, .json, .txt; a folder of
    them); NAME=SET gives it another name.

    \b
    viva perplexity csbench cmmlu --data DIR --model hf/checkpoints/last
    viva perplexity test=test.jsonl valid=valid.jsonl --field Question --model hf/A --model hf/B --items items.jsonl
    """

    sets: Annotated[
        tuple[str, ...], note("Benchmarks, question files, files of texts; NAME=SET.", argument=True, metavar="SET...")
    ]
    model: Annotated[
        tuple[str, ...],
        note(
            "Repeat for several: hf/..., openai/... with a server whose completions echo log-probabilities.",
            metavar="hf/FOLDER|PROVIDER/NAME",
        ),
    ] = ()
    base_url: BaseUrl = None
    api_key_env: KeyVariable = None
    field: Annotated[
        str,
        note("Of a question: question, options, answer, explanation, whole. Of a file: the column.", metavar="NAME"),
    ] = "question"
    by: Annotated[str | None, note("Also a row for every value of this tag, or column of a file.", metavar="TAG")] = (
        None
    )
    limit: Annotated[Positive | None, note("Measure so many texts of a set, evenly spread over it.")] = None
    data: BenchmarkFiles = None
    language: Languages = ()
    k: Annotated[
        float, Meta(gt=0, le=100, description="Min-K%: per cent of a text's tokens, the least probable ones.")
    ] = 20.0
    items: Annotated[
        Path | None,
        note("Keep every text's figures here; what it holds already is not measured again.", metavar="FILE.jsonl"),
    ] = None
    concurrency: Annotated[Positive | None, note("Texts in flight.  [default: 64; more for hf/]")] = None
    timeout: Annotated[float, Meta(ge=0.1, description="Seconds; servers only.")] = 300.0
    progress: ProgressLine = "auto"


@command(PerplexityConfig)
def study(config: PerplexityConfig) -> Findings[Perplexities]:
    """The perplexity of sets of texts under models, per token, byte and character, and Min-K% Prob; with several sets,
    the first beside each of the others.

    Raises VivaError for models that do not say how probable a text is, DataError for what is no set, and
    KeyboardInterrupt, which says how much is measured.
    """
    from viva.lab.surprisal.item_file import Items
    from viva.lab.surprisal.tables import findings, perplexities
    from viva.lab.surprisal.text_logprobs import MeasureConfig, StoppedError, measure, need_measurers
    from viva.lab.text_sets import open_sets
    from viva.runs.model_names import separate_benchmarks_and_models

    if config.template:
        raise VivaError(
            f"{config.template!r} writes messages, and texts are measured as they are: leave it out", field="template"
        )
    named, typed = separate_benchmarks_and_models(config.sets, config.model)
    if not named:
        raise VivaError("of which texts? name a benchmark, a question file or a file of texts")
    models = _models(typed, config)
    need_measurers(models)
    choice = TaskOptions(data=config.data, language=config.language, limit=config.limit)
    sets = open_sets(named, config.field, config.by, choice)
    wish = MeasureConfig(
        sets=sets,
        field=config.field,
        by=config.by or "",
        limit=config.limit,
        language=config.language,
        k=config.k,
        concurrency=config.concurrency,
        timeout=config.timeout,
        progress=config.progress,
    )
    items = Items(config.items)
    try:
        measured = asyncio.run(measure(models, wish, items))
    except StoppedError as stopped:
        kept = (
            f"; go on with the same command, {config.items} keeps them"
            if config.items
            else f" ({option('items')} keeps them)"
        )
        raise KeyboardInterrupt(
            f"interrupted, {stopped.measured:,} of {stopped.total:,} texts measured{kept}"
        ) from None
    finally:
        items.close()
    return findings(
        perplexities(wish, measured),
        exit_code=_ended(measured),
        empty=all(each.refused and not any(each.readings.values()) for each in measured),
    )


def _models(typed: Sequence[str], config: PerplexityConfig) -> list[Model]:
    """Return the named models, connected as in `viva run`."""
    from viva.runs.checks import refuse_unopened
    from viva.runs.model_names import named_models
    from viva.runs.open import reach
    from viva.runs.session import model_record

    named = named_models(typed, config.revision, None)
    if config.base_url and not any(traits_of(each.name).served for each in named):
        raise VivaError(f"is for openai/ models; here is only {named[0].name}", field="base_url")
    refuse_unopened(config, "chat", [each.name for each in named])
    models: dict[str, Model] = {}
    for each in named:
        record = model_record(each.name, config.base_url, config.api_key_env, config)
        model = reach(replace(record, shown=each.shown), 0)
        if model.name in models:
            raise VivaError(f"two models are both called {model.name}: nobody could tell their figures apart")
        models[model.name] = model
    return list(models.values())


def _ended(measured: Sequence[Measured]) -> int:
    """Return the exit code, and report missing measurements."""
    code = EXIT_OK
    for each in measured:
        if each.refused:
            notify(f"{each.model}: {each.refused}" if each.absent else f"{each.model} was given up: {each.refused}")
            code = max(code, EXIT_INCOMPLETE if each.absent else EXIT_REFUSED)
        elif each.failed:
            notify(f"{each.model}: {each.failed:,} texts not measured ({each.why})")
            code = code or EXIT_INCOMPLETE
    return code
