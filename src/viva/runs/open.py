"""Opening a run for work: its exams, models, judges and encoder, and the evidence in its folder.

Also the user's consent, which a run folder cannot give: where keys are sent, and whether code of weights is run.

A folder may come from a stranger. Options of consent count only for the command that they were given to; addresses
count if this user is known to have approved them (`is_approved`).
"""

from __future__ import annotations

import hashlib
import hmac
import io
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct

from viva.benchmarks.wrapper import Selected
from viva.contracts import BatchModel, Encoder, Exam, Model, Sandbox
from viva.distributed import refuse_no_place
from viva.engine.budget import Price, list_price
from viva.engine.folder import EncoderRecord, ModelRecord, RunFolder, RunRecord
from viva.engine.journal import Keys
from viva.engine.reviews import ReviewLog
from viva.engine.stages import Evaluation, EvidenceStore, Judge, JudgePanel, SimilarityStore
from viva.errors import DataError, MissingEncoderError, StorageError, VivaError, option
from viva.files import UNREADABLE, read_regular, write_whole
from viva.models.replay import KEPT, Replay
from viva.providers import Endpoint, RequestOptions, Weights, connect, traits_of
from viva.runs.config import LimitOptions, per_provider
from viva.runs.draws import DRAWS, read_draws
from viva.runs.exams import note_judged, reopen, sample_note, set_notes
from viva.runs.progress import notify, say
from viva.secretkey import derived_key, existing_key
from viva.visible import one_line

MOST_A_MINUTE = 1e12
MOST_ANSWERS = 100_000_000  # two numbers in a stranger's run.json must not keep a process busy for years
REVIEWS = "reviews.jsonl"
"""The experts' marks, in a run folder."""


class OpenRun(Struct, kw_only=True):
    """A run opened for work: its folder, exams, models and judge."""

    folder: RunFolder
    exams: list[Exam]
    evaluations: list[Evaluation]
    judge_panel: JudgePanel | None
    limits: LimitOptions
    encoder: Encoder | None = None
    """Open only if texts may have to be compared."""
    kept: dict[str, bytes] = {}
    """Files that a new run keeps in its folder, such as converted answers of another tool."""
    resumable: bool = False
    """Whether a stage left something undone that `viva resume` may do."""

    @property
    def models(self) -> list[Model]:
        """All examined models, each once."""
        return list({id(evaluation.model): evaluation.model for evaluation in self.evaluations}.values())

    @property
    def answers_wanted(self) -> int:
        """Number of answers to collect in all."""
        return sum(len(evaluation.exam) * evaluation.samples for evaluation in self.evaluations)

    @property
    def judges(self) -> tuple[Judge, ...]:
        """The judges of its panel."""
        return self.judge_panel.judges if self.judge_panel else ()

    def notes(self) -> list[str]:
        """Return the notes to show with the scores."""
        records = self.folder.record.exams
        samples = [
            (exam.spec.label, record.questions)
            for exam, record in zip(self.exams, records, strict=True)
            if record.data is None
        ]
        return [
            *([sample_note(samples)] if samples else []),
            *(note for exam in self.exams for note in set_notes(exam)),
            *self._left_out(),
            *self.conflicts(),
        ]

    def _left_out(self) -> Iterator[str]:
        """Yield a note on exemplars that did not fit, for each exam, or each model where their numbers differ."""
        for name in dict.fromkeys(evaluation.label for evaluation in self.evaluations):
            evaluations = [evaluation for evaluation in self.evaluations if evaluation.label == name]
            same = len({evaluation.dropped for evaluation in evaluations}) == 1
            for evaluation in evaluations[:1] if same else evaluations:
                if evaluation.dropped:
                    whose = "the context" if same else f"the context of {evaluation.model.name}"
                    yield f"{name}: {evaluation.dropped} exemplars did not fit {whose} and were left out."

    def conflicts(self) -> list[str]:
        """Return notes on models that judge their own answers, which they tend to prefer."""
        judges = {tuple(sorted(judge.model.identity.items())) for judge in self.judges}
        return [
            f"{model.name} is examinee and judge: models favour their own answers; take another judge, or a panel."
            for model in self.models
            if tuple(sorted(model.identity.items())) in judges
        ]


QUIET = LimitOptions(progress="quiet")
"""Limits for reading or grading a run."""


def prepare(
    folder: RunFolder,
    limits: LimitOptions = QUIET,
    exams: list[Exam] | None = None,
    own: Mapping[str, Model] | None = None,
    *,
    asking: bool = False,
) -> OpenRun:
    """Open what run.json describes: exams (unless given), models (unless `own` has one of the name), judges, prices.

    Only if `asking`, models get their keys and code of weights may run; on resuming, `confirm_endpoints` must have
    confirmed the folder's addresses before.
    """
    read_environment(limits.env_file)
    record = folder.record if asking else without_consent(folder.record)
    if asking:
        refuse_inherited_code((*record.models, *record.judges), limits)
    if limits.batch is None and folder.batched():  # runs of an earlier Viva do not store the option
        limits = msgspec.structs.replace(limits, batch=True)
    opened = exams or [_drawn(reopen(exam), folder) for exam in record.exams]
    for known, exam in zip(record.exams, opened, strict=True):
        note_judged(known, exam)
    prices = prices_of(record, prices_said(limits.price))
    if asking:
        folder.record.prices = prices
    models = [
        (own or {}).get(model.name) or placed(reach(_located(model, folder), record.seed), limits)
        for model in record.models
    ]
    for model in models if asking else ():
        if isinstance(model, Replay) and model.mended:
            notify(_mended(model))
    twice = [name for name, times in Counter(model.name for model in models).items() if times > 1]
    if twice:
        raise VivaError(f"two models are both called {twice[0]}: nobody could tell their results apart")
    evaluations = [
        Evaluation(
            exam=exam,
            label=exam.spec.label,
            model=model,
            sampling=remembered.sampling or record.sampling,
            samples=(remembered.samples or record.samples) * record.repeats,
            per_repeat=remembered.samples or record.samples,
            keys=Keys(model.identity, exam.spec.benchmark),
            price=_price(model, prices, limits),
            system=known.request.system if known.request else "",
            seed=record.base_seed,
        )
        for model, known in zip(models, record.models, strict=True)
        for exam, remembered in zip(opened, record.exams, strict=True)
    ]
    judges = [placed(reach(judge, record.seed, "judge_base_url"), limits) for judge in record.judges]
    asked = tuple(Judge(model, _price(model, prices, limits)) for model in judges)
    judge_panel = JudgePanel(asked, record.judge_samples, record.verdicts, record.base_seed)
    _check_limits(limits, (*models, *judges), prices)
    for judge in judges if record.verdicts == "json" else ():
        kind = traits_of(judge.identity.get("provider", ""))
        if not (kind.served or kind.recorded):
            raise VivaError(
                f"{option('verdicts', 'json')} needs a server that holds replies to a schema, and {judge.name} is none"
            )
    run = OpenRun(
        folder=folder, exams=opened, evaluations=evaluations, judge_panel=judge_panel if judges else None, limits=limits
    )
    if run.answers_wanted > MOST_ANSWERS:
        raise DataError(f"{folder.path} wants more than {MOST_ANSWERS:,} answers: make several runs of it")
    return run


def _drawn(exam: Exam, folder: RunFolder) -> Exam:
    """Return the exam; for an adaptive run, only the questions drawn so far."""
    if folder.record.adaptive is None:
        return exam
    _, draws = read_draws(folder)
    return Selected(exam, [draw.question for draw in draws], str(folder.path / DRAWS))


def _mended(replay: Replay) -> str:
    """Return a note on answers whose text had to be altered."""
    numbers = ", ".join(map(str, replay.mended[:5])) + (" ..." if replay.mended[5:] else "")
    return (
        f"{replay.name}: half of a surrogate pair in line {numbers}, which nobody can write down: a question mark "
        "stands in its place"
    )


def _located(model: ModelRecord, folder: RunFolder) -> ModelRecord:
    """Return a replay's record with the full path of a file that its run keeps."""
    inside = kept_file(model.name)
    if inside is None:
        raise DataError(f"run.json names {model.name[:200]!r}, which is no file of its folder")
    return msgspec.structs.replace(model, name=f"replay/{folder.path / inside}") if inside else model


def kept_file(model: str) -> str | None:
    """Return the file in its run's folder that a replay reads; "" for a file elsewhere, None for an invalid name."""
    start = f"replay/{KEPT}"
    name = model.removeprefix(start) if model.startswith(start) else ""
    return None if model == start or "/" in name or name in (".", "..") else name


def open_judge_panel(records: Sequence[ModelRecord], samples: int, seed: int, limits: LimitOptions) -> JudgePanel:
    """Open judges for requests besides a run's own. Raises VivaError for limits that cannot be kept."""
    refuse_inherited_code(records, limits)
    prices = prices_said(limits.price)
    models = [placed(reach(record, seed, "judge_base_url"), limits) for record in records]
    _check_limits(limits, models, prices)
    return JudgePanel(tuple(Judge(model, _price(model, prices, limits)) for model in models), samples)


def _check_limits(limits: LimitOptions, asked: Sequence[Model], prices: Mapping[str, Price]) -> None:
    ceilings(limits)
    paces(limits.requests_per_minute, "requests_per_minute")
    paces(limits.tokens_per_minute, "tokens_per_minute")
    if limits.backend != "local":
        refuse_no_place(limits.backend)
    names = [model.name for model in asked]
    if strange := sorted(prices_said(limits.price).keys() - {"", *names}):
        notify(f"{option('price')}: no model is called {', '.join(strange)} here, but {', '.join(names)}")
    if limits.max_cost is not None:
        for model in asked:
            if _price(model, prices, limits) is None:
                raise VivaError(
                    f"needs the price of {model.name}: give {option('price')} {model.name}=IN/OUT", field="max_cost"
                )


def open_encoder_of(opened: OpenRun, *, new: bool) -> None:
    """Load the exams' encoder, and write into run.json what its similarities depend on.

    Raises MissingEncoderError where it cannot be loaded, VivaError where it differs from the run's.
    """
    wanted = {exam.spec.encoder for exam in opened.exams if exam.spec.encoder}
    if not wanted:
        return
    if len(wanted) > 1:
        raise VivaError(f"one run compares with one encoder; here are {' and '.join(sorted(wanted))}")
    try:
        encoder = open_encoder(wanted.pop(), opened.limits)
    except VivaError as problem:
        raise MissingEncoderError(str(problem)) from None
    folder = opened.folder
    record = EncoderRecord(name=encoder.name, identity=dict(encoder.identity))
    known = folder.record.encoder
    if known is None or new:
        folder.record.encoder = record
    elif known.identity != record.identity:
        both = {**known.identity, **record.identity}
        differing = next((key for key in both if known.identity.get(key) != record.identity.get(key)), "name")
        raise VivaError(
            f"another {known.name} compared this run: its {differing} was "
            f"{known.identity.get(differing)!r}, and is {record.identity.get(differing)!r} now; put the old one back, "
            f"or start a new run ({option('reuse')} takes the answers over)"
        )
    opened.encoder = encoder


def reach(record: ModelRecord, seed: int, field: str = "base_url") -> Model:
    """Connect to a model that run.json names; `field` is the option of its address, for errors."""
    return connect(
        record.name,
        Endpoint(
            base_url=record.base_url,
            key_variable=record.key_variable,
            seed=seed,
            weights=record.weights or Weights(),
            template=record.template,
            shown=record.shown,
            request=record.request or RequestOptions(),
            adapted=record.adapted,
            field=field,
        ),
    )


def prices_said(values: tuple[str, ...]) -> dict[str, Price]:
    """Parse `--price` values: model ("" for all) → price. Raises VivaError for an invalid one."""
    prices: dict[str, Price] = {}
    for value in values:
        name, _, amounts = value.rpartition("=")
        try:
            paid, earned = (float(part) for part in amounts.split("/"))
        except ValueError:
            paid = earned = math.nan
        if not (0 <= paid < math.inf and 0 <= earned < math.inf):
            raise VivaError(f"{value!r}: write IN/OUT or MODEL=IN/OUT, in US dollars per million tokens", field="price")
        prices[name] = Price(paid, earned)
    return prices


def prices_of(record: RunRecord, given: Mapping[str, Price]) -> dict[str, Price]:
    """Return a run's prices, overridden by those `given` now; one for all models replaces each model's."""
    return dict(given) if "" in given else {**record.prices, **given}


def price_of(model: Model, given: Price | None) -> Price | None:
    """Return a model's price: the user's, zero for providers without cost, else the vendor's list price if known."""
    provider = model.identity.get("provider", "")
    kind = traits_of(provider)
    if given or not kind.paid:
        return given or Price(0.0, 0.0)
    if kind.priced_at not in model.identity.get("endpoint", ""):
        return None  # a server of the user's own has no list price
    return list_price(kind.priced_as or provider, model.identity.get("model", ""))


def recorded_price(model: ModelRecord, given: Mapping[str, Price], *, batched: bool = False) -> Price | None:
    """Return the price of a model in run.json: the user's, else the vendor's list price, with the batch discount."""
    provider, _, name = model.name.partition("/")
    traits, price = traits_of(model.name), given.get(model.shown or model.name) or given.get("")
    if price or model.base_url is not None:  # a server of the user's own has no list price
        return price
    listed = list_price(traits.priced_as or provider, name)
    return listed.times(traits.batch_share) if listed and batched else listed


def _price(model: Model, given: Mapping[str, Price], limits: LimitOptions) -> Price | None:
    """Return the user's price unchanged, or the list price with the batch discount."""
    given_price = given.get(model.name) or given.get("")
    price = price_of(model, given_price)
    if limits.batch and price and not given_price and isinstance(model, BatchModel):
        return price.times(model.batches().share)
    return price


def ceilings(limits: LimitOptions) -> dict[str, int]:
    """Parse `--concurrency`: provider → requests in flight, 0 for `auto`. Raises VivaError for an invalid number."""
    ceilings_by_provider: dict[str, int] = {}
    for provider, amount in per_provider(limits.concurrency, "concurrency").items():
        if provider == "hf":
            raise VivaError(
                f"hf={amount}: weights on a disk are asked in batches; say {option('batch_size', 'N')}",
                field="concurrency",
            )
        if amount != "auto" and not (amount.isdecimal() and int(amount) > 0):
            raise VivaError(f"{amount!r} is neither a number from 1 on nor `auto`", field="concurrency")
        ceilings_by_provider[provider] = 0 if amount == "auto" else int(amount)
    return ceilings_by_provider


def paces(values: tuple[str, ...], field: str) -> dict[str, float]:
    """Parse limits a minute: provider → number, 0.0 for `none`. Raises VivaError unless positive."""
    pace_by_provider: dict[str, float] = {}
    for provider, amount in per_provider(values, field).items():
        try:
            pace = 0.0 if amount == "none" else float(amount)
        except ValueError:
            pace = -1.0
        if not 0 <= pace <= MOST_A_MINUTE or (not pace and amount != "none"):
            raise VivaError(f"{amount!r} is neither a number above 0 nor `none`", field=field)
        pace_by_provider[provider] = pace
    return pace_by_provider


def open_evidence(opened: OpenRun, stack: ExitStack) -> EvidenceStore:
    """Open all evidence in the run folder, for reading."""
    folder = opened.folder
    stages = ("annotations", "executions", "similarities")
    verdicts, executions, similarities = (folder.journal(stage, write=False) for stage in stages)
    for journal in (verdicts, executions, similarities):
        stack.callback(journal.close)
    encoder, log = folder.record.encoder, ReviewLog(folder.path / REVIEWS)
    if log.unread and folder.writable:
        say(f"viva: {log.unread}")
    return EvidenceStore(
        judge_panel=opened.judge_panel,
        verdicts=verdicts,
        executions=executions,
        similarity_store=SimilarityStore(encoder.identity, similarities) if encoder else None,
        marks=log.marks if log.reviews else None,
    )


def open_sandbox(limits: LimitOptions) -> tuple[Sandbox, int]:
    """Return a sandbox, and the number of programs to run at once. Raises VivaError where none can be run."""
    unsafe = limits.unsafe_host_execution
    if limits.backend == "local":
        from viva.sandbox import Sandbox as Bubble

        return Bubble(unsafe_host_execution=unsafe), os.cpu_count() or 1
    from viva.distributed.replicas import RemoteSandbox
    from viva.sandbox.languagetables import canonical, not_there
    from viva.sandbox.remote_sandbox import PlacedSandbox

    sandbox = RemoteSandbox(limits.backend, partial(PlacedSandbox, unsafe_host_execution=unsafe), canonical, not_there)
    try:
        sandbox.begin()
    except BaseException:
        sandbox.end()
        raise
    say(f"viva: programs run on {limits.backend}")
    return sandbox, sandbox.jobs


def open_encoder(name: str, limits: LimitOptions) -> Encoder:
    """Open an encoder, here or on the cluster. Raises VivaError where it cannot be used."""
    if limits.backend == "local":
        from viva.models.encoder import open_encoder as open_here

        return open_here(name)
    from viva.distributed.replicas import RemoteEncoder
    from viva.models.remote_workers import encoder_worker

    return RemoteEncoder(limits.backend, partial(encoder_worker, name))


def placed(model: Model, limits: LimitOptions) -> Model:
    """Return the model; weights on a disk as a model of the cluster that --backend names."""
    if limits.backend == "local" or model.rate_limit_group != "hf":
        return model
    from viva.distributed.replicas import RemoteModel
    from viva.models.local.weightsmodel import LocalModel
    from viva.models.remote_workers import model_worker

    if not isinstance(model, LocalModel):
        return model
    if model.weights.device not in ("auto", "cpu", "cuda"):
        raise VivaError(
            f"{model.weights.device} and {option('backend')} {limits.backend}: every replica has one card that Ray "
            f"gives it; leave {option('device')} out",
            field="device",
        )
    return RemoteModel(limits.backend, model, partial(model_worker, model.place, model.weights, model.name, model.said))


LARGEST = 1 << 20  # bytes


def read_environment(path: Path | None) -> None:
    """Set the variables of a file that the environment lacks, without printing any. Raises VivaError if missing."""
    if path is None:
        return
    from dotenv.parser import parse_stream

    try:
        text = read_regular(path, LARGEST, follow=True).decode("utf-8-sig")
    except OSError as problem:
        raise VivaError(f"{option('env_file')}: cannot read {path}: {problem.strerror or problem}") from None
    except UnicodeDecodeError:
        raise VivaError(f"{option('env_file')}: {path} is not UTF-8") from None
    for binding in parse_stream(io.StringIO(text)):
        if binding.error:
            where = f"{option('env_file')}: {path}, line {binding.original.line}"
            raise VivaError(f"{where}: write NAME=VALUE, quotes closed; comments begin with #")
        if binding.key and binding.value is not None and "\0" not in binding.value:
            os.environ.setdefault(binding.key, binding.value)


_NO_KEY = "VIVA_SENDS_NOTHING"
"""Placeholder of a key's variable, for models opened without sending anything."""
_SHOWN = 8
"""Most addresses named in an error or a question."""


def confirm_endpoints(folder: RunFolder, limits: LimitOptions, ask: Callable[[str, str], bool] | None = None) -> None:
    """Check, before anything is sent for a resumed run, that its user approved its addresses and key variables.

    `ask` gets a text of what would be sent where, and a question, and returns whether the user agrees; without `ask`
    the run is refused, unless `--trust-endpoints` is given. Approval is stored with the run. Raises VivaError.
    """
    if is_approved(folder.path, folder.record):
        return
    named = list(dict.fromkeys(map(_described, addressed(folder.record))))
    shown = [*named[:_SHOWN], *([f"and {len(named) - _SHOWN} more in run.json"] if named[_SHOWN:] else [])]
    if not limits.trust_endpoints:
        if ask is None:
            raise VivaError(
                f"{folder.path} was not begun by you here, and says where requests and keys go: {'; '.join(shown)}. "
                f"Nothing was sent. If you know these addresses, say {option('trust_endpoints')}"
            )
        heading = f"{folder.path} was not begun by you here. Going on with it sends requests and keys:"
        if not ask("\n  ".join([heading, *shown]), "Do you know these addresses, and may the keys go there?"):
            raise VivaError(f"nothing was sent; {option('trust_endpoints')} agrees without asking")
    keep_approval(folder)


def keep_approval(folder: RunFolder) -> None:
    """Store that the user approved the run's addresses, given on the command line or confirmed."""
    if problem := approve(folder.path, folder.record):
        again = f"going on with {folder.path} will ask whether its addresses are yours"
        notify(f"{problem}; {again} ({option('trust_endpoints')})")


def _described(model: ModelRecord) -> str:
    """Return `openai/NAME at http://… with the key in GITHUB_TOKEN`."""
    address = f" at {one_line(model.base_url, 200)}" if model.base_url else ""
    key = f"the key in {one_line(model.key_variable, 80)}" if model.key_variable else "its provider's usual key"
    headers = "".join(f" and {one_line(f'{name}: {value}', 120)}" for name, value in _headers(model))
    return f"{one_line(model.name, 200)}{address} with {key}{headers}"


def refuse_inherited_code(records: Sequence[ModelRecord], limits: LimitOptions) -> None:
    """Raise VivaError where only run.json allows the code that comes with weights to run."""
    for record in records:
        if record.weights and record.weights.trust_remote_code and not limits.trust_remote_code:
            raise VivaError(
                f"this run was begun with {option('trust_remote_code')}, and code that comes with "
                f"{one_line(record.name, 200)} "
                f"would run with all your rights: look at it, and then say {option('trust_remote_code')} again"
            )


def without_consent(record: RunRecord) -> RunRecord:
    """Return the run's record changed so that opening its models reads no key and runs no code of theirs."""
    os.environ[_NO_KEY] = "none"

    def named(models: list[ModelRecord]) -> list[ModelRecord]:
        return [
            msgspec.structs.replace(
                model,
                key_variable=_NO_KEY,
                weights=model.weights and msgspec.structs.replace(model.weights, trust_remote_code=False),
            )
            for model in models
        ]

    return msgspec.structs.replace(record, models=named(record.models), judges=named(record.judges))


FILE = "endpoints.json"
_PURPOSE = b"endpoints 1"


class Approval(Struct, kw_only=True):
    """All of endpoints.json."""

    mac: str


def addressed(record: RunRecord) -> list[ModelRecord]:
    """Return the models and judges with an address or a key variable in run.json."""
    return [
        model
        for model in (*record.models, *record.judges)
        if model.base_url or model.key_variable or "://" in model.name or _headers(model)
    ]


def is_approved(folder: Path, record: RunRecord) -> bool:
    """Return whether this user approved the run's addresses, or it has none. Raises StorageError without a secret."""
    if not addressed(record):
        return True
    try:
        approval = msgspec.json.decode(read_regular(folder / FILE, 1 << 16), type=Approval)
    except (OSError, *UNREADABLE):
        return False
    secret = existing_key(_PURPOSE)
    return secret is not None and hmac.compare_digest(
        approval.mac.encode("utf-8", "replace"), _mac(secret, record).encode()
    )


def approve(folder: Path, record: RunRecord) -> str:
    """Store this user's approval of the addresses; return why that failed, or "".

    Raises StorageError where the folder cannot be written.
    """
    if not addressed(record):
        return ""
    try:
        secret = derived_key(_PURPOSE)
    except StorageError as problem:
        return str(problem)
    try:
        write_whole(folder / FILE, msgspec.json.encode(Approval(mac=_mac(secret, record))) + b"\n")
    except OSError as problem:
        raise StorageError(f"cannot write {folder / FILE}: {problem.strerror}") from None
    return ""


def _headers(model: ModelRecord) -> tuple[tuple[str, str], ...]:
    """Return a model's headers, which may name variables of the environment."""
    return model.request.headers if model.request else ()


def _mac(secret: bytes, record: RunRecord) -> str:
    """Sign names, addresses and variables of models and judges: nothing else in run.json chooses an address."""
    content = [
        [[model.name, model.base_url, model.key_variable, *_headers(model)] for model in many]
        for many in (record.models, record.judges)
    ]
    return hmac.new(secret, msgspec.json.encode(content), hashlib.sha256).hexdigest()
