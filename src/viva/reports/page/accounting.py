"""What was not scored, model by model: how much of it, why, and what it could make of the score."""

from __future__ import annotations

from collections.abc import Sequence

from viva.reports.result import UNSURE, Grid, Result, bounds_text, cell_text, percent
from viva.types import SCORED, Outcome, outcome_name

WHY: dict[Outcome, tuple[str, str]] = {
    "unparsed": ("the reply commits to no answer that can be read", "no point, stays in the denominator"),
    "empty": ("nothing visible came back", "no point, stays in the denominator"),
    "truncated": ("the token limit cut it off before it committed to anything", "no point, stays in the denominator"),
    "refused": ("the model declines to answer", "no point, stays in the denominator"),
    "error": ("no reply: an outage, a limit of the server", f"left out of the mean {UNSURE}, kept in the bounds"),
    "not asked": (
        "the run ended before its turn came, or its batch is not back",
        f"left out of the mean {UNSURE}, kept in the bounds",
    ),
    "ungraded": (
        "it needs a judge or a toolchain, and there was none, or no readable verdict",
        f"left out of the mean {UNSURE}, kept in the bounds",
    ),
    "unsound": ("the data set has no usable gold answer", f"left out of the mean {UNSURE}, kept in the bounds"),
}


def unscored(results: Sequence[Result]) -> Grid:
    """A row for every model, exam and outcome without a score; no rows where everything has one."""
    header = ("model", "exam", "outcome", "answers", "of all, %", "because", "in the mean", "score", "bounds")
    rows = [
        (
            result.model,
            result.exam,
            outcome_name(outcome),
            f"{count:,}",
            percent(count / result.overall.n),
            *WHY[outcome],
            cell_text(result.overall),
            bounds_text(result.overall),
        )
        for result in results
        for outcome, count in result.overall.outcomes.items()
        if outcome not in SCORED and outcome in WHY
    ]
    return Grid("What was not scored, and why", header, tuple(rows))
