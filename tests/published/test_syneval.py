"""SynEval's figures: as published, consistent with each other, and giving the paper's own statistics."""

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


def test_no_simpler_formula_would_do() -> None:
    row = syneval.main("zero")["GPT4"]
    for measure in ("fitb_f1", "fitb_accuracy"):
        simple = (row["tf_accuracy"] + row["mc_accuracy"] + row[measure]) / 3
        assert abs(simple - row["overall"]) > 1, measure


def test_table_1_adds_up() -> None:
    counts = syneval.questions()
    asked = {name: sum(row[name] for point, row in counts.items() if (point, name) != ("MVP", "TF"))
             for name in ("TF", "MC", "FITB")}  # fmt: skip
    assert asked == {"TF": 1065, "MC": 1075, "FITB": 1030}
    assert sum(asked.values()) == 634 * 5, "five a stratum"
    assert counts["MVP"]["TF"] == 440 == sum(counts[point]["TF"] for point in syneval.POOLED)


def test_the_main_verb_phrases_truth_score_is_pooled_over_questions_not_averaged() -> None:
    counts = {point: row["TF"] for point, row in syneval.questions().items()}
    means = {"GS": 100.0, "SC": 100.0, "DO": 0.0, "IO": 0.0}
    assert syneval.pooled(means, counts) == pytest.approx(100 * 260 / 440)
    assert syneval.pooled({"IO": 37.0}, counts) == pytest.approx(37.0)


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


@pytest.mark.parametrize("shots", syneval.SHOTS)
def test_the_formats_of_the_main_table_are_possible_by_knowledge_point(shots: str) -> None:
    """There are scores by knowledge point and format that give both tables at once, MVP's TF being the pooled one.

    Tables 10 to 13, which have them, are not among the published figures; a figure that were copied wrongly, or a
    count, would leave no such scores.
    """
    for model, row in syneval.points(shots).items():
        if model != syneval.AVERAGE:
            assert _possible(row, syneval.main(shots)[model]), model
    main = dict(syneval.main(shots)["GPT4"])
    assert not _possible(syneval.points(shots)["GPT4"], {**main, "mc_accuracy": main["mc_accuracy"] - 25})


def _possible(points: dict[str, float], main: dict[str, float]) -> bool:
    """Whether some TF, MC, FITB by point, in 0..100, have these OAs (± 0.01) and means (± 0.02): a linear program."""
    from scipy.optimize import linprog

    counts = syneval.questions()
    names = [(point, form) for point in points for form in ("TF", "MC", "FITB") if (point, form) != ("MVP", "TF")]
    at = {name: index for index, name in enumerate(names)}
    above: list[list[float]] = []
    limits: list[float] = []

    def within(weights: dict[tuple[str, str], float], value: float, slack: float) -> None:
        line = [weights.get(name, 0.0) for name in at]
        above.extend([line, [-weight for weight in line]])
        limits.extend([value + slack, slack - value])

    pooled = {(point, "TF"): counts[point]["TF"] / 440 for point in syneval.POOLED}
    for point, overall in points.items():
        truth = pooled if point == "MVP" else {(point, "TF"): 1.0}
        thirds = {**truth, (point, "MC"): 1.0, (point, "FITB"): 1.0}
        within({name: weight / 3 for name, weight in thirds.items()}, overall, 0.01)
    blanks = (main["fitb_accuracy"] + main["fitb_f1"]) / 2
    for form, mean in (("TF", main["tf_accuracy"]), ("MC", main["mc_accuracy"]), ("FITB", blanks)):
        mine = [name for name in at if name[1] == form]
        total = sum(counts[point][form] for point, _ in mine)
        within({(point, form): counts[point][form] / total for point, _ in mine}, mean, 0.02)
    found = linprog([0.0] * len(at), A_ub=above, b_ub=limits, bounds=(0, 100))
    return bool(found.status == 0)


@pytest.mark.parametrize("shots", syneval.SHOTS)
def test_the_average_row_has_the_unprinted_baseline_in_it(shots: str) -> None:
    """24 times the average less the 23 printed rows is a row that scores as the baseline does."""
    points = syneval.points(shots)
    average = points.pop(syneval.AVERAGE)
    weights = _weights()
    left = {point: 24 * average[point] - sum(row[point] for row in points.values()) for point in weights}
    assert all(20 < value < 35 for value in left.values())
    baseline = syneval.main(shots)[syneval.BASELINE]["overall"]
    assert sum(weights[point] * left[point] for point in weights) == pytest.approx(baseline, abs=0.5)


def test_a_chat_model_has_the_size_of_its_base() -> None:
    sizes = {entry.model: entry.size for entry in table("syneval", "zero_shot").entries}
    assert len(table("syneval", "sizes").entries) == 13
    assert sizes["Falcon 40B"] == sizes["Falcon 40B (Instruct)"] == Size(41.30, 41.30)
    assert (sizes["GPT4"], sizes["Random"]) == (None, None)
    assert sum(size is not None for size in sizes.values()) == 21
