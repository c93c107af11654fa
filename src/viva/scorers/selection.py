"""Which letters an answer to a multi-select question names, and what they earn.

The answer is short by the time it comes here (scorers/rationale.py took it out of the reply): letters in any wrapping,
lettered options, or the options' own texts. Whatever else it says leaves it unread: a selection is never guessed.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Sequence

from viva.scorers.optiontext import squeeze
from viva.scorers.reading import EMPTY, UNPARSED, Reading

LONGEST = 20_000
"""Characters; no selection is longer."""
_FILLERS = frozenset({
    "the", "a", "an", "and", "or", "both", "as", "well", "also", "are", "is", "be", "correct", "right", "true",
    "valid", "answer", "answers", "option", "options", "choice", "choices", "letter", "letters", "statement",
    "statements", "item", "items", "select", "selected", "selection", "final", "my", "following", "ones", "only",
    "plus",
})  # fmt: skip
_DENIALS = re.compile(
    r"\b(?:not|isn't|aren't|except|neither|nor|incorrect|wrong|false|invalid|rejected|excluded|unless|without|but)\b",
    re.IGNORECASE,
)
_EVERYTHING = re.compile(
    r"\W*(?:the )?(?:all|every one)(?: of)?(?: the| these| them)?(?: above| options| choices)?\W*", re.I
)
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_SEPARATORS = re.compile(
    r"\s*(?:[\n;,]+\s*(?:and |& )?|\s(?:and|&)\s)\s*"
    r"(?=[\-*_•(\[\"' \t]{0,6}[A-Z]\s?[)\].:*_\"']{1,4}(?:\s|$))",
    re.IGNORECASE,
)
_LETTERED = re.compile(r"[\s\-*_•(\[\"']{0,6}([A-Z])\s?[)\].:*_\"']{1,4}\s*(.*)", re.DOTALL)
_LISTED = re.compile(r"[\n;]+|\",\s*\"|',\s*'|,\s+")


def read_selection(text: str, *, letters: str, options: Sequence[str] = ()) -> Reading:
    """The letters that `text` names, in the order of the options ("ACD"); unparsed where it says anything else."""
    plain = unicodedata.normalize("NFKC", text).strip()
    if not plain:
        return Reading(EMPTY, rule="nothing there")
    if len(plain) > LONGEST:
        return Reading(UNPARSED, rule="longer than any selection")
    for rule, found in (
        ("letters", _bare(plain, letters)),
        ("lettered options", _lettered(plain, letters, options)),
        ("the options' own texts", _own_texts(plain, letters, options)),
        ("all of them", set(letters) if _EVERYTHING.fullmatch(plain) else None),
    ):
        if found:
            return Reading("".join(letter for letter in letters if letter in found), (0, len(text)), rule)
    return Reading(UNPARSED, rule="names no selection")


def _bare(text: str, letters: str) -> set[str] | None:
    """Nothing but letters and words that say nothing: "A and C", "[A, C]", "ACD", "Options (b) and (d)"."""
    if len(text) > 400 or _DENIALS.search(text):
        return None
    words = _WORD.findall(text)
    found: set[str] = set()
    # "a and c" are letters; in "A and a stack" the small one is an article, and "stack" leaves it unread anyway.
    single = {word.upper() for word in words if len(word) == 1}
    for word in words:
        if len(word) == 1:
            if word.upper() not in letters:
                return None
            found.add(word.upper())
        elif _run(word, letters):
            found.update(word.upper())
        elif word.lower() not in _FILLERS:
            return None
    return found if found or single else None


def _run(word: str, letters: str) -> bool:
    """Letters without anything between them, each once and in order: "ACD", and no word ("BAD", "ace" are none)."""
    if not word.isupper() and not (word.islower() and len(word) == 2 and word not in _FILLERS):
        return False
    places = [letters.find(letter) for letter in word.upper()]
    return min(places) >= 0 and all(before < after for before, after in itertools.pairwise(places))


def _lettered(text: str, letters: str, options: Sequence[str]) -> set[str] | None:
    """A list of "A. text" whose texts are the options', or that denies nothing."""
    found: set[str] = set()
    for part in filter(str.strip, _SEPARATORS.split(text.strip(" \t[]{}"))):
        match = _LETTERED.fullmatch(part)
        if match is None or match[1] not in letters:
            return None
        place = letters.index(match[1])
        own = place < len(options) and _alike(match[2], options[place])
        if not own and (_DENIALS.search(match[2]) or len(match[2]) > 400):
            return None
        found.add(match[1])
    return found or None


def _own_texts(text: str, letters: str, options: Sequence[str]) -> set[str] | None:
    """Nothing but options' texts, one a line or with commas between them."""
    known = {squeeze(option): letter for letter, option in zip(letters, options, strict=False) if squeeze(option)}
    if not known or len(known) < len(options):
        return None
    whole = known.get(squeeze(text))
    if whole:
        return {whole}
    found: set[str] = set()
    for part in filter(str.strip, _LISTED.split(text.strip(" []{}"))):
        letter = known.get(squeeze(part))
        if letter is None:
            return None
        found.add(letter)
    return found or None


def _alike(text: str, option: str) -> bool:
    return bool(squeeze(option)) and squeeze(text) == squeeze(option)


def grade_selection(chosen: str, gold: str) -> float:
    """Exactly the gold letters: 1; some of them and nothing else: 0.5; otherwise 0 (CLR-Bench, multi-select)."""
    if set(chosen) == set(gold):
        return 1.0
    return 0.5 if chosen and set(chosen) < set(gold) else 0.0
