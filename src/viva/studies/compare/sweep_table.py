"""Runs under different sampling beside each other and beside the paper's: a row a setting, a table a breakdown."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import Struct

from viva.analysis.wording import UNSURE, percent
from viva.render.grids import WORDS
from viva.render.printing import Records, StudyResult
from viva.render.table import Grid
from viva.visible import one_line


class Swept(Struct, frozen=True, kw_only=True):
    """One model under one sampling."""

    model: str
    sampling: str
    """As tables call it: `T 0.2, top-p 0.9`, or `greedy`."""
    order: tuple[float, float]
    """Temperature and top-p, by which rows are sorted."""
    answers: int
    """To each question."""
    published: bool
    scores: dict[str, dict[str, float | None]]
    """Table → row of it → score, as a share of 1; None where there is none."""
    spread: float | None = None
    """Standard deviation of the best of each ten over the groups of ten, as a share of 1."""
    partial: bool = False
    """Whether means leave out what was not scored."""


TITLES = {
    "attempts": "Several answers to a question",
    "levels": "Best of each ten by difficulty",
    "types": "Best of each ten by type of question",
    "metrics": "Best of each ten by what grades it",
}
"""The tables, in order."""
_SHOWN = {
    "best@10 by groups": "best@10", "best@5, expected": "best@5", "best@3, expected": "best@3", "mean@1": "mean@1",
    "pass@1, full marks": "pass@1", "pass@10, full marks": "pass@10",
}  # fmt: skip
"""Rows of `attempts` that are columns here; records have all."""


@dataclass(frozen=True, repr=False)
class Sweep(StudyResult):
    """A sampling sweep."""

    rows: tuple[Swept, ...]
    notes: tuple[str, ...]
    words = WORDS | {"sampling"}

    def tables(self) -> list[Grid]:
        """A table a breakdown; a setting that lacks all of a table's figures has no row in it."""
        return [grid for name, title in TITLES.items() if (grid := self._grid(name, title))]

    def _grid(self, name: str, title: str) -> Grid | None:
        several = name == "attempts"
        rows = [row for row in self.rows if row.scores.get(name)]
        known = list(dict.fromkeys(label for row in rows for label in row.scores[name]))
        labels = [label for label in _SHOWN if label in known] if several else sorted(known, key="Overall".__eq__)
        if not labels:
            return None
        cells = [
            (
                one_line(row.model, 40) + (", paper" if row.published else ""),
                row.sampling,
                f"{row.answers:,}",
                *(_text(row, label, row.scores[name].get(label)) for label in labels),
            )
            for row in rows
        ]
        header = ("model", "sampling", "answers", *(_SHOWN.get(label, label) for label in labels))
        return Grid(f"{title} · infibench", header, tuple(cells))

    def closing(self) -> list[str]:
        """What the figures are, and what they are not."""
        return list(self.notes)

    def records(self) -> Records:
        """A row a model, sampling, table and row of it. Shares of 1."""
        return ("model", "sampling", "answers", "published", "table", "row", "score"), [
            (row.model, row.sampling, row.answers, "yes" if row.published else "", name, label, score)
            for row in self.rows
            for name, scores in row.scores.items()
            for label, score in scores.items()
        ]

    def data(self) -> object:
        """Rows and notes."""
        return {"rows": list(self.rows), "notes": list(self.notes)}


def _text(row: Swept, label: str, score: float | None) -> str:
    sd = f" ± {percent(row.spread)}" if row.spread is not None and _SHOWN.get(label) == "best@10" else ""
    return percent(score) + (UNSURE if row.partial and score is not None else "") + sd
