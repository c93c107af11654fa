"""--batch: which models are asked through their provider's batch API, how long that is waited for, what is said."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct

from viva.contracts import BatchModel, Model
from viva.engine.asking import Run, Tally, Task
from viva.engine.batching import BatchJob, Patience, carry_out_batches
from viva.engine.batchlog import FILE, Batch, BatchLog, Left
from viva.errors import EXIT_INCOMPLETE, EXIT_INTERRUPTED, VivaError
from viva.runs.endings import ending_of_asking
from viva.runs.messages import notify
from viva.runs.open import UNPAID, OpenRun

NAMED = 3
"""So many batches are named where it is said that they stay; batches.jsonl has all."""


class Queue(Struct, frozen=True):
    """What one model is still to be asked: `wanted` renders it, and counts in the tally what is there already."""

    model: Model
    wanted: Callable[[Tally], Iterator[Task | None]]


class BatchDispatcher(Struct, frozen=True):
    """The way to the batch APIs: the log of the run's batches, and how long to wait."""

    log: BatchLog
    patience: Patience

    def takes(self, model: Model) -> bool:
        """Whether a model is asked through batches."""
        return isinstance(model, BatchModel)

    async def leave(self, run: Run, stage: str, queues: Sequence[Queue]) -> None:
        """Cancel the batches of these queues, and read what was done of them; the rest is asked the normal way."""
        await self.carry_out(run, stage, queues)
        run.tally.answered = run.tally.failed = 0  # the normal way counts what is there already

    def carry_out(self, run: Run, stage: str, queues: Sequence[Queue]) -> Coroutine[None, None, None]:
        """Ask what is in these queues, of models that are taken."""
        jobs = [
            BatchJob(queue.model, queue.model.batches(), functools.partial(_whole, queue))
            for queue in queues
            if isinstance(queue.model, BatchModel)
        ]
        return carry_out_batches(run, self.log, stage, jobs, self.patience)

    def ending(self, stage: str, resume: str = "") -> Callable[[Run, Path], int]:
        """What is said at the end of a stage that was asked through batches."""
        return functools.partial(_ending, self, stage, resume)


def _whole(queue: Queue, tally: Tally) -> Iterator[Task]:
    """All of a queue: what goes into batches waits for the whole of the stage before."""
    return (task for task in queue.wanted(tally) if task is not None)


def open_batch_dispatcher(opened: OpenRun, stack: ExitStack, file: str = FILE) -> BatchDispatcher | None:
    """The way to the batch APIs, if this run takes it. From now on it does: batches.jsonl (or `file`) is there.

    With --no-batch it is the way out of them, where there is still something to come.
    """
    limits, path = opened.limits, opened.folder.path
    leave = limits.batch is False and BatchLog.begun(path, file)
    if not limits.batch and not leave:
        return None
    log = BatchLog(path, file)
    stack.callback(log.close)
    if leave:
        stack.callback(_left, log)
    return BatchDispatcher(log, Patience(poll=limits.poll, wait=leave or not limits.no_wait, leave=leave))


def _left(log: BatchLog) -> None:
    """From now on the run asks the normal way, if there is nothing to come."""
    if not any(log.waiting()):
        log.note(Left(at=time.time()))


def refuse_unbatched(opened: OpenRun, asked: Sequence[Model] = ()) -> None:
    """Refuse --batch where nobody could be asked so, or only at a price that was not meant; say who is asked otherwise.

    `asked` are those who will be, if not all models and judges. Asks nobody.
    """
    limits = opened.limits
    if not limits.batch:
        if limits.no_wait:
            raise VivaError("--no-wait hands batches in and does not wait for them: it goes with --batch")
        return
    judges = [judge.model for judge in opened.judge_panel.judges] if opened.judge_panel else []
    models = asked or [*opened.models, *judges]
    others = [model for model in models if not isinstance(model, BatchModel)]
    for model in others:
        provider = model.identity.get("provider", "")
        if provider not in UNPAID:
            raise VivaError(
                f"{model.name}: Viva knows no batch API of {provider or 'this provider'} (it knows OpenAI's and "
                "Anthropic's); ask it in a run of its own, without --batch"
            )
    if len(others) == len(models):
        raise VivaError(f"--batch is for openai/ and anthropic/ models; {others[0].name} has no batch API")
    for evaluation in opened.evaluations:
        if evaluation.exam.spec.choose and isinstance(evaluation.model, BatchModel) and not asked:
            raise VivaError(
                f"--answer-by {evaluation.exam.spec.choose} asks {evaluation.model.name} how probable options are, "
                f"and batches "
                "carry texts only: leave --batch or --answer-by out"
            )
    if others and limits.progress != "quiet":
        names = ", ".join(dict.fromkeys(model.name for model in others))
        notify(f"--batch: {names} {'are' if others[1:] else 'is'} asked the normal way, having no batch API")


def _ending(dispatcher: BatchDispatcher, stage: str, resume: str, run: Run, path: Path) -> int:
    resume = resume or f"viva resume {path}{' --no-batch' if dispatcher.patience.leave else ''}"
    mine = [batch for batch in dispatcher.log.waiting() if batch.intent.stage == stage]
    handed_in = bool(mine) and not run.stop and not run.refused
    code = EXIT_INCOMPLETE if handed_in else ending_of_asking(run, path, resume, verdicts=stage == "annotations")
    if mine and code in (EXIT_INCOMPLETE, EXIT_INTERRUPTED):
        asked = sum(len(batch.intent.keys) for batch in mine)
        notify(
            f"{len(mine)} batch{'es' if mine[1:] else ''} of {asked:,} requests "
            f"{'stay' if mine[1:] else 'stays'} with the provider ({_names(mine)}), today or for weeks; read with: "
            f"{resume}"
        )
    return code


def _names(batches: Sequence[Batch]) -> str:
    names = [batch.name or "one that is not found yet" for batch in batches[:NAMED]]
    return ", ".join(names) + (f" and {len(batches) - NAMED} more" if batches[NAMED:] else "")
