"""`viva published BENCHMARK --figure N`, and the models of runs among published rows."""

import json
from pathlib import Path
from typing import Any

import pytest

import viva
from rows import each_row
from viva.analysis.sizes.scalinggroups import Point, frontier
from viva.errors import DataError, VivaError
from viva.render.charts import spec
from viva.studies.published_tables.study import PublishedConfig, study


def sat(folder: Path, name: str, exam: str, **given: Any) -> str:
    """A run in a folder, where it is."""
    viva.run(exam, **{"model": "baseline/first", "run": folder / name, "published_rows": "none"} | given)
    return str(folder / name)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """The bundled samples of CS-Bench and SynEval."""
    folder = tmp_path_factory.mktemp("figures")
    (folder / "steps.csv").write_text("model,tokens\nbaseline/random,1e9\nbaseline/first,2e9\n")
    steps = {"shots": 5, "samples": 1, "model": (), "checkpoints": folder / "steps.csv"}
    return sat(folder, "zero", "csbench", only="comprehension"), sat(folder, "syneval", "syneval", **steps)


def test_the_frontier_is_the_models_that_set_a_new_best() -> None:
    points = [Point(model=f"{size}-{score}", size=size, score=score) for size, score in
              ((7, 0.5), (1, 0.3), (1, 0.2), (3, 0.3), (13, 0.4), (7, 0.6), (70, 0.6), (80, 0.7))]  # fmt: skip
    assert [point.model for point in frontier(points)] == ["1-0.3", "7-0.6", "80-0.7"]
    assert frontier([]) == []


@pytest.mark.slow
def test_figure_4c_has_a_column_for_each_way_of_asking(runs: tuple[str, ...], tmp_path: Path) -> None:
    ways = {"five": {"shots": 5}, "cot": {"shots": 5, "cot": True}}
    runs = runs[0], *(sat(tmp_path, name, "csbench", only="comprehension", **way) for name, way in ways.items())
    found = study(PublishedConfig(benchmark="csbench", figure="4c", run=runs))
    header, rows = found.records()
    assert list(header)[-3:] == ["0-shot", "5-shot", "5-shot CoT"]
    (row,) = list(rows)
    for name, cell in zip(runs, list(row)[-3:], strict=False):
        (result,) = viva.open_run(name).results
        assert float(str(cell)) == pytest.approx(100 * result.overall.mean, abs=1e-3)
    assert found.chart() is not None


def test_figures_5_and_6_of_syneval_are_curves_over_training(runs: tuple[str, ...]) -> None:
    results = {result.model: result for result in viva.open_run(runs[1]).results}
    for number, name in (("5", "formats"), ("6", "oa")):
        found = study(PublishedConfig(benchmark="syneval", figure=number, run=runs[1:]))
        rows = json.loads(found.to_json())["rows"]
        points = {row["checkpoint"]: row["at"] for row in rows}
        assert list(points.values()) == [1e9, 2e9]
        for checkpoint in points:
            (shown,) = (one for one in results[checkpoint].tables if one.name == name)
            (cells,) = shown.cells
            assert {row["curve"]: row["mean"] for row in rows if row["checkpoint"] == checkpoint} == {
                column: cell.mean for column, cell in zip(shown.columns, cells, strict=True)
            }
        assert found.chart() is not None


def test_the_models_of_a_run_are_further_rows_with_their_own_figures(runs: tuple[str, ...]) -> None:
    (published,) = study(PublishedConfig(benchmark="csbench", name="en_formats")).found
    (found,) = study(PublishedConfig(benchmark="csbench", name="13", run=runs[:1])).found
    row, *printed = found.entries
    assert tuple(printed) == published.entries
    assert (row.kind, row.model) == ("run", "baseline/first (zero, 0-shot)")
    (result,) = viva.open_run(runs[0]).results
    (formats,) = (one for one in result.tables if one.name == "formats")
    cell = formats.cells[formats.rows.index("Multiple-choice")][formats.columns.index("Average")]
    assert row.figures["multiple_choice_average"] == 100 * cell.mean
    assert any("bundled sample" in note for note in found.notes)


def test_tables_10_to_13_take_rows_of_a_run(runs: tuple[str, ...]) -> None:
    for number in ("12", "13"):
        (found,) = study(PublishedConfig(benchmark="syneval", name=number, run=runs[1:])).found
        assert len(found.entries[-1].figures) == 18


def test_runs_in_a_figure_are_outlined(runs: tuple[str, ...]) -> None:
    drawn = study(PublishedConfig(benchmark="csbench", figure="12", run=runs[:1])).chart()
    assert '"run":true' in json.dumps(spec(drawn), separators=(",", ":"))


@each_row(
    (PublishedConfig(benchmark="csbench", figure="99"), "has no figure '99' here; it has 1: Composition"),
    (PublishedConfig(benchmark="cmmlu", figure="1"), "it has none"),
    (PublishedConfig(figure="1"), "is a figure of which paper"),
    (PublishedConfig(benchmark="csbench", figure="4c"), "drawn from runs alone"),
    (PublishedConfig(benchmark="csbench", name="99"), "no published table '99'"),
    (PublishedConfig(benchmark="csbench", run=("x",)), "name it after its benchmark"),
    (PublishedConfig(benchmark="infibench", figure="5", model=("GPT-4",)), "shows all models"),
)
def test_what_is_no_figure_or_table_is_refused(config: PublishedConfig, said: str) -> None:
    with pytest.raises(VivaError, match=said):
        study(config)


def test_runs_of_another_benchmark_are_refused(runs: tuple[str, ...]) -> None:
    for given in ({"name": "6"}, {"figure": "4"}, {"figure": "5"}):
        with pytest.raises(DataError, match="no exam of infibench"):
            study(PublishedConfig(benchmark="infibench", run=runs[:1], **given))
    with pytest.raises(DataError, match="no figure of csbench's table zh_domains"):
        study(PublishedConfig(benchmark="csbench", name="zh_domains", run=runs[:1]))
