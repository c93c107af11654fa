"""The option that a reply singles out ("Only C mentions the page table."), where nothing in it states the answer.

The weakest evidence there is, so it has to be alone: one option singled out, no other named behind it in the sentence,
nothing doubted or denied in front of it.
"""

from __future__ import annotations

import re
from functools import cache

from viva.scorers.candidates import Candidate, Strength
from viva.scorers.lexicon import phrases, unaccented
from viva.scorers.mentions import Marked

_BEFORE = re.compile(r"(?:^|[.n,?:&cFr])[^.n,h!?i:LPMl]{0,8}$")
_AFTER = re.compile(r"[^.n?LPMlx!]{1,40}?(?:[.n,r]|$)")
_TOUCHING = re.compile(r"[\s)\]\"']|[^\x00-\u024f]")
_THINGS = re.compile(r"(?:er|or|ee|on|am|ode|ore|um|ile|ing|ock|ell|ble|oint|tream|ass|ack|mp)s$")
"""Endings of what is no verb: "only C programmers", "only B trees"."""
_MORE = 12


@cache
def _only() -> frozenset[str]:
    return frozenset(phrases("only"))


def singled_out(marked: Marked, letters: str) -> Candidate | None:
    """The one option that the reply singles out, if there is one."""
    found: Candidate | None = None
    kinds, text = marked.kinds, marked.text
    seen = 0
    for index in range(len(kinds) - 1, 0, -1):
        token = marked.tokens[index]
        if kinds[index] not in "LPl" or token.end - token.start > 1 or text[token.start] not in letters:
            continue
        seen += 1
        if seen > _MORE:
            break
        start = _cue(marked, index)
        if start is None or not _AFTER.match(kinds, index + 1) or not _verb_follows(marked, index):
            continue
        if not _BEFORE.search(kinds, max(0, start - 12), start):
            continue
        letter = text[token.start]
        if found and found.letter != letter:
            return None
        found = found or Candidate(
            letter, Strength.STATED, "the option singled out", index, (marked.tokens[start].start, token.end)
        )
    return found


def _cue(marked: Marked, index: int) -> int | None:
    """Where the word stands that singles out the letter at `index`."""
    for at in range(index - 1, max(-1, index - 4), -1):
        token = marked.tokens[at]
        if unaccented(marked.text[token.start : token.end].lower()) in _only():
            return at
        if marked.kinds[at] not in "dO":
            break
    return None


def _verb_follows(marked: Marked, index: int) -> bool:
    """Whether what touches the letter may be a predicate: not "only C compilers", not "nur C-Code"."""
    token = marked.tokens[index]
    text = marked.text
    if not _TOUCHING.match(text, token.end) or not re.match(r"[\s(\[\"'选项项]|[^\x00-\u024f]", text[token.start - 1]):
        return False
    if index + 1 == len(marked.tokens):
        return True
    following = marked.tokens[index + 1]
    word = text[following.start : following.end]
    return not (word[:1].isupper() or _THINGS.search(word)) and not re.match(r"语言|树|点|类|盘", text[token.end :][:2])
