"""Alignment by words of a template with an answer, and the content of its blanks; Viva's own, not the published one.

The published alignment (alignment.py) matches single characters, those of the blanks' markers too, so that an answer
may be word-perfect and its last blank hold "hel" of "I hope this helps!". Here words and punctuation marks are matched
in order; a blank takes in everything between the words around it, and text before and after the template is free.
The alignment with the highest sum of these scores is taken (semi-global: Needleman and Wunsch, 1970, with free ends),
and of equal ones that with the shortest blanks, first in the answer:
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from viva.scorers.rubric.alignment import AlignmentError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Sums = NDArray[np.int64]
    """Highest sums with the first 0, 1, 2, ... tokens of the answer used."""

WORD: Final = 32
"""For each character of a word that is found; 12 at most count."""
MARK: Final = 8
"""For a punctuation mark that is found."""
LOST: Final = 16
"""Taken off for a replacement, a new line, or a missing word; for a missing mark `MARK`."""
ADDED: Final = 2
"""Taken off for a word or mark that the template does not have, in addition to a blank's price for it."""
TAKEN: Final = 1
"""Taken off for each word or mark that a blank takes in."""
EMPTY: Final = 4
"""Taken off for an empty blank."""
NEW_LINE: Final = 12
NEW_PARAGRAPH: Final = 40
MAX_CELLS: Final = 1 << 27
"""32 MB: a template of 500 words and an answer of 270,000."""
_LONGEST = 12
_TOKEN = re.compile(r"[^\W\u2e80-\uffff]+|`{3,}|\S")
_OR_SPACE = re.compile(rf"\s+|{_TOKEN.pattern}")
_CHARACTER = re.compile(r"\S")
_STOPS = frozenset(".:!?。：！？")
_ALIKE = str.maketrans("‘’‛“”„«»–—‐−", '\'\'\'"""""----')


class _Token(Struct, frozen=True):
    text: str
    start: int
    end: int


def anchor(segments: tuple[str, ...], text: str) -> tuple[tuple[tuple[int, int], ...], float]:
    """Find the segments of a template, between which its blanks are, in an answer.

    Return what each blank takes in, [start, end) in the answer, and the share of the template found, by characters
    other than white space, without blanks and the fences of code blocks. Raises AlignmentError where the numbers
    of words multiply to more than `MAX_CELLS`.
    """
    glued = any(before[-1:].isalnum() or after[:1].isalnum() for before, after in pairwise(segments))
    token = _CHARACTER if glued else _TOKEN  # "un[blank]ed": no word of the answer ends where the blank begins
    if any(segment.isspace() for segment in segments[1:-1]):
        token = _OR_SPACE  # "[blank] [blank]": nothing else is between them
    tokens = _tokens(text, token)
    template: list[_Token | None] = []
    for segment in segments:
        template += [None, *_tokens(segment, token, before_blank=segment is not segments[-1])]
    del template[0]
    if len(template) * len(tokens) > MAX_CELLS:
        raise AlignmentError(
            f"an answer of {len(tokens):,} words cannot be aligned with a template of {len(template):,}: "
            f"their product is over {MAX_CELLS:,}; shorten the template"
        )
    pairs = _trace(template, tokens, text)
    spans = []
    for each, (first, last, _) in zip(template, pairs, strict=True):
        if each is None:
            inside = tokens[first:last]
            nowhere = tokens[first - 1].end if first else 0
            spans.append((inside[0].start, inside[-1].end) if inside else (nowhere, nowhere))
    return tuple(spans), _rate(template, pairs)


def _rate(template: list[_Token | None], pairs: list[tuple[int, int, bool]]) -> float:
    """Return the share of the template that is found, 0 to 1; if all blanks are in code blocks, the blocks' share if
    larger.
    """
    in_block, blanks = False, set[bool]()
    sizes: dict[bool, list[int]] = {True: [0, 0], False: [0, 0]}
    for token, (_, _, matched) in zip(template, pairs, strict=True):
        if token is None:
            blanks.add(in_block)
        elif token.text.startswith("```"):
            in_block = not in_block
        else:
            sizes[in_block][matched] += len(token.text.strip())
    whole = [sum(size) for size in zip(*sizes.values(), strict=True)]
    lost, kept = min((whole, sizes[True] if blanks == {True} else whole), key=lambda size: size[0] / (sum(size) or 1))
    return kept / (lost + kept) if lost + kept else 1.0


def _tokens(text: str, token: re.Pattern[str], *, before_blank: bool = False) -> list[_Token]:
    tokens = []
    for match in token.finditer(text):
        word = match.group().casefold().translate(_ALIKE)
        word = " " if word.isspace() else word
        following = text[match.end() : match.end() + 4].lstrip("*_`'\"")
        if word == "." and (following[:1].isalnum() or (before_blank and not following)):
            word = ". "  # a point inside a name ends no sentence
        tokens.append(_Token(word, *match.span()))
    return tokens


def _trace(template: list[_Token | None], answer: list[_Token], text: str) -> list[tuple[int, int, bool]]:
    """Return for each template token the answer tokens that it takes, [first, last), and whether it is found."""
    import numpy as np

    numbers: dict[str, int] = {}
    codes = np.fromiter((numbers.setdefault(each.text, len(numbers)) for each in answer), np.int64, len(answer))
    each_taken = np.array(_taken(answer, text), np.int64)
    taken = np.concatenate(([0], np.cumsum(each_taken)))
    added = taken + ADDED * np.arange(len(answer) + 1, dtype=np.int64)
    sums: Sums = np.zeros(len(answer) + 1, np.int64)
    if template[0] is None:  # what begins with a blank begins a line or a sentence
        inside = (  # neither the first token of a line nor of a sentence
            place
            for place, (before, token) in enumerate(pairwise(answer), 1)
            if before.text not in _STOPS and "\n" not in text[before.start : token.start]
        )
        sums[[*inside]] = -(1 << 30)
    steps: list[tuple[NDArray[np.uint8], NDArray[np.uint8]]] = []
    for token in template:
        if token is None:
            reach = np.maximum.accumulate(sums + taken)
            filled = np.full_like(sums, -(1 << 60))
            filled[1:] = reach[:-1] - taken[1:]
            left, aside = np.packbits(reach - taken > sums), np.packbits(filled <= sums - EMPTY)
            sums = np.maximum(filled, sums - EMPTY)
        else:
            worth = _worth(token.text)
            diagonal = np.empty_like(sums)
            diagonal[0] = -(1 << 60)
            diagonal[1:] = sums[:-1] + np.where(codes == numbers.get(token.text, -1), worth, -LOST - each_taken)
            missing = sums - min(worth, LOST)
            here = np.maximum(diagonal, missing)
            sums = np.maximum.accumulate(here + added) - added
            left, aside = np.packbits(sums > here), np.packbits(diagonal >= missing)
        steps.append((left, aside))
    place = int(sums.argmax())
    pairs: list[tuple[int, int, bool]] = []
    for token, (left, aside) in zip(reversed(template), reversed(steps), strict=True):
        last = place
        if token is None and _set(aside, place):
            pairs.append((place, place, False))
            continue
        place -= token is None
        while _set(left, place):
            place -= 1
        if token is None:
            pairs.append((place, last, False))
        elif _set(aside, place):
            place -= 1
            pairs.append((place, place + 1, answer[place].text == token.text))
        else:
            pairs.append((place, place, False))
    return pairs[::-1]


def _set(bits: NDArray[np.uint8], bit: int) -> bool:
    return bool(bits[bit >> 3] >> (7 - (bit & 7)) & 1)


def _worth(word: str) -> int:
    return WORD * min(len(word), _LONGEST) if word[0].isalnum() or word[0] == "_" else MARK * len(word.strip() or word)


def _taken(answer: list[_Token], text: str) -> list[int]:
    """Return the price of each token in a blank."""
    ends = [0, *(token.end for token in answer)]
    breaks = [
        text.count("\n", end, token.end if token.text == " " else token.start)
        for end, token in zip(ends, answer, strict=False)
    ]
    return [TAKEN + (NEW_PARAGRAPH if lines > 1 else NEW_LINE if lines else 0) for lines in breaks]
