"""A run's folder: run.json says what was asked of which models; one JSONL file a stage holds what came back.

run.json          what was asked: exams, models, sampling, data fingerprints, prompts, versions
draws.jsonl       which questions an adaptive run drew, with which probabilities; calibration.json what it goes by
responses.jsonl   the examinees' replies
executions.jsonl  how their programs fared in the sandbox
similarities.jsonl how near texts come to the gold, where an encoder compares them
annotations.jsonl the judges' replies
batches.jsonl     what was handed in to the batch APIs of providers, and what became of it
errors.jsonl      what judges say of wrong answers, where `viva error-types` asked them
judge-bias.jsonl  what judges say of answers in other forms, where `viva judge-bias` asked them
reviews.jsonl     the experts' marks
scores.jsonl      a row an answer, rewritten by every scoring

The signature of every score says in one line what produced it.

`writer` finds the process that is writing to a run folder, without touching its lock.

Trying the lock (`flock`) would hold it for a moment, in which a `viva resume` would be refused. Linux lists all locks
in /proc/locks; elsewhere the process that the lock file names is looked for.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import UNSET, Meta, Struct

from viva.contracts import Adaptation
from viva.designs import Design
from viva.engine.budget import Price, RunLimits, Spent
from viva.engine.journal import Journal
from viva.errors import MissingRunError, StorageError, flag
from viva.files import UNREADABLE, LockedError, lock, open_regular, read_regular, reading, refuse_depth, write_whole
from viva.providers import RequestOptions, Weights
from viva.types import ExamSpec, Sampling, VerdictFormat

_LOCK = re.compile(r"\d+: FLOCK +\w+ +WRITE +(-?\d+) ([0-9a-f]+):([0-9a-f]+):(\d+) ")
LOCKS = Path("/proc/locks")


def writer(folder: Path) -> int:
    """Return the id of the process that holds the folder's lock, as far as can be known; 0 for none."""
    try:
        file = open_regular(folder / ".lock")
    except OSError:
        return 0
    try:
        status = os.fstat(file)
        holder = re.match(rb"pid (\d{1,9})", os.pread(file, 32, 0))
    except OSError:
        return 0
    finally:
        os.close(file)
    named = int(holder[1]) if holder else 0
    try:
        listed = LOCKS.read_text(encoding="ascii", errors="replace")
    except OSError:
        return named if _lives(named) else 0
    for process, major, minor, inode in _LOCK.findall(listed):
        same_device = (int(major, 16), int(minor, 16)) == (os.major(status.st_dev), os.minor(status.st_dev))
        # Layered file systems show another device there than `stat` does; then the process ids must agree.
        if int(inode) == status.st_ino and (same_device or int(process) == named):
            return int(process) if int(process) > 0 else named
    return 0


def _lives(process: int) -> bool:
    if not process:
        return False
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


FORMAT = 2
"""Version of the folder's layout; newer ones are refused. Format 1 had one `judge` in place of `judges`."""
_HOLDER = re.compile(rb"(pid \d{1,10}\s*)?")
"""The content of a lock file."""


SeedRule = Literal["shared", "per question"]
"""How the seeds of requests are drawn; in runs of an earlier Viva all questions share one."""
Times = Annotated[int, Meta(ge=1, le=1_000_000)]
"""Bounded repetitions: one number in a stranger's run.json must not keep a process busy for ever."""


class ExamRecord(Struct, kw_only=True):
    """An exam in run.json. `data` is None for the bundled sample.

    `samples` and `sampling` are set where they differ from the run's: every paper draws answers in its own way.
    """

    spec: ExamSpec
    data: str | None
    fingerprint: str
    questions: Annotated[int, Meta(ge=0, le=1_000_000_000)]
    version: str
    templates: dict[str, Any]
    exemplar_golds: dict[str, dict[str, int]] = {}
    """Group of questions → gold of an exemplar → how many of the exemplars in each of their prompts have it."""
    samples: Times | None = None
    sampling: Sampling | None = None
    judged: bool | None = None
    """False where it has a rubric of which no question makes use; None in runs of an earlier Viva."""

    @property
    def asks_judges(self) -> bool:
        """Whether judges, where there are any, mark answers to it."""
        return self.judged is not False and any(_rubrics(self.templates))


class ModelRecord(Struct, kw_only=True):
    """A model in run.json. `base_url` and `key_variable` say how to reach it again; the key itself is never stored."""

    name: str
    base_url: str | None = None
    key_variable: str | None = None
    weights: Weights | None = None
    """How weights on a disk were opened."""
    template: str = ""
    """The family's template, for a completion endpoint."""
    trained: float | None = None
    """Tokens that a checkpoint was trained on, where that is known."""
    shown: str = ""
    """Its name in tables; "" in runs of an earlier Viva."""
    request: RequestOptions | None = None
    """The user's options for its requests; None without any."""
    adapted: Adaptation | None = None
    """How requests were adapted to its server; None where nothing had to be."""

    @property
    def called(self) -> str:
        """Its name in tables; for a file of answers, without the folder."""
        provider, _, name = self.name.partition("/")
        return self.shown or (f"replay/{Path(name).name}" if provider == "replay" else self.name)


class Canary(Struct, frozen=True, kw_only=True):
    """An answer with a known mark, put among those that judges mark; they cannot tell it from the others.

    `mark`: a share of the full mark, for every aspect judged. It belongs to no model and counts in no mean.
    """

    exam: str
    question: str
    text: str
    mark: float


class EncoderRecord(Struct, kw_only=True):
    """The encoder in run.json: its name, and all that a similarity depends on."""

    name: str
    identity: dict[str, str]


class AdaptiveRecord(Struct, kw_only=True):
    """An adaptive run: only some questions are asked, drawn by known scores, and the score is estimated for all."""

    until: str
    """When it stops, as the user wrote it."""
    questions: Annotated[int, Meta(ge=2, le=1_000_000_000)]
    """Number of questions that the score is for."""
    known: Annotated[int, Meta(ge=1, le=1_000_000)]
    """Number of models whose scores the draws are based on."""


class RunRecord(Struct, kw_only=True):
    """All of run.json."""

    format: int = FORMAT
    viva: str
    created: str
    command: list[str]
    exams: list[ExamRecord]
    models: list[ModelRecord]
    judges: list[ModelRecord] = []
    judge_samples: Times = 1
    verdicts: VerdictFormat = "line"
    """How judges must write their verdicts; runs of an earlier Viva have bare lines."""
    canaries: list[Canary] = []
    """Answers with known marks, to check its judges."""
    encoder: EncoderRecord | None = None
    samples: Times = 1
    repeats: Times = 1
    seed: Annotated[int, Meta(ge=-(2**62), le=2**62)] = 0
    seed_rule: SeedRule = "shared"
    sampling: Sampling = Sampling()
    adaptive: AdaptiveRecord | None = None
    prices: dict[str, Price] = {}
    """The user's prices of models and judges, by name; "" for all others. No score depends on them."""
    plan: dict[str, Any] = {}
    """The user's options, as in a configuration file; {} in runs of an earlier Viva."""
    limits: RunLimits | None = None
    """None in runs of an earlier Viva."""
    spent: Spent = Spent()
    """What it took from its budget until its last regular end; requests of a killed process are in the journals."""

    @property
    def base_seed(self) -> int | None:
        """The seed from which those of requests are drawn; None where none is sent, or one for all questions."""
        return self.sampling.seed if self.seed_rule == "per question" else None

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the exams in tables."""
        return tuple(exam.spec.label for exam in self.exams)

    @property
    def shard(self) -> str:
        """Which part of a run this is ("3/8"); "" for a whole one. Raises StorageError where exams disagree."""
        shards = {exam.spec.shard for exam in self.exams}
        if len(shards) > 1:
            raise StorageError(f"a run's exams are of one shard, and here of {', '.join(map(repr, sorted(shards)))}")
        return shards.pop() if shards else ""

    def model(self, name: str) -> ModelRecord | None:
        """Return the model with that name in tables; None in runs of an earlier Viva, which did not store names."""
        called = ((model, each) for each in ("shown", "name") for model in self.models)
        return next((model for model, each in called if getattr(model, each) == name), None)


BATCHES = "batches.jsonl"
"""File of the batches handed in to providers (`batchlog`)."""
_LEFT_BEHIND = 200
"""Bytes at the end of that file that hold a last line `left`."""


class RunFolder:
    """A run on disk. Reading needs no lock; `lock` before writing."""

    def __init__(self, path: Path, record: RunRecord) -> None:
        self.path = path
        self.record = record
        self._lock = -1

    @classmethod
    def create(cls, path: Path, record: RunRecord) -> RunFolder:
        """Create a run's folder, which must be new or empty. Raises StorageError where it cannot be written."""
        try:
            path.mkdir(parents=True, exist_ok=True)
            if (path / "run.json").exists():
                raise StorageError(
                    f"{path} holds a run already: go on with `viva resume {path}`, or choose another {flag('run')}"
                )
            folder = cls(path, record)
            folder.lock()
            folder.remember(record)
        except OSError as problem:
            raise StorageError(f"cannot write the run folder {path}: {problem.strerror}") from None
        return folder

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Return an existing run. Raises MissingRunError where there is none, StorageError where it is damaged or
        newer.
        """
        try:
            content = read_regular(path / "run.json")
        except (FileNotFoundError, NotADirectoryError):
            raise MissingRunError(
                f"{path} is no run folder: it has no run.json (`viva run` makes them in runs/)"
            ) from None
        except OSError as problem:
            raise StorageError(f"cannot read {path / 'run.json'}: {problem.strerror}") from None
        try:
            head = msgspec.json.decode(content, type=dict[str, Any])
            refuse_depth(head)
            if isinstance(head.get("format"), int) and head["format"] > FORMAT:
                raise StorageError(
                    f"{path} was written by Viva {head.get('viva', '?')} (folder format {head['format']}); "
                    f"this Viva knows format {FORMAT}: upgrade it, nothing was changed"
                )
            if head.get("format") == 1 and head.get("judge"):
                content = msgspec.json.encode({**head, "judges": [head["judge"]]})
            record = msgspec.json.decode(content, type=RunRecord)
            record.format = FORMAT  # what is written back has this layout
            return cls(path, record)
        except UNREADABLE as problem:
            why = "it is nested too deep" if isinstance(problem, RecursionError) else problem
            raise StorageError(f"{path / 'run.json'} is damaged: {why}") from None

    def lock(self) -> ExitStack:
        """Make this process the folder's only writer, until it ends or the returned context is left."""
        try:
            self._lock = lock(self.path / ".lock")
        except LockedError as locked:
            raise self._held(locked) from None
        except OSError as problem:
            raise StorageError(f"cannot write in the run folder {self.path}: {problem.strerror}") from None
        if not _HOLDER.fullmatch(os.pread(self._lock, 64, 0)):  # a hard link to something else, say
            self.unlock()
            raise StorageError(f"{self.path / '.lock'} is no lock of Viva's: remove it, if it is nothing of yours")
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"pid {os.getpid()}".encode(), 0)
        held = ExitStack()
        held.callback(self.unlock)
        return held

    def batched(self, file: str = BATCHES) -> bool:
        """Return whether this run asks through batches and has not left them."""
        try:
            with reading(self.path / file) as content:
                content.seek(-min(_LEFT_BEHIND, os.fstat(content.fileno()).st_size), os.SEEK_END)
                lines = content.read().splitlines()
        except OSError:
            return False
        return not (lines and b'"event":"left"' in lines[-1])

    @contextmanager
    def still(self) -> Iterator[None]:
        """Keep others from writing while the folder is read. Raises StorageError where another process is writing."""
        try:
            held = lock(self.path / ".lock", os.O_RDONLY, shared=True)
        except FileNotFoundError:  # a copy
            yield
            return
        except LockedError as locked:
            raise self._held(locked) from None
        except OSError as problem:
            raise StorageError(f"cannot read {self.path / '.lock'}: {problem.strerror}") from None
        try:
            yield
        finally:
            os.close(held)

    def _held(self, locked: LockedError) -> StorageError:
        holder = f" ({locked.holder})" if locked.holder else ""
        return StorageError(f"another process{holder} is writing to {self.path}; wait for it or stop it first")

    def keep(self, files: Mapping[str, bytes]) -> None:
        """Write files besides run.json into the folder, which is made where missing.

        Raises StorageError.
        """
        for name, content in files.items():
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                write_whole(self.path / name, content)
            except OSError as problem:
                raise StorageError(f"cannot write {self.path / name}: {problem.strerror}") from None

    def remember(self, record: RunRecord) -> None:
        """Write run.json atomically. Only under the lock."""
        content = msgspec.json.format(msgspec.json.encode(record), indent=2)
        write_whole(self.path / "run.json", content + b"\n")
        self.record = record

    @property
    def writable(self) -> bool:
        """Whether this process holds the lock."""
        return self._lock >= 0

    def journal(self, stage: str, *, write: bool = True) -> Journal:
        """Open the journal of a stage ("responses", "similarities", ...); for writing only under the lock."""
        return Journal(self.path / f"{stage}.jsonl", write=write and self.writable)

    def unlock(self) -> None:
        """Release the lock."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def new_run_path(runs: Path, label: str) -> Path:
    """Return a new folder's path: date, time, label, and random letters so that two runs of one second differ."""
    safe = re.sub(r"[^A-Za-z0-9.-]+", "-", label).strip("-.")[:60]
    return runs / f"{time.strftime('%Y%m%d-%H%M%S')}-{safe}-{secrets.token_hex(2)}"


def signature(record: RunRecord, exam: ExamRecord, model: str, opened: ModelRecord | None = None) -> str:
    """Return the signature of a score, in one line: everything that could change it (after sacreBLEU)."""
    return "|".join(f"{name}:{value}" for name, value in settings(record, exam, model, opened).items())


def settings(
    record: RunRecord, exam: ExamRecord, model: str, opened: ModelRecord | None = None
) -> dict[str, str | int]:
    """Return the parts of a signature by name."""
    spec = exam.spec
    sampling = exam.sampling or record.sampling
    texts = {name: text for name, text in exam.templates.items() if name != "data"}  # the path of a table is no prompt
    prompts = hashlib.sha256(msgspec.json.encode(texts, order="deterministic")).hexdigest()[:8]
    rubric = "+".join(_rubrics(exam.templates))
    judges = record.judges if exam.asks_judges else ()  # else they are those of the run's other exams
    return {
        "benchmark": f"{spec.benchmark}.{exam.version}" + (f".{spec.name}" if spec.name else ""),
        "lang": spec.language,
        "shots": spec.shots,
        "cot": "yes" if spec.chain_of_thought else "no",
        "form": spec.form,
        **({"choose": spec.choose} if spec.choose else {}),
        "only": spec.only or "all",
        "n": exam.questions,
        "limit": spec.limit if spec.limit is not None else "none",
        **({"questions": _listed(spec.questions)} if spec.questions else {}),
        **({"shard": spec.shard} if spec.shard else {}),
        **({"adaptive": f"{record.adaptive.until}.by {record.adaptive.known}"} if record.adaptive else {}),
        **({"vary": _varied(spec.vary)} if spec.vary is not UNSET else {}),
        **({"draw": spec.draw} if spec.draw is not UNSET else {}),
        "prompt": prompts,
        "extract": "as-published" if spec.as_published else "viva" if spec.extraction == "stated" else spec.extraction,
        "data": exam.fingerprint + (".sample" if exam.data is None else ""),
        "model": model,
        **(_opened(opened) if opened else {}),
        **(_requested(opened.request) if opened and opened.request else {}),
        "judge": "+".join(f"{_judge(judge)}x{record.judge_samples}" for judge in judges) or "none",
        "panel": spec.panel if len(judges) * record.judge_samples > 1 else "none",
        "rubric": rubric or "none",
        **({"verdict": record.verdicts} if judges and record.verdicts != "line" and not spec.as_published else {}),
        "rationale": "yes" if spec.rationale else "no",
        "encoder": _encoder(record) if spec.encoder else "none",
        "samples": f"{exam.samples or record.samples}x{record.repeats}",
        "temp": _sent("temperature", sampling.temperature, opened),
        "top_p": _sent("top_p", sampling.top_p, opened),
        "max_tokens": _limit(sampling.max_tokens, opened),
        "context": spec.context or "none",
        "stop": "next question" if spec.form == "base" else "none",
        "seed": f"{record.seed}" + _seed(sampling.seed, opened),
        "viva": record.viva,
    }


def _sent(name: str, value: float | None, opened: ModelRecord | None) -> str:
    """Return a parameter of sampling as it was sent."""
    if value is not None and opened and opened.adapted and name in opened.adapted.parameters:
        return "server (refused)"
    return "server" if value is None else f"{value:g}"


def _seed(seed: int | None, opened: ModelRecord | None) -> str:
    if seed is None:
        return ""
    return ".refused" if opened and opened.adapted and "seed" in opened.adapted.parameters else ".sent"


def _limit(most: int | None, opened: ModelRecord | None) -> int | str:
    """Return the reply's token limit; a model that reasons gets room to think, unless the user set the limit."""
    kept = opened and opened.request and opened.request.limit_kept
    reasons = opened and opened.adapted and opened.adapted.reasons
    return "room" if most and reasons and not kept else most or "server"


def _requested(options: RequestOptions) -> dict[str, str]:
    """Return the user's request options that a reply may depend on."""
    more = msgspec.structs.replace(options, effort="", budget=0, limit_kept=False).identity()
    return {
        **({"reasoning": options.effort} if options.effort else {}),
        **({"reasoning_budget": str(options.budget)} if options.budget else {}),
        **({"request": hashlib.sha256(more["request"].encode()).hexdigest()[:8]} if more else {}),
    }


def _listed(questions: Sequence[str]) -> str:
    """Return the number of questions in a list, and a hash that does not depend on their order."""
    digest = hashlib.sha256(msgspec.json.encode(sorted(questions))).hexdigest()[:8]
    return f"{len(questions)}.{digest}"


def _varied(design: Design) -> str:
    """Return what a design varies, and a hash of its cells."""
    return f"{design.summary}.{hashlib.sha256(msgspec.json.encode(design)).hexdigest()[:8]}"


def _opened(model: ModelRecord) -> dict[str, str]:
    """Return how weights on a disk were opened, and by which template a model was asked."""
    weights = model.weights
    if weights is None:
        return {"template": model.template} if model.template else {}
    parts = {"template": weights.template or "own", "weights": _short(weights), "dtype": weights.dtype}
    if weights.bits:
        parts["bits"] = str(weights.bits)
    if weights.adapter:
        parts["adapter"] = PurePath(weights.adapter).name
    return parts


def _short(weights: Weights) -> str:
    """Shorten every part of a fingerprint (weights, adapter): a folder's hash, a Hub revision."""
    return "+".join(part.rpartition("@")[2][:12] for part in weights.fingerprint.split("+"))


def _judge(judge: ModelRecord) -> str:
    if judge.weights is None:
        return judge.name
    return f"{judge.shown or judge.name}.{_short(judge.weights)}.{judge.weights.dtype}"


def _rubrics(templates: Mapping[str, object]) -> Iterator[str]:
    """Yield name and version of every rubric among an exam's templates."""
    for key, value in templates.items():
        if not isinstance(value, dict):
            continue
        table = cast("dict[str, object]", value)
        if key == "rubric" and isinstance(table.get("name"), str):
            yield f"{table['name']}.{table.get('version', '?')}"
        else:
            yield from _rubrics(table)


def _encoder(record: RunRecord) -> str:
    """Return the encoder with its layer and weights; a folder by its name, without its path."""
    if record.encoder is None:
        return "missing"
    name, identity = record.encoder.name, record.encoder.identity
    _, separator, weights = identity.get("weights", "").rpartition("@")  # NAME@REVISION from the Hub, a folder's hash
    if weights and not separator:
        name = PurePath(name).name or "folder"
    return ".".join(filter(None, (name, identity.get("layer", ""), weights[:12])))
