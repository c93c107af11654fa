"""Carry a run through its stages: answers, executions, similarities, verdicts. What asks or grades meets here."""

from __future__ import annotations

import asyncio
import functools
import itertools
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct

from viva.contracts import AdaptingModel
from viva.engine.adaptive import Adaptive
from viva.engine.asking import GroupPlan, Run, Tally, Task, carry_out
from viva.engine.budget import Budget
from viva.engine.comparing import Comparison, run_comparisons
from viva.engine.folder import ModelRecord, RunFolder
from viva.engine.journal import Journal
from viva.engine.limitchanges import forget
from viva.engine.limits import Ceiling, Fixed, Policy
from viva.engine.pacing import Pace
from viva.engine.programs import program_key, run_programs
from viva.engine.stages import (
    Evaluation,
    Judge,
    JudgePanel,
    SimilarityStore,
    VerdictQueue,
    answers_wanted,
    comparisons_wanted,
    programs_wanted,
    with_questions,
)
from viva.errors import EXIT_INCOMPLETE, EXIT_OK, VivaError
from viva.runs.answer_files import keep
from viva.runs.batches import BatchDispatcher, Queue, open_batch_dispatcher
from viva.runs.config import LimitOptions
from viva.runs.endings import ending_of_asking, ending_of_comparing, ending_of_running, resumable
from viva.runs.limits import limited
from viva.runs.messages import notify
from viva.runs.open import OpenRun, ceilings, paces
from viva.runs.placement import batches_at_once, open_sandbox
from viva.runs.stage import Closing, watched
from viva.types import Response

YEAR = 365 * 86400.0  # seconds
APART = 4
"""Verdicts between two canaries, as long as there are both."""
PATIENT = Policy(attempt=YEAR, question=YEAR, attempts=1, rereads=0)
"""A model on this machine takes as long as it takes: most of that is waiting for its turn."""


def execute_run(opened: OpenRun, earlier: list[RunFolder]) -> int:
    """Ask what is missing, then the judge. Returns the exit code; the folder holds everything that came back."""
    folder = opened.folder
    limits = opened.limits
    if opened.judge_panel and opened.judge_panel.verdicts != "line":
        opened.judge_panel.nonce(b"")  # a secret that cannot be had is said before anything is paid for
    keep(folder.path, opened.kept)
    budget = Budget(limits.max_requests, limits.max_cost)
    with ExitStack() as stack:
        stack.callback(forget, folder.path)
        answers = folder.journal("responses")
        stack.callback(answers.close)
        dispatcher = open_batch_dispatcher(opened, stack)
        queues = _answer_queues(opened, answers, _earlier(earlier, "responses", stack))
        code = work_through(
            opened,
            Stage("asking", answers, budget, opened.answers_wanted, ending_of(dispatcher, "responses")),
            lambda run: ask_all(run, "responses", queues, limits, dispatcher),
            opened.models,
        )
        if code in (EXIT_OK, EXIT_INCOMPLETE):
            code = _programs(opened, answers, earlier, stack) or code
        if code in (EXIT_OK, EXIT_INCOMPLETE):
            code = _comparisons(opened, answers, earlier, stack) or code
        judge_panel = opened.judge_panel
        if judge_panel and code in (EXIT_OK, EXIT_INCOMPLETE):
            verdicts = folder.journal("annotations")
            stack.callback(verdicts.close)
            old = _earlier(earlier, "annotations", stack)
            asked = _verdict_queues(opened, judge_panel, answers, verdicts, old, stack)
            wanted = _judgements_wanted(opened, judge_panel, answers, stack)
            judged = work_through(
                opened,
                Stage("judging", verdicts, budget, wanted, ending_of(dispatcher, "annotations")),
                lambda run: ask_all(run, "annotations", asked, limits, dispatcher),
                [judge.model for judge in judge_panel.judges],
            )
            code = judged or code
    return code


def _programs(opened: OpenRun, answers: Journal, earlier: list[RunFolder], stack: ExitStack) -> int:
    """Run the programs that the answers hold, where an exam has any."""
    wanted = _programs_wanted(opened, answers)
    if not wanted:
        return EXIT_OK
    try:
        sandbox, jobs = open_sandbox(opened.limits)
    except VivaError as problem:  # the answers are kept, and can be graded where there is a sandbox
        notify(f"{wanted:,} programs were not run: {problem}")
        return EXIT_INCOMPLETE
    if opened.limits.unsafe_host_execution:
        notify("--unsafe-host-execution: programs that a model wrote run WITHOUT a sandbox")
    journal = opened.folder.journal("executions")
    stack.callback(journal.close)

    async def work(run: Run) -> None:
        old = _earlier(earlier, "executions", stack)
        asked: set[bytes] = set()
        programs = itertools.chain.from_iterable(
            programs_wanted(evaluation, answers, journal, old, run.tally, asked) for evaluation in opened.evaluations
        )
        await run_programs(run, sandbox, programs, jobs)

    return work_through(opened, Stage("running", journal, Budget(), wanted, ending_of_running), work, [sandbox])


def _programs_wanted(opened: OpenRun, answers: Journal) -> int:
    """How many different programs there are to run, for the progress line."""
    return len(
        {
            program_key(request)
            for evaluation in opened.evaluations
            for question, _, entry in evaluation.answers(answers)
            if question.kind == "free" and entry and not entry.error
            for request in evaluation.exam.executions(question, entry.response())
        }
    )


def _comparisons(opened: OpenRun, answers: Journal, earlier: list[RunFolder], stack: ExitStack) -> int:
    """Compare texts with the gold, where an exam has an encoder."""
    encoder = opened.encoder
    if encoder is None:
        return EXIT_OK
    journal = opened.folder.journal("similarities")
    stack.callback(journal.close)
    old = _earlier(earlier, "similarities", stack)

    def wanted(tally: Tally, kept: Sequence[tuple[str, Journal]], into: Journal) -> Iterator[Comparison]:
        asked: set[bytes] = set()
        return itertools.chain.from_iterable(
            comparisons_wanted(evaluation, encoder.identity, answers, into, kept, tally, asked)
            for evaluation in opened.evaluations
        )

    total = _distinct_comparisons(opened, answers)
    stage = Stage("comparing", journal, Budget(), total, ending_of_comparing)
    return work_through(
        opened,
        stage,
        lambda run: run_comparisons(run, encoder, wanted(run.tally, old, journal), batches_at_once(encoder)),
        [encoder] if isinstance(encoder, Closing) else [],
    )


def _distinct_comparisons(opened: OpenRun, answers: Journal) -> int:
    """How many pairs of texts there are to compare, for the progress line."""
    return len(
        {
            (request.text, request.reference)
            for evaluation in opened.evaluations
            if evaluation.exam.spec.encoder
            for question, _, entry in evaluation.answers(answers)
            if entry and not entry.error
            for request in evaluation.exam.comparisons(question, entry.response())
        }
    )


def _earlier(folders: list[RunFolder], stage: str, stack: ExitStack) -> list[tuple[str, Journal]]:
    found = [(folder.path.name, folder.journal(stage)) for folder in folders]
    for _, journal in found:
        stack.callback(journal.close)
    return found


def _answer_queues(opened: OpenRun, answers: Journal, earlier: list[tuple[str, Journal]]) -> list[Queue]:
    by_model: dict[int, list[Evaluation]] = {}
    for evaluation in opened.evaluations:
        by_model.setdefault(id(evaluation.model), []).append(evaluation)

    def of(evaluations: list[Evaluation]) -> Callable[[Tally], Iterator[Task]]:
        return lambda tally: itertools.chain.from_iterable(
            answers_wanted(evaluation, answers, earlier, tally) for evaluation in evaluations
        )

    return [Queue(model, of(by_model[id(model)])) for model in opened.models]


def _verdict_queues(
    opened: OpenRun,
    judge_panel: JudgePanel,
    answers: Journal,
    verdicts: Journal,
    earlier: list[tuple[str, Journal]],
    stack: ExitStack,
) -> list[Queue]:
    similarity_store = _similarity_store(opened, stack)

    def of(judge: Judge) -> Callable[[Tally], Iterator[Task]]:
        def wanted(tally: Tally) -> Iterator[Task]:
            queue = VerdictQueue(judge_panel, judge, verdicts, earlier, tally)
            canaries = queue.about_canaries(opened.folder.record.canaries, opened.exams)
            return _mixed(
                canaries,
                itertools.chain.from_iterable(
                    queue.about(evaluation, answers, similarity_store) for evaluation in opened.evaluations
                ),
            )

        return wanted

    return [Queue(judge.model, of(judge)) for judge in judge_panel.judges]


def _mixed(canaries: Iterator[Task], others: Iterator[Task]) -> Iterator[Task]:
    """A canary, some others, and so on."""
    while some := [*itertools.islice(canaries, 1), *itertools.islice(others, APART)]:
        yield from some


def _similarity_store(opened: OpenRun, stack: ExitStack) -> SimilarityStore | None:
    if opened.encoder is None:
        return None
    journal = opened.folder.journal("similarities", write=False)
    stack.callback(journal.close)
    return SimilarityStore(opened.encoder.identity, journal)


def _judgements_wanted(opened: OpenRun, judge_panel: JudgePanel, answers: Journal, stack: ExitStack) -> int:
    """How many verdicts there are to get, for the progress line: one pass over the answers."""
    keys: set[bytes] = set()
    similarity_store = _similarity_store(opened, stack)
    for exam, question, canary in with_questions(opened.folder.record.canaries, opened.exams):
        for judge in judge_panel.judges:
            found = judge_panel.requests(judge.model, exam, question, Response(text=canary.text), {})
            keys.update(key for key, _ in found)
    for evaluation in opened.evaluations:
        exam = evaluation.exam
        for question, _, entry in evaluation.answers(answers):
            if (question.kind not in ("choice", "truth") or exam.spec.rationale) and entry and not entry.error:
                response = entry.response()
                similarities = similarity_store.of(exam, question, response) if similarity_store else {}
                for judge in judge_panel.judges:
                    found = judge_panel.requests(judge.model, exam, question, response, similarities)
                    keys.update(key for key, _ in found)
    return len(keys)


class Stage(Struct, frozen=True):
    """What a stage is called, where it writes, what it may spend, how much there is to do, what is said at its end."""

    name: str
    journal: Journal
    budget: Budget
    total: int
    ending: Callable[[Run, Path, int], int] = ending_of_asking


def ending_of(dispatcher: BatchDispatcher | None, stage: str, resume: str = "") -> Callable[[Run, Path, int], int]:
    """What is said at the end of a stage that asks; `resume` is how to go on, if not by `viva resume`."""
    return dispatcher.ending(stage, resume) if dispatcher else functools.partial(ending_of_asking, resume=resume)


async def ask_all(
    run: Run, stage: str, queues: Sequence[Queue], limits: LimitOptions, dispatcher: BatchDispatcher | None = None
) -> None:
    """Ask all that is in the queues within the limits: through batches where there is a way, else lane by lane."""
    groups: dict[str, list[Iterator[Task]]] = {}
    in_batches = [queue for queue in queues if dispatcher and dispatcher.takes(queue.model)]
    if dispatcher and dispatcher.patience.leave:
        await dispatcher.leave(run, stage, in_batches)
        in_batches = []
    for queue in queues:
        if queue not in in_batches:
            groups.setdefault(queue.model.rate_limit_group, []).append(queue.wanted(run.tally))
    plans = {rate_limit_group: _plan(rate_limit_group, found, limits) for rate_limit_group, found in groups.items()}
    asking = limited(run, run.journal.path.parent, limits, carry_out(run, plans))
    if dispatcher and in_batches:
        await asyncio.gather(asking, dispatcher.carry_out(run, stage, in_batches))
    else:
        await asking


def work_through(
    opened: OpenRun,
    stage: Stage,
    work: Callable[[Run], Coroutine[None, None, None]],
    used: Sequence[Closing],
) -> int:
    """Do the work of one stage, watched; `used` is closed at its end. Returns the exit code."""
    limits = opened.limits
    tally = Tally(total=stage.total)
    policy = Policy(
        attempt=limits.timeout,
        question=limits.question_timeout,
        attempts=limits.max_attempts,
        server=max(Policy().server, limits.wait_for_server),
    )
    run = Run(stage.journal, stage.budget, policy, tally)
    run.say = notify
    _keep_adaptations(opened)
    asyncio.run(watched(run, stage.name, limits.progress, work, used))
    code = stage.ending(run, opened.folder.path, stage.total)
    opened.resumable |= code != EXIT_OK and resumable(run)
    return code


def _keep_adaptations(opened: OpenRun) -> None:
    """Say how requests are adapted to what a server takes, and write it into run.json."""
    record = opened.folder.record
    judges = [judge.model for judge in opened.judge_panel.judges] if opened.judge_panel else []
    for model, known in zip((*opened.models, *judges), (*record.models, *record.judges), strict=False):
        if isinstance(model, AdaptingModel):
            model.adapting.changed = functools.partial(_adapted, opened.folder, model, known)


def _adapted(folder: RunFolder, model: AdaptingModel, known: ModelRecord, said: str) -> None:
    notify(f"{known.shown or known.name}: {said}")
    known.adapted = model.adapting.known
    if folder.writable:
        folder.remember(folder.record)


def _plan(rate_limit_group: str, tasks: list[Iterator[Task]], limits: LimitOptions) -> GroupPlan:
    provider = rate_limit_group.split(maxsplit=1)[0]
    if provider in ("baseline", "replay"):
        return GroupPlan(tasks, Fixed(1), Pace())  # they answer at once; more workers would only take turns
    if rate_limit_group == "hf ray":
        from viva.distributed import replicas

        return GroupPlan(
            tasks, replicas.Window(), Pace(), policy=PATIENT, sequential=True, drain=replicas.cancel_pending
        )
    if provider == "hf":
        from viva.models.local import scheduler

        return GroupPlan(
            tasks, Fixed(scheduler.WINDOW), Pace(), policy=PATIENT, sequential=True, drain=scheduler.cancel_pending
        )
    most = ceilings(limits)
    wanted = most.get(provider, most.get("", 0))
    if rate_limit_group.startswith("python one ") and not wanted:
        wanted = 1  # a function that blocks may not be made for threads
    ceiling: Ceiling = Fixed(wanted) if wanted else Adaptive(patience=limits.timeout)
    requests = paces(limits.requests_per_minute, "--requests-per-minute")
    tokens = paces(limits.tokens_per_minute, "--tokens-per-minute")
    return GroupPlan(tasks, ceiling, Pace(*(pace.get(provider, pace.get("")) for pace in (requests, tokens))))
