"""A graded run for programs: its numbers, tables, scores and answers."""

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
"""The format in which a run is shown with its long tables."""
_SHOWN = 6
"""Most results in a run's `repr`."""


class Run:
    """A graded run folder. Its data is of the time when it was opened; nothing is copied."""

    def __init__(self, path: Path, report: Report, messages: Sequence[str] = ()) -> None:
        self.path = path
        """The run folder: what `viva show`, `viva report`, `viva resume` and all other commands take."""
        self.report = report
        """All results, and their notes, as plain data."""
        self.messages = tuple(messages)
        """Messages that commands print on stderr, such as why something is unanswered."""

    @property
    def record(self) -> RunRecord:
        """The content of run.json: exams, models, options."""
        return RunFolder.open(self.path).record

    @property
    def results(self) -> tuple[Result, ...]:
        """One result for every model and exam."""
        return self.report.results

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes to show with the scores."""
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
        """Return the run's tables, to show or write; `details`: with the long ones (every subject)."""
        from viva.render.run_tables import findings

        return findings(self.report, details=details)

    @missing_extras()
    def scores(self) -> pl.DataFrame:
        """Return a frame with a row an answer, and columns for tags (tag:NAME) and parts (part:NAME).

        Exam, model, question, sample, repeat, score, points, outcome, read, explanation, weight. The score is null
        where an answer is unscored. `points` is the value in a mean: 0 for an unreadable reply, null where the tables
        leave it out; the mean of `points` (weighted by `weight`) is the tables' mean over answers.
        """
        import polars as pl

        from viva.api.frames import SCORES, scores_frame

        return scores_frame(score_rows(self.path)) if self.results else pl.DataFrame(schema=SCORES)

    @missing_extras()
    def answers(self) -> pl.DataFrame:
        """Return a frame with a row an answer: question, prompt, reply, gold, answer read, score, explanation.

        Texts are untrusted: as the model, the set or a judge wrote them.
        """
        from viva.api.frames import answers_frame

        return answers_frame(answered(prepare(RunFolder.open(self.path))))

    @missing_extras()
    def compare(self, other: Run | str | PathLike[str], *, by: str | None = None) -> Findings[Any]:
        """Compare this run with `other`, question by question, and test the difference, as `viva compare`.

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
    """Open a run folder, or the newest in a folder of runs; grade it again if its scores are missing or out of date.

    `published_rows`: rows in its tables: names, nearest or none. Sends nothing. Raises StorageError where the run is
    missing or damaged, VivaError where its data has changed.
    """
    folder = open_run_folder(Path(path))
    refuse_unknown(published_rows, settings_of(folder.record.exams))
    if is_fresh(folder):
        return Run(folder.path, read_run(folder.path, published_rows).report)
    return Run(folder.path, regraded(folder.path, OutputOptions(format=ALL_TABLES, published_rows=published_rows)))
