"""Carry a run through its stages: answers, executions, verdicts. `run`, `resume`, `grade` and `score` meet here."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct

from viva.cli.endings import ending_of_asking, ending_of_running
from viva.cli.exams import data_notes, label, reopen
from viva.cli.options import Limits, per_provider
from viva.cli.progress import Progress
from viva.engine.asking import LanePlan, Run, Tally, Task, carry_out
from viva.engine.budget import Budget, Price, list_price
from viva.engine.folder import ModelRecord, RunFolder, find_run
from viva.engine.journal import Journal
from viva.engine.limits import Adaptive, Ceiling, Fixed, Pace, Policy
from viva.engine.programs import program_key, run_programs
from viva.engine.stages import Bench, Sitting, answers_wanted, programs_wanted, verdicts_wanted
from viva.errors import EXIT_INCOMPLETE, EXIT_OK, VivaError
from viva.models import Endpoint, connect
from viva.types import Exam, Model, Sandbox


class Examination(Struct, kw_only=True):
    """A run opened for work: its folder, exams, models and judge."""

    folder: RunFolder
    exams: list[Exam]
    sittings: list[Sitting]
    bench: Bench | None
    limits: Limits

    @property
    def examinees(self) -> list[Model]:
        """Every examined model once."""
        return list({id(sitting.model): sitting.model for sitting in self.sittings}.values())

    @property
    def answers_wanted(self) -> int:
        """How many answers there are to get in all."""
        return sum(len(sitting.exam) * sitting.samples for sitting in self.sittings)

    def notes(self) -> list[str]:
        """What belongs beside the numbers."""
        records = self.folder.record.exams
        return [
            note
            for exam, record in zip(self.exams, records, strict=True)
            for note in data_notes(exam, Path(record.data) if record.data else None)
        ]


def prepare(folder: RunFolder, limits: Limits, exams: list[Exam] | None = None) -> Examination:
    """Open what run.json describes: exams (unless given), models, judge, prices."""
    record = folder.record
    opened = exams or [reopen(exam) for exam in record.exams]
    prices = _prices(limits.price)
    models = [reach(model, record.seed) for model in record.models]
    twice = [name for name, times in Counter(model.name for model in models).items() if times > 1]
    if twice:
        raise VivaError(f"two models are both called {twice[0]}: nobody could tell their results apart")
    sittings = [
        Sitting.of(
            exam,
            label(exam),
            model,
            remembered.sampling or record.sampling,
            remembered.samples or record.samples,
            record.repeats,
            _price(model, prices),
        )
        for model in models
        for exam, remembered in zip(opened, record.exams, strict=True)
    ]
    bench: Bench | None = None
    if record.judge:
        judge = reach(record.judge, record.seed)
        bench = Bench(judge, record.judge_samples, _price(judge, prices))
    _ceilings(limits)
    _paces(limits)
    if limits.max_cost is not None:
        for model in (*models, *([bench.model] if bench else [])):
            if _price(model, prices) is None:
                raise VivaError(f"--max-cost needs the price of {model.name}: give --price {model.name}=IN/OUT")
    return Examination(folder=folder, exams=opened, sittings=sittings, bench=bench, limits=limits)


def reach(record: ModelRecord, seed: int) -> Model:
    """Connect to a model that run.json names."""
    return connect(record.name, Endpoint(base_url=record.base_url, key_variable=record.key_variable, seed=seed))


def _prices(values: tuple[str, ...]) -> dict[str, Price]:
    prices: dict[str, Price] = {}
    for value in values:
        name, _, amounts = value.rpartition("=")
        try:
            paid, earned = (float(part) for part in amounts.split("/"))
        except ValueError:
            raise VivaError(
                f"--price {value!r}: write IN/OUT or MODEL=IN/OUT, in US dollars per million tokens"
            ) from None
        prices[name] = Price(paid, earned)
    return prices


def _price(model: Model, given: Mapping[str, Price]) -> Price | None:
    price = given.get(model.name) or given.get("")
    if price:
        return price
    provider = model.identity.get("provider", "")
    if provider in ("baseline", "replay"):
        return Price(0.0, 0.0)
    if provider == "openai" and "api.openai.com" not in model.identity.get("endpoint", ""):
        return None  # a server of one's own: its list price would be somebody else's
    return list_price(provider, model.identity.get("model", ""))


def earlier_runs(reuse: tuple[Path, ...]) -> list[RunFolder]:
    """The runs whose answers may be taken over. Raises VivaError for one that is none."""
    return [RunFolder.open(find_run(path)) for path in reuse]


def examine(examination: Examination, earlier: list[RunFolder]) -> int:
    """Ask what is missing, then the judge. Returns the exit code; the folder holds everything that came back."""
    folder = examination.folder
    limits = examination.limits
    budget = Budget(limits.max_requests, limits.max_cost)
    with ExitStack() as stack:
        answers = folder.journal("responses")
        stack.callback(answers.close)
        code = _stage(
            examination,
            Stage("asking", answers, budget, examination.answers_wanted),
            lambda run: _carry_out(
                run, _answer_tasks(examination, answers, _earlier(earlier, "responses", stack), run.tally), limits
            ),
            examination.examinees,
        )
        if code in (EXIT_OK, EXIT_INCOMPLETE):
            code = _programs(examination, answers, earlier, stack) or code
        bench = examination.bench
        if bench and code in (EXIT_OK, EXIT_INCOMPLETE):
            verdicts = folder.journal("annotations")
            stack.callback(verdicts.close)
            judged = _stage(
                examination,
                Stage("judging", verdicts, budget, _judgements_wanted(examination, bench, answers)),
                lambda run: _carry_out(
                    run,
                    _verdict_tasks(
                        examination, bench, answers, verdicts, _earlier(earlier, "annotations", stack), run.tally
                    ),
                    limits,
                ),
                [bench.model],
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

    return _stage(examination, Stage("running", journal, Budget(), wanted, ending_of_running), work, [sandbox])


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
) -> Tasks:
    asked: set[bytes] = set()
    wanted = [
        verdicts_wanted(sitting, bench, answers, verdicts, earlier, tally, asked) for sitting in examination.sittings
    ]
    return {bench.model.lane: [_chain(wanted)]}


def _judgements_wanted(examination: Examination, bench: Bench, answers: Journal) -> int:
    """How many verdicts there are to get, for the progress line: one pass over the answers."""
    keys: set[bytes] = set()
    for sitting in examination.sittings:
        for question, _, entry in sitting.answers(answers):
            if question.kind not in ("choice", "truth") and entry and not entry.error:
                keys.update(key for key, _ in bench.requests(sitting, question, entry.response()))
    return len(keys)


class Stage(Struct, frozen=True):
    """What a stage is called, where it writes, what it may spend, how much there is to do, what is said at its end."""

    name: str
    journal: Journal
    budget: Budget
    total: int
    ending: Callable[[Run, Path, int], int] = ending_of_asking


async def _carry_out(run: Run, tasks: Tasks, limits: Limits) -> None:
    await carry_out(run, {lane: _plan(lane, found, limits) for lane, found in tasks.items()})


def _stage(
    examination: Examination,
    stage: Stage,
    work: Callable[[Run], Coroutine[None, None, None]],
    used: Sequence[Model | Sandbox],
) -> int:
    limits = examination.limits
    tally = Tally(total=stage.total)
    policy = Policy(attempt=limits.timeout, question=limits.question_timeout, attempts=limits.attempts)

    async def watched() -> Run:
        run = Run(stage.journal, stage.budget, policy, tally)
        progress = Progress(limits.progress, stage.name, tally)
        shown = asyncio.create_task(progress.show())
        working = asyncio.create_task(work(run))
        _listen(run, working)
        try:
            await working
        except asyncio.CancelledError:
            run.finish("interrupted")
        finally:
            shown.cancel()
            for one in used:
                await one.close()
            progress.close()
        return run

    run = asyncio.run(watched())
    return stage.ending(run, examination.folder.path, stage.total)


def _plan(lane: str, tasks: list[Iterator[Task]], limits: Limits) -> LanePlan:
    provider = lane.split(maxsplit=1)[0]
    if provider in ("baseline", "replay"):
        return LanePlan(tasks, Fixed(1), Pace(None))  # they answer at once; more workers would only take turns
    ceilings, paces = _ceilings(limits), _paces(limits)
    wanted = ceilings.get(provider, ceilings.get("", 0))
    ceiling: Ceiling = Fixed(wanted) if wanted else Adaptive()
    return LanePlan(tasks, ceiling, Pace(paces.get(provider, paces.get(""))))


def _ceilings(limits: Limits) -> dict[str, int]:
    """Requests in flight by provider; 0 is `auto`. Raises VivaError for what is no number."""
    found: dict[str, int] = {}
    for provider, amount in per_provider(limits.concurrency, "--concurrency").items():
        if amount != "auto" and not (amount.isdecimal() and int(amount) > 0):
            raise VivaError(f"--concurrency {amount!r} is neither a number from 1 on nor `auto`")
        found[provider] = 0 if amount == "auto" else int(amount)
    return found


def _paces(limits: Limits) -> dict[str, float]:
    """Requests a minute by provider. Raises VivaError for what is no positive number."""
    found: dict[str, float] = {}
    for provider, amount in per_provider(limits.requests_per_minute, "--requests-per-minute").items():
        try:
            pace = float(amount)
        except ValueError:
            pace = 0.0
        if not 0 < pace < float("inf"):
            raise VivaError(f"--requests-per-minute {amount!r} is no number above 0")
        found[provider] = pace
    return found


def _listen(run: Run, asking: asyncio.Task[None]) -> None:
    """Ctrl-C once: finish what is in flight. Twice: stop at once."""
    loop = asyncio.get_running_loop()

    def interrupt() -> None:
        if run.stop == "interrupted":
            asking.cancel()
            return
        run.finish("interrupted")
        waiting = f"{run.tally.in_flight} in flight" if run.tally.in_flight else "nothing in flight"
        print(f"\nviva: finishing ({waiting}); Ctrl-C again stops at once", file=sys.stderr, flush=True)

    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, interrupt)
