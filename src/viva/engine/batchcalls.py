"""Calls to a provider's batch API: bounded in time, tried again while the provider is busy or away, ended by Ctrl-C."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from viva.engine.asking import Run
from viva.errors import ModelError

T = TypeVar("T")
DAY = 86_400.0
TRANSFER = 3600.0
"""Seconds that handing in or reading one batch may take: hundreds of megabytes over a slow line."""


class DrainedError(Exception):
    """The run is told to finish."""


class Calls:
    """The calls about one model's batches."""

    def __init__(self, run: Run, model: str, *, wait: bool) -> None:
        self._run = run
        self._model = model
        self._patience = DAY if wait else run.policy.question

    async def sleep(self, seconds: float) -> None:
        """Sleep. Raises HurriedError as soon as the run is told to finish."""
        try:
            await asyncio.wait_for(self._run.stop_requested(), max(0.0, seconds))
        except TimeoutError:
            return
        raise DrainedError

    async def once(self, call: Callable[[], Awaitable[T]], limit: float) -> T:
        """What a call comes to, in `limit` seconds. Raises ModelError."""
        try:
            async with asyncio.timeout(limit):
                return await call()
        except TimeoutError:
            raise ModelError("timeout", f"no complete reply within {limit:g} s", retry=True) from None

    async def patiently(self, call: Callable[[], Awaitable[T]], limit: float = 0.0, patience: float = 0.0) -> T:
        """What a call comes to, tried again while the provider is busy or away. `limit`: of one try; seconds.

        `patience` is a day where batches are waited for; below that, it is tried as often as a question is.

        Raises ModelError (one to `retry`, where `patience` was not enough) and HurriedError.
        """
        began, attempt = time.monotonic(), 0
        while True:
            attempt += 1
            try:
                return await self.once(call, limit or self._run.policy.attempt)
            except ModelError as problem:
                await self.pause(problem, attempt, began + (patience or self._patience))

    async def pause(self, problem: ModelError, attempt: int, deadline: float) -> None:
        """Wait before the next try, or raise the problem."""
        self._run.tally.last_error = f"{self._model}: {problem.message}"
        pause = self._run.policy.pause(attempt, problem.retry_after)
        spent = deadline < time.monotonic() + DAY / 2 and attempt >= self._run.policy.attempts
        if not problem.retry or spent or time.monotonic() + pause > deadline:
            raise problem
        self._run.tally.retries += 1
        await self.sleep(pause)
