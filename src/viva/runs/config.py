"""The options of a run: one struct for each group, with defaults, bounds and descriptions.

The only declaration of an option: click options (cli/options.py), the keyword arguments of the Python API and the
fields of a run configuration file (runs/configfile.py) derive from these structs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from msgspec import Meta, Struct
from msgspec.structs import asdict, astuple, replace

from viva.engine.budget import Positive, RunLimits
from viva.errors import VivaError, flag, option
from viva.fields import changed, note, pick
from viva.interop.reading import FORMS
from viva.providers import PROVIDERS, Dtype, Effort, Streaming, Weights
from viva.types import Choosing, Extraction, VerdictFormat

Panel = Literal["mean", "median", "majority"]


BaseUrl = Annotated[str | None, note("OpenAI-compatible server of the openai/ models, ending in /v1.", metavar="URL")]
KeyVariable = Annotated[
    str | None, note("Environment variable with the key.  [default: the provider's own]", metavar="NAME")
]


JudgeUrl = Annotated[
    str | None, note("The judge's server.  [default: that of the run's judges, else of its models]", metavar="URL")
]
"""Of a run that there is."""
JudgeKey = Annotated[str | None, note("Environment variable with the judge's key.", metavar="NAME")]


class ModelOptions(Struct, frozen=True, kw_only=True):
    """How models are reached."""

    checkpoints: Annotated[
        Path | None,
        note(
            "Also every model of this CSV (model, base_url, revision, tokens), for `viva training`.",
            metavar="FILE",
        ),
    ] = None
    base_url: BaseUrl = None
    api_key_env: KeyVariable = None


class ServerOptions(Struct, frozen=True, kw_only=True):
    """What is sent to a model's server besides prompt and sampling, and how."""

    reasoning_effort: Annotated[
        Effort | None,
        note("How much a model that reasons is to think.  [default: the server's]"),
    ] = None
    reasoning_budget: Annotated[Positive | None, note("The most tokens that a model may think.", metavar="TOKENS")] = (
        None
    )
    keep_reasoning: Annotated[bool, note("Keep only the replies of models in the run folder, not their reasoning.")] = (
        True
    )
    system: Annotated[str | None, note("System text before every prompt; @FILE reads it.", metavar="TEXT|@FILE")] = None
    request_field: Annotated[
        tuple[str, ...],
        note("Add a field to every request, null to leave one out. Repeat for several.", metavar="KEY=JSON"),
    ] = ()
    template_option: Annotated[
        tuple[str, ...],
        note(
            "Set a variable of the model's chat template (vLLM, SGLang, llama.cpp, hf/): enable_thinking=false.",
            metavar="KEY=JSON",
        ),
    ] = ()
    header: Annotated[
        tuple[str, ...],
        note(
            "Send an HTTP header; $NAME in its value is read from the environment, as keys must be.",
            metavar="NAME=VALUE",
        ),
    ] = ()
    api_version: Annotated[
        str | None,
        note(
            "The address is Azure's, with this api-version; models are named by their deployment.",
            metavar="DATE",
        ),
    ] = None
    stream: Annotated[
        Streaming,
        note(
            "Have replies streamed: where a server wants it or cuts off what is silent for long, always or never.",
        ),
    ] = "auto"
    strict_parameters: Annotated[
        bool,
        note("Stop if a server refuses a parameter. Otherwise the parameter is left out, with a message."),
    ] = False


class TaskOptions(Struct, frozen=True, kw_only=True):
    """Which questions, and how they are asked."""

    data: Annotated[
        Path | None,
        note("Folder of the published files. Default: VIVA_DATA, else what `viva fetch` got, else the bundled sample."),
    ] = None
    language: Annotated[
        tuple[str, ...], note("en, zh, de, fr (CS-Bench); several: en,zh or repeat.", metavar="LANG")
    ] = ()
    shots: Annotated[
        Annotated[int, Meta(ge=0, le=20)] | None,
        note("Exemplars before the question.  [default: the paper's; 1 for CLR-Bench, else 0]"),
    ] = None
    cot: Annotated[bool, note("Chain of thought: ask for reasoning before the answer.")] = False
    form: Annotated[Literal["chat", "base"], note("Chat messages, or raw text for a base model to continue.")] = "chat"
    only: Annotated[
        Literal["", "comprehension"], note("Only the questions that need no judge.", metavar="comprehension")
    ] = ""
    limit: Annotated[Positive | None, note("Ask so many questions, evenly spread over the set.")] = None
    questions: Annotated[
        Path | None,
        note(
            "Ask only the questions whose ids this file lists: CSV or JSONL with a column `question` (such "
            "as the anchors of `viva item-analysis`), or a text file with one id on each line.",
            metavar="FILE",
        ),
    ] = None
    seed: Annotated[
        int | None, note("Draws exemplars and baselines; when given, also the seed of every request.  [default: 0]")
    ] = None
    prompts: Annotated[
        Path | None,
        note(
            "TOML file of prompt templates that replace the bundled ones.",
        ),
    ] = None
    context: Annotated[
        Positive | None,
        note(
            "The model's context in tokens: exemplars that do not fit are dropped, the longest first, and counted.",
        ),
    ] = None
    rationale: Annotated[
        bool,
        note("Ask for a rationale and an answer, and grade both (CLR-Bench's protocol): CS-Bench, CMMLU."),
    ] = False
    encoder: Annotated[
        str | None,
        note(
            "Compares rationales and open-ended answers with the gold before a judge does.  "
            "[default: the paper's; roberta-large for CLR-Bench, else none]",
            metavar="NAME|FOLDER|none",
        ),
    ] = None
    answer_by: Annotated[
        Choosing | None,
        note(
            "Take the most probable option, by its letter's token or its whole text, in place of reading a "
            "reply: weights (hf/), and servers that return logprobs."
        ),
    ] = None
    as_published: Annotated[bool, note("Grade as the authors' scripts do, defects included.")] = False
    extraction: Annotated[
        Extraction,
        note(
            "The letter of a reply that counts: the one it commits to; the first or last that stands by itself, or "
            'only what "the answer is" states, to match other tools.',
        ),
    ] = "stated"
    shard: Annotated[
        str | None,
        note(
            "Only every N-th question, from the I-th on: one task of an array of N (`viva merge` makes them one run).",
            metavar="I/N",
        ),
    ] = None
    shuffle: Annotated[
        bool,
        note(
            "Ask the questions in a random order, drawn by --seed: those answered so far are a random draw, as "
            "`viva compare --anytime` needs.",
        ),
    ] = False
    strict: Annotated[
        bool,
        note("Refuse a set with questions that have no usable gold. Otherwise these are left unscored."),
    ] = False
    panel: Annotated[
        Panel, note("How several verdicts on one answer are combined; without a majority there is none.")
    ] = "mean"
    rubric: Annotated[Path | None, note("TOML file that replaces the judge's rubric.", metavar="FILE")] = None


class SamplingOptions(Struct, frozen=True, kw_only=True):
    """How answers are drawn."""

    samples: Annotated[Positive | None, note("Answers to each question.  [default: the paper's; mostly 1]")] = None
    repeats: Annotated[int, Meta(ge=1), note("Run it so often; the tables show mean ± sd.")] = 1
    temperature: Annotated[
        str | None, note("A number, or `server` to send none.  [default: the paper's; mostly 0]")
    ] = None
    top_p: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | None,
        note("Nucleus sampling.  [default: the paper's; mostly not sent]"),
    ] = None
    max_tokens: Annotated[
        Positive | None,
        note("Longest reply.  [default: the paper's; mostly 2048; 32,768 for models that reason]"),
    ] = None


class WeightsOptions(Struct, frozen=True, kw_only=True):
    """How weights on a disk are opened."""

    revision: Annotated[
        str | None,
        note("hf/: branch, tag or commit; several are asked one by one.", metavar="NAME[=TOKENS],..."),
    ] = None
    dtype: Annotated[Dtype, note("hf/: numbers to compute with; auto is float32 on a CPU, as stored on a GPU.")] = (
        "auto"
    )
    device: Annotated[str, note("hf/: cpu, cuda, cuda:1, or map to spread a model over all there is.")] = "auto"
    bits: Annotated[Literal["4", "8"] | None, note("hf/: quantise to so many bits (bitsandbytes).")] = None
    adapter: Annotated[str | None, note("hf/: a PEFT adapter over the weights.", metavar="NAME|FOLDER")] = None
    trust_remote_code: Annotated[bool, note("hf/: run code that comes with the weights, with all your rights.")] = False
    template: Annotated[
        str | None,
        note(
            "Prompt template in place of the model's own chat template: raw, or a family such as qwen or "
            "llama2 (`viva list --templates`); also for completion endpoints.",
            metavar="FAMILY|raw",
        ),
    ] = None
    batch_size: Annotated[Positive | None, note("hf/: rows at once.  [default: automatic]")] = None

    def weights(self) -> Weights:
        """Return the options as a model takes them; the revision is part of the model's name."""
        return Weights(
            dtype=self.dtype,
            device=self.device,
            bits=cast("Literal[0, 4, 8]", int(self.bits or 0)),
            adapter=self.adapter or "",
            trust_remote_code=self.trust_remote_code,
            template=self.template or "",
            batch=self.batch_size or 0,
        )


class JudgeOptions(Struct, frozen=True, kw_only=True):
    """Who judges what no rule can grade."""

    judge: Annotated[
        tuple[str, ...],
        note(
            "Model that grades what no rule can (blanks, open-ended answers, rationales). Repeat for a panel.",
            metavar="MODEL[@URL]",
        ),
    ] = ()
    judge_samples: Annotated[int, Meta(ge=1), note("Verdicts per answer.")] = 1
    judge_base_url: Annotated[
        str | None, note("The judge's server.  [default: the examinee's server]", metavar="URL")
    ] = None
    judge_key_env: JudgeKey = None
    verdicts: Annotated[
        VerdictFormat,
        note(
            "How judges write verdicts: a last line that carries a nonce, which no answer can know; json, "
            "the same where the server holds replies to a schema; or a bare line, which a quoted answer can bring, "
            "too.",
        ),
    ] = "nonce"
    judge_reasoning_effort: Annotated[Effort | None, note("How much a judge that reasons is to think.")] = None
    judge_reasoning_budget: Annotated[
        Positive | None, note("Tokens that a judge may think at most.", metavar="TOKENS")
    ] = None
    judge_request_field: Annotated[
        tuple[str, ...], note("Add a field to every request to a judge.", metavar="KEY=JSON")
    ] = ()


Progress = Annotated[Literal["auto", "live", "plain", "quiet"], note("A live line, plain lines for logs, or nothing.")]


class LimitOptions(RunLimits, frozen=True, kw_only=True):
    """How hard and how long to ask."""

    price: Annotated[
        tuple[str, ...],
        note(
            "US dollars per million tokens, if the list price is unknown or you pay another.",
            metavar="[MODEL=]IN/OUT",
        ),
    ] = ()
    progress: Progress = "auto"
    unsafe_host_execution: Annotated[
        bool,
        note(
            "Run programs that models wrote WITHOUT a sandbox, with all your rights: they can read, send "
            "and delete whatever you can.",
        ),
    ] = False
    backend: Annotated[
        str,
        note(
            "Where programs, encoders and weights are worked on: this machine, or a Ray cluster.",
            metavar="local|ray[://HOST:PORT]",
        ),
    ] = "local"
    no_wait: Annotated[bool, note("--batch: submit requests, read finished ones, and end; resume goes on.")] = False
    poll: Annotated[
        float, Meta(ge=0.01), note("--batch: between two looks at what is handed in.", metavar="SECONDS")
    ] = 60.0
    env_file: Annotated[
        Path | None,
        note(
            "Read variables that are not set, such as keys, from this file (.env); a run folder does not keep its "
            "name.",
            metavar="FILE",
        ),
    ] = None
    trust_endpoints: Annotated[
        bool,
        note(
            "Send requests and keys where the run folder says, although you did not begin the run here "
            "(its run.json names the addresses and the variables of the keys).",
        ),
    ] = False
    trust_remote_code: Annotated[
        bool,
        note(
            "hf/: run code that comes with the weights, with all your rights; a run that was begun so needs it again.",
        ),
    ] = False

    def of_run(self) -> RunLimits:
        """Return those that run.json keeps."""
        return pick(RunLimits, asdict(self))


class FolderOptions(Struct, frozen=True, kw_only=True):
    """The run folder, and runs whose answers it may take."""

    run: Annotated[Path | None, note("Run folder.  [default: a new one in runs/]", metavar="FOLDER")] = None
    reuse: Annotated[
        tuple[Path, ...], note("Take answers to identical requests from an earlier run.", metavar="RUN")
    ] = ()


class PublishedRows(Struct, frozen=True, kw_only=True):
    """Which published rows the tables show."""

    published_rows: Annotated[
        str,
        note(
            "Published rows to show in the tables: named (gpt-4,llama3-8b), or the next above and below, or none.",
            metavar="MODEL,...|nearest|none",
        ),
    ] = "nearest"


SUFFIXES = {".csv": "csv", ".json": "json", ".md": "markdown", ".tex": "latex"}


def form_of(form: str | None, out: Path | None, usual: str = "terminal") -> str:
    """Return the `form`, else that of the file's suffix, else the `usual` one. Raises VivaError for an unknown one."""
    known = {".html" if usual == "html" else ".txt": usual, **SUFFIXES}
    suffix = out.suffix.lower() if out else ""
    if not form and suffix not in ("", ".bib", *known):  # a paper's entry is a text
        raise VivaError(f"{out}: no {suffix} is written; there are: {', '.join(known)}")
    return form or known.get(suffix, usual)


class OutputOptions(PublishedRows, frozen=True, kw_only=True):
    """How results are shown."""

    format: Annotated[
        Literal["terminal", "json", "csv", "markdown", "latex"] | None,
        note("How the tables are printed.  [default: terminal; in a file, as its name says]"),
    ] = None
    out: Annotated[
        Path | None, note("Write all of it to a file instead; the name says how: .csv, .json, .md, .tex, else .txt.")
    ] = None
    tables: Annotated[bool, note("The breakdowns and signatures, in place of one screen.")] = False
    all: Annotated[bool, note("All of it: also the long tables (every subject).")] = False

    def __post_init__(self) -> None:
        _ = self.form  # refuses a name before anything is asked

    @property
    def everything(self) -> bool:
        """Whether to show everything, as in files and in forms other than the terminal's."""
        return self.all or self.out is not None or self.form != "terminal"

    @property
    def form(self) -> str:
        """How it is written."""
        return form_of(self.format, self.out)


class AnswerFileOptions(Struct, frozen=True, kw_only=True):
    """How files of answers are read (`viva grade`)."""

    wrote: Annotated[
        str | None,
        note(
            f"Which tool wrote the ANSWERS: {', '.join(FORMS)}.  [default: told by their content]",
            metavar="NAME",
            spelled=("--from",),
        ),
    ] = None
    question_column: Annotated[str, note("Of a table: the question, its id or its text.", metavar="NAME")] = ""
    text_column: Annotated[str, note("Of a table: the replies.", metavar="NAME")] = ""
    by_order: Annotated[
        bool,
        note(
            "Where neither id nor text tells the question, its place does: there must be as many as questions.",
        ),
    ] = False


BUNDLED = "bundled"
"""Value in place of a rubric file, for the benchmark's own rubric."""


class RejudgeOptions(Struct, frozen=True, kw_only=True):
    """What of a run's judging changes. None and () leave it as it is."""

    judge: Annotated[
        tuple[str, ...],
        note("Judge by this model in place of the run's judges. Repeat for a panel.", metavar="MODEL[@URL]"),
    ] = ()
    panel: Annotated[Panel | None, note("How several verdicts on one answer are combined.  [default: the run's]")] = (
        None
    )
    rubric: Annotated[
        Path | None,
        note("TOML file that replaces the judge's rubric.  [default: the run's]", metavar=f"FILE|{BUNDLED}"),
    ] = None
    judge_samples: Annotated[Annotated[int, Meta(ge=1)] | None, note("Verdicts per answer.  [default: the run's]")] = (
        None
    )
    judge_base_url: JudgeUrl = None
    judge_key_env: JudgeKey = None
    verdicts: Annotated[
        VerdictFormat | None,
        note(
            "How judges write verdicts (see `viva run --help-all`).  [default: the run's; nonce with --judge or "
            "--rubric]",
        ),
    ] = None
    encoder: Annotated[
        str | None,
        note("Compare with this encoder from now on.  [default: the run's]", metavar="NAME|FOLDER|none"),
    ] = None

    def __bool__(self) -> bool:
        return any(value not in (None, ()) for value in astuple(self))


CONSENT = ("trust_endpoints", "trust_remote_code", "unsafe_host_execution")
"""Options by which the user consents, on the command line or in a program; never read from folders or files."""
NOT_IN_RUNS = ("env_file", "progress", "run", "reuse")
"""Options that concern only the process, not the run: run.json does not keep them."""
RUN = (
    ModelOptions,
    ServerOptions,
    TaskOptions,
    SamplingOptions,
    WeightsOptions,
    JudgeOptions,
    LimitOptions,
    FolderOptions,
    PublishedRows,
)
"""Options of `viva.run` and of a run configuration file."""
GRADE = (AnswerFileOptions, TaskOptions, JudgeOptions, LimitOptions, FolderOptions, PublishedRows)
RESUME = (LimitOptions, FolderOptions, PublishedRows)


class ModelPlan(Struct, frozen=True, kw_only=True):
    """How a model is reached, asked and opened."""

    reach: ModelOptions = ModelOptions()
    server: ServerOptions = ServerOptions()
    weights: WeightsOptions = WeightsOptions()


class RunPlan(Struct, frozen=True, kw_only=True):
    """What a run is to do: made once, by the command line, by a program, or by a file."""

    benchmarks: tuple[str, ...]
    models: tuple[str, ...] = ()
    usual: ModelPlan = ModelPlan()
    own: dict[str, ModelPlan] = {}
    """Name in `models` → that model's own options."""
    task: TaskOptions = TaskOptions()
    draw: SamplingOptions = SamplingOptions()
    judging: JudgeOptions = JudgeOptions()
    limits: LimitOptions = LimitOptions()
    folder: FolderOptions = FolderOptions()
    rows: PublishedRows = PublishedRows()
    command: tuple[str, ...] = ()
    """The command line, for run.json."""

    @classmethod
    def of(
        cls,
        values: Mapping[str, Any],
        benchmarks: Sequence[str],
        models: Sequence[str],
        settings: Mapping[str, Mapping[str, Any]],
        command: Sequence[str],
    ) -> RunPlan:
        """Make a plan from option values by name; `settings`: options of single models."""
        own = {name: pick(ModelPlan, {**values, "revision": None, **changes}) for name, changes in settings.items()}
        return pick(cls, values, benchmarks=(*benchmarks,), models=(*models,), own=own, command=(*command,))

    def kept(self, without: Collection[str] = ()) -> dict[str, Any]:
        """Return the options that differ from their defaults, as in a configuration file; never those of `CONSENT`."""

        def non_default(options: Struct) -> dict[str, Any]:
            left_out = (*_NOT_OPTIONS, *CONSENT, *without)
            return {name: value for name, value in changed(options).items() if name not in left_out}

        usual, own = non_default(self), {name: non_default(model_plan) for name, model_plan in self.own.items()}
        models = [
            {"name": name, **{key: value for key, value in own[name].items() if usual.get(key) != value}}
            if name in own
            else name
            for name in self.models
        ]
        return {"benchmarks": [*self.benchmarks], "model": models, **usual}


_NOT_OPTIONS = ("benchmarks", "models", "own", "command")


class ResumePlan(Struct, frozen=True, kw_only=True):
    """Changes of options when a run is resumed."""

    rejudging: RejudgeOptions = RejudgeOptions()
    limits: LimitOptions = LimitOptions()
    given: frozenset[str] = frozenset()
    """Names of the limits given on resuming; the run keeps its values of the others."""
    folder: FolderOptions = FolderOptions()
    rows: PublishedRows = PublishedRows()

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> ResumePlan:
        """Make a plan from option values by name; None and () mean not given."""
        given = {name: value for name, value in values.items() if value not in (None, ())}
        return pick(cls, given, given=frozenset(given))

    def limits_after(self, known: RunLimits | None) -> LimitOptions:
        """Return the given limits, and the run's for the others. Caps count all that the run ever spent."""
        kept = asdict(known or RunLimits())
        return replace(self.limits, **{name: value for name, value in kept.items() if name not in self.given})


class GradePlan(Struct, frozen=True, kw_only=True):
    """How answers collected elsewhere are graded."""

    benchmark: str
    answers: tuple[Path, ...]
    reading: AnswerFileOptions = AnswerFileOptions()
    task: TaskOptions = TaskOptions()
    judging: JudgeOptions = JudgeOptions()
    limits: LimitOptions = LimitOptions()
    folder: FolderOptions = FolderOptions()
    rows: PublishedRows = PublishedRows()
    command: tuple[str, ...] = ()


def per_provider(values: tuple[str, ...], field: str) -> dict[str, str]:
    """Parse `64` and `openai=32` as {"": "64", "openai": "32"}."""
    amounts: dict[str, str] = {}
    for value in values:
        provider, _, amount = value.rpartition("=")
        if not amount or provider not in ("", *PROVIDERS):
            raise VivaError(f"{value!r}: write N or PROVIDER=N, with a provider of {', '.join(PROVIDERS)}", field=field)
        amounts[provider] = amount
    return amounts


def refuse_unjudged(choice: TaskOptions, judging: JudgeOptions) -> None:
    """Refuse a rubric where no judge is named."""
    if choice.rubric and not judging.judge:
        raise VivaError(
            f"{choice.rubric} is for a judge, and there is none: add {option('judge', 'MODEL')}, or leave it out "
            "and give "
            f"it to `viva resume RUN {flag('judge', 'MODEL')}` later",
            field="rubric",
        )
