"""Bookkeeping of a worker pool: resources, identity, assigned pieces, cause of loss.

A worker on a cluster: a Ray actor around the same bench that a worker process has.
"""

from __future__ import annotations

import os
import pickle
from concurrent.futures import Future, InvalidStateError
from typing import Any, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from viva.distributed.cluster import Node, edition
from viva.distributed.worker import LOSSES, WorkerLoop
from viva.errors import VivaError
from viva.visible import one_line


class Hello(Struct, frozen=True):
    """Who a worker is: its Viva, why it cannot work (pickled, as `outcome` raises it), what it says of itself."""

    edition: str
    failure: bytes
    report: Any
    process: int


class RemoteWorker:
    """What Ray runs: one for each worker."""

    def __init__(self, recipe: bytes) -> None:
        self._loop = WorkerLoop(recipe)

    def hello(self) -> bytes:
        """Return a Hello, pickled."""
        return pickle.dumps(Hello(edition(), self._loop.failure, self._loop.report(), os.getpid()))

    def do(self, piece: bytes) -> bytes:
        """Return one piece: see worker.Bench."""
        return self._loop.do(piece)

    def drain(self) -> None:
        """Give back what nobody works on yet."""
        self._loop.drain()


T = TypeVar("T")

LONGEST = 300
"""Characters of a reason."""


class NoCapableWorker(VivaError):  # noqa: N818 - no node is, and it is nobody's fault
    """No machine of the cluster can do such a piece."""


class Needs(Struct, frozen=True, kw_only=True):
    """What a worker takes, and how many there may be."""

    gpus: int = 0
    whole: bool = False
    """All processors of a node for one worker."""
    depth: int = 1
    """Pieces that a worker has at once."""
    most: int = 0
    """Workers in all; 0 is as many as fit."""
    losses: int = LOSSES
    """Workers that a piece may cost."""

    def fit(self, node: Node) -> int:
        """Return how many workers a node has room for."""
        if self.gpus:
            return int(node.gpus // self.gpus)
        return min(1, int(node.cpus)) if self.whole else int(node.cpus)


class Piece(Struct, eq=False):
    """A piece on its way. `need` is what a worker's report must answer to; `lost` counts its workers."""

    content: bytes
    need: str
    future: Future[bytes]
    lost: int = 0


class WorkerHandle(Struct, eq=False):
    """A worker: an actor on a node."""

    node: Node
    actor: Any
    place: int
    """Which of the node's places it has, from 0 on."""
    hello: Hello | None = None
    """What it said when it was asked last; None until it answers."""
    began: bool = False
    """Whether it ever answered."""
    going: set[int] = set()
    """The pieces that it has, by identity."""


class Event(NamedTuple):
    """Something that the thread has to see to."""

    kind: str
    handle: WorkerHandle | None = None
    piece: Piece | None = None
    future: Future[bytes] | None = None


class Capabilities(Protocol):
    """What pieces need, and workers have or lack."""

    def met(self, host: str, report: Any) -> None:
        """A worker on `host` reported."""
        ...

    def lacking(self, report: Any, need: str) -> str:
        """Return why a worker that reported this cannot do pieces that need that; empty where it can."""
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
    said = " ".join(str(problem).split())
    if "No module named 'viva" in said:
        return "Viva is not installed there: a cluster's nodes need the same Viva as this machine"
    return one_line(f"a worker could not be started ({said[-LONGEST:]})", 2 * LONGEST)
