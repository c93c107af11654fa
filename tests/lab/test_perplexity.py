"""Perplexities, Min-K% and their intervals: by hand and against the definitions."""

import itertools
import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.analysis.uncertainty import t_quantile
from viva.lab.surprisal.measures import Figure, Reading, compare, figures, min_k, read

LN2 = math.log(2)
logprobs = st.lists(st.floats(-30, 0), min_size=1, max_size=40)
readings = st.builds(
    lambda own, more, times: Reading(
        tokens=len(own), nll=-math.fsum(own), bytes=len(own) + more, characters=len(own), min_k=min(own), times=times
    ),
    logprobs,
    st.integers(0, 50),
    st.integers(1, 3),
)


def reading(nll: float, tokens: int, least: float = -1.0, times: int = 1) -> Reading:
    return Reading(tokens=tokens, nll=nll, bytes=3 * tokens, characters=2 * tokens, min_k=least, times=times)


def value(figure: Figure | None) -> float:
    return figure.value


@given(logprobs, st.sampled_from([0.5, 10.0, 20.0, 33.3, 60.0, 100.0]))
def test_min_k_is_a_mean_over_the_smallest_whatever_their_order(own: list[float], k: float) -> None:
    count = max(1, int(round(k * 10) * len(own) // 1000))
    assert min_k(own, k) == pytest.approx(sum(sorted(own)[:count]) / count)
    assert min_k(own[::-1], k) == min_k(own, k)
    assert min_k([-1.0, -9.0, -2.0, -0.5, -7.0, -0.1, -0.2, -0.3, -0.4]) == -9.0, "of nine, 1.8: one, as the paper's"
    assert min_k([]) is None


def test_a_text_is_read_in_tokens_bytes_and_characters() -> None:
    one = read([-1.0, -3.0], "栈 a", 50.0)
    assert (one.tokens, one.nll, one.bytes, one.characters, one.min_k) == (2, 4.0, 5, 3, -3.0)
    none = read([], "")
    assert (none.tokens, none.nll, none.bytes, none.min_k) == (0, 0.0, 0, None)
    assert math.copysign(1, none.nll) == 1


def test_figures_by_hand() -> None:
    # Four tokens of 1 bit each, two tokens of 3 bits each.
    found = figures([reading(4 * LN2, 4, -1.0), reading(6 * LN2, 2, -4.0)])
    assert (found.texts, found.different, found.tokens, found.bytes, found.characters) == (2, 2, 6, 18, 12)
    assert value(found.per_token) == pytest.approx(2 ** (10 / 6))
    assert value(found.mean_of_texts) == pytest.approx((2 + 8) / 2)
    assert value(found.per_byte) == pytest.approx(2 ** (10 / 18))
    assert value(found.per_character) == pytest.approx(2 ** (10 / 12))
    assert value(found.bits_per_byte) == pytest.approx(10 / 18)
    assert value(found.min_k) == -2.5


def test_intervals_stay_where_figures_can_be() -> None:
    found = figures([reading(0.1, 2, -0.1), reading(9.0, 2, -9.0)])
    assert (found.per_token.low, found.bits_per_byte.low, found.min_k.high) == (1.0, 0.0, 0.0)


@given(st.lists(readings, min_size=2, max_size=12))
def test_an_interval_is_that_of_leaving_out_each_text_in_turn(all_of_them: list[Reading]) -> None:
    def rate(some: list[Reading]) -> float:
        return sum(one.times * one.nll for one in some) / sum(one.times * one.bytes for one in some) / LN2

    found = figures(all_of_them).bits_per_byte
    assert found.value == pytest.approx(rate(all_of_them), abs=1e-12)
    n = len(all_of_them)
    moves = [rate(all_of_them[:i] + all_of_them[i + 1 :]) - found.value for i in range(n)]
    error = math.sqrt((n - 1) / n * sum(move**2 for move in moves))
    assert found.high - found.value == pytest.approx(t_quantile(n - 1) * error, rel=1e-6, abs=1e-9)


def test_what_has_no_scored_token_is_counted_and_in_no_figure() -> None:
    silent = Reading(tokens=0, nll=0.0, bytes=1, characters=1, min_k=None, times=2)
    alone = figures([silent])
    assert (alone.texts, alone.unscored, alone.tokens, alone.per_token, alone.min_k) == (2, 2, 0, None, None)
    beside = figures([silent, reading(2.0, 2)])
    assert (beside.texts, beside.unscored, beside.bytes) == (3, 2, 6)
    assert beside.per_token == Figure(pytest.approx(math.e))  # one text has no interval
    assert figures([]).texts == 0


def test_what_a_float_cannot_hold_is_infinite_and_no_error() -> None:
    found = figures([reading(1e5, 2), reading(2e5, 2), reading(1.0, 2)])
    assert value(found.per_token) == math.inf
    assert value(found.mean_of_texts) == math.inf
    assert value(found.bits_per_byte) < math.inf


@given(st.lists(st.integers(-6, -1), min_size=3, max_size=8), st.lists(st.integers(-6, -1), min_size=3, max_size=8))
def test_auc_counts_pairs(first: list[int], second: list[int]) -> None:
    found = compare(*([reading(1.0, 1, float(least)) for least in side] for side in (first, second)))
    pairs = [(one > other) + (one == other) / 2 for one, other in itertools.product(first, second)]
    assert found.auc == pytest.approx(sum(pairs) / len(pairs))
    assert value(found.difference) == pytest.approx(sum(first) / len(first) - sum(second) / len(second))
    assert (found.p is None) == (len({*first, *second}) == 1)


def test_sets_that_do_not_overlap_have_the_smallest_p_that_there_can_be() -> None:
    leaked = [reading(0.1 * i, 2, -0.1 * i) for i in range(1, 5)]
    fresh = [reading(3.0 + i, 2, -3.0 - i) for i in range(1, 5)]
    found = compare(leaked, fresh)
    assert (found.first, found.second, found.auc) == (4, 4, 1.0)
    assert found.p == pytest.approx(2 / math.comb(8, 4))
    assert value(found.ratio) == pytest.approx(math.exp((1.0 - 22.0) / 8))
    assert found.ratio.high < 1


def test_two_texts_are_compared_with_nothing() -> None:
    few, many = [reading(1.0, 1)] * 2, [reading(1.0, 1)] * 9
    assert compare(few, many) is None
    assert compare(many, few) is None


def test_texts_of_both_sets_are_left_out_of_the_comparison() -> None:
    def named(name: str, least: float) -> Reading:
        return msgspec.structs.replace(reading(-least, 1, least), text=name)

    shared = [named(f"s{number}", -9.0) for number in range(5)]
    one = [named(f"a{number}", -1.0 - number) for number in range(3)]
    other = [named(f"b{number}", -4.0 - number) for number in range(4)]
    found, alone = compare(one + shared, shared + other), compare(one, other)
    assert (found.first, found.second, found.common) == (3, 4, 5)
    assert msgspec.structs.replace(found, common=0) == alone
    assert compare(one + shared, shared) is None
