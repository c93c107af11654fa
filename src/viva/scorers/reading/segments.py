"""What every reader does around its own work: what of a reply is an answer at all, and what silence means."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from viva.scorers.fold import after_thinking, is_blank, plain
from viva.scorers.lexicon import pattern, unaccented
from viva.scorers.reading import EMPTY, REFUSED, UNPARSED, Reading

_TEMPLATE = re.compile(r"(?:\s{0,4}(?:\[/INST\]|<s>|<\|(?!im_end|end|eo)[a-z_]{1,30}\|>)){1,4}")
"""What a chat template leaves in front of a reply."""
_LOOP = re.compile(
    r"\s{0,8}(?:([^\W\d_]{2,10})(?:[\s,.]{1,3}\1){2,2000}|([^\W\d_])(?:[\s,.]{1,3}\2){3,2000})[\s.]{0,3}\w{0,9}[\s.]{0,8}\Z"
)
"""One word over and over: a model that does not stop."""


HEAD, TAIL = 4_000, 20_000
"""Characters of a very long part that are read from its beginning, and from its end."""


def read_visible(
    reply: str, read_part: Callable[[str], Reading], *, loops: bool = True, whole: bool = False
) -> Reading:
    """Read what follows the thinking, up to a made-up next question; tell empty and refused from unparsed.

    `read_part` reads a part of the reply, of a very long one (unless the `whole` counts) head and tail. A part that
    says nothing either way (no rule) is read on past its end: the reply may only have restated the question. With
    `loops` a word said over and over is read once.
    """
    if is_blank(reply):
        return Reading(EMPTY, None, "nothing visible")
    start, unfinished = after_thinking(reply)
    if unfinished:
        return Reading(UNPARSED, None, "unfinished thinking")
    if start and is_blank(reply[start:]):
        return Reading(EMPTY, None, "nothing visible after thinking")
    reading = _first_part(reply, start, read_part, loops, whole)
    if reading.committed or reading.rule:
        return reading
    if span := refusal(reply, start):
        return Reading(REFUSED, span, "refusal")
    return Reading(UNPARSED, None, "no commitment")


def _first_part(reply: str, start: int, read_part: Callable[[str], Reading], loops: bool, whole: bool) -> Reading:
    """Return the first part that says something, without the template in front; a word repeated is read once."""
    if template := _TEMPLATE.match(reply, start):
        start = template.end()
    if loops and (loop := _LOOP.match(reply, start)):
        reading = read_part(loop[1] or loop[2])
        if reading.committed:
            return reading.moved(loop.start(1 if loop[1] else 2))
    reading = Reading(UNPARSED)
    for end in boundaries(reply, start):
        text = reply[start:end]
        gap = 0 if whole else max(0, len(text) - HEAD - TAIL)
        reading = read_part(f"{text[:HEAD]}\n{text[HEAD + gap + 1 :]}" if gap else text)
        if reading.committed or reading.rule:
            break
    return reading.moved(start + gap * (reading.span is not None and reading.span[0] > HEAD))


_MOST = 4
_REACH = 16_000
"""Characters in which a first answer is expected to end; what starts later is not looked at."""


_NEW_QUESTION = (
    r"\n[ \t>#*\[【]{0,8}<newquestion>[ \t]{0,2}(?:No\.? ?)?\d{0,4}[ \t*\]】]{0,4}[:：.．]"
    r"|<\|(?:im_end|im_start|endoftext|eot_id|end|user|eom_id)\|>|</s>|[<](?:eos|end_of_turn)>|\[INST\]"
)
_pattern = partial(pattern, "phrases.toml")


def boundaries(reply: str, start: int) -> Iterator[int]:
    """Ends of what may be the whole answer: before each of the first new questions, at last the reply's own end."""
    if "\n" in reply or "<" in reply or "[" in reply:
        for count, match in enumerate(_pattern(_NEW_QUESTION).finditer(reply, start, start + _REACH)):
            if count == _MOST:
                break
            yield match.start()
    yield len(reply)


def found_retraction(text: str, start: int) -> bool:
    """Return whether a folded text takes back, from `start` on, what it said before."""
    rest = text[max(0, start) :].lower()
    cues = _pattern("<retraction_cue>", 0)
    return cues.search(rest) is not None and _pattern("<retraction>", 0).search(unaccented(rest)) is not None


WINDOW = 800
"""Characters from the beginning that are searched."""


_CUE = re.compile(
    r"\bi[ ']|as an? (?:ai|lang|art|large)|(?:cannot|can't|unable to|not able to) |[无不拒没]|nicht|keine"
    r"|als (?:ki|sprach|kunst)|ich |je |suis pas|en tant qu|impossible"
)
"""What every refusal has one of; most replies have none, and that is quickly seen."""


def refusal(reply: str, start: int = 0) -> tuple[int, int] | None:
    """Return where the reply declines, or None."""
    text = plain(reply[start : start + WINDOW])
    flat = unaccented(text)
    text = flat if len(flat) == len(text) else text
    if not _CUE.search(text.lower()):
        return None
    match = _pattern("<refusal>").search(text)
    return (start + match.start(), start + match.end()) if match else None
