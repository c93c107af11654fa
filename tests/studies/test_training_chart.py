"""The chart of `viva training`: a few curves share a panel, many have one each on the same axes."""

from __future__ import annotations

from pathlib import Path

from viva.analysis.estimate import Estimate
from viva.analysis.training import Curve, Point, Training
from viva.render.charts import save, spec
from viva.render.plots import TOGETHER
from viva.studies.scaling.study import ScalingConfig, study
from viva.studies.training.chart import training_chart


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
