"""Scores by any tag, every slice against the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from msgspec import Struct

from viva.errors import DataError, VivaError
from viva.runs.item_scores import EXAM, ScoreSet, score_sets
from viva.runs.score_table import rows_of
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.analysis.slices import Slices


SMALLEST = 10
MOST = 3000
"""Slices of one model that are looked at: more takes minutes, and finds nothing after so many comparisons."""


class BreakdownConfig(Struct, kw_only=True):
    """What is to be told, and how."""

    by: tuple[str, ...] = ()
    pairs: bool = False
    worst: int | None = None
    best: int | None = None
    smallest: int = SMALLEST
    correct: Literal["holm", "bh", "none"] = "holm"
    model: tuple[str, ...] = ()
    exam: tuple[str, ...] = ()
    chart: Path | None = None
    format: str = "terminal"
    out: Path | None = None


def study(sources: Sequence[Path], config: BreakdownConfig) -> Iterator[Slices]:
    """The slices of every model and exam in the sources. Raises VivaError where a table would be too large."""
    from viva.analysis.slices import slices, tags_of

    origin: dict[tuple[str, str], Path] = {}
    for one in score_sets(sources, EXAM, tags=config.by or _tags_of_tables(sources)):
        if (config.model and not one.is_called(config.model)) or (config.exam and one.exam not in config.exam):
            continue
        if earlier := origin.get((one.exam, one.model)):
            raise DataError(
                f"{one_line(one.model, 60)} took {one.exam} both in {earlier} and in {one.source}: name one of them"
            )
        origin[one.exam, one.model] = one.source
        cuts = _cuts(tags_of(one.scores), config)
        if not cuts:
            raise DataError(f"{one.source}: the questions of {one.exam} have no tags to break down by")
        _refuse_too_many(one, cuts)
        yield slices(
            one.exam,
            one.model,
            one.scores,
            cuts,
            headline=one.headline,
            smallest=config.smallest,
            correct=config.correct,
        )


def _cuts(tags: Sequence[str], config: BreakdownConfig) -> list[tuple[str, ...]]:
    """The combinations of tags that are looked at."""
    if config.by:
        return [tuple(dict.fromkeys(config.by))]
    pairs = [(a, b) for index, a in enumerate(tags) for b in tags[index + 1 :]] if config.pairs else []
    return [*((tag,) for tag in tags), *pairs]


def _refuse_too_many(one: ScoreSet, cuts: Sequence[tuple[str, ...]]) -> None:
    known = set(one.scores.columns)
    count = sum(
        one.scores.select(columns).n_unique()
        for combination in cuts
        if known.issuperset(columns := [f"tag:{tag}" for tag in combination])
    )
    if count > MOST:
        raise VivaError(
            f"{one.exam}: that would be {count:,} slices, more than {MOST:,}: name fewer or coarser tags with --by"
        )


def _tags_of_tables(sources: Sequence[Path]) -> tuple[str, ...]:
    """The tags of tables of item scores, where their rows say which columns are tags (scores.jsonl does)."""
    names: dict[str, None] = {}
    for source in sources:
        if source.is_dir():
            continue
        _, row = next(rows_of(source), (0, {}))
        tags = row.get("tags")
        if not isinstance(tags, dict):
            columns = ", ".join(one_line(str(name), 40) for name in row) or "nothing"
            raise DataError(f"{source} does not say which columns are tags: name one with --by TAG; it has {columns}")
        names.update(dict.fromkeys(cast("dict[str, object]", tags)))
    return tuple(names)
