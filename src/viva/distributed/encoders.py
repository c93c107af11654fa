"""An encoder whose texts are compared on a cluster: one replica a GPU, or one a node where there is none."""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from viva.distributed.cluster import connect
from viva.distributed.pool import Pool
from viva.distributed.worker import outcome
from viva.distributed.worker_handles import Needs
from viva.errors import VivaError

EncoderRecipe = Callable[[int], Callable[[Sequence[tuple[str, str]]], list[float]]]
"""Opens the encoder of the worker at a machine's n-th place; it reports name, identity and batch."""


def replicas(on: str) -> Needs:
    """Return a card each, where the cluster has any; otherwise all processors of a node."""
    cards = any(node.gpus >= 1 for node in connect(on).nodes())
    return Needs(gpus=1, depth=2) if cards else Needs(whole=True, depth=2)


class RemoteEncoder:
    """Replicas are opened to learn what they are, and again when there is something to compare: in between, the cluster
    is others'. Raises VivaError where none can be opened."""

    def __init__(self, on: str, recipe: EncoderRecipe) -> None:
        self._on = on
        self._recipe = recipe
        self._opening = threading.Lock()
        self._pool: Pool | None = None
        pool = self._open()
        try:
            report: tuple[str, dict[str, str], int] = pool.begin()
            self.name, self._identity, self.batch = report
            self.jobs = 2 * pool.capacity
            """Batches to have on their way: each replica has the next one while it works on one."""
        finally:
            pool.close()

    @property
    def identity(self) -> Mapping[str, str]:
        """What else a similarity depends on."""
        return self._identity

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return the similarity of each text to its reference; blocking, and for several threads at once."""
        with self._opening:
            if self._pool is None:
                self._pool = self._open()
        values: list[float] = outcome(self._pool.submit(list(pairs)).result())
        return values

    async def close(self) -> None:
        """Release the weights everywhere."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.to_thread(pool.close)

    def _open(self) -> Pool:
        return Pool(
            connect(self._on),
            lambda place: pickle.dumps(partial(self._recipe, place)),
            replicas(self._on),
            Same("encoder", lambda report: report[1]),
        )


class Same:
    """All replicas must be of one kind: what differs in identity gives other numbers."""

    def __init__(self, what: str, identity: Callable[[Any], Mapping[str, str]], known: Mapping[str, str] | None = None):
        self._what = what
        self._identity = identity
        self._known = known
        self._host = "this machine" if known is not None else ""

    def met(self, host: str, report: Any) -> None:
        """Raise VivaError for one that is another."""
        found = self._identity(report)
        if self._known is None:
            self._known, self._host = found, host
        for key in {**self._known, **found}:
            if self._known.get(key) != found.get(key):
                raise VivaError(
                    f"the {self._what} on {host} is not that of {self._host}: its {key} is {found.get(key)!r} there "
                    f"and {self._known.get(key)!r} here; put the same files everywhere"
                )

    def lacking(self, _report: Any, _need: str) -> str:
        """Nobody that is the same lacks anything."""
        return ""
