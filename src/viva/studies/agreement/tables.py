"""How raters agree, as tables and as data."""

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


def tables_of(found: Agreement) -> Iterator[Table]:
    """Yield the combined mean where it is asked for, the people among each other, the judge against them, every pair,
    the confusion table.
    """
    where = f" · {found.title}" if found.title else ""
    if found.powered is not None:
        yield _powered(f"Mean mark of all {found.powered.answers:,} items{where}", found.powered)
    if not _alone(found):
        yield from _measures(f"{len(found.people)} {found.word} among each other{where}", found.among)
    if found.judge is not None:
        yield from _measures(f"{found.judge} against the {found.word}{where}", found.judged)
    pairs = [pair for pair in found.pairs if any(one.value is not None for one in pair.measures)]
    if pairs and len(found.people) + (found.judge is not None) > 2:
        measures = tuple(
            Column(NAMES[measure.kind], f"measures.{at}", MEASURE, measure.kind)
            for at, measure in enumerate(pairs[0].measures)
        )
        yield Table(f"Two by two{where}", (*_PAIR, *measures), pairs)
    elif pairs and found.judge is None:
        yield from _measures(f"{pairs[0].first} and {pairs[0].second}{where}", pairs[0].measures)
    if found.table is not None:
        yield _confusion(f"Marks given by both{where}", found.table)


def notes_on(found: Sequence[Agreement]) -> list[str]:
    """Return what is missing and why, and what the combined mean rests on."""
    notes: list[str] = []
    reasons: list[str] = []
    for one in found:
        where = f" ({one.title})" if one.title else ""
        notes += [note + where for note in one.notes]
        for _, _, whose, measures in _groups(one)[_alone(one) :]:
            missing: dict[str, list[str]] = {}
            for measure in measures:
                if measure.reason:
                    what = "value" if measure.value is None else "interval"
                    missing.setdefault(f"{measure.reason}, so no {what} of", []).append(NAMES[measure.kind])
            for reason, names in missing.items():
                of = "any measure" if len(names) == len(measures) else ", ".join(names)
                reasons.append(f"{whose}{where}: {reason} {of}.")
        if one.powered is not None:
            notes += [note + where for note in _notes_on_powered(one.powered)]
    if len(reasons) > MOST_REASONS:
        reasons[MOST_REASONS:] = [f"{len(reasons) - MOST_REASONS:,} more notes of this kind."]
    return [*notes, *reasons]


def _groups(found: Agreement) -> list[tuple[str, str, str, Sequence[Measure]]]:
    """Return what data call those who are measured, what sentences do, and their measures: the people among each other,
    the judge against them, every pair.
    """
    judge = found.judge or ""
    return [
        ("people", "", f"the {found.word}", found.among),
        (judge, "people", f"{one_line(judge, _LONG)} against the {found.word}", found.judged),
        *((pair.first, pair.second, f"{one_line(pair.first, _LONG)} and {one_line(pair.second, _LONG)}", pair.measures)
          for pair in found.pairs),
    ]  # fmt: skip


def _alone(found: Agreement) -> bool:
    """Return whether there is but one person, and a judge."""
    return found.judge is not None and len(found.people) < 2


def _notes_on_powered(one: Powered) -> list[str]:
    if one.combined is None:
        return [f"no combined mean: {one.reason}."]
    notes = [
        f"the combined mean takes the {one.labels:,} items that people rated as a random sample of all "
        f"{one.answers:,}; were they chosen otherwise (disagreement first, say), its intervals mean nothing.",
        f"it listens to the judge with λ = {one.power:.2f} and is worth {one.effective:,.0f} labels alone. "
        "Over such questions: what more questions of the kind would give. This run: what people would give these "
        "items, so no width once all are rated.",
    ]
    if one.unjudged:
        notes.append(f"{one.unjudged:,} items have no verdict; the judge's mean stands in for them, without bias.")
    if one.labels < VERIFIED:
        notes.append(f"intervals were tested from {VERIFIED} labels on; here are {one.labels:,}.")
    return notes


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
    """Yield their table; none where no measure has a value."""
    if any(one.value is not None for one in measures):
        yield Table(title, _MEASURE, measures)


def _confusion(title: str, table: Confusion) -> Table:
    # A header goes to the terminal as it is: no name of a rater's may drive it.
    corner = f"{one_line(table.rows, _LONG)} ↓ {one_line(table.columns, _LONG)} →"
    marks = tuple(Column(f"{mark:g}", str(at), COUNT) for at, mark in enumerate(table.scale, 1))
    columns = (Column(corner, "0", _MARK, "mark"), *marks, Column("n", lambda row: sum(row[1:]), COUNT))
    return Table(title, columns, [(mark, *counts) for mark, counts in zip(table.scale, table.counts, strict=True)])


def _powered(title: str, one: Powered) -> Table:
    rows = (
        ("judge alone", f"{one.answers - one.unjudged:,} verdicts", one.judge, None),
        ("people alone", f"{one.labels:,} labels", one.labels_alone and one.labels_alone.value, one.labels_alone),
        ("combined", "both", one.combined and one.combined.value, one.combined),
    )
    return Table(title, _POWERED, rows)


_NUMBER = figure(".3f")
_MARK = Kind(lambda mark: f"{mark:g}", words=True, name=True)
_BETWEEN = Kind(lambda interval: f"[{interval[0]:.3f}, {interval[1]:.3f}]")
_POWERED = (
    Column("", "0", NAME, "from"),
    Column("of", "1"),
    Column("mean", "2", _NUMBER),
    Column("over such questions", "3.questions", _BETWEEN, "questions"),
    Column("this run", "3.run", _BETWEEN, "run"),
)


class ScoreFromLabels(Struct, frozen=True, kw_only=True):
    """What experts would give on average, from a random sample of their marks; `title` says whose, and which."""

    title: str
    metric: str
    powered: Powered
    known: int = 0
    """Answers that no expert need see (read by rule, refused, empty): they count as they are, and are no labels."""

    @property
    def worth(self) -> float:
        """How many labels alone would tell as much."""
        return (self.powered.effective or self.powered.labels) - self.known

    @property
    def labels(self) -> str:
        """How many of how many answers are labelled."""
        return f"{self.powered.labels - self.known:,} of {self.powered.answers - self.known:,}"


_FROM_LABELS = Kind(lambda mean: f"{mean.value:.3f} {_BETWEEN.text(mean.questions)}")
_SCORE = (
    Column("", "metric", NAME, "metric"),
    Column("without experts", "powered.judge", _NUMBER),
    Column("labels alone", "powered.labels_alone", _FROM_LABELS),
    Column("both (prediction-powered)", "powered.combined", _FROM_LABELS, "both"),
    Column("labels", lambda one: one.powered.combined and one.labels, FIGURE, None),
    Column("worth", lambda one: one.powered.combined and one.worth, figure(",.0f")),
)


def score_tables(found: Sequence[ScoreFromLabels]) -> list[Table]:
    """Return a table a title: without experts, from the labels alone, and from both; a row a metric."""
    return [
        Table(f"The score that experts would give · {title}", _SCORE, [one for one in found if one.title == title])
        for title in dict.fromkeys(one.title for one in found)
    ]


def _notes_on_scores(found: Sequence[ScoreFromLabels]) -> Iterator[str]:
    """Yield why a score is a dash, and what few labels are worth."""
    few: dict[str, None] = {}
    for one in found:
        if one.powered.combined is None:
            yield f"no {one.metric} from labels ({one.title}): {one.powered.reason}."
        elif one.powered.labels - one.known < VERIFIED:
            few[f"intervals were tested from {VERIFIED} labels on; here are fewer ({one.title})."] = None
    yield from few


class Reports(Struct, frozen=True):
    """Reports on raters, and the scores that experts' labels give."""

    found: tuple[Agreement, ...]
    scores: tuple[ScoreFromLabels, ...] = ()


_RECORD = places(
    *("table", "first", "second", "measure", "value", "low", "high", "items", "left_out", "interval", "reason")
)


def findings(
    found: Sequence[Agreement], scores: Sequence[ScoreFromLabels] = (), more: Sequence[str] = ()
) -> Findings[Reports]:
    """Return the scores, then the tables of every report; `rows` has one a measure, the combined mean's with the
    readings as their intervals' method. `more`: notes of where the ratings come from."""
    rows = [(one.title, *cells) for one in found for cells in _cells(one)]
    for score in scores:
        rows += [(score.title, score.metric, "experts", *cells) for cells in _powered_rows(score.powered)]
    return Findings(
        found=Reports(tuple(found), tuple(scores)),
        shown=[
            *score_tables(scores), *(table for one in found for table in tables_of(one)),
            Table("Reports", fields("", *Agreement.__struct_fields__), found),
            Table("Scores", fields("", *ScoreFromLabels.__struct_fields__), scores),
        ],
        rows=Table("Measures", _RECORD, rows),
        notes=[LEGEND.format(level=found[0].level if found else "interval"), *_notes_on_scores(scores),
               *notes_on(found), *more],
        drawing=partial(agreement_chart, found),
    )  # fmt: skip


def _cells(one: Agreement) -> Iterator[tuple[object, ...]]:
    for first, second, _, measures in _groups(one):
        for m in measures:
            yield first, second, m.kind, m.value, m.low, m.high, m.n, m.left_out, m.interval, m.reason
    if one.powered is not None:
        for cells in _powered_rows(one.powered):
            yield one.judge or "", "people", *cells


def _powered_rows(p: Powered) -> Iterator[tuple[object, ...]]:
    counts = (p.answers, p.answers - p.labels)
    yield "mean of the judge", p.judge, None, None, p.answers - p.unjudged, p.unjudged, "", p.reason
    for name, estimate in (("mean of labels alone", p.labels_alone), ("combined mean", p.combined)):
        if estimate is not None:
            yield name, estimate.value, *estimate.questions, *counts, "questions", ""
            yield name, estimate.value, *estimate.run, *counts, "run", ""
