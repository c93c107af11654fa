"""Common output of all commands: signs, p-values, and the names of `--format`."""

import json
import math
from typing import Any

from rows import each_row
from viva.render.findings import Findings
from viva.render.table import NAME, PERCENT, Column, Table, figure, p_text, short_number, signed
from web.hostile import TEXTS, assert_only_text


@each_row(
    (3.2, 2, "+3.20"), (-0.4, 2, "−0.40"), (0.0, 2, "0.00"), (-0.001, 2, "0.00"), (0.001, 2, "0.00"),
    (-4.26, 1, "−4.3"),
)  # fmt: skip
def test_a_difference_has_a_sign_and_nothing_has_none(points: float, digits: int, said: str) -> None:
    assert signed(points, digits) == said
    assert [figure(".4g").text(number) for number in (-0.5, 5e-05)] == ["−0.5", "5e-05"]


@each_row((None, "–"), (0.0, "< 0.001"), (0.00099, "< 0.001"), (0.001, "0.001"), (0.0312, "0.031"), (1.0, "1.000"))
def test_a_p_value_is_never_printed_as_nothing(p: float | None, said: str) -> None:
    assert p_text(p) == said


def toy(name: str) -> Findings[str]:
    columns = (Column("model", "0", NAME), Column("score", "1", PERCENT), Column(None, "2", key="n"))
    rows = [(name, 0.5, 3), ("b", None, 4)]
    shown = [Table(f"About {name}", columns, rows[:1])]
    return Findings(found=name, shown=shown, rows=Table("Rows", columns, rows), notes=["how to read it"])


def test_every_form_is_made_of_the_same_tables_and_rows() -> None:
    found = toy("a|b")
    assert found.to_csv().splitlines() == ["model,score,n", "a|b,0.5,3", "b,,4"] == found.to_text("csv").splitlines()
    rows = [{"model": "a|b", "score": 0.5, "n": 3}, {"model": "b", "score": None, "n": 4}]
    tables = [{"title": "About a|b", "rows": rows[:1]}]
    assert json.loads(found.to_json()) == {"rows": rows, "tables": tables, "notes": ["how to read it"]}
    assert found.to_json() == found.to_text("json")
    assert found.to_text("markdown").splitlines() == [
        *("### About a|b".replace("|", r"\|"), "", "| model | score |", "|---|---:|", r"| a\|b | 50.00 |", ""),
        "- how to read it",
    ]
    assert r"a\textbar{}b & 50.00" in found.to_text("latex")
    assert repr(found) == found.to_text().rstrip("\n")
    frame = found.to_frame()
    assert frame.rows() == [("a|b", 0.5, 3), ("b", None, 4)]
    assert [str(kind) for kind in frame.dtypes] == ["String", "Float64", "Int64"]
    assert found.chart() is None


def test_what_a_study_found_is_text_and_nothing_else_in_a_notebook_and_in_a_spreadsheet() -> None:
    for text in TEXTS.values():
        found = toy(text)
        html = found._repr_html_()
        assert_only_text(html)
        assert "max-width:100%" in html, "within the page's width"
        assert "\x1b" not in html + found.to_csv() + repr(found)
    assert toy("=1+1").to_csv().splitlines()[1].startswith("'=1+1,")
    assert toy("=1+1").to_frame()["model"][0] == "=1+1"


@each_row(
    (0, "0"), (7, "7"), (999, "999"), (1000, "1k"), (2.1e9, "2.1B"), (3e11, "300B"), (999_700, "1M"),
    (999_400, "999k"), (1.4e12, "1.4T"), (5e15, "5e+03T"), (math.inf, "inf"),
)  # fmt: skip
def test_numbers_as_people_say_them(number: Any, text: str) -> None:
    assert short_number(number) == text
