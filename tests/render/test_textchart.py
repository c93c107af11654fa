"""Figures as characters."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from rows import tabled
from viva.render.textchart import BLOCKS, short_number, sparkline


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


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=30))
def test_a_spark_a_value(values: list[float | None]) -> None:
    known = [value for value in values if value is not None] or [0.0]
    line = sparkline(values, min(known), max(known))
    assert len(line) == len(values)
    assert set(line) <= {*BLOCKS, "·"}
