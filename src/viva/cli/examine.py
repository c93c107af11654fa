"""Carry a run through its stages: answers, executions, similarities, verdicts. What asks or grades meets here."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct

from viva.cli.endings import ending_of_asking, ending_of_comparing, ending_of_running
from viva.cli.examination import Examination, ceilings, paces
from viva.cli.options import Limits
from viva.cli.watching import watched
from viva.contracts import Model, Sandbox
from viva.engine.asking import LanePlan, Run, Tally, Task, carry_out
from viva.engine.budget import Budget
from viva.engine.comparing import Comparison, run_comparisons
from viva.engine.folder import RunFolder
from viva.engine.journal import Journal
from viva.engine.limits import Adaptive, Ceiling, Fixed, Pace, Policy
from viva.engine.programs import program_key, run_programs
from viva.engine.stages import (
    Bench,
    Likenesses,
    answers_wanted,
    comparisons_wanted,
    programs_wanted,
    verdicts_wanted,
)
from viva.errors import EXIT_INCOMPLETE, EXIT_OK, VivaError

YEAR = 365 * 86400.0  # seconds
PATIENT = Policy(attempt=YEAR, question=YEAR, attempts=1, rereads=0)
"""A model on this machine takes as long as it takes: most of that is waiting for its turn."""


def examine(examination: Examination, earlier: list[RunFolder]) -> int:
    """Ask what is missing, then the judge. Returns the exit code; the folder holds everything that came back."""
    folder = examination.folder
    limits = examination.limits
    budget = Budget(limits.max_requests, limits.max_cost)
    with ExitStack() as stack:
        answers = folder.journal("responses")
        stack.callback(answers.close)
        code = work_through(
            examination,
            Stage("asking", answers, budget, examination.answers_wanted),
            lambda run: ask_all(
                run, _answer_tasks(examination, answers, _earlier(earlier, "responses", stack), run.tally), limits
            ),
            examination.examinees,
        )
        if code in (EXIT_OK, EXIT_INCOMPLETE):
            code = _programs(examination, answers, earlier, stack) or code
        if code in (EXIT_OK, EXIT_INCOMPLETE):
            code = _comparisons(examination, answers, earlier, stack) or code
        bench = examination.bench
        if bench and code in (EXIT_OK, EXIT_INCOMPLETE):
            verdicts = folder.journal("annotations")
            stack.callback(verdicts.close)
            judged = work_through(
                examination,
                Stage("judging", verdicts, budget, _judgements_wanted(examination, bench, answers, stack)),
                lambda run: ask_all(
                    run,
                    _verdict_tasks(
                        examination, bench, answers, verdicts, _earlier(earlier, "annotations", stack), run.tally, stack
                    ),
                    limits,
                ),
                [judge.model for judge in bench.judges],
            )
            code = judged or code
    return code


def _programs(examination: Examination, answers: Journal, earlier: list[RunFolder], stack: ExitStack) -> int:
    """Run the programs that the answers hold, where an exam has any."""
    wanted = _programs_wanted(examination, answers)
    if not wanted:
        return EXIT_OK
    from viva.sandbox import Sandbox as Bubble

    try:
        sandbox = Bubble(unsafe_host_execution=examination.limits.unsafe_host_execution)
    except VivaError as problem:  # the answers are kept, and can be graded where there is a sandbox
        print(f"viva: {wanted:,} programs were not run: {problem}", file=sys.stderr)
        return EXIT_INCOMPLETE
    if examination.limits.unsafe_host_execution:
        print("viva: --unsafe-host-execution: programs that a model wrote run WITHOUT a sandbox", file=sys.stderr)
    journal = examination.folder.journal("executions")
    stack.callback(journal.close)

    async def work(run: Run) -> None:
        old = _earlier(earlier, "executions", stack)
        asked: set[bytes] = set()
        programs = itertools.chain.from_iterable(
            programs_wanted(sitting, answers, journal, old, run.tally, asked) for sitting in examination.sittings
        )
        await run_programs(run, sandbox, programs, os.cpu_count() or 1)

    return work_through(examination, Stage("running", journal, Budget(), wanted, ending_of_running), work, [sandbox])


def _programs_wanted(examination: Examination, answers: Journal) -> int:
    """How many different programs there are to run, for the progress line."""
    return len(
        {
            program_key(request)
            for sitting in examination.sittings
            for question, _, entry in sitting.answers(answers)
            if question.kind == "free" and entry and not entry.error
            for request in sitting.exam.executions(question, entry.response())
        }
    )


def _comparisons(examination: Examination, answers: Journal, earlier: list[RunFolder], stack: ExitStack) -> int:
    """Compare texts with the gold, where an exam has an encoder."""
    encoder = examination.encoder
    if encoder is None:
        return EXIT_OK
    journal = examination.folder.journal("similarities")
    stack.callback(journal.close)
    old = _earlier(earlier, "similarities", stack)

    def wanted(tally: Tally, kept: Sequence[tuple[str, Journal]], into: Journal) -> Iterator[Comparison]:
        asked: set[bytes] = set()
        return itertools.chain.from_iterable(
            comparisons_wanted(sitting, encoder.identity, answers, into, kept, tally, asked)
            for sitting in examination.sittings
        )

    total = _distinct_comparisons(examination, answers)
    stage = Stage("comparing", journal, Budget(), total, ending_of_comparing)
    return work_through(
        examination, stage, lambda run: run_comparisons(run, encoder, wanted(run.tally, old, journal)), []
    )


def _distinct_comparisons(examination: Examination, answers: Journal) -> int:
    """How many pairs of texts there are to compare, for the progress line."""
    return len(
        {
            (request.text, request.reference)
            for sitting in examination.sittings
            if sitting.exam.spec.encoder
            for question, _, entry in sitting.answers(answers)
            if entry and not entry.error
            for request in sitting.exam.comparisons(question, entry.response())
        }
    )


def _earlier(folders: list[RunFolder], stage: str, stack: ExitStack) -> list[tuple[str, Journal]]:
    found = [(folder.path.name, folder.journal(stage)) for folder in folders]
    for _, journal in found:
        stack.callback(journal.close)
    return found


Tasks = dict[str, list[Iterator[Task]]]


def _answer_tasks(
    examination: Examination, answers: Journal, earlier: list[tuple[str, Journal]], tally: Tally
) -> Tasks:
    lanes: Tasks = {}
    by_model: dict[int, list[Iterator[Task]]] = {}
    for sitting in examination.sittings:
        wanted = answers_wanted(sitting, answers, earlier, tally)
        by_model.setdefault(id(sitting.model), []).append(wanted)
    for model in examination.examinees:
        lanes.setdefault(model.lane, []).append(_chain(by_model[id(model)]))
    return lanes


def _chain(iterators: list[Iterator[Task]]) -> Iterator[Task]:
    for iterator in iterators:
        yield from iterator


def _verdict_tasks(
    examination: Examination,
    bench: Bench,
    answers: Journal,
    verdicts: Journal,
    earlier: list[tuple[str, Journal]],
    tally: Tally,
    stack: ExitStack,
) -> Tasks:
    asked: set[bytes] = set()
    likenesses = _likenesses(examination, stack)
    lanes: Tasks = {}
    for judge in bench.judges:
        wanted = [
            verdicts_wanted(sitting, bench, judge, answers, likenesses, verdicts, earlier, tally, asked)
            for sitting in examination.sittings
        ]
        lanes.setdefault(judge.model.lane, []).append(_chain(wanted))
    return lanes


def _likenesses(examination: Examination, stack: ExitStack) -> Likenesses | None:
    if examination.encoder is None:
        return None
    journal = examination.folder.journal("similarities", write=False)
    stack.callback(journal.close)
    return Likenesses(examination.encoder.identity, journal)


def _judgements_wanted(examination: Examination, bench: Bench, answers: Journal, stack: ExitStack) -> int:
    """How many verdicts there are to get, for the progress line: one pass over the answers."""
    keys: set[bytes] = set()
    likenesses = _likenesses(examination, stack)
    for sitting in examination.sittings:
        exam = sitting.exam
        for question, _, entry in sitting.answers(answers):
            if (question.kind not in ("choice", "truth") or exam.spec.rationale) and entry and not entry.error:
                response = entry.response()
                similarities = likenesses.of(exam, question, response) if likenesses else {}
                for judge in bench.judges:
                    keys.update(key for key, _ in bench.requests(judge, sitting, question, response, similarities))
    return len(keys)


class Stage(Struct, frozen=True):
    """What a stage is called, where it writes, what it may spend, how much there is to do, what is said at its end."""

    name: str
    journal: Journal
    budget: Budget
    total: int
    ending: Callable[[Run, Path, int], int] = ending_of_asking


async def ask_all(run: Run, tasks: Tasks, limits: Limits) -> None:
    """Ask the tasks of every lane within the limits."""
    await carry_out(run, {lane: _plan(lane, found, limits) for lane, found in tasks.items()})


def work_through(
    examination: Examination,
    stage: Stage,
    work: Callable[[Run], Coroutine[None, None, None]],
    used: Sequence[Model | Sandbox],
) -> int:
    """Do the work of one stage, watched; `used` is closed at its end. Returns the exit code."""
    limits = examination.limits
    tally = Tally(total=stage.total)
    policy = Policy(attempt=limits.timeout, question=limits.question_timeout, attempts=limits.attempts)

    run = Run(stage.journal, stage.budget, policy, tally)
    asyncio.run(watched(run, stage.name, limits.progress, work, used))
    return stage.ending(run, examination.folder.path, stage.total)


def _plan(lane: str, tasks: list[Iterator[Task]], limits: Limits) -> LanePlan:
    provider = lane.split(maxsplit=1)[0]
    if provider in ("baseline", "replay"):
        return LanePlan(tasks, Fixed(1), Pace(None))  # they answer at once; more workers would only take turns
    if provider == "hf":
        from viva.models.local import desk

        return LanePlan(
            tasks, Fixed(desk.WINDOW), Pace(None), policy=PATIENT, in_turn=True, hurry=desk.give_back_what_waits
        )
    most, pace = ceilings(limits), paces(limits)
    wanted = most.get(provider, most.get("", 0))
    ceiling: Ceiling = Fixed(wanted) if wanted else Adaptive()
    return LanePlan(tasks, ceiling, Pace(pace.get(provider, pace.get(""))))
