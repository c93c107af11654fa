"""Pieces to hands and results back in order: what a crew does, whatever its hands are."""

from __future__ import annotations

import itertools
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from viva.distributed.worker import LOSSES, LostWorkerError, outcome
from viva.errors import option

P = TypeVar("P")
P_contra = TypeVar("P_contra", contravariant=True)

AHEAD = 4
"""Pieces a hand that may be on their way, or wait for one before them."""


class Ended(NamedTuple):
    """What became of a piece that a hand had: its outcome, or how the hand was lost."""

    number: int
    content: bytes = b""
    lost: str = ""


class WorkerHandles(Protocol[P_contra]):
    """Workers that were told what to do with a piece."""

    @property
    def jobs(self) -> int:
        """How many there can be."""
        ...

    @property
    def free(self) -> bool:
        """Whether one of them has nothing to do."""
        ...

    def give(self, number: int, piece: P_contra) -> None:
        """A piece for one that is free."""
        ...

    def ended(self, wait: bool) -> list[Ended]:
        """Return what is done or lost by now; with `wait`, at least one."""
        ...


class Source(Generic[P]):
    """Pieces one by one. What reading them raises waits until all before it is done, as it would in one process."""

    def __init__(self, pieces: Iterable[P]) -> None:
        self._pieces = iter(pieces)
        self.ended = False
        self.problem: Exception | None = None

    def take(self) -> list[P]:
        """Return the next piece, or nothing."""
        if not self.ended:
            try:
                return [next(self._pieces)]
            except StopIteration:
                self.ended = True
            except Exception as problem:
                self.ended, self.problem = True, problem
        return []


def by_one(recipe: Callable[[], Callable[[P], Any]], pieces: Iterable[P]) -> Iterator[Any]:
    """In this process."""
    work: Callable[[P], Any] | None = None
    for piece in pieces:
        work = work or recipe()
        yield work(piece)


def in_order(
    handles: WorkerHandles[P], source: Source[P], first: Iterable[P], name: Callable[[P], str]
) -> Iterator[Any]:
    """Return the results of the pieces of `first` and `source`, in their order.

    Raises LostWorkerError for a piece that lost several workers, and in its turn what the work on a piece raised.
    """
    ready = deque(enumerate(first))
    again: list[tuple[int, P]] = []
    going: dict[int, P] = {}
    done: dict[int, bytes] = {}
    losses: Counter[int] = Counter()
    numbers = itertools.count(len(ready))
    given = 0
    most = AHEAD * handles.jobs
    while True:
        while handles.free and (again or (ready and ready[0][0] - given < most)):
            number, piece = again.pop() if again else ready.popleft()
            going[number] = piece
            handles.give(number, piece)
        while given in done:
            yield outcome(done.pop(given))
            given += 1
        if len(ready) < handles.jobs:
            ready.extend((next(numbers), piece) for piece in source.take())
        if not going and not again and not ready:
            break
        more = handles.free and bool(again or ready) and (bool(again) or ready[0][0] - given < most)
        reading = not source.ended and len(ready) < handles.jobs
        for number, content, lost in handles.ended(wait=not (more or reading)):
            piece = going.pop(number)
            if not lost:
                done[number] = content
                continue
            losses[number] += 1
            if losses[number] == LOSSES:
                raise LostWorkerError(
                    f"{LOSSES} workers were lost over {name(piece) or f'piece {number + 1:,}'}: the last one {lost}. "
                    f"Was it out of memory? Then try fewer {option('jobs')}"
                )
            again.append((number, piece))
            again.sort(key=lambda entry: -entry[0])
    if source.problem:
        raise source.problem
