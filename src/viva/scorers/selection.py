"""The letters in an answer to a multi-select question, and their score.

The answer is usually short (scorers/rationale.py took it out of the reply): letters in any wrapping,
lettered options, or the options' own texts. Prose is read where a slot holds a selection
(`viva.scorers.reading`). Any other content leaves it unread: a selection is never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import ascii_uppercase

import msgspec

from viva.scorers.letters import ChoiceWindow, mark
from viva.scorers.lexicon import BOX, fold
from viva.scorers.optiontext import squeeze, ticked
from viva.scorers.reading import (
    UNPARSED,
    Reading,
    Slot,
    Strength,
    Unsure,
    boxes_in,
    grade_reading,
    marked,
    outcome_of,
    read_visible,
    resolve,
    stated,
)
from viva.types import Question, Response, Score

_LONGEST_LIST = 400
"""Most characters of a list of letters and filler words."""
_DENIALS = re.compile(
    r"\b(?:not|n't|isn't|aren't|except|neither|nor|or|either|incorrect|wrong|false|invalid|rejected|excluded|unless"
    r"|without|but|maybe|perhaps|possibly|no|none)\b",
    re.IGNORECASE,
)
_EVERYTHING = re.compile(
    r"\W*(?:(?:the )?(?:answers?|selection) (?:is|are):? )?(?:the )?(?:all|every one)(?: of)?(?: the| these| them"
    r"| those| two| three| four| five| six)?(?: above)?(?: options| choices| statements| items)?(?: (?:are|is)"
    r" (?:correct|right|true|valid)| hold| apply)?\W*|(?:以上|上述)?(?:选项|说法)?(?:全部?|都)是?(?:正确|对)的?\W*",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_ARTICLE = re.compile(r"(?<![^\W_])A(?= (?!and|are|is|as|plus|only|holds|appl|also)[a-z])")
_SEPARATORS = re.compile(
    r" ?(?:[\n;,]{1,3} ?(?:and |& )?|(?<= )(?:and|&) ) ?"
    r"(?=[\-*_•(\[\"' \t]{0,6}[A-Z] ?[)\].:*_\"']{1,4}(?:\s|$))",
    re.IGNORECASE,
)
_LETTERED = re.compile(r"[\s\-*_•(\[\"']{0,6}([A-Za-z])\s?[)\].:*_\"']{1,4}(\s*)(.*)", re.DOTALL)
_LIST_BEHIND = re.compile(
    r"[\s*]*(?:[-*•]|\d{1,2}[.)]|[(\[*]{0,3}[A-Z][)\].:*])\s*\S(?:[^\n]*\n|[^\n]*[ *]\(?[A-Z][).:][^\n]*\Z)"
)
_REASON = re.compile(r"[.;]\s|\n|,? (?=(?:because|since|as (?:both|all|they|these|it))\b)")
_LETTERS_ALONE = re.compile(r"[ \t*_>(\[]{0,6}[A-Z](?:[A-Z ,;&)(\]\[.]|(?<= )and(?= )){0,60}[*_ ]{0,4}")
_JOINED = re.compile(
    r"(?<=[A-Z)\]])(?: ?(?:和|与|及|以及|跟|と|や) ?| (?-i:und|et|y|e|en|och|и|và|dan) )(?=[(\[]?[A-Z](?![a-z]))"
    r"|\b\d{1,2}[.)] ?(?=\(?[A-Z]\b)|(?<=\b[A-Z]) ?[+ .] ?(?=[A-Z]\b)|\bstatements\b| (?:hold|apply|as well(?! as))\b",
    re.IGNORECASE,
)
"""Words that join letters, in more languages than have word lists, and filler words."""
_ADDED = re.compile(r"\b(?:also|too|as well(?! as\b))\b", re.IGNORECASE)
_TAG = re.compile(r"<[a-z/|_]{1,20}>|\[/?INST\]")
_ALL_EXCEPT = re.compile(
    r"(?:the answer is )?(?:all|everything|every option|each)(?: of them| of the options| options)?"
    r" (?:except for|except|but|other than) ([A-Za-z ,&()]{1,60}?)"
    r"(?: (?:are|is)(?: correct| right| true)?| apply| hold)?[.!]?",
    re.IGNORECASE,
)
_EITHER = re.compile(r"\b(?:or|oder|ou|to)\b|[或还>]|\.\.|…\s*\S|(?<=[A-Z]{2})。[A-Z]", re.IGNORECASE)
_CAPITAL = re.compile(r"\b[A-Z]{1,10}\b")
_SELECTED = re.compile(
    r"(?!.*[LPM][^LPM]*\+[^+]*(?:F|[,.n]f?[LPM]$))(?:[LPMO&,.n=+dfFNVpXo/]|l(?=[f+F]*[NO])|(?<![^n])-|(?<![LP]):)*"
)
_LISTED = re.compile(r"[\n;]+|\",\s*\"|',\s*'|, |,? and ")


def read_selection(reply: str, *, letters: str, options: Sequence[str] = (), ended: bool = True) -> Reading:
    """Return the letters that `reply` names, in the order of the options ("ACD"); unparsed where it says anything else.

    A reply that was cut off (not `ended`) might name one more: only selections in slots are read.
    """
    known = {_pieces(option): letter for letter, option in zip(letters, options, strict=False)}
    if len(known) < len(options):
        known = {}  # two read alike: texts cannot identify options

    def read_part(text: str) -> Reading:
        reading = _of_whole(_flat(text), letters, known) if ended else None
        chosen, rule = reading or _in_prose(text, letters, known, options, ended=ended) or ("", "")
        if not chosen:
            return Reading(UNPARSED)
        return Reading("".join(letter for letter in letters if letter in chosen), (0, len(text)), rule)

    return read_visible(reply, read_part, loops=False)


def _flat(text: str) -> str:
    """Return a text without markup, with single blanks."""
    return re.sub(r"[^\S\n]+", " ", fold(_TAG.sub("", text)).replace(BOX, " ")).strip()


def _of_whole(plain: str, letters: str, known: dict[str, str]) -> tuple[set[str], str] | None:
    """Return the selection of a reply that contains nothing else, except a reason at its end."""
    if listed := _as_list(plain, letters, known):
        return listed
    head, *reason = _REASON.split(plain, maxsplit=1)
    reasoned = reason and not _names(reason[0], letters) and _pieces(reason[0]) not in known
    if reasoned and (letters_read := _bare(head, letters, known)):
        return letters_read, "letters, and a reason"
    return None


def _as_list(text: str, letters: str, known: dict[str, str]) -> tuple[set[str], str] | None:
    """Return the selection of a text that is just a list."""
    for rule, read in (("letters", _bare), ("lettered options", _lettered), ("the options' own texts", _own_texts)):
        if letters_read := read(text, letters, known):
            return letters_read, rule
    return (set(letters), "all of them") if _EVERYTHING.fullmatch(text) else None


def _in_prose(
    text: str, letters: str, known: dict[str, str], options: Sequence[str], *, ended: bool
) -> tuple[set[str], str] | None:
    """Return the selection of a reply in sentences: from a slot, or from judgements of every option."""
    last = text.rstrip().rpartition("\n")[2]
    slots = [*marked(text), *stated(text, letters=True)]
    slots += [Slot(last, (len(text) - len(last), len(text)), Strength.LAST, "letters on the last line")] * ended
    end = len(text.rstrip()) if not ended else len(text) + 1

    def parse(slot: Slot) -> set[str] | None:
        if slot.strength < Strength.MARKED and slot.span[1] >= end:  # "The options are A, C and"
            raise Unsure
        return _of_slot(slot, letters, known)

    if len(boxes_in(text)) == len(letters) and (chosen := ticked(text, letters)):
        return set(chosen), "ticked boxes"
    if decided := resolve(slots, parse):
        return (decided[0], decided[1].rule) if decided[0] else None
    if letters_read := _except(_flat(text), letters):
        return letters_read, "all except some"
    letters_read = _judged(text, letters, options)
    return (letters_read, "every option judged") if letters_read else None


def _of_slot(slot: Slot, letters: str, known: dict[str, str]) -> set[str] | None:
    """Return the selection in a slot that contains nothing else.

    A lone "so C is correct" is no selection: replies go through the options one by one.
    """
    if slot.strength is Strength.LAST:
        before, _, last = _flat(slot.text).rpartition(" are ")
        if _DENIALS.search(before) or not _LETTERS_ALONE.fullmatch(last.strip(" .")):
            return None
        return _bare(last, letters, known)
    named = slot.rule == "named as the answer"
    listed = _LIST_BEHIND.match(slot.rest) is not None
    denied = {letter for letter, good in _verdicts(slot.rest[len(slot.text) :], letters) if not good}
    line = slot.rest.partition("\n")[0] if listed else slot.rest
    ways = [slot.rest, line] * listed
    if not _names(line[len(slot.text) :].strip(" .\n*"), "".join(set(letters) - denied)):
        ways.append(slot.text)
    for written in ways:
        value = _flat(written).strip(" \n:。.").replace("只有", "only ")
        selected = None if _ADDED.search(value) else _as_list(value, letters, known)
        if (
            selected
            and denied.isdisjoint(selected[0])
            and not (named and len(selected[0]) == 1 and not re.search(r"\bonly\b", value))
        ):
            return selected[0]
    if not named:
        raise Unsure
    return None


def _except(text: str, letters: str) -> set[str] | None:
    """Return the letters of "All except B and D are correct"."""
    match = _ALL_EXCEPT.fullmatch(text)
    denied = _bare(match[1], letters, {}) if match else None
    return set(letters) - denied if denied else None


def _verdicts(text: str, letters: str) -> set[tuple[str, bool]]:
    """Return options with whether they are called right: "A and C. B is incorrect because it is FIFO"."""
    judgements = ChoiceWindow(mark(fold(text), letters), letters).judgements()
    return {(letter, judged.good) for judged in judgements for letter in judged.letters}


def _judged(text: str, letters: str, options: Sequence[str]) -> set[str] | None:
    """Return the options called correct, where every option is judged, and none in two ways."""
    verdicts = _verdicts(text, letters)
    chosen, denied = ({letter for letter, good in verdicts if good is side} for side in (True, False))
    return chosen if chosen | denied == {*letters} and chosen.isdisjoint(denied) and chosen else None


def _names(text: str, letters: str) -> bool:
    """Return whether a text names an option by its letter; the article "A" is none."""
    return any(word in letters for word in _WORD.findall(_ARTICLE.sub("", text)) if len(word) == 1)


def _bare(text: str, letters: str, known: dict[str, str]) -> set[str] | None:
    """Return letters, each once, of a text without other content: "A and C", "[A, C]", "ACD", "Options (b) and (d)"."""
    if len(text) > _LONGEST_LIST or _EITHER.search(text) or (text.isalnum() and _pieces(text) in known and text[1:]):
        return None
    shouted = text if _CAPITAL.search(text) else text.upper()
    marked = mark(fold(_JOINED.sub(", ", shouted)), letters)
    named = [letter for index, kind in enumerate(marked.kinds) if kind in "LPM" for letter in marked.letters(index)]
    words = "M" in marked.kinds and shouted != text
    if not _SELECTED.fullmatch(marked.kinds) or words or len(named) > len(set(named)):
        return None
    return set(named) or None


def _lettered(text: str, letters: str, known: dict[str, str]) -> set[str] | None:
    """Return the letters of a list of "A. text" whose texts are the options', or deny nothing and name no others."""
    letters_given: set[str] = set()
    for part in filter(str.strip, _SEPARATORS.split(text.strip(" \t[]{}"))):
        match = _LETTERED.fullmatch(part)
        if match is None or match[1].upper() not in letters:
            return None
        letter, value = match[1].upper(), match[3]
        means = known.get(_pieces(value), "")
        denied = len(value) > _LONGEST_LIST or _DENIALS.search(value) or _names(value, letters.replace(letter, ""))
        if means != letter and (means or (value and not match[2]) or denied):
            return None
        letters_given.add(letter)
    return letters_given


def _own_texts(text: str, letters: str, known: dict[str, str]) -> set[str] | None:
    """Return the letters of a list of options' texts, one a line or separated by commas, which they may contain."""
    own = "|".join(map(re.escape, sorted(known, key=len, reverse=True)))
    pieces = _pieces(text)
    named = re.findall(rf"(?:{own})(?=\0|$)", pieces) if own else []
    return {known[each] for each in named} if named and "\0".join(named) == pieces else None


def _pieces(text: str) -> str:
    """Return the parts of a list, squeezed and joined by NUL."""
    return "\0".join(filter(None, map(squeeze, _LISTED.split(text.strip(" []{}")))))


def grade_choices(question: Question, gold: str, response: Response) -> Score:
    """Score the letters that a reply selects by `grade_selection`."""
    letters = ascii_uppercase[: len(question.options)]
    reading = read_selection(response.text, letters=letters, options=question.options, ended=response.ended)
    score = grade_reading(reading, gold, response)
    if not reading.committed:
        return score
    value = grade_selection(reading.read, gold)
    return msgspec.structs.replace(score, value=value, outcome=outcome_of(value))


def grade_selection(chosen: str, gold: str) -> float:
    """Return 1 for exactly the gold letters, 0.5 for some of them and no other, else 0 (CLR-Bench, multi-select)."""
    if set(chosen) == set(gold):
        return 1.0
    return 0.5 if chosen and set(chosen) < set(gold) else 0.0
