"""What moves a score, as tables and as data: components, differences, levels, positions, the split of a budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import msgspec
from msgspec import Struct

from viva.analysis.wording import APART
from viva.designs import JUDGE, Design
from viva.lab.variation.components import ALPHA, QUESTION, Component, Components
from viva.lab.variation.positions import Position
from viva.render.grids import WORDS
from viva.render.printing import Drawing, Records, StudyResult
from viva.render.table import Grid, p_text
from viva.visible import one_line

VARIANTS = (1, 2, 4, 8, 16)
_FEW = 10
"""Questions that a budget is split into at least."""
_NAME = 40
_MARGINS = ("questions alone ±", "anything else ±", "cells", "range by chance", "p")


class Contestant(Struct, frozen=True, kw_only=True):
    """One model: what moves its score, and its score in each cell."""

    model: str
    components: Components
    left_out: int
    """Questions of which an answer is missing."""
    cells: tuple[float, ...]
    by_chance: float
    """The range of `cells` on average where nothing moves the score."""

    @property
    def name(self) -> str:
        """The model's, shortened."""
        return one_line(self.model, _NAME)

    @property
    def title(self) -> str:
        """What it is, with its name."""
        return f"score of {self.name}"


class Difference(Struct, frozen=True, kw_only=True):
    """Two models on the questions of which both have all answers: the first's score less the second's."""

    first: str
    second: str
    components: Components
    cells: tuple[float, ...]
    by_chance: float
    """The range of `cells` on average where nothing moves the score."""

    @property
    def name(self) -> str:
        """`A − B`."""
        return f"{one_line(self.first, _NAME)} − {one_line(self.second, _NAME)}"

    @property
    def title(self) -> str:
        """What it is, with its name."""
        return f"difference {self.name}"


@dataclass(frozen=True, repr=False)
class Variance(StudyResult):
    """What moves the scores of one exam. `budget`: answers of a model; `available`: questions of the exam as asked."""

    exam: str
    design: Design
    contestants: tuple[Contestant, ...]
    differences: tuple[Difference, ...]
    positions: Mapping[str, tuple[Position, ...]]
    budget: int
    available: int
    budget_asked: bool = False
    """Whether the budget was named, and is not that of one answer a question."""
    clustered: bool = False
    """Whether questions belong together, which no component tells."""
    drawing: Drawing = None
    words = WORDS | {"difference", "level", "ranks"}

    def ranks(self) -> dict[str, tuple[int, int]]:
        """Model → its best and its worst rank over the cells; equal scores share the better one."""
        cells = [*zip(*(one.cells for one in self.contestants), strict=True)]
        return {
            one.model: (min(places), max(places))
            for at, one in enumerate(self.contestants)
            for places in ([1 + sum(other > scores[at] for other in scores) for scores in cells],)
        }

    def levels(self) -> list[tuple[str, str, list[float]]]:
        """Factor, level, and the mean score of each model over the cells that have it."""
        return [
            (factor.name, level, [fmean(one.cells[cell] for cell in having) for one in self.contestants])
            for at, factor in enumerate(self.design.factors)
            for number, level in enumerate(factor.levels)
            for having in ([cell for cell, levels in enumerate(self.design.cells) if levels[at] == number],)
            if having
        ]

    def splits(self) -> list[tuple[int, int, list[float]]]:
        """Variants of a question and questions that the budget pays for, and the standard error of each difference; of
        the score where there is one model."""
        # One answer to a question does not say what others would be.
        about = self._split_of
        known = VARIANTS if self._asks_variants or about[0].components.samples > 1 else VARIANTS[:1]
        return [
            (variants, questions, [one.components.error_with(questions, variants) for one in about])
            for variants in known
            if (questions := self.budget // variants) >= _FEW
        ]

    @property
    def _is_split(self) -> bool:
        """Whether the split of a budget is printed: where it is asked for, or anything shown makes it matter."""
        moved = any(one.components.moved for one in self._split_of)
        return self.budget_asked or (moved and len(self.splits()) > 1)

    @property
    def _all(self) -> list[Contestant | Difference]:
        return [*self.differences, *self.contestants]

    @property
    def _split_of(self) -> list[Contestant | Difference]:
        return self._all[: len(self.differences) or None]

    @property
    def _asks_variants(self) -> bool:
        """Whether more is varied than who marks an answer."""
        return self.design.factors[0].name != JUDGE

    def tables(self) -> list[Grid]:
        """Scores, differences, what moves the first of these; the split of a budget, positions, levels; the rest. The
        split comes first where somebody asked for it."""
        moved = [_components(one) for one in self._all]
        split = [self._split()] if self._is_split else []
        return [
            *(split if self.budget_asked else []),
            self._scores(),
            *([self._differences()] if self.differences else []),
            moved[0],
            *([] if self.budget_asked else split),
            *(_positions(model, found) for model, found in self.positions.items() if found),
            self._levels(),
            *moved[1:],
        ]

    def _scores(self) -> Grid:
        ranks = self.ranks()
        return Grid(
            f"Scores in per cent · {self.exam} · {self.design.words}",
            ("model", "score", *_MARGINS, "ranks", QUESTION + "s"),
            tuple(
                (one.name, *_margins(one, "–"), _range(ranks[one.model]), f"{one.components.questions:,}")
                for one in self.contestants
            ),
        )

    def _differences(self) -> Grid:
        return Grid(
            "Differences in points",
            ("difference", "points", *_MARGINS, "cells won"),
            tuple(
                (one.name, *_margins(one, " to "), f"{sum(cell > 0 for cell in one.cells)} of {len(one.cells)}")
                for one in self.differences
            ),
        )

    def _split(self) -> Grid:
        about, splits = self._split_of, self.splits()
        least = [
            min(errors[at] for _, _, errors in splits) if one.components.moved else None for at, one in enumerate(about)
        ]
        return Grid(
            f"Standard error in points, where a model gives {self.budget:,} answers",
            ("variants of each", QUESTION + "s", *(one.name for one in about)),
            tuple(
                (
                    f"{variants}",
                    f"{questions:,}",
                    *(_points(one) + " (least)" * (one == low) for one, low in zip(errors, least, strict=True)),
                )
                for variants, questions, errors in splits
            ),
            asked=self.budget_asked,
        )

    def _levels(self) -> Grid:
        return Grid(
            "Scores by level",
            ("factor", "level", *(one.name for one in self.contestants)),
            tuple((factor, one_line(level, _NAME), *map(_points, scores)) for factor, level, scores in self.levels()),
        )

    def closing(self) -> list[str]:
        """How to read it, and what it leaves out."""
        judged = self.design.factors[-1].name == JUDGE
        chance = ", ".join(one.name for one in self._all if one.components.p > ALPHA)
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
        if any(one.left_out for one in self.contestants):
            lines.append(
                "left out, since an answer of them is missing: "
                + ", ".join(
                    f"{one.left_out:,} question{'s' * (one.left_out != 1)} of {one.name}" for one in self.contestants
                )
            )
        if self._is_split:
            several = "n levels of every factor (n prompts, n orders)" if self._asks_variants else "n answers"
            lines.append(
                f"In the table of a budget, n variants of a question have {several}"
                f"{', each marked by all judges' * judged}; factors that are not shown to move the score add no error. "
                f"There are {self.available:,} questions; a row with more takes new ones."
            )
        return lines

    def records(self) -> Records:
        """A row a source of each score and difference; variances of shares."""
        about = [
            *((one.model, "", one.components) for one in self.contestants),
            *((one.first, one.second, one.components) for one in self.differences),
        ]
        header = ("exam", "model", "less", "source", "variance", "low", "high", "degrees", "p", "share_of_error")
        return header, [
            (
                self.exam,
                first,
                second,
                one.name,
                one.variance,
                one.low,
                one.high,
                one.degrees,
                one.p,
                found.shares()[one.name],
            )
            for first, second, found in about
            for one in found.components
        ]

    def data(self) -> object:
        """Everything, as plain data."""
        plain = msgspec.to_builtins
        return {
            "exam": self.exam,
            "design": plain(self.design),
            "models": [{**plain(one), "ranks": self.ranks()[one.model]} for one in self.contestants],
            "differences": plain(self.differences),
            "levels": [{"factor": factor, "level": level, "scores": scores} for factor, level, scores in self.levels()],
            "positions": {model: plain(found) for model, found in self.positions.items()},
            "splits": [
                {"variants": variants, "questions": questions, "errors": errors}
                for variants, questions, errors in self.splits()
            ],
        }


def _margins(one: Contestant | Difference, to: str) -> tuple[str, ...]:
    """The mean, and the columns of `_MARGINS`."""
    found = one.components
    halves = (_half(found, everything=False), _half(found, everything=True))
    cells = f"{_points(min(one.cells))}{to}{_points(max(one.cells))}"
    return _points(found.mean), *halves, cells, _points(one.by_chance), p_text(found.p)


def _interval(one: Component) -> str:
    """In points; `–` for one without width."""
    low, high = _points(one.low**0.5), _points(one.high**0.5) if one.high < 1 else "over 100"
    return "–" if low == high else f"{low}–{high}"


def _components(moved: Contestant | Difference) -> Grid:
    shares = moved.components.shares()
    return Grid(
        f"What moves the {moved.title}",
        ("source", "sd", "95 % interval", "p", "share of the error"),
        tuple(
            (
                one.name,
                _points(one.sd),
                _interval(one),
                p_text(one.p),
                "–" if share is None else f"{100 * share:.0f} %",
            )
            for one in moved.components.components
            for share in (shares[one.name],)
        ),
    )


def _positions(model: str, found: Sequence[Position]) -> Grid:
    return Grid(
        f"Where options stand, in per cent of answers · {one_line(model, _NAME)}",
        ("letter", "gold there", "chosen", "chosen − gold", "95 % interval", "right if gold there"),
        tuple(
            (
                one.letter,
                _points(one.gold),
                _points(one.chosen),
                f"{100 * (one.chosen - one.gold):+.1f}",
                f"{100 * one.low:+.1f} to {100 * one.high:+.1f}",
                "–" if one.right is None else _points(one.right),
            )
            for one in found
        ),
    )


def _half(found: Components, *, everything: bool) -> str:
    low, high = found.interval(everything=everything)
    return _points((high - low) / 2) if high - low < 2 else "over 100"


def _points(share: float) -> str:
    return f"{100 * share:.1f}"


def _range(ranks: tuple[int, int]) -> str:
    return f"{ranks[0]}" if ranks[0] == ranks[1] else f"{ranks[0]} to {ranks[1]}"
