"""A run that asks, listening for `viva limits`: what it is asked to change holds in its lanes and for later stages."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from pathlib import Path

from viva.cli.hosting import tell
from viva.engine.adaptive import Adaptive
from viva.engine.asking import Run
from viva.engine.limitchanges import AUTO, LimitRequest, listen
from viva.engine.limits import Fixed
from viva.models import PROVIDERS
from viva.runs.config import Limits

UNBOUND = ("baseline", "replay", "hf")
"""Providers that are bounded by what this machine holds, not by limits."""


async def limited(run: Run, folder: Path, limits: Limits, asking: Coroutine[None, None, None]) -> None:
    """Ask, and meanwhile do what `viva limits` asks for. What it changes holds for the stages after this one too."""
    listening = asyncio.create_task(listen(folder, run.lanes, lambda request: apply(run, limits, request), tell))
    try:
        await asking
    finally:
        listening.cancel()


def apply(run: Run, limits: Limits, request: LimitRequest) -> str:
    """Change what a request asks for. Returns what cannot be, in words."""
    named = {*request.concurrency, *request.requests_per_minute, *request.tokens_per_minute}
    unknown = sorted(named - {"", *PROVIDERS} | named & set(UNBOUND))
    if unknown:
        return f"no such limits for {', '.join(unknown)}"
    limits.concurrency = _said(limits.concurrency, request.concurrency, "auto")
    limits.requests_per_minute = _said(limits.requests_per_minute, request.requests_per_minute, "none")
    limits.tokens_per_minute = _said(limits.tokens_per_minute, request.tokens_per_minute, "none")
    for lane, slots in run.lanes.items():
        provider = lane.split(maxsplit=1)[0]
        if provider in UNBOUND:
            continue
        number = request.concurrency.get(provider, request.concurrency.get(""))
        if number is not None:
            slots.change(Fixed(number) if number != AUTO else Adaptive(patience=limits.timeout))
        for wanted, name in (
            (request.requests_per_minute, "per_minute"),
            (request.tokens_per_minute, "tokens_per_minute"),
        ):
            rate = wanted.get(provider, wanted.get(""))
            if rate is not None:
                setattr(slots.pace, name, rate or None)
        slots.notice()
    return ""


def _said(before: tuple[str, ...], wanted: Mapping[str, float], zero: str) -> tuple[str, ...]:
    """As options of the command line, the later before the earlier; one for all providers is over what each had."""
    words = tuple(f"{provider}={n or zero}" if provider else f"{n or zero}" for provider, n in wanted.items())
    return words if "" in wanted else before + words
