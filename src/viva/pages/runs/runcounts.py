"""How far a run is: counts by model and exam, tokens, rate, and the word for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from viva.engine.asking import LASTING
from viva.engine.batchlog import BatchLog
from viva.engine.folder import RunRecord
from viva.errors import StorageError
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
    """One model's answers to one exam."""

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
    input: int
    """Tokens of prompts, as servers counted them."""
    output: int
    """The same of replies."""
    uncounted: int
    """Answers of servers that did not say how many tokens they took."""
    rate: float
    """New answers a minute, over the last minute; 0 where it stands still."""
    seconds_left: float
    """At this rate; 0 where that cannot be said."""
    resumable: bool
    """Whether asking again may bring what is missing."""
    parts: Sequence[Part]
    """Empty where it is not known yet which answer is whose."""
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
    total: int,
    answers: Followed,
    stages: Mapping[str, Followed],
    sheets: Sequence[Sheet],
    results: Sequence[Result],
    *,
    writer: int,
    now: float,
    waiting: Waiting,
) -> Progress:
    """Return what journals, lock, run.json and the results known so far say together.

    `total`: answers that it is to have. With `sheets` every answer is counted where it belongs.
    """
    parts = _parts(answers, sheets)
    total = sum(part.total for part in parts) if parts else total
    answered = sum(part.answered for part in parts) if parts else min(len(answers.answered), total)
    failed = sum(part.failed for part in parts) if parts else len(answers.failed)
    left = max(0, total - answered - failed)
    rate = answers.rate(now) if writer else 0.0
    came = {name: count for name, one in stages.items() if (count := len(one.answered) + len(one.failed))}
    lacking = _lacking(record, stages)
    unjudged = sum(one.overall.outcomes.get("ungraded", 0) for one in results) if record.judges else 0
    # Verdicts that were never asked for: one that came can be `none`, which stands.
    unasked = not (failed or left or lacking) and unjudged > came.get("annotations", 0)
    lacking += [f"{unjudged:,} {outcome_name('ungraded')}"] * unasked
    used = answers.used.values()
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
        input=sum(one.input for one in used),
        output=sum(one.output for one in used),
        uncounted=sum(one.uncounted for one in used) if asked else 0,
        rate=60 * rate,
        seconds_left=(left + failed) / rate if rate else 0.0,
        resumable=bool(left)
        or unasked
        or any(not one.failures.keys() <= LASTING for one in (answers, *stages.values())),
        parts=parts,
        stages=came,
        failures=dict(answers.failures) if failed else {},
        damaged=tuple(answers.damaged[:3]),
        problem=waiting.problem,
    )


def _lacking(record: RunRecord, stages: Mapping[str, Followed]) -> list[str]:
    """Return what the stages after the answers failed at, in words; of verdicts those of the run's judges."""
    judges = {name for judge in record.judges for name in (judge.name, judge.shown)}
    found = {stage: len(one.failed) for stage, one in stages.items()}
    found["annotations"] = sum(stages["annotations"].failed_of[judge] for judge in judges)
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


def _parts(answers: Followed, sheets: Sequence[Sheet]) -> list[Part]:
    parts = []
    for sheet in sheets:
        if sheet.evaluation.keyed:
            keys = [sheet.key(place) for place in range(len(sheet))]
            answered = sum(key in answers.answered for key in keys)
            failed = sum(key in answers.failed for key in keys)
        else:
            became = Counter(row.outcome for row in sheet.rows)
            failed = became["error"]
            answered = len(sheet) - failed - became["not asked"]
        parts.append(Part(sheet.evaluation.model.name, sheet.evaluation.label, answered, failed, len(sheet)))
    return parts
