"""What a run says of itself while it goes on: one live line on a terminal, a line now and then in a log, or nothing."""

from __future__ import annotations

import asyncio
import time
from collections import deque

from viva.engine.asking import Tally
from viva.runs.live_line import Mode, Screen
from viva.visible import one_line


def describe(tally: Tally, rate: float) -> str:
    """`412/2183 19 % · 25.1/s · ETA 1:11 · 64 in flight · 180k+3k tokens · $0.52 · 3 retries · 1 error`.

    What no server counted is called unknown.
    """
    done = tally.answered + tally.kept + tally.failed
    parts = [f"{done:,}/{tally.total:,} {100 * done // max(1, tally.total)} %", f"{rate:.1f}/s"]
    if rate > 0 and tally.total > done:
        parts.append(f"ETA {clock((tally.total - done) / rate)}")
    if tally.in_flight or not tally.batches:
        parts.append(f"{tally.in_flight} in flight")
    if tally.batches:
        parts.append(tally.batches)
    if tally.input_tokens or tally.output_tokens:
        of = f" (of {tally.uncounted:,} replies unknown)" if tally.uncounted else ""
        parts.append(f"{count(tally.input_tokens)}+{count(tally.output_tokens)} tokens{of}")
    elif tally.at_most:
        parts.append("tokens unknown")
    if cost := cost_text(tally):
        parts.append(cost)
    if tally.retries:
        parts.append(f"{tally.retries:,} retries")
    if tally.failed:
        parts.append(f"{tally.failed:,} errors")
    if tally.last_error and not tally.answered:
        parts.append(tally.last_error)  # nothing works yet: say why while there is time to mend it
    return " · ".join(parts)


def cost_text(tally: Tally) -> str:
    """`$0.52`; where servers counted no tokens, what is not known and what it is at most; empty for nothing."""
    known = dollars(tally.cost) if tally.cost else ""
    if not tally.at_most:
        return known
    unknown = f"unknown cost of {tally.uncounted:,} replies (estimated at most {dollars(tally.at_most)})"
    return f"{known} + {unknown}" if known else unknown


def dollars(amount: float) -> str:
    """US dollars, finer where it is less than a cent."""
    return f"${amount:.2f}" if amount >= 0.01 else f"${amount:.4f}"


def clock(seconds: float) -> str:
    """Seconds as h:mm:ss or m:ss."""
    minutes, rest = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def count(number: int) -> str:
    """1234567 as 1.2M."""
    if number < 1000:
        return str(number)
    return f"{number / 1000:.0f}k" if number < 1_000_000 else f"{number / 1e6:.1f}M"


class Progress:
    """Shows a tally on stderr until it is cancelled."""

    def __init__(self, mode: Mode, stage: str, tally: Tally) -> None:
        self._screen = Screen(mode)
        self._stage = stage
        self._tally = tally
        self._recent: deque[tuple[float, int]] = deque(maxlen=60)
        self._said = ""

    async def show(self) -> None:
        """Run beside the asking."""
        screen, tally = self._screen, self._tally
        while not screen.quiet:
            await asyncio.sleep(0.25 if screen.live else 1.0)
            self._recent.append((time.monotonic(), tally.answered))
            if not screen.due():
                continue
            if tally.batches and not screen.live:
                if (text := describe(tally, 0.0)) == self._said:
                    continue  # a log of hours in which nothing happens says so once
                self._said = text
            line = f"{self._stage}: {describe(tally, self._rate())}"
            screen.show(one_line(line, 150) if screen.live else line)

    def _rate(self) -> float:
        if len(self._recent) < 2:
            return 0.0
        (then, before), (now, after) = self._recent[0], self._recent[-1]
        return (after - before) / max(1e-6, now - then)

    def close(self) -> None:
        """The last word: how it ended."""
        if not self._screen.quiet:
            seconds = time.monotonic() - self._screen.started
            rate = self._tally.answered / max(1e-6, seconds)
            self._screen.say(f"{self._stage}: {describe(self._tally, rate)} · {clock(seconds)} in all")
