"""From chunks of trees to lines of JSON: what a worker of a crew does with each chunk.

Chunks are cut by size alone, and a result depends on its chunk alone, so what comes out is the same whatever the number
of workers and wherever they are. A result also says what of its chunk may be drawn; samplers merge in any order.
"""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from viva.benchmarks.syneval.facts import Fact, Item
from viva.build.treebank.sampling import Place, Sampler, SamplingSettings, sampler
from viva.build.treebank.tree import TreeError
from viva.build.treebank.treebank import Problem, RawTree
from viva.build.treebank.wordings import other_wordings

CHUNK = 32_000
"""Characters of trees, about 16 sentences: they become about a megabyte of questions."""
CHUNK_ENTRIES = 500

Chunk: TypeAlias = list[RawTree | Problem]
Numbered: TypeAlias = tuple[int, Chunk]
Generate: TypeAlias = Callable[..., tuple[list[Fact], list[Item]]]
"""build.generate.generate: (text, file, tree, *, published) → facts and questions; raises TreeError."""


class WorkSettings(Struct, frozen=True, kw_only=True):
    """What a worker must know."""

    published: bool
    sampling: SamplingSettings
    gzip: bool = False
    wordings: dict[str, Any] = {}
    """Of a file, over the bundled ones."""


class Result(NamedTuple):
    """What became of a chunk."""

    number: int
    trees: int
    fact_count: int
    counts: Counter[tuple[str, str]]
    """(knowledge point, format) → questions."""
    facts: bytes
    questions: bytes
    problems: list[Problem]
    drawable: Sampler
    """What of this chunk may be drawn."""


def chunks(trees: Iterable[RawTree | Problem]) -> Iterator[Chunk]:
    """Trees by the handful."""
    chunk: Chunk = []
    size = 0
    for found in trees:
        chunk.append(found)
        size += len(found.text) if isinstance(found, RawTree) else 0
        if size >= CHUNK or len(chunk) >= CHUNK_ENTRIES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def worker(settings: WorkSettings, generate: Generate) -> Worker:
    """Return a crew's recipe."""
    return Worker(settings, generate)


class Worker:
    """Makes lines of trees."""

    def __init__(self, settings: WorkSettings, generate: Generate) -> None:
        self._settings = settings
        self._generate = partial(generate, words=other_wordings(settings.wordings)) if settings.wordings else generate
        self._encoder = msgspec.json.Encoder()

    def __call__(self, numbered: Numbered) -> Result:
        """Return one chunk."""
        number, chunk = numbered
        drawable = sampler(self._settings.sampling)
        facts, questions = bytearray(), bytearray()
        counts: Counter[tuple[str, str]] = Counter()
        problems: list[Problem] = []
        trees = fact_count = 0
        encode_into, see = self._encoder.encode_into, drawable.see
        for found in chunk:
            if isinstance(found, Problem):
                problems.append(found)
                continue
            try:
                some_facts, some_items = self._generate(
                    found.text, found.file, found.tree, published=self._settings.published
                )
            except TreeError as problem:
                problems.append(_problem(found, "tree", _message(found, problem)))
                continue
            except Exception as problem:  # of Viva, not of the tree: told, and the other trees go on
                problems.append(_problem(found, "defect", f"Viva failed here, please report it: {problem!r}"))
                continue
            trees += 1
            fact_count += len(some_facts)
            for fact in some_facts:
                encode_into(fact, facts, -1)
                facts += b"\n"
            counts.update((item.knowledge_point, item.format) for item in some_items)
            for item in some_items:
                start = len(questions)
                encode_into(item, questions, -1)
                see(item, Place(number, start, len(questions) - start))
                questions += b"\n"
        return Result(number, trees, fact_count, counts, self._pack(facts), self._pack(questions), problems, drawable)

    def _pack(self, lines: bytearray) -> bytes:
        """Compressed chunks one after the other are a compressed file."""
        return gzip.compress(lines, 6, mtime=0) if self._settings.gzip and lines else bytes(lines)


def _problem(found: RawTree, kind: str, message: str) -> Problem:
    return Problem(source=found.source, line=found.line, tree=found.tree, kind=kind, message=message)


def _message(found: RawTree, problem: TreeError) -> str:
    """With the line, where that is not the tree's first one."""
    below = found.text.count("\n", 0, problem.offset)
    return f"{problem} (line {found.line + below})" if below else str(problem)


def where(numbered: Numbered) -> str:
    """Return which chunk it is, in words."""
    _, chunk = numbered
    return f"the trees from {chunk[0].source}:{chunk[0].line} on"
