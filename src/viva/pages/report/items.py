"""A report's items as the page reads them: an index in columns, and the texts in packed chunks.

A block is JSON, compressed by gzip and written as base64 into a <script> that no browser runs; the page unpacks one
when it needs it. Everything that a list is sorted and filtered by is in the index, a number an item and column. The
texts of neighbouring items share a chunk of about `CHUNK_TEXT` characters. What the prompts of neighbours have in
common (instructions, exemplars) is written once a chunk. A reply with Markdown or formulas is there a second time,
rendered (web/markdown.py): beside the first, so that compression leaves little of it.

The index alone is not compressed: a browser unpacks in the background, and what it finds there it tells only after it
has read on for a while; of a large file that is a second. The numbers of a column are written as base64 of integers of
1, 2 or 4 bytes.
"""

from __future__ import annotations

import base64
import gzip
import json
import sys
from array import array
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Generic, TypeVar

from msgspec import Struct

from viva.benchmarks.outcomes import FINER, finer
from viva.engine.answer import Answer, thought_size
from viva.scorers.grading import CUT_OFF_WORDS
from viva.types import OUTCOMES, ScoreRow, outcome_name
from viva.visible import escape_invisible, one_line
from viva.web.markdown import formatted
from viva.web.text import read_span, reason

CHUNK_ITEMS = 256
CHUNK_TEXT = 1 << 19
"""Characters of a chunk's texts, after which the next one begins."""
PACKED = 4
"""Effort of gzip: 6 takes three times as long, and a page is a seventh smaller."""
LONGEST = 20_000
"""Characters of one text; the rest stays in the run folder."""
LONGEST_THOUGHT = 4_000
"""The same of what a model thought first: many times as long as answers, it would leave no room for these."""
LONGEST_PROMPT = 60_000
"""The same of a prompt: it holds the exemplars, which are written once a chunk."""
HEAD = 110
"""Characters of a question that the list shows."""
_TAGS = 12
"""Tags that the page filters by; those with the fewest values."""
_FORMULA = '<span class="tex'
"""What `formatted` makes of a formula begins so."""
_VALUES = 300
"""Values of a tag beyond which it is an identifier rather than a tag."""


Word = TypeVar("Word", str, float)


class Block(Struct, frozen=True):
    """One packed block of the page."""

    name: str
    text: str
    """Base64; of the index JSON that a script element can hold."""


class Written(Struct, kw_only=True):
    """What was written of the items."""

    items: int = 0
    size: int = 0
    """Characters of all blocks."""
    cut: int = 0
    """Items with a text longer than the page holds."""
    whole: bool = True
    """Whether everything fitted."""
    formulas: bool = False
    """Whether a reply has one."""


def packed(content: object) -> str:
    """JSON, gzip, base64. Every text was made visible before, so that it can be encoded."""
    said = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(said.encode(), PACKED, mtime=0)).decode()


def integers(numbers: Sequence[int]) -> dict[str, Any]:
    """Whole numbers as base64 of signed little-endian integers, of as few `bytes` each as hold them all."""
    largest = max(map(abs, numbers), default=0)
    kind = "b" if largest < 1 << 7 else "h" if largest < 1 << 15 else "i"
    written = array(kind, numbers)
    if sys.byteorder == "big":
        written.byteswap()
    return {"bytes": written.itemsize, "packed": base64.b64encode(written.tobytes()).decode()}


class _Column(Generic[Word]):
    """Words as numbers, in the order in which they come; -1 where there is none."""

    def __init__(self) -> None:
        self.words: dict[Word, int] = {}
        self.codes: list[int] = []

    def add(self, word: Word | None) -> None:
        self.codes.append(-1 if word is None else self.words.setdefault(word, len(self.words)))

    def plain(self) -> dict[str, Any]:
        return {"words": list(self.words), "codes": integers(self.codes)}


class ItemWriter:
    """Takes in the answers one by one and gives out a block as often as a chunk is full."""

    def __init__(self, write: Callable[[Block], None], *, limit: int) -> None:
        """`limit`: characters of all blocks together."""
        self.written = Written()
        self._write = write
        self._limit = limit
        self._columns = {name: _Column[str]() for name in ("exam", "model", "outcome", "finer", "question")}
        for outcome in OUTCOMES:  # in this order everywhere
            self._columns["outcome"].words[outcome_name(outcome)] = len(self._columns["outcome"].words)
        self._tags: dict[str, list[int]] = {}
        self._tag_words: dict[str, dict[str, int]] = {}
        self._heads: dict[str, str] = {}
        self._values = _Column[float]()
        self._samples: list[int] = []
        self._firsts: list[int] = []
        self._chunk = _Chunk()

    def add(self, item: Answer) -> bool:
        """Take in one answer; whether there is room for more."""
        self._columns["outcome"].add(outcome_name(item.row.outcome))
        word = finer(item.row, item.row.stopped)
        self._columns["finer"].add(FINER[word][1] if word else None)
        for name in ("exam", "model"):
            self._columns[name].add(_label(getattr(item.row, name)))
        question = _label(item.row.question)
        self._columns["question"].add(question)
        key = f"{_label(item.row.exam)}\t{question}"
        if item.asked and key not in self._heads:
            self._heads[key] = one_line(item.asked, HEAD)
        self._values.add(None if item.row.value is None else round(item.row.value, 4))
        self._samples.append(item.row.sample)
        self._tag(item)
        self.written.cut += self._chunk.add(item)
        self.written.formulas = self.written.formulas or _FORMULA in self._chunk.items[-1].get("rendered", "")
        self.written.items += 1
        if len(self._chunk.items) >= CHUNK_ITEMS or self._chunk.size >= CHUNK_TEXT:
            self._flush()
        return self.written.whole

    def finish(self) -> Written:
        """Write the last chunk, the index and the questions' beginnings."""
        if self._chunk.items:
            self._flush()
        said = json.dumps(self._index(), separators=(",", ":")).replace("<", "\\u003c")
        self._put(Block("items-index", said))
        self._put(Block("items-heads", packed(self._heads)))
        return self.written

    def _tag(self, item: Answer) -> None:
        before = len(self._samples) - 1
        for name, value in item.row.tags.items():
            codes = self._tags.setdefault(name, [])
            codes += [-1] * (before - len(codes))
            words = self._tag_words.setdefault(name, {})
            codes.append(words.setdefault(_label(value), len(words)))

    def _index(self) -> dict[str, Any]:
        total = len(self._samples)
        names = [name for name, words in self._tag_words.items() if 1 < len(words) <= _VALUES]
        tags = {
            _label(name): {
                "words": list(self._tag_words[name]),
                "codes": integers([*codes, *[-1] * (total - len(codes))]),
            }
            for name, codes in ((name, self._tags[name]) for name in names[:_TAGS])
        }
        columns = {name: column.plain() for name, column in self._columns.items()}
        numbers = {"value": self._values.plain(), "sample": integers(self._samples)}
        return {**columns, **numbers, "tags": tags, "firsts": self._firsts}

    def _flush(self) -> None:
        self._firsts.append(self.written.items - len(self._chunk.items))
        self._put(Block(f"items-{len(self._firsts) - 1}", packed(self._chunk.plain())))
        self._chunk = _Chunk()

    def _put(self, block: Block) -> None:
        self.written.size += len(block.text)
        self.written.whole = self.written.whole and self.written.size <= self._limit
        if self.written.whole:
            self._write(block)


class _Chunk:
    """The texts of some neighbouring items."""

    def __init__(self) -> None:
        self.items: list[dict[str, Any]] = []
        self.size = 0
        self._shared: dict[str, int] = {}
        self._last = ("", "")
        """The last prompt and its question."""

    def add(self, item: Answer) -> int:
        """Returns 1 where a text was cut, else 0."""
        prompt, reply = item.prompt_text, item.reply
        common = self._common(prompt, item.row.question)
        texts: dict[str, Any] = {
            "prompt": prompt[len(common) :],
            "reply": reply,
            "gold": item.gold,
            "answer": item.row.answer,
            "why": reason(item.row, reply),
            "failure": item.failure,
        }
        size, thought = thought_size(item.response), item.response.reasoning
        if common:
            texts["shared"] = self._shared.setdefault(_cut(common, LONGEST_PROMPT), len(self._shared))
        long = any(len(text) > LONGEST for text in texts.values() if isinstance(text, str))
        long = long or any(len(said) > LONGEST for _, said in item.said) or len(common) > LONGEST_PROMPT
        plain: dict[str, Any] = {
            name: _cut(text, LONGEST) if isinstance(text, str) else text for name, text in texts.items() if text != ""
        }
        plain.update(_shown(item.row, reply))
        if item.said:
            plain["found"] = [[escape_invisible(who), _cut(said, LONGEST)] for who, said in item.said]
        if item.row.tags:
            plain["tags"] = {_label(name): _label(value) for name, value in item.row.tags.items()}
        plain.update({"thoughtSize": size} if size else {})
        plain.update({"thought": _cut(thought, LONGEST_THOUGHT)} if thought else {})
        plain.update({"cut": CUT_OFF_WORDS[item.row.stopped]} if item.row.stopped in CUT_OFF_WORDS else {})
        plain.update({"repeat": item.row.repeat} if item.row.repeat else {})
        plain.update({"weight": item.row.weight} if item.row.weight != 1 else {})
        self.items.append(plain)
        self.size += sum(len(text) for text in plain.values() if isinstance(text, str)) + 40
        return int(long)

    def _common(self, prompt: str, question: str) -> str:
        """What this prompt begins with as the last question's did, up to the end of a line."""
        last, before = self._last
        if question == before:  # another sample, or the same question again: nothing to learn from
            common = next((known for known in self._shared if known and prompt.startswith(known)), "")
        else:
            common = beginning(last, prompt)
        self._last = (prompt, question)
        return common

    def plain(self) -> dict[str, Any]:
        """As the page reads it."""
        return {"shared": list(self._shared), "items": self.items}


def _shown(row: ScoreRow, reply: str) -> dict[str, Any]:
    """A reply as the page shows it: its HTML (`rendered`), and where what was `read` stands in the text."""
    if len(reply) > LONGEST:
        return {}
    span = read_span(row, reply)
    made = formatted(reply, span)
    places = [_utf16_units(reply[:end]) for end in span] if span else None
    return {name: value for name, value in (("rendered", made), ("read", places)) if value}


def _utf16_units(text: str) -> int:
    """How long a browser finds a text that `_cut` wrote."""
    return len(_cut(text, LONGEST).encode("utf-16-le")) // 2


def beginning(first: str, second: str) -> str:
    """What two texts begin with alike, up to the end of a line; "" where that is too little to be worth it."""
    low, high = 0, min(len(first), len(second))
    while low < high:  # a binary search, since comparing slices is quick and comparing characters is not
        middle = (low + high + 1) // 2
        if first.startswith(second[:middle]):
            low = middle
        else:
            high = middle - 1
    end = second.rfind("\n", 0, low) + 1
    return second[:end] if end >= 40 else ""


@lru_cache(maxsize=10_000)
def _label(text: str) -> str:
    return one_line(text, 200)


def _cut(text: str, longest: int) -> str:
    """Visible, of one kind of line ends, and no longer than the page holds; the page is told of how much is left."""
    whole = escape_invisible(text[:longest].replace("\r\n", "\n"))
    if len(text) <= longest:
        return whole
    return f"{whole}\n… ({len(text) - longest:,} more characters, in the run's responses.jsonl)"
