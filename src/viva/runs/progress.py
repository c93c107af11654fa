"""Progress and messages of a run: a live line on a terminal, lines in a log, or nothing; and the program that embeds
Viva.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from textwrap import wrap
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

from msgspec import Struct

from viva.engine.asking import FOR_GOOD, LASTING, Run, Tally, disk_full
from viva.errors import EXIT_INCOMPLETE, EXIT_INTERRUPTED, EXIT_OK, EXIT_REFUSED, VivaError, option
from viva.visible import dollars, escape_invisible, one_line, plural


@runtime_checkable
class Closing(Protocol):
    """A resource that a stage closes at its end: a model, a sandbox."""

    async def close(self) -> None:
        """Release its resources."""
        ...


class Stage(Struct, frozen=True):
    """A stage: its name, state, resources to close, and the report at its end."""

    name: str
    run: Run
    ending: Callable[[Run, Path], int]
    used: Sequence[Closing] = ()


async def watched(
    stages: Sequence[Stage], mode: Mode, work: Callable[[Callable[[Stage], Awaitable[None]]], Coroutine[Any, Any, None]]
) -> None:
    """Run the work of some stages with progress. Ctrl-C once lets requests in flight end, twice drops them.

    `work` gets a function to call when a stage ends; the others end when it returns.
    """
    progress = Progress(mode, {stage.name: stage.run.tally for stage in stages})
    shown = asyncio.create_task(progress.show())
    over: set[str] = set()

    async def end(stage: Stage) -> None:
        over.add(stage.name)
        try:
            for model in stage.used:
                await model.close()
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
    """Report how every stage ended. Returns the exit code, and whether `viva resume` may complete the run."""
    code, more = EXIT_OK, False
    for stage in stages:
        if code == EXIT_INTERRUPTED and not stage.run.refused:
            break  # reported already
        ended = stage.ending(stage.run, path)
        more |= ended != EXIT_OK and resumable(stage.run)
        code = max(code, ended)  # incomplete, refused, interrupted
    return code, more


async def together(run: Run, *works: Awaitable[None]) -> None:
    """Run several works side by side. If one fails, requests in flight may end; then the others are cancelled.

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
    """Handle Ctrl-C: once lets requests in flight end, twice stops at once."""
    program = caller()  # read here: a signal's handler runs in another context

    def interrupt() -> None:
        if run.stop == "interrupted":
            asking.cancel()
            return
        run.finish("interrupted")
        if program is not None:
            return
        waiting = f"{run.in_flight} in flight" if run.in_flight else "nothing in flight"
        say(f"viva: finishing ({waiting}); Ctrl-C again stops at once")

    on_interrupt(interrupt)


def on_interrupt(interrupt: Callable[[], None]) -> None:
    """Call `interrupt` on Ctrl-C, or when the embedding program interrupts."""
    if (program := caller()) is not None:
        program.listen(interrupt)
        return
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, interrupt)


def ending_of_asking(run: Run, path: Path, resume: str = "", *, verdicts: bool = False) -> int:
    """Report the end of asking models, or judges for `verdicts`. `resume`: the command, if not `viva resume`."""
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
        message, code = f"interrupted, {left}{yet}; go on with: {resume}", EXIT_INTERRUPTED
    elif run.stop == "budget":
        full, more, larger = run.budget.full
        message = (
            f"{full}{_held(tally)}, {left}{yet}; {more}go on with: {resume} {'' if elsewhere else 'with '}{larger}"
        )
        if run.budget.spent == run.budget.before and not (tally.answered or tally.failed):
            raise VivaError(message)
    elif run.refused:
        message = f"{left}; once that is right, go on with: {resume}"
        if elsewhere and run.lasting:
            reuse = f" ({option('reuse')} {path} takes over what was answered)" if tally.answered or tally.kept else ""
            message = (
                f"{left}; this run keeps its models and options: begin another `viva run` with the right ones{reuse}"
            )
        elif run.absent:
            message += f" ({option('wait_for_server', '600')} waits for a server that still loads){elsewhere}"
        code = EXIT_INCOMPLETE if run.unreached == run.refused.keys() else EXIT_REFUSED
    elif run.stop == "refused":
        message = f"stopped, as the grading would not work; {left}{yet}"
    else:
        message = _failed(run, number, left, resume)
    conclude(message)
    return code


def _missing(tally: Tally) -> tuple[int, str]:
    """Return the number of missing answers, and in words, where there may be more than is known."""
    missing = max(0, tally.total - tally.answered - tally.kept)
    return missing or int(tally.more), f"{missing:,}{' or more' if tally.more else ''}"


def complete(run: Run) -> bool:
    """Return whether a stage has done all its known work."""
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
    """Return a note on what the budget takes for replies without token counts; "" without any."""
    if not tally.at_most:
        return ""
    return (
        f" ({tally.uncounted:,} replies came without a count of tokens, and the budget takes the most that each may "
        f"have cost, ${tally.at_most:.2f} in all)"
    )


def given_up(run: Run, model: str, why: str) -> str:
    """Return the sentence for a model that was given up."""
    return f"{model}: {why}" if model in run.absent else f"{model} was given up: {why}"


def _failed(run: Run, missing: str, left: str, resume: str) -> str:
    """Return a sentence on questions that were asked and not answered."""
    tally = run.tally
    if tally.failures == {"missing"}:
        return f"answers missing in the file: {missing} ({tally.last_error})"
    if tally.failures and tally.failures <= FOR_GOOD:
        return f"{left}, and not to be answered by this model ({tally.last_failure})"
    why = tally.last_failure or tally.last_error
    return f"{left}{f' (last error: {why})' if why else ''}; try those again with: {resume}"


def ending_of_running(run: Run, path: Path) -> int:
    """Report the end of running the answers' programs."""
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
    """Report the end of comparing texts with the gold."""
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


_log = logging.getLogger("viva")
"""Log of single errors, for `--verbose`."""


def describe(tally: Tally, rate: float, width: int | None = None, *, final: bool = False) -> str:
    """Return `412/2183 19 % · 25.1/s · ETA 1:11 · 64 in flight · 180k+3k tokens · $0.52 · 3 retries · 1 error`.

    Uncounted tokens are called unknown. Failed questions count apart, not as done. To fit `width` columns, the least
    important parts are left out; the `final` line has no score, since the tables have that of all answers.
    """
    done = tally.answered + tally.kept
    total = tally.total + tally.waiting
    left = total - done - tally.failed
    parts = [(0, f"{done:,}/{total:,} {100 * done // max(1, total)} %"), (5, f"{rate:.1f}/s")]
    if rate > 0 and left > 0:
        parts.append((2, f"ETA {'~' * bool(tally.waiting)}{clock(left / rate)}"))
    if tally.in_flight or not tally.batches:
        parts.append((7, f"{tally.in_flight} in flight"))
    if tally.batches:
        parts.append((3, tally.batches))
    if tally.input_tokens or tally.output_tokens:
        of = f" (of {tally.uncounted:,} replies unknown)" if tally.uncounted else ""
        parts.append((6, f"{count(tally.input_tokens)}+{count(tally.output_tokens)} tokens{of}"))
    elif tally.at_most:
        parts.append((6, "tokens unknown"))
    if cost := cost_text(tally):
        parts.append((2, cost))
    if tally.score and not final:
        parts.append((3, tally.score))
    if tally.retries:
        parts.append((4, plural(tally.retries, "retry", "retries")))
    if tally.failed:
        parts.append((1, plural(tally.failed, "error")))
    if tally.last_error and not tally.answered and not final:
        parts.append((1, tally.last_error))  # nothing works yet: show why while the user can still mend it
    return " · ".join(_fitting(parts, width))


def _fitting(parts: Sequence[tuple[int, str]], width: int | None) -> list[str]:
    """Return the parts that fit, in their order: smallest numbers are kept first, 0 and 1 always."""
    taken: list[int] = []
    free = float("inf") if width is None else float(width)
    for index in sorted(range(len(parts)), key=lambda index: parts[index][0]):
        weight, text = parts[index]
        if weight <= 1 or len(text) + 3 <= free:
            taken.append(index)
            free -= len(text) + 3
    return [parts[index][1] for index in sorted(taken)]


def cost_text(tally: Tally) -> str:
    """Return `$0.52`; for uncounted tokens, that the cost is unknown and its upper bound; empty without cost."""
    known = f"${dollars(tally.cost)}" if tally.cost else ""
    if not tally.at_most:
        return known
    unknown = f"unknown cost of {tally.uncounted:,} replies (estimated at most ${dollars(tally.at_most)})"
    return f"{known} + {unknown}" if known else unknown


def clock(seconds: float) -> str:
    """Return seconds as h:mm:ss or m:ss."""
    minutes, rest = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def count(number: int) -> str:
    """Return 1234567 as 1.2M."""
    if number < 1000:
        return str(number)
    return f"{number / 1000:.0f}k" if number < 1_000_000 else f"{number / 1e6:.1f}M"


class Progress:
    """The display of stages' tallies, by name, on stderr until it is cancelled.

    The first stage that has not ended is shown in full, the others in brief.
    """

    def __init__(self, mode: Mode, tallies: Mapping[str, Tally]) -> None:
        self._screen = Screen(mode)
        self._tallies = dict(tallies)
        self._recent: deque[tuple[float, int]] = deque(maxlen=60)
        self._said = self._error = ""

    async def show(self) -> None:
        """Update the display until cancelled."""
        screen = self._screen
        while not screen.quiet or _log.isEnabledFor(logging.INFO):
            await asyncio.sleep(0.25 if screen.live else 1.0)
            if not self._tallies:
                continue
            (stage, tally), *others = self._tallies.items()
            if tally.last_error != self._error:
                self._error = tally.last_error
                _log.info("%s: %s", stage, one_line(tally.last_error, 400))
            self._recent.append((time.monotonic(), tally.answered))
            if not screen.due():
                continue
            if tally.batches and not screen.live:
                if (text := describe(tally, 0.0)) == self._said:
                    continue  # a log repeats no line while nothing happens
                self._said = text
            beside = "".join(_beside(name, other) for name, other in others if other.total)
            if screen.live:
                place = max(40, columns() - 1 - len(beside)) - len(f"{stage}: ")
                screen.show(f"{stage}: {describe(tally, self._rate(), place)}{beside}")
            else:
                screen.show(f"{stage}: {describe(tally, self._rate())}{beside}")

    def _rate(self) -> float:
        if len(self._recent) < 2:
            return 0.0
        (then, before), (now, after) = self._recent[0], self._recent[-1]
        return (after - before) / max(1e-6, now - then)

    def end(self, stage: str) -> None:
        """Print the final line of a stage."""
        tally = self._tallies.pop(stage)
        self._recent.clear()
        if not self._screen.quiet and tally.total:
            seconds = time.monotonic() - self._screen.started
            rate = tally.answered / max(1e-6, seconds)
            # The reason of the end is reported after this line.
            took = f" · {clock(seconds)} in all"
            place = columns() - len(f"{stage}: {took}") if self._screen.live else None
            self._screen.say(f"{stage}: {describe(tally, rate, place, final=True)}{took}")

    def close(self) -> None:
        """Clear the live line."""
        self._screen.close()


def _beside(name: str, tally: Tally) -> str:
    """Return ` | judging: 40/44 · $0.02`."""
    parts = [f"{tally.answered + tally.kept:,}/{tally.total + tally.waiting:,}", cost_text(tally)]
    if tally.failed:
        parts.append(plural(tally.failed, "error"))
    if tally.last_error and not tally.answered:
        parts.append(one_line(tally.last_error, 80))  # while the user can still mend it
    return f" | {name}: {' · '.join(filter(None, parts))}"


Mode = Literal["auto", "live", "plain", "quiet"]
_CLEAR = "\r\x1b[2K"
_PAUSE = 10.0
"""Seconds between two permanent lines."""


def clear() -> None:
    """Remove the live line from the terminal, before anything else is written there."""
    if Screen.shown:
        Screen.shown = False
        sys.stderr.write(_CLEAR)
        sys.stderr.flush()


def columns() -> int:
    """Return the number of columns of the terminal on stderr."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return shutil.get_terminal_size().columns


def folded(text: str) -> str:
    """Return a text wrapped between words for a terminal on stderr, unchanged for a pipe."""
    if not sys.stderr.isatty():
        return text
    wide = columns()
    lines = (wrap(line, wide, break_long_words=False, break_on_hyphens=False) or [""] for line in text.split("\n"))
    return "\n".join(part for line in lines for part in line)


def say(text: str) -> None:
    """Print a sentence of Viva's own on stderr, after removing a live line."""
    clear()
    print(folded(escape_invisible(text)), file=sys.stderr, flush=True)


def cut_to_columns(line: str, width: int) -> str:
    """Cut a line to `width` columns of a terminal, of which a Chinese character takes two."""
    from unicodedata import east_asian_width

    wide = [2 if east_asian_width(character) in "FW" else 1 for character in line]
    if sum(wide) <= width:
        return line
    while line and sum(wide) > width - 1:
        line = line[:-1]
        wide.pop()
    return f"{line}…"


class Screen:
    """The live line on stderr, and the lines that stay above it."""

    shown: ClassVar[bool] = False
    """Whether a live line is on the terminal now: there is one terminal."""

    def __init__(self, mode: Mode, *, pause: float = 0.2) -> None:
        """`pause`: seconds between two looks of the live line."""
        self.live = mode == "live" or (mode == "auto" and sys.stderr.isatty())
        self.quiet = mode == "quiet"
        self._pause = pause if self.live else _PAUSE
        self.started = self._said = time.monotonic()

    def due(self) -> bool:
        """Return whether the next progress line is due."""
        now = time.monotonic()
        if self.quiet or now - self._said < self._pause:
            return False
        self._said = now
        return True

    def show(self, line: str) -> None:
        """Show a progress line."""
        if self.live:
            Screen.shown = True
            # A line of full width would wrap into the next, which is never cleared.
            sys.stderr.write(f"{_CLEAR}{cut_to_columns(escape_invisible(line), columns() - 1)}")
            sys.stderr.flush()
        else:
            self.say(line)

    def say(self, line: str) -> None:
        """Print a permanent line, also in quiet mode."""
        say(line)

    def close(self) -> None:
        """Remove the live line."""
        clear()


_CALLER: ContextVar[Caller | None] = ContextVar("host", default=None)


class Caller:
    """The program that embeds Viva, during one call. `interrupt` may be called from any thread."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        """Messages that a terminal would have shown, one sentence each."""
        self.interrupted = False
        self._stop: Callable[[], object] = lambda: None

    def serve(self) -> None:
        """Register this caller for the current thread and its tasks."""
        _CALLER.set(self)

    def interrupt(self) -> None:
        """Interrupt like Ctrl-C: once lets requests in flight end, twice drops them."""
        self.interrupted = True
        with contextlib.suppress(RuntimeError):  # that loop is closed: its stage is over
            self._stop()

    def listen(self, interrupt: Callable[[], None]) -> None:
        """Register `interrupt` as the way to stop the stage that begins in the running loop."""
        loop = asyncio.get_running_loop()
        self._stop = lambda: loop.call_soon_threadsafe(interrupt)
        if self.interrupted:
            loop.call_soon(interrupt)


def caller() -> Caller | None:
    """Return the program that this thread works for; None for a terminal."""
    return _CALLER.get()


_LAST: ContextVar[list[str] | None] = ContextVar("last", default=None)
"""Sentences held back until everything else is printed."""


@contextlib.contextmanager
def conclusions_last() -> Iterator[list[str]]:
    """Print sentences given to `conclude` at the end of the block, so that the next step is the last line."""
    waiting: list[str] = []
    token = _LAST.set(waiting)
    try:
        yield waiting
    finally:
        _LAST.reset(token)
        for sentence in waiting:
            notify(sentence)


def conclude(sentence: str) -> None:
    """Report an end and the next step; inside `conclusions_last`, after everything else."""
    waiting = _LAST.get()
    if waiting is None or _CALLER.get() is not None:
        notify(sentence)
    else:
        waiting.append(sentence)


def notify(sentence: str) -> None:
    """Report a sentence that belongs to no table, on stderr or to the caller."""
    told = _CALLER.get()
    if told is not None:
        told.messages.append(sentence)
    else:
        say(f"viva: {sentence}")
