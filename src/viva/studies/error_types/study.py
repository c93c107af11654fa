"""Error types of wrong answers: requested from judges, and counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta
from msgspec.structs import asdict, replace

from viva.analysis.errortypes import Errors, Typed, counted
from viva.benchmarks import find_benchmark
from viva.benchmarks.csbench.errorlabels import GROUPS, PAPERS, ErrorTypes, type_names
from viva.commands import command
from viva.engine.asking import Tally, Task
from viva.engine.folder import RunFolder
from viva.engine.journal import Journal
from viva.engine.labelling import STAGE, Labelled, Labelling, keys_wanted, labelled, labels_wanted
from viva.engine.stages import Evaluation, Judge, JudgePanel
from viva.errors import VivaError, flag, option
from viva.fields import note, pick
from viva.prompting import read_templates
from viva.render.findings import Findings
from viva.runs.ask import BatchDispatcher, ask_judges, open_batch_dispatcher, refuse_unbatched
from viva.runs.config import JudgeKey, JudgeUrl, LimitOptions, RejudgeOptions
from viva.runs.open import OpenRun, confirm_endpoints, open_evidence, open_judge_panel, prepare
from viva.runs.scorefile import open_run_folder
from viva.runs.session import rejudge_records
from viva.studies.error_types.chart import errors_chart
from viva.studies.error_types.tables import agreed_labels, findings
from viva.types import ExamSpec

NO_TAG = "none"
BATCHES = f"{STAGE}.batches.jsonl"
"""Journal of the batches that ask judges for labels, separate from that of the run's batches."""
QuestionFormat = Literal["Multiple-choice", "Assertion", "Fill-in-the-blank", "Open-ended"]
Confirm = Callable[[RunFolder, LimitOptions], None]
"""Raises VivaError unless the user agreed to the addresses in a run."""


class ErrorsConfig(LimitOptions, frozen=True, kw_only=True):
    """Let judges label which types of error the wrong answers of RUN (CS-Bench) show, and count them by model: complete
    and partial conceptual errors and confusions in questions of knowledge; errors of concept, logic and mathematics in
    questions of reasoning. Replies are kept in errors.jsonl of the run folder: the same command goes on where it
    stopped, and asks no judge twice. `--format json` has every wrong answer with its labels.

    \b
    viva run csbench --shots 5 --cot --only comprehension --model openai/NAME --run runs/NAME     as in the paper
    viva error-types runs/NAME --judge openai/JUDGE --max-cost 2
    viva error-types runs/NAME --judge openai/A --judge anthropic/B --chart errors.svg
    """

    run: Annotated[Path, note("A run of CS-Bench.", argument=True, metavar="RUN")]
    judge: Annotated[
        tuple[str, ...],
        note(
            "Model that labels. Repeat for a panel: a type counts where more than half of them name it.",
            metavar="MODEL[@URL]",
        ),
    ]
    judge_samples: Annotated[int, Meta(ge=1, description="Replies per answer.")] = 1
    judge_base_url: JudgeUrl = None
    judge_key_env: JudgeKey = None
    question_format: Annotated[
        tuple[QuestionFormat, ...],
        note(f"Wrong answers to questions of this format; repeatable.  [default: {PAPERS}, as in the paper]"),
    ] = ()
    instructions: Annotated[
        Path | None,
        note(
            "TOML file that replaces texts of the judge's instructions (benchmarks/csbench/errors.toml).",
            metavar="FILE",
        ),
    ] = None
    by: Annotated[str, note(f"Also by this tag; `{NO_TAG}`: by none.", metavar="TAG")] = "domain"


@command(ErrorsConfig, chart="Draw it by model")
def study(config: ErrorsConfig, confirm: Confirm = confirm_endpoints) -> Findings[tuple[Labelled, ...]]:
    """Let judges label which types of error a run's wrong answers show, and count them by model. Replies are kept in
    the run: the same call goes on where it stopped, and asks nobody twice.

    Raises VivaError for a run without such answers, and where nobody agreed to the addresses in somebody's run.
    """
    folder = open_run_folder(config.run)
    with folder.lock():
        return _labelled(folder, config, confirm)


def _labelled(folder: RunFolder, config: ErrorsConfig, confirm: Confirm) -> Findings[tuple[Labelled, ...]]:
    """Ask judges for missing labels, and return the findings on all labels."""
    limits = pick(LimitOptions, asdict(config))
    over = read_templates(config.instructions) if config.instructions else None
    types = ErrorTypes(config.question_format or (PAPERS,), over)
    opened = prepare(folder)
    evaluations = [evaluation for evaluation in opened.evaluations if _fits(evaluation.exam.spec)]
    if not evaluations:
        labels = ", ".join(dict.fromkeys(evaluation.label for evaluation in opened.evaluations))
        raise VivaError(
            f"{folder.path} holds {labels}: error types are those of CS-Bench, for answers that models wrote in words "
            f"(`viva run csbench {flag('shots', '5')} {flag('cot')}`; not {option('rationale')}, not "
            f"{option('answer_by')})"
        )
    _check_by(evaluations, config)
    if limits.batch is None and folder.batched(BATCHES):
        limits = replace(limits, batch=True)
    if not config.judge_base_url:  # a judge uses the addresses of the run's judges or models
        confirm(folder, limits)
    judge_panel = open_judge_panel(
        rejudge_records(folder.record, pick(RejudgeOptions, asdict(config))),
        config.judge_samples,
        folder.record.seed,
        limits,
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
        code = _ask_judges(opened, judge_panel, works, journal, open_batch_dispatcher(opened, stack, BATCHES))
        rows = [row for work in works for row in labelled(work, journal)]
    by = "" if config.by == NO_TAG else config.by
    overall, parts = _counted(rows, by)
    return findings(
        overall, parts, by, type_names(), tuple(rows), notes=_notes(opened, judge_panel, rows, config), exit_code=code,
        drawing=partial(errors_chart, overall, type_names()),
    )  # fmt: skip


def _check_by(evaluations: Sequence[Evaluation], config: ErrorsConfig) -> None:
    """Refuse an unknown tag, before any judge is asked."""
    tags = next(evaluations[0].exam.questions()).tags
    if config.by not in (*tags, NO_TAG):
        raise VivaError(
            f"{config.by!r}: the questions have no such tag; there are: {', '.join(tags)}, {NO_TAG}", field="by"
        )


def _fits(spec: ExamSpec) -> bool:
    """Return whether the paper's types of error are those of this exam's answers."""
    return find_benchmark(spec.benchmark).about.error_types and not spec.rationale and not spec.choose


def _ask_judges(
    opened: OpenRun,
    judge_panel: JudgePanel,
    works: Sequence[Labelling],
    journal: Journal,
    dispatcher: BatchDispatcher | None,
) -> int:
    """Ask every judge for the labels that the journal lacks. Returns the exit code of the stage."""

    def wanted(judge: Judge, tally: Tally) -> Iterator[Task | None]:
        asked: set[bytes] = set()
        for work in works:
            yield from labels_wanted(work, judge, journal, tally, asked)

    total = len(set().union(*(keys_wanted(work) for work in works)))
    return ask_judges(opened, STAGE, "labelling", judge_panel, journal, wanted, total, dispatcher)


def _counted(rows: Sequence[Labelled], by: str) -> tuple[list[Errors], list[Errors]]:
    """Count the labels by model and type, and also by the tag `by`."""
    overall: list[Errors] = []
    parts: list[Errors] = []
    for exam in dict.fromkeys(row.exam for row in rows):
        typed = [
            Typed(
                model=row.model,
                question=row.question,
                group=row.tags["tag"],
                tags=row.tags,
                labels=agreed_labels(row),
            )
            for row in rows
            if row.exam == exam
        ]
        overall += counted(exam, typed, GROUPS)
        parts += counted(exam, typed, GROUPS, by) if by else []
    return overall, parts


def _notes(opened: OpenRun, judge_panel: JudgePanel, rows: Sequence[Labelled], config: ErrorsConfig) -> list[str]:
    formats = ", ".join(config.question_format or (PAPERS,))
    notes = [f"Wrong answers to: {formats}. Labelled by {', '.join(judge.model.name for judge in judge_panel.judges)}."]
    if not rows:
        notes.append("There is no wrong answer of this format.")
    lost = [row for row in rows if agreed_labels(row) is None]
    silent = sum(all(vote is None for _, vote in row.votes) for row in lost)
    waiting = sum(not any(row.said) for row in lost)
    if waiting:
        notes.append(
            f"{waiting:,} of {len(rows):,} wrong answers have no label yet: no judge has replied. The same command "
            "goes on."
        )
    if silent > waiting:
        notes.append(
            f"{silent - waiting:,} of {len(rows):,} wrong answers have no label: no reply of a judge's could be read."
        )
    if len(lost) > silent:
        notes.append(f"{len(lost) - silent:,} of {len(rows):,} have none since no type has a majority of the judges.")
    for evaluation in {evaluation.label: evaluation for evaluation in opened.evaluations}.values():
        spec = evaluation.exam.spec
        if not _fits(spec):
            notes.append(f"{evaluation.label} is left out: its answers are not CS-Bench answers in words.")
        elif not (spec.chain_of_thought and spec.shots == 5):
            how = f"{spec.shots}-shot, {'chain of thought' if spec.chain_of_thought else 'answers only'}"
            notes.append(
                f"{evaluation.label} is {how}; the paper labels five-shot chain-of-thought answers"
                + (": without a thought on paper a judge must guess it." if not spec.chain_of_thought else ".")
            )
    return [*notes, *opened.conflicts()]
