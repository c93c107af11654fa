"""What goes from stage to stage while both are at work: each answer as soon as it is there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

from viva.engine.asking import Run

T = TypeVar("T")
FIRST = 256
"""So many answers wait at most for a stage that has not brought anything yet: it may never, and they were paid for."""
MOST = 10_000
"""So many wait at most for one that works; what waits is no text, only where it is to be read."""


class Feed(Generic[T]):
    """What is ready for the stage of `run`, in the order in which it came.

    Iterating yields None where nothing is ready now; it ends when nothing more comes. What it does not want it does not
    take. Whoever puts something in looks at `full` before it begins what ends here, so that a slow stage holds up the
    faster one; `bounded` turns that off.
    """

    def __init__(self, run: Run, *, bounded: bool = True, wants: Callable[[T], bool] = lambda _: True) -> None:
        self._run = run
        self._bounded = bounded
        self._wants = wants
        self._items: deque[T] = deque()
        self._closed = False
        self._held = False
        """Whether somebody found it full, and is to be told when it is not."""

    @property
    def full(self) -> bool:
        """Whether enough waits for now."""
        self._held = self._bounded and len(self._items) >= (MOST if self._run.tally.answered else FIRST)
        return self._held

    @property
    def ended(self) -> bool:
        """Whether everything was taken, and nothing more comes."""
        return self._closed and not self._items

    def put(self, item: T) -> None:
        """Something is ready."""
        if self._wants(item):
            self._items.append(item)
            self._run.ring()

    def close(self) -> None:
        """Nothing more comes."""
        self._closed = True
        self._run.ring()

    def __iter__(self) -> Iterator[T | None]:
        while not self.ended:
            if not self._items:
                yield None
                continue
            item = self._items.popleft()
            if self._held and not self.full:
                self._run.ring()
            yield item


class Onward(Generic[T]):
    """Passes what is done in one stage on to others.

    `beyond` are the feeds behind those. `once`: also where that stage may come upon the same again.
    """

    def __init__(self, feeds: Sequence[Feed[T]], beyond: Sequence[Feed[T]] = (), *, once: bool = False) -> None:
        self.feeds = feeds
        self._all = (*feeds, *beyond)
        self._once = once
        self._passed: dict[int, bytearray] = {}
        """Of whose, by number, whether it was passed on."""

    @property
    def full(self) -> bool:
        """Whether one of the stages has enough for now."""
        return any(feed.full for feed in self._all)

    def put(self, whose: int, number: int, item: T) -> None:
        """Pass on number `number` of `whose`."""
        if self._once:
            passed = self._passed.setdefault(whose, bytearray())
            passed.extend(bytes(max(0, number + 1 - len(passed))))
            if passed[number]:
                return
            passed[number] = True
        for feed in self.feeds:
            feed.put(item)

    def close(self) -> None:
        """Nothing more comes."""
        for feed in self.feeds:
            feed.close()


def gated(opened: Callable[[], bool], items: Callable[[], Iterator[T | None]]) -> Iterator[T | None]:
    """Nothing is ready until `opened`; then the items."""
    while not opened():
        yield None
    yield from items()


async def upcoming(run: Run, items: Iterator[T | None]) -> T | None:
    """The next item, waited for; None where there is none, or the run is told to finish."""
    for item in items:
        if item is not None or run.stop:
            return item
        await run.idle()
    return None
