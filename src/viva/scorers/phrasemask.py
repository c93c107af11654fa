"""A reply with its phrases masked, length for length, so that what it states can be told whatever the phrases say.

A quoted or emphasised phrase becomes one Q mark and fill, the phrase that the question shows one S mark and fill: a
pattern then sees `the direct object of S is Q`. The words of the patterns are in `phrase.toml`.
"""

from __future__ import annotations

import re
from functools import cache, cached_property, lru_cache

from msgspec import Struct

from viva.scorers.fold import plain
from viva.scorers.phrasemarks import Passage, Quoted, clean, quoted, squeeze, without_own_quotes
from viva.shipped import shipped_table

Q, S, FILL = "\x02", "\x04", "\x03"
ABBREVIATION = (
    r"(?<!\b[A-Z]\.)(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bDr\.)(?<!\bSt\.)(?<!\bCo\.)(?<!\bvs\.)(?<!\bNo\.)"
    r"(?<!\bInc\.)(?<!\bCorp\.)(?<!\bLtd\.)(?<!\bSen\.)(?<!\bRep\.)(?<!\bNov\.)(?<!\bOct\.)(?<!\bDec\.)(?<!\bJan\.)"
)
"""Behind a stop: that it is not that of an abbreviation."""
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
_ARTICLE = re.compile(r"(?:the|an?)\s+", re.IGNORECASE)


class Asked(Struct, frozen=True):
    """What is known of the question; see `read_phrase`."""

    shown: str = ""
    inverse: bool = False
    roles: tuple[str, ...] = ()
    sentence: Passage | None = None

    def shows(self, text: str) -> bool:
        """Whether a text is the phrase that the question shows, an article more or less."""
        return bool(self.shown) and _bare(text) == _bare(self.shown)

    def fits(self, role: str) -> bool | None:
        """Whether a role is the one asked for ("object" may be the direct one); None where nothing tells."""
        named = re.findall(r"[a-z]+", role)
        if not self.roles or not named or role.rstrip("s") in _GENERIC:
            return None
        named[-1] = named[-1].rstrip("s")
        wanted = [each.lower().split() for each in self.roles]
        return any(named[-len(each) :] == each or each[-len(named) :] == named for each in wanted)

    @property
    def nouns(self) -> tuple[str, ...]:
        """What the phrase asked for is called, as patterns: "direct object", "object"."""
        if not self.roles:
            return (rf"(?:{_lists()['role_adjective']}\s){{0,4}}{_lists()['role']}",)
        words = (role.lower().rpartition(" ") for role in sorted(self.roles, key=len, reverse=True))
        return tuple(f"(?:{before} )?{noun}s?(?! complement)" for before, _, noun in words)

    def names(self, key: str) -> bool:
        """Whether a key of JSON names what is asked for: "direct_object", "phrase"."""
        role = key.lower().replace("_", " ")
        return bool(self.fits(role)) or role in _GENERIC

    def stands(self, text: str) -> bool:
        """Whether a text is a piece of the sentence, given back as it is: with no phrase of it marked out."""
        if self.sentence is None or not self.sentence.holds(clean(text)) or re.search(r"→|⇒|[-=]>", text):
            return False
        own = '"' in self.sentence.text
        bold = [text[each.left : each.right] for each in quoted(text)[:40] if not (each.quotes and own)]
        return all(self.shows(each) or squeeze(each) == squeeze(text) for each in bold)


@lru_cache(maxsize=4096)
def _bare(text: str) -> str:
    return squeeze(_ARTICLE.sub("", clean(text), count=1)) or squeeze(text)


@cache
def _lists() -> dict[str, str]:
    lists = shipped_table(__file__, "phrase.toml", dict[str, list[str]])
    return {name: "(?:" + "|".join(each.replace(" ", r"\s+") for each in lists[name]) + ")" for name in lists}


@cache
def pattern(text: str) -> re.Pattern[str]:
    """A pattern in which `<name>` is a list of phrase.toml, <Q> a quoted phrase, <S> the shown one, <P> either.

    <EDGE> is a mark or blank, <ROLE> a grammatical role, <LINK> "is", a colon or an arrow, <CALLED> and, with less to
    swallow, <TERMED> what a phrase is called in front of it ("the noun phrase"). Every repetition is bounded.
    """
    text = text.replace("<EDGE>", rf"[^\w{Q}{S}{FILL}]")
    text = text.replace("<Q>", f"{Q}{FILL}*").replace("<P>", f"([{Q}{S}]{FILL}*)").replace("<S>", f"{S}{FILL}*")
    text = text.replace(
        "<LINK>", r"(?:\b<link>\b|[:=]|[-=]>)(?:\s{1,4}<link_adverb>\b(?=[\s:,]{1,3}[^\s.!?])){0,3}\s{0,4}[:,]?\s{0,4}"
    )
    text = text.replace("<ROLE>", r"\b((?:<role_adjective>[\s-]{1,2}){0,4}<role>)\b")
    text = text.replace("<CALLED>", r"(?:<called>\b\s{0,3}){0,6}[:,]?\s{0,3}")
    text = text.replace(
        "<TERMED>", r"(?:(?:the\s)?(?:(?:noun|verb|prepositional|adverb|adjective)\s)(?:phrase|clause)[\s:,]{1,3})?"
    )
    return re.compile(re.sub(r"<([a-z_]{3,})>", lambda match: _lists()[match[1]], text), re.IGNORECASE)


class Masked:
    """A reply, what its phrases are, and the text with marks in their places."""

    def __init__(self, text: str, asked: Asked) -> None:
        self.text, self.asked = text, asked
        self.phrases: dict[int, Quoted] = {}
        self.plain = plain(text)
        pieces, at = [], 0
        sentence = asked.sentence.text if asked.sentence else ""
        for phrase in quoted(without_own_quotes(text, sentence)):
            if self._no_phrase(phrase):
                continue
            self.phrases[phrase.start] = phrase
            mark = S if asked.shows(text[phrase.left : phrase.right]) else Q
            pieces += [self.plain[at : phrase.start], mark, FILL * (phrase.end - phrase.start - 1)]
            at = phrase.end
        self.masked = re.sub(r"\*\*|__", "  ", "".join([*pieces, self.plain[at:]]))
        self.wholly = _with_shown(self.masked, asked.shown)
        """As `masked`, with the shown phrase masked where it has no quotes too."""

    def _no_phrase(self, phrase: Quoted) -> bool:
        """A label, the whole sentence, a question, a term: quoted or emphasised, and yet no answer."""
        inner = self.plain[phrase.left : phrase.right].strip()
        if inner.endswith((":", "?")) or pattern("(?:the )?<ROLE>").fullmatch(inner):
            return True
        if self.asked.sentence and self.asked.sentence.is_whole(inner):
            return True
        if _NO_ANSWER_BEHIND.search(self.plain, max(0, phrase.start - 40), phrase.start):
            return True
        if phrase.quotes:
            return False
        states = pattern(r"(?:<final> )?,?\s{0,2}(?:<answer>\s{0,2}(?:<LINK>|$)|(?:the )?<ROLE>[^\n]{0,200}?<LINK>)")
        return self.plain.startswith(":", phrase.end) or states.match(inner) is not None

    def inside(self, start: int) -> tuple[int, int]:
        """Where the phrase behind a mark stands."""
        return self.phrases[start].left, self.phrases[start].right

    @cached_property
    def sentences(self) -> list[tuple[int, int]]:
        """Sentences and lines; a stop within a quoted phrase ends none."""
        ends = [match.span() for match in _SENTENCE.finditer(self.masked)]
        starts = [0, *(end for _, end in ends)]
        return [(a, b) for a, b in zip(starts, [*(start for start, _ in ends), len(self.masked)], strict=True) if b > a]

    def line_end(self, at: int) -> int:
        """Where the line ends that a position is on."""
        end = self.masked.find("\n", at)
        return end if end >= 0 else len(self.masked)

    def whole(self, start: int, end: int) -> tuple[int, int] | None:
        """A phrase that stands from here on: the quoted one that opens, or the text up to what explains it."""
        if opening := pattern(r"\s{0,4}<CALLED>(<Q>)").match(self.masked, start, end):
            return None if self.goes_on(opening.end(), end) else self.inside(opening.start(1))
        cut = self._trim(start, end)
        sentence = self.asked.sentence
        adverb = pattern(r"\s{0,4}(?:just|only|merely|simply)\s").match(self.masked, start, cut)
        if adverb and sentence and not sentence.holds(clean(self.text[start:cut])):  # "it is just the board"
            start = adverb.end() if sentence.holds(clean(self.text[adverb.end() : cut])) else start
        return (start, cut) if cut > start else None

    def goes_on(self, at: int, end: int) -> bool:
        """Whether another phrase is named in the same breath: “the board” or “a director”."""
        more = pattern(r"\s{0,2}(?:,|/|;|,?\s?(?:or|and|and/or)\b)\s{0,2}<CALLED>(<Q>)(?!\x03|\s{0,2}<serves>)")
        return more.match(self.masked, at, end) is not None

    def _trim(self, start: int, end: int) -> int:
        """Where a phrase without quotes ends: before something that explains it begins.

        With the sentence at hand that is the longest beginning that stands there and ends where a phrase may end.
        """
        text, sentence = self.text, self.asked.sentence
        if sentence is not None:
            breaks = pattern(r"(?=[,;:]\s|\s\(|\s[–-]{1,2}\s|[.!?]\s|\s<explains>\b|\"\s|\s?[-=]>|\*\*)")
            ends = {end, *(match.start() for match in breaks.finditer(self.masked, start, min(end, start + 2_000)))}
            for at in sorted(ends, reverse=True):
                if sentence.holds(clean(text[start:at])):
                    return at
        cuts = pattern(rf",?\s{{1,2}}<explains>\b|\s\((?!\d)|\s[–-]\s|[.!?]{ABBREVIATION}\s{{1,4}}(?=[A-Z])|;\s")
        for match in cuts.finditer(self.masked, start, end):
            if clean(text[start : match.start()]):
                return match.start()
        return end if clean(text[start:end]) else start


def _with_shown(masked: str, shown: str) -> str:
    """The shown phrase masked where it is named without quotes: behind "of" and the like, or in front of a line."""
    lower, joined = masked.lower(), shown.lower().replace(" n't", "n't")
    if len(lower) != len(masked):
        return masked
    for phrase in {shown.lower().strip(), joined.strip()} - {""}:
        at = lower.find(phrase)
        while at >= 0:
            end = at + len(phrase)
            if not lower[end : end + 1].isalnum() and _NAMED_BEHIND.search(lower, max(0, at - 24), at):
                masked = masked[:at] + S + FILL * (len(phrase) - 1) + masked[end:]
            at = lower.find(phrase, end)
    return masked
