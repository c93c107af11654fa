"""A Ray cluster as a crew."""

from __future__ import annotations

import pickle
import queue
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from viva.distributed.cluster import connect
from viva.distributed.local import Ended, Source, in_order, unnamed
from viva.distributed.pool import Needs, Pool
from viva.distributed.worker import LostWorkerError

P = TypeVar("P")
R = TypeVar("R")


class _RayHandles(Generic[P]):
    """The workers of a pool, as `in_order` knows hands."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._out = 0
        self._back: queue.SimpleQueue[tuple[int, Future[bytes]]] = queue.SimpleQueue()

    @property
    def jobs(self) -> int:
        return self._pool.capacity

    @property
    def free(self) -> bool:
        return self._out < self._pool.capacity

    def give(self, number: int, piece: P) -> None:
        self._out += 1
        self._pool.submit(piece).add_done_callback(lambda future: self._back.put((number, future)))

    def ended(self, wait: bool) -> list[Ended]:
        found = []
        while wait or not self._back.empty():
            number, future = self._back.get()
            wait = False
            self._out -= 1
            try:
                found.append(Ended(number, future.result()))
            except LostWorkerError as problem:
                found.append(Ended(number, lost=str(problem)))
        return found


class RayWorkerPool:
    """A worker for each processor of the cluster, or `jobs` at most. A context: it ends them."""

    def __init__(self, on: str, jobs: int = 0) -> None:
        self._cluster = connect(on)
        self._jobs = jobs

    @property
    def jobs(self) -> int:
        """How many pieces are worked on at once."""
        capacity = sum(int(node.cpus) for node in self._cluster.nodes())
        return max(1, min(capacity, self._jobs or capacity))

    def map(
        self, recipe: Callable[[], Callable[[P], R]], pieces: Iterable[P], *, name: Callable[[P], str] = unnamed
    ) -> Iterator[R]:
        """Return what becomes of the pieces, in their order: see contracts.Crew."""
        source = Source(pieces)
        first = source.take()
        if not first:
            if source.problem:
                raise source.problem
            return
        told = pickle.dumps(recipe)
        pool = Pool(self._cluster, lambda _: told, Needs(most=self._jobs, losses=1))
        try:
            handles: _RayHandles[P] = _RayHandles(pool)
            found: Iterator[Any] = in_order(handles, source, first, name)
            yield from found
        finally:
            pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Each map ends its own workers; the connection is the process's."""
