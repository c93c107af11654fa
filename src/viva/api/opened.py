"""A run in the hand: its numbers, tables, scores and answers."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from viva.analysis.estimate import cell_text
from viva.engine.folder import RunFolder, RunRecord
from viva.errors import VivaError, missing_extras
from viva.render.result import Report, Result
from viva.runs.answers import answered, read_run
from viva.runs.config import OutputOptions
from viva.runs.open import prepare
from viva.runs.scorefile import find_run, is_fresh, open_run_folder, score_rows
from viva.runs.scoring import refuse_unknown, regraded, settings_of
from viva.studies.compare.choices import CompareConfig
from viva.studies.compare.study import study
from viva.visible import one_line

if TYPE_CHECKING:
    import polars as pl

    from viva.analysis.breakdown import Table
    from viva.analysis.estimate import Estimate
    from viva.render.findings import Findings

ALL_TABLES: Literal["json"] = "json"
"""The format for which a run is summed up with its long tables, too."""
_SHOWN = 6
"""Results that a run names of itself."""


class Run:
    """A run folder, graded. What it says is of the moment when it was opened; the folder stays where it is."""

    def __init__(self, path: Path, report: Report, messages: Sequence[str] = ()) -> None:
        self.path = path
        """The run folder: what `viva show`, `viva report`, `viva resume` and all other commands take."""
        self.report = report
        """All results, and their notes, as plain data."""
        self.messages = tuple(messages)
        """What was said on the way, such as why something is unanswered: what commands say on stderr."""

    @property
    def record(self) -> RunRecord:
        """run.json: what was asked of whom, and how."""
        return RunFolder.open(self.path).record

    @property
    def results(self) -> tuple[Result, ...]:
        """One for every model and exam."""
        return self.report.results

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes that belong to the numbers."""
        return self.report.notes

    def result(self, *, model: str = "", exam: str = "") -> Result:
        """Return the only result, or the only one of this model and exam (a whole name, or one without its provider).

        Raises VivaError where there are several or none.
        """
        matching = [
            each_result
            for each_result in self.results
            if model in ("", each_result.model, each_result.model.partition("/")[2])
            and exam in ("", each_result.exam, each_result.benchmark)
        ]
        if len(matching) != 1:
            there = "; ".join(
                f"{each_result.exam} · {one_line(each_result.model, 60)}" for each_result in self.results[:_SHOWN]
            )
            raise VivaError(f"{len(matching)} of this run's results are meant: say model= or exam=; there are: {there}")
        return matching[0]

    @property
    def overall(self) -> Estimate:
        """The only result's overall cell: mean, interval, bounds, outcomes."""
        return self.result().overall

    @property
    def mean(self) -> float | None:
        """The only result's mean, a share of 1; None where nothing is scored."""
        return self.overall.mean

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its 95 % interval; None where nothing is scored."""
        cell = self.overall
        return None if cell.low is None or cell.high is None else (cell.low, cell.high)

    @property
    def complete(self) -> bool:
        """Whether every question has an answer; `viva.resume` asks for what is missing."""
        return not any(result.missing for result in self.results)

    @property
    def tables(self) -> tuple[Table, ...]:
        """Every table of every result, as plain data."""
        return tuple(table for result in self.results for table in result.tables)

    def table(self, *, details: bool = False) -> Findings[Report]:
        """Return the run's tables, to be shown or written; `details`: show also the long ones (every subject)."""
        from viva.render.run_tables import findings

        return findings(self.report, details=details)

    @missing_extras()
    def scores(self) -> pl.DataFrame:
        """Return a row an answer, with columns for tags (tag:NAME) and parts (part:NAME).

        Exam, model, question, sample, repeat, score, points, outcome, read, explanation, weight. The score is null
        where an answer is unscored. `points` is what it counts for: 0 for a reply that cannot be read, null for what
        the tables leave out; the mean of `points` (weighted by `weight`) is the tables' mean over answers.
        """
        import polars as pl

        from viva.api.frames import SCORES, scores_frame

        return scores_frame(score_rows(self.path)) if self.results else pl.DataFrame(schema=SCORES)

    @missing_extras()
    def answers(self) -> pl.DataFrame:
        """Return a row an answer, with all that belongs to it: question, prompt, reply, gold, what was read, score,
        why.

        Every text of it is as the model, the set or a judge wrote it.
        """
        from viva.api.frames import answers_frame

        return answers_frame(answered(prepare(RunFolder.open(self.path))))

    @missing_extras()
    def compare(self, other: Run | str | PathLike[str], *, by: str | None = None) -> Findings[Any]:
        """Is `other` better than this run, question by question, and is it chance? As `viva compare`.

        `by`: a row for each column of this table of models, or value of this tag.
        """
        second = other.path if isinstance(other, Run) else find_run(Path(other))
        return study(CompareConfig(sources=(str(self.path), str(second)), by=by))

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        messages = [
            f"  {each_result.exam} · {one_line(each_result.model, 80)}: {cell_text(each_result.overall)} % of "
            f"{each_result.overall.n:,}"
            for each_result in self.results[:_SHOWN]
        ]
        more = [f"  … and {len(self.results) - _SHOWN} more"] if len(self.results) > _SHOWN else []
        return "\n".join([f"viva run {one_line(str(self.path), 200)}", *messages, *more])

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def open_run(path: str | PathLike[str], *, published_rows: str = "nearest") -> Run:
    """Return a run folder, or the newest in a folder of runs; graded again where its scores are missing or out of date.

    `published_rows`: those in its tables: names, nearest or none. Asks nobody. Raises StorageError for what is no run,
    or is damaged, VivaError where its data is not what it was.
    """
    folder = open_run_folder(Path(path))
    refuse_unknown(published_rows, settings_of(folder.record.exams))
    if is_fresh(folder):
        return Run(folder.path, read_run(folder.path, published_rows).report)
    return Run(folder.path, regraded(folder.path, OutputOptions(format=ALL_TABLES, published_rows=published_rows)))
