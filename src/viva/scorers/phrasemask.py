"""A reply with its phrases masked, length for length, so that its statements can be read whatever the phrases say.

A quoted or emphasised phrase becomes one Q mark and fill, the phrase that the question shows one S mark and fill: a
pattern then sees `the direct object of S is Q`. The words of the patterns are in `phrase.toml`. Phrases
are also stripped here of quotes, emphasis and other markup.
"""

from __future__ import annotations

import html
import re
from functools import cached_property, lru_cache, partial

from msgspec import Struct

from viva.scorers import lexicon
from viva.scorers.lexicon import keep_short, plain, rewritten

LONGEST = 600
"""Most characters of a quoted phrase."""


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

_EDGE = ' \t\r\n\x0b\x0c"“”„«»‹›「」『』'
_OTHER = re.compile(r"[^\w$%]+|_+")
_SIMPLE = re.compile(r"[A-Za-z0-9]+(?:[ .,:;'\"“”!?%/-]{1,4}[A-Za-z0-9]+)*[ .,:;'\"“”!?%]{0,4}")
"""Texts that need cleaning at their end only."""


def quoted(text: str) -> list[Quoted]:
    """Return the quoted and emphasised phrases, outermost and leftmost first; they do not overlap."""
    phrases: list[Quoted] = []
    for match in _QUOTES.finditer(text):
        opening, closing = _OPENING.match(text, match.start()), _CLOSING.search(match.group())
        if opening is None or closing is None:
            continue
        left, right = opening.end(), match.start() + closing.start()
        if right > left and any(char.isalnum() or char in "$%" for char in text[left:right]):
            phrases.append(Quoted(match.start(), match.end(), left, right, opening.group()[0] not in "*_`<"))
    return phrases


@keep_short(400, 16_384)
def clean(text: str) -> str:
    """Return a phrase without markup, quotes and stops around it, and without typography that treebanks do not have.

    Words stay, articles and auxiliaries included: they are part of the answer.
    """
    if not _SIMPLE.fullmatch(text):
        text = rewritten("phrase", html.unescape(text))
    text = " ".join(text.split())
    while (bare := rewritten("phrase_edges", text.strip(_EDGE))) != text:
        text = bare
    return text


@keep_short(400, 16_384)
def squeeze(text: str) -> str:
    """Return letters, digits, $ and % only, in lower case: equal for two spellings of one phrase."""
    return _OTHER.sub("", text.casefold())


class Passage:
    """A text to find phrases in, whatever their quotes, blanks and case."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.squeezed = squeeze(text)
        self._edges = {0, len(self.squeezed)}
        place = 0
        for word in re.findall(r"\w+|[$%]", text.casefold()):
            self._edges.add(place)
            place += len(word) - word.count("_")
            self._edges.add(place)

    def holds(self, phrase: str) -> bool:
        """Return whether the passage has the phrase as whole words; brackets count only if the passage has some."""
        if "(" in phrase and "(" not in self.text:
            return False
        wanted = squeeze(phrase)
        place = self.squeezed.find(wanted) if wanted else -1
        while place >= 0:
            if place in self._edges and place + len(wanted) in self._edges:
                return True
            place = self.squeezed.find(wanted, place + 1)
        return False

    def is_whole(self, phrase: str) -> bool:
        """Return whether the phrase is the whole passage."""
        return bool(self.squeezed) and squeeze(phrase) == self.squeezed


@lru_cache(maxsize=256)
def passage(text: str) -> Passage:
    """Return the passage of a sentence, which several questions ask about."""
    return Passage(text)


Q, S, FILL = "\x02", "\x04", "\x03"
ABBREVIATION = (
    r"(?<!\b[A-Z]\.)(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bDr\.)(?<!\bSt\.)(?<!\bCo\.)(?<!\bvs\.)(?<!\bNo\.)"
    r"(?<!\bInc\.)(?<!\bCorp\.)(?<!\bLtd\.)(?<!\bSen\.)(?<!\bRep\.)(?<!\bNov\.)(?<!\bOct\.)(?<!\bDec\.)(?<!\bJan\.)"
)
"""Assertion behind a stop: it does not end an abbreviation."""
_SENTENCE = re.compile(
    rf"\n|(?<=[.!?;]){ABBREVIATION}[)*_]{{0,3}}\s+(?=[A-Z*(_{Q}{S}])|(?<=[.!?][\"”*])\s+(?=[A-Z*(])|\s(?=Explanation:)"
)
_NO_ANSWER_BEHIND = re.compile(
    r"(?:sentence|question|asks?|asking|answers|labell?ed|means?|meaning)[\s,:(*]{0,4}$", re.IGNORECASE
)
_NAMED_BEHIND = re.compile(
    r"(?:\b(?:of|for|to|in|that|phrase|verb|predicate|with|modif(?:y|ies)|describes)\s{1,2}(?:the\s)?"
    r"|(?:^|\n)[\W_]{0,4}(?:(?:the|an?)\s)?)$"
)
_GENERIC = frozenset({"phrase", "word", "blank", "constituent", "complete phrase", "correct phrase", "missing phrase"})


class Asked(Struct, frozen=True):
    """Known facts of the question; see `read_phrase`."""

    shown: str = ""
    inverse: bool = False
    roles: tuple[str, ...] = ()
    sentence: Passage | None = None

    def shows(self, text: str) -> bool:
        """Return whether a text is the phrase that the question shows."""
        return bool(self.shown) and squeeze(clean(text)) == squeeze(clean(self.shown))

    @property
    def nouns(self) -> tuple[str, ...]:
        """Names of the phrase asked for, as patterns: "direct object", "object"."""
        if not self.roles:
            return (pattern(r"(?:<role_adjective>\s){0,4}<role>").pattern,)
        words = (role.lower().rpartition(" ") for role in sorted(self.roles, key=len, reverse=True))
        behind = r"s?(?! (?:complement|modifier|phrase)s?\b)"
        return tuple(f"(?<!direct )(?:{before} )?{noun}{behind}" for before, _, noun in words)

    def names(self, key: str) -> bool:
        """Return whether a key of JSON names what is asked for: "direct_object", "phrase"."""
        role = key.lower().replace("_", " ")
        return role in _GENERIC or any(each.lower().endswith(role) for each in self.roles)

    def stands(self, text: str) -> bool:
        """Return whether a text is a literal piece of the sentence in which no phrase is marked."""
        if self.sentence is None or not self.sentence.holds(clean(text)) or re.search(r"→|⇒|[-=]>", text):
            return False
        own = '"' in self.sentence.text
        bold = [text[each.left : each.right] for each in quoted(text)[:40] if not (each.quotes and own)]
        return all(self.shows(each) or squeeze(each) == squeeze(text) for each in bold)


pattern = partial(lexicon.pattern, "phrase.toml")


class Masked:
    """A reply, its phrases, and the text with marks in their places."""

    def __init__(self, text: str, asked: Asked) -> None:
        self.text, self.asked = text, asked
        self.phrases: dict[int, Quoted] = {}
        self.plain = plain(text)
        pieces, place = [], 0
        for phrase in quoted(text):
            own = asked.sentence and text[phrase.start : phrase.end] in asked.sentence.text
            if own or self._no_phrase(phrase):
                continue
            self.phrases[phrase.start] = phrase
            mark = S if asked.shows(text[phrase.left : phrase.right]) else Q
            pieces += [self.plain[place : phrase.start], mark, FILL * (phrase.end - phrase.start - 1)]
            place = phrase.end
        self.masked = re.sub(r"\*\*|__", "  ", "".join([*pieces, self.plain[place:]]))
        self.wholly = _with_shown(self.masked, asked.shown)
        """The text of `masked`, with the shown phrase masked also where it has no quotes."""

    def _no_phrase(self, phrase: Quoted) -> bool:
        """Return whether a quoted or emphasised text is no answer: a label, the whole sentence, a question, a term."""
        inner = self.plain[phrase.left : phrase.right].strip()
        if _NO_ANSWER_BEHIND.search(self.plain, max(0, phrase.start - 40), phrase.start):
            return True
        if phrase.quotes:
            return False
        states = pattern(r"(?:<final> )?,?\s{0,2}(?:<answer>\s{0,2}(?:<LINK>|$)|(?:the )?<ROLE>[^\n]{0,200}?<LINK>)")
        return self.plain.startswith(":", phrase.end) or states.match(inner) is not None

    def inside(self, start: int) -> tuple[int, int]:
        """Return the span of the phrase behind a mark."""
        return self.phrases[start].left, self.phrases[start].right

    @cached_property
    def sentences(self) -> list[tuple[int, int]]:
        """Spans of sentences and lines; a stop within a quoted phrase ends none."""
        breaks = (place for match in _SENTENCE.finditer(self.masked) for place in match.span())
        bounds = [0, *breaks, len(self.masked)]
        return [(start, end) for start, end in zip(bounds[::2], bounds[1::2], strict=True) if end > start]

    def line_end(self, place: int) -> int:
        """Return the end of the line at a position."""
        end = self.masked.find("\n", place)
        return end if end >= 0 else len(self.masked)

    def whole(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the span of the phrase that begins here: a quoted one, or the text up to its explanation."""
        if opening := pattern(r"\s{0,4}<CALLED>(<Q>)").match(self.masked, start, end):
            return None if self.goes_on(opening.end(), end) else self.inside(opening.start(1))
        cut = self._trim(start, end)
        sentence = self.asked.sentence
        adverb = pattern(r"\s{0,4}(?:just|only|merely|simply)\s").match(self.masked, start, cut)
        if adverb and sentence and not sentence.holds(clean(self.text[start:cut])):  # "it is just the board"
            start = adverb.end() if sentence.holds(clean(self.text[adverb.end() : cut])) else start
        return (start, cut) if cut > start else None

    def goes_on(self, place: int, end: int) -> bool:
        """Return whether another phrase is named in the same breath: “the board” or “a director”."""
        more = pattern(r"\s{0,2}(?:,|/|;|,?\s?(?:or|and|and/or)\b)\s{0,2}<CALLED>(<Q>)(?!\x03|\s{0,2}<serves>)")
        return more.match(self.masked, place, end) is not None

    def _trim(self, start: int, end: int) -> int:
        """Return where a phrase without quotes ends: before its explanation.

        If the sentence is known: the end of the longest beginning that it contains and that may end a phrase.
        """
        text, sentence = self.text, self.asked.sentence
        if sentence is not None:
            breaks = pattern(r"(?=[,;:]\s|\s\(|\s[–-]{1,2}\s|[.!?]\s|\s<explains>\b|\"\s|\s?[-=]>|\*\*)")
            ends = {end, *(match.start() for match in breaks.finditer(self.masked, start, min(end, start + 2_000)))}
            for place in sorted(ends, reverse=True):
                if sentence.holds(clean(text[start:place])):
                    return place
        cuts = pattern(rf",?\s{{1,2}}<explains>\b|\s\((?!\d)|\s[–-]\s|[.!?]{ABBREVIATION}\s{{1,4}}(?=[A-Z])|;\s")
        for match in cuts.finditer(self.masked, start, end):
            if clean(text[start : match.start()]):
                return match.start()
        return end if clean(text[start:end]) else start


def _with_shown(masked: str, shown: str) -> str:
    """Mask the shown phrase where it is named without quotes: behind "of" and the like, or at the beginning of a
    line.
    """
    lower, joined = masked.lower(), shown.lower().replace(" n't", "n't")
    if len(lower) != len(masked):
        return masked
    for phrase in {shown.lower().strip(), joined.strip()} - {""}:
        for match in re.finditer(rf"{re.escape(phrase)}(?![^\W_])", lower):
            place = match.start()
            if _NAMED_BEHIND.search(lower, max(0, place - 24), place):
                masked = masked[:place] + S + FILL * (len(phrase) - 1) + masked[match.end() :]
    return masked
