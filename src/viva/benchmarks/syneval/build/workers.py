"""From chunks of trees to lines of JSON, in several processes, the results in the order of the chunks.

Chunks are cut by size alone, and a result depends on its chunk alone, so what comes out is the same whatever the number
of processes. Every worker keeps a sampler of all that it saw; samplers merge into one in any order.
"""

from __future__ import annotations

import gzip
import multiprocessing
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from viva.benchmarks.syneval.build.sampling import Place, Sampler, SamplingSettings, sampler
from viva.benchmarks.syneval.build.tree import TreeError
from viva.benchmarks.syneval.build.treebank import Problem, RawTree
from viva.benchmarks.syneval.items import Fact, Item
from viva.errors import EXIT_INCOMPLETE, VivaError

CHUNK = 32_000
"""Characters of trees, about 16 sentences: they become about a megabyte of questions."""
CHUNK_ENTRIES = 500
AHEAD = 4
"""Chunks a process that may be on their way, or wait for one before them."""

Chunk: TypeAlias = list[RawTree | Problem]
Generate: TypeAlias = Callable[..., tuple[list[Fact], list[Item]]]
"""build.generate.generate: (text, file, tree, *, published) → facts and questions; raises TreeError."""


class LostWorkerError(VivaError):
    """A process of ours was ended by somebody else."""

    exit_code = EXIT_INCOMPLETE


class WorkSettings(Struct, frozen=True, kw_only=True):
    """What a worker must know."""

    published: bool
    sampling: SamplingSettings
    gzip: bool = False


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


class Worker:
    """Makes lines of trees."""

    def __init__(self, settings: WorkSettings, generate: Generate) -> None:
        self._settings = settings
        self._generate = generate
        self._encoder = msgspec.json.Encoder()
        self.sampler: Sampler = sampler(settings.sampling)

    def work(self, number: int, chunk: Chunk) -> Result:
        """One chunk."""
        facts, questions = bytearray(), bytearray()
        counts: Counter[tuple[str, str]] = Counter()
        problems: list[Problem] = []
        trees = fact_count = 0
        encode_into, see = self._encoder.encode_into, self.sampler.see
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
        return Result(number, trees, fact_count, counts, self._pack(facts), self._pack(questions), problems)

    def _pack(self, lines: bytearray) -> bytes:
        """Compressed chunks one after the other are a compressed file."""
        return gzip.compress(lines, 6, mtime=0) if self._settings.gzip and lines else bytes(lines)


def _problem(found: RawTree, kind: str, message: str) -> Problem:
    return Problem(source=found.source, line=found.line, tree=found.tree, kind=kind, message=message)


def _message(found: RawTree, problem: TreeError) -> str:
    """With the line, where that is not the tree's first one."""
    below = found.text.count("\n", 0, problem.offset)
    return f"{problem} (line {found.line + below})" if below else str(problem)


def _end_with_parent() -> None:
    """A killed parent says nothing, and a chunk of slow trees would go on for nobody."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _serve(connection: Connection, settings: WorkSettings, generate: Generate) -> None:
    """A worker process: chunks in, results out; ends with its parent, and leaves Ctrl-C to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    worker = Worker(settings, generate)
    try:
        while (task := connection.recv()) is not None:
            connection.send(worker.work(*task))
        connection.send(worker.sampler)
    except (EOFError, ConnectionError):
        pass


class _Hand(NamedTuple):
    process: BaseProcess
    connection: Connection


class Crew:
    """Workers, in this process (`jobs` 1) or in as many of their own. Use it as a context: it ends them."""

    def __init__(self, jobs: int, settings: WorkSettings, generate: Generate) -> None:
        self._jobs = jobs
        self._settings = settings
        self._generate = generate
        self._hands: list[_Hand] = []
        self._context = multiprocessing.get_context("spawn")
        self._own: Worker | None = None

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        for hand in self._hands:
            hand.connection.close()
            hand.process.kill()
        for hand in self._hands:
            hand.process.join()

    def results(self, work: Iterator[Chunk]) -> Iterator[Result]:
        """What becomes of the chunks, in their order. Raises LostWorkerError."""
        if self._jobs == 1:
            self._own = Worker(self._settings, self._generate)
            for number, chunk in enumerate(work):
                yield self._own.work(number, chunk)
            return
        yield from self._parallel(work)

    def sampler(self) -> Sampler:
        """All that was seen; afterwards the workers are gone."""
        if self._own is not None:
            return self._own.sampler
        merged = sampler(self._settings.sampling)
        for hand in self._hands:
            _send(hand, None)
        for hand in self._hands:
            merged.merge(_receive(hand, "it handed over what it saw"))
        return merged

    def _parallel(self, work: Iterator[Chunk]) -> Iterator[Result]:
        idle: deque[_Hand] = deque()
        busy: dict[Connection, tuple[_Hand, str]] = {}
        ready: deque[Chunk] = deque()
        done: dict[int, Result] = {}
        sent = given = 0
        ended = False
        while True:
            while ready and sent - given < AHEAD * self._jobs and (idle or len(self._hands) < self._jobs):
                hand = idle.popleft() if idle else self._hire()
                chunk = ready.popleft()
                busy[hand.connection] = (hand, _where(chunk))
                _send(hand, (sent, chunk))
                sent += 1
            while given in done:
                yield done.pop(given)
                given += 1
            while not ended and len(ready) < self._jobs:
                chunk = next(work, [])
                ended = not chunk
                if chunk:
                    ready.append(chunk)
            if not busy and not ready:
                return
            free = bool(idle) or len(self._hands) < self._jobs
            for connection in wait(list(busy), 0 if ready and free and sent - given < AHEAD * self._jobs else None):
                assert isinstance(connection, Connection)
                hand, where = busy.pop(connection)
                result: Result = _receive(hand, f"it read the trees from {where} on")
                done[result.number] = result
                idle.append(hand)

    def _hire(self) -> _Hand:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs, self._settings, self._generate), daemon=True)
        # Ctrl-C reaches the whole group; a process that is just starting would answer it with a traceback.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        hand = _Hand(process, ours)
        self._hands.append(hand)
        return hand


def _where(chunk: Chunk) -> str:
    return f"{chunk[0].source}:{chunk[0].line}"


def _send(hand: _Hand, message: object) -> None:
    try:
        hand.connection.send(message)
    except ConnectionError:
        raise _lost(hand, "it waited for work") from None


def _receive(hand: _Hand, doing: str) -> Any:
    try:
        return hand.connection.recv()
    except (EOFError, ConnectionError):
        raise _lost(hand, doing) from None


def _lost(hand: _Hand, doing: str) -> LostWorkerError:
    hand.process.join(5)
    code = hand.process.exitcode
    how = f"by signal {-code}" if code is not None and code < 0 else f"with status {code}"
    return LostWorkerError(
        f"process {hand.process.pid} was ended {how} while {doing}; nothing was written. "
        "Was it out of memory? Then try fewer --jobs"
    )


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
