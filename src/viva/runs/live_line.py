"""How a command that reads much says how far it is: one live line in a terminal, elsewhere a line now and then."""

from __future__ import annotations

import os
import shutil
import sys
import time
from textwrap import wrap
from typing import ClassVar, Literal

from viva.visible import escape_invisible

Mode = Literal["auto", "live", "plain", "quiet"]
_CLEAR = "\r\x1b[2K"
_PAUSE = 10.0
"""Seconds between two lines that stay."""


def clear() -> None:
    """Take the live line off the terminal, before anything else is written there."""
    if Screen.shown:
        Screen.shown = False
        sys.stderr.write(_CLEAR)
        sys.stderr.flush()


def columns() -> int:
    """Columns of the terminal that stderr is."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return shutil.get_terminal_size().columns


def folded(text: str) -> str:
    """A text as stderr shows it: broken between words on a terminal, and as it is in a pipe."""
    if not sys.stderr.isatty():
        return text
    wide = columns()
    lines = (wrap(line, wide, break_long_words=False, break_on_hyphens=False) or [""] for line in text.split("\n"))
    return "\n".join(part for line in lines for part in line)


def say(text: str) -> None:
    """A sentence of Viva's own on stderr, with nothing of a live line beside it."""
    clear()
    print(folded(escape_invisible(text)), file=sys.stderr, flush=True)


def cut_to_columns(line: str, width: int) -> str:
    """The beginning of a line in so many columns of a terminal, of which a Chinese character takes two."""
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
        """Whether it is time to say how far it is."""
        now = time.monotonic()
        if self.quiet or now - self._said < self._pause:
            return False
        self._said = now
        return True

    def show(self, line: str) -> None:
        """How far it is, in words of Viva's own."""
        if self.live:
            Screen.shown = True
            # A line of the whole width would end in the next one, which is never cleared.
            sys.stderr.write(f"{_CLEAR}{cut_to_columns(escape_invisible(line), columns() - 1)}")
            sys.stderr.flush()
        else:
            self.say(line)

    def say(self, line: str) -> None:
        """A line that stays, also where nobody wants to know how far it is."""
        say(line)

    def close(self) -> None:
        """The live line goes."""
        clear()
