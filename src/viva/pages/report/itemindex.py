"""A report's items as the page reads them: the index of answers (answerindex.py), and the texts in packed chunks.

A block is JSON, compressed by gzip and written as base64 into a <script> that no browser runs; the page unpacks one
when it needs it. The texts of neighbouring items share a chunk of about `CHUNK_TEXT`
characters: a prompt is there once for all answers to it, and what the prompts of neighbours have in common
(instructions, exemplars) once a chunk. Texts are there as they came, but for what is too long: the page makes visible
what cannot be seen, finds what was read, and renders Markdown and formulas of what is opened (static/prose.js).

The index alone is not compressed: a browser unpacks in the background, and what it finds there it tells only after it
has read on for a while; of a large file that is a second.

Which items a report shows where they are too many: a seeded sample of every exam, model and outcome.
"""

from __future__ import annotations

import base64
import gzip
import json
import random
import re
import shutil
import tempfile
from array import array
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import IO, Any

import msgspec
from msgspec import Struct

from viva.engine.answerrecord import Answer, thought_size
from viva.errors import StorageError
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
    counts = allocated(sizes, wanted, sizes, 1)  # one of each: rare outcomes are what readers look for
    return {place for stratum, own in places.items() for place in draw.sample(own, counts[stratum])}


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
_SIGNS = "*_`#>|$\\[<~"
_BEGINNING = re.compile(r"\n(?:[ \t]*(?:[-+=]|\d+[.)])| {4}| {0,3}\t)")
"""Without one of these in a text that begins with a line's end, Markdown is paragraphs and line ends."""
_FORMULA = re.compile(r"\$|\\[(\[b]")
"""Without one of these there is no formula in a text."""


class Asked(Struct, omit_defaults=True, gc=False):
    """What the answers to a question share, as the page reads it."""

    prompt: str
    """But for what it begins with."""
    about: str = ""
    """What a search looks at of the question."""
    shared: int = -1
    """Number of that among the chunk's."""
    gold: str = ""
    tags: dict[str, str] = {}


class Item(Struct, omit_defaults=True, gc=False):
    """An answer's texts, as the page reads them."""

    asked: int
    """Number of its `Asked` among the chunk's."""
    reply: str
    answer: str
    why: str
    span: tuple[int, int] | None = None
    """Where in the reply stands what was read, in units of UTF-16."""
    failure: str = ""
    found: list[tuple[str, str]] = []
    thought: str = ""
    thought_size: str = ""
    ended: str = ""
    """Why the reply ended, where it was cut off."""
    repeat: int = 0
    weight: int = 1
    cut: int = 0
    """Characters of the reply that are left out."""


def packed(content: object) -> str:
    """JSON, gzip, base64."""
    try:
        made = msgspec.json.encode(content)
    except UnicodeEncodeError:  # half a character, which only an escape can say
        made = json.dumps(msgspec.to_builtins(content), separators=(",", ":")).encode()
    return base64.b64encode(gzip.compress(made, PACKED, mtime=0)).decode()


def _place(row: ScoreRow, reply: str) -> tuple[int, int] | None:
    span = read_span(row, reply)
    if span is None or reply.isascii():
        return span
    start, end = (len(reply[:place].encode("utf-16-le", "surrogatepass")) // 2 for place in span)
    return start, end


class PackedItems:
    """The answers of a page, packed into a temporary file: they are written after what is known only at their end."""

    def __init__(self, beside: Path, limit: int) -> None:
        """`beside`: the folder of the page, which has room for it or has not; `limit`: characters of all blocks."""
        try:
            self._texts: IO[str] = tempfile.TemporaryFile("w+", dir=beside, encoding="ascii")  # noqa: SIM115
        except OSError as problem:
            raise StorageError(f"cannot write in {beside}: {problem.strerror}") from None
        self._limit = limit
        self.index = AnswerIndex()
        self.first = ""
        """The blocks that are needed first, as elements."""
        self.items = 0
        self.size = 0
        """Characters of all blocks."""
        self.cut = 0
        """Items with a text longer than the page holds."""
        self.whole = True
        """Whether everything fitted."""
        self.marked = self.formulas = False
        """Whether a reply may have Markdown, or a formula."""
        self._heads: dict[str, str] = {}
        self._firsts = array("i")
        self._chunk = _Chunk()
        self._rows: list[ScoreRow] = []
        self._last: Answer | None = None

    def fill(self, items: Iterable[Answer]) -> bool:
        """Take in items, as long as there is room; whether all fitted."""
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
        reply = item.reply
        self.cut += self._chunk.add(item, reply, same=same)
        signed = any(map(reply.__contains__, _SIGNS))  # a tenth of the time that a pattern takes
        self.marked = self.marked or signed or bool(_BEGINNING.search(f"\n{reply}"))
        self.formulas = self.formulas or (signed and bool(_FORMULA.search(reply)))
        self.items += 1
        if len(self._rows) >= CHUNK_ITEMS or self._chunk.size >= CHUNK_TEXT:
            self._flush()

    def _flush(self) -> None:
        self._firsts.append(self.items - len(self._rows))
        self._texts.write(self._block(f"items-{len(self._firsts) - 1}", packed(self._chunk.plain())))
        self.index.add(self._rows)
        self._chunk, self._rows, self._last = _Chunk(), [], None

    def _block(self, name: str, text: str) -> str:
        """Return a block as an element; "" where there is no room for it."""
        self.size += len(text)
        self.whole = self.whole and self.size <= self._limit
        return block(name, text) if self.whole else ""

    def copy_texts(self, out: IO[str]) -> None:
        """Write the blocks of texts."""
        self._texts.seek(0)
        shutil.copyfileobj(self._texts, out, 1 << 20)

    def close(self) -> None:
        """Give the temporary file back."""
        self._texts.close()


def block(name: str, text: str) -> str:
    """Return a packed block as an element that no browser runs. `text`: base64, or JSON that ends no element."""
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

    def add(self, item: Answer, reply: str, *, same: bool) -> int:
        """Returns 1 where a text was cut, else 0. `same`: what was asked is what was asked last."""
        row = item.row
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
        """Take in what was asked; whether the prompt is longer than the page holds."""
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
        """Return what this prompt begins with as the last question's did, up to the end of a line."""
        last, before = self._last
        if question == before:  # another sample, or the same question again: nothing to learn from
            common = next((known for known in self._shared if known and prompt.startswith(known)), "")
        else:
            common = beginning(last, prompt)
        self._last = (prompt, question)
        return common

    def plain(self) -> dict[str, Any]:
        """As the page reads it."""
        return {"shared": list(self._shared), "asked": self._asked, "items": self.items}


def beginning(first: str, second: str) -> str:
    """Return what two texts begin with alike, up to the end of a line; "" where that is too little to be worth it."""
    low, high = 0, min(len(first), len(second))
    while low < high:  # a binary search, since comparing slices is quick and comparing characters is not
        middle = (low + high + 1) // 2
        if first.startswith(second[:middle]):
            low = middle
        else:
            high = middle - 1
    end = second.rfind("\n", 0, low) + 1
    return second[:end] if end >= 40 else ""


def _cut(text: str, longest: int = LONGEST) -> str:
    """Return a text no longer than the page holds; the page is told of how much is left."""
    if len(text) <= longest:
        return text
    return f"{text[:longest]}\n… ({len(text) - longest:,} more characters, in the run's responses.jsonl)"
