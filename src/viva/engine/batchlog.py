"""batches.jsonl of a run folder: which batches were handed in to a provider, what became of them and of their requests.

A line is written before a batch is handed in (`intended`, with the keys of all its requests) and after (`submitted`,
with the provider's name for it). So after a kill in between, the next start knows that the provider may have the batch,
and how to recognise it: no batch is lost, and none is paid twice.
"""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from viva.engine.asking import Run, Task, book, write
from viva.engine.budget import worst_case
from viva.engine.folder import BATCHES
from viva.engine.groups import HOPELESS, PARTICULAR, WITHOUT_VERDICT
from viva.engine.journal import append_whole, set_torn_tail_aside, whole_lines
from viva.errors import ModelError, StorageError
from viva.files import UNREADABLE, open_regular
from viva.types import Failure, Generate, Response, Usage

LABEL = re.compile(r"[0-9a-f]{16}")
PROVIDERS_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
"""Names of batches that are accepted from a provider: a name becomes a part of addresses, and is untrusted."""


class Intended(Struct, frozen=True, kw_only=True, tag_field="event", tag="intended"):
    """A batch is about to be handed in. `keys` are its requests in order, as hexadecimal digits, `nonces` what their
    verdicts must carry: the process that reads the results may have another secret."""

    label: str
    stage: str
    """The journal of the run folder that gets the answers ("responses", "annotations", ...)."""
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
    """Its results are journaled. `answered`, `failed`: how many requests; failed ones may still be asked again."""

    label: str
    answered: int
    failed: int
    strangers: int = 0
    """Results left out: without a request of the batch, or repeated."""
    at: float


class Dropped(Struct, frozen=True, kw_only=True, tag_field="event", tag="dropped"):
    """It never reached the provider, or was refused as a whole: its requests are sent again."""

    label: str
    why: str
    at: float


class Left(Struct, frozen=True, kw_only=True, tag_field="event", tag="left"):
    """From here on the run asks without batches."""

    at: float


Event = Intended | Submitted | Read | Dropped | Left


class Batch(Struct, kw_only=True):
    """One batch and its latest state. Without `name`, it is unknown whether the provider has it."""

    intent: Intended
    name: str = ""
    read: bool = False
    dropped: bool = False

    @property
    def label(self) -> str:
        """Viva's own name for it."""
        return self.intent.label

    def requests(self) -> Iterator[bytes]:
        """Yield the keys of its requests."""
        return map(bytes.fromhex, self.intent.keys)

    def nonces(self) -> Iterator[tuple[bytes, str]]:
        """Yield the keys of its requests, each with its nonce."""
        return zip(self.requests(), itertools.chain(self.intent.nonces, itertools.repeat("")), strict=False)

    @property
    def open(self) -> bool:
        """Whether its results are still to come."""
        return not (self.read or self.dropped)


class BatchLog:
    """The file batches.jsonl, read whole and appended to. Only under the run folder's lock.

    Raises StorageError for a damaged line, and where it cannot be written.
    """

    def __init__(self, folder: Path, file: str = BATCHES, *, write: bool = True) -> None:
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
        if batch is None:  # its first line was removed by hand: the log cannot be continued
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
        """Append a line and flush it to the disk."""
        try:
            append_whole(self._file, self._encode(event) + b"\n", os.fstat(self._file).st_size, sync=True)
        except OSError as problem:
            raise StorageError(
                f"cannot write {self.path}: {problem.strerror}; free some space, then resume: nothing is lost"
            ) from None
        self._remember(event)

    def of(self, stage: str, identity: Mapping[str, str]) -> list[Batch]:
        """Return the batches of one model in one stage, oldest first."""
        wanted = dict(identity)
        return [
            batch for batch in self.batches.values() if batch.intent.stage == stage and batch.intent.identity == wanted
        ]

    def waiting(self) -> Iterator[Batch]:
        """Yield all batches whose results are still to come."""
        return (batch for batch in self.batches.values() if batch.open)

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


ROUNDS = 3
"""Batches that a request is tried in before its failure is journaled as final (fewer with --max-attempts)."""
FREE = "parameter"
"""Kind of an error after which the model's adapter has changed its requests: the next batch is no second try."""
NO_VERDICT = ModelError("unreadable", WITHOUT_VERDICT.message, retry=True)


class PendingRequest(Struct, frozen=True):
    """A request in an open batch, without its prompt (rendered again where needed)."""

    task: Task
    worst: Usage
    reserved: float
    """US dollars."""


class PendingResults:
    """One model's requests in open batches, and how often each was tried.

    Tries are counted across processes, from the last failure that was journaled as final: see `batchlog`.
    """

    def __init__(self, run: Run, log: BatchLog, stage: str, identity: Mapping[str, str]) -> None:
        self.given_up: set[bytes] = set()
        """Keys that this process asks no more: their failures are journaled."""
        self._run = run
        self._requests: dict[bytes, PendingRequest] = {}
        self._tries = _tried_before(run, log, stage, identity)
        self._freed: set[bytes] = set()
        self._refused = 0
        self._last = ""
        self._succeeded = False

    def wait_for(self, task: Task, *, sent_before: bool = False) -> bool:
        """Add a request that is in a batch, or about to be; return False where the budget does not allow it."""
        worst = worst_case(task.request, task.model)
        amount = task.price.cost(worst) if task.price else 0.0
        if sent_before:
            self._run.budget.hold(amount)
        elif not self._run.budget.take(amount):
            return False
        light = msgspec.structs.replace(task, request=msgspec.structs.replace(task.request, prompt=""))
        self._requests[task.key] = PendingRequest(light, worst, amount)
        return True

    def asked(self, key: bytes) -> Generate | None:
        """Return the request of a key in a batch, without its prompt; None for another key."""
        request = self._requests.get(key)
        return request.task.request if request and isinstance(request.task.request, Generate) else None

    def release(self, key: bytes, cost: float = 0.0) -> None:
        """Remove a request that is in no batch any more and book its `cost` in US dollars."""
        request = self._requests.pop(key, None)
        if request is not None:
            self._run.budget.settle(request.reserved, cost)

    def settle(self, key: bytes, reply: Response | ModelError, batch: str) -> bool:
        """Journal one result of a batch, or leave the request to be asked again; return whether it is an answer."""
        request = self._requests.get(key)
        if request is None or key in self._run.journal.answered:  # no longer wanted, or read before
            self.release(key)
            return key in self._run.journal.answered
        if isinstance(reply, ModelError):
            if reply.retry:
                self.again(key, reply, batch)
            else:
                self.fail(key, reply, batch)
            return False
        self._succeeded = True
        task = request.task
        cost = book(self._run, task.price, reply.usage, request.worst)
        if task.readable(reply):
            write(self._run, task, reply, None, 0.0, self._tries[key] + 1, batch)
            self.release(key, cost)
            return True
        self.again(key, NO_VERDICT, batch, reply, cost)
        return False

    def again(
        self, key: bytes, problem: ModelError, batch: str, reply: Response | None = None, cost: float = 0.0
    ) -> None:
        """Leave a request without an answer to the next batch; journal its failure after too many tries."""
        request = self._requests.get(key)
        if request is None:
            return
        run = self._run
        run.tally.last_error = f"{request.task.model.name}: {problem.message}"
        if problem.kind == FREE and key not in self._freed:
            self._freed.add(key)
        else:
            self._tries[key] += 1
        most = min(ROUNDS, run.policy.rereads + 1 if problem is NO_VERDICT else run.policy.attempts)
        if self._tries[key] < most:
            run.tally.retries += 1
            self.release(key, cost)
            return
        self._write_failure(request, reply or Response(), problem, self._tries[key], batch)
        self.release(key, cost)

    def fail(self, key: bytes, problem: ModelError, batch: str) -> None:
        """Journal a failure that asking again would not change."""
        request = self._requests.get(key)
        if request is None:
            return
        run, name = self._run, request.task.model.name
        run.tally.last_error = f"{name}: {problem.message}"
        if problem.fatal:
            run.refuse(name, problem)
        elif problem.kind not in PARTICULAR:
            self._refused += 1
            self._last = problem.message
        self._write_failure(request, Response(), problem, self._tries[key] + 1, batch)
        self.release(key)

    def _write_failure(
        self, request: PendingRequest, reply: Response, problem: ModelError, attempts: int, batch: str
    ) -> None:
        failure = Failure(problem.kind, problem.message)
        write(self._run, request.task, reply, failure, 0.0, attempts, batch)
        self.given_up.add(request.task.key)

    def refuse_the_hopeless(self, model: str) -> None:
        """Give a model up that has refused its first requests for good and answered none."""
        if not self._succeeded and self._refused >= HOPELESS:
            why = f"the first {self._refused} requests were all refused; the last: {self._last}"
            self._run.refused.setdefault(model, why)


def _tried_before(run: Run, log: BatchLog, stage: str, identity: Mapping[str, str]) -> Counter[bytes]:
    """Count the batches that each request was in since its last journaled failure."""
    journal = run.journal
    tries: Counter[bytes] = Counter()
    for batch in log.of(stage, identity):
        if not batch.read:
            continue
        for key in batch.requests():
            if key in journal.answered:
                continue
            failed = journal.read(key) if key in journal.failed else None
            if failed is None or failed.at < batch.intent.at:
                tries[key] += 1
    return tries
