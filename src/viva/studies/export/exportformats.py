"""The formats and options of `viva export`, and its output place, which may be replaced."""

from __future__ import annotations

import os
import re
import shutil
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from viva.errors import StorageError, VivaError, option
from viva.fields import note
from viva.runs.config import TaskOptions
from viva.version import __version__


class Format(NamedTuple):
    """A format: the function that writes it (`module:function`, a `Write`), and its purpose."""

    writer: str
    about: str
    tracker: bool = False
    """Whether it writes to an experiment tracker's store instead of --out."""


FORMATS: dict[str, Format] = {
    "inspect": Format("evaluations:write_inspect", "Inspect logs, for `inspect view` and inspect_ai.log"),
    "lm-eval": Format("evaluations:write_lm_eval", "results_*.json and samples_*.jsonl of lm-evaluation-harness"),
    "every-eval-ever": Format("evaluations:write_every_eval_ever", "records of the Every Eval Ever schema"),
    "parquet": Format("tables:write_parquet", "scores, answers and questions as Parquet tables"),
    "lm-eval-tasks": Format("tasks:write_tasks", "a benchmark as a folder of tasks for lm-evaluation-harness"),
    "hf": Format("tables:write_hf", "a Hugging Face dataset: of a run, or of a question set"),
    "mlflow": Format("evaluations:write_mlflow", "results as runs of MLflow, at MLFLOW_TRACKING_URI", tracker=True),
    "wandb": Format(
        "evaluations:write_wandb", "results as runs of Weights & Biases, in WANDB_PROJECT", tracker=True
    ),
}  # fmt: skip
"""Written by hand, in the order in which the help lists them; a module is loaded when its format is asked for."""
FILES = ".eval", ".json"
"""Suffixes of an --out that is a single Inspect log, not a folder."""


class ExportConfig(Struct, kw_only=True):
    """Write SOURCE, a graded run or a question set, in a format of other people's tools.

    A SOURCE is a run folder; for --to hf also a benchmark (its sample, or --data DIR) or a question file. Nothing is
    asked and nothing graded: numbers are those of scores.jsonl, and what could not be scored is missing there, too.

    \b
    viva export runs/NAME --to inspect --out logs/         then: inspect view --log-dir logs
    viva export runs/NAME --to lm-eval --out results/      results_*.json, samples_*.jsonl
    viva export runs/NAME --to every-eval-ever --out eee/
    viva export runs/NAME --to parquet --out tables/       then: duckdb -c "from 'tables/scores.parquet'"
    viva export runs/NAME --to hf --out dataset/           then: datasets.load_dataset("dataset")
    viva export mine.yaml --to hf --out dataset/ --no-gold
    viva export runs/NAME --to mlflow                      numbers and settings alone; to wandb as well
    """

    sources: Annotated[
        tuple[str, ...],
        note("Run folders; benchmarks or question files.", argument=True, metavar="SOURCE..."),
    ]
    to: Annotated[str, note(f"One of: {', '.join(FORMATS)}.", metavar="FORMAT")]
    out: Annotated[
        Path | None,
        note(
            "A folder that is not there yet; for --to inspect also a file, NAME.eval or NAME.json; none for a tracker."
        ),
    ] = None
    force: Annotated[bool, note("Replace what an earlier export wrote.")] = False
    gold: Annotated[bool, note("Whether to write gold answers, and texts that reveal them.")] = True
    data: Annotated[Path | None, note("Folder of a benchmark's published files, or a built set.")] = None
    language: Annotated[tuple[str, ...], note("Of a benchmark: en, zh, de, fr, all.", metavar="LANG")] = ()

    @property
    def choice(self) -> TaskOptions:
        """Options for opening a question set."""
        return TaskOptions(data=self.data, language=self.language)


Written: TypeAlias = tuple[str, Sequence[str]]
"""A description of what was written, and caveats."""


MARKER = ".viva-export.json"
"""Marks a folder as an export by Viva, which --force may replace."""

_HEAD = 1 << 20
"""Bytes at the start of a log that are searched for Viva's mark."""


def check_place(out: Path, form: str, *, force: bool) -> None:
    """Raise VivaError for an --out that cannot or must not be written. Writes nothing."""
    if not out.absolute().parent.is_dir():
        raise VivaError(f"{out}: there is no folder {out.absolute().parent}; make it first", field="out")
    if out.is_symlink():
        raise VivaError(f"{out} is a link: name the place itself", field="out")
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not force:
        raise VivaError(
            f"{out} exists: choose another, or replace an earlier export there with {option('force')}", field="out"
        )
    if not out.is_dir() and not _is_ours(out):
        raise VivaError(
            f"{out} is no log that Viva wrote, and {option('force')} replaces nothing else: name a new file",
            field="out",
        )
    if out.is_dir() and not (out / MARKER).is_file():
        raise VivaError(
            f"{out} holds other things than an export of Viva's (it has no {MARKER}), and {option('force')} replaces "
            f"nothing else: name a new folder for the {form} export",
            field="out",
        )


def _is_ours(file: Path) -> bool:
    """Return whether a file begins as a log of Inspect that Viva wrote: `viva` is among its first settings."""
    try:
        if zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as packed, packed.open("_journal/start.json") as start:
                head = start.read(_HEAD)
        else:
            with file.open("rb") as content:
                head = content.read(_HEAD)
    except (OSError, KeyError, EOFError, RuntimeError, NotImplementedError, ValueError, zipfile.BadZipFile, zlib.error):
        return False
    return re.match(rb'\s*\{\s*"version"\s*:\s*2\b', head) is not None and re.search(rb'"viva"\s*:', head) is not None


@contextmanager
def placed(out: Path, form: str, *, force: bool, file: bool = False) -> Iterator[Path]:
    """Yield an empty folder to write an export into, or the path of one `file`; it becomes `out` when the block ends
    without an exception, and is deleted otherwise.

    Raises VivaError for a place that must not be written, StorageError for one that cannot be.
    """
    check_place(out, form, force=force)
    if out.exists() and out.is_dir() == file:
        what = "a folder: name a file, or a folder without a suffix" if file else "a file: name a folder"
        raise VivaError(f"{out} is {what} for the {form} export", field="out")
    stage = _sibling(out)
    try:
        if not file:
            stage.mkdir()
            mark = {"viva": __version__, "format": form}
            (stage / MARKER).write_bytes(msgspec.json.encode(mark) + b"\n")
        yield stage
        _moved(stage, out)
    except OSError as problem:
        raise StorageError(f"cannot write {problem.filename or out}: {problem.strerror or problem}") from None
    finally:
        _drop(stage)


def _moved(stage: Path, out: Path) -> None:
    if not out.is_dir():
        stage.replace(out)
        return
    old = _sibling(out, "old")
    out.replace(old)  # empty, or an export by Viva: see check_place
    try:
        stage.replace(out)
    except OSError:
        old.replace(out)
        raise
    for kept in old.glob(".*"):  # a repository that the export was put into
        if not (out / kept.name).exists():
            kept.rename(out / kept.name)
    _drop(old)


def _drop(stage: Path) -> None:
    if stage.is_dir():
        shutil.rmtree(stage, ignore_errors=True)
    else:
        stage.unlink(missing_ok=True)


def _sibling(out: Path, word: str = "partial") -> Path:
    whole = out.absolute()
    return whole.with_name(f".{whole.name}.{word}-{os.getpid()}")
