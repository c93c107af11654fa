"""CMMLU's authors' reading of replies, reimplemented from the specification as an oracle.

The round trip through CSV, then stages 0 to 4 (a fifth draws a letter).
"""

import io
from collections.abc import Sequence
from functools import cache
from itertools import product
from pathlib import Path

LETTERS = "ABCD"
BLANK = ("", " ")
COLON = ("", "：")
IS = ("是", "为")
X = None
"""The place of the letter in a phrase."""
PHRASES: tuple[tuple[tuple[str, ...] | None, ...], ...] = (
    (("答案",), ("", "选项"), IS, COLON, BLANK, X),
    (("答案",), IS, ("选项",), BLANK, X),
    (("", "故"), ("选",), ("", "择"), COLON, BLANK, X),
    (X, BLANK, ("", "选"), ("项",), ("", "是", "为"), ("正确",)),
    (("正确",), ("", "的"), ("选项",), IS, BLANK, X),
    (("答案",), ("", "应该"), IS, X),
    (("选项",), BLANK, X, BLANK, ("", "是", "为"), ("正确",)),
    (("选择答案",), BLANK, X),
    (("答",), ("", "案"), COLON, X),
    (X, ("", "项", "选项"), ("", "是"), ("符合题意",)),
    (("答案选项",), COLON, BLANK, X),
)


@cache
def _spellings(phrase: tuple[tuple[str, ...] | None, ...]) -> tuple[tuple[str, str], ...]:
    """What may stand before the letter and after it."""
    at = phrase.index(X)
    before = map("".join, product(*(part or () for part in phrase[:at])))
    after = map("".join, product(*(part or () for part in phrase[at + 1 :])))
    return tuple(product(before, after))


def _first(reply: str, phrase: tuple[tuple[str, ...] | None, ...]) -> str | None:
    """The letter of the first place at which one of the phrase's spellings stands."""
    places = []
    for before, after in _spellings(phrase):
        for letter in LETTERS:
            if (start := reply.find(before + letter + after)) >= 0:
                places.append((start, letter))
    return min(places)[1] if places else None


def _after_is(reply: str) -> str | None:
    """Phrase 12: the first 答案[选项]为 with a letter behind it on its line, and the nearest one."""
    for start in range(len(reply)):
        for phrase in ("答案为", "答案选项为"):
            if reply.startswith(phrase, start):
                for character in reply[start + len(phrase) :].partition("\n")[0]:
                    if character in LETTERS:
                        return character
    return None


def _before(reply: str, word: str) -> str | None:
    """Stage 2: of the first line that has a letter and later the word, the letter nearest before that word."""
    for line in reply.split("\n"):
        letters = [place for place, character in enumerate(line) if character in LETTERS]
        if letters and (end := line.find(word, letters[0] + 1)) >= 0:
            return line[max(place for place in letters if place < end)]
    return None


def _weakly(reply: str) -> str | None:
    """Stage 3: 是, with a character before it that is not 不."""
    for start in range(1, len(reply)):
        if reply[start] == "是" and reply[start - 1] != "不":
            rest = reply[start + 1 :].removeprefix("：").removeprefix(" ")
            if rest[:1] in tuple(LETTERS):
                return rest[0]
    return None


def cmmlu_stored(replies: Sequence[str], file: Path | io.BytesIO | None = None) -> list[str]:
    """What the scoring script sees of replies: written to a CSV without line feeds, and read again."""
    import pandas as pd

    file = file or io.BytesIO()
    pd.DataFrame({"pred": [reply.replace("\n", "") for reply in replies], "gold": "A"}).to_csv(file)
    if isinstance(file, io.BytesIO):
        file.seek(0)
    return [str(reply) for reply in pd.read_csv(file)["pred"]]


def cmmlu_scores(replies: Sequence[str], golds: Sequence[str], file: Path) -> list[float]:
    """What the authors' pipeline gives replies, a random letter by its expectation."""
    letters = map(cmmlu_letter, cmmlu_stored(replies, file))
    return [0.25 if letter is None else float(letter == gold) for letter, gold in zip(letters, golds, strict=True)]


def cmmlu_letter(reply: str) -> str | None:
    """The letter of a stored reply by stages 0 to 4; None where the authors draw one at random."""
    if reply[:1] in tuple(LETTERS):
        return reply[0]
    for phrase in PHRASES:
        if letter := _first(reply, phrase):
            return letter
    if letter := _after_is(reply) or _before(reply, "当选") or _before(reply, "正确") or _weakly(reply):
        return letter
    named = [character for character in reply if character in LETTERS]
    return named[0] if len(named) == 1 else None
