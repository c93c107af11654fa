"""A run that asks, listening for `viva limits`: what it is asked to change holds in its lanes and for later stages."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Coroutine, Mapping
from pathlib import Path

from viva.engine.adaptive import Adaptive
from viva.engine.asking import Run
from viva.engine.limitchanges import (
    AUTO,
    TOLD,
    GroupLimits,
    LimitAnswer,
    LimitRequest,
    listen,
    read_file,
)
from viva.engine.limits import Fixed
from viva.errors import VivaError
from viva.files import LockedError, lock
from viva.models import PROVIDERS
from viva.runs.config import LimitOptions
from viva.runs.messages import notify

UNBOUND = ("baseline", "replay", "hf")
"""Providers that are bounded by what this machine holds, not by limits."""


async def limited(run: Run, folder: Path, limits: LimitOptions, asking: Coroutine[None, None, None]) -> None:
    """Ask, and meanwhile do what `viva limits` asks for. What it changes holds for the stages after this one too."""
    listening = asyncio.create_task(listen(folder, run.groups, lambda request: apply(run, limits, request), notify))
    try:
        await asking
    finally:
        listening.cancel()


def apply(run: Run, limits: LimitOptions, request: LimitRequest) -> str:
    """Change what a request asks for. Returns what cannot be, in words."""
    named = {*request.concurrency, *request.requests_per_minute, *request.tokens_per_minute}
    unknown = sorted(named - {"", *PROVIDERS} | named & set(UNBOUND))
    if unknown:
        return f"no such limits for {', '.join(unknown)}"
    limits.concurrency = _said(limits.concurrency, request.concurrency, "auto")
    limits.requests_per_minute = _said(limits.requests_per_minute, request.requests_per_minute, "none")
    limits.tokens_per_minute = _said(limits.tokens_per_minute, request.tokens_per_minute, "none")
    for rate_limit_group, slots in run.groups.items():
        provider = rate_limit_group.split(maxsplit=1)[0]
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


PATIENCE = 10.0
"""Seconds that the run has to answer."""


def describe(group: GroupLimits) -> str:
    """`openai http://…/v1: 64 at once (fixed), 60 in flight, 3 waiting to be asked again, 204 answered, 7 refused`."""
    parts = [f"{group.limit} at once ({group.doing})", f"{group.in_flight} in flight"]
    if group.waiting:
        parts.append(f"{group.waiting} waiting to be asked again")
    parts += [f"{group.answered:,} answered", f"{group.refused:,} refused"]
    return f"{group.rate_limit_group}: {', '.join([*parts, group.pace] if group.pace else parts)}"


def asking_process(folder: Path) -> int:
    """The number of the process that holds the run. Raises VivaError where none does."""
    try:
        os.close(lock(folder / ".lock", os.O_RDONLY, shared=True))
    except LockedError as locked:
        holder = re.fullmatch(r"pid (\d{1,10})", locked.holder, re.ASCII)
        if holder:
            return int(holder[1])
        raise VivaError(f"{folder} is held by a process that does not say its number; try again") from None
    except OSError:
        raise _still(folder) from None
    raise _still(folder)


def _still(folder: Path) -> VivaError:
    return VivaError(
        f"{folder} is not running, so nothing was changed: give limits to `viva resume {folder} --concurrency 64`"
    )


def answer_to(folder: Path, number: str) -> LimitAnswer | None:
    """What the run answers to the request of this number; None where it says nothing in PATIENCE seconds."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        time.sleep(0.1)
        try:
            answer = read_file(folder / TOLD, LimitAnswer)
        except ValueError:
            continue
        if answer and answer.number == number:
            (folder / TOLD).unlink(missing_ok=True)
            return answer
    return None
