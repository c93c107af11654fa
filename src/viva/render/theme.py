"""The colours of charts, as `viva.web` has them for pages: told apart by colour-blind readers, on light and on dark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from viva.analysis.estimate import Estimate
from viva.analysis.wording import UNSURE
from viva.errors import VivaError
from viva.web.chartpages import Scheme, tokens

if TYPE_CHECKING:
    import altair

    Layered = altair.LayerChart | altair.FacetChart

PER_CENT = "per cent"
"""What an axis of scores is titled."""
SIGNED = "datum.value ? format(datum.value, '+~g') : '0'"
"""Tick labels of what can be below nothing."""
FILE_WIDTH = 640
"""Pixels of a chart in a file, where there is no page to fit."""


def category(scheme: Scheme = "light") -> tuple[str, ...]:
    """Colours of unordered kinds, after Okabe and Ito."""
    return tuple(tokens()[scheme]["category"])


def one_exam(titles: Sequence[str]) -> None:
    """Refuse to draw several exams in one chart."""
    if len(titles) > 1:
        raise VivaError(f"a chart shows one exam, and here are {', '.join(titles)}: name the runs of one")


MARK = "mark"
"""The field of a chart's row that holds `UNSURE`, or nothing: whether its mean leaves something out."""
LEAVES_OUT = f"{UNSURE} leaves out what was not scored"


def mark_of(*, complete: bool) -> dict[str, str]:
    """Return a row's `MARK`."""
    return {MARK: "" if complete else UNSURE}


def marked(rows: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether any row has the mark, so that the chart needs `daggers` and the sentence."""
    return any(row.get(MARK) for row in rows)


def subtitle(rows: Iterable[Mapping[str, Any]], *said: str) -> str:
    """Return a chart's subtitle, with what the mark means where a row has it."""
    return "; ".join([*filter(None, said), *([LEAVES_OUT] if marked(rows) else [])])


def per_cent(share: float | None) -> float | None:
    """Return a share in per cent, as exact as it can be drawn, where it is known."""
    return None if share is None else round(100 * share, 3)


def ends(one: Any) -> dict[str, Any]:
    """Return the fields `low` and `high`, in per cent, of whatever has an interval; and both in words."""
    low, high = per_cent(one.low), per_cent(one.high)
    return {"low": low, "high": high, "95 %": "" if low is None or high is None else f"{low:.2f} to {high:.2f}"}


def figures(cell: Estimate) -> dict[str, Any]:
    """Return what a chart's row has of an estimate, in per cent: its `score` with both ends and `MARK`; of a range in
    place of a mean `least` and `most`.
    """
    found = {"score": per_cent(cell.mean), **ends(cell), "answers": cell.n}
    if not cell.ranged:
        return found | mark_of(complete=cell.complete or cell.mean is None)
    least, most = per_cent(cell.floor), per_cent(cell.ceiling)
    return found | {"least": least, "most": most, "range": f"{least:.0f}–{most:.0f}{UNSURE}"}


def plot(rows: Iterable[Mapping[str, Any]], **look: Any) -> altair.Chart:
    """Return the chart of these rows, which are in it."""
    import altair

    return altair.Chart(altair.InlineData(values=list(rows)), **look)


def tips(*shown: str | tuple[str, ...]) -> list[altair.Tooltip]:
    """Return tooltips: a field alone, or with its title ("" for the field's name) and the form of its numbers."""
    import altair

    def tip(field: str, *named: str) -> altair.Tooltip:
        look: dict[str, Any] = {name: text for name, text in zip(("title", "format"), named, strict=False) if text}
        return altair.Tooltip(field, **look)

    return [tip(one) if isinstance(one, str) else tip(*one) for one in shown]


def layered(*layers: Any, title: str, below: str | Sequence[str], height: Any) -> Layered:
    """Return layers as one chart as wide as its place; `below`: the subtitle."""
    import altair

    return altair.layer(*layers).properties(title=altair.Title(title, subtitle=below), width="container", height=height)


def daggers(base: altair.Chart, **places: Any) -> list[altair.Chart]:
    """Return the layer that puts the mark above the right of its point; none where no row of the data has one."""
    if not marked(base.data.values):
        return []
    import altair

    return [base.mark_text(align="left", dx=5, dy=-7, fontSize=12).encode(text=altair.Text(f"{MARK}:N"), **places)]
