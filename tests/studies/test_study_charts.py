"""Charts of agreement and training: every figure is in the picture, and no name breaks out of it."""

import re
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from rows import tabled
from viva.analysis.estimate import Estimate
from viva.analysis.raters.agreement import Agreement, agree
from viva.analysis.raters.coefficients import Level
from viva.analysis.raters.ratings import Ratings
from viva.analysis.training import Curve, Point, Training
from viva.render.charts import as_json, save, spec
from viva.render.measures import NAMES, measure_text
from viva.render.plots import TOGETHER
from viva.studies.agreement.chart import agreement_chart
from viva.studies.agreement.tables import findings, tables_of
from viva.studies.scaling.sizedmodels import ScalingConfig
from viva.studies.scaling.study import study
from viva.studies.training.chart import training_chart

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


MARK = st.one_of(st.none(), st.sampled_from([0.0, 0.5, 1.0]), st.floats(-1e12, 1e12))


@settings(max_examples=settings.default.max_examples // 3)
@given(
    st.lists(st.tuples(MARK, MARK, MARK), max_size=8),
    st.sampled_from(((None, "nominal"), ("c", "ordinal"), ("c", "interval"))),
)
def test_any_report_can_be_drawn(rows: list[tuple[float | None, ...]], asked: tuple[str | None, Level]) -> None:
    judge, level = asked
    ratings = Ratings(items=tuple(map(str, range(len(rows)))), raters=("a", "b", "c"), values=tuple(rows))
    found = agree(ratings, judge=judge, level=level, ppi=judge is not None)
    again = msgspec.json.decode(msgspec.json.encode(found), type=Agreement)
    assert again == found, "which it would not be with nan or infinities"
    assert all((one.value is not None and one.low is not None) or one.reason for one in found.judged)
    assert as_json(drawn(found)[0])
    for table in tables_of(found):
        assert all(len(row) == len(table.header) for row in table.texts())
    assert "nan" not in findings((found,)).to_terminal()


def training(curves: int) -> Training:
    names = [f"part {number}" for number in range(curves)]
    points = [
        Point(
            checkpoint=f"c{at}",
            at=at * 1e9,
            cells={
                name: Estimate(
                    n=100, mean=0.2 + 0.05 * at + 0.03 * place, low=0.15, high=0.2 + 0.06 * at + 0.04 * place
                )
                for place, name in enumerate(names)
            },
        )
        for at in (1, 2, 5, 9)
    ]
    whole = [Curve(name=name, first=0.2, last=0.6, best=0.6, best_at=9e9, tau=1.0, p=0.08) for name in names]
    return Training(exam="e", axis="training tokens", points=tuple(points), curves=tuple(whole))


def test_more_curves_than_colours_can_tell_apart_have_a_panel_each(tmp_path: Path) -> None:
    together, apart = (spec(training_chart([training(curves)])) for curves in (TOGETHER, TOGETHER + 3))
    assert "facet" not in together
    assert apart["facet"]["field"] == "curve"
    save(training_chart([training(TOGETHER + 3)]), tmp_path / "many.svg")
    drawn = (tmp_path / "many.svg").read_text(encoding="utf-8")
    assert all(f"part {number}" in drawn for number in range(TOGETHER + 3))


def test_curves_of_many_layers_have_panels_with_all_that_is_theirs() -> None:
    drawn = spec(study(ScalingConfig(sources=("infibench",), by=("family",), reach=("GPT-4-0613",))).drawing())  # type: ignore[misc]
    (rows,) = drawn["datasets"].values()
    assert {row["group"] for row in rows if row.get("name")} == set(drawn["facet"]["sort"]), "the line in each panel"
