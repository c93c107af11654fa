"""`viva build clrbench draft`: a model drafts rationales, through the engine, every reply journaled as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from msgspec import Struct

from viva.benchmarks.clrbench.build.approval import Proposal
from viva.benchmarks.clrbench.build.drafting import Rejected, request
from viva.cli.clrproject import DRAFTS, SCOPE, Project
from viva.cli.examination import price_of
from viva.cli.progress import Mode
from viva.cli.watching import watched
from viva.contracts import Model
from viva.engine.asking import LanePlan, Run, Tally, Task, carry_out
from viva.engine.budget import Budget, Price
from viva.engine.journal import Journal
from viva.engine.keys import Keys
from viva.engine.limits import Adaptive, Fixed, Pace, Policy
from viva.errors import VivaError
from viva.types import Generate, Sampling


class Asking(Struct, frozen=True, kw_only=True):
    """How hard and how long to ask."""

    concurrency: int | None = None
    timeout: float = 300.0
    attempts: int = 8
    max_requests: int | None = None
    max_cost: float | None = None
    price: Price | None = None
    progress: Mode = "auto"


def wanted(
    project: Project, proposals: Sequence[Proposal], instructions: dict[str, str], sampling: Sampling, *, rejected: bool
) -> list[tuple[str, Generate]]:
    """What is to be asked, with what it is about: questions without a rationale, and on request the rejected drafts."""
    found: list[tuple[str, Generate]] = []
    for proposal in proposals:
        question, state = proposal.question, proposal.state
        drafted = project.drafts.get(question.asked)
        earlier: Rejected | None = None
        if rejected and state.status == "rejected" and proposal.author != "sheet":
            earlier = Rejected(state.text, state.remarks, drafted.times if drafted else 1)
        elif state.text.strip() or question.rationale:
            continue
        found.append((question.asked, request(question, instructions, sampling, earlier)))
    return found


def draft(project: Project, model: Model, requests: Sequence[tuple[str, Generate]], asking: Asking) -> tuple[Run, int]:
    """Ask what the journal does not hold yet; returns how it went, and how many there were to ask."""
    price = price_of(model, asking.price)
    if asking.max_cost is not None and price is None:
        raise VivaError(f"--max-cost needs the price of {model.name}: give --price IN/OUT")
    journal = Journal(project.path / DRAFTS, write=True)
    try:
        keys = Keys(model.identity, SCOPE)
        named = [(keys.of(one), asked, one) for asked, one in requests]
        tasks = [
            Task(key, f"{SCOPE}{asked}", one, model, price) for key, asked, one in named if key not in journal.answered
        ]
        return _ask(model, tasks, journal, asking), len(tasks)
    finally:
        journal.close()


def _ask(model: Model, tasks: Sequence[Task], journal: Journal, asking: Asking) -> Run:
    policy = Policy(attempt=asking.timeout, attempts=asking.attempts)
    budget = Budget(asking.max_requests, asking.max_cost)
    run = Run(journal, budget, policy, Tally(total=len(tasks)))
    ceiling = Fixed(asking.concurrency) if asking.concurrency else Fixed(1) if model.lane == "replay" else Adaptive()
    todo: Iterator[Task] = iter(tasks)

    async def work(run: Run) -> None:
        await carry_out(run, {model.lane: LanePlan([todo], ceiling, Pace(None))})

    asyncio.run(watched(run, "drafting", asking.progress, work, [model]))
    return run
