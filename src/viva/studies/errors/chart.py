"""Types of error drawn by model: bars with intervals, a panel a kind of question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from viva.analysis.errortypes import Errors
from viva.errors import VivaError
from viva.render.theme import ends, interval, per_cent, plot, tips
from viva.visible import one_line

if TYPE_CHECKING:
    import altair

_BAR = 16
"""Pixels of a bar."""
_LABEL = 60
"""Characters of a name on an axis."""


def errors_chart(found: Sequence[Errors], names: Mapping[str, str]) -> altair.VConcatChart:
    """The errors of some exams (`analysis.errortypes.counted` without a tag). `names`: type → what it is called.
    Raises VivaError for none.

    Bars stand side by side and are not stacked: an answer may show several types.
    """
    import altair

    if not found:
        raise VivaError("there is no wrong answer to draw")
    parts = list(dict.fromkeys((one.exam, one.group) for one in found))
    panels = [_panel([one for one in found if (one.exam, one.group) == part], names) for part in parts]
    exams = ", ".join(dict.fromkeys(exam for exam, _ in parts))
    drawn: altair.VConcatChart = altair.vconcat(
        *panels, title=f"{exams}: types of error in wrong answers"
    ).resolve_scale(color="independent")
    return drawn


def _panel(found: Sequence[Errors], names: Mapping[str, str]) -> altair.LayerChart | altair.FacetChart:
    import altair

    rows: list[dict[str, Any]] = [
        {
            "model": one_line(one.model, _LABEL),
            "type": names.get(share.type, share.type),
            "share": per_cent(share.share),
            **ends(share),
            "count": share.count,
            "labelled": one.labelled,
            "wrong": one.wrong,
        }
        for one in found
        for share in one.shares
    ]
    kinds = list(dict.fromkeys(row["type"] for row in rows))
    base = plot(rows).encode(
        y=altair.Y("model:N", sort=None, title="model"),
        yOffset=altair.YOffset("type:N", sort=kinds),
        tooltip=tips(
            "model:N",
            ("type:N", "type of error"),
            ("share:Q", "per cent of the labelled answers", ".1f"),
            ("low:Q", "interval from", ".1f"),
            ("high:Q", "to", ".1f"),
            ("count:Q", "answers with it", ","),
            ("labelled:Q", "", ","),
            ("wrong:Q", "", ","),
        ),
    )
    title = "per cent of the labelled wrong answers, with 95 % intervals; several types may apply"
    bars = base.mark_bar().encode(
        x=altair.X("share:Q", title=title, scale=altair.Scale(domain=[0, 100])),
        color=altair.Color("type:N", sort=kinds, title=f"{found[0].group} questions"),
    )
    whiskers = interval(base, title, width=1.5)
    models = len({row["model"] for row in rows})
    return altair.layer(bars, whiskers).properties(
        title=f"{found[0].exam}, {found[0].group.lower()} questions",
        width=480,
        height=max(70, _BAR * (len(kinds) + 1) * models),
    )
