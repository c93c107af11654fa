"""A reply made plain, character for character, so that offsets never need translating.

Every step keeps the length of the text: full-width and styled letters become ASCII (Ａ Ⓑ 𝐂 → A B C), traditional
characters simplified ones (選 → 选), markdown, LaTeX
and HTML wrappers become blanks, `\\boxed{` and `<answer>` become one BOX mark and blanks, code becomes blanks. So
position i of the folded text is position i of the reply.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Any

from viva.shipped import shipped_table

BOX = "\x01"
"""What the beginning of `\\boxed{…}` or `<answer>…</answer>` becomes. Raw control characters become blanks, so that no
reply can forge it."""


_THINKING = ("think", "thinking", "thought", "reasoning", "scratchpad")
OPENINGS = (*(f"<{tag}>" for tag in _THINKING), "[THINK]", "◁think▷", "<|begin_of_thought|>")
CLOSINGS = (*(f"</{tag}>" for tag in _THINKING), "[/THINK]", "◁/think▷", "<|end_of_thought|>", "<|message|>")

_LATIN = "".join(map(chr, [*range(0xC0, 0xD7), *range(0xD8, 0xF7), *range(0xF8, 0x250)]))
_SAME = shipped_table(__file__, "punctuation.toml", dict[str, str])
_PUNCTUATION = {char: meant for meant, chars in _SAME.items() for char in chars}


class _Table(dict[int, str]):
    """Folding of single characters, worked out as they turn up; always one character for one."""

    def __missing__(self, code: int) -> str:
        folded = _fold_character(chr(code))
        if len(self) < 20_000:
            self[code] = folded
        return folded


@cache
def _simplified() -> dict[str, str]:
    table = shipped_table(__file__, "traditional.toml", dict[str, Any])
    return dict(zip("".join(table["traditional"]), "".join(table["simplified"]), strict=True))


def _fold_character(char: str) -> str:
    if char in _PUNCTUATION:
        return _PUNCTUATION[char]
    if simple := _simplified().get(char):
        return simple
    if char in "\n" or 0x4E00 <= ord(char) <= 0x9FFF or char in _LATIN:
        return char
    plain = unicodedata.normalize("NFKC", char)
    if len(plain) == 3 and plain[0] == "(" and plain[2] == ")":  # ⒝ 🄑
        plain = plain[1]
    if len(plain) == 1 and plain.isascii() and plain.isprintable():
        return plain
    offset = ord(char) - 0x1F150  # 🅐 and 🅰, which have no compatibility form
    if 0 <= offset < 26 or 0 <= (offset := offset - 0x20) < 26:
        return chr(65 + offset)
    return " " if unicodedata.category(char)[0] in "CZ" or unicodedata.category(char) == "Mn" else char


_TABLE = _Table({code: chr(code) for code in range(32, 127)})


def plain(text: str) -> str:
    """Width and style folded away, one character for one; control and zero-width characters become blanks."""
    return text.translate(_TABLE)


def is_blank(text: str) -> bool:
    """Return whether nothing can be seen: only white space, control and zero-width characters."""
    return not any(plain(text[start : start + 4096]).strip() for start in range(0, len(text), 4096))


def after_thinking(reply: str) -> tuple[int, bool]:
    """Return where the visible answer begins, and whether an unclosed thinking block swallows it.

    Only what follows the last closing tag is the answer; a block that never closes was cut off.
    """
    if not any(mark in reply for mark in "<[◁"):
        return 0, False
    start = max((at + len(tag) for tag in CLOSINGS if (at := reply.rfind(tag)) >= 0), default=0)
    return start, any(reply.find(tag, start) >= 0 for tag in OPENINGS)


def thinking_end(reply: str, *, sure: bool = False) -> int | None:
    """Return where a judge's reply begins after its thinking; None for thinking that never ends.

    A judge quotes what examinees write, tags included: only a tag that the reply begins with opens its thinking. Where
    it must be `sure`, the first closing tag ends what was opened so; otherwise all up to the last one is thinking.
    """
    if not any(mark in reply for mark in "<[◁"):
        return 0
    opened = plain(reply[:64]).lstrip().lower().startswith(tuple(plain(tag).lower() for tag in OPENINGS))
    if sure:
        ends = [at + len(tag) for tag in CLOSINGS if (at := reply.find(tag)) >= 0] if opened else [0]
        return min(ends, default=None)
    start, _ = after_thinking(reply)
    return None if opened and not start else start


@cache
def _markup() -> re.Pattern[str]:
    # Every branch begins with a plain character, which lets the engine skip everything else.
    return re.compile(
        r"\\(?P<box>(?:boxed|fbox|framebox)\b ?\{?)"
        r"|<(?P<tag>(?:final_?)?(?:answer|ans|choice|option|result|solution|antwort|reponse|final|答案)>|\|begin_of_solution\|>)"
        r"|~~[^~\n]{1,80}~~"  # struck out: taken back
        r"|<(?![A-Z]>)/?(?:[a-zA-Z]|答案)[^<>\n]{0,40}>"
        r"|\\(?:text|math|operatorname|displaystyle|bf|rm|it|large|Large|bold|mbox|underline|quad|left|right|huge)"
        r"[a-z]{0,12}\*?\{?"
        r"|\\[()\[\],;!:> \\*_{}$]"
        r"|\*\*+|__+|``*|\$\$*",
    )


def _blank(match: re.Match[str]) -> str:
    length = match.end() - match.start()
    return BOX + " " * (length - 1) if match["box"] or match["tag"] else " " * length


_HAS_MARKUP = re.compile(r"[\\<*_`$~]")


def fold(text: str) -> str:
    """Return `text` with styles, markup and code gone; the same length."""
    text = plain(text)
    if not _HAS_MARKUP.search(text):
        return text
    return _markup().sub(_blank, text)
