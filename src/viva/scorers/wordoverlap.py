"""Exact match and F1 of an answer's words, as SQuAD and DROP define them.

SQuAD (Rajpurkar et al., EMNLP 2016, section 6.1): case, punctuation (ASCII), articles and repeated blanks do not count;
F1 is over the tokens as bags; the best of the accepted answers counts.

DROP (Dua et al., NAACL 2019, section 5): case, articles and punctuation do not count, numbers count by value; the spans
of an answer are matched one to one, each F1 over sets of tokens, and 0 where the gold span has a number that the other
lacks; the best of the accepted answers counts.
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import permutations, product

_ARTICLES = frozenset({"a", "an", "the"})
_ARTICLE = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_QUOTES = str.maketrans("", "", "“”‘’")
_MOST_ALIGNED = 6
"""Most spans for which all matchings are tried; of more, the best pairs are taken first."""


def normal_form(text: str) -> str:
    """Return a text in lower case, without punctuation and articles, with single blanks."""
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(given: str, accepted: Sequence[str]) -> float:
    """Return 1.0 where the normalised text equals that of an accepted answer, else 0.0."""
    form = normal_form(given)
    return float(any(form == normal_form(form_accepted) for form_accepted in accepted))


def token_f1(given: str, accepted: Sequence[str]) -> float:
    """Return the best F1 over the accepted answers; 1.0 where both are empty."""
    return max((_f1(normal_form(given).split(), normal_form(form).split()) for form in accepted), default=0.0)


def _f1(given: Iterable[str], wanted: Iterable[str]) -> float:
    mine, theirs = Counter(given), Counter(wanted)
    words = (mine + theirs).total()
    return 2 * (mine & theirs).total() / words if words else 1.0


def drop_scores(given: str, accepted: Sequence[str]) -> tuple[float, float]:
    """Return exact match and F1 of a reply against the best of the answers; ` & ` separates the spans of one answer."""
    best = (0.0, 0.0)
    for answer in accepted:
        gold = [_tokens(span) for span in answer.split(" & ")]
        spans = re.split(r"\s*(?:[&;\n|]|,(?!\d)|\band\b)\s*", given) if len(gold) > 1 else [given]
        mine = [tokens for span in spans if (tokens := _tokens(span))] or [[]]
        best = max(best, (float(sorted(mine) == sorted(gold)), round(_aligned(mine, gold), 2)))
    return best


def _tokens(text: str) -> list[str]:
    """Return the words of a text in normal form: numbers as numbers, without articles and punctuation."""
    tokens = []
    for token in re.split(r"[ \-\t\n]+", text.lower()):
        number = _number(token)
        word = number if number is not None else token.translate(_PUNCTUATION).translate(_QUOTES)
        if word and word not in _ARTICLES:
            tokens.append(word)
    return tokens


def _number(token: str) -> str | None:
    bare = token.strip("$€£%.,;:!?()[]\"'").replace(",", "")
    return str(float(bare)) if re.fullmatch(r"[+-]?\d{1,30}(?:\.\d{1,30})?", bare) else None


def _span_f1(given: Sequence[str], gold: Sequence[str]) -> float:
    numbers = {word for word in gold if _number(word) is not None}
    return 0.0 if numbers and numbers.isdisjoint(given) else _f1(set(given), set(gold))


def _aligned(given: Sequence[Sequence[str]], gold: Sequence[Sequence[str]]) -> float:
    """Return the mean F1 of the best one-to-one matching; spans without a partner count 0."""
    table = [[_span_f1(mine, theirs) for theirs in gold] for mine in given]
    size = max(len(given), len(gold))
    if size <= _MOST_ALIGNED:
        padded = [row + [0.0] * (size - len(gold)) for row in table] + [[0.0] * size] * (size - len(given))
        return (
            max(
                math.fsum(padded[row_index][to] for row_index, to in enumerate(order))
                for order in permutations(range(size))
            )
            / size
        )
    total, rows, columns = 0.0, set(range(len(given))), set(range(len(gold)))
    for row, column in sorted(product(rows, columns), key=lambda pair: -table[pair[0]][pair[1]]):
        if row in rows and column in columns:
            total += table[row][column]
            rows.remove(row)
            columns.remove(column)
    return total / size
