"""The option that a reply repeats in full, where it names no letter.

Texts are compared without case, width, white space, markup and punctuation, and as a whole: an option "1" or "stack"
inside a longer sentence does not count. A text that two options share decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from viva.scorers.fold import BOX, plain

_NOISE = re.compile(r"(?<!\d)[.,]|[.,](?!\d)|[\s*_`$\"'()\[\]{};:!?、" + BOX + "]+")
_LATEX = re.compile(r"\\(?:text|math|operatorname)[a-z]{0,12}|\\[()\[\],;!]")
ARTICLE = re.compile(r"^(?:an?|the|une?|l[ae]s?|l'|ein(?:e[nrs]?)?|der|die|das)\s", re.IGNORECASE)
_ENDS = (
    re.compile(r"\n"),
    re.compile(r"[.!?;。](?=\s|$)"),
    re.compile(r",|[(]| because | since | as | weil | car | da |因为|，"),
)


def squeeze(text: str) -> str:
    """Return what is left of a text when case, width, white space, markup and punctuation do not count."""
    return _NOISE.sub("", _LATEX.sub("", plain(text))).casefold()


class OptionTexts:
    """The options of one question, ready for comparison."""

    def __init__(self, options: Sequence[str], letters: str) -> None:
        self.longest = max((len(option) for option in options), default=0)
        self.options = tuple(zip(letters, map(str.strip, options), strict=False))

    @cached_property
    def _letters(self) -> dict[str, str]:
        """By what is left of a text, and behind a blank by how it is written: some differ in case only."""
        letters: dict[str, str] = {}
        for letter, option in self.options:
            text = squeeze(option)
            for key in {text, squeeze(ARTICLE.sub("", option)), f" {option}", text and letter.casefold() + text}:
                letters[key] = letter if letters.get(key, letter) == letter else ""
        return letters | {"": ""}

    def letter(self, text: str) -> str:
        """Return the letter of the one option that reads `text`, or ""."""
        if len(text) > 2 * self.longest + 40:
            return ""
        text = text.strip()
        ways = squeeze(text), f" {text}", squeeze(ARTICLE.sub("", text))
        return next(filter(None, map(self._letters.get, ways)), "")

    def other_beside(self, text: str, letter: str, start: int, end: int) -> bool:
        """Return whether the statement at `start` to `end` puts exactly another option's text beside its letter.

        "The answer is (B) 42" where 42 is D, "22.50, which is the answer (C)" where that is G.
        """
        closing = _CLOSING.match(text, end)
        found = self.after_cue(text, closing.end())[0] if closing else ""
        if found and found != letter:
            return True
        before = text[max(0, end - 2 * self.longest - 80) : end]
        if (linked := _LINKED.search(before)) and (verbs := list(_VERB.finditer(before, 0, linked.start()))):
            found = self.letter(before[verbs[-1].end() : linked.start()])
        return bool(found) and found != letter

    def after_cue(self, text: str, start: int) -> tuple[str, int]:
        """Return the letter of the option that follows position `start`, up to the end of a line, sentence or
        clause.
        """
        if label := _FOREIGN.match(text, start):
            start = label.end() if label[1] not in dict(self.options) else start
        rest = text[start : start + 2 * self.longest + 60]
        if not rest.strip():
            return "", start
        for end in _ENDS:
            match = end.search(rest, len(rest) - len(rest.lstrip()))
            stop = match.start() if match else len(rest)
            if rest[:stop].rstrip().endswith("?") or rest[stop : stop + 1] == "?":  # "Is it a queue?"
                return "", start
            if letter := self.letter(rest[:stop]):
                return letter, start + stop
        return "", start


_CLOSING = re.compile(r"(?!\)\.)[)\]}*_.: ]{0,6}(?:with |which is )?")
_LINKED = re.compile(
    r",? (?:which (?:is|corresponds to|matches) |that is |or |i\.e\.,? )"
    r"(?:the )?(?:answer |option |choice )?[*_(]{0,4}[A-Z]$"
)
_VERB = re.compile(r"\b(?:is|are|be|get|gives|obtain|approximately|about)\b|[=≈]")
_FOREIGN = re.compile(r"[ *_]{0,4}\(?([A-Z])[).:][*_ ]{1,4}")
"""The letter of an option that there is not; its text counts."""
_ITEM = re.compile(r"[\s>*_-]{0,6}\(?([A-Z])[.):、]\)?[\s*_]{0,4}")
_HEADING = re.compile(
    r"[\W_]*(?:(?:the |my |your )?(?:final |correct )?answer(?: is)?|答案|antwort|r[ée]ponse)[\W_]*", re.IGNORECASE
)


def restated_from(text: str, texts: OptionTexts) -> int:
    """Return where a list of the options begins that the text ends in, or the text's length.

    Who only repeats the options has said nothing: the last of them is no answer.
    """
    lines = list(re.finditer(r"[^\n]*\S[^\n]*", text[-20 * (texts.longest + 20) :]))
    base = max(0, len(text) - 20 * (texts.longest + 20))
    letters: list[str] = []
    at = len(text)
    lines = lines[:-1] if lines and _HEADING.fullmatch(lines[-1].group()) else lines
    for line in reversed(lines[-30:]):
        match = _ITEM.match(line.group())
        if match is None or texts.letter(line.group()[match.end() :]) != match[1] or match[1] in letters:
            break
        letters.append(match[1])
        at = base + line.start()
    return at if len(letters) > 1 and letters == sorted(letters, reverse=True) else len(text)


_LONGEST = 48
_CUE = (
    r"(?:(?:(?:so |thus |therefore )?,?\s?(?:the |my )?(?:final |correct |right |best )?"
    r"(?:answer|option|choice)(?: is|=)?"
    r"|(?:die |meine )?(?:richtige |korrekte )?(?:antwort|lösung)(?: ist| lautet)?"
    r"|(?:la |ma )?(?:bonne )?(?:réponse|reponse)(?: correcte)?(?: est)?"
    r"|(?:因此|所以|故|综上)?，?(?:本题|正确|最终|参考|我的)?(?:答案|选项)(?:是|为|选|应为|应该是)?|[故应]?选择?"
    r")\s{0,2}[:：]?\s{0,2}|#{1,4} |[->] )?"
)
_LONE = re.compile(
    rf"\s*[*_]{{0,3}}{_CUE}"
    rf"[*_(（\[【{{\"'`$“「]{{0,5}}(?:\\boxed\{{)?([A-Za-zＡ-Ｚ])[*_)）\]】}}\"'`$”」]{{0,5}}[.。．!！]?[*_]{{0,3}}\s*",
    re.IGNORECASE,
)
_LETTERED = re.compile(
    rf"\s{{0,4}}[*_]{{0,3}}{_CUE}[*_]{{0,3}}"
    rf"(?:[(（\[【]([A-Z])[)）\]】]|([A-Z])[.．、:：)）])[*_.:：]{{0,4}}\s{{0,3}}",
    re.IGNORECASE,
)


def is_lone_letter(text: str) -> bool:
    """Return whether a text says nothing but one letter, which may have a cue in front: "Answer: **B**",
    "选（B）。".
    """
    return len(text) <= _LONGEST and _LONE.fullmatch(text) is not None


_ENDING = " \n*_.。"


def with_own_text(text: str, texts: OptionTexts) -> tuple[str, int, int] | None:
    """Return the letter that stands before its own option's text and nothing else ("B. Queue"), and where the two
    stand.
    """
    match = _LETTERED.match(text, 0, 80)
    letter = match[match.lastindex or 0] if match else ""
    own, rest = dict(texts.options).get(letter, ""), text[match.end() if match else 0 :]
    if match is None or not own or len(rest) > len(own) + 40:
        return None
    if rest.strip(_ENDING) != own.strip(_ENDING) and (squeeze(rest) or None) != squeeze(own):
        return None
    return letter, match.start(match.lastindex or 0), len(text.rstrip("*_ \n"))
