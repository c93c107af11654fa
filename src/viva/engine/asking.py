"""Carry out requests: many at once, retried, within limits, each answer journaled the moment it is there.

Requests come from iterators, so nothing is rendered before it is needed and memory does not grow with the set. Models
of one rate limit group (a provider's endpoint) share a bound on concurrency; groups run side by side.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from viva.contracts import HEARD, Model
from viva.engine.budget import Budget, Price, worst_case
from viva.engine.firstreply import FirstReply
from viva.engine.journal import Entry, Journal
from viva.engine.limits import Ceiling, Policy
from viva.engine.pacing import Pace
from viva.engine.slots import Slots
from viva.errors import ModelError, StorageError
from viva.types import CUT_OFF, Choose, Failure, Request, Response, Usage

CANARY_PATIENCE = 5.0
"""Seconds that the first request of a group is alone, so that a bad key is refused once and not a thousand times."""
HOPELESS = 16
"""A model whose first so many requests were all refused for good gets no more."""
UNREACHED = 3
"""Give a model up as unreachable after this many questions have exhausted their retries without a single reply."""
PATIENT = 5
"""Pauses after refusals grow so often: a server that refuses some is asked again soon, the group bounds how hard."""
VANISHED = 64
"""A model that did reply once and then lost so many questions in a row gets no more: it went away."""
FIRST, CUT_OFF_OF_FIRST = 10, 3
"""Of the first so many replies of a stage, so many that are cut off are said at once."""
PARTICULAR = frozenset({"missing", "context", "tokens"})
"""Refusals that are about one question or kind of question: they say nothing of the next."""


class Task(Struct, frozen=True):
    """One request on its way: to which model, for which benchmark, under which key."""

    key: bytes
    benchmark: str
    request: Request
    model: Model
    price: Price | None = None
    accept: Callable[[str, str], bool] | None = None
    """For a judge: whether the reply can be read, given the nonce; if not, it is asked for again."""
    nonce: str = ""

    def readable(self, reply: Response) -> bool:
        """Whether a reply can be read. What the limit of tokens cut off has no last line of the judge's own: it may end
        in a quotation."""
        return self.accept is None or (reply.stop_reason not in CUT_OFF and self.accept(reply.text, self.nonce))


class Tally(Struct):
    """What happened so far; the progress line and the summary read it."""

    total: int = 0
    answered: int = 0
    kept: int = 0
    """Answers that were there already: journaled before, or reused from another run."""
    failed: int = 0
    retries: int = 0
    in_flight: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    """US dollars for the tokens that servers counted."""
    uncounted: int = 0
    """Replies of which no server said how many tokens they took."""
    at_most: float = 0.0
    """US dollars that those may have cost, as if each were as long as it may be; what the budget takes for them."""
    last_error: str = ""
    last_failure: str = ""
    """What the last question that got no answer ended in; errors on the way to an answer are not among these."""
    failures: set[str] = set()
    """The kinds of failure that questions ended in."""
    batches: str = ""
    """How far providers are with the batches that were handed in."""


Stop = Literal["", "interrupted", "budget", "disk"]


class Run:
    """The state that all rate limit groups of a stage share."""

    def __init__(self, journal: Journal, budget: Budget, policy: Policy, tally: Tally) -> None:
        self.journal = journal
        self.budget = budget
        self.policy = policy
        self.tally = tally
        self.stop: Stop = ""
        self.refused: dict[str, str] = {}
        """Models that gave up for good, and why."""
        self.unreached: set[str] = set()
        """Those of them whose server does not answer: key and model may be right."""
        self.absent: set[str] = set()
        """Those of these whose server never replied to anything."""
        self.cut_off: dict[str, list[str]] = {}
        """Why those of the first replies of a model ended that the limit of tokens cut off."""
        self.say: Callable[[str], None] = lambda _text: None
        """Tells the user what cannot wait for the end."""
        self.groups: dict[str, Slots] = {}
        """Groups at work, by name."""
        self._wake = asyncio.Event()
        self._drain = asyncio.Event()

    def finish(self, why: Stop) -> None:
        """Ask nothing more; what is in flight may end. A user who interrupts has the last word."""
        if not self.stop or why == "interrupted":
            self.stop = why
        self._wake.set()
        if why != "budget":  # what is paid for is answered
            self._drain.set()

    async def stop_requested(self) -> None:
        """Wait until queued requests are to be cancelled."""
        await self._drain.wait()

    async def sleep(self, seconds: float) -> None:
        """Sleep, unless the run is told to finish."""
        if seconds > 0 and not self.stop:
            try:
                await asyncio.wait_for(self._wake.wait(), seconds)
            except TimeoutError:
                return


class GroupPlan(Struct):
    """The work of one rate limit group: the requests of each of its models, its bound and its pace."""

    tasks: list[Iterator[Task]]
    ceiling: Ceiling
    pace: Pace
    policy: Policy | None = None
    """Retry policy of this group, where it differs from the run's."""
    sequential: bool = False
    """One model after the other: they share what cannot hold two."""
    drain: Callable[[], None] | None = None
    """Called when the run is told to finish: cancels the requests that are still queued."""


async def carry_out(run: Run, groups: Mapping[str, GroupPlan]) -> None:
    """Ask everything in `groups`. Returns when all is answered, failed or stopped.

    Raises StorageError when an answer could not be written. Cancelling it drops what is in flight.
    """
    working = {name: _Group(run, plan) for name, plan in groups.items()}
    run.groups |= {name: rate_limit_group.slots for name, rate_limit_group in working.items()}
    await asyncio.gather(*(rate_limit_group.run() for rate_limit_group in working.values()))


class _Group:
    """One provider's endpoint: a set of workers that grows and shrinks with the ceiling."""

    def __init__(self, run: Run, plan: GroupPlan) -> None:
        self._shared = run
        self._plan = plan
        self._policy = plan.policy or run.policy
        self._tasks = itertools.chain.from_iterable(plan.tasks)
        self.slots = Slots(run, self._policy, plan.ceiling, plan.pace)
        self._workers: set[asyncio.Task[None]] = set()
        self._succeeded: set[str] = set()
        self._refusals: dict[str, int] = {}
        self._lost: dict[str, int] = {}
        self._open = False
        self._exhausted = False
        self._first_reply = FirstReply(self._policy.server)
        self._asked: Model | None = None
        self.slots.freed = self._fill

    async def run(self) -> None:
        # Each model's first request goes ahead alone: see CANARY_PATIENCE.
        first = self._plan.tasks[: 1 if self._plan.sequential else self._plan.ceiling.limit]
        canaries = [self._hire(self._first(tasks)) for tasks in first]
        aside = [asyncio.create_task(self._drain())]
        try:
            _, silent = await asyncio.wait(canaries, timeout=CANARY_PATIENCE)
            if silent:
                aside.append(asyncio.create_task(self._inquire()))
            self._open = True
            self.slots.begin()
            self._fill()
            while self._workers:
                done, _ = await asyncio.wait(self._workers, return_when=asyncio.FIRST_COMPLETED)
                for worker in done:
                    self._workers.discard(worker)
                    worker.result()  # a worker fails only for reasons that end the run: a disk, a defect
                self._fill()
        finally:
            for worker in (*self._workers, *aside):
                worker.cancel()
            await asyncio.gather(*self._workers, *aside, return_exceptions=True)

    async def _inquire(self) -> None:
        """Show on the way why nothing comes, where the server can be found to say nothing at all."""
        if self._asked is not None and (problem := await self._first_reply.inquire(self._asked)):
            self._shared.tally.last_error = f"{self._asked.name}: {problem.message}"

    async def _drain(self) -> None:
        await self._shared.stop_requested()
        if self._plan.drain is not None:
            self._plan.drain()

    def _hire(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        self.slots.using += 1
        worker = asyncio.create_task(work)
        self._workers.add(worker)
        return worker

    def _fill(self) -> None:
        if self._open and not self._exhausted and not self._shared.stop:
            for _ in range(self.slots.vacant):
                self._hire(self._work())

    async def _first(self, tasks: Iterator[Task]) -> None:
        task = next(tasks, None)
        if task is not None and not self._shared.stop and task.model.name not in self._shared.refused:
            self._asked = self._asked or task.model
            await self._ask(task)
        self.slots.give()

    async def _work(self) -> None:
        since_yield = 0
        while not self._shared.stop and self.slots.enough:
            task = self._next()
            if task is None:
                break
            await self._ask(task)
            since_yield += 1
            if since_yield == 32:
                # Baselines and replays answer without waiting; the progress line and Ctrl-C need their turn.
                await asyncio.sleep(0)
                since_yield = 0
        self.slots.give()

    def _next(self) -> Task | None:
        for task in self._tasks:
            if task.model.name not in self._shared.refused:
                return task
        self._exhausted = True
        return None

    async def _ask(self, task: Task) -> None:
        """Ask until there is an answer or no hope. Begins and ends with a place in flight."""
        shared, policy, slots = self._shared, self._policy, self.slots
        clock = asyncio.get_running_loop().time
        left = policy.question  # its clock runs while it is asked, not while it waits for its turn or for money
        attempt = rereads = counted = 0
        answered = slots.answered
        while True:
            taken = self._taken(task)
            sent = await slots.turn(taken[1])
            if task.model.name in shared.refused:  # given up while it waited
                return
            reserved = None if shared.stop else await shared.budget.reserve(task.request, task.price, task.model)
            if reserved is None:
                shared.finish("budget")
                return
            if shared.stop:  # told to finish while it waited for money
                shared.budget.settle(reserved, 0.0)
                return
            attempt += 1
            started = clock()
            deadline = started + left
            outcome = await self._attempt(task, left, reserved, sent, taken)
            if isinstance(outcome, Response):
                self._fill()
                readable = task.readable(outcome)
                if readable or rereads >= policy.rereads or shared.stop:
                    failure = None if readable else Failure("unreadable", "the judge's reply holds no verdict")
                    write(shared, task, outcome, failure, clock() - started, attempt)
                    return
                rereads += 1
                left = deadline - clock()
                continue
            if outcome.kind == "interrupted":  # given back: nobody worked on it
                return
            problem = self._first_reply.note(outcome)
            absent = self._first_reply.absent(problem)
            # A server that answers others meanwhile is well: its refusals cost time, and not the question. But who
            # wants one attempt means it.
            counted += policy.attempts == 1 or not (problem.overload and slots.answered > answered)
            answered = slots.answered
            if absent:
                again = await self._await_server(task, problem, started)
            else:
                again = await self._try_again(task, problem, counted, attempt, started, deadline)
            if not again:
                write(shared, task, Response(), Failure(problem.kind, problem.message), clock() - started, attempt)
                return
            left = deadline - clock()
            if absent:  # neither attempts nor time count while a server is waited for
                attempt, counted, left = 0, 0, policy.question

    async def _attempt(
        self, task: Task, left: float, reserved: float, sent: dict[str, float], taken: tuple[int, float]
    ) -> Response | ModelError:
        """Send it once, and book what it cost."""
        shared, policy, slots = self._shared, self._policy, self.slots
        clock = asyncio.get_running_loop().time
        started = clock()
        cost = 0.0
        shared.tally.in_flight += 1
        slots.in_flight += 1
        try:
            async with asyncio.timeout_at(started + min(policy.attempt, max(0.05, left))) as timer:
                # A reply that is streamed may take the question's time: what ends it before is silence.
                HEARD.set(lambda: timer.reschedule(min(clock() + policy.attempt, started + left)))
                response = await _reply(task.model, task.request)
        except TimeoutError:
            cost = reserved  # the server may have worked on it, and may bill it
            limit = min(policy.attempt, policy.question)
            return ModelError("timeout", f"no complete reply within {limit:g} s", retry=True)
        except ModelError as raised:
            return raised
        except Exception as raised:  # a defect of one model's adapter must not take the others' answers with it
            return ModelError("defect", f"{type(raised).__name__}: {raised}")
        else:
            cost = self._book(task, response)
            slots.reply(clock() - started, response.quotas, sent)
            if taken[0] and response.usage:
                slots.pace.settle(taken[1], taken[0], response.usage.input + response.usage.output)
            return response
        finally:
            shared.tally.in_flight -= 1
            slots.in_flight -= 1
            shared.budget.settle(reserved, cost)

    async def _await_server(self, task: Task, problem: ModelError, began: float) -> bool:
        """Before a server's first reply: whether to ask it again, or to give the model up."""
        shared, name = self._shared, task.model.name
        shared.tally.last_error = f"{name}: {problem.message}"
        pause = self._first_reply.pause(self._policy.pause(1, None), began)
        if pause is None and not shared.stop:
            shared.refused.setdefault(name, problem.message)
            shared.unreached.add(name)
            shared.absent.add(name)
        if pause is None or shared.stop or name in shared.refused:
            return False
        shared.tally.retries += 1
        await shared.sleep(pause)
        return not shared.stop

    def _taken(self, task: Task) -> tuple[int, float]:
        """The tokens that a request may use, and those that it probably will, where it matters."""
        pace = self.slots.pace
        if not pace.counts_tokens:
            return 0, 0.0
        worst = worst_case(task.request, task.model)
        return worst.input + worst.output, pace.estimate(worst.input + worst.output)

    async def _try_again(
        self, task: Task, problem: ModelError, counted: int, attempt: int, started: float, deadline: float
    ) -> bool:
        """Wait as long as it takes and say yes, or say that it is over."""
        shared = self._shared
        shared.tally.last_error = f"{task.model.name}: {problem.message}"
        if problem.fatal:
            shared.refused.setdefault(task.model.name, problem.message)
            return False
        if not problem.retry:
            self._count_refusal(task, problem)
            return False
        if task.model.name in shared.refused:
            return False
        now = asyncio.get_running_loop().time()
        pause = self._policy.pause(counted, problem.retry_after)
        if problem.overload:
            if problem.retry_after and attempt > 1:  # told so before: others came first
                pause = max(pause, self._policy.pause(min(attempt, PATIENT) - 1, None))
            elif not problem.retry_after:
                pause = self._policy.pause(min(attempt, PATIENT), None)
            hopeless = self.slots.refuse(started, problem.retry_after)
            if hopeless:
                shared.refused.setdefault(task.model.name, f"{hopeless}; {problem.message}")
                return False
        elif problem.kind == "timeout":
            self.slots.late()
        if counted >= self._policy.attempts or now + pause >= deadline or shared.stop:
            if not problem.overload:
                self._count_loss(task, problem)
            return False
        shared.tally.retries += 1
        await self.slots.rest(pause, problem.overload)
        return not shared.stop

    def _count_refusal(self, task: Task, problem: ModelError) -> None:
        name = task.model.name
        if name in self._succeeded or problem.kind in PARTICULAR:
            return
        self._refusals[name] = self._refusals.get(name, 0) + 1
        if self._refusals[name] >= HOPELESS:
            why = f"the first {HOPELESS} requests were all refused; the last: {problem.message}"
            self._shared.refused.setdefault(name, why)

    def _count_loss(self, task: Task, problem: ModelError) -> None:
        name = task.model.name
        lost = self._lost[name] = self._lost.get(name, 0) + 1
        if lost >= (VANISHED if name in self._succeeded else UNREACHED):
            why = f"{lost} questions in a row failed with all their retries; the last: {problem.message}"
            self._shared.refused.setdefault(name, why)
            self._shared.unreached.add(name)

    def _book(self, task: Task, response: Response) -> float:
        self._first_reply.came = True
        self._succeeded.add(task.model.name)
        self._lost.pop(task.model.name, None)
        worst = None if response.usage or task.price is None else worst_case(task.request, task.model)
        return book(self._shared, task.price, response.usage, worst)


async def _reply(model: Model, request: Request) -> Response:
    return await (model.choose(request) if isinstance(request, Choose) else model.answer(request))


def book(run: Run, price: Price | None, usage: Usage | None, worst: Usage | None) -> float:
    """Count a reply's tokens and money in the tally; returns the US dollars that the budget takes.

    Tokens that no server counted are none of the tally's. The budget must hold all the same: it takes `worst`.
    """
    tally = run.tally
    if usage is None:
        most = price.cost(worst) if price and worst else 0.0
        tally.uncounted += 1
        tally.at_most += most
        return most
    cost = price.cost(usage) if price else 0.0
    tally.input_tokens += usage.input
    tally.output_tokens += usage.output
    tally.cost += cost
    return cost


def write(
    run: Run,
    task: Task,
    response: Response,
    failure: Failure | None,
    seconds: float,
    attempts: int,
    batch: str = "",
) -> None:
    """Journal a reply, or why there is none; `batch` is the provider's batch that it came in."""
    if failure is None:
        run.tally.answered += 1
        _count_cut_off(run, task, response)
    else:
        run.tally.failed += 1
        run.tally.failures.add(failure.kind)
        if run.stop:
            return  # interrupted on the way: simply not answered yet
        run.tally.last_failure = f"{task.model.name}: {failure.message}"
    run.journal.append(
        Entry(
            key=task.key.hex(),
            benchmark=task.benchmark,
            model=task.model.name,
            question=task.request.question,
            sample=task.request.sample,
            text=response.text,
            reasoning=response.reasoning,
            stop_reason=response.stop_reason,
            usage=response.usage,
            error=failure,
            likelihoods=response.likelihoods,
            seconds=round(seconds, 4),
            attempts=attempts,
            at=round(time.time(), 3),
            batch=batch,
            nonce=task.nonce,
        )
    )
    run.journal.keep_reserve(run.tally.in_flight)
    if run.journal.full:
        run.finish("disk")


def _count_cut_off(run: Run, task: Task, response: Response) -> None:
    """Say at once, and once a model, that its first replies are cut off: a cause that holds for the others, too."""
    if response.stop_reason not in CUT_OFF or run.tally.answered > FIRST:
        return
    cut = run.cut_off.setdefault(task.model.name, [])
    cut.append(response.stop_reason)
    if len(cut) == CUT_OFF_OF_FIRST:
        where = "while it was thinking" if cut.count("thinking") * 2 > len(cut) else "in the answer"
        run.say(
            f"{task.model.name}: {len(cut)} of the first {run.tally.answered} replies were cut off {where}, by the "
            "limit of tokens: --max-tokens N gives them room (Ctrl-C ends this run, and what is answered is kept)"
        )


def disk_full(run: Run) -> StorageError:
    """What to tell the user when the run stopped because the disk is full."""
    return StorageError(
        f"the disk of {run.journal.path.parent} is full: asking stopped, every answer received is saved; "
        "free some space, then resume"
    )
