"""The contracts between the rooms: what an exam, a model, an encoder and a sandbox do for each other.

Benchmarks, engine, models and sandbox know these and the vocabulary (`types`), and never each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from viva.types import (
    NOTHING,
    About,
    Choose,
    Compare,
    Defect,
    Draft,
    Evidence,
    ExamSpec,
    Execute,
    Execution,
    Generate,
    Layout,
    Line,
    Prompt,
    Question,
    Request,
    Response,
    Sampling,
    Score,
)


class Room(Protocol):
    """How much fits a model's context."""

    def fits(self, prompt: Prompt, reply: int, limit: int | None) -> bool:
        """Whether a prompt and so many tokens of reply fit `limit` tokens; the model's own context for None."""
        ...


class Exam(Protocol):
    """A benchmark opened with its settings and its data: everything between a question and its score."""

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

    def __len__(self) -> int:
        """How many questions will be asked."""
        ...

    def questions(self) -> Iterator[Question]:
        """The questions, in a fixed order."""
        ...

    def request(self, question: Question, sample: int, sampling: Sampling, room: Room | None = None) -> Request:
        """The exact prompt for one question. Exemplars that do not fit go; `room` is the model's, where it is known."""
        ...

    def executions(self, question: Question, response: Response) -> tuple[Execute, ...]:
        """What must be run in the sandbox before this answer can be scored; empty where nothing is."""
        ...

    def comparisons(self, question: Question, response: Response) -> tuple[Compare, ...]:
        """What an encoder must compare before this answer can be scored; empty where nothing is."""
        ...

    def judgements(
        self, question: Question, response: Response, samples: int, similarities: Mapping[str, float]
    ) -> tuple[Generate, ...]:
        """What a judge must be asked before this answer can be scored; empty where something else decides."""
        ...

    def readable(self, question: Question, aspect: str, verdict: str) -> bool:
        """Whether a judge's reply holds a verdict, or says that there is none; any other is asked for again."""
        ...

    def mark(self, question: Question, aspect: str, verdict: str) -> float | None:
        """What a judge's reply gives this aspect, a share of the full mark; None for no decision."""
        ...

    def score(self, question: Question, response: Response, evidence: Evidence = NOTHING) -> Score:
        """The score of one answer, given all that was found out about it. Pure."""
        ...

    def drafts(self, question: Question, response: Response, evidence: Evidence) -> tuple[Draft, ...]:
        """The aspects of one answer that an expert may mark; empty where there is nothing to review."""
        ...

    def layouts(self) -> tuple[Layout, ...]:
        """The tables of the paper."""
        ...

    def headline(self) -> Line:
        """Which average is the exam's one number, as its paper gives it."""
        ...


class Benchmark(Protocol):
    """A room of `viva.benchmarks`."""

    @property
    def about(self) -> About:
        """What it is."""
        ...

    def open(self, spec: ExamSpec, data: Path | None, templates: Mapping[str, object] | None) -> Exam:
        """Load the data (the bundled sample for None) and the templates (the bundled ones for None).

        Raises DataError for files that cannot be used and settings that the benchmark does not have.
        """
        ...


class Model(Protocol):
    """Prompt in, Response out. `lane` names whose limits it shares (a provider's endpoint)."""

    @property
    def name(self) -> str:
        """As the user names it, provider included."""
        ...

    @property
    def lane(self) -> str:
        """Models of one lane share concurrency and rate limits."""
        ...

    @property
    def identity(self) -> Mapping[str, str]:
        """What else a reply depends on (endpoint, API); part of the reuse key. Never a secret."""
        ...

    @property
    def room(self) -> Room | None:
        """Its context, measured with its own tokenizer; None where that is not at hand."""
        ...

    def rehearse(self, request: Request) -> None:
        """Raises VivaError where requests of this kind can never be answered. Asks nobody."""
        ...

    async def answer(self, request: Generate) -> Response:
        """One attempt. Raises ModelError; retrying is the engine's business."""
        ...

    async def choose(self, request: Choose) -> Response:
        """One attempt. Raises ModelError, a fatal one where the model does not say how probable a text is."""
        ...

    async def close(self) -> None:
        """Give connections back."""
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
        """The similarity of each text to its reference, in -1..1; blocking, and quickest in batches of `batch`."""
        ...

    @property
    def batch(self) -> int:
        """How many pairs to give it at once."""
        ...


class Sandbox(Protocol):
    """Program in, Execution out; nothing that the program does reaches outside."""

    def unavailable(self, language: str) -> str:
        """Why no program of this language can be run here; empty when it can."""
        ...

    async def run(self, request: Execute) -> Execution:
        """Run one program to its end or its limits."""
        ...

    async def close(self) -> None:
        """End everything that is still running."""
        ...
