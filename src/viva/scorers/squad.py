"""Exact match and token F1 as SQuAD defines them.

Rajpurkar et al., "SQuAD: 100,000+ Questions for Machine Comprehension of Text", EMNLP 2016, section 6.1: case,
punctuation (ASCII), articles and repeated blanks do not count; F1 is over the tokens as bags; the best of the accepted
answers counts.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normal_form(text: str) -> str:
    """A text in lower case, without punctuation and articles, blanks single."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(said: str, accepted: Sequence[str]) -> float:
    """1.0 where the normalised text is that of an accepted answer, else 0.0."""
    form = normal_form(said)
    return float(any(form == normal_form(one) for one in accepted))


def token_f1(said: str, accepted: Sequence[str]) -> float:
    """The best F1 over the accepted answers; 1.0 where both are empty."""
    return max((_f1(normal_form(said).split(), normal_form(one).split()) for one in accepted), default=0.0)


def _f1(said: list[str], wanted: list[str]) -> float:
    if not said or not wanted:
        return float(said == wanted)
    common = sum((Counter(said) & Counter(wanted)).values())
    return 2 * common / (len(said) + len(wanted))
