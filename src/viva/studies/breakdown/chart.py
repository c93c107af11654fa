"""Charts of breakdowns: one model's slices with their intervals, or a heat map (model × value, tag × tag)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from viva.analysis.slices import Slice, Slices
from viva.render.plots import PER_CENT, Axis, Drawn, Kinds, category, cells, dots, figures, one_exam, subtitle
from viva.render.table import outcomes_text
from viva.studies.breakdown.tables import Shown, cut_by, difference_text, labelled

_AGAINST = {"differs": category()[0], "may be chance": "#8a8a8a", "not tested": "#c4c4c4"}
"""Colours by test result: slices not known to differ are grey."""
_BOLD = "bold: differs from the rest of the questions by more than chance"
_NAMED = 3
"""The most combinations of tags in a title."""
_SPAN = 20.0
"""The least span of a heat map's colours, in points of per cent, so that small differences look small."""


def slices_chart(cuts: Sequence[Slices], shown: Shown | None = None) -> Drawn:
    """Return the breakdowns of one exam: dots with intervals for one model and one tag, else a heat map.

    A heat map has models as columns where there is one tag, and the last tag's values where there are several; then a
    part a model. Raises VivaError for several exams. `shown`: for a search over many slices, draws only those in the
    tables.
    """
    one_exam(list(dict.fromkeys(each_cut.exam for each_cut in cuts)))
    if shown is not None and not shown.everything:
        cuts = _picked(cuts, shown)
    first = cuts[0]
    tags = first.tags[0]
    crossed = len(first.tags) == 1 and len(tags) > 1
    rows = [_row(each, cut, crossed=crossed) for each in cuts for cut in each.slices]
    named = (
        f"{first.exam} by {cut_by(first)}" if len(first.tags) <= _NAMED else f"{first.exam}: slices against the rest"
    )
    title = named + (f", {first.model}" if len(cuts) == 1 else "")
    if len(cuts) == 1 and not crossed:
        rows = [row for row in rows if row["answers"]]
        mean = first.overall.mean
        whole = None if mean is None else (100 * mean, f"all questions: {100 * mean:.2f}")
        return dots(
            rows, "_name" if len(first.tags) == 1 else "slice", Axis("score", f"score ({PER_CENT}, 95 % interval)"),
            title=title, below=subtitle(rows, "dashed: all questions" if whole else ""), line=whole,
            kinds=Kinds("rest", list(_AGAINST), list(_AGAINST.values()), "against the rest"),
        )  # fmt: skip
    means = [row["score"] for row in rows if row["score"] is not None] or [0.0]
    middle, half = (min(means) + max(means)) / 2, max(_SPAN, max(means) - min(means)) / 2
    return cells(
        rows, "_across", "_down", Axis("score", f"score ({PER_CENT})", {"domain": [middle - half, middle + half]}),
        ".0f", title=title, below=[_BOLD, *filter(None, [subtitle(rows)])],
        titles={"_across": tags[-1] if crossed else "model", "_down": " × ".join(tags[:-1] if crossed else tags)
                if len(first.tags) == 1 else ""},
        bold="differs", panels="model" if crossed and len(cuts) > 1 else "",
    )  # fmt: skip


def _picked(cuts: Sequence[Slices], shown: Shown) -> Sequence[Slices]:
    """Return only the slices shown in some model's table, the lowest first; all slices if there are none."""
    told = [each for cut in cuts for each in (*cut.worst(shown.worst or 0), *reversed(cut.best(shown.best or 0)))]
    places = {where: place for place, where in enumerate(dict.fromkeys(each.where for each in told))}
    if not places:
        return cuts
    return [
        replace(
            cut,
            slices=tuple(
                sorted((each for each in cut.slices if each.where in places), key=lambda each: places[each.where])
            ),
        )
        for cut in cuts
    ]


def _row(cut: Slices, each: Slice, *, crossed: bool) -> dict[str, Any]:
    cell = each.cell
    what, name, values = labelled(each), each.name, [value for _, value in each.where]
    return {
        "slice": what,
        "model": cut.model,
        "_name": name,
        "_across": values[-1] if crossed else cut.model,
        "_down": " · ".join(values[:-1]) if crossed else name if len(cut.tags) == 1 else what,
        **figures(cell),
        "against the rest": difference_text(each),
        "outcomes": outcomes_text(cell),
        "differs": each.significant,
        "rest": "differs" if each.significant else "may be chance" if each.p is not None else "not tested",
    }
