"""Hashes of the words of texts, and of runs of words or characters, to find near-duplicates and leakage.

A token is a run of letters and digits, or one Chinese, Japanese or Korean character (their words are not separated by
blanks). Case, full width, punctuation and blanks are ignored. Everything is computed for many texts at once with NumPy,
and is the same on every machine: nothing depends on Python's salted hashes.

A run of tokens is hashed by differences of one running sum modulo 2^64: sum(x_j * B^j), shifted back by the inverse of
B, which is odd and so has one (Karp and Rabin 1987). A text can be built to make two runs collide, so passages are
compared character by character before they are reported.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]
_BASE, _STEP = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93  # odd, of no structure: the golden ratio, and Stafford's
_PLANE = 0x10000
_APART, _WORD, _ALONE = 0, 1, 2
_CJK = ((0x2E80, 0x2FDF), (0x3005, 0x3007), (0x3040, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF),
        (0xAC00, 0xD7AF), (0xF900, 0xFAFF), (0xFF66, 0xFF9F))  # fmt: skip


class Hashed(Struct, frozen=True):
    """Hashes of several texts' parts, one text after the other; `bounds`: where each begins, and an end."""

    hashes: U64
    bounds: I64

    def of(self, index: int) -> U64:
        """Return the hashes of one text's parts."""
        return self.hashes[self.bounds[index] : self.bounds[index + 1]]


class Tokens(Hashed, frozen=True):
    """The tokens of several texts, one after the other.

    `hashes`, `starts`, `ends`: one a token, places in `text` (all texts joined, in NFC). `bounds`: where each text's
    tokens begin, and an end (texts + 1). `origins`: where each text begins in `text`.
    """

    text: str
    folded: NDArray[np.uint32]
    starts: I64
    ends: I64
    origins: I64

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def passage(self, first: int, count: int) -> str:
        """Return the original text of `count` tokens, from the token `first`."""
        return self.text[int(self.starts[first]) : int(self.ends[first + count - 1])]


@cache
def _plane() -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Return for each character of the basic plane its folded form (one character) and its class."""
    folds = np.arange(_PLANE, dtype=np.uint32)
    classes = np.zeros(_PLANE, dtype=np.uint8)
    for code in range(_PLANE):
        if 0xD800 <= code < 0xE000:
            continue
        character = chr(code)
        wide = unicodedata.normalize("NFKC", character)
        same = (wide if len(wide) == 1 else character).casefold()
        same = same if len(same) == 1 else (wide if len(wide) == 1 else character).lower()
        folds[code] = ord(same) if len(same) == 1 else code
        # A combining mark belongs to the word of its letter.
        classes[code] = _WORD if same.isalnum() or unicodedata.category(character) in ("Mn", "Mc") else _APART
    for first, last in _CJK:
        span = slice(first, last + 1)
        classes[span] = np.where(classes[span] == _WORD, _ALONE, classes[span])
    return folds, classes


def _folded(text: str) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    folds, classes = _plane()
    if not len(codes) or int(codes.max()) < _PLANE:
        return folds[codes], classes[codes]
    low = codes < _PLANE
    folded, kinds = codes.copy(), np.zeros(len(codes), dtype=np.uint8)
    folded[low], kinds[low] = folds[codes[low]], classes[codes[low]]
    for code in np.unique(codes[~low]).tolist():
        kinds[codes == code] = _ALONE if 0x20000 <= code < 0x40000 else _WORD if chr(code).isalnum() else _APART
    return folded, kinds


def mixed(values: U64) -> U64:
    """Return each value scattered over all 64 bits (the finaliser of SplitMix64)."""
    with np.errstate(over="ignore"):
        state = values + np.uint64(_BASE)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return state ^ (state >> np.uint64(31))


@cache
def _powers(base: int, count: int) -> tuple[U64, U64]:
    """Return base^0 … base^count, and the powers of its inverse, modulo 2^64; `count` is a power of two."""
    products = []
    for factor in (base, pow(base, -1, 1 << 64)):
        powers = np.ones(count + 1, dtype=np.uint64)
        powers[1:] = np.uint64(factor)
        products.append(np.multiply.accumulate(powers))
    return products[0], products[1]


def _runs(values: U64, starts: I64, ends: I64, base: int) -> U64:
    """Return a hash of each run values[start:end], independent of its position."""
    count = 1 << max(10, (len(values) + 1).bit_length())
    powers, inverse = _powers(base, count)
    sums = np.zeros(len(values) + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        np.cumsum(values * powers[: len(values)], out=sums[1:])
        hashes = (sums[ends] - sums[starts]) * inverse[starts]
        return mixed(hashes + (ends - starts).astype(np.uint64) * np.uint64(_STEP))


def tokens_of(texts: Sequence[str]) -> Tokens:
    """Return the tokens of texts. Lone surrogates are no letters: they separate words."""
    whole = [text if text.isascii() else unicodedata.normalize("NFC", text) for text in texts]
    joined = "\n".join(whole)
    lengths = np.fromiter((len(text) for text in whole), dtype=np.int64, count=len(whole))
    origins = np.concatenate(([0], np.cumsum(lengths + 1)))[:-1].astype(np.int64)
    folded, kinds = _folded(joined)
    nothing = np.uint8(_APART)
    before, after = np.append(nothing, kinds)[:-1], np.append(kinds, nothing)[1:]
    starts = np.flatnonzero((kinds == _ALONE) | ((kinds == _WORD) & (before != _WORD)))
    ends = np.flatnonzero((kinds == _ALONE) | ((kinds == _WORD) & (after != _WORD))) + 1
    hashes = _runs(mixed(folded.astype(np.uint64)), starts, ends, _BASE)
    bounds = np.concatenate((np.searchsorted(starts, origins), [len(starts)])).astype(np.int64)
    return Tokens(hashes, bounds, joined, folded, starts, ends, origins)


class Grams(Hashed, frozen=True):
    """Runs of one length of several texts: `hashes`, `first` (the token, or character, each begins with), `bounds`."""

    first: I64


def word_grams(tokens: Tokens, length: int, *, short: bool = True) -> Grams:
    """Return every run of `length` tokens. A text with fewer is one run of all its tokens (`short`), or has none."""
    return _grams(tokens.hashes, tokens.bounds[:-1], np.diff(tokens.bounds), length, short=short)


def _grams(values: U64, begins: I64, counts: I64, length: int, *, short: bool) -> Grams:
    """Return every run of `length` values of each text, which has `counts` values from `begins` on."""
    grams = np.maximum(counts - length + 1, np.minimum(counts, 1) if short else 0)
    first = spans(begins, grams)
    lengths = np.repeat(np.minimum(counts, length), grams)
    return Grams(_runs(values, first, first + lengths, _STEP), np.append(0, np.cumsum(grams)), first)


def character_grams(tokens: Tokens, length: int) -> Grams:
    """Return every run of `length` characters, words separated by one blank. A shorter text is one run."""
    sizes = tokens.ends - tokens.starts
    counts = np.diff(tokens.bounds)
    owners = np.repeat(np.arange(len(counts)), counts)
    # Each token with a blank behind it, but for the last of a text.
    last = np.zeros(len(sizes), dtype=bool)
    last[(tokens.bounds[1:] - 1)[counts > 0]] = True
    wide = sizes + ~last
    places = spans(tokens.starts, wide)
    codes = tokens.folded[np.minimum(places, max(0, len(tokens.folded) - 1))].astype(np.uint64)
    blank = np.flatnonzero(~last)
    codes[np.cumsum(wide)[blank] - 1] = 32
    totals = np.bincount(owners, weights=wide, minlength=len(counts)).astype(np.int64)
    return _grams(mixed(codes), np.append(0, np.cumsum(totals))[:-1], totals, length, short=True)


def spans(starts: NDArray[Any], counts: NDArray[Any]) -> I64:
    """Return start, start + 1, … (`counts` values) for each start, concatenated."""
    total = int(counts.sum())
    offsets = np.append(0, np.cumsum(counts))[:-1]
    indices: I64 = (np.arange(total) + np.repeat(starts - offsets, counts)).astype(np.int64)
    return indices
