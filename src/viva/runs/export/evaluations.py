"""`viva export RUN --to inspect|lm-eval|every-eval-ever`: a file or folder for every model on every exam."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from viva.errors import VivaError
from viva.interop.writing.answers import Sat
from viva.runs.export.destination import check_place, placed_file, placed_folder
from viva.runs.export.formats import Wanted
from viva.runs.export.graded_run import OpenRun, opened_run
from viva.visible import one_line


def opened_runs(wanted: Wanted, stack: ExitStack) -> list[OpenRun]:
    """The sources as runs. Raises VivaError for an option of question sets, and for two runs of one name."""
    if wanted.choice.data or wanted.choice.language:
        raise VivaError("--data and --language are for a question set; a run knows its own")
    paths = {Path(source).resolve(): Path(source) for source in wanted.sources}
    named: dict[str, Path] = {}
    for whole, path in paths.items():
        other = named.setdefault(one_line(whole.name, 200), path)
        if other is not path:  # files and rows are told apart by it: one would replace the other
            raise VivaError(f"{other} and {path} are two runs of one name: rename one, or export them apart")
    return [stack.enter_context(opened_run(path, gold=wanted.gold)) for path in paths.values()]


def told(wanted: Wanted, runs: list[OpenRun], what: str) -> int:
    """Say what was written, and what should be known about it."""
    print(f"viva: wrote {wanted.out} ({what})", file=sys.stderr)
    for warning in dict.fromkeys(warning for run in runs for warning in run.read.warnings):
        print(f"viva: {warning}", file=sys.stderr)
    return 0


def _sat(runs: list[OpenRun]) -> Iterator[Sat]:
    for run in runs:
        yield from run.sat


def export_inspect(wanted: Wanted) -> int:
    """A folder of .eval logs, or one log as a file."""
    from viva.interop.writing.inspectlog import log_name, write_eval, write_json

    single = {".eval": write_eval, ".json": write_json}.get(wanted.out.suffix)
    check_place(wanted.out, "inspect", force=wanted.force)
    with ExitStack() as stack:
        runs = opened_runs(wanted, stack)
        sat = list(_sat(runs))
        if single:
            if len(sat) > 1:
                raise VivaError(
                    f"--out {wanted.out} would be one log, and a log is of one model on one exam; here are {len(sat)}: "
                    "name a folder"
                )
            with placed_file(wanted.out, "inspect", force=wanted.force) as path:
                single(sat[0], path)
        else:
            with placed_folder(wanted.out, "inspect", force=wanted.force) as folder:
                for one in sat:
                    write_eval(one, folder / log_name(one))
        return told(wanted, runs, f"{len(sat)} Inspect log{'s' if len(sat) > 1 else ''}")


def export_lm_eval(wanted: Wanted) -> int:
    """A folder a model, with results_*.json and samples_*.jsonl."""
    from viva.interop.writing.lmeval import write_lm_eval

    check_place(wanted.out, "lm-eval", force=wanted.force)
    with ExitStack() as stack:
        runs = opened_runs(wanted, stack)
        with placed_folder(wanted.out, "lm-eval", force=wanted.force) as folder:
            written = sum(len(write_lm_eval(run.sat, folder)) for run in runs)
        return told(wanted, runs, f"results of {written} models")


def export_every_eval_ever(wanted: Wanted) -> int:
    """A record a model and exam, below data/."""
    from viva.interop.writing.everyeval import write_every_eval_ever

    check_place(wanted.out, "every-eval-ever", force=wanted.force)
    with ExitStack() as stack:
        runs = opened_runs(wanted, stack)
        with placed_folder(wanted.out, "every-eval-ever", force=wanted.force) as folder:
            records = [(sat, write_every_eval_ever(sat, folder)) for sat in _sat(runs)]
            if not any(path for _, path in records):
                raise VivaError("nothing of this is graded: the schema has no record without a score")
        for sat, path in records:
            if path is None:
                print(f"viva: {sat.label}, {sat.model}: no mean, so no record", file=sys.stderr)
        return told(wanted, runs, f"{sum(path is not None for _, path in records)} records")
