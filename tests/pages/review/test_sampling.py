"""Random samples: the same for everyone, fair, and named."""

import random
from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.review.material import many
from rows import table, tabled
from viva.errors import DataError
from viva.review.items import DECIDED, UNCERTAINTY, Filter, Item, read_size, sample_items, spread, tags

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
    small, large = ({sample.key for sample in sample_items(ITEMS, one, seed)} for one in (20, 45))
    assert small < large, "a larger sample holds the smaller"


def test_every_item_is_drawn_equally_often() -> None:
    counts = Counter(item.key for seed in range(600) for item in sample_items(ITEMS, 30, seed))
    # Binomial(600, 1/3): sd 11.5; over 90 items, 4.5 sd is beyond chance.
    assert all(abs(counts[item.key] - 200) < 52 for item in ITEMS)


def test_strata_get_their_shares() -> None:
    drawn = sample_items(ITEMS, 30, 1, "type")
    assert set(Counter(item.about["type"] for item in drawn).values()) == {6}
    assert Counter(item.about["type"] for item in sample_items(ITEMS, 7, 1, "type")).most_common()[-1][1] == 1


def doubted(place: int) -> Item:
    """Every tenth answer has judges far apart, every fifth near each other, every fifth a mark in the middle."""
    marks = {0: (0.0, 1.0), 1: (0.5, 0.75), 2: (0.25, 0.5), 3: (0.5, 0.5), 4: (0.5, 0.5)}.get(place % 10, (1.0, 1.0))
    opinions = {"a": marks[0], "b": marks[1]}
    draft = msgspec.structs.replace(ITEMS[0].drafts[1], value=sum(marks) / 2, opinions=opinions)
    about = {"exam": "e", "model": "m", "question": str(place), "sample": "0"}
    return Item(key=str(place), about=about, question="", drafts=(draft,), disagreement=spread([opinions]))


DOUBTED = [doubted(place) for place in range(200)]


def test_less_certain_verdicts_are_drawn_more_often_and_alike_equally_often() -> None:
    assert Counter(item.values(UNCERTAINTY)[0] for item in DOUBTED) == {
        "far apart": 20, "near": 40, "between marks": 40, "sure": 100,
    }  # fmt: skip
    drawn = sample_items(DOUBTED, 58, 1, UNCERTAINTY)
    # 58 labels by items × expected error: 20 × 0.5, 40 × 0.35 twice, 100 × 0.2.
    assert Counter(item.values(UNCERTAINTY)[0] for item in drawn) == {
        "far apart": 10, "near": 14, "between marks": 14, "sure": 20,
    }  # fmt: skip
    assert {item.key for item in sample_items(DOUBTED[::-1], 58, 1, UNCERTAINTY)} == {item.key for item in drawn}
    counts = Counter(item.key for seed in range(400) for item in sample_items(DOUBTED, 58, seed, UNCERTAINTY))
    for item in DOUBTED:
        # Binomial(400, 0.5), (400, 0.35), (400, 0.2): sd 10 at most; over 200 items, 4.5 sd is beyond chance.
        share = {"far apart": 0.5, "near": 0.35, "between marks": 0.35, "sure": 0.2}[item.values(UNCERTAINTY)[0]]
        assert abs(counts[item.key] - 400 * share) < 45


def test_every_kind_of_doubt_has_enough_labels_for_a_variance() -> None:
    with table() as row:
        for size, expected in (
            (1, {"far apart": 5, "near": 5, "between marks": 5, "sure": 5}),
            (20, {"far apart": 5, "near": 5, "between marks": 5, "sure": 5}),
            (190, {"far apart": 20, "near": 40, "between marks": 40, "sure": 90}),
            (200, {"far apart": 20, "near": 40, "between marks": 40, "sure": 100}),
            (900, {"far apart": 20, "near": 40, "between marks": 40, "sure": 100}),
        ):
            with row(size):
                drawn = sample_items(DOUBTED, size, 0, UNCERTAINTY)
                assert Counter(item.values(UNCERTAINTY)[0] for item in drawn) == expected
        with row("few of a kind are all drawn"):
            few = sample_items([*DOUBTED[:3], *(doubted(10 * n + 9) for n in range(50))], 20, 0, UNCERTAINTY)
            assert {item.key for item in few} >= {"0", "1", "2"}
            assert len(few) == 20


def test_a_size_is_a_number_or_a_share() -> None:
    sizes = {"30": 30, "1": 1, "1.0": 1.0, "0.25": 0.25, "10%": 0.1, "100%": 1.0, "1e-2": 0.01}
    for (text, size), row in tabled(*sizes.items()):
        with row:
            found = read_size(text)
            assert found == size
            assert isinstance(found, type(size))
    for text, row in tabled("", "0", "-3", "1.5", "2.0", "ten", "110%", "nan", "inf", "0%", "%", "9" * 40, "٣"):
        with row, pytest.raises(DataError, match=r"give a number"):
            read_size(text)


def test_a_design_is_named_by_what_it_was_drawn_from() -> None:
    designs: tuple[tuple[dict[str, str], str], ...] = (
        ({}, ""),
        ({"sample": "30"}, "random:30:seed0"),
        ({"sample": "10%", "seed": "7", "by": "type"}, "random:10%:seed7:by=type"),
        ({"sample": "5", "t.type": "MC", "t.discipline": "A & B"}, "random:5:seed0:discipline=A+%26+B&type=MC"),
        ({"by": "type"}, ""),
    )
    for (query, design), row in tabled(*designs):
        with row:
            assert Filter.read(query, False).design == design


def test_the_tags_are_those_that_tell_items_apart() -> None:
    found = tags(ITEMS)
    assert set(found) == {"type", "discipline", "outcome", DECIDED}
    assert found["type"] == ("FB", "MC", "MS", "OE", "TF")
