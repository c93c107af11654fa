"""Tables of `viva runs`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from msgspec import Struct

from viva.analysis.estimate import UNSURE, bounds_text, interval_text, mean_text
from viva.errors import flag
from viva.render.findings import Findings
from viva.render.result import FILLED, LEFT_OUT, Result
from viva.render.table import NAME, Column, Kind, Table, fields
from viva.visible import dollars, one_line, plural

JUDGED, LEAST = 5, 0.005
"""A note lists at most this many runs that spent at least this many US dollars beyond the table's rows."""


class ListedRun(Struct, frozen=True, kw_only=True):
    """A run; without results where it is not graded, or cannot be read."""

    path: str
    state: str = ""
    created: str = ""
    exams: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    results: tuple[Result, ...] = ()
    judging: dict[str, float] = {}
    """Judge → US dollars, of those whose cost is known."""
    spent: float = 0.0
    """US dollars spent of its budget, resumes, retries and judges included; 0 where unknown."""

    @property
    def beyond(self) -> float:
        """US dollars spent that are in no row."""
        return max(
            sum(self.judging.values()), self.spent - sum(cost_of(each_result) or 0.0 for each_result in self.results)
        )


class Line(NamedTuple):
    """A line of the table: a model on an exam, or a run without results."""

    run: ListedRun
    head: ListedRun | None
    """The run, on its first line, where shared values are printed."""
    result: Result | None
    model: str
    exam: str


def cost_of(result: Result) -> float | None:
    """Return the cost of the answers in US dollars; None where unknown."""
    return result.consumed.cost if result.consumed and result.consumed.priced else None


def _cost(line: Line) -> float | None:
    return cost_of(line.result) if line.result else None


_RUN = fields("", "created", "state", "exams", "models", "judging", "spent", path="run")
_LINE = (
    *fields("run", path="run"), *fields("run", "created", "state"), *fields("result", "exam", "model"),
    *fields("result.overall", "mean", "low", "high", "floor", "ceiling", "n", "unanswered"),
    *fields("result", "estimated"), Column(None, _cost, key="cost"),
)  # fmt: skip


def findings(runs: tuple[ListedRun, ...], left_out: int) -> Findings[tuple[ListedRun, ...]]:
    """Return the runs, the newest first: a row for each model and exam, or one for a run without results. `left_out`:
    number of older runs.
    """
    lines = [
        line
        for run in runs
        for line in [
            Line(run, None if index else run, scored, scored.model, scored.exam)
            for index, scored in enumerate(run.results)
        ]
        or [Line(run, run, None, _counted(run.models), _counted(run.exams))]
    ]
    several = any(len({scored.exam for scored in run.results}) > 1 for run in runs)
    results = [scored for run in runs for scored in run.results]
    columns = (
        Column("run", "head.path", _told(partial(one_line, limit=200)), None),
        Column("date", "head.created", _told(lambda created: created[:16].replace("T", " ")), None, drop=2),
        Column("model", "model", NAME, keep=True),
        Column("exam", "exam", NAME, keep=several, drop=0 if several else 4),
        Column("score", "result.overall", Kind(mean_text, none=""), "estimate", keep=True),
        *[Column("bounds", "result.overall", Kind(bounds_text, none=""), None, keep=True)]
        * any(bounds_text(scored.overall) for scored in results),
        Column("95 % interval", "result.overall", Kind(interval_text, none=""), None, drop=3),
        *[Column("US$", _cost, Kind(dollars, none=""), None, drop=1)]
        * any(cost_of(scored) is not None for scored in results),
        Column("state", "head.state", _told(one_line), None, keep=True),
        *fields("run", path="run"), *fields("result", "estimated"), Column(None, _cost, key="cost"),
    )  # fmt: skip
    return Findings(
        found=runs,
        shown=[Table("Runs, scores in per cent", columns, lines), Table("Runs as wholes, US$", _RUN, runs)],
        rows=Table("Runs", _LINE, lines),
        notes=_notes(runs, results, left_out),
    )


def _told(text: Callable[[str], str]) -> Kind:
    return Kind(text, words=True, none="", folds=True)


def _notes(runs: Sequence[ListedRun], results: Sequence[Result], left_out: int) -> list[str]:
    """Return notes: the meaning of marks, spending beyond the table, and the next commands."""
    more = [f"{plural(left_out, 'older run')}: viva runs {flag('all')}."] if left_out else []
    kinds = dict.fromkeys(FILLED if scored.estimated else LEFT_OUT for scored in results if not scored.overall.complete)
    dagger = [f"{UNSURE} {'; '.join(kinds)}."] if kinds else []
    if len({bool(scored.estimated) for scored in results}) > 1:
        dagger.append(
            "Intervals of an estimate (asked adaptively) are for the score on all questions of its set, those of a "
            "mean for the score on questions like them."
        )
    paid = [f"{one_line(run.path)} {dollars(run.beyond)}" for run in runs if run.beyond >= LEAST]
    cut = f" and {len(paid) - JUDGED:,} more (--json has all)" if len(paid) > JUDGED else ""
    judging = [f"Judging and retries, in no row of the table, US$: {', '.join(paid[:JUDGED])}{cut}."] if paid else []
    return [
        *more,
        *dagger,
        *judging,
        f"viva score RUN: its numbers; viva show RUN {flag('wrong')}: answers; viva resume RUN: go on.",
    ]


def _counted(names: Sequence[str]) -> str:
    """Return `a, b`, or `a and 15 more`, since a shortened list would read as one name."""
    return f"{names[0]} and {len(names) - 1:,} more" if len(names) > 2 else ", ".join(names)
