"""The vocabulary: types of the data that flows through Viva; `contracts` has the interfaces that use them.

    load → Question → render → Generate → MODEL → Response → judge → score → Score → table

All types are immutable and quick to encode. Benchmarks, engine, models and analysis import these, never each other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal, get_args

from msgspec import UNSET, Meta, Struct, UnsetType

from viva.designs import Design

Kind = Literal["choice", "choices", "truth", "blank", "term", "open", "free", "span"]
"""Form of a question's answer: a letter, several letters, a truth value, a phrase compared by a judge, a term or number
compared by a rule, an essay, free text graded by a rubric, or a phrase of a given text (by rule)."""

Extraction = Literal["stated", "first", "last", "strict"]
"""Which letter of a reply is its answer: the one it commits to, the first or last single one, an explicit one only."""
_TAG = r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}\Z"
Language = Annotated[str, Meta(pattern=_TAG)]
"""A language tag such as "en" or "pt-BR" (BCP 47); `viva.languages` lists those with word lists."""


def is_language_tag(text: str) -> bool:
    """Return whether a text is a `Language`."""
    return re.search(_TAG, text) is not None


Outcome = Literal[
    "right",  # full marks
    "partly",  # between nothing and full marks
    "wrong",
    "unparsed",  # the reply commits to nothing that can be read
    "empty",  # nothing visible came back
    "truncated",  # cut off by the token limit before it committed to anything
    "refused",  # the model declines to answer
    "error",  # no reply: an outage, a limit; asked again on resume
    "not asked",  # the run ended before its turn came, or its batch is not back; asked on resume
    "ungraded",  # needs a judge or a toolchain, and there was none, or it gave no readable verdict
    "unsound",  # the question itself has no usable gold answer
]
NOT_ASKED: Final = "not asked"  # this outcome, and the kind of `Failure` that says so
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
SCORED: frozenset[Outcome] = frozenset({"right", "partly", "wrong"})
UNREADABLE: frozenset[Outcome] = frozenset({"unparsed", "empty", "truncated", "refused"})
"""The model replied and earned nothing: zero in a mean, unscored in its bounds."""
UNANSWERED: frozenset[Outcome] = frozenset({"error", "not asked", "ungraded", "unsound"})
"""Not the model's doing: never a zero. Left out of the mean, kept in the denominator of the bounds."""


def outcome_name(outcome: str) -> str:
    """Return the displayed word for an outcome or for a defect's action; files keep the stored word."""
    return {"partly": "partial", "ungraded": "not judged", "unsound": "invalid gold"}.get(outcome, outcome)


def points_of(outcome: Outcome, value: float | None) -> float | None:
    """Return an answer's value in a mean: 0 for an unreadable reply; None where it is left out."""
    return None if outcome in UNANSWERED else value or 0.0


class Question(Struct, frozen=True, kw_only=True):
    """One question of a set.

    `answer`: the gold answer: a letter, letters ("ACD"), "true"/"false", or a reference text; None where the data set's
    is unusable. `accepted`: other wordings of equal value. `explanation`: the gold rationale. `tags`: properties for
    breakdowns (domain, subject, format, ...).
    """

    id: str
    kind: Kind
    text: str
    language: Language
    options: tuple[str, ...] = ()
    answer: str | None = None
    accepted: tuple[str, ...] = ()
    explanation: str = ""
    tags: dict[str, str] = {}
    weight: int = 1
    """How often the set lists it: it is asked once and counts this often."""
    cluster: str = ""
    """Name of what it shares with other questions (a passage, a sentence), which make one observation; "" for none."""
    cell: dict[str, str] = {}
    """Factor → level, by name, of the cell of a design in which it is asked."""


class Constant(Struct, frozen=True, kw_only=True):
    """The best answer that is the same for all questions of a kind: a floor that needs no knowledge. `score` is
    averaged like the exam's headline; where only a program or judge could decide, it counts as wrong."""

    answers: dict[Kind, str]
    score: float
    tested: int = 0
    """Questions whose tests were checked with a program that does nothing; `unproven`: those where it passes some."""
    unproven: tuple[str, ...] = ()


class Message(Struct, frozen=True):
    """One turn of a chat."""

    role: Literal["system", "user", "assistant"]
    content: str


Prompt = tuple[Message, ...] | str
"""Messages for a chat model, a text to continue for a base model."""


class Sampling(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Settings for drawing tokens. None leaves a setting to the server. `seed` is the run's: see `Generate.seed`."""

    temperature: float | None = 0.0
    top_p: float | None = None
    max_tokens: int | None = 2048
    seed: int | None = None
    stop: tuple[str, ...] = ()


class Generate(Struct, frozen=True, kw_only=True):
    """A request for one completion, to an examined model or a judge (a judge is just another model).

    `question` and `sample` identify the answer. `choices`: well-formed answers ("A".."D", "True"/"False", the spans of
    a text); `options`: their texts; `examples`: answers that the question's author wrote, right ones among them. No
    model sees any of these; baselines draw from `choices`, and baseline/example-answers from `examples`.
    """

    question: str
    sample: int
    prompt: Prompt
    sampling: Sampling
    choices: Sequence[str] = ()
    options: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    aspect: str = ""
    """For a judge: the aspect to judge (`ANSWER` or `RATIONALE`)."""
    answer_separator: str = ""
    """The text between prompt and answer for a base model (" " after "Answer:", say)."""
    verdict_at: tuple[tuple[int, int], ...] = ()
    """For a judge: places in its prompt that mention the verdict line (message, index after "VERDICT"). A nonce is
    inserted there on sending, and is no part of `prompt`, so that equal requests stay equal."""
    json_schema: str = ""
    """The JSON schema that the server must enforce on the reply; empty for plain text."""
    dropped: int = 0
    """Exemplars that were left out, since they did not fit the context."""
    drawn: int | None = None
    """The seed drawn for this request (`engine.journal.with_seed`)."""

    @property
    def seed(self) -> int | None:
        """The seed that is sent: drawn for this request or, in runs of an earlier Viva, the run's plus the sample's
        number."""
        if self.drawn is None and self.sampling.seed is not None:
            return self.sampling.seed + self.sample
        return self.drawn


VerdictFormat = Literal["line", "nonce", "json"]
"""Form of a judge's verdict: a bare line `VERDICT: n`, a line with a nonce, or JSON with a nonce."""

Choosing = Literal["next-token", "likelihood"]
"""How options are compared: by the probability of one next token, or by the likelihood of whole texts."""


class Choose(Struct, frozen=True, kw_only=True):
    """A request for the probabilities of several continuations of a prompt.

    `continuations` follow the prompt exactly, including a blank at their beginning; for "next-token", each must be one
    token there. `options`: texts of the options, for baselines only.
    """

    question: str
    sample: int
    prompt: Prompt
    continuations: tuple[str, ...]
    by: Choosing
    options: tuple[str, ...] = ()
    dropped: int = 0


Request = Generate | Choose


class Usage(Struct, frozen=True, omit_defaults=True, gc=False):
    """Tokens counted by the server; `reasoning`: those of `output` used for thoughts."""

    input: int = 0
    output: int = 0
    reasoning: int = 0


class Served(Struct, frozen=True, omit_defaults=True):
    """What answered, as stated by the reply (untrusted): the model, the provider behind a router, and a fingerprint of
    the server's configuration. Each is "" where unstated."""

    model: str = ""
    provider: str = ""
    system_fingerprint: str = ""


class Quota(Struct, frozen=True):
    """What is left of a limit of requests or tokens by a server's headers, until its reset in `reset` seconds."""

    what: str
    limit: float
    remaining: float
    reset: float


class Failure(Struct, frozen=True):
    """Why there is no reply. `kind` is one word (timeout, status, body, auth, ...), `message` a sentence."""

    kind: str
    message: str


StopReason = Literal["stop", "length", "thinking", "filter", "other"]
"""Why a reply ended. "length": cut off in the answer by the token limit; "thinking": cut off before an answer."""
CUT_OFF: Final = frozenset({"length", "thinking"})


class Likelihood(Struct, frozen=True, omit_defaults=True):
    """The log-probability of one continuation: natural, over the whole vocabulary, summed over its tokens. `bound`: it
    is only an upper bound, as the server does not list the continuation."""

    logprob: float
    tokens: int = 1
    bound: bool = False


class Response(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A model's reply. With `error` set there is no answer, and `text` is empty.

    For a `Choose`, `likelihoods` has one for each continuation, and `text` is empty. `reasoning`: the model's thoughts.
    """

    text: str = ""
    reasoning: str = ""
    stop_reason: StopReason = "stop"
    usage: Usage | None = None
    error: Failure | None = None
    likelihoods: tuple[Likelihood, ...] = ()
    quotas: tuple[Quota, ...] = ()  # the server's limits; never stored
    served: Served = Served()
    first: float = 0.0  # seconds until something of a streamed reply came

    @property
    def ended(self) -> bool:
        """Whether it ended by itself, rather than being cut off."""
        return self.stop_reason not in CUT_OFF


VALUE_TAGS: Final = ("$tuple", "$set", "$map", "$bytes", "$float", "$array")
"""Tags for values without a form in JSON; see sandbox/calls.py."""


class Call(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call of one of a program's functions, and its expected outcome.

    `args` and `returns` are JSON values with tags (`VALUE_TAGS`). `call` is a function's name, or `Class.method`.
    """

    call: str
    args: tuple[object, ...] = ()
    returns: object | UnsetType = UNSET
    """The expected value; unset where any is accepted."""
    raises: str | bool = ""
    """The bare name of the exception's class; True for any; "" where it must raise none."""
    within: float = 0.0
    """Allowed difference of each number in the value from the expected one."""
    truth: Literal["", "true", "false", "given", "nil"] = ""
    """Expected truth of the value as a condition, instead of the value itself; a truth value is then the number 0 or 1
    (narrow.py). "given" and "nil" are Ruby's, where 0 is true."""


class Execute(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request to run one program in the sandbox: the model's code, then its test.

    `program`: everything before the test (imports, prefix, the model's code); what runs is `program`, a line feed,
    `test`. `files`: (plain file name, content) pairs in its folder. `seconds`: limit of compiling and running together.
    `question` and `sample` identify the answer.

    With `calls` there is no `test`: the program runs alone, and each call is requested from it in turn.
    """

    question: str
    sample: int
    language: str
    """A row of sandbox/languages.toml: "python", "javascript", ..."""
    program: str
    test: str = ""
    calls: tuple[Call, ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    seconds: float = 10.0
    proof: Literal["completion", "exit"] = "completion"
    """The proof of passing: a secret shows that the test ran to its end; or, as published, the exit status alone."""
    packages: tuple[str, ...] = ()
    """Packages imported by the test and the question's own answers: if one is missing here, a failure is unscored."""


Verdict = Literal[
    "passed",
    "failed",  # the test did not run to its end, or ended in an error
    "compile",  # it did not compile
    "timeout",  # the time limit ended it
    "limit",  # another limit ended it: memory, processes, output, disk
    "toolchain",  # nothing here can run this language: unscored, never a zero
]


Isolation = Literal["", "separate", "shared"]
"""Whether the test ran in a separate process, or shared the program's; "": not recorded."""


class Execution(Struct, frozen=True, omit_defaults=True):
    """The outcome of a program in the sandbox. `detail`: the end of its output (untrusted), or why it was stopped;
    `seconds`: wall time, with compiling; `cpu`: CPU seconds of its processes."""

    verdict: Verdict
    detail: str = ""
    seconds: float = 0.0
    cpu: float = 0.0
    isolation: Isolation = ""


ANSWER: Final = "answer"
RATIONALE: Final = "rationale"
"""The aspects of a reply that are compared, judged and reviewed separately."""

Decider = Literal["rule", "similarity", "judge", "expert"]
"""What decided an aspect; later ones override earlier ones."""


class Compare(Struct, frozen=True):
    """A request for the similarity of a model's text to a reference."""

    aspect: str
    text: str
    reference: str


class Opinion(Struct, frozen=True):
    """One judge's reply about one aspect of an answer, as it came (untrusted). `nonce`: required in its verdict; empty
    where the judge was asked for a bare line."""

    judge: str
    aspect: str
    text: str
    nonce: str = ""
    lost: bool = False
    """Whether no reply came; `text` then says why."""


class Mark(Struct, frozen=True):
    """One expert's mark of one aspect of an answer: a share of the full mark."""

    reviewer: str
    aspect: str
    value: float
    comment: str = ""


class Evidence(Struct, frozen=True, kw_only=True):
    """All evidence about one answer, in the order of the requests for it.

    `executions`: outcomes of its programs, in the order of `Exam.executions` (None: unknown). `similarities`: aspect →
    similarity. `opinions`: the judges' replies; `failed`: those without a verdict, or why none came. `marks`: experts'.
    """

    executions: Sequence[Execution | None] = ()
    similarities: Mapping[str, float] = {}
    opinions: Sequence[Opinion] = ()
    failed: Sequence[Opinion] = ()
    marks: Sequence[Mark] = ()


NOTHING = Evidence()


class Score(Struct, frozen=True, kw_only=True):
    """The score of one answer, with its evidence.

    `value`: at most 1 (below 0 if deducted points are not clipped), or None when unscored. `answer`: the answer read
    from the reply, `explanation`: how and where. `decided`: aspect → decider; `verdicts`: aspect → the judges' marks,
    each a share of the full mark.
    """

    value: float | None
    outcome: Outcome
    answer: str = ""
    explanation: str = ""
    parts: dict[str, float] = {}
    decided: dict[str, Decider] = {}
    verdicts: dict[str, tuple[float, ...]] = {}
    isolation: Isolation = ""
    """"shared" where any of the answer's programs ran in the same process as its test."""
    limits: dict[str, tuple[float, float]] = {}
    """Without a score: lowest and highest possible value ("") and parts, where these are not 0 and 1."""


class ReviewItem(Struct, frozen=True, kw_only=True):
    """One aspect of an answer for review by an expert: the model's text, the gold, and the verdict so far.

    `value`: the verdict of rule, similarity or judges (never an expert's), None without one; `scale`: the marks that an
    expert can give, ascending; `opinions`: each judge's mean mark. All texts are untrusted.
    """

    aspect: str
    text: str
    gold: str
    value: float | None
    scale: tuple[float, ...]
    decided: Decider | None = None
    reasons: str = ""
    opinions: dict[str, float] = {}


Place = Annotated[int, Meta(ge=0, le=1_000_000_000)]
"""A number from 0 in a file. Bounds are checked only when a file is read."""


class ScoreRow(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One answer's score as scores.jsonl holds it and analysis reads it: a row of a plain data frame.

    `parts`: those parts of the score that the exam's tables show; `weight`: the question's.
    """

    benchmark: str
    exam: str
    """The exam's label, with the settings that differ between the run's exams ("csbench-en")."""
    model: str
    question: str
    sample: Place
    repeat: Place
    value: Annotated[float, Meta(ge=-1e6, le=1 + 1e-9)] | None
    outcome: Outcome
    answer: str
    explanation: str
    tags: dict[str, str]
    stopped: StopReason = "stop"
    parts: dict[str, Annotated[float, Meta(ge=-1e6, le=1e6)]] = {}
    weight: Annotated[int, Meta(ge=0, le=1_000_000)] = 1
    decided: dict[str, Decider] = {}
    verdicts: dict[str, tuple[float, ...]] = {}
    """As in `Score`, like the two after it; an aspect that waits for a judge has none."""
    isolation: Isolation = ""
    limits: dict[str, tuple[float, float]] = {}
    cluster: str = ""  # both as in `Question`
    cell: dict[str, str] = {}

    @property
    def points(self) -> float | None:
        """Its value in a mean; see `points_of`."""
        return points_of(self.outcome, self.value)


class SamplingPlan(Struct, frozen=True, kw_only=True):
    """How answers are drawn: their number for each question, and the sampling."""

    samples: int = 1
    sampling: Sampling = Sampling()


class ExamSpec(Struct, frozen=True, kw_only=True):
    """One benchmark with every setting that can change its score. Stored in run.json, shown in the signature."""

    benchmark: str
    name: str = ""
    """The exam's name where the benchmark's is ambiguous (a question file's name)."""
    language: Language = "en"
    shots: int = 0
    chain_of_thought: bool = False
    form: Literal["chat", "base"] = "chat"
    only: Literal["", "comprehension"] = ""
    limit: int | None = None
    seed: int = 0
    as_published: bool = False
    extraction: Extraction = "stated"
    context: int | None = None
    rationale: bool = False
    """Whether the model must also give a rationale: the protocol of `benchmarks/rationale/`."""
    encoder: str = ""
    """The encoder whose similarity decides before a judge does; none if empty."""
    panel: Literal["mean", "median", "majority"] = "mean"
    """How several verdicts on one answer are combined."""
    choose: Literal["", Choosing] = ""
    """How options are compared by probability; "": the written reply is read."""
    questions: tuple[str, ...] = ()
    """Ids of the only questions to ask; all of them if empty."""
    shard: str = ""
    """The part of the questions to ask, such as "3/8"; all if empty."""
    vary: Design | UnsetType = UNSET
    """The cells in which each question is asked; unset, and left out of files, without a design."""
    shuffle: bool | UnsetType = UNSET  # whether to shuffle questions by the seed; likewise
    draw: int | UnsetType = UNSET
    """Number of the draw of exemplars, in a design that varies them."""

    @property
    def label(self) -> str:
        """The exam's name in runs and tables: benchmark and language, or the question file."""
        return self.name or f"{self.benchmark}-{self.language}"


class Defect(Struct, frozen=True):
    """A defect of a data set, and the action taken (`repaired`, left `unsound`, or merely `noted`)."""

    question: str
    kind: str
    detail: str
    action: Literal["repaired", "unsound", "noted"]


class Aggregate(Struct, frozen=True):
    """A row or column of a table: a filter of answers and how they are averaged.

    `where`: tag → values of the answers that belong. `over`: a tag whose values are averaged first (macro average); ""
    for the plain mean over questions.
    """

    label: str
    where: dict[str, tuple[str, ...]] = {}
    over: str = ""
    attempts: str = ""
    """How a question's answers are combined: "mean"; "best" of each repeat; "best@5" or "pass@5", the expected best
    score and chance of a full score among 5 drawn from all of them; "" as in the exam's headline."""
    part: str = ""
    """The part of each score (`Score.parts`) that is averaged in place of its value; scores without it count whole."""
    per: str = ""
    """The part whose mean divides that of `part`: instructions followed per instruction, points per possible point."""
    given: str = ""
    """A part in which answers must have full marks to count."""
    aspects: tuple[str, ...] = ()
    """The aspects of an answer that decide the averaged value; all if empty."""
    kind: Literal["score", "share", "difference"] = "score"
    """Kind of the average: of scores; a share of answers, without right or wrong; or a difference of shares."""


class TableSpec(Struct, frozen=True):
    """The shape of a published table: rows by columns. `detail`: long, and shown in the terminal on request only.

    A table `across` models has one row, printed once for each model of the exam.
    """

    name: str
    title: str
    rows: tuple[Aggregate, ...]
    columns: tuple[Aggregate, ...]
    detail: bool = False
    across: bool = False


Way = Literal["cot", "base", "comprehension", "next-token", "likelihood", "as-published", "extraction"]
"""A way of asking or grading that a benchmark may support (`ExamSpec` has the settings)."""


class BenchmarkInfo(Struct, frozen=True, kw_only=True):
    """A benchmark's description, as for `viva list`."""

    name: str
    title: str
    paper: str
    licence: str
    languages: tuple[Language, ...]
    formats: tuple[str, ...]
    size: str
    """Number of questions in the published set."""
    version: str
    """Raised whenever the same answers could score differently."""
    source: str
    shots: int
    """The largest number of exemplars that may be shown."""
    supports: tuple[Way, ...] = ()
    """Ways that it supports; any other is refused, not silently ignored."""
    reasons: Mapping[Way, str] = {}
    """Unsupported way → the reason, for the refusal."""
    draws: SamplingPlan = SamplingPlan()
    """The paper's sampling, used unless the user sets another."""
    few_shot: SamplingPlan | None = None
    """The paper's sampling with exemplars, if that differs."""
    default_shots: int = 0
    """The paper's number of exemplars, used unless the user sets another."""
    encoder: str = ""
    """The paper's encoder, where it compares answers by similarity."""
    more_languages: bool = False
    """Whether a data set of the same form may be in a language that is not among `languages`."""
    rationale: Literal["never", "possible", "always"] = "never"
    """Whether a rationale is asked for: always, or with `--rationale`."""
    numbering: Mapping[Language, int] = {}
    """Language → offset of its question numbers, where languages have the same questions, numbered consecutively."""
    halves: bool = False
    """Whether its files also have a validation half, which no exam asks."""
    error_types: bool = False
    """Whether its paper has types of error for wrong answers (`viva error-types`)."""
    pass_line: float | None = None
    """Share of right answers at which people pass such an examination, if the paper states it."""
    built_sets: bool = False
    """Whether `viva build` writes sets in its format, which have no published figures."""
