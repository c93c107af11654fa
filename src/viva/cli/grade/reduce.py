"""`viva score-table`: from a table of item scores to leaderboard rows, or to levels of difficulty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from viva.analysis.difficulty import TRIALS
from viva.benchmarks import BENCHMARKS
from viva.cli.options import tables_options
from viva.cli.output import check_writable, emit, screen
from viva.errors import DataError, VivaError
from viva.runs.config import pick
from viva.runs.question_lists import read_level_file
from viva.runs.score_table import ModelScores, read_scores_table
from viva.studies.score_table.study import (
    Reduction,
    listed_models,
    notes_on_published,
    notes_on_strangers,
    published_rows,
    refuse_contradictions,
    values_of,
)

if TYPE_CHECKING:
    from viva.reports.result import Grid


@click.command(name="score-table", short_help="Leaderboard rows from a table of item scores.")
@click.argument("benchmark")
@click.argument("table", type=click.Path(path_type=Path))
@click.option(
    "--k",
    type=click.IntRange(1, 100_000),
    multiple=True,
    metavar="K",
    help="Also best@K and pass@K, unbiased, for any K up to the number of samples; repeatable.  [default: --group]",
)
@click.option(
    "--group",
    type=click.IntRange(1, 100_000),
    default=10,
    show_default=True,
    help="Answers a group of the paper's best@k ± sd.",
)
@click.option("--by", multiple=True, metavar="COLUMN", help="Also a table by this column's values; repeatable.")
@click.option(
    "--levels",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The questions' published levels (difficulty_levels.yaml): for `--by level`, or to compare --difficulty with.",
)
@click.option(
    "--published",
    multiple=True,
    metavar="MODEL=ROW",
    help="Which published row to show beside a model, where the names do not tell.",
)
@click.option("--difficulty", is_flag=True, help="Instead: every question's level, by the paper's rule.")
@click.option("--gpt35", metavar="MODEL", help="The rule's weaker examiner (GPT-3.5 in the paper).")
@click.option("--gpt4", metavar="MODEL", help="Its stronger examiner (GPT-4 at temperature 0.2).")
@click.option("--gpt4-warm", metavar="MODEL", help="The stronger one at temperature 1.0; tells level 3.")
@click.option(
    "--trials",
    type=click.IntRange(1),
    default=TRIALS,
    show_default=True,
    help="Answers without a point that make a question level 5.",
)
@tables_options
def score_table_command(benchmark: str, table: Path, **given: Any) -> int:
    """Reduce the item scores in TABLE to BENCHMARK's leaderboard rows, beside the published ones.

    TABLE is CSV or JSONL, also gzipped: a row an answer with `model`, `case` (or `question`), `sample`, `score` (a
    share of 1; empty: unscored) and optionally `repeat` and tags. What `viva grade --out` writes, and a run's
    scores.jsonl, are such tables.

    \b
    viva score-table infibench item_scores.csv.gz --k 1 --k 5 --k 10
    viva score-table infibench item_scores.csv.gz --levels difficulty_levels.yaml --by level
    viva score-table infibench item_scores.csv.gz --difficulty --gpt35 gpt-3.5-turbo --gpt4 gpt-4-0613
    """
    if benchmark not in BENCHMARKS:
        raise VivaError(f"there is no benchmark {benchmark!r}; there are: {', '.join(BENCHMARKS)}")
    wanted = pick(Reduction, given)
    check_writable(wanted.out)
    refuse_contradictions(wanted)
    levels = read_level_file(wanted.levels) if wanted.levels else {}
    columns = tuple(tag for tag in dict.fromkeys(wanted.by) if not (tag == "level" and levels))
    models = read_scores_table(table, columns)
    if wanted.difficulty:
        emit(_difficulty(table, models, wanted, levels), wanted.out)
    else:
        emit(_leaderboard(benchmark, table, models, wanted, levels), wanted.out)
    return 0


def _leaderboard(
    benchmark: str, table: Path, models: Mapping[str, ModelScores], wanted: Reduction, levels: Mapping[str, int]
) -> str:
    from viva.reports import leaderboard as report

    most = max((len(answers) for model in models.values() for answers in model.scores.values()), default=1)
    group = min(wanted.group, max(1, most))  # of three answers there is no best of ten
    ks = tuple(dict.fromkeys(wanted.k)) or (group,)
    rows = published_rows(benchmark, models, wanted.published)
    board = report.Leaderboard(
        benchmark=benchmark,
        table=table.name,
        group=group,
        standings=tuple(
            report.standing(name, list(model.scores.values()), group, ks, rows.get(name))
            for name, model in models.items()
        ),
        parts=tuple(
            part
            for tag in dict.fromkeys(wanted.by)
            for name, model in models.items()
            for part in report.parts(name, model.scores, tag, values_of(model, tag, levels), group, ks, rows.get(name))
        ),
    )
    questions = len({question for model in models.values() for question in model.scores})
    notes = (
        *report.notes_on(board),
        *notes_on_strangers(models),
        *notes_on_published(benchmark, questions, models, rows),
    )
    board = msgspec.structs.replace(board, notes=notes)
    if wanted.format == "json":
        return report.leaderboard_json(board)
    if wanted.format == "csv":
        return report.leaderboard_csv(board)
    return _rendered(report.leaderboard_grids(board), [*board.notes, report.legend(group)], wanted)


def _difficulty(table: Path, models: Mapping[str, ModelScores], wanted: Reduction, given: Mapping[str, int]) -> str:
    from viva.analysis.difficulty import levels
    from viva.reports import difficulty as report

    def scores(name: str | None) -> dict[str, list[float | None]] | None:
        if name is None:
            return None
        if name not in models:
            raise DataError(f"{table} has no model {name!r}; it has: {listed_models(models)}")
        return models[name].scores

    weaker, stronger, warm = scores(wanted.gpt35), scores(wanted.gpt4), scores(wanted.gpt4_warm)
    found = report.Grouping(
        table=table.name,
        weaker=wanted.gpt35 or "",
        stronger=wanted.gpt4 or "",
        warm=wanted.gpt4_warm or "",
        trials=wanted.trials,
        found=levels(weaker or {}, stronger or {}, warm, trials=wanted.trials),
        given=dict(given),
    )
    if wanted.format == "json":
        return report.difficulty_json(found)
    if wanted.format == "csv":
        return report.difficulty_csv(found)
    return _rendered(report.difficulty_grids(found), report.difficulty_notes(found), wanted)


def _rendered(grids: Sequence[Grid], closing: Sequence[str], wanted: Reduction) -> str:
    from viva.reports.grids import GRID_FORMATS, grids_terminal

    if wanted.format != "terminal":
        return GRID_FORMATS[wanted.format](grids, closing)
    width, colour = screen(wanted.out)
    return grids_terminal(grids, closing, width=width, colour=colour)
