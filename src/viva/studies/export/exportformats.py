"""The formats of `viva export`, and what an export is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, cast

import msgspec
from msgspec import Struct

from viva.errors import VivaError, option
from viva.runs.config import TaskOptions
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
