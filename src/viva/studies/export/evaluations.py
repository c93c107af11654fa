"""`viva export RUN --to inspect|lm-eval|every-eval-ever`: a file or folder for every model on every exam."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from viva.errors import VivaError, option
from viva.interop.writing.runrecords import EvaluationResult
from viva.runs.progress import say
from viva.studies.export.destination import check_place, placed_file, placed_folder
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


def told(config: ExportConfig, runs: list[ExportedRun], what: str) -> int:
    """Say what was written, and what should be known about it."""
    say(f"viva: wrote {config.out} ({what})")
    print_warnings(runs)
    return 0


def print_warnings(runs: list[ExportedRun]) -> None:
    """Say what should be known about the numbers, once each."""
    for warning in dict.fromkeys(warning for run in runs for warning in run.read.warnings):
        say(f"viva: {warning}")


def _evaluations(runs: list[ExportedRun]) -> Iterator[EvaluationResult]:
    for run in runs:
        yield from run.evaluations


def export_inspect(config: ExportConfig) -> int:
    """Return a folder of .eval logs, or one log as a file."""
    from viva.interop.writing.inspectarchive import log_name, write_eval, write_json

    single = {".eval": write_eval, ".json": write_json}.get(config.out.suffix)
    check_place(config.out, "inspect", force=config.force)
    with ExitStack() as stack:
        runs = opened_runs(config, stack)
        evaluations = list(_evaluations(runs))
        if single:
            if len(evaluations) > 1:
                raise VivaError(
                    f"{config.out} would be one log, and a log is of one model on one exam; here are "
                    f"{len(evaluations)}: "
                    "name a folder",
                    field="out",
                )
            with placed_file(config.out, "inspect", force=config.force) as path:
                single(evaluations[0], path)
        else:
            with placed_folder(config.out, "inspect", force=config.force) as folder:
                for one in evaluations:
                    write_eval(one, folder / log_name(one))
        return told(config, runs, f"{len(evaluations)} Inspect log{'s' if len(evaluations) > 1 else ''}")


def export_lm_eval(config: ExportConfig) -> int:
    """Return a folder a model, with results_*.json and samples_*.jsonl."""
    from viva.interop.writing.lmevalfolder import write_lm_eval

    check_place(config.out, "lm-eval", force=config.force)
    with ExitStack() as stack:
        runs = opened_runs(config, stack)
        with placed_folder(config.out, "lm-eval", force=config.force) as folder:
            written = sum(len(write_lm_eval(run.evaluations, folder)) for run in runs)
        return told(config, runs, f"results of {written} models")


def export_every_eval_ever(config: ExportConfig) -> int:
    """Return a record a model and exam, below data/."""
    from viva.interop.writing.everyeval import write_every_eval_ever

    check_place(config.out, "every-eval-ever", force=config.force)
    with ExitStack() as stack:
        runs = opened_runs(config, stack)
        with placed_folder(config.out, "every-eval-ever", force=config.force) as folder:
            records = [(result, write_every_eval_ever(result, folder)) for result in _evaluations(runs)]
            if not any(path for _, path in records):
                raise VivaError("nothing of this is graded: the schema has no record without a score")
        for result, path in records:
            if path is None:
                say(f"viva: {result.label}, {result.model}: no mean, so no record")
        return told(config, runs, f"{sum(path is not None for _, path in records)} records")
