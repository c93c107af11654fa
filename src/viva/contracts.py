"""The contracts between the packages: what an exam, a model, an encoder and a sandbox do for each other.

Benchmarks, engine, models and sandbox know these and the vocabulary (`types`), and never each other.
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
    """The part of `Model` that such a model cannot do."""

    name: str
    context_window = None

    def check_supported(self, request: Request) -> None:
        """Raise VivaError for a choice: nobody can read a probability out of a text."""
        if isinstance(request, Choose):
            raise VivaError(self._no_probabilities())

    async def choose(self, request: Choose) -> Response:
        """Refused, for good."""
        raise ModelError("unsupported", self._no_probabilities(), fatal=True)

    def _no_probabilities(self) -> str:
        return (
            f"{self.name} does not say how probable an option is: leave {option('answer_by')} out, and its reply "
            "is read instead"
        )


HEARD: ContextVar[Callable[[bool], None]] = ContextVar("HEARD", default=lambda _written: None)
"""What a model calls whenever something of a streamed reply arrives, and whether anything is written in it: time limits
are of silence, not of work."""
MORE: ContextVar[Callable[[int], Awaitable[bool]]] = ContextVar("MORE", default=lambda _tokens: _yes())
"""What a model awaits before it sends another request for the same answer, whose reply may have so many tokens: whether
the budget allows it. If not, the answer is what came before."""
P = TypeVar("P")
R = TypeVar("R")


async def _yes() -> bool:
    return True


class WorkerPool(Protocol):
    """A pool of workers: processes of this machine, or a cluster. A context: it ends them."""

    @property
    def jobs(self) -> int:
        """How many pieces are worked on at once."""
        ...

    def map(
        self, recipe: Callable[[], Callable[[P], R]], pieces: Iterable[P], *, name: Callable[[P], str] = ...
    ) -> Iterator[R]:
        """Return what becomes of the pieces, in their order, read no further ahead than a few for each hand.

        `recipe` is called once in every worker and returns what works on a piece there; it can be pickled (a function
        of a module, or a partial of one), as can pieces and results. A piece whose worker was lost is given to another;
        LostWorkerError for one that lost several (`name` says which, in words). What a piece's work raises is raised
        here, in its turn.
        """
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class ContextWindow(Protocol):
    """How much fits a model's context."""

    def fits(self, prompt: Prompt, reply: int, limit: int | None) -> bool:
        """Return whether a prompt and so many tokens of reply fit `limit` tokens; the model's own context for None."""
        ...


class Exam(Protocol):
    """A benchmark opened with its settings and its data: everything between a question and its score. Told from others
    by identity."""

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
        """What the loader found wrong."""
        ...

    @property
    def templates(self) -> Mapping[str, object]:
        """The prompt templates in use, as plain data (for run.json)."""
        ...

    @property
    def exemplar_golds(self) -> Mapping[str, Mapping[str, int]]:
        """Group of questions → gold → how many exemplars in its prompts have it; none where they are drawn by question.

        Only golds that are a label (a letter, a truth value), before any exemplar is left out for the context.
        """
        ...

    def __len__(self) -> int:
        """Return how many questions will be asked."""
        ...

    def questions(self) -> Iterator[Question]:
        """Return the questions, in a fixed order."""
        ...

    def request(
        self, question: Question, sample: int, sampling: Sampling, context_window: ContextWindow | None = None
    ) -> Request:
        """Return the exact prompt for one question. Exemplars that do not fit go; `room` is the model's, where it is
        known.
        """
        ...

    def constant(self) -> Constant | None:
        """Return the best constant answer, made of the golds; None where there is none."""
        ...

    def variant(self, question: Question, sample: int) -> Question:
        """Return the question as this sample asks it: its options may have another order. All that follows the request
        is about it. A variant's variant is the variant.
        """
        ...

    def executions(self, question: Question, response: Response) -> tuple[Execute, ...]:
        """Return what must be run in the sandbox before this answer can be scored; empty where nothing is."""
        ...

    def comparisons(self, question: Question, response: Response) -> tuple[Compare, ...]:
        """Return what an encoder must compare before this answer can be scored; empty where nothing is."""
        ...

    def judgements(
        self, question: Question, response: Response, samples: int, similarities: Mapping[str, float]
    ) -> tuple[Generate, ...]:
        """Return what a judge must be asked before this answer can be scored; empty where something else decides."""
        ...

    def readable(self, question: Question, opinion: Opinion) -> bool:
        """Return whether a judge's reply holds a verdict, or says that there is none; any other is asked for again."""
        ...

    def mark(self, question: Question, opinion: Opinion) -> float | None:
        """Return what a judge's reply gives its aspect, a share of the full mark; None for no decision."""
        ...

    def score(self, question: Question, response: Response, evidence: Evidence = NOTHING) -> Score:
        """Return the score of one answer, given all that was found out about it. Pure."""
        ...

    def drafts(self, question: Question, response: Response, evidence: Evidence) -> tuple[ReviewItem, ...]:
        """Return the aspects of one answer that an expert may mark; empty where there is nothing to review."""
        ...

    def layouts(self) -> tuple[TableSpec, ...]:
        """Return the tables of the paper."""
        ...

    def headline(self) -> Aggregate:
        """Return which average is the exam's one number, as its paper gives it."""
        ...


class Benchmark(Protocol):
    """A package of `viva.benchmarks`: opens an exam."""

    @property
    def about(self) -> BenchmarkInfo:
        """What it is."""
        ...

    def open(self, spec: ExamSpec, data: Path | None, templates: Mapping[str, object] | None) -> Exam:
        """Load the data (the bundled sample for None) and the templates (the bundled ones for None).

        Raises DataError for files that cannot be used and settings that the benchmark does not have.
        """
        ...


class Adaptation(Struct, kw_only=True, omit_defaults=True):
    """How requests were adapted to what the server takes, as a run found it out.

    `parameters`: name → what became of it ("left out", "cut here", "as max_completion_tokens", ...). `reasons`: whether
    the model was seen to reason; None: no reply told yet. `streams`: whether replies are asked for as streams.
    """

    parameters: dict[str, str] = {}
    reasons: bool | None = None
    streams: bool = False


class Model(Protocol):
    """Prompt in, Response out. `lane` names whose limits it shares (a provider's endpoint)."""

    @property
    def name(self) -> str:
        """As the user names it, provider included."""
        ...

    @property
    def rate_limit_group(self) -> str:
        """Models of one lane share concurrency and rate limits."""
        ...

    @property
    def identity(self) -> Mapping[str, str]:
        """What else a reply depends on (endpoint, API); part of the reuse key. Never a secret."""
        ...

    @property
    def context_window(self) -> ContextWindow | None:
        """Its context, measured with its own tokenizer; None where that is not at hand."""
        ...

    def check_supported(self, request: Request) -> None:
        """Raises VivaError where requests of this kind can never be answered. Asks nobody."""
        ...

    async def answer(self, request: Generate) -> Response:
        """Return one attempt. Raises ModelError; retrying is the engine's business."""
        ...

    async def choose(self, request: Choose) -> Response:
        """Return one attempt. Raises ModelError, a fatal one where the model does not say how probable a text is."""
        ...

    async def close(self) -> None:
        """Give connections back."""
        ...


class Adapts(Protocol):
    """How requests are adapted to what a server takes."""

    known: Adaptation
    changed: Callable[[str], None]
    """Told, in a sentence, of everything new."""

    @property
    def thinks(self) -> bool:
        """Whether the model is taken to reason."""
        ...

    def longest(self, most: int | None) -> int | None:
        """Return tokens that a reply may cost, thoughts included, which would be `most` without them; None: nobody
        knows.
        """
        ...

    def lost(self, seconds: float) -> None:
        """A request was lost after so many seconds without a reply."""
        ...


@runtime_checkable
class AdaptingModel(Protocol):
    """A model that leaves out what its server refuses, and gives room to think where it reasons."""

    adapting: Adapts


class BatchState(Struct, frozen=True, kw_only=True):
    """How far a provider is with a batch of requests.

    `failed`: refused as a whole, nothing of it was worked on; `problem` says why, and `lines` why which of its requests
    are to blame (number from 0 → words), where the provider says so.
    """

    status: Literal["working", "ended", "failed"]
    done: int = 0
    total: int = 0
    problem: ModelError | None = None
    lines: Mapping[int, str] = {}


Asked = Callable[[str], Generate | None]
"""What was asked by the name of a request; None for a name that is a stranger's."""
Result = tuple[str, Response | ModelError]
"""The name of a request of a batch, and what came of it."""


class Batches(Protocol):
    """A provider's batch API for one model: many requests handed in at once, for less money and hours of patience.

    Every method makes one attempt and raises ModelError; trying again, remembering and waiting are the engine's
    business. A label is letters and digits that the engine made up; each request of a batch has a name of its own.
    """

    @property
    def most(self) -> tuple[int, int]:
        """How many requests and bytes one batch may have."""
        ...

    @property
    def share(self) -> float:
        """What a token costs here, as a share of the list price."""
        ...

    @property
    def certain(self) -> bool:
        """Whether the provider stores our label, so a batch can be identified without reading its results."""
        ...

    def kind(self, request: Generate) -> str:
        """Only requests of one kind share a batch."""
        ...

    def line(self, name: str, request: Generate) -> bytes:
        """Return a request as it is handed in, under its name."""
        ...

    async def newest(self) -> str:
        """Return the batch that was made last with this key, by any client; "" if there is none. Later ones are
        newer.
        """
        ...

    async def hand_in(self, label: str, kind: str, lines: Sequence[bytes]) -> str:
        """Hand a batch in; the provider's name for it. An error that can be retried leaves open whether it arrived."""
        ...

    async def search(self, label: str, count: int, after: str, known: Collection[str]) -> list[str]:
        """Batches of `count` requests newer than `after` that are (or, if not `certain`, may be) the one with this
        label. `known` are batches that are others."""
        ...

    async def tidy(self, label: str) -> None:
        """Remove what a batch that was never made has left with the provider."""
        ...

    async def state(self, batch: str) -> BatchState:
        """Return how far it is."""
        ...

    def replies(self, batch: str, request: Asked) -> AsyncIterator[Result]:
        """Return the results of a batch that has ended, in any order: name of the request → reply, or why there is
        none. `request` is what was asked by a name, None for strangers': replies are read as those of requests alone.

        Names are as they came: unknown ones, and one twice, are possible. Raises ModelError of the kind "gone" where
        the provider keeps the results no longer.
        """
        ...

    async def cancel(self, batch: str) -> None:
        """Ask the provider to stop working on it; what is done is kept. Not an error where it has ended."""
        ...


@runtime_checkable
class BatchModel(Protocol):
    """A model whose provider has a batch API."""

    def batches(self) -> Batches:
        """Return the way to it."""
        ...


class Encoder(Protocol):
    """Two texts in, their similarity out."""

    @property
    def name(self) -> str:
        """As the user names it."""
        ...

    @property
    def identity(self) -> Mapping[str, str]:
        """What else a similarity depends on (weights, layer, normalisation); part of its key."""
        ...

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return the similarity of each text to its reference, in -1..1; blocking, and quickest in batches of
        `batch`.
        """
        ...

    @property
    def batch(self) -> int:
        """How many pairs to give it at once."""
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
