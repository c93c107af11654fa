"""The contracts between packages: interfaces of exams, models, encoders, sandboxes and worker pools.

Benchmarks, engine, models and sandbox import these and the vocabulary (`types`), never each other.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from types import TracebackType
from typing import Literal, Protocol, Self, TypeVar, runtime_checkable

from msgspec import Struct

from viva.errors import ModelError, VivaError, option
from viva.types import (
    NOTHING,
    Aggregate,
    BenchmarkInfo,
    Choose,
    Compare,
    Constant,
    Defect,
    Evidence,
    ExamSpec,
    Execute,
    Execution,
    Generate,
    Opinion,
    Prompt,
    Question,
    Request,
    Response,
    ReviewItem,
    Sampling,
    Score,
    TableSpec,
)


class TextOnly:
    """Base of models that write text only: `choose` of `Model`, refused."""

    name: str
    context_window = None

    def check_supported(self, request: Request) -> None:
        """Raise VivaError for a `Choose`: text has no probabilities."""
        if isinstance(request, Choose):
            raise VivaError(self._no_probabilities())

    async def choose(self, request: Choose) -> Response:
        """Raise a fatal ModelError."""
        raise ModelError("unsupported", self._no_probabilities(), fatal=True)

    def _no_probabilities(self) -> str:
        return (
            f"{self.name} does not say how probable an option is: leave {option('answer_by')} out, and its reply "
            "is read instead"
        )


HEARD: ContextVar[Callable[[bool], None]] = ContextVar("HEARD", default=lambda _written: None)
"""Called by a model when a part of a streamed reply arrives, with whether it holds text: time limits apply to silence,
not to work."""
MORE: ContextVar[Callable[[int], Awaitable[bool]]] = ContextVar("MORE", default=lambda _tokens: _yes())
"""Awaited by a model before another request for the same answer, with the reply's most tokens: whether the budget
allows it. If not, the answer is what came before."""
P = TypeVar("P")
R = TypeVar("R")


async def _yes() -> bool:
    return True


class WorkerPool(Protocol):
    """A pool of workers: processes of this machine, or a cluster. A context manager that ends them."""

    @property
    def jobs(self) -> int:
        """Number of pieces worked on at once."""
        ...

    def map(
        self, recipe: Callable[[], Callable[[P], R]], pieces: Iterable[P], *, name: Callable[[P], str] = ...
    ) -> Iterator[R]:
        """Yield the results of pieces, in their order, reading only a few pieces ahead for each worker.

        `recipe` is called once in every worker and returns the function of a piece; it can be pickled (a function of a
        module, or a partial of one), as can pieces and results. A piece whose worker was lost goes to another. Raises
        LostWorkerError for a piece that lost several (`name` describes it), and what a piece's work raised, in its
        turn.
        """
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class ContextWindow(Protocol):
    """The measure of a model's context."""

    def fits(self, prompt: Prompt, reply: int, limit: int | None) -> bool:
        """Return whether a prompt and `reply` tokens fit `limit` tokens; the model's own context for None."""
        ...


class Exam(Protocol):
    """A benchmark opened with settings and data: everything between a question and its score. Compared by identity."""

    def __hash__(self) -> int: ...

    @property
    def spec(self) -> ExamSpec:
        """The settings it was opened with."""
        ...

    @property
    def fingerprint(self) -> str:
        """A hash of the data files."""
        ...

    @property
    def defects(self) -> Sequence[Defect]:
        """Defects of the data that the loader found."""
        ...

    @property
    def templates(self) -> Mapping[str, object]:
        """The prompt templates in use, as plain data (for run.json)."""
        ...

    @property
    def exemplar_golds(self) -> Mapping[str, Mapping[str, int]]:
        """Group of questions → gold → number of exemplars with it in each prompt; {} where exemplars are drawn by
        question.

        Only golds that are a label (a letter, a truth value), before any exemplar is left out for the context.
        """
        ...

    def __len__(self) -> int:
        """Return the number of questions to ask."""
        ...

    def questions(self) -> Iterator[Question]:
        """Return the questions, in a fixed order."""
        ...

    def request(
        self, question: Question, sample: int, sampling: Sampling, context_window: ContextWindow | None = None
    ) -> Request:
        """Return the request for one question. Exemplars that do not fit `context_window` are left out."""
        ...

    def constant(self) -> Constant | None:
        """Return the best constant answer, chosen by the golds; None where there is none."""
        ...

    def variant(self, question: Question, sample: int) -> Question:
        """Return the question as this sample asks it: its options may have another order. Use it for everything after
        the request. A variant's variant is itself.
        """
        ...

    def executions(self, question: Question, response: Response) -> tuple[Execute, ...]:
        """Return the programs to run in the sandbox before this answer can be scored, maybe none."""
        ...

    def comparisons(self, question: Question, response: Response) -> tuple[Compare, ...]:
        """Return the texts that an encoder must compare before this answer can be scored, maybe none."""
        ...

    def judgements(
        self, question: Question, response: Response, samples: int, similarities: Mapping[str, float]
    ) -> tuple[Generate, ...]:
        """Return the requests to a judge before this answer can be scored; () where something else decides."""
        ...

    def readable(self, question: Question, opinion: Opinion) -> bool:
        """Return whether a judge's reply holds a verdict, or states that there is none; others are asked for again."""
        ...

    def mark(self, question: Question, opinion: Opinion) -> float | None:
        """Return the mark in a judge's reply, a share of the full mark; None for no decision."""
        ...

    def score(self, question: Question, response: Response, evidence: Evidence = NOTHING) -> Score:
        """Return the score of one answer, given the evidence about it. Pure."""
        ...

    def drafts(self, question: Question, response: Response, evidence: Evidence) -> tuple[ReviewItem, ...]:
        """Return the aspects of one answer that an expert may mark; empty where there is nothing to review."""
        ...

    def layouts(self) -> tuple[TableSpec, ...]:
        """Return the tables of the paper."""
        ...

    def headline(self) -> Aggregate:
        """Return the average that is the exam's headline score, as its paper defines it."""
        ...


class Benchmark(Protocol):
    """A package of `viva.benchmarks`: opens an exam."""

    @property
    def about(self) -> BenchmarkInfo:
        """Its description: languages, sizes, settings supported."""
        ...

    def open(self, spec: ExamSpec, data: Path | None, templates: Mapping[str, object] | None) -> Exam:
        """Load the data (the bundled sample for None) and the templates (the bundled ones for None).

        Raises DataError for files that cannot be used and settings that the benchmark does not have.
        """
        ...


class Adaptation(Struct, kw_only=True, omit_defaults=True):
    """How a run has adapted requests to their server.

    `parameters`: name → what became of it ("left out", "cut here", "as max_completion_tokens", ...). `reasons`: whether
    the model was seen to reason; None: unknown yet. `streams`: whether replies are requested as streams.
    """

    parameters: dict[str, str] = {}
    reasons: bool | None = None
    streams: bool = False


class Model(Protocol):
    """Prompt in, Response out."""

    @property
    def name(self) -> str:
        """As the user names it, provider included."""
        ...

    @property
    def rate_limit_group(self) -> str:
        """Name of the group (a provider's endpoint) whose models share concurrency and rate limits."""
        ...

    @property
    def identity(self) -> Mapping[str, str]:
        """Other things that a reply depends on (endpoint, API); part of the reuse key. Never a secret."""
        ...

    @property
    def context_window(self) -> ContextWindow | None:
        """Its context, measured with its own tokenizer; None without one."""
        ...

    def check_supported(self, request: Request) -> None:
        """Raise VivaError where requests of this kind can never be answered. Sends nothing."""
        ...

    async def answer(self, request: Generate) -> Response:
        """Make one attempt. Raises ModelError; the engine retries."""
        ...

    async def choose(self, request: Choose) -> Response:
        """Make one attempt. Raises ModelError, a fatal one where the model gives no probabilities."""
        ...

    async def close(self) -> None:
        """Release connections or memory."""
        ...


class Adapts(Protocol):
    """The adapter of requests to their server."""

    known: Adaptation
    changed: Callable[[str], None]
    """Called with a sentence on every new adaptation."""

    @property
    def thinks(self) -> bool:
        """Whether the model is assumed to reason."""
        ...

    def longest(self, most: int | None) -> int | None:
        """Return the most tokens of a reply, thoughts included, given `most` without them; None: unknown."""
        ...

    def lost(self, seconds: float) -> None:
        """Record that a request was lost after `seconds` without a reply."""
        ...


@runtime_checkable
class AdaptingModel(Protocol):
    """A model that leaves out refused parameters, and adds room for thoughts if it reasons."""

    adapting: Adapts


class BatchState(Struct, frozen=True, kw_only=True):
    """The state of a batch at its provider.

    `failed`: refused as a whole, without work on any request; `problem` says why, and `lines` which requests are at
    fault (number from 0 → reason), where the provider says so.
    """

    status: Literal["working", "ended", "failed"]
    done: int = 0
    total: int = 0
    problem: ModelError | None = None
    lines: Mapping[int, str] = {}


Asked = Callable[[str], Generate | None]
"""A request's name → the request; None for an unknown name."""
Result = tuple[str, Response | ModelError]
"""(name of a request in a batch, its result)."""


class Batches(Protocol):
    """A provider's batch API for one model: many requests handed in at once, cheaper, answered within hours.

    Every method makes one attempt and raises ModelError; the engine retries, records and waits. A label is letters and
    digits made by the engine; request names are unique in a batch.
    """

    @property
    def most(self) -> tuple[int, int]:
        """Most requests and bytes of one batch."""
        ...

    @property
    def share(self) -> float:
        """The price of a token in batches, as a share of the list price."""
        ...

    @property
    def certain(self) -> bool:
        """Whether the provider stores our label, so a batch can be identified without reading its results."""
        ...

    def kind(self, request: Generate) -> str:
        """Return a request's kind; a batch holds requests of one kind."""
        ...

    def line(self, name: str, request: Generate) -> bytes:
        """Return a request as a line of a batch, under its name."""
        ...

    async def newest(self) -> str:
        """Return the newest batch of this key, by any client; "" without any. `search` looks for newer ones."""
        ...

    async def hand_in(self, label: str, kind: str, lines: Sequence[bytes]) -> str:
        """Hand a batch in; return the provider's name for it. After an error with `retry` it may have arrived."""
        ...

    async def search(self, label: str, count: int, after: str, known: Collection[str]) -> list[str]:
        """Return the batches of `count` requests newer than `after` that have (or, if not `certain`, may have) this
        label, but those `known` to be others."""
        ...

    async def tidy(self, label: str) -> None:
        """Remove files at the provider of a batch that was never made."""
        ...

    async def state(self, batch: str) -> BatchState:
        """Return the state of a batch."""
        ...

    def replies(self, batch: str, request: Asked) -> AsyncIterator[Result]:
        """Yield the results of an ended batch, in any order: (name of the request, reply or error). `request` returns
        the request of a name, None for an unknown one; replies are read as those of single requests.

        Names are the provider's: unknown and repeated ones are possible. Raises ModelError of the kind "gone" where the
        provider keeps the results no longer.
        """
        ...

    async def cancel(self, batch: str) -> None:
        """Ask the provider to stop work on a batch; finished results are kept. No error where it has ended."""
        ...


@runtime_checkable
class BatchModel(Protocol):
    """A model whose provider has a batch API."""

    def batches(self) -> Batches:
        """Return its batch API."""
        ...


class Encoder(Protocol):
    """Two texts in, their similarity out."""

    @property
    def name(self) -> str:
        """As the user names it."""
        ...

    @property
    def identity(self) -> Mapping[str, str]:
        """Other things that a similarity depends on (weights, layer, normalisation); part of its key."""
        ...

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return the similarity of each text to its reference, in -1..1. Blocking; quickest with `batch` pairs."""
        ...

    @property
    def batch(self) -> int:
        """Best number of pairs for one call."""
        ...


class Sandbox(Protocol):
    """Program in, Execution out; nothing that the program does reaches outside."""

    def unavailable(self, language: str) -> str:
        """Return why no program of this language can be run here; empty when it can."""
        ...

    async def run(self, request: Execute) -> Execution:
        """Run one program to its end or its limits."""
        ...

    async def close(self) -> None:
        """End everything that is still running."""
        ...


class Unmoved:
    """A bound on requests in flight that nothing moves, whatever becomes of them: part of the engine's `Ceiling`s."""

    rate = None

    def answered(self, now: float, seconds: float, busy: int) -> None:
        """Change nothing."""

    def refused(self, now: float, busy: int) -> None:
        """Change nothing."""

    def interrupted(self, now: float) -> None:
        """Change nothing."""
