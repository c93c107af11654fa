"""The phrase that a reply to a fill-in-the-blank question commits to: one, never the best of several.

SynEval (arXiv 2311.08287) asks for a phrase of a sentence. The published script scores the best of several candidates
cut from the first line; here the statement of the answer decides, and only quotes, markup and stops around it are
removed: "board" for "the board" loses as much as before. In addition to the slots that every format has
(`viva.scorers.reading`) there are those of phrases, the strongest first:

    the whole reply, or its first line, where that stands in the sentence → what the reply states of the phrase that it
    was asked for → the one phrase that it quotes → its first line (its last, where it reasons first)

Each sentence of the masked reply (phrasemask.py) gives at most one claim ("The direct object of “will join” is “the
board”."); a sentence that names several phrases in the same breath claims none of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from viva.scorers.phrasemask import LONGEST, Asked, Masked, S, clean, passage, pattern, squeeze
from viva.scorers.reading import (
    UNPARSED,
    Reading,
    Slot,
    Strength,
    Unsure,
    explained_from,
    marked,
    refusal,
    stated,
    undressed,
)
from viva.scorers.reading.parsers import is_last_resort, read_value, value_slots

_BRACKETED = re.compile(r"\s{0,4}([^()\n:]{1,600}?)\s{1,2}\([^()\n]{1,600}\)\s{0,4}[.!]?\s{0,4}")
"""A phrase followed by brackets that explain it."""
_ITEM = re.compile(r"\s*(?:[-•·–]|\*(?!\*)|\(?\d{1,2}[.)](?!\d))\s+")
_FIRST_PERSON = re.compile(
    r"\W{0,3}(?:i\b|i'm\b|sorry|unfortunately|as an\b|we\b|apologies|my apologies)", re.IGNORECASE
)
_AROUND = " \t\r\n.。,;\"“”‘’«»「」『』*_`'"
_NONE = "says that there is none"
_NOTHING = Asked()


def read_phrase(
    reply: str,
    *,
    shown: str = "",
    inverse: bool = False,
    roles: Sequence[str] = (),
    sentence: str = "",
    ended: bool = True,
) -> tuple[str | None, Reading]:
    """Return the phrase that the reply gives as the answer, None with a reading that says why there is none.

    `shown` is the phrase that the question shows, which is never taken for the answer where the reply repeats it.
    `inverse`: the question shows the dependent and asks for its head (MVP: the subject, asking for its verb), so that
    in "the subject of “P” is “Q”" P is the answer. `roles` name what is asked for ("direct object"): of several
    statements those about it count. `sentence` is the sentence asked about: a piece of it needs no reading. Without
    any of these the phrase is a slot's content or a short reply, as written; with them typography is folded, too, and
    a reply that denies that there is such a phrase gives "".
    Where the reply was cut off (not `ended`), a phrase at its end may be incomplete.
    """
    asked = Asked(shown, inverse, tuple(roles), passage(sentence) if sentence else None)

    def parse(slot: Slot) -> str | None:
        if asked == _NOTHING:
            return None if is_last_resort(slot) else undressed(slot.text).strip(_AROUND) or None
        phrase = "" if slot.rule == _NONE else clean(slot.text)
        if slot.rule != _NONE and not squeeze(phrase):
            raise Unsure
        return phrase

    own = value_slots if asked == _NOTHING else lambda text: _slots(text, asked)
    phrase, reading = read_value(reply, parse, ended=ended, slots=own)
    if not ended and reading.span and not reply[reading.span[1] :].strip():
        return None, Reading(UNPARSED, None, "cut off")
    return phrase, reading


def _slots(text: str, asked: Asked) -> list[Slot]:
    """Return the slots of a reply about a known sentence."""
    if slots := marked(text, keys=asked.names) or _at_a_glance(text, asked):
        return slots
    return [] if _FIRST_PERSON.match(text) and refusal(text) else _in_prose(text[: explained_from(text)], asked)


def _at_a_glance(text: str, asked: Asked) -> list[Slot]:
    """Return the slot of a reply that is just a piece of the sentence, or that declines."""
    explained = _BRACKETED.fullmatch(text)
    if asked.stands(text):
        return [_slot(text, (0, len(text)), Strength.MARKED, "stands in the sentence")]
    if explained and asked.stands(explained[1]):
        return [_slot(text, explained.span(1), Strength.MARKED, "in front of brackets")]
    if unsure := pattern(r"[\W_]{0,4}(?:(?:sorry|unfortunately),? (?:but )?)?<unsure>\b").match(text):
        return [Slot("", unsure.span(), Strength.MARKED, "does not know")]
    none = pattern(r"[\W_]{0,4}(?:<answer>\s?:\s?)?(?:in (?:the|this) (?:above |given )?sentence,?\s)?<none>\b").match(
        text
    )
    if none is None or asked.stands(none[0].split(":")[-1]):
        return []
    ends = none[0][-2:].lower() == "no" or not text[none.end() :].strip(' .*_"\n”')
    return [Slot(none[0], none.span(), Strength.MARKED, _NONE)] if ends else []


def _in_prose(text: str, asked: Asked) -> list[Slot]:
    """Return the slots of a reply in sentences: statements, quotations, or a bare line."""
    masked = Masked(text, asked)
    statements = claims(masked)
    statements += [
        behind(masked, slot)
        for slot in stated(text, nouns=asked.nouns, seen=masked.wholly)
        if slot.text and not asked.shows(slot.text)
    ]
    strong = sorted((claim for claim in statements if not claim.weak), key=lambda claim: claim.at)
    lines = _lines(masked)
    first = _first_line(masked, lines)
    if first and asked.stands(text[slice(*first)]) and not any(claim.final for claim in strong):
        return [_slot(text, first, Strength.STATED, "the first line stands in the sentence")]
    if strong:
        chosen = _chosen(strong, masked)
        return [_slot(text, chosen.span, Strength.STATED, chosen.rule)]
    return list(_unstated([claim for claim in statements if claim.weak], masked, lines))


def _slot(text: str, span: tuple[int, int] | None, strength: Strength, rule: str) -> Slot:
    """Return a slot; one without a text where several phrases are named (no span)."""
    return Slot(text[slice(*span)] if span else "", span or (0, 0), strength, rule if span else "several phrases")


def _chosen(claimed: list[Claim], masked: Masked) -> Claim:
    """Return the last final statement; else the first, unless a later one corrects it."""
    chosen = ([claim for claim in claimed if claim.final][-1:] or claimed)[0]
    for later in claimed:
        between = masked.masked[chosen.at : later.at + 24]
        if later.at > chosen.at and pattern(r"[\n.!?–-]\s{0,4}<correction>\b").search(between):
            chosen = later
    return chosen


def _lines(masked: Masked) -> list[tuple[int, int]]:
    """Return the lines without headings, courtesies, and parts of the question given back."""
    spans = [match.span() for match in re.finditer(r"[^\n]+", masked.text) if match.group().strip(" \t*_#>-`")]
    dressing = pattern(r"<opener>[!.,]{0,3}|[^\n]*:|(?:sentence|question|input|instruction)\s?:[^\n]*")
    return [span for span in spans if not dressing.fullmatch(masked.masked[slice(*span)].strip(" \t*_#>"))]


def _first_line(masked: Masked, lines: list[tuple[int, int]]) -> tuple[int, int] | None:
    """Return the first line, if others follow and it may be the answer."""
    if len(lines) < 2 or _ITEM.match(masked.text, *lines[0]):
        return None
    line = masked.text[slice(*lines[0])]
    whole = masked.asked.sentence is not None and masked.asked.sentence.is_whole(clean(line))
    return None if whole or masked.asked.shows(line) else lines[0]


def _unstated(weak: list[Claim], masked: Masked, lines: list[tuple[int, int]]) -> Iterator[Slot]:
    """Yield the slot of a reply without statements: its quoted phrase or a bare line."""
    text, asked = masked.text, masked.asked
    items = {squeeze(clean(text[slice(*span)])) for span in lines if _ITEM.match(text, *span)}
    if not lines or (len(items) > 1 and len(items) >= len(lines) - 1):
        return
    start, end = lines[0]
    if pattern(r"[\W_]{0,4}<lead>\b").match(text, start, end):
        start, end = lines[-1]
    if opener := pattern(r"\W{0,4}(?:<opener>[!,.:]{1,3}|A:)\s{0,4}").match(text, start, end):
        start = opener.end()
    here = [claim for claim in weak if start <= claim.at < end]
    if here and not asked.stands(text[start:end]) and not pattern("<EDGE>{0,2}<Q>").match(masked.masked, start, end):
        spans = {claim.span for claim in here}
        yield _slot(text, here[0].span if len(spans) == 1 else None, Strength.WHOLE, here[0].rule)
    elif span := masked.whole(start, end) or (None if here else (start, end)):
        yield _slot(text, span, Strength.WHOLE, "first line")


_DENIED = re.compile(r"(?:\bnot|n't|\brather than|\binstead of|\bunlike|\bexcept)\s(?:\w+\s){0,3}$", re.IGNORECASE)
_SHOWN_BEFORE = r"<S>\s<serves>\s(?:the|an?|its)\s<ROLE>\s(?:of|for|to|in)\s"
_STATED = (
    r"<S>\s{1,2}<tie>\s<CALLED>(<Q>)",
    rf"{_SHOWN_BEFORE}<CALLED>(<Q>)",
    r"<LINK><CALLED>(<Q>)",
)
_WITHOUT = "stated without quotes"
_ANSWERED = r"()[^\n\x02?]{1,120}\?()\s{0,3}(?::|[-=]>)?\s{0,3}<TERMED>"
_UNQUOTED = (
    r"(?:(?:the|its|an?)\s)?<ROLE>\s(?:of|for|to|in|that|which|whose)\s([^\n\x02]{1,120}?)\s<LINK><TERMED>",
    _ANSWERED,
    r"()(<S>)(?:\s<tie>\s|\s{0,2}(?:[-=]>|:)\s{0,2})<TERMED>",
    rf"()(){_SHOWN_BEFORE}<TERMED>",
)
"""Groups: a role ("" where none is named) and the phrase that has it; the claimed phrase follows the match."""
_UNQUOTED_BEFORE = r"([^\n\x02\x04(]{1,300}?)\s(?:<serves>\s(?:the|an?|its)\s<ROLE>|<tie>\s(?:the\s)?<S>())"


class Claim(Struct, frozen=True):
    """One statement, in the sentence that begins at `at`. `span` is its phrase, None where it names several.

    `weak` claims are no statements: a sentence has just one phrase in quotes, or several.
    """

    span: tuple[int, int] | None
    at: int
    rule: str
    final: bool = False
    weak: bool = False


def claims(masked: Masked) -> list[Claim]:
    """Return all statements, in order."""
    return [claim for span in masked.sentences if (claim := _in_quotes(masked, *span) or _unquoted(masked, *span))]


def _claim(masked: Masked, span: tuple[int, int] | None, start: int, rule: str) -> Claim:
    final = pattern(r"<EDGE>{0,4}<final>\b").match(masked.masked, start) is not None
    return Claim(span, start, rule, final)


def behind(masked: Masked, slot: Slot) -> Claim:
    """Return the claim in a slot, which may be a sentence: "Answer: the object of “will join” is “the
    board”.".
    """
    start = slot.span[0]
    end = masked.line_end(start)
    if pattern(r"\s{0,4}<CALLED><Q>").match(masked.masked, start, end):
        inner, end = None, next(stop for _, stop in masked.sentences if stop > start)
    else:
        inner = _in_quotes(masked, start, end) or _unquoted(masked, start, end)
    drawn = pattern(r"\b<final>\W{1,3}$").search(masked.masked, max(0, start - 16), start)
    final = slot.strength is Strength.STATED or drawn is not None
    if inner and not inner.weak:
        return Claim(inner.span, start, inner.rule, final)
    return Claim(masked.whole(start, end), start, slot.rule, final)


def _in_quotes(masked: Masked, start: int, end: int) -> Claim | None:
    named = _named(masked, start, end)
    if not named:
        return None
    distinct = {squeeze(clean(masked.text[slice(*masked.inside(place))])) for place in named}
    if len(distinct) == 1 and pattern(r"<S>|<ROLE>|<tie>\s<CALLED><Q>").search(masked.masked, start, end):
        return _claim(masked, masked.inside(named[0]), start, "the one phrase named")
    if claim := _stated(masked, start, end, named):
        return claim
    if len(distinct) == 1:
        return Claim(masked.inside(named[0]), start, "the only quoted phrase", weak=True)
    return Claim(None, start, "several phrases", weak=True)


def _stated(masked: Masked, start: int, end: int, named: list[int]) -> Claim | None:
    """Return the claim of a statement: "the direct object is Q" of the role asked for, "S modifies Q", or "… is Q"."""
    own = rf"\b(?:{'|'.join(masked.asked.nouns)})\b[^\x02\n]{{0,80}}?<LINK><CALLED>(<Q>)"
    matches = (match for rule in (own, *_STATED) for match in pattern(rule).finditer(masked.masked, start, end))
    for match in matches:
        place, after = match.span(match.lastindex or 0)
        if place in named:
            span = None if masked.goes_on(after, end) else masked.inside(place)
            return _claim(masked, span, start, "stated in quotes")
    return None


def _named(masked: Masked, start: int, end: int) -> list[int]:
    """Return the positions of named phrases, without those that are only denied."""
    named: list[int] = []
    denied = start
    for match in pattern("<Q>").finditer(masked.masked, start, end):
        place = match.start()
        goes_on = denied > start and pattern(r"\s?,?\s?(?:or|nor|and)?\s<CALLED>").fullmatch(
            masked.masked, denied, place
        )
        if goes_on or _DENIED.search(masked.masked, max(start, place - 40), place):
            denied = match.end()
        else:
            named.append(place)
    return named


def _unquoted(masked: Masked, start: int, end: int) -> Claim | None:
    """Return the claim of a statement without quotes; a literal piece of the sentence is no statement."""
    text, asked = masked.text, masked.asked
    if end - start > 2 * LONGEST or asked.stands(text[start:end]):
        return None
    opening = (
        r"<EDGE>{0,6}(?:\d\.\s)?(?:(?:<final>|<opener>|<hedge>)\b[,!.:]?\s?){0,2}"
        r"(?:(?:for|in|with) [^\n,]{1,80}, (?=(?:the|its) ))?"
    )
    begun = pattern(opening).match(masked.wholly, start, end)
    place, line = (begun.end() if begun else start), masked.line_end(start)
    for rule in _UNQUOTED:
        match = pattern(rule).match(masked.wholly, place, end)
        if match is None or text.startswith("not ", match.end()):
            continue
        span = masked.whole(match.end(), line)
        if span and asked.shows(text[slice(*span)]):
            span = match.span(2) if match[2] and match[2][0] != S else None
        if span:
            return _claim(masked, span, start, _WITHOUT)
    before = pattern(_UNQUOTED_BEFORE).match(masked.wholly, place, end)
    if before and not asked.shows(before[1]):
        return _claim(masked, before.span(1), start, _WITHOUT)
    return None
