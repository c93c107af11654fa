"""Replies that decline to answer, in four languages.

A refusal is read only where a reply commits to nothing, and only near its beginning: "I cannot see why A should be
right. The answer is B." answers. Not knowing is no refusal. The patterns are in `phrases.toml` under `refusal`.
"""

from __future__ import annotations

import re
from functools import cache

from viva.scorers.fold import plain
from viva.scorers.lexicon import phrases, unaccented

WINDOW = 800
"""Characters from the beginning that are searched."""


_CUE = re.compile(
    r"\bi[ ']|as an? (?:ai|lang|art|large)|(?:cannot|can't|unable to|not able to) |[无不拒没]|nicht|keine"
    r"|als (?:ki|sprach|kunst)|ich |je |suis pas|en tant qu|impossible"
)
"""What every refusal has one of; most replies have none, and that is quickly seen."""


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{entry})" for entry in phrases("refusal")), re.IGNORECASE)


def refusal(reply: str, start: int = 0) -> tuple[int, int] | None:
    """Where the reply declines, or None."""
    text = plain(reply[start : start + WINDOW])
    flat = unaccented(text)
    text = flat if len(flat) == len(text) else text
    if not _CUE.search(text.lower()):
        return None
    match = _pattern().search(text)
    return (start + match.start(), start + match.end()) if match else None
