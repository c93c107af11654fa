"""Tables of a project's questions: approved, missing, and exposed by date."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING

from viva.visible import one_line

if TYPE_CHECKING:
    from viva.build.stackexchange.project import State
    from viva.build.stackexchange.set_places import Places
    from viva.render.table import Grid


def coverage_grid(dealt: Places) -> Grid:
    """Questions by language and state, against the quotas."""
    from viva.render.table import Grid

    columns = ("approved", "waiting", "disputed", "faulty", "unwritten")
    header = ("language", "area", "quota", *columns, "missing", "rejected", "moved up", "reserve left")
    rows = []
    for cell in dealt.cells:
        counts = [cell.counts[status] for status in columns]  # type: ignore[index]
        rest = (cell.missing, cell.rejected, len(cell.moved_up), cell.left)
        figures = (f"{one:,}" if one else "" for one in (cell.quota, *counts, *rest))
        rows.append((one_line(cell.language, 30), one_line(cell.area, 30), *figures))
    return Grid("Questions by language", header, tuple(rows))


def exposure_grid(states: Sequence[State], dealt: Places, table: Mapping[str, date]) -> Grid:
    """Of the questions that hold a place: how many each model may have read in training."""
    from viva.build.stackexchange.cutoffs import created, exposed
    from viva.render.table import Grid

    days = {state.about.id: created(state.about.created) for state in states if state.about.id in set(dealt.holders)}
    rows = tuple(
        (one_line(model, 60), table[model].isoformat(), f"{len(old):,}", f"{len(days) - len(old):,}")
        for model, old in exposed(days, table).items()
    )
    return Grid("Asked before the models' training ended", ("model", "cut-off", "up to it", "after it"), rows)


def metric_lines(states: Sequence[State], dealt: Places) -> Iterable[str]:
    """What grades the approved questions, and of which type they are."""
    from collections import Counter

    from viva.build.stackexchange.kitchecks import metrics_of

    holders = set(dealt.holders)
    owns = [
        state.checked.question
        for state in states
        if state.status == "approved" and state.about.id in holders and state.checked.question
    ]
    for what, counts in (
        ("metrics", Counter(name for own in owns for name in metrics_of(own.rubric))),
        ("types", Counter(own.tags.get("type", "") for own in owns)),
    ):
        if counts:
            yield f"{what} of the approved: " + ", ".join(f"{name} {count:,}" for name, count in counts.most_common())
