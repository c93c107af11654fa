"""What people found who verified a set: error rates with intervals, and how far they agree."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from viva.analysis.raters.ratings import Measure
from viva.analysis.uncertainty import Interval
from viva.analysis.wording import range_text
from viva.build.options import cut
from viva.render.findings import Findings
from viva.render.measures import MEASURE
from viva.render.table import COUNT, PERCENT, Column, Kind, Table, fields
from viva.visible import one_line

SHOWN = 20
"""Questions that are named under the tables."""


class ErrorRate(Struct, frozen=True, kw_only=True):
    """Of the questions that somebody decided about, how many are wrong, or labelled otherwise than in the set."""

    rater: str
    decided: int
    wrong: int
    unsure: int
    interval: Interval | None
    """Of the error rate, at 95 %."""

    @property
    def rate(self) -> float | None:
        """The error rate, as a share of 1; None where nothing was decided."""
        return self.wrong / self.decided if self.decided else None


class Agreed(Struct, frozen=True, kw_only=True):
    """How far two raters agree, or all of them, or one and the set."""

    raters: str
    equal: Measure
    kappa: Measure


class Verification(Struct, frozen=True, kw_only=True):
    """One aspect of a set, verified."""

    exam: str
    aspect: str
    questions: int
    of: int
    rates: Sequence[ErrorRate]
    agreed: Sequence[Agreed]
    wrong: Sequence[str]
    """Questions that most who decided call wrong."""


_COUNTS = tuple(Column(name, name, COUNT) for name in ("decided", "wrong", "unsure"))
_BOUNDS = fields("interval", **{"0": "low", "1": "high"})
_RATES = (
    Column("by", "rater", cut(60), "rater"),
    *_COUNTS,
    Column("error %", "rate", PERCENT, "rate"),
    Column("95 % interval", "interval", Kind(lambda interval: range_text(*interval)), None),
    *_BOUNDS,
)
_AGREED = (
    Column("raters", "raters", cut(80)),
    Column("both", "equal.n", COUNT),
    *(Column(name, name, MEASURE) for name in ("equal", "kappa")),
)


def findings(found: Verification) -> Findings[Verification]:
    """Return the error rates, and agreement where there is more than one opinion; `rows` has one a rater."""
    what = f"{one_line(found.exam, 60)} · {one_line(found.aspect, 40)}"
    shown = [Table(f"Error rate · {what}", _RATES, found.rates)]
    if found.agreed:
        shown.append(Table(f"Agreement · {what}", _AGREED, found.agreed))
    about = (Column("exam", lambda _: found.exam), Column("aspect", lambda _: found.aspect))
    notes = [
        f"{found.questions:,} of {found.of:,} questions were verified; the interval is for the whole set, of which "
        "they were drawn at random. Unsure verdicts are left out of the rate.",
        *(f"{one.kappa.reason}." for one in found.agreed[:1] if one.kappa.reason),
    ]
    if found.wrong:
        more = f" and {len(found.wrong) - SHOWN:,} more" if len(found.wrong) > SHOWN else ""
        notes.append(f"Wrong by most: {', '.join(one_line(name, 60) for name in found.wrong[:SHOWN])}{more}.")
    return Findings(
        found=found,
        shown=[*shown, Table("Set", fields("", "questions", "of", "wrong"), [found])],
        rows=Table("Error rates", (*about, *fields("", "rater"), *_COUNTS, *_BOUNDS), found.rates),
        notes=notes,
    )
