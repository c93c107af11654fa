"""Scores over size, as tables and as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msgspec import Struct

from viva.analysis.scaling import Fit, Kind
from viva.analysis.scalinggroups import Forecast, Group, Point
from viva.analysis.segments import Bend, Segments
from viva.analysis.wording import UNSURE, percent
from viva.errors import flag
from viva.render.grids import WORDS
from viva.render.printing import Drawing, Records, StudyResult
from viva.render.result import left_out
from viva.render.table import Grid, p_text

NAMES: dict[Kind, str] = {
    "family": "family", "log": "log-linear", "segments": "two segments", "logistic": "logistic", "power": "power law",
    "average": "average",
}  # fmt: skip
TEN = 0.30102999566398120
"""A doubling, in tenfolds."""
SURE = 0.05
_RESTS = {
    "scatter": "scatter of the models around the curve",
    "questions": "sampling of questions only",
    "nothing": "nothing",
}


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


def scaling_grids(found: Scaling) -> list[Grid]:
    """The curves, what they predict, the breaks, and the models furthest from their curve."""
    grids = [Grid(f"Scores over size · {found.title}", _FITTED, tuple(_fit_rows(found)))]
    forecasts = tuple(_forecast_rows(found))
    if forecasts:
        grids.append(Grid(f"Predicted · {found.title}", _PREDICTED, forecasts))
    if found.references:
        grids.append(Grid(f"Reached at · {found.title}", _REACHED, tuple(_reach_rows(found))))
    breaks = tuple(_break_row(group.name, group.segments) for group in found.groups if group.segments)
    if breaks:
        grids.append(Grid(f"One line or two · {found.title}", _BREAKS, breaks))
        moved = tuple(_moved_row(group.name, group.segments) for group in found.groups if group.segments)
        grids.append(Grid(f"The break without one model · {found.title}", _MOVED, moved))
    strays = tuple(
        (group.name, NAMES[one.kind], one.point.model, size_text(one.point.size), _score(one.point),
         percent(one.expected), f"{one.away:+.1f}")
        for group in found.groups
        for one in group.strays
    )  # fmt: skip
    if strays:
        grids.append(Grid(f"Far from their curve · {found.title}", _STRAYS, strays))
    return grids


_FITTED = ("", "fit", "models", "sizes", "curve", "doubling adds", "sd", "R²", "AICc")
_PREDICTED = ("", "fit", "size", "predicted", "95 % interval", "rests on", "measured", "difference")
_REACHED = ("", "fit", "model", "score", "reached at", "95 % interval", "times the largest")
_MOVED = ("", "break", "lowest", "lowest without", "highest", "highest without")
_STRAYS = ("", "fit", "model", "size", "score", "curve", "sd away")
_BREAKS = (
    "", "models", "break", "profile 95 %", "bootstrap 95 %", "doubling adds, below", "above", "F", "p", "naive p"
)  # fmt: skip


def _fit_rows(found: Scaling) -> Iterator[tuple[str, ...]]:
    for group in found.groups:
        for fit in group.fits:
            yield (
                group.name,
                NAMES[fit.kind],
                f"{fit.n:,}",
                f"{size_text(fit.smallest)} to {size_text(fit.largest)}",
                formula(fit),
                _doubling(fit),
                "–" if fit.sd is None else percent(fit.sd),
                "–" if fit.r2 is None else f"{fit.r2:.3f}",
                "–" if fit.aicc is None else f"{fit.aicc:.1f}",
            )


def _forecast_rows(found: Scaling) -> Iterator[tuple[str, ...]]:
    for group in found.groups:
        for one in group.forecasts:
            said, bent = one.prediction, _bent(found, one)
            beyond = f", {said.beyond:.1f} times the largest" if said.beyond > 1 else ""
            row = (
                group.name,
                NAMES[one.kind],
                size_text(said.size) + beyond,
                percent(said.score),
                between(said.low, said.high),
                _RESTS[said.basis] + (f", from which they bend {_away(bent)}" if bent else ""),
            )
            if not one.measured:
                yield (*row, "–", "–")
            for point in one.measured:
                yield (*row, f"{_score(point)} {point.model}", f"{100 * (point.score - said.score):+.2f}")


def _bent(found: Scaling, one: Forecast) -> Bend | None:
    """How the models leave the curve, if they surely do: at most in 5 % of tables that have no bend."""
    tested = sum(any(forecast.bend for forecast in group.forecasts) for group in found.groups)
    return one.bend if one.bend is not None and one.bend.p * tested <= SURE else None


def _reach_rows(found: Scaling) -> Iterator[tuple[str, ...]]:
    scores = {point.model: _score(point) for point in found.references}
    for group in found.groups:
        for one in group.reached:
            said = one.reach
            known = said.low is not None or said.high is not None
            low = f"from {size_text(said.low)}" if said.low is not None else "–"
            yield (
                group.name,
                NAMES[one.kind],
                one.model,
                scores[one.model],
                "never" if said.size is None else size_text(said.size),
                (f"{low} to {size_text(said.high)}" if said.high is not None else f"{low} on") if known else "–",
                "–" if said.beyond is None else f"{said.beyond:.1f}" if said.beyond > 1 else "within",
            )


def _score(point: Point) -> str:
    return percent(point.score) + (UNSURE if point.partial else "")


def _break_row(name: str, found: Segments) -> tuple[str, ...]:
    return (
        name,
        f"{found.fit.n:,}",
        break_text(found),
        f"{'below ' if found.open_low else ''}{size_text(found.low)} to "
        f"{'beyond ' if found.open_high else ''}{size_text(found.high)}",
        "–" if found.boot_low is None else f"{size_text(found.boot_low)} to {size_text(found.boot_high or 0)}",
        f"{100 * TEN * found.below:+.2f}",
        f"{100 * TEN * found.above:+.2f}",
        f"{found.gain:.2f}",
        p_text(found.p),
        p_text(found.p_naive),
    )


def _moved_row(name: str, found: Segments) -> tuple[str, ...]:
    if found.moved is None:
        return name, break_text(found), "–", "", "–", ""
    moved = found.moved
    return name, break_text(found), size_text(moved.low), moved.low_without, size_text(moved.high), moved.high_without


def formula(fit: Fit) -> str:
    """The curve with its parameters; of segments the break stands elsewhere."""
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


def _doubling(fit: Fit) -> str:
    return f"{100 * TEN * fit.parameters[1]:+.2f}" if fit.kind == "log" else "–"


def size_text(size: float) -> str:
    """`6.7B`."""
    return f"{size:.3g}B" if size < 1000 else f"{size:,.0f}B"


def break_text(found: Segments) -> str:
    """`34B`, or of breaks that fit equally well `34B to 70B`."""
    low, high = found.tied
    return size_text(found.at) if low == high else f"{size_text(low)} to {size_text(high)}"


def between(low: float | None, high: float | None) -> str:
    """An interval in per cent; a dash for none."""
    return "–" if low is None or high is None else f"[{percent(low)}, {percent(high)}]"


def notes_on(found: Sequence[Scaling]) -> list[str]:
    """How to read it, and what it leaves out."""
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
    """What is said of every curve that the models surely leave."""
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
        shown = ", ".join(partial[:6]) + (f" and {len(partial) - 6:,} more" if len(partial) > 6 else "")
        yield f"{UNSURE} {found.title}: the means of these models leave out what was not scored: {shown}."
    if found.ranges:
        yield f"{found.title}: {left_out(found.ranges)}"
    if found.sizeless:
        shown = ", ".join(found.sizeless[:6]) + (
            f" and {len(found.sizeless) - 6:,} more" if len(found.sizeless) > 6 else ""
        )
        yield f"{found.title}: left out, of unknown size: {shown} ({flag('sizes', 'FILE')} gives sizes)."
    unfitted = [group.name for group in found.groups if not group.fits]
    if unfitted:
        shown = ", ".join(unfitted[:8]) + (f" and {len(unfitted) - 8:,} more" if len(unfitted) > 8 else "")
        yield f"{found.title}: no curve, for want of models of different sizes: {shown}."
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
            one.kind for one in group.forecasts if one.prediction.basis == "nothing" and not _troubled(group, one.kind)
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


def _troubled(group: Group, kind: Kind) -> bool:
    return any(fit.trouble for fit in group.fits if fit.kind == kind)


@dataclass(frozen=True, repr=False)
class Scalings(StudyResult):
    """The curves of every table and exam."""

    found: tuple[Scaling, ...]
    drawing: Drawing = None
    words = WORDS | {
        "fit", "curve", "rests on", "measured", "lowest without", "highest without", "reached at",
        "break without one model",
    }  # fmt: skip

    def tables(self) -> list[Grid]:
        """Curves, predictions, breaks and outliers of each."""
        return [grid for one in self.found for grid in scaling_grids(one)]

    def closing(self) -> list[str]:
        """How to read it, and what it leaves out."""
        return notes_on(self.found)

    def records(self) -> Records:
        """A row a model, and a row a prediction: shares of 1, unrounded. `role`: fitted, held out, predicted, reached
        (low and high are then sizes)."""
        header = ("table", "group", "role", "fit", "model", "size", "score", "low", "high", "partial", "basis")
        return header, [
            (one.title, group.name, *cells) for one in self.found for group in one.groups for cells in _cells(group)
        ]

    def data(self) -> object:
        """Curves and notes."""
        return {"tables": list(self.found), "notes": self.closing()}


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
