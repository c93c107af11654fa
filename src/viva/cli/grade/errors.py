"""`viva error-types`: why were the wrong answers wrong? The error types of CS-Bench, labelled by judges."""

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
from viva.runs.batches import open_batch_dispatcher, refuse_unbatched
from viva.runs.config import LimitOptions, pick
from viva.runs.open import open_evidence, open_judge_panel, prepare
from viva.runs.plan import rejudge_records
from viva.runs.rejudge import RejudgeOptions
from viva.studies.errors.study import NO_TAG, ErrorsConfig, ask_judges, check_by, fits, labels_text, study

if TYPE_CHECKING:
    from viva.reports.errors import Told

BATCHES = f"{STAGE}.batches.jsonl"
"""The batches in which judges are asked for labels; those of the run itself are in a file of their own."""
LABEL_SUFFIXES = (".csv", ".json", ".jsonl")


@click.command(name="error-types", short_help="Why wrong answers are wrong: CS-Bench's error types, by a judge.")
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
def error_types_command(run: Path, **given: Any) -> int:
    """Let judges label which types of error the wrong answers of RUN (CS-Bench) show, and count them by model: complete
    and partial conceptual errors and confusions in questions of knowledge; errors of concept, logic and mathematics in
    questions of reasoning. Replies are kept in errors.jsonl of the run folder: the same command goes on where it
    stopped, and asks nobody twice.

    \b
    viva run csbench --shots 5 --cot --only comprehension --model openai/NAME --run runs/NAME     as in the paper
    viva error-types runs/NAME --judge openai/JUDGE --max-cost 2
    viva error-types runs/NAME --judge openai/A --judge anthropic/B --labels labels.csv --chart errors.svg
    """
    config, limits = pick(ErrorsConfig, given), pick(LimitOptions, given)
    check_writable(config.out)
    if config.labels is not None and config.labels.suffix.lower() not in LABEL_SUFFIXES:
        raise VivaError(f"--labels {config.labels}: labels are written as {', '.join(LABEL_SUFFIXES)}")
    check_writable(config.labels)
    folder = RunFolder.open(find_run(run))
    folder.lock()
    try:
        code, told, rows = _labelled(folder, config, limits)
    finally:
        folder.unlock()
    if config.labels is not None:
        emit(labels_text(rows, config.labels.suffix.lower()), config.labels)
    if config.chart is not None:
        _draw(told, config.chart)
    emit(_printed(told, config), config.out)
    return code


def _labelled(folder: RunFolder, config: ErrorsConfig, limits: LimitOptions) -> tuple[int, Told, list[Labelled]]:
    """Ask what is missing, and read all that there is."""
    over = read_templates(config.instructions) if config.instructions else None
    types = ErrorTypes(config.question_format or (PAPERS,), over)
    opened = prepare(folder, LimitOptions(progress="quiet"))
    evaluations = [evaluation for evaluation in opened.evaluations if fits(evaluation.exam.spec)]
    if not evaluations:
        said = ", ".join(dict.fromkeys(evaluation.label for evaluation in opened.evaluations))
        raise VivaError(
            f"{folder.path} holds {said}: error types are those of CS-Bench, for answers that models wrote in words "
            "(`viva run csbench --shots 5 --cot`; not --rationale, not --answer-by)"
        )
    check_by(evaluations, config)
    rejudging = RejudgeOptions(
        judge=config.judge, judge_base_url=config.judge_base_url, judge_key_env=config.judge_key_env
    )
    if limits.batch is None and BatchLog.begun(folder.path, (), BATCHES):
        limits.batch = True
    if not config.judge_base_url:  # a judge is where the run's judges or models are
        confirm_endpoints(folder, limits)
    judge_panel = open_judge_panel(
        rejudge_records(folder.record, rejudging), config.judge_samples, folder.record.seed, limits
    )
    with ExitStack() as stack:
        answers = folder.journal("responses", write=False)
        stack.callback(answers.close)
        evidence_store = open_evidence(opened, stack)  # by the run's own judges
        opened.limits, opened.judge_panel = limits, judge_panel
        journal = folder.journal(STAGE)
        stack.callback(journal.close)
        works = [
            Labelling(
                evaluation=evaluation,
                labeller=types,
                judge_panel=judge_panel,
                answers=answers,
                evidence_store=evidence_store,
            )
            for evaluation in evaluations
        ]
        refuse_unbatched(opened, [judge.model for judge in judge_panel.judges])
        code = ask_judges(opened, judge_panel, works, journal, open_batch_dispatcher(opened, stack, BATCHES))
        rows = [row for work in works for row in labelled(work, journal)]
    return code, study(opened, judge_panel, rows, config), rows


def _draw(told: Told, path: Path) -> None:
    from viva.reports import charts
    from viva.reports.charts.errors import errors_chart

    if not told.overall:
        raise VivaError(f"--chart {path}: here is no wrong answer to draw")
    charts.save(errors_chart(told.overall, told.names), path)


def _printed(told: Told, config: ErrorsConfig) -> str:
    from viva.reports import errors as report

    if config.format != "terminal":
        return report.FORMATS[config.format](told)
    width, colour = screen(config.out)
    return report.as_terminal(told, width=width, colour=colour)
