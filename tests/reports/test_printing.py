"""What the printed forms of all commands share: signs, p-values, and the names of `--format`."""

from __future__ import annotations

from rows import table
from viva.reports.printing import formats
from viva.reports.result import Grid, p_text, signed


def test_a_difference_has_a_sign_and_nothing_has_none() -> None:
    differences = (
        (3.2, 2, "+3.20"),
        (-0.4, 2, "−0.40"),
        (0.0, 2, "0.00"),
        (-0.001, 2, "0.00"),
        (0.001, 2, "0.00"),
        (-4.26, 1, "−4.3"),
    )
    with table() as row:
        for points, digits, said in differences:
            with row(points):
                assert signed(points, digits) == said


def test_a_p_value_is_never_printed_as_nothing() -> None:
    values = ((None, "–"), (0.0, "< 0.001"), (0.00099, "< 0.001"), (0.001, "0.001"), (0.0312, "0.031"), (1.0, "1.000"))
    with table() as row:
        for p, said in values:
            with row(p):
                assert p_text(p) == said


def test_every_form_is_made_of_the_same_tables() -> None:
    def told(name: str) -> tuple[list[Grid], list[str]]:
        return [Grid(f"About {name}", ("model", "score"), (("a|b", "50.00"),))], ["how to read it"]

    made = formats(told, as_csv=lambda name: f"csv of {name}", as_json=lambda name: f"json of {name}")
    assert list(made) == ["json", "csv", "markdown", "latex"]
    assert made["csv"]("x") == "csv of x"
    assert made["json"]("x") == "json of x"
    assert made["markdown"]("x").splitlines() == [
        *("### About x", "", "| model | score |", "|---|---:|", r"| a\|b | 50.00 |", "", "- how to read it")
    ]
    assert r"a\textbar{}b & 50.00" in made["latex"]("x")
