"""Replies as rules see them: folded character by character, then a string of kinds, one for each word.

Folding keeps the length of the text: full-width and styled letters become ASCII (Ａ Ⓑ 𝐂 → A B C), traditional
characters simplified ones (選 → 选), markdown, LaTeX and HTML wrappers become blanks, `\\boxed{` and `<answer>` become
one BOX mark and blanks, code becomes blanks. So position i of the folded text is position i of the reply.

"The correct answer is not A, but D." becomes `d+N=!L,cL.`: definite, good, answer noun, link, negation, letter, comma,
contrast, letter, stop. Grammar over such strings is short and the same in every language; the words are data, in
`phrases.toml`. A word in no list is `w`, a number `#`, a line break `n`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property, lru_cache, wraps
from typing import Any, Final, TypeVar

from msgspec import Struct

from viva.files import shipped_table

ANOTHER_FOLLOWS = re.compile(
    r"[\s,*]*(?:\b(?:or|oder|ou)|或)(?:\s+(?:maybe|perhaps|possibly|even))?[\s.…]*\Z|(?<=项)(?<![是选为].项)…"
)
"""Behind an answer that a reply breaks off after: "A or maybe", "选B。A项…"."""
BOX = "\x01"
"""Mark for the beginning of `\\boxed{…}` or `<answer>…</answer>`. Raw control characters become blanks, so that no
reply can forge it."""


_THINKING = ("think", "thinking", "thought", "reasoning", "scratchpad")
OPENINGS = (*(f"<{tag}>" for tag in _THINKING), "[THINK]", "◁think▷", "<|begin_of_thought|>")
CLOSINGS = (*(f"</{tag}>" for tag in _THINKING), "[/THINK]", "◁/think▷", "<|end_of_thought|>", "<|message|>")

_LATIN_LETTERS = "".join(map(chr, [*range(0xC0, 0xD7), *range(0xD8, 0xF7), *range(0xF8, 0x250)]))
_SAME = shipped_table(__file__, "punctuation.toml", dict[str, str])
_MEANT = {char: meant for meant, chars in _SAME.items() for char in chars}


T = TypeVar("T")


def keep_short(longest: int, most: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Return a decorator that keeps the results for texts of up to `longest` characters, which come again and again."""

    def keeping(function: Callable[[str], T]) -> Callable[[str], T]:
        kept = lru_cache(most)(function)
        return wraps(function)(lambda text: (kept if len(text) <= longest else function)(text))

    return keeping


class _Table(dict[int, str]):
    """Folding of single characters, computed on first use; always one character for one."""

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
    if char in _MEANT:
        return _MEANT[char]
    if simple := _simplified().get(char):
        return simple
    if char in "\n" or 0x4E00 <= ord(char) <= 0x9FFF or char in _LATIN_LETTERS:
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


_RUN_ON = re.compile("。(?=[A-Za-z0-9])")
"""The end of a Chinese sentence before "B错误": a stop there would make "A.B" of it, and "72.5"."""


def plain(text: str) -> str:
    """Fold width and style, one character for one; control and zero-width characters become blanks."""
    return "。".join(part.translate(_TABLE) for part in _RUN_ON.split(text))


_WORD = re.compile(r"[^\W_]")


def is_blank(text: str) -> bool:
    """Return whether a text has no visible character: only white space, control and zero-width characters."""
    seen = _WORD.search(text) is not None  # fast path: nearly always true
    return not seen and not any(plain(text[start : start + 4096]).strip() for start in range(0, len(text), 4096))


def after_thinking(reply: str) -> tuple[int, bool]:
    """Return where the visible answer begins, and whether an unclosed thinking block swallows it.

    Only what follows the last closing tag is the answer; a block that never closes was cut off.
    """
    if not any(mark in reply for mark in "<[◁"):
        return 0, False
    start = max((start_of_tag + len(tag) for tag in CLOSINGS if (start_of_tag := reply.rfind(tag)) >= 0), default=0)
    return start, any(reply.find(tag, start) >= 0 for tag in OPENINGS)


def thinking_end(reply: str, *, sure: bool = False) -> int | None:
    """Return where a judge's reply begins after its thinking; None for thinking that never ends.

    A judge quotes what examinees write, tags included: only a tag that the reply begins with opens its thinking. With
    `sure`, the first closing tag ends thinking that was opened so; otherwise all up to the last one is thinking.
    """
    if not any(mark in reply for mark in "<[◁"):
        return 0
    opened = plain(reply[:64]).lstrip().lower().startswith(tuple(plain(tag).lower() for tag in OPENINGS))
    if sure:
        ends = [place + len(tag) for tag in CLOSINGS if (place := reply.find(tag)) >= 0] if opened else [0]
        return min(ends, default=None)
    start, _ = after_thinking(reply)
    return None if opened and not start else start


@cache
def _markup() -> re.Pattern[str]:
    # Every branch begins with a plain character, which lets the engine skip everything else.
    return re.compile(
        r"\\(?P<box>(?:boxed|fbox|framebox)\b ?\{?)"
        r"|<(?P<tag>(?:final_?)?(?:answer|ans|choice|option|result|solution|antwort|reponse|final|答案)>|\|begin_of_solution\|>)"
        r"|~~[^~\n]{1,80}~~|<(?:del|strike)>[^<\n]{1,80}</(?:del|strike)>"  # struck out: taken back
        r"|<(?![A-Z]>)/?(?:[a-zA-Z]|答案)[^<>\n]{0,40}>"
        r"|\\(?:text|math|operatorname|displaystyle|bf|rm|it|large|Large|bold|mbox|underline|quad|left|right|huge)"
        r"[a-z]{0,12}\*?\{?"
        r"|\\(?:x?cancel|sout)\{[^{}\n]{1,80}\}|\\[()\[\],;!:> \\*_{}$]"
        r"|\*\*+|__+|``*|\$\$*",
    )


def _blank(match: re.Match[str]) -> str:
    length = match.end() - match.start()
    return BOX + " " * (length - 1) if match["box"] or match["tag"] else " " * length


def closed(braces: Iterable[re.Match[str]], depth: int = 1) -> int | None:
    """Return the end of the text's braces, `depth` of them open at the beginning; None where they are not closed."""
    for brace in braces:
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.end()
    return None


_HAS_MARKUP = re.compile(r"[\\<*_`$~]")


def fold(text: str) -> str:
    """Return `text` with styles, markup and code gone; the same length."""
    text = plain(text)
    if not _HAS_MARKUP.search(text):
        return text
    return _markup().sub(_blank, text)


_ROLES: Final = shipped_table(__file__, "roles.toml", dict[str, dict[str, str]])
"""For each reader the lists of `phrases.toml` and the marks, with their kinds; earlier lists take precedence."""
_MARKS: Final = _ROLES["marks"]
_ABBREVIATIONS = r"e\.g\.|i\.e\.|z\. ?b\.|p\. ?ex\.|d\. ?h\.|c\.-à-d\."
_LATIN = r"a-zA-Z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f"
_PUNCTUATION = r"[-=]>|(?<!\w)-|-(?!\w)|[" + re.escape("".join(m for m in _MARKS if len(m) == 1 and m != "-")) + "]"


_Phrases = dict[str, list[tuple[tuple[str, ...], str]]]
"""Continuations of a phrase: by its second word, the following words and its kind."""
_GROUP = 40
"""First characters of Chinese words that one pattern matches together."""
_REMEMBERED = 20_000
"""Words whose kind is kept once it has been looked up."""


class Token(Struct, frozen=True, gc=False):
    """One word: its kind, and its place in the text."""

    kind: str
    start: int
    end: int


class Lexicon:
    """The kinds of words for one reader; of phrases the longest is found."""

    def __init__(self, reader: str, letters: Mapping[str, str]) -> None:
        """`reader` names its table of roles.toml; `letters` maps single letters to their kinds."""
        self._words: dict[str, str] = dict(_MARKS)
        self._phrases: dict[str, _Phrases] = {}
        self._letters = letters
        self._seen: dict[str, tuple[str, _Phrases | None]] = {}
        han: set[str] = set()
        for role, kind in _ROLES[reader].items():
            for entry in phrases(role):
                if entry[0] > "\u024f" or not entry[0].isalpha():  # 选, ✓, ×
                    han.add(entry)
                    self._words.setdefault(entry, kind)
                elif len(words := re.split(r"[ \-]", entry)) > 1:
                    self._phrases.setdefault(words[0], {}).setdefault(words[1], []).append((tuple(words[1:]), kind))
                else:
                    self._words.setdefault(entry, kind)
        for seconds in self._phrases.values():
            for continuations in seconds.values():
                continuations.sort(key=lambda item: -len(item[0]))
        self._han = han

    @cached_property
    def _ascii(self) -> re.Pattern[str]:
        return _token_pattern("a-z", set())

    @cached_property
    def _mixed(self) -> re.Pattern[str]:
        """The pattern of all words, compiled on first use: thousands of Chinese words take a tenth of a second."""
        return _token_pattern(_LATIN, self._han)

    def lex(self, text: str) -> list[Token]:
        """Return the tokens of a folded text. Blanks, quotes and brackets leave none."""
        lower = text.lower()
        if len(lower) != len(text):
            lower = text
        words: list[str] = (self._ascii if text.isascii() else self._mixed).findall(lower)
        seen, find, letters = self._seen, lower.find, self._letters
        tokens: list[Token] = []
        end = skip = 0
        for index, word in enumerate(words):
            start = find(word, end)  # nothing between tokens looks like the beginning of one
            end = start + len(word)
            if skip:
                skip -= 1
                if not skip:
                    tokens[-1] = Token(tokens[-1].kind, tokens[-1].start, end)
                continue
            kind, continuations = seen.get(word) or self._look_up(word)
            if continuations is not None:
                if end - start == 1:
                    kind = letters.get(text[start], kind)
                if continuations and index + 1 < len(words):
                    second = words[index + 1]
                    for rest, phrase_kind in continuations.get(second if second.isascii() else _key(second), ()):
                        if _follows(words, index + 1, rest):
                            kind, skip = phrase_kind, len(rest)
                            break
            tokens.append(Token(kind, start, end))
        return tokens

    def _look_up(self, word: str) -> tuple[str, _Phrases | None]:
        """Return the kind of a word, and the phrases that begin with it where the word alone does not decide (a letter,
        say).
        """
        if word[0] > "\u024f":
            entry: tuple[str, _Phrases | None] = self._words.get(word, "w"), None
        elif len(word) == 1 and (word in self._letters or word.upper() in self._letters):
            entry = self._words.get(word) or self._unknown(word), self._phrases.get(word, {})
        else:
            key = _key(word)
            entry = self._words.get(key) or self._unknown(key), self._phrases.get(key)
        if len(self._seen) < _REMEMBERED:
            self._seen[word] = entry
        return entry

    def _unknown(self, word: str) -> str:
        first = word[0]
        if first == "\n":
            return "n"
        if first.isdecimal():
            return "#"
        if "." in word:  # z. B.
            return self._words.get(word.replace(" ", ""), "w")
        if "'" in word:  # l'option, qu'est, answer's
            return self._words.get(word[word.rindex("'") + 1 :], "w") if word[-2:] != "'s" else "w"
        return "w"


def _follows(words: list[str], start: int, rest: tuple[str, ...]) -> bool:
    """Return whether the words of a phrase come next."""
    for offset, expected in enumerate(rest, start):
        if offset >= len(words):
            return False
        if _key(words[offset]) != expected:
            return False
    return True


def _key(word: str) -> str:
    """Return a word as the lists write it."""
    return word if word.isascii() else unaccented(word).replace("ß", "ss")


def unaccented(word: str) -> str:
    """Return a text without the accents that decompose: "réponse" as "reponse"."""
    if word.isascii():
        return word
    return "".join(char for char in unicodedata.normalize("NFD", word) if not unicodedata.combining(char))


def _token_pattern(latin: str, han: set[str]) -> re.Pattern[str]:
    """Return the pattern of a token in lower case: branches with distinct beginnings, the commonest first.

    The optional blank in front only saves time: most tokens follow one, and a failed match costs as much as a token.
    """
    other = ""
    if han:
        starters = sorted({entry[0] for entry in han})
        groups = [starters[start : start + _GROUP] for start in range(0, len(starters), _GROUP)]
        for group in groups:
            entries = sorted((entry for entry in han if entry[0] in group), key=len, reverse=True)
            other += f"|(?=[{re.escape(''.join(group))}])(?:{'|'.join(map(re.escape, entries))})"
        other = rf"|[^\W\x00-\u024f{re.escape(''.join(starters))}]+{other}|[^\W\x00-\u024f]"
    return re.compile(
        rf" ?([{latin}]{{2,}}(?:'[{latin}]+)*|[.,:;!?]|{_ABBREVIATIONS}|[{latin}](?:'[{latin}]+)*|\n\s*"
        rf"|\d+(?:[.,]\d+)*|{_PUNCTUATION}{other})"
    )


_PLACE = re.compile(r"(?<!\?P)<(\w+)>")


@cache
def _table(file: str) -> dict[str, str | list[str]]:
    """Return a file's patterns, and its lists with the entries of all languages."""
    table = shipped_table(__file__, file, dict[str, str | list[str] | dict[str, list[str]]])
    return {
        name: sum(entries.values(), list[str]()) if isinstance(entries, dict) else entries
        for name, entries in table.items()
    }


def _alternatives(file: str, name: str) -> str:
    entries = _table(file)[name]
    if isinstance(entries, str):
        return entries
    written = "|".join(plain(entry) for entry in sorted(entries, key=len, reverse=True))
    return written.replace(" ", str(_table(file).get("blank", " ")))


@cache
def pattern(file: str, text: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    """Return a pattern in which `<name>` is any entry of that list of a file, or another pattern in it.

    In a file that defines `blank`, blanks in its lists match that pattern.
    """
    while "<" in text and (made := _PLACE.sub(lambda match: f"(?:{_alternatives(file, match[1])})", text)) != text:
        text = made
    return re.compile(text, flags)


@cache
def _rules(name: str) -> list[tuple[re.Pattern[str], str]]:
    table = shipped_table(__file__, "rewriting.toml", dict[str, list[tuple[str, str]]])
    return [(re.compile(pattern), written) for pattern, written in table[name]]


def rewritten(name: str, text: str) -> str:
    """Rewrite a text by the rules of a table of `rewriting.toml`, one after the other."""
    for pattern, written in _rules(name):
        text = pattern.sub(written, text)
    return text


def phrases(role: str) -> list[str]:
    """Return the entries of a list in all languages."""
    return [*_table("phrases.toml")[role]]
