"""Runs under different sampling beside each other and beside the paper's: a row a setting, a table a breakdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from msgspec import Struct

from viva.analysis.wording import UNSURE, percent
from viva.render.findings import Findings
from viva.render.table import COUNT, FIGURE, NAME, Column, Table, fields, places
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


def findings(rows: Sequence[Swept], notes: Sequence[str]) -> Findings[Sequence[Swept]]:
    """Return a table a breakdown, in which a setting that lacks all of its figures has no row; `rows` has one a
    model, sampling, table and row of it. Shares of 1."""
    cells = [
        (row.model, row.sampling, row.answers, "yes" if row.published else "", name, label, score)
        for row in rows
        for name, scores in row.scores.items()
        for label, score in scores.items()
    ]
    names = ("model", "sampling", "answers", "published", "table", "row", "score")
    left = [name for name in Swept.__struct_fields__ if name != "scores"]
    return Findings(
        found=rows, shown=[*_tables(rows), Table("Settings", fields("", *left), rows)],
        rows=Table("Scores", places(*names), cells), notes=notes,
    )  # fmt: skip


def _tables(found: Sequence[Swept]) -> Iterator[Table]:
    for name, title in TITLES.items():
        rows = [row for row in found if row.scores.get(name)]
        known = list(dict.fromkeys(label for row in rows for label in row.scores[name]))
        shown = name == "attempts"
        labels = [label for label in _SHOWN if label in known] if shown else sorted(known, key="Overall".__eq__)
        columns = (Column(_SHOWN.get(label, label), partial(_text, name, label), FIGURE, key=None) for label in labels)
        if labels:
            yield Table(f"{title} · infibench", (*_SETTING, *columns), rows)


_SETTING = (
    Column("model", lambda row: one_line(row.model, 40) + (", paper" if row.published else ""), NAME),
    Column("sampling", "sampling"),
    Column("answers", "answers", COUNT),
)


def _text(name: str, label: str, row: Swept) -> str:
    score = row.scores[name].get(label)
    sd = f" ± {percent(row.spread)}" if row.spread is not None and _SHOWN.get(label) == "best@10" else ""
    return percent(score) + (UNSURE if row.partial and score is not None else "") + sd
