"""Ask the requests in queues within the user's limits, stages side by side, or hand them in to batch APIs of providers;
and change limits during a run."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import re
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import ExitStack
from operator import itemgetter
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from viva.contracts import BatchModel, Model
from viva.engine.adaptive import Adaptive
from viva.engine.asking import Run, Tally, Task, gated
from viva.engine.batching import BatchJob, Patience, carry_out_batches
from viva.engine.batchlog import BatchLog, Left
from viva.engine.budget import Budget
from viva.engine.folder import BATCHES
from viva.engine.groups import GroupPlan, Source, carry_out
from viva.engine.journal import Journal
from viva.engine.sendingslots import Ceiling, Fixed, Pace, Policy, Slots
from viva.engine.stages import Judge, JudgePanel
from viva.errors import EXIT_INCOMPLETE, EXIT_INTERRUPTED, VivaError, flag, option
from viva.files import UNREADABLE, LockedError, lock, read_regular, write_whole
from viva.providers import PROVIDERS, traits_of
from viva.runs.config import LimitOptions
from viva.runs.open import OpenRun, ceilings, paces
from viva.runs.progress import Stage, ending_of_asking, notify, say_endings, together, watched
from viva.visible import plural, some

YEAR = 365 * 86400.0  # seconds
PATIENT = Policy(attempt=YEAR, question=YEAR, attempts=1, rereads=0)
"""Policy for models on this machine: no time limit, since most of the time is waiting for a turn."""


class Queues(Struct, frozen=True):
    """The requests of one stage, whose journal is `name`.jsonl.

    `after`: an event before which nothing is asked. `vital`: a model that refuses its first request stops the run.
    """

    name: str
    run: Run
    queues: Sequence[Queue]
    ended: asyncio.Event
    """Set when all requests are answered or given up."""
    after: asyncio.Event | None = None
    vital: bool = False


def new_run(limits: LimitOptions, journal: Journal, budget: Budget, total: int = 0, beside: Run | None = None) -> Run:
    """Return the state of a new stage."""
    policy = Policy(
        attempt=limits.timeout,
        question=limits.question_timeout,
        attempts=limits.max_attempts,
        server=max(Policy().server, limits.wait_for_server),
    )
    run = Run(journal, budget, policy, Tally(total=total), beside)
    run.say = notify
    return run


def ending_of(dispatcher: BatchDispatcher | None, stage: str, resume: str = "") -> Callable[[Run, Path], int]:
    """Return the function that reports the end of an asking stage; `resume`: the command, if not `viva resume`."""
    if dispatcher:
        return dispatcher.ending(stage, resume)
    return functools.partial(ending_of_asking, resume=resume, verdicts=stage == "annotations")


def ask_one_stage(
    opened: OpenRun, name: str, stage: Stage, queues: Sequence[Queue], dispatcher: BatchDispatcher | None
) -> int:
    """Ask the queues of one stage, with progress. The stage's journal is `name`.jsonl. Returns the exit code."""
    asked = Queues(name, stage.run, queues, asyncio.Event())
    asyncio.run(watched([stage], opened.limits.progress, lambda end: ask_all([asked], opened, dispatcher, stage.run)))
    code, more = say_endings([stage], opened.folder.path)
    opened.resumable |= more
    return code


def ask_judges(
    opened: OpenRun,
    name: str,
    doing: str,
    judge_panel: JudgePanel,
    journal: Journal,
    wanted: Callable[[Judge, Tally], Iterator[Task | None]],
    total: int,
    dispatcher: BatchDispatcher | None,
) -> int:
    """Ask the judges of a panel a study's `total` requests. Returns the exit code.

    The journal is `name`.jsonl; `doing`: a word for the progress line. Repeating the command resumes.
    """
    run = new_run(opened.limits, journal, Budget(opened.limits.max_requests, opened.limits.max_cost), total)
    judges = judge_panel.judges
    stage = Stage(
        doing, run, ending_of(dispatcher, name, "the same command"), [opened_judge.model for opened_judge in judges]
    )
    queues = [Queue(judge.model, functools.partial(wanted, judge)) for judge in judges]
    return ask_one_stage(opened, name, stage, queues, dispatcher)


async def ask_all(asked: Sequence[Queues], opened: OpenRun, dispatcher: BatchDispatcher | None, run: Run) -> None:
    """Ask all queues within the limits: through batches where the dispatcher takes a model, else group by group.

    Models of one group, of whatever stage, share its limits. The later stage comes first, so that little waits; of
    weights on this machine, which open one after the other, the earlier.
    """
    groups: dict[str, list[tuple[int, Source]]] = {}
    works: list[Awaitable[None]] = []
    for number, part in enumerate(asked):
        left = asyncio.Event()
        in_batches = [queue for queue in part.queues if dispatcher and isinstance(queue.model, BatchModel)]
        leaving = bool(dispatcher and dispatcher.patience.leave and in_batches)
        sources = []
        for queue in part.queues:
            if queue in in_batches and not leaving:
                continue
            gates = [gate for gate in (part.after, left if leaving else None) if gate]
            tasks = gated(functools.partial(_open, gates), functools.partial(queue.wanted, part.run.tally))
            sources.append(Source(part.run, tasks, vital=part.vital))
            name = queue.model.rate_limit_group
            groups.setdefault(name, []).append((number if _opens_weights(name) else -number, sources[-1]))
        works.append(_carry_part(part, sources, in_batches, dispatcher, left))
    plans = {
        name: group_plan(name, [source for _, source in sorted(members, key=itemgetter(0))], opened.limits)
        for name, members in groups.items()
    }
    asking = limited(run, opened, carry_out(run, plans))
    await together(run, asking, *works)


def _open(gates: Sequence[asyncio.Event]) -> bool:
    return all(gate.is_set() for gate in gates)


async def _carry_part(
    part: Queues,
    sources: Sequence[Source],
    in_batches: Sequence[Queue],
    dispatcher: BatchDispatcher | None,
    left: asyncio.Event,
) -> None:
    """Carry out a stage's batches; set its `ended` once its other sources have ended, too."""
    if part.after:
        await part.after.wait()
    if dispatcher and in_batches:
        if dispatcher.patience.leave:
            await dispatcher.leave(part.run, part.name, in_batches)
        else:
            await dispatcher.carry_out(part.run, part.name, in_batches)
    left.set()
    part.run.ring()
    for source in sources:
        await source.ended.wait()
    part.ended.set()


def is_local(model: Model) -> bool:
    """Return whether a model's weights are computed here or on the cluster of --backend: such models open in turn."""
    return _opens_weights(model.rate_limit_group)


def _opens_weights(rate_limit_group: str) -> bool:
    return rate_limit_group.split(maxsplit=1)[0] == "hf"


def group_plan(rate_limit_group: str, sources: list[Source], limits: LimitOptions) -> GroupPlan:
    """Return how the sources of one group are asked: bound, pace and policy, by the provider and the user's limits."""
    provider = rate_limit_group.split(maxsplit=1)[0]
    if traits_of(provider).recorded:
        return GroupPlan(sources, Fixed(1), Pace())  # they answer at once; more workers gain nothing
    if rate_limit_group == "hf ray":
        from viva.distributed import replicas

        return GroupPlan(
            sources, replicas.Window(), Pace(), policy=PATIENT, sequential=True, drain=replicas.cancel_pending
        )
    if provider == "hf":
        from viva.models.local import scheduler

        return GroupPlan(
            sources, Fixed(scheduler.WINDOW), Pace(), policy=PATIENT, sequential=True, drain=scheduler.cancel_pending
        )
    most = ceilings(limits)
    wanted = most.get(provider, most.get("", 0))
    if rate_limit_group.startswith("python one ") and not wanted:
        wanted = 1  # a function that blocks may not be made for threads
    ceiling: Ceiling = Fixed(wanted) if wanted else Adaptive(patience=limits.timeout)
    requests = paces(limits.requests_per_minute, "requests_per_minute")
    tokens = paces(limits.tokens_per_minute, "tokens_per_minute")
    return GroupPlan(sources, ceiling, Pace(*(pace.get(provider, pace.get("")) for pace in (requests, tokens))))


class Queue(Struct, frozen=True):
    """The requests still to ask one model: `wanted` renders them, and counts known answers in the tally."""

    model: Model
    wanted: Callable[[Tally], Iterator[Task | None]]


class BatchDispatcher(Struct, frozen=True):
    """Access to the batch APIs: the log of the run's batches, and how long to wait."""

    log: BatchLog
    patience: Patience

    async def leave(self, run: Run, stage: str, queues: Sequence[Queue]) -> None:
        """Cancel the batches of these queues and read what they have done; the rest is asked without batches."""
        await self.carry_out(run, stage, queues)
        run.tally.answered = run.tally.failed = 0  # asking without batches counts known answers again

    def carry_out(self, run: Run, stage: str, queues: Sequence[Queue]) -> Coroutine[None, None, None]:
        """Ask these queues, whose models are taken, through batches."""
        jobs = [
            BatchJob(queue.model, queue.model.batches(), functools.partial(_whole, queue))
            for queue in queues
            if isinstance(queue.model, BatchModel)
        ]
        return carry_out_batches(run, self.log, stage, jobs, self.patience)

    def ending(self, stage: str, resume: str = "") -> Callable[[Run, Path], int]:
        """Return the function that reports the end of a stage asked through batches."""
        return functools.partial(_ending, self, stage, resume)


def _whole(queue: Queue, tally: Tally) -> Iterator[Task]:
    """Yield all tasks of a queue; batches start once the earlier stage is complete."""
    return filter(None, queue.wanted(tally))


def open_batch_dispatcher(opened: OpenRun, stack: ExitStack, file: str = BATCHES) -> BatchDispatcher | None:
    """Return the dispatcher if this run asks through batches, which batches.jsonl (or `file`) records from now on.

    With --no-batch, one that only leaves open batches, where there are any.
    """
    limits, folder = opened.limits, opened.folder
    leave = limits.batch is False and folder.batched(file)
    if not limits.batch and not leave:
        return None
    log = BatchLog(folder.path, file)
    stack.callback(log.close)
    if leave:
        stack.callback(_left, log)
    return BatchDispatcher(log, Patience(poll=limits.poll, wait=leave or not limits.no_wait, leave=leave))


def _left(log: BatchLog) -> None:
    """Record that the run asks without batches from now on, if none is open."""
    if not any(log.waiting()):
        log.note(Left(at=time.time()))


def refuse_unbatched(opened: OpenRun, asked: Sequence[Model] = ()) -> None:
    """Refuse --batch where no model takes batches, or only at an unintended price; say which are asked otherwise.

    `asked`: the models to be asked, by default all models and judges. Sends nothing.
    """
    limits = opened.limits
    if not limits.batch:
        if limits.no_wait:
            raise VivaError(
                f"hands batches in and does not wait for them: it goes with {option('batch')}", field="no_wait"
            )
        return
    models = asked or [*opened.models, *(judge.model for judge in opened.judges)]
    others = [model for model in models if not isinstance(model, BatchModel)]
    for model in others:
        provider = model.identity.get("provider", "")
        if traits_of(provider).paid:
            raise VivaError(
                f"{model.name}: Viva knows no batch API of {provider or 'this provider'} (it knows OpenAI's and "
                f"Anthropic's); ask it in a run of its own, without {option('batch')}"
            )
    if len(others) == len(models):
        raise VivaError(f"is for openai/ and anthropic/ models; {others[0].name} has no batch API", field="batch")
    for evaluation in opened.evaluations:
        if evaluation.exam.spec.choose and isinstance(evaluation.model, BatchModel) and not asked:
            raise VivaError(
                f"{evaluation.exam.spec.choose} asks {evaluation.model.name} how probable options are, and batches "
                f"carry texts only: leave {option('batch')} or {option('answer_by')} out",
                field="answer_by",
            )
    if others and limits.progress != "quiet":
        names = ", ".join(dict.fromkeys(model.name for model in others))
        notify(f"{option('batch')}: {names} {'are' if others[1:] else 'is'} asked the normal way, having no batch API")


def _ending(dispatcher: BatchDispatcher, stage: str, resume: str, run: Run, path: Path) -> int:
    more = [option("batch", value=False)] if dispatcher.patience.leave else []
    resume = resume or " ".join(["viva resume", str(path), *more])
    mine = [batch for batch in dispatcher.log.waiting() if batch.intent.stage == stage]
    handed_in = bool(mine) and not run.stop and not run.refused
    code = EXIT_INCOMPLETE if handed_in else ending_of_asking(run, path, resume, verdicts=stage == "annotations")
    if mine and code in (EXIT_INCOMPLETE, EXIT_INTERRUPTED):
        asked = sum(len(batch.intent.keys) for batch in mine)
        names = some([batch.name or "one that is not found yet" for batch in mine], 3)
        stay = f"of {asked:,} requests {'stay' if mine[1:] else 'stays'} with the provider ({names})"
        notify(f"{plural(len(mine), 'batch', 'batches')} {stay}, today or for weeks; read with: {resume}")
    return code


ASKED, TOLD = ".limits.json", ".limits.told.json"
LONGEST = 1 << 16
"""Most bytes read of a request or answer file."""
LOOK = 1.0
"""Seconds between two looks for a request."""
AUTO, NONE = 0, 0.0
"""In a request: concurrency that the server decides; no limit a minute."""

Provider = Annotated[str, Meta(max_length=32)]
Rates = dict[Provider, Annotated[float, Meta(ge=0, le=1e12)]]
T = TypeVar("T")


class LimitRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    """Changes of limits asked of process `pid`, by provider ("" for all); none, to ask for the limits alone."""

    pid: int
    number: Annotated[str, Meta(max_length=64)]
    concurrency: dict[Provider, Annotated[int, Meta(ge=0, le=100_000)]] = {}
    requests_per_minute: Rates = {}
    tokens_per_minute: Rates = {}


class GroupLimits(Struct, kw_only=True, rename={"rate_limit_group": "lane"}):
    """One endpoint: its bound, requests in flight, answers and refusals so far, and what bounds it."""

    rate_limit_group: str
    limit: int
    in_flight: int
    waiting: int
    answered: int
    refused: int
    doing: str
    pace: str


class LimitAnswer(Struct, kw_only=True, rename={"groups": "lanes"}):
    """The limits after request `number`, and which changes were not applied."""

    number: str
    groups: list[GroupLimits]
    problem: str = ""


def read_file(path: Path, kind: type[T]) -> T | None:
    """Return the content of a request or answer file; None where missing. Raises ValueError for an unusable one."""
    try:
        return msgspec.json.decode(read_regular(path, LONGEST), type=kind)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise ValueError(f"{path.name}: {problem.strerror}") from None
    except UNREADABLE as problem:
        raise ValueError(f"{path.name}: {problem}") from None


async def limited(run: Run, opened: OpenRun, asking: Coroutine[None, None, None]) -> None:
    """Run `asking`, and meanwhile apply changes by `viva limits`, which hold for later stages, too."""
    listening = asyncio.create_task(_listen(run, opened))
    try:
        await asking
    finally:
        listening.cancel()


async def _listen(run: Run, opened: OpenRun) -> None:
    """Look for requests until cancelled."""
    folder = opened.folder.path
    ignored: tuple[int, int] | None = None
    while True:
        try:
            status = (folder / ASKED).lstat()
        except OSError:
            status = None
        if status and (status.st_ino, status.st_mtime_ns) != ignored:
            ignored = (status.st_ino, status.st_mtime_ns)  # a file that cannot be removed is read only once
            request, wrong = None, ""
            try:
                request = read_file(folder / ASKED, LimitRequest)
            except ValueError as problem:
                wrong = str(problem)
            with contextlib.suppress(OSError):  # before the answer is written: its reader may ask again at once
                (folder / ASKED).unlink(missing_ok=True)
            if request and request.pid == os.getpid():
                problem_text = _apply(run, opened, request)
                groups = [_now(group, slots) for group, slots in run.groups.items()]
                try:
                    told = LimitAnswer(number=request.number, problem=problem_text, groups=groups)
                    write_whole(folder / TOLD, msgspec.json.encode(told))
                except OSError as problem:
                    wrong = str(problem)
            if wrong:
                notify(f"limits were not changed: {wrong}")
        await asyncio.sleep(LOOK)


def _now(rate_limit_group: str, slots: Slots) -> GroupLimits:
    return GroupLimits(
        rate_limit_group=rate_limit_group,
        limit=slots.ceiling.limit,
        in_flight=slots.in_flight,
        waiting=slots.resting,
        answered=slots.answered,
        refused=slots.refused,
        doing=slots.doing(),
        pace=slots.pace.doing(),
    )


def forget(folder: Path) -> None:
    """Remove request and answer files from the folder when its run ends."""
    for name in (ASKED, TOLD):
        with contextlib.suppress(OSError):
            (folder / name).unlink(missing_ok=True)


def _apply(run: Run, opened: OpenRun, request: LimitRequest) -> str:
    """Apply a request's changes. Returns which were not possible, in words."""
    named = {*request.concurrency, *request.requests_per_minute, *request.tokens_per_minute}
    unknown = sorted(name for name in named - {""} if name not in PROVIDERS or traits_of(name).unbounded)
    if unknown:
        return f"no such limits for {', '.join(unknown)}"
    limits = opened.limits
    limits = opened.limits = replace(
        limits,
        concurrency=_said(limits.concurrency, request.concurrency, "auto"),
        requests_per_minute=_said(limits.requests_per_minute, request.requests_per_minute, "none"),
        tokens_per_minute=_said(limits.tokens_per_minute, request.tokens_per_minute, "none"),
    )
    for rate_limit_group, slots in run.groups.items():
        provider = rate_limit_group.split(maxsplit=1)[0]
        if traits_of(provider).unbounded:
            continue
        number = request.concurrency.get(provider, request.concurrency.get(""))
        if number is not None:
            slots.change(Fixed(number) if number != AUTO else Adaptive(patience=limits.timeout))
        for wanted, name in (
            (request.requests_per_minute, "per_minute"),
            (request.tokens_per_minute, "tokens_per_minute"),
        ):
            rate = wanted.get(provider, wanted.get(""))
            if rate is not None:
                setattr(slots.pace, name, rate or None)
        slots.notice()
    return ""


def _said(before: tuple[str, ...], wanted: Mapping[str, float], zero: str) -> tuple[str, ...]:
    """Merge values as options of the command line: new ones first; one for all providers replaces those of each."""
    words = tuple(f"{provider}={n or zero}" if provider else f"{n or zero}" for provider, n in wanted.items())
    return words if "" in wanted else before + words


PATIENCE = 10.0
"""Seconds to wait for the run's answer."""


def describe(group: GroupLimits) -> str:
    """Return `openai http://…/v1: 64 at once (fixed), 60 in flight, 3 waiting to be asked again, 204 answered, 7
    refused`.
    """
    parts = [f"{group.limit} at once ({group.doing})", f"{group.in_flight} in flight"]
    if group.waiting:
        parts.append(f"{group.waiting} waiting to be asked again")
    parts += [f"{group.answered:,} answered", f"{group.refused:,} refused"]
    return f"{group.rate_limit_group}: {', '.join([*parts, group.pace] if group.pace else parts)}"


def asking_process(folder: Path) -> int:
    """Return the id of the process that holds the run. Raises VivaError where none does."""
    try:
        os.close(lock(folder / ".lock", os.O_RDONLY, shared=True))
    except LockedError as locked:
        holder = re.fullmatch(r"pid (\d{1,10})", locked.holder, re.ASCII)
        if holder:
            return int(holder[1])
        raise VivaError(f"{folder} is held by a process that does not say its number; try again") from None
    except OSError:
        raise _still(folder) from None
    raise _still(folder)


def _still(folder: Path) -> VivaError:
    return VivaError(
        f"{folder} is not running, so nothing was changed: give limits to `viva resume {folder} "
        f"{flag('concurrency', '64')}`"
    )


def answer_to(folder: Path, number: str) -> LimitAnswer | None:
    """Return the run's answer to the request of this number; None if none comes within PATIENCE seconds."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        time.sleep(0.1)
        try:
            answer = read_file(folder / TOLD, LimitAnswer)
        except ValueError:
            continue
        if answer and answer.number == number:
            (folder / TOLD).unlink(missing_ok=True)
            return answer
    return None
