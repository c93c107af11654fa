"""InfiBench's five levels of difficulty, from runs and tables."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from viva.analysis.items.itemscores import levels
from viva.errors import DataError, flag, option
from viva.lab.items.sources import ItemSources
from viva.render.findings import Findings
from viva.runs.exams import read_level_file
from viva.studies.score_table.tables import Grouping, grouping_findings
from viva.visible import one_line

STRONGER, WARM = 0.2, 1.0
"""The paper's temperatures."""


class Parts(Protocol):
    """Who takes which part in the rule, and how it is told: `viva.lab.items.study.ItemsConfig`."""

    weaker: str | None
    stronger: str | None
    warm: str | None
    trials: int
    given: Path | None


def levelled(one: ItemSources, wanted: Parts) -> Findings[Grouping]:
    """Return the rule's outcome. Raises DataError for a model that is not there."""
    from viva.analysis.items.itemscores import answers

    def scores(called: str, name: str | None) -> dict[str, list[float | None]] | None:
        if name is None:
            return None
        if name not in one.frames:
            known = ", ".join(repr(one_line(model, 60)) for model in one.frames)
            raise DataError(f"{called} {name!r}: {one.exam} has no such model here; there are: {known}")
        return answers(one.frames[name])

    weaker, stronger = scores(option("weaker"), wanted.weaker), scores(option("stronger"), wanted.stronger)
    warm = scores(option("warm"), wanted.warm)
    found = Grouping(
        table=one.exam,
        weaker=wanted.weaker or "",
        stronger=wanted.stronger or "",
        warm=wanted.warm or "",
        trials=wanted.trials,
        found=levels(weaker or {}, stronger or {}, warm, trials=wanted.trials),
        given=read_level_file(wanted.given) if wanted.given else {},
        warm_option=flag("warm", "MODEL"),
    )
    notes = list(one.notes)
    for name, expected in ((wanted.stronger, STRONGER), (wanted.warm, WARM)):
        told = _temperature(one, name)
        if told is not None and told != expected:
            notes.append(f"The paper's rule has {name} at temperature {expected:g}; this run asked it at {told:g}.")
    return grouping_findings(found, notes)


def _temperature(one: ItemSources, name: str | None) -> float | None:
    """Of a run, where it was sent."""
    found = one.found.get(name or "")
    if found is None or found.run is None or found.record is None:
        return None
    return (found.record.sampling or found.run.sampling).temperature
