"""From a report's results to the page: facts, tables, charts, methods."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from viva.analysis.wording import UNSURE, bounds_text
from viva.engine.folder import RunRecord
from viva.pages.report.methods import methods, references
from viva.pages.report.tables import TableMaker
from viva.pages.runs.live_tables import result_row
from viva.render import charts
from viva.render.canaries import canaries_table
from viva.render.costs import consumption_table, cut_off_notes
from viva.render.formats import legend
from viva.render.result import Report, Result, comparable, footnotes, published_notes
from viva.render.score_chart import languages_chart, parts_chart, scores_chart, shown
from viva.render.table import COUNT, ESTIMATE, NAME, PERCENT, Column, Kind, Table
from viva.types import SCORED, Outcome, outcome_name
from viva.version import __version__
from viva.visible import one_line, some

_LONG = 120
"""Parts of a table that a chart can show."""
_SHORT = 14
"""Parts beyond which a chart has the whole width."""
_MODELS = 60
"""Results in the first picture."""
_PANEL = 12
"""Models of an exam up to which the first picture shows what a chart of scores would."""


def page_of(
    report: Report, records: Sequence[RunRecord], title: str, *, names: Sequence[str] = (), warnings: Sequence[str] = ()
) -> dict[str, Any]:
    """All of the page but its items. `names`: what the runs are called, where there are several."""
    made = TableMaker()
    drawn = _Drawn()
    summary = made.summary(report)
    answered = msgspec.structs.replace(report, results=tuple(one for one in report.results if one.answered))
    exams = list(dict.fromkeys(result.exam for result in answered.results))
    sections = [
        {
            "tables": made.exam(answered, exam),
            "charts": list(drawn.parts([r for r in answered.results if r.exam == exam])),
        }
        for exam in exams
    ]
    drawable = [result_row(one) for one in report.results if one.overall.n]
    lacking, took = unscored(report.results), consumption_table(report.results)
    return {
        "title": title,
        "source": report.run,
        "made": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "viva": __version__,
        "facts": list(_facts(records, names)),
        "warnings": warnings,
        "legend": legend(report.results),
        "footnotes": (*footnotes(report.results), *cut_off_notes(report.results), *published_notes(report.results)),
        "results": drawable[:_MODELS],
        "drawable": len(drawable),
        "summary": summary,
        "took": made.table(took) if took.rows else None,
        "charts": list(drawn.overall(report.results)),
        "exams": sections,
        "languages": made.languages(answered),
        "canaries": made.table(canaries_table(report.canaries)) if report.canaries else None,
        "unscored": made.table(lacking) if lacking.rows else None,
        "methods": methods(records, report.results),
        "references": references([exam.spec.benchmark for record in records for exam in record.exams]),
        "signatures": [result.signature for result in report.results],
        "notes": [note for note in report.notes if note not in warnings],
        "downloads": made.downloads,
    }


class _Drawn:
    """Gives every chart its id."""

    def __init__(self) -> None:
        self._made = 0

    def _chart(self, chart: Any, caption: str, name: str, *, broad: bool = False) -> dict[str, Any]:
        self._made += 1
        file = f"{self._made:02}-{name}"
        spec = charts.as_json(charts.spec(chart))
        return {"id": f"chart-{self._made}", "spec": spec, "caption": caption, "file": file, "broad": broad}

    def overall(self, results: Sequence[Result]) -> Iterator[dict[str, Any]]:
        """Scores exam by exam, languages, outcomes."""
        for exam in dict.fromkeys(result.exam for result in results):
            of_exam = [result for result in results if result.exam == exam and shown(result.overall)]
            beside_any = any(result.beside for result in of_exam)
            if len(of_exam) > _PANEL or beside_any:
                beside = comparable({one.model: one for result in of_exam for one in result.beside}.values(), of_exam)
                caption = f"Scores on {one_line(exam, 80)}: a dot a model, its bar the 95 % interval."
                yield self._chart(scores_chart(of_exam, beside), caption, "scores")
        for benchmark in dict.fromkeys(result.benchmark for result in results):
            chart = languages_chart([result for result in results if result.benchmark == benchmark])
            if chart is not None:
                yield self._chart(chart, "The same models, language by language.", "languages")

    def parts(self, results: Sequence[Result]) -> Iterator[dict[str, Any]]:
        """The tables of one exam that have parts to compare."""
        for index, table in enumerate(results[0].tables):
            if table.across or not 1 < len(table.rows) <= _LONG:
                continue
            chart = parts_chart(results, index)
            if chart is not None:
                caption = f"{one_line(table.title, 100)}, part by part; the figures are in the tables below."
                yield self._chart(chart, caption, one_line(table.name, 40), broad=len(table.rows) > _SHORT)


def _facts(records: Sequence[RunRecord], called: Sequence[str]) -> Iterator[tuple[str, str]]:
    for number, record in enumerate(records):
        if len(records) > 1 and called:
            yield "Run", called[number]  # the template makes a heading of it
        exams = "; ".join(
            f"{exam.spec.label} ({exam.questions:,} questions, "
            f"{exam.spec.shots}-shot{', chain of thought' if exam.spec.chain_of_thought else ''}, "
            f"version {exam.version})"
            for exam in record.exams
        )
        names = [model.shown or model.name for model in record.models]
        yield "Asked", f"{record.created}, with Viva {record.viva}"
        yield "Exams", exams
        yield "Models", some(names, 12)
        if record.judges:
            yield "Judges", ", ".join(judge.shown or judge.name for judge in record.judges)
        if record.encoder:
            yield "Encoder", record.encoder.name
        yield "Answers", _drawn(record)
        yield "Command", " ".join(record.command)


def _drawn(record: RunRecord) -> str:
    times = f", {record.repeats} times over" if record.repeats > 1 else ""
    samples = {exam.samples or record.samples for exam in record.exams}
    return f"{' or '.join(map(str, sorted(samples)))} to a question{times}; seed {record.seed}"


WHY: dict[Outcome, tuple[str, str]] = {
    "unparsed": ("the reply commits to no answer that can be read", "no point, stays in the denominator"),
    "empty": ("nothing visible came back", "no point, stays in the denominator"),
    "truncated": ("the token limit cut it off before it committed to anything", "no point, stays in the denominator"),
    "refused": ("the model declines to answer", "no point, stays in the denominator"),
    "error": ("no reply: an outage, a limit of the server", f"left out of the mean {UNSURE}, kept in the bounds"),
    "not asked": (
        "the run ended before its turn came, or its batch is not back",
        f"left out of the mean {UNSURE}, kept in the bounds",
    ),
    "ungraded": (
        "it needs a judge or a toolchain, and there was none, or no readable verdict",
        f"left out of the mean {UNSURE}, kept in the bounds",
    ),
    "unsound": ("the data set has no usable gold answer", f"left out of the mean {UNSURE}, kept in the bounds"),
}


def unscored(results: Sequence[Result]) -> Table:
    """A row for every model, exam and outcome without a score; no rows where everything has one."""
    rows = [
        (result, outcome, count)
        for result in results
        for outcome, count in result.overall.outcomes.items()
        if outcome not in SCORED and outcome in WHY
    ]
    return Table("What was not scored, and why", _UNSCORED, rows)


_UNSCORED = (
    Column("model", "0.model", NAME), Column("exam", "0.exam", NAME),
    Column("outcome", "1", Kind(outcome_name, words=True)),
    Column("answers", "2", COUNT), Column("of all, %", lambda row: row[2] / row[0].overall.n, PERCENT),
    Column("because", lambda row: WHY[row[1]][0]), Column("in the mean", lambda row: WHY[row[1]][1]),
    Column("score", "0.overall", ESTIMATE), Column("bounds", "0.overall", Kind(bounds_text)),
)  # fmt: skip
