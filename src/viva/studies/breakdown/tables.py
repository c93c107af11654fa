"""Breakdowns as tables and as data: every slice with its interval, its outcomes, and its distance from the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import Struct

from viva.analysis.multiplicity import NAMES
from viva.analysis.slices import LEVEL, Slice, Slices
from viva.analysis.wording import UNSURE, cell_text, percent
from viva.errors import flag
from viva.render.grids import WORDS
from viva.render.printing import Drawing, Records, StudyResult
from viva.render.result import LEFT_OUT, RANGE, counted
from viva.render.table import Grid, outcomes_text, p_text, signed
from viva.visible import one_line

MARK = "*"
"""Behind the difference of a slice that differs from the rest by more than chance."""
_NAMED = 3
"""Slices that a sentence names."""


class Shown(Struct, frozen=True, kw_only=True):
    """How much of the slices is printed: all, or so many of the worst and best."""

    worst: int | None = None
    best: int | None = None
    pooled: bool = False
    """Whether scores stand there pooled, too."""

    @property
    def everything(self) -> bool:
        """Whether nothing is picked out."""
        return self.worst is None and self.best is None


def slice_grids(found: Sequence[Slices], shown: Shown) -> list[Grid]:
    """Where several models sat one exam, they stand side by side first; then a table a model, or its extremes."""
    grids: list[Grid] = _side_by_side(found) if shown.everything else []
    for one in found:
        where = f"{one.exam} · {one.model}"
        if shown.everything:
            grids.append(_grid(f"By {_cut_by(one)} · {where}", one.slices, pooled=shown.pooled))
            continue
        extremes = ((one.worst, shown.worst, "Worst"), (one.best, shown.best, "Best"))
        for pick, count, word in extremes:
            if count is not None and (picked := pick(count)):
                grids.append(
                    _grid(f"{word} slices against the rest · {where}", picked, named=True, pooled=shown.pooled)
                )
    return grids


def _cut_by(one: Slices) -> str:
    return ", ".join(" × ".join(combination) for combination in one.tags)


def _grid(title: str, rows: Sequence[Slice], *, named: bool = False, pooled: bool = False) -> Grid:
    unit, counts = counted([one.cell for one in rows])
    beside = ("pooled",) if pooled else ()
    header = ("slice", unit, "score", *beside, "rest", "difference", "p", "adjusted p", "outcomes")
    return Grid(
        title,
        header,
        tuple(
            (
                labelled(one) if named else one.name,
                count,
                cell_text(one.cell),
                *((pooled_text(one),) if pooled else ()),
                percent(one.rest),
                difference_text(one),
                p_text(one.p),
                p_text(one.adjusted),
                outcomes_text(one.cell),
            )
            for one, count in zip(rows, counts, strict=True)
        ),
        keep=("score", "pooled") if pooled else (),
    )


def labelled(one: Slice) -> str:
    """`domain: OS · tag: Reasoning`."""
    return " · ".join(f"{tag}: {value}" for tag, value in one.where)


def pooled_text(one: Slice) -> str:
    """`61.20 [59.10, 63.25]`, marked where the score is."""
    if one.pooled is None:
        return "–"
    low, high = percent(one.pooled.low), percent(one.pooled.high)
    return f"{percent(one.pooled.mean)}{'' if one.cell.complete else UNSURE} [{low}, {high}]"


def difference_text(one: Slice) -> str:
    """`−4.20 [−8.10, −0.30]*` in points of per cent."""
    if one.difference is None:
        return "–"
    between = "" if one.low is None or one.high is None else f" [{signed(100 * one.low)}, {signed(100 * one.high)}]"
    return f"{signed(100 * one.difference)}{between}{MARK if one.significant else ''}"


def _side_by_side(found: Sequence[Slices]) -> list[Grid]:
    grids: list[Grid] = []
    for exam in dict.fromkeys(one.exam for one in found):
        of_exam = [one for one in found if one.exam == exam]
        if len(of_exam) < 2:
            continue
        names = dict.fromkeys(each.where for one in of_exam for each in one.slices)
        cells = [{each.where: each for each in one.slices} for one in of_exam]
        rows = tuple(
            (
                " · ".join(value for _, value in where),
                *(
                    f"{cell_text(known[where].cell)}{MARK if known[where].significant else ''}"
                    if where in known
                    else "–"
                    for known in cells
                ),
            )
            for where in names
        )
        overall = ("overall", *(cell_text(one.overall) for one in of_exam))
        title = f"By {_cut_by(of_exam[0])}, models side by side · {exam}"
        grids.append(Grid(title, ("slice", *(one.model for one in of_exam)), (*rows, overall)))
    return grids


def legend(found: Sequence[Slices], shown: Shown) -> list[str]:
    """What the figures are, and what they do not show."""
    correct = found[0].correct if found else "holm"
    adjusted = {
        "holm": "Holm's keep the chance of even one false alarm in a model's whole table at 5 %",
        "bh": "Benjamini-Hochberg's keep the expected share of false alarms among the marked slices at 5 %",
        "none": "they are not adjusted: of twenty slices like all others, one is marked",
    }[correct]
    lines = [
        "difference: slice minus all other questions of the exam, in points of per cent, with its 95 % interval. p: "
        + (
            "by inverting that interval."
            if any(each.test == "interval" for one in found for each in one.slices)
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
    if not all(each.cell.complete for one in found for each in one.slices):
        lines.append(f"{UNSURE}: {LEFT_OUT}.")
    if any(each.cell.ranged for one in found for each in one.slices):
        lines.append(f"{UNSURE} after a range: {RANGE}; such a slice is compared with nothing.")
    if not shown.everything:
        lines.append(
            "A slice that was picked out for being the lowest or highest of many looks more extreme than it is: expect "
            "less of it on fresh questions."
        )
    return lines


def notes_on(found: Sequence[Slices]) -> list[str]:
    """What a reader should take away, a model: which slices differ, or that none does; and what was not tested."""
    notes: list[str] = []
    for one in found:
        who = f"{one_line(one.model, 60)} on {one.exam}"
        marked = [each for each in one.slices if each.significant]
        times = "one comparison" if one.compared == 1 else f"{one.compared:,} comparisons"
        by = "" if one.correct == "none" else f" ({NAMES[one.correct]})"
        if not one.compared:
            notes.append(f"{who}: nothing was tested.")
        elif not marked:
            notes.append(
                f"{who}: nothing here differs from the rest by more than chance, after {times}{by}"
                + (": a table without any differences looks much like this one." if one.compared > 1 else ".")
            )
        else:
            marked.sort(key=lambda each: each.adjusted if each.adjusted is not None else 1.0)
            # Of a slice and its complement, one says it all.
            told = list({(each.p, round(abs(each.difference or 0.0), 12)): each for each in reversed(marked)}.values())
            named = ", ".join(f"{labelled(each)} ({difference_text(each)})" for each in told[::-1][:_NAMED])
            more = f", and {len(told) - _NAMED:,} more" if len(told) > _NAMED else ""
            differ = "differs" if len(told) == 1 else "differ"
            notes.append(f"{who}: {len(told):,} {differ} from the rest, in {times}{by}: {named}{more}.")
        if one.untested:
            small = "slice is not tested: it has" if one.untested == 1 else "slices are not tested: they have"
            leaves = "leaves" if one.untested == 1 else "leave"
            notes.append(
                f"{who}: {one.untested:,} {small} fewer than {one.smallest:,} answered questions, or {leaves} fewer to "
                f"compare with ({flag('min')})."
            )
    return notes


_COLUMNS = (
    "exam", "model", "tags", "slice", "n", "questions", "mean", "low", "high", "floor", "ceiling", "outcomes",
    "rest", "difference", "difference_low", "difference_high", "p", "adjusted_p", "test", "significant",
)  # fmt: skip


@dataclass(frozen=True, repr=False)
class Breakdowns(StudyResult):
    """The slices of every model and exam."""

    found: tuple[Slices, ...]
    shown: Shown
    drawing: Drawing = None
    words = WORDS | {"slice"}

    def tables(self) -> list[Grid]:
        """All slices, or the worst and best; several models of an exam side by side first."""
        return slice_grids(self.found, self.shown)

    def closing(self) -> list[str]:
        """The legend, and what a reader should take away."""
        return [*legend(self.found, self.shown), *notes_on(self.found)]

    def records(self) -> Records:
        """A row a slice, all of them."""
        if not self.shown.pooled:
            return _COLUMNS, [_record(one, each) for one in self.found for each in one.slices]
        rows = [(*_record(one, each), *_pooled_record(each)) for one in self.found for each in one.slices]
        return (*_COLUMNS, "pooled", "pooled_low", "pooled_high"), rows

    def data(self) -> object:
        """Slices and notes."""
        return {"breakdowns": list(self.found), "notes": self.closing()}


def _record(one: Slices, each: Slice) -> Sequence[object]:
    cell = each.cell
    return (
        *(one.exam, one.model, " · ".join(tag for tag, _ in each.where), each.name, cell.n, each.questions, cell.mean),
        *(cell.low, cell.high, cell.floor, cell.ceiling, outcomes_text(cell), each.rest, each.difference),
        *(each.low, each.high, each.p, each.adjusted, each.test, "yes" if each.significant else "no"),
    )


def _pooled_record(each: Slice) -> Sequence[object]:
    return (each.pooled.mean, each.pooled.low, each.pooled.high) if each.pooled else (None, None, None)
