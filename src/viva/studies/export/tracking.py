"""`viva export RUN --to mlflow|wandb`: results in the experiment trackers of teams."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from viva.interop.writing.trackers import tracked, write_mlflow, write_wandb
from viva.runs.progress import say
from viva.studies.export.evaluations import opened_runs, print_warnings
from viva.studies.export.exportformats import ExportConfig


def export_mlflow(config: ExportConfig) -> int:
    """Return a run in MLflow for every model on every exam."""
    return _export(config, write_mlflow)


def export_wandb(config: ExportConfig) -> int:
    """Return a run in Weights & Biases for every model on every exam."""
    return _export(config, write_wandb)


def _export(config: ExportConfig, write: Callable[..., str]) -> int:
    with ExitStack() as stack:
        runs = opened_runs(config, stack)
        results = [
            tracked(one, result.consumed)
            for run in runs
            for one, result in zip(run.evaluations, run.read.results, strict=True)
        ]
        where = write(results, force=config.force)
        say(f"viva: wrote {len(results)} result{'s' if len(results) > 1 else ''} ({where})")
        print_warnings(runs)
    return 0
