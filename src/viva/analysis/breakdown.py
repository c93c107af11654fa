"""Tables of means with intervals and outcome counts, from rows of scores.

How a cell counts. A reply that cannot be read (unparsed, empty, truncated, refused) earns no point but stays in the
denominator, as in the papers; what is not the model's doing (no reply, not graded, no usable gold) is left out of the
mean, marks the cell as incomplete, and is never a zero. The bounds take the full set as denominator: what the mean
would be if everything unscored were wrong, and if it were right.

Several answers to a question count as their mean, or as the best of each repeat, as a line says (`Line.attempts`). A
question that the set lists several times counts so often (`ScoreRow.weight`), and is one question to the intervals. A
line may average a part of the scores in place of their values (`Line.part`); an answer whose part is known counts
there even where its score is not (its answer is graded, its rationale waits for a judge).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Literal

import polars as pl
from msgspec import Struct

from viva.analysis.attempts import best_of_repeats, drawn
from viva.analysis.uncertainty import (
    ALIKE,
    Interval,
    difference_interval,
    interval_of_scores,
    mean_variance,
    share_interval,
    standard_deviation,
    zero_one_interval,
)
from viva.types import OUTCOMES, SCORED, UNANSWERED, Layout, Line, ScoreRow


class Cell(Struct, frozen=True, kw_only=True):
    """One number with all that belongs to it. Shares are in 0..1; `mean` is None where nothing could be scored."""

    n: int
    """Answers in all, each as often as its question is listed: the full denominator."""
    mean: float | None
    low: float | None = None
    high: float | None = None
    floor: float = 0.0
    """The mean over all n if everything unscored were wrong."""
    ceiling: float = 1.0
    sd: float | None = None
    """Standard deviation of the mean over repeats."""
    outcomes: dict[str, int] = {}
    zeroed: float | None = None
    """The mean with ungraded answers counted 0; None where there are none. An answer that keeps its judge from a
    verdict gains nothing here."""
    short: int = 0
    """Questions that count with the best of fewer answers than they were asked for: some are missing."""
    unit: Literal["answers", "questions"] = "answers"
    """What `n` counts: answers, or questions where each has one, or its answers count as one."""
    lacks: tuple[str, ...] = ()
    """Parts that the exam's tables tell apart, of which less than half is scored (see `_SOME`)."""

    @property
    def same_parts(self) -> bool:
        """Whether the mean is over all the parts that the cell is about, as a published figure is."""
        return not self.lacks and 2 * self.unanswered <= self.n

    @property
    def unanswered(self) -> int:
        """Answers that are missing from the mean."""
        return sum(self.outcomes.get(outcome, 0) for outcome in UNANSWERED)

    @property
    def complete(self) -> bool:
        """Whether the mean rests on everything that was asked."""
        return self.unanswered == 0 and self.short == 0


class Table(Struct, frozen=True, kw_only=True):
    """A layout filled in for one model and exam."""

    exam: str
    model: str
    name: str
    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    detail: bool
    cells: tuple[tuple[Cell, ...], ...]
    across: bool = False


_CHUNK = 4096
_FIELDS = ("question", "repeat", "value", "outcome", "weight")


def frame(rows: Iterable[ScoreRow]) -> pl.DataFrame:
    """Rows of one model's scores on one exam as a data frame, a column a tag or part (null where a row has none).

    Built in chunks: as columns of a frame, rows take a tenth of the memory that they take as objects.
    """
    source = iter(rows)
    chunks: list[pl.DataFrame] = []
    while taken := list(itertools.islice(source, _CHUNK)):
        columns: dict[str, list[object]] = {name: [getattr(row, name) for row in taken] for name in _FIELDS}
        tags = dict.fromkeys(tag for row in taken for tag in row.tags)
        for tag in tags:
            columns[f"tag:{tag}"] = [row.tags.get(tag) for row in taken]
        parts = {f"part:{part}": part for part in dict.fromkeys(part for row in taken for part in row.parts)}
        for name, part in parts.items():
            columns[name] = [row.parts.get(part) for row in taken]
        numbers = {**dict.fromkeys(("value", *parts), pl.Float64), "repeat": pl.Int32, "weight": pl.Int32}
        text = dict.fromkeys(("outcome", *(f"tag:{tag}" for tag in tags)), pl.Categorical)
        chunks.append(pl.DataFrame(columns, schema_overrides={**text, **numbers}))
    if not chunks:
        types = {"question": pl.String, "value": pl.Float64, "outcome": pl.Categorical}
        return pl.DataFrame(schema={**types, "repeat": pl.Int32, "weight": pl.Int32})
    return pl.concat(chunks, how="diagonal")


class _View(Struct, frozen=True):
    """The answers as they count: one row a counted answer, and summed up a question."""

    answers: pl.DataFrame
    questions: pl.DataFrame


class Breakdown:
    """The scores of one model on one exam, summed up a question, ready for any cell.

    `attempts` is what several answers to a question count as, where a line does not say otherwise. `layouts` are the
    exam's tables: their lines are the parts that a cell may lack.
    """

    def __init__(self, scores: pl.DataFrame, attempts: str = "", layouts: Iterable[Layout] = ()) -> None:
        self._scores = scores
        self._parts = _parts(layouts, scores.columns)
        self._known = [*(name for name in scores.columns if name.startswith("tag:")), "weight"]
        """What is the same for all answers to a question."""
        self._repeats = scores["repeat"].n_unique()
        self._attempts = attempts or "mean"
        self._several = scores.height > scores.select("question", "repeat").n_unique()
        self._most = max(scores.group_by("question").len()["len"].to_list(), default=0)
        self._marked: dict[tuple[str, str], pl.DataFrame] = {}
        self._views: dict[tuple[str, str, str], _View] = {}

    def _view(self, attempts: str, part: str, given: str) -> _View:
        """Made when first asked for: most tables need one only."""
        if attempts in ("mean", "best") and not self._several:
            attempts = "mean"
        if (attempts, part, given) not in self._views:
            answers = self._marked.get((part, given))
            if answers is None:
                answers = self._marked[part, given] = _marked(_given(self._scores, given), part)
            if attempts == "best":
                answers = best_of_repeats(answers, self._known)
            elif attempts != "mean":
                answers = drawn(answers, self._known, attempts)
            weight = pl.col("weight")
            questions = answers.group_by(["question", *self._known], maintain_order=True).agg(
                pl.len().cast(pl.Int32).alias("n"),
                pl.col("points", "answered", "floor", "ceiling", "fraction", "short").sum(),
                *((pl.col("outcome") == name).sum().cast(pl.Int32).alias(f"outcome:{name}") for name in OUTCOMES),
            )
            counts = ("n", "points", "answered", "floor", "ceiling", "short", *(f"outcome:{name}" for name in OUTCOMES))
            self._views[attempts, part, given] = _View(answers, questions.with_columns(pl.col(*counts) * weight))
        return self._views[attempts, part, given]

    def table(self, layout: Layout, exam: str, model: str) -> Table:
        """A layout's cells, without the lines that want more answers to a question than there are."""
        rows, columns = (tuple(filter(self._enough, lines)) for lines in (layout.rows, layout.columns))
        return Table(
            exam=exam,
            model=model,
            name=layout.name,
            title=layout.title,
            rows=tuple(row.label for row in rows),
            columns=tuple(column.label for column in columns),
            detail=layout.detail,
            across=layout.across,
            cells=tuple(tuple(self.cell(row, column) for column in columns) for row in rows),
        )

    def _enough(self, line: Line) -> bool:
        """Whether any question has the answers that "best@10" wants: of two there is no best of ten."""
        count = line.attempts.partition("@")[2]
        return not count.isdecimal() or int(count) <= self._most

    def cell(self, *lines: Line) -> Cell:
        """The answers that all `lines` share, averaged as they say."""
        over = next((line.over for line in lines if line.over), "")
        attempts = next((line.attempts for line in lines if line.attempts), self._attempts)
        part_of = next((line.part for line in lines if line.part), "")
        view = self._view(attempts, part_of, next((line.given for line in lines if line.given), ""))
        part = self._part(view.questions, lines)
        summed = part.select(
            pl.len().alias("clusters"),
            pl.col("n", "points", "answered", "floor", "ceiling", "fraction", "short").sum(),
            *_products(),
            pl.col("points").min().alias("lowest"),
            *(pl.col(f"outcome:{outcome}").sum() for outcome in OUTCOMES),
        ).row(0, named=True)
        n, answered = int(summed["n"]), int(summed["answered"])
        outcomes: dict[str, int] = {name: count for name in OUTCOMES if (count := int(summed[f"outcome:{name}"]))}
        if not n:
            return Cell(n=0, mean=None)
        ungraded = outcomes.get("ungraded", 0)
        if over:
            mean, low, high, floor, ceiling = _macro(part, over)
            zeroed = _macro_zeroed(part, over) if ungraded else None
        else:
            zeroed = summed["points"] / (answered + ungraded) if ungraded else None
            mean, low, high = _micro(summed)
            floor, ceiling = summed["floor"] / n, summed["ceiling"] / n
        repeated = self._repeats > 1 and attempts in ("mean", "best") and answered
        sd = self._deviation(view.answers, lines, over) if repeated else None
        return Cell(
            n=n,
            mean=mean,
            low=low,
            high=high,
            floor=floor,
            ceiling=ceiling,
            sd=sd,
            outcomes=outcomes,
            zeroed=zeroed,
            short=int(summed["short"]),
            unit="answers" if self._several and attempts == "mean" else "questions",
            lacks=self._lacks(part, n) if answered < n else (),
        )

    def _lacks(self, part: pl.DataFrame, n: int) -> tuple[str, ...]:
        found: list[tuple[bool, list[str]]] = []
        for tag, labels in self._parts.items():
            counts = part.group_by(f"tag:{tag}", maintain_order=True).agg(pl.col("n", "answered").sum())
            few = [
                labels[value]
                for value, all_of_it, scored in counts.iter_rows()
                if value in labels and 2 * scored < all_of_it and all_of_it - scored >= _SOME * n
            ]
            found.append((len(few) == counts.height, few))
        # First what tells most: a format that nobody graded is short in every domain, too.
        return tuple(dict.fromkeys(name for _, few in sorted(found, key=lambda one: one[0]) for name in few))

    def questions(self, *lines: Line) -> pl.DataFrame:
        """The questions that all `lines` share, a row each, for what compares questions.

        Columns `question`, `weight`, `tag:*`, and the sums over a question's answers as a cell counts them, each as
        often as the question is listed: `n` answers, `answered` of them, their `points`, the bounds `floor`, `ceiling`;
        `fraction` counts the scores that are neither 0 nor 1, `outcome:NAME` each outcome.
        """
        attempts = next((line.attempts for line in lines if line.attempts), self._attempts)
        part_of = next((line.part for line in lines if line.part), "")
        view = self._view(attempts, part_of, next((line.given for line in lines if line.given), ""))
        return self._part(view.questions, lines)

    def _part(self, data: pl.DataFrame, lines: Sequence[Line]) -> pl.DataFrame:
        conditions = [
            pl.col(f"tag:{tag}").cast(pl.String).is_in(values) if f"tag:{tag}" in data.columns else pl.lit(value=False)
            for line in lines
            for tag, values in line.where.items()
        ]
        return data.filter(*conditions) if conditions else data

    def _deviation(self, answers: pl.DataFrame, lines: Sequence[Line], over: str) -> float | None:
        part = self._part(answers, lines).filter(pl.col("answered") == 1)
        groups = ["repeat", _group_of(part, over)] if over else ["repeat"]
        weighted = (pl.col("points") * pl.col("weight")).sum() / pl.col("weight").sum()
        means = part.group_by(groups, maintain_order=True).agg(weighted.alias("points"))
        if over:
            means = means.group_by("repeat", maintain_order=True).agg(pl.col("points").mean())
        return standard_deviation(means["points"].to_list())


_SOME = 0.005
"""Share of a cell's answers that a part must lack to be named: one answer lost of a handful makes no other quantity."""


def _parts(layouts: Iterable[Layout], columns: Sequence[str]) -> dict[str, dict[str, str]]:
    """Tag → its values that are lines of the tables by themselves → what the lines are called."""
    found: dict[str, dict[str, str]] = {}
    for layout in layouts:
        for line in (*layout.rows, *layout.columns):
            for tag, values in line.where.items():
                if len(line.where) == len(values) == 1 and f"tag:{tag}" in columns:
                    found.setdefault(tag, {}).setdefault(values[0], line.label)
    return found


def mean_of(questions: pl.DataFrame) -> tuple[float | None, float | None, float | None]:
    """The mean over some of `Breakdown.questions` with its interval, as a cell has it."""
    summed = questions.select(
        pl.col("points", "answered", "fraction").sum(), *_products(), pl.col("points").min().alias("lowest")
    ).row(0, named=True)
    return _micro(summed)


def _given(scores: pl.DataFrame, part: str) -> pl.DataFrame:
    """The answers with full marks in a part."""
    if not part:
        return scores
    return scores.filter(pl.col(f"part:{part}") >= 1.0) if f"part:{part}" in scores.columns else scores.clear()


def _marked(scores: pl.DataFrame, part: str = "") -> pl.DataFrame:
    """Every answer with what it counts for: the part of its score, where it has such a part, else its value."""
    apart = pl.col(f"part:{part}") if f"part:{part}" in scores.columns else pl.lit(None, dtype=pl.Float64)
    known = apart.is_not_null()
    outcome = pl.col("outcome").cast(pl.String)
    unanswered = outcome.is_in(sorted(UNANSWERED)) & ~known
    points = pl.when(unanswered).then(0.0).otherwise(pl.coalesce(apart, "value").fill_null(0.0))
    unscored = ~outcome.is_in(sorted(SCORED)) & ~known
    graded = (
        pl.when(apart >= 1.0).then(pl.lit("right")).when(apart > 0.0).then(pl.lit("partly")).otherwise(pl.lit("wrong"))
    )
    return scores.with_columns(
        outcome=pl.when(outcome.is_in(sorted(UNANSWERED | SCORED)) & known)
        .then(graded)
        .otherwise(outcome)
        .cast(pl.Categorical),
        points=points,
        answered=(~unanswered).cast(pl.Int32),
        floor=pl.when(unscored).then(0.0).otherwise(points),
        ceiling=pl.when(unscored).then(1.0).otherwise(points),
        short=pl.lit(0, dtype=pl.Int32),
        fraction=((points != 0.0) & (points != 1.0)).cast(pl.Int32),
    )


def _products() -> tuple[pl.Expr, ...]:
    points, answered = pl.col("points"), pl.col("answered")
    return (
        (points * points).sum().alias("pp"),
        (points * answered).sum().alias("pa"),
        (answered * answered).sum().alias("aa"),
        (answered > 0).sum().alias("heard"),
    )


def _squares(summed: dict[str, float], mean: float) -> float:
    """Σ (points − mean × answers)² over questions, from the sums of products."""
    return max(0.0, summed["pp"] - 2 * mean * summed["pa"] + mean * mean * summed["aa"])


def _micro(summed: dict[str, float]) -> tuple[float | None, float | None, float | None]:
    answered, questions = int(summed["answered"]), int(summed["heard"])
    if not answered:
        return None, None, None
    mean = summed["points"] / answered
    squares = _squares(summed, mean)
    interval: Interval | None = None
    if summed["lowest"] >= 0:
        zero_one = answered == questions and not summed["fraction"]
        interval = interval_of_scores(mean, squares, questions, answered, zero_one=zero_one)
    elif squares >= ALIKE:  # a difference of scores is no share: no interval for what did not vary at all
        interval = difference_interval(mean, mean_variance(squares, questions, answered), questions - 1)
    return (mean, *interval) if interval else (mean, None, None)


_FEW = 5
"""Questions in a group from which its spread is its own, and not pooled with that of other small groups."""


class _Group(Struct, frozen=True):
    """One group of a macro average: its mean over `questions`, and their summed squared residuals as scores."""

    mean: float
    questions: int
    squares: float


def _group_of(part: pl.DataFrame, over: str) -> pl.Expr:
    """The group of each row; one group where nothing has the tag, as of the questions without it among others."""
    return pl.col(f"tag:{over}") if f"tag:{over}" in part.columns else pl.lit(None, pl.String).alias(f"tag:{over}")


def _macro(part: pl.DataFrame, over: str) -> tuple[float | None, float | None, float | None, float, float]:
    """The mean over groups of the groups' means, with its interval and bounds."""
    summed = part.group_by(_group_of(part, over), maintain_order=True).agg(
        pl.col("n", "points", "answered", "floor", "ceiling", "fraction").sum(), *_products()
    )
    groups: list[_Group] = []
    for row in summed.iter_rows(named=True):
        if row["answered"]:
            mean, each = row["points"] / row["answered"], row["answered"] / row["heard"]
            groups.append(_Group(mean, row["heard"], _squares(row, mean) / each**2))
    floor = (summed["floor"] / summed["n"]).mean()
    ceiling = (summed["ceiling"] / summed["n"]).mean()
    bounds = (float(floor or 0.0), float(ceiling or 0.0))  # type: ignore[arg-type]
    if not groups:
        return None, None, None, *bounds
    mean = sum(group.mean for group in groups) / len(groups)
    difference = float(part["points"].min() or 0.0) < 0  # type: ignore[arg-type]
    interval = _macro_interval(mean, groups, difference=difference)
    return (mean, *interval, *bounds) if interval else (mean, None, None, *bounds)


def _macro_zeroed(part: pl.DataFrame, over: str) -> float:
    """The mean over groups of the groups' means, ungraded answers counted 0."""
    graded = pl.col("answered") + pl.col("outcome:ungraded")
    means = part.group_by(f"tag:{over}", maintain_order=True).agg(pl.col("points").sum(), graded.sum().alias("graded"))
    return float((means.filter(pl.col("graded") > 0).select(pl.col("points") / pl.col("graded"))).to_series().mean())  # type: ignore[arg-type]


def _macro_interval(mean: float, groups: Sequence[_Group], *, difference: bool) -> Interval | None:
    """The groups' sampling variances add up, each weighted 1/k², with Satterthwaite's degrees of freedom.

    Groups too small to tell their own spread have that of all small ones together, or of all groups where these are too
    few (Satterthwaite 1946, Biometrics Bulletin 2:110-114). Where every group is a single question, the groups are the
    sample. None where nothing tells how sure the mean is.
    """
    small = [group for group in groups if group.questions < _FEW]
    pool = small if sum(group.questions - 1 for group in small) >= _FEW else groups
    spare = sum(group.questions - 1 for group in pool)
    if not spare:
        if len(groups) < 2:
            return None
        squares = sum((group.mean - mean) ** 2 for group in groups)
        variances = [(squares / (len(groups) - 1) / len(groups), float(len(groups) - 1))]
    else:
        within = sum(group.squares for group in pool) / spare
        k = len(groups) ** 2
        large = (group for group in groups if group.questions >= _FEW)
        variances = [
            (group.squares / (group.questions - 1) / group.questions / k, group.questions - 1.0) for group in large
        ]
        variances.append((within * sum(1 / group.questions for group in small) / k, float(spare)))
    variance = sum(value for value, _ in variances)
    worth = len(groups) ** 2 / sum(1 / group.questions for group in groups)
    if variance < 1e-12:
        return None if difference else zero_one_interval(mean * worth, worth)
    degrees = variance**2 / sum(value**2 / free for value, free in variances)
    if difference:
        return difference_interval(mean, variance, degrees)
    return share_interval(mean, variance, worth, degrees)
