"""Breakdowns drawn: one model's slices with their intervals, or a heat map (model × value, tag × tag)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from viva.analysis.slices import Slice, Slices
from viva.errors import VivaError, option
from viva.render.table import outcomes_text
from viva.render.theme import MARK, PER_CENT, category, daggers, ends, interval, mark_of, per_cent, plot, subtitle, tips
from viva.studies.breakdown.tables import Shown, cut_by, difference_text, labelled
from viva.visible import one_line

if TYPE_CHECKING:
    import altair

    Drawn = altair.LayerChart | altair.FacetChart

_ROW = 18
"""Pixels of a row of dots."""
_TILE = 30
"""Pixels of a tile."""
_WIDEST = 46
"""Pixels of a tile where there are few columns."""
_LABEL = 60
"""Characters of a name on an axis."""
_UNSURE, _UNTESTED = "#8a8a8a", "#c4c4c4"
"""What is not known to differ is to draw no eye."""
_NAMED = 3
"""Combinations of tags that a title names."""
_SPAN = 20.0
"""Points of per cent that the colours of a heat map span at least: small differences are to look small."""


def slices_chart(found: Sequence[Slices], shown: Shown | None = None) -> Drawn:
    """The breakdowns of one exam: dots with intervals for one model and one tag, else a heat map.

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
    crossed = len(one.tags) == 1 and len(one.tags[0]) > 1
    if len(found) == 1 and not crossed:
        return _dots(one)
    return _tiles(found, crossed=crossed)


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


def _row(one: Slices, each: Slice) -> dict[str, Any]:
    cell = each.cell
    return {
        "model": one_line(one.model, _LABEL),
        "slice": one_line(each.name, _LABEL),
        "what": one_line(labelled(each), 2 * _LABEL),
        "score": per_cent(cell.mean),
        **ends(cell),
        **mark_of(complete=cell.complete or cell.mean is None),
        "n": cell.n,
        "outcomes": outcomes_text(cell),
        "difference": difference_text(each),
        "against": "differs" if each.significant else "may be chance" if each.p is not None else "not tested",
    }


_TIPS = (
    ("what:N", "slice"),
    "model:N",
    ("score:Q", f"score ({PER_CENT})", ".2f"),
    ("low:Q", "interval from", ".2f"),
    ("high:Q", "to", ".2f"),
    ("difference:N", "against the rest"),
    ("n:Q", "", ","),
    "outcomes:N",
)


def _dots(one: Slices) -> Drawn:
    """A row a slice: its mean and interval, a line at the mean over all questions."""
    import altair

    rows = [_row(one, each) for each in one.slices if each.cell.n]
    base = plot(rows).encode(
        y=altair.Y(
            "slice:N" if len(one.tags) == 1 else "what:N",
            sort=None,
            title=" × ".join(one.tags[0]) if len(one.tags) == 1 else None,
        ),
        tooltip=tips(*_TIPS),
    )
    against = altair.Color(
        "against:N",
        title="against the rest",
        scale=altair.Scale(
            domain=["differs", "may be chance", "not tested"], range=[category()[0], _UNSURE, _UNTESTED]
        ),
    )
    score = altair.X("score:Q", title=f"score ({PER_CENT}, 95 % interval)", scale=altair.Scale(zero=False))
    layers: list[altair.Chart] = [
        interval(base, "", color=against),
        base.mark_point(filled=True, size=55, opacity=1).encode(x=score, color=against),
        *daggers(base, x=score),
    ]
    if one.overall.mean is not None:
        overall = plot([{"overall": 100 * one.overall.mean}])
        layers.append(
            overall.mark_rule(strokeDash=[4, 4]).encode(
                x=altair.X("overall:Q", title=f"score ({PER_CENT}, 95 % interval)"),
                tooltip=tips(("overall:Q", "all questions", ".2f")),
            )
        )
    return altair.layer(*layers).properties(
        title=_title(one, one.model, rows), width="container", height=max(80, _ROW * len(rows))
    )


def _tiles(found: Sequence[Slices], *, crossed: bool) -> Drawn:
    """A heat map. What differs from the rest by more than chance has its score in bold."""
    import altair

    one = found[0]
    rows: list[dict[str, Any]] = []
    for each in found:
        for cut in each.slices:
            values = [one_line(value, _LABEL) for _, value in cut.where]
            across = values[-1] if crossed else one_line(each.model, _LABEL)
            down = (
                " · ".join(values[:-1])
                if crossed
                else one_line(labelled(cut) if len(one.tags) > 1 else cut.name, _LABEL)
            )
            rows.append(_row(each, cut) | {"across": across, "down": down, "differs": cut.significant})
    columns, lines = (len({row[name] for row in rows}) for name in ("across", "down"))
    means = [row["score"] for row in rows if row["score"] is not None] or [0.0]
    middle = (min(means) + max(means)) / 2
    half = max(_SPAN, max(means) - min(means)) / 2
    tags = one.tags[0]
    base = plot(rows).encode(
        x=altair.X(
            "across:N",
            sort=None,
            title=tags[-1] if crossed else "model",
            axis=altair.Axis(labelAngle=-40, labelLimit=160, orient="bottom"),
        ),
        y=altair.Y(
            "down:N",
            sort=None,
            title=" × ".join(tags[:-1] if crossed else tags) if len(one.tags) == 1 else None,
        ),
        tooltip=tips(*_TIPS),
    )
    tiles = base.mark_rect().encode(
        color=altair.Color(
            "score:Q",
            title=f"score ({PER_CENT})",
            scale=altair.Scale(scheme="blues", domain=[middle - half, middle + half]),
        )
    )
    ink = altair.when(f"datum.score > {middle}").then(altair.value("#ffffff")).otherwise(altair.value("#1e2125"))
    numbers = [
        base.transform_filter(f"{'' if differs else '!'}datum.differs")
        .mark_text(fontSize=11, fontWeight="bold" if differs else "normal")
        .transform_calculate(shown=f"isValid(datum.score) ? format(datum.score, '.0f') + datum.{MARK} : ''")
        .encode(text="shown:N", color=ink)
        for differs in (True, False)
    ]
    wide = min(_WIDEST, max(_TILE, 420 // max(1, columns)))
    drawn = altair.layer(tiles, *numbers).properties(width=wide * columns, height=max(_TILE, 22) * lines)
    title = _title(one, one.model if crossed and len(found) == 1 else "", rows, bold=True)
    if crossed and len(found) > 1:
        models = list(dict.fromkeys(row["model"] for row in rows))
        return drawn.facet(facet=altair.Facet("model:N", sort=models, title=None), columns=2, title=title)
    return drawn.properties(title=title)


def _title(one: Slices, model: str, rows: Sequence[dict[str, Any]], *, bold: bool = False) -> altair.TitleParams:
    import altair

    named = f"{one.exam} by {cut_by(one)}" if len(one.tags) <= _NAMED else f"{one.exam}: slices against the rest"
    said = named + (f", {one_line(model, _LABEL)}" if model else "")
    below = ["bold: differs from the rest of the questions by more than chance"] if bold else []
    below += [subtitle(rows)] if subtitle(rows) else []
    return altair.TitleParams(said, subtitle=below) if below else altair.TitleParams(said)
