"""Runs, as `viva runs` lists them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import msgspec
from msgspec import Struct

from viva.analysis.estimate import Estimate
from viva.analysis.wording import UNSURE, bounds_text, interval_text, mean_text
from viva.errors import flag
from viva.render.grids import WORDS
from viva.render.printing import Records, StudyResult
from viva.render.result import FILLED, LEFT_OUT
from viva.render.table import Grid
from viva.visible import dollars, one_line, plural

JUDGED, LEAST = 5, 0.005
"""Runs of which a line below the table says what they spent beyond its rows, where that is so many US dollars."""


class ListedResult(Struct, frozen=True, kw_only=True):
    """A model on an exam; US dollars."""

    exam: str
    model: str
    estimate: Estimate
    estimated: int
    """Questions that the score is an estimate for, where only some of them were asked; 0 where it is a mean."""
    cost: float | None


class ListedRun(Struct, frozen=True, kw_only=True):
    """A run; without results where it is not graded, or cannot be read."""

    path: str
    state: str = ""
    created: str = ""
    exams: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    results: tuple[ListedResult, ...] = ()
    judging: dict[str, float] = {}
    """Judge → US dollars, of those whose cost is known."""
    spent: float = 0.0
    """US dollars that it took out of its budget, resumes, retries and judges included; 0 where nobody counted."""

    @property
    def beyond(self) -> float:
        """US dollars that it spent and that no row has."""
        return max(sum(self.judging.values()), self.spent - sum(one.cost or 0.0 for one in self.results))

    def ended(
        self, state: str, results: tuple[ListedResult, ...] = (), judging: Mapping[str, float] = MappingProxyType({})
    ) -> ListedRun:
        """The same run in this state."""
        return msgspec.structs.replace(self, state=state, results=results, judging=dict(judging))


@dataclass(frozen=True, repr=False)
class RunList(StudyResult):
    """The runs of a folder, the newest first: a row a model and exam."""

    runs: tuple[ListedRun, ...]
    left_out: int = 0
    words = WORDS | {"run", "date", "state"}

    def tables(self) -> list[Grid]:
        """One table."""
        header = ("run", "date", "model", "exam", "score", "bounds", "95 % interval", "US$", "state")
        rows = [cells for run in self.runs for cells in _rows(run)]
        several = any(len({one.exam for one in run.results}) > 1 for run in self.runs)
        kept = [at for at, name in enumerate(header) if name not in ("US$", "bounds") or any(row[at] for row in rows)]
        return [
            Grid(
                "Runs, scores in per cent",
                tuple(header[at] for at in kept),
                tuple(tuple(row[at] for at in kept) for row in rows),
                drop=("US$", "95 % interval", "date", *(() if several else ("exam",))),
                keep=("model", "score", "bounds", "state", *(("exam",) if several else ())),
            )
        ]

    def closing(self) -> list[str]:
        """The next commands."""
        more = [f"{plural(self.left_out, 'older run')}: viva runs {flag('all')}."] if self.left_out else []
        every = [one for run in self.runs for one in run.results]
        kinds = dict.fromkeys(FILLED if one.estimated else LEFT_OUT for one in every if not one.estimate.complete)
        dagger = [f"{UNSURE} {'; '.join(kinds)}."] if kinds else []
        if len({bool(one.estimated) for one in every}) > 1:
            dagger.append(
                "Intervals of an estimate (asked adaptively) are for the score on all questions of its set, those of a "
                "mean for the score on questions like them."
            )
        paid = [f"{one_line(run.path, 60)} {dollars(run.beyond)}" for run in self.runs if run.beyond >= LEAST]
        cut = f" and {len(paid) - JUDGED:,} more (--json has all)" if len(paid) > JUDGED else ""
        judging = (
            [f"Judging and retries, in no row of the table, US$: {', '.join(paid[:JUDGED])}{cut}."] if paid else []
        )
        return [
            *more,
            *dagger,
            *judging,
            f"viva score RUN: its numbers; viva show RUN {flag('wrong')}: answers; viva resume RUN: go on.",
        ]

    def records(self) -> Records:
        """A row a model and exam; of a run without results one row."""
        names = ("mean", "low", "high", "floor", "ceiling", "n", "unanswered")
        empty = (None,) * (len(names) + 4)
        return ("run", "created", "state", "exam", "model", *names, "estimated", "cost"), [
            (run.path, run.created, run.state, *(cells or empty))
            for run in self.runs
            for cells in [
                (one.exam, one.model, *(getattr(one.estimate, name) for name in names), one.estimated, one.cost)
                for one in run.results
            ]
            or [()]
        ]

    def data(self) -> object:
        """All runs."""
        return {"runs": list(self.runs), "left_out": self.left_out}


def _counted(names: Sequence[str]) -> str:
    """`a, b`, or `a and 15 more`: a long list would be shortened to what reads as one name."""
    return f"{names[0]} and {len(names) - 1:,} more" if len(names) > 2 else ", ".join(names)


def _rows(run: ListedRun) -> list[tuple[str, ...]]:
    """A line a model and exam; what they share stands in the first."""
    first = (one_line(run.path, 200), run.created[:16].replace("T", " "))
    state = one_line(run.state, 60)
    if not run.results:
        return [(*first, _counted(run.models), _counted(run.exams), *[""] * 4, state)]
    return [
        (
            *(first if not number else ("", "")),
            one.model,
            one.exam,
            mean_text(one.estimate),
            bounds_text(one.estimate),
            interval_text(one.estimate),
            "" if one.cost is None else dollars(one.cost),
            state if not number else "",
        )
        for number, one in enumerate(run.results)
    ]
