"""The phrase that a reply to a fill-in-the-blank question commits to: one, never the best of several.

SynEval (arXiv 2311.08287) asks for a phrase of a sentence. The published script scores the best of several candidates
cut from the first line; here the statement of the answer decides, and only its dressing (quotes, markup, stops) is
taken away: "board" for "the board" stays as far off as it was. In this order:

    boxed, tagged or JSON value → the whole reply, where it stands in the sentence → what the reply states
    (phraseclaims.py) → the one phrase that it quotes → its first line (its last, where it reasons first)
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from viva.scorers.fold import HEAD_WINDOW, TAIL_WINDOW
from viva.scorers.phraseclaims import Claim, claims
from viva.scorers.phrasemarks import clean, passage, squeeze
from viva.scorers.phrasemask import Asked, Masked, pattern
from viva.scorers.reading import UNPARSED, Reading
from viva.scorers.reading.segments import read_visible
from viva.scorers.reading.slots import marked, stated
from viva.scorers.refusal import refusal

_FOUND = "phrase"
_JSON = re.compile(r"\s*(?:```\w{0,8}\s*)?([{\[].*[}\]])\s*(?:```)?\s*", re.DOTALL)
_CLOSED = re.compile(r"\s{0,4}([^“”\n]{1,600}?)”")
"""The prompt of a base model may end in an opening quote."""
_BRACKETED = re.compile(r"\s{0,4}([^()\n:]{1,600}?)\s{1,2}\([^()\n]{1,600}\)\s{0,4}[.!]?\s{0,4}")
"""A phrase, and behind it brackets that explain it."""
_EXPLANATION = re.compile(
    r"(?<=\S)\s{0,6}\n[\W_]{0,6}(?:explanation|reasoning|reason|rationale|justification|note)\b[^\n:]{0,20}:",
    re.IGNORECASE,
)
_FENCE = re.compile(r"^[ \t]*```\w{0,12}[ \t]*$", re.MULTILINE)
_ITEM = re.compile(r"\s*(?:[-•·–]|\*(?!\*)|\(?\d{1,2}[.)](?!\d))\s+")
_FIRST_PERSON = re.compile(
    r"\W{0,3}(?:i\b|i'm\b|sorry|unfortunately|as an\b|we\b|apologies|my apologies)", re.IGNORECASE
)


class PhraseReading(Struct, frozen=True):
    """What was read. `unread` says why nothing was; a phrase may itself be the word "refused".

    An empty phrase that is no `unread` is a reply that says that there is no such phrase. `span` are offsets into the
    reply: what the reading rests on.
    """

    phrase: str
    unread: Literal["", "unparsed", "empty", "refused"] = ""
    span: tuple[int, int] | None = None
    rule: str = ""


def read_phrase(
    reply: str,
    *,
    shown: str = "",
    inverse: bool = False,
    roles: Sequence[str] = (),
    sentence: str = "",
    ended: bool = True,
) -> PhraseReading:
    """The phrase that the reply gives as the answer, or why there is none.

    `shown` is the phrase that the question shows, which is never taken for the answer where the reply repeats it.
    `inverse` says that the question shows what it is a role of (MVP: the subject, asking for its verb), so that in
    "the subject of “P” is “Q”" P is the answer. `roles` name what is asked for ("direct object"): of several
    statements those about it count. `sentence` is the sentence asked about: what stands in it needs no reading.
    Where the reply was cut off (not `ended`), a phrase that it ends in may be half of one.
    """
    asked = Asked(shown, inverse, tuple(roles), passage(sentence) if sentence else None)
    found: dict[tuple[int, int], str] = {}

    def read_part(start: int, end: int) -> Reading:
        part = _read(reply[start:end], asked)
        if not part.rule:
            return Reading(UNPARSED)
        if part.unread or part.span is None:
            return Reading(UNPARSED, None, part.rule)
        span = start + part.span[0], start + part.span[1]
        found[span] = part.phrase
        return Reading(_FOUND, span, part.rule)

    reading = read_visible(reply, read_part)
    if reading.span and not ended and not reply[reading.span[1] :].strip():
        return PhraseReading("", "unparsed", None, "cut off")
    if reading.span in found and reading.read == _FOUND:
        return PhraseReading(found[reading.span], "", reading.span, reading.rule)
    unread: Literal["unparsed", "empty", "refused"] = "unparsed"
    if reading.read in {"empty", "refused"}:
        unread = "empty" if reading.read == "empty" else "refused"
    return PhraseReading("", unread, reading.span, reading.rule)


_NOTHING = PhraseReading("", "unparsed")


def _read(text: str, asked: Asked) -> PhraseReading:
    if len(text) > HEAD_WINDOW + TAIL_WINDOW:
        return _read_long(text, asked)
    if found := _marked_out(text, asked) or _at_a_glance(text, asked):
        return found
    text = _FENCE.sub(lambda match: " " * len(match.group()), text)
    if (explained := _EXPLANATION.search(text)) and squeeze(text[: explained.start()]):
        text = text[: explained.start()]
    masked = Masked(text, asked)
    found_claims = claims(masked)
    claimed = [claim for claim in found_claims if not claim.weak]
    first = _first_line(masked)
    if first and asked.stands(text[slice(*first)]) and not any(claim.final for claim in claimed):
        return _made(text, first, "the first line stands in the sentence")
    if claimed:
        return _resolve(claimed, masked)
    slots = [slot for slot in stated(text) if slot.text and not asked.shows(slot.text)]
    return _made(text, slots[-1].span, slots[-1].rule) if slots else _unstated(found_claims, masked)


def _read_long(text: str, asked: Asked) -> PhraseReading:
    """A very long reply is read by its end, and if that states nothing, by its beginning."""
    tail = len(text) - TAIL_WINDOW
    reading = _read(text[tail:], asked)
    if reading.span and "line" not in reading.rule:
        return PhraseReading(reading.phrase, "", (tail + reading.span[0], tail + reading.span[1]), reading.rule)
    return _read(text[:HEAD_WINDOW], asked)


def _made(text: str, span: tuple[int, int] | None, rule: str) -> PhraseReading:
    if span is None:
        return PhraseReading("", "unparsed", None, "several phrases")
    phrase = clean(text[slice(*span)])
    return PhraseReading(phrase, "", span, rule) if squeeze(phrase) else _NOTHING


def _marked_out(text: str, asked: Asked) -> PhraseReading | None:
    """An answer in a box, in a tag, or as the value of a JSON object; of several keys the one about what was asked."""
    if slots := marked(text):
        return _made(text, slots[-1].span, slots[-1].rule)
    match = _JSON.fullmatch(text)
    if match is None or '"' not in text:
        return None
    try:
        value = json.loads(match[1])
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        fitting = [value[key] for key in value if asked.fits(key.lower().replace("_", " "))]
        rest = [each for each in value.values() if isinstance(each, str) and not asked.shows(each)]
        value = next(iter(fitting or (rest if len(rest) == 1 else [])), None)
    if isinstance(value, list):
        value = value[0] if len(value) == 1 else None
    if not isinstance(value, str) or not squeeze(clean(value)):
        return PhraseReading("", "unparsed", None, "no single phrase in JSON")
    return PhraseReading(clean(value), "", match.span(1), "value in JSON")


def _at_a_glance(text: str, asked: Asked) -> PhraseReading | None:
    """A reply that says nothing but a piece of the sentence, or closes a quote, or declines."""
    bare = _FENCE.sub(lambda match: " " * len(match.group()), text)
    if asked.stands(bare):
        return _made(bare, (0, len(bare)), "stands in the sentence")
    if (explained := _BRACKETED.fullmatch(bare)) and asked.stands(explained[1]) and not asked.shows(explained[1]):
        return _made(bare, explained.span(1), "in front of brackets")
    if closed := _CLOSED.match(bare):
        return _made(bare, closed.span(1), "up to the closing quote")
    return _declines(bare, asked)


def _declines(text: str, asked: Asked) -> PhraseReading | None:
    """A refusal (read_visible names it), or a reply that says that it does not know, or that there is none."""
    if _FIRST_PERSON.match(text) and refusal(text):
        return _NOTHING
    if pattern(r"[\W_]{0,4}(?:(?:sorry|unfortunately),? (?:but )?)?<unsure>\b").match(text):
        return PhraseReading("", "unparsed", None, "does not know")
    none = pattern(r"[\W_]{0,4}(?:<answer>\s?:\s?)?(?:in (?:the|this) (?:above |given )?sentence,?\s)?<none>\b").match(
        text
    )
    if none and asked.stands(none[0].split(":")[-1]):
        return None
    if none and (none[0][-2:].lower() == "no" or not text[none.end() :].strip(' .*_"\n”')):
        return PhraseReading("", "", none.span(), "says that there is none")
    return None


def _resolve(claimed: list[Claim], masked: Masked) -> PhraseReading:
    """The last final statement; else the first about what was asked, unless a later one corrects it."""
    fits = {claim.at: masked.asked.fits(claim.role) for claim in claimed}
    about = [claim for claim in claimed if fits[claim.at] is not False]
    final = [claim for claim in about if claim.final]
    chosen = (final[-1:] or [claim for claim in about if fits[claim.at]] or about or claimed)[0]
    for later in about:
        between = masked.masked[chosen.at : later.at + 24]
        if later.at > chosen.at and pattern(r"[\n.!?–-]\s{0,4}<correction>\b").search(between):
            chosen = later
    return _made(masked.text, chosen.span, chosen.rule)


def _lines(masked: Masked) -> list[tuple[int, int]]:
    """The lines that say something: no headings, courtesies, or parts of the question given back."""
    found = [match.span() for match in re.finditer(r"[^\n]+", masked.text) if match.group().strip(" \t*_#>-`")]
    dressing = pattern(r"<opener>[!.,]{0,3}|[^\n]*:|(?:sentence|question|input|instruction)\s?:[^\n]*")
    return [span for span in found if not dressing.fullmatch(masked.masked[slice(*span)].strip(" \t*_#>"))]


def _first_line(masked: Masked) -> tuple[int, int] | None:
    """The first line, if others follow and it may be the answer."""
    lines = _lines(masked)
    if len(lines) < 2 or any(_ITEM.match(masked.text, *span) for span in lines[:1]):
        return None
    line = masked.text[slice(*lines[0])]
    whole = masked.asked.sentence is not None and masked.asked.sentence.is_whole(clean(line))
    return None if whole or masked.asked.shows(line) else lines[0]


def _unstated(weak: list[Claim], masked: Masked) -> PhraseReading:
    """A reply that states nothing: what it quotes, or a bare line."""
    text, asked = masked.text, masked.asked
    lines = _lines(masked)
    if not lines:
        return _NOTHING
    items = {squeeze(clean(text[slice(*span)])) for span in lines if _ITEM.match(text, *span)}
    if len(items) > 1 and len(items) >= len(lines) - 1:
        return PhraseReading("", "unparsed", None, "a list of phrases")
    start, end = lines[0]
    if len(lines) > 1 and pattern(r"[\W_]{0,4}<lead>\b").match(text, start, end):
        start, end = lines[-1]
    if opener := pattern(r"\W{0,4}<opener>[!,.:]{1,3}\s{0,4}").match(text, start, end):
        start = opener.end()
    here = [claim for claim in weak if start <= claim.at < end]
    if here and not asked.stands(text[start:end]):
        opens = pattern("<EDGE>{0,2}<Q>").match(masked.masked, start, end)
        if opens is None and (any(claim.span is None for claim in here) or len({claim.span for claim in here}) > 1):
            return PhraseReading("", "unparsed", None, "several phrases")
        if opens is None:
            return _made(text, here[0].span, here[0].rule)
    return _made(text, masked.whole(start, end) or (None if here else (start, end)), "first line")
