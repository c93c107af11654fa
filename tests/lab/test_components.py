"""Variance components by analysis of variance and REML, and their intervals; designs, full and in fractions."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viva.designs import Design, Factor
from viva.lab.variation.cells import factorial
from viva.lab.variation.components import CELL, CHANCE, JUDGE, QUESTION, Components, Floats, estimate, positions

NAMES = ("prompt", "order")
SD = {QUESTION: 0.4, "prompt": 0.06, "order": 0.04, CELL: 0.02, f"{QUESTION} × prompt": 0.2,
      f"{QUESTION} × order": 0.15, f"{QUESTION} × {CELL}": 0.1, CHANCE: 0.3}  # fmt: skip


def simulated(
    random: np.random.Generator, questions: int, cells: list[tuple[int, ...]], samples: int, sd: dict[str, float] = SD
) -> Floats:
    codes = np.array(cells)
    count = len(cells)
    values = 0.6 + random.normal(0, sd[QUESTION], (questions, 1, 1)) + np.zeros((questions, count, samples))
    for at, name in enumerate(NAMES):
        levels = int(codes[:, at].max()) + 1
        values = values + random.normal(0, sd[name], levels)[codes[:, at]][None, :, None]
        crossed = random.normal(0, sd[f"{QUESTION} × {name}"], (questions, levels))
        values = values + crossed[:, codes[:, at]][:, :, None]
    values = values + random.normal(0, sd[CELL], (1, count, 1))
    values = values + random.normal(0, sd[f"{QUESTION} × {CELL}"], (questions, count, 1))
    return np.asarray(values + random.normal(0, sd[CHANCE], values.shape), dtype=np.float64)


def by_name(found: Components) -> dict[str, float]:
    return {one.name: one.variance for one in found.components}


def judged(random: np.random.Generator, values: Floats, judges: int, sd: dict[str, float]) -> Floats:
    """The same answers marked by so many judges: with a severity of their own, for questions, cells, and answers."""
    questions, count, samples = values.shape
    own = {
        JUDGE: (1, 1, 1, judges),
        f"{QUESTION} × {JUDGE}": (questions, 1, 1, judges),
        f"prompt × {JUDGE}": (1, count, 1, judges),
        f"{QUESTION} × prompt × {JUDGE}": (questions, count, 1, judges),
        f"{CHANCE} × {JUDGE}": (questions, count, samples, judges),
    }
    panel = values[..., None] + np.zeros((1, 1, 1, judges))
    for name, shape in own.items():
        panel = panel + random.normal(0, sd.get(name, 0.0), shape)
    return np.asarray(panel, dtype=np.float64)


def mean_squares(cube: Floats) -> dict[tuple[int, ...], float]:
    """Of a full layout with one value in each place, by inclusion and exclusion of means: axes → mean square."""
    axes = range(cube.ndim)
    found = {}
    for keep in (each for size in range(1, cube.ndim + 1) for each in itertools.combinations(axes, size)):
        total = np.zeros((1,) * cube.ndim)
        for size in range(len(keep) + 1):
            for kept in itertools.combinations(keep, size):
                mean = cube.mean(axis=tuple(axis for axis in axes if axis not in kept), keepdims=True)
                total = total + (-1) ** (len(keep) - size) * mean
        degrees = math.prod(cube.shape[axis] - 1 for axis in keep)
        found[keep] = float((np.broadcast_to(total, cube.shape) ** 2).sum()) / degrees
    return found


def random_effects(cube: Floats) -> dict[tuple[int, ...], float]:
    """Components of a full layout in which all is random: axes → variance, from alternating sums of mean squares."""
    squares = mean_squares(cube)
    found = {}
    for keep in squares:
        rest = [axis for axis in range(cube.ndim) if axis not in keep]
        sums = (
            (-1) ** size * squares[tuple(sorted((*keep, *more)))]
            for size in range(len(rest) + 1)
            for more in itertools.combinations(rest, size)
        )
        found[keep] = sum(sums) / math.prod(cube.shape[axis] for axis in rest)
    return found


def test_a_full_design_gives_the_analysis_of_variance() -> None:
    cells = [*factorial([3, 4])]
    values = simulated(np.random.default_rng(3), 40, cells, 2)
    found = by_name(estimate(values, cells, NAMES))
    within = float(values.var(axis=2, ddof=1).mean())
    wanted = random_effects(values.mean(axis=2).reshape(40, 3, 4))
    wanted[0, 1, 2] -= within / 2
    prompt, order, cell = (f"{QUESTION} × {name}" for name in (*NAMES, CELL))
    names = {(0,): QUESTION, (1,): "prompt", (2,): "order", (1, 2): CELL, (0, 1): prompt, (0, 2): order}
    assert found.keys() == {*names.values(), cell, CHANCE}
    assert math.isclose(found[CHANCE], within)
    whole = estimate(values, cells, NAMES)
    assert math.isclose(sum(share or 0.0 for share in whole.shares().values()), 1.0)
    assert whole.error > whole.questions_error
    assert whole.error_with(50, 1) > whole.error_with(50, 4) > whole.error_with(500, 4)
    for axes, name in (names | {(0, 1, 2): cell}).items():
        assert math.isclose(found[name], wanted[axes], rel_tol=1e-9, abs_tol=1e-12), name


def test_judges_of_several_answers_give_the_analysis_of_variance_of_nested_answers() -> None:
    """Two answers to each question are nested in it, and crossed with judges: nothing else is varied."""
    random = np.random.default_rng(29)
    own = {JUDGE: 0.1, f"{QUESTION} × {JUDGE}": 0.1, f"{CHANCE} × {JUDGE}": 0.2}
    values = judged(random, 0.5 + random.normal(0, 0.3, (40, 1, 1)) + random.normal(0, 0.3, (40, 1, 2)), 3, own)
    found = by_name(estimate(values, [()], ()))
    cube = values[:, 0]
    q, r, j = cube.shape
    square = {axes: r * each for axes, each in mean_squares(cube.mean(axis=1)).items()}
    answers = float(cube.mean(axis=2).var(axis=1, ddof=1).mean()) * j
    left = cube - cube.mean(axis=1, keepdims=True)
    least = float(((left - left.mean(axis=2, keepdims=True)) ** 2).sum()) / (q * (r - 1) * (j - 1))
    wanted = {
        QUESTION: (square[0,] - answers - square[0, 1] + least) / (r * j),
        JUDGE: (square[1,] - square[0, 1]) / (q * r),
        CHANCE: (answers - least) / j,
        f"{QUESTION} × {JUDGE}": (square[0, 1] - least) / r,
        f"{CHANCE} × {JUDGE}": least,
    }
    assert found.keys() == wanted.keys()
    for name, variance in wanted.items():
        assert math.isclose(found[name], variance, rel_tol=1e-9, abs_tol=1e-12), name


@pytest.mark.parametrize("part", [None, pytest.param(8, marks=pytest.mark.slow)])
def test_estimates_are_unbiased_and_intervals_cover(part: int | None) -> None:
    """On average components are the true ones, and their intervals hold these, and the mean, so often."""
    random = np.random.default_rng(11)
    cells = [*factorial([3, 4], part)]
    truth = {name: sd**2 for name, sd in SD.items()}
    covered: dict[str, list[bool]] = {}
    sums: dict[str, list[float]] = {}
    means = []
    for _ in range(200):
        found = estimate(simulated(random, 60, cells, 2), cells, NAMES)
        low, high = found.interval()
        means.append(low <= 0.6 <= high)
        for one in found.components:
            covered.setdefault(one.name, []).append(one.low <= truth[one.name] <= one.high)
            sums.setdefault(one.name, []).append(one.variance)
    assert covered.keys() == truth.keys()
    for name, values in sums.items():
        error = float(np.std(values)) / math.sqrt(len(values))
        assert abs(float(np.mean(values)) - truth[name]) < 4 * error, name
        assert 0.89 <= float(np.mean(covered[name])) <= 0.99, name
    assert 0.92 <= float(np.mean(means)) <= 1.0


def test_shares_are_of_the_error_that_is_reported() -> None:
    """A letter's preference makes the question's own component negative; under all orders it leaves no error."""
    always = np.zeros((96, 4, 1))
    for question in range(96):
        always[question, question % 4] = 1.0
    found = estimate(always, [(level,) for level in range(4)], ["order"])
    assert found.error < 1e-9
    assert set(found.shares().values()) == {None}
    assert math.isclose(found.error_with(96, 1), math.sqrt(0.25 * 0.75 / 95), rel_tol=1e-9)
    assert found.error_with(96, 4) < 1e-6
    random = np.random.default_rng(5)
    guessed = (random.random((96, 4, 1)) < 0.25).astype(np.float64)
    for values, moved in ((always - guessed, False), (guessed - 0.2 * np.arange(4)[None, :, None], True)):
        found = estimate(values, [(level,) for level in range(4)], ["order"])
        order = next(one for one in found.components if one.name == "order")
        shares = found.shares()
        assert math.isclose(sum(share or 0.0 for share in shares.values()), 1.0)
        assert (order.shown, found.moved) == (moved, moved)
        assert shares["order"] == (pytest.approx(order.in_mean / found.error**2) if moved else None)
        assert math.isclose(found.error_with(96, 4), found.error if moved else found.questions_error)
        assert found.error_with(96, 8) > 0.7 * found.questions_error


def test_factors_that_always_change_together_are_refused() -> None:
    values = np.zeros((5, 2, 1))
    with pytest.raises(ValueError, match="together with another"):
        estimate(values, [(0, 0), (1, 1)], NAMES)
    with pytest.raises(ValueError, match="two questions and two cells"):
        estimate(values[:1], [(0, 0), (1, 1)], NAMES)


def test_a_model_that_says_a_has_all_its_excess_there() -> None:
    said = [[("A", gold) for gold in "ABCD"] for _ in range(20)]
    found = {one.letter: one for one in positions(said)}
    assert [one.gold for one in found.values()] == [0.25] * 4
    assert [one.chosen for one in found.values()] == [1.0, 0.0, 0.0, 0.0]
    assert (found["A"].low, found["A"].right, found["B"].right) == (0.75, 1.0, 0.0)
    fair = positions([[(gold, gold) for gold in "AB"], [("A", "B"), ("B", "A")]])
    assert all(one.low <= 0 <= one.high for one in fair)
    assert positions(said[:1]) == ()


SIZES = st.lists(st.integers(2, 4), min_size=1, max_size=4)


@settings(max_examples=settings.default.max_examples // 5)
@given(SIZES, st.integers(2, 24))
def test_every_level_is_there_equally_often_or_once_more(sizes: list[int], wanted: int) -> None:
    cells = factorial(sizes, wanted)
    assert len(cells) == min(wanted, math.prod(sizes))
    assert wanted < math.prod(sizes) or cells == tuple(itertools.product(*map(range, sizes))), "every combination once"
    assert cells[0] == (0,) * len(sizes)
    assert factorial(sizes, wanted) == cells
    for at, size in enumerate(sizes):
        counts = Counter(cell[at] for cell in cells)
        assert set(counts) <= set(range(size))
        assert max(counts.values()) - min(counts.get(level, 0) for level in range(size)) <= 1


def test_where_there_is_an_orthogonal_array_it_is_found() -> None:
    for sizes, cells in (([2, 2, 2], 4), ([3, 3, 3], 9)):
        found = factorial(sizes, cells)
        for one, other in itertools.combinations(range(len(sizes)), 2):
            pairs = Counter((cell[one], cell[other]) for cell in found)
            assert set(pairs.values()) == {cells // (sizes[one] * sizes[other])}


def test_a_design_says_whether_its_cells_have_levels_that_exist() -> None:
    prompt, order = Factor("prompt", ("base", "brief")), Factor("order", ("0", "1", "2"))
    good = Design((prompt, order), factorial([2, 3]))
    assert good.sound
    assert good.summary == "prompt2.order3"
    assert good.named(7) == good.named(1) == {"prompt": "base", "order": "1"}
    assert Design((prompt, order), good.cells[:4]).summary == "prompt2.order3.in4"
    for bad in (
        Design((prompt, order), ((0, 0), (0, 3))),
        Design((prompt, order), ((0, 0), (1,))),
        Design((prompt, prompt), ((0, 0), (1, 1))),
    ):
        assert not bad.sound
