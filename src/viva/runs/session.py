"""A run at work, under its lock: begun, resumed or judged again, carried out, graded. All that asks goes through it,
and so do answers collected elsewhere."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from viva.benchmarks import find_benchmark
from viva.benchmarks.wrapper import unsharded
from viva.contracts import Exam, Model
from viva.engine.folder import RunFolder, RunRecord, find_run, new_run_path
from viva.errors import DataError, option
from viva.io.tables import CsvText
from viva.keytable import KeyTable, text_key
from viva.models.replay import Replay
from viva.render.result import Report
from viva.runs.answers import Collected, collect
from viva.runs.ask import refuse_unbatched
from viva.runs.config import (
    GradePlan,
    LimitOptions,
    OutputOptions,
    ResumePlan,
    RunPlan,
    TaskOptions,
    refuse_unjudged,
)
from viva.runs.exams import languages_of, open_exams, remember
from viva.runs.open import OpenRun, earlier_runs, open_encoder_of, prepare
from viva.runs.plan import (
    Way,
    begin,
    create_folder,
    judge_records,
    plan_run,
    rejudge,
    rejudge_records,
    remember_judges,
    way_of,
)
from viva.runs.progress import notify
from viva.runs.published_rows import refuse_unknown, settings_of
from viva.runs.scoring import grade_run
from viva.runs.trust import confirm_endpoints, keep_approval
from viva.types import Sampling, ScoreRow
from viva.version import __version__
from viva.visible import csv_safe

Own = Mapping[str, Model]
"""Models that are there already, by their names in run.json."""


class Session(Struct, frozen=True, kw_only=True):
    """A run that this process alone writes, until `report` is made or nothing more is asked."""

    opened: OpenRun
    way: Way
    earlier: list[RunFolder] = []
    """Runs whose answers may be taken over."""

    @classmethod
    def begun(
        cls, plan: RunPlan, way: Way | None = None, own: Own | None = None, kept: Mapping[str, bytes] | None = None
    ) -> Session:
        """Return a new run; `kept`: more files for its folder. Raises VivaError for what cannot be asked: nothing is
        then.
        """
        way = way or Way()
        opened, earlier = plan_run(plan, own or {}, way, asking=True)
        opened.kept |= kept or {}
        return cls(opened=begin(opened, plan), way=way, earlier=earlier)

    @classmethod
    def estimated(cls, plan: RunPlan, way: Way | None = None) -> Iterator[str]:
        """Return lines on what a run would ask, and what that would cost. Raises VivaError as it would; nothing is
        asked.
        """
        from viva.runs.forecast import estimate

        return estimate(plan_run(plan, {}, way or Way(), asking=False)[0])

    @classmethod
    def resumed(
        cls,
        run: Path,
        plan: ResumePlan,
        way: Way | None = None,
        own: Callable[[RunFolder], Own] | None = None,
        confirm: Callable[[RunFolder, LimitOptions], None] = confirm_endpoints,
    ) -> Session:
        """Return a run that is there: locked, then read, then checked.

        Raises VivaError, StorageError where another process writes to it.
        """
        folder = RunFolder.open(find_run(run))
        refuse_unknown(plan.rows.published_rows, settings_of(folder.record.exams))
        earlier = earlier_runs(plan.folder.reuse)
        held = folder.lock()
        with held:
            folder.record = RunFolder.open(folder.path).record
            limits, rejudging = plan.limits_after(folder.record.limits), plan.rejudging
            way = way or way_of(folder.record)
            confirm(folder, limits)
            exams = None
            if rejudging or way.judges_again:
                record, exams = rejudge(folder.record, rejudging, rejudge_records(folder.record, rejudging))
                folder.record = way.judging(record, exams)  # run.json changes when all that can be refused is refused
            opened = prepare(folder, limits, exams, own(folder) if own else None, asking=True)
            refuse_unbatched(opened)
            open_encoder_of(opened, new=rejudging.encoder is not None)
            if exams is not None:
                remember_judges(folder.record, opened)
                folder.remember(folder.record)
                keep_approval(folder)
            held.pop_all()
        return cls(opened=opened, way=way, earlier=earlier)

    @classmethod
    def graded(cls, plan: GradePlan, way: Way | None = None, collected: Collected | None = None) -> tuple[Session, str]:
        """Return answers collected elsewhere as a new run, and their column of questions."""
        opened, replay = plan_grading(plan, collected, way)
        open_encoder_of(opened, new=True)
        create_folder(opened)
        return cls(opened=opened, way=way or Way()), replay.question_column

    def through(self, output: OutputOptions) -> tuple[int, Report]:
        """Ask what is missing, and grade: the exit code, and what came of it. The folder is free again then."""
        try:
            code = self.way.carry_out(self.opened, self.earlier)
            return code, grade_run(self.opened, output)
        finally:
            self.opened.folder.unlock()


def plan_grading(plan: GradePlan, collected: Collected | None = None, way: Way | None = None) -> tuple[OpenRun, Replay]:
    """Return what `viva grade` would do so, and the answers: all is checked, and nothing is written yet.

    `collected` are answers that are there already; then `plan.answers` is only what they are called.
    """
    choice, judging, paths, benchmark = plan.task, plan.judging, plan.answers, plan.benchmark
    refuse_unjudged(choice, judging)
    collected = collected or collect(benchmark, paths, choice, plan.reading, quiet=plan.limits.progress == "quiet")
    for replay in collected.replays:
        _check_gaps(replay, paths[0])
    if not choice.language and len(languages_of(benchmark)) > 1:
        choice = replace(choice, language=_language_of(benchmark, collected.answered, choice))
    exams_with_data = open_exams((benchmark,), choice)
    exams = [exam for exam, _ in exams_with_data]
    limited = bool(choice.limit or choice.questions or choice.only)
    _refuse_strangers(collected.replays, exams, paths[0], limited=limited)
    samples, repeats = _repeats(collected.samples, exams)
    record = RunRecord(
        viva=__version__,
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        command=[*plan.command],
        exams=[remember(exam, data) for exam, data in exams_with_data],
        models=collected.models,
        judges=judge_records(judging, judging.judge_base_url, judging.judge_key_env),
        judge_samples=judging.judge_samples,
        verdicts=judging.verdicts,
        samples=samples,
        repeats=repeats,
        seed=choice.seed or 0,
        sampling=Sampling(),
        limits=plan.limits.of_run(),
    )
    record = (way or Way()).judging(record, exams)
    refuse_unknown(plan.rows.published_rows, settings_of(record.exams))
    path = plan.folder.run or new_run_path(Path("runs"), f"grade-{benchmark}-{paths[0].name}")
    own = {model.name: replay for model, replay in zip(collected.models, collected.replays, strict=True)}
    opened = prepare(RunFolder(path, record), plan.limits, exams, own, asking=True)
    opened.kept = collected.kept
    refuse_unbatched(opened)
    return opened, collected.replays[0]


def _repeats(answers: int, exams: list[Exam]) -> tuple[int, int]:
    """So many answers to a question as samples and repeats: in groups of the size that the paper takes the best of."""
    group = find_benchmark(exams[0].spec.benchmark).about.draws.samples
    return (group, -(-answers // group)) if answers > group > 1 else (answers, 1)


def _language_of(benchmark: str, answered: set[str], choice: TaskOptions) -> tuple[str, ...]:
    """Return the language whose ids the answers carry: CS-Bench numbers its languages apart."""
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
                f"where a column holds the questions' texts, say which: {option('question_column', 'NAME')}"
            )


def scores_csv(rows: Iterable[ScoreRow], question_column: str = "question") -> str:
    """Return a row an answer; the score is empty where an answer is unscored. Scores are exact: they can be
    compared.
    """
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
