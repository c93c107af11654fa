"""Agreement drawn: every count and figure is in the picture as text, and no name breaks out of it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from rows import tabled
from viva.analysis.agreement import Agreement, agree
from viva.analysis.ratings import Ratings
from viva.render.measures import NAMES, measure_text
from viva.studies.agreement.chart import svg_agreement
from viva.studies.agreement.tables import findings, tables_of

SVG = "{http://www.w3.org/2000/svg}"
EVIL = '</text><script>alert(1)</script>\x1b[31m"&'


def report(judge: str = "judge", title: str = "t") -> Agreement:
    rows = [(0.0, 0.0, 0.0), (0.5, 0.5, 1.0), (1.0, 1.0, 1.0), (1.0, 0.5, 1.0), (0.0, 0.5, 0.5), (1.0, 1.0, 0.5)]
    ratings = Ratings(items=tuple("uvwxyz"), raters=("anna", "ben", judge), values=tuple(rows))
    return agree(ratings, judge=judge, title=title, ppi=True)


def texts(svg: str) -> list[str]:
    return ["".join(one.itertext()) for one in ET.fromstring(svg).iter(f"{SVG}text")]


def test_the_picture_says_what_the_tables_say() -> None:
    found = report()
    svg = svg_agreement(found)
    shown = texts(svg)
    for one in (*found.among, *found.judged):
        if one.kind not in ("bias", "distance"):
            assert NAMES[one.kind] in shown
            assert measure_text(one) in shown
    root = ET.fromstring(svg)
    assert root.find(f"{SVG}title") is not None
    desc = root.find(f"{SVG}desc")
    assert desc is not None
    assert "6 items, 2 people, one judge" in (desc.text or "")
    assert found.table is not None
    for row in found.table.counts:
        for count in row:
            assert not count or str(count) in shown
    tips = [tip.text for tip in root.iter(f"{SVG}title")]
    assert f"judge 1, people (median) 1: {found.table.counts[2][2]}" in tips
    assert sum("items" in (tip or "") for tip in tips) == len(found.spots)


def test_it_follows_dark_and_light() -> None:
    svg = svg_agreement(report())
    assert "prefers-color-scheme:dark" in svg
    for name in re.findall(r"var\((--\w+)\)", svg):
        assert svg.count(f"{name}:") == 2, f"{name} has a colour by day and by night"
    painted = re.findall(r'(?:fill|stroke)="(#\w+)"', svg)
    assert not painted, "a colour of its own would not follow"


def test_names_cannot_break_out() -> None:
    found = report(judge=EVIL, title=EVIL)
    drawn = svg_agreement(found)
    assert not list(ET.fromstring(drawn).iter(f"{SVG}script"))
    assert "\x1b" not in drawn
    for form, row in tabled("terminal", "json", "csv", "markdown", "latex"):
        with row:
            text = findings((found,)).to_text(form)
            assert "\x1b" not in text
            assert form != "markdown" or not re.search(r"(?<!\\)<script", text)


@given(
    st.lists(
        st.tuples(*[st.one_of(st.none(), st.sampled_from([0.0, 0.5, 1.0]), st.floats(-1e12, 1e12))] * 3), max_size=8
    )
)
def test_any_report_is_drawn_inside_its_frame(rows: list[tuple[float | None, ...]]) -> None:
    ratings = Ratings(items=tuple(map(str, range(len(rows)))), raters=("a", "b", "c"), values=tuple(rows))
    for judge in (None, "c"):
        found = agree(ratings, judge=judge, ppi=judge is not None)
        root = ET.fromstring(svg_agreement(found))
        height = float(root.attrib["height"])
        for circle in root.iter(f"{SVG}circle"):
            assert 0 < float(circle.attrib["cx"]) < 900
            assert 0 < float(circle.attrib["cy"]) < height
        for table in tables_of(found):
            assert all(len(row) == len(table.header) for row in table.texts())
        assert "nan" not in findings((found,)).to_terminal()
