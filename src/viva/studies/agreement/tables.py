"""Agreement of raters, as tables and as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from msgspec import Struct

from viva.analysis.raters.agreement import Agreement, Confusion
from viva.analysis.raters.prediction import VERIFIED, Powered
from viva.analysis.raters.ratings import Measure
from viva.render.findings import Findings
from viva.render.measures import MEASURE, NAMES
from viva.render.table import COUNT, FIGURE, NAME, SIDE, Column, Kind, Table, fields, figure, places
from viva.studies.agreement.chart import agreement_chart
from viva.visible import one_line

LEGEND = (
    "[…]: 95 % interval over items, by question where several items answer one. Krippendorff's alpha takes marks as "
    "{level}."
)
_LONG = 40
MOST_REASONS = 12


def tables_of(report: Agreement) -> Iterator[Table]:
    """Yield the people among each other, the judge against them, every pair, the confusion table."""
    where = f" · {report.title}" if report.title else ""
    if not _alone(report):
        yield from _measures(f"{len(report.people)} {report.word} among each other{where}", report.among)
    if report.judge is not None:
        yield from _measures(f"{report.judge} against the {report.word}{where}", report.judged)
    pairs = [pair for pair in report.pairs if any(each.value is not None for each in pair.measures)]
    if pairs and len(report.people) + (report.judge is not None) > 2:
        measures = tuple(
            Column(NAMES[measure.kind], f"measures.{index}", MEASURE, measure.kind)
            for index, measure in enumerate(pairs[0].measures)
        )
        yield Table(f"Two by two{where}", (*_PAIR, *measures), pairs)
    elif pairs and report.judge is None:
        yield from _measures(f"{pairs[0].first} and {pairs[0].second}{where}", pairs[0].measures)
    if report.table is not None:
        yield _confusion(f"Marks given by both{where}", report.table)


def notes_on(reports: Sequence[Agreement]) -> list[str]:
    """Return notes on missing values and their reasons."""
    notes: list[str] = []
    reasons: list[str] = []
    for report in reports:
        where = f" ({report.title})" if report.title else ""
        notes += [note + where for note in report.notes]
        for _, _, whose, measures in _groups(report)[_alone(report) :]:
            missing: dict[str, list[str]] = {}
            for measure in measures:
                if measure.reason:
                    what = "value" if measure.value is None else "interval"
                    missing.setdefault(f"{measure.reason}, so no {what} of", []).append(NAMES[measure.kind])
            for reason, names in missing.items():
                of = "any measure" if len(names) == len(measures) else ", ".join(names)
                reasons.append(f"{whose}{where}: {reason} {of}.")
    if len(reasons) > MOST_REASONS:
        reasons[MOST_REASONS:] = [f"{len(reasons) - MOST_REASONS:,} more notes of this kind."]
    return [*notes, *reasons]


def _groups(report: Agreement) -> list[tuple[str, str, str, Sequence[Measure]]]:
    """Return groups of measures, with the names of their raters in data and in sentences: the people among each other,
    the judge against them, every pair.
    """
    judge = report.judge or ""
    return [
        ("people", "", f"the {report.word}", report.among),
        (judge, "people", f"{one_line(judge, _LONG)} against the {report.word}", report.judged),
        *((pair.first, pair.second, f"{one_line(pair.first, _LONG)} and {one_line(pair.second, _LONG)}", pair.measures)
          for pair in report.pairs),
    ]  # fmt: skip


def _alone(report: Agreement) -> bool:
    """Return whether there are only one person and a judge."""
    return report.judge is not None and len(report.people) < 2


_PAIR = (
    Column("first", "first", SIDE),
    Column("second", "second", SIDE),
    Column("items", lambda pair: pair.measures[-1].n, COUNT),
)
_MEASURE = (
    Column("", lambda measure: NAMES[measure.kind], NAME, "measure"),
    Column("value", lambda measure: measure, MEASURE),
    Column("items", "n", COUNT),
    Column("left out", "left_out", COUNT),
    Column("interval", lambda measure: measure.interval or None),
)


def _measures(title: str, measures: Sequence[Measure]) -> Iterator[Table]:
    """Yield the table of measures; none if no measure has a value."""
    if any(measure.value is not None for measure in measures):
        yield Table(title, _MEASURE, measures)


def _confusion(title: str, table: Confusion) -> Table:
    # Headers are printed as they are, so raters' names must be free of control characters.
    corner = f"{one_line(table.rows, _LONG)} ↓ {one_line(table.columns, _LONG)} →"
    marks = tuple(Column(f"{mark:g}", str(place), COUNT) for place, mark in enumerate(table.scale, 1))
    columns = (Column(corner, "0", _MARK, "mark"), *marks, Column("n", lambda row: sum(row[1:]), COUNT))
    return Table(title, columns, [(mark, *counts) for mark, counts in zip(table.scale, table.counts, strict=True)])


_NUMBER = figure(".3f")
_MARK = Kind(lambda mark: f"{mark:g}", words=True, name=True)
_BETWEEN = Kind(lambda interval: f"[{interval[0]:.3f}, {interval[1]:.3f}]")


class ScoreFromLabels(Struct, frozen=True, kw_only=True):
    """Estimate of people's mean from a random sample of their marks."""

    title: str
    """Model, exam and sample; of a table of ratings the report's."""
    metric: str
    """`MARK` for a table of ratings."""
    powered: Powered
    known: int = 0
    """Answers that need no expert (read by rule, refused, empty): they count as scored, and are no labels."""

    @property
    def worth(self) -> float:
        """The number of labels that alone would give as narrow an interval."""
        return (self.powered.effective or self.powered.labels) - self.known

    @property
    def labels(self) -> str:
        """The labelled answers and all answers, in words."""
        return f"{self.powered.labels - self.known:,} of {self.powered.answers - self.known:,}"


_FROM_LABELS = Kind(lambda mean: f"{mean.value:.3f} {_BETWEEN.text(mean.questions)}")
_SCORE = (
    Column("without experts", "powered.judge", _NUMBER),
    Column("labels alone", "powered.labels_alone", _FROM_LABELS),
    Column("both (prediction-powered)", "powered.combined", _FROM_LABELS, "both"),
    Column("these answers", "powered.combined.run", _BETWEEN, "run"),
    Column("labels", lambda scored: scored.powered.combined and scored.labels, FIGURE, None),
    Column("worth", lambda scored: scored.powered.combined and scored.worth, figure(",.0f")),
)
MARK = "mean mark"


def _mean_tables(scores: Sequence[ScoreFromLabels]) -> Iterator[Table]:
    """Yield a table of the mean marks, a row a report, and one for each sample of a run, a row a metric."""
    for title in dict.fromkeys("" if score.metric == MARK else score.title for score in scores):
        own = [score for score in scores if title == ("" if score.metric == MARK else score.title)]
        heading = f"The score that experts would give · {title}" if title else "Mean mark of all items"
        yield Table(heading, (Column("", "metric" if title else "title", NAME, "metric"), *_SCORE), own)


def _notes_on_scores(scores: Sequence[ScoreFromLabels]) -> Iterator[str]:
    """Yield notes on missing means, on their basis, and on what few labels are worth."""
    few: dict[str, None] = {}
    for score in scores:
        powered = score.powered
        if powered.combined is None:
            yield f"no {score.metric} from labels ({score.title}): {powered.reason}."
            continue
        if powered.labels - score.known < VERIFIED:
            few[f"intervals were tested from {VERIFIED} labels on; here are fewer ({score.title})."] = None
        if score.metric == MARK:
            yield (
                f"the mean takes the {powered.labels:,} items that people rated as a random sample of all "
                f"{powered.answers:,}; were they chosen otherwise (disagreement first, say), its intervals mean "
                f"nothing ({score.title})."
            )
            if powered.unjudged:
                yield f"{powered.unjudged:,} items have no verdict; the judge's mean stands in for them, without bias."
    if any(score.powered.combined for score in scores):
        yield (
            "Both: […] is what more questions of the kind would give; of these answers, what people would give them, "
            "so no width once all are labelled; worth: how many labels alone would be as good."
        )
    yield from few


class Reports(Struct, frozen=True):
    """Reports on raters, and the scores that experts' labels give."""

    found: tuple[Agreement, ...]
    scores: tuple[ScoreFromLabels, ...] = ()


_RECORD = places(
    *("table", "first", "second", "measure", "value", "low", "high", "items", "left_out", "interval", "reason")
)


def findings(
    reports: Sequence[Agreement], scores: Sequence[ScoreFromLabels] = (), more: Sequence[str] = ()
) -> Findings[Reports]:
    """Return the scores, then the tables of every report; `rows` has one a measure, the combined mean's with the
    readings as their intervals' method. `more`: notes on the ratings' origin.
    """
    rows = [(report.title, *cells) for report in reports for cells in _cells(report)]
    marks = [ScoreFromLabels(title=report.title, metric=MARK, powered=report.powered)
             for report in reports if report.powered is not None]  # fmt: skip
    for score in scores:
        rows += [(score.title, score.metric, "experts", *cells) for cells in _powered_rows(score.powered)]
    return Findings(
        found=Reports(tuple(reports), tuple(scores)),
        shown=[
            *_mean_tables([*marks, *scores]), *(table for report in reports for table in tables_of(report)),
            Table("Reports", fields("", *Agreement.__struct_fields__), reports),
            Table("Scores", fields("", *ScoreFromLabels.__struct_fields__), scores),
        ],
        rows=Table("Measures", _RECORD, rows),
        notes=[LEGEND.format(level=reports[0].level if reports else "interval"), *_notes_on_scores([*marks, *scores]),
               *notes_on(reports), *more],
        drawing=partial(agreement_chart, reports),
    )  # fmt: skip


def _cells(report: Agreement) -> Iterator[tuple[object, ...]]:
    for first, second, _, measures in _groups(report):
        for m in measures:
            yield first, second, m.kind, m.value, m.low, m.high, m.n, m.left_out, m.interval, m.reason
    if report.powered is not None:
        for cells in _powered_rows(report.powered):
            yield report.judge or "", "people", *cells


def _powered_rows(p: Powered) -> Iterator[tuple[object, ...]]:
    counts = (p.answers, p.answers - p.labels)
    yield "mean of the judge", p.judge, None, None, p.answers - p.unjudged, p.unjudged, "", p.reason
    for name, estimate in (("mean of labels alone", p.labels_alone), ("combined mean", p.combined)):
        if estimate is not None:
            yield name, estimate.value, *estimate.questions, *counts, "questions", ""
            yield name, estimate.value, *estimate.run, *counts, "run", ""
