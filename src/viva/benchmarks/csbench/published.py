"""What the authors' grading script reads from a reply, defects included: used only under `--as-published`.

From the behaviour described in the specification (CS-Bench, *Grading*): the first standalone a-d of any case is the
choice, so the article "a" counts as option A; an assertion is compared in lower case with an upper-case gold, so it is
never right; an open-ended verdict is the last number of the judge's reply, so "8/10" is 10.
"""

from __future__ import annotations

import re

_LETTER = re.compile(r"(?<![A-Za-z0-9_])([A-Da-d])(?![A-Za-z0-9_])")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def first_letter(reply: str) -> str | None:
    """The first standalone letter a to d."""
    found = _LETTER.search(reply)
    return found[1].upper() if found else None


def last_number(verdict: str) -> float | None:
    """The last number of a judge's reply."""
    numbers = _NUMBER.findall(verdict)
    return float(numbers[-1]) if numbers else None
