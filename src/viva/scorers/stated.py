"""The answer that a reply in prose states at its end: "…, so the answer is 9.", "Therefore B and C are correct.".

Only the last cue counts, and only where nothing but the answer (and perhaps a "because") follows it: what a reply says
in its last sentence, or in the lines of a list behind it. A letter or word that is merely mentioned is no answer. The
cues are in `stated.toml`.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Any, Literal, cast

from msgspec import Struct

from viva.shipped import shipped_table

Asked = Literal["selection", "term"]
TAIL = 2_000
"""Characters from the end that are looked at."""
_LONGEST = 400
"""Characters; a longer rest states nothing."""
_MARKUP = r"[\"'“‘’()\[\]*_#> ]{0,8}"
_START = rf"(?:^|[.](?=[\s\"'*)])|[!?;:,–—](?!\d)|。|(?<= )-(?= )|\s(?=(?:so|therefore|thus|hence) )){_MARKUP}(?:- )?"
_BREAK = re.compile(r"[.!?;][\"'”’)*_]{0,3}(?=\s)|[。\n]")
_REASON = re.compile(r",? (?:because|since)\b[^.!?\n]*|,因为[^。\n]*")
_BOXED = re.compile(r"[$\s*]{0,4}\\boxed\s?\{([^\n]{1,400})\}[$\s*.]{0,4}")


class Stated(Struct, frozen=True):
    """What is stated, as it was written."""

    text: str
    whole: bool = True
    """Whether it is one sentence, or the lines right behind the cue."""
    named: bool = False
    """Whether it stands before its cue: "B and C are correct"."""


class _Cues(Struct, frozen=True):
    """Patterns; the group `drawn` is the word that draws the conclusion, if one does."""

    before: re.Pattern[str]
    after: re.Pattern[str]
    tentative: re.Pattern[str]


@cache
def _cues(asked: Asked) -> _Cues:
    content = shipped_table(__file__, "stated.toml", dict[str, Any])

    def either(entries: object) -> str:
        return "|".join(cast("list[str]", entries))

    links = rf"(?:(?:(?P<drawn>{either(content['conclusive'])})|{either(content['link'])})[,:]? ?){{0,3}}"
    lead = rf"{_START}{links}(?:(?:{either(content['aside'])}) )?"
    cues = content[asked]
    before = rf"{lead}(?:{either(cues['before'])})(?!(?<=[a-z])[a-z])[ :=]{{0,4}}(?:\*\*(?=\s))?"
    after = (
        rf"{lead}(?P<said>(?:[^.!?;\n。]|[.](?=\w)){{1,120}}?)(?P<cue>{either(cues['after'])})[.!。\"'*_) ]{{0,9}}\Z"
    )
    return _Cues(
        before=re.compile(before, re.IGNORECASE | re.MULTILINE),
        after=re.compile(after, re.IGNORECASE | re.MULTILINE),
        tentative=re.compile(either(content["tentative"]), re.IGNORECASE),
    )


def stated(reply: str, asked: Asked) -> Stated | None:
    """The answer that the end of a reply states, or None."""
    text = unicodedata.normalize("NFKC", reply[-TAIL:]).replace("’", "'")
    text = re.sub(r" ?\n\s*", "\n", re.sub(r"[^\S\n]+", " ", text)).strip()
    if len(reply) > TAIL:
        text = f"…{text}"  # not the beginning of a sentence
    line = text.rpartition("\n")[2]
    if line != text and (boxed := _BOXED.fullmatch(line)):
        return Stated(boxed[1])
    cues = _cues(asked)
    last = max(cues.before.finditer(text), key=re.Match[str].start, default=None)
    named = _named(text, cues)
    if last is None or (named is not None and _BREAK.search(text, last.end())):
        return named
    said = _REASON.sub("", text[last.end() :].strip())
    if not said or len(said) > _LONGEST or not (last["drawn"] or _firm(text, last, cues)):
        return None
    listed = text.startswith("\n", last.end())
    return Stated(said, whole=listed or _BREAK.search(said.rstrip(" .。!*_\"')")) is None)


def _named(text: str, cues: _Cues) -> Stated | None:
    """What the last sentence says of something: "so B and C are correct", "stack is the missing word"."""
    at = max((match.end() for match in _BREAK.finditer(text) if text[match.end() :].strip()), default=0)
    found: re.Match[str] | None = None
    at = max(0, at - 4)
    while match := cues.after.search(text, at):
        at = match.start() + 1
        if match["drawn"] or (found is None and " the " in match["cue"] and _firm(text, match, cues)):
            found = match
    return Stated(found["said"].strip(), named=True) if found else None


def _firm(text: str, cue: re.Match[str], cues: _Cues) -> bool:
    """Whether the sentence in front of a cue denies and supposes nothing."""
    breaks = [match.end() for match in _BREAK.finditer(text) if match.start() <= cue.start()]
    head = text[breaks[-1] if breaks else 0 : cue.start() + 1]
    return cues.tentative.search(head) is None
