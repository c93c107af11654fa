"""A model drafts texts: requests through the engine, every reply journaled as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec import Struct

from viva.build.project import DRAFTS, ProjectFolder
from viva.contracts import Model
from viva.engine.adaptive import Adaptive
from viva.engine.asking import Run, Tally, Task
from viva.engine.budget import Budget, Price
from viva.engine.groups import GroupPlan, Source, carry_out
from viva.engine.journal import Journal, Keys
from viva.engine.sendingslots import Fixed, Pace, Policy
from viva.errors import VivaError, option
from viva.runs.open import price_of
from viva.runs.progress import Mode
from viva.runs.stage import Stage, ending_of_asking, watched
from viva.types import Generate


class Asking(Struct, frozen=True, kw_only=True):
    """How hard and how long to ask."""

    concurrency: int | None = None
    timeout: float = 300.0
    max_attempts: int = 8
    max_requests: int | None = None
    max_cost: float | None = None
    price: Price | None = None
    progress: Mode = "auto"


def ask_and_keep(
    project: ProjectFolder,
    model: Model,
    requests: Sequence[tuple[str, Generate]],
    asking: Asking,
    doing: str = "drafting",
) -> tuple[Run, int]:
    """Ask what the project's journal does not hold yet; returns how it went, and how many there were to ask.

    `requests`: what each is about, which an entry says after the project's scope, and the request.
    `doing`: for the progress line. Raises VivaError where a limit of costs has no price to go by.
    """
    price = price_of(model, asking.price)
    if asking.max_cost is not None and price is None:
        raise VivaError(f"needs the price of {model.name}: give {option('price', 'IN/OUT')}", field="max_cost")
    journal = Journal(project.path / DRAFTS, write=True)
    try:
        keys = Keys(model.identity, project.scope)
        named = [(keys.of(one), asked, one) for asked, one in requests]
        tasks = [
            Task(key, f"{project.scope}{asked}", one, model, price)
            for key, asked, one in named
            if key not in journal.answered
        ]
        return _ask(model, tasks, journal, asking, doing), len(tasks)
    finally:
        journal.close()


def _ask(model: Model, tasks: Sequence[Task], journal: Journal, asking: Asking, doing: str) -> Run:
    policy = Policy(attempt=asking.timeout, attempts=asking.max_attempts)
    budget = Budget(asking.max_requests, asking.max_cost)
    run = Run(journal, budget, policy, Tally(total=len(tasks)))
    ceiling = (
        Fixed(asking.concurrency)
        if asking.concurrency
        else Fixed(1)
        if model.rate_limit_group == "replay"
        else Adaptive(patience=asking.timeout)
    )

    async def work(_: object) -> None:
        await carry_out(run, {model.rate_limit_group: GroupPlan([Source(run, iter(tasks))], ceiling, Pace())})

    stage = Stage(doing, run, ending_of_asking, [model])
    asyncio.run(watched([stage], asking.progress, work))
    return run
