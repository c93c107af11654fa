"""Curves as characters and as SVG: every figure at its place, whatever its name."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.reports.chart import BLOCKS, Dot, Series, drawable, short_number, sparkline, svg_chart, text_chart

SVG = "{http://www.w3.org/2000/svg}"
CURVE = Series("MC", (Dot(1e9, 0.25, 0.2, 0.3), Dot(1e10, 0.5, 0.45, 0.55), Dot(1e11, 0.75, 0.7, 0.8)))


def drawn(text: str, letter: str) -> list[tuple[int, int]]:
    """Row and column of a letter on the grid, in the order of columns."""
    lines = [line.partition("┤")[2] for line in text.splitlines() if "┤" in line]
    found = [(row, column) for row, line in enumerate(lines) for column, c in enumerate(line) if c == letter]
    return sorted(found, key=lambda place: place[1])


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"), (7, "7"), (999, "999"), (1000, "1k"), (2.1e9, "2.1B"), (3e11, "300B"), (999_700, "1M"),
        (999_400, "999k"), (1.4e12, "1.4T"), (5e15, "5e+03T"), (math.inf, "inf"),
    ],
)  # fmt: skip
def test_numbers_as_people_say_them(number: float, text: str) -> None:
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
    assert ET.fromstring(svg_chart([], "t", "x")).tag == f"{SVG}svg"


def test_the_svg_has_a_band_a_line_and_a_tip_for_every_figure() -> None:
    root = ET.fromstring(svg_chart([CURVE, Series("TF", (Dot(1e9, 0.5),))], "Score over training", "training tokens"))
    assert len(root.findall(f"{SVG}polygon")) == 1, "a band takes two points with intervals"
    lines = root.findall(f"{SVG}polyline")
    assert [len(line.attrib["points"].split()) for line in lines] == [3, 1]
    xs, ys = zip(*(map(float, pair.split(",")) for pair in lines[0].attrib["points"].split()), strict=True)
    assert xs[1] - xs[0] == pytest.approx(xs[2] - xs[1], abs=0.2)
    assert ys[0] - ys[1] == pytest.approx(ys[1] - ys[2], abs=0.2)
    tips = [tip.text for tip in root.iter(f"{SVG}title")]
    assert "MC: 75.00 at 100B" in tips
    assert len(tips) == 4
    texts = [text.text for text in root.findall(f"{SVG}text")]
    assert {"Score over training", "MC", "TF", "1B", "100B", "training tokens (log scale)"} <= set(texts)


def test_names_cannot_break_out_of_the_svg_or_the_terminal() -> None:
    evil = '</text><script>alert(1)</script>\x1b[31m"&'
    svg = svg_chart([Series(evil, CURVE.dots)], evil, evil)
    assert not list(ET.fromstring(svg).iter(f"{SVG}script"))
    assert "\x1b" not in svg + text_chart([Series(evil, CURVE.dots)], "x")


SHARES = st.floats(0, 1)
DOTS = st.lists(
    st.builds(
        Dot,
        st.one_of(st.just(0.0), st.floats(1e-3, 1e15)),
        SHARES,
        st.one_of(st.none(), SHARES),
        st.one_of(st.none(), SHARES),
    ),
    max_size=6,
).map(tuple)


@given(st.lists(st.builds(Series, st.text(max_size=8), DOTS), max_size=4))
def test_any_curves_stay_inside_their_frame(curves: list[Series]) -> None:
    root = ET.fromstring(svg_chart(curves, "t", "x"))
    for line in root.findall(f"{SVG}polyline"):
        for pair in line.attrib["points"].split():
            x, y = map(float, pair.split(","))
            assert 60 <= x <= 660
            assert 40 <= y <= 400
    grid = [line for line in text_chart(curves, "x").splitlines() if "┤" in line]
    assert len(grid) in (0, 16)
    assert all(len(line) <= 7 + 64 for line in grid)


@given(st.lists(st.one_of(st.none(), SHARES), max_size=30))
def test_a_spark_a_value(values: list[float | None]) -> None:
    known = [value for value in values if value is not None] or [0.0]
    line = sparkline(values, min(known), max(known))
    assert len(line) == len(values)
    assert set(line) <= {*BLOCKS, "·"}
