"""A run at work, under its lock: begun, resumed or judged again, carried out, graded. All that asks goes through it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from viva.contracts import Model
from viva.engine.folder import RunFolder, RunRecord, find_run
from viva.engine.limits import RunLimits
from viva.fields import pick
from viva.reports.result import Report
from viva.runs.answer_files import Collected
from viva.runs.ask import refuse_unbatched
from viva.runs.config import LimitOptions, OutputOptions
from viva.runs.grading import plan_grading
from viva.runs.open import OpenRun, earlier_runs, open_encoder_of, prepare
from viva.runs.plan import (
    RejudgeOptions,
    Way,
    begin,
    create_folder,
    plan_run,
    rejudge,
    rejudge_records,
    remember_judges,
    way_of,
)
from viva.runs.published_rows import refuse_unknown, settings_of
from viva.runs.score import grade_run
from viva.runs.trust import confirm_endpoints, keep_approval

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
        cls,
        given: Mapping[str, Any],
        way: Way | None = None,
        own: Own | None = None,
        kept: Mapping[str, bytes] | None = None,
        command: Sequence[str] = (),
    ) -> Session:
        """A new run, by the options of `viva run`. Raises VivaError for what cannot be asked; nothing is asked then.

        `kept`: more files for its folder. `command`: what run.json names in place of the process's command line.
        """
        way = way or Way()
        opened, earlier = plan_run(given, own, way)
        opened.kept |= kept or {}
        opened.folder.record.command = [*command] or opened.folder.record.command
        return cls(opened=begin(opened, given, way), way=way, earlier=earlier)

    @classmethod
    def resumed(
        cls,
        run: Path,
        given: Mapping[str, Any],
        way: Way | None = None,
        own: Callable[[RunFolder], Own] | None = None,
        confirm: Callable[[RunFolder, LimitOptions], None] = confirm_endpoints,
    ) -> Session:
        """A run that is there, by the options of `viva resume`: locked, then read, then checked.

        Raises VivaError, StorageError where another process writes to it.
        """
        folder = RunFolder.open(find_run(run))
        refuse_unknown(given["published_rows"], settings_of(folder.record.exams))
        earlier = earlier_runs(given["reuse"])
        held = folder.lock()
        with held:
            folder.record = RunFolder.open(folder.path).record
            limits, rejudging = inherited(folder.record, given), pick(RejudgeOptions, given)
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
    def graded(
        cls,
        benchmark: str,
        answers: Sequence[Path],
        given: Mapping[str, Any],
        way: Way | None = None,
        collected: Collected | None = None,
        command: Sequence[str] = (),
    ) -> tuple[Session, str]:
        """Answers collected elsewhere as a new run, by the options of `viva grade`, and their column of questions."""
        opened, replay = plan_grading(benchmark, answers, given["run"], given, collected, way)
        opened.folder.record.command = [*command] or opened.folder.record.command
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


def inherited(record: RunRecord, given: Mapping[str, Any]) -> LimitOptions:
    """The options with the run's own limits where none are given."""
    own = asdict(record.limits or RunLimits())
    return pick(LimitOptions, {**own, **{name: value for name, value in given.items() if value not in (None, ())}})
