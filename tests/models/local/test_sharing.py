"""Shared prefixes of rows: split into groups, arranged as trees, packed into batches."""

import random

from hypothesis import example, given
from hypothesis import strategies as st

from viva.models.local.sharing import UNIT, batches, cost, groups, tree

token = st.integers(0, 2)
row = st.lists(token, min_size=1, max_size=12)
rows_in_common = st.builds(
    lambda prefix, rest: [prefix + each for each in rest],
    st.lists(token, max_size=80),
    st.lists(row, min_size=1, max_size=8),
)
some_rows = st.lists(row, max_size=8) | rows_in_common | st.builds(list.__add__, rows_in_common, rows_in_common)
overheads = st.sampled_from([0, 3, 48])


@given(some_rows, overheads, st.randoms())
@example([[1, 2, 3], [1, 2], [1, 2, 3]], 0, random.Random(1))  # a row that is a prefix of another, and a row twice
def test_every_row_is_in_one_group_whose_prefix_it_has_without_what_is_asked_about(
    rows: list[list[int]], overhead: int, chance: random.Random
) -> None:
    own = [chance.randrange(len(each)) for each in rows]
    for given_own in (own, None):
        parted = groups(rows, given_own, overhead=overhead)
        assert sorted(number for group in parted for number in group.rows) == list(range(len(rows)))
        for group in parted:
            assert len({tuple(rows[number][: group.prefix]) for number in group.rows}) == 1
            assert all(group.prefix <= (own[number] if given_own else len(rows[number]) - 1) for number in group.rows)


@given(some_rows, overheads)
def test_no_more_is_computed_than_without_sharing(rows: list[list[int]], overhead: int) -> None:
    parted = groups(rows, overhead=overhead)
    assert cost(rows, parted, overhead) <= sum(map(len, rows))


@given(some_rows, overheads)
def test_a_tree_spells_its_rows_and_has_no_token_twice(rows: list[list[int]], overhead: int) -> None:
    for group in groups(rows, overhead=overhead):
        for unit in group.units:
            laid = tree(rows, unit, group.prefix)
            for number, path in zip(unit, laid.paths, strict=True):
                assert [laid.tokens[index] for index in path] == list(rows[number][group.prefix :])
                assert [laid.depths[index] for index in path] == list(range(len(path)))
                assert [laid.parents[index] for index in path] == [-1, *path[:-1]]
            nodes = [tuple(rows[number][group.prefix :][: depth + 1]) for number in unit for depth in range(99)]
            assert len(laid.tokens) == len(set(nodes))


def test_two_subjects_in_a_batch_have_a_prefix_each() -> None:
    first, second = [1] * 100, [1] * 10 + [2] * 90
    rows = [first + [number] * 5 for number in range(3, 9)] + [second + [number] * 5 for number in range(3, 9)]
    parted = groups(rows)
    assert {(group.prefix, frozenset(group.rows)) for group in parted} == {
        (100, frozenset(range(6))),
        (100, frozenset(range(6, 12))),
    }
    assert cost(rows, parted, 0) == 2 * (100 + 6 * 5)


def test_options_share_their_question_below_the_exemplars() -> None:
    rows = [[0] * 80 + [question] * 20 + [50, option] for question in range(1, 5) for option in range(60, 64)]
    (group,) = groups(rows, prompts=[number // 4 for number in range(16)])
    assert group.prefix == 80
    assert sorted(map(sorted, group.units)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]]
    assert cost(rows, [group], 0) == 80 + 4 * (20 + 1 + 4)


def test_little_in_common_is_computed_again_rather_than_in_a_pass_of_its_own() -> None:
    (group,) = groups([[1, 2, 3, *[number] * 30] for number in range(4, 8)])
    assert group.prefix == 0


def test_long_rows_are_no_unit_however_much_they_share() -> None:
    rows = [[1] * 10 + [2] * UNIT + [number] * UNIT for number in (3, 4)]
    assert all(len(unit) == 1 for group in groups(rows) for unit in group.units)


def test_rows_that_each_continue_the_one_before_are_no_endless_matter() -> None:
    rows = [[1] * length for length in range(1, 1500)]
    parted = groups(rows)
    assert sorted(number for group in parted for number in group.rows) == list(range(len(rows)))


@given(st.lists(st.integers(1, 50), max_size=30), st.integers(1, 100))
def test_batches_hold_each_once_and_not_too_much(sizes: list[int], most: int) -> None:
    made = list(batches(sizes, most))
    assert sorted(index for batch in made for index in batch) == list(range(len(sizes)))
    assert all(len(batch) * max(sizes[index] for index in batch) <= most for batch in made if len(batch) > 1)
