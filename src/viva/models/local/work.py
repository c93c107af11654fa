"""One opened model's work on a pool of requests: tokens, batches (halved on lack of memory), replies.

Requests of a pool are of one sort. Those to choose go in their order, since questions that share exemplars follow each
other; those to write go by length, and samples of one prompt together, so that it is read once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec
from msgspec import Struct

from viva.distributed.pool import settle
from viva.errors import ModelError, VivaError, option
from viva.models.reasoning import separate_thoughts
from viva.providers import RequestOptions, Weights
from viva.types import Choose, Generate, Likelihood, Request, Response, Usage

if TYPE_CHECKING:
    from viva.models.local.generating import Asked, Written

Sort = Literal["next", "whole", "write", "text"]
ROWS: dict[str, dict[Sort, int]] = {
    "cpu": {"next": 64, "whole": 16, "write": 16, "text": 16},
    "cuda": {"next": 512, "whole": 128, "write": 128, "text": 64},
}
"""Requests in a batch by device, unless the user sets it; halved on lack of memory."""


FLOOR = -1e4
"""Log-probability of an impossible token, since JSON has no minus infinity."""


class Openable(Protocol):
    """A model whose weights can be opened: its name, its folder or Hub name, and request options."""

    name: str
    place: str
    weights: Weights
    said: RequestOptions


class Job(Struct, frozen=True, eq=False):
    """A queued request; a `str` is a text to score."""

    model: Openable
    request: Request | str
    future: Future[Any]

    @property
    def sort(self) -> Sort:
        """The kind of work."""
        if isinstance(self.request, str):
            return "text"
        if isinstance(self.request, Generate):
            return "write"
        return "next" if self.request.by == "next-token" else "whole"


def give_back(job: Job) -> None:
    """Fail a job that was still queued when the run ended."""
    settle(job.future, ModelError("interrupted", "the run ended before its turn came"))


class _Row(Struct):
    """A job with its prompt and continuations as tokens."""

    job: Job
    ids: list[int]
    wanted: list[int] = []
    continuations: list[list[int]] = []
    first: int = 0


class Worker:
    """An opened model. Blocking; for one thread.

    Raises VivaError where the weights cannot be opened, or are not those that the run began with, and OutOfMemory.
    """

    def __init__(self, model: Openable, notify: Callable[[str], None]) -> None:
        from viva.models.local.forward import Forward
        from viva.models.local.opening import open_model, release
        from viva.models.local.tokens import Tokens

        self.model = model
        self._tell = notify
        self._opened = open_model(model.place, model.weights)
        try:
            self._tokens = Tokens(self._opened.tokenizer, model.weights.template, self._opened.ends, model.said)
            self._forward = Forward(self._opened, notify)
        except BaseException:
            release(self._opened)
            raise
        device = str(self._opened.device).partition(":")[0]
        self._rows = dict(ROWS.get(device, ROWS["cuda"]))
        if model.weights.batch:
            self._rows = dict.fromkeys(self._rows, model.weights.batch)

    def release(self) -> None:
        """Release the memory."""
        from viva.models.local.opening import release

        self._forward.release()
        release(self._opened)

    def work(self, jobs: Sequence[Job], draining: Callable[[], bool]) -> None:
        """Do all jobs, which are of one sort; every one gets its reply or its error.

        When `draining`, the batch at work is the last, and the other jobs are cancelled.
        """
        sort = jobs[0].sort
        rows = [row for job in jobs if (row := self._read(job)) is not None]
        if sort == "write":
            rows.sort(key=lambda row: (len(row.ids), row.ids))
        while rows := [row for row in rows if not row.job.future.done()]:  # cancelled jobs are left out
            if draining():
                for row in rows:
                    give_back(row.job)
                return
            self._do(sort, _whole_prompts(rows[: self._rows[sort]], rows[self._rows[sort] :]))

    def _do(self, sort: Sort, batch: Sequence[_Row]) -> None:
        """Do a batch. On lack of memory it stays undone, and batches are smaller from then on."""
        from viva.models.local.memory import OutOfMemory

        ways: dict[Sort, Callable[[Sequence[_Row]], Sequence[object]]] = {
            "next": self._next,
            "whole": self._whole,
            "text": self._texts,
            "write": self._write,
        }
        try:
            for row, reply in zip(batch, ways[sort](batch), strict=True):
                settle(row.job.future, reply)
        except OutOfMemory:
            # What is kept of prompts goes as well. Fewer tokens at once, down to one row's, may do for a single prompt.
            self._forward.release()
            tokens = max(len(row.ids) + max(map(len, row.continuations), default=0) for row in batch)
            lessened = sort != "write" and self._forward.lessen(tokens)
            if len(batch) == 1 and not lessened:
                problem = (
                    f"no memory for one prompt of {tokens:,} tokens; a smaller model, {option('bits')} or "
                    f"{option('dtype')} may fit"
                )
                settle(batch[0].job.future, ModelError("memory", problem))
                return
            self._rows[sort] = max(1, len(batch) // 2)
            now = self._rows[sort]
            self._tell(f"{self.model.name}: out of memory with {len(batch)} rows; going on with {now} and less at once")
        except VivaError as problem:  # one that is about a row would be about this one alone: find out which
            if len(batch) == 1:
                settle(batch[0].job.future, ModelError("prompt", str(problem)))
                return
            for row in batch:
                self._do(sort, [row])

    def _read(self, job: Job) -> _Row | None:
        """Return a job's prompt as tokens; None where it cannot be asked, and then it has its error."""
        request = job.request
        try:
            if isinstance(request, str):
                ids, first = self._tokens.text(request)
                return _Row(job, ids, first=first)
            if isinstance(request, Choose) and request.by == "next-token":
                row = _Row(job, self._tokens.ids(request.prompt, answer_next=True))
                row.wanted = self._tokens.next_tokens(request.prompt, request.continuations)
                needed = len(row.ids)
            elif isinstance(request, Choose):
                pairs = [self._tokens.continued(request.prompt, text) for text in request.continuations]
                row = _Row(job, list(pairs[0][0]), continuations=[list(after) for _, after in pairs])
                needed = max(len(before) + len(after) for before, after in pairs)
                if any(before != pairs[0][0] for before, _ in pairs):
                    raise VivaError("the options' texts change how the prompt is cut into tokens")
            else:
                row = _Row(job, self._tokens.ids(request.prompt))
                needed = len(row.ids) + 1
        except VivaError as problem:
            settle(job.future, ModelError("tokens", str(problem)))  # other kinds of question may work
            return None
        context = self._opened.context
        if context and needed > context:
            message = f"a prompt of {needed:,} tokens, and {self.model.name} reads {context:,}"
            settle(job.future, ModelError("context", message))
            return None
        return row

    def _next(self, rows: Sequence[_Row]) -> list[Response | ModelError]:
        computed = self._forward.next([row.ids for row in rows], [row.wanted for row in rows])
        return [
            Response(likelihoods=tuple(map(Likelihood, finite(logprobs))), usage=Usage(len(row.ids), 1))
            if sound(logprobs)
            else self._no_numbers()
            for row, logprobs in zip(rows, computed, strict=True)
        ]

    def _whole(self, rows: Sequence[_Row]) -> list[Response | ModelError]:
        logprobs = self._forward.continuations([row.ids for row in rows], [row.continuations for row in rows])
        return [
            Response(
                likelihoods=tuple(Likelihood(math.fsum(finite(tokens)), len(tokens)) for tokens in options),
                usage=Usage(len(row.ids) + sum(map(len, row.continuations)), 0),
            )
            if all(map(sound, options))
            else self._no_numbers()
            for row, options in zip(rows, logprobs, strict=True)
        ]

    def _texts(self, rows: Sequence[_Row]) -> list[list[float] | ModelError]:
        rows_of_logprobs = self._forward.texts([row.ids for row in rows], [row.first for row in rows])
        return [finite(logprobs) if sound(logprobs) else self._no_numbers() for logprobs in rows_of_logprobs]

    def _no_numbers(self) -> ModelError:
        wider = {"float16": "bfloat16 or float32", "bfloat16": "float32"}.get(self._opened.dtype, "")
        advice = f"{option('dtype')} {wider} may do" if wider else "are its weights damaged?"
        message = f"{self.model.name} computes probabilities that are no numbers in {self._opened.dtype} here; {advice}"
        return ModelError("numbers", message)

    def _write(self, rows: Sequence[_Row]) -> list[Response]:
        from viva.models.local.generating import Asked, Cancelled, generate

        asked: list[Asked] = []
        for row in rows:
            request = row.job.request
            assert isinstance(request, Generate)
            seed = f"{request.sampling.seed or 0}/{request.question}/{request.sample}"
            sampling = msgspec.structs.replace(request.sampling, seed=None)
            last = asked[-1] if asked else None
            if last is not None and last.ids == row.ids and last.sampling == sampling:
                asked[-1] = Asked(ids=row.ids, sampling=sampling, seeds=(*last.seeds, seed))
            else:
                asked.append(
                    Asked(
                        ids=row.ids,
                        sampling=sampling,
                        seeds=(seed,),
                        marks=None if isinstance(request.prompt, str) else self._tokens.marks,
                        opened=self._tokens.thought_opened(request.prompt),
                        budget=self.model.said.budget,
                    )
                )
        try:
            written = generate(
                self._opened, self._tokens, asked, lambda: all(row.job.future.cancelled() for row in rows)
            )
        except Cancelled:
            return [Response() for _ in rows]  # cancelled: no caller waits for these
        return list(_replies(asked, written))


def sound(logprobs: Sequence[float]) -> bool:
    """Tell whether all log-probabilities are numbers or minus infinity."""
    return not any(math.isnan(logprob) or logprob == math.inf for logprob in logprobs)


def finite(logprobs: Sequence[float]) -> list[float]:
    """Replace values below FLOOR, and minus infinity, by FLOOR."""
    return [max(logprob, FLOOR) for logprob in logprobs]


def _whole_prompts(batch: Sequence[_Row], then: Sequence[_Row]) -> Sequence[_Row]:
    """Return a batch without the samples of a prompt that goes on in the next one: there, it is read once for all of
    them.
    """
    if not then or then[0].ids != batch[-1].ids or batch[0].ids == batch[-1].ids:
        return batch
    return [row for row in batch if row.ids != batch[-1].ids]


def _replies(asked: Sequence[Asked], written: Sequence[Sequence[Written]]) -> Iterator[Response]:
    for prompt, samples in zip(asked, written, strict=True):
        for sample in samples:
            usage = Usage(len(prompt.ids), sample.tokens, sample.thought_tokens)
            text, thought, stop = sample.text, sample.thought, sample.stop
            if prompt.marks is not None:
                text, thought, stop = separate_thoughts(text, thought, stop, thought=bool(thought), quoting=True)
            yield Response(text=text, reasoning=thought, stop_reason=stop, usage=usage)
