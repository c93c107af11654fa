"""SynEval's tables: OA by its formula, MVP's pooled truth values, several strata, and chance as in the paper."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec import convert
from msgspec.structs import replace

from benchmarks import explaining
from benchmarks.handmade_syneval import changed, exam, rows, write
from viva.benchmarks.syneval.facts import Item
from viva.benchmarks.syneval.syneval import tags_of
from viva.contracts import Exam
from viva.engine.stages import parts_shown
from viva.types import Question, Response, Score, ScoreRow

if TYPE_CHECKING:  # polars takes a while
    from viva.analysis.breakdown import Breakdown, Table
    from viva.analysis.estimate import Estimate

POOLED = ("GS", "SC", "DO", "IO")
"""The knowledge points whose TF questions count as MVP's."""
Reply = Callable[[Question], str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path)


def graded(sat: Exam, reply: Reply, samples: int = 1) -> list[ScoreRow]:
    """As the engine makes them: parts that no table shows left out."""

    def kept(score: Score) -> Score:
        return replace(score, parts={name: part for name, part in score.parts.items() if name in parts_shown(sat)})

    return [
        explaining.row(sat, question, kept(sat.score(question, Response(text=reply(question)))), sample)
        for question in sat.questions()
        for sample in range(samples)
    ]


def mixed(question: Question) -> str:
    """Some right, some wrong, of every format."""
    number = int(question.id.rpartition("-")[2])
    if question.kind == "truth":
        return "True" if number % 3 else "False"
    if question.kind == "choice":
        return "ABCD"[number % 3]
    return str(question.answer).split()[-1] if number % 2 else str(question.answer)


def cells(sat: Exam, reply: Reply = mixed) -> dict[str, dict[str, Estimate]]:
    """The table by knowledge point: row → column → cell."""
    found = {table.name: table for table in tables(sat, reply)}["points"]
    return {row: dict(zip(found.columns, line, strict=True)) for row, line in zip(found.rows, found.cells, strict=True)}


def broken_down(scored: list[ScoreRow]) -> Breakdown:
    from viva.analysis.breakdown import Breakdown, frame

    return Breakdown(frame(scored))


def tables(sat: Exam, reply: Reply = mixed) -> list[Table]:
    breakdown = broken_down(graded(sat, reply))
    return [breakdown.table(layout, "exam", "m") for layout in sat.layouts()]


def mean(values: list[float | None]) -> float:
    return statistics.fmean(value or 0.0 for value in values)


def test_oa_is_the_papers_formula_in_every_row(folder: Path) -> None:
    found = cells(exam(folder))
    assert list(found) == ["GS", "SC", "DO", "IO", "MVP", "ADJ", "ADV", "CO", "PPA", "Overall"]
    for row, columns in found.items():
        means = {name: cell.mean or 0.0 for name, cell in columns.items()}
        blanks = (means["FITB accuracy"] + means["FITB F1"]) / 2
        assert means["OA"] == pytest.approx((means["TF"] + means["MC"] + blanks) / 3), row
    assert 0.0 < means["FITB accuracy"] < means["FITB F1"] < 1.0


def test_oa_over_points_counts_every_knowledge_point_and_format_alike(folder: Path) -> None:
    found = {table.name: table for table in tables(exam(folder))}["formats"]
    by_point = cells(exam(folder))
    of_points = [
        by_point[point][name].mean or 0.0
        for point in list(by_point)[:-1]
        for name in ("TF", "MC", "FITB")
        if name != "FITB" and (point, name) != ("MVP", "TF")
    ]
    blanks = [
        ((row["FITB accuracy"].mean or 0.0) + (row["FITB F1"].mean or 0.0)) / 2 for row in list(by_point.values())[:-1]
    ]
    assert found.cells[0][-1].mean == pytest.approx(statistics.fmean([*of_points, *blanks]))


def test_the_columns_are_means_over_questions(folder: Path) -> None:
    sat = exam(folder)
    scored = graded(sat, mixed)
    found = cells(sat)
    for point in ("GS", "PPA", "Overall"):
        of = [row for row in scored if point in ("Overall", row.tags["knowledge_point"])]
        for column, form, part in (
            ("TF", "TF", ""),
            ("MC", "MC", ""),
            ("FITB accuracy", "FITB", "exact"),
            ("FITB F1", "FITB", "f1"),
        ):
            values = [row.parts.get(part) if part else row.value for row in of if row.tags["format"] == form]
            assert found[point][column].mean == pytest.approx(mean(values)), (point, column)
            assert found[point][column].n == len(values)


def test_what_was_not_read_counts_as_nothing_in_every_column(folder: Path) -> None:
    unread = cells(exam(folder), lambda question: "" if question.kind == "span" else mixed(question))["Overall"]
    right = cells(exam(folder), lambda question: str(question.answer))["Overall"]
    for column in ("FITB accuracy", "FITB F1"):
        assert (unread[column].mean, unread[column].n) == (0.0, right[column].n)
        assert right[column].mean == 1.0


def test_the_truth_values_of_mvp_are_those_of_its_arguments(folder: Path) -> None:
    sat = exam(folder)
    found = cells(sat)
    four = [row for row in graded(sat, mixed) if row.tags["knowledge_point"] in POOLED]
    pooled = [row.value for row in four if row.tags["format"] == "TF"]
    assert found["MVP"]["TF"].n == len(pooled) == 16
    assert found["MVP"]["TF"].mean == pytest.approx(mean(pooled))
    assert found["MVP"]["MC"].n == 2, "only its own"
    assert found["Overall"]["TF"].n == 32, "and each once in the whole"


def test_pooling_is_of_true_and_false_and_of_four_points_only() -> None:
    pooled = {(row["knowledge_point"], row["format"]) for row in rows() if tags_of(convert(row, Item))["mvp"] == "yes"}
    assert pooled == {*((point, "TF") for point in POOLED), ("MVP", "MC"), ("MVP", "FITB")}


def test_a_question_of_several_strata_counts_in_each(tmp_path: Path) -> None:
    once = rows([0])
    blank = next(row for row in once if row["format"] == "FITB")
    twice = [*once, changed(blank, stratum="b"), changed(blank, stratum="c")]
    sat = exam(write(tmp_path, twice))
    found = cells(sat, lambda question: str(question.answer) if question.id == blank["id"] else "nothing at all")
    total = sum(1 for row in twice if row["format"] == "FITB")
    assert found["Overall"]["FITB accuracy"].n == total == 8
    assert found["Overall"]["FITB accuracy"].mean == pytest.approx(3 / 8)


def test_an_outage_takes_nothing_from_the_formats(folder: Path) -> None:
    sat = exam(folder)
    kept = [row for row in graded(sat, mixed) if row.tags["format"] != "MC"]
    cell = broken_down(kept).cell(sat.headline())
    assert cell.n == 50
    assert cell.mean is not None


def test_tables_across_models_have_the_papers_columns(folder: Path) -> None:
    across = {table.name: table for table in tables(exam(folder)) if table.across}
    assert across["formats"].columns == ("TF", "MC", "FITB accuracy", "FITB F1", "OA", "OA over points")
    assert across["oa"].columns == ("GS", "SC", "DO", "IO", "MVP", "ADJ", "ADV", "CO", "PPA", "All")
    assert set(across) == {"formats", "oa", "TF", "MC", "FITB accuracy", "FITB F1"}
    assert all(len(table.rows) == 1 for table in across.values())
    by_point = cells(exam(folder))
    for name in ("TF", "MC", "FITB accuracy", "FITB F1"):
        for point, cell in zip(across[name].columns, across[name].cells[0], strict=True):
            assert cell == by_point["Overall" if point == "All" else point][name]
    assert [cell.mean for cell in across["oa"].cells[0]] == [columns["OA"].mean for columns in by_point.values()]


def test_categories_are_listed_by_knowledge_point(folder: Path) -> None:
    table = next(table for table in tables(exam(folder)) if table.name == "categories")
    assert table.detail
    assert table.rows[:3] == ("GS: noun_phrase", "SC: adjective_phrase", "SC: noun_phrase")
    assert sum(line[-1].n for line in table.cells) == 68
