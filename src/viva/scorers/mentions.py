"""Which capitals in a reply stand for an option, and which are words: the article "A", "vitamin C", "B-tree", "T(A)".

A letter is a mention when nothing that is not part of a statement touches it: an unknown word before ("class A",
"process B") or after ("A stack", "C语言", "B树"), an operator, a digit, an index. Precision first: what looks like a
name is not read.
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

from viva.scorers.lexicon import Lexicon, Token

_STICKS_AFTER = frozenset("+#'@\\^%°[{(_&")
_STICKS_BEFORE = frozenset("+#@\\^%°_&")
_NAMELIKE = frozenset("w#lo")
_BEFORE_LOWER = frozenset("NO=:~V&/FbcX+-pnr")
_NUMERAL = re.compile(r"\b(?:II|III|IV)\b")
_AFTER_LOWER = frozenset(".,:n&/-rF?)")


class Marked(Struct, frozen=True):
    """A reply's tokens with the letters sorted out, and the string of their kinds.

    `L` a letter, `P` a letter in brackets or with one after it ("(B)", "B)"), `M` several letters in one ("AC"), `l` a
    letter that is a name or a variable.
    """

    text: str
    tokens: list[Token]
    kinds: str

    def letters(self, index: int) -> str:
        """Return the option letters that a token of kind L, P or M names."""
        return self.said(index, index + 1).upper()

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return where tokens are in the text."""
        return self.tokens[start].start, self.tokens[end - 1].end

    def said(self, start: int, end: int) -> str:
        """Return the text of tokens."""
        return self.text[slice(*self.span(start, end))] if start < end else ""


@lru_cache(maxsize=16)
def lexicon(letters: str) -> Lexicon:
    """Return the lexicon for choices among `letters`."""
    return Lexicon("choice", {char: "L" for letter in letters for char in (letter.upper(), letter.lower())})


@lru_cache(maxsize=16)
def _several(letters: str) -> re.Pattern[str]:
    """ "AC", "ABD"."""
    return re.compile(rf"[{letters}]{{2}}")


def mark(text: str, letters: str) -> Marked:
    """Lex a folded text and decide for every single letter whether it names an option."""
    tokens = lexicon(letters).lex(text)
    raw = [token.kind for token in tokens]
    for index in _letters_in(raw):
        if text[tokens[index].start].islower():
            raw[index] = _lower_case(text, tokens, index)
    if _several(letters).search(text):
        for index, token in enumerate(tokens):
            if token.kind == "w" and 2 <= token.end - token.start <= len(letters):
                word = text[token.start : token.end]
                if set(word) <= set(letters) and list(word) == sorted(set(word)):
                    raw[index] = "M"
    kinds = raw.copy()
    for index in _letters_in(raw):
        kinds[index] = _Mention(text, tokens, raw, index).kind()
    return Marked(text, tokens, "".join(kinds))


def _letters_in(kinds: list[str]) -> list[int]:
    return [match.start() for match in re.finditer("L", "".join(kinds))]


def _lower_case(text: str, tokens: list[Token], index: int) -> str:
    """A lower-case letter counts only after a cue or at a line's beginning, with a clear end: not as an article."""
    token = tokens[index]
    after = text[token.end : token.end + 1]
    before = tokens[index - 1].kind if index else "n"
    if before == "d" and index > 1 and tokens[index - 2].kind in "=V":  # "c'est la c"
        before = "="
    named = before in "NO" and index + 1 < len(tokens) and tokens[index + 1].kind in "=!"
    if after == "}" and before != "X":  # a vector of a formula
        return "w"
    ended = named or index + 1 == len(tokens) or tokens[index + 1].kind in _AFTER_LOWER
    if after in {")", "]"} or (ended and before in _BEFORE_LOWER):
        return "L"
    return "f" if text[token.start] == "a" else "w"


def _is_latin(char: str) -> bool:
    """Return an ASCII letter or digit."""
    return char.isascii() and char.isalnum()


class _Mention:
    """One letter among its neighbours."""

    def __init__(self, text: str, tokens: list[Token], raw: list[str], index: int) -> None:
        self.text, self.tokens, self.raw, self.index = text, tokens, raw, index
        token = tokens[index]
        self.start, self.end = token.start, token.end
        self.char = text[token.start].upper()
        self.before = text[token.start - 1] if token.start else "\n"
        self.after = text[token.end : token.end + 1] or "\n"

    def kind(self) -> str:
        """L, P or l; what the neighbours leave of it."""
        bracketed = "call" if self._sticks() else self._bracketed()
        if bracketed == "call":
            return "l"
        previous, following = self._neighbour(-1), self._neighbour(+1)
        named = "O" in {previous, following}  # "option B", "B选项"
        if bracketed == "both" or (bracketed == "after" and previous not in _NAMELIKE):
            return "P"
        if not named and previous in _NAMELIKE | {"L", "M"}:
            return "l"
        touched = not named and following in _NAMELIKE | {"L", "M"}
        article = (
            self.char == "A"
            and re.match(" (?![aeiou])[a-z]", self.text[self.end : self.end + 2])
            and re.match("[f+xF]*[NOw]", "".join(self.raw[self.index + 1 : self.index + 8]))
        )
        other = self.char == "I" and (following in {*"!VhmfbN"} or _NUMERAL.search(self.text))  # a pronoun, a numeral
        if following == "~" or article or other or touched:
            return "l"
        return "L"

    def _sticks(self) -> bool:
        """Return whether it is part of a name or a formula: C++, B-tree, A[i], A*, x_A, 3F, A.1, D.C."""
        text, before, after = self.text, self.before, self.after
        further = text[max(0, self.start - 2)]
        second = text[self.end + 1 : self.end + 3]
        if before == "-" and self._neighbour(-1) in {"N", "O"}:  # Option-B
            return False
        if after == "(" and "\u4e00" <= second[:1] <= "\u9fff":  # 答案为D（太平洋）
            return False
        if after in _STICKS_AFTER or before in _STICKS_BEFORE:
            return not (before == after and before in "'_")
        return (
            _is_latin(before)
            or _is_latin(after)
            or (before == "'" and after != "'" and further.isalnum())
            or (after == "*" and before != "*")
            or (after == "-" and second[:1].isalnum())
            or (before == "-" and further.isalnum())
            or (after == "." and _is_latin(second[:1]) and not (second.isalpha() and len(second) == 2))
            or (before == "." and self.start > 1 and _is_latin(further))
        )

    def _bracketed(self) -> str:
        """ "both" for (B), "after" for B) and (option B), "call" for f(B), "" for none."""
        text = self.text
        if self.before in "([<" and self.after in ")]>":
            caller = text[self.start - 2] if self.start > 1 else " "
            return "call" if _is_latin(caller) else "both"
        if self.after in ")]":
            opening = text.rfind("(", max(0, self.start - 40), self.start)
            if opening < 0 or text.find(")", opening, self.start) >= 0:
                return "after"
            return "both" if self._neighbour(-1) in {"O", "N", "="} else ""
        return ""

    def _neighbour(self, step: int) -> str:
        """Return the kind of the next token on that side when only blanks, quotes or brackets lie between, else ""."""
        at = self.index + step
        if not 0 <= at < len(self.tokens):
            return ""
        token = self.tokens[at]
        between = self.text[self.end : token.start] if step > 0 else self.text[token.end : self.start]
        apart = len(between) > 60 or set(between) & set("([)]" if step > 0 else ")]")
        return "" if apart else self.raw[at]
