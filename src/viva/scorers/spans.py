"""How well one phrase repeats another, word for word and in order: SynEval's fill-in-the-blank score.

From arXiv 2311.08287 (Metrics). With tp the length of the longest common subsequence of the two token lists,

    P = tp / |answer|    R = tp / |gold|    F1 = 2 tp / (|answer| + |gold|)    exact: tp = |answer| = |gold|

Tokens are lower-cased; an escaped slash (`7\\/8`, as treebanks have it) is a slash; words are split as NLTK's
`word_tokenize` splits a single sentence, which needs no download; a single punctuation mark or a quote is no token.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import string
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from types import ModuleType
from typing import Any

from msgspec import Struct

_DROPPED = frozenset(string.punctuation) | frozenset("“”„‟«»‹›‘’‚‛") | {"``", "''"}
_WORD = r"(?:\$?[a-z0-9]+(?:[-.,'/][a-z0-9]+)*(?:%|'s?)?[.,;:]?|[$%&]|--)"
_PLAIN = re.compile(rf"{_WORD}(?: {_WORD})*")
"""Texts without quotes and brackets: there, each word is split by itself, whatever stands beside it."""
_REMEMBERED = 400
"""Characters up to which a text's tokens are kept: gold answers come again with every model and seed."""


class SpanScore(Struct, frozen=True):
    """What the best candidate earns. `candidate` is that one, `accepted` the gold answer that it was held to."""

    f1: float
    exact: bool
    precision: float
    recall: float
    candidate: str = ""
    accepted: str = ""


def score_span(candidates: Iterable[str], accepted: Iterable[str]) -> SpanScore:
    """The best F1 of any candidate with any accepted answer; the earlier pair where two are equal.

    Without a candidate, or where an answer has no token at all ("%"), nothing is earned.
    """
    best = SpanScore(0.0, exact=False, precision=0.0, recall=0.0)
    golds = [(gold, tokens(gold)) for gold in accepted]
    for candidate in candidates:
        answer = tokens(candidate)
        for gold, wanted in golds:
            common = common_length(answer, wanted)
            f1 = 2 * common / (len(answer) + len(wanted)) if common else 0.0
            if f1 > best.f1 or not best.accepted:
                exact = 0 < common == len(answer) == len(wanted)
                precision, recall = (common / len(answer), common / len(wanted)) if common else (0.0, 0.0)
                best = SpanScore(f1, exact, precision, recall, candidate, gold)
    return best


def common_length(first: Sequence[str], second: Sequence[str]) -> int:
    """The length of the longest common subsequence.

    Bit-parallel (Hyyrö, 2004): the bits of one whole number say where the table's row does not step, so that a row
    costs three operations on it; two answers of 200 tokens take a tenth of a millisecond.
    """
    if len(first) > len(second):
        first, second = second, first
    where: dict[str, int] = {}
    for index, token in enumerate(first):
        where[token] = where.get(token, 0) | 1 << index
    full = (1 << len(first)) - 1
    flat = full
    for token in second:
        if hits := where.get(token, 0) & flat:
            flat = ((flat + hits) | (flat - hits)) & full
    return len(first) - flat.bit_count()


def tokens(text: str) -> tuple[str, ...]:
    """The tokens that are compared."""
    return _remembered(text) if len(text) <= _REMEMBERED else _tokens(text)


def _tokens(text: str) -> tuple[str, ...]:
    text = text.lower().replace("\\/", "/")
    if not _PLAIN.fullmatch(text):
        return _split(text)
    words = text.split(" ")
    pieces = [piece for word in words[:-1] for piece in _inner(word)]
    return (*pieces, *_last(words[-1]))


_remembered = lru_cache(maxsize=65_536)(_tokens)


@lru_cache(maxsize=65_536)
def _inner(word: str) -> tuple[str, ...]:
    """The tokens of a word that others follow: "cannot", "company's", "Mr."."""
    return _split(f"{word} x")[:-1]


@lru_cache(maxsize=65_536)
def _last(word: str) -> tuple[str, ...]:
    """The tokens of the last word, whose stop is split off."""
    return _split(word)


def _split(text: str) -> tuple[str, ...]:
    tokenize = _quick_tokenizer() if len(text) <= _REMEMBERED else _tokenizer()
    return tuple(token for token in tokenize(text) if token not in _DROPPED)


@cache
def _quick_tokenizer() -> Callable[[str], list[str]]:
    """The same tokenizer with its patterns compiled by the standard library, which keeps replacements compiled too.

    NLTK runs them through a guard against hostile texts, which takes most of the time; where a text is short there is
    nothing to guard against. Patterns that the standard library does not know are left as they are.
    """
    tokenizer = _nltk().NLTKWordTokenizer()
    for name in ("STARTING_QUOTES", "PUNCTUATION", "ENDING_QUOTES"):
        setattr(tokenizer, name, [(_plain_pattern(pattern), text) for pattern, text in getattr(tokenizer, name)])
    for name in ("PARENS_BRACKETS", "DOUBLE_DASHES"):
        pattern, text = getattr(tokenizer, name)
        setattr(tokenizer, name, (_plain_pattern(pattern), text))
    for name in ("CONTRACTIONS2", "CONTRACTIONS3"):
        setattr(tokenizer, name, [_plain_pattern(pattern) for pattern in getattr(tokenizer, name)])
    tokenize: Callable[[str], list[str]] = tokenizer.tokenize
    return tokenize


def _plain_pattern(pattern: Any) -> Any:
    try:
        return re.compile(pattern.pattern)
    except re.error:
        return pattern


@cache
def _tokenizer() -> Callable[[str], list[str]]:
    """NLTK's NLTKWordTokenizer: what `word_tokenize` applies to every sentence that Punkt has found.

    Whichever part of NLTK is imported, its package imports everything first, SciPy included: 1.4 s and 110 MB. The
    tokenizer needs none of it, so its module is loaded with empty packages around it, which are then taken away again
    (a later `import nltk` finds nothing of this). Should a future NLTK be laid out otherwise, it is imported as usual.
    """
    tokenize: Callable[[str], list[str]] = _nltk().NLTKWordTokenizer().tokenize
    return tokenize


@cache
def _nltk() -> ModuleType:
    return sys.modules.get("nltk.tokenize.destructive") or _without_package() or _ordinary()


def _ordinary() -> ModuleType:
    return importlib.import_module("nltk.tokenize.destructive")


def _without_package() -> ModuleType | None:
    package = importlib.util.find_spec("nltk")
    if "nltk" in sys.modules or package is None or not package.submodule_search_locations:
        return None
    folders = list(package.submodule_search_locations)
    shells = {"nltk": folders, "nltk.tokenize": [f"{folder}/tokenize" for folder in folders]}
    try:
        for name, path in shells.items():
            shell = ModuleType(name)
            shell.__path__ = path
            sys.modules[name] = shell
        return _ordinary()
    except (ImportError, AttributeError):
        return None
    finally:
        for name in [name for name in sys.modules if name == "nltk" or name.startswith("nltk.")]:
            del sys.modules[name]
