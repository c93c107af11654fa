"""What of a run is with a provider: batches that were handed in and are not read yet (batches.jsonl)."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from viva.engine.batchlog import BatchLog
from viva.errors import StorageError


class Waiting(Struct, frozen=True):
    """So many requests in so many batches; or why nobody can say."""

    batches: int = 0
    requests: int = 0
    problem: str = ""

    @property
    def sentence(self) -> str:
        """In words; empty where nothing is waited for."""
        if not self.batches:
            return ""
        batches = "a batch" if self.batches == 1 else f"{self.batches:,} batches"
        return f"{self.requests:,} requests in {batches} are with the provider"


def waiting(folder: Path) -> Waiting:
    """What of this run's is not read yet. Takes no lock and writes nothing."""
    try:
        log = BatchLog(folder, write=False)
    except StorageError as problem:
        return Waiting(problem=str(problem))
    try:
        sizes = [len(batch.intent.keys) for batch in log.waiting()]
    finally:
        log.close()
    return Waiting(len(sizes), sum(sizes))
