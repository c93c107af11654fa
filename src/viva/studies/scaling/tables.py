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
"""A doubling, in tenfolds."""
SURE = 0.05


class Scaling(Struct, frozen=True, kw_only=True):
    """The groups of one table or exam."""

    title: str
    parameters: str
    """Which sizes these are: total or active."""
    groups: tuple[Group, ...]
    references: tuple[Point, ...] = ()
    """Models whose scores the curves are to reach."""
    sizeless: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Row(NamedTuple):
    """A curve of a group, and what a line of a table says of it."""

    group: Group
    kind: Kind | None = None
    about: Any = None
    """A fit, an outlier, the break, a size at which a score is reached; of a prediction the forecast."""
    point: Point | None = None
    """The model that is measured there, or whose score is to be reached."""
    bend: Bend | None = None
    """How the models leave the curve of the forecast."""

    @property
    def fit(self) -> str:
        """What the curve is called."""
        return NAMES[self.kind] if self.kind else ""

    @property
    def off(self) -> float | None:
        """How far the measured score lies from the predicted one."""
        return None if self.point is None else float(self.point.score - self.about.prediction.score)


def _tables(found: Scaling) -> Iterator[Table]:
    """Yield the curves, what they predict, the breaks, and the models furthest from their curve."""
    groups = found.groups
    references = {point.model: point for point in found.references}
    broken = [Row(one, None, one.segments) for one in groups if one.segments]
    predicted = [
        Row(one, each.kind, each, point, _bent(found, each))
        for one in groups
        for each in one.forecasts
        for point in each.measured or (None,)
    ]
    reached = [Row(one, each.kind, each, references[each.model]) for one in groups for each in one.reached]
    titled = (
        ("Scores over size", _FITTED, [Row(one, fit.kind, fit) for one in groups for fit in one.fits]),
        ("Predicted", _PREDICTED, predicted),
        ("Reached at", _REACHED, reached),
        ("One line or two", _BREAKS, broken),
        ("The break without one model", _MOVED, broken),
        (
            "Far from their curve",
            _STRAYS,
            [Row(one, each.kind, each, each.point) for one in groups for each in one.strays],
        ),
    )
    for title, columns, rows in titled:
        if rows:
            yield Table(f"{title} · {found.title}", (_GROUP, *columns), rows)


def size_text(size: float) -> str:
    """Return `6.7B`."""
    return f"{size:.3g}B" if size < 1000 else f"{size:,.0f}B"


def _between(low: float, high: float) -> str:
    return f"{size_text(low)} to {size_text(high)}"


def _score(point: Point) -> str:
    return percent(point.score) + (UNSURE if point.partial else "")


def _bent(found: Scaling, one: Forecast) -> Bend | None:
    """Return how the models leave the curve, if they surely do: at most in 5 % of tables that have no bend."""
    tested = sum(any(forecast.bend for forecast in group.forecasts) for group in found.groups)
    return one.bend if one.bend is not None and one.bend.p * tested <= SURE else None


def _basis(row: Row) -> str:
    bent = f", from which they bend {_away(row.bend)}" if row.bend else ""
    return _RESTS[row.about.prediction.basis] + bent


def _sizes_text(said: Reach) -> str:
    if said.low is None and said.high is None:
        return DASH
    low = DASH if said.low is None else f"from {size_text(said.low)}"
    return f"{low} on" if said.high is None else f"{low} to {size_text(said.high)}"


def _profile_text(found: Segments) -> str:
    below, beyond = "below " if found.open_low else "", "beyond " if found.open_high else ""
    return f"{below}{size_text(found.low)} to {beyond}{size_text(found.high)}"


def break_text(found: Segments) -> str:
    """Return `34B`, or of breaks that fit equally well `34B to 70B`."""
    low, high = found.tied
    return size_text(found.at) if low == high else _between(low, high)


def formula(fit: Fit) -> str:
    """Return the curve with its parameters; of segments the break stands elsewhere."""
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
"""Of slopes for a tenfold of size: what a doubling adds, in points."""
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
            lambda said: size_text(said.size) + (f", {said.beyond:.1f} times the largest" if said.beyond > 1 else "")
        ),
        key=None,
    ),
    Column("predicted", "about.prediction.score", PERCENT),
    Column("95 % interval", "about.prediction", Printed(lambda said: bracket_text(said).strip() or DASH), key=None),
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
        Printed(lambda found: DASH if found.boot_low is None else _between(found.boot_low, found.boot_high)),
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


def findings(found: tuple[Scaling, ...], drawing: Drawing) -> Findings[tuple[Scaling, ...]]:
    """Return the curves of every table and exam. `rows` has one a model and one a prediction, shares of 1; `role`:
    fitted, held out, predicted, reached (low and high are then sizes)."""
    whole = Table("Models and curves", fields("", *Scaling.__struct_fields__), found)
    rows = [(one.title, group.name, *cells) for one in found for group in one.groups for cells in _cells(group)]
    return Findings(
        found=found, shown=[*(table for one in found for table in _tables(one)), whole],
        rows=Table("Models and predictions", _DATA, rows), notes=notes_on(found), drawing=drawing,
    )  # fmt: skip


def notes_on(found: Sequence[Scaling]) -> list[str]:
    """Return how to read it, and what it leaves out."""
    kinds = {fit.kind for one in found for group in one.groups for fit in group.fits}
    sizes = "all parameters" if all(one.parameters == "total" for one in found) else "active parameters"
    lines = [
        f"Scores in per cent, sizes in billions of {sizes}; sd: scatter of the models around the curve.{_INDEPENDENT}"
    ]
    families = [group for one in found for group in one.groups if group.families]
    if families:
        lines[0] = lines[0].removesuffix(_INDEPENDENT)
        lines.append(
            _FAMILIES.format(", ".join(f"{len(group.points):,} models of {group.families:,}" for group in families))
        )
    if any(group.forecasts for one in found for group in one.groups):
        lines += [_BENT.format(*said) for one in found for said in _bends(one)]
        lines.append(
            "The interval is for the score that one more model of that size would measure, "
            f"{_AVERAGED if 'average' in kinds else 'if the curve holds there'}; "
            "models of a size that is predicted were held out of the fit."
        )
    if any(one.references for one in found):
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
    for one in found:
        lines += _missing(one)
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


def _bends(found: Scaling) -> Iterator[tuple[str, ...]]:
    """Yield what is said of every curve that the models surely leave."""
    for group in found.groups:
        for one in {one.kind: one for one in group.forecasts}.values():
            if bent := _bent(found, one):
                more = "higher" if bent.upwards else "lower"
                yield group.name, NAMES[one.kind], _away(bent), size_text(bent.at), p_text(bent.p), more


def _away(bent: Bend) -> str:
    return "upwards" if bent.upwards else "downwards"


def _missing(found: Scaling) -> Iterator[str]:
    yield from found.notes
    partial = [point.model for group in found.groups for point in (*group.points, *group.held_out) if point.partial]
    if partial:
        shown = some(partial, 6)
        yield f"{UNSURE} {found.title}: the means of these models leave out what was not scored: {shown}."
    if found.ranges:
        yield f"{found.title}: {left_out(found.ranges)}"
    if found.sizeless:
        shown = some(found.sizeless, 6)
        yield f"{found.title}: left out, of unknown size: {shown} ({flag('sizes', 'FILE')} gives sizes)."
    unfitted = [group.name for group in found.groups if not group.fits]
    if unfitted:
        yield f"{found.title}: no curve, for want of models of different sizes: {some(unfitted, 8)}."
    for group in found.groups:
        if group.fits:
            yield from (f"{group.name}: {reason}." for reason in group.skipped)
        for fit in group.fits:
            if fit.trouble:
                yield f"{group.name}, {NAMES[fit.kind]}: {fit.trouble}; no interval."
        yield from (
            f"{group.name}: at {size_text(said.size)} the line has {percent(said.curve)}, which is no score: it does "
            "not hold that far, and predicted is the nearest score."
            for said in (one.prediction for one in group.forecasts)
            if not 0 <= said.curve <= 1
        )
        unsure = {
            one.kind
            for one in group.forecasts
            if one.prediction.basis == "nothing" and not any(fit.trouble for fit in group.fits if fit.kind == one.kind)
        }
        for fit in group.fits:
            if fit.kind in unsure and fit.spare > 0:
                yield (
                    f"{group.name}, {NAMES[fit.kind]}: the models cannot tell all parameters of the curve apart, so "
                    "there is no interval."
                )
        if any(fit.kind in unsure and fit.spare <= 0 for fit in group.fits):
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
        said = forecast.prediction
        yield "predicted", forecast.kind, "", said.size, said.score, said.low, said.high, "", said.basis
    for one in group.reached:
        found = one.reach
        yield "reached", one.kind, one.model, found.size, found.score, found.low, found.high, "", ""
