"""The parser of letters: what a slot holds where options were asked for, and layouts that only options have.

The grammar of statements about options is `choice.py`'s; it reads four languages. Slots know more layouts and more
languages, and say nothing about corrections and contradictions, so they come where the grammar is silent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from viva.scorers.conclusion import finished, found_in
from viva.scorers.fold import plain
from viva.scorers.optiontext import ARTICLE, OptionTexts, squeeze
from viva.scorers.reading import Reading
from viva.scorers.reading.segments import found_retraction
from viva.scorers.reading.slots import (
    UNSURE,
    Slot,
    Strength,
    Unsure,
    boxes_in,
    firm,
    headed,
    marked,
    resolve,
    stated,
    undressed,
    whole,
)

_LETTER = re.compile(
    r"[(\[{<\s\"'*$]{0,4}([A-Za-z])(?P<closed>[)\]}>]?)[\"'*$]{0,3}\s*(?:[.:,;-]+\s*|(?=\()|$|(?<=[)\]}>\s])\s*)"
)
_ITEM = re.compile(r"\(?([A-Z])(?![A-Za-z])")
_SENTENCE = re.compile(r"[.!?。](?=\s|$)(?<![ (][A-Za-z][.])(?<!\([A-Z]\)[.])|\n")
_OF_AN_OPTION = re.compile(
    r"\b(?i:options?|choices?|answers?|antwort|r[ée]ponse)[ *(\"]{1,3}[A-Z](?!\w)"
    r"|^\W{0,4}(?:选项 ?[A-Z]|[A-Z] ?选项)|(?<![\w'’-])[B-HJ-Z](?![\w'’-])"
)
"""A letter that what a sentence says is said of."""
_LAST_SENTENCE = "an option named in the last sentence"
_TELLING = 3
"""Bytes of an option that is looked for in a sentence."""
_SHORT = 240
"""Characters of a reply that may be nothing but its answer."""


def ticked(text: str, letters: str) -> str | None:
    """Return the letters whose boxes are ticked in a list of boxes; None for no such list."""
    boxes = [(item[1], box.ticked) for box in boxes_in(text) if (item := _ITEM.match(box.said))]
    if len({letter for letter, _ in boxes}) < 2 or any(letter not in letters for letter, _ in boxes):
        return None
    return "".join(letter for letter, tick in boxes if tick)


def from_slots(text: str, letters: str, texts: OptionTexts | None, *, ended: bool) -> Reading | None:
    """Return the option that the strongest slot names: by one of `letters`, or by its text, which a short reply may
    be.
    """
    slots = [*marked(text), *stated(text, letters=True, judgements=True), *headed(text)]
    if texts:
        slots += [
            *whole(text, short=ended and bool(letters) and len(text) <= _SHORT),
            *_lines(text, texts, ended=ended),
        ]

    def parse(slot: Slot) -> str | Unsure | None:
        letter = _as_letter(slot, letters) if slot.strength > Strength.WHOLE else None
        return letter or (_as_option(slot, texts) if texts else None)

    decided = resolve(slots, parse)
    if decided is not None and isinstance(decided[0], Unsure):  # "(F) and (I) fit. Of these the better one is (F)"
        later = [slot for slot in slots if slot.text and slot.span > decided[1].span]
        decided = resolve(later, parse) or decided
    if decided is None or isinstance(decided[0], Unsure):
        return None
    return Reading(decided[0], decided[1].span, decided[1].rule)


def _lines(text: str, texts: OptionTexts, *, ended: bool) -> list[Slot]:
    """Return the first line or the last that is an option's text, and the last sentence of a reply that ended by
    itself.
    """
    lines = [match.span() for match in re.finditer(r"[^\n]*\S[^\n]*", text)]
    edges = {span: letter for span in (*lines[:1], *lines[-1:]) if (letter := texts.letter(text[slice(*span)]))}
    alone = len(set(edges.values())) == 1
    found = [Slot(text[slice(*span)], span, Strength.LAST, "line by itself") for span in edges if alone]
    if ended and lines:
        body = text.rstrip()
        start = max((match.end() for match in _SENTENCE.finditer(body) if match.end() < len(body)), default=0)
        found.append(Slot(body[start:], (start, len(body)), Strength.LAST, _LAST_SENTENCE))
    return found


def _as_option(slot: Slot, texts: OptionTexts) -> str | None:
    """Return the letter of the option whose text a slot holds; a last sentence names it with its letter, or alone."""
    if slot.rule == _LAST_SENTENCE:
        named = list(_with_its_text(slot.text, texts))
        short = not slot.span[0] and len(slot.text) <= _SHORT and (finished(slot.text) or not slot.text.isascii())
        if short and not named and not found_in("comparison", slot.text):
            rest = slot.text
            for letter, start, end in _named(slot.text, texts):
                named.append((letter, end))
                rest = rest[:start] + "_" * (end - start) + rest[end:]
            if _OF_AN_OPTION.search(rest):  # "Option B describes a stack."
                return None
        alone = len({letter for letter, _ in named}) == 1
        return named[-1][0] if alone and firm(plain(slot.text), named[-1][1]) else None
    said = undressed(slot.text)
    letter = texts.letter(said) or (texts.after_cue(plain(said), 0)[0] if slot.strength > Strength.WHOLE else "")
    broken = slot.text.startswith("$") and slot.text.count("$") == 1  # cut off within a formula
    return letter if letter and not (broken and "$" not in dict(texts.options)[letter]) else None


def _named(text: str, texts: OptionTexts) -> Iterator[tuple[str, int, int]]:
    """Yield the options that a sentence names, and where: "Mail servers use SMTP to hand messages to one another."."""
    for letter, option in texts.options:
        core = ARTICLE.sub("", option).strip(" .。")
        if len(core.encode()) < _TELLING:
            continue
        pattern = rf"(?<![a-zà-ÿ0-9_-]){re.escape(core)}(?![a-zà-ÿ0-9_-])"
        yield from ((letter, *match.span()) for match in re.finditer(pattern, text, re.IGNORECASE))


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


def _with_its_text(text: str, texts: OptionTexts) -> Iterator[tuple[str, int]]:
    """Yield the letters that end a sentence with their own option's text: "B. tin", "tin (B)"."""
    others = _apart("".join(dict(texts.options)))
    for letter, option in texts.options:
        apart = re.search(rf"(?<![A-Za-z])\(?{letter}[.):]", text)
        if apart and not others.search(text[: apart.start()]):  # "Both (A) and (B). Shorter days."
            key, mark = squeeze(option), letter.casefold()
            if len(key) > 1 and squeeze(text).endswith((mark + key, key + mark)):
                yield letter, apart.start()


@cache
def _apart(letters: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9'’])([{letters}])(?=[)\].:,]|\s*$|\s+(?:and|or)\b|[\u3001-\uffff])")
