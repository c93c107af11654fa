"""Variance components of scores from a design: questions crossed with cells, a cell being a level of each factor.

The model is that of generalizability theory (Cronbach et al. 1972; Brennan, Generalizability Theory, 2001, chapter 5),
with everything random: the value of an answer is the mean + question + each factor's level + cell (what factors do
together) + question × each factor + question × cell + chance. Components are estimated by moments. Quadratic forms of
what is left of each question's cell values, when means of questions and cells are taken away, are set equal to their
expectations (synthesis: Hartley, Rao and LaMotte, Biometrics 34, 1978); so are the squares that each factor explains of
the cells' means beyond the others (method 3: Henderson, Biometrics 9, 1953). For a full design both are the analysis
of variance.

Components that have questions in them are means of one figure a question, and so are their standard errors. Those that
have none have as many degrees of freedom as a factor has levels, less one; their interval is that of Williams
(Biometrika 49, 1962; Burdick and Graybill, Confidence Intervals on Variance Components, 1992, section 3.3). It is wide,
since three prompts say little about prompts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from viva.analysis.uncertainty import LEVEL, t_quantile

Floats = NDArray[np.float64]
QUESTION, CELL, CHANCE = "question", "combination", "chance"
_SINGULAR = 1e-9
_MANY = 1e9
"""Degrees of freedom of what is known well."""
_NO_ERROR = 1e-6
"""A standard error below it, in shares, is one of rounding."""


class Component(Struct, frozen=True, kw_only=True):
    """One source of variance. Variances are of shares, from 0 to 1; `variance` may be below 0, as an unbiased estimate
    of a small one is. `degrees` are those of its interval. That of a source with questions in it has no width where
    all questions give one figure, and is 0 to 0 where it lies below 0 as a whole: neither says that there is nothing.
    """

    name: str
    variance: float
    low: float
    high: float
    degrees: float
    in_mean: float
    """What it adds to the variance of the mean over all questions and cells that were asked."""

    @property
    def of_questions(self) -> bool:
        """Whether other questions would have other values of it."""
        return QUESTION in self.name or self.name == CHANCE

    @property
    def sd(self) -> float:
        """The standard deviation; 0 where the variance is estimated below 0."""
        return math.sqrt(max(0.0, self.variance))


class Components(Struct, frozen=True, kw_only=True):
    """The sources of variance of a score, or of a difference of two, on the same questions and cells."""

    mean: float
    questions: int
    cells: int
    levels: int
    """Of the factor that has the fewest."""
    samples: int
    components: tuple[Component, ...]
    error: float
    """Standard error where questions, and levels of the factors, are a draw from many like them."""
    degrees: float
    """Of that error (Satterthwaite)."""
    questions_error: float
    """The same where only questions are: for these very prompts and orders."""
    questions_degrees: int

    def interval(self, *, level: float = LEVEL, everything: bool = True) -> tuple[float, float]:
        """Of the mean: with `everything` for any levels of the factors, else for those that were asked."""
        error, degrees = (
            (self.error, self.degrees) if everything else (self.questions_error, float(self.questions_degrees))
        )
        half = t_quantile(degrees, level) * error
        return self.mean - half, self.mean + half

    def shares(self) -> dict[str, float | None]:
        """Source → its part of the squared `error`; None where there is no error.

        A source that is estimated below 0 has none. One with questions in it lowers the error all the same, so that
        the others with questions share what is left in proportion.
        """
        if self.error < _NO_ERROR:
            return dict.fromkeys((one.name for one in self.components), None)
        parts = {one.name: max(0.0, one.in_mean) for one in self.components}
        counted = sum(parts[one.name] for one in self.components if one.of_questions)
        kept = self.questions_error**2 / counted if counted else 0.0
        return {
            one.name: parts[one.name] * (kept if one.of_questions else 1.0) / self.error**2 for one in self.components
        }

    def error_with(self, questions: float, variants: float) -> float:
        """The standard error of a mean over so many questions, each answered once in each of so many cells, of which
        every one has levels of its own of every factor.

        As in `error`, what is estimated below 0 lowers what all sources with questions in them add together, and
        nothing else. A question's own variance is below 0 where its levels make up for each other, as all orders of
        options do for a model that likes a letter. No more than the levels that there are can do so.
        """
        of_questions = 0.0
        for one in self.components:
            if one.of_questions:
                alone = max(1.0, variants / self.levels) if one.variance < 0 else 1.0
                of_questions += one.variance / (questions * (alone if one.name == QUESTION else variants))
        others = sum(max(0.0, one.variance) / variants for one in self.components if not one.of_questions)
        return math.sqrt(max(0.0, of_questions) + others)


def estimate(
    values: Floats, cells: Sequence[Sequence[int]], factors: Sequence[str], level: float = LEVEL
) -> Components:
    """Return the components of an array of values: questions × cells × samples, all of them known.

    `cells` has a row a cell: the level of each of `factors`. Raises ValueError for fewer than two questions or cells.
    """
    questions, count, samples = values.shape
    if questions < 2 or count < 2:
        raise ValueError(f"components take two questions and two cells, and here are {questions} and {count}")
    codes = np.asarray(cells, dtype=np.int64).reshape(count, len(factors))
    forms = {name: _same(codes[:, at]) for at, name in enumerate(factors)}
    if len(factors) > 1:
        forms[CELL] = np.eye(count)
    names, matrix = _independent(forms)
    means = values.mean(axis=2)
    centre = np.eye(count) - 1 / count
    cell_means = means.mean(axis=0)
    left = (means - cell_means) @ centre  # what is left of each question without its mean and those of cells
    correct = questions / (questions - 1)
    # One figure a question for each form, whose mean estimates the component.
    each = np.stack([np.einsum("qc,cd,qd->q", left, forms[name], left) for name in names], axis=1) * correct
    crossed = np.linalg.solve(matrix, each.T).T
    weights = np.array([forms[name].sum() / count**2 for name in names])
    within = _chance(values)
    deviation = (means.mean(axis=1) - means.mean()) ** 2 * correct
    alone = deviation - crossed @ weights
    noise = dict(zip(names, (crossed.mean(axis=0) / questions).tolist(), strict=True))
    levels = _of_levels(cell_means, codes, [name for name in names if name != CELL], noise, level)
    found = [_of_questions(QUESTION, alone, level, 1 / questions)]
    found += [levels[name] for name in names if name in levels]
    last = CELL if CELL in names else names[-1]
    for at, name in enumerate(names):
        own = crossed[:, at] - within / samples if name == last and within is not None else crossed[:, at]
        label = _crossed_name(name, last, chance=within is None)
        found.append(_of_questions(label, own, level, float(weights[at]) / questions))
    if within is not None:
        found.append(_of_questions(CHANCE, within, level, 1 / (questions * count * samples)))
    own_error = float(deviation.mean()) / questions
    random = [one for one in found if not one.of_questions]
    parts = [(own_error, questions - 1.0), *((max(0.0, one.in_mean), one.degrees) for one in random)]
    total = sum(part for part, _ in parts)
    spread = sum(part**2 / degrees for part, degrees in parts)
    return Components(
        mean=float(means.mean()),
        questions=questions,
        cells=count,
        levels=min(len(np.unique(codes[:, at])) for at in range(len(factors))),
        samples=samples,
        components=tuple(found),
        error=math.sqrt(total),
        degrees=total**2 / spread if spread else questions - 1.0,
        questions_error=math.sqrt(own_error),
        questions_degrees=questions - 1,
    )


def _crossed_name(name: str, last: str, *, chance: bool) -> str:
    said = f"{QUESTION} × {name}"
    return f"{said}, {CHANCE}" if name == last and chance else said


def _same(codes: NDArray[np.int64]) -> Floats:
    """1 where two cells have the same level."""
    return np.asarray(codes[:, None] == codes[None, :], dtype=np.float64)


def _independent(forms: Mapping[str, Floats]) -> tuple[list[str], Floats]:
    """The forms that the cells tell apart, in their order, and the traces that expectations are made of: of P A P B,
    where P takes the mean away. Raises ValueError for two factors that always go together."""
    names: list[str] = []
    matrix = np.zeros((0, 0))
    for name, form in forms.items():
        tried = [*names, name]
        centre = np.eye(len(form)) - 1 / len(form)
        own = [centre @ forms[one] @ centre for one in tried]
        traces = np.array([[float(np.sum(a * b)) for b in own] for a in own])
        scale = np.sqrt(np.diag(traces))
        if not scale.all() or np.linalg.eigvalsh(traces / np.outer(scale, scale))[0] < _SINGULAR:
            if name != CELL:
                raise ValueError(f"{name} always changes together with another factor: no cell tells them apart")
            continue
        names, matrix = tried, traces
    return names, matrix


def _chance(values: Floats) -> Floats | None:
    """A question's mean variance of samples in one cell; None where there is one sample."""
    return np.asarray(values.var(axis=2, ddof=1).mean(axis=1)) if values.shape[2] > 1 else None


def _of_questions(name: str, figures: Floats, level: float, share: float) -> Component:
    """A component whose estimate is the mean of one figure a question."""
    mean, degrees = float(figures.mean()), len(figures) - 1
    half = t_quantile(degrees, level) * float(figures.std(ddof=1)) / math.sqrt(len(figures))
    return Component(
        name=name,
        variance=mean,
        low=max(0.0, mean - half),
        high=max(0.0, mean + half),
        degrees=degrees,
        in_mean=mean * share,
    )


def _of_levels(
    cell_means: Floats, codes: NDArray[np.int64], factors: Sequence[str], noise: Mapping[str, float], level: float
) -> dict[str, Component]:
    """The components without questions, from the means of cells. `noise`: the variance that each form adds to a mean
    of a cell through its questions."""
    count = len(cell_means)
    dummies = [np.eye(int(codes[:, at].max()) + 1)[codes[:, at]] for at in range(len(factors))]
    every = _projection(np.ones((count, 1)), *dummies)
    found: dict[str, Component] = {}
    rest = noise.get(CELL, 0.0)  # what one mean of a cell has of its own
    square, degrees = rest, _MANY
    if CELL in noise and np.linalg.matrix_rank(every) < count:
        found[CELL] = _few_levels(CELL, cell_means, np.eye(count) - every, (rest, _MANY), rest, np.eye(count), level)
        square, degrees = rest + found[CELL].variance, found[CELL].degrees
    for at, name in enumerate(factors):
        others = _projection(np.ones((count, 1)), *dummies[:at], *dummies[at + 1 :])
        form = dummies[at] @ dummies[at].T
        explained = every - others
        own = noise[name] * float(np.sum(explained * form)) / float(np.trace(explained))
        # Satterthwaite's degrees of a sum of which one part is known as well as there are questions.
        known = degrees * ((square + own) / square) ** 2 if square > rest else _MANY
        found[name] = _few_levels(name, cell_means, explained, (square + own, known), rest + own, form, level)
    return found


def _few_levels(
    name: str,
    cell_means: Floats,
    projection: Floats,
    rest: tuple[float, float],
    least: float,
    form: Floats,
    level: float,
) -> Component:
    """A component whose mean square has few degrees of freedom. `rest`: what else is in the mean square, and the
    degrees of freedom of that; it is `least` at least, since no true variance is below 0.

    A mean square below the rest is taken for the rest in the upper limit, which would fall to 0 else: levels that are
    by chance more alike than combinations of them say no more than that a component of 0 is possible.
    """
    from scipy.special import fdtri

    other, known = rest
    bound = max(0.0, other, least)
    degrees = round(float(np.trace(projection)))
    square = float(cell_means @ projection @ cell_means) / degrees
    times = float(np.sum(projection * form)) / degrees
    tail = (1 - level) / 2
    low, high = (
        float((seen - bound * fdtri(degrees, known, part)) / fdtri(degrees, _MANY, part) / times)
        for seen, part in ((square, 1 - tail), (max(square, bound), tail))
    )
    variance = float((square - other) / times)
    return Component(
        name=name,
        variance=variance,
        low=max(0.0, low),
        high=max(0.0, high),
        degrees=degrees,
        in_mean=variance * float(form.sum()) / len(form) ** 2,
    )


def _projection(*columns: Floats) -> Floats:
    """On what the columns span."""
    known = np.hstack(columns)
    return np.asarray(known @ np.linalg.pinv(known))
