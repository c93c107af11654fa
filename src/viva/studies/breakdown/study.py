"""Scores by any tag: every slice compared with the rest."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, cast

from msgspec import Meta, Struct

from viva.analysis.slices import Slices, slices
from viva.commands import command
from viva.errors import DataError, VivaError, option
from viva.fields import note
from viva.render.findings import Findings
from viva.runs.score_table import rows_of
from viva.studies.breakdown.chart import slices_chart
from viva.studies.breakdown.tables import Shown, findings
from viva.studies.item_scores import EXAM, Correct, OnlyExams, OnlyModels, Runs, ScoreSet, once_each, score_sets
from viva.visible import one_line, some

SMALLEST = 10
PICKED = 5
"""Number of worst and of best slices shown when no tag is named."""
MOST = 3000
"""The most slices of one model: more take minutes, and after adjusting for their number nothing is significant."""


class BreakdownConfig(Struct, kw_only=True):
    """Break the scores of run folders (or a folder of runs, or tables of item scores) down by tags: every slice with
    its interval and outcomes, and its difference from the rest of the questions, tested with control over how many
    slices were looked at.

    \b
    viva breakdown runs/NAME                                     the five worst and best slices over all tags
    viva breakdown runs/NAME --by negation                       CMMLU: are negated questions harder?
    viva breakdown runs/a runs/b --by domain --by tag --chart heat.svg
    """

    sources: Runs
    by: Annotated[
        tuple[str, ...],
        note(
            "Break down by this tag; repeat it to cross tags (a slice a combination).  [default: every tag of its own]",
            metavar="TAG",
        ),
    ] = ()
    pairs: Annotated[bool, note("Without --by: also every pair of tags.")] = False
    worst: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        note(
            f"Only so many slices that lie furthest below the rest.  [default: {PICKED} without --by, else all slices]"
        ),
    ] = None
    best: Annotated[Annotated[int, Meta(ge=0)] | None, note("The same for those furthest above it.")] = None
    min: Annotated[int, Meta(ge=1, description="Answered questions that a slice must have to be tested.")] = SMALLEST
    correct: Correct = "holm"
    pooled: Annotated[
        bool, note("Also pooled scores, which use the other slices of the same tags: for many slices of few questions.")
    ] = False
    model: OnlyModels = ()
    exam: OnlyExams = ()


@command(BreakdownConfig, chart="Draw one model's intervals, or a heat map of several")
def study(config: BreakdownConfig) -> Findings[tuple[Slices, ...]]:
    """Break scores down by tags: every slice with its interval, outcomes and difference from the rest, tested with
    control over how many were looked at. Raises VivaError where a table would be too large.
    """
    if config.pairs and config.by:
        raise VivaError(f"looks at every pair of tags: leave out {option('by')}, which names them", field="pairs")
    cuts = tuple(_slices(config))
    if all(cut.overall.mean is None and not cut.overall.ranged for cut in cuts):
        named = some([f"{one_line(cut.model)} on {cut.exam}" for cut in cuts], PICKED)
        raise DataError(f"no answer of {named} has a score, so nothing can be broken down: `viva resume` asks again")
    # If no slice can be tested, none is the worst, and all are shown.
    few = not config.by and config.worst is None and config.best is None and any(cut.compared for cut in cuts)
    worst, best = (PICKED, PICKED) if few else (config.worst, config.best)
    shown = Shown(worst=worst, best=best, pooled=config.pooled)
    return findings(cuts, shown, partial(slices_chart, cuts, shown))


def _slices(config: BreakdownConfig) -> Iterator[Slices]:
    tags = config.by or _tags_of_tables(config.sources)
    sets = score_sets(config.sources, EXAM, tags=tags, required=config.by, models=config.model, exams=config.exam)
    for scored in once_each(sets):
        cuts = _cuts(list(scored.scores.tags), config)
        if not cuts:
            raise DataError(f"{scored.source}: the questions of {scored.exam} have no tags to break down by")
        _refuse_too_many(scored, cuts)
        yield slices(
            scored.exam,
            scored.model,
            scored.scores,
            cuts,
            headline=scored.headline,
            smallest=config.min,
            correct=config.correct,
            pool=config.pooled,
        )


def _cuts(tags: Sequence[str], config: BreakdownConfig) -> list[tuple[str, ...]]:
    """Return the combinations of tags to break down by."""
    if config.by:
        return [tuple(dict.fromkeys(config.by))]
    pairs = itertools.combinations(tags, 2) if config.pairs else ()
    return [*((tag,) for tag in tags), *pairs]


def _refuse_too_many(scored: ScoreSet, cuts: Sequence[tuple[str, ...]]) -> None:
    known = set(scored.scores.texts)
    count = sum(
        len(scored.scores.groups(*columns)[1])
        for combination in cuts
        if known.issuperset(columns := [f"tag:{tag}" for tag in combination])
    )
    if count > MOST:
        raise VivaError(
            f"{scored.exam}: that would be {count:,} slices, more than {MOST:,}: name fewer or coarser tags with "
            f"{option('by')}"
        )


def _tags_of_tables(sources: Sequence[Path]) -> tuple[str, ...]:
    """Return the tags of tables of item scores, where their rows say which columns are tags (scores.jsonl does)."""
    names: dict[str, None] = {}
    for source in sources:
        if source.is_dir():
            continue
        _, row = next(rows_of(source), (0, {}))
        tags = row.get("tags")
        if not isinstance(tags, dict):
            columns = ", ".join(one_line(str(name), 40) for name in row) or "nothing"
            raise DataError(
                f"{source} does not say which columns are tags: name one with {option('by', 'TAG')}; it has {columns}"
            )
        names.update(dict.fromkeys(cast("dict[str, object]", tags)))
    return tuple(names)
