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

An estimate is more than 0 by chance alone in every second design. So each source has a p: with questions by a t-test of
the figures whose mean is its estimate; of levels by an F test of the differences between their means, against those on
single questions (Box 1954), for these levels only, since two or three of them show hardly anything of others. Holm's
correction over all sources: for a guesser one is shown in at most 5 % of designs.

Judges who marked the same answers are one more factor, crossed with all others and with the answers: each source has a
part common to all judges, and one for each of them (question × judge, chance × judge).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from viva.analysis.multiplicity import adjusted
from viva.analysis.uncertainty import LEVEL, t_quantile

Floats = NDArray[np.float64]
ALPHA = 0.05
"""The level below which p shows a source."""
QUESTION, CELL, CHANCE, JUDGE = "question", "combination", "chance", "judge"
_SINGULAR = 1e-9
_MANY = 1e9
"""Degrees of freedom of quantities taken as known."""
_DRAWS = 10_000
_NO_ERROR = 1e-6
"""Standard errors below this, in shares, are rounding."""


class Component(Struct, frozen=True, kw_only=True):
    """One source of variance. Variances are of shares, from 0 to 1; `variance` may be below 0, as an unbiased estimate
    of a small one is. `degrees` are those of its interval. With questions in the source, the interval has no width
    where all questions give one figure, and is 0 to 0 where it lies entirely below 0: neither shows that the variance
    is 0.
    """

    name: str
    variance: float
    low: float
    high: float
    degrees: float
    in_mean: float
    """Contribution to the variance of the mean over all asked questions and cells."""
    p: float | None
    """p of no variance, by Holm over the sources of a score: with questions by a t-test (None where all questions give
    one figure), without questions of the hypothesis that these levels do not differ on other questions."""

    @property
    def shown(self) -> bool:
        """Whether it is significant."""
        return self.p is not None and self.p <= ALPHA

    @property
    def of_questions(self) -> bool:
        """Whether its values depend on the questions."""
        return QUESTION in self.name or CHANCE in self.name

    @property
    def of_judges(self) -> bool:
        """Whether its values depend on the judges."""
        return JUDGE in self.name

    @property
    def of_answers(self) -> bool:
        """Whether its values differ between answers to the same question."""
        return not {*self.name.split(" × ")} <= {QUESTION, JUDGE}

    @property
    def sd(self) -> float:
        """The standard deviation; 0 where the variance is estimated below 0."""
        return math.sqrt(max(0.0, self.variance))


class Components(Struct, frozen=True, kw_only=True):
    """The variance components of a score, or of a difference of two, on the same questions and cells."""

    mean: float
    questions: int
    cells: int
    levels: int
    """Levels of the factor with the fewest."""
    samples: int
    judges: int
    """Number of judges that marked every answer; 1 if scores are used as they are."""
    components: tuple[Component, ...]
    error: float
    """Standard error where questions, and levels of the factors, are a draw from many like them."""
    degrees: float
    """Degrees of freedom of that error (Satterthwaite)."""
    questions_error: float
    """Standard error where only questions are drawn: for these prompts and orders."""
    questions_degrees: int

    @property
    def p(self) -> float:
        """The least p of the sources without questions: whether any moves the mean."""
        return min(
            component.p for component in self.components if component.p is not None and not component.of_questions
        )

    @property
    def moved(self) -> bool:
        """Whether a significant source is reduced by averaging more variants of a question."""
        return any(
            component.shown and component.of_answers and not component.of_questions for component in self.components
        )

    def interval(self, *, everything: bool = True) -> tuple[float, float]:
        """Return the interval of the mean: with `everything` for any levels of the factors, else for the asked ones."""
        error, degrees = (
            (self.error, self.degrees) if everything else (self.questions_error, float(self.questions_degrees))
        )
        half = t_quantile(degrees) * error
        return self.mean - half, self.mean + half

    def shares(self) -> dict[str, float | None]:
        """Return source → its part of the squared `error`; None where there is no error.

        What chance does as well has none, and the error is that without it. What others with questions add to the mean
        is theirs in proportion, since one below 0 lowers the error all the same.
        """
        shown = {component: max(0.0, component.in_mean) for component in self.components if component.shown}
        counted = sum(part for component, part in shown.items() if component.of_questions)
        parts = {
            component.name: part * self.questions_error**2 / counted if component.of_questions else part
            for component, part in shown.items()
        }
        whole = sum(parts.values())
        return {
            component.name: parts[component.name] / whole if component.shown and whole > _NO_ERROR**2 else None
            for component in self.components
        }

    def error_with(self, questions: float, variants: float) -> float:
        """Return the standard error of a mean over `questions`, each answered once in each of `variants` cells with
        different levels of every factor; with the same number of judges.

        Insignificant factors add nothing. As in `error`, estimates below 0 lower only the sum over sources with
        questions. A question's own variance is below 0 where levels compensate for each other, as all orders of options
        do for a model that prefers a letter, up to the number of existing levels.
        """
        of_questions = others = 0.0
        for component in self.components:
            judges = self.judges if component.of_judges else 1
            if component.of_questions:
                alone = max(1.0, variants / self.levels) if component.variance < 0 else 1.0
                of_questions += component.variance / (
                    questions * (variants if component.of_answers else alone) * judges
                )
            elif component.shown:
                others += max(0.0, component.variance) / ((variants if component.of_answers else 1) * judges)
        return math.sqrt(max(0.0, of_questions) + others)


class _Figures(Struct, frozen=True, kw_only=True):
    """Figures for estimating components, from one array of values or as the mean over several (contrasts of judges)."""

    of_questions: dict[str, Floats]
    """Source → a figure for each question, whose mean estimates its variance."""
    shares: dict[str, float]
    """Source → the factor of its variance in that of a mean over all questions and cells."""
    means: Floats
    """Arrays × questions × cells."""
    noise: dict[str, float]
    """Source without questions → the variance of the same form that questions add to cells' means."""
    error: float
    """Squared standard error of the mean over other questions."""


def estimate(values: Floats, cells: Sequence[Sequence[int]], factors: Sequence[str]) -> Components:
    """Return the components of an array of values: questions × cells × samples, without gaps.

    `cells` has a row a cell: the level of each of `factors`; one empty row where nothing is varied. A fourth axis has
    the values by judge, who are crossed with all else: their common part is estimated from the means over judges, less
    the contribution of their differences, which are estimated from orthonormal contrasts between them. For full designs
    this is the analysis of variance. Raises ValueError for fewer than two questions or cells.
    """
    panel = values if values.ndim == 4 else values[..., None]
    questions, count, samples, judges = panel.shape
    if questions < 2 or count * judges < 2:
        raise ValueError(f"components take two questions and two cells, and here are {questions} and {count}")
    codes = np.asarray(cells, dtype=np.int64).reshape(count, len(factors))
    # 1 where two cells have the same level.
    forms = {name: np.equal.outer(column, column) * 1.0 for name, column in zip(factors, codes.T, strict=True)}
    if len(factors) > 1:
        forms[CELL] = np.eye(count)
    names, matrix = _independent(forms)
    whole = _figures(panel.mean(axis=3)[None], {name: forms[name] for name in names}, matrix)
    apart = None
    if judges > 1:
        # The mean over judges is the vector of eigenvalue 0; the others are orthonormal contrasts.
        contrasts = np.linalg.eigh(np.eye(judges) - 1 / judges)[1][:, 1:]
        apart = _figures(np.moveaxis(panel @ contrasts, 3, 0), {name: forms[name] for name in names}, matrix)
    by_judge = _of_levels(apart, codes, names, {}) if apart else {}
    shared = {name: (component.variance / judges, component.degrees) for name, component in by_judge.items()}
    levels = [*_of_levels(whole, codes, names, shared).values()]
    alone: list[Component] = []
    crossed: list[Component] = []
    for label, figures in whole.of_questions.items():
        share = whole.shares[label]
        differing = apart.of_questions[label] if apart else None
        if differing is not None:
            crossed.append(_of_questions(_of_judges(label), differing, share / judges))
        own = figures if differing is None else figures - differing / judges
        alone.append(_of_questions(label, own, share))
    ordered = [alone[0], *levels, *alone[1:]]
    if apart:
        judge = _of_the_judges(apart, [*by_judge.values()], judges)
        ordered += [judge, crossed[0], *(_shared(component, judges) for component in by_judge.values()), *crossed[1:]]
    p_values = adjusted([component.p for component in ordered], "holm")
    ordered = [structs.replace(component, p=p) for component, p in zip(ordered, p_values, strict=True)]
    random = [component for component in ordered if not component.of_questions]
    parts = [
        (whole.error, questions - 1.0),
        *((max(0.0, component.in_mean), component.degrees) for component in random),
    ]
    total, degrees = _sum_of(parts)
    return Components(
        mean=float(panel.mean()),
        questions=questions,
        cells=count,
        levels=min((len(np.unique(codes[:, index])) for index in range(len(factors))), default=1),
        samples=samples,
        judges=judges,
        components=tuple(ordered),
        error=math.sqrt(total),
        degrees=degrees if total else questions - 1.0,
        questions_error=math.sqrt(whole.error),
        questions_degrees=questions - 1,
    )


def range_by_chance(values: Floats) -> float:
    """Return the expected range of the means of cells (questions × cells) if their true means are equal, by normal
    draws.
    """
    spread = np.cov(values.T) / len(values)
    return float(np.ptp(np.random.default_rng(0).multivariate_normal(spread[0] * 0, spread, _DRAWS), axis=1).mean())


def _sum_of(parts: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the sum of estimates of variances, each with its degrees of freedom, and Satterthwaite's degrees of the
    sum.
    """
    total, spread = sum(part for part, _ in parts), sum(part**2 / degrees for part, degrees in parts)
    return total, max(1.0, total**2 / spread) if spread else _MANY


def _figures(arrays: Floats, forms: Mapping[str, Floats], matrix: Floats) -> _Figures:
    """Return the figures of arrays × questions × cells × samples; `matrix`: the traces of the forms."""
    _, questions, count, samples = arrays.shape
    centre = np.eye(count) - 1 / count
    correct = questions / (questions - 1)
    means = arrays.mean(axis=3)
    left = (means - means.mean(axis=1, keepdims=True)) @ centre  # of each question without its mean and those of cells
    # A figure for each question and form, whose mean estimates the component.
    each = [((left @ form) * left).sum(axis=2).mean(axis=0) * correct for form in forms.values()]
    crossed = np.linalg.solve(matrix, np.stack(each)) if each else np.zeros((0, questions))
    weights = [float(form.mean()) for form in forms.values()]
    centred = means.mean(axis=2) - means.mean(axis=(1, 2))[:, None]
    deviation = (centred**2).mean(axis=0) * correct
    within = np.asarray(arrays.var(axis=3, ddof=1).mean(axis=(0, 2))) if samples > 1 else None
    names = [QUESTION, *(f"{QUESTION} × {name}" for name in forms)]
    figures = dict(zip(names, [deviation - np.asarray(weights) @ crossed, *crossed], strict=True))
    shares = dict(zip(names, [1 / questions, *(weight / questions for weight in weights)], strict=True))
    last = names[-1]
    if within is None:  # single answers: chance is part of question × cell
        figures = {f"{name}, {CHANCE}" if name == last else name: figure for name, figure in figures.items()}
        shares = dict(zip(figures, shares.values(), strict=True))
    else:
        figures |= {last: figures[last] - within / samples, CHANCE: within}
        shares[CHANCE] = 1 / (questions * count * samples)
    return _Figures(
        of_questions=figures,
        shares=shares,
        means=means,
        noise=dict(zip(forms, (crossed.mean(axis=1) / questions).tolist(), strict=True)),
        error=float(deviation.mean()) / questions,
    )


def _shared(component: Component, judges: int) -> Component:
    """Return a component of contrasts between judges, as a source of the mean over `judges`."""
    return structs.replace(component, name=_of_judges(component.name), in_mean=component.in_mean / judges)


def _of_judges(label: str) -> str:
    """Return the label of a source that differs by judge."""
    name, comma, chance = label.partition(",")
    return f"{name} × {JUDGE}{comma}{chance}"


def _independent(forms: Mapping[str, Floats]) -> tuple[list[str], Floats]:
    """Return the forms that the cells can separate, in order, and the traces for expectations: of P A P B, where P
    removes the mean. Raises ValueError for two confounded factors.
    """
    names: list[str] = []
    matrix = np.zeros((0, 0))
    for name, form in forms.items():
        tried = [*names, name]
        centre = np.eye(len(form)) - 1 / len(form)
        own = [centre @ forms[term] @ centre for term in tried]
        traces = np.array([[float(np.sum(a * b)) for b in own] for a in own])
        scale = np.sqrt(np.diag(traces))
        if not scale.all() or np.linalg.eigvalsh(traces / np.outer(scale, scale))[0] < _SINGULAR:
            if name != CELL:
                raise ValueError(f"{name} always changes together with another factor: no cell tells them apart")
            continue
        names, matrix = tried, traces
    return names, matrix


def _of_questions(name: str, figures: Floats, share: float) -> Component:
    """Return a component whose estimate is the mean of one figure a question."""
    from scipy.special import stdtr

    mean, degrees = float(figures.mean()), len(figures) - 1
    error = float(figures.std(ddof=1)) / math.sqrt(len(figures))
    half = t_quantile(degrees) * error
    return Component(
        name=name,
        variance=mean,
        low=max(0.0, mean - half),
        high=max(0.0, mean + half),
        degrees=degrees,
        in_mean=mean * share,
        p=float(stdtr(degrees, -mean / error)) if error > _NO_ERROR**2 else None,
    )


def _of_levels(
    figures: _Figures,
    codes: NDArray[np.int64],
    names: Sequence[str],
    shared: Mapping[str, tuple[float, float]],
) -> dict[str, Component]:
    """Return the components without questions, from the means of cells. `shared`: name → other variance of the same
    form in them, and its degrees of freedom.
    """
    means, noise = figures.means, figures.noise
    count = means.shape[2]
    factors = [name for name in names if name != CELL]
    dummies = [np.eye(int(codes[:, index].max()) + 1)[codes[:, index]] for index in range(len(factors))]
    every = _projection(np.ones((count, 1)), *dummies)
    nothing = (0.0, _MANY)
    made: dict[str, Component] = {}
    rest = noise.get(CELL, 0.0)  # the variance of a single cell's mean
    square, degrees = rest, _MANY
    if CELL in noise and np.linalg.matrix_rank(every) < count:
        form = np.eye(count)
        other = _sum_of([(rest, _MANY), shared.get(CELL, nothing)])
        made[CELL] = _few_levels(CELL, means, form - every, other, rest, form)
        square, degrees = other[0] + made[CELL].variance, made[CELL].degrees
    for index, name in enumerate(factors):
        others = _projection(np.ones((count, 1)), *dummies[:index], *dummies[index + 1 :])
        form = dummies[index] @ dummies[index].T
        explained = every - others
        times = float(np.sum(explained * form)) / float(np.trace(explained))
        more, known = shared.get(name, nothing)
        # The questions' contribution has as many degrees of freedom as there are questions.
        parts = [(square, degrees if square > rest else _MANY), (noise[name] * times, _MANY), (more * times, known)]
        made[name] = _few_levels(name, means, explained, _sum_of(parts), rest + noise[name] * times, form)
    return {name: made[name] for name in names if name in made}


def _few_levels(
    name: str, means: Floats, projection: Floats, rest: tuple[float, float], least: float, form: Floats
) -> Component:
    """Return a component of few levels, whose effects a form spreads over the cells' means. `rest`: the other variance
    in the mean square of the projection, and its degrees of freedom; at least `least`, since no true variance is below
    0.

    In the upper limit a mean square below the rest is replaced by the rest, or the limit could fall to 0: levels that
    are by chance more alike than their combinations only show that a component of 0 is possible.
    """
    from scipy.special import fdtri

    degrees = round(float(np.trace(projection))) * len(means)
    times = float(np.sum(projection * form)) * len(means) / degrees
    squares, p = _test(means, projection)
    seen, (other, known) = squares / degrees, rest
    bound = max(0.0, other, least)
    tail = (1 - LEVEL) / 2
    low, high = (
        float((mean_square - bound * fdtri(degrees, known, part)) / fdtri(degrees, _MANY, part) / times)
        for mean_square, part in ((seen, 1 - tail), (max(seen, bound), tail))
    )
    variance = (seen - other) / times
    return Component(
        name=name,
        variance=variance,
        low=max(0.0, low),
        high=max(0.0, high),
        degrees=degrees,
        in_mean=variance * float(form.mean()),
        p=p,
    )


def _of_the_judges(apart: _Figures, by_judge: Sequence[Component], judges: int) -> Component:
    """Return the component of judges, from the means of contrasts between them."""
    means, once = apart.means.mean(axis=2, keepdims=True), np.ones((1, 1))
    levels = [(component.in_mean, component.degrees) for component in by_judge]
    rest = _sum_of([(apart.error, (means.shape[1] - 1.0) * len(means)), *levels])
    component = _few_levels(JUDGE, means, once, rest, apart.error, once)
    return structs.replace(component, in_mean=component.in_mean / judges)


def _test(means: Floats, projection: Floats) -> tuple[float, float]:
    """Return the sum of squares of a projection of cells' means over questions, and its p: F, with the degrees of
    freedom of its variance between questions (Box, Annals of Mathematical Statistics 25, 1954, section 3).
    """
    from scipy.special import fdtrc

    each = np.hstack([*(means @ projection)])
    squares = float((each.mean(axis=0) ** 2).sum())
    spread = np.cov(each.T).reshape(each.shape[1], -1)
    total = float(np.trace(spread))
    if total < _NO_ERROR**2:
        return squares, float(squares < _NO_ERROR**2)
    degrees = total**2 / float((spread**2).sum())
    return squares, float(fdtrc(degrees, degrees * (len(each) - 1), len(each) * squares / total))


def _projection(*columns: Floats) -> Floats:
    """Return the projection onto the span of the columns."""
    known = np.hstack(columns)
    return np.asarray(known @ np.linalg.pinv(known))


class Position(Struct, frozen=True, kw_only=True):
    """The choices of one letter. Shares of answers."""

    letter: str
    gold: float
    chosen: float
    low: float
    high: float
    """The 95 % interval of `chosen` − `gold`; answers to one question count as one."""
    right: float | None
    """The share of right answers where this letter is gold."""


def positions(questions: Sequence[Sequence[tuple[str, str]]]) -> tuple[Position, ...]:
    """Return for each letter that is gold somewhere, in order, how often a model chooses it and how often it is gold.
    `questions`: (chosen, gold) of the answers to each, with equal weight. Empty for fewer than two questions.

    With options in every order a model without preference chooses each letter as often as it is gold (Zheng et al.,
    arXiv 2309.03882, section 2; Pezeshkpour and Hruschka, arXiv 2308.11483).
    """
    answered = [answers for answers in questions if answers]
    if len(answered) < 2:
        return ()
    placed = []
    for letter in sorted({gold for answers in answered for _, gold in answers}):
        chosen, gold = (
            np.array([np.mean([each[which] == letter for each in answers]) for answers in answered]) for which in (0, 1)
        )
        gains = chosen - gold
        half = t_quantile(len(gains) - 1) * float(gains.std(ddof=1)) / math.sqrt(len(gains))
        there = [letter_said == letter for answers in answered for letter_said, place in answers if place == letter]
        placed.append(
            Position(
                letter=letter,
                gold=float(gold.mean()),
                chosen=float(chosen.mean()),
                low=float(gains.mean()) - half,
                high=float(gains.mean()) + half,
                right=sum(there) / len(there) if there else None,
            )
        )
    return tuple(placed)
