"""A worker on a cluster: a Ray actor around the same bench that a worker process has."""

from __future__ import annotations

import os
import pickle
from typing import Any

from msgspec import Struct

from viva.distributed.cluster import edition
from viva.distributed.worker import Bench


class Hello(Struct, frozen=True):
    """Who a worker is: its Viva, why it cannot work (pickled, as `outcome` raises it), what it says of itself."""

    edition: str
    failure: bytes
    report: Any
    process: int


class Station:
    """What Ray runs: one for each worker."""

    def __init__(self, recipe: bytes) -> None:
        self._bench = Bench(recipe)

    def hello(self) -> bytes:
        """A Hello, pickled."""
        return pickle.dumps(Hello(edition(), self._bench.failure, self._bench.report(), os.getpid()))

    def do(self, piece: bytes) -> bytes:
        """One piece: see worker.Bench."""
        return self._bench.do(piece)

    def hurry(self) -> None:
        """Give back what nobody works on yet."""
        self._bench.hurry()
