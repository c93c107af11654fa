"""A plan as tables and as data: the needs of a decision, the power of given questions, and the assumptions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from viva.analysis.estimate import percent
from viva.errors import flag
from viva.lab.planning import power
from viva.lab.planning.power import Basis
from viva.render.findings import Findings
from viva.render.table import COUNT, FIGURE, NAME, Column, Kind, Table, fields, figure, places
from viva.visible import dollars, one_line

_TOO_MANY = 1_000_000
"""More questions than in any set."""
_FEW_CLUSTERS = 30
"""With fewer clusters a note says that their variance is known only roughly."""


class Assumption(NamedTuple):
    """One assumption of a plan, with its source."""

    name: str
    value: str
    origin: str


class Need(NamedTuple):
    """The needs for showing a difference, or for the width of an interval; None if no number of questions suffices, or
    cost or time is unknown.
    """

    points: float
    samples: int
    """Answers to each question, of all repeats."""
    same: int | None
    apart: int | None
    models: int
    dollars: float | None = None
    """US dollars of all models' answers to the same questions, judges included."""
    seconds: float | None = None
    """Wall time in seconds for these, at the pace of the runs."""


class Plan(Struct, frozen=True, kw_only=True):
    """A plan. Differences and widths in points of per cent."""

    basis: Basis
    assumptions: tuple[Assumption, ...]
    differences: tuple[float, ...]
    widths: tuple[float, ...]
    questions: tuple[int, ...]
    samples: tuple[int, ...]
    power: float
    budget: float | None = None
    """Budget in US dollars that determines `questions`."""
    hours: float | None = None
    """Budget of hours that determines `questions`."""
    priced: bool = False
    """Whether the user gave prices; else vendors' list prices are used."""
    thoughts: float = 0.0
    """Share of reasoning in the tokens of replies."""
    judges: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """Models and judges of unknown cost."""

    def needs(self) -> list[Need]:
        """Return the needs for every requested difference."""
        return [
            self._need(points, samples, *self.basis.needed(points / 100, self.power, samples), models=2)
            for points in self.differences
            for samples in self.samples
        ]

    def intervals(self) -> list[Need]:
        """Return the needs for every requested width."""
        return [
            self._need(points, samples, needed, needed, models=1)
            for points in self.widths
            for samples in self.samples
            for needed in (power.questions_for_width(self.basis.single, points / 100, samples),)
        ]

    def _need(self, points: float, samples: int, same: int | None, apart: int | None, models: int) -> Need:
        took = (self.basis.dollars, self.basis.seconds)
        answers = None if same is None else same * samples * models
        spent = (None if each is None or answers is None else answers * each for each in took)
        return Need(points, samples, same, apart, models, *spent)

    def shown(self) -> list[tuple[int, int, float | None, float | None, float | None]]:
        """Return questions, samples, half the interval's width, and the smallest difference on the same and on
        different questions; None where the interval exceeds the range of scores, or no difference has the power.
        """
        basis = self.basis
        return [
            (
                questions,
                samples,
                half if (half := power.half_width(basis.single, questions, samples)) <= 0.5 else None,
                *basis.smallest(questions, self.power, samples),
            )
            for questions in self.questions
            for samples in self.samples
        ]

    def notes(self, needed: Sequence[int | None]) -> list[str]:
        """Return notes on how to read the plan, and on what it leaves out; `needed`: questions for its decisions."""
        lines = [f"Cost leaves out what is not known: {', '.join(self.left_out)}."] if self.left_out else []
        lines += [
            *self._of_clusters(None in needed),
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
            points = "point" if largest == 1 else "points"
            lines.append(
                f"Two models {largest:g} {points} apart cannot both lie around {100 * score:.3g} %: planned for are "
                f"the nearest so far apart ({high - largest:g} and {high:g} %)."
            )
        have = self.basis.questions
        if have and any(same and same > have for same in needed):
            lines.append(
                f"The runs have {have:,} questions. Where more are needed, no number of answers to these is enough: "
                "what differs between questions stays."
            )
        if self.basis.pair.within and self.basis.pair.within > self.basis.pair.between:
            lines.append(
                f"Most of the scatter is chance: a second answer to each question helps ({flag('samples', '1')} "
                f"{flag('samples', '4')})."
            )
        if self.basis.seconds is not None:
            lines.append(
                "Time: for a difference, both models; at the pace of the runs' models and judges, without programs."
            )
        if self.basis.dollars is not None:
            prices = f"the prices {'that --price says' if self.priced else 'of the runs'}, else list prices"
            also = [f"judging by {one_line(judge, 60)}" for judge in self.judges]
            also += [f"thoughts, {100 * self.thoughts:.0f} % of the tokens of replies"] if self.thoughts else []
            more = f", with {' and '.join(also)}" if also else ""
            lines.append(f"Cost: at {prices}{more}; for a difference, both models.")
        lines.append(
            "Questions are taken as drawn at random from many like them. For the same price more questions beat more "
            "answers."
        )
        return lines

    def _of_clusters(self, never: bool) -> list[str]:
        """Return notes on assumptions about clusters, and on limits of few clusters."""
        clusters = self.basis.single.clusters
        if clusters is None:
            return []
        lines, more = [], ""
        worth = clusters.number if clusters.measured else clusters.worth(max(self.questions))
        if worth < _FEW_CLUSTERS:
            lines.append(
                f"Few clusters ({worth:.3g} of equal size tell as much): figures are rough and go by Student's t. "
                "Fewer than 6 never show a difference."
            )
        if never:
            lines.append("none: what differs between so few clusters stays; only more clusters help.")
        if clusters.measured:
            more = f"; more than {clusters.most:,.0f} questions have more of them ({flag('clusters', 'N')}: the same)"
        lines.append(
            f"Clusters count as drawn at random from many like them{more}. Where the score on these alone matters, "
            "plan without clusters."
        )
        return lines


def _time(seconds: float) -> str:
    """Return `40 s`, `12 min`, `3.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


_COUNT = Kind(lambda questions: COUNT.text(questions) if questions <= _TOO_MANY else f"over {_TOO_MANY:,}", none="none")
_POINTS = Kind(percent, none="none")
_SHOWN = (
    Column("questions", "0", COUNT),
    Column("answers each", "1", FIGURE, "samples"),
    Column("interval ±", "2", Kind(_POINTS.text, none="over 50"), "half_width"),
    Column("difference, same questions", "3", _POINTS, "same_questions"),
    Column("other questions", "4", _POINTS, "other_questions"),
)
_ASSUMPTION = (Column("", "name", NAME, "name"), Column("value", "value"), Column("from", "origin", key="origin"))
_DECISION = places("decision", "points", "samples", "questions", "questions_apart", "models", "dollars", "seconds")


def findings(plan: Plan) -> Findings[Plan]:
    """Return the needs of decisions, the power of given questions, and the assumptions; `rows` has one for each
    decision.
    """
    needs, intervals, basis = plan.needs(), plan.intervals(), plan.basis
    chance = f"{100 * plan.power:g} %"

    def needed(title: str, points: str, rows: Sequence[Need], *questions: Column) -> Table:
        columns = (
            Column(points, "points", figure("g"), "points"),
            Column("answers each", "samples", FIGURE, "samples"),
            *questions,
            Column(None if basis.dollars is None else "cost in US$", "dollars", Kind(dollars, none=""), "dollars"),
            Column(None if basis.seconds is None else "time", "seconds", Kind(_time, none=""), "seconds"),
            *fields("", "models"),
            Column(None, lambda _: plan.power, key="power"),
        )
        return Table(title, columns, rows)

    widths = needed(
        "Questions for a 95 % interval of one score",
        "points wide",
        intervals,
        Column("questions", "same", _COUNT, "same"),
    )
    differences = needed(
        f"Questions to see a difference of two models with a chance of {chance}",
        "points",
        needs,
        Column("same questions", "same", _COUNT, "same"),
        Column("other questions", "apart", _COUNT, "apart"),
    )
    title = f"What so many questions show, with a chance of {chance}"
    title += f" · {plan.budget:g} US$ pay for both models' answers" if plan.budget is not None else ""
    title += f" · both models answer in {plan.hours:g} h" if plan.hours is not None else ""
    decisions = [(kind, *need) for kind, of in (("interval", intervals), ("difference", needs)) for need in of]
    return Findings(
        found=plan,
        shown=[
            *([widths] if plan.widths else []),
            differences,
            Table(title, _SHOWN, plan.shown()),
            Table("What this rests on", _ASSUMPTION, plan.assumptions),
        ],
        rows=Table("Decisions", _DECISION, decisions),
        notes=plan.notes([need.same for need in (*needs, *intervals)]),
    )
