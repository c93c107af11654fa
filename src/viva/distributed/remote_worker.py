"""A worker on a cluster: a Ray actor around the same bench that a worker process has."""

from __future__ import annotations

import os
import pickle
from typing import Any

from msgspec import Struct

from viva.distributed.cluster import edition
from viva.distributed.worker import WorkerLoop


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
