"""Numbers, formulas and terms: the parser of each format, and the readers that apply it to a reply's slots.

A reader returns the answer as it was written; whether it is right is decided by value elsewhere
(number.py, mathanswer.py, term.py). What does not parse is unparsed: words that are no formula, a range, one
number of several, a long reply that says nowhere which of its words are the answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec import Struct, structs

from viva.scorers.lexicon import pattern, rewritten
from viva.scorers.number import NumberRead, numbers_in, only_number, the_number
from viva.scorers.optiontext import squeeze
from viva.scorers.reading import (
    UNPARSED,
    Reading,
    Slot,
    Strength,
    Unsure,
    explained_from,
    grade_reading,
    held,
    marked,
    read_visible,
    resolve,
    scored,
    stated,
    undressed,
    whole,
)
from viva.scorers.term import LONGEST_TERM, same_term, with_digits, words_in
from viva.scorers.units import unit_of
from viva.types import Response, Score

T = TypeVar("T")
VALUE = "value"
"""`Reading.read` where there is a value, which is returned with it."""
_SENTENCE = re.compile(r"[^\n]*?(?:(?<!\.[A-Za-z])[.!?](?=[\s*_\"')]|$)|[。]|\n|$)")
_BROKEN = re.compile(r"[.!?,]\s+(?:[^\W\d]+,? ){2,}[^\W\d]+\s*\Z")
"""An unfinished sentence after another one: a reply that was cut off."""
_COMMAND = re.compile(r"\\(?:(?:text|mathrm|textbf|mbox|operatorname)\s?\{|[A-Za-z]+)")
_WORD = re.compile(r"[^\W\d_¹²³⁰-₟]{2,}")
_MATHS = re.compile(r"(?:\$\$?(?=[^$]+\$)|\\[(\[])(.{1,400}?)(?:\$\$?|\\[)\]])", re.DOTALL)
_FORMAL = re.compile(r"[\d=+*/^\\<>()\[\]{}$%√π∞]|^\W*[^\W\d_]\W*$")
_NAMED = re.compile(r"\W*[A-Za-z]\W*")
_LINKED = re.compile(r"\b(?:is|are|equals)\s+(?!\W*[A-Za-z]\W*\Z)((?:(?!\b(?:is|are|equals)\b).){1,400}?)[.。*_\s]*\Z")
_MORE = re.compile(r"\d\s?(?:[*^=√π(]|[a-z](?![a-z]))")
"""A formula of more than a number."""
_LEADING = re.compile(r"[\d\\($€£¥.+\-−\[{|√π]|[^\W\d_](?![^\W\d_¹²³⁰-₟])")
"""Beginning of a formula that words follow: "5 apples"; not "divisible by 7"."""
_LONGEST_NAME = 6
_DRESS = re.compile(r"[\s*`]|[.。]\s*\Z")
_BOLD = re.compile(r"[^*]*\*\*(?!not\b)([^*\n]{1,80})(?<!:)\*\*(?!:)[^*]*")
_FIRST = re.compile(r"\s*((?:\*\*)?[-−$€£¥]{0,2}\d[^\n:=]{0,40}?)[.!]?\s*\n\s*\n\s*[^\W\d]")
"""A number on the first line, and words below it."""
_QUANTITY = re.compile(
    r"[\d?]|\b(?:half|halves|thirds?|quarters?|twice|times|points?|dozens?|minus|negative|plus|less|more|per|no one)\b"
    r"|(?:two|three|four|five|six|seven|eight|nine|ten) of\b|[a-z]{2}ths\b", re.IGNORECASE
)  # fmt: skip
"""Words that change a number's value, or make it no number."""


def value_slots(text: str, *, judgements: bool = False) -> list[Slot]:
    """Return the slots of formats without special ones. `judgements`: see `stated`."""
    slots = [*marked(text), *stated(text, judgements=judgements)]
    text = rewritten("unchecked", text)
    return [*slots, *_own(text[: explained_from(text)]), *_last(text)]


def read_value(
    reply: str,
    parse: Callable[[Slot], T | None],
    *,
    ended: bool = True,
    slots: Callable[[str], list[Slot]] = value_slots,
) -> tuple[T | None, Reading]:
    """Return the value of a reply's slots by a format's parser, None with a reading that says why there is none.

    `ended`: whether the reply ended by itself; without that, no last resort. `slots`: those of a format that has its
    own.
    """
    values: list[T] = []

    def read_part(text: str) -> Reading:
        decided = resolve(slots(text), parse, ended=ended)
        if decided is None:
            return Reading(UNPARSED)
        value, slot = decided
        if value is None:
            return Reading(UNPARSED, None, f"{slot.rule}: no single value")
        values.append(value)
        return Reading(VALUE, slot.span, slot.rule)

    reading = read_visible(reply, read_part, loops=False)
    return (values[-1] if reading.committed else None), reading


def _own(text: str) -> list[Slot]:
    """Return the slots of a short reply as a whole, and of what it sets apart: the only bold words, a number on top."""
    short = words_in(text.strip()) <= LONGEST_TERM
    apart = _FIRST.match(text), short and _BOLD.fullmatch(text)
    return whole(text, short=short) + [held(match, 1, Strength.WHOLE, "set apart") for match in apart if match]


def _last(text: str) -> list[Slot]:
    """Return the slots of the last sentences, the last one ranking first; none for a reply that breaks off."""
    base = max(0, len(text) - 4_000)
    sentences = [] if _BROKEN.search(text, base) else list(_SENTENCE.finditer(text, base))
    return [
        Slot(match[0].strip(), match.span(), Strength.LAST, "last sentence", text[match.end() :].strip())
        for match in sentences[-80:]
        if match[0].strip()
    ]


def read_number(reply: str, *, ended: bool = True) -> tuple[NumberRead | None, Reading]:
    """Return the number that a reply commits to: in a box, behind a heading, stated as its answer, else the last
    one.
    """
    shown = ""

    def places(text: str) -> list[Slot]:
        nonlocal shown
        shown = text
        return value_slots(text)

    def parse(slot: Slot) -> NumberRead | None:
        if slot.strength is Strength.WHOLE:
            return only_number(slot.text) or _spelt(slot.text)
        if slot.strength is Strength.LAST:
            return the_number(slot.text, last=True)
        text = rewritten("number_drawn" if slot.strength is Strength.CONCLUDED else "number_apart", slot.text)
        _, computed, rest = shown[: slot.span[0]].rpartition("=")  # behind the answer is a check of it
        result = next((number.value for number in numbers_in(rest[:60]) if computed), None)
        return the_number(text, result=result) or _spelt(text)

    return read_value(reply, parse, ended=ended, slots=places)


def _spelt(text: str) -> NumberRead | None:
    """Return the one number that a few words spell ("She has twenty-four eggs."); "one" where it is the only word."""
    words = " ".join(_WORD.findall(text.casefold()))
    numbers = [] if _QUANTITY.search(text) or words_in(words) > _LONGEST_NAME else numbers_in(with_digits(words))
    return numbers[0] if len(numbers) == 1 and (numbers[0].value != 1 or words == "one") else None


def read_formula(reply: str, accepted: Sequence[str] = (), *, ended: bool = True) -> tuple[str | None, Reading]:
    """Return the formula, or the few words, that a reply commits to, as written. An accepted answer that is no formula
    is read where it occurs word by word, however long it is.
    """
    known = {squeeze(text) for text in accepted}

    def parse(slot: Slot) -> str | None:
        return slot.text if squeeze(slot.text) in known else _as_formula(slot)

    if len(reply) <= 2 * max(map(len, accepted), default=0) + 40 and squeeze(reply) in known:
        return reply.strip(), Reading(VALUE, (0, len(reply)), "whole reply")
    return read_value(reply, parse, ended=ended)


def _as_formula(slot: Slot) -> str | None:
    if slot.strength is Strength.LAST:
        return None if slot.rest else _closing(slot.text)
    text = undressed(slot.text.strip().rstrip("。")).removesuffix(".").rstrip()
    if slot.strength is Strength.MARKED and slot.rule != "behind ####":
        return text or None
    formulas = list(_MATHS.finditer(slot.text))
    most = 4 if slot.strength is Strength.STATED else 2
    before, _, after = slot.text.partition(formulas[0][0] if formulas else slot.text)
    if len(formulas) == 1 and 0 < _prose(before) <= most + 2 and not _prose(after) and not re.search(r"\d", before):
        return formulas[0][1].strip()
    prose = _prose(text)
    formal = _FORMAL.search(text) is not None
    measured = not prose or not formal or _LEADING.match(text)
    plain = prose <= 2 and slot.strength is not Strength.CONCLUDED
    if prose <= most and (plain or formal) and measured and not text.endswith("?"):
        return text or None
    if slot.strength is Strength.STATED and formulas:
        raise Unsure
    return None


def _closing(sentence: str) -> str | None:
    """Return the end or the conclusion of a finished last sentence: "So the roots are $x = 1$ and $x = 2$."."""
    formulas = [match for match in _MATHS.finditer(sentence) if not _NAMED.fullmatch(match.group())]
    drawn = pattern("reading/slots.toml", r"[\W_]*<drawn>").match(sentence.lower())
    linked = _LINKED.search(sentence)
    told = linked[1] if linked and _FORMAL.search(linked[1]) and not _prose(linked[1]) else None
    if not sentence.rstrip("*_$\\)] ").endswith((".", "。")) or not (drawn or told):
        return None
    if formulas:
        start, end = formulas[0].start(), formulas[-1].end()
        alone = not re.search(r"\d", sentence[:start] + sentence[end:])
        return sentence[start:end] if alone and not _prose(_MATHS.sub("", sentence[start:end])) else None
    numbers = numbers_in(sentence)
    return told or (numbers[0].text if len(numbers) == 1 and not _MORE.search(sentence) else None)


def _prose(text: str) -> int:
    """Count words that are no names of functions, no units and no words between formulas."""
    words = [
        word
        for word in _WORD.findall(_COMMAND.sub(" ", text))
        if not pattern("reading/slots.toml", "<joining>").fullmatch(word)
        and not ((unit := unit_of(word)) and unit.known)
    ]
    return sum(max(1, len(word) // 2) if word[0] > "\u2e7f" else 1 for word in words)


class Term(Struct, frozen=True):
    """A reply's answer to a blank: its `text`, and the accepted answer that it equals, if any."""

    text: str
    same: str | None = None


def read_term(reply: str, accepted: Sequence[str], *, ended: bool = True) -> tuple[Term | None, Reading]:
    """Return the answer to a blank: a slot's content, or the whole of a short reply."""

    def parse(slot: Slot) -> Term | None:
        same = _accepted(slot.text, accepted)
        if is_last_resort(slot) if same is None else slot.strength is Strength.LAST:
            return None
        return Term(slot.text, same)

    def places(text: str) -> list[Slot]:
        """Return the slots, including denied ones that are accepted answers: "The answer is unknown (NULL)"."""
        return [
            structs.replace(slot, text=content) if not slot.text and _accepted(content, accepted) else slot
            for slot in value_slots(text, judgements=True)
            for content in (text[slice(*slot.span)].strip(),)
        ]

    if same := _accepted(reply, accepted):
        return Term(reply.strip(), same), Reading(VALUE, (0, len(reply)), "whole reply")
    return read_value(reply, parse, ended=ended, slots=places)


def grade_term(reply: str, accepted: Sequence[str], response: Response) -> Score:
    """Score a reply's answer to a blank."""
    term, reading = read_term(reply, accepted, ended=response.ended)
    if term is None:
        return grade_reading(reading, "", response)
    why = "none of the accepted answers, normalised" if term.same is None else f"accepted as {term.same!r}"
    return scored(term.same is not None, term.text, f"{why} ({reading.rule})")


def is_last_resort(slot: Slot) -> bool:
    """Return whether a slot is unfit for words: a last sentence, a judgement, an "it is …" too long for a name."""
    vague = slot.strength is Strength.CONCLUDED and words_in(slot.text) > _LONGEST_NAME
    return slot.strength is Strength.LAST or slot.judging or vague


def _accepted(text: str, accepted: Sequence[str]) -> str | None:
    if not any(map(str.isalnum, "".join(accepted))):  # nothing but signs, such as brackets to be closed
        bare = _DRESS.sub("", text)  # "*" is an operator, or dress
        return same_term(text, accepted) or next((form for form in accepted if "".join(form.split()) == bare), None)
    bare = undressed(text)
    wordings = (text, bare, rewritten("term_alone", text), rewritten("term_outer", bare), rewritten("term_inner", bare))
    return next((same for wording in wordings if (same := same_term(wording, accepted)) is not None), None)
