"""The index of answers: by what they are listed, chosen, searched and sorted, in served pages and in files alike.

Answers to a question come together. A column holds a number an answer, or a number a question where all answers to it
share it. `AnswerIndex.plain` is what the script of a page in a file reads (static/items.js), which chooses, searches
and sorts by the same rules.
"""

from __future__ import annotations

import base64
import re
import sys
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from viva.pages.runs.following import slug
from viva.pages.shell import CHOICES
from viva.runs.answers import FINER, finer
from viva.types import OUTCOMES, Question, ScoreRow, outcome_name
from viva.visible import one_line

LONGEST_QUERY = 200
MANY = 200
"""A tag with more values than this is no filter."""

CHANGES = ("worse", "better", "unscored", "same")
"""What became of a question in a second run."""
_FACETS = CHOICES["facets"]
_TAG = "t."
_SEVERAL = ","
"""Between values of a choice; a `slug` has none."""
_WORDS = {"show": "show", "order": "sort", "view": "view"}
"""Field of `Chosen` → its name in an address, one of a few words."""
_NAMES = {"text": "q", **_WORDS, "a": "a", "b": "b"}


class Chosen(Struct, frozen=True, kw_only=True):
    """What an address chooses: questions or answers, their order, and how texts are shown.

    Names and values are `slug`s: those of models and tags are hostile texts, which addresses alter.
    """

    picks: tuple[tuple[str, str], ...] = ()
    """Key of a facet, and a value, or several with a comma between them, of which an answer has any."""
    text: str = ""
    show: str = ""
    """Of questions that several were asked those of which this became."""
    order: str = ""
    view: str = ""
    """How texts are shown."""
    a: int = 0
    """Of two runs the evaluation of the first, from 1; 0 for the first that fits, as `b` of the second."""
    b: int = 0
    page: int = 1

    @classmethod
    def read(cls, query: Mapping[str, str]) -> Chosen:
        """From an address; what it says wrongly is left out."""
        picks = [(key, value) for key, value in query.items() if value and (key in _FACETS or key.startswith(_TAG))]
        words = {field: query[name] for field, name in _WORDS.items() if query.get(name) in CHOICES[name]}
        a, b, page = (number_in(query.get(name, "")) for name in ("a", "b", "page"))
        text = " ".join(query.get("q", "")[:LONGEST_QUERY].split())
        return cls(picks=tuple(picks[:24]), text=text, a=a, b=b, page=max(1, page), **words)

    def query(self, **changes: object) -> str:
        """Return the same as an address says it, or with changes; on the first page, unless they say another."""
        one = msgspec.structs.replace(self, **{"page": 1, **changes})
        said = dict(one.picks) | {name: getattr(one, field) for field, name in _NAMES.items()}
        said["page"] = one.page if one.page > 1 else 0
        return urlencode({name: value for name, value in said.items() if value}, errors="replace")

    def pick(self, key: str) -> str:
        """Return the value that is chosen of a facet; "" for any."""
        return dict(self.picks).get(key, "")

    @property
    def anything(self) -> bool:
        """Whether it is not a list as it opens."""
        return msgspec.structs.replace(self, view="", a=0, b=0, page=1) != Chosen()


def answers_of(exam: str, model: str, where: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Return as an address says it a model's answers to an exam, to questions with one of these values of each tag."""
    tags = [(f"{_TAG}{slug(name)}", _SEVERAL.join(map(slug, values))) for name, values in where]
    return Chosen(picks=(("exam", slug(exam)), ("model", slug(model)), *tags)).query()


def number_in(text: str) -> int:
    """Return the number that an address says; 0 for none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


class Column:
    """Words as numbers; -1 where there is none."""

    def __init__(self, title: str = "", texts: Mapping[str, str] | None = None, *, shared: bool = False) -> None:
        """`texts`: of all words, in their order, where they are known; `shared`: a number is a question's."""
        self.title = title
        self.shared = shared
        self.codes = array("i")
        self._texts: Mapping[str, str] = texts or {}
        self.words: dict[Any, int] = {word: code for code, word in enumerate(texts or ())}

    def add(self, word: str | float | None) -> None:
        """Take in the next one's word."""
        self.codes.append(-1 if word is None else self.words.setdefault(word, len(self.words)))

    def fill(self, length: int) -> None:
        """Bring the column to this length: those that come have no word."""
        self.codes.extend([-1] * (length - len(self.codes)))

    def keyed(self) -> Iterator[tuple[str, str]]:
        """Yield of each word what an address calls it, and its text."""
        for word in self.words:
            yield (word, self._texts[word]) if self._texts else (slug(word), label(word))

    def plain(self) -> dict[str, Any]:
        """Return it as the page reads it."""
        made: dict[str, Any] = {"codes": integers(self.codes), "shared": self.shared, "words": list(self.words)}
        if self.title:
            keys, texts = zip(*self.keyed(), strict=True) if self.words else ((), ())
            made |= {"words": texts} | ({"keys": keys} if keys != texts else {})
        return made


class AnswerIndex:
    """Answers in columns. Made by `ask` for a question and `add` for every answer to it, then `finish`."""

    def __init__(self) -> None:
        self.columns: dict[str, Column] = {
            "exam": Column(_FACETS["exam"], shared=True),
            "model": Column(_FACETS["model"]),
            "outcome": Column(_FACETS["outcome"], {word: outcome_name(word) for word in OUTCOMES}),
            "finer": Column(_FACETS["finer"], {word: text for word, (_, text) in FINER.items()}),
            "question": Column("Question", shared=True),
            "value": Column(),
        }
        self.samples, self.asked = array("i"), array("i")

    def ask(self, exam: str, question: str, tags: Mapping[str, str]) -> None:
        """Take in what the answers to a question share."""
        before = len(self.columns["exam"].codes)
        self.columns["exam"].add(exam)
        self.columns["question"].add(question)
        for name, value in tags.items():
            key = f"{_TAG}{slug(name)}"
            column = self.columns.setdefault(key, Column(label(name) or "(no name)", shared=True))
            column.fill(before)
            column.add(value)

    def add(self, row: ScoreRow) -> None:
        """Take in an answer to the last question."""
        self.columns["model"].add(row.model)
        self.columns["outcome"].add(row.outcome)
        self.columns["finer"].add(finer(row, row.stopped) or None)
        self.columns["value"].add(None if row.value is None else round(row.value, 4))
        self.samples.append(row.sample)
        self.asked.append(len(self.columns["exam"].codes) - 1)

    def finish(self) -> None:
        """Bring all columns to their length."""
        for column in self.columns.values():
            column.fill(len(self.columns["exam"].codes if column.shared else self.asked))

    @property
    def facets(self) -> Mapping[str, tuple[str, Sequence[tuple[str, str, int]]]]:
        """What the answers can be chosen by: title, and of each value that any has its word, its text and how many have
        it. A tag of `MANY` values or of one is left out.
        """
        made = {}
        for key, column in self.columns.items():
            if self._is_facet(key):
                counts = Counter(map(column.codes.__getitem__, self.asked) if column.shared else column.codes)
                known = [(*named, counts[code]) for code, named in enumerate(column.keyed()) if counts[code]]
                made[key] = (column.title, sorted(known) if key.startswith(_TAG) else known)
        return made

    def _is_facet(self, key: str) -> bool:
        return key in _FACETS or (key.startswith(_TAG) and 1 < len(self.columns[key].words) <= MANY)

    def chosen(self, picks: Iterable[tuple[str, str]]) -> list[int]:
        """Return the answers that have what is chosen, in the order of the index."""
        left: Iterable[int] = range(len(self.asked))
        for key, value in picks:
            column, wanted = self.columns.get(key, Column()), value.split(_SEVERAL)
            any_of = {code for code, (word, _) in enumerate(column.keyed()) if word in wanted}
            codes, asked = column.codes, self.asked
            left = [item for item in left if any_of and codes[asked[item] if column.shared else item] in any_of]
        return list(left)

    def ordered(self, items: list[int], order: str) -> list[int]:
        """Return answers in an order; those without a score come last, those that are alike as asked."""
        if order in ("lowest", "highest"):
            values, sign = [*self.columns["value"].words, 2.0], 1 if order == "lowest" else -1
            codes = self.columns["value"].codes
            return sorted(items, key=lambda item: sign * values[codes[item]] if codes[item] >= 0 else 2.0)
        return items

    def plain(self) -> dict[str, Any]:
        """Return it as the page reads it: JSON, with whole numbers packed."""
        columns = {
            key: column.plain() for key, column in self.columns.items() if key[:2] != _TAG or self._is_facet(key)
        }
        return {"columns": columns, "sample": integers(self.samples), "asked": integers(self.asked)}


def noteworthy(rows: Sequence[ScoreRow]) -> list[tuple[str, str, str, int]]:
    """Return what else than right and wrong answers there is: facet, word and text of each, and how many have it."""
    outcomes = Counter(map(attrgetter("outcome"), rows))
    causes = Counter(finer(row, row.stopped) for row in rows)
    common = ("right", "partly", "wrong")
    return [
        *(
            ("outcome", word, outcome_name(word), outcomes[word])
            for word in OUTCOMES
            if word not in common and outcomes[word]
        ),
        *(("finer", word, text, causes[word]) for word, (_, text) in FINER.items() if causes[word]),
    ]


def integers(numbers: Sequence[int]) -> dict[str, Any]:
    """Return whole numbers as base64 of signed little-endian integers, of as few `bytes` each as hold them all."""
    largest = max(map(abs, numbers), default=0)
    kind = "b" if largest < 1 << 7 else "h" if largest < 1 << 15 else "i"
    written = array(kind, numbers)
    if sys.byteorder == "big":
        written.byteswap()
    return {"bytes": written.itemsize, "packed": base64.b64encode(written.tobytes()).decode()}


@lru_cache(maxsize=10_000)
def label(text: str) -> str:
    """Return a name as lists show it."""
    return one_line(text, 200)


def about(question: Question) -> str:
    """Return what a search looks at of a question."""
    return "\n".join((question.id, question.text, *question.options))


def folded(text: str) -> str:
    """Return a text as a search compares it: in any case and width."""
    return (text if text.isascii() else unicodedata.normalize("NFKC", text)).lower()


def words_of(text: str) -> list[str]:
    """Return the words that are looked for; what is in quotes is one."""
    return [folded(phrase or word) for phrase, word in re.findall(r'"([^"]+)"|(\S+)', text)]
