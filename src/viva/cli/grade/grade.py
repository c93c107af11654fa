"""`viva grade`: grade answers collected elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from viva.benchmarks import is_table
from viva.benchmarks.card.draft import card_of
from viva.cli.options import (
    GroupedCommand,
    check_writable,
    derive,
    emit,
    engine_options,
    exam_options,
    judge_options,
    print_report,
    published_rows_option,
    run_option,
    shard_option,
    typed,
)
from viva.errors import EXIT_INCOMPLETE, EXIT_OK
from viva.fields import pick
from viva.runs.collected import UNMATCHED, scores_csv
from viva.runs.config import AnswerFileOptions, GradePlan, OutputOptions
from viva.runs.progress import conclusions_last
from viva.runs.scorefile import score_rows
from viva.runs.session import Session, Way


@click.command(cls=GroupedCommand)
@click.argument("benchmark")
@click.argument("answers", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="ANSWERS...")
@derive(AnswerFileOptions)
@click.option(
    "--scores",
    "--out",
    "scores",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a CSV row per answer: question, sample, score, outcome, read, points (0 where unreadable), model.",
)
@exam_options
@shard_option
@judge_options
@engine_options
@run_option
@derive(OutputOptions, only=("format", "tables", "all"))
@published_rows_option
def grade_command(
    benchmark: str,
    answers: tuple[Path, ...],
    scores: Path | None,
    way: Way | None = None,
    **given: Any,
) -> int:
    """Grade the ANSWERS to BENCHMARK's questions in a file: JSONL or CSV rows of `question` (id), `sample`, `text`.

    Also gzipped, or a folder of text files (ID/SAMPLE.txt or ID_SAMPLE.txt); columns of other usual names, JSON and
    the results of providers' batches. Ids are those of the published files (CS-Bench: ID; CMMLU: subject/row, counted
    from 0, as in agronomy/0; InfiBench: 0-0-1; others: id). Without --language, CS-Bench is graded in the language that
    the ids belong to. Questions without an answer count as missing.

    Also what other tools wrote, files or folders: lm-evaluation-harness (samples_*.jsonl), Inspect (.eval, .json),
    OpenCompass (predictions), Hugging Face datasets (Parquet, Arrow). Questions are found by id, else by their text.

    \b
    viva grade csbench answers.jsonl --out scores.csv
    viva grade cmmlu lm-eval-output/ --data DIR
    viva grade infibench logs/2026-11-21_infibench.eval
    viva grade csbench replies/ --question-column prompt --text-column response    a folder of Parquet
    """
    check_writable(scores)
    benchmark = str((is_table(benchmark) and card_of(Path(benchmark))) or benchmark)
    output = pick(OutputOptions, given)
    plan = pick(GradePlan, given, benchmark=benchmark, answers=answers, command=typed())
    session, question_column = Session.graded(plan, way)
    with conclusions_last():
        code, report = session.through(output)
        print_report(report, output)
    if code == EXIT_OK and UNMATCHED in session.opened.kept:
        code = EXIT_INCOMPLETE
    if scores:
        emit(scores_csv(score_rows(session.opened.folder.path), question_column), scores)
    return code
