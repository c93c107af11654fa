"""Scores of several models by exam, from runs and tables, for `viva item-analysis`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from viva.analysis.columns import Columns
from viva.analysis.estimate import APART, clusters_of
from viva.errors import DataError, VivaError, option
from viva.studies.item_scores import EXAM, ScoreSet, score_sets
from viva.types import Aggregate
from viva.visible import one_line

TABLES = "item scores"
"""Name of several tables of item scores without a run that gives their exam."""


class ItemSources(Struct, kw_only=True):
    """One exam's scores, a frame a model."""

    exam: str
    headline: Aggregate
    frames: dict[str, Columns] = {}
    """Model → its scores. A repeated model has its source's name in brackets."""
    found: dict[str, ScoreSet] = {}
    notes: list[str] = []


def item_sources(sources: Sequence[Path], exam: str | None) -> list[ItemSources]:
    """Return the scores of all sources by exam. Tables join the runs' exam if there is just one, else each other.

    Raises DataError for an unknown `exam`, runs of one exam with different questions, and a table with runs that take
    the best of several answers (a table does not say which answers form a repeat).
    """
    ones = list(score_sets(sources, EXAM))
    runs = list(dict.fromkeys(each.exam for each in ones if each.record is not None))
    tables = list(dict.fromkeys(each.exam for each in ones if each.record is None))
    joined = runs[0] if len(runs) == 1 else tables[0] if len(tables) == 1 else TABLES
    by_exam: dict[str, ItemSources] = {}
    for each in ones:
        name = each.exam if each.record is not None else joined
        group = by_exam.setdefault(name, ItemSources(exam=name, headline=each.headline))
        _add(group, each)
    if exam is not None and exam not in by_exam:
        known = ", ".join(repr(one_line(name, 60)) for name in by_exam)
        raise DataError(f"{exam!r}: the sources have no such exam; they have: {known}", field="exam")
    return [group for name, group in by_exam.items() if exam in (None, name)]


def only_exam(exams: Sequence[str], field: str) -> None:
    """Raise VivaError for several exams; `field`: the option that takes one."""
    if len(exams) > 1:
        raise VivaError(
            f"is about one exam, and the sources have several: choose one by {option('exam')}: {', '.join(exams)}",
            field=field,
        )


def _add(group: ItemSources, scored: ScoreSet) -> None:
    for other in group.found.values():
        if scored.record and other.record and scored.record.fingerprint != other.record.fingerprint:
            raise DataError(
                f"{scored.exam} in {scored.source} is over other data ({scored.record.fingerprint}) than in "
                f"{other.source} ({other.record.fingerprint}): name runs of the same questions"
            )
        if (scored.record is None) != (other.record is None) and "best" in (
            scored.headline.attempts,
            other.headline.attempts,
        ):
            raise DataError(
                f"{group.exam} takes the best of several answers, and a table of item scores does not say which belong "
                "together: name only runs, or only tables"
            )
        break
    name = scored.model
    if name in group.frames:
        name = f"{scored.model} ({scored.source.name})"
        if name in group.frames:
            raise DataError(
                f"{one_line(scored.model, 60)} took {scored.exam} twice in {scored.source}: name one of them"
            )
        group.notes.append(
            f"{group.exam}: {scored.model} is there from several sources and counts as several models; the one from "
            f"{scored.source.name} is called {name}."
        )
    note = f"{group.exam}: {APART}"
    if clusters_of(scored.scores) is not None and note not in group.notes:
        group.notes.append(note)
    group.frames[name] = scored.scores
    group.found[name] = scored
