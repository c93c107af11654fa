"""Run stages side by side: show progress, handle Ctrl-C, release resources, say how they ended."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from viva.engine.asking import Run
from viva.errors import EXIT_INTERRUPTED, EXIT_OK
from viva.runs.endings import resumable
from viva.runs.live_line import Mode, say
from viva.runs.messages import caller
from viva.runs.progress import Progress


@runtime_checkable
class Closing(Protocol):
    """What a stage uses and gives back: models, a sandbox."""

    async def close(self) -> None:
        """Give back what it holds."""
        ...


class Stage(Struct, frozen=True):
    """What a stage is called, its state, what it uses and gives back, what is said at its end."""

    name: str
    run: Run
    ending: Callable[[Run, Path], int]
    used: Sequence[Closing] = ()


async def watched(
    stages: Sequence[Stage], mode: Mode, work: Callable[[Callable[[Stage], Awaitable[None]]], Coroutine[Any, Any, None]]
) -> None:
    """Do the work of some stages. Ctrl-C once finishes what is in flight, twice drops it.

    `work` gets a function to call when a stage is over; those of which it did not say so are over when it returns.
    """
    progress = Progress(mode, {stage.name: stage.run.tally for stage in stages})
    shown = asyncio.create_task(progress.show())
    over: set[str] = set()

    async def end(stage: Stage) -> None:
        over.add(stage.name)
        try:
            for one in stage.used:
                await one.close()
        finally:
            progress.end(stage.name)

    working = asyncio.create_task(work(end))
    first = stages[0].run
    _listen(first, working)
    try:
        await working
    except asyncio.CancelledError:
        first.finish("interrupted")
    finally:
        shown.cancel()
        for stage in stages:
            if stage.name not in over:
                await end(stage)
        progress.close()


def say_endings(stages: Sequence[Stage], path: Path) -> tuple[int, bool]:
    """Say how every stage ended. Returns the exit code, and whether `viva resume` may do what was left undone."""
    code, more = EXIT_OK, False
    for stage in stages:
        if code == EXIT_INTERRUPTED and not stage.run.refused:
            break  # that is said
        ended = stage.ending(stage.run, path)
        more |= ended != EXIT_OK and resumable(stage.run)
        code = max(code, ended)  # incomplete, refused, interrupted
    return code, more


async def together(run: Run, *works: Awaitable[None]) -> None:
    """Do several works side by side. Where one fails, what is in flight may end; then the others are cancelled.

    Raises what the first raised.
    """
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        _, rest = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        if rest:
            run.finish("refused")
        while rest and run.in_flight:
            _, rest = await asyncio.wait(rest, timeout=0.1)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in tasks:
        if not task.cancelled() and (problem := task.exception()) is not None:
            raise problem


def _listen(run: Run, asking: asyncio.Task[None]) -> None:
    """Ctrl-C once: finish what is in flight. Twice: stop at once."""

    def interrupt() -> None:
        if run.stop == "interrupted":
            asking.cancel()
            return
        run.finish("interrupted")
        if serving is not None:
            return
        waiting = f"{run.in_flight} in flight" if run.in_flight else "nothing in flight"
        say(f"viva: finishing ({waiting}); Ctrl-C again stops at once")

    serving = caller()
    if serving is not None:
        serving.listen(interrupt)
        return
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, interrupt)
