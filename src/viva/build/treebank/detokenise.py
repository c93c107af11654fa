"""From treebank tokens to a sentence, and from a run of leaves to the text of a phrase.

Two ways: as published (`did n't`, `$ 5 million`, `3 %`, `7\\/8` stay as the treebank has them), and natural, which is
the default: what a reader would have seen in the newspaper, as far as the tokens tell. A phrase's text is a slice of
its sentence, so it costs nothing and always occurs there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

BRACKETS = {
    "-LRB-": "(", "-RRB-": ")", "-LCB-": "{", "-RCB-": "}", "-LSB-": "[", "-RSB-": "]",
    "-lrb-": "(", "-rrb-": ")", "-lcb-": "{", "-rcb-": "}", "-lsb-": "[", "-rsb-": "]",
}  # fmt: skip
_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")
_STOPS = frozenset((",", ".", "?", "!", ":", ";"))
EMPTY = "-NONE-"
_CURRENCY = re.compile(r"(?:[A-Z]{1,3})?[$£€¥]|#")
_ESCAPES = (("\\/", "/"), ("\\*", "*"))

Token = tuple[str, bool, bool]
"""A visible form; whether it is glued to what stands before it, and to what comes after it."""


_QUOTES: dict[str, Token] = {"``": ('"', False, True), "''": ('"', True, False)}


def _published(word: str) -> Token:
    word = BRACKETS.get(word, word)
    if word in _QUOTES:
        return _QUOTES[word]
    if word == "`":
        return "''", True, True  # observed: ten sentences of the sample read like this
    # By its first character: the authors take the space away from the finished string, so "..." is glued as well.
    return word, word[0] in _STOPS or word[0] in _CLOSING or word[0] == "'", word in _OPENING


def _natural(word: str, tag: str) -> Token:
    word = BRACKETS.get(word, word)
    if word in _QUOTES:
        return _QUOTES[word]
    if word == "`":
        return "'", False, True
    if word == "#":
        return "£", False, True  # the treebank's sign for the pound
    for escape, plain in _ESCAPES:
        word = word.replace(escape, plain)
    glued = (
        word in _STOPS
        or word in _CLOSING
        or word == "%"
        or word.lower() == "n't"
        # 's, 're, a closing quote; but '30s and 'em are words of their own
        or (word.startswith("'") and (tag in ("POS", "''") or tag.startswith(("VB", "MD"))))
    )
    return word, glued, word in _OPENING or (tag in ("$", "#") and bool(_CURRENCY.fullmatch(word)))


class Layout:
    """A sentence laid out: for every leaf where its text begins and ends."""

    __slots__ = ("_ends", "_starts", "_tokens", "text")

    def __init__(self, tokens: Sequence[Token | None]) -> None:
        parts: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        at = 0
        held = True  # nothing stands before the first word
        for token in tokens:
            if token is None:
                starts.append(-1)
                ends.append(at)
                continue
            form, left, right = token
            if not (held or left):
                parts.append(" ")
                at += 1
            starts.append(at)
            at += len(form)
            ends.append(at)
            parts.append(form)
            held = right
        self.text = "".join(parts)
        self._tokens = tokens
        self._ends = ends
        following = len(self.text)
        for index in range(len(starts) - 1, -1, -1):
            if starts[index] < 0:
                starts[index] = following
            else:
                following = starts[index]
        self._starts = starts

    def cut(self, start: int, end: int) -> str:
        """Return the text of the leaves from `start` up to `end`; empty where none of them is visible."""
        return self.text[self._starts[start] : self._ends[end - 1]] if start < end else ""

    def join(self, leaves: Iterable[int]) -> str:
        """Return the text of leaves that need not stand together, spaced by the same rules."""
        text = ""
        held = True
        for index in leaves:
            token = self._tokens[index]
            if token is not None:
                form, left, right = token
                text += form if held or left else " " + form
                held = right
        return text


def lay_out(words: Sequence[str], tags: Sequence[str], published: bool) -> Layout:
    """Lay a sentence out; empty elements take no room."""
    if published:
        return Layout([None if tag == EMPTY else _published(word) for word, tag in zip(words, tags, strict=True)])
    tokens: list[Token | None] = []
    before = ""
    for word, tag in zip(words, tags, strict=True):
        if tag == EMPTY:
            tokens.append(None)
            continue
        if word == "." and before.endswith("."):
            tokens.append(None)  # "the U.S." ends its sentence with one full stop
            continue
        token = _natural(word, tag)
        if word == "not" and before in ("can", "Can"):
            token = ("not", True, False)
        tokens.append(token)
        before = token[0]
    return Layout(tokens)
