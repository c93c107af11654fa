"""batches.jsonl of a run folder: which batches were handed in to a provider, and what became of them.

A line is written before a batch is handed in (`intended`, with the keys of all its requests) and after (`submitted`,
with the provider's name for it). So a process that is killed in between knows at its next start that there may be a
batch of its own with the provider, and how to recognise it: no batch is lost, and none is paid twice.
"""

from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from viva.engine.journal import set_torn_tail_aside, whole_lines
from viva.errors import StorageError
from viva.files import UNREADABLE, open_regular, reading

FILE = "batches.jsonl"
LABEL = re.compile(r"[0-9a-f]{16}")
PROVIDERS_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
"""What a batch may be called by a provider: it becomes a part of addresses, and comes from outside."""


class Intended(Struct, frozen=True, kw_only=True, tag_field="event", tag="intended"):
    """A batch is about to be handed in. `keys` are its requests in order, as hexadecimal digits, `nonces` what their
    verdicts must carry: whoever reads the results may have another secret."""

    label: str
    stage: str
    """Whose answers: a journal of the run folder ("responses", "annotations", ...)."""
    model: str
    identity: dict[str, str]
    kind: str
    after: str
    """The provider's newest batch before it."""
    keys: tuple[str, ...]
    nonces: tuple[str, ...] = ()
    at: float


class Submitted(Struct, frozen=True, kw_only=True, tag_field="event", tag="submitted"):
    """The provider has it, under the name `batch`."""

    label: str
    batch: str
    at: float


class Read(Struct, frozen=True, kw_only=True, tag_field="event", tag="read"):
    """Its results are journaled: so many `answered`, so many `failed` (for good, or to be asked `again`)."""

    label: str
    answered: int
    failed: int
    strangers: int = 0
    """Results that no request of the batch belongs to, and such as came twice: left out."""
    at: float


class Dropped(Struct, frozen=True, kw_only=True, tag_field="event", tag="dropped"):
    """It never reached the provider, or was refused as a whole: its requests are sent again."""

    label: str
    why: str
    at: float


class Left(Struct, frozen=True, kw_only=True, tag_field="event", tag="left"):
    """From here on the run asks the normal way."""

    at: float


Event = Intended | Submitted | Read | Dropped | Left
LEFT_BEHIND = 200
"""Bytes at the end of the file that hold a line `left`, if that is the last."""


class Batch(Struct, kw_only=True):
    """One batch, as far as it came. Without `name`, nobody knows yet whether the provider has it."""

    intent: Intended
    name: str = ""
    read: bool = False
    dropped: bool = False

    @property
    def label(self) -> str:
        """Viva's own name for it."""
        return self.intent.label

    def requests(self) -> Iterator[bytes]:
        """The keys of its requests."""
        return map(bytes.fromhex, self.intent.keys)

    def nonces(self) -> Iterator[tuple[bytes, str]]:
        """The keys of its requests, each with its nonce."""
        return zip(self.requests(), itertools.chain(self.intent.nonces, itertools.repeat("")), strict=False)

    @property
    def open(self) -> bool:
        """Whether there is still something to come of it."""
        return not (self.read or self.dropped)


class BatchLog:
    """The file, read whole and appended to. Only under the run folder's lock.

    Raises StorageError for a damaged line, and where it cannot be written.
    """

    def __init__(self, folder: Path, file: str = FILE, *, write: bool = True) -> None:
        self.path = folder / file
        self.batches: dict[str, Batch] = {}
        self._encode = msgspec.json.Encoder().encode
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND if write else os.O_RDONLY
        try:
            self._file = open_regular(self.path, flags)
        except FileNotFoundError:
            self._file = -1
            return
        except OSError as problem:
            raise StorageError(f"cannot open {self.path}: {problem.strerror}") from None
        end = self._load()
        if write:
            set_torn_tail_aside(self._file, end, self.path.with_suffix(".torn"))

    @staticmethod
    def begun(folder: Path, file: str = FILE) -> bool:
        """Whether this run has asked through batches, and did not leave it since."""
        try:
            with reading(folder / file) as content:
                content.seek(-min(LEFT_BEHIND, os.fstat(content.fileno()).st_size), os.SEEK_END)
                lines = content.read().splitlines()
        except OSError:
            return False
        return not (lines and b'"event":"left"' in lines[-1])

    def _load(self) -> int:
        decode = msgspec.json.Decoder(Event).decode
        end = 0
        for number, line in whole_lines(self._file, self.path):
            try:
                self._remember(decode(line))
            except UNREADABLE as problem:
                raise StorageError(
                    f"{self.path}, line {number} is damaged ({problem}); what it says of a batch must be known before "
                    "anything is asked again: put it right, or remove the line to go on without that batch"
                ) from None
            end += len(line)
        return end

    def _remember(self, event: Event) -> None:
        if isinstance(event, Left):
            return
        if isinstance(event, Intended):
            if not LABEL.fullmatch(event.label):
                raise ValueError(f"{event.label[:40]!r} is no label of a batch")
            for key in event.keys:
                bytes.fromhex(key)
            self.batches[event.label] = Batch(intent=event)
            return
        batch = self.batches.get(event.label)
        if batch is None:  # its first line was removed by hand: it is not to be gone on with
            return
        if isinstance(event, Submitted):
            if not PROVIDERS_NAME.fullmatch(event.batch):
                raise ValueError(f"{event.batch[:40]!r} is no provider's name of a batch")
            batch.name = event.batch
        elif isinstance(event, Read):
            batch.read = True
        else:
            batch.dropped = True

    def note(self, event: Event) -> None:
        """Append a line and see to it that it is on the disk."""
        line = self._encode(event) + b"\n"
        end = os.fstat(self._file).st_size
        try:
            written = 0
            while written < len(line):
                written += os.write(self._file, line[written:])
            os.fsync(self._file)
        except OSError as problem:
            os.ftruncate(self._file, end)
            raise StorageError(
                f"cannot write {self.path}: {problem.strerror}; free some space, then resume: nothing is lost"
            ) from None
        self._remember(event)

    def intend(
        self,
        label: str,
        stage: str,
        model: str,
        identity: Mapping[str, str],
        kind: str,
        after: str,
        nonces: Mapping[bytes, str],
    ) -> Batch:
        """About to hand in a batch; `nonces`: key → nonce of each of its requests, in order."""
        self.note(
            Intended(
                label=label,
                stage=stage,
                model=model,
                identity=dict(identity),
                kind=kind,
                after=after,
                keys=tuple(key.hex() for key in nonces),
                nonces=tuple(nonces.values()) if any(nonces.values()) else (),
                at=time.time(),
            )
        )
        return self.batches[label]

    def of(self, stage: str, identity: Mapping[str, str]) -> list[Batch]:
        """The batches of one model in one stage, oldest first."""
        wanted = dict(identity)
        return [one for one in self.batches.values() if one.intent.stage == stage and one.intent.identity == wanted]

    def waiting(self) -> Iterator[Batch]:
        """All batches of which there is still something to come."""
        return (batch for batch in self.batches.values() if batch.open)

    def close(self) -> None:
        """Give the file back."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
