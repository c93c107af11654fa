"""Where requests to local models wait: a thread that opens one model at a time and works through them in batches.

The engine keeps WINDOW requests in flight, so that there is something to put together: prompts that begin alike, and
texts of one length. Each reply goes back as soon as its batch is done. A model is released when another one's turn has
come, and when its stage is over.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from viva.errors import ModelError, VivaError
from viva.models.local.work import Job, Worker, give_back, settle
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.models.local.model import LocalModel

WINDOW = 512
"""Requests in flight."""
POOL = WINDOW // 2
"""How many of them are taken up together; the others arrive meanwhile."""
SETTLE = 0.003
"""Seconds without a new request after which a pool is taken as it is."""


class Desk:
    """The queue and the thread. One for the process: two models at once would not fit."""

    def __init__(self) -> None:
        self._waiting: deque[Job] = deque()
        self._change = threading.Condition()
        self._thread: threading.Thread | None = None
        self.worker: Worker | None = None
        """The model that is open, if one is."""
        self._busy = False
        self._hurried = False

    def submit(self, job: Job) -> Future[Any]:
        """Put a request into the queue."""
        with self._change:
            self._waiting.append(job)
            self._change.notify_all()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="viva-hf", daemon=True)
                self._thread.start()
        return job.future

    def give_back_what_waits(self) -> None:
        """Fail what nobody works on yet: the run is to end."""
        with self._change:
            waiting = list(self._waiting)
            self._waiting.clear()
            self._hurried = True
        for job in waiting:
            give_back(job)

    def close(self, model: LocalModel) -> None:
        """Drop a model's requests and release it. Blocking, until the batch at work is through."""
        with self._change:
            mine = [job for job in self._waiting if job.model is model]
            self._waiting = deque(job for job in self._waiting if job.model is not model)
        for job in mine:
            job.future.cancel()
        with self._change:
            while self._busy and self.worker is not None and self.worker.model is model:
                self._change.wait(0.1)
            if not self._busy and self.worker is not None and self.worker.model is model:
                self.worker.release()
                self.worker = None

    def _run(self) -> None:
        while True:
            jobs = self._take()
            try:
                self._work(jobs)
            except BaseException as problem:  # a thread that dies would leave everybody waiting
                for job in jobs:
                    settle(job.future, _told(problem))
            finally:
                with self._change:
                    self._busy = False
                    self._change.notify_all()

    def _take(self) -> list[Job]:
        """The next jobs: of the model that is open as long as there are any, all of one sort, in their order."""
        with self._change:
            while not self._waiting:
                self._change.wait()
            known = 0
            while known < len(self._waiting) < POOL:  # they come one by one: the engine has just been told to go on
                known = len(self._waiting)
                self._change.wait(SETTLE)
            if not self._waiting:
                return []
            current = self.worker.model if self.worker else None
            first = next((job for job in self._waiting if job.model is current), self._waiting[0])
            taken = [job for job in self._waiting if job.model is first.model and job.sort == first.sort][:POOL]
            gone = {id(job) for job in taken}
            self._waiting = deque(job for job in self._waiting if id(job) not in gone)
            self._busy, self._hurried = bool(taken), False
            return [job for job in taken if not job.future.cancelled()]

    def _work(self, jobs: Sequence[Job]) -> None:
        if not jobs:
            return
        model = jobs[0].model
        if self.worker is None or self.worker.model is not model:
            if self.worker is not None:
                self.worker.release()
                self.worker = None
            try:
                self.worker = Worker(model, _tell)
            except VivaError as problem:
                for job in jobs:
                    settle(job.future, ModelError("weights", str(problem), fatal=True))
                return
        self.worker.work(jobs, lambda: self._hurried)


def _told(problem: BaseException) -> ModelError:
    return ModelError("defect", f"{type(problem).__name__}: {' '.join(str(problem).split())[:300]}")


def _tell(sentence: str) -> None:
    print(f"\nviva: {one_line(sentence, 600)}", file=sys.stderr, flush=True)


DESK = Desk()
"""The one of this process."""


def give_back_what_waits() -> None:
    """Fail what nobody works on yet."""
    DESK.give_back_what_waits()
