"""The whole vocabulary: what flows through Viva; `contracts` says who does what with it.

    load → Question → render → Generate → MODEL → Response → judge → score → Score → table

All is immutable, typed, quick to encode (msgspec). Benchmarks, engine, models, analysis know it and never each other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal, get_args

from msgspec import UNSET, Meta, Struct, UnsetType

from viva.designs import Design

Kind = Literal["choice", "choices", "truth", "blank", "term", "open", "free", "span"]
"""How it is answered: a letter, several letters, a truth value, a phrase that a judge compares, a term or number that a
rule compares, an essay, freely (graded by a rubric), or by a phrase of a given text (by rule)."""

Extraction = Literal["stated", "first", "last", "strict"]
"""Which letter of a reply is its answer: the one committed to, the first or last by itself, or what is stated so."""
_TAG = r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}\Z"
Language = Annotated[str, Meta(pattern=_TAG)]
"""Such as "en" or "pt-BR" (BCP 47); `viva.languages` lists what is known of each."""


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
"""The model replied and earned nothing: no point in a mean, unscored in its bounds."""
UNANSWERED: frozenset[Outcome] = frozenset({"error", "not asked", "ungraded", "unsound"})
"""Not the model's doing: never a zero. Left out of the mean, kept in the denominator of the bounds."""


def outcome_name(outcome: str) -> str:
    """Return what people read for an outcome, or for what was done about a defect; files keep the stored word."""
    return {"partly": "partial", "ungraded": "not judged", "unsound": "invalid gold"}.get(outcome, outcome)


def points_of(outcome: Outcome, value: float | None) -> float | None:
    """Return what an answer counts for in a mean: 0 for a reply that cannot be read; None where it is left out."""
    return None if outcome in UNANSWERED else value or 0.0


class Question(Struct, frozen=True, kw_only=True):
    """One question of a set.

    `answer` is the gold answer: a letter, letters ("ACD"), "true"/"false", or a reference text; None where the data
    set's is unusable. `accepted` are other wordings of it that count as much. `explanation` is the gold rationale.
    `tags` are what breakdowns go by (domain, subject, format, ...).
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
    """How often the set lists it: asked once, it counts so often."""
    cluster: str = ""
    """What it shares with others (a passage, a sentence), as one observation; "" where it stands alone."""
    cell: dict[str, str] = {}
    """Of a question as one cell of a design asks it: factor → level, by their names."""


class Constant(Struct, frozen=True, kw_only=True):
    """The best answer that is the same for all questions of a kind: what it scores tells nothing of a model. `score` is
    averaged as the exam's headline is; what only a program or a judge could decide counts as wrong."""

    answers: dict[Kind, str]
    score: float
    tested: int = 0
    """Questions with tests, where it is known that a program passes some of them that does nothing: `unproven`."""
    unproven: tuple[str, ...] = ()


class Message(Struct, frozen=True):
    """One turn of a chat."""

    role: Literal["system", "user", "assistant"]
    content: str


Prompt = tuple[Message, ...] | str
"""Messages for a chat model, a text to continue for a base model."""


class Sampling(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the next token is drawn. None leaves a setting to the server. `seed` is the run's: see `Generate.seed`."""

    temperature: float | None = 0.0
    top_p: float | None = None
    max_tokens: int | None = 2048
    seed: int | None = None
    stop: tuple[str, ...] = ()


class Generate(Struct, frozen=True, kw_only=True):
    """A request for one completion: of the examinee, or of a judge (a judge is just another model).

    `question` and `sample` say whose answer it is. `legal` lists well-formed answers ("A".."D", "True"/"False", the
    spans of a text) and `options` their texts; `examples` are answers that the question's author wrote, right ones
    among them. No model sees any of these; baselines draw from `legal`, baseline/example-answers alone from `examples`.
    """

    question: str
    sample: int
    prompt: Prompt
    sampling: Sampling
    choices: Sequence[str] = ()
    options: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    aspect: str = ""
    """For a judge: what about the answer is to be judged (`ANSWER` or `RATIONALE`)."""
    answer_separator: str = ""
    """The text between prompt and answer where a base model goes on ("Answer:" and " ", say)."""
    verdict_at: tuple[tuple[int, int], ...] = ()
    """For a judge: where its prompt speaks of the verdict line (message, character after "VERDICT"); a nonce goes there
    before it is sent, and is no part of `prompt`, so that equal requests stay equal."""
    json_schema: str = ""
    """The JSON schema that the server is to hold the reply to; empty for plain text."""
    dropped: int = 0
    """Exemplars that were left out, since they did not fit the context."""
    drawn: int | None = None
    """The seed that was drawn for this request (`engine.journal.with_seed`)."""

    @property
    def seed(self) -> int | None:
        """The seed that is sent: drawn for this request or, in runs of an earlier Viva, one number for all questions
        that goes up by one with every sample."""
        if self.drawn is None and self.sampling.seed is not None:
            return self.sampling.seed + self.sample
        return self.drawn


VerdictFormat = Literal["line", "nonce", "json"]
"""How a judge must write its verdict: as a bare line `VERDICT: n`, as one that carries a nonce, or as JSON with it."""

Choosing = Literal["next-token", "likelihood"]
"""How a model chooses among answers: by the one token that comes next, or by the likelihood of whole texts."""


class Choose(Struct, frozen=True, kw_only=True):
    """A request for how probable each of several continuations of a prompt is.

    `continuations` are exactly what would follow the prompt, a blank at the beginning included where there is one; by
    next token, each must be one token there. `options` are the texts of the options, for baselines alone.
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
    """Tokens as the server counted them; `reasoning` are those of `output` that it says went into thinking."""

    input: int = 0
    output: int = 0
    reasoning: int = 0


class Served(Struct, frozen=True, omit_defaults=True):
    """Who answered, by the reply's own word (hostile text): the model, the provider behind a router, and what tells
    one configuration of a server from another. All are "" where nothing is said."""

    model: str = ""
    provider: str = ""
    system_fingerprint: str = ""


class Quota(Struct, frozen=True):
    """What a server's headers say is left of a limit, of requests or of some kind of tokens, for `reset` seconds."""

    what: str
    limit: float
    remaining: float
    reset: float


class Failure(Struct, frozen=True):
    """Why there is no reply. `kind` is one word (timeout, status, body, auth, ...), `message` a sentence."""

    kind: str
    message: str


StopReason = Literal["stop", "length", "thinking", "filter", "other"]
"""Why a reply ended; "length": the limit of tokens cut the answer off, "thinking": it did before there was one."""
CUT_OFF: Final = frozenset({"length", "thinking"})


class Likelihood(Struct, frozen=True, omit_defaults=True):
    """How probable one continuation is: a natural logarithm over the whole vocabulary, summed over its tokens; `bound`
    where the server does not list it: it is at most this probable."""

    logprob: float
    tokens: int = 1
    bound: bool = False


class Response(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What came back. With `error` set there is no answer, and `text` is empty.

    To a `Choose`, `likelihoods` has one for each continuation, and `text` is empty. `reasoning` is what was thought.
    """

    text: str = ""
    reasoning: str = ""
    stop_reason: StopReason = "stop"
    usage: Usage | None = None
    error: Failure | None = None
    likelihoods: tuple[Likelihood, ...] = ()
    quotas: tuple[Quota, ...] = ()  # what the server said of its limits; written down nowhere
    served: Served = Served()
    first: float = 0.0  # seconds until something of a streamed reply came

    @property
    def ended(self) -> bool:
        """Whether it ended by itself: what was cut off has no last resort."""
        return self.stop_reason not in CUT_OFF


VALUE_TAGS: Final = ("$tuple", "$set", "$map", "$bytes", "$float", "$array")
"""What a value that JSON has no form for is written with; sandbox/calls.py says how."""


class Call(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call of one of a program's functions, and what it must come to.

    `args` and `returns` are JSON values with tags (`VALUE_TAGS`). `call` is a function's name, or `Class.method`.
    """

    call: str
    args: tuple[object, ...] = ()
    returns: object | UnsetType = UNSET
    """The value; unset where any will do."""
    raises: str | bool = ""
    """The bare name of the exception's class; True for any; "" where it must raise none."""
    within: float = 0.0
    """How far each number of the value may be from the expected one."""
    truth: Literal["", "true", "false", "given", "nil"] = ""
    """What a condition makes of the value, in place of it; with one, a truth value is the number 0 or 1 (narrow.py).
    "given" and "nil" are conditions of Ruby's, where 0 is true."""


class Execute(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request to run one program in the sandbox: what the examinee wrote, then the test of it.

    `program` is everything before the test (imports, prefix, the examinee's code); the assembled program is
    `program`, a line feed, `test`. `files` are (name, content) pairs put next to it; a name is a plain file name.
    `seconds` limits the whole of compiling and running. `question` and `sample` say whose answer it is.

    With `calls` there is no `test`: the program alone runs, and is asked for one call after the other.
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
    """What passing takes: that the test ran to its end, proved by a secret; or, as published, the exit status alone."""
    packages: tuple[str, ...] = ()
    """What the test and the question's own answers import: a program that fails for want of it could not be run."""


Verdict = Literal[
    "passed",
    "failed",  # the test did not run to its end, or ended in an error
    "compile",  # it did not compile
    "timeout",  # the time limit ended it
    "limit",  # another limit ended it: memory, processes, output, disk
    "toolchain",  # nothing here can run this language: unscored, never a zero
]


Isolation = Literal["", "separate", "shared"]
"""Whether what decides the verdict was in a process of its own, or in the program's; "": not recorded."""


class Execution(Struct, frozen=True, omit_defaults=True):
    """How a program fared in the sandbox. `detail` is the end of what it said (hostile text), or why it was stopped;
    `seconds` is wall time, compiling included, `cpu` that of its processes."""

    verdict: Verdict
    detail: str = ""
    seconds: float = 0.0
    cpu: float = 0.0
    isolation: Isolation = ""


ANSWER: Final = "answer"
RATIONALE: Final = "rationale"
"""The aspects of a reply that are compared, judged and reviewed apart."""

Decider = Literal["rule", "similarity", "judge", "expert"]
"""Who decided an aspect; a later one beats an earlier one."""


class Compare(Struct, frozen=True):
    """A request for the similarity of a text of the examinee's to a reference."""

    aspect: str
    text: str
    reference: str


class Opinion(Struct, frozen=True):
    """One reply of one judge about one aspect of an answer, as it came in (hostile text); `nonce` is what its verdict
    must carry, empty where the judge was asked for a bare line."""

    judge: str
    aspect: str
    text: str
    nonce: str = ""
    lost: bool = False
    """Whether no reply came, of which `text` says why."""


class Mark(Struct, frozen=True):
    """What one expert gives one aspect of an answer: a share of the full mark."""

    reviewer: str
    aspect: str
    value: float
    comment: str = ""


class Evidence(Struct, frozen=True, kw_only=True):
    """All that was found out about one answer, in the order in which it was asked for.

    `executions`: how its programs fared, in the order of `Exam.executions` (None: not known). `similarities`: aspect →
    similarity. `opinions`: the judges' replies; `failed`: those without a verdict, or why none came. `marks`: experts'.
    """

    executions: Sequence[Execution | None] = ()
    similarities: Mapping[str, float] = {}
    opinions: Sequence[Opinion] = ()
    failed: Sequence[Opinion] = ()
    marks: Sequence[Mark] = ()


NOTHING = Evidence()


class Score(Struct, frozen=True, kw_only=True):
    """What one answer is worth, with its evidence.

    `value` is at most 1 (below 0 where points are taken away and nothing clips them), or None when unscored. `answer`
    is what was read from the reply, `explanation` how and where. `decided` says who decided which aspect, `verdicts`
    what the judges gave it, each a share of the full mark.
    """

    value: float | None
    outcome: Outcome
    answer: str = ""
    explanation: str = ""
    parts: dict[str, float] = {}
    decided: dict[str, Decider] = {}
    verdicts: dict[str, tuple[float, ...]] = {}
    isolation: Isolation = ""
    """"shared" where any of the answer's programs ran in one process with its test."""
    limits: dict[str, tuple[float, float]] = {}
    """Without a score: the least and the most that its value ("") and parts can become, where that is not 0 to 1."""


class ReviewItem(Struct, frozen=True, kw_only=True):
    """One aspect of an answer as an expert reviews it: what the examinee said, the gold, and the verdict so far.

    `value` is the verdict of rule, similarity or judges (never an expert's), None where there is none yet; `scale` the
    marks that an expert can give, ascending. `opinions` are what each judge gave, its samples' mean. All are hostile.
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
"""A number from 0 on that a file says. Bounds are checked where a file is read, and nowhere else."""


class ScoreRow(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One answer's score as scores.jsonl holds it and analysis reads it: a row of a plain data frame.

    `parts` are those of the score that a table of the exam shows, `weight` is the question's.
    """

    benchmark: str
    exam: str
    """With the settings that tell this run's exams apart ("csbench-en")."""
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
    """As in `Score`, as the two after it; an aspect that waits for a judge has none."""
    isolation: Isolation = ""
    limits: dict[str, tuple[float, float]] = {}
    cluster: str = ""  # both as in `Question`
    cell: dict[str, str] = {}

    @property
    def points(self) -> float | None:
        """What it counts for in a mean; see `points_of`."""
        return points_of(self.outcome, self.value)


class SamplingPlan(Struct, frozen=True, kw_only=True):
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
    extraction: Extraction = "stated"
    context: int | None = None
    rationale: bool = False
    """Whether the model must also say why: the protocol of `benchmarks/rationale.py`."""
    encoder: str = ""
    """Which encoder's similarity decides before a judge does; none if empty."""
    panel: Literal["mean", "median", "majority"] = "mean"
    """What several verdicts on one answer become."""
    choose: Literal["", Choosing] = ""
    """How options are chosen among, if not by reading what the model writes."""
    questions: tuple[str, ...] = ()
    """Ids of the only questions to ask; all of them if empty."""
    shard: str = ""
    """Which part of the questions is asked here, as "3/8"; all of them if empty."""
    vary: Design | UnsetType = UNSET
    """In which cells each question is asked; files of a run that varies nothing do not mention it."""
    shuffle: bool | UnsetType = UNSET  # whether questions come in a random order, drawn by the seed; likewise
    draw: int | UnsetType = UNSET
    """Which draw of the exemplars is shown in place of the usual ones: within a design."""

    @property
    def label(self) -> str:
        """What runs and tables call the exam: benchmark and language, or the question file."""
        return self.name or f"{self.benchmark}-{self.language}"


class Defect(Struct, frozen=True):
    """Something wrong with a data set, and what was done about it (`repaired` or left `unsound` or merely `noted`)."""

    question: str
    kind: str
    detail: str
    action: Literal["repaired", "unsound", "noted"]


class Aggregate(Struct, frozen=True):
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
    per: str = ""
    """The part whose mean divides that of `part`: instructions followed per instruction, points per point to be had."""
    given: str = ""
    """Only answers count that have full marks in this part."""
    aspects: tuple[str, ...] = ()
    """Which aspects of an answer decide what is averaged; all of them if empty."""
    kind: Literal["score", "share", "difference"] = "score"
    """What is averaged: a score; a share of answers, which makes none right or wrong; or a difference of shares."""


class TableSpec(Struct, frozen=True):
    """The shape of a published table: rows by columns. A `detail` is long, and shown in the terminal on request.

    A table `across` models has one row, printed with a row a model where several sat the exam.
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
    supports: tuple[Way, ...] = ()
    """What it knows of; every other way is refused, not silently ignored."""
    reasons: Mapping[Way, str] = {}
    """Why it does not support one, for the refusal."""
    draws: SamplingPlan = SamplingPlan()
    """How the paper draws answers; what the user does not say otherwise."""
    few_shot: SamplingPlan | None = None
    """The same where exemplars are shown, if that differs."""
    default_shots: int = 0
    """The paper's number of exemplars; what the user does not say otherwise."""
    encoder: str = ""
    """The paper's encoder, where it compares answers by similarity."""
    more_languages: bool = False
    """Whether a data set of the same form may be in a language that is not among `languages`."""
    rationale: Literal["never", "possible", "always"] = "never"
    """Whether its questions are asked for a rationale: always, or with `--rationale`."""
    numbering: Mapping[Language, int] = {}
    """Languages whose questions are the same, numbered through → how many numbers come before the first one's."""
    halves: bool = False
    """Whether its files also have questions of a validation half, which no exam asks."""
    error_types: bool = False
    """Whether its paper has types of error for wrong answers (`viva error-types`)."""
    pass_line: float | None = None
    """The share of right answers from which on people pass such an examination, where the paper draws that line."""
    built_sets: bool = False
    """Whether `viva build` writes sets in its format: nobody published figures of those."""
