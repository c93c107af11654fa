"""Leaderboard rows from a table of item scores, compared with published rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta, Struct

from viva.benchmarks import BENCHMARKS
from viva.commands import command
from viva.errors import VivaError, flag, option
from viva.fields import note
from viva.published import Entry, called, catalogue, find, similar, table
from viva.runs.exams import read_level_file
from viva.runs.score_table import ModelScores, read_scores_table
from viva.studies.item_scores import listed, table_rows
from viva.types import ScoreRow
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.render.findings import Findings
    from viva.studies.score_table.tables import LeaderboardRow

_Count = Annotated[int, Meta(ge=1, le=100_000)]


class ScoreTableConfig(Struct, kw_only=True):
    """Reduce the item scores in TABLE to leaderboard rows, beside the published ones of --benchmark.

    TABLE is CSV or JSONL, also gzipped: a row an answer with `model`, `case` (or `question`), `sample`, `score` (a
    share of 1; empty: unscored) and optionally `repeat` and tags. What `viva grade --out` writes, and a run's
    scores.jsonl, are such tables.

    \b
    viva score item_scores.csv.gz --benchmark infibench --k 1 --k 5 --k 10
    viva score item_scores.csv.gz --benchmark infibench --levels difficulty_levels.yaml --by level
    """

    table: Annotated[Path, note("CSV or JSONL: a row an answer with model, question, sample, score.", argument=True)]
    benchmark: Annotated[str, note("Whose questions were scored: its published rows stand beside.", metavar="NAME")] = (
        ""
    )
    k: Annotated[
        tuple[_Count, ...],
        note(
            "Also best@K and pass@K, unbiased, for any K up to the number of samples; repeatable.  [default: --group]",
            metavar="K",
        ),
    ] = ()
    group: Annotated[_Count, note("Answers a group of the paper's best@k ± sd.")] = 10
    by: Annotated[tuple[str, ...], note("Also a table by this column's values; repeatable.", metavar="COLUMN")] = ()
    levels: Annotated[
        Path | None, note("The questions' published levels (difficulty_levels.yaml), for `--by level`.", metavar="FILE")
    ] = None
    published: Annotated[
        tuple[str, ...],
        note("Which published row to show beside a model, where the names do not tell.", metavar="MODEL=ROW"),
    ] = ()


@command(ScoreTableConfig)
def study(config: ScoreTableConfig) -> Findings[tuple[LeaderboardRow, ...]]:
    """Reduce a table of item scores to a benchmark's leaderboard rows, beside the published ones. Raises VivaError for
    an unknown benchmark or model, DataError for a damaged table.
    """
    from viva.studies.score_table import tables as report

    if config.benchmark not in ("", *BENCHMARKS):
        raise VivaError(f"there is no benchmark {config.benchmark!r}; there are: {', '.join(BENCHMARKS)}")
    if config.published and not config.benchmark:
        raise VivaError(
            f"{config.published[0]} names a row of a benchmark; add {option('benchmark', 'NAME')}", field="published"
        )
    levels = read_level_file(config.levels) if config.levels else {}
    tags = tuple(dict.fromkeys(config.by))
    models = read_scores_table(config.table, tuple(tag for tag in tags if not (tag == "level" and levels)))
    most = max((len(answers) for model in models.values() for answers in model.scores.values()), default=1)
    group = min(config.group, max(1, most))  # no larger than the number of answers
    ks = tuple(dict.fromkeys(config.k)) or (group,)
    rows = _published_rows(config.benchmark, models, config.published)
    scored = {name: list(table_rows("", name, model, group)) for name, model in models.items()}
    standings = [
        next(report.ranked_rows(name, own, group, ks, published=rows.get(name))) for name, own in scored.items()
    ]
    parts = {
        (tag, name): [*report.ranked_rows(name, _with_levels(own, tag, levels), group, ks, tag, rows.get(name))]
        for tag in tags
        for name, own in scored.items()
    }
    title = f"{config.benchmark or 'item scores'} · {config.table.name}"
    return report.findings(title, standings, parts, _notes_on_published(config.benchmark, standings, rows))


def _with_levels(rows: list[ScoreRow], tag: str, levels: Mapping[str, int]) -> list[ScoreRow]:
    """Return scores with the published levels as a tag, if requested."""
    if tag != "level" or not levels:
        return rows
    return [msgspec.structs.replace(row, tags={**row.tags, tag: str(levels.get(row.question, ""))}) for row in rows]


def _leaderboard_of(benchmark: str) -> tuple[Entry, ...]:
    """Return a benchmark's published rows if its paper takes the best of several answers; else none."""
    best = (setting for setting in catalogue()[benchmark].settings if setting.answers > 1) if benchmark else ()
    return next((table(benchmark, declared.tables[0]).entries for declared in best), ())


def _published_rows(benchmark: str, models: Mapping[str, ModelScores], names: Sequence[str]) -> dict[str, Entry]:
    """Return model → its published row: the one named by the user, else that of the same name; other models are left
    out.
    """
    rows = _leaderboard_of(benchmark)
    rows_by_model = {name: row for name in models if (row := find(rows, name)) is not None}
    for given in names:
        name, _, row_name = given.rpartition("=")
        if name not in models:
            raise VivaError(
                f"{given!r}: write MODEL=ROW, with a model of the table: {listed(models)}", field="published"
            )
        rows_by_model[name] = called(rows, row_name, "published")
    return rows_by_model


def _notes_on_published(benchmark: str, standings: Sequence[LeaderboardRow], rows: Mapping[str, Entry]) -> list[str]:
    """Return notes on why published rows are not comparable with the table's models."""
    from viva.studies.score_table.tables import same_questions

    notes: list[str] = []
    questions = max(row.questions for row in standings)
    size = catalogue()[benchmark].settings[0].questions if rows else questions
    if questions != size:
        notes.append(f"The published rows are about {size:,} questions, this table about {questions:,}: not the same.")
    for row in standings:
        if row.model in rows and not same_questions(row):
            notes.append(f"{row.model}: too many questions have no score for a published figure beside it.")
    for row in standings:
        near = [] if row.model in rows else similar(_leaderboard_of(benchmark), row.model)
        if near:
            choices = " or ".join(f"{flag('published')} '{one_line(row.model)}={other.name}'" for other in near)
            notes.append(f"{row.model}: no published row has this name; if it is one of these, say so: {choices}.")
    return notes
