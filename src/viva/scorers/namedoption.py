"""The option whose text a short reply works into its sentence: "Mail servers use SMTP to hand messages to one another."

A last resort: the reply names no letter, and of all the options only this one occurs. Texts that are common words or
too short to mean anything by themselves are not looked for; nothing is read from a sentence that denies, doubts, asks
or compares.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from viva.scorers.candidates import Candidate, Strength
from viva.scorers.conclusion import finished, found_in, last_sentence
from viva.scorers.mentions import Marked
from viva.scorers.optiontext import ARTICLE

RULE = "the one option named"
SHORT = 240
"""Characters of a reply that is read as a whole; of a longer one only the last sentence."""
_HAN = re.compile(r"[\u4e00-\u9fff]")
_LETTERS = re.compile(r"[a-zà-ÿ]", re.IGNORECASE)
_UNSURE = re.compile(r"[!hix?bcO]")
_ANAPHORA = re.compile(r"\b(?:of (?:these|those|them|the four|the options)|among (?:these|them))\b|其中")
_JOINED = re.compile(r" ?(?:(?:and|or|und|oder|et|ou)\b|[和或与及、])")
_DRAWN = re.compile(r"F[fd,]{0,3}")


def named_option(marked: Marked, letters: str, options: Sequence[str]) -> Candidate | None:
    """The one option whose text occurs, in a sentence that may answer."""
    text, kinds = marked.text, marked.kinds
    wanted = {letter: _core(option) for letter, option in zip(letters, options, strict=False)}
    if not kinds or not all(wanted.values()):
        return None
    start, end = last_sentence(kinds)
    first = 0
    if len(text) > SHORT or re.search(r"[.?n].", kinds):
        first = marked.tokens[min(start, len(kinds) - 1)].start
        if start >= end or not (_DRAWN.match(kinds, start) or _ANAPHORA.search(text.lower(), first)):
            return None
    if not (finished(text) or _HAN.match(text.rstrip()[-1:])):
        return None
    spans = _occurrences(text, first, wanted)
    if len({letter for letter, _, _ in spans}) != 1:
        return None
    letter, at, stop = spans[-1]
    inside = [index for index, token in enumerate(marked.tokens) if token.start >= first and not _within(token, spans)]
    rest = "".join(kinds[index] for index in inside)
    if (
        _JOINED.match(text, stop)
        or re.search("[LPM]", rest)
        or _UNSURE.search(rest)
        or found_in("comparison", text[first:at] + " " + text[stop:])
    ):
        return None
    return Candidate(letter, Strength.STATED, RULE, 0, (at, stop))


def _core(option: str) -> str:
    """What of an option is looked for, or "" where nothing safe can be."""
    core = ARTICLE.sub("", option.strip()).strip(" .。,;:!?")
    telling = len(_LETTERS.findall(core)) >= 3 or len(_HAN.findall(core)) >= 2
    return core if telling or (_HAN.search(core) and len(core) > 2) or core in {"栈", "堆"} else ""


def _within(token: object, spans: list[tuple[str, int, int]]) -> bool:
    at = getattr(token, "start", 0)
    return any(start <= at < stop for _, start, stop in spans)


def _occurrences(text: str, first: int, wanted: dict[str, str]) -> list[tuple[str, int, int]]:
    """Where the options' texts occur from `first` on, without those that lie within a longer one."""
    found: list[tuple[str, int, int]] = []
    for letter, core in wanted.items():
        pattern = re.escape(core)
        if not _HAN.match(core):
            pattern = r"(?<![a-zA-Zà-ÿ0-9_-])" + pattern
        if not _HAN.match(core[-1]):
            pattern += r"(?![a-zA-Zà-ÿ0-9_-])"
        flags = 0 if core.isupper() and len(core) < 5 else re.IGNORECASE
        found += [(letter, match.start(), match.end()) for match in re.finditer(pattern, text[first:], flags)]
    found = [(letter, start + first, stop + first) for letter, start, stop in found]
    return sorted((one for one in found if not any(_covers(other, one) for other in found)), key=lambda one: one[1])


def _covers(other: tuple[str, int, int], one: tuple[str, int, int]) -> bool:
    return other[1] <= one[1] and one[2] <= other[2] and other[2] - other[1] > one[2] - one[1]
