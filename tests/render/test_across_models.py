"""Tables with a row a model: printed once for all models that sat an exam, and not for each."""

from __future__ import annotations

import msgspec

from render.samples import RIGHT, SHORT, report, result, table
from viva.render.formats import as_csv, as_markdown, as_terminal

ACROSS = msgspec.structs.replace(
    table(((RIGHT, SHORT),), title="Main", rows=("Overall",), columns=("TF", "OA")), across=True, name="main"
)


def test_several_models_share_one_table() -> None:
    two = report(*(result(table(), ACROSS, model=f"openai/{name}") for name in "ab"))
    text = as_markdown(two)
    assert text.count("Main · csbench-en") == 1
    assert "| model | TF | OA |" in text
    assert text.count("| openai/a | 62.50") == text.count("| openai/b | 62.50") == 1
    assert text.count("By domain") == 2
    assert "Main" in as_terminal(two)


def test_one_model_has_it_in_its_other_tables() -> None:
    one = report(result(table(), ACROSS))
    assert "Main" not in as_markdown(one)
    assert ",main,Overall,TF," in as_csv(one)


def test_models_of_different_exams_are_not_compared() -> None:
    apart = report(result(ACROSS, language="en"), result(ACROSS, language="zh"))
    assert "Main" not in as_markdown(apart)


def test_a_long_one_waits_for_all() -> None:
    long = msgspec.structs.replace(ACROSS, detail=True)
    two = report(*(result(long, model=f"openai/{name}") for name in "ab"))
    assert "Main" not in as_terminal(two)
    assert "Main" in as_terminal(two, details=True)
