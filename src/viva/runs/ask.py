"""Ask what is in queues, within the user's limits: stages side by side, each model's group once for all of them."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path

from msgspec import Struct

from viva.contracts import Model
from viva.engine.adaptive import Adaptive
from viva.engine.asking import Run, Tally, Task
from viva.engine.budget import Budget
from viva.engine.flow import gated
from viva.engine.groups import GroupPlan, Source, carry_out
from viva.engine.journal import Journal
from viva.engine.limits import Ceiling, Fixed, Policy
from viva.engine.pacing import Pace
from viva.engine.stages import Judge, JudgePanel
from viva.runs.batches import BatchDispatcher, Queue
from viva.runs.config import LimitOptions
from viva.runs.endings import ending_of_asking
from viva.runs.limits import limited
from viva.runs.messages import notify
from viva.runs.open import OpenRun, ceilings, paces
from viva.runs.stage import Stage, say_endings, together, watched

YEAR = 365 * 86400.0  # seconds
PATIENT = Policy(attempt=YEAR, question=YEAR, attempts=1, rereads=0)
"""A model on this machine takes as long as it takes: most of that is waiting for its turn."""


class Queues(Struct, frozen=True):
    """What the models of one stage are asked. Its journal is `name`.jsonl.

    `after`, where it is set: nothing is asked before. `vital`: a model that refuses from the first stops the run.
    """

    name: str
    run: Run
    queues: Sequence[Queue]
    ended: asyncio.Event
    """Set when all is answered, or given up."""
    after: asyncio.Event | None = None
    vital: bool = False


def new_run(limits: LimitOptions, journal: Journal, budget: Budget, total: int = 0, beside: Run | None = None) -> Run:
    """The state of a stage that begins."""
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
    """What is said at the end of a stage that asks; `resume` is how to go on, if not by `viva resume`."""
    if dispatcher:
        return dispatcher.ending(stage, resume)
    return functools.partial(ending_of_asking, resume=resume, verdicts=stage == "annotations")


def ask_one_stage(
    opened: OpenRun, name: str, stage: Stage, queues: Sequence[Queue], dispatcher: BatchDispatcher | None
) -> int:
    """Ask what is in the queues, watched. The stage's journal is `name`.jsonl. Returns the exit code."""
    asked = Queues(name, stage.run, queues, asyncio.Event())
    asyncio.run(
        watched([stage], opened.limits.progress, lambda end: ask_all([asked], opened.limits, dispatcher, stage.run))
    )
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
    """Ask the judges of a panel what a study wants of each, in all `total` requests. Returns the exit code.

    The journal is `name`.jsonl; `doing` says in a word what the judges do. The same command goes on.
    """
    run = new_run(opened.limits, journal, Budget(opened.limits.max_requests, opened.limits.max_cost), total)
    judges = judge_panel.judges
    stage = Stage(doing, run, ending_of(dispatcher, name, "the same command"), [one.model for one in judges])
    queues = [Queue(judge.model, functools.partial(wanted, judge)) for judge in judges]
    return ask_one_stage(opened, name, stage, queues, dispatcher)


async def ask_all(asked: Sequence[Queues], limits: LimitOptions, dispatcher: BatchDispatcher | None, run: Run) -> None:
    """Ask all that is in the queues within the limits: through batches where there is a way, else group by group.

    Models of one group, of whatever stage, share its limits. The later stage comes first, so that little waits; of
    weights on this machine, which open one after the other, the earlier.
    """
    groups: dict[str, list[tuple[int, Source]]] = {}
    works: list[Awaitable[None]] = []
    for number, part in enumerate(asked):
        left = asyncio.Event()
        in_batches = [queue for queue in part.queues if dispatcher and dispatcher.takes(queue.model)]
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
        name: _plan(name, [source for _, source in sorted(found, key=itemgetter(0))], limits)
        for name, found in groups.items()
    }
    asking = limited(run, run.journal.path.parent, limits, carry_out(run, plans))
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
    """What one stage does through batches; it has ended when its sources have, too."""
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
    """Whether a model is weights that are computed here, or on the cluster of --backend: one opens after the other."""
    return _opens_weights(model.rate_limit_group)


def _opens_weights(rate_limit_group: str) -> bool:
    return rate_limit_group.split(maxsplit=1)[0] == "hf"


def _plan(rate_limit_group: str, sources: list[Source], limits: LimitOptions) -> GroupPlan:
    provider = rate_limit_group.split(maxsplit=1)[0]
    if provider in ("baseline", "replay"):
        return GroupPlan(sources, Fixed(1), Pace())  # they answer at once; more workers would only take turns
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
    requests = paces(limits.requests_per_minute, "--requests-per-minute")
    tokens = paces(limits.tokens_per_minute, "--tokens-per-minute")
    return GroupPlan(sources, ceiling, Pace(*(pace.get(provider, pace.get("")) for pace in (requests, tokens))))
