"""Which capitals in a reply stand for an option, and which are words: the article "A", "vitamin C", "B-tree", "T(A)".

A letter is a mention when nothing that is not part of a statement touches it: an unknown word before ("class A",
"process B") or after ("A stack", "C语言", "B树"), an operator, a digit, an index. Precision first: what looks like a
name is not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from viva.scorers.lexicon import Lexicon, Token, unaccented
from viva.scorers.optiontext import squeeze
from viva.shipped import shipped_table

_STICKS_AFTER = frozenset("+#'@\\^%°[{(_&")
_STICKS_BEFORE = frozenset("+#@\\^%°_&")
_NAMELIKE = frozenset("w#lo")
_BEFORE_LOWER = frozenset("NO=:~V&/FbcX+-pnr")
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


_ORDINALS = shipped_table(__file__, "ordinals.toml", dict[str, int])
_WORDS = "|".join(sorted((word for word in _ORDINALS if len(word) > 2), key=len, reverse=True)).replace("e", "[eèé]")
_NOUN = re.compile("option|choice|alternative|antwort|r[ée]ponse|proposition|möglichkeit|选项|第")
_BEFORE_NOUN = re.compile(rf"(?<!\w)({_WORDS}) (?:answer )?$")
_AFTER_NOUN = re.compile(r" ?(?:number |no\.? ?|nummer |numero |#)?([1-9]|10)(?![\w%]|[.,]\d)")
_HAN_ORDINAL = re.compile(r"第([一二三四五六七八九十]|[1-9](?!\d))(?:个(?=$|[.,;:\s])|(?=个?选?项|个?答案))")
_ECHO = re.compile(r"\([A-J](?:(?:, ?(?:or |and )?|/| or | and |、)[A-J]){2,9}\)(?=\s{0,2}:)")
"""The format repeated: "Answer (A, B, C or D): B"."""


def with_letters(text: str, letters: str, options: Sequence[str]) -> str:
    """Return a folded text with a letter in place of every ordinal that names an option, of the same length.

    "the second option", "第二个选项", "option 2".
    """
    if "):" in text or ") :" in text:
        text = _ECHO.sub(lambda match: " " * len(match.group()), text)
    lower = text.lower()
    edits: list[tuple[int, int, str]] = []
    for noun in _NOUN.finditer(lower if len(lower) == len(text) else text):
        if noun.group() == "第":
            found = _HAN_ORDINAL.match(text, noun.start())
        else:
            found = _BEFORE_NOUN.search(lower, max(0, noun.start() - 20), noun.start())
            found = found or _AFTER_NOUN.match(lower, noun.end())
        place = _ORDINALS.get(unaccented(found[1]), len(letters)) if found else len(letters)
        if found and place < len(letters) and not (found[1].isdigit() and found[1] in options):
            start, end = found.span(noun.group() != "第")
            edits.append((start, end, letters[place]))
    for start, end, letter in reversed(edits):
        text = text[:start] + letter.rjust(1 + (text[start] == "第")).ljust(end - start) + text[end:]
    return text


@lru_cache(maxsize=16)
def lexicon(letters: str) -> Lexicon:
    """Return the lexicon for choices among `letters`."""
    return Lexicon("choice", {char: "L" for letter in letters for char in (letter.upper(), letter.lower())})


@lru_cache(maxsize=16)
def _several(letters: str) -> re.Pattern[str]:
    """ "AC", "ABD"."""
    return re.compile(rf"[{letters}]{{2}}")


def mark(text: str, letters: str, language: str, options: Sequence[str]) -> Marked:
    """Lex a folded text and decide for every single letter whether it names an option."""
    text = with_letters(text, letters, options)
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
        kinds[index] = _Mention(text, tokens, raw, index, language).kind(letters, options)
    if "I" in letters:
        _sort_out_numerals(text, tokens, kinds, options)
    return Marked(text, tokens, "".join(kinds))


def _letters_in(kinds: list[str]) -> list[int]:
    return [match.start() for match in re.finditer("L", "".join(kinds))]


_NUMERAL = re.compile(r"(?<![a-zA-Z])(?:I{2,3}|IV|VI{0,3}|IX|i{2,3}|iv|vi{0,3}|ix)(?![a-zA-Z])")
_NUMERAL_NEXT = re.compile(
    r"[)\].\s]{0,3}(?:,|and|or|&|[-–~和与及、])+[\s(,\[]{0,4}(?:and |or )?[(\[]?(?:I{2,3}|IV|VI{0,3})(?![a-zA-Z])"
)
_NUMERAL_LAST = re.compile(r"(?<![a-zA-Z])(?:I{2,3}|IV|VI{0,3})[)\]]?[\s,]{0,3}(?:,|and|or|&|[和与及、])[\s(\[]{0,3}$")


def _sort_out_numerals(text: str, tokens: list[Token], kinds: list[str], options: Sequence[str]) -> None:
    """The numeral I among II and III, and the pronoun, are no option I: "Thus, (i), (ii) and (iii) are true"."""
    places = [index for index, kind in enumerate(kinds) if kind in "LP" and text[tokens[index].start] in "iI"]
    if not places:
        return
    cases = {found[0] for found in _NUMERAL.findall(text) if found not in {"V", "v"}}
    listed = "I" in cases or "V" in cases or _numbered(tuple(options))
    for index in places:
        start, end = tokens[index].start, tokens[index].end
        if text[start] == "i":
            if {"i", "v"} & cases:
                kinds[index] = "l"
            continue
        pronoun = kinds[index] == "L" and "".join(kinds[index + 1 : index + 2]) in {*"!VhmfbwN"}
        joined = _NUMERAL_NEXT.match(text, end) or _NUMERAL_LAST.search(text, max(0, start - 16), start)
        if pronoun or (listed and (kinds[index] == "L" or joined)):
            kinds[index] = "l"


@lru_cache(maxsize=4096)
def _numbered(options: tuple[str, ...]) -> bool:
    return any(_NUMERAL.search(option) for option in options)


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

    def __init__(self, text: str, tokens: list[Token], raw: list[str], index: int, language: str) -> None:
        self.text, self.tokens, self.raw, self.index, self.language = text, tokens, raw, index, language
        token = tokens[index]
        self.start, self.end = token.start, token.end
        self.char = text[token.start].upper()
        self.before = text[token.start - 1] if token.start else "\n"
        self.after = text[token.end : token.end + 1] or "\n"

    def kind(self, letters: str, options: Sequence[str]) -> str:
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
        article = self.char in "AI" and self._is_article()
        touched = not named and following in _NAMELIKE | {"L", "M"} and not self._bold()
        if following == "~" or article or touched:
            return "P" if self._own_text_follows(letters, options) else "l"
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

    def _bold(self) -> bool:
        """**B** Queue: set apart by markup (two blanks or more where it was)."""
        return self.text[self.start - 2 : self.start] == "  " and self.text[self.end : self.end + 2] == "  "

    def _is_article(self) -> bool:
        """English "A" before something that an article can stand before."""
        following = self._neighbour(+1)
        if following not in set("+xNOFfw"):
            return False
        word = self.tokens[self.index + 1]
        if not self.text[word.start].isascii() or (self.language in {"zh", "de"} and following != "w"):
            return False
        if following in "NO":
            return self.text[word.start].lower() not in "aeiou"
        return re.match(r"[f+xF]*[NOw]", "".join(self.raw[self.index + 1 : self.index + 8])) is not None

    def _own_text_follows(self, letters: str, options: Sequence[str]) -> bool:
        """ "B Queue" is a choice where option B reads "Queue"; for "A stack" the case must be the option's own too."""
        place = letters.find(self.char)
        if not 0 <= place < len(options) or self._neighbour(-1) in _NAMELIKE:
            return False
        option = options[place].strip()
        rest = self.text[self.end : self.end + len(option) + 40].lstrip()
        if not option or squeeze(rest[: len(option)]) != squeeze(option):
            return False
        if self.char in "AI" and rest[: len(option)] != option:
            return False
        return re.match(r"\s*(?:$|[.,;:\n])", rest[len(option) :]) is not None
