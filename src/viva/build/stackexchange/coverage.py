"""Tables of a project's questions: approved, missing, and exposed by date."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING

from viva.build.options import Told

if TYPE_CHECKING:
    from viva.build.stackexchange.project import State
    from viva.build.stackexchange.set_places import Places


def coverage_table(dealt: Places) -> Told:
    """Return questions by language and state, against the quotas."""
    from viva.build.stackexchange.decisions import STATUSES

    held = STATUSES[:-1]
    header = ("language", "area", "quota", *held, "missing", "rejected", "moved up", "reserve left")
    rows = []
    for cell in dealt.cells:
        counts = (
            cell.quota,
            *map(cell.counts.__getitem__, held),
            cell.missing,
            cell.rejected,
            len(cell.moved_up),
            cell.left,
        )
        rows.append((cell.language, cell.area, *(count or None for count in counts)))
    return "Questions by language", header, rows


def exposure_table(states: Sequence[State], dealt: Places, table: Mapping[str, date]) -> Told:
    """Return how many of the questions that hold a place each model may have read in training."""
    from viva.build.stackexchange.cutoffs import created, exposed

    days = {state.about.id: created(state.about.created) for state in states if state.about.id in set(dealt.holders)}
    rows = [(model, table[model], len(old), len(days) - len(old)) for model, old in exposed(days, table).items()]
    return "Asked before the models' training ended", ("model", "cut-off", "up to it", "after it"), rows


def metric_lines(states: Sequence[State], dealt: Places) -> Iterable[str]:
    """Yield what grades the approved questions, and of which type they are."""
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
