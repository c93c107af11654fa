"""What every command shares that lets a model draft texts: the options, what they come to, and how it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from viva.errors import EXIT_INCOMPLETE, EXIT_INTERRUPTED, EXIT_OK, EXIT_REFUSED, VivaError
from viva.visible import escape_invisible, one_line

if TYPE_CHECKING:
    from viva.authoring.drafting import Asking
    from viva.contracts import Model
    from viva.engine.asking import Run
    from viva.engine.budget import Price
    from viva.types import Sampling

_LIMITS = ("concurrency", "timeout", "attempts", "max_requests", "max_cost", "progress")
_MODEL = (
    click.option(
        "--model",
        required=True,
        metavar="PROVIDER/NAME[@URL]",
        help="openai/..., anthropic/..., google/..., replay/FILE.",
    ),
    click.option("--base-url", metavar="URL", help="OpenAI-compatible server of an openai/ model, ending in /v1."),
    click.option(
        "--api-key-env", metavar="NAME", help="Environment variable with the key.  [default: the provider's own]"
    ),
)
_HOW = (
    click.option(
        "--concurrency", type=click.IntRange(1), help="Requests in flight.  [default: as many as the server bears]"
    ),
    click.option(
        "--timeout", type=click.FloatRange(0.1), default=300.0, show_default=True, help="Seconds for one attempt."
    ),
    click.option(
        "--max-attempts",
        "attempts",
        type=click.IntRange(1),
        default=8,
        show_default=True,
        help="Tries for each request.",
    ),
    click.option("--max-requests", type=click.IntRange(1), help="Stop after so many requests, retries included."),
    click.option("--max-cost", type=click.FloatRange(0, min_open=True), help="Never spend more US dollars than this."),
    click.option("--price", metavar="IN/OUT", help="US dollars per million tokens, where the list price is unknown."),
    click.option(
        "--progress", type=click.Choice(["auto", "live", "plain", "quiet"]), default="auto", show_default=True
    ),
)


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Which model drafts."""
    for option in reversed(_MODEL):
        command = option(command)
    return command


def asking_options(max_tokens: int, temperature: float | None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """How it is asked: the longest reply in tokens, the temperature (None: the server's own), limits, progress."""
    said = "[default: left to the server]" if temperature is None else None
    sampling = (
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
    )

    def decorated(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed((*sampling, *_HOW)):
            command = option(command)
        return command

    return decorated


def model_given(given: dict[str, Any]) -> Model:
    """The model of --model. Raises VivaError."""
    from viva.models import Endpoint, connect

    return connect(given["model"], Endpoint(base_url=given["base_url"], key_variable=given["api_key_env"]))


def sampling_given(given: dict[str, Any]) -> Sampling:
    """--temperature and --max-tokens."""
    from viva.types import Sampling

    return Sampling(temperature=given["temperature"], max_tokens=given["max_tokens"])


def asking_given(given: dict[str, Any]) -> Asking:
    """The other options. Raises VivaError."""
    from viva.authoring.drafting import Asking

    return Asking(price=price_given(given["price"]), **{name: given[name] for name in _LIMITS})


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


def ending(run: Run, asked: int, missing_is: str = "not drafted yet") -> int:
    """Tell how many of those `asked` are missing; the exit code."""
    tally = run.tally
    missing = asked - tally.answered
    if not missing:
        return EXIT_OK
    last = f" (last error: {one_line(tally.last_error, 300)})" if tally.last_error else ""
    click.echo(escape_invisible(f"viva: {missing:,} {missing_is}{last}; the same command goes on"), err=True)
    if run.stop == "interrupted":
        return EXIT_INTERRUPTED
    return EXIT_REFUSED if run.refused.keys() - run.unreached else EXIT_INCOMPLETE
