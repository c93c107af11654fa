"""Run one stage: show progress, handle Ctrl-C, release resources."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from typing import Protocol, runtime_checkable

from viva.engine.asking import Run
from viva.runs.live_line import Mode
from viva.runs.messages import caller
from viva.runs.progress import Progress


@runtime_checkable
class Closing(Protocol):
    """What a stage uses and gives back: models, a sandbox."""

    async def close(self) -> None:
        """Give back what it holds."""
        ...


async def watched(
    run: Run,
    name: str,
    mode: Mode,
    work: Callable[[Run], Coroutine[None, None, None]],
    used: Sequence[Closing],
) -> None:
    """Do the work of a stage called `name`. Ctrl-C once finishes what is in flight, twice drops it."""
    progress = Progress(mode, name, run.tally)
    shown = asyncio.create_task(progress.show())
    working = asyncio.create_task(work(run))
    _listen(run, working)
    try:
        await working
    except asyncio.CancelledError:
        run.finish("interrupted")
    finally:
        shown.cancel()
        for one in used:
            await one.close()
        progress.close()


def _listen(run: Run, asking: asyncio.Task[None]) -> None:
    """Ctrl-C once: finish what is in flight. Twice: stop at once."""

    def interrupt() -> None:
        if run.stop == "interrupted":
            asking.cancel()
            return
        run.finish("interrupted")
        if serving is not None:
            return
        waiting = f"{run.tally.in_flight} in flight" if run.tally.in_flight else "nothing in flight"
        print(f"\nviva: finishing ({waiting}); Ctrl-C again stops at once", file=sys.stderr, flush=True)

    serving = caller()
    if serving is not None:
        serving.listen(interrupt)
        return
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, interrupt)
