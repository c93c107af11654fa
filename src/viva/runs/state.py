"""State and progress of a run: counts by model and exam, tokens, rate, and their description in words.

Used by `viva runs`, the list of runs, and a run's page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from viva.engine.asking import LASTING
from viva.engine.batchlog import BatchLog
from viva.engine.folder import RunRecord
from viva.errors import StorageError
from viva.providers import traits_of
from viva.render.result import Result
from viva.runs.following import Followed
from viva.types import NOT_ASKED, outcome_name
from viva.visible import plural

State = Literal["running", "done", "waiting", "stopped", "incomplete", "empty"]
""""incomplete": all was asked, but some answers or grades are missing that may still come."""
_LACKING = {
    "executions": ("program", "not run"),
    "similarities": ("text", "not compared"),
    "annotations": ("verdict", "missing"),
}


class Waiting(Struct, frozen=True):
    """Open batches: requests and batches; or why they are unknown."""

    batches: int = 0
    requests: int = 0
    problem: str = ""

    @property
    def sentence(self) -> str:
        """A phrase in words."""
        batches = "a batch" if self.batches == 1 else f"{self.batches:,} batches"
        are = "is" if self.requests == 1 else "are"
        return f"{plural(self.requests, 'request')} in {batches} {are} with the provider"


def waiting(folder: Path) -> Waiting:
    """Return the run's open batches. Takes no lock and writes nothing."""
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
        """Number of answers not asked for yet."""
        return max(0, self.total - self.answered - self.failed)


def graded_parts(results: Sequence[Result]) -> list[Part]:
    """Return the parts by their scores, which count every sample of a question."""
    parts = []
    for scored in results:
        total, failed = sum(scored.answers.values()), scored.answers.get("error", 0)
        parts.append(Part(scored.model, scored.exam, total - failed - scored.answers.get(NOT_ASKED, 0), failed, total))
    return parts


class Progress(Struct, frozen=True, kw_only=True):
    """Progress of a run at one moment. All texts are untrusted."""

    state: State
    brief: str
    """What is left to do, for lists; the state where nothing is."""
    sentence: str
    """A sentence with both."""
    total: int
    answered: int
    failed: int
    left: int
    input: int
    """Tokens of prompts, as counted by servers."""
    output: int
    """Tokens of replies, as counted by servers."""
    uncounted: int
    """Answers without token counts."""
    rate: float
    """New answers a minute, over the last minute; 0 without any."""
    seconds_left: float
    """Estimated seconds left at this rate; 0 where unknown."""
    resumable: bool
    """Whether asking again may bring what is missing."""
    parts: Sequence[Part]
    """Counts by model and exam; empty where unknown yet."""
    stages: dict[str, int]
    """Stage after the answers → its results so far."""
    failures: dict[str, int]
    """Kind of failure → requests that failed so, also those tried again."""
    damaged: tuple[str, ...]
    problem: str
    """Why the open batches are unknown; "" otherwise."""
    whole: bool
    """Whether the journals were read to their ends."""


def progress_of(
    record: RunRecord,
    total: int,
    answers: Followed,
    stages: Mapping[str, Followed],
    parts: Sequence[Part],
    results: Sequence[Result],
    *,
    writer: int,
    now: float,
    waiting: Waiting,
    whole: bool = True,
) -> Progress:
    """Return a run's progress from journals, lock, run.json and the results known so far.

    `total`: answers that the run is to have. With `parts`, answers are counted by model and exam, else from `answers`.
    """

    def recorded(name: str) -> bool:
        opened = record.model(name)
        return (opened.name if opened else name).startswith("replay/")

    answered, lost = min(len(answers.answered), total), list(answers.failed_of.items())
    if parts:
        answered, total = sum(part.answered for part in parts), sum(part.total for part in parts)
        lost = [(part.model, part.failed) for part in parts]
    failed = sum(count for _, count in lost)
    absent = sum(count for name, count in lost if recorded(name))
    left = max(0, total - answered - failed)
    rate = answers.rate(now) if writer else 0.0
    came = {name: count for name, stage in stages.items() if (count := len(stage.answered) + len(stage.failed))}
    ungraded = sum(each_result.answers.get("ungraded", 0) for each_result in results)
    lacking = _lacking(record, stages)
    # Verdicts that were never asked for: of those that came some decided; the others can be `none`, which is final.
    decided = sum(by.get("judge", 0) for scored in results for by in scored.decided.counts.values())
    wanted = (ungraded + decided + len(record.canaries)) * len(record.judges) * record.judge_samples
    unasked = bool(ungraded) and not lacking and wanted > came.get("annotations", 0)
    # A resume cannot get answers missing from a file; without a judge, ungraded answers are final.
    ended = not (left or failed > absent or lacking or unasked)
    counts = {
        "failed": failed - absent,
        "not in the answer file": absent,
        "not asked": left,
        outcome_name("ungraded"): ungraded,
    }
    missing = [f"{count:,} {what}" for what, count in counts.items() if count]
    missing += [] if ungraded else lacking
    begun = ["estimated"] if record.adaptive else ["done"] if ended else []
    brief = ", ".join([*begun, *missing])
    state: State
    if writer:
        state, brief = "running", "being graded" if all(recorded(model.name) for model in record.models) else "running"
        sentence = f"{'running' if left or failed else 'all answered, still at work'} (process {writer})"
        sentence += f"; {waiting.sentence}" if waiting.batches else ""
    elif waiting.batches:
        state, brief = "waiting", f"waiting: {waiting.sentence}"
        sentence = brief
    elif total and not (answered or failed or answers.lines):
        state, brief, sentence = "empty", "not begun", "not begun: nothing has come in"
    elif left:
        state, sentence = "stopped", f"stopped before its end: {brief}"
    elif ended:
        state, sentence = "done", brief
    else:
        state, sentence = "incomplete", f"all asked: {brief}"
    used = answers.used.values()
    asked = any(traits_of(model.name).counted for model in record.models)
    return Progress(
        state=state,
        brief=brief,
        sentence=sentence,
        total=total,
        answered=answered,
        failed=failed,
        left=left,
        input=sum(usage.input for usage in used),
        output=sum(usage.output for usage in used),
        uncounted=sum(usage.uncounted for usage in used) if asked else 0,
        rate=60 * rate,
        seconds_left=(left + failed) / rate if rate else 0.0,
        resumable=bool(left)
        or unasked
        or any(not stage.failures.keys() <= LASTING for stage in (answers, *stages.values())),
        parts=parts,
        stages=came,
        failures=dict(answers.failures) if failed else {},
        damaged=tuple(answers.damaged[:3]),
        problem=waiting.problem,
        whole=whole,
    )


def _lacking(record: RunRecord, stages: Mapping[str, Followed]) -> list[str]:
    """Return in words what failed in the stages after the answers; of verdicts, only those of the run's judges."""
    judges = {name for judge in record.judges for name in (judge.name, judge.shown)}
    failures = {stage: len(stage_read.failed) for stage, stage_read in stages.items()}
    failures["annotations"] = sum(stages["annotations"].failed_of[judge] for judge in judges)
    return [
        f"{plural(failures[stage], what)} {ending}" for stage, (what, ending) in _LACKING.items() if failures[stage]
    ]
