"""The texts of options in a reply: an option repeated in full, a letter with its text, a slot's content, a tick.

Texts are compared without case, width, white space, markup and punctuation, and as a whole: an option "1" or "stack"
inside a longer sentence does not count. A text that two options share decides nothing.

The grammar of statements about options is `choice.py`'s; it reads four languages. Slots know more layouts and more
languages, and say nothing about corrections and contradictions, so they come where the grammar is silent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache, cached_property

from viva.scorers.lexicon import ANOTHER_FOLLOWS, plain, rewritten
from viva.scorers.number import numbers_in
from viva.scorers.reading import (
    Reading,
    Slot,
    Strength,
    Unsure,
    boxes_in,
    finished,
    firm,
    found_in,
    found_retraction,
    headed,
    marked,
    resolve,
    stated,
    undressed,
    whole,
)

ARTICLE = re.compile(r"^(?:an?|the|une?|l[ae]s?|l'|ein(?:e[nrs]?)?|der|die|das)\s", re.IGNORECASE)
_ENDS = (
    re.compile(r"\n"),
    re.compile(r"[.!?;。](?=\s|$)"),
    re.compile(r",|[(]| because | since | as | weil | car | da |因为|，"),
)


def squeeze(text: str) -> str:
    """Return a text without case, width, white space, markup and punctuation."""
    return rewritten("option", plain(text)).casefold()


class OptionTexts:
    """The options of one question, ready for comparison."""

    def __init__(self, options: Sequence[str], letters: str) -> None:
        self.longest = max((len(option) for option in options), default=0)
        self.options = tuple(zip(letters, map(str.strip, options), strict=False))

    @cached_property
    def _letters(self) -> dict[str, str]:
        """Letters by squeezed text, and by a blank and the text as written, since some options differ in case only."""
        letters: dict[str, str] = {}
        for letter, option in self.options:
            text = squeeze(option)
            for key in {text, squeeze(ARTICLE.sub("", option)), f" {option}", text and letter.casefold() + text}:
                letters[key] = letter if letters.get(key, letter) == letter else ""
        return letters | {"": ""}

    def letter(self, text: str) -> str:
        """Return the letter of the one option that reads `text`, or ""."""
        if len(text) > 2 * self.longest + 40:
            return ""
        text = text.strip()
        ways = squeeze(text), f" {text}", squeeze(ARTICLE.sub("", text))
        return next(filter(None, map(self._letters.get, ways)), "")

    @cached_property
    def _quantities(self) -> list[tuple[str, Fraction, str]]:
        read = ((letter, _quantity(option)) for letter, option in self.options)
        return [(letter, *quantity) for letter, quantity in read if quantity]

    def by_value(self, text: str) -> str:
        """Return the letter of the only option with the same numeric value as a text ("0" for "0.0 m"), or ""."""
        if (quantity := _quantity(text)) is None:
            return ""
        value, unit = quantity
        same = [letter for letter, number, own in self._quantities if number == value and unit in {"", own}]
        return same[0] if len(same) == 1 else ""

    def other_beside(self, text: str, letter: str, start: int, end: int) -> bool:
        """Return whether the statement at `start` to `end` has exactly another option's text next to its letter.

        "The answer is (B) 42" where 42 is D, "22.50, which is the answer (C)" where that is G.
        """
        closing = _CLOSING.match(text, end)
        letter_behind = self.after_cue(text, closing.end()) if closing else ""
        if letter_behind and letter_behind != letter:
            return True
        before = text[max(0, end - 2 * self.longest - 80) : end]
        if (linked := _LINKED.search(before)) and (verbs := list(_VERB.finditer(before, 0, linked.start()))):
            letter_behind = self.letter(before[verbs[-1].end() : linked.start()])
        return bool(letter_behind) and letter_behind != letter

    def after_cue(self, text: str, start: int) -> str:
        """Return the letter of the option that follows position `start`, up to the end of a line, sentence or
        clause.
        """
        if label := _FOREIGN.match(text, start):
            start = label.end() if label[1] not in dict(self.options) else start
        rest = text[start : start + 2 * self.longest + 60]
        if not rest.strip():
            return ""
        for end in _ENDS:
            match = end.search(rest, len(rest) - len(rest.lstrip()))
            stop = match.start() if match else len(rest)
            if rest[:stop].rstrip().endswith("?") or rest[stop : stop + 1] == "?":  # "Is it a queue?"
                return ""
            if letter := self.letter(rest[:stop]):
                return letter
        return ""


_CLOSING = re.compile(r"(?!\)\.)[)\]}*_.: ]{0,6}(?:with |which is )?")
_LINKED = re.compile(
    r",? (?:which (?:is|corresponds to|matches) |that is |or |i\.e\.,? )"
    r"(?:the )?(?:answer |option |choice )?[*_(]{0,4}[A-Z]$"
)
_VERB = re.compile(
    r"\b(?:is|are|be|get|gives|obtain|approximately|about|around)\b|[=≈]|(?<![不非])(?<!不[会能应])(?<!不可能)[为是]|得到"
)
_FOREIGN = re.compile(r"[ *_]{0,4}\(?([A-Z])[).:][*_ ]{1,4}")
"""The letter of an option that does not exist; its text counts."""
_ITEM = re.compile(r"[\s>*_-]{0,6}\(?([A-Z])[.):、]\)?[\s*_]{0,4}")
_HEADING = re.compile(
    r"[\W_]*(?:(?:the |my |your )?(?:final |correct )?answer(?: is)?|答案|antwort|r[ée]ponse)[\W_]*", re.IGNORECASE
)


def _quantity(text: str) -> tuple[Fraction, str] | None:
    """Return the value and the unit of a text that is a quantity; else None."""
    bare = _EXPONENT.sub("", text[:120])
    numbers = numbers_in(bare)
    if len(numbers) != 1:
        return None
    before, _, after = bare.partition(numbers[0].text)
    unit = _LINKS.sub("", squeeze(after))
    return None if squeeze(before) or _TERM.search(unit) else (numbers[0].value, unit)


_EXPONENT = re.compile(r"(?<=[A-Za-z}])\^?\{?-?\d+\}?")
_LINKS = re.compile(r"\\cdot|\\times|[~/·\\]")
"""Between the parts of a unit."""
_TERM = re.compile(r"[=<>+*^√π∞]|sqrt|.{40}")
_BROKEN_OFF = re.compile(
    r"[.\s]*(?:(?:so|thus|therefore|hence),? )?the (?:final |correct )?answer(?: is)?[:*\s($]*$", re.IGNORECASE
)


def result_in(text: str) -> tuple[int, int] | None:
    """Return the span of the result that ends a text, perhaps before a statement of the answer that breaks off.

    None where it may be half a number or half a term.
    """
    broken = _BROKEN_OFF.search(text, max(0, len(text) - 60))
    end = broken.start() if broken else len(text.rstrip())
    start = max((verb.end() for verb in _VERB.finditer(text, max(0, end - _RESULT), end)), default=end)
    whole = broken or not _HALF.search(text, start, end)
    return (start, end) if start < end and whole else None


_HALF = re.compile(r"[\d,/^*+({-]$")
_RESULT = 120


def restated_from(text: str, texts: OptionTexts) -> int:
    """Return where the list of options at the text's end begins, or the text's length.

    A reply that only repeats the options does not answer with the last of them.
    """
    base = max(0, len(text) - 20 * (texts.longest + 20))
    lines = list(re.finditer(r"[^\n]*\S[^\n]*", text[base:]))
    letters: list[str] = []
    place = len(text)
    lines = lines[:-1] if lines and _HEADING.fullmatch(lines[-1].group()) else lines
    for line in reversed(lines[-30:]):
        match = _ITEM.match(line.group())
        if match is None or texts.letter(line.group()[match.end() :]) != match[1] or match[1] in letters:
            break
        letters.append(match[1])
        place = base + line.start()
    return place if len(letters) > 1 and letters == sorted(letters, reverse=True) else len(text)


_LONGEST = 48
_CUE = (
    r"(?:(?:(?:so |thus |therefore )?,?\s?(?:the |my )?(?:final |correct |right |best )?"
    r"(?:answer|option|choice)(?: is|=)?"
    r"|(?:die |meine )?(?:richtige |korrekte )?(?:antwort|lösung)(?: ist| lautet)?"
    r"|(?:la |ma )?(?:bonne )?(?:réponse|reponse)(?: correcte)?(?: est)?"
    r"|(?:因此|所以|故|综上)?，?(?:本题|正确|最终|参考|我的)?(?:答案|选项)(?:是|为|选|应为|应该是)?|[故应]?选择?"
    r")\s{0,2}[:：]?\s{0,2}|#{1,4} |[->] )?"
)
_LONE = re.compile(
    rf"\s*[*_]{{0,3}}{_CUE}"
    rf"[*_(（\[【{{\"'`$“「]{{0,5}}(?:\\boxed\{{)?([A-Za-zＡ-Ｚ])[*_)）\]】}}\"'`$”」]{{0,5}}[.。．!！]?[*_]{{0,3}}\s*",
    re.IGNORECASE,
)
_LETTERED = re.compile(
    rf"\s{{0,4}}[*_]{{0,3}}{_CUE}[*_]{{0,3}}"
    rf"(?:[(（\[【]([A-Z])[)）\]】]|([A-Z])[.．、:：)）])[*_.:：]{{0,4}}\s{{0,3}}",
    re.IGNORECASE,
)


def is_lone_letter(text: str) -> bool:
    """Return whether a text is just one letter, perhaps with a cue in front: "Answer: **B**",
    "选（B）。".
    """
    return len(text) <= _LONGEST and _LONE.fullmatch(text) is not None


_ENDING = " \n*_.。"


def with_own_text(text: str, texts: OptionTexts) -> tuple[str, int, int] | None:
    """Return the letter of a text that is a letter with its own option's text ("B. Queue"), and the span of both; else
    None.
    """
    match = _LETTERED.match(text, 0, 80)
    letter = match[match.lastindex or 0] if match else ""
    own, rest = dict(texts.options).get(letter, ""), text[match.end() if match else 0 :]
    if match is None or not own or len(rest) > len(own) + 40:
        return None
    if rest.strip(_ENDING) != own.strip(_ENDING) and (squeeze(rest) or None) != squeeze(own):
        return None
    return letter, match.start(match.lastindex or 0), len(text.rstrip("*_ \n"))


_LETTER = re.compile(
    r"[(\[{<\s\"'*$]{0,4}([A-Za-z])(?P<closed>[)\]}>]?)[\"'*$]{0,3}\s*(?:[.:,;-]+\s*|(?=\()|$|(?<=[)\]}>\s])\s*)"
)
_TICKED_ITEM = re.compile(r"\(?([A-Z])(?![A-Za-z])")
_SENTENCE_END = re.compile(r"[.!?。](?=\s|$)(?<![ (][A-Za-z][.])(?<!\([A-Z]\)[.])|\n")
_OF_AN_OPTION = re.compile(
    r"\b(?i:options?|choices?|answers?|antwort|r[ée]ponse)[ *(\"]{1,3}[A-Z](?!\w)"
    r"|^\W{0,4}(?:选项 ?[A-Z]|[A-Z] ?选项)|(?<![\w'’-])[B-HJ-Z](?![\w'’-])"
)
"""An option that is the subject of a sentence."""
_LAST_SENTENCE = "an option named in the last sentence"
_RESULT_RULE = "result at the end"
_TELLING = 3
"""Fewest bytes of an option that is searched for in a sentence."""
_SHORT = 240
"""Most characters of a reply that may be just its answer."""


def ticked(text: str, letters: str) -> str | None:
    """Return the letters whose boxes are ticked in a list of boxes; None for no such list."""
    boxes = [(item[1], box.ticked) for box in boxes_in(text) if (item := _TICKED_ITEM.match(box.said))]
    if len({letter for letter, _ in boxes}) < 2 or any(letter not in letters for letter, _ in boxes):
        return None
    return "".join(letter for letter, tick in boxes if tick)


def from_slots(text: str, letters: str, texts: OptionTexts | None, *, ended: bool) -> Reading | None:
    """Return the option that the strongest slot names, by one of `letters` or by its text; a short reply is itself a
    slot.
    """
    slots = [*marked(text), *stated(text, letters=True, judgements=True), *headed(text)]
    if texts:
        slots += [
            *whole(text, short=ended and bool(letters) and len(text) <= _SHORT),
            *_lines(text, texts, ended=ended),
        ]

    def parse(slot: Slot) -> str | None:
        half = slot.strength <= Strength.WHOLE or ANOTHER_FOLLOWS.search(slot.text)
        letter = None if half else _as_letter(slot, letters)
        return letter or (_as_option(slot, texts) if texts else None)

    decided = resolve(slots, parse)
    if decided and decided[0] is None:  # "(F) and (I) fit. Of these the better one is (F)"
        later = [slot for slot in slots if slot.text and slot.span > decided[1].span]
        decided = resolve(later, parse) or decided
    if decided is None or decided[0] is None:
        return None
    return Reading(decided[0], decided[1].span, decided[1].rule)


def _lines(text: str, texts: OptionTexts, *, ended: bool) -> list[Slot]:
    """Return as slots the first or last line that is an option's text and, of a reply that ended by itself, the last
    sentence.
    """
    lines = [match.span() for match in re.finditer(r"[^\n]*\S[^\n]*", text)]
    edges = {span: letter for span in (*lines[:1], *lines[-1:]) if (letter := texts.letter(text[slice(*span)]))}
    alone = len(set(edges.values())) == 1
    slots = [Slot(text[slice(*span)], span, Strength.LAST, "line by itself") for span in edges if alone]
    if ended and lines:
        if result := result_in(text):
            slots.append(Slot(text[slice(*result)], result, Strength.LAST, _RESULT_RULE))
        body = text.rstrip()
        start = max((match.end() for match in _SENTENCE_END.finditer(body) if match.end() < len(body)), default=0)
        slots.append(Slot(body[start:], (start, len(body)), Strength.LAST, _LAST_SENTENCE))
    return slots


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
    value = undressed(slot.text)
    if slot.rule == _RESULT_RULE:
        return texts.by_value(value) or (re.search(r"\d", value) and texts.letter(value)) or None
    letter = texts.letter(value) or (texts.after_cue(plain(value), 0) if slot.strength > Strength.WHOLE else "")
    letter = letter or texts.by_value(value)
    broken = slot.text.startswith("$") and slot.text.count("$") == 1  # cut off within a formula
    return letter if letter and not (broken and "$" not in dict(texts.options)[letter]) else None


def _named(text: str, texts: OptionTexts) -> Iterator[tuple[str, int, int]]:
    """Yield letter and span of each option that a sentence names."""
    for letter, option in texts.options:
        core = ARTICLE.sub("", option).strip(" .。")
        if len(core.encode()) < _TELLING:
            continue
        pattern = rf"(?<![a-zà-ÿ0-9_-]){re.escape(core)}(?![a-zà-ÿ0-9_-])"
        yield from ((letter, *match.span()) for match in re.finditer(pattern, text, re.IGNORECASE))


def _as_letter(slot: Slot, letters: str) -> str | None:
    value = undressed(plain(slot.text))
    match = _LETTER.match(value)
    if match is None or (match[1].upper() not in letters) or (match[1].islower() and not match["closed"]):
        return None
    letter = match[1].upper()
    place = letters.index(letter)
    named = {other[1] for other in _apart(letters).finditer(value, match.end())} - {letter}
    listed = {other[1] for other in _apart(letters).finditer(plain(slot.rest.partition("\n")[0]), 1)}
    following = set(letters[place + 1 : place + 3])
    if named or (following and following <= listed) or found_retraction(value, match.end(1)):
        raise Unsure
    apart = match.end() == len(value) or match["closed"] or value[match.end(1) : match.end()].strip()
    return letter if apart else None


def _with_its_text(text: str, texts: OptionTexts) -> Iterator[tuple[str, int]]:
    """Yield letters, with positions, that end a sentence with their own option's text: "B. tin", "tin (B)"."""
    others = _apart("".join(dict(texts.options)))
    for letter, option in texts.options:
        apart = re.search(rf"(?<![A-Za-z])\(?{letter}[.):]", text)
        if apart and not others.search(text[: apart.start()]):  # "Both (A) and (B). Shorter days."
            key, mark = squeeze(option), letter.casefold()
            behind = squeeze(text[: apart.end()]).endswith(key + mark)
            if len(key) > 1 and (behind or squeeze(text).endswith(mark + key)):
                yield letter, apart.start()


@cache
def _apart(letters: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9'’])([{letters}])(?=[)\].:,]|\s*$|\s+(?:and|or)\b|[\u3001-\uffff])")
