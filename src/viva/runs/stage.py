"""Run stages side by side: show progress, handle Ctrl-C, release resources, say how they ended."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from viva.engine.asking import FOR_GOOD, LASTING, Run, Tally, disk_full
from viva.errors import EXIT_INCOMPLETE, EXIT_INTERRUPTED, EXIT_OK, EXIT_REFUSED, VivaError, option
from viva.runs.progress import Mode, Progress, caller, conclude, say


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


def ending_of_asking(run: Run, path: Path, resume: str = "", *, verdicts: bool = False) -> int:
    """After asking examinees, or the judge for `verdicts`. `resume` is how to go on, if not by `viva resume`."""
    tally = run.tally
    elsewhere = "" if resume else "; another address is another viva run"
    resume = resume or f"viva resume {path}"
    for model, why in run.refused.items():
        conclude(given_up(run, model, why))
    if run.stop == "disk":
        raise disk_full(run)
    missing, number = _missing(tally)
    left = f"{number} verdicts missing" if verdicts else f"{number} not answered"
    yet = "" if verdicts else " yet"
    code = EXIT_INCOMPLETE
    if not missing and not run.refused:
        return EXIT_OK
    if run.stop == "interrupted":
        said, code = f"interrupted, {left}{yet}; go on with: {resume}", EXIT_INTERRUPTED
    elif run.stop == "budget":
        full, more, larger = run.budget.full
        said = f"{full}{_held(tally)}, {left}{yet}; {more}go on with: {resume} {'' if elsewhere else 'with '}{larger}"
        if run.budget.spent == run.budget.before and not (tally.answered or tally.failed):
            raise VivaError(said)
    elif run.refused:
        said = f"{left}; once that is right, go on with: {resume}"
        if elsewhere and run.lasting:
            reuse = f" ({option('reuse')} {path} takes over what was answered)" if tally.answered or tally.kept else ""
            said = f"{left}; this run keeps its models and options: begin another `viva run` with the right ones{reuse}"
        elif run.absent:
            said += f" ({option('wait_for_server', '600')} waits for a server that still loads){elsewhere}"
        code = EXIT_INCOMPLETE if run.unreached == run.refused.keys() else EXIT_REFUSED
    elif run.stop == "refused":
        said = f"stopped, as the grading would not work; {left}{yet}"
    else:
        said = _failed(run, number, left, resume)
    conclude(said)
    return code


def _missing(tally: Tally) -> tuple[int, str]:
    """Return how much is left to do, and that in words: there may be more than what is known."""
    missing = max(0, tally.total - tally.answered - tally.kept)
    return missing or int(tally.more), f"{missing:,}{' or more' if tally.more else ''}"


def complete(run: Run) -> bool:
    """Return whether a stage has done all that there was to do, so far."""
    return not (run.stop or run.refused or _missing(run.tally)[0])


def resumable(run: Run) -> bool:
    """Return whether asking again may bring what a stage left unanswered."""
    return bool(
        run.stop not in ("", "refused" if run.lasting else "")
        or run.refused.keys() - run.lasting
        or not (run.tally.failures or run.lasting)
        or run.tally.failures - LASTING
    )


def _held(tally: Tally) -> str:
    """Return what a budget takes for replies without a count of tokens; nothing where all have one."""
    if not tally.at_most:
        return ""
    return (
        f" ({tally.uncounted:,} replies came without a count of tokens, and the budget takes the most that each may "
        f"have cost, ${tally.at_most:.2f} in all)"
    )


def given_up(run: Run, model: str, why: str) -> str:
    """Return the sentence for a model that got no more questions."""
    return f"{model}: {why}" if model in run.absent else f"{model} was given up: {why}"


def _failed(run: Run, missing: str, left: str, resume: str) -> str:
    """Return what to say of questions that were asked and not answered."""
    tally = run.tally
    if tally.failures == {"missing"}:
        return f"answers missing in the file: {missing} ({tally.last_error})"
    if tally.failures and tally.failures <= FOR_GOOD:
        return f"{left}, and not to be answered by this model ({tally.last_failure})"
    why = tally.last_failure or tally.last_error
    return f"{left}{f' (last error: {why})' if why else ''}; try those again with: {resume}"


def ending_of_running(run: Run, path: Path) -> int:
    """After running the examinees' programs."""
    if run.stop == "disk":
        raise disk_full(run)
    missing, number = _missing(run.tally)
    for why in run.refused.values():
        after = f"; go on with a sandbox, or without: viva resume {path}" if run.stop == "refused" else ""
        conclude(f"{number} programs were not run: {why}{after}")
    if run.stop == "interrupted" and missing:
        conclude(f"interrupted, {number} programs not run yet; go on with: viva resume {path}")
        return EXIT_INTERRUPTED
    if missing and not run.refused and run.stop != "refused":
        conclude(
            f"{number} programs could not be run, their answers are not graded ({run.tally.last_error}); "
            f"`viva doctor` says what is missing; then: viva resume {path}"
        )
    return EXIT_INCOMPLETE if missing else EXIT_OK


def ending_of_comparing(run: Run, path: Path) -> int:
    """After comparing texts with the gold."""
    if run.stop == "disk":
        raise disk_full(run)
    missing, number = _missing(run.tally)
    if run.stop == "interrupted" and missing:
        conclude(f"interrupted, {number} texts not compared yet; go on with: viva resume {path}")
        return EXIT_INTERRUPTED
    if missing and run.stop != "refused":
        last = run.tally.last_error
        conclude(f"{number} texts could not be compared ({last}); try those again with: viva resume {path}")
    return EXIT_INCOMPLETE if missing else EXIT_OK
