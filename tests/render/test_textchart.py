"""Curves as characters: every figure at its place, whatever its name."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from rows import tabled
from viva.render.textchart import BLOCKS, Dot, Series, drawable, short_number, sparkline, text_chart

CURVE = Series("MC", (Dot(1e9, 0.25), Dot(1e10, 0.5), Dot(1e11, 0.75)))


def drawn(text: str, letter: str) -> list[tuple[int, int]]:
    """Row and column of a letter on the grid, in the order of columns."""
    lines = [line.partition("┤")[2] for line in text.splitlines() if "┤" in line]
    found = [(row, column) for row, line in enumerate(lines) for column, c in enumerate(line) if c == letter]
    return sorted(found, key=lambda place: place[1])


def test_numbers_as_people_say_them() -> None:
    numbers = (
        (0, "0"), (7, "7"), (999, "999"), (1000, "1k"), (2.1e9, "2.1B"), (3e11, "300B"), (999_700, "1M"),
        (999_400, "999k"), (1.4e12, "1.4T"), (5e15, "5e+03T"), (math.inf, "inf"),
    )  # fmt: skip
    for (number, text), row in tabled(*numbers):
        with row:
            assert short_number(number) == text


def test_a_line_of_blocks() -> None:
    assert sparkline([0.0, 0.5, 1.0, None], 0.0, 1.0) == "▁▅█·"
    assert sparkline([0.3, 0.3], 0.3, 0.3) == "▅▅", "no range: the middle"
    assert sparkline([], 0, 1) == ""


def test_equal_factors_are_equal_distances_and_higher_is_higher() -> None:
    text = text_chart([CURVE], "training tokens")
    (bottom, first), (middle, second), (top, third) = drawn(text, "M")
    assert (first, third) == (0, 63)
    assert abs((second - first) - (third - second)) <= 1
    assert top < middle < bottom
    assert "training tokens, log scale" in text
    assert "M MC" in text
    for label in ("1B", "10B", "100B"):
        assert label in text


def test_curves_of_one_initial_get_letters_of_their_own_and_meet_in_a_star() -> None:
    text = text_chart([CURVE, Series("Main", (Dot(1e9, 0.25), Dot(1e11, 0.2)))], "x")
    assert "M MC" in text
    assert "A Main" in text
    assert len(drawn(text, "*")) == 1
    assert len(drawn(text, "M")) == 2


def test_what_is_not_trained_yet_has_no_place_on_a_logarithm() -> None:
    curve = Series("x", (Dot(0, 0.1), Dot(10, 0.2), Dot(1000, 0.3)))
    assert [dot.x for one in drawable([curve]) for dot in one.dots] == [10, 1000]
    alone = Series("x", (Dot(0, 0.1), Dot(10, 0.2)))
    assert drawable([alone]) == [alone]
    assert "log" not in text_chart([alone], "steps")


def test_nothing_to_draw() -> None:
    assert text_chart([], "x") == ""
    assert text_chart([Series("x", ())], "x") == ""


def test_names_cannot_drive_the_terminal() -> None:
    assert "\x1b" not in text_chart([Series("\x1b[31m", CURVE.dots)], "x")


SHARES = st.floats(0, 1)
DOTS = st.lists(
    st.builds(
        Dot,
        st.one_of(st.just(0.0), st.floats(1e-3, 1e15)),
        SHARES,
    ),
    max_size=6,
).map(tuple)


@given(st.lists(st.builds(Series, st.text(max_size=8), DOTS), max_size=4))
def test_any_curves_stay_inside_their_frame(curves: list[Series]) -> None:
    grid = [line for line in text_chart(curves, "x").splitlines() if "┤" in line]
    assert len(grid) in (0, 16)
    assert all(len(line) <= 7 + 64 for line in grid)


@given(st.lists(st.one_of(st.none(), SHARES), max_size=30))
def test_a_spark_a_value(values: list[float | None]) -> None:
    known = [value for value in values if value is not None] or [0.0]
    line = sparkline(values, min(known), max(known))
    assert len(line) == len(values)
    assert set(line) <= {*BLOCKS, "·"}
