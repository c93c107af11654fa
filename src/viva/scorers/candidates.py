"""Where a reply commits to a letter: every statement of the answer, with its strength.

The rules are in `rules.toml`; the kinds that they are written in are in `roles.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum

from msgspec import Struct

from viva.scorers.mentions import Marked
from viva.shipped import shipped_table

CONDITIONAL = "statement under a condition"


class Firmness(IntEnum):
    """How plainly a candidate states the answer; `resolve` says how they compete."""

    NODDED = 0
    """Yes or no before reasons; "it is true that …"."""
    SAID = 1
    """ "This is true": of the statement, or of something in the reasoning."""
    ODD_ONE = 2
    """ "错误的是C", "C is the false one": the answer where the question asks for it, a judgement elsewhere."""
    STATED = 3
    CORRECTED = 4
    FINAL = 5


class Candidate(Struct, frozen=True):
    """A commitment: `letter` is "" where several letters are named at once. `at` is a token index."""

    letter: str
    strength: Firmness
    rule: str
    at: int
    span: tuple[int, int]


class Judgement(Struct, frozen=True):
    """ "B is correct", "A: wrong": what the reply says of one option."""

    letters: str
    good: bool
    at: int
    span: tuple[int, int]


class Group(Struct, frozen=True):
    """Letters named together: tokens `start` to `end` (exclusive); mostly a single one."""

    letters: str
    start: int
    end: int
    listing: bool
    """All the letters there are: the options as such, not an answer."""
    left: int
    right: int
    """Where they begin and end in the text."""


_JOINED = re.compile(
    r"[LPM]O?(?:(?:[&/]|,[&/]|-(?=[LPM]O?(?:[.n?)]|$))|,(?=[fdhO]{0,2}[LPM]O?(?:[,&/.n?pV]|$)))[fdhOX]{0,2}[LPM]O?(?!=)|(?<=P)P)*"
)
_RULES = {
    side: [(name, Firmness[strength], re.compile(before), re.compile(after)) for name, strength, before, after in rules]
    for side, rules in shipped_table(__file__, "rules.toml", dict[str, list[list[str]]]).items()
}
_ODD_ONE = re.compile(r"O?[fd]?=f?dx(?:[fd]?[ON]|f(?=[.n,]|$))")
_JUDGED = re.compile(r"[Ofd]{0,3}[=:,(\-p]?[fd=pVF,]{0,4}(!{0,2})[fdFp=]{0,3}(!?)([+x])(?![wl#h]|r=)")
_RULED_OUT = re.compile(r"[Ofd]{0,3}[=p]?[fd=]{0,3}!(?:[.n,r]|$)")
"""Followed by a stop: "D is ruled out."; not "D is not …"."""
_JUDGED_BEFORE = re.compile(r"(?:^|[n.])([+x])[:\-]?$")
_ITEM_VERDICT = re.compile(r"(!?)[fd]?([+x])(?=[.n,:r\-]|$)")
_YES = frozenset({"yes", "ja", "oui", "是"})
_NO = frozenset({"no", "nein", "non", "否"})
_ITEM_BEFORE = re.compile(r"[.:,n?\-][fdO=]{0,4}$")
_NEGATED = re.compile(r"![fdVON=+hp]{0,6}$")
_HYPOTHETICAL = re.compile(r"h[^.n,:?FbcLPM]{0,14}$")
_ONE_OF = re.compile(r"[LPM]O?,?[&/][fdO]{0,2}$")
_BRACKETED = re.compile(r" {0,4}\([^()\n]{1,80}\)")
_INSTRUCTION = re.compile(r"i[^.n?F]{0,14}$")
_CONCLUDED = re.compile(r"F[^.nLPM]{0,12}$")
_CONDITION = re.compile(r"(?:^|[.n,])h[^.n]{0,24}$")
_HEADED = re.compile(r"[F+]{0,2}N:")
_TAKEN_BACK = re.compile(r"b[^.nLPM]{0,8}$")
_ASKED = re.compile(r"[^.n?]{0,20}\?")


def groups(marked: Marked, letters: str) -> Iterator[Group]:
    """Yield the letters mentioned, joined ones ("A and C", "A/B") together. Of very many, the first and last ones."""
    found = list(_JOINED.finditer(marked.kinds))
    if len(found) > 400:
        found = found[:100] + found[-300:]
    for match in found:
        named = dict.fromkeys(
            letter
            for index in range(match.start(), match.end())
            if marked.kinds[index] in "LPM"
            for letter in marked.letters(index)
        )
        listing = len(named) == len(letters) > 2
        yield Group("".join(named), *match.span(), listing, *marked.span(*match.span()))


def judge(marked: Marked, group: Group) -> Judgement | None:
    """Return what the reply says of this option (or of these), if anything."""
    kinds = marked.kinds
    match = _JUDGED.match(kinds, group.end) or _JUDGED.match(kinds, _past_brackets(marked, group))
    if match:
        good = (match[3] == "+") == ((len(match[1]) + len(match[2])) % 2 == 0)
        stop = match.end()
        if "," in match.group() and kinds[stop : stop + 1] in {"L", "P", "M", "O"}:
            return None
    elif (out := _RULED_OUT.match(kinds, group.end)) and marked.text[marked.tokens[out.end() - 1].start] != "?":
        good, stop = False, out.end()
    elif before := _JUDGED_BEFORE.search(kinds, max(0, group.start - 4), group.start):
        good, stop = before[1] == "+", group.end
    else:
        return None
    left = kinds[max(0, group.start - 16) : group.start]
    if _HYPOTHETICAL.search(left) or _ASKED.match(kinds, stop) or left.endswith("!"):
        return None
    return Judgement(group.letters, good, group.start, marked.span(group.start, stop))


def _past_brackets(marked: Marked, group: Group) -> int:
    """Return the token behind the option's text in brackets: "A (stack) is wrong"."""
    match = _BRACKETED.match(marked.text, group.right)
    at = group.end
    while match and at < len(marked.tokens) and marked.tokens[at].start < match.end():
        at += 1
    return at


def judge_item(marked: Marked, group: Group, end: int) -> Judgement | None:
    """Return the verdict within the item that an option letter opens at a line's beginning ("A. Stack: incorrect, for
    …").
    """
    cell = group.end + 1
    if marked.kinds[group.end : cell] in {"-", ":"} and marked.kinds[cell + 1 : cell + 2] in {"", "-", "n", ".", ","}:
        word = marked.said(cell, min(cell + 1, len(marked.kinds))).lower()
        if word in _YES or word in _NO:  # | A | No | … |, "A: no"
            return Judgement(group.letters, word in _YES, group.start, marked.span(group.start, cell + 1))
    for match in _ITEM_VERDICT.finditer(marked.kinds, group.end, min(end, group.end + 60)):
        before = max(group.end, match.start() - 5)
        opening = marked.text[marked.tokens[match.start()].start - 1]
        if opening in {"(", "["} or _ITEM_BEFORE.search(marked.kinds, before, match.start()):
            good = (match[2] == "+") == (not match[1])
            return Judgement(group.letters, good, group.start, marked.span(group.start, match.end()))
    return None


def candidate(marked: Marked, group: Group, side: str = "before") -> Candidate | None:
    """Return the commitment that this mention is part of, if it is one."""
    kinds = marked.kinds
    left = kinds[max(0, group.start - 24) : group.start]
    if group.listing or _NEGATED.search(left) or _INSTRUCTION.search(left) or _ASKED.match(kinds, group.end):
        return None
    judged = judge(marked, group)
    if kinds.startswith("h", group.end) or (judged and not judged.good and not _ODD_ONE.match(kinds, group.end)):
        return None
    found = _by_left(kinds, group, left, side) or (None if _ONE_OF.search(left) else _by_right(kinds, group))
    if found is None:
        return None
    rule, strength, start, end = found
    cue_left = left[: max(0, len(left) - (group.start - start))]
    corrects = kinds[start] == "b"  # what was doubted before no longer counts
    if (_HYPOTHETICAL.search(cue_left) and not corrects) or _NEGATED.search(cue_left):
        return None
    inside = kinds[start : group.start]
    headed = _HEADED.match(inside) and (not cue_left or cue_left.endswith("n"))
    concluded = "F" in inside or _CONCLUDED.search(cue_left)
    plain = strength in (Firmness.SAID, Firmness.STATED)
    if strength is Firmness.STATED and _CONDITION.search(cue_left):
        rule = CONDITIONAL
    elif strength is Firmness.ODD_ONE and concluded:
        strength = Firmness.STATED
    elif plain and rule != "conclusion" and (concluded or headed):
        strength = Firmness.FINAL
    elif plain and _TAKEN_BACK.search(cue_left):
        strength, rule = Firmness.CORRECTED, "last correction"
    letter = group.letters if len(group.letters) == 1 else ""
    return Candidate(letter, strength, rule, group.start, marked.span(start, end))


def _by_left(kinds: str, group: Group, left: str, side: str) -> tuple[str, Firmness, int, int] | None:
    for rule, strength, before, after in _RULES[side]:
        if rule.startswith("letter in brackets") and kinds[group.start] != "P":
            continue
        match = before.search(left)
        if match and after.match(kinds, group.end):
            return rule, strength, group.start - len(left) + match.start(), group.end
    return None


def _by_right(kinds: str, group: Group) -> tuple[str, Firmness, int, int] | None:
    for rule, strength, _, after in _RULES["after"]:
        if match := after.match(kinds, group.end):
            return rule, strength, group.start, match.end()
    return None
