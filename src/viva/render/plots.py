"""The charts that all studies and pages draw with: dots on their intervals, curves over an axis of numbers, a matrix of
cells, bars of counts.

A chart's rows are dicts; parameters name their fields. `score`, `low` and `high` are figures with their intervals,
`least` and `most` a range in place of a mean, `MARK` the mark of means that leave something out. Tooltips show every
other field of the row by name, except booleans and names beginning with `_`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from viva.analysis.estimate import UNSURE, Estimate
from viva.errors import VivaError, option
from viva.files import shipped_text
from viva.visible import one_line
from viva.web.chartpages import Scheme, tokens

if TYPE_CHECKING:
    import altair

    Layered = altair.LayerChart | altair.FacetChart

PER_CENT = "per cent"
"""Title of an axis of scores."""
SIGNED = "datum.value ? format(datum.value, '+~g') : '0'"
"""Tick labels of figures that may be negative."""
FILE_WIDTH = 640
"""Width in pixels of a chart in a file."""


def category(scheme: Scheme = "light") -> tuple[str, ...]:
    """Return colours of unordered kinds, after Okabe and Ito."""
    return tuple(tokens()[scheme]["category"])


def one_exam(titles: Sequence[str]) -> None:
    """Raise VivaError for several exams in one chart."""
    if len(titles) > 1:
        raise VivaError(
            f"shows one exam, and here are {', '.join(titles)}: name one with {option('exam')}", field="chart"
        )


MARK = "mark"
"""The field of a chart's row that is `UNSURE` if its mean has missing answers, else ""."""
LEAVES_OUT = f"{UNSURE} leaves out what was not scored"


def mark_of(*, complete: bool) -> dict[str, str]:
    """Return a row's `MARK`."""
    return {MARK: "" if complete else UNSURE}


def marked(rows: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether any row has the mark, so that the chart needs `daggers` and the sentence."""
    return any(row.get(MARK) for row in rows)


def subtitle(rows: Iterable[Mapping[str, Any]], *parts: str) -> str:
    """Return a chart's subtitle, with the meaning of the mark if a row has it."""
    return "; ".join([*filter(None, parts), *([LEAVES_OUT] if marked(rows) else [])])


def per_cent(share: float | None) -> float | None:
    """Return a share in per cent, rounded to what a chart can show; None if unknown."""
    return None if share is None else round(100 * share, 3)


def ends(bounded: Any) -> dict[str, Any]:
    """Return the fields `low` and `high`, in per cent, of anything with an interval, and both as text."""
    low, high = per_cent(bounded.low), per_cent(bounded.high)
    return {"low": low, "high": high, "95 %": "" if low is None or high is None else f"{low:.2f} to {high:.2f}"}


def figures(cell: Estimate) -> dict[str, Any]:
    """Return an estimate's fields in a chart's row, in per cent: `score` with both ends and `MARK`; `least` and `most`
    for a range in place of a mean.
    """
    values = {"score": per_cent(cell.mean), **ends(cell), "answers": cell.n}
    if not cell.ranged:
        return values | mark_of(complete=cell.complete or cell.mean is None)
    least, most = per_cent(cell.floor), per_cent(cell.ceiling)
    return values | {"least": least, "most": most, "range": f"{least:.0f}–{most:.0f}{UNSURE}"}


def plot(rows: Iterable[Mapping[str, Any]], **look: Any) -> altair.Chart:
    """Return a chart that contains these rows."""
    import altair

    return altair.Chart(altair.InlineData(values=list(rows)), **look)


def tips(*shown: str | tuple[str, ...]) -> list[altair.Tooltip]:
    """Return tooltips: a field alone, or with its title ("" for the field's name) and the form of its numbers."""
    import altair

    def tip(field: str, *named: str) -> altair.Tooltip:
        look: dict[str, Any] = {name: text for name, text in zip(("title", "format"), named, strict=False) if text}
        return altair.Tooltip(field, **look)

    return [tip(entry) if isinstance(entry, str) else tip(*entry) for entry in shown]


def layered(*layers: Any, title: str, below: str | Sequence[str], height: Any) -> Layered:
    """Return layers as one chart as wide as its container; `below`: the subtitle."""
    import altair

    return altair.layer(*layers).properties(title=altair.Title(title, subtitle=below), width="container", height=height)


def daggers(base: altair.Chart, **places: Any) -> list[altair.Chart]:
    """Return the layer that puts the mark above the right of its point; none where no row of the data has one."""
    if not marked(base.data.values):
        return []
    import altair

    return [base.mark_text(align="left", dx=5, dy=-7, fontSize=12).encode(text=altair.Text(f"{MARK}:N"), **places)]


Drawn: TypeAlias = "altair.LayerChart | altair.FacetChart | altair.ConcatChart | altair.Chart"
Rows: TypeAlias = Sequence[Mapping[str, Any]]
Below: TypeAlias = str | Sequence[str]
TOGETHER = 6
"""The most curves in one panel; more have a small panel each, all on the same axes."""
_PANELS, _PANEL = 3, (200, 130)
_WIDE = 16
"""The most columns of a matrix as wide as its container; with more, each has `_CELL` pixels."""
_CELL = 26
_LIGHT, _DARK = "#ffffff", "#1e2125"
"""Numbers on dark cells and on light ones."""
_FRAME = "#d55e00"
_TITLE = 160
"""The most characters of a title: it may name a model or a tag. Names along an axis and in a legend have limits in
pixels."""
_RANGED = "isValid(datum.low)"
_DRAWN = frozenset({MARK, "text", "name", "low", "high", "least", "most", "total"})
"""Fields left out of tooltips: they are drawn, or repeated in words."""
SAID_OF_RANGES = f"{UNSURE} a range (a thick bar) in place of a mean"


class Kinds(NamedTuple):
    """Meaning of colours: a field with its values in order."""

    field: str
    names: Sequence[str]
    colours: Sequence[str] = ()
    """Colours to use instead of the palette's."""
    title: str | None = None
    offset: bool = False
    """Whether each kind has a separate line in a row."""

    def colour(self) -> altair.Color:
        """Return the channel, with a legend where there are several."""
        import altair

        names = list(dict.fromkeys(self.names))
        scale = altair.Scale(domain=names, range=list(self.colours) or altair.Undefined)
        legend = altair.Legend(symbolLimit=0, symbolOpacity=1) if len(names) > 1 else None
        return altair.Color(f"{self.field}:N", title=self.title, scale=scale, legend=legend, sort=names)


class Axis(NamedTuple):
    """An axis of numbers: its field, its title with the unit, and how it is divided."""

    field: str
    title: str | Sequence[str] | None
    scale: Mapping[str, Any] = {}
    ticks: Mapping[str, Any] = {}


def dots(
    rows: Rows, place: str, axis: Axis, *, title: str, below: Below = "", kinds: Kinds | None = None,
    shapes: tuple[str, Sequence[str]] | None = None, signed: bool = False, line: tuple[float, str] | None = None,
    names: Mapping[str, Any] = {}, step: int = 24, width: int | Literal["container"] = "container",
) -> Drawn:  # fmt: skip
    """Return a chart with a row for each value of `place`, in order: figures as dots on their intervals.

    `signed`: differences, with a line at 0. `line`: position and meaning of a dashed line. `shapes`: a field and its
    values. A row's `text` is at the right if it fits.
    """
    import altair

    ticks: dict[str, Any] = {**axis.ticks, **({"labelExpr": SIGNED} if signed else {})}
    scale: dict[str, Any] = {} if signed else {"zero": False, **axis.scale}

    def across(field: str) -> altair.X:
        channel: altair.X = altair.X(f"{field}:Q", title=axis.title).scale(**scale).axis(**ticks)
        return channel

    down = altair.Y(f"{place}:N", sort=_values(rows, place), title=None).axis(labelLimit=380, **names)
    base = plot(rows).encode(y=down, tooltip=_tips(rows, axis))
    height: dict[str, Any] = {"step": step}
    if kinds:
        base = base.encode(color=kinds.colour())
    if kinds and kinds.offset and len(kinds.names) > 1:
        base = base.encode(yOffset=altair.YOffset(f"{kinds.field}:N", sort=list(kinds.names)))
        height = {"step": 13, "for": "offset"}
    layers = [plot([{"zero": 0}]).mark_rule(strokeWidth=1.5).encode(x=across("zero"))] if signed else []
    if line:
        dashed = plot([{"at": line[0], "line": line[1]}]).mark_rule(strokeDash=[4, 3], opacity=0.7)
        layers.append(dashed.encode(x=across("at"), tooltip="line:N"))
    for low, high, look in (("low", "high", {"strokeWidth": 2}), ("least", "most", {"strokeWidth": 7, "opacity": 0.4})):
        if _has(rows, low):
            ranged = base.transform_filter(f"isValid(datum.{low})").mark_rule(**look)
            layers.append(ranged.encode(x=across(low), x2=f"{high}:Q"))
    shape: Any = altair.Undefined
    if shapes:
        domain = altair.Scale(domain=list(shapes[1]), range=["circle", "diamond"])
        legend = altair.Legend() if len(_values(rows, shapes[0])) > 1 else None
        shape = altair.Shape(f"{shapes[0]}:N", title=None, scale=domain, legend=legend)
    layers.append(base.mark_point(size=80, opacity=1).encode(x=across(axis.field), shape=shape))
    layers += daggers(base, x=across(axis.field))
    if _has(rows, "text"):
        layers.append(base.mark_text(align="left", dx=10).encode(x=altair.value(width), text="text:N"))
    return altair.layer(*layers).properties(title=_title(title, below), width=width, height=height)


_POINTED = ("dots", "rings", "diamonds", "areas", "spans", "levels", "breaks")
"""Marks that represent one row each."""


class Layer(NamedTuple):
    """Rows of a chart of curves, and their marks."""

    mark: Literal[
        "line", "dashes", "band", "dots", "rings", "diamonds", "areas", "bars", "spans", "levels", "breaks", "names"
    ]
    """`dashes`: a line in no colour; `areas`: dots as large as their `items`; `bars`: intervals upright; `spans`: from
    the axis' field to `total`; `levels`: lines across the whole chart, with names; `breaks`: lines down it; `names`: a
    row's `name` at its point, left of it where that is in the right half."""
    rows: Rows
    where: str = ""
    """A Vega expression that selects rows; "" for all."""


def curves(
    layers: Sequence[Layer], across: Axis, up: Axis, *, title: str, below: Below = "", kinds: Kinds | None = None,
    detail: str = "", height: int = 380, width: int | Literal["container"] = "container",
) -> Drawn:  # fmt: skip
    """Return curves and points on two axes of numbers, in the colours of `kinds`; of more than `TOGETHER` curves each
    has a panel, and rows without a kind are in every panel. `detail`: a field that divides a colour's curve into
    several.
    """
    import altair

    several = kinds is not None and len(kinds.names) > TOGETHER
    colour = kinds.colour() if kinds and not several else altair.Undefined
    of_all = list({id(layer.rows): layer.rows for layer in layers}.values())
    data = [plot(rows) for rows in of_all]
    if several and kinds:  # panels are parts of one table
        data = [plot([{kinds.field: name, **row, "_of": of} for of, rows in enumerate(of_all) for row in rows
                      for name in ([""] if kinds.field in row else kinds.names)])] * len(of_all)  # fmt: skip
    drawn: list[Any] = []
    for layer in layers:
        if layer.rows and (layer.mark not in ("band", "bars") or _has(layer.rows, "low")):
            of = next(of for of, rows in enumerate(of_all) if rows is layer.rows)
            base = data[of].transform_filter(f"datum._of === {of}") if several else data[of]
            marks = daggers(base, x=_axis(altair.X, across), y=_axis(altair.Y, up)) if layer.mark == "dots" else []
            if layer.where:
                base = base.transform_filter(layer.where)
            if layer.mark in _POINTED:
                base = base.encode(tooltip=_tips(layer.rows, across, up))
            drawn += [*_layer(layer, base, across, up, colour, detail), *marks]
    whole = altair.layer(*drawn)
    if several and kinds:
        panel = altair.Facet(f"{kinds.field}:N", title=None, sort=list(kinds.names))
        small = whole.properties(width=_PANEL[0], height=_PANEL[1])
        return small.facet(facet=panel, columns=_PANELS).properties(title=_title(title, below))
    return whole.properties(title=_title(title, below), width=width, height=height)


def _axis(channel: Any, axis: Axis, field: str = "") -> Any:
    return (
        channel(f"{field or axis.field}:Q", title=axis.title).scale(**{"zero": False, **axis.scale}).axis(**axis.ticks)
    )


class _Mark(Struct, frozen=True):
    """A mark of a layer: its channels (see `_layer`) and look."""

    mark: str
    encode: tuple[str, ...]
    look: dict[str, Any] = {}
    ranged: bool = False
    """Whether it is drawn only for rows with an interval."""


_MARKS = msgspec.json.decode(shipped_text(__file__, "marks.json"), type=dict[str, tuple[_Mark, ...]])


def _layer(
    layer: Layer, base: altair.Chart, across: Axis, up: Axis, colour: Any, detail: str
) -> Iterable[altair.Chart]:
    import altair

    x, y = _axis(altair.X, across), _axis(altair.Y, up)
    size = altair.Size("items:Q", legend=None).scale(range=[40, 800])
    channels: dict[str, tuple[str, Any]] = {
        "x": ("x", x), "y": ("y", y), "x2": ("x2", "total:Q"), "low": ("y", _axis(altair.Y, up, "low")),
        "y2": ("y2", "high:Q"), "begin": ("x", altair.value(0)), "color": ("color", colour), "size": ("size", size),
        "text": ("text", "name:N"),
    }  # fmt: skip
    if detail:
        channels["detail"] = ("detail", f"{detail}:N")
    if detail and len(_values(layer.rows, detail)) > 1:
        channels["strokeDash"] = ("strokeDash", altair.StrokeDash(f"{detail}:N", title="curve"))
    if layer.mark == "names":
        places = [row[across.field] for row in layer.rows]
        base = base.transform_calculate(_left=f"datum['{across.field}'] <= {(min(places) + max(places)) / 2}")
    for part in _MARKS[layer.mark]:
        drawn = base.transform_filter(_RANGED) if part.ranged else base
        named = dict(channels[name] for name in part.encode if name in channels)
        yield getattr(drawn, f"mark_{part.mark}")(**part.look).encode(**named)


def cells(
    rows: Rows, across: str, down: str, value: Axis, form: str, *, title: str, below: Below = "",
    order: Sequence[str] = (), titles: Mapping[str, str] = {}, bold: str = "", framed: str = "",
    text: str = "", panels: str = "", slant: int = -40, **size: Any,
) -> Drawn:  # fmt: skip
    """Return a matrix: a cell for each pair of values of two fields, darker for larger numbers, with the number.

    `form`: format of the numbers; "" for none. `value`: its scale's domain has three points for differences. `order`:
    of rows and columns, if not that of `rows`. `bold`, `framed`: boolean fields. `text`: a field shown for a missing
    number. `panels`: a field with a matrix for each value. `size`: in pixels.
    """
    import altair

    known = [row[value.field] for row in rows if row[value.field] is not None]
    ends = value.scale.get("domain") or [min(known, default=0.0), max(known, default=0.0)]
    columns, lines = _values(rows, across), _values(rows, down)
    top = len(lines) > _WIDE  # labels above lean to the left, where the rows' names give them room
    slanted: Any = {"labelAngle": -slant if top else slant, "labelLimit": 180, "orient": "top" if top else "bottom"}
    x = altair.X(f"{across}:N", sort=list(order or columns), title=titles.get(across)).axis(**slanted)
    y = altair.Y(f"{down}:N", sort=list(order or lines), title=titles.get(down))
    base = plot(rows).encode(x=x, y=y, tooltip=_tips(rows, value, **titles))
    scheme: dict[str, Any] = {"scheme": "blueorange", "reverse": True} if len(ends) > 2 else {}
    frame = (
        altair.condition(f"datum.{framed}", altair.value(_FRAME), altair.value(None)) if framed else altair.Undefined
    )
    colour = altair.Color(f"{value.field}:Q", title=value.title).scale(domain=list(ends), **scheme)
    drawn = [base.mark_rect(strokeWidth=2).encode(color=colour, stroke=frame)]
    strong = f"abs(datum.{value.field}) > {0.6 * ends[-1]}" if len(ends) > 2 else (
        f"datum.{value.field} > {ends[0] + 0.6 * (ends[1] - ends[0])}"
    )  # fmt: skip
    ink = altair.condition(strong, altair.value(_LIGHT), altair.value(_DARK))
    numbered = base.transform_filter(f"isValid(datum.{value.field})").transform_calculate(
        shown=f"format(datum.{value.field}, '{form}') + (datum.{MARK} || '')"
    )
    weight: Any = altair.ExprRef(f"datum.{bold} ? 'bold' : 'normal'") if bold else "normal"
    written = numbered.mark_text(fontSize=11, fontWeight=weight).encode(text="shown:N", color=ink)
    drawn += [written] if form else daggers(base)
    if text and _has(rows, text):
        drawn.append(base.transform_filter(f"isValid(datum.{text})").mark_text(fontSize=10).encode(text=f"{text}:N"))
    whole = altair.layer(*drawn)
    if panels:
        cell = min(46, max(_CELL, 420 // len(columns)))
        whole = whole.properties(width=cell * len(columns), height={"step": 22})
        panel = altair.Facet(f"{panels}:N", sort=_values(rows, panels), title=None)
        return whole.facet(facet=panel, columns=2).properties(title=_title(title, below))
    wide: Any = {"step": _CELL} if len(columns) > _WIDE and form else "container"
    return whole.properties(title=_title(title, below), **{"width": wide, "height": {"step": 22}, **size})


def bars(rows: Rows, place: str, axis: Axis, kinds: Kinds, *, title: str, below: Below = "") -> Drawn:
    """Return stacked bars, one for each value of `place`, in order: the counts of every kind."""
    import altair

    placed = [{**row, "_at": kinds.names.index(row[kinds.field])} for row in rows]
    down = altair.Y(f"{place}:N", title=None, sort=_values(rows, place))
    drawn: altair.Chart = plot(placed).mark_bar().encode(
        x=altair.X(f"{axis.field}:Q", title=axis.title), y=down, color=kinds.colour(), order=altair.Order("_at:Q"),
        tooltip=_tips(rows, axis),
    ).properties(title=_title(title, below), width="container", height={"step": 18})  # fmt: skip
    return drawn


def together(panels: Sequence[Drawn], title: str = "", columns: int = 1) -> Drawn:
    """Return charts as one, `columns` side by side, each with a separate colour scale."""
    import altair

    whole = altair.concat(*panels, columns=columns).resolve_scale(color="independent", size="independent")
    drawn: altair.ConcatChart = whole.properties(title=_title(title, "")) if title else whole
    return drawn


def _tips(rows: Rows, *axes: Axis, **titles: str) -> list[altair.Tooltip]:
    """Return tooltips: the fields of the rows, those of axes by their titles."""
    import altair

    named = titles | {axis.field: axis.title for axis in axes if isinstance(axis.title, str)}
    known = {field: value for row in rows for field, value in row.items() if value not in (None, "")}
    return [
        altair.Tooltip(field, type="nominal", title=named.get(field, field)) if isinstance(value, str) else
        altair.Tooltip(field, type="quantitative", title=named.get(field, field),
                       format="," if isinstance(value, int) else ".2f")
        for field, value in known.items()
        if field not in _DRAWN and field[0] != "_" and not isinstance(value, bool)
    ]  # fmt: skip


def _values(rows: Rows, field: str) -> list[Any]:
    return list(dict.fromkeys(row.get(field) for row in rows))


def _has(rows: Rows, field: str) -> bool:
    return any(row.get(field) is not None for row in rows)


def _title(title: str, below: Below) -> altair.TitleParams:
    import altair

    text = one_line(title, _TITLE)
    return altair.TitleParams(text, subtitle=below) if below else altair.TitleParams(text)
