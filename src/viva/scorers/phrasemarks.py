"""Quotes, emphasis and other dressing of a phrase in a reply: where it stands, and what is left without it."""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

_SHORT = 400
"""Characters up to which a cleaned text is kept: one reading asks for the same phrase again and again."""
LONGEST = 600
"""Characters that a quoted phrase may have."""


class Quoted(Struct, frozen=True):
    """A quoted or emphasised phrase: `start` to `end` with its marks, `left` to `right` without."""

    start: int
    end: int
    left: int
    right: int
    quotes: bool
    """Quotation marks rather than bold, italics or backticks."""


_INSIDE = rf"{{1,{LONGEST}}}"
_QUOTES = re.compile(
    rf"“[^“”\n]{_INSIDE}”|„[^„“”\n]{_INSIDE}[“”]|«[^«»\n]{_INSIDE}»|‹[^‹›\n]{_INSIDE}›|「[^「」\n]{_INSIDE}」|『[^『』\n]{_INSIDE}』"
    rf"|\\?\"(?=[^\s\"])[^\"\n]{_INSIDE}\"|”[^“”\n]{_INSIDE}”|``[^`'\n]{_INSIDE}''"
    rf"|(?<![\w'’])[‘‚](?=[^\s])[^‘“”\"\n]{_INSIDE}?[’‘](?!\w)|(?<![\w'])'(?=[^\s'])[^“”\"\n]{_INSIDE}?(?<=\S)'(?!\w)"
    rf"|\*\*\*?(?=[^\s*])[^*\"“”«»‘\n]{_INSIDE}\*\*\*?|(?<![\w_])__?(?=[^\s_])[^_\"“”\n]{_INSIDE}__?(?![\w_])"
    rf"|(?<![\w*])\*(?=[^\s*])[^*\"“”«»‘\n]{_INSIDE}(?<=\S)\*(?![\w*])|`[^`\"“”\n]{_INSIDE}`"
    rf"|<(b|i|em|strong|u|mark|q|code)>[^<>\"“”\n]{_INSIDE}</\1>",
    re.IGNORECASE,
)
_OPENING = re.compile(r"\\\"|<\w+>|\*{1,3}|_{1,2}|``|['‘‚\"“”„«‹「『`]")
_CLOSING = re.compile(r"(?:\\\"|</\w+>|\*{1,3}|_{1,2}|''|['’‘\"“”»›」』`])$")

_INVISIBLE = re.compile(r"[\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff\x00-\x08\x0e-\x1f\x7f]")
_ENTITIES = {"&quot;": '"', "&amp;": "&", "&apos;": "'", "&#39;": "'", "&lt;": "<", "&gt;": ">", "&nbsp;": " "}
_ENTITY = re.compile("|".join(map(re.escape, _ENTITIES)))
_MARKUP = re.compile(
    r"\*{2,}|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)|`+|(?<!\w)\*(?=\w)|(?<=[\w.,'\"])\*(?!\w)"
    r"|\\(?:text|textbf|textit|emph|mathrm|boxed)\{|</?(?:b|i|em|strong|u|mark|q|code|span|p|br|answer)\s{0,2}/?>",
    re.IGNORECASE,
)
_ESCAPED = re.compile(r"\\([$%&#_*\"'{}\[\]()])")
_EDGE = ' \t\r\n\x0b\x0c"“”„«»‹›「」『』'
_STOP = re.compile(r"(?<![.,;:!?])[.,;:!?。，]$")
"""A stop of the reply's; where two stand together one is the phrase's own ("near Rockford, Ill.,")."""
_OTHER = re.compile(r"[^\w$%]+|_+")
_SIMPLE = re.compile(r"[A-Za-z0-9]+(?:[ .,:;'\"“”!?%/-]{1,4}[A-Za-z0-9]+)*[ .,:;'\"“”!?%]{0,4}")
"""Texts in which there is nothing to take away but at their end."""
_TYPOGRAPHY = str.maketrans({"\u00a0": " ", "\u2009": " ", "\u202f": " ", "`": "'", "´": "'", "″": '"'})


def quoted(text: str) -> list[Quoted]:
    """The quoted and emphasised phrases, outermost and leftmost first; they do not overlap."""
    found: list[Quoted] = []
    for match in _QUOTES.finditer(text):
        opening, closing = _OPENING.match(text, match.start()), _CLOSING.search(match.group())
        if opening is None or closing is None:
            continue
        left, right = opening.end(), match.start() + closing.start()
        if right > left and any(char.isalnum() or char in "$%" for char in text[left:right]):
            found.append(Quoted(match.start(), match.end(), left, right, opening.group()[0] not in "*_`<"))
    return found


def clean(text: str) -> str:
    """A phrase without its dressing: markup, quotes and stops around it, typography that treebanks do not have.

    Words are never touched, an article or auxiliary neither: they are part of the answer.
    """
    return _remembered(text) if len(text) <= _SHORT else _cleaned(text)


def _cleaned(text: str) -> str:
    if _SIMPLE.fullmatch(text):
        return _without_edges(" ".join(text.split()))
    text = _ENTITY.sub(lambda match: _ENTITIES[match.group()], _INVISIBLE.sub("", text))
    text = _ESCAPED.sub(r"\1", _MARKUP.sub("", text)).translate(_TYPOGRAPHY)
    text = re.sub(r"\s*(?:[—―]|(?<=\s)–(?=\s))\s*", " -- ", text).replace("…", "...").replace("–", "-")
    text = re.sub("[’‘‛ʼ](?=\\w)|(?<=\\w)[’‛ʼ]", "'", text)
    return _without_edges(" ".join(text.split()))


_remembered = lru_cache(maxsize=16_384)(_cleaned)


def _without_edges(text: str) -> str:
    before = None
    while text != before:
        before = text
        text = text.strip(_EDGE)
        text = text.removeprefix("''")
        if text[:1] in {"'", "‘", "‚"} and not re.match(
            r"'(?:\d\ds|s|re|ve|ll|d|m|t|n|em|tis|twas)\b", text, re.IGNORECASE
        ):
            text = text[1:].rstrip("'’")
        text = text[:-1] if text.endswith("..") and not text.endswith("...") else _STOP.sub("", text)
        for opening, closing in ("()", "[]", "{}"):
            if text.startswith(opening) and text.endswith(closing) and opening not in text[1:]:
                text = text[1:-1]
            elif text.endswith(closing) and opening not in text:
                text = text[:-1]
    return text


@lru_cache(maxsize=256)
def _own_quotes(sentence: str) -> re.Pattern[str] | None:
    """The double quotes of a sentence, told by the two words behind an opening and before a closing one."""
    found = []
    for match in re.finditer(r"[\"“”]|``|''", sentence):
        after = re.match(r"\s?(\w+)(?:\W{1,3}(\w+))?", sentence[match.end() : match.end() + 60])
        before = re.search(r"(\w+)\W{1,3}(\w+)([.,]?)$", sentence[max(0, match.start() - 60) : match.start()])
        if before:
            found.append(rf"(?<=\b{re.escape(before[1] + ' ' + before[2] + before[3])})\"")
        elif after:
            found.append(r"\"(?=" + r"\W{1,3}".join(map(re.escape, filter(None, after.groups()))) + r"\b)")
    return re.compile("|".join(found), re.IGNORECASE) if found else None


def without_own_quotes(text: str, sentence: str) -> str:
    """A reply with blanks for the straight quotes that it only repeats from the sentence; the same length."""
    own = _own_quotes(sentence) if '"' in text else None
    return own.sub(lambda match: " " * len(match.group()), text) if own else text


def squeeze(text: str) -> str:
    """Letters, digits, $ and % only, in lower case: two spellings of one phrase are the same."""
    return _squeezed(text) if len(text) <= _SHORT else _OTHER.sub("", text.casefold())


_squeezed = lru_cache(maxsize=16_384)(lambda text: _OTHER.sub("", text.casefold()))


class Passage:
    """A text to find phrases in, whatever their quotes, blanks and case."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.squeezed = squeeze(text)
        self._edges = {0, len(self.squeezed)}
        at = 0
        for word in re.findall(r"\w+|[$%]", text.casefold()):
            self._edges.add(at)
            at += len(word) - word.count("_")
            self._edges.add(at)

    def holds(self, phrase: str) -> bool:
        """Whether the phrase is in it, whole words only; brackets are the reply's unless the passage has some."""
        if "(" in phrase and "(" not in self.text:
            return False
        wanted = squeeze(phrase)
        at = self.squeezed.find(wanted) if wanted else -1
        while at >= 0:
            if at in self._edges and at + len(wanted) in self._edges:
                return True
            at = self.squeezed.find(wanted, at + 1)
        return False

    def is_whole(self, phrase: str) -> bool:
        """Whether the phrase is all of it."""
        return bool(self.squeezed) and squeeze(phrase) == self.squeezed


@lru_cache(maxsize=256)
def passage(text: str) -> Passage:
    """The passage of a sentence, which several questions ask about."""
    return Passage(text)
