"""What several answers to one question count as: the best of each repeat, or what to expect of k drawn from all.

Rows come marked (see breakdown.py): points, answered, floor, ceiling, fraction, outcome.
"""

from __future__ import annotations

import polars as pl

from viva.analysis.best import best_at, pass_at
from viva.errors import VivaError

_LAST = -1e9
"""Sort key of a missing answer: behind every score."""
_DECIDING = ("gated", "settled", "waiting")


def best_of_repeats(marked: pl.DataFrame, tags: list[str]) -> pl.DataFrame:
    """Reduce to one row a question and repeat: the best of its known answers.

    What is known never depends on how good it is: a question with a missing answer counts with the best of the others
    (and `short` is 1), whether that is full marks or nothing; a question without a known answer is unanswered. The
    bounds take a missing answer as the worst and as the best that it can be.
    """
    answered = pl.col("answered") == 1
    in_line = marked.sort(
        pl.when(answered).then(pl.col("points")).otherwise(_LAST), descending=True, maintain_order=True
    )
    best = in_line.group_by(["question", "repeat", *tags], maintain_order=True).agg(
        pl.col("points", "outcome").first(),
        pl.coalesce(pl.col("floor").filter(answered).max(), pl.col("floor").max()).alias("floor"),
        pl.col("ceiling", "most", "answered", *_DECIDING).max(),
        pl.col("replies").sum(),
        (pl.col("answered").min() < pl.col("answered").max()).cast(pl.Int32).alias("short"),
    )
    return best.with_columns(_fraction())


def drawn(marked: pl.DataFrame, tags: list[str], attempts: str) -> pl.DataFrame:
    """Reduce to one row a question: what to expect of k answers drawn from all that are known ("best@5", "pass@5").

    A question with fewer than k known answers counts with all of them; one with a missing answer is `short`. The bounds
    are the same expectation over all answers, with a missing one worth nothing, and worth full marks. Raises VivaError
    for another word.
    """
    name, _, count = attempts.partition("@")
    estimate = {"best": best_at, "pass": pass_at}.get(name)
    if estimate is None or not count.isdecimal():
        raise VivaError(f"there is no way to count attempts called {attempts!r}")

    def expected(column: str) -> pl.Series:
        values = [
            estimate(scores, min(int(count), len(scores))) if scores else 0.0 for scores in questions[column].to_list()
        ]
        return pl.Series(column, values, dtype=pl.Float64)

    answered = pl.col("answered") == 1
    questions = (
        marked.sort("answered", maintain_order=True)  # so that the outcome of a missing answer comes first
        .group_by(["question", *tags], maintain_order=True)
        .agg(
            pl.col("points").filter(answered),
            pl.col("floor", "ceiling", "most"),
            pl.col("outcome").first().cast(pl.String),
            pl.col("answered", *_DECIDING).max(),
            pl.col("replies").sum(),
            (pl.col("answered").min() < pl.col("answered").max()).cast(pl.Int32).alias("short"),
        )
    )
    points = pl.col("points")
    return (
        questions.with_columns(*map(expected, ("points", "floor", "ceiling", "most")), repeat=pl.lit(0, dtype=pl.Int32))
        .with_columns(
            outcome=pl.when(~answered)
            .then(pl.col("outcome"))
            .when(points >= 1.0)
            .then(pl.lit("right"))
            .when(points > 0.0)
            .then(pl.lit("partly"))
            .otherwise(pl.lit("wrong")),
        )
        .with_columns(_fraction())
    )


def _fraction() -> pl.Expr:
    points = pl.col("points")
    return ((points != 0.0) & (points != 1.0) & (pl.col("answered") == 1)).cast(pl.Int32).alias("fraction")
