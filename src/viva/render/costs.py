"""What answers took, a line a model and exam: tokens and how many of them went into thinking, money, time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from viva.engine.budget import SHARES, Consumed, who_answered
from viva.errors import flag
from viva.render.result import Result, mixed_notes
from viva.render.table import FIGURE, NAME, Column, Kind, Table, item
from viva.render.textchart import short_number
from viva.scorers.grading import CUT_OFF_WORDS
from viva.visible import dollars, one_line, plural

UNKNOWN = "unknown"
"""What stands where a server counted nothing: never a zero."""


def consumption_table(results: Sequence[Result]) -> Table:
    """Return means over the answers that came, and percentiles of their latency. Columns in which nothing stands are
    left out.

    What recorded replies took is not known, and they have no row.
    """
    rows = [(result.model, result.exam, result.consumed) for result in results if result.consumed]
    return _table("What answers took, without judging", _CONSUMED, rows)


def served_table(results: Sequence[Result]) -> Table:
    """Return who answered, by the replies' own word: a line each, the most frequent first."""
    rows = [
        (result.model, result.exam, each)
        for result in results
        for each in (result.consumed.served if result.consumed else ())
    ]
    return _table("Who answered", _SERVED, rows)


def _table(title: str, columns: Sequence[Column], rows: Sequence[tuple[str, str, object]]) -> Table:
    """Return rows without the columns in which nothing stands; where all have one model or exam, the title says
    which.
    """
    whole = Table(title, (Column("model", "0", NAME), Column("exam", "1", NAME), *columns), rows)
    alone = next((at for at in (0, 1) if len({row[at] for row in rows}) == 1), None)
    kept = tuple(column for at, column in enumerate(whole.filled().columns) if at != alone)
    return Table(title if alone is None else f"{title} · {rows[0][alone]}", kept, rows)


def _mean(mean: float | None, took: Consumed) -> str:
    """Return `1,234`; `1,234 (of 12)` where only so many answers came with their count."""
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
    """Return what each judge cost, where its price is known: US dollars, and the tokens of its prompts and replies. And
    which judges are several models.
    """
    mixed = {f"the judge {judge}": said for judge, one in took.items() if (said := who_answered(one.served))}
    return mixed_notes(mixed) + [
        f"Judging, in no row of the table: {one_line(judge, 60)} US$ "
        f"{UNKNOWN if one.cost is None else dollars(one.cost)} "
        f"({short_number(one.input)}+{short_number(one.output)} tokens)."
        for judge, one in took.items()
        if one.priced and one.cost != 0
    ]


def seconds_text(value: float) -> str:
    """Return `123`, `4.5`, `0.32`."""
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.1f}" if value >= 0.95 else f"{value:.2f}"


def cut_off_notes(results: Sequence[Result]) -> list[str]:
    """Return how many replies of each model the limit of tokens cut off before they said anything, and what helps."""
    notes: list[str] = []
    for result in results:
        for stopped, count in result.cut_off.items():
            where = "thinking" if stopped == "thinking" else "answer"
            notes.append(
                f"{result.model} on {result.exam}: {plural(count, 'answer')} {CUT_OFF_WORDS[stopped]}: a new run with "
                f"a larger {flag('max_tokens', 'N')} gives room; `viva show RUN {flag('cut_off')} {where}` "
                "lists them."
            )
    return notes


_SECONDS = Kind(seconds_text, none="")
_CONSUMED = (
    Column("tokens an answer", "2", Kind(lambda took: _mean(took.mean_output, took) if took.replies else "")),
    Column("of them to think", "2", Kind(lambda took: _mean(took.mean_reasoning, took) if took.thoughts else "")),
    Column("US$ a right one", "2", Kind(_money)), Column("first in s", "2.first", _SECONDS),
    *(Column(f"{share} % in s", item("2.latency", share), _SECONDS) for share in SHARES),
)  # fmt: skip
"""Of short words: all of it stands in a terminal of 80 columns."""
_WORD = Kind(lambda value: one_line(value, 60))
_SERVED = (
    Column("served model", "2.model", _WORD), Column("provider", "2.provider", _WORD),
    Column("fingerprint", "2.system_fingerprint", _WORD), Column("answers", "2.answers", FIGURE),
)  # fmt: skip
