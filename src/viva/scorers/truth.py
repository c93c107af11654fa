"""The truth value that a reply commits to.

CS-Bench (arXiv 2406.08587) grades assertions by true or false. A truth value is one of two letters, `T` and `F`: words
for them become letters, turned over where the clause denies them ("I don't think it is true"). What commits to a letter
(`letters.py`, `choice.resolve`) or puts it in a slot (`viva.scorers.reading`) is the same for both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final

from viva.scorers.choice import resolve
from viva.scorers.letters import Candidate, Firmness, Group, Marked, candidate, groups
from viva.scorers.lexicon import Lexicon, Token, fold
from viva.scorers.reading import (
    UNPARSED,
    Reading,
    Slot,
    Strength,
    Unsure,
    finished,
    found_retraction,
    last_sentence,
    marked,
    read_visible,
    stated,
    truth_in,
)
from viva.scorers.reading import resolve as settle

VALUES: Final = {"T": "true", "F": "false"}
_SHORT = 40
_OPENS = "truth value at the beginning"
_LABEL = re.compile(
    r"(?<![\w.])\(?[A-D][).:]{1,2} {0,2}(?=(?:true|false|wahr|falsch|vrai|faux|richtig)\b|正确|错误|对|错)"
    r"|[✓✔✅☑](?=[ *]{1,4}true\b)|[✗✘❌☒✖](?=[ *]{1,4}false\b)"
    r"|(?<=\w) ?\"[^\"\n]{12,300}\"",
    re.IGNORECASE,
)
"""A letter or a tick in front of a truth value ("B. False"); a quoted statement, which is not the reply's own."""
_BEHIND = re.compile(
    r"(?<=[^\W_])[ *]{0,4}(?:[✓✔√✅☑✗✘×❌☒✖]"
    r"|\((?!if |in |only |when |for |under |at |with )[^()\n]{2,60}\))[.。]?\s{0,4}$"
)
"""A tick or an aside at the end: "TRUE (high confidence)"."""
_WORD = re.compile(r"(?:!{1,3}[fSs]?)?[TUYZ]|[!=b](?=$|[.n])|^[!=b](?=,)")
_ALONE = {**dict.fromkeys(("不是", "否", "no", "nein", "non", "nope", "不对", "不"), "F"), "是": "T"}
"""Function words that are answers where they stand alone."""
_DENIED = re.compile(r"!([^.n,:TULYZ]{0,5}[NSsV=hf])?[^.n,:TULYZc]{0,5}$|!$")
_DENIED_AFTER = re.compile(r"[fSsFw]{1,5}!(?=[.n,]|$)")
_PARTIAL_BEFORE = re.compile(r"%[f=!Ss]{0,3}$")
_PARTIAL_AFTER = re.compile(r"[fSs]{0,2}%|,?%[fSsw]")
_THAT = re.compile(r"(?:Ls[fsS]{1,2}S|(?<==)LsS(?=[f#]))[f#=%]{1,3}$")
"""A judgement of a judgement, "it is false that the statement is true"; not "**False** This statement is wrong"."""
_CONDITION = re.compile(r"(?:^|[.n])[cf]{0,2}%[^.nFbc]*,[^.nFbc]*$")
_PAUSE = re.compile(r"$|[.n,r\-]")
_OPEN_LEFT = re.compile(r"n?[f,.\-XYZ]{0,3}")
_OPEN_RIGHT = re.compile(r"$|[.n,r:\-?cFb]|S(?=$|[.n])|!(?=[.nf,])|N(?=$|[.n])")
_LAST_LEFT = re.compile(r"n[f\-]{0,2}$|\?$")
_LAST_RIGHT = re.compile(r"\.?[n.]{0,3}$")
_ENDS_IN = re.compile(
    r"[^LP%h?i!~/]*(?:S[^LP%h?i!~/]{0,14}|F(?:[fs,=r]|w(?=,)){0,8}|(?<![^,])f?s=[fc]{0,2})L(?:$|,?r.*)"
)


@cache
def _lexicon() -> Lexicon:
    return Lexicon("truth", {"T": "Y", "F": "Z", "W": "Y", "V": "Y"})


class Valued(Marked, frozen=True):
    """A reply's tokens in which truth values are letters: `L` where a word says so, `P` yes and no."""

    values: dict[int, str]

    def letters(self, index: int) -> str:
        """Return the letter of the truth value; both letters where it is hedged."""
        return self.values.get(index, "TF")


def mark(text: str) -> Valued:
    """Lex a folded text, turning its truth values into letters."""
    for aside in (_LABEL, _BEHIND):
        text = aside.sub(lambda match: " " * len(match.group()), text)
    lexed = _lexicon().lex(text)
    raw = "".join(token.kind for token in lexed).replace("!,", "b,")
    tokens: list[Token] = []
    kinds = ""
    values: dict[int, str] = {}
    place = 0
    for match in _WORD.finditer(raw):
        start, end = match.span()
        kind = raw[end - 1]
        value = "T" if kind in "TY" else "F"
        if kind not in "TUYZ":
            value = _ALONE.get(text[lexed[end - 1].start : lexed[end - 1].end].lower(), "")
        if not value or (kind in "YZ" and not _PAUSE.match(raw, end)):
            continue
        tokens += lexed[place:start]
        kinds += raw[place:start]
        place = end
        negated = raw.count("!", start, end - (kind not in "TUYZ")) + (_DENIED_AFTER.match(raw, end) is not None)
        near = max(0, len(kinds) - 16)
        if kind in "TU" and (before := _DENIED.search(kinds, near)):
            kinds = kinds[: before.start()] + "=" + kinds[before.start() + 1 :]
            negated += 1
        if kind in "TU" and (outer := _THAT.search(kinds, near)):
            kinds = kinds[: outer.start()] + "=" + kinds[outer.start() + 1 :]
            negated += values.pop(outer.start()) == "F"
        hedged = _PARTIAL_BEFORE.search(kinds[-4:]) or _PARTIAL_AFTER.match(raw, end) or _CONDITION.search(kinds[-200:])
        values[len(kinds)] = "TF" if hedged else value if negated % 2 == 0 else "TF".replace(value, "")
        tokens.append(Token("L", lexed[start].start, lexed[end - 1].end))
        kinds += "L" if kind in "TU" else "P"
    return Valued(text, tokens + lexed[place:], kinds + raw[place:], values)


def read_truth(reply: str, *, ended: bool = True) -> Reading:
    """Read the truth value that the reply commits to, "true" or "false", in any of the languages, or why there is none.

    `ended`: whether the reply ended by itself; one that was cut off gets no rule of last resort.
    """
    return _short(reply, ended) if len(reply) <= _SHORT else _read(reply, ended)


def _read(reply: str, ended: bool) -> Reading:
    return read_visible(reply, lambda text: _read_part(text, ended=ended))


_short = lru_cache(maxsize=4096)(_read)
"""Cached, because short replies recur."""


def _value(slot: Slot) -> str | None:
    shown = mark(fold(slot.text))
    named = set("".join(shown.values.values()))
    if not named:
        return truth_in(slot.text)
    if len(named) > 1 or "h" in shown.kinds:
        raise Unsure
    return named.pop()


def _stated(marked: Valued) -> Iterator[Candidate]:
    """Yield the commitments to a truth value, in order."""
    for group in groups(marked, "TF"):
        if group.end - group.start > 1 and len(group.letters) > 1:
            continue  # "true or false?"
        if candidate_of_group := _alone(marked, group) or candidate(marked, group, "truth"):
            yield candidate_of_group


def _alone(marked: Valued, group: Group) -> Candidate | None:
    """Return the value that opens the reply, or is alone on its last line."""
    kinds = marked.kinds
    if (
        "{" not in marked.text[: group.left]
        and _OPEN_LEFT.fullmatch(kinds, 0, group.start)
        and _OPEN_RIGHT.match(kinds, group.end)
    ):
        nodded = kinds[group.start] == "P" and len(kinds) > group.end + 1
        strength = Firmness.NODDED if nodded else Firmness.STATED
    elif _LAST_LEFT.search(kinds, max(0, group.start - 3), group.start) and _LAST_RIGHT.match(kinds, group.end):
        strength = Firmness.FINAL
    else:
        return None
    return Candidate(group.letters, strength, _OPENS, group.start, (group.left, group.right))


def _closing(marked: Valued) -> Reading:
    """Return the reading of the last sentence, used where nothing claims a value."""
    start, end = last_sentence(marked.kinds)
    clause = max(marked.kinds.rfind(",", start, end), start - 1) + 1
    start = clause if "c" in marked.kinds[clause:end] else start
    place = marked.kinds.find("L", start, end)
    if not finished(marked.text) or not _ENDS_IN.fullmatch(marked.kinds[start:end]) or len(marked.values[place]) > 1:
        return Reading(UNPARSED)
    return Reading(VALUES[marked.values[place]], marked.span(place, place + 1), "closing sentence")


def _of(value: str | None, slot: Slot) -> Reading:
    if value is None:
        return Reading(UNPARSED, None, "true and false")
    return Reading(VALUES[value], slot.span, slot.rule)


def _read_part(text: str, *, ended: bool) -> Reading:
    if decided := settle(marked(text, judgements=True), _value):
        return _of(*decided)
    shown = mark(fold(text))
    kinds = shown.kinds
    candidates = list(_stated(shown))
    candidates = [each for each in candidates if each.strength > Firmness.NODDED] or candidates
    if candidates and candidates[0].rule == _OPENS:
        later = [
            each for each in candidates if each.strength > Firmness.STATED or "b" in kinds[candidates[0].at : each.at]
        ]
        candidates = later or candidates[:1]
    chosen = resolve(candidates, [], kinds)
    if chosen and found_retraction(shown.text, chosen.span[1]):
        chosen = None
    if chosen is None:
        everything = Slot(text, (0, len(text)), Strength.WHOLE, "whole reply")
        slots = [*stated(text, judgements=True), everything]
        if decided := settle(slots, lambda slot: truth_in(slot.text), ended=ended):
            return _of(*decided)
        return _closing(shown) if ended else Reading(UNPARSED)
    if not chosen.letter:
        return Reading(UNPARSED, None, "true and false")
    return Reading(VALUES[chosen.letter], chosen.span, chosen.rule)
