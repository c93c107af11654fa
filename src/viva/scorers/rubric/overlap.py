"""ROUGE: how much of a reference an answer repeats (Lin, 2004, https://aclanthology.org/W04-1013).

The numbers are those of the package rouge-score 0.1.2 without stemming, to the last bit (InfiBench's specification,
section 6; the tests compare). Not used itself, because that package takes 1.5 s to import and 6 ms an answer: here
longest common subsequences are found with the bits of whole numbers (Crochemore et al., 2001; Hyyrö, 2004).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from viva.errors import VivaError
from viva.scorers.rubric.rubrics import Overlap, Points, Similarity
from viva.scorers.spans import common_length, places_in

MAX_WORK: Final = 20_000_000
"""Tokens of the reference times lines of the answer, for rougeLsum: a second or two."""

_LONG = 100_000
"""Characters."""

Tokens = tuple[str, ...]

_TOKEN = re.compile(r"[a-z0-9]+")


class SimilarityError(VivaError):
    """A similarity item that cannot be used for grading."""


def grade_similarity(items: Sequence[Similarity], text: str) -> Points:
    """Return the points of similarity items: F1 with the best reference, from [low, high] to [0, 1], times the weight.

    Raises SimilarityError for an item without references, or whose `high` is not above its `low`.
    """
    details: list[str] = []
    points = total = 0.0
    for item in items:
        if not item.references:
            raise SimilarityError(f"the {item.metric} item has no references: give at least one")
        if not item.low < item.high:
            raise SimilarityError(f"the {item.metric} item goes from {item.low} to {item.high}: high must be above low")
        best = 0.0 if _hopeless(item, text) else max(rouge(item.metric, each, text) for each in item.references)
        share = min(max((best - item.low) / (item.high - item.low), 0.0), 1.0)
        points += share * item.weight
        total += item.weight
        details.append(
            f"{share * item.weight:+.3g} {item.metric} {best:.3f}, from {item.low:g} (nothing) to {item.high:g} (all)"
        )
    return Points(points, total, tuple(details))


def _hopeless(item: Similarity, text: str) -> bool:
    """Return whether a text is too long to reach `low`, so that it need not be compared."""
    if len(text) < _LONG:
        return False
    given = sum(1 for _ in _TOKEN.finditer(text.lower()))
    wanted = max(len(_tokens(reference)) for reference in item.references)
    return wanted < given and 2 * wanted / (wanted + given) < item.low * (1 - 1e-9)


def rouge(metric: Overlap, reference: str, text: str) -> float:
    """Return the F1 of a ROUGE metric, from 0 to 1.

    Raises SimilarityError where rougeLsum would take more than `MAX_WORK` steps.
    """
    if metric == "rougeLsum":
        return _summary(_lines(reference), _split(text))
    wanted, given = _tokens(reference), tuple(_TOKEN.findall(text.lower()))
    if metric == "rougeL":
        return _f1(common_length(wanted, given), len(wanted), len(given))
    return _ngrams(wanted, given, int(metric[-1]))


@lru_cache(maxsize=256)
def _tokens(reference: str) -> Tokens:
    return tuple(_TOKEN.findall(reference.lower()))


def _split(text: str) -> tuple[Tokens, ...]:
    """Return the tokens of every line that has any."""
    lines = (tuple(_TOKEN.findall(line)) for line in text.lower().split("\n"))
    return tuple(line for line in lines if line)


_lines = lru_cache(maxsize=256)(_split)


def _f1(hits: int, reference: int, text: int) -> float:
    """Return F1 from hits and the two counts, with the operations of the published numbers in their order."""
    precision, recall = hits / max(text, 1), hits / max(reference, 1)
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def _ngrams(reference: Tokens, text: Tokens, n: int) -> float:
    """Return the F1 of n-grams; each counts as often as it occurs in both."""
    wanted = Counter(zip(*(reference[k:] for k in range(n)), strict=False))
    given = Counter(zip(*(text[k:] for k in range(n)), strict=False))
    hits = sum(min(count, given[gram]) for gram, count in wanted.items() if gram in given)
    return _f1(hits, max(len(reference) - n + 1, 0), max(len(text) - n + 1, 0))


def _summary(reference: Sequence[Tokens], text: Sequence[Tokens]) -> float:
    """Return rougeLsum's F1: each reference line counts its union of common subsequences with all lines of the text.

    A token counts at most as often as it occurs in the text.
    """
    wanted = sum(map(len, reference))
    given = sum(map(len, text))
    if not wanted or not given:
        return 0.0
    lines = list(dict.fromkeys(text))  # the same line again adds nothing to a union
    if wanted * len(lines) > MAX_WORK:
        raise SimilarityError(
            f"an answer of {len(lines):,} lines cannot be compared with a reference of {wanted:,} words: shorten it"
        )
    places = [(places_in(line), len(line)) for line in lines]
    common = Counter(
        line[i] for line in reference for i in set[int]().union(*(_in_common(line, *place) for place in places))
    )
    counts = Counter(token for line in text for token in line if token in common)
    return _f1(sum(min(count, counts[token]) for token, count in common.items()), wanted, given)


def _in_common(reference: Tokens, places: dict[str, int], length: int) -> set[int]:
    """Return the indices of a reference line that are in the longest common subsequence with a line.

    Among several subsequences the published rule decides: from the end of both backwards, equal tokens
    first, else a token of the reference is dropped unless that makes the rest shorter.
    """
    flat = whole = (1 << length) - 1
    rows: list[tuple[int, int, int]] = []
    for i, token in enumerate(reference):
        if here := places.get(token, 0):
            hit = flat & here
            total, rest = flat + hit, flat ^ hit
            rows.append((i, here, ((total ^ rest) >> 1) | here))  # the token's places, or those that gained from it
            flat = (total | rest) & whole
    common: set[int] = set()
    j = length - 1
    for i, here, gained in reversed(rows):
        if j >= 0 and gained >> j & 1:
            common.add(i)
            j = (here & ((2 << j) - 1)).bit_length() - 2
    return common
