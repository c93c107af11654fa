"""Leaderboard rows or levels of difficulty from a table of item scores, compared with published rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta, Struct

from viva.analysis.items.itemscores import TRIALS
from viva.benchmarks import BENCHMARKS
from viva.commands import command
from viva.errors import DataError, VivaError, flag, option
from viva.fields import note
from viva.published import Entry, called, catalogue, find, similar, table
from viva.runs.exams import read_level_file
from viva.runs.score_table import ModelScores, read_scores_table
from viva.studies.item_scores import listed, table_rows
from viva.types import ScoreRow
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.render.findings import Findings
    from viva.studies.score_table.tables import Grouping, LeaderboardRow

_Count = Annotated[int, Meta(ge=1, le=100_000)]


class ScoreTableConfig(Struct, kw_only=True):
    """Reduce the item scores in TABLE to leaderboard rows, beside the published ones of --benchmark.

    TABLE is CSV or JSONL, also gzipped: a row an answer with `model`, `case` (or `question`), `sample`, `score` (a
    share of 1; empty: unscored) and optionally `repeat` and tags. What `viva grade --out` writes, and a run's
    scores.jsonl, are such tables.

    \b
    viva score item_scores.csv.gz --benchmark infibench --k 1 --k 5 --k 10
    viva score item_scores.csv.gz --benchmark infibench --levels difficulty_levels.yaml --by level
    viva score item_scores.csv.gz --difficulty --gpt35 gpt-3.5-turbo --gpt4 gpt-4-0613
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
        Path | None,
        note(
            "The questions' published levels (difficulty_levels.yaml): for `--by level`, or to compare "
            "--difficulty with.",
            metavar="FILE",
        ),
    ] = None
    published: Annotated[
        tuple[str, ...],
        note("Which published row to show beside a model, where the names do not tell.", metavar="MODEL=ROW"),
    ] = ()
    difficulty: Annotated[bool, note("Instead: every question's level, by the paper's rule.")] = False
    gpt35: Annotated[str | None, note("The rule's weaker examiner (GPT-3.5 in the paper).", metavar="MODEL")] = None
    gpt4: Annotated[str | None, note("Its stronger examiner (GPT-4 at temperature 0.2).", metavar="MODEL")] = None
    gpt4_warm: Annotated[str | None, note("The stronger one at temperature 1.0; tells level 3.", metavar="MODEL")] = (
        None
    )
    trials: Annotated[int, Meta(ge=1, description="Answers without a point that make a question level 5.")] = TRIALS


@command(ScoreTableConfig)
def study(config: ScoreTableConfig) -> Findings[tuple[LeaderboardRow, ...]] | Findings[Grouping]:
    """Reduce a table of item scores to a benchmark's leaderboard rows, beside the published ones; or tell the levels of
    its questions. Raises VivaError for an unknown benchmark or model, DataError for a damaged table.
    """
    if config.benchmark not in ("", *BENCHMARKS):
        raise VivaError(f"there is no benchmark {config.benchmark!r}; there are: {', '.join(BENCHMARKS)}")
    _refuse_contradictions(config)
    levels = read_level_file(config.levels) if config.levels else {}
    columns = tuple(tag for tag in dict.fromkeys(config.by) if not (tag == "level" and levels))
    models = read_scores_table(config.table, columns)
    return _difficulty(models, config, levels) if config.difficulty else _leaderboard(models, config, levels)


def _leaderboard(
    models: Mapping[str, ModelScores], config: ScoreTableConfig, levels: Mapping[str, int]
) -> Findings[tuple[LeaderboardRow, ...]]:
    from viva.studies.score_table import tables as report

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
        for tag in dict.fromkeys(config.by)
        for name, own in scored.items()
    }
    title = f"{config.benchmark or 'item scores'} · {config.table.name}"
    return report.findings(title, standings, parts, _notes_on_published(config.benchmark, standings, rows))


def _difficulty(
    models: Mapping[str, ModelScores], config: ScoreTableConfig, given: Mapping[str, int]
) -> Findings[Grouping]:
    from viva.analysis.items.itemscores import levels
    from viva.studies.score_table.tables import Grouping, grouping_findings

    def scores(name: str | None) -> dict[str, list[float | None]] | None:
        if name is None:
            return None
        if name not in models:
            raise DataError(f"{config.table} has no model {name!r}; it has: {listed(models)}")
        return models[name].scores

    weaker, stronger, warm = scores(config.gpt35), scores(config.gpt4), scores(config.gpt4_warm)
    grouping = Grouping(
        table=config.table.name,
        weaker=config.gpt35 or "",
        stronger=config.gpt4 or "",
        warm=config.gpt4_warm or "",
        trials=config.trials,
        found=levels(weaker or {}, stronger or {}, warm, trials=config.trials),
        given=dict(given),
    )
    return grouping_findings(grouping)


def _refuse_contradictions(wanted: ScoreTableConfig) -> None:
    """Raise VivaError for options that do not go together."""
    if not wanted.difficulty:
        for name in ("gpt35", "gpt4", "gpt4_warm"):
            if (model := getattr(wanted, name)) is not None:
                raise VivaError(
                    f"{model} says who examines for {option('difficulty')}; add {option('difficulty')}", field=name
                )
        if wanted.published and not wanted.benchmark:
            raise VivaError(
                f"{wanted.published[0]} names a row of a benchmark; add {option('benchmark', 'NAME')}",
                field="published",
            )
        return
    for name in ("gpt35", "gpt4"):
        if getattr(wanted, name) is None:
            raise VivaError(
                f"needs {option(name, 'MODEL')}: which model of the table takes that part in the rule",
                field="difficulty",
            )
    for name in ("by", "k", "published"):
        if given := getattr(wanted, name):
            raise VivaError(
                f"{option(name)} {given[0]} belongs to the leaderboard; leave it out with {option('difficulty')}"
            )


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
        rows_by_model[name] = called(rows, row_name)
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
