"""Questions and models on one scale (a Wright map), and facility against discrimination."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from viva.analysis.estimate import UNSURE
from viva.errors import VivaError, option
from viva.lab.items.tables import Examined, flags
from viva.render.plots import MARK, PER_CENT, daggers, mark_of, marked, subtitle

if TYPE_CHECKING:
    import altair

BINS = 40
"""Bars of the difficulties' histogram."""
POINTS = 4000
"""Questions that are drawn one by one; of more, these many spread evenly over facility, and all that are flagged."""
OKAY = "nothing found"


def chart(every: Sequence[Examined]) -> altair.TopLevelMixin:
    """Return the map of the fit where there is one, over the questions' facility and. VivaError for several exams."""
    import altair as alt

    if len(every) > 1:
        names = ", ".join(one.scores.exam for one in every)
        raise VivaError(
            f"is about one exam, and the sources have several: choose one by {option('exam')}: {names}", field="chart"
        )
    (found,) = every
    lower = _statistics(found)
    joined = alt.vconcat(_map(found), lower, spacing=30) if found.fits else alt.vconcat(lower)
    drawn: altair.TopLevelMixin = joined.resolve_scale(color="independent")
    return drawn


def _map(found: Examined) -> Any:
    """Abilities with intervals above, how many questions have which difficulty below, on one axis."""
    import altair as alt

    fit = found.fits[0]
    models: list[dict[str, Any]] = [
        {
            "model": name,
            "ability": float(fit.ability[place]),
            "low": float(fit.ability[place] - 1.96 * fit.ability_error[place]),
            "high": float(fit.ability[place] + 1.96 * fit.ability_error[place]),
            "score": 100 * float(np.nanmean(found.scores.scores[place])),
            **mark_of(complete=bool(np.isfinite(found.scores.scores[place]).all())),
        }
        for place, name in enumerate(found.scores.models)
    ]
    edges = [value for row in models for value in (float(row["low"]), float(row["high"]))]
    difficulty = fit.items.difficulty
    low, high = (float(value) for value in np.percentile(difficulty, [1, 99]))
    low, high = min(low, *edges) - 0.2, max(high, *edges) + 0.2
    scale = alt.Scale(domain=[low, high], nice=False)
    shown = [
        alt.Tooltip("model:N"),
        alt.Tooltip("ability:Q", format=".2f"),
        alt.Tooltip("low:Q", format=".2f", title="95 % from"),
        alt.Tooltip("high:Q", format=".2f", title="to"),
        alt.Tooltip("score:Q", format=".2f", title=f"mean score, {PER_CENT}"),
    ]
    row = alt.Y("model:N", title=None, sort=alt.EncodingSortField("ability", order="descending"))
    able = alt.Chart(alt.InlineData(values=models))
    dots = able.mark_circle(size=70, opacity=1).encode(
        x=alt.X("ability:Q", title=None, scale=scale, axis=alt.Axis(labels=False)), y=row, tooltip=shown
    )
    lines = able.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=None, scale=scale), x2="high:Q", y=row)
    title = alt.Title(
        f"Models beside questions, {fit.logistic.upper()}",
        subtitle=subtitle(models, f"{found.scores.exam}; a model answers questions of its own place every second time"),
    )
    marks = daggers(able, x=alt.X("ability:Q", scale=scale), y=row)
    upper = alt.layer(lines, dots, *marks).properties(width=560, height=alt.Step(18), title=title)
    return alt.vconcat(upper, _histogram(difficulty, (low, high), scale).properties(width=560, height=130), spacing=6)


def _histogram(difficulty: Any, ends: tuple[float, float], scale: Any) -> Any:
    """Return how many questions have which difficulty; those beyond the scale stand at its `ends`."""
    import altair as alt

    counts, bounds = np.histogram(np.clip(difficulty, *ends), bins=BINS, range=ends)
    bars = [
        {"from": float(start), "to": float(end), "questions": int(count)}
        for start, end, count in zip(bounds, bounds[1:], counts, strict=False)
    ]
    drawn: alt.Chart = (
        alt.Chart(alt.InlineData(values=bars))
        .mark_bar(opacity=0.75)
        .encode(
            x=alt.X(
                "from:Q",
                bin="binned",
                scale=scale,
                title="ability of models, difficulty of questions (standard deviations)",
            ),
            x2="to:Q",
            y=alt.Y("questions:Q", title="questions"),
            tooltip=[
                alt.Tooltip("questions:Q"),
                alt.Tooltip("from:Q", format=".2f", title="difficulty from"),
                alt.Tooltip("to:Q", format=".2f", title="to"),
            ],
        )
    )
    return drawn


def _statistics(found: Examined) -> Any:
    import altair as alt

    rows = _rows(found)
    defined = any(row["discrimination"] is not None for row in rows)
    if defined:  # those that nobody or everybody passes have none
        rows = [row for row in rows if row["discrimination"] is not None]
    kinds = list(dict.fromkeys(row["why"] for row in rows if row["why"] != OKAY))
    upright = (
        alt.Y("discrimination:Q", title="discrimination (correlation over models)", scale=alt.Scale(domain=[-1, 1]))
        if defined
        else alt.Y("count():Q", title="questions")
    )
    across = alt.X("facility:Q", title=f"facility ({PER_CENT} of full marks, mean over models)")
    base = alt.Chart(alt.InlineData(values=rows))
    if not defined:
        drawn: Any = base.mark_bar().encode(x=across.bin(maxbins=20), y=upright, tooltip=[alt.Tooltip("count():Q")])
    else:
        drawn = base.mark_circle(size=45, opacity=0.6).encode(
            x=across.scale(domain=[0, 100]),
            y=upright,
            color=alt.Color(
                "why:N", title=None, scale=alt.Scale(domain=[OKAY, *kinds]), legend=alt.Legend(labelLimit=300)
            ),
            tooltip=[
                alt.Tooltip("question:N"),
                alt.Tooltip("facility:Q", format=".1f"),
                alt.Tooltip("discrimination:Q", format=".3f"),
                alt.Tooltip("models:Q"),
                alt.Tooltip("why:N", title="found"),
            ],
        )
    rings_said = f"ringed: {UNSURE}" if defined and marked(rows) else ""
    title = alt.Title("Facility against discrimination", subtitle=subtitle(rows, found.scores.exam, rings_said))
    if defined:
        # Of hundreds of points a sign beside one would be taken for its neighbour's: a ring around it is its own.
        rings = base.transform_filter(f"datum.{MARK} != ''").mark_point(size=90, strokeWidth=1.2, filled=False)
        where = {"x": across.scale(domain=[0, 100]), "y": upright}
        drawn = alt.layer(drawn, *([rings.encode(**where)] if marked(rows) else []))
    return drawn.properties(width=560, height=320, title=title)


def _rows(found: Examined) -> list[dict[str, Any]]:
    stats = found.statistics
    why = {place: of.partition(", ")[0] for place, of in flags(found).items()}
    places = list(range(len(stats.facility)))
    if len(places) > POINTS:
        order = np.argsort(stats.facility, kind="stable")
        drawn = {int(place) for place in order[:: math.ceil(len(order) / POINTS)]}
        drawn |= set(list(why)[: POINTS // 2])
        places = sorted(drawn)
    return [
        {
            "question": found.scores.questions[place],
            "facility": 100 * float(stats.facility[place]),
            "discrimination": float(d) if math.isfinite(d := stats.discrimination[place]) else None,
            "models": int(stats.models[place]),
            **mark_of(complete=int(stats.models[place]) == len(found.scores.models)),
            "why": why.get(place, OKAY),
        }
        for place in places
    ]
