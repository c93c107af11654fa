"""`viva run` and `viva resume`."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path
from typing import Any

import click

from viva import __version__
from viva.cli.examine import Examination, earlier_runs, examine, prepare
from viva.cli.exams import open_exams, remember
from viva.cli.options import (
    Choice,
    Draw,
    Grading,
    Limits,
    Output,
    engine_options,
    exam_options,
    judge_options,
    pick,
    report_options,
    sampling,
    sampling_options,
)
from viva.cli.reporting import grade_run, print_report
from viva.engine.folder import ModelRecord, RunFolder, RunRecord, find_run, new_run_path
from viva.errors import VivaError
from viva.types import Exam


@click.command(name="run", short_help="Examine models.")
@click.argument("benchmarks", nargs=-1, required=True)
@click.option(
    "--model",
    "models",
    multiple=True,
    required=True,
    metavar="PROVIDER/NAME[@URL]",
    help="Repeat for several: openai/..., anthropic/..., google/..., baseline/..., replay/FILE.",
)
@click.option("--base-url", metavar="URL", help="OpenAI-compatible server of the openai/ models, ending in /v1.")
@click.option("--api-key-env", metavar="NAME", help="Environment variable with the key.  [default: the provider's own]")
@exam_options
@sampling_options
@judge_options
@engine_options
@click.option("--estimate", is_flag=True, help="Only say how many requests, tokens and dollars it would be.")
@click.option(
    "--reuse",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="Take answers to identical requests from an earlier run.",
)
@click.option(
    "--run",
    "run_path",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Run folder.  [default: a new one in runs/]",
)
@report_options
def run_command(**given: Any) -> int:
    """Ask models the questions of BENCHMARKS (csbench, cmmlu), grade the answers, print the tables.

    Everything asked and answered is kept in a run folder; `viva resume` goes on with it after any interruption.

    \b
    viva run csbench --only comprehension --model baseline/random
    viva run csbench cmmlu --data DIR --model openai/a --model openai/b --base-url http://127.0.0.1:8000/v1
    viva run csbench --data DIR --language en,zh --shots 5 --cot --model anthropic/NAME --judge openai/NAME
    """
    choice, draw, limits = pick(Choice, given), pick(Draw, given), pick(Limits, given)
    judging, output = pick(Grading, given), pick(Output, given)
    opened = open_exams(given["benchmarks"], choice)
    exams = [exam for exam, _ in opened]
    record = RunRecord(
        viva=__version__,
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        command=["viva", *sys.argv[1:]],
        exams=[remember(exam, data) for exam, data in opened],
        models=[
            ModelRecord(name=_absolute(name), base_url=given["base_url"], key_variable=given["api_key_env"])
            for name in dict.fromkeys(given["models"])
        ],
        judge=judge_record(judging, given["base_url"], given["api_key_env"]),
        judge_samples=judging.judge_samples,
        samples=draw.samples,
        repeats=draw.repeats,
        seed=choice.seed or 0,
        sampling=sampling(draw, choice.seed),
    )
    path = given["run_path"] or new_run_path(Path("runs"), "-".join([*dict.fromkeys(given["benchmarks"])]))
    # Everything that can be refused is refused before a folder is made or a question is asked.
    examination = prepare(RunFolder(path, record), limits, exams)
    if given["estimate"]:
        from viva.cli.estimate import estimate

        estimate(examination)
        return 0
    earlier = earlier_runs(given["reuse"])
    _self_test(exams)
    examination.folder = RunFolder.create(path, record)
    return _finish(examination, earlier, output)


@click.command(name="resume", short_help="Go on with a run.")
@click.argument("run", type=click.Path(path_type=Path))
@engine_options
@click.option(
    "--reuse",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="Take answers to identical requests from an earlier run.",
)
@report_options
def resume_command(run: Path, reuse: tuple[Path, ...], **given: Any) -> int:
    """Ask only what is missing or failed in RUN (a run folder, or a folder of runs: the newest in it).

    Exams, models, prompts and sampling are those of the run; limits and price may be given anew.
    """
    folder = RunFolder.open(find_run(run))
    examination = prepare(folder, pick(Limits, given))
    earlier = earlier_runs(reuse)
    folder.lock()
    return _finish(examination, earlier, pick(Output, given))


def _finish(examination: Examination, earlier: list[RunFolder], output: Output) -> int:
    folder = examination.folder
    quiet = examination.limits.progress == "quiet"
    if not quiet:
        print(f"run folder: {folder.path}", file=sys.stderr)
    try:
        code = examine(examination, earlier)
        report = grade_run(examination, output)
    finally:
        folder.unlock()
    print_report(report, output)
    if not quiet:
        print(f"\nrun folder: {folder.path}\n  look at answers: viva show {folder.path} --wrong", file=sys.stderr)
    return code


def judge_record(judging: Grading, base_url: str | None, key_variable: str | None) -> ModelRecord | None:
    """The judge for run.json; None without one."""
    if judging.judge is None:
        return None
    return ModelRecord(
        name=_absolute(judging.judge),
        base_url=judging.judge_base_url or base_url,
        key_variable=judging.judge_key_env or key_variable,
    )


def _absolute(name: str) -> str:
    """A replay's file by its full path, so that the run can be resumed from any folder."""
    provider, _, rest = name.partition("/")
    return f"replay/{Path(rest).resolve()}" if provider == "replay" and rest else name


def _self_test(exams: list[Exam]) -> None:
    """Before money is spent: do gold answers score 1 and wrong ones 0, on a sample of the questions?"""
    from viva.cli.check import failures

    for exam in exams:
        found = failures(exam, at_most=100)
        if found:
            raise VivaError(
                f"the self-test of {exam.spec.benchmark} failed, nothing was asked: {found[0]}; "
                f"`viva check {exam.spec.benchmark}` shows all"
            )
