"""What several answers to one question count as: the best of each repeat, or what to expect of k drawn from all.

Rows come marked (see breakdown.py): points, answered, floor, ceiling, fraction, outcome.
"""

from __future__ import annotations

import polars as pl

from viva.analysis.best import best_at, pass_at
from viva.errors import VivaError

_LAST = -1e9
"""Where an answer that is not there stands in line: behind every score."""


def best_of_repeats(marked: pl.DataFrame, tags: list[str]) -> pl.DataFrame:
    """One row a question and repeat: its best answer.

    Where an answer is missing and the best of the others is not full marks, the best is not known: the row is
    unanswered, and bounded from below by the best known.
    """
    answered = pl.col("answered") == 1
    in_line = marked.sort(
        pl.when(answered).then(pl.col("points")).otherwise(_LAST), descending=True, maintain_order=True
    )
    best = in_line.group_by(["question", "repeat", *tags], maintain_order=True).agg(
        pl.col("points").first(),
        pl.col("outcome").first(),
        pl.col("outcome").last().alias("missing"),
        pl.col("answered").min().alias("whole"),
        pl.col("floor", "ceiling").max(),
    )
    known = (pl.col("whole") == 1) | (pl.col("points") >= 1.0)
    points = pl.when(known).then(pl.col("points")).otherwise(0.0)
    return best.with_columns(
        outcome=pl.when(known).then(pl.col("outcome")).otherwise(pl.col("missing")),
        points=points,
        answered=known.cast(pl.Int32),
        fraction=(known & (pl.col("points") != 0.0) & (pl.col("points") != 1.0)).cast(pl.Int32),
    ).drop("missing", "whole")


def drawn(marked: pl.DataFrame, tags: list[str], attempts: str) -> pl.DataFrame:
    """One row a question: what to expect of k answers drawn from all that there are ("best@5", "pass@5").

    A question with a missing answer is unanswered. Raises VivaError for another word.
    """
    name, _, count = attempts.partition("@")
    estimate = {"best": best_at, "pass": pass_at}.get(name)
    if estimate is None or not count.isdecimal():
        raise VivaError(f"there is no way to count attempts called {attempts!r}")
    questions = (
        marked.sort("answered", maintain_order=True)  # so that the outcome of a missing answer comes first
        .group_by(["question", *tags], maintain_order=True)
        .agg(pl.col("points"), pl.col("answered").min(), pl.col("outcome").first().cast(pl.String))
    )
    values = [estimate(points, min(int(count), len(points))) for points in questions["points"].to_list()]
    whole = pl.col("answered") == 1
    return questions.with_columns(
        points=pl.when(whole).then(pl.Series(values, dtype=pl.Float64)).otherwise(0.0),
        repeat=pl.lit(0, dtype=pl.Int32),
    ).with_columns(
        outcome=pl.when(~whole)
        .then(pl.col("outcome"))
        .otherwise(
            pl.when(pl.col("points") >= 1.0)
            .then(pl.lit("right"))
            .when(pl.col("points") > 0.0)
            .then(pl.lit("partly"))
            .otherwise(pl.lit("wrong"))
        ),
        floor=pl.col("points"),
        ceiling=pl.when(whole).then(pl.col("points")).otherwise(1.0),
        fraction=((pl.col("points") != 0.0) & (pl.col("points") != 1.0)).cast(pl.Int32),
    )
