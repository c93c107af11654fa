"""The formats of `viva export`, and what an export is asked for."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, cast

import msgspec
from msgspec import Struct

from viva.errors import StorageError, VivaError, option
from viva.runs.config import TaskOptions
from viva.version import __version__
from viva.visible import one_line


class ExportConfig(Struct, kw_only=True):
    """What is to be written of what, and where to."""

    sources: tuple[str, ...]
    """As they were typed: run folders, benchmarks, question files."""
    out: Path = Path()
    """A file or folder; not of a tracker, which has a place of its own."""
    force: bool = False
    gold: bool = True
    """Whether the answers of the set may be in it."""
    choice: TaskOptions = msgspec.field(default_factory=TaskOptions)
    """--data and --language, for a set."""

    @property
    def source(self) -> str:
        """The only source. Raises VivaError where there are several."""
        if len(self.sources) > 1:
            raise VivaError(f"this format is written of one SOURCE at a time; here are {len(self.sources)}")
        return self.sources[0]


class Format(NamedTuple):
    """A format: the function that writes it, `module:function(wanted) -> exit code`, and what it is for."""

    writer: str
    about: str
    tracker: bool = False
    """Whether it goes into a store of its own in place of --out."""


FORMATS: dict[str, Format] = {
    "inspect": Format(
        "viva.studies.export.evaluations:export_inspect", "Inspect logs, for `inspect view` and inspect_ai.log"
    ),
    "lm-eval": Format(
        "viva.studies.export.evaluations:export_lm_eval", "results_*.json and samples_*.jsonl of lm-evaluation-harness"
    ),
    "every-eval-ever": Format(
        "viva.studies.export.evaluations:export_every_eval_ever", "records of the Every Eval Ever schema"
    ),
    "parquet": Format("viva.studies.export.tables:export_parquet", "scores, answers and questions as Parquet tables"),
    "lm-eval-tasks": Format(
        "viva.studies.export.tasks:export_lm_eval_tasks", "a benchmark as a folder of tasks for lm-evaluation-harness"
    ),
    "hf": Format("viva.studies.export.tables:export_hf", "a Hugging Face dataset: of a run, or of a question set"),
    "mlflow": Format(
        "viva.studies.export.evaluations:export_mlflow",
        "results as runs of MLflow, at MLFLOW_TRACKING_URI",
        tracker=True,
    ),
    "wandb": Format(
        "viva.studies.export.evaluations:export_wandb",
        "results as runs of Weights & Biases, in WANDB_PROJECT",
        tracker=True,
    ),
}
"""Written by hand, in the order in which the help lists them; a module is loaded when its format is asked for."""


def writer(name: str, out: Path | None) -> Callable[[ExportConfig], int]:
    """Return the function that writes a format. Raises VivaError naming the formats there are, and for an `out` that is
    missing or has no meaning.
    """
    if name not in FORMATS:
        known = ", ".join(FORMATS)
        raise VivaError(f"{one_line(name, 60)!r}: there is no such format; there are: {known}", field="to")
    if FORMATS[name].tracker and out is not None:
        raise VivaError(f"{out}: {option('to')} {name} writes no file: {FORMATS[name].about}", field="out")
    if not FORMATS[name].tracker and out is None:
        raise VivaError(f"{name} writes a folder: say which with {option('out')}", field="to")
    module, _, function = FORMATS[name].writer.partition(":")
    return cast("Callable[[ExportConfig], int]", getattr(importlib.import_module(module), function))


MARKER = ".viva-export.json"
"""Says that a folder is an export of ours, which --force may replace."""

_HEAD = 1 << 20
"""Bytes of a log by which it is known."""


def check_place(out: Path, form: str, *, force: bool) -> None:
    """Refuse an --out that cannot or must not be written. Writes nothing. Raises VivaError."""
    if not out.absolute().parent.is_dir():
        raise VivaError(f"{out}: there is no folder {out.absolute().parent}; make it first", field="out")
    if out.is_symlink():
        raise VivaError(f"{out} is a link: name the place itself", field="out")
    if not out.exists():
        return
    if out.is_dir() and not any(out.iterdir()):
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
    """An empty folder to write an export into, or the path of one `file`; it becomes `out` when the block ends well,
    and is dropped otherwise.

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
    out.replace(old)  # empty, or an export of ours: see check_place
    try:
        stage.replace(out)
    except OSError:
        old.replace(out)
        raise
    _drop(old)


def _drop(stage: Path) -> None:
    if stage.is_dir():
        shutil.rmtree(stage, ignore_errors=True)
    else:
        stage.unlink(missing_ok=True)


def _sibling(out: Path, word: str = "partial") -> Path:
    whole = out.absolute()
    return whole.with_name(f".{whole.name}.{word}-{os.getpid()}")
