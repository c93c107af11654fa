"""Agreement drawn: every count and figure is in the picture, and no name breaks out of it."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rows import tabled
from viva.analysis.raters.agreement import Agreement, agree
from viva.analysis.raters.ratings import Ratings
from viva.render.charts import as_json, spec
from viva.render.measures import NAMES, measure_text
from viva.studies.agreement.chart import agreement_chart
from viva.studies.agreement.tables import findings, tables_of

EVIL = '</text><script>alert(1)</script>\x1b[31m"&'


def report(judge: str = "judge", title: str = "t") -> Agreement:
    rows = [(0.0, 0.0, 0.0), (0.5, 0.5, 1.0), (1.0, 1.0, 1.0), (1.0, 0.5, 1.0), (0.0, 0.5, 0.5), (1.0, 1.0, 0.5)]
    ratings = Ratings(items=tuple("uvwxyz"), raters=("anna", "ben", judge), values=tuple(rows))
    return agree(ratings, judge=judge, title=title, ppi=True)


def drawn(*found: Agreement) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The chart as a page has it, and the rows of all its marks."""
    chart = spec(agreement_chart(found))
    return chart, [row for values in chart["datasets"].values() for row in values]


def test_the_picture_says_what_the_tables_say() -> None:
    found = report()
    _, rows = drawn(found)
    told = {(row["measure"], row["text"]) for row in rows if "measure" in row}
    measures = [one for one in (*found.among, *found.judged) if one.kind not in ("bias", "distance")]
    assert told == {(NAMES[one.kind], measure_text(one)) for one in measures}
    assert found.table is not None
    counts = {(row["down"], row["across"]): row["items"] for row in rows if "down" in row}
    for mark, line in zip(found.table.scale, found.table.counts, strict=True):
        assert [counts[f"{mark:g}", f"{other:g}"] for other in found.table.scale] == list(line)
    assert sum("people" in row and "items" in row for row in rows) == len(found.spots)


def test_names_cannot_break_out() -> None:
    found = report(judge=EVIL, title=EVIL)
    chart, _ = drawn(found)
    assert not re.search(r"<|\x1b", as_json(chart))
    for form, row in tabled("terminal", "json", "csv", "markdown", "latex"):
        with row:
            text = findings((found,)).to_text(form)
            assert "\x1b" not in text
            assert form != "markdown" or not re.search(r"(?<!\\)<script", text)


@settings(max_examples=settings.default.max_examples // 4)
@given(
    st.lists(
        st.tuples(*[st.one_of(st.none(), st.sampled_from([0.0, 0.5, 1.0]), st.floats(-1e12, 1e12))] * 3), max_size=8
    )
)
def test_any_report_can_be_drawn(rows: list[tuple[float | None, ...]]) -> None:
    ratings = Ratings(items=tuple(map(str, range(len(rows)))), raters=("a", "b", "c"), values=tuple(rows))
    for judge in (None, "c"):
        found = agree(ratings, judge=judge, ppi=judge is not None)
        assert as_json(drawn(found)[0])
        for table in tables_of(found):
            assert all(len(row) == len(table.header) for row in table.texts())
        assert "nan" not in findings((found,)).to_terminal()
