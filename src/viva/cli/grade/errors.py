"""`viva errors`: why were the wrong answers wrong? The error types of CS-Bench, labelled by judges."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from viva.benchmarks.csbench.errors import PAPERS, ErrorTypes
from viva.benchmarks.csbench.loading import KINDS
from viva.cli.chart_options import chart_option
from viva.cli.consent import confirm_endpoints
from viva.cli.options import consent_options, engine_options, tables_options
from viva.cli.output import check_writable, emit, screen
from viva.engine.batchlog import BatchLog
from viva.engine.folder import RunFolder, find_run
from viva.engine.labelling import STAGE, Labelled, Labelling, labelled
from viva.errors import VivaError
from viva.prompting import read_templates
from viva.runs.batches import open_post, refuse_unbatched
from viva.runs.config import Limits, pick
from viva.runs.open import gather, open_bench, prepare
from viva.runs.plan import judges_anew
from viva.runs.rejudge import Anew
from viva.studies.errors.study import NO_TAG, Wanted, ask_judges, check_by, fits, labels_text, study

if TYPE_CHECKING:
    from viva.reports.errors import Told

BATCHES = f"{STAGE}.batches.jsonl"
"""The batches in which judges are asked for labels; those of the run itself are in a file of their own."""
LABEL_SUFFIXES = (".csv", ".json", ".jsonl")


@click.command(name="errors", short_help="Why wrong answers are wrong: CS-Bench's error types, by a judge.")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--judge",
    multiple=True,
    required=True,
    metavar="MODEL[@URL]",
    help="Model that labels. Repeat for a panel: a type counts where more than half of them name it.",
)
@click.option("--judge-samples", type=click.IntRange(1), default=1, show_default=True, help="Replies per answer.")
@click.option(
    "--judge-base-url", metavar="URL", help="The judge's server.  [default: that of the run's judges, else models]"
)
@click.option("--judge-key-env", metavar="NAME", help="Environment variable with the judge's key.")
@click.option(
    "--question-format",
    multiple=True,
    type=click.Choice(list(KINDS)),
    help=f"Wrong answers to questions of this format; repeatable.  [default: {PAPERS}, as in the paper]",
)
@click.option(
    "--instructions",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="TOML file that replaces texts of the judge's instructions (benchmarks/csbench/errors.toml).",
)
@click.option(
    "--by", default="domain", show_default=True, metavar="TAG", help=f"Also by this tag; `{NO_TAG}`: by none."
)
@click.option(
    "--labels",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write every wrong answer's labels: .csv, .json, .jsonl.",
)
@chart_option("Draw it by model")
@engine_options
@consent_options
@tables_options
def errors_command(run: Path, **given: Any) -> int:
    """Let judges label which types of error the wrong answers of RUN (CS-Bench) show, and count them by model: complete
    and partial conceptual errors and confusions in questions of knowledge; errors of concept, logic and mathematics in
    questions of reasoning. Replies are kept in errors.jsonl of the run folder: the same command goes on where it
    stopped, and asks nobody twice.

    \b
    viva run csbench --shots 5 --cot --only comprehension --model openai/NAME --run runs/NAME     as in the paper
    viva errors runs/NAME --judge openai/JUDGE --max-cost 2
    viva errors runs/NAME --judge openai/A --judge anthropic/B --labels labels.csv --chart errors.svg
    """
    wanted, limits = pick(Wanted, given), pick(Limits, given)
    check_writable(wanted.out)
    if wanted.labels is not None and wanted.labels.suffix.lower() not in LABEL_SUFFIXES:
        raise VivaError(f"--labels {wanted.labels}: labels are written as {', '.join(LABEL_SUFFIXES)}")
    check_writable(wanted.labels)
    folder = RunFolder.open(find_run(run))
    folder.lock()
    try:
        code, told, rows = _labelled(folder, wanted, limits)
    finally:
        folder.unlock()
    if wanted.labels is not None:
        emit(labels_text(rows, wanted.labels.suffix.lower()), wanted.labels)
    if wanted.chart is not None:
        _draw(told, wanted.chart)
    emit(_printed(told, wanted), wanted.out)
    return code


def _labelled(folder: RunFolder, wanted: Wanted, limits: Limits) -> tuple[int, Told, list[Labelled]]:
    """Ask what is missing, and read all that there is."""
    over = read_templates(wanted.instructions) if wanted.instructions else None
    types = ErrorTypes(wanted.question_format or (PAPERS,), over)
    examination = prepare(folder, Limits(progress="quiet"))
    sittings = [sitting for sitting in examination.sittings if fits(sitting.exam.spec)]
    if not sittings:
        said = ", ".join(dict.fromkeys(sitting.label for sitting in examination.sittings))
        raise VivaError(
            f"{folder.path} holds {said}: error types are those of CS-Bench, for answers that models wrote in words "
            "(`viva run csbench --shots 5 --cot`; not --rationale, not --choose)"
        )
    check_by(sittings, wanted)
    anew = Anew(judge=wanted.judge, judge_base_url=wanted.judge_base_url, judge_key_env=wanted.judge_key_env)
    if limits.batch is None and BatchLog.begun(folder.path, (), BATCHES):
        limits.batch = True
    if not wanted.judge_base_url:  # a judge is where the run's judges or models are
        confirm_endpoints(folder, limits)
    bench = open_bench(judges_anew(folder.record, anew), wanted.judge_samples, folder.record.seed, limits)
    with ExitStack() as stack:
        answers = folder.journal("responses", write=False)
        stack.callback(answers.close)
        gathered = gather(examination, stack)  # by the run's own judges
        examination.limits, examination.bench = limits, bench
        journal = folder.journal(STAGE)
        stack.callback(journal.close)
        works = [
            Labelling(sitting=sitting, labeller=types, bench=bench, answers=answers, gathered=gathered)
            for sitting in sittings
        ]
        refuse_unbatched(examination, [judge.model for judge in bench.judges])
        code = ask_judges(examination, bench, works, journal, open_post(examination, stack, BATCHES))
        rows = [row for work in works for row in labelled(work, journal)]
    return code, study(examination, bench, rows, wanted), rows


def _draw(told: Told, path: Path) -> None:
    from viva.reports import charts
    from viva.reports.charts.errors import errors_chart

    if not told.overall:
        raise VivaError(f"--chart {path}: here is no wrong answer to draw")
    charts.save(errors_chart(told.overall, told.names), path)


def _printed(told: Told, wanted: Wanted) -> str:
    from viva.reports import errors as report

    if wanted.format != "terminal":
        return report.FORMATS[wanted.format](told)
    width, colour = screen(wanted.out)
    return report.as_terminal(told, width=width, colour=colour)
