"""Carry a run through its stages: answers, executions, similarities, verdicts. What asks or grades meets here."""

from __future__ import annotations

import asyncio
import functools
import itertools
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct

from viva.engine.adaptive import Adaptive
from viva.engine.asking import LanePlan, Run, Tally, Task, carry_out
from viva.engine.budget import Budget
from viva.engine.comparing import Comparison, run_comparisons
from viva.engine.folder import RunFolder
from viva.engine.journal import Journal
from viva.engine.limitchanges import forget
from viva.engine.limits import Ceiling, Fixed, Policy
from viva.engine.pacing import Pace
from viva.engine.programs import program_key, run_programs
from viva.engine.stages import (
    Bench,
    Judge,
    Likenesses,
    Sitting,
    VerdictQueue,
    answers_wanted,
    comparisons_wanted,
    programs_wanted,
    with_questions,
)
from viva.errors import EXIT_INCOMPLETE, EXIT_OK, VivaError
from viva.runs.answer_files import keep
from viva.runs.batches import Post, Queue, open_post
from viva.runs.config import Limits
from viva.runs.endings import ending_of_asking, ending_of_comparing, ending_of_running, resumable
from viva.runs.limits import limited
from viva.runs.messages import tell
from viva.runs.open import Examination, ceilings, paces
from viva.runs.placement import batches_at_once, open_sandbox
from viva.runs.stage import Closing, watched
from viva.types import Response

YEAR = 365 * 86400.0  # seconds
APART = 4
"""Verdicts between two canaries, as long as there are both."""
PATIENT = Policy(attempt=YEAR, question=YEAR, attempts=1, rereads=0)
"""A model on this machine takes as long as it takes: most of that is waiting for its turn."""


def examine(examination: Examination, earlier: list[RunFolder]) -> int:
    """Ask what is missing, then the judge. Returns the exit code; the folder holds everything that came back."""
    folder = examination.folder
    limits = examination.limits
    if examination.bench and examination.bench.verdicts != "line":
        examination.bench.nonce(b"")  # a secret that cannot be had is said before anything is paid for
    keep(folder.path, examination.kept)
    budget = Budget(limits.max_requests, limits.max_cost)
    with ExitStack() as stack:
        stack.callback(forget, folder.path)
        answers = folder.journal("responses")
        stack.callback(answers.close)
        post = open_post(examination, stack)
        queues = _answer_queues(examination, answers, _earlier(earlier, "responses", stack))
        code = work_through(
            examination,
            Stage("asking", answers, budget, examination.answers_wanted, ending_of(post, "responses")),
            lambda run: ask_all(run, "responses", queues, limits, post),
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
            old = _earlier(earlier, "annotations", stack)
            asked = _verdict_queues(examination, bench, answers, verdicts, old, stack)
            wanted = _judgements_wanted(examination, bench, answers, stack)
            judged = work_through(
                examination,
                Stage("judging", verdicts, budget, wanted, ending_of(post, "annotations")),
                lambda run: ask_all(run, "annotations", asked, limits, post),
                [judge.model for judge in bench.judges],
            )
            code = judged or code
    return code


def _programs(examination: Examination, answers: Journal, earlier: list[RunFolder], stack: ExitStack) -> int:
    """Run the programs that the answers hold, where an exam has any."""
    wanted = _programs_wanted(examination, answers)
    if not wanted:
        return EXIT_OK
    try:
        sandbox, jobs = open_sandbox(examination.limits)
    except VivaError as problem:  # the answers are kept, and can be graded where there is a sandbox
        tell(f"{wanted:,} programs were not run: {problem}")
        return EXIT_INCOMPLETE
    if examination.limits.unsafe_host_execution:
        tell("--unsafe-host-execution: programs that a model wrote run WITHOUT a sandbox")
    journal = examination.folder.journal("executions")
    stack.callback(journal.close)

    async def work(run: Run) -> None:
        old = _earlier(earlier, "executions", stack)
        asked: set[bytes] = set()
        programs = itertools.chain.from_iterable(
            programs_wanted(sitting, answers, journal, old, run.tally, asked) for sitting in examination.sittings
        )
        await run_programs(run, sandbox, programs, jobs)

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
        examination,
        stage,
        lambda run: run_comparisons(run, encoder, wanted(run.tally, old, journal), batches_at_once(encoder)),
        [encoder] if isinstance(encoder, Closing) else [],
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


def _answer_queues(examination: Examination, answers: Journal, earlier: list[tuple[str, Journal]]) -> list[Queue]:
    by_model: dict[int, list[Sitting]] = {}
    for sitting in examination.sittings:
        by_model.setdefault(id(sitting.model), []).append(sitting)

    def of(sittings: list[Sitting]) -> Callable[[Tally], Iterator[Task]]:
        return lambda tally: itertools.chain.from_iterable(
            answers_wanted(sitting, answers, earlier, tally) for sitting in sittings
        )

    return [Queue(model, of(by_model[id(model)])) for model in examination.examinees]


def _verdict_queues(
    examination: Examination,
    bench: Bench,
    answers: Journal,
    verdicts: Journal,
    earlier: list[tuple[str, Journal]],
    stack: ExitStack,
) -> list[Queue]:
    likenesses = _likenesses(examination, stack)

    def of(judge: Judge) -> Callable[[Tally], Iterator[Task]]:
        def wanted(tally: Tally) -> Iterator[Task]:
            queue = VerdictQueue(bench, judge, verdicts, earlier, tally)
            canaries = queue.about_canaries(examination.folder.record.canaries, examination.exams)
            return _mixed(
                canaries,
                itertools.chain.from_iterable(
                    queue.about(sitting, answers, likenesses) for sitting in examination.sittings
                ),
            )

        return wanted

    return [Queue(judge.model, of(judge)) for judge in bench.judges]


def _mixed(canaries: Iterator[Task], others: Iterator[Task]) -> Iterator[Task]:
    """A canary, some others, and so on."""
    while some := [*itertools.islice(canaries, 1), *itertools.islice(others, APART)]:
        yield from some


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
    for exam, question, canary in with_questions(examination.folder.record.canaries, examination.exams):
        for judge in bench.judges:
            found = bench.requests(judge.model, exam, question, Response(text=canary.text), {})
            keys.update(key for key, _ in found)
    for sitting in examination.sittings:
        exam = sitting.exam
        for question, _, entry in sitting.answers(answers):
            if (question.kind not in ("choice", "truth") or exam.spec.rationale) and entry and not entry.error:
                response = entry.response()
                similarities = likenesses.of(exam, question, response) if likenesses else {}
                for judge in bench.judges:
                    found = bench.requests(judge.model, exam, question, response, similarities)
                    keys.update(key for key, _ in found)
    return len(keys)


class Stage(Struct, frozen=True):
    """What a stage is called, where it writes, what it may spend, how much there is to do, what is said at its end."""

    name: str
    journal: Journal
    budget: Budget
    total: int
    ending: Callable[[Run, Path, int], int] = ending_of_asking


def ending_of(post: Post | None, stage: str, resume: str = "") -> Callable[[Run, Path, int], int]:
    """What is said at the end of a stage that asks; `resume` is how to go on, if not by `viva resume`."""
    return post.ending(stage, resume) if post else functools.partial(ending_of_asking, resume=resume)


async def ask_all(run: Run, stage: str, queues: Sequence[Queue], limits: Limits, post: Post | None = None) -> None:
    """Ask all that is in the queues within the limits: through batches where there is a way, else lane by lane."""
    lanes: dict[str, list[Iterator[Task]]] = {}
    by_post = [queue for queue in queues if post and post.takes(queue.model)]
    if post and post.patience.leave:
        await post.leave(run, stage, by_post)
        by_post = []
    for queue in queues:
        if queue not in by_post:
            lanes.setdefault(queue.model.lane, []).append(queue.wanted(run.tally))
    plans = {lane: _plan(lane, found, limits) for lane, found in lanes.items()}
    asking = limited(run, run.journal.path.parent, limits, carry_out(run, plans))
    if post and by_post:
        await asyncio.gather(asking, post.carry_out(run, stage, by_post))
    else:
        await asking


def work_through(
    examination: Examination,
    stage: Stage,
    work: Callable[[Run], Coroutine[None, None, None]],
    used: Sequence[Closing],
) -> int:
    """Do the work of one stage, watched; `used` is closed at its end. Returns the exit code."""
    limits = examination.limits
    tally = Tally(total=stage.total)
    policy = Policy(
        attempt=limits.timeout,
        question=limits.question_timeout,
        attempts=limits.attempts,
        server=max(Policy().server, limits.wait_for_server),
    )
    run = Run(stage.journal, stage.budget, policy, tally)
    asyncio.run(watched(run, stage.name, limits.progress, work, used))
    code = stage.ending(run, examination.folder.path, stage.total)
    examination.resumable |= code != EXIT_OK and resumable(run)
    return code


def _plan(lane: str, tasks: list[Iterator[Task]], limits: Limits) -> LanePlan:
    provider = lane.split(maxsplit=1)[0]
    if provider in ("baseline", "replay"):
        return LanePlan(tasks, Fixed(1), Pace())  # they answer at once; more workers would only take turns
    if lane == "hf ray":
        from viva.distributed import replicas

        return LanePlan(
            tasks, replicas.Window(), Pace(), policy=PATIENT, in_turn=True, hurry=replicas.give_back_what_waits
        )
    if provider == "hf":
        from viva.models.local import desk

        return LanePlan(
            tasks, Fixed(desk.WINDOW), Pace(), policy=PATIENT, in_turn=True, hurry=desk.give_back_what_waits
        )
    most = ceilings(limits)
    wanted = most.get(provider, most.get("", 0))
    if lane.startswith("python one ") and not wanted:
        wanted = 1  # a function that blocks may not be made for threads
    ceiling: Ceiling = Fixed(wanted) if wanted else Adaptive(patience=limits.timeout)
    requests = paces(limits.requests_per_minute, "--requests-per-minute")
    tokens = paces(limits.tokens_per_minute, "--tokens-per-minute")
    return LanePlan(tasks, ceiling, Pace(*(pace.get(provider, pace.get("")) for pace in (requests, tokens))))
