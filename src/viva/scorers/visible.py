"""What every reader does around its own work: what of a reply is an answer at all, and what silence means."""

from __future__ import annotations

from collections.abc import Callable

from viva.scorers.fold import after_thinking, is_blank
from viva.scorers.newquestion import boundaries
from viva.scorers.reading import EMPTY, REFUSED, UNPARSED, Reading
from viva.scorers.refusal import refusal


def read_visible(reply: str, read_part: Callable[[int, int], Reading]) -> Reading:
    """Read what follows the thinking, up to a made-up next question; tell empty and refused from unparsed.

    `read_part` reads `reply[start:end]`. A part that says nothing either way (no rule) is read on past its end: the
    reply may only have restated the question.
    """
    if is_blank(reply):
        return Reading(EMPTY, None, "nothing visible")
    start, unfinished = after_thinking(reply)
    if unfinished:
        return Reading(UNPARSED, None, "unfinished thinking")
    if start and is_blank(reply[start:]):
        return Reading(EMPTY, None, "nothing visible after thinking")
    reading = Reading(UNPARSED)
    for end in boundaries(reply, start):
        reading = read_part(start, end)
        if reading.committed or reading.rule:
            return reading
    if span := refusal(reply, start):
        return Reading(REFUSED, span, "refusal")
    return Reading(UNPARSED, None, "no commitment")
