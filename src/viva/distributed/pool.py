"""Workers on a cluster: started where there is room, replaced when lost.

One thread schedules; callers submit pieces and get futures, or give a stream of pieces to a `RayWorkerPool`. Workers
are Ray actors around the same loop as a worker process's. Each is bound to a node, so that the pool knows a node's
capabilities and resources, and which workers are lost when it dies.
"""

from __future__ import annotations

import os
import pickle
import queue
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

from msgspec import Struct

from viva.distributed.cluster import Cluster, ClusterError, Node, connect, edition, reason
from viva.distributed.local import Ended, Source, in_order
from viva.distributed.worker import LOSSES, LostWorkerError, WorkerLoop, outcome
from viva.errors import VivaError
from viva.visible import one_line


class Hello(Struct, frozen=True):
    """A worker's introduction: its Viva, why it cannot work (pickled, for `outcome` to raise), and its report."""

    edition: str
    failure: bytes
    report: Any
    process: int


class RemoteWorker:
    """The Ray actor of one worker."""

    def __init__(self, recipe: bytes) -> None:
        self._loop = WorkerLoop(recipe)

    def hello(self) -> bytes:
        """Return a Hello, pickled."""
        return pickle.dumps(Hello(edition(), self._loop.failure, self._loop.report(), os.getpid()))

    def do(self, piece: bytes) -> bytes:
        """Work on one piece: see worker.WorkerLoop."""
        return self._loop.do(piece)

    def drain(self) -> None:
        """Cancel pieces that are not begun."""
        self._loop.drain()


T = TypeVar("T")

LONGEST = 300
"""Most characters of a reason."""


class NoCapableWorker(VivaError):  # noqa: N818 - no node is, and it is nobody's fault
    """An error: no machine of the cluster can do such a piece."""


class Needs(Struct, frozen=True, kw_only=True):
    """Resources of a worker, and limits of the pool."""

    gpus: int = 0
    whole: bool = False
    """Whether a worker takes all processors of a node."""
    depth: int = 1
    """Most pieces that a worker has at once."""
    most: int = 0
    """Most workers; 0 for as many as fit."""
    losses: int = LOSSES
    """Most workers that a piece may lose."""

    def fit(self, node: Node) -> int:
        """Return how many workers a node has room for."""
        if self.gpus:
            return int(node.gpus // self.gpus)
        return min(1, int(node.cpus)) if self.whole else int(node.cpus)


class Piece(Struct, eq=False):
    """A piece in work. `need`: the capability that it requires; `lost`: number of workers lost with it."""

    content: bytes
    need: str
    future: Future[bytes]
    lost: int = 0


class WorkerHandle(Struct, eq=False):
    """A worker: an actor on a node."""

    node: Node
    actor: Any
    place: int
    """Number of its place on the node, from 0."""
    hello: Hello | None = None
    """Its last answer; None before the first."""
    began: bool = False
    """Whether it ever answered."""
    going: set[int] = set()
    """Identities of the pieces that it has."""


class Event(NamedTuple):
    """An event for the scheduling thread."""

    kind: str
    handle: WorkerHandle | None = None
    piece: Piece | None = None
    future: Future[bytes] | None = None


class Capabilities(Protocol):
    """The capabilities of workers and the needs of pieces."""

    def met(self, host: str, report: Any) -> None:
        """Take in the report of a worker on `host`."""
        ...

    def lacking(self, report: Any, need: str) -> str:
        """Return why a worker with this report cannot do pieces with this need; "" where it can."""
        ...


def settle(future: Future[T], result: T | BaseException) -> None:
    """Set a future to a result or an error, unless it is done or cancelled."""
    try:
        if isinstance(result, BaseException):
            future.set_exception(result)
        else:
            future.set_result(result)
    except InvalidStateError:
        return


def how_lost(problem: BaseException) -> str:
    """Return how a worker was lost."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    return one_line(f"was lost ({type(problem).__name__}: {lines[-1] if lines else ''})", LONGEST)


def not_started(problem: BaseException) -> str:
    """Return why a worker could not be started."""
    message = " ".join(str(problem).split())
    if "No module named 'viva" in message:
        return "Viva is not installed there: a cluster's nodes need the same Viva as this machine"
    return one_line(f"a worker could not be started ({message[-LONGEST:]})", 2 * LONGEST)


REFRESH = 2.0
"""Seconds between two updates of the cluster's nodes."""
PATIENCE = 15.0
"""Seconds without a worker after which the user is told."""


class Pool:
    """Workers of one recipe. `recipe(place)`: the pickled recipe for the worker at a node's n-th place."""

    def __init__(
        self, cluster: Cluster, recipe: Callable[[int], bytes], needs: Needs, capabilities: Capabilities | None = None
    ) -> None:
        self._cluster = cluster
        self._recipe = recipe
        self._needs = needs
        self._capabilities = capabilities
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._nodes: list[Node] = cluster.nodes()
        self._handles: list[WorkerHandle] = []
        self._waiting: deque[Piece] = deque()
        self._going: dict[int, Piece] = {}
        self._reports: dict[str, Any] = {}
        """Node → report of its workers."""
        self._failures: Counter[str] = Counter()
        self._barred: dict[str, BaseException] = {}
        """Unusable node → why."""
        self._broken: BaseException | None = None
        self._began = self._idle_since = time.monotonic()
        self._told = False
        self._eager = False
        """Whether a caller waits for a worker without submitting a piece."""
        self._first: Future[bytes] = Future()
        """Settled when a worker is ready, or none ever will be."""
        self._thread = threading.Thread(target=self._run, name="viva-pool", daemon=True)
        self._thread.start()

    @property
    def capacity(self) -> int:
        """Number of workers that the cluster has room for if it is not in use by others; at least one."""
        capacity = sum(self._needs.fit(node) for node in self._nodes if node.id not in self._barred)
        return max(1, min(capacity, self._needs.most or capacity))

    def submit(self, piece: object, need: str = "") -> Future[bytes]:
        """Submit a piece; the future holds its outcome (see worker.attempt), or LostWorkerError, NoCapableWorker,
        ClusterError, or the error that kept every worker from starting.
        """
        future: Future[bytes] = Future()
        content = pickle.dumps(piece, pickle.HIGHEST_PROTOCOL)
        self._events.put(Event("new", piece=Piece(content, need, future)))
        return future

    def begin(self) -> Any:
        """Wait for the first worker and return its report. Raises the error that kept all from starting."""
        self._events.put(Event("begin"))
        return pickle.loads(self._first.result())  # noqa: S301 - our own worker's

    def drain(self) -> None:
        """Ask the workers to cancel pieces that they have not begun."""
        self._events.put(Event("hurry"))

    def close(self) -> None:
        """End all workers, also those at work."""
        self._events.put(Event("stop"))
        self._thread.join(30)

    def _run(self) -> None:
        looked = 0.0
        while True:
            try:
                event = self._events.get(timeout=REFRESH / 4)
            except queue.Empty:
                event = Event("look")
            try:
                if event.kind == "stop":
                    break
                self._see_to(event)
                if time.monotonic() - looked > REFRESH or event.kind == "lost":
                    self._look()
                    looked = time.monotonic()
                self._staff()
                self._hand_out()
            except VivaError as problem:
                self._fail(problem)
            except Exception as problem:  # a broken connection: no result of this pool can come any more
                self._fail(ClusterError(f"the Ray cluster does not answer any more ({reason(problem)})"))
        self._fail(ClusterError("the workers were sent home"))
        self._dismiss(self._handles)

    def _see_to(self, event: Event) -> None:
        handle, piece, future = event.handle, event.piece, event.future
        if event.kind == "new" and piece is not None:
            if self._broken is not None:
                settle(piece.future, self._broken)
            else:
                self._waiting.append(piece)
        elif event.kind == "begin":
            self._eager = True
        elif event.kind == "hurry":
            for waiting in self._handles:
                waiting.actor.drain.remote()
        elif event.kind == "hello" and handle is not None and future is not None:
            self._welcome(handle, future)
        elif event.kind == "done" and handle is not None and future is not None and piece is not None:
            self._book(handle, piece, future)

    def _welcome(self, handle: WorkerHandle, future: Future[bytes]) -> None:
        """Handle a worker that has started or failed to."""
        problem = future.exception()
        if handle not in self._handles:
            return
        if problem is not None:
            self._lose(handle)
            if handle.began:
                return
            self._failures[handle.node.id] += 1
            if self._failures[handle.node.id] >= LOSSES or "No module named 'viva" in str(problem):
                self._bar(handle.node, ClusterError(not_started(problem)))
            return
        hello: Hello = pickle.loads(future.result())  # noqa: S301 - our own worker's
        if hello.edition != edition():
            self._bar(handle.node, ClusterError(f"Viva is {hello.edition} there, and {edition()} here"))
        elif hello.failure:
            try:
                outcome(hello.failure)
            except Exception as failure:
                self._bar(handle.node, failure)
        else:
            handle.hello, handle.began = hello, True
            self._failures[handle.node.id] = 0
            settle(self._first, pickle.dumps(hello.report))
            self._reports[handle.node.id] = hello.report
            if self._capabilities is not None:
                self._capabilities.met(handle.node.host, hello.report)

    def _bar(self, node: Node, why: BaseException) -> None:
        """Bar a node on which this pool's workers cannot run."""
        if node.id not in self._barred:
            self._barred[node.id] = why
            if self._usable():
                print(one_line(f"viva: nobody works on {node.host}: {why}", 2 * LONGEST), file=sys.stderr)
        self._dismiss([handle for handle in self._handles if handle.node.id == node.id])

    def _book(self, handle: WorkerHandle, piece: Piece, future: Future[bytes]) -> None:
        """Handle a piece that is done, or whose worker was lost."""
        handle.going.discard(id(piece))
        self._going.pop(id(piece), None)
        problem = future.exception()
        if problem is None:
            settle(piece.future, future.result())
            return
        if isinstance(problem, self._cluster.ray.exceptions.RayTaskError):
            settle(piece.future, problem)
            return
        self._lose(handle)
        piece.lost += 1
        if piece.lost < self._needs.losses:
            self._waiting.appendleft(piece)
        else:
            settle(piece.future, LostWorkerError(how_lost(problem)))

    def _lose(self, handle: WorkerHandle) -> None:
        """Drop a lost worker; others on its node are asked for a sign of life before they get another piece."""
        if handle not in self._handles:
            return
        self._dismiss([handle])
        self._events.put(Event("lost"))
        for other in self._handles:
            if other.node.id == handle.node.id and other.hello is not None and not other.going:
                other.hello = None
                self._tell(other.actor.hello.remote(), Event("hello", other))

    def _dismiss(self, handles: Iterable[WorkerHandle]) -> None:
        for handle in list(handles):
            self._handles.remove(handle)
            with suppress(Exception):  # gone already
                self._cluster.ray.kill(handle.actor)

    def _look(self) -> None:
        """Update the cluster's nodes."""
        self._nodes = self._cluster.nodes()
        there = {node.id for node in self._nodes}
        self._dismiss([handle for handle in self._handles if handle.node.id not in there and not handle.going])

    def _staff(self) -> None:
        """Start workers where there is room, as many as there is work for; where nodes differ, at least one on each."""
        work = len(self._waiting) + len(self._going) or int(self._eager and not self._first.done())
        if not work:
            self._idle_since = time.monotonic()
            return
        open_nodes = [node for node in self._nodes if node.id not in self._barred]
        used = Counter(handle.node.id for handle in self._handles)
        capacity = {node.id: self._needs.fit(node) for node in open_nodes}
        differ = self._capabilities is not None
        most = min(self._needs.most or sum(capacity.values()), -(-work // self._needs.depth))
        if differ:
            most = max(most, len(open_nodes))
        while len(self._handles) < most:
            free = [node for node in open_nodes if used[node.id] < capacity[node.id]]
            if not free:
                break
            node = min(free, key=lambda node: (used[node.id] / capacity[node.id], node.id))
            self._hire(node)
            used[node.id] += 1
        for need in {piece.need for piece in self._waiting} if differ else ():
            self._hire_for(need, [node for node in open_nodes if used[node.id] < capacity[node.id]])
        self._give_up(open_nodes, capacity)

    def _hire_for(self, need: str, free: list[Node]) -> None:
        """Start a worker that can meet a need, if only nodes without workers could."""
        if any(handle.hello is None or not self._lacking(handle.hello.report, need) for handle in self._handles):
            return
        for node in free:
            if node.id not in self._reports or not self._lacking(self._reports[node.id], need):
                self._hire(node)
                return

    def _give_up(self, nodes: list[Node], capacity: dict[str, int]) -> None:
        """Tell the user why no worker starts; fail pieces that no worker can do."""
        if not self._handles and self._barred and not any(capacity.values()):
            why = next(iter(self._barred.values()))
            if isinstance(why, ClusterError):
                hosts = ", ".join(sorted({node.host for node in self._nodes if node.id in self._barred}))
                why = ClusterError(f"nobody can work on the Ray cluster ({one_line(hosts, 100)}): {why}")
            self._fail(why)
            return
        if any(handle.hello is not None for handle in self._handles):
            self._idle_since, self._told = time.monotonic(), False
        elif time.monotonic() - self._idle_since > PATIENCE and not self._told:
            self._told = True
            what = f"{self._needs.gpus} GPU" if self._needs.gpus else "all processors" if self._needs.whole else "1 CPU"
            print(
                f"viva: no worker has started on the Ray cluster yet ({len(nodes)} nodes): each takes {what} of a "
                "node; `ray status` shows what is in use",
                file=sys.stderr,
            )

    def _hire(self, node: Node) -> None:
        ray = self._cluster.ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        taken = {handle.place for handle in self._handles if handle.node.id == node.id}
        place = next(number for number in range(len(taken) + 1) if number not in taken)
        cpus = float(int(node.cpus)) if self._needs.whole and not self._needs.gpus else min(1.0, node.cpus)
        actor = (
            ray.remote(RemoteWorker)
            .options(
                num_cpus=cpus,
                num_gpus=self._needs.gpus,
                max_concurrency=self._needs.depth + 1,  # and one call of `drain`
                scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False),
            )
            .remote(self._recipe(place))
        )
        handle = WorkerHandle(node, actor, place)
        self._handles.append(handle)
        self._tell(actor.hello.remote(), Event("hello", handle))

    def _tell(self, ref: Any, event: Event) -> None:
        """Queue the event when Ray's reference is ready."""
        ref.future().add_done_callback(partial(_remember, self._events, event))

    def _hand_out(self) -> None:
        if not self._surveyed():
            return
        free = [
            handle for handle in self._handles if handle.hello is not None and len(handle.going) < self._needs.depth
        ]
        left: deque[Piece] = deque()
        refused: dict[str, str] = {}
        while self._waiting and (free or self._capabilities is not None):
            piece = self._waiting.popleft()
            if piece.future.cancelled():
                continue
            able = [handle for handle in free if handle.hello and not self._lacking(handle.hello.report, piece.need)]
            if able:
                handle = min(able, key=lambda handle: (len(handle.going), self._capability_count(handle)))
                self._give(handle, piece)
                if len(handle.going) >= self._needs.depth:
                    free.remove(handle)
                continue
            if piece.need not in refused:
                refused[piece.need] = self._nobody(piece.need)
            if refused[piece.need]:
                settle(piece.future, NoCapableWorker(refused[piece.need]))
            else:
                left.append(piece)
        self._waiting.extendleft(reversed(left))

    def _capability_count(self, handle: WorkerHandle) -> int:
        """Return how many needs a worker can meet: the most capable workers are kept for rare needs."""
        return len(handle.hello.report) if handle.hello and isinstance(handle.hello.report, dict) else 0

    def _lacking(self, report: Any, need: str) -> str:
        return self._capabilities.lacking(report, need) if self._capabilities else ""

    def _surveyed(self) -> bool:
        """Tell whether the capabilities of all nodes are known, or the wait for one has been too long."""
        if self._capabilities is None or time.monotonic() - self._began > PATIENCE:
            return True
        return all(node.id in self._reports for node in self._usable())

    def _usable(self) -> list[Node]:
        """Return the nodes that may have room for a worker of this pool."""
        return [node for node in self._nodes if node.id not in self._barred and self._needs.fit(node)]

    def _nobody(self, need: str) -> str:
        """Return why no node of the cluster can meet a need; "" while one may."""
        reasons = []
        for node in self._usable():
            why = self._lacking(self._reports[node.id], need) if node.id in self._reports else ""
            if not why:
                return ""
            reasons.append(why)
        return reasons[0] if reasons else ""

    def _give(self, handle: WorkerHandle, piece: Piece) -> None:
        handle.going.add(id(piece))
        self._going[id(piece)] = piece
        self._tell(handle.actor.do.remote(piece.content), Event("done", handle, piece))

    def _fail(self, why: BaseException) -> None:
        self._broken = why
        settle(self._first, why)
        for piece in (*self._waiting, *self._going.values()):
            settle(piece.future, why)
        self._waiting.clear()
        self._going.clear()


def _remember(events: queue.SimpleQueue[Event], event: Event, future: Future[bytes]) -> None:
    events.put(event._replace(future=future))


P = TypeVar("P")
R = TypeVar("R")


class _RayHandles(Generic[P]):
    """The workers of a pool, with the interface that `in_order` uses."""

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
        endings = []
        while wait or not self._back.empty():
            number, future = self._back.get()
            wait = False
            self._out -= 1
            try:
                endings.append(Ended(number, future.result()))
            except LostWorkerError as problem:
                endings.append(Ended(number, lost=str(problem)))
        return endings


class RayWorkerPool:
    """A pool of a worker for each processor of the cluster, or `jobs` at most. A context manager that ends them."""

    def __init__(self, on: str, jobs: int = 0) -> None:
        self._cluster = connect(on)
        self._jobs = jobs

    @property
    def jobs(self) -> int:
        """How many pieces are worked on at once."""
        capacity = sum(int(node.cpus) for node in self._cluster.nodes())
        return max(1, min(capacity, self._jobs or capacity))

    def map(
        self, recipe: Callable[[], Callable[[P], R]], pieces: Iterable[P], *, name: Callable[[P], str] = lambda _: ""
    ) -> Iterator[R]:
        """Yield the results of the pieces, in their order: see `WorkerPool.map`."""
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
            results: Iterator[Any] = in_order(handles, source, first, name)
            yield from results
        finally:
            pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing: each `map` ends its workers, and the connection belongs to the process."""
