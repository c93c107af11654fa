"""A report's items in the page's format: the index of answers (answerindex.py), and the texts in packed chunks.

A block is JSON, compressed by gzip and written as base64 into a <script> that no browser runs; the page unpacks it on
demand. The texts of neighbouring items share a chunk of about `CHUNK_TEXT` characters: a prompt is stored once for all
answers to it, and the common beginning of neighbours' prompts (instructions, exemplars) once a chunk. Texts are
unchanged except for cuts: the page shows invisible characters, marks what was read, and renders Markdown and formulas
of an opened item (static/prose.js).

The index alone is not compressed: a browser unpacks in the background, and in a large file takes a second longer to
deliver the result.

A report with too many items shows a seeded sample of every exam, model and outcome.
"""

from __future__ import annotations

import base64
import json
import random
import shutil
import tempfile
import zlib
from array import array
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import IO, Any

import msgspec
from msgspec import Struct

from viva.engine.answerrecord import Answer, thought_size
from viva.pages.answerindex import AnswerIndex, about, label
from viva.review.items import allocated
from viva.scorers.reading import CUT_OFF_WORDS, read_span, reason
from viva.types import ScoreRow
from viva.visible import one_line


def stratified(strata: Sequence[Hashable], wanted: int, seed: int) -> set[int] | None:
    """Return the places of a sample of `wanted` items, each stratum in proportion; None where all fit.
    Deterministic.
    """
    if len(strata) <= wanted:
        return None
    places: dict[Hashable, list[int]] = {}
    for place, stratum in enumerate(strata):
        places.setdefault(stratum, []).append(place)
    draw = random.Random(seed)
    sizes = {stratum: len(own) for stratum, own in places.items()}
    counts = allocated(sizes, wanted, sizes, 1)  # at least one of each: readers look for rare outcomes
    return {place for stratum, own in places.items() for place in draw.sample(own, counts[stratum])}


CHUNK_ITEMS = 256
CHUNK_TEXT = 1 << 19
"""Characters of texts after which a new chunk begins."""
PACKED = 4
"""Level of gzip: 6 takes three times as long for a page a seventh smaller."""
LONGEST = 20_000
"""The most characters of one text; the rest is only in the run folder."""
LONGEST_THOUGHT = 4_000
"""The most characters of a model's reasoning: many times as long as answers, it would leave no room for these."""
LONGEST_PROMPT = 60_000
"""The most characters of a prompt: it contains exemplars, which are written once a chunk."""
HEAD = 110
"""Characters of a question shown in the list."""


class Asked(Struct, omit_defaults=True, gc=False):
    """Data shared by the answers to a question, in the page's format."""

    prompt: str
    """The prompt without its shared beginning."""
    about: str = ""
    """The text of the question for search."""
    shared: int = -1
    """Number of the shared beginning in the chunk."""
    gold: str = ""
    tags: dict[str, str] = {}


class Item(Struct, omit_defaults=True, gc=False):
    """An answer's texts, in the page's format."""

    asked: int
    """Number of its `Asked` in the chunk."""
    reply: str
    answer: str
    why: str
    span: tuple[int, int] | None = None
    """Start and end of the part of the reply that was read, in units of UTF-16."""
    failure: str = ""
    found: list[tuple[str, str]] = []
    thought: str = ""
    thought_size: str = ""
    ended: str = ""
    """Why the reply was cut off."""
    repeat: int = 0
    weight: int = 1
    cut: int = 0
    """Number of characters of the reply left out."""


def packed(content: object) -> str:
    """Return the content as JSON, compressed by gzip (the same on every Python), in base64."""
    try:
        made = msgspec.json.encode(content)
    except UnicodeEncodeError:  # lone surrogates need escapes
        made = json.dumps(msgspec.to_builtins(content), separators=(",", ":")).encode()
    return base64.b64encode(zlib.compress(made, PACKED, wbits=31)).decode()


def _place(row: ScoreRow, reply: str) -> tuple[int, int] | None:
    span = read_span(row, reply)
    if span is None or reply.isascii():
        return span
    start, end = (len(reply[:place].encode("utf-16-le", "surrogatepass")) // 2 for place in span)
    return start, end


class PackedItems:
    """The answers of a page, packed into a temporary file, since the head of the page needs their totals."""

    def __init__(self, beside: Path, limit: int) -> None:
        """Open a temporary file in `beside`, the page's folder; `limit`: the most characters of all blocks.

        Raises OSError.
        """
        self._texts: IO[str] = tempfile.TemporaryFile("w+", dir=beside, encoding="ascii")  # noqa: SIM115
        self._limit = limit
        self.index = AnswerIndex()
        self.first = ""
        """The blocks needed first, as elements."""
        self.items = 0
        self.size = 0
        """Number of characters of all blocks."""
        self.cut = 0
        """Number of items with a cut text."""
        self.whole = True
        """Whether all items fitted."""
        self._heads: dict[str, str] = {}
        self._firsts = array("i")
        self._chunk = _Chunk()
        self._rows: list[ScoreRow] = []
        self._last: Answer | None = None

    def fill(self, items: Iterable[Answer]) -> bool:
        """Add items, as long as they fit; return whether all did."""
        for item in items:
            self._add(item)
            if not self.whole:
                break
        if self._rows:
            self._flush()
        self.index.finish()
        content = {**self.index.plain(), "firsts": list(self._firsts)}
        text = json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")
        self.first = self._block("items-index", text) + self._block("items-heads", packed(self._heads))
        return self.whole

    def _add(self, item: Answer) -> None:
        row, last = item.row, self._last
        same = last is not None and item.request is last.request is not None and row.tags == last.row.tags
        if not same and item.asked:
            self._heads.setdefault(f"{label(row.exam)}\t{label(row.question)}", one_line(item.asked, HEAD))
        self._last = item
        self._rows.append(row)
        self.cut += self._chunk.add(item, same=same)
        self.items += 1
        if len(self._rows) >= CHUNK_ITEMS or self._chunk.size >= CHUNK_TEXT:
            self._flush()

    def _flush(self) -> None:
        self._firsts.append(self.items - len(self._rows))
        self._texts.write(self._block(f"items-{len(self._firsts) - 1}", packed(self._chunk.plain())))
        self.index.add(self._rows)
        self._chunk, self._rows, self._last = _Chunk(), [], None

    def _block(self, name: str, text: str) -> str:
        """Return a block as an element; "" if it does not fit."""
        self.size += len(text)
        self.whole = self.whole and self.size <= self._limit
        return block(name, text) if self.whole else ""

    def copy_texts(self, out: IO[str]) -> None:
        """Write the blocks of texts."""
        self._texts.seek(0)
        shutil.copyfileobj(self._texts, out, 1 << 20)

    def close(self) -> None:
        """Close and delete the temporary file."""
        self._texts.close()


def block(name: str, text: str) -> str:
    """Return a packed block as an element that no browser runs. `text`: base64, or JSON escaped for an element."""
    return f'<script type="text/plain" id="block-{name}">{text}</script>\n'


class _Chunk:
    """The texts of some neighbouring items."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.size = 0
        self._asked: list[Asked] = []
        self._shared: dict[str, int] = {}
        self._last = ("", "")
        """The last prompt and its question."""
        self._long = False

    def add(self, item: Answer, *, same: bool) -> int:
        """Add an item. Returns 1 if a text was cut, else 0. `same`: whether the question is that of the last item."""
        row, reply = item.row, item.reply
        if not same:
            self._long = self._ask(item)
        cut = max(0, len(reply) - LONGEST)
        listed = Item(
            asked=len(self._asked) - 1,
            reply=reply[:LONGEST],
            answer=_cut(row.answer),
            why=_cut(reason(row.explanation, reply)),
            span=None if cut else _place(row, reply),
            failure=_cut(item.failure),
            found=[(who, _cut(text)) for who, text in item.said],
            thought=_cut(item.response.reasoning, LONGEST_THOUGHT),
            thought_size=thought_size(item.response),
            ended=CUT_OFF_WORDS.get(row.stopped, ""),
            repeat=row.repeat,
            weight=row.weight,
            cut=cut,
        )
        self.items.append(listed)
        self.size += len(reply) + len(listed.thought) + 80
        texts = (row.answer, row.explanation, *(text for _, text in item.said))
        return int(self._long or cut > 0 or max(map(len, texts)) > LONGEST)

    def _ask(self, item: Answer) -> bool:
        """Add a question and its prompt; return whether the prompt was cut."""
        prompt = item.prompt_text
        common = self._common(prompt, item.row.question)
        asked = Asked(_cut(prompt[len(common) :]), _cut(about(item.question)) if item.question else item.row.question)
        if common:
            asked.shared = self._shared.setdefault(_cut(common, LONGEST_PROMPT), len(self._shared))
        asked.gold = _cut(item.gold)
        asked.tags = {label(name): label(value) for name, value in item.row.tags.items()}
        self._asked.append(asked)
        self.size += len(asked.prompt) + len(asked.gold) + 80
        return len(prompt) - len(common) > LONGEST or len(common) > LONGEST_PROMPT or len(item.gold) > LONGEST

    def _common(self, prompt: str, question: str) -> str:
        """Return the common beginning of this prompt and the last question's, up to the end of a line."""
        last, before = self._last
        if question == before:  # another sample, or the same question again: equal prompts would be shared whole
            common = next((known for known in self._shared if known and prompt.startswith(known)), "")
        else:
            common = beginning(last, prompt)
        self._last = (prompt, question)
        return common

    def plain(self) -> dict[str, Any]:
        """Return the chunk in the page's format."""
        return {"shared": list(self._shared), "asked": self._asked, "items": self.items}


def beginning(first: str, second: str) -> str:
    """Return the common beginning of two texts, up to the end of a line; "" if too short to pay."""
    low, high = 0, min(len(first), len(second))
    while low < high:  # a binary search, since comparing slices is faster than comparing characters
        middle = (low + high + 1) // 2
        if first.startswith(second[:middle]):
            low = middle
        else:
            high = middle - 1
    end = second.rfind("\n", 0, low) + 1
    return second[:end] if end >= 40 else ""


def _cut(text: str, longest: int = LONGEST) -> str:
    """Return a text cut to `longest` characters, with a note of how many are left out."""
    if len(text) <= longest:
        return text
    return f"{text[:longest]}\n… ({len(text) - longest:,} more characters, in the run's responses.jsonl)"
