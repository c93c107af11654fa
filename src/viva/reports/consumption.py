"""What answers took, a line a model and exam: tokens and how many of them went into thinking, money, time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from viva.engine.consumption import SHARES, Consumed
from viva.reports.result import Grid, Result
from viva.reports.textchart import short_number
from viva.scorers.grading import CUT_OFF_WORDS
from viva.visible import one_line

UNKNOWN = "unknown"
"""What stands where a server counted nothing: never a zero."""
_HEADER = (
    "model", "exam", "tokens an answer", "of them to think", "US$ a right one",
    "first in s", *(f"{share} % in s" for share in SHARES),
)  # fmt: skip
"""Of short words: all of it stands in a terminal of 80 columns."""


def consumption_grid(results: Sequence[Result]) -> Grid:
    """Means over the answers that came, and percentiles of their latency. Columns in which nothing stands are left out.

    What recorded replies took is not known, and they have no row.
    """
    rows = [(result.model, result.exam, *_cells(result.consumed)) for result in results if result.consumed]
    alone = next((at for at in (0, 1) if len({row[at] for row in rows}) == 1), None)
    kept = [at for at in range(len(_HEADER)) if at != alone and any(row[at] for row in rows)]
    title = "What answers took, without judging" + ("" if alone is None else f" · {rows[0][alone]}")
    return Grid(title, tuple(_HEADER[at] for at in kept), tuple(tuple(row[at] for at in kept) for row in rows))


def _cells(took: Consumed) -> tuple[str, ...]:
    thought = "" if not took.thoughts else _mean(took.mean_reasoning, took)
    return (
        _mean(took.mean_output, took) if took.replies else "",
        thought,
        _money(took),
        "" if took.first is None else seconds_text(took.first),
        *(seconds_text(took.latency[share]) if took.latency else "" for share in SHARES),
    )


def _mean(mean: float | None, took: Consumed) -> str:
    """`1,234`; `1,234 (of 12)` where only so many answers came with their count."""
    if mean is None:
        return UNKNOWN
    return f"{mean:,.0f}" + (f" (of {took.counted:,})" if took.counted < took.replies else "")


def _money(took: Consumed) -> str:
    if not took.priced:
        return ""
    if took.cost is None:
        return UNKNOWN
    return "–" if took.cost_of_right is None else dollars(took.cost_of_right)


def judging_notes(took: Mapping[str, Consumed]) -> list[str]:
    """What each judge cost, where its price is known: US dollars, and the tokens of its prompts and replies."""
    return [
        f"Judging, in no row of the table: {one_line(judge, 60)} US$ "
        f"{UNKNOWN if one.cost is None else dollars(one.cost)} "
        f"({short_number(one.input)}+{short_number(one.output)} tokens)."
        for judge, one in took.items()
        if one.priced and one.cost != 0
    ]


def dollars(amount: float) -> str:
    """`12.34`, `0.0123`, `0.0000045`: two digits after the point, or two that are no zeros."""
    if amount >= 0.1 or not amount:
        return f"{amount:,.2f}"
    return f"{amount:.10f}".rstrip("0") if amount < 1e-8 else f"{float(f'{amount:.2g}'):.10f}".rstrip("0")


def seconds_text(value: float) -> str:
    """`123`, `4.5`, `0.32`."""
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.1f}" if value >= 0.95 else f"{value:.2f}"


def cut_off_notes(results: Sequence[Result]) -> list[str]:
    """How many replies of each model the limit of tokens cut off before they said anything, and what helps."""
    notes: list[str] = []
    for result in results:
        for stopped, count in result.cut_off.items():
            where = "thinking" if stopped == "thinking" else "answer"
            notes.append(
                f"{result.model} on {result.exam}: {count:,} answers {CUT_OFF_WORDS[stopped]}: a new run with a larger "
                f"--max-tokens N gives room; `viva show RUN --cut-off {where}` lists them."
            )
    return notes
