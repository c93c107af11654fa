"""Types of error of wrong answers: asked of judges, and counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from viva.benchmarks.csbench.errors import GROUPS, PAPERS, type_names
from viva.engine.asking import Tally, Task
from viva.engine.budget import Budget
from viva.engine.journal import Journal
from viva.engine.labelling import STAGE, Labelled, Labelling, keys_wanted, labels_wanted
from viva.engine.stages import Evaluation, Judge, JudgePanel
from viva.errors import VivaError
from viva.io.tables import CsvText
from viva.reports.text import json_text
from viva.runs.batches import BatchDispatcher, Queue
from viva.runs.execute import Stage, ask_all, ending_of, work_through
from viva.runs.open import OpenRun
from viva.types import ExamSpec
from viva.visible import csv_safe

if TYPE_CHECKING:
    from viva.reports.errors import Told


NO_TAG = "none"


class ErrorsConfig(Struct, kw_only=True):
    """Who labels what, and how it is told."""

    judge: tuple[str, ...] = ()
    judge_samples: int = 1
    judge_base_url: str | None = None
    judge_key_env: str | None = None
    question_format: tuple[str, ...] = ()
    instructions: Path | None = None
    by: str = "domain"
    labels: Path | None = None
    chart: Path | None = None
    format: str = "terminal"
    out: Path | None = None


def check_by(evaluations: Sequence[Evaluation], config: ErrorsConfig) -> None:
    """Refuse what could not be told at the end, before anybody is asked."""
    tags = next(evaluations[0].exam.questions()).tags
    if config.by not in (*tags, NO_TAG):
        raise VivaError(f"--by {config.by!r}: the questions have no such tag; there are: {', '.join(tags)}, {NO_TAG}")


def fits(spec: ExamSpec) -> bool:
    """Whether the paper's types of error are those of this exam's answers."""
    return spec.benchmark == "csbench" and not spec.rationale and not spec.choose


def ask_judges(
    opened: OpenRun,
    judge_panel: JudgePanel,
    works: Sequence[Labelling],
    journal: Journal,
    dispatcher: BatchDispatcher | None,
) -> int:
    """Ask every judge for the labels that the journal lacks. Returns the exit code of the stage."""
    total = len(set().union(*(keys_wanted(work) for work in works)))
    ending = ending_of(dispatcher, STAGE, "the same command again")
    stage = Stage("labelling", journal, Budget(opened.limits.max_requests, opened.limits.max_cost), total, ending)

    def of(judge: Judge) -> Queue:
        def wanted(tally: Tally) -> Iterator[Task]:
            asked: set[bytes] = set()
            for work in works:
                yield from labels_wanted(work, judge, journal, tally, asked)

        return Queue(judge.model, wanted)

    queues = [of(judge) for judge in judge_panel.judges]
    return work_through(
        opened,
        stage,
        lambda run: ask_all(run, STAGE, queues, opened.limits, dispatcher),
        [judge.model for judge in judge_panel.judges],
    )


def study(opened: OpenRun, judge_panel: JudgePanel, rows: Sequence[Labelled], config: ErrorsConfig) -> Told:
    """Count the labels by model and type, and by the tag that is asked for."""
    from viva.analysis.errortypes import Typed, agreed, counted
    from viva.reports.errors import Told

    by = "" if config.by == NO_TAG else config.by
    overall, parts = [], []
    for exam in dict.fromkeys(row.exam for row in rows):
        typed = [
            Typed(
                model=row.model,
                question=row.question,
                group=row.tags["tag"],
                tags=row.tags,
                labels=agreed([vote for _, vote in row.votes]),
            )
            for row in rows
            if row.exam == exam
        ]
        overall += counted(exam, typed, GROUPS)
        parts += counted(exam, typed, GROUPS, by) if by else []
    return Told(
        run=str(opened.folder.path),
        judges=tuple(judge.model.name for judge in judge_panel.judges),
        names=type_names(),
        overall=tuple(overall),
        by=by,
        parts=tuple(parts),
        notes=tuple(_notes(opened, judge_panel, rows, config)),
    )


def _notes(opened: OpenRun, judge_panel: JudgePanel, rows: Sequence[Labelled], config: ErrorsConfig) -> list[str]:
    from viva.analysis.errortypes import agreed

    formats = ", ".join(config.question_format or (PAPERS,))
    notes = [f"Wrong answers to: {formats}. Labelled by {', '.join(judge.model.name for judge in judge_panel.judges)}."]
    if not rows:
        notes.append("There is no wrong answer of this format.")
    lost = [row for row in rows if agreed([vote for _, vote in row.votes]) is None]
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
        if not fits(spec):
            notes.append(f"{evaluation.label} is left out: its answers are not CS-Bench answers in words.")
        elif not (spec.chain_of_thought and spec.shots == 5):
            how = f"{spec.shots}-shot, {'chain of thought' if spec.chain_of_thought else 'answers only'}"
            notes.append(
                f"{evaluation.label} is {how}; the paper labels five-shot chain-of-thought answers"
                + (": without a thought on paper a judge must guess it." if not spec.chain_of_thought else ".")
            )
    return [*notes, *opened.conflicts()]


def labels_text(rows: Sequence[Labelled], suffix: str) -> str:
    """Every wrong answer, with each judge's labels and what they agree on."""
    from viva.analysis.errortypes import agreed

    if suffix != ".csv":
        found = [{**msgspec.structs.asdict(row), "labels": agreed([vote for _, vote in row.votes])} for row in rows]
        if suffix == ".json":
            return json_text(found)
        return "".join(msgspec.json.encode(one).decode() + "\n" for one in found)
    tags = list(dict.fromkeys(tag for row in rows for tag in row.tags))
    table = CsvText(["exam", "model", "question", "sample", "outcome", "answer", "labels", "votes", *tags])
    for row in rows:
        votes = "; ".join(f"{judge}: {_codes(vote)}" for judge, vote in row.votes)
        said = (row.answer, _codes(agreed([vote for _, vote in row.votes])), votes)
        table.add(
            [
                *(csv_safe(text) for text in (row.exam, row.model, row.question)),
                row.sample,
                row.outcome,
                *map(csv_safe, (*said, *(row.tags.get(tag, "") for tag in tags))),
            ]
        )
    return table.text()


def _codes(labels: tuple[str, ...] | None) -> str:
    return "?" if labels is None else " ".join(labels) or "none"
