"""Charts of questions and models on one scale (a Wright map), and of facility against discrimination."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from viva.analysis.estimate import UNSURE
from viva.analysis.items.itemscores import Floats
from viva.lab.items.sources import only_exam
from viva.lab.items.tables import Examined, flags
from viva.render.plots import (
    MARK,
    PER_CENT,
    Axis,
    Drawn,
    Kinds,
    Layer,
    curves,
    dots,
    mark_of,
    plot,
    subtitle,
    tips,
    together,
)

BINS = 40
"""Bars of a histogram."""
POINTS = 4000
"""The most questions drawn one by one; of more, this many spread evenly over facility, and all flagged ones."""
OKAY = "nothing found"
_WIDTH = 560


def chart(every: Sequence[Examined]) -> Drawn:
    """Return the Wright map if there is a fit, above facility against discrimination. Raises VivaError for several
    exams.
    """
    only_exam([each.scores.exam for each in every], "chart")
    (examined,) = every
    return together([*(_map(examined) if examined.fits else ()), _statistics(examined)])


def _map(examined: Examined) -> tuple[Drawn, Drawn]:
    """Return abilities with intervals, and below them a histogram of difficulties on the same axis."""
    fit, scores = examined.fits[0], examined.scores.scores
    half = 1.96 * fit.ability_error
    low, high = fit.ability - half, fit.ability + half
    models: list[dict[str, Any]] = [
        {
            "model": examined.scores.models[place],
            "ability": float(fit.ability[place]),
            "low": float(low[place]),
            "high": float(high[place]),
            "95 %": f"{low[place]:.2f} to {high[place]:.2f}",
            f"mean score, {PER_CENT}": 100 * float(np.nanmean(scores[place])),
            **mark_of(complete=bool(np.isfinite(scores[place]).all())),
        }
        for place in np.argsort(-fit.ability, kind="stable")
    ]
    first, last = np.percentile(fit.items.difficulty, [1, 99])
    ends = float(min(first, *low)) - 0.2, float(max(last, *high)) + 0.2
    upper = dots(
        models,
        "model",
        Axis("ability", None, {"domain": ends, "nice": False}, {"labels": False}),
        title=f"Models beside questions, {fit.logistic.upper()}",
        below=subtitle(models, f"{examined.scores.exam}; a model answers questions of its own place every second time"),
        width=_WIDTH,
    )
    title = "ability of models, difficulty of questions (standard deviations)"
    return upper, _histogram(fit.items.difficulty, ends, title)


def _histogram(values: Floats, ends: tuple[float, float], title: str) -> Drawn:
    """Return a histogram of questions by value; those beyond the scale are at its `ends`."""
    import altair as alt

    counts, bounds = np.histogram(np.clip(values, *ends), bins=BINS, range=ends)
    bars = [
        {"from": float(start), "to": float(end), "questions": int(count)}
        for start, end, count in zip(bounds, bounds[1:], counts, strict=False)
    ]
    scale = alt.Scale(domain=ends, nice=False)
    drawn: alt.Chart = (
        plot(bars)
        .mark_bar(opacity=0.75)
        .encode(
            x=alt.X("from:Q", bin="binned", scale=scale, title=title),
            x2="to:Q",
            y="questions:Q",
            tooltip=tips("questions:Q", ("from:Q", "", ".2f"), ("to:Q", "", ".2f")),
        )
        .properties(width=_WIDTH, height=130)
    )
    return drawn


def _statistics(examined: Examined) -> Drawn:
    """Return facility against discrimination; a histogram of facility if no question has any."""
    facility = f"facility ({PER_CENT} of full marks, mean over models)"
    rows = [row for row in _rows(examined) if row["discrimination"] is not None]
    if not rows:  # all pass or all fail, or there are too few models
        import altair as alt

        title = alt.Title("Facility of the questions", subtitle=subtitle(_rows(examined), examined.scores.exam))
        return _histogram(100 * examined.statistics.facility, (0.0, 100.0), facility).properties(title=title)
    gaps = [row for row in rows if row[MARK]]
    kinds = dict.fromkeys([OKAY, *(row["why"] for row in rows)])
    # Among hundreds of points a sign next to one could belong to its neighbour, so flagged points are hollow.
    return curves(
        [Layer("dots", [row for row in rows if not row[MARK]]), Layer("rings", gaps)],
        Axis("facility", facility, {"domain": [0, 100]}),
        Axis("discrimination", "discrimination (correlation over models)", {"domain": [-1, 1]}),
        title="Facility against discrimination",
        below=subtitle(rows, examined.scores.exam, f"hollow: {UNSURE}" if gaps else ""),
        kinds=Kinds("why", list(kinds)),
        height=320,
        width=_WIDTH,
    )


def _rows(examined: Examined) -> list[dict[str, Any]]:
    stats = examined.statistics
    why = {place: of.partition(", ")[0] for place, of in flags(examined).items()}
    places = list(range(len(stats.facility)))
    if len(places) > POINTS:
        order = np.argsort(stats.facility, kind="stable")
        drawn = {int(place) for place in order[:: math.ceil(len(order) / POINTS)]}
        drawn |= set(list(why)[: POINTS // 2])
        places = sorted(drawn)
    return [
        {
            "question": examined.scores.questions[place],
            "facility": 100 * float(stats.facility[place]),
            "discrimination": float(d) if math.isfinite(d := stats.discrimination[place]) else None,
            "models": int(stats.models[place]),
            **mark_of(complete=int(stats.models[place]) == len(examined.scores.models)),
            "why": why.get(place, OKAY),
        }
        for place in places
    ]
