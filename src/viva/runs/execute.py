"""Carry a run through its stages: answers, executions, similarities, verdicts.

The stages work side by side: an answer goes on to sandbox, encoder and judges as soon as it is journaled. Batches, and
weights that open in turn, wait for the whole stage before.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack

import msgspec

from viva.analysis.uncertainty import wilson
from viva.contracts import AdaptingModel, BatchModel
from viva.engine.asking import Feed, Onward, Tally, Task, upcoming
from viva.engine.budget import Budget, Spent
from viva.engine.evidence import program_key, run_comparisons, run_programs
from viva.engine.folder import ModelRecord, RunFolder
from viva.engine.journal import Journal
from viva.engine.stages import (
    Answered,
    ComparisonQueue,
    Evaluation,
    Judge,
    JudgePanel,
    Ready,
    SimilarityStore,
    VerdictQueue,
    answers_wanted,
    journaled,
    programs_wanted,
    taken,
)
from viva.errors import VivaError, option
from viva.keytable import KeyTable
from viva.providers import traits_of
from viva.runs.ask import Queue, Queues, ask_all, ending_of, forget, is_local, new_run, open_batch_dispatcher
from viva.runs.open import OpenRun, open_sandbox
from viva.runs.progress import (
    Closing,
    Screen,
    Stage,
    complete,
    ending_of_comparing,
    ending_of_running,
    notify,
    say_endings,
    together,
    watched,
)
from viva.types import UNANSWERED, Execute, points_of

EVERY, SPENT = 0.5, 0.025
"""Seconds between two rounds, and seconds of work in each at most: a twentieth of one core."""


class RunningScore:
    """A grader of the answers of a feed during the run, as far as time allows; it writes the score so far into the
    tally.

    Answers that need a sandbox, an encoder or a judge are left out, so this is not the final score.
    """

    def __init__(self, feed: Feed[Ready], answers: Journal, tally: Tally, *, several: bool) -> None:
        self._waiting = iter(feed)
        self._answers = answers
        self._tally = tally
        self._several = several
        self._sums: dict[int, tuple[int, float]] = {}

    async def follow(self, ended: asyncio.Event) -> None:
        """Go on until the run has `ended`."""
        while not ended.is_set():
            self._round()
            try:
                await asyncio.wait_for(ended.wait(), EVERY)
            except TimeoutError:
                continue

    def _round(self) -> None:
        until = time.monotonic() + SPENT
        last = None
        while time.monotonic() < until and (ready := next(self._waiting, None)) is not None:
            last = ready.evaluation if self._count(ready) else last
        if last is not None:
            self._tally.score = self._said(last)

    def _count(self, ready: Ready) -> bool:
        entry = self._answers.read(ready.key)
        if entry is None or entry.error:
            return False
        score = ready.evaluation.exam.score(ready.question, entry.response())
        points = points_of(score.outcome, score.value)
        if score.outcome in UNANSWERED or points is None:
            return False
        number, total = self._sums.get(id(ready.evaluation), (0, 0.0))
        self._sums[id(ready.evaluation)] = number + 1, total + min(1.0, max(0.0, points))
        return True

    def _said(self, evaluation: Evaluation) -> str:
        number, total = self._sums[id(evaluation)]
        bounds = wilson(total, number)
        of = f" {evaluation.label} {evaluation.model.name}" if self._several else ""
        between = f" ({100 * bounds[0]:.0f}–{100 * bounds[1]:.0f})" if bounds else ""
        return f"score{of} {100 * total / number:.1f}{between} of {number:,}"


def spent(opened: OpenRun) -> Spent:
    """Return what the run has spent so far; under a budget, journals count, too: run.json lacks what a killed process
    spent.
    """
    known, limits = opened.folder.record.spent, opened.limits
    if limits.max_cost is None and limits.max_requests is None:
        return known
    prices = {evaluation.model.name: evaluation.price for evaluation in opened.evaluations}
    prices |= {judge.model.name: judge.price for judge in opened.judges}
    requests, cost = 0, 0.0
    for stage in ("responses", "annotations"):
        journal = opened.folder.journal(stage, write=False)
        for entry in journal.lines():
            price = prices.get(entry.model)
            requests += 0 if entry.reused else entry.attempts
            cost += price.cost(entry.usage) if price and entry.usage and not entry.reused else 0.0
        journal.close()
    return Spent(max(requests, known.requests), max(cost, known.cost))


APART = 4
"""Verdicts between two canaries, as long as there are both."""
End = Callable[[Stage], Awaitable[None]]


def execute_run(opened: OpenRun, earlier: list[RunFolder], more: Callable[[], bool] | None = None) -> int:
    """Ask what is missing, and grade what comes. Returns the exit code; the folder holds everything that came back.

    `more`: for a run in rounds. Called when all is answered and graded, it gives the exams the questions of the next
    round and returns whether there are any.
    """
    folder = opened.folder
    if opened.judge_panel and opened.judge_panel.verdicts != "line":
        opened.judge_panel.nonce(b"")  # fail without a secret before anything is paid for
    folder.keep(opened.kept)
    with ExitStack() as stack:
        stack.callback(forget, folder.path)
        keep_adaptations(opened)
        execution = _Execution(opened, earlier, stack, more)
        asyncio.run(watched(execution.stages, opened.limits.progress, execution.work))
        execution.count_the_rest()
        execution.remember()
        code, undone = say_endings(execution.stages, folder.path)
        opened.resumable |= undone
    return code


class _Execution:
    """The stages of a run at work, and the feeds between them."""

    def __init__(
        self, opened: OpenRun, earlier: list[RunFolder], stack: ExitStack, more: Callable[[], bool] | None
    ) -> None:
        self._opened = opened
        self._earlier = earlier
        self._stack = stack
        self._more = more
        self._journals: dict[str, Journal] = {}
        self._dispatcher = open_batch_dispatcher(opened, stack)
        limits = opened.limits
        self._budget = budget = Budget(limits.max_requests, limits.max_cost, spent(opened))
        self._answers = self._journal("responses")
        self._new = not self._answers.answered
        asking = new_run(limits, self._answers, budget)
        name = "reading" if all(model.identity.get("provider") == "replay" for model in opened.models) else "asking"
        self._asking = Stage(name, asking, ending_of(self._dispatcher, "responses"), opened.models)
        # Programs are found in answers: their journal is opened with the first one.
        running = new_run(limits, self._answers, Budget(), beside=asking)
        self._running = Stage("running", running, ending_of_running)
        self.stages = [self._asking, self._running]
        if opened.encoder:
            used = [opened.encoder] if isinstance(opened.encoder, Closing) else []
            similarities = new_run(limits, self._journal("similarities"), Budget(), beside=asking)
            self._comparing = Stage("comparing", similarities, ending_of_comparing, used)
            self.stages.append(self._comparing)
        if opened.judge_panel:
            annotations = new_run(limits, self._journal("annotations"), budget, beside=asking)
            judges = [judge.model for judge in opened.judge_panel.judges]
            self._judging = Stage("judging", annotations, ending_of(self._dispatcher, "annotations"), judges)
            self.stages.append(self._judging)
            self._every, self._verdicts_asked = KeyTable(), [KeyTable() for _ in judges]
        self._begin_round()

    def _begin_round(self) -> None:
        """Count the requests to ask, and create the feeds between stages."""
        opened, asking = self._opened, self._asking.run
        asking.tally.total += opened.answers_wanted
        self._programs: Feed[Ready] = Feed(
            self._running.run, bounded=self._bounded, wants=lambda answered: answered.question.kind == "free"
        )
        self._answered, self._released, self._compared, self._judged = (asyncio.Event() for _ in range(4))
        self._verdicts: list[Feed[Ready]] = []
        self._texts: list[Feed[Ready]] = []
        if opened.encoder and not self._share_memory:
            self._texts = [Feed(self._comparing.run, bounded=self._bounded)]
        if (panel := opened.judge_panel) and not self._judges_wait(panel):
            self._verdicts = [Feed(self._judging.run, bounded=self._bounded) for _ in panel.judges]
        following = self._texts if opened.encoder else self._verdicts
        # The mean over the drawn questions of an adaptive run is no score.
        watching = Screen(opened.limits.progress).live and self._more is None
        self._watched: list[Feed[Ready]] = [Feed(asking, bounded=False)] if watching else []
        feeds = [self._programs, *following, *self._watched]
        self._onward = Onward(feeds, self._verdicts, once=not self._bounded)

    @property
    def _bounded(self) -> bool:
        """Whether a slow stage may hold up the one before; not with batches, whose results come all at once."""
        return self._dispatcher is None

    @property
    def _share_memory(self) -> bool:
        """Whether models and encoder are computed here: the encoder waits until the models are released."""
        return self._opened.encoder is not None and any(map(is_local, self._opened.models))

    def _judges_wait(self, judge_panel: JudgePanel) -> bool:
        """Return whether judges wait for all answers."""
        models = [judge.model for judge in judge_panel.judges]
        local = sum(map(is_local, models))
        if local > 1 or (local and any(map(is_local, self._opened.models))):
            return True
        return bool(self._dispatcher) and any(isinstance(model, BatchModel) for model in models)

    async def work(self, end: End) -> None:
        """Run all stages and rounds; `end` is called for each finished stage. Resources stay open between rounds."""
        end = end if self._more is None else self._end_round
        await self._carry_out(end)
        while self._more and all(complete(stage.run) for stage in self.stages) and self._more():
            self._begin_round()
            await self._carry_out(end)

    async def _end_round(self, stage: Stage) -> None:
        if self._share_memory:
            for model in stage.used:
                await model.close()

    async def _carry_out(self, end: End) -> None:
        asked = [Queues("responses", self._asking.run, self._answer_queues(), self._answered)]
        works = [self._after_answers(end), self._run_programs(end)]
        if self._opened.encoder:
            works.append(self._compare(end))
        if panel := self._opened.judge_panel:
            after = None if self._verdicts else self._compared
            queues = self._verdict_queues(panel)
            asked.append(Queues("annotations", self._judging.run, queues, self._judged, after, vital=True))
            works.append(self._after_verdicts(end))
        for feed in self._watched:
            several = len(self._opened.evaluations) > 1
            works.append(
                RunningScore(feed, self._answers, self._asking.run.tally, several=several).follow(self._answered)
            )
        run = self._asking.run
        await together(run, ask_all(asked, self._opened, self._dispatcher, run), *works)

    def remember(self) -> None:
        """Write limits, prices and what was spent to run.json: at the end, since scores vouch for that file."""
        record = self._opened.folder.record
        before = msgspec.structs.replace(record)
        record.limits, record.spent = self._opened.limits.of_run(), self._budget.spent
        if record != before or self._opened.limits.price:
            self._opened.folder.remember(record)

    def count_the_rest(self) -> None:
        """Mark in the tallies where more work may follow."""
        self._asking.run.tally.more = self._more is not None and bool(self._asking.run.stop)
        stopped = self._asking.run.stop not in ("", "budget")
        for stage in self.stages[1:]:
            feeds = {"running": [self._programs], "comparing": self._texts, "judging": self._verdicts}[stage.name]
            stage.run.tally.more = stopped and not (feeds and all(feed.ended for feed in feeds))

    # Answers

    def _answer_queues(self) -> list[Queue]:
        by_model: dict[int, list[Evaluation]] = {}
        for evaluation in self._opened.evaluations:
            by_model.setdefault(id(evaluation.model), []).append(evaluation)
        earlier = self._reused("responses")

        def of(evaluations: list[Evaluation]) -> Callable[[Tally], Iterator[Task | None]]:
            return lambda tally: itertools.chain.from_iterable(
                answers_wanted(evaluation, self._answers, earlier, tally, self._onward) for evaluation in evaluations
            )

        return [Queue(model, of(by_model[id(model)])) for model in self._opened.models]

    async def _after_answers(self, end: End) -> None:
        await self._answered.wait()
        self._onward.close()
        await end(self._asking)
        self._released.set()
        if not self._opened.encoder:
            self._compared.set()
        self._asking.run.ring()

    # Programs

    async def _run_programs(self, end: End) -> None:
        """Run the programs that the answers hold, where an exam has any."""
        run, limits = self._running.run, self._opened.limits
        answered = taken(self._programs, self._answers)
        first = await upcoming(
            run, (answered_one for answered_one in answered if answered_one is None or _executions(answered_one))
        )
        if first is None:
            return
        answered = itertools.chain([first], answered)
        try:
            sandbox, jobs = open_sandbox(limits)
        except VivaError as problem:  # the answers are kept, to be graded where a sandbox works
            await self._run_none(answered, problem)
            return
        if limits.unsafe_host_execution:
            notify(f"{option('unsafe_host_execution')}: programs that a model wrote run WITHOUT a sandbox")
        run.journal = self._journal("executions")
        try:
            wanted = programs_wanted(answered, run.journal, self._reused("executions"), run.tally)
            await run_programs(run, sandbox, wanted, jobs)
        finally:
            await sandbox.close()
        await end(self._running)

    async def _run_none(self, answered: Iterator[Answered | None], problem: VivaError) -> None:
        """Count the programs that are not run. A new run stops if its answers cost money; a resumed one goes on."""
        run = self._running.run
        run.refused["sandbox"] = str(problem)
        if self._new and any(traits_of(model.identity.get("provider", "")).paid for model in self._opened.models):
            run.finish("refused")
        wanted = KeyTable()
        while answered_one := await upcoming(run, answered):
            for request in _executions(answered_one):
                wanted.add(program_key(request))
            run.tally.total = len(wanted)

    # Similarities

    async def _compare(self, end: End) -> None:
        """Compare texts with the gold."""
        encoder, run = self._opened.encoder, self._comparing.run
        assert encoder is not None
        if self._texts:
            answered = taken(self._texts[0], self._answers)
        else:
            await self._released.wait()
            answered = journaled(self._opened.evaluations, self._answers)
        queue = ComparisonQueue(encoder.identity, run.journal, self._reused("similarities"), run.tally, self._verdicts)
        await run_comparisons(run, encoder, queue.about(answered), getattr(encoder, "jobs", 1))
        for feed in self._verdicts:
            feed.close()
        await end(self._comparing)
        self._compared.set()
        run.ring()

    # Verdicts

    def _verdict_queues(self, judge_panel: JudgePanel) -> list[Queue]:
        verdicts, earlier, record = self._judging.run.journal, self._reused("annotations"), self._opened.folder.record
        encoder, exams = self._opened.encoder, self._opened.exams
        store = SimilarityStore(encoder.identity, self._comparing.run.journal) if encoder else None

        def of(number: int, judge: Judge) -> Callable[[Tally], Iterator[Task | None]]:
            def wanted(tally: Tally) -> Iterator[Task | None]:
                # Some requests get no verdict from a batch: the rest is computed again each time, until all have one.
                asked = KeyTable() if self._dispatcher else self._verdicts_asked[number]
                queue = VerdictQueue(judge_panel, judge, verdicts, earlier, tally, self._every, asked)
                answered = (
                    taken(self._verdicts[number], self._answers)
                    if self._verdicts
                    else journaled(self._opened.evaluations, self._answers)
                )
                return _mixed(queue.about_canaries(record.canaries, exams), queue.about(answered, store))

            return wanted

        return [Queue(judge.model, of(number, judge)) for number, judge in enumerate(judge_panel.judges)]

    async def _after_verdicts(self, end: End) -> None:
        await self._judged.wait()
        await end(self._judging)

    # Files

    def _journal(self, stage: str, folder: RunFolder | None = None) -> Journal:
        """Return a stage's journal of the run, or of an earlier one; opened once for all rounds."""
        folder = folder or self._opened.folder
        name = str(folder.path / stage)
        if name not in self._journals:
            self._journals[name] = folder.journal(stage)
            self._stack.callback(self._journals[name].close)
        return self._journals[name]

    def _reused(self, stage: str) -> list[tuple[str, Journal]]:
        return [(folder.path.name, self._journal(stage, folder)) for folder in self._earlier]


def _executions(answered: Answered) -> tuple[Execute, ...]:
    return answered.ready.evaluation.exam.executions(answered.ready.question, answered.response)


def _mixed(canaries: Iterator[Task], others: Iterator[Task | None]) -> Iterator[Task | None]:
    """Yield a canary, some others, and so on."""
    since = APART
    for task in others:
        if since == APART:
            yield from itertools.islice(canaries, 1)
            since = 0
        since += task is not None
        yield task
    yield from canaries


def keep_adaptations(opened: OpenRun) -> None:
    """Store the adaptations of every model and judge in run.json, as they are found."""
    record = opened.folder.record
    judges = (judge.model for judge in opened.judges)
    for model, known in zip((*opened.models, *judges), (*record.models, *record.judges), strict=False):
        if isinstance(model, AdaptingModel):
            model.adapting.changed = functools.partial(_adapted, opened.folder, model, known)


def _adapted(folder: RunFolder, model: AdaptingModel, known: ModelRecord, message: str) -> None:
    notify(f"{known.shown or known.name}: {message}")
    known.adapted = model.adapting.known
    if folder.writable:
        folder.remember(folder.record)
