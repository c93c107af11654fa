"""How a command that reads much says how far it is: one live line in a terminal, elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from typing import Literal

from viva.visible import escape_invisible

Mode = Literal["auto", "live", "plain", "quiet"]
_CLEAR = "\r\x1b[2K"
_PAUSE = 10.0
"""Seconds between two lines that stay."""


class Screen:
    """The live line on stderr, and the lines that stay above it."""

    def __init__(self, mode: Mode, *, pause: float = 0.2) -> None:
        """`pause`: seconds between two looks of the live line."""
        self.live = mode == "live" or (mode == "auto" and sys.stderr.isatty())
        self.quiet = mode == "quiet"
        self._pause = pause if self.live else _PAUSE
        self.started = self._said = time.monotonic()

    def due(self) -> bool:
        """Whether it is time to say how far it is."""
        now = time.monotonic()
        if self.quiet or now - self._said < self._pause:
            return False
        self._said = now
        return True

    def show(self, line: str) -> None:
        """How far it is, in words of Viva's own."""
        if self.live:
            sys.stderr.write(f"{_CLEAR}{line}")
            sys.stderr.flush()
        else:
            self.say(line)

    def say(self, line: str) -> None:
        """A line that stays, also where nobody wants to know how far it is."""
        if self.live:
            sys.stderr.write(_CLEAR)
        print(escape_invisible(line), file=sys.stderr, flush=True)

    def close(self) -> None:
        """The live line goes."""
        if self.live:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()
