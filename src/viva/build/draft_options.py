"""What every command shares that lets a model draft texts: the options, what they come to, and how it ends."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct
from msgspec.structs import asdict

from viva.engine.ceilings import MaxAttempts, MaxCost, MaxRequests, Timeout
from viva.errors import EXIT_INCOMPLETE, EXIT_INTERRUPTED, EXIT_OK, EXIT_REFUSED, VivaError
from viva.fields import note, pick
from viva.runs.config import BaseUrl, KeyVariable, Progress
from viva.runs.progress import cost_text
from viva.visible import escape_invisible, one_line, plural

if TYPE_CHECKING:
    from viva.build.drafting import Asking
    from viva.contracts import Model
    from viva.engine.asking import Run
    from viva.engine.budget import Price
    from viva.types import Sampling

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


def asked_for(config: DraftOptions) -> tuple[Model, Sampling, Asking]:
    """The model, how it samples, and how it is asked. Raises VivaError."""
    from viva.build.drafting import Asking
    from viva.models import Endpoint, connect
    from viva.types import Sampling

    model = connect(config.model, Endpoint(base_url=config.base_url, key_variable=config.api_key_env))
    asking = pick(Asking, {**asdict(config), "price": price_given(config.price)})
    return model, Sampling(temperature=config.temperature, max_tokens=config.max_tokens), asking


def price_given(text: str | None) -> Price | None:
    """The price of --price. Raises VivaError."""
    from viva.engine.budget import Price

    if text is None:
        return None
    try:
        paid, earned = (float(part) for part in text.split("/"))
    except ValueError:
        raise VivaError(f"{text!r}: write IN/OUT, in US dollars per million tokens", field="price") from None
    return Price(paid, earned)


def tell_refused(run: Run) -> None:
    """Which models were given up, and why. Raises StorageError where the disk was full."""
    from viva.engine.asking import disk_full
    from viva.runs.stage import given_up

    if run.stop == "disk":
        raise disk_full(run)
    for model, why in run.refused.items():
        print(escape_invisible(f"viva: {given_up(run, model, one_line(why, 400))}"), file=sys.stderr)


def ending(run: Run, asked: int, come_to: str, missing_is: str = "not drafted yet") -> int:
    """Tell how many of those `asked` were answered, what it has `come_to` and how many are missing; the exit code."""
    tally = run.tally
    cost = f" for {said}" if (said := cost_text(tally)) else ""
    print(f"{plural(tally.answered, 'reply', 'replies')} of {asked:,} asked{cost}; {come_to}")
    missing = asked - tally.answered
    if not missing:
        return EXIT_OK
    last = f" (last error: {one_line(tally.last_error, 300)})" if tally.last_error else ""
    print(escape_invisible(f"viva: {missing:,} {missing_is}{last}; the same command goes on"), file=sys.stderr)
    if run.stop == "interrupted":
        return EXIT_INTERRUPTED
    return EXIT_REFUSED if run.refused.keys() - run.unreached else EXIT_INCOMPLETE
