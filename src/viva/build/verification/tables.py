"""What people found who verified a set: error rates with intervals, and how far they agree."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import Struct

from viva.analysis.measure import Measure
from viva.analysis.wording import percent
from viva.render.measures import measure_text
from viva.render.printing import Records, StudyResult
from viva.render.table import Grid
from viva.visible import one_line

SHOWN = 20
"""Questions that are named under the tables."""


class ErrorRate(Struct, frozen=True, kw_only=True):
    """Of the questions that somebody decided about, how many are wrong, or labelled otherwise than in the set."""

    rater: str
    judged: int
    wrong: int
    unsure: int
    low: float | None
    high: float | None


class Agreed(Struct, frozen=True, kw_only=True):
    """How far two raters agree, or all of them, or one and the set."""

    raters: str
    equal: Measure
    kappa: Measure


@dataclass(frozen=True, repr=False)
class Verification(StudyResult):
    """One aspect of a set, verified."""

    exam: str
    aspect: str
    questions: int
    of: int
    rates: tuple[ErrorRate, ...]
    agreed: tuple[Agreed, ...]
    wrong: tuple[str, ...]
    """Questions that most who decided call wrong."""
    words = frozenset({"by", "raters"})

    def tables(self) -> list[Grid]:
        """Error rates, and agreement where there is more than one opinion."""
        what = f"{one_line(self.exam, 60)} · {one_line(self.aspect, 40)}"
        rows = [
            (
                one_line(one.rater, 60), f"{one.judged:,}", f"{one.wrong:,}", f"{one.unsure:,}",
                percent(one.wrong / one.judged) if one.judged else "–",
                "–" if one.low is None or one.high is None else f"{percent(one.low)}–{percent(one.high)}",
            )
            for one in self.rates
        ]  # fmt: skip
        header = ("by", "decided", "wrong", "unsure", "error %", "95 % interval")
        grids = [Grid(f"Error rate · {what}", header, tuple(rows))]
        if self.agreed:
            pairs = tuple(
                (one_line(one.raters, 80), f"{one.equal.n:,}", measure_text(one.equal), measure_text(one.kappa))
                for one in self.agreed
            )
            grids.append(Grid(f"Agreement · {what}", ("raters", "both", "equal", "kappa"), pairs))
        return grids

    def closing(self) -> list[str]:
        """How to read it, and which questions to look at."""
        lines = [
            f"{self.questions:,} of {self.of:,} questions were verified; the interval is for the whole set, of which "
            "they were drawn at random. Unsure verdicts are left out of the rate.",
            *(f"{one.kappa.reason}." for one in self.agreed[:1] if one.kappa.reason),
        ]
        if self.wrong:
            more = f" and {len(self.wrong) - SHOWN:,} more" if len(self.wrong) > SHOWN else ""
            lines.append(f"Wrong by most: {', '.join(one_line(name, 60) for name in self.wrong[:SHOWN])}{more}.")
        return lines

    def records(self) -> Records:
        """A row a rater."""
        return ("exam", "aspect", "rater", "decided", "wrong", "unsure", "low", "high"), [
            (self.exam, self.aspect, one.rater, one.judged, one.wrong, one.unsure, one.low, one.high)
            for one in self.rates
        ]

    def data(self) -> object:
        """Everything."""
        return {
            "exam": self.exam, "aspect": self.aspect, "questions": self.questions, "of": self.of,
            "rates": self.rates, "agreement": self.agreed, "wrong": self.wrong,
        }  # fmt: skip
