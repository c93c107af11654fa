"""The whole vocabulary: what flows through Viva, and the contracts between its rooms.

    load → Question → render → Generate → MODEL → Response → judge → score → Score → table

Everything is immutable, typed, and quick to encode (msgspec). Benchmarks, engine, models and analysis know these
words and never each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

Kind = Literal["choice", "truth", "blank", "open", "free", "span"]
"""How a question wants to be answered: a letter, a truth value, a phrase that a judge compares, an essay, freely
(graded by a rubric), or by a phrase of a given text (graded by rule)."""

Language = Literal["en", "zh", "de", "fr"]

Outcome = Literal[
    "right",  # full marks
    "partly",  # between nothing and full marks
    "wrong",
    "unparsed",  # the reply commits to nothing that can be read
    "empty",  # nothing visible came back
    "truncated",  # cut off by the token limit before it committed to anything
    "refused",  # the model declines to answer
    "error",  # no reply: an outage, a limit, an interruption; asked again on resume
    "ungraded",  # needs a judge or a toolchain, and there was none, or it gave no readable verdict
    "unsound",  # the question itself has no usable gold answer
]
OUTCOMES: tuple[Outcome, ...] = (
    "right", "partly", "wrong", "unparsed", "empty", "truncated", "refused", "error", "ungraded", "unsound",
)  # fmt: skip
SCORED: frozenset[Outcome] = frozenset({"right", "partly", "wrong"})
UNREADABLE: frozenset[Outcome] = frozenset({"unparsed", "empty", "truncated", "refused"})
"""The model replied and earned nothing: counted as no point in a mean, and as unscored in its bounds."""
UNANSWERED: frozenset[Outcome] = frozenset({"error", "ungraded", "unsound"})
"""Not the model's doing: never a zero. Left out of the mean, kept in the denominator of the bounds."""


class Question(Struct, frozen=True, kw_only=True):
    """One question of a set.

    `answer` is the gold answer: a letter, "true"/"false", or a reference text; None where the data set's is unusable.
    `tags` are what breakdowns go by (domain, subject, format, ...).
    """

    id: str
    kind: Kind
    text: str
    language: Language
    options: tuple[str, ...] = ()
    answer: str | None = None
    explanation: str = ""
    tags: dict[str, str] = {}
    weight: int = 1
    """How often the set lists it. It is asked once, and counts so often."""


class Message(Struct, frozen=True):
    """One turn of a chat."""

    role: Literal["system", "user", "assistant"]
    content: str


Prompt = tuple[Message, ...] | str
"""Messages for a chat model, a text to continue for a base model."""


class Sampling(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the next token is drawn. None leaves a setting to the server. `seed` goes up by one with every sample."""

    temperature: float | None = 0.0
    top_p: float | None = None
    max_tokens: int | None = 2048
    seed: int | None = None
    stop: tuple[str, ...] = ()


class Generate(Struct, frozen=True, kw_only=True):
    """A request for one completion: of the examinee, or of a judge (a judge is just another model).

    `question` and `sample` say whose answer it is. `legal` lists well-formed answers ("A".."D", "True"/"False", the
    example answers of a question's author, the spans of a text) and `options` their texts; no model sees them,
    baselines draw from them.
    """

    question: str
    sample: int
    prompt: Prompt
    sampling: Sampling
    legal: Sequence[str] = ()
    options: tuple[str, ...] = ()


class Usage(Struct, frozen=True, omit_defaults=True):
    """Tokens as the server counted them."""

    input: int = 0
    output: int = 0


class Failure(Struct, frozen=True):
    """Why there is no reply. `kind` is one word (timeout, status, body, auth, ...), `message` a sentence."""

    kind: str
    message: str


StopReason = Literal["stop", "length", "filter", "other"]


class Response(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came back. With `error` set there is no answer, and `text` is empty."""

    text: str = ""
    stop_reason: StopReason = "stop"
    usage: Usage | None = None
    error: Failure | None = None


class Execute(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request to run one program in the sandbox: what the examinee wrote, then the test of it.

    `program` is everything before the test (imports, prefix, the examinee's code); the assembled program is
    `program`, a line feed, `test`. `files` are (name, content) pairs put beside it; a name is a plain file name.
    `seconds` limits the whole of compiling and running. `question` and `sample` say whose answer it is.
    """

    question: str
    sample: int
    language: str
    """A row of sandbox/languages.toml: "python", "javascript", ..."""
    program: str
    test: str = ""
    files: tuple[tuple[str, str], ...] = ()
    seconds: float = 10.0
    proof: Literal["completion", "exit"] = "completion"
    """What passing takes: that the test ran to its end, proved by a secret; or, as published, the exit status alone."""


Verdict = Literal[
    "passed",
    "failed",  # the test did not run to its end, or ended in an error
    "compile",  # it did not compile
    "timeout",  # the time limit ended it
    "limit",  # another limit ended it: memory, processes, output, disk
    "toolchain",  # nothing here can run this language: unscored, never a zero
]


class Execution(Struct, frozen=True, omit_defaults=True):
    """How a program fared in the sandbox. `detail` is the end of what it said (hostile text), or why it was stopped."""

    verdict: Verdict
    detail: str = ""
    seconds: float = 0.0
    """Wall time, compiling included."""
    cpu: float = 0.0
    """CPU seconds of its processes."""


class Score(Struct, frozen=True, kw_only=True):
    """What one answer is worth, with its evidence.

    `value` is at most 1 (below 0 where points are taken away and nothing clips them), or None when unscored. `answer`
    is what was read from the reply, `explanation` how and where.
    """

    value: float | None
    outcome: Outcome
    answer: str = ""
    explanation: str = ""
    parts: dict[str, float] = {}


class ScoreRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One answer's score as scores.jsonl holds it and analysis reads it: a row of a plain data frame.

    `parts` are those of the score that a table of the exam shows, `weight` is the question's.
    """

    benchmark: str
    exam: str
    """The benchmark with the settings that tell this run's exams apart ("csbench-en")."""
    model: str
    question: str
    sample: int
    repeat: int
    value: float | None
    outcome: Outcome
    answer: str
    explanation: str
    tags: dict[str, str]
    parts: dict[str, float] = {}
    weight: int = 1


class Draws(Struct, frozen=True, kw_only=True):
    """How answers are drawn: how many to a question, and with what sampling."""

    samples: int = 1
    sampling: Sampling = Sampling()


class ExamSpec(Struct, frozen=True, kw_only=True):
    """One benchmark with every setting that can move its number. Written to run.json, shown in the signature."""

    benchmark: str
    name: str = ""
    """What the exam is called where the benchmark's name would not tell (a question file's name)."""
    language: Language = "en"
    shots: int = 0
    chain_of_thought: bool = False
    form: Literal["chat", "base"] = "chat"
    only: Literal["", "comprehension"] = ""
    limit: int | None = None
    seed: int = 0
    as_published: bool = False
    context: int | None = None


class Defect(Struct, frozen=True):
    """Something wrong with a data set, and what was done about it (`repaired` or left `unsound` or merely `noted`)."""

    question: str
    kind: str
    detail: str
    action: Literal["repaired", "unsound", "noted"]


class Line(Struct, frozen=True):
    """A row or column of a table: which answers belong to it and how they are averaged.

    `where` maps a tag to the values that belong. `over` names a tag to average over first (macro average); "" is the
    plain mean over questions.
    """

    label: str
    where: dict[str, tuple[str, ...]] = {}
    over: str = ""
    attempts: str = ""
    """What a question's several answers count as: "mean"; "best" of each repeat; "best@5" or "pass@5", the best score
    and the share of full scores to expect of 5 drawn from all of them; "" as the exam's headline."""
    part: str = ""
    """Which part of each score (`Score.parts`) is averaged in place of its value; a score without it counts whole."""


class Layout(Struct, frozen=True):
    """The shape of a published table: rows by columns. A `detail` is long, and shown in the terminal on request.

    A table `across` models has one row, and is printed with a row a model where several sat the exam.
    """

    name: str
    title: str
    rows: tuple[Line, ...]
    columns: tuple[Line, ...]
    detail: bool = False
    across: bool = False


class About(Struct, frozen=True, kw_only=True):
    """What `viva list` says of a benchmark."""

    name: str
    title: str
    paper: str
    licence: str
    languages: tuple[Language, ...]
    formats: tuple[str, ...]
    size: str
    """How many questions the published set has."""
    version: str
    """Goes up whenever the same answers could score differently."""
    source: str
    shots: int
    """The largest number of exemplars that may be shown."""
    draws: Draws = Draws()
    """How the paper draws answers; what the user does not say otherwise."""
    few_shot: Draws | None = None
    """The same where exemplars are shown, if that differs."""


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

    @property
    def dropped_exemplars(self) -> int:
        """How many exemplars did not fit the context in the requests rendered so far."""
        ...

    def __len__(self) -> int:
        """How many questions will be asked."""
        ...

    def questions(self) -> Iterator[Question]:
        """The questions, in a fixed order."""
        ...

    def request(self, question: Question, sample: int, sampling: Sampling) -> Generate:
        """The exact prompt for one question."""
        ...

    def judgements(self, question: Question, response: Response, samples: int) -> tuple[Generate, ...]:
        """What a judge must be asked before this answer can be scored; empty where a rule decides."""
        ...

    def executions(self, question: Question, response: Response) -> tuple[Execute, ...]:
        """What must be run in the sandbox before this answer can be scored; empty where nothing is."""
        ...

    def readable(self, question: Question, verdict: str) -> bool:
        """Whether a judge's reply holds a verdict; one that does not is asked for again."""
        ...

    def score(
        self,
        question: Question,
        response: Response,
        verdicts: Sequence[str],
        executions: Sequence[Execution | None] = (),
    ) -> Score:
        """The score of one answer, given the judge's replies and how its programs fared (None: not known). Pure."""
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

    async def answer(self, request: Generate) -> Response:
        """One attempt. Raises ModelError; retrying is the engine's business."""
        ...

    async def close(self) -> None:
        """Give connections back."""
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
