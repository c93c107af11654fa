"""`viva score-table`: from a table of item scores to leaderboard rows, or to levels of difficulty."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from viva.cli.options import derive, tables_options
from viva.cli.output import show_study
from viva.studies.score_table.study import ScoreTableConfig, study

_METAVARS = {
    "k": "K", "by": "COLUMN", "levels": "FILE", "published": "MODEL=ROW", "gpt35": "MODEL", "gpt4": "MODEL",
    "gpt4_warm": "MODEL",
}  # fmt: skip


@click.command(name="score-table", short_help="Leaderboard rows from a table of item scores.")
@click.argument("benchmark")
@click.argument("table", type=click.Path(path_type=Path))
@derive(ScoreTableConfig, metavars=_METAVARS)
@tables_options
def score_table_command(**given: Any) -> int:
    """Reduce the item scores in TABLE to BENCHMARK's leaderboard rows, beside the published ones.

    TABLE is CSV or JSONL, also gzipped: a row an answer with `model`, `case` (or `question`), `sample`, `score` (a
    share of 1; empty: unscored) and optionally `repeat` and tags. What `viva grade --out` writes, and a run's
    scores.jsonl, are such tables.

    \b
    viva score-table infibench item_scores.csv.gz --k 1 --k 5 --k 10
    viva score-table infibench item_scores.csv.gz --levels difficulty_levels.yaml --by level
    viva score-table infibench item_scores.csv.gz --difficulty --gpt35 gpt-3.5-turbo --gpt4 gpt-4-0613
    """
    show_study(study, ScoreTableConfig, given)
    return 0
