"""Carry out requests: many at once, retried, within limits, each answer journaled at once.

Requests come from iterators, so nothing is rendered before it is needed and memory does not grow with the set. An
iterator yields None while it waits for results of another stage. Models of one rate limit group (a provider's endpoint)
share a bound on concurrency, whatever stage asks them; groups run side by side.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, runtime_checkable

import msgspec
from msgspec import Struct

from viva.contracts import HEARD, MORE, AdaptingModel, Model
from viva.engine.asking import Run, Task, book, write
from viva.engine.budget import Hold, both, worst_case
from viva.engine.sendingslots import Ceiling, Pace, Policy, Slots
from viva.errors import ModelError
from viva.types import Choose, Failure, Request, Response, Usage

CANARY_PATIENCE = 5.0
"""Seconds that the first request of a group is alone, so that a bad key is refused once and not a thousand times."""
HOPELESS = 16
"""Give a model up whose first requests, this many, were all refused for good."""
UNREACHED = 3
"""Give a model up as unreachable after this many questions have exhausted their retries without a single reply."""
PATIENT = 5
"""Pauses after refusals grow this often at most: the group's bound limits the load, so a retry may come soon."""
VANISHED = 64
"""Give a model up as gone that has replied before and then lost this many questions in a row."""
PARTICULAR = frozenset({"missing", "context", "tokens"})
"""Refusals that concern one question or kind of question, not the next."""
WITHOUT_VERDICT = Failure("unreadable", "the judge's reply holds no verdict on its scale")


class Source:
    """The remaining requests to one model in one stage.

    `vital`: if the model refuses before its first answer, all stages that run at the same time stop.
    """

    def __init__(self, run: Run, tasks: Iterator[Task | None], *, vital: bool = False) -> None:
        self.run = run
        self.tasks = tasks
        self.vital = vital
        self.busy = 0
        """Requests in flight."""
        self.spent = False
        """Whether nothing is left to be asked."""
        self.ended = asyncio.Event()
        """Set when nothing is left and nothing is in flight."""
        self.begun = False
        self.alone = False
        """Whether its first request is in flight, alone."""
        self.succeeded = False
        self.refusals = self.lost = 0

    def next(self) -> Task | None:
        """Return the next request; None where none is ready, or none is left."""
        run = self.run
        while run.stop in ("", "budget"):  # when the budget is used up, known answers are still counted and passed on
            try:
                task = next(self.tasks)
            except StopIteration:
                break
            if task is None:
                return None
            if not run.stop and task.model.name not in run.refused:
                self.busy += 1
                return task
        self.spent = True
        self.settle(0)
        return None

    def settle(self, done: int) -> None:
        """Record that `done` requests have ended."""
        self.busy -= done
        if self.spent and not self.busy:
            self.ended.set()
            self.run.ring()

    def give_up(self, model: str, why: str, *, unreached: bool = False) -> None:
        """Ask the model nothing more."""
        run = self.run
        run.refused.setdefault(model, why)
        if unreached:
            run.unreached.add(model)
        elif self.vital and not self.succeeded:
            run.finish("refused")


class GroupPlan(Struct):
    """The work of one rate limit group: its sources, the first one first; its bound and its pace."""

    sources: list[Source]
    ceiling: Ceiling
    pace: Pace
    policy: Policy | None = None
    """Retry policy of this group, where it differs from the run's."""
    sequential: bool = False
    """Whether to ask one model after the other, because memory cannot hold two."""
    drain: Callable[[], None] | None = None
    """Called when the run is told to finish: cancels the requests that are still queued."""


async def carry_out(run: Run, groups: Mapping[str, GroupPlan]) -> None:
    """Ask everything in `groups`. Returns when all requests are answered, failed or stopped.

    Raises StorageError when an answer could not be written. Cancelling it drops what is in flight.
    """
    working = {name: _Group(plan) for name, plan in groups.items()}
    run.groups |= {name: rate_limit_group.slots for name, rate_limit_group in working.items()}
    await asyncio.gather(*(rate_limit_group.run() for rate_limit_group in working.values()))


class _Group:
    """One provider's endpoint: a set of workers that grows and shrinks with the ceiling."""

    def __init__(self, plan: GroupPlan) -> None:
        self._plan = plan
        run = plan.sources[0].run
        self._policy = plan.policy or run.policy
        self._run = run
        self.slots = Slots(run, self._policy, plan.ceiling, plan.pace)
        self._workers: set[asyncio.Task[None]] = set()
        self._aside: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._problem: BaseException | None = None
        self._open = False
        self._first_reply = FirstReply(self._policy.server)
        self.slots.freed = self._fill

    async def run(self) -> None:
        self._run.listeners.append(self._changed)
        self._aside.add(asyncio.create_task(self._drain()))
        try:
            self._fill()
            while self._workers or not all(source.spent for source in self._plan.sources):
                await self._changed.wait()
                self._changed.clear()
                if self._problem is not None:  # a worker fails only for reasons that end the run: a full disk, a defect
                    raise self._problem
                self._fill()
        finally:
            self._run.listeners.remove(self._changed)
            for worker in (*self._workers, *self._aside):
                worker.cancel()
            await asyncio.gather(*self._workers, *self._aside, return_exceptions=True)

    async def _await_first(self, source: Source, task: Task) -> None:
        """Admit more requests after CANARY_PATIENCE without the first reply, and show why none comes.

        The server is probed, in case it does not answer at all.
        """
        await asyncio.sleep(CANARY_PATIENCE)
        if not source.alone:
            return
        self._admit(source)
        if problem := await self._first_reply.inquire(task.model):
            source.run.tally.last_error = f"{task.model.name}: {problem.message}"

    async def _drain(self) -> None:
        await self._run.stop_requested()
        if self._plan.drain is not None:
            self._plan.drain()

    def _hire(self, source: Source, task: Task) -> None:
        self.slots.using += 1
        worker = asyncio.create_task(self._work(source, task))
        self._workers.add(worker)
        worker.add_done_callback(self._ended)

    def _ended(self, worker: asyncio.Task[None]) -> None:
        self._workers.discard(worker)
        if not worker.cancelled():
            problem = worker.exception()  # asyncio prints exceptions that are never retrieved, with a traceback
            self._problem = self._problem or problem
        self._changed.set()

    def _fill(self) -> None:
        for _ in range(self.slots.vacant):
            picked = self._next()
            if picked is None:
                return
            self._hire(*picked)

    async def _work(self, source: Source, task: Task) -> None:
        since_yield = 0
        while True:
            await self._ask(source, task)
            if source.alone:
                self._admit(source)
            source.settle(1)
            since_yield += 1
            if since_yield == 32:
                # Baselines and replays answer without waiting; the progress line and Ctrl-C need their turn.
                await asyncio.sleep(0)
                since_yield = 0
            picked = self._next() if self.slots.enough else None
            if picked is None:
                break
            source, task = picked
        self.slots.give()

    def _next(self) -> tuple[Source, Task] | None:
        """Return the next request that may be sent. Each model's first one goes alone: see CANARY_PATIENCE."""
        for source in self._plan.sources:
            if source.spent:
                continue
            if source.alone:
                if self._plan.sequential:
                    return None
                continue
            task = source.next()
            if task is not None:
                if not source.begun:
                    self._send_alone(source, task)
                return source, task
            if self._plan.sequential and not source.spent:
                return None
        return None

    def _send_alone(self, source: Source, task: Task) -> None:
        """Send the first request of a source, alone."""
        source.begun = True
        source.alone = not (self._plan.sequential and self._open)  # an open group has shown already that it works
        if source.alone:
            self._aside.add(asyncio.create_task(self._await_first(source, task)))

    def _admit(self, source: Source) -> None:
        """Allow more than one request of a source."""
        source.alone = False
        if not self._open:
            self._open = True
            self.slots.begin()
        self._changed.set()

    async def _ask(self, source: Source, task: Task) -> None:
        """Ask until there is an answer or retries are exhausted. Begins and ends holding a slot."""
        shared, policy, slots = source.run, self._policy, self.slots
        clock = asyncio.get_running_loop().time
        left = policy.question  # its clock runs while it is asked, not while it waits for its turn or for money
        attempt = rereads = counted = 0
        unread: Usage | None = Usage()  # of replies without a readable verdict
        answered = slots.answered
        while True:
            taken = self._taken(task)
            sent = await slots.turn(taken[1])
            if task.model.name in shared.refused:  # given up while it waited
                return
            reserved = None if shared.stop else await shared.budget.reserve(task.request, task.price, task.model)
            if reserved is None or shared.stop:  # the budget is used up, or the run was stopped while this waited
                if reserved is not None:
                    shared.budget.settle(reserved, 0.0)
                shared.finish("budget")
                return
            attempt += 1
            started = clock()
            deadline = started + left
            hold = Hold(shared.budget, task.request, task.price, task.model, reserved)
            outcome = await self._attempt(source, task, left, hold, sent, taken)
            if isinstance(outcome, Response):
                self._fill()
                readable = task.readable(outcome)
                unread = both(outcome.usage, unread) if outcome.usage and unread else None
                if hold.refused:  # the reply was cut short by the budget, and is asked for again by a resume
                    shared.finish("budget")
                    return
                if readable or rereads >= policy.rereads or shared.stop:
                    paid = msgspec.structs.replace(outcome, usage=unread)
                    write(shared, task, paid, None if readable else WITHOUT_VERDICT, clock() - started, attempt)
                    return
                rereads += 1
                left = deadline - clock()
                continue
            if outcome.kind == "interrupted":  # cancelled before anything was computed
                return
            problem = self._first_reply.note(outcome)
            absent = self._first_reply.absent(problem)
            # A server that answers other requests meanwhile works: refusals cost time but no attempts, unless
            # the user wants a single attempt.
            counted += policy.attempts == 1 or not (problem.overload and slots.answered > answered)
            answered = slots.answered
            if absent:
                again = await self._await_server(source, task, problem, started)
            else:
                again = await self._try_again(source, task, problem, counted, attempt, started, deadline)
            if not again:
                lost = Response(usage=unread if rereads else None)
                write(shared, task, lost, Failure(problem.kind, problem.message), clock() - started, attempt)
                return
            left = deadline - clock()
            if absent:  # neither attempts nor time count while a server is waited for
                attempt, counted, left = 0, 0, policy.question

    async def _attempt(
        self,
        source: Source,
        task: Task,
        left: float,
        hold: Hold,
        sent: dict[str, float],
        taken: tuple[int, float],
    ) -> Response | ModelError:
        """Send a request once, and book its cost."""
        shared, policy, slots = source.run, self._policy, self.slots
        clock = asyncio.get_running_loop().time
        started = clock()
        cost = 0.0
        shared.tally.in_flight += 1
        slots.in_flight += 1
        try:
            async with asyncio.timeout_at(started + min(policy.attempt, max(0.05, left))) as timer:
                first: list[float] = []

                def heard(written: bool) -> None:
                    """Note a streamed reply's progress: only silence, or the question's time limit, ends it."""
                    timer.reschedule(min(clock() + policy.attempt, started + left))
                    if written and not first:
                        first.append(clock() - started)

                HEARD.set(heard)
                MORE.set(hold.more)
                response = await _reply(task.model, task.request)
                if first:
                    response = msgspec.structs.replace(response, first=first[0])
        except TimeoutError:
            cost = hold.amount  # the server may have worked on it, and may bill it
            if isinstance(task.model, AdaptingModel):
                task.model.adapting.lost(clock() - started)
            limit = min(policy.attempt, policy.question)
            return ModelError("timeout", f"no complete reply within {limit:g} s", retry=True)
        except ModelError as raised:
            return raised
        except Exception as raised:  # a defect of one model's adapter must not take the others' answers with it
            return ModelError("defect", f"{type(raised).__name__}: {raised}")
        else:
            cost = self._book(source, task, response, hold)
            slots.reply(clock() - started, response.quotas, sent)
            if taken[0] and response.usage:
                slots.pace.settle(taken[1], taken[0], response.usage.input + response.usage.output)
            return response
        finally:
            shared.tally.in_flight -= 1
            slots.in_flight -= 1
            shared.budget.settle(hold.amount, cost)

    async def _await_server(self, source: Source, task: Task, problem: ModelError, began: float) -> bool:
        """Return, before a server's first reply, whether to ask it again; otherwise give the model up."""
        shared, name = source.run, task.model.name
        shared.tally.last_error = f"{name}: {problem.message}"
        pause = self._first_reply.pause(self._policy.pause(1, None), began)
        if pause is None and not shared.stop:
            source.give_up(name, problem.message, unreached=True)
            shared.absent.add(name)
        if pause is None or shared.stop or name in shared.refused:
            return False
        shared.tally.retries += 1
        await shared.sleep(pause)
        return not shared.stop

    def _taken(self, task: Task) -> tuple[int, float]:
        """Return the most tokens that a request may use, and an estimate; zeros where neither matters."""
        pace = self.slots.pace
        if not pace.counts_tokens:
            return 0, 0.0
        worst = worst_case(task.request, task.model)
        return worst.input + worst.output, pace.estimate(worst.input + worst.output)

    async def _try_again(
        self,
        source: Source,
        task: Task,
        problem: ModelError,
        counted: int,
        attempt: int,
        started: float,
        deadline: float,
    ) -> bool:
        """Wait before the next try and return true, or return false where there is none."""
        shared = source.run
        shared.tally.last_error = f"{task.model.name}: {problem.message}"
        if problem.fatal:
            shared.refuse(task.model.name, problem)
            source.give_up(task.model.name, problem.message)
            return False
        if not problem.retry:
            self._count_refusal(source, task, problem)
            return False
        if task.model.name in shared.refused:
            return False
        now = asyncio.get_running_loop().time()
        pause = self._policy.pause(counted, problem.retry_after)
        if problem.overload:
            if problem.retry_after and attempt > 1:  # told so before: other requests came first
                pause = max(pause, self._policy.pause(min(attempt, PATIENT) - 1, None))
            elif not problem.retry_after:
                pause = self._policy.pause(min(attempt, PATIENT), None)
            hopeless = self.slots.refuse(started, problem.retry_after)
            if hopeless:
                source.give_up(task.model.name, f"{hopeless}; {problem.message}")
                return False
        elif problem.kind == "timeout":
            self.slots.late()
        if counted >= self._policy.attempts or now + pause >= deadline or shared.stop:
            if not problem.overload:
                self._count_loss(source, task, problem)
            return False
        shared.tally.retries += 1
        await self.slots.rest(pause, problem.overload)
        return not shared.stop

    def _count_refusal(self, source: Source, task: Task, problem: ModelError) -> None:
        if source.succeeded or problem.kind in PARTICULAR:
            return
        source.refusals += 1
        if source.refusals >= HOPELESS:
            why = f"the first {HOPELESS} requests were all refused; the last: {problem.message}"
            source.give_up(task.model.name, why)

    def _count_loss(self, source: Source, task: Task, problem: ModelError) -> None:
        source.lost += 1
        if source.lost >= (VANISHED if source.succeeded else UNREACHED):
            why = f"{source.lost} questions in a row failed with all their retries; the last: {problem.message}"
            source.give_up(task.model.name, why, unreached=True)

    def _book(self, source: Source, task: Task, response: Response, hold: Hold) -> float:
        self._first_reply.came = True
        source.succeeded = True
        source.lost = 0
        worst = None if response.usage or task.price is None else hold.worst()
        return book(source.run, task.price, response.usage, worst)


async def _reply(model: Model, request: Request) -> Response:
    return await (model.choose(request) if isinstance(request, Choose) else model.answer(request))


LONGEST_PAUSE = 5.0
"""Seconds between two tries while a server is waited for."""
CONNECTING = 5.0
"""Seconds after which a request without a reply had reached the server: patience begins when it is lost."""


@runtime_checkable
class Inquiring(Protocol):
    """A model that can probe why no reply comes."""

    async def silence(self) -> ModelError | None:
        """Return the error for a server that does not answer at all; None for a slow one. Takes a few seconds."""
        ...


class FirstReply:
    """State of one endpoint before its first reply. `patience`: seconds to wait for that."""

    def __init__(self, patience: float) -> None:
        self.came = False
        self._patience = patience
        self._since = 0.0
        self._silence: ModelError | None = None

    async def inquire(self, model: Model) -> ModelError | None:
        """Probe a server that is silent for some seconds; the result counts once a request is lost."""
        if not self.came and isinstance(model, Inquiring):
            self._since = asyncio.get_running_loop().time()
            self._silence = await model.silence()
        return self._silence

    def note(self, problem: ModelError) -> ModelError:
        """Return the problem; for a timeout before the first reply, the server's silence where a probe found it."""
        if problem.kind == "timeout":
            return self._silence if self._silence and not self.came else problem  # its patience began with the inquiry
        self.came = self.came or not problem.unreachable
        return problem

    def absent(self, problem: ModelError) -> bool:
        """Return whether the problem means that the server, which has not replied yet, cannot be reached."""
        return problem.unreachable and not self.came

    def pause(self, usual: float, began: float) -> float | None:
        """Return the seconds to the next try of a request that `began` at that time of the event loop.

        None where `patience` has run out.
        """
        now = asyncio.get_running_loop().time()
        self._since = self._since or (began if now - began < CONNECTING else now)
        pause = min(usual, LONGEST_PAUSE)
        return None if now + pause - self._since > self._patience else pause
