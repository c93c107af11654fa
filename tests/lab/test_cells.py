"""Designs: full ones have every combination, fractions are balanced and begin with a plain run's cell."""

import itertools
import math
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from viva.designs import Design, Factor
from viva.lab.variation.cells import factorial

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
