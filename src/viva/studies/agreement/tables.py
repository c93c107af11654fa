"""How raters agree, as tables and as data; `agreementchart` draws the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msgspec import Struct

from viva.analysis.agreement import Agreement, Pair
from viva.analysis.measure import Measure
from viva.analysis.prediction import VERIFIED, Estimate, Powered
from viva.render.grids import WORDS
from viva.render.measures import NAMES, measure_text, number
from viva.render.printing import Records, StudyResult
from viva.render.table import Grid
from viva.studies.agreement.chart import svg_agreement
from viva.visible import one_line

LEGEND = (
    "[…]: 95 % interval over items, by question where several items answer one. Krippendorff's alpha takes marks as "
    "{level}."
)
_LONG = 40
MOST_REASONS = 12


def agreement_grids(found: Agreement) -> list[Grid]:
    """The combined mean where it is asked for, the people among each other, the judge against them, every pair, the
    confusion table.
    """
    where = f" · {found.title}" if found.title else ""
    grids = []
    if found.powered is not None:
        grids.append(_powered(f"Mean mark of all {found.powered.answers:,} items{where}", found.powered))
    if len(found.people) > 1 or found.judge is None:
        grids += _measures(f"{len(found.people)} {found.word} among each other{where}", found.among)
    if found.judge is not None:
        grids += _measures(f"{found.judge} against the {found.word}{where}", found.judged)
    pairs = [pair for pair in found.pairs if any(one.value is not None for one in pair.measures)]
    if pairs and len(found.people) + (found.judge is not None) > 2:
        grids.append(_pairs(f"Two by two{where}", pairs))
    elif pairs and found.judge is None:
        grids += _measures(f"{pairs[0].first} and {pairs[0].second}{where}", pairs[0].measures)
    if found.table is not None:
        table = found.table
        # A header goes to the terminal as it is: no name of a rater's may drive it.
        corner = f"{one_line(table.rows, _LONG)} ↓ {one_line(table.columns, _LONG)} →"
        header = (corner, *(f"{mark:g}" for mark in table.scale), "n")
        rows = tuple(
            (f"{mark:g}", *(f"{count:,}" for count in counts), f"{sum(counts):,}")
            for mark, counts in zip(table.scale, table.counts, strict=True)
        )
        grids.append(Grid(f"Marks given by both{where}", header, rows))
    return grids


def notes_on(found: Sequence[Agreement]) -> list[str]:
    """What is missing and why, and what the combined mean rests on."""
    notes: list[str] = []
    reasons: list[str] = []
    for one in found:
        where = f" ({one.title})" if one.title else ""
        notes += [note + where for note in one.notes]
        for whose, measures in _all(one):
            missing: dict[str, list[str]] = {}
            for measure in measures:
                if measure.reason:
                    what = "value" if measure.value is None else "interval"
                    missing.setdefault(f"{measure.reason}, so no {what} of", []).append(NAMES[measure.kind])
            every = len(missing) == 1 and len(next(iter(missing.values()))) == len(measures)
            for reason, names in missing.items():
                reasons.append(f"{whose}{where}: {reason} {'any measure' if every else ', '.join(names)}.")
        if one.powered is not None:
            notes += [note + where for note in _notes_on_powered(one.powered)]
    if len(reasons) > MOST_REASONS:
        reasons[MOST_REASONS:] = [f"{len(reasons) - MOST_REASONS:,} more notes of this kind."]
    return [*notes, *reasons]


def _all(found: Agreement) -> Iterator[tuple[str, Sequence[Measure]]]:
    if len(found.people) > 1 or found.judge is None:
        yield f"the {found.word}", found.among
    if found.judge is not None:
        yield f"{one_line(found.judge, _LONG)} against the {found.word}", found.judged
    for pair in found.pairs:
        yield f"{one_line(pair.first, _LONG)} and {one_line(pair.second, _LONG)}", pair.measures


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


def _measures(title: str, measures: Sequence[Measure]) -> Iterator[Grid]:
    """Their table; none where no measure has a value."""
    rows = tuple(
        (NAMES[one.kind], measure_text(one), f"{one.n:,}", f"{one.left_out:,}", one.interval or "–") for one in measures
    )
    if any(one.value is not None for one in measures):
        yield Grid(title, ("", "value", "items", "left out", "interval"), rows)


def _pairs(title: str, pairs: Sequence[Pair]) -> Grid:
    header = ("first", "second", "items", *(NAMES[measure.kind] for measure in pairs[0].measures))
    rows = tuple(
        (pair.first, pair.second, f"{pair.measures[-1].n:,}", *map(measure_text, pair.measures)) for pair in pairs
    )
    return Grid(title, header, rows)


def _powered(title: str, one: Powered) -> Grid:
    def row(name: str, of: str, estimate: Estimate | None) -> tuple[str, ...]:
        if estimate is None:
            return name, of, "–", "–", "–"
        (low, high), (lower, higher) = estimate.questions, estimate.run
        return name, of, number(estimate.value), f"[{low:.3f}, {high:.3f}]", f"[{lower:.3f}, {higher:.3f}]"

    rows = (
        ("judge alone", f"{one.answers - one.unjudged:,} verdicts", number(one.judge), "–", "–"),
        row("people alone", f"{one.labels:,} labels", one.labels_alone),
        row("combined", "both", one.combined),
    )
    return Grid(title, ("", "of", "mean", "over such questions", "this run"), rows)


class ScoreFromLabels(Struct, frozen=True, kw_only=True):
    """What experts would give on average, from a random sample of their marks; `title` says whose, and which."""

    title: str
    metric: str
    powered: Powered
    known: int = 0
    """Answers that no expert need see (read by rule, refused, empty): they count as they are, and are no labels."""


def score_grids(found: Sequence[ScoreFromLabels]) -> list[Grid]:
    """A table a title: without experts, from the labels alone, and from both; a row a metric."""
    header = ("", "without experts", "labels alone", "both (prediction-powered)", "labels", "worth")
    grids: list[Grid] = []
    for title in dict.fromkeys(one.title for one in found):
        rows: list[tuple[str, ...]] = []
        for one in found:
            p = one.powered
            if one.title != title:
                continue
            if p.combined is None or p.labels_alone is None:
                rows.append((one.metric, number(p.judge), *("–" * 4)))
                continue
            both = [
                f"{number(e.value)} [{e.questions[0]:.3f}, {e.questions[1]:.3f}]" for e in (p.labels_alone, p.combined)
            ]
            worth = f"{(p.effective or p.labels) - one.known:,.0f}"
            labels = f"{p.labels - one.known:,} of {p.answers - one.known:,}"
            rows.append((one.metric, number(p.judge), *both, labels, worth))
        grids.append(Grid(f"The score that experts would give · {title}", header, tuple(rows)))
    return grids


def _notes_on_scores(found: Sequence[ScoreFromLabels]) -> Iterator[str]:
    """Why a score is a dash, and what few labels are worth."""
    few: dict[str, None] = {}
    for one in found:
        if one.powered.combined is None:
            yield f"no {one.metric} from labels ({one.title}): {one.powered.reason}."
        elif one.powered.labels - one.known < VERIFIED:
            few[f"intervals were tested from {VERIFIED} labels on; here are fewer ({one.title})."] = None
    yield from few


@dataclass(frozen=True, repr=False)
class Agreements(StudyResult):
    """Reports on raters, and the scores that experts' labels give."""

    found: tuple[Agreement, ...]
    scores: tuple[ScoreFromLabels, ...] = ()
    more: tuple[str, ...] = ()
    """Notes of where the ratings come from."""
    words = WORDS | {"interval", "first", "second", "of"}

    def tables(self) -> list[Grid]:
        """The scores, then the tables of every report."""
        return [*score_grids(self.scores), *(grid for one in self.found for grid in agreement_grids(one))]

    def closing(self) -> list[str]:
        """The legend and the notes."""
        return [LEGEND.format(level=self.found[0].level if self.found else "interval"), *self.notes()]

    def notes(self) -> list[str]:
        """What must be known beside the figures."""
        return [*_notes_on_scores(self.scores), *notes_on(self.found), *self.more]

    def pictures(self) -> list[tuple[str, str]]:
        """Title and SVG of every report: there is no other chart."""
        return [(one.title, svg_agreement(one)) for one in self.found]

    def records(self) -> Records:
        """A row a measure, unrounded; the combined mean's rows have the readings as their intervals' method."""
        header = ("table", "first", "second", "measure", "value", "low", "high", "items", "left_out", "interval")
        rows = [(one.title, *cells) for one in self.found for cells in _cells(one)]
        for score in self.scores:
            rows += [(score.title, score.metric, "experts", *cells) for cells in _powered_rows(score.powered)]
        return (*header, "reason"), rows

    def data(self) -> object:
        """Reports, scores and notes."""
        return {"tables": list(self.found), "scores": list(self.scores), "notes": self.notes()}


def _cells(one: Agreement) -> Iterator[tuple[object, ...]]:
    rows = [("people", "", measure) for measure in one.among]
    rows += [(one.judge or "", "people", measure) for measure in one.judged]
    rows += [(pair.first, pair.second, measure) for pair in one.pairs for measure in pair.measures]
    for first, second, m in rows:
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
