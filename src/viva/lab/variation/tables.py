"""Sources of variance as tables and as data: components, differences, levels, positions, the split of a budget."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from statistics import fmean
from typing import NamedTuple

from msgspec import Struct

from viva.analysis.estimate import APART, percent
from viva.designs import JUDGE, Design
from viva.lab.variation.components import ALPHA, Component, Components, Position
from viva.render.findings import Drawing, Findings
from viva.render.table import COUNT, FIGURE, NAME, Column, Kind, P, Table, fields, places, signed
from viva.visible import one_line

VARIANTS = (1, 2, 4, 8, 16)
_FEW = 10
"""The fewest questions in a split of a budget."""
_NAME = 40


class Contestant(Struct, frozen=True, kw_only=True):
    """Variance components of one model's score, or, on questions complete for both, of its score less that of the
    `second`; and the score, or the difference, in each cell.
    """

    model: str
    second: str = ""
    components: Components
    left_out: int
    """Number of questions with a missing answer."""
    cells: tuple[float, ...]
    by_chance: float
    """The expected range of `cells` by chance alone."""

    @property
    def full_name(self) -> str:
        """The model's name, or `A − B`."""
        return f"{self.model} − {self.second}" if self.second else self.model

    @property
    def name(self) -> str:
        """The full name, shortened."""
        return " − ".join(one_line(model, _NAME) for model in (self.model, self.second) if model)

    @property
    def title(self) -> str:
        """A title: the kind of contestant, with its name."""
        return f"{'difference' if self.second else 'score of'} {self.name}"


class Variance(Struct, frozen=True, kw_only=True):
    """Variance components of one exam's scores. `budget`: answers of a model; `available`: questions of the exam as
    asked.
    """

    exam: str
    design: Design
    contestants: tuple[Contestant, ...]
    differences: tuple[Contestant, ...]
    positions: Mapping[str, tuple[Position, ...]]
    budget: int
    available: int
    budget_asked: bool = False
    """Whether the user gave the budget; by default it is one answer a question."""
    clustered: bool = False
    """Whether questions are clustered, which components ignore."""

    def ranks(self) -> dict[str, tuple[int, int]]:
        """Return model → its best and its worst rank over the cells; equal scores share the better one."""
        cells = [*zip(*(contestant.cells for contestant in self.contestants), strict=True)]
        return {
            contestant.model: (min(places), max(places))
            for index, contestant in enumerate(self.contestants)
            for places in ([1 + sum(other > scores[index] for other in scores) for scores in cells],)
        }

    def levels(self) -> list[tuple[str, str, list[float]]]:
        """Return factor, level, and the mean score of each model over the cells with it."""
        return [
            (factor.name, level, [fmean(contestant.cells[cell] for cell in having) for contestant in self.contestants])
            for index, factor in enumerate(self.design.factors)
            for number, level in enumerate(factor.levels)
            for having in ([cell for cell, levels in enumerate(self.design.cells) if levels[index] == number],)
            if having
        ]

    def splits(self) -> list[tuple[int, int, list[float]]]:
        """Return numbers of variants and of questions within the budget, and the standard error of each difference, or
        of the score if there is one model.
        """
        # One answer to a question says nothing of others.
        about = self.split_of
        known = VARIANTS if self._asks_variants or about[0].components.samples > 1 else VARIANTS[:1]
        return [
            (variants, questions, [each.components.error_with(questions, variants) for each in about])
            for variants in known
            if (questions := self.budget // variants) >= _FEW
        ]

    @property
    def is_split(self) -> bool:
        """Whether the split of a budget is printed: if requested, or if a significant source makes it matter."""
        moved = any(each.components.moved for each in self.split_of)
        return self.budget_asked or (moved and len(self.splits()) > 1)

    @property
    def every(self) -> list[Contestant]:
        """The differences, then the scores."""
        return [*self.differences, *self.contestants]

    @property
    def split_of(self) -> list[Contestant]:
        """The contestants that the split of a budget is computed for."""
        return self.every[: len(self.differences) or None]

    @property
    def _asks_variants(self) -> bool:
        """Whether more than the judge is varied."""
        return self.design.factors[0].name != JUDGE

    def notes(self) -> list[str]:
        """Return notes on how to read the tables, and on what they leave out."""
        judged = self.design.factors[-1].name == JUDGE
        chance = ", ".join(each.name for each in self.every if each.components.p > ALPHA)
        lines = [f"Not shown to be moved by anything that was varied (p above {ALPHA:g}): {chance}."] if chance else []
        lines += [
            "Scores are plain means over questions and cells. Questions alone: for these very "
            f"{'prompts, orders and judges' if judged else 'prompts and orders'}. Anything else: other questions and "
            "other levels of what was varied, drawn from many like them. Standard deviations (sd) are in points.",
            "Range by chance: how far the best and the worst cell lie apart on average where nothing moves the score. "
            "p: how often chance alone does as much, on other questions with these very levels, by Holm over all "
            "sources; of a score, the least p of what was varied. A source with a p above "
            f"{ALPHA:g} has no share, and no split is the least where nothing that was varied has a lower one.",
            "A variance that is estimated below 0 is shown as 0.0; that of a source with questions in its name lowers "
            "the error. A dash for an interval does not show a source to be absent: all questions say the same, or "
            "the whole interval lies below 0.",
        ]
        if self.clustered:
            lines.append(f"{self.exam}: {APART}")
        if judged:
            lines.append(
                "Every answer has a score under each judge alone, without experts' marks. judge: one is more severe "
                "than another; × judge: on some questions or answers and not on others."
            )
        few = [factor.name for factor in self.design.factors if len(factor.levels) < 4]
        if few:
            lines.append(
                f"Few levels say little of others ({', '.join(few)}): their intervals have one degree of freedom less "
                "than there are levels."
            )
        if any(contestant.left_out for contestant in self.contestants):
            lines.append(
                "left out, since an answer of them is missing: "
                + ", ".join(
                    f"{contestant.left_out:,} question{'s' * (contestant.left_out != 1)} of {contestant.name}"
                    for contestant in self.contestants
                )
            )
        if self.is_split:
            several = "n levels of every factor (n prompts, n orders)" if self._asks_variants else "n answers"
            lines.append(
                f"In the table of a budget, n variants of a question have {several}"
                f"{', each marked by all judges' * judged}; factors that are not shown to move the score add no error. "
                f"There are {self.available:,} questions; a row with more takes new ones."
            )
        return lines


class Row(NamedTuple):
    """A source of a model's score, or of its score less that of the `second`."""

    first: str
    second: str
    source: Component
    share: float | None
    """Share of the squared error."""


def _sources(contestant: Contestant) -> list[Row]:
    shares = contestant.components.shares()
    return [
        Row(contestant.model, contestant.second, each, shares[each.name]) for each in contestant.components.components
    ]


def _interval(component: Component) -> str:
    """Return the interval in points; `–` for one without width."""
    low, high = _points(component.low**0.5), _points(component.high**0.5) if component.high < 1 else "over 100"
    return "–" if low == high else f"{low}–{high}"


def _half(parts: Components, *, everything: bool) -> float | None:
    low, high = parts.interval(everything=everything)
    return (high - low) / 2 if high - low < 2 else None


_points = partial(percent, digits=1)


def _signed(share: float) -> str:
    return signed(100 * share, 1)


def _ranks_text(ranks: tuple[int, int]) -> str:
    return f"{ranks[0]}" if ranks[0] == ranks[1] else f"{ranks[0]} to {ranks[1]}"


_POINTS = Kind(_points)
_HALF = Kind(_points, none="over 100")
_SOURCE = (
    Column("source", "source.name", NAME), Column("sd", "source.sd", _POINTS),
    Column("95 % interval", "source", Kind(_interval), None),
    *fields("source", "variance", "low", "high", "degrees", "in_mean"), Column("p", "source.p", P),
    Column("share of the error", "share", Kind(lambda share: f"{100 * share:.0f} %"), "share_of_error"),
)  # fmt: skip
_POSITION = (
    Column("letter", "letter", NAME), Column("gold there", "gold", _POINTS, "gold"),
    Column("chosen", "chosen", _POINTS),
    Column("chosen − gold", lambda position: position.chosen - position.gold, Kind(_signed), "gain"),
    Column("95 % interval", lambda position: f"{_signed(position.low)} to {_signed(position.high)}", FIGURE, None),
    *fields("", "low", "high"), Column("right if gold there", "right", _POINTS, "right"),
)  # fmt: skip


def _margins(to: str) -> tuple[Column, ...]:
    """Return the columns of a mean's error and of its cells, with the range of these."""
    return (
        Column(
            "questions alone ±",
            lambda contestant: _half(contestant.components, everything=False),
            _HALF,
            "questions_alone",
        ),
        Column(
            "anything else ±", lambda contestant: _half(contestant.components, everything=True), _HALF, "anything_else"
        ),
        Column("cells", "cells", Kind(lambda cells: f"{_points(min(cells))}{to}{_points(max(cells))}")),
        Column("range by chance", "by_chance", _POINTS, "by_chance"),
        Column("p", "components.p", P),
        *fields("components", "samples", "judges", "error", "degrees", "questions_error", "questions_degrees"),
        *fields("components", "levels", cells="asked"),
    )


def _split(variance: Variance) -> Table:
    about, splits, shown = variance.split_of, variance.splits(), variance.is_split

    def errors(place: int, contestant: Contestant) -> Column:
        least = min((errors[place] for _, _, errors in splits), default=None) if contestant.components.moved else None
        kind = Kind(lambda error: _points(error) + " (least)" * (error == least))
        return Column(contestant.name if shown else None, f"2.{place}", kind, contestant.full_name)

    columns = (
        Column("variants of each" if shown else None, "0", FIGURE, "variants"),
        Column("questions" if shown else None, "1", COUNT, "questions"),
        *(errors(place, each) for place, each in enumerate(about)),
    )
    title = f"Standard error in points, where a model gives {variance.budget:,} answers"
    return Table(title, columns, splits, asked=variance.budget_asked)


def findings(variance: Variance, drawing: Drawing = None) -> Findings[Variance]:
    """Return scores, differences, components of the first of these; the split of a budget, positions, levels; the other
    components. A requested split comes first. `rows` has one for each source of each score and difference; variances of
    shares.
    """
    ranks = variance.ranks()
    scores = (
        Column("model", "name", NAME, None), *fields("", "model"), Column("score", "components.mean", _POINTS),
        *_margins("–"), Column("ranks", lambda contestant: ranks[contestant.model], Kind(_ranks_text, words=True)),
        Column("questions", "components.questions", COUNT), *fields("", "left_out"),
    )  # fmt: skip
    differences = (
        Column("difference", "name", NAME, None), *fields("", model="first", second="second"),
        Column("points", "components.mean", _POINTS, "difference"), *_margins(" to "),
        Column("cells won", "cells", Kind(lambda cells: f"{sum(cell > 0 for cell in cells)} of {len(cells)}"), None),
        *fields("components", "questions"),
    )  # fmt: skip
    levels = (
        Column("factor", "0", NAME), Column("level", "1", Kind(lambda level: one_line(level, _NAME), words=True)),
        *(Column(each.name, f"2.{place}", _POINTS, each.model) for place, each in enumerate(variance.contestants)),
    )  # fmt: skip
    first, *rest = (Table(f"What moves the {each.title}", _SOURCE, _sources(each)) for each in variance.every)
    split, cells = _split(variance), places(*(factor.name for factor in variance.design.factors))
    shown = [
        Table(f"Scores in per cent · {variance.exam} · {variance.design.words}", scores, variance.contestants),
        *([Table("Differences in points", differences, variance.differences)] if variance.differences else []),
        first,
        *(
            Table(f"Where options stand, in per cent of answers · {one_line(model, _NAME)}", _POSITION, shares)
            for model, shares in variance.positions.items()
            if shares
        ),
        Table("Scores by level", levels, variance.levels()),
        *rest,
        Table("Cells of the design", cells, variance.design.cells),
    ]
    shown.insert(0 if variance.budget_asked else 2 + bool(variance.differences), split)
    columns = (
        Column("exam", lambda _: variance.exam),
        *fields("", first="model", second="less"),
        *fields("source", name="source"),
        *fields("source", "variance", "low", "high", "degrees", "p"),
        *fields("", share="share_of_error"),
    )
    every: list[Contestant] = [*variance.contestants, *variance.differences]
    rows = [row for each in every for row in _sources(each)]
    return Findings(
        found=variance, shown=shown, rows=Table("Sources", columns, rows), notes=variance.notes(), drawing=drawing
    )
