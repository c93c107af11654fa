"""The short replies that nearly every run consists of: a letter in some wrapping, a letter with its option's own text.

Neither can mean anything else, so both come before the grammar: a lone letter wins over an option that reads like one,
and whatever an option reads like, "C. " in front of it makes it C.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from viva.scorers.optiontext import squeeze

LONGEST = 48
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
    """Whether a text says nothing but one letter, which may have a cue in front: "Answer: **B**", "选（B）。"."""
    return len(text) <= LONGEST and _LONE.fullmatch(text) is not None


def with_own_text(text: str, letters: str, options: Sequence[str]) -> tuple[str, int, int] | None:
    """The letter that stands before its own option's text and nothing else ("B. Queue"), and where the two stand."""
    match = _LETTERED.match(text, 0, 80)
    if match is None or not options:
        return None
    letter = match[1] or match[2]
    place = letters.find(letter)
    if not 0 <= place < len(options):
        return None
    option, start = options[place].strip(), match.end()
    rest = text[start : start + len(option) + 40].rstrip().rstrip("*_").rstrip()
    if not option or len(text) > start + len(option) + 40:
        return None
    if rest.rstrip(".。") != option.rstrip(".。") and (squeeze(rest) or None) != squeeze(option):
        return None
    return letter, match.start(match.lastindex or 0), start + len(rest)


_WORDS = re.compile(r"[^\W_]+")


def in_own_words(text: str, letter: str, letters: str, options: Sequence[str]) -> bool:
    """Whether the sentence that begins `text` uses at least half of the words of the option that the letter names.

    True where the options are unknown.
    """
    place = letters.find(letter)
    if not 0 <= place < len(options):
        return True
    own = {word.casefold() for word in _WORDS.findall(options[place])}
    said = {word.casefold() for word in _WORDS.findall(re.split(r"[.!?。](?:\s|$)|\n", text, maxsplit=1)[0])}
    return bool(own) and 2 * len(own & said) >= len(own)
