"""Shares by strata: exact, reproducible, and independent of order."""

from collections import Counter
from fractions import Fraction
from math import ceil, floor

from hypothesis import example, given
from hypothesis import strategies as st

from rows import each_row
from viva.build.halves.stratify import connected, draw, largest_remainders, quotas

TENTH = Fraction(1, 10)
CELLS = st.dictionaries(
    st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.sampled_from("123")), st.integers(1, 60), min_size=1
)
SHARES = st.fractions(min_value=Fraction(1, 50), max_value=Fraction(49, 50), max_denominator=50)


@each_row(
    ({"a": 10, "b": 20}, {"a": 1, "b": 2}),
    ({"a": 19, "b": 11}, {"a": 2, "b": 1}),  # 1.9 and 1.1 of 3
    ({"a": 7, "b": 7, "c": 6}, {"a": 1, "b": 1, "c": 0}),
    ({"a": 5}, {"a": 1}),  # a half goes up
    ({"a": 4}, {"a": 0}),
    ({}, {}),
)
def test_largest_remainders(counts: dict[str, int], wanted: dict[str, int]) -> None:
    found = largest_remainders({(name,): count for name, count in counts.items()}, TENTH)
    assert found == {(name,): count for name, count in wanted.items()}


@given(CELLS, SHARES, st.integers(0, 3))
@example({("a", "x", "1"): 1, ("a", "x", "2"): 1, ("a", "x", "3"): 1, ("a", "y", "1"): 1}, Fraction(7, 50), 0)
def test_quotas_are_shares_to_less_than_one(counts: dict[tuple[str, ...], int], share: Fraction, seed: int) -> None:
    found = quotas(counts, share, seed)
    assert found == quotas(dict(reversed(counts.items())), share, seed)
    total = sum(counts.values())
    assert sum(found.values()) == floor(share * total + Fraction(1, 2))
    for cell, count in counts.items():
        assert floor(share * count) <= found[cell] <= ceil(share * count)


@given(st.dictionaries(st.text("abcdefgh", min_size=1, max_size=2), st.integers(1, 30)), SHARES, st.integers(0, 3))
def test_where_nothing_pulls_apart_the_largest_remainders_win_and_the_seed_ranks_equal_ones(
    counts: dict[str, int], share: Fraction, seed: int
) -> None:
    cells = {("all", name): count for name, count in counts.items()}
    assert quotas(cells, share, seed) == largest_remainders(cells, share, seed)


def test_every_dimension_has_its_share() -> None:
    counts = {(one, other): 5 for one in "abcdef" for other in "uvwxyz"}
    found = quotas(counts, TENTH)
    for at in range(2):
        sums = Counter[str]()
        for cell, count in found.items():
            sums[cell[at]] += count
        assert set(sums.values()) == {3}  # 30 each; single cells are 0.5 each


def test_who_is_drawn_depends_on_name_and_seed_alone() -> None:
    cells = [("a",) if number % 3 else ("b",) for number in range(100)]
    names = [f"q{number}" for number in range(100)]
    chosen = {names[at] for at in draw(cells, TENTH, seed=1, names=names).chosen}
    turned = draw(cells[::-1], TENTH, seed=1, names=names[::-1]).chosen
    assert {names[::-1][at] for at in turned} == chosen
    assert len(chosen) == 10
    assert {names[at] for at in draw(cells, TENTH, seed=2, names=names).chosen} != chosen


def test_groups_stay_together() -> None:
    cells = [("a",)] * 200
    groups = [[number, number + 1, number + 2] for number in range(0, 90, 3)]
    sides = Counter[bool]()
    for seed in range(20):
        drawn = draw(cells, TENTH, seed=seed, groups=groups)
        assert len(drawn.chosen) == 20
        for group in groups:
            inside = drawn.chosen & set(group)
            assert not inside or inside == set(group)
            sides[bool(inside)] += 1
    assert 0.05 < sides[True] / sides.total() < 0.15


def test_a_quota_that_groups_leave_open_is_told() -> None:
    drawn = draw([("a",)] * 10 + [("b",)] * 10, Fraction(1, 2), groups=[list(range(10))])
    assert drawn.short == {("a",): 5}


def test_pairs_become_groups() -> None:
    assert connected(8, [(5, 1), (2, 3), (1, 7), (3, 2)]) == [[1, 5, 7], [2, 3]]
    assert connected(3, []) == []
