"""The parser of letters: what a slot holds where options were asked for, and layouts that only options have.

The grammar of statements about options is `choice.py`'s; it reads four languages. Slots know more layouts and more
languages, and say nothing about corrections and contradictions, so they come where the grammar is silent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from viva.scorers.fold import plain
from viva.scorers.optiontext import squeeze
from viva.scorers.reading import Reading
from viva.scorers.reading.segments import found_retraction
from viva.scorers.reading.slots import UNSURE, Slot, Unsure, marked, resolve, stated, undressed

_LETTER = re.compile(
    r"[(\[{<\s\"'*$]{0,4}([A-Za-z])(?P<closed>[)\]}>]?)[\"'*$]{0,3}\s*(?:[.:,;-]+\s*|(?=\()|$|(?<=[)\]}>\s])\s*)"
)
_BOX = re.compile(
    r"^[ \t>*+-]{0,8}(?:\d{1,2}[.)][ \t])?(?:\[(?P<mark>[ xX✓✔*]?)\]|(?P<sign>[☐☑☒✅⬜✓✔]))[ \t*]{0,4}"
    r"\(?(?P<letter>[A-Z])(?![A-Za-z])",
    re.MULTILINE,
)
_ANY_BOX = re.compile(r"\[[ xX✓✔*]?\]|[☐☑☒✅⬜✓✔]")
_EMPTY = frozenset({"", " ", "☐", "⬜"})
_HEADED = re.compile(
    r"^[\s*#>_-]{0,8}(?:(?!is\b|are\b|was\b)[^\W\d_]{2,20}[ '-]?){1,3}[ *]{0,3}"
    r":[ *(\[\"']{0,6}([A-Z])[)\]*.\"']{0,5}[ \t]*$",
    re.MULTILINE,
)
_SENTENCE = re.compile(r"[.!?。](?=\s|$)(?<![ (][A-Za-z][.])|\n")
_REACH = 20_000
"""Characters from the end in which slots are looked for."""
_TAIL = 1_200
"""Characters from the end in which statements are looked for."""
_SHORT = 600
"""Characters from the end that hold a last sentence."""
_UNSURE = re.compile(
    r"\b(?:not|n't|neither|either|or|might|could|may|if|whether|instead|unlike|rather)\b|[?？]", re.IGNORECASE
)


def ticked(text: str, letters: str) -> str | None:
    """The letters whose boxes are ticked in a list of boxes; None for no such list."""
    if _ANY_BOX.search(text) is None:
        return None
    boxes = [(match["mark"] or match["sign"] or "", match["letter"]) for match in _BOX.finditer(text)]
    if len({letter for _, letter in boxes}) < 2 or any(letter not in letters for _, letter in boxes):
        return None
    return "".join(letter for mark, letter in boxes if mark not in _EMPTY)


def from_slots(text: str, letters: str) -> Reading | None:
    """The one letter that the strongest slot holds, or that a heading has behind it on the last line."""
    base = max(0, len(text) - _REACH)
    text = text[base:]
    slots = [*marked(text), *stated(text, max(0, len(text) - _TAIL), letters=True)]
    decided = resolve(slots, lambda slot: _as_letter(slot, letters))
    if decided is not None and isinstance(decided[0], Unsure):  # "(F) and (I) fit. Of these the better one is (F)"
        later = [slot for slot in slots if slot.text and slot.span > decided[1].span]
        decided = resolve(later, lambda slot: _as_letter(slot, letters)) or decided
    if decided is not None and not isinstance(decided[0], Unsure):
        return Reading(decided[0], decided[1].span, decided[1].rule).moved(base)
    headed = list(_HEADED.finditer(plain(text), max(0, len(text) - _TAIL)))
    last = headed[-1] if headed and decided is None and len({match[1] for match in headed}) == 1 else None
    if last and last[1] in letters and not text[last.end() :].strip():
        return Reading(last[1], last.span(1), "heading of a letter").moved(base)
    return None


def _as_letter(slot: Slot, letters: str) -> str | Unsure | None:
    said = undressed(plain(slot.text))
    match = _LETTER.match(said)
    if match is None or (match[1].upper() not in letters) or (match[1].islower() and not match["closed"]):
        return None
    letter = match[1].upper()
    place = letters.index(letter)
    named = {other[1] for other in _apart(letters).finditer(said, match.end())} - {letter}
    listed = {other[1] for other in _apart(letters).finditer(plain(slot.rest.partition("\n")[0]), 1)}
    following = set(letters[place + 1 : place + 3])
    if named or (following and following <= listed) or found_retraction(said, match.end(1)):
        return UNSURE
    apart = match.end() == len(said) or match["closed"] or said[match.end(1) : match.end()].strip()
    return letter if apart else None


def _beside(text: str, letters: str, options: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Where a letter is in front of its own option's text, or in brackets behind it."""
    for letter, option in zip(letters, map(str.strip, options), strict=False):
        if len(key := squeeze(option)) < 2:
            continue
        for match in re.finditer(rf"(?<![A-Za-z])\(?{letter}[.):]\s{{0,3}}(?=\S)", text):
            if squeeze(text[match.end() : match.end() + len(option)]) == key:
                yield letter, match.start(), match.end() + len(option)
        for match in re.finditer(rf"\s?\({letter}\)", text):
            start = max(0, match.start() - len(option))
            if squeeze(text[start : match.start()]) == key:
                yield letter, start, match.end()


@cache
def _apart(letters: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9'’])([{letters}])(?=[)\].:,]|\s*$|\s+(?:and|or)\b|[\u3001-\uffff])")


def at_the_end(text: str, letters: str, options: Sequence[str]) -> Reading | None:
    """The one option that the last sentence comes to: its letter with its own text, and no word of doubt."""
    base = max(0, len(text.rstrip()) - _SHORT)
    body = text[base:].rstrip()
    starts = [match.end() for match in _SENTENCE.finditer(body) if match.end() < len(body)]
    start = starts[-1] if starts else 0
    sentence = body[start:]
    named = list(_beside(sentence, letters, options))
    if len({letter for letter, _, _ in named}) != 1:
        return None
    letter, first, end = named[-1]
    if _UNSURE.search(sentence[:first]) or sentence[end:].strip(" .!*)\"'。"):
        return None
    return Reading(letter, (first, end), "letter with its own text at the end").moved(base + start)
