"""Answers collected elsewhere as a run: whose questions they answer, and what is graded."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from viva.benchmarks import find_benchmark
from viva.benchmarks.sharding import unsharded
from viva.contracts import Exam
from viva.engine.folder import RunFolder, RunRecord, new_run_path
from viva.engine.limits import RunLimits
from viva.errors import DataError
from viva.fields import pick
from viva.io.tables import CsvText
from viva.keytable import KeyTable, text_key
from viva.models.replay import Replay
from viva.runs.answer_files import Collected, collect
from viva.runs.ask import refuse_unbatched
from viva.runs.config import AnswerFileOptions, JudgeOptions, LimitOptions, OutputOptions, TaskOptions, refuse_unjudged
from viva.runs.exams import languages_of, open_exams, remember
from viva.runs.open import OpenRun, prepare
from viva.runs.plan import Way, judge_records
from viva.runs.progress import notify
from viva.runs.published_rows import refuse_unknown, settings_of
from viva.types import Sampling, ScoreRow
from viva.version import __version__
from viva.visible import csv_safe


def plan_grading(
    benchmark: str,
    answers: Path | Sequence[Path],
    run_path: Path | None,
    given: Mapping[str, Any],
    collected: Collected | None = None,
    way: Way | None = None,
) -> tuple[OpenRun, Replay]:
    """What `viva grade` with these options would do, and the answers: all is checked, and nothing is written yet.

    `collected` are answers that are there already; then `answers` is only what they are called.
    """
    choice, judging = pick(TaskOptions, given), pick(JudgeOptions, given)
    refuse_unjudged(choice, judging)
    paths = [answers] if isinstance(answers, Path) else list(answers)
    collected = collected or collect(
        benchmark, paths, choice, pick(AnswerFileOptions, given), quiet=given["progress"] == "quiet"
    )
    for replay in collected.replays:
        _check_gaps(replay, paths[0])
    if not choice.language and len(languages_of(benchmark)) > 1:
        choice.language = _language_of(benchmark, collected.answered, choice)
    exams_with_data = open_exams((benchmark,), choice)
    exams = [exam for exam, _ in exams_with_data]
    limited = bool(choice.limit or choice.questions or choice.only)
    _refuse_strangers(collected.replays, exams, paths[0], limited=limited)
    samples, repeats = _repeats(collected.samples, exams)
    record = RunRecord(
        viva=__version__,
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        command=["viva", *sys.argv[1:]],
        exams=[remember(exam, data) for exam, data in exams_with_data],
        models=collected.models,
        judges=judge_records(judging, judging.judge_base_url, judging.judge_key_env),
        judge_samples=judging.judge_samples,
        verdicts=judging.verdicts,
        samples=samples,
        repeats=repeats,
        seed=choice.seed or 0,
        sampling=Sampling(),
        limits=pick(RunLimits, given),
    )
    record = (way or Way()).judging(record, exams)
    limits, output = pick(LimitOptions, given), pick(OutputOptions, given)
    refuse_unknown(output.published_rows, settings_of(record.exams))
    path = run_path or new_run_path(Path("runs"), f"grade-{benchmark}-{paths[0].name}")
    own = {model.name: replay for model, replay in zip(collected.models, collected.replays, strict=True)}
    opened = prepare(RunFolder(path, record), limits, exams, own, asking=True)
    opened.kept = collected.kept
    refuse_unbatched(opened)
    return opened, collected.replays[0]


def _repeats(answers: int, exams: list[Exam]) -> tuple[int, int]:
    """So many answers to a question as samples and repeats: in groups of the size that the paper takes the best of."""
    group = find_benchmark(exams[0].spec.benchmark).about.draws.samples
    return (group, -(-answers // group)) if answers > group > 1 else (answers, 1)


def _language_of(benchmark: str, answered: set[str], choice: TaskOptions) -> tuple[str, ...]:
    """The language whose ids the answers carry: CS-Bench numbers its languages apart."""
    languages = languages_of(benchmark)
    found: list[str] = []
    for language in languages:
        candidate = TaskOptions(data=choice.data, language=(language,), only=choice.only)
        try:
            exam = open_exams((benchmark,), candidate)[0][0]
        except DataError:
            continue  # this language's files are not there; if no other fits either, grading says so below
        if any(question.id in answered for question in exam.questions()):
            found.append(language)
    return tuple(found) or languages[:1]


def _check_gaps(replay: Replay, answers: Path) -> None:
    """Say which sample numbers no question has: their answers are missing.

    Raises DataError where they were most likely counted from 1, or are seeds.
    """
    numbers = replay.sample_numbers
    gaps = [sample for sample in range(replay.samples) if sample not in numbers] if numbers else []
    if gaps and (gaps[0] == 0 or len(gaps) > len(numbers)):
        raise DataError(f"{answers} has no answer with sample {gaps[0]}; number the samples 0, 1, ...")
    if gaps:
        named = ", ".join(map(str, gaps[:5])) + (", …" if gaps[5:] else "")
        notify(f"{answers}: no question has an answer with sample {named}: counted as missing")


def _refuse_strangers(replays: Sequence[Replay], exams: list[Exam], answers: Path, *, limited: bool) -> None:
    """Answers to questions that are not asked: a wrong file, unless the user narrowed the questions down."""
    known, shown = KeyTable(), ""
    for question in (question for exam in exams for question in unsharded(exam).questions()):
        known.add(text_key(question.id))
        shown = shown or question.id
    for replay in replays:
        strange, first, fitting = 0, "", 0
        for identity in replay.questions():
            if text_key(identity) in known:
                fitting += 1
            else:
                strange, first = strange + 1, first if strange else identity
        if strange and not (limited and fitting):
            raise DataError(
                f"{answers} answers question {first!r}"
                + (f" and {strange - 1:,} more" if strange > 1 else "")
                + f" that this set does not have; its ids look like {shown!r}; "
                "where a column holds the questions' texts, say which: --question-column NAME"
            )


def scores_csv(rows: Iterable[ScoreRow], question_column: str = "question") -> str:
    """A row an answer; the score is empty where an answer is unscored. Scores are exact: they can be compared."""
    table = CsvText([question_column, "sample", "score", "outcome", "read", "cluster", "model"])
    for row in rows:
        score = "" if row.value is None else _exactly(row.value)
        question, answer, model, cluster = map(csv_safe, (row.question, row.answer[:200], row.model, row.cluster))
        table.add([question, row.sample, score, row.outcome, answer, cluster, model])
    return table.text()


def _exactly(value: float) -> str:
    """As short as it can be without becoming another number."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)
