"""Limits of a run as options: how many requests at once and in a minute, how long, how often, for how much."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from viva.fields import note

Positive = Annotated[int, Meta(ge=1)]
Timeout = Annotated[float, Meta(ge=0.1), note("Seconds for one attempt.")]
MaxAttempts = Annotated[int, Meta(ge=1), note("Tries for each question.")]
MaxRequests = Annotated[Positive | None, note("Stop after so many requests, retries and judge included.")]
MaxCost = Annotated[Annotated[float, Meta(gt=0)] | None, note("Never spend more US dollars than this.")]


class PaceOptions(Struct, frozen=True, kw_only=True):
    """How many requests at once, and in a minute."""

    concurrency: Annotated[
        tuple[str, ...],
        note(
            "Requests in flight per endpoint: a number, `auto`, or for one provider `openai=64`.  [default: auto]",
            metavar="N|auto",
        ),
    ] = ()
    requests_per_minute: Annotated[tuple[str, ...], note("Pace; for one provider `openai=500`.", metavar="N|none")] = ()
    tokens_per_minute: Annotated[
        tuple[str, ...],
        note(
            "The same in tokens, prompt and reply: estimated, then as the server counts them.",
            metavar="N|none",
        ),
    ] = ()


class RunLimits(PaceOptions, frozen=True, kw_only=True):
    """What belongs to a run: kept in run.json, and inherited by whoever goes on with it. Caps count its whole life."""

    timeout: Timeout = 300.0
    question_timeout: Annotated[float, Meta(ge=0.1), note("Seconds for one question with all its retries.")] = 1200.0
    max_attempts: MaxAttempts = 8
    wait_for_server: Annotated[
        float,
        Meta(ge=0),
        note(
            "Wait so long for a server that does not listen yet, such as one that loads its model.",
            metavar="SECONDS",
        ),
    ] = 0.0
    max_requests: MaxRequests = None
    max_cost: MaxCost = None
    batch: Annotated[
        bool | None,
        note(
            "Ask through the provider's batch API (OpenAI, Anthropic): half the price; answers can take hours. "
            "A resumed run goes on in this way; --no-batch cancels its open batches.",
            spelled=("--batch/--no-batch",),
        ),
    ] = None
