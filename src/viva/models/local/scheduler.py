"""Schedule requests to local models: one thread opens one model at a time and works through its queue in batches.

The engine keeps WINDOW requests in flight, to batch prompts with equal beginnings and texts of equal length. Each reply
is returned as soon as its batch is done. A model is released when another one's turn comes, and at the end of its
stage.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any

from viva.distributed.pool import settle
from viva.errors import ModelError, VivaError, option
from viva.models.local.memory import OutOfMemory, out_of_memory
from viva.models.local.work import Job, Openable, Worker, give_back
from viva.visible import one_line

WINDOW = 512
"""Requests in flight."""
POOL = WINDOW // 2
"""Most requests of a pool, taken up together; others arrive meanwhile."""
SETTLE = 0.003
"""Seconds without a new request after which a pool is taken as it is."""


class RequestScheduler:
    """The queue and the thread. One for each process, since two models at once would not fit."""

    def __init__(self) -> None:
        self._waiting: deque[Job] = deque()
        self._change = threading.Condition()
        self._thread: threading.Thread | None = None
        self.worker: Worker | None = None
        """The model that is open, if one is."""
        self.busy = False
        """Whether a pool is at work, or its model is being opened."""
        self._taken: list[Job] = []
        self._dropped: Openable | None = None
        """The model of the pool at work, if it was closed before it was open."""
        self._draining = False

    def submit(self, job: Job) -> Future[Any]:
        """Put a request into the queue."""
        with self._change:
            self._waiting.append(job)
            self._change.notify_all()
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=copy_context().run, args=(self._run,), name="viva-hf", daemon=True
                )
                self._thread.start()
        return job.future

    def cancel_pending(self) -> None:
        """Fail all queued requests, because the run is to end."""
        with self._change:
            waiting = list(self._waiting)
            self._waiting.clear()
            self._draining = True
        for job in waiting:
            give_back(job)

    def close(self, model: Openable) -> None:
        """Drop a model's requests and release it. Blocks until the batch at work is done.

        Does not wait for a model that is being opened: it is released as soon as it is open.
        """
        with self._change:
            mine = self._none_waits(model)
            if (self.worker is None or self.worker.model is not model) and any(
                job.model is model for job in self._taken
            ):
                self._dropped = model
                mine += self._taken
        for job in mine:
            job.future.cancel()
        with self._change:
            while self.busy and self.worker is not None and self.worker.model is model:
                self._change.wait(0.1)
            if not self.busy and self.worker is not None and self.worker.model is model:
                self.worker.release()
                self.worker = None

    def _none_waits(self, model: Openable) -> list[Job]:
        """Remove a model's requests from the queue and return them. Under the lock."""
        mine = [job for job in self._waiting if job.model is model]
        self._waiting = deque(job for job in self._waiting if job.model is not model)
        return mine

    def _run(self) -> None:
        while True:
            jobs: list[Job] = []
            try:
                jobs = self._take()
                self._work(jobs)
            except BaseException as problem:  # if the thread died, all callers would wait for ever
                with self._change:
                    if not jobs:  # failed before taking any: it would fail again
                        jobs = [*self._waiting]
                        self._waiting.clear()
                for job in jobs:
                    settle(job.future, _told(problem))
            finally:
                with self._change:
                    self.busy, self._taken = False, []
                    self._change.notify_all()

    def _take(self) -> list[Job]:
        """Return the next jobs, in order and of one sort: of the open model if it has any."""
        with self._change:
            while not self._waiting:
                self._change.wait()
            known = 0
            while known < len(self._waiting) < POOL:  # requests arrive one by one, as replies release the engine
                known = len(self._waiting)
                self._change.wait(SETTLE)
            if not self._waiting:
                return []
            current = self.worker.model if self.worker else None
            first = next((job for job in self._waiting if job.model is current), self._waiting[0])
            taken = [job for job in self._waiting if job.model is first.model and job.sort == first.sort][:POOL]
            gone = {id(job) for job in taken}
            self._waiting = deque(job for job in self._waiting if id(job) not in gone)
            taken = [job for job in taken if not job.future.cancelled()]
            self.busy, self._taken, self._dropped, self._draining = bool(taken), taken, None, False
            return taken

    def _work(self, jobs: Sequence[Job]) -> None:
        if not jobs:
            return
        model = jobs[0].model
        if self.worker is None or self.worker.model is not model:
            if self.worker is not None:
                self.worker.release()
                self.worker = None
            if self._dropped is not model:
                self._open(model, jobs)
        if self.worker is not None:
            self.worker.work(jobs, lambda: self._draining)

    def _open(self, model: Openable, jobs: Sequence[Job]) -> None:
        """Open a model for these jobs. If that fails, its queued jobs fail, too, since it would fail again."""
        try:
            worker = Worker(model, _tell)
        except BaseException as problem:
            with self._change:
                jobs = [*jobs, *self._none_waits(model)]
            for job in jobs:
                settle(job.future, refused(model.name, problem))
            return
        with self._change:
            dropped = self._dropped is model
            if not dropped:
                self.worker = worker
        if dropped:
            worker.release()


def refused(name: str, problem: BaseException) -> ModelError:
    """Return the error of a model's requests for a model that could not be opened."""
    cause = problem.__cause__ or problem
    if isinstance(problem, OutOfMemory) or (isinstance(cause, Exception) and out_of_memory(cause)):
        reason = str(problem) if isinstance(problem, VivaError) else f"no memory to open {name}"
        advice = (
            f"a smaller model, {option('bits')}, {option('dtype', 'bfloat16')} or {option('device', 'map')} may fit"
        )
        return ModelError("memory", f"{reason}: {advice}", fatal=True)
    if isinstance(problem, VivaError):
        return ModelError("weights", str(problem), fatal=True)
    return ModelError("defect", _told(problem).message, fatal=True)


def _told(problem: BaseException) -> ModelError:
    return ModelError("defect", f"{type(problem).__name__}: {' '.join(str(problem).split())[:300]}")


def _tell(sentence: str) -> None:
    print(f"\nviva: {one_line(sentence, 600)}", file=sys.stderr, flush=True)


SCHEDULER = RequestScheduler()
"""The scheduler of this process."""


def cancel_pending() -> None:
    """Fail all queued requests."""
    SCHEDULER.cancel_pending()
