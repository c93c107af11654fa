"""Random samples: the same for everyone, fair, and named."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review.material import many
from rows import table
from viva.errors import DataError
from viva.review.filters import Filter
from viva.review.items import DECIDED, tags
from viva.review.sampling import read_size, sample_items

ITEMS = many(90)


@given(
    size=st.one_of(st.integers(1, 120), st.floats(0.001, 1.0)),
    seed=st.integers(0, 99),
    by=st.sampled_from(["", "type", "discipline", DECIDED, "none such"]),
    order=st.randoms(use_true_random=False),
)
def test_a_sample_has_its_size_and_does_not_depend_on_the_order(
    size: int | float, seed: int, by: str, order: random.Random
) -> None:
    drawn = sample_items(ITEMS, size, seed, by)
    wanted = min(90, size) if isinstance(size, int) else size * 90
    assert wanted <= len(drawn) + 1e-6 < wanted + 1.001
    assert len({item.key for item in drawn}) == len(drawn)
    shuffled = list(ITEMS)
    order.shuffle(shuffled)
    assert {item.key for item in sample_items(shuffled, size, seed, by)} == {item.key for item in drawn}
    assert drawn == [item for item in ITEMS if item in drawn], "in the order of the items"


def test_a_larger_sample_holds_the_smaller() -> None:
    small, large = ({sample.key for sample in sample_items(ITEMS, size, 3)} for size in (20, 45))
    assert small < large


def test_every_item_is_drawn_equally_often() -> None:
    counts = Counter(item.key for seed in range(600) for item in sample_items(ITEMS, 30, seed))
    # Binomial(600, 1/3): sd 11.5; over 90 items, 4.5 sd is beyond chance.
    assert all(abs(counts[item.key] - 200) < 52 for item in ITEMS)


def test_strata_get_their_shares() -> None:
    drawn = sample_items(ITEMS, 30, 1, "type")
    assert set(Counter(item.about["type"] for item in drawn).values()) == {6}
    assert Counter(item.about["type"] for item in sample_items(ITEMS, 7, 1, "type")).most_common()[-1][1] == 1


def test_a_size_is_a_number_or_a_share() -> None:
    sizes = {"30": 30, "1": 1, "1.0": 1.0, "0.25": 0.25, "10%": 0.1, "100%": 1.0, "1e-2": 0.01}
    with table() as row:
        for text, size in sizes.items():
            with row(text):
                found = read_size(text)
                assert found == size
                assert isinstance(found, type(size))


def test_what_is_neither_is_refused() -> None:
    with table() as row:
        for text in ("", "0", "-3", "1.5", "2.0", "ten", "110%", "nan", "inf", "0%", "%", "9" * 40, "٣"):
            with row(text), pytest.raises(DataError, match=r"give a number"):
                read_size(text)


def test_a_design_is_named_by_what_it_was_drawn_from() -> None:
    designs: tuple[tuple[dict[str, str], str], ...] = (
        ({}, ""),
        ({"sample": "30"}, "random:30:seed0"),
        ({"sample": "10%", "seed": "7", "by": "type"}, "random:10%:seed7:by=type"),
        ({"sample": "5", "t.type": "MC", "t.discipline": "A & B"}, "random:5:seed0:discipline=A+%26+B&type=MC"),
        ({"by": "type"}, ""),
    )
    with table() as row:
        for query, design in designs:
            with row(query):
                assert Filter.read(query, False).design == design


def test_the_tags_are_those_that_tell_items_apart() -> None:
    found = tags(ITEMS)
    assert set(found) == {"type", "discipline", "outcome", DECIDED}
    assert found["type"] == ("FB", "MC", "MS", "OE", "TF")
