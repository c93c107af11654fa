"""How a run asks, stage by stage: what an experiment does otherwise than `viva run`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from viva.contracts import Exam
from viva.engine.folder import RunFolder, RunRecord
from viva.errors import VivaError
from viva.plugins import load, registered
from viva.runs.config import LimitOptions
from viva.runs.execute import execute_run
from viva.runs.open import OpenRun
from viva.types import ExamSpec

ROUNDS = "adaptive run"
"""The command that goes on with a run whose questions are drawn in rounds."""


class Way:
    """Every question once, all together. A package's way of asking overrides a hook for each stage that it changes."""

    judges_again = False
    """Whether a run that is gone on with is judged again, whatever else is said of its judges."""

    def exam(
        self, spec: ExamSpec, own: Path | None, templates: dict[str, object] | None
    ) -> tuple[ExamSpec, dict[str, object] | None]:
        """An exam's settings and templates before it is opened; `own`: its question file or card."""
        return spec, templates

    def judging(self, record: RunRecord, exams: Sequence[Exam]) -> RunRecord:
        """run.json of a run whose judges are named: a new one, or one that is judged again. Raises VivaError."""
        return record

    def plan(
        self, record: RunRecord, exams: Sequence[Exam], limits: LimitOptions
    ) -> tuple[RunRecord, Mapping[str, bytes]]:
        """run.json of a new run, and files that its folder keeps. Raises VivaError for what cannot be asked so."""
        return record, {}

    def carry_out(self, opened: OpenRun, earlier: list[RunFolder]) -> int:
        """Ask what is missing, and grade what comes; `opened` has all that was asked at the end. The exit code."""
        return execute_run(opened, earlier)


def way_of(record: RunRecord) -> Way:
    """How a run goes on that was begun in a way of a package. Raises VivaError where that package is not installed."""
    if record.adaptive is None:
        return Way()
    known = registered().get(ROUNDS)
    if known is None:
        raise VivaError(
            f"this run draws its questions in rounds (`viva {ROUNDS}`), and no installed package has that command; "
            "`viva score`, `viva view` and `viva report` take the run as it is"
        )
    begun = load(known)
    way: Way = begun(begun.config())
    return way
