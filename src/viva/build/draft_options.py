"""What every command shares that lets a model draft texts: the options, what they come to, and how it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from viva.cli.options import derive, stack
from viva.errors import EXIT_INCOMPLETE, EXIT_INTERRUPTED, EXIT_OK, EXIT_REFUSED, VivaError
from viva.runs.config import LimitOptions, ModelOptions, pick
from viva.runs.progress import cost_text
from viva.visible import escape_invisible, one_line, plural

if TYPE_CHECKING:
    from viva.build.drafting import Asking
    from viva.contracts import Model
    from viva.engine.asking import Run
    from viva.engine.budget import Price
    from viva.types import Sampling

_MODEL = (
    click.option(
        "--model",
        required=True,
        metavar="PROVIDER/NAME[@URL]",
        help="openai/..., anthropic/..., google/..., replay/FILE.",
    ),
    derive(ModelOptions, without=("checkpoints",)),
)
_HOW = (
    click.option(
        "--concurrency", type=click.IntRange(1), help="Requests in flight.  [default: as many as the server bears]"
    ),
    derive(LimitOptions, only=("timeout", "max_attempts", "max_requests", "max_cost", "progress")),
    click.option("--price", metavar="IN/OUT", help="US dollars per million tokens, where the list price is unknown."),
)


model_options = stack(*_MODEL)
"""Which model drafts."""


def asking_options(max_tokens: int, temperature: float | None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """How it is asked: the longest reply in tokens, the temperature (None: the server's own), limits, progress."""
    said = "[default: left to the server]" if temperature is None else None
    return stack(
        click.option(
            "--temperature",
            type=click.FloatRange(0, 10),
            default=temperature,
            show_default=temperature is not None,
            help=said,
        ),
        click.option(
            "--max-tokens", type=click.IntRange(1), default=max_tokens, show_default=True, help="Longest reply."
        ),
        *_HOW,
    )


def asked_for(given: dict[str, Any]) -> tuple[Model, Sampling, Asking]:
    """The model, how it samples, and how it is asked. Raises VivaError."""
    from viva.build.drafting import Asking
    from viva.models import Endpoint, connect
    from viva.types import Sampling

    model = connect(given["model"], Endpoint(base_url=given["base_url"], key_variable=given["api_key_env"]))
    asking = pick(Asking, {**given, "price": price_given(given["price"])})
    return model, Sampling(temperature=given["temperature"], max_tokens=given["max_tokens"]), asking


def price_given(text: str | None) -> Price | None:
    """The price of --price. Raises VivaError."""
    from viva.engine.budget import Price

    if text is None:
        return None
    try:
        paid, earned = (float(part) for part in text.split("/"))
    except ValueError:
        raise VivaError(f"--price {text!r}: write IN/OUT, in US dollars per million tokens") from None
    return Price(paid, earned)


def tell_refused(run: Run) -> None:
    """Which models were given up, and why. Raises StorageError where the disk was full."""
    from viva.engine.asking import disk_full
    from viva.runs.endings import given_up

    if run.stop == "disk":
        raise disk_full(run)
    for model, why in run.refused.items():
        click.echo(escape_invisible(f"viva: {given_up(run, model, one_line(why, 400))}"), err=True)


def ending(run: Run, asked: int, come_to: str, missing_is: str = "not drafted yet") -> int:
    """Tell how many of those `asked` were answered, what it has `come_to` and how many are missing; the exit code."""
    tally = run.tally
    cost = f" for {said}" if (said := cost_text(tally)) else ""
    click.echo(f"{plural(tally.answered, 'reply', 'replies')} of {asked:,} asked{cost}; {come_to}")
    missing = asked - tally.answered
    if not missing:
        return EXIT_OK
    last = f" (last error: {one_line(tally.last_error, 300)})" if tally.last_error else ""
    click.echo(escape_invisible(f"viva: {missing:,} {missing_is}{last}; the same command goes on"), err=True)
    if run.stop == "interrupted":
        return EXIT_INTERRUPTED
    return EXIT_REFUSED if run.refused.keys() - run.unreached else EXIT_INCOMPLETE
