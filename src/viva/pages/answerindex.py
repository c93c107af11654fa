"""Index for listing, filtering, searching and sorting answers, in served pages and in files.

Answers to a question are adjacent. A column has a number for each answer. The script of a page in a file
(static/items.js) reads `AnswerIndex.plain`, and filters, searches and sorts by the same rules.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import Any
from urllib.parse import urlencode

import msgspec
import numpy as np
from msgspec import Struct

from viva.analysis.columns import Numbers, Text, coded, joined, tag_columns
from viva.pages.shell import CHOICES
from viva.runs.answers import FINER, finer
from viva.runs.following import slug
from viva.types import OUTCOMES, Question, ScoreRow, outcome_name
from viva.visible import one_line

LONGEST_QUERY = 200
MANY = 200
"""A tag with more values than this is no filter."""

CHANGES = ("worse", "better", "unscored", "same")
"""Changes of a question from a first run to a second."""
_FACETS = CHOICES["facets"]
_TAG = "t."
_SEVERAL = ","
"""Separates the values of a choice; a `slug` contains none."""


class Chosen(Struct, frozen=True, kw_only=True, omit_defaults=True, rename={"text": "q", "order": "sort"}):
    """The choice encoded in a URL: questions or answers, their order, and the display of texts.

    Names and values are `slug`s: those of models and tags are untrusted texts.
    """

    picks: tuple[tuple[str, str], ...] = ()
    """Key of a facet, and a value, or several separated by commas, one of which an answer must have."""
    text: str = ""
    show: str = ""
    """A change (of `CHANGES`) that questions asked of several models must have."""
    order: str = ""
    view: str = ""
    """The display of texts."""
    a: int = 0
    """For two runs, the number of the first's evaluation, from 1, or 0 for the first that fits; `b` is that of the
    second."""
    b: int = 0
    page: int = 1

    @classmethod
    def read(cls, query: Mapping[str, str]) -> Chosen:
        """Return the choice in a query string; invalid values are ignored."""
        picks = [(key, value) for key, value in query.items() if value and (key in _FACETS or key.startswith(_TAG))]
        words = {name: query[name] for name in ("show", "sort", "view") if query.get(name) in CHOICES[name]}
        numbers = {name: number for name in ("a", "b", "page") if (number := number_in(query.get(name, "")))}
        text = " ".join(query.get("q", "")[:LONGEST_QUERY].split())
        return msgspec.convert({"picks": picks[:24], "q": text, **words, **numbers}, cls)

    def query(self, **changes: object) -> str:
        """Return the query string of the choice, with changes; on the first page, unless they give another."""
        values = msgspec.to_builtins(msgspec.structs.replace(self, **{"page": 1, **changes}))
        return urlencode(dict(values.pop("picks", ())) | values, errors="replace")

    def pick(self, key: str) -> str:
        """Return the chosen value of a facet; "" for any."""
        return dict(self.picks).get(key, "")

    @property
    def anything(self) -> bool:
        """Whether anything differs from the initial list."""
        return msgspec.structs.replace(self, view="", a=0, b=0, page=1) != Chosen()


def answers_of(exam: str, model: str, where: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Return the query string for a model's answers to an exam, to questions with one of these values of each tag."""
    tags = [(f"{_TAG}{slug(name)}", _SEVERAL.join(map(slug, values))) for name, values in where]
    return Chosen(picks=(("exam", slug(exam)), ("model", slug(model)), *tags)).query()


def number_in(text: str) -> int:
    """Return the number in a part of a URL; 0 if it is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


class Column(Struct, frozen=True):
    """A property with one value for each answer."""

    title: str
    words: Text
    """The values in URLs."""
    texts: Sequence[str]
    """The values as displayed."""

    def plain(self) -> dict[str, Any]:
        """Return the column as the page's script reads it."""
        keys = {} if self.words.values == self.texts else {"keys": self.words.values}
        return {"codes": self.words.codes.tolist(), "words": self.texts, **keys}


_SAID: Mapping[str, Callable[[str], str]] = {"outcome": outcome_name, "finer": lambda word: FINER[word][1]}
"""Columns of known words, and functions that return a word's displayed text."""


class AnswerIndex:
    """Answers in columns. Made by `add`, then `finish`."""

    def __init__(self) -> None:
        self._known: dict[str, dict[Any, int]] = {
            "exam": {}, "model": {}, "outcome": {word: index for index, word in enumerate(OUTCOMES)},
            "finer": {word: index for index, word in enumerate(FINER)}, "question": {}, "value": {},
        }  # fmt: skip
        self._chunks: list[dict[str, Numbers]] = []
        self.columns: dict[str, Column] = {}
        self.add(())

    def add(self, rows: Sequence[ScoreRow]) -> None:
        """Add answers; those to a question must be adjacent."""
        texts: dict[str, list[Any]] = {
            name: list(map(attrgetter(name), rows)) for name in ("exam", "model", "outcome", "question")
        }
        texts["finer"] = [finer(row, row.stopped) or None for row in rows]
        texts["value"] = [None if row.value is None else round(row.value, 4) for row in rows]
        columns = {name: coded(words, self._known[name]) for name, words in texts.items()}
        columns |= tag_columns([row.tags for row in rows], self._known)
        self._chunks.append({"sample": np.array([row.sample for row in rows], dtype=np.int32), **columns})

    def finish(self) -> None:
        """Make the columns of the added answers."""
        self.samples = joined(self._chunks, "sample", np.int32(-1))
        for name, known in self._known.items():
            words, codes = list(known), joined(self._chunks, name, np.int32(-1))
            tag = name.removeprefix("tag:")
            key, title = (name, _FACETS.get(name, "")) if tag == name else (f"{_TAG}{slug(tag)}", label(tag))
            texts = words if name == "value" else list(map(_SAID.get(name, label), words))
            addressed = key != name or name in ("exam", "model")
            keys = list(map(slug, words)) if addressed else texts if name == "question" else words
            self.columns[key] = Column(title or "(no name)", Text(keys, codes), texts)
        self._chunks.clear()

    @cached_property
    def facets(self) -> Mapping[str, tuple[str, Sequence[tuple[str, str, int]]]]:
        """The filters: key → title, and word, text and number of answers of each value. Tags with a single value, or
        more than `MANY`, are left out.
        """
        made = {}
        for key, column in self.columns.items():
            if self._is_facet(key):
                counts = np.bincount(column.words.codes + 1, minlength=len(column.texts) + 1)[1:].tolist()
                known = [entry for entry in zip(column.words.values, column.texts, counts, strict=True) if entry[2]]
                made[key] = (column.title, sorted(known) if key.startswith(_TAG) else known)
        return made

    def _is_facet(self, key: str) -> bool:
        return key in _FACETS or (key.startswith(_TAG) and 1 < len(self.columns[key].texts) <= MANY)

    def chosen(self, picks: Iterable[tuple[str, str]]) -> Numbers:
        """Return the answers that match the choice, in the order of the index."""
        left = np.ones(len(self.samples), dtype=bool)
        for key, value in picks:
            left &= key in self.columns and self.columns[key].words.among(value.split(_SEVERAL))
        return np.flatnonzero(left)

    def ordered(self, items: Numbers, order: str) -> Numbers:
        """Return answers in an order; those without a score come last, equal ones as asked."""
        if order not in ("lowest", "highest"):
            return items
        words = self.columns["value"].words
        values = np.array([*words.values, np.nan], dtype=float)[words.codes[items]]
        return items[np.argsort(values if order == "lowest" else -values, kind="stable")]

    def plain(self) -> dict[str, Any]:
        """Return the index as the page's script reads it."""
        shown = {key: words.plain() for key, words in self.columns.items() if key[:2] != _TAG or self._is_facet(key)}
        return {"columns": shown, "sample": self.samples.tolist()}


def noteworthy(rows: Sequence[ScoreRow]) -> list[tuple[str, str, str, int]]:
    """Return outcomes other than right and wrong: facet, word and text of each, and its number of answers."""
    outcomes, causes = Counter(map(attrgetter("outcome"), rows)), Counter(finer(row, row.stopped) for row in rows)
    return [
        (key, word, _SAID[key](word), count)
        for key, words, counts in (("outcome", OUTCOMES, outcomes), ("finer", tuple(FINER), causes))
        for word in words
        if (count := counts[word]) and word not in ("right", "partly", "wrong")
    ]


@lru_cache(maxsize=10_000)
def label(text: str) -> str:
    """Return a name as lists show it."""
    return one_line(text, 200)


def about(question: Question) -> str:
    """Return the text of a question that a search covers."""
    return "\n".join((question.id, question.text, *question.options))


def folded(text: str) -> str:
    """Return a text folded for search: ignoring case and width."""
    return (text if text.isascii() else unicodedata.normalize("NFKC", text)).lower()


def words_of(text: str) -> list[str]:
    """Return the search words of a query; a quoted phrase is one."""
    return [folded(phrase or word) for phrase, word in re.findall(r'"([^"]+)"|(\S+)', text)]
