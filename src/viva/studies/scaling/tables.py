"""Scores over size, as tables and as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from viva.analysis.estimate import UNSURE, bracket_text, percent
from viva.analysis.sizes.breakpoint import Bend, Segments
from viva.analysis.sizes.scaling import Fit, Kind
from viva.analysis.sizes.scalinggroups import Forecast, Group, Point, Reach
from viva.errors import flag
from viva.files import shipped_table
from viva.render.findings import Drawing, Findings
from viva.render.result import left_out
from viva.render.table import COUNT, DASH, NAME, PERCENT, POINTS, Column, P, Table, fields, figure, p_text, places
from viva.render.table import Kind as Printed
from viva.visible import some

_WORDS = shipped_table(__file__, "names.toml", dict[str, dict[str, str]])
NAMES, _RESTS = _WORDS["curves"], _WORDS["rests"]
TEN = 0.30102999566398120
"""log10 of 2: a doubling, in tenfolds."""
SURE = 0.05


class Scaling(Struct, frozen=True, kw_only=True):
    """The groups of one table or exam."""

    title: str
    parameters: str
    """The kind of parameters counted: total or active."""
    groups: tuple[Group, ...]
    references: tuple[Point, ...] = ()
    """Models whose scores the curves are to reach."""
    sizeless: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Row(NamedTuple):
    """A row of a table: a curve of a group, with one result."""

    group: Group
    kind: Kind | None = None
    about: Any = None
    """A fit, an outlier, the break, a size at which a score is reached, or a forecast."""
    point: Point | None = None
    """The model of the predicted size, or whose score is to be reached."""
    bend: Bend | None = None
    """The models' departure from the forecast's curve."""

    @property
    def fit(self) -> str:
        """The curve's label."""
        return NAMES[self.kind] if self.kind else ""

    @property
    def off(self) -> float | None:
        """The measured score minus the predicted one."""
        return None if self.point is None else float(self.point.score - self.about.prediction.score)


def _tables(source: Scaling) -> Iterator[Table]:
    """Yield the curves, what they predict, the breaks, and the models furthest from their curve."""
    groups = source.groups
    references = {point.model: point for point in source.references}
    broken = [Row(group, None, group.segments) for group in groups if group.segments]
    predicted = [
        Row(group, each.kind, each, point, _bent(source, each))
        for group in groups
        for each in group.forecasts
        for point in each.measured or (None,)
    ]
    reached = [Row(group, each.kind, each, references[each.model]) for group in groups for each in group.reached]
    titled = (
        ("Scores over size", _FITTED, [Row(group, fit.kind, fit) for group in groups for fit in group.fits]),
        ("Predicted", _PREDICTED, predicted),
        ("Reached at", _REACHED, reached),
        ("One line or two", _BREAKS, broken),
        ("The break without one model", _MOVED, broken),
        (
            "Far from their curve",
            _STRAYS,
            [Row(group, each.kind, each, each.point) for group in groups for each in group.strays],
        ),
    )
    for title, columns, rows in titled:
        if rows:
            yield Table(f"{title} · {source.title}", (_GROUP, *columns), rows)


def size_text(size: float) -> str:
    """Return `6.7B`."""
    return f"{size:.3g}B" if size < 1000 else f"{size:,.0f}B"


def _between(low: float, high: float) -> str:
    return f"{size_text(low)} to {size_text(high)}"


def _score(point: Point) -> str:
    return percent(point.score) + (UNSURE if point.partial else "")


def _bent(source: Scaling, predicted: Forecast) -> Bend | None:
    """Return the models' departure from the curve if significant: in at most 5 % of tables without a bend."""
    tested = sum(any(forecast.bend for forecast in group.forecasts) for group in source.groups)
    return predicted.bend if predicted.bend is not None and predicted.bend.p * tested <= SURE else None


def _basis(row: Row) -> str:
    bent = f", from which they bend {_away(row.bend)}" if row.bend else ""
    return _RESTS[row.about.prediction.basis] + bent


def _sizes_text(reach: Reach) -> str:
    if reach.low is None and reach.high is None:
        return DASH
    low = DASH if reach.low is None else f"from {size_text(reach.low)}"
    return f"{low} on" if reach.high is None else f"{low} to {size_text(reach.high)}"


def _profile_text(segments: Segments) -> str:
    below, beyond = "below " if segments.open_low else "", "beyond " if segments.open_high else ""
    return f"{below}{size_text(segments.low)} to {beyond}{size_text(segments.high)}"


def break_text(segments: Segments) -> str:
    """Return `34B`, or `34B to 70B` for breaks that fit equally well."""
    low, high = segments.tied
    return size_text(segments.at) if low == high else _between(low, high)


def formula(fit: Fit) -> str:
    """Return the curve's formula with its parameters; for segments without the break."""
    if fit.kind == "family":
        return f"1 - 1/({fit.parameters[0]:.4g}·ln({fit.parameters[1]:.4g}x + 1) + 1)"
    if fit.kind == "average":
        return ", ".join(
            f"{100 * weight:.0f} % {NAMES[shape.kind]}" for shape, weight in zip(fit.shapes, fit.weights, strict=True)
        )
    if fit.kind == "logistic":
        return f"1/(1 + exp({-fit.parameters[0]:.4g} {-fit.parameters[1]:+.4g}·log10 x))"
    level, slope = (100 * value for value in fit.parameters[:2])
    if fit.kind == "power":
        return f"{level:.2f} {-slope:+.2f}·x^{-fit.parameters[2]:.3g}"
    if fit.kind == "log":
        return f"{level:.2f} {slope:+.2f}·log10 x"
    return f"{level:.2f} {slope:+.2f}·log10 x, from {size_text(fit.parameters[3])} on {100 * fit.parameters[2]:+.2f}"


_GROUP, _FIT = Column("", "group.name", NAME, key="group"), Column("fit", "fit")
_SIZE, _SCORE = Printed(size_text), Printed(_score)
_SLOPE = Printed(lambda slope: POINTS.text(TEN * slope))
"""Prints slopes, given for a tenfold of size, as points for a doubling."""
_FITTED = (
    _FIT,
    Column("models", "about.n", COUNT),
    Column("sizes", "about", Printed(lambda fit: _between(fit.smallest, fit.largest)), key=None),
    Column("curve", "about", Printed(formula, words=True), key=None),
    Column("doubling adds", lambda row: row.about.parameters[1] if row.kind == "log" else None, _SLOPE, key="slope"),
    Column("sd", "about.sd", PERCENT),
    Column("R²", "about.r2", figure(".3f")),
    Column("AICc", "about.aicc", figure(".1f")),
)
_PREDICTED = (
    _FIT,
    Column(
        "size",
        "about.prediction",
        Printed(
            lambda prediction: (
                size_text(prediction.size)
                + (f", {prediction.beyond:.1f} times the largest" if prediction.beyond > 1 else "")
            )
        ),
        key=None,
    ),
    Column("predicted", "about.prediction.score", PERCENT),
    Column(
        "95 % interval",
        "about.prediction",
        Printed(lambda prediction: bracket_text(prediction).strip() or DASH),
        key=None,
    ),
    Column("rests on", _basis, key=None),
    Column("measured", "point", Printed(lambda point: f"{_score(point)} {point.model}", words=True), key=None),
    Column("difference", "off", POINTS),
)
_REACHED = (
    _FIT, Column("model", "point.model", NAME), Column("score", "point", _SCORE, key=None),
    Column("reached at", "about.reach.size", Printed(size_text, none="never", words=True)),
    Column("95 % interval", "about.reach", Printed(_sizes_text), key=None),
    Column("times the largest", "about.reach.beyond", Printed(lambda far: f"{far:.1f}" if far > 1 else "within")),
)  # fmt: skip
_BREAK = Column("break", "about", Printed(break_text), key=None)
_BREAKS = (
    Column("models", "about.fit.n", COUNT),
    _BREAK,
    Column("profile 95 %", "about", Printed(_profile_text), key=None),
    Column(
        "bootstrap 95 %",
        "about",
        Printed(
            lambda segments: DASH if segments.boot_low is None else _between(segments.boot_low, segments.boot_high)
        ),
        key=None,
    ),
    Column("doubling adds, below", "about.below", _SLOPE, key="slope_below"),
    Column("above", "about.above", _SLOPE, key="slope_above"),
    Column("F", "about.gain", figure(".2f")),
    Column("p", "about.p", P),
    Column("naive p", "about.p_naive", P),
)
_MODEL = Printed(none="", words=True)
_MOVED = (
    _BREAK, Column("lowest", "about.moved.low", _SIZE), Column("lowest without", "about.moved.low_without", _MODEL),
    Column("highest", "about.moved.high", _SIZE), Column("highest without", "about.moved.high_without", _MODEL),
)  # fmt: skip
_STRAYS = (
    _FIT, Column("model", "point.model", NAME), Column("size", "point.size", _SIZE),
    Column("score", "point", _SCORE, key=None), Column("curve", "about.expected", PERCENT),
    Column("sd away", "about.away", figure("+.1f")),
)  # fmt: skip
_DATA = places("table", "group", "role", "fit", "model", "size", "score", "low", "high", "partial", "basis")


def findings(scalings: tuple[Scaling, ...], drawing: Drawing) -> Findings[tuple[Scaling, ...]]:
    """Return the curves of every table and exam. `rows` has one a model and one a prediction, shares of 1; `role`:
    fitted, held out, predicted, reached (low and high are then sizes)."""
    whole = Table("Models and curves", fields("", *Scaling.__struct_fields__), scalings)
    rows = [
        (source.title, group.name, *cells) for source in scalings for group in source.groups for cells in _cells(group)
    ]
    return Findings(
        found=scalings, shown=[*(table for source in scalings for table in _tables(source)), whole],
        rows=Table("Models and predictions", _DATA, rows), notes=notes_on(scalings), drawing=drawing,
    )  # fmt: skip


def notes_on(scalings: Sequence[Scaling]) -> list[str]:
    """Return notes on how to read the tables, and on what they leave out."""
    kinds = {fit.kind for source in scalings for group in source.groups for fit in group.fits}
    sizes = "all parameters" if all(source.parameters == "total" for source in scalings) else "active parameters"
    lines = [
        f"Scores in per cent, sizes in billions of {sizes}; sd: scatter of the models around the curve.{_INDEPENDENT}"
    ]
    families = [group for source in scalings for group in source.groups if group.families]
    if families:
        lines[0] = lines[0].removesuffix(_INDEPENDENT)
        lines.append(
            _FAMILIES.format(", ".join(f"{len(group.points):,} models of {group.families:,}" for group in families))
        )
    if any(group.forecasts for source in scalings for group in source.groups):
        lines += [_BENT.format(*bend) for source in scalings for bend in _bends(source)]
        lines.append(
            "The interval is for the score that one more model of that size would measure, "
            f"{_AVERAGED if 'average' in kinds else 'if the curve holds there'}; "
            "models of a size that is predicted were held out of the fit."
        )
    if any(source.references for source in scalings):
        lines.append(
            "Reached at: where the curve itself has the score (`never`: not up to a million billion); the interval is "
            "of sizes at which one more model may have it. Beyond the largest fitted size the curve is a guess."
        )
    if "segments" in kinds:
        lines.append(
            "p: of one line, from the largest gain over all breaks, simulated with normal errors. The "
            "naive p is the F-test's of a break known beforehand: it finds breaks too often. `A to B`: every "
            "break between fits equally well, as beyond it there is a single size."
        )
    for source in scalings:
        lines += _missing(source)
    return lines


_INDEPENDENT = " Fits take models as independent, which those of one family or one maker are not."
_AVERAGED = (
    "if the curve holds there; of the average (weights 1/sd²) if any of its curves does or one between them, "
    "and not for a bend upwards yet to come"
)
_BENT = (
    "{}, {}: the models bend {} from the curve at {} (p {} if they followed it). Beyond the largest size, scores are "
    "likely to be {} than predicted, and the interval does not allow for it."
)
_FAMILIES = (
    "Models of one family are drawn together ({} families): intervals are for a model of a further family, "
    "and p allows for what families have in common. --families FILE names them, --families none takes models as "
    "independent."
)


def _bends(source: Scaling) -> Iterator[tuple[str, ...]]:
    """Yield notes on curves with a significant departure."""
    for group in source.groups:
        for forecast in {forecast.kind: forecast for forecast in group.forecasts}.values():
            if bent := _bent(source, forecast):
                more = "higher" if bent.upwards else "lower"
                yield group.name, NAMES[forecast.kind], _away(bent), size_text(bent.at), p_text(bent.p), more


def _away(bent: Bend) -> str:
    return "upwards" if bent.upwards else "downwards"


def _missing(source: Scaling) -> Iterator[str]:
    yield from source.notes
    partial = [point.model for group in source.groups for point in (*group.points, *group.held_out) if point.partial]
    if partial:
        shown = some(partial, 6)
        yield f"{UNSURE} {source.title}: the means of these models leave out what was not scored: {shown}."
    if source.ranges:
        yield f"{source.title}: {left_out(source.ranges)}"
    if source.sizeless:
        shown = some(source.sizeless, 6)
        yield f"{source.title}: left out, of unknown size: {shown} ({flag('sizes', 'FILE')} gives sizes)."
    unfitted = [group.name for group in source.groups if not group.fits]
    if unfitted:
        yield f"{source.title}: no curve, for want of models of different sizes: {some(unfitted, 8)}."
    for group in source.groups:
        if group.fits:
            yield from (f"{group.name}: {reason}." for reason in group.skipped)
        yield from (
            f"{group.name}: at {size_text(prediction.size)} the line has {percent(prediction.curve)}, which is "
            "no score: it does not hold that far, and predicted is the nearest score."
            for prediction in (forecast.prediction for forecast in group.forecasts)
            if not 0 <= prediction.curve <= 1
        )
        unsure = {forecast.kind for forecast in group.forecasts if forecast.prediction.basis == "nothing"}
        exact = False
        for fit in group.fits:
            if fit.trouble:
                yield f"{group.name}, {NAMES[fit.kind]}: {fit.trouble}; no interval."
            elif fit.kind in unsure and fit.spare > 0:
                yield (
                    f"{group.name}, {NAMES[fit.kind]}: the models cannot tell all parameters of the curve apart, so "
                    "there is no interval."
                )
            elif fit.kind in unsure:
                exact = True
        if exact:
            yield (
                f"{group.name}: as many models as the curve has parameters, so it passes through them and nothing says "
                f"how far to trust it; {flag('questions', 'N')} gives at least the sampling error of the scores."
            )


def _cells(group: Group) -> Iterator[Sequence[object]]:
    for role, points in (("fitted", group.points), ("held out", group.held_out)):
        for point in points:
            partial = "yes" if point.partial else ""
            yield role, "", point.model, point.size, point.score, point.low, point.high, partial, ""
    for forecast in group.forecasts:
        prediction = forecast.prediction
        yield (
            "predicted",
            forecast.kind,
            "",
            prediction.size,
            prediction.score,
            prediction.low,
            prediction.high,
            "",
            prediction.basis,
        )
    for reached in group.reached:
        reach = reached.reach
        yield "reached", reached.kind, reached.model, reach.size, reach.score, reach.low, reach.high, "", ""
