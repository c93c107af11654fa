"""Breakdowns as tables and as data: every slice with its interval, outcomes, and difference from the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct

from viva.analysis.estimate import UNSURE, cell_text, percent
from viva.analysis.multiplicity import NAMES
from viva.analysis.slices import LEVEL, Slice, Slices
from viva.errors import flag
from viva.render.findings import Drawing, Findings
from viva.render.result import LEFT_OUT, RANGE
from viva.render.table import (
    ESTIMATE,
    NAME,
    OUTCOMES,
    PERCENT,
    POINTS,
    Column,
    Kind,
    P,
    Table,
    between_text,
    counted,
    crossed,
    fields,
    outcomes_text,
)
from viva.visible import one_line, plural

MARK = "*"
"""Marks the difference of a slice that differs significantly from the rest."""
_NAMED = 3
"""The most slices named in a sentence."""


class Shown(Struct, frozen=True, kw_only=True):
    """Which slices are printed: all, or a number of the worst and best."""

    worst: int | None = None
    best: int | None = None
    pooled: bool = False
    """Whether pooled scores are shown as well."""

    @property
    def everything(self) -> bool:
        """Whether all slices are shown."""
        return self.worst is None and self.best is None


class Row(NamedTuple):
    """A row of a table: a slice with its model."""

    model: Slices
    each: Slice


def _columns(rows: Sequence[Row], shown: Shown) -> tuple[Column, ...]:
    """Return the columns of a table of slices, printed and as data."""
    return (
        *fields("model", "exam", "model"),
        Column(None, lambda row: " · ".join(tag for tag, _ in row.each.where), key="tags"),
        Column("slice", lambda row: _called(row.each, row.model if shown.everything else None), NAME, key=None),
        counted([row.each.cell for row in rows], "each.cell"),
        *fields("each", name="slice"), *fields("each.cell", "n"), *fields("each", "questions"),
        Column("score", "each.cell", ESTIMATE, key=None, keep=shown.pooled),
        *((Column("pooled", "each", Kind(pooled_text), key=None, keep=True),) if shown.pooled else ()),
        *fields("each.cell", "mean", "low", "high", "floor", "ceiling"),
        Column(None, lambda row: outcomes_text(row.each.cell), key="outcomes"),
        Column("rest", "each.rest", PERCENT), Column("difference", "each", Kind(difference_text), key=None),
        *fields("each", "difference", low="difference_low", high="difference_high"),
        Column("p", "each.p", P), Column("adjusted p", "each.adjusted", P, key="adjusted_p"), *fields("each", "test"),
        Column(None, lambda row: "yes" if row.each.significant else "no", key="significant"),
        Column("outcomes", "each.cell", OUTCOMES, key=None),
        *(fields("each.pooled", mean="pooled", low="pooled_low", high="pooled_high") if shown.pooled else ()),
    )  # fmt: skip


def labelled(part: Slice) -> str:
    """Return `domain: OS · tag: Reasoning`."""
    return " · ".join(f"{tag}: {value}" for tag, value in part.where)


def _called(each: Slice, within: Slices | None) -> str:
    """Return a slice's label: its values alone in a table by one combination of tags."""
    return each.name if within and len(within.tags) == 1 else labelled(each)


def pooled_text(part: Slice) -> str:
    """Return `61.20 [59.10, 63.25]`, with † where the score has it."""
    if part.pooled is None:
        return "–"
    low, high = percent(part.pooled.low), percent(part.pooled.high)
    return f"{percent(part.pooled.mean)}{'' if part.cell.complete else UNSURE} [{low}, {high}]"


def difference_text(part: Slice) -> str:
    """Return `−4.20 [−8.10, −0.30]*` in points of per cent."""
    if part.difference is None:
        return "–"
    return f"{POINTS.text(part.difference)}{between_text(part.low, part.high)}{MARK if part.significant else ''}"


_MARKED = Kind(lambda each: f"{cell_text(each.cell)}{MARK if each.significant else ''}")
"""A slice's score, marked if it differs significantly from the rest."""
_ESTIMATES = (*fields("model", "exam", "model"), *fields("each", "where", cell="estimate"))
_MODELS = fields("", "exam", "model", "tags", "overall", "compared", "untested", "smallest", "correct")


def findings(cuts: tuple[Slices, ...], shown: Shown, drawing: Drawing = None) -> Findings[tuple[Slices, ...]]:
    """Return all slices, or the worst and best, a table a model; several models of an exam side by side first. `rows`
    has one a slice, all of them."""
    rows = [Row(cut, each) for cut in cuts for each in cut.slices]
    tables = [
        *(_side_by_side(cuts) if shown.everything else ()),
        *(table for cut in cuts for table in _of_model(cut, shown)),
        Table("Estimates", _ESTIMATES, rows),
        Table("Models", _MODELS, cuts),
    ]
    return Findings(
        found=cuts, shown=tables, rows=Table("Slices", _columns((), shown), rows),
        notes=[*legend(cuts, shown), *notes_on(cuts)], drawing=drawing,
    )  # fmt: skip


def _of_model(cut: Slices, shown: Shown) -> Iterator[Table]:
    """Yield all slices of a model, or its extremes."""
    picked: list[tuple[str, Sequence[Slice]]] = [(f"By {cut_by(cut)}", cut.slices)] if shown.everything else []
    for pick, count, word in ((cut.worst, shown.worst, "Worst"), (cut.best, shown.best, "Best")):
        picked += [(f"{word} slices against the rest", pick(count))] if count else []
    for title, slices in picked:
        if slices:
            rows = [Row(cut, each) for each in slices]
            yield Table(f"{title} · {cut.exam} · {cut.model}", _columns(rows, shown), rows)


def _side_by_side(cuts: Sequence[Slices]) -> Iterator[Table]:
    """Yield, for several models on one exam, a table with a column for each model; the last row has all questions."""
    for exam in dict.fromkeys(cut.exam for cut in cuts):
        of_exam = [cut for cut in cuts if cut.exam == exam]
        if len(of_exam) < 2:
            continue
        names = {each.where: _called(each, cut) for cut in of_exam for each in cut.slices} | {_WHOLE: "overall"}
        columns = []
        for cut in of_exam:
            known = {each.where: each for each in (*cut.slices, Slice(where=_WHOLE, questions=0, cell=cut.overall))}
            columns.append((cut.model, {where: known.get(where) for where in names}))
        title = f"By {cut_by(of_exam[0])}, models side by side · {exam}"
        yield crossed(title, "slice", columns, _MARKED, names.__getitem__)


_WHOLE = (("", "overall"),)
"""The slice of all questions."""


def cut_by(cut: Slices) -> str:
    """Return the tags of the slices: `domain × kind, tag`."""
    return ", ".join(" × ".join(combination) for combination in cut.tags)


def legend(cuts: Sequence[Slices], shown: Shown) -> list[str]:
    """Return a legend: the meaning and limits of the figures."""
    correct = cuts[0].correct if cuts else "holm"
    adjusted = {
        "holm": "Holm's keep the chance of even one false alarm in a model's whole table at 5 %",
        "bh": "Benjamini-Hochberg's keep the expected share of false alarms among the marked slices at 5 %",
        "none": "they are not adjusted: of twenty slices like all others, one is marked",
    }[correct]
    lines = [
        "difference: slice minus all other questions of the exam, in points of per cent, with its 95 % interval. p: "
        + (
            "by inverting that interval."
            if any(each.test == "interval" for cut in cuts for each in cut.slices)
            else "the chance that as many questions drawn at random lie as far from the rest."
        ),
        f"Adjusted p-values: {adjusted}. {MARK}: at most {LEVEL:g}.",
    ]
    if shown.pooled:
        lines.append(
            "pooled: the score drawn towards the model's other slices by the same tags, the further the fewer "
            "questions it has and the less they differ; its 95 % interval holds on average over such slices, not for "
            "one unlike all others."
        )
    if not all(each.cell.complete for cut in cuts for each in cut.slices):
        lines.append(f"{UNSURE}: {LEFT_OUT}.")
    if any(each.cell.ranged for cut in cuts for each in cut.slices):
        lines.append(f"{UNSURE} after a range: {RANGE}; such a slice is compared with nothing.")
    if not shown.everything:
        lines.append(
            "A slice that was picked out for being the lowest or highest of many looks more extreme than it is: expect "
            "less of it on fresh questions."
        )
    return lines


def notes_on(cuts: Sequence[Slices]) -> list[str]:
    """Return a conclusion for each model: which slices differ, if any; and what was not tested."""
    notes: list[str] = []
    for cut in cuts:
        who = f"{one_line(cut.model)} on {cut.exam}"
        marked = [each for each in cut.slices if each.significant]
        times = "one comparison" if cut.compared == 1 else f"{cut.compared:,} comparisons"
        by = "" if cut.correct == "none" else f" ({NAMES[cut.correct]})"
        if not cut.compared:
            notes.append(f"{who}: nothing was tested.")
        elif not marked:
            notes.append(
                f"{who}: nothing here differs from the rest by more than chance, after {times}{by}"
                + (": a table without any differences looks much like this one." if cut.compared > 1 else ".")
            )
        else:
            marked.sort(key=lambda each: each.adjusted if each.adjusted is not None else 1.0)
            # Of a slice and its complement, only one is named.
            told = list({(each.p, round(abs(each.difference or 0.0), 12)): each for each in reversed(marked)}.values())
            named = ", ".join(f"{labelled(each)} ({difference_text(each)})" for each in told[::-1][:_NAMED])
            more = f", and {len(told) - _NAMED:,} more" if len(told) > _NAMED else ""
            notes.append(
                f"{who}: {plural(len(told), 'differs', 'differ')} from the rest, in {times}{by}: {named}{more}."
            )
        if cut.untested:
            small = plural(cut.untested, "slice is not tested: it has", "slices are not tested: they have")
            leaves = "leaves" if cut.untested == 1 else "leave"
            notes.append(
                f"{who}: {small} fewer than {cut.smallest:,} answered questions, or {leaves} fewer to "
                f"compare with ({flag('min')})."
            )
    return notes
