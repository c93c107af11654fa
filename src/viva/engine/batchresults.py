"""What batches still owe: requests that wait for a result, what they may cost, and what becomes of each result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from viva.engine.asking import Run, Task, book, write
from viva.engine.batchlog import BatchLog
from viva.engine.budget import worst_case
from viva.engine.groups import HOPELESS, PARTICULAR
from viva.errors import ModelError
from viva.types import Failure, Response, Usage

ROUNDS = 3
"""In so many batches a request is asked before its failure is journaled as such (fewer with --max-attempts)."""
FREE = "parameter"
"""The kind of an error that the model's adapter has learned from: the next time is no second try."""
UNREADABLE = ModelError("unreadable", "the judge's reply holds no verdict", retry=True)


class PendingRequest(Struct, frozen=True):
    """A request in an open batch; without its prompt, which is rendered again where it is needed."""

    task: Task
    worst: Usage
    reserved: float
    """US dollars."""


class PendingResults:
    """The requests of one model that are in open batches, and how often each was asked.

    Tries are counted from the last failure that was journaled as such, over processes: see `batchlog`.
    """

    def __init__(self, run: Run, log: BatchLog, stage: str, identity: Mapping[str, str]) -> None:
        self.given_up: set[bytes] = set()
        """What this process asks no more: its failure is journaled."""
        self._run = run
        self._requests: dict[bytes, PendingRequest] = {}
        self._tries = _tried_before(run, log, stage, identity)
        self._freed: set[bytes] = set()
        self._refused = 0
        self._last = ""
        self._succeeded = False

    def wait_for(self, task: Task, *, sent_before: bool = False) -> bool:
        """A request is in a batch, or about to be. False where the budget does not allow it."""
        worst = worst_case(task.request, task.model)
        amount = task.price.cost(worst) if task.price else 0.0
        if sent_before:
            self._run.budget.hold(amount)
        elif not self._run.budget.take(amount):
            return False
        light = msgspec.structs.replace(task, request=msgspec.structs.replace(task.request, prompt=""))
        self._requests[task.key] = PendingRequest(light, worst, amount)
        return True

    def release(self, key: bytes, cost: float = 0.0) -> None:
        """A request is in no batch any more; it came to `cost` US dollars."""
        request = self._requests.pop(key, None)
        if request is not None:
            self._run.budget.settle(request.reserved, cost)

    def settle(self, key: bytes, reply: Response | ModelError, batch: str) -> bool:
        """One result of a batch: journaled, or left to be asked again. Says whether it is an answer."""
        request = self._requests.get(key)
        if request is None or key in self._run.journal.answered:  # nobody wants it any more, or it was read before
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
        self.again(key, UNREADABLE, batch, reply, cost)
        return False

    def again(
        self, key: bytes, problem: ModelError, batch: str, reply: Response | None = None, cost: float = 0.0
    ) -> None:
        """There is no answer in this batch: to be asked in the next one, if there were not enough already."""
        request = self._requests.get(key)
        if request is None:
            return
        run = self._run
        run.tally.last_error = f"{request.task.model.name}: {problem.message}"
        if problem.kind == FREE and key not in self._freed:
            self._freed.add(key)
        else:
            self._tries[key] += 1
        most = min(ROUNDS, run.policy.rereads + 1 if problem is UNREADABLE else run.policy.attempts)
        if self._tries[key] < most:
            run.tally.retries += 1
            self.release(key, cost)
            return
        self._write_failure(request, reply or Response(), problem, self._tries[key], batch)
        self.release(key, cost)

    def fail(self, key: bytes, problem: ModelError, batch: str) -> None:
        """There is none, and asking again would not change that."""
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
        """A model that has refused its first requests for good, and answered none, gets no more."""
        if not self._succeeded and self._refused >= HOPELESS:
            why = f"the first {self._refused} requests were all refused; the last: {self._last}"
            self._run.refused.setdefault(model, why)


def _tried_before(run: Run, log: BatchLog, stage: str, identity: Mapping[str, str]) -> Counter[bytes]:
    """In how many batches each request was since its last failure."""
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
