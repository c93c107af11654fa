"""Have a model draft texts: options, requests, a journal of the replies, exit code."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from viva.build.project import DRAFTS, ProjectFolder
from viva.engine.adaptive import Adaptive
from viva.engine.asking import Run, Tally, Task, disk_full
from viva.engine.budget import Budget, MaxAttempts, MaxCost, MaxRequests, Price, Timeout
from viva.engine.groups import GroupPlan, Source, carry_out
from viva.engine.journal import Journal, Keys
from viva.engine.sendingslots import Fixed, Pace, Policy
from viva.errors import EXIT_INCOMPLETE, EXIT_INTERRUPTED, EXIT_OK, EXIT_REFUSED, DataError, VivaError, option
from viva.fields import note
from viva.files import shipped_table
from viva.prompting import fence, fill
from viva.runs.config import BaseUrl, KeyVariable, Progress
from viva.runs.open import price_of
from viva.runs.progress import Stage, cost_text, ending_of_asking, given_up, watched
from viva.scorers.lexicon import after_thinking, is_blank
from viva.types import Generate, Message, Sampling
from viva.visible import escape_invisible, one_line, plural

if TYPE_CHECKING:
    from viva.contracts import Model

Temperature = Annotated[
    Annotated[float, Meta(ge=0, le=10)] | None, note("Of the replies.  [default: left to the server]")
]
MaxTokens = Annotated[int, Meta(ge=1, description="Longest reply.")]


class DraftOptions(Struct, kw_only=True):
    """Which model drafts, and how it is asked."""

    model: Annotated[str, note("openai/..., anthropic/..., google/..., replay/FILE.", metavar="PROVIDER/NAME[@URL]")]
    base_url: BaseUrl = None
    api_key_env: KeyVariable = None
    temperature: Temperature = None
    max_tokens: MaxTokens = 4096
    concurrency: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        note("Requests in flight.  [default: as many as the server bears]"),
    ] = None
    timeout: Timeout = 300.0
    max_attempts: MaxAttempts = 8
    max_requests: MaxRequests = None
    max_cost: MaxCost = None
    progress: Progress = "auto"
    price: Annotated[
        str | None, note("US dollars per million tokens, where the list price is unknown.", metavar="IN/OUT")
    ] = None


def model_and_sampling(config: DraftOptions) -> tuple[Model, Sampling]:
    """Return the model and its sampling settings. Raises VivaError."""
    from viva.providers import Endpoint, connect

    model = connect(config.model, Endpoint(base_url=config.base_url, key_variable=config.api_key_env))
    price_given(config)
    return model, Sampling(temperature=config.temperature, max_tokens=config.max_tokens)


def price_given(config: DraftOptions) -> Price | None:
    """Return the value of --price, None if not given. Raises VivaError."""
    if config.price is None:
        return None
    try:
        paid, earned = (float(part) for part in config.price.split("/"))
    except ValueError:
        raise VivaError(f"{config.price!r}: write IN/OUT, in US dollars per million tokens", field="price") from None
    return Price(paid, earned)


def ask_and_keep(
    project: ProjectFolder,
    model: Model,
    requests: Sequence[tuple[str, Generate]],
    config: DraftOptions,
    doing: str = "drafting",
) -> tuple[Run, int]:
    """Send the requests that the project's journal has no reply to; returns the run and how many were sent.

    `requests` are pairs of subject (kept in the journal entry after the project's scope) and request; `doing` is the
    label of the progress line. Raises VivaError for --max-cost without a known price, StorageError for a full disk.
    """
    price = price_of(model, price_given(config))
    if config.max_cost is not None and price is None:
        raise VivaError(f"needs the price of {model.name}: give {option('price', 'IN/OUT')}", field="max_cost")
    journal = Journal(project.path / DRAFTS, write=True)
    try:
        keys = Keys(model.identity, project.scope)
        named = [(keys.of(request), asked, request) for asked, request in requests]
        tasks = [
            Task(key, f"{project.scope}{asked}", request, model, price)
            for key, asked, request in named
            if key not in journal.answered
        ]
        run = _ask(model, tasks, journal, config, doing)
    finally:
        journal.close()
    if run.stop == "disk":
        raise disk_full(run)
    for refused, why in run.refused.items():
        print(escape_invisible(f"viva: {given_up(run, refused, one_line(why, 400))}"), file=sys.stderr)
    return run, len(tasks)


def _ask(model: Model, tasks: Sequence[Task], journal: Journal, config: DraftOptions, doing: str) -> Run:
    policy = Policy(attempt=config.timeout, attempts=config.max_attempts)
    budget = Budget(config.max_requests, config.max_cost)
    run = Run(journal, budget, policy, Tally(total=len(tasks)))
    ceiling = (
        Fixed(config.concurrency)
        if config.concurrency
        else Fixed(1)
        if model.rate_limit_group == "replay"
        else Adaptive(patience=config.timeout)
    )

    async def work(_: object) -> None:
        await carry_out(run, {model.rate_limit_group: GroupPlan([Source(run, iter(tasks))], ceiling, Pace())})

    stage = Stage(doing, run, ending_of_asking, [model])
    asyncio.run(watched([stage], config.progress, work))
    return run


def ending(run: Run, asked: int, come_to: str, missing_is: str = "not drafted yet") -> int:
    """Print how many of `asked` requests were answered, `come_to`, and how many are missing; returns the exit code."""
    tally = run.tally
    cost = f" for {costs}" if (costs := cost_text(tally)) else ""
    print(f"{plural(tally.answered, 'reply', 'replies')} of {asked:,} asked{cost}; {come_to}")
    missing = asked - tally.answered
    if not missing:
        return EXIT_OK
    last = f" (last error: {one_line(tally.last_error, 300)})" if tally.last_error else ""
    print(escape_invisible(f"viva: {missing:,} {missing_is}{last}; the same command goes on"), file=sys.stderr)
    if run.stop == "interrupted":
        return EXIT_INTERRUPTED
    return EXIT_REFUSED if run.refused.keys() - run.unreached else EXIT_INCOMPLETE


def texts_of(given: Mapping[str, object], name: str, known: Mapping[str, Collection[str]]) -> dict[str, dict[str, str]]:
    """Return the instructions in a project's parsed TOML file: table → key → text.

    Raises DataError for tables and keys that are not in `known`, and for values that are not text.
    """
    texts_by_table: dict[str, dict[str, str]] = {}
    for table, texts in given.items():
        if table not in known:
            raise DataError(f"{name}: {table!r} is not known; there are {', '.join(f'[{each}]' for each in known)}")
        if not isinstance(texts, dict):
            raise DataError(f"{name}: {table} should be a table, [{table}]")
        for key, value in texts.items():
            if key not in known[table]:
                raise DataError(f"{name}: {table}.{key} is not known; there are {', '.join(known[table])}")
            if not isinstance(value, str):
                raise DataError(f"{name}: {table}.{key} should be a text")
        texts_by_table[table] = texts
    return texts_by_table


@cache
def draft_texts(module: str) -> dict[str, str]:
    """Return the prompt texts in the drafting.toml next to a module."""
    return shipped_table(module, "drafting.toml", dict[str, dict[str, str]])["draft"]


def drafting_request(
    question: str,
    texts: Mapping[str, str],
    material: Mapping[str, str],
    sampling: Sampling,
    *,
    user: str = "user",
    again: bool = False,
    sample: int = 0,
    **told: str,
) -> Generate:
    """Return the request for a draft, from the texts `system` and `user`, and `again` for a second draft.

    `material` is untrusted and is quoted between fences. `told`: further fields of the system text.
    """
    # One fence, derived from all of the material, so that no part can contain the fence line.
    values = {**material, "fence": fence("\n".join(material.values()))}
    system = fill(texts["system"], {**values, **told}).strip()
    asked = "\n\n".join(fill(texts[part], values) for part in (user, "again")[: 1 + again])
    prompt = Message("system", system), Message("user", asked)
    return Generate(question=question, sample=sample, prompt=prompt, sampling=sampling)


def draft_and_doubt(reply: str, mark: str, clean: Callable[[str], str]) -> tuple[str, str]:
    """Return the draft in a model's reply and its doubt, the text of a reply that starts with `mark`; one is "".

    The model's reasoning is cut off first.
    """
    start, unfinished = after_thinking(reply)
    text = "" if unfinished or is_blank(reply[start:]) else clean(reply[start:])
    return ("", text.removeprefix(mark).strip()) if text.startswith(mark) else (text, "")
