"""Where a reply states the phrase that it was asked for: "The direct object of “will join” is “the board”."

Each sentence of the masked reply (`phrasemask.py`) gives at most one claim. A sentence that names several phrases in
the same breath claims none of them.
"""

from __future__ import annotations

import re

from msgspec import Struct

from viva.scorers.phrasemarks import LONGEST, clean, squeeze
from viva.scorers.phrasemask import Masked, Q, S, pattern
from viva.scorers.reading.slots import Slot, Strength

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
)
"""A role ("" where none is named), the phrase that it is a role of, and behind the match what is claimed."""
_UNQUOTED_BEFORE = r"([^\n\x02\x04]{1,300}?)\s(?:<serves>\s(?:the|an?|its)\s<ROLE>|<tie>\s(?:the\s)?<S>())"


class Claim(Struct, frozen=True):
    """One statement, in the sentence that begins at `at`. `span` is its phrase, None where it names several.

    `weak` claims are no statements: a sentence has just one phrase in quotes, or several.
    """

    span: tuple[int, int] | None
    at: int
    rule: str
    role: str = ""
    final: bool = False
    weak: bool = False


def claims(masked: Masked) -> list[Claim]:
    """All statements, in order."""
    found: list[Claim] = []
    for start, end in masked.sentences:
        readers = (_in_quotes, _unquoted)
        found += [claim for claim in (read(masked, start, end) for read in readers) if claim][:1]
    return found


def _claim(masked: Masked, span: tuple[int, int] | None, at: int, rule: str, role: str = "") -> Claim:
    final = pattern(r"<EDGE>{0,4}<final>\b").match(masked.masked, at) is not None
    return Claim(span, at, rule, " ".join(role.lower().split()), final)


def behind(masked: Masked, slot: Slot) -> Claim:
    """The phrase in a slot, which may be said in a sentence: "Answer: the object of “will join” is “the board”."."""
    start = slot.span[0]
    end = masked.line_end(start)
    if pattern(r"\s{0,4}<CALLED><Q>").match(masked.masked, start, end):
        inner, end = None, next(stop for _, stop in masked.sentences if stop > start)
    else:
        inner = _in_quotes(masked, start, end) or _unquoted(masked, start, end)
    drawn = pattern(r"\b<final>\W{1,3}$").search(masked.masked, max(0, start - 16), start)
    final = slot.strength is Strength.STATED or drawn is not None
    aside = inner and inner.rule == _WITHOUT and masked.asked.fits(inner.role) is False
    if inner and not inner.weak and not aside:
        return Claim(inner.span, start, inner.rule, inner.role, final)
    return Claim(masked.whole(start, end), start, slot.rule, "", final)


def _in_quotes(masked: Masked, start: int, end: int) -> Claim | None:
    text = masked.masked
    if text.find(Q, start, end) < 0:
        return None
    named = _named(masked, start, end)
    distinct = {squeeze(clean(masked.text[slice(*masked.inside(at))])) for at in named}
    found = pattern("<ROLE>").search(text, start, end)
    role = found[1] if found else ""
    if len(distinct) == 1 and (text.find(S, start, end) >= 0 or _says_so(masked, start, end)):
        return _claim(masked, masked.inside(named[0]), start, "the one phrase named", role)
    if claim := _stated(masked, start, end, named):
        return Claim(claim.span, claim.at, claim.rule, " ".join(role.lower().split()), claim.final)
    if not named:
        return None
    if len(distinct) == 1:
        return Claim(masked.inside(named[0]), start, "the only quoted phrase", weak=True)
    return Claim(None, start, "several phrases", weak=True)


def _stated(masked: Masked, start: int, end: int, named: list[int]) -> Claim | None:
    """ "S modifies Q", or "… is Q"."""
    matches = (match for rule in _STATED for match in pattern(rule).finditer(masked.masked, start, end))
    for match in matches:
        place, after = match.span(match.lastindex or 0)
        if place in named:
            span = None if masked.goes_on(after, end) else masked.inside(place)
            return _claim(masked, span, start, "stated in quotes")
    return None


def _named(masked: Masked, start: int, end: int) -> list[int]:
    """Where phrases are named, without those that are only turned down."""
    named: list[int] = []
    denied = start
    for match in pattern("<Q>").finditer(masked.masked, start, end):
        at = match.start()
        goes_on = denied > start and pattern(r"\s?,?\s?(?:or|nor|and)?\s<CALLED>").fullmatch(masked.masked, denied, at)
        if goes_on or _DENIED.search(masked.masked, max(start, at - 40), at):
            denied = match.end()
        else:
            named.append(at)
    return named


def _says_so(masked: Masked, start: int, end: int) -> bool:
    stated = r"<LINK><CALLED><Q>|<Q>\s?,?\s?<serves>\s(?:the|an?|its|what)\b|<ROLE>|<tie>\s<CALLED><Q>"
    return pattern(stated).search(masked.masked, start, end) is not None


def _unquoted(masked: Masked, start: int, end: int) -> Claim | None:
    """The same without quotes; what stands in the sentence as it is is not taken for a statement."""
    text, asked = masked.text, masked.asked
    if end - start > 2 * LONGEST or asked.stands(text[start:end]):
        return None
    opening = (
        r"<EDGE>{0,6}(?:\d\.\s)?(?:(?:<final>|<opener>|<hedge>)\b[,!.:]?\s?){0,2}"
        r"(?:(?:for|in|with) [^\n,]{1,80}, (?=(?:the|its) ))?"
    )
    begun = pattern(opening).match(masked.wholly, start, end)
    at, line = (begun.end() if begun else start), masked.line_end(start)
    for rule in _UNQUOTED:
        match = pattern(rule).match(masked.wholly, at, end)
        if match is None or text.startswith("not ", match.end()):
            continue
        if rule is _ANSWERED and (inner := _unquoted(masked, match.end(), end)):
            return inner
        span = masked.whole(match.end(), line)
        if span and asked.shows(text[slice(*span)]):
            span = match.span(2) if match[2] and match[2][0] != S else None
        if span:
            return _claim(masked, span, start, _WITHOUT, match[1])
    if shown := pattern(f"{_SHOWN_BEFORE}<TERMED>").match(masked.wholly, at, end):
        return _claim(masked, masked.whole(shown.end(), line), start, _WITHOUT)
    before = pattern(_UNQUOTED_BEFORE).match(masked.wholly, at, end)
    if before and not asked.shows(before[1]):
        return _claim(masked, before.span(1), start, _WITHOUT, before[2] or "")
    return None
