"""What the printed forms of all commands share: signs, p-values, and the names of `--format`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rows import tabled
from viva.render.printing import StudyResult
from viva.render.table import Grid, p_text, signed
from web.hostile import TEXTS, assert_only_text


def test_a_difference_has_a_sign_and_nothing_has_none() -> None:
    differences = (
        (3.2, 2, "+3.20"),
        (-0.4, 2, "−0.40"),
        (0.0, 2, "0.00"),
        (-0.001, 2, "0.00"),
        (0.001, 2, "0.00"),
        (-4.26, 1, "−4.3"),
    )
    for (points, digits, said), row in tabled(*differences):
        with row:
            assert signed(points, digits) == said


def test_a_p_value_is_never_printed_as_nothing() -> None:
    values = ((None, "–"), (0.0, "< 0.001"), (0.00099, "< 0.001"), (0.001, "0.001"), (0.0312, "0.031"), (1.0, "1.000"))
    for (p, said), row in tabled(*values):
        with row:
            assert p_text(p) == said


@dataclass(frozen=True, repr=False)
class Toy(StudyResult):
    name: str

    def tables(self) -> list[Grid]:
        return [Grid(f"About {self.name}", ("model", "score"), ((self.name, "50.00"),))]

    def closing(self) -> list[str]:
        return ["how to read it"]

    def records(self) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
        return ("model", "score", "n"), [(self.name, 0.5, 3), ("b", None, 4)]

    def data(self) -> object:
        return {"name": self.name}


def test_every_form_is_made_of_the_same_tables_and_rows() -> None:
    toy = Toy("a|b")
    assert toy.to_csv().splitlines() == ["model,score,n", "a|b,0.5,3", "b,,4"] == toy.to_text("csv").splitlines()
    assert json.loads(toy.to_json()) == {"name": "a|b"} == json.loads(toy.to_text("json"))
    assert toy.to_text("markdown").splitlines() == [
        *("### About a|b".replace("|", r"\|"), "", "| model | score |", "|---|---:|", r"| a\|b | 50.00 |", ""),
        "- how to read it",
    ]
    assert r"a\textbar{}b & 50.00" in toy.to_text("latex")
    assert repr(toy) == toy.to_text().rstrip("\n")
    frame = toy.to_frame()
    assert frame.rows() == [("a|b", 0.5, 3), ("b", None, 4)]
    assert [str(kind) for kind in frame.dtypes] == ["String", "Float64", "Int64"]
    assert toy.chart() is None


def test_what_a_study_found_is_text_and_nothing_else_in_a_notebook_and_in_a_spreadsheet() -> None:
    for text in TEXTS.values():
        toy = Toy(text)
        html = toy._repr_html_()
        assert_only_text(html)
        assert "max-width:100%" in html, "within the page's width"
        assert "\x1b" not in html + toy.to_csv() + repr(toy)
    assert Toy("=1+1").to_csv().splitlines()[1].startswith("'=1+1,")
    assert Toy("=1+1").to_frame()["model"][0] == "=1+1"
