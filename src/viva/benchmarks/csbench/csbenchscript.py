"""What the authors' scripts read from replies, defects included: used only under `--as-published`.

From the behaviour described in the specification (CS-Bench, *Grading*): the first standalone a-d of any case is the
choice, so the article "a" counts as option A; an open-ended verdict is the last number from 1 to 10 of the judge's
reply, so "8/10" is 10; a blank's is the last 0 or 1. Standalone is between word boundaries in the sense of Unicode.
"""

from __future__ import annotations

import re

_LETTER = re.compile(r"\b[A-Da-d]\b")
_POINTS = re.compile(r"\b(?:10|[1-9])\b")
_BLANK = re.compile(r"\b[01]\b")


def first_letter(reply: str) -> str | None:
    """Return the first standalone letter a to d, as a capital."""
    found = _LETTER.search(reply)
    return found[0].upper() if found else None


def open_points(verdict: str) -> int:
    """Return the points from 1 to 10 of a judge's reply on an open-ended answer; 0 where it has none."""
    return int((_POINTS.findall(verdict) or ["0"])[-1])


def blank_mark(verdict: str) -> int:
    """Return a judge's mark of a blank, 0 or 1; 0 where its reply has none."""
    return int((_BLANK.findall(verdict) or ["0"])[-1])
