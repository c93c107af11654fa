"""Replies as strings of kinds: every word becomes one character that says what it does in the sentence.

"The correct answer is not A, but D." becomes `d+N=!L,cL.`: definite, good, answer noun, link, negation, letter, comma,
contrast, letter, stop. Grammar over such strings is short and the same in every language; the words are data, in
`phrases.toml`. A word in no list is `w`, a number `#`, a line break `n`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache, cached_property
from typing import Final

from msgspec import Struct

from viva.scorers.fold import plain
from viva.shipped import shipped_table

_ROLES: Final = shipped_table(__file__, "roles.toml", dict[str, dict[str, str]])
"""By reader the lists of `phrases.toml` and their kinds, earlier ones first; and the marks with theirs."""
_MARKS: Final = _ROLES["marks"]
_ABBREVIATIONS = r"e\.g\.|i\.e\.|z\. ?b\.|p\. ?ex\.|d\. ?h\.|c\.-à-d\."
_LATIN = r"a-zA-Z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f"
_PUNCTUATION = r"[-=]>|(?<!\w)-|-(?!\w)|[" + re.escape("".join(m for m in _MARKS if len(m) == 1 and m != "-")) + "]"


_Phrases = dict[str, list[tuple[tuple[str, ...], str]]]
"""How a phrase may go on: by its second word, the words that follow and its kind."""
_GROUP = 40
"""First characters of Chinese words that a pattern passes over at once."""
_REMEMBERED = 20_000
"""Words whose kind is kept once it has been looked up."""


class Token(Struct, frozen=True, gc=False):
    """One word: its kind, and where it stands in the text."""

    kind: str
    start: int
    end: int


class Lexicon:
    """The words of one reader: which kind each has, with the phrases of several words found longest first."""

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
        """Compiled when the first text needs it: thousands of Chinese words, a tenth of a second."""
        return _token_pattern(_LATIN, self._han)

    def lex(self, text: str) -> list[Token]:
        """Return the tokens of a folded text. Blanks, quotes and brackets leave none."""
        lower = text.lower()
        if len(lower) != len(text):
            lower = text
        found: list[str] = (self._ascii if text.isascii() else self._mixed).findall(lower)
        seen, find, letters = self._seen, lower.find, self._letters
        tokens: list[Token] = []
        end = skip = 0
        for index, word in enumerate(found):
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
                if continuations and index + 1 < len(found):
                    second = found[index + 1]
                    for rest, phrase_kind in continuations.get(second if second.isascii() else _key(second), ()):
                        if _follows(found, index + 1, rest):
                            kind, skip = phrase_kind, len(rest)
                            break
            tokens.append(Token(kind, start, end))
        return tokens

    def _look_up(self, word: str) -> tuple[str, _Phrases | None]:
        """Return the kind of a word, and where more than the word decides it (a letter, say) the phrases that it
        begins.
        """
        if word[0] > "\u024f":
            found: tuple[str, _Phrases | None] = self._words.get(word, "w"), None
        elif len(word) == 1 and (word in self._letters or word.upper() in self._letters):
            found = self._words.get(word) or self._unknown(word), self._phrases.get(word, {})
        else:
            key = _key(word)
            found = self._words.get(key) or self._unknown(key), self._phrases.get(key)
        if len(self._seen) < _REMEMBERED:
            self._seen[word] = found
        return found

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


def _follows(found: list[str], at: int, rest: tuple[str, ...]) -> bool:
    """Return whether the words of a phrase come next."""
    for offset, expected in enumerate(rest, at):
        if offset >= len(found):
            return False
        if _key(found[offset]) != expected:
            return False
    return True


def _key(word: str) -> str:
    """Return a word as the lists write it."""
    return word if word.isascii() else unaccented(word).replace("ß", "ss")


def unaccented(word: str) -> str:
    """Return `réponse` as `reponse`; only what decomposes."""
    if word.isascii():
        return word
    return "".join(char for char in unicodedata.normalize("NFD", word) if not unicodedata.combining(char))


def _token_pattern(latin: str, han: set[str]) -> re.Pattern[str]:
    """Return one alternation, the commonest branches first, each of which begins differently. Texts are in lower case.

    The optional blank in front is speed only: most tokens follow one, and a failed attempt at it costs as much as one.
    """
    other = ""
    if han:
        starters = sorted({entry[0] for entry in han})
        groups = [starters[at : at + _GROUP] for at in range(0, len(starters), _GROUP)]
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
    """Return a file's patterns and lists, these of every language."""
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

    In a file that says what a `blank` is, those of its lists are that.
    """
    while "<" in text and (made := _PLACE.sub(lambda match: f"(?:{_alternatives(file, match[1])})", text)) != text:
        text = made
    return re.compile(text, flags)


def phrases(role: str) -> list[str]:
    """Return all entries of a list, of every language."""
    return [*_table("phrases.toml")[role]]
