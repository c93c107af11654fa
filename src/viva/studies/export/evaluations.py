"""`viva export RUN --to inspect|lm-eval|every-eval-ever|mlflow|wandb`: each model on every exam, a file or an entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from viva.errors import VivaError, option
from viva.interop.writing.runrecords import EvaluationResult
from viva.runs.progress import say
from viva.studies.export.destination import placed
from viva.studies.export.exportformats import ExportConfig
from viva.studies.export.graded_run import ExportedRun, opened_run
from viva.visible import one_line


def opened_runs(config: ExportConfig, stack: ExitStack) -> list[ExportedRun]:
    """Return the sources as runs. Raises VivaError for an option of question sets, and for two runs of one name."""
    if config.choice.data or config.choice.language:
        raise VivaError(f"and {option('language')} are for a question set; a run knows its own", field="data")
    paths = {Path(source).resolve(): Path(source) for source in config.sources}
    named: dict[str, Path] = {}
    for whole, path in paths.items():
        other = named.setdefault(one_line(whole.name, 200), path)
        if other is not path:  # files and rows are told apart by it: one would replace the other
            raise VivaError(f"{other} and {path} are two runs of one name: rename one, or export them apart")
    return [stack.enter_context(opened_run(path, gold=config.gold)) for path in paths.values()]


def print_warnings(runs: list[ExportedRun]) -> None:
    """Say what should be known about the numbers, once each."""
    for warning in dict.fromkeys(warning for run in runs for warning in run.read.warnings):
        say(f"viva: {warning}")


Write = Callable[[ExitStack, Path], tuple[list[ExportedRun], str, Sequence[str]]]
"""Opens what is to be exported and writes it to a place; returns the runs, what was written in words, and warnings."""


def exported(config: ExportConfig, form: str, write: Write, *, file: bool = False) -> int:
    """Write a format at its place, as a folder or a `file`, and say what was written and what should be known."""
    with ExitStack() as stack:
        with placed(config.out, form, force=config.force, file=file) as place:
            runs, what, warnings = write(stack, place)
        say(f"viva: wrote {config.out} ({what})")
        print_warnings(runs)
        for warning in warnings:
            say(f"viva: {warning}")
    return 0


def _evaluations(runs: list[ExportedRun]) -> list[EvaluationResult]:
    return [one for run in runs for one in run.evaluations]


def export_inspect(config: ExportConfig) -> int:
    """Return a folder of .eval logs, or one log as a file."""
    from viva.interop.writing.inspectarchive import log_name, write_eval, write_json

    single = {".eval": write_eval, ".json": write_json}.get(config.out.suffix)

    def write(stack: ExitStack, place: Path) -> tuple[list[ExportedRun], str, Sequence[str]]:
        runs = opened_runs(config, stack)
        evaluations = _evaluations(runs)
        if single and len(evaluations) > 1:
            raise VivaError(
                f"{config.out} would be one log, and a log is of one model on one exam; here are {len(evaluations)}: "
                "name a folder",
                field="out",
            )
        for one in evaluations:
            (single or write_eval)(one, place if single else place / log_name(one))
        return runs, f"{len(evaluations)} Inspect log{'s' if len(evaluations) > 1 else ''}", ()

    return exported(config, "inspect", write, file=single is not None)


def export_lm_eval(config: ExportConfig) -> int:
    """Return a folder a model, with results_*.json and samples_*.jsonl."""
    from viva.interop.writing.lmevalfolder import write_lm_eval

    def write(stack: ExitStack, folder: Path) -> tuple[list[ExportedRun], str, Sequence[str]]:
        runs = opened_runs(config, stack)
        return runs, f"results of {sum(len(write_lm_eval(run.evaluations, folder)) for run in runs)} models", ()

    return exported(config, "lm-eval", write)


def export_every_eval_ever(config: ExportConfig) -> int:
    """Return a record a model and exam, below data/."""
    from viva.interop.writing.everyeval import write_every_eval_ever

    def write(stack: ExitStack, folder: Path) -> tuple[list[ExportedRun], str, Sequence[str]]:
        runs = opened_runs(config, stack)
        evaluations = _evaluations(runs)
        bare = [f"{one.label}, {one.model}: no mean, so no record" for one in evaluations
                if write_every_eval_ever(one, folder) is None]  # fmt: skip
        if len(bare) == len(evaluations):
            raise VivaError("nothing of this is graded: the schema has no record without a score")
        return runs, f"{len(evaluations) - len(bare)} records", bare

    return exported(config, "every-eval-ever", write)


def export_mlflow(config: ExportConfig) -> int:
    """Return a run in MLflow for every model on every exam."""
    from viva.interop.writing.trackers import write_mlflow

    return _tracked(config, write_mlflow)


def export_wandb(config: ExportConfig) -> int:
    """Return a run in Weights & Biases for every model on every exam."""
    from viva.interop.writing.trackers import write_wandb

    return _tracked(config, write_wandb)


def _tracked(config: ExportConfig, write: Callable[..., str]) -> int:
    from viva.interop.writing.trackers import tracked

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
