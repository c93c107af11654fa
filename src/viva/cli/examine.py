"""Carry a run through its stages: answers, verdicts, scores, report. `run`, `resume`, `grade` and `score` meet here."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct

from viva.cli.exams import data_notes, label, reopen
from viva.cli.options import Limits, per_provider
from viva.cli.progress import Progress
from viva.engine.asking import LanePlan, Run, Tally, Task, carry_out, disk_full
from viva.engine.budget import Budget, Price, list_price
from viva.engine.folder import ModelRecord, RunFolder, find_run
from viva.engine.journal import Journal
from viva.engine.limits import Adaptive, Ceiling, Fixed, Pace, Policy
from viva.engine.stages import Bench, Sitting, answers_wanted, verdicts_wanted
from viva.errors import EXIT_INCOMPLETE, EXIT_INTERRUPTED, EXIT_OK, EXIT_REFUSED, VivaError
from viva.models import Endpoint, connect
from viva.reports.text import visible
from viva.types import Exam, Model


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
            record.sampling,
            record.samples,
            record.repeats,
            _price(model, prices),
        )
        for model in models
        for exam in opened
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
            "asking",
            answers,
            budget,
            lambda tally: _answer_tasks(examination, answers, _earlier(earlier, "responses", stack), tally),
            sum(len(sitting.exam) * sitting.samples for sitting in examination.sittings),
            examination.examinees,
        )
        bench = examination.bench
        if bench and code in (EXIT_OK, EXIT_INCOMPLETE):
            verdicts = folder.journal("annotations")
            stack.callback(verdicts.close)
            judged = _stage(
                examination,
                "judging",
                verdicts,
                budget,
                lambda tally: _verdict_tasks(
                    examination, bench, answers, verdicts, _earlier(earlier, "annotations", stack), tally
                ),
                _judgements_wanted(examination, bench, answers),
                [bench.model],
            )
            code = judged or code
    return code


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
            if question.kind in ("blank", "open") and entry and not entry.error:
                keys.update(key for key, _ in bench.requests(sitting, question, entry.response()))
    return len(keys)


def _stage(
    examination: Examination,
    name: str,
    journal: Journal,
    budget: Budget,
    tasks: Callable[[Tally], Tasks],
    total: int,
    models: list[Model],
) -> int:
    limits = examination.limits
    tally = Tally(total=total)
    policy = Policy(attempt=limits.timeout, question=limits.question_timeout, attempts=limits.attempts)

    async def work() -> Run:
        run = Run(journal, budget, policy, tally)
        progress = Progress(limits.progress, name, tally)
        lanes = {lane: _plan(lane, found, limits) for lane, found in tasks(tally).items()}
        shown = asyncio.create_task(progress.show())
        asking = asyncio.create_task(carry_out(run, lanes))
        _listen(run, asking)
        try:
            await asking
        except asyncio.CancelledError:
            run.finish("interrupted")
        finally:
            shown.cancel()
            for model in models:
                await model.close()
            progress.close()
        return run

    run = asyncio.run(work())
    return _verdict_on(run, examination.folder.path, tally)


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


def _verdict_on(run: Run, path: Path, tally: Tally) -> int:
    resume = f"viva resume {path}"
    for model, why in run.refused.items():
        print(visible(f"viva: {model} was given up: {why}"), file=sys.stderr)
    if run.stop == "disk":
        raise disk_full(run)
    missing = tally.total - tally.answered - tally.kept
    if run.stop == "interrupted":
        print(f"viva: interrupted, {missing:,} not answered yet; go on with: {resume}", file=sys.stderr)
        return EXIT_INTERRUPTED
    if run.stop == "budget":
        print(
            f"viva: the limit of this run is reached, {missing:,} not answered yet; go on with: {resume}",
            file=sys.stderr,
        )
        return EXIT_INCOMPLETE
    if run.refused:
        print(f"viva: {missing:,} not answered; mend that, then: {resume}", file=sys.stderr)
        return EXIT_INCOMPLETE if run.unreached == run.refused.keys() else EXIT_REFUSED
    if missing > 0 and all(name == "missing" for name in tally.failures):
        print(visible(f"viva: {missing:,} questions have no answer in the file ({tally.last_error})"), file=sys.stderr)
        return EXIT_INCOMPLETE
    if missing > 0:
        last = f" (last error: {tally.last_error})" if tally.last_error else ""
        print(visible(f"viva: {missing:,} not answered{last}; try those again with: {resume}"), file=sys.stderr)
        return EXIT_INCOMPLETE
    return EXIT_OK
