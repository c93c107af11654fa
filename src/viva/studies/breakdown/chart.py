"""Breakdowns drawn: one model's slices with their intervals, or a heat map (model × value, tag × tag)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from viva.analysis.slices import Slice, Slices
from viva.errors import VivaError, option
from viva.render.plots import PER_CENT, Axis, Drawn, Kinds, category, cells, dots, figures, subtitle
from viva.render.table import outcomes_text
from viva.studies.breakdown.tables import Shown, cut_by, difference_text, labelled

_AGAINST = {"differs": category()[0], "may be chance": "#8a8a8a", "not tested": "#c4c4c4"}
"""What is not known to differ is to draw no eye."""
_BOLD = "bold: differs from the rest of the questions by more than chance"
_NAMED = 3
"""Combinations of tags that a title names."""
_SPAN = 20.0
"""Points of per cent that the colours of a heat map span at least: small differences are to look small."""


def slices_chart(found: Sequence[Slices], shown: Shown | None = None) -> Drawn:
    """Return the breakdowns of one exam: dots with intervals for one model and one tag, else a heat map.

    A heat map has models as columns where there is one tag, and the last tag's values where there are several; then a
    part a model. Raises VivaError for several exams. `shown`: of a search over many slices, only what the tables tell.
    """
    exams = list(dict.fromkeys(one.exam for one in found))
    if len(exams) > 1:
        raise VivaError(
            f"draws one exam, and here are {', '.join(exams)}: name one with {option('exam')}", field="chart"
        )
    if shown is not None and not shown.everything:
        found = _picked(found, shown)
    one = found[0]
    tags = one.tags[0]
    crossed = len(one.tags) == 1 and len(tags) > 1
    rows = [_row(each, cut, crossed=crossed) for each in found for cut in each.slices]
    named = f"{one.exam} by {cut_by(one)}" if len(one.tags) <= _NAMED else f"{one.exam}: slices against the rest"
    title = named + (f", {one.model}" if len(found) == 1 else "")
    if len(found) == 1 and not crossed:
        rows = [row for row in rows if row["answers"]]
        mean = one.overall.mean
        whole = None if mean is None else (100 * mean, f"all questions: {100 * mean:.2f}")
        return dots(
            rows, "_name" if len(one.tags) == 1 else "slice", Axis("score", f"score ({PER_CENT}, 95 % interval)"),
            title=title, below=subtitle(rows, "dashed: all questions" if whole else ""), line=whole,
            kinds=Kinds("rest", list(_AGAINST), list(_AGAINST.values()), "against the rest"),
        )  # fmt: skip
    means = [row["score"] for row in rows if row["score"] is not None] or [0.0]
    middle, half = (min(means) + max(means)) / 2, max(_SPAN, max(means) - min(means)) / 2
    return cells(
        rows, "_across", "_down", Axis("score", f"score ({PER_CENT})", {"domain": [middle - half, middle + half]}),
        ".0f", title=title, below=[_BOLD, *filter(None, [subtitle(rows)])],
        titles={"_across": tags[-1] if crossed else "model", "_down": " × ".join(tags[:-1] if crossed else tags)
                if len(one.tags) == 1 else ""},
        bold="differs", panels="model" if crossed and len(found) > 1 else "",
    )  # fmt: skip


def _picked(found: Sequence[Slices], shown: Shown) -> Sequence[Slices]:
    """Only the slices that a table of some model tells, the lowest first; all, where none does."""
    told = [each for one in found for each in (*one.worst(shown.worst or 0), *reversed(one.best(shown.best or 0)))]
    places = {where: place for place, where in enumerate(dict.fromkeys(each.where for each in told))}
    if not places:
        return found
    return [
        replace(
            one,
            slices=tuple(
                sorted((each for each in one.slices if each.where in places), key=lambda each: places[each.where])
            ),
        )
        for one in found
    ]


def _row(one: Slices, each: Slice, *, crossed: bool) -> dict[str, Any]:
    cell = each.cell
    what, name, values = labelled(each), each.name, [value for _, value in each.where]
    return {
        "slice": what,
        "model": one.model,
        "_name": name,
        "_across": values[-1] if crossed else one.model,
        "_down": " · ".join(values[:-1]) if crossed else name if len(one.tags) == 1 else what,
        **figures(cell),
        "against the rest": difference_text(each),
        "outcomes": outcomes_text(cell),
        "differs": each.significant,
        "rest": "differs" if each.significant else "may be chance" if each.p is not None else "not tested",
    }
