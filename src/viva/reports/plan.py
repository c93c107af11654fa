"""A plan as tables and as data: what a decision takes, what so many questions show, and what that rests on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from viva.analysis import power
from viva.analysis.power import Basis
from viva.reports.consumption import dollars
from viva.reports.grids import WORDS
from viva.reports.printing import StudyResult
from viva.reports.result import Grid

_TOO_MANY = 1_000_000
"""More questions than any set has."""


class Assumption(NamedTuple):
    """One figure that a plan rests on, and where it comes from."""

    name: str
    value: str
    origin: str


class Need(NamedTuple):
    """What it takes to see a difference, or to make an interval so wide. Questions, and answers of all models."""

    points: float
    samples: int
    same: int
    apart: int
    models: int


@dataclass(frozen=True, repr=False)
class Plan(StudyResult):
    """What is planned. Differences and widths in points of per cent."""

    basis: Basis
    assumptions: tuple[Assumption, ...]
    differences: tuple[float, ...]
    widths: tuple[float, ...]
    questions: tuple[int, ...]
    samples: tuple[int, ...]
    power: float
    budget: float | None = None
    """US dollars that `questions` are as many as they pay for."""
    priced: bool = False
    """Whether prices were said; else vendors' list prices are taken."""
    words = WORDS | {"from", "value"}

    def needs(self) -> list[Need]:
        """Questions for every difference that is asked about."""
        return [
            Need(points, samples, *self.basis.needed(points / 100, self.power, samples), 2)
            for points in self.differences
            for samples in self.samples
        ]

    def intervals(self) -> list[Need]:
        """Questions for every width that is asked about."""
        return [
            Need(points, samples, needed, needed, 1)
            for points in self.widths
            for samples in self.samples
            for needed in (power.questions_for_width(self.basis.single, points / 100, samples),)
        ]

    def shown(self) -> list[tuple[int, int, float, float | None, float | None]]:
        """Questions, samples, half an interval's width, the smallest difference on the same and on others; None where
        none is seen so often."""
        basis = self.basis
        return [
            (
                questions,
                samples,
                power.half_width(basis.single, questions, samples),
                *basis.smallest(questions, self.power, samples),
            )
            for questions in self.questions
            for samples in self.samples
        ]

    def tables(self) -> list[Grid]:
        """What a decision takes, what so many questions show, what both rest on."""
        priced = ("cost in US$",) * (self.basis.dollars is not None)
        timed = ("time",) * (self.basis.seconds is not None)
        chance = f"{100 * self.power:g} %"
        grids = []
        if self.widths:
            grids.append(
                Grid(
                    "Questions for a 95 % interval of one score",
                    ("points wide", "answers each", "questions", *priced, *timed),
                    tuple(
                        (f"{need.points:g}", f"{need.samples}", _count(need.same), *self._took(need))
                        for need in self.intervals()
                    ),
                )
            )
        grids.append(
            Grid(
                f"Questions to see a difference of two models with a chance of {chance}",
                ("points", "answers each", "same questions", "other questions", *priced, *timed),
                tuple(
                    (f"{need.points:g}", f"{need.samples}", _count(need.same), _count(need.apart), *self._took(need))
                    for need in self.needs()
                ),
            )
        )
        grids.append(
            Grid(
                f"What so many questions show, with a chance of {chance}"
                + (f" · {self.budget:g} US$ pay for both models' answers" if self.budget is not None else ""),
                ("questions", "answers each", "interval ±", "difference, same questions", "other questions"),
                tuple(
                    (f"{questions:,}", f"{samples}", *map(_points, shares))
                    for questions, samples, *shares in self.shown()
                ),
            )
        )
        grids.append(Grid("What this rests on", ("", "value", "from"), tuple(map(tuple, self.assumptions))))
        return grids

    def _took(self, need: Need) -> tuple[str, ...]:
        """Dollars and time of so many answers of all models, on the same questions."""
        answers = need.same * need.samples * need.models
        basis = self.basis
        return (
            *((dollars(answers * basis.dollars),) if basis.dollars is not None else ()),
            *((_time(answers * basis.seconds),) if basis.seconds is not None else ()),
        )

    def closing(self) -> list[str]:
        """How to read it, and what it leaves out."""
        lines = [
            "Differences and widths in points of per cent, two-sided at 5 %. Same questions: both models answer them "
            "(`viva compare`). Other questions: a figure of somebody else's, or another set.",
        ]
        if self.basis.disagree is not None:
            lines.append(
                'Counted by the exact test of `viva compare`. "What this set can show" there goes by the error of its '
                "interval, which one question more each way makes wider: the two are a few per cent apart."
            )
        largest, score = max(self.differences), self.basis.score
        model = self.basis.correlation is not None and self.basis.disagree is None
        if model and largest / 200 > min(score, 1 - score):
            high = min(100.0, max(100 * score + largest / 2, largest))
            lines.append(
                f"Two models {largest:g} points apart cannot both lie around {100 * score:.3g} %: planned for are "
                f"the nearest so far apart ({high - largest:g} and {high:g} %)."
            )
        have = self.basis.questions
        if have and any(need.same > have for need in (*self.needs(), *self.intervals())):
            lines.append(
                f"The runs have {have:,} questions. Where more are needed, no number of answers to these is enough: "
                "what differs between questions stays."
            )
        if self.basis.pair.within and self.basis.pair.within > self.basis.pair.between:
            lines.append(
                "Most of the scatter is chance: a second answer to each question helps (--samples 1 --samples 4)."
            )
        if self.basis.seconds is not None:
            lines.append("Time: at the pace of the runs, judges and programs included; for a difference, both models.")
        if self.basis.dollars is not None:
            prices = f"the prices {'that --price says' if self.priced else 'of the runs'}, else list prices"
            lines.append(f"Cost: at {prices}; for a difference, both models.")
        lines.append(
            "Questions are taken as drawn at random from many like them. For the same price more questions beat more "
            "answers."
        )
        return lines

    def records(self) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
        """A row a decision."""
        header = ("decision", "points", "samples", "questions", "questions_apart", "models")
        return header, [
            *(("interval", *need) for need in self.intervals()),
            *(("difference", *need) for need in self.needs()),
        ]

    def data(self) -> object:
        """Everything, as plain data."""
        return {
            "power": self.power,
            "differences": [need._asdict() for need in self.needs()],
            "intervals": [need._asdict() for need in self.intervals()],
            "shown": [
                dict(zip(("questions", "samples", "half_width", "same_questions", "other_questions"), row, strict=True))
                for row in self.shown()
            ],
            "assumptions": [one._asdict() for one in self.assumptions],
        }


def _count(questions: int) -> str:
    return f"{questions:,}" if questions <= _TOO_MANY else f"over {_TOO_MANY:,}"


def _points(share: float | None) -> str:
    return "none" if share is None else f"{100 * share:.2f}"


def _time(seconds: float) -> str:
    """`40 s`, `12 min`, `3.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
