"""SynEval's figures: as published, consistent with each other, and with the paper's statistics."""

import csv
from pathlib import Path

import pytest

from published import syneval
from viva.published import Size, table


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as table:
        return [{key: value.replace("\u2009", " ") for key, value in row.items()} for row in csv.DictReader(table)]


def test_the_figures_are_the_published_ones(figures: Path) -> None:
    given = {row["model"]: row for row in rows_of(figures / "syneval_main.csv")}
    for shots in syneval.SHOTS:
        mine = syneval.main(shots)
        assert list(mine) == list(given)
        for model, row in mine.items():
            assert len(row) == 5
            assert row == {name: float(given[model][f"{shots}_shot_{name}"]) for name in row}
        points = {row.pop("model"): row for row in rows_of(figures / f"syneval_{shots}_shot_by_knowledge_point.csv")}
        assert syneval.points(shots) == {
            model: {name: float(value) for name, value in row.items()} for model, row in points.items()
        }


def test_table_1_adds_up() -> None:
    counts = syneval.questions()
    asked = {name: sum(row[name] for point, row in counts.items() if (point, name) != ("MVP", "TF"))
             for name in ("TF", "MC", "FITB")}  # fmt: skip
    assert asked == {"TF": 1065, "MC": 1075, "FITB": 1030}
    assert sum(asked.values()) == 634 * 5, "five a stratum"
    assert counts["MVP"]["TF"] == 440 == sum(counts[point]["TF"] for point in syneval.POOLED)


@pytest.mark.parametrize("shots", syneval.SHOTS)
def test_knowledge_points_weighted_by_their_questions_give_the_main_table(shots: str) -> None:
    """Only nearly: Tables 8 and 9 give OA, whose three formats have weights of their own (see the next test)."""
    points = {model: row for model, row in syneval.points(shots).items() if model != syneval.AVERAGE}
    assert len(points) == 23
    weights = _weights()
    assert sum(weights.values()) == pytest.approx(1)
    distances: list[float] = []
    for model, row in points.items():
        weighted = sum(weights[point] * row[point] for point in weights)
        plain = sum(row.values()) / len(row)
        overall = syneval.main(shots)[model]["overall"]
        assert weighted == pytest.approx(overall, abs=0.5), model
        distances.append(abs(plain - overall) - abs(weighted - overall))
    assert sum(distances) / len(distances) > 0.3, "the weights matter: a plain mean is further off"


def _weights() -> dict[str, float]:
    """A point's share of each format, averaged over the formats as OA averages them."""
    counts = {point: dict(row) for point, row in syneval.questions().items()}
    counts["MVP"]["TF"] = 0  # they are the others' questions
    totals = {name: sum(row[name] for row in counts.values()) for name in ("TF", "MC", "FITB")}
    return {point: sum(row[name] / totals[name] for name in totals) / 3 for point, row in counts.items()}


def test_a_chat_model_has_the_size_of_its_base() -> None:
    sizes = {entry.model: entry.size for entry in table("syneval", "zero_shot").entries}
    assert len(table("syneval", "sizes").entries) == 13
    assert sizes["Falcon 40B"] == sizes["Falcon 40B (Instruct)"] == Size(41.30, 41.30)
    assert (sizes["GPT4"], sizes["Random"]) == (None, None)
    assert sum(size is not None for size in sizes.values()) == 21
