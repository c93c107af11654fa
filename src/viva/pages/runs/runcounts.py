"""How far a run is: counts by model and exam, tokens, rate, and the word for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from viva.engine.asking import LASTING
from viva.engine.batchlog import BatchLog
from viva.engine.folder import RunRecord
from viva.errors import StorageError
from viva.pages.runs import following
from viva.pages.runs.following import Followed
from viva.pages.runs.gradedrows import Sheet
from viva.providers import traits_of
from viva.render.result import Result
from viva.types import outcome_name

State = Literal["running", "finished", "waiting", "stopped", "incomplete", "empty"]
"""Incomplete: all was asked, and some was not answered or not graded."""
_LACKING = {
    "executions": ("program", "not run"),
    "similarities": ("text", "not compared"),
    "annotations": ("verdict", "missing"),
}


class Waiting(Struct, frozen=True):
    """So many requests in so many batches; or why nobody can say."""

    batches: int = 0
    requests: int = 0
    problem: str = ""

    @property
    def sentence(self) -> str:
        """In words; empty where nothing is waited for."""
        if not self.batches:
            return ""
        batches = "a batch" if self.batches == 1 else f"{self.batches:,} batches"
        return f"{self.requests:,} requests in {batches} are with the provider"


def waiting(folder: Path) -> Waiting:
    """Return what of this run's is not read yet. Takes no lock and writes nothing."""
    try:
        log = BatchLog(folder, write=False)
    except StorageError as problem:
        return Waiting(problem=str(problem))
    try:
        sizes = [len(batch.intent.keys) for batch in log.waiting()]
    finally:
        log.close()
    return Waiting(len(sizes), sum(sizes))


class Part(Struct, frozen=True):
    """One model's answers to one exam (to several, where it is not known yet which answer is whose)."""

    model: str
    exam: str
    answered: int
    failed: int
    total: int

    @property
    def left(self) -> int:
        """What was not asked yet."""
        return max(0, self.total - self.answered - self.failed)


class Progress(Struct, frozen=True, kw_only=True):
    """All of a run at one moment. All texts are hostile."""

    state: State
    sentence: str
    total: int
    answered: int
    failed: int
    left: int
    input_tokens: int
    output_tokens: int
    uncounted: int
    """Answers of servers that did not say how many tokens they took."""
    rate: float
    """New answers a minute, over the last minute; 0 where it stands still."""
    seconds_left: float
    """At this rate; 0 where that cannot be said."""
    resumable: bool
    """Whether asking again may bring what is missing."""
    parts: tuple[Part, ...]
    stages: dict[str, int]
    """How much the later stages have found out so far."""
    failures: dict[str, int]
    """Kind → how many requests failed with it, those that were tried again included."""
    damaged: tuple[str, ...]
    problem: str
    """Why nobody can say what is with a provider, if so."""
    whole: bool = True
    """Whether all of the journals was counted."""


def progress_of(
    record: RunRecord,
    wanted: Sequence[int],
    answers: Followed,
    stages: Mapping[str, Followed],
    sheets: Sequence[Sheet],
    *,
    writer: int,
    now: float,
    waiting: Waiting,
) -> Progress:
    """Return what journals, lock and run.json say together.

    `wanted`: answers of a model, exam by exam. With `sheets` every answer is counted where it belongs.
    """
    parts = tuple(_exact(answers, sheets) if sheets else _rough(record, wanted, answers))
    total = sum(part.total for part in parts)
    answered = sum(min(part.answered, part.total) for part in parts)
    failed = sum(part.failed for part in parts)
    left = max(0, total - answered - failed)
    rate = answers.rate(now) if writer else 0.0
    lacking = _lacking(record, stages)
    asked = any(traits_of(model.name).counted for model in record.models)
    state: State = (
        "running" if writer else "waiting" if waiting.batches
        else "empty" if not answers.lines and total else "stopped" if left
        else "incomplete" if failed or lacking else "finished"
    )  # fmt: skip
    return Progress(
        state=state,
        sentence=_sentence(state, writer, failed, left, lacking, waiting.sentence),
        total=total,
        answered=answered,
        failed=failed,
        left=left,
        input_tokens=answers.tokens.input,
        output_tokens=answers.tokens.output,
        uncounted=answers.tokens.uncounted if asked else 0,
        rate=60 * rate,
        seconds_left=(left + failed) / rate if rate else 0.0,
        resumable=bool(left) or any(not one.failures.keys() <= LASTING for one in (answers, *stages.values())),
        parts=parts,
        stages={name: count for name, one in stages.items() if (count := len(one.answered) + len(one.failed))},
        failures=dict(answers.failures) if failed else {},
        damaged=tuple(answers.damaged[:3]),
        problem=waiting.problem,
    )


def with_verdicts(progress: Progress, record: RunRecord, results: Sequence[Result]) -> Progress:
    """Return the same, of a run with judges incomplete where more answers lack a verdict than verdicts came.

    Verdicts were never asked for then; one that came can be `none`, which stands.
    """
    unjudged = sum(one.overall.outcomes.get("ungraded", 0) for one in results)
    if progress.state != "finished" or not record.judges or unjudged <= progress.stages.get("annotations", 0):
        return progress
    said = _sentence("incomplete", 0, 0, 0, [f"{unjudged:,} {outcome_name('ungraded')}"], "")
    return msgspec.structs.replace(progress, state="incomplete", sentence=said, resumable=True)


def _lacking(record: RunRecord, stages: Mapping[str, Followed]) -> list[str]:
    """Return what the stages after the answers failed at, in words; of verdicts those of the run's judges."""
    judges = {name for judge in record.judges for name in (judge.name, judge.shown)}
    found = {stage: len(one.failed) for stage, one in stages.items()}
    found["annotations"] = sum(
        failed for (model, _), (_, failed) in stages["annotations"].by_group.items() if model in judges
    )
    return [
        f"{found[stage]:,} {what}{'' if found[stage] == 1 else 's'} {said}"
        for stage, (what, said) in _LACKING.items()
        if found[stage]
    ]


def _sentence(state: State, writer: int, failed: int, left: int, lacking: Sequence[str], waiting: str) -> str:
    if state == "running":
        said = f"running (process {writer})" if left or failed else f"all answered, still at work (process {writer})"
        return f"{said}; {waiting}" if waiting else said
    if state == "waiting":
        return f"waiting: {waiting}"
    if state == "finished":
        return "finished"
    if state == "empty":
        return "not begun: nothing has come in"
    missing = [f"{failed:,} failed"] if failed else []
    missing += [f"{left:,} not asked"] if left else []
    missing += lacking
    return f"{'stopped before its end' if left else 'all asked'}: {', '.join(missing)}"


def _exact(answers: Followed, sheets: Sequence[Sheet]) -> list[Part]:
    parts = []
    for sheet in sheets:
        if sheet.keyed:
            keys = [sheet.key(place) for place in range(len(sheet))]
            answered = sum(key in answers.answered for key in keys)
            failed = sum(key in answers.failed for key in keys)
        else:
            became = Counter(row.outcome for row in sheet.rows)
            failed = became["error"]
            answered = len(sheet) - failed - became["not asked"]
        parts.append(Part(sheet.evaluation.model.name, sheet.evaluation.label, answered, failed, len(sheet)))
    return parts


def _rough(record: RunRecord, wanted: Sequence[int], answers: Followed) -> list[Part]:
    """By benchmark, as the lines themselves say; enough where no benchmark is sat twice."""
    labels = dict(zip(following.exam_labels(record), zip(record.exams, wanted, strict=True), strict=True))
    found = []
    for model in record.models:
        name = following.model_name(model)
        for benchmark in dict.fromkeys(exam.spec.benchmark for exam, _ in labels.values()):
            of_exam = [label for label, (exam, _) in labels.items() if exam.spec.benchmark == benchmark]
            total = sum(labels[label][1] for label in of_exam)
            counts = answers.by_group.get((name, benchmark)) or answers.by_group.get((model.name, benchmark)) or [0, 0]
            found.append(Part(name, ", ".join(of_exam), counts[0], counts[1], total))
    return found
