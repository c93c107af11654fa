"""The state of a stage that asks models: its tasks, progress and stop; and booking and journaling of replies."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, Literal, TypeVar

from msgspec import Struct

from viva.contracts import Model
from viva.engine.budget import Budget, Price, who_answered
from viva.engine.journal import Entry, Journal
from viva.engine.sendingslots import Policy, Slots
from viva.errors import ModelError, StorageError, option
from viva.types import CUT_OFF, Failure, Request, Response, Usage

FIRST_REPLIES, CUT_OFF_OF_FIRST = 10, 3
"""Warn at once where this many (second) of a stage's first replies (first) are cut off."""
FOR_GOOD = {"context", "tokens"}
"""Failures that another attempt cannot mend: a prompt that does not fit, or that the tokenizer cannot encode."""
LASTING = FOR_GOOD | {"missing"}
"""The same, and answers missing from a file."""


class Task(Struct, frozen=True):
    """One request on its way: to which model, for which benchmark, under which key."""

    key: bytes
    benchmark: str
    request: Request
    model: Model
    price: Price | None = None
    accept: Callable[[str, str], bool] | None = None
    """For a judge: whether the reply can be read, given the nonce; if not, it is asked for again."""
    nonce: str = ""
    arrived: Callable[[], None] | None = None
    """Called when its answer is journaled."""

    def readable(self, reply: Response) -> bool:
        """Return whether a reply can be read. A reply cut off by the token limit cannot: its last line may be a
        quotation.
        """
        return self.accept is None or (reply.stop_reason not in CUT_OFF and self.accept(reply.text, self.nonce))


class Tally(Struct):
    """What happened so far; the progress line and the summary read it."""

    total: int = 0
    waiting: int = 0
    """Items that an earlier stage delivered and this one has not taken: not in `total` yet."""
    answered: int = 0
    kept: int = 0
    """Answers that existed already: journaled before, or reused from another run."""
    failed: int = 0
    retries: int = 0
    in_flight: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    """US dollars for the tokens that servers counted."""
    uncounted: int = 0
    """Replies for which the server reported no token counts."""
    at_most: float = 0.0
    """US dollars that the uncounted replies cost at most; what the budget takes for them."""
    last_error: str = ""
    last_failure: str = ""
    """Failure of the last question that got no answer; errors on the way to an answer do not count."""
    failures: set[str] = set()
    """Kinds of failure of all questions without an answer."""
    batches: str = ""
    """Progress of the batches at their providers, in words."""
    score: str = ""
    """Results of the answers so far, for a progress display."""
    more: bool = False
    """Whether an earlier stage may still add work beyond `total`."""


Stop = Literal["", "interrupted", "budget", "disk", "refused"]


class Run:
    """The state that all rate limit groups of a stage share.

    A stage that runs `beside` another one stops with it; a used-up budget stops only stages that share it.
    """

    def __init__(
        self, journal: Journal, budget: Budget, policy: Policy, tally: Tally, beside: Run | None = None
    ) -> None:
        self.journal = journal
        self.budget = budget
        self.policy = policy
        self.tally = tally
        self.stop: Stop = ""
        self.refused: dict[str, str] = {}
        """Models that are asked nothing more, and why."""
        self.lasting: set[str] = set()
        """Those of `refused` that a resume would ask in vain."""
        self.unreached: set[str] = set()
        """Those of `refused` whose server does not answer: key and model may be right."""
        self.absent: set[str] = set()
        """Those of `unreached` whose server never replied to anything."""
        self.cut_off: dict[str, list[str]] = {}
        """Model → why those of its first replies ended that the token limit cut off."""
        self.say: Callable[[str], None] = lambda _text: None
        """Tells the user what cannot wait for the end."""
        self.groups: dict[str, Slots] = {}
        """Groups at work, by name."""
        self._wake = asyncio.Event()
        self._drain = asyncio.Event()
        self._changed = asyncio.Event()
        self._linked: list[Run] = beside._linked if beside else []
        self._linked.append(self)
        self.listeners: list[asyncio.Event] = beside.listeners if beside else []
        """Set when there may be something to do."""
        self.listeners.append(self._changed)

    def refuse(self, model: str, problem: ModelError) -> None:
        """Record that a model is asked nothing more."""
        self.refused.setdefault(model, problem.message)
        if problem.lasting:
            self.lasting.add(model)

    def finish(self, why: Stop) -> None:
        """Ask nothing more; requests in flight may end. An interrupt by the user overrides other reasons."""
        for run in self._linked:
            if why != "budget" or run.budget is self.budget:
                run._finish(why)
        self.ring()

    def _finish(self, why: Stop) -> None:
        if not self.stop or why == "interrupted":
            self.stop = why
        self._wake.set()
        if why != "budget":  # what is paid for is answered
            self._drain.set()

    @property
    def in_flight(self) -> int:
        """Number of requests in flight, in all stages that run at the same time."""
        return sum(run.tally.in_flight for run in self._linked)

    def ring(self) -> None:
        """Wake all stages, because an item is ready or was taken."""
        for event in self.listeners:
            event.set()

    async def idle(self) -> None:
        """Wait until `ring` is called."""
        await self._changed.wait()
        self._changed.clear()

    async def stop_requested(self) -> None:
        """Wait until queued requests are to be cancelled."""
        await self._drain.wait()

    async def sleep(self, seconds: float) -> None:
        """Sleep, unless the run is told to finish."""
        if seconds > 0 and not self.stop:
            try:
                await asyncio.wait_for(self._wake.wait(), seconds)
            except TimeoutError:
                return


def book(run: Run, price: Price | None, usage: Usage | None, worst: Usage | None) -> float:
    """Count a reply's tokens and cost in the tally; return the US dollars that the budget takes.

    Tokens that the server did not count stay out of the tally; the budget, which must hold, takes `worst` for them.
    """
    tally = run.tally
    if usage is None:
        most = price.cost(worst) if price and worst else 0.0
        tally.uncounted += 1
        tally.at_most += most
        return most
    cost = price.cost(usage) if price else 0.0
    tally.input_tokens += usage.input
    tally.output_tokens += usage.output
    tally.cost += cost
    return cost


def write(
    run: Run,
    task: Task,
    response: Response,
    failure: Failure | None,
    seconds: float,
    attempts: int,
    batch: str = "",
) -> None:
    """Journal a reply, or why there is none; `batch` is the provider's batch that it came in."""
    if failure is None:
        run.tally.answered += 1
        _count_cut_off(run, task, response)
    else:
        run.tally.failed += 1
        if task.model.name not in run.lasting:
            run.tally.failures.add(failure.kind)
        if run.stop:
            return  # interrupted on the way: simply not answered yet
        run.tally.last_failure = f"{task.model.name}: {failure.message}"
        # A repeated failure is not written, so that scores stay fresh; of a batch it is: tries are counted from it.
        known = run.journal.read(task.key) if response.usage is None and not batch else None
        if known is not None and known.error == failure:
            return
    stranger = run.journal.append(
        Entry(
            key=task.key.hex(),
            benchmark=task.benchmark,
            model=task.model.name,
            question=task.request.question,
            sample=task.request.sample,
            text=response.text,
            reasoning=response.reasoning,
            stop_reason=response.stop_reason,
            usage=response.usage,
            error=failure,
            likelihoods=response.likelihoods,
            seconds=round(seconds, 4),
            first=round(response.first, 4),
            attempts=attempts,
            at=round(time.time(), 3),
            batch=batch,
            nonce=task.nonce,
            served=response.served,
        )
    )
    if stranger:
        _say_who_answered(run, task)
    run.journal.keep_reserve(run.tally.in_flight)
    if failure is None and task.arrived is not None:
        task.arrived()
    if run.journal.full:
        run.finish("disk")


def _say_who_answered(run: Run, task: Task) -> None:
    """Warn at once where another model answers than was asked, or several do."""
    every = run.journal.served(task.model.name)
    for asked in (task.model.identity.get("model", ""), ""):
        if (who := who_answered(every, asked)) and not who_answered(every[:-1], asked):
            run.say(f"{task.model.name}: {who}")
            return


def _count_cut_off(run: Run, task: Task, response: Response) -> None:
    """Warn at once, and once a model, that its first replies are cut off: later ones will be, too."""
    if response.stop_reason not in CUT_OFF or run.tally.answered > FIRST_REPLIES:
        return
    cut = run.cut_off.setdefault(task.model.name, [])
    cut.append(response.stop_reason)
    if len(cut) == CUT_OFF_OF_FIRST:
        where = "while it was thinking" if cut.count("thinking") * 2 > len(cut) else "in the answer"
        run.say(
            f"{task.model.name}: {len(cut)} of the first {run.tally.answered} replies were cut off {where}, by the "
            f"limit of tokens: {option('max_tokens', 'N')} gives them room (Ctrl-C ends this run, and what is "
            "answered is kept)"
        )


def disk_full(run: Run) -> StorageError:
    """Return what to tell the user when the run stopped because the disk is full."""
    path = run.journal.path
    free, taken = shutil.disk_usage(path.parent).free, path.stat().st_size
    return StorageError(
        f"the disk of {path.parent} is full ({free:,} bytes are free; the answers so far take {taken:,}): asking "
        "stopped, every answer received is saved; free some space, then resume"
    )


T = TypeVar("T")
FIRST = 256
"""Most answers that wait for a stage without any result yet: it may never have one, and the answers were paid for."""
MOST = 10_000
"""Most answers that wait for a working stage; what is queued is their place in the journal, not the text."""


class Feed(Generic[T]):
    """The queue of items ready for the stage of `run`, first in, first out.

    Iterating yields None while nothing is ready, and ends after `close`. Items that `wants` rejects are not queued. A
    producer checks `full` before it starts work, so that a slow stage holds up a faster one; `bounded=False` turns that
    off.
    """

    def __init__(self, run: Run, *, bounded: bool = True, wants: Callable[[T], bool] = lambda _: True) -> None:
        self._run = run
        self._bounded = bounded
        self._wants = wants
        self._items: deque[T] = deque()
        self._closed = False
        self._held = False
        """Whether a producer found it full and must be woken when there is room."""

    @property
    def full(self) -> bool:
        """Whether producers should pause."""
        self._held = self._bounded and len(self._items) >= (MOST if self._run.tally.answered else FIRST)
        return self._held

    @property
    def ended(self) -> bool:
        """Whether it is closed and all items were taken."""
        return self._closed and not self._items

    def put(self, item: T) -> None:
        """Add an item, if it is wanted, and wake the stages."""
        if self._wants(item):
            self._items.append(item)
            self._run.tally.waiting += self._bounded
            self._run.ring()

    def close(self) -> None:
        """Mark the end: no item is added after this."""
        self._closed = True
        self._run.ring()

    def __iter__(self) -> Iterator[T | None]:
        while not self.ended:
            if not self._items:
                yield None
                continue
            item = self._items.popleft()
            self._run.tally.waiting -= self._bounded
            if self._held and not self.full:
                self._run.ring()
            yield item


class Onward(Generic[T]):
    """Passes the finished items of one stage to the feeds of others.

    `beyond`: feeds of the stages after those. `once`: pass each item on only once, even if the stage meets it again.
    """

    def __init__(self, feeds: Sequence[Feed[T]], beyond: Sequence[Feed[T]] = (), *, once: bool = False) -> None:
        self.feeds = feeds
        self._all = (*feeds, *beyond)
        self._once = once
        self._passed: dict[int, bytearray] = {}
        """Evaluation's identity → for each item's number, whether it was passed on."""

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
        """Mark the end: no item is added after this."""
        for feed in self.feeds:
            feed.close()


def gated(opened: Callable[[], bool], items: Callable[[], Iterator[T | None]]) -> Iterator[T | None]:
    """Yield None until `opened` returns true, then the items."""
    while not opened():
        yield None
    yield from items()


async def upcoming(run: Run, items: Iterator[T | None]) -> T | None:
    """Wait for the next item and return it; None where there is none, or the run is told to finish."""
    for item in items:
        if item is not None or run.stop:
            return item
        await run.idle()
    return None
