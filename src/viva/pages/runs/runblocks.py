"""Tables, charts and notes of results, for the page of a run and for reports."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from viva.errors import StorageError
from viva.pages.shell import file_name
from viva.render.charts import as_json, spec
from viva.render.plots import Drawn
from viva.render.result import (
    CanaryMarks,
    Result,
    across_models,
    beside_of,
    canaries_table,
    footnotes,
    published_notes,
    side_by_side,
    summary,
)
from viva.render.run_tables import consumption_table, cut_off_notes, legend, own_tables, published_scores
from viva.render.score_chart import parts_chart, scores_chart, shown
from viva.render.table import Table
from viva.runs.open import OpenRun
from viva.runs.scoring import known_results, report_of, result_of
from viva.types import ScoreRow
from viva.visible import one_line

_LONG = 120
"""The most parts of a table in a chart."""
_SHORT = 14
"""The most parts of a chart of half width."""
_MANY = 24
"""The most results with tables of single models on the page; with more, tables with a row a model have their means."""
_PANEL = 12
"""The most models of an exam for which the first picture replaces a chart of scores."""


class Chart(Struct, frozen=True):
    """A chart on a page."""

    spec: str
    caption: str
    file: str
    """The name of its file when saved."""
    broad: bool


class ExamTables(Struct, frozen=True, kw_only=True):
    """The tables of one exam."""

    exam: str
    across: Sequence[Table]
    """Over its models."""
    models: Sequence[tuple[str, Sequence[Table]]]
    """Tables by model; empty if there are too many for a page."""
    charts: Sequence[Chart]


class Tables(Struct, frozen=True, kw_only=True):
    """The tables of one or several runs: over all models, by exam, and notes."""

    results: Sequence[Result]
    drawn: Sequence[Result]
    """Results with answers, by exam, the best model first."""
    states: Collection[str]
    """The outcomes that occur."""
    summary: Table
    legend: str
    charts: Sequence[Chart]
    """Charts of scores by exam."""
    took: Table
    """Consumption of the answers; without rows if not counted."""
    exams: Sequence[ExamTables]
    whole: bool
    """Whether the tables of single models are included."""
    canaries: Table
    languages: Sequence[Table]
    """Tables of models asked in several languages, a column for each."""
    notes: Sequence[str]


def live_tables(opened: OpenRun, rows: Sequence[Sequence[ScoreRow]]) -> Tables:
    """Return the tables that `viva score` would print; `rows`: a list for each evaluation."""
    try:
        known = known_results(opened)
    except StorageError:  # the page lists the damaged lines
        known = known_results(opened, counted=False)
    results = [
        result_of(counts, own, (evaluation.exam.headline(), evaluation.exam.layouts()))
        for evaluation, counts, own in zip(opened.evaluations, known, rows, strict=True)
    ]
    report, _, _ = report_of(opened.folder, opened.exams[0].headline(), results, opened, rows=rows)
    # Importing the charts' library takes half a second.
    return tables_of(report.results, report.notes, report.canaries, charted=False)


def tables_of(
    results: Sequence[Result],
    notes: Sequence[str] = (),
    canaries: Sequence[CanaryMarks] = (),
    *,
    charted: bool = True,
) -> Tables:
    """Return a page's tables of results; `notes` come before those on single figures."""
    exams = list(dict.fromkeys(result.exam for result in results))
    answered = [result for result in results if result.answered]
    published = published_scores(results)
    published.sort(key=lambda row: (exams.index(row[0]), -(row[1].score or 0.0), row[1].model))  # best first
    drawn = [result for result in results if result.overall.n]
    whole = len(results) <= _MANY
    return Tables(
        results=results,
        drawn=sorted(drawn, key=lambda scored: (-exams.index(scored.exam), scored.overall.order), reverse=True),
        states={outcome for scored in drawn for outcome in scored.overall.outcomes},
        summary=summary(results, published),
        legend=legend(results),
        charts=list(_overall(results)) if charted else (),
        took=consumption_table(answered),
        exams=[
            ExamTables(
                exam=exam,
                across=across_models(own),
                models=[(r.model, own_tables(r, across=len(results) == 1)) for r in own if whole],
                charts=list(_parts(own)) if charted else (),
            )
            for exam in exams
            if (own := [result for result in answered if result.exam == exam])
        ],
        whole=whole,
        canaries=canaries_table(canaries),
        languages=[table for table in side_by_side(answered) if table.rows],
        notes=[*notes, *footnotes(results), *cut_off_notes(results), *published_notes(results)],
    )


def _chart(drawn: Drawn, caption: str, *named: str, broad: bool = False) -> Chart:
    """Return a chart for a page; `named`: parts of its unique file name."""
    return Chart(as_json(spec(drawn)), caption, file_name("-".join(named), 60), broad)


def _overall(results: Sequence[Result]) -> Iterator[Chart]:
    """Yield charts of scores by exam."""
    for exam in dict.fromkeys(result.exam for result in results):
        of_exam = [result for result in results if result.exam == exam and shown(result.overall)]
        rows = beside_of(of_exam)
        if len(of_exam) > _PANEL or rows:
            caption = f"Scores on {one_line(exam, 80)}: a dot a model, its bar the 95 % interval."
            yield _chart(scores_chart(of_exam, rows), caption, exam, "scores")


def _parts(results: Sequence[Result]) -> Iterator[Chart]:
    """Yield charts of the tables with parts to compare."""
    for index, table in enumerate(results[0].tables):
        if table.across or not 1 < len(table.rows) <= _LONG:
            continue
        chart = parts_chart(results, index)
        if chart is not None:
            caption = f"{one_line(table.title, 100)}, part by part; the figures are in the tables below."
            yield _chart(chart, caption, results[0].exam, table.name, broad=len(table.rows) > _SHORT)
