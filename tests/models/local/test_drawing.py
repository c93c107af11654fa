"""The choice of the next token: greedy, by temperature, from the nucleus."""

import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import table, tabled
from viva.models.local.generating import UNUSABLE, choose, nucleus, probabilities
from viva.types import Sampling

pytestmark = pytest.mark.torch

GREEDY = Sampling(temperature=0.0)
PLAIN = Sampling(temperature=None)
BELOW = math.nextafter(1.0, 0.0)

logit = st.floats(-30, 30)
settings_of_a_row = st.builds(
    Sampling,
    temperature=st.none() | st.just(0.0) | st.floats(5e-324, 100),
    top_p=st.none() | st.floats(0, 1),
)
number = st.floats(0, 1, exclude_max=True)


def tensor(rows: Any, kind: str = "float32") -> Any:
    import torch

    return torch.tensor(rows, dtype=getattr(torch, kind))


def one(logits: list[float], sampling: Sampling, number: float = 0.5) -> int:
    (token,) = choose(tensor([logits]), [sampling], [number])
    return token


@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32), min_size=1, max_size=8),
    settings_of_a_row,
    number,
)
def test_any_logits_give_a_possible_token_or_none(logits: list[float], sampling: Sampling, number: float) -> None:
    token = one(logits, sampling, number)
    damaged = any(math.isnan(each) or each == math.inf for each in logits)
    if damaged or max(logits) == -math.inf:
        assert token == UNUSABLE
    else:
        assert 0 <= token < len(logits)
        assert logits[token] > -math.inf


@given(
    st.lists(st.floats(-5, 5, width=16), min_size=1, max_size=200), st.sampled_from(["float32", "bfloat16", "float16"])
)
def test_greedy_is_the_first_of_the_largest(logits: list[float], kind: str) -> None:
    given_logits = tensor([logits], kind)
    values = given_logits[0].tolist()
    assert choose(given_logits, [GREEDY], [0.9]) == [values.index(max(values))]


@given(st.lists(logit, min_size=2, max_size=300), st.floats(0, 1), st.integers(0, 3))
def test_the_nucleus_is_the_smallest_set_with_that_share(logits: list[float], share: float, digits: int) -> None:
    chances = tensor([[round(each, digits) for each in logits]], "float64").softmax(-1)  # rounded: some are equal
    values = chances[0].tolist()
    members = [index for index, member in enumerate(nucleus(chances, [share])[0].tolist()) if member]
    others = sorted(set(range(len(values))) - set(members))
    assert members
    mass = math.fsum(values[index] for index in members)
    least = min(members, key=lambda index: (values[index], -index))
    assert mass >= share - 1e-12 or not others
    assert mass - values[least] < share + 1e-12 or len(members) == 1
    assert all((values[other], -other) < (values[least], -least) for other in others)


def test_nucleus_of_four() -> None:
    nuclei = (
        (None, [0.5, 0.3, 0.15, 0.05]),
        (1.0, [0.5, 0.3, 0.15, 0.05]),
        (0.96, [0.5, 0.3, 0.15, 0.05]),
        (0.94, [0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0]),
        (0.81, [0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0]),
        (0.79, [0.5 / 0.8, 0.3 / 0.8, 0, 0]),
        (0.49, [1, 0, 0, 0]),
        (0.0, [1, 0, 0, 0]),
    )
    logits = tensor([[math.log(each) for each in (0.5, 0.3, 0.15, 0.05)]], "float64")
    for (top_p, expected), row in tabled(*nuclei):
        with row:
            (found,) = probabilities(logits, [Sampling(temperature=1.0, top_p=top_p)]).tolist()
            assert found == pytest.approx(expected)


def test_the_temperature_is_a_power_of_the_chances() -> None:
    shares = [0.5, 0.3, 0.15, 0.05]
    logits = tensor([[math.log(each) for each in shares]], "float64")
    with table() as row:
        for temperature, power in ((None, 1.0), (1.0, 1.0), (0.5, 2.0), (2.0, 0.5)):
            with row(temperature):
                (found,) = probabilities(logits, [Sampling(temperature=temperature)]).tolist()
                whole = sum(share**power for share in shares)
                assert found == pytest.approx([share**power / whole for share in shares])
        for temperature in (5e-324, 1e-300, 1e-9):
            for draw in (0.0, 0.5, BELOW):
                with row((temperature, draw)):
                    sampling = Sampling(temperature=temperature)
                    assert one([1.0, 30.0, 29.9, -math.inf], sampling, draw) == 1, "next to none is greedy"


def test_a_number_is_looked_up_in_the_cumulated_chances() -> None:
    logits = [math.log(each) for each in (0.2, 0.5, 0.3)] + [-math.inf]
    for draw, token in [(0.0, 0), (0.19, 0), (0.21, 1), (0.69, 1), (0.71, 2), (BELOW, 2)]:
        assert one(logits, PLAIN, draw) == token


def test_the_last_bit_of_a_logit_does_not_move_the_draw() -> None:
    """Two tokens that change places by probability stay where they are in the vocabulary."""
    almost = math.nextafter(1.0, 2.0)
    for draw in (0.1, 0.3, 0.6, 0.9):
        logits = tensor([[1.0, almost, 1.0], [almost, 1.0, 1.0]], "float64")
        first, second = choose(logits, [PLAIN] * 2, [draw] * 2)
        assert first == second


@given(st.lists(st.tuples(settings_of_a_row, number), min_size=2, max_size=40), st.integers(0, 1000))
def test_rows_do_not_know_each_other(rows: list[tuple[Sampling, float]], seed: int) -> None:
    chance = random.Random(seed)
    logits = [[chance.gauss(0, 2) for _ in range(80)] for _ in rows]
    for row in chance.sample(logits, len(rows) // 3):  # those that are damaged leave the others
        row[chance.randrange(80)] = chance.choice([math.nan, math.inf])
    together = choose(tensor(logits), [sampling for sampling, _ in rows], [draw for _, draw in rows])
    assert together == [one(row, sampling, draw) for row, (sampling, draw) in zip(logits, rows, strict=True)]
