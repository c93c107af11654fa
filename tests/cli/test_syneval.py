"""`viva run syneval` and the commands that look at it, from the command line, on a handmade set."""

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.handmade_syneval import changed, rows, write
from cli.collected import refused
from servers.fixtures import QUIET, Serve, Viva

ALPHA = 1e-6
SAMPLES = 20


@pytest.fixture
def data(viva: Viva) -> Path:
    """Where the set lies; a question of it is listed for two strata."""
    return write(viva.folder / "set", [*rows(), changed(rows()[0], stratum="another")])


def column(report: dict[str, object], name: str, row: str = "Overall") -> dict[str, object]:
    """A cell of the table by knowledge point."""
    table = next(table for table in report["results"][0]["tables"] if table["name"] == "points")  # type: ignore[index]
    return table["cells"][table["rows"].index(row)][table["columns"].index(name)]  # type: ignore[no-any-return]


def test_chance_is_what_it_must_be_and_a_question_of_two_strata_is_asked_once(viva: Viva, data: Path) -> None:
    from scipy.stats import binomtest

    asking = ("run", "syneval", "--data", data, "--model", "baseline/random", "--samples", SAMPLES, "--run", "run")
    ended = viva(*asking, "--format", "json", *QUIET).exits()
    scores = list(viva.scores())
    assert (len(viva.answered()), ended.overall["n"]) == (68 * SAMPLES, 69 * SAMPLES)
    assert Counter(row.get("weight", 1) for row in scores) == {1: 67 * SAMPLES, 2: SAMPLES}
    rows_of = Counter((row["tags"]["format"], row["value"] == 1.0) for row in scores)
    for form, chance in (("TF", 1 / 2), ("MC", 1 / 4)):
        right, wrong = rows_of[form, True], rows_of[form, False]
        assert binomtest(right, right + wrong, chance).pvalue > ALPHA, form
    exact, f1 = (column(ended.report, f"FITB {name}")["mean"] for name in ("accuracy", "F1"))
    # In sentences of six to ten words a phrase is hit more often than in the paper's (0.42 and 22.20 per cent).
    assert 0.01 < exact < 0.1  # type: ignore[operator]
    assert 0.15 < f1 < 0.45  # type: ignore[operator]
    assert column(ended.report, "OA")["mean"] == ended.overall["mean"]


def test_three_seeds_draw_three_prompts_where_exemplars_are_shown(viva: Viva, data: Path, serve: Serve) -> None:
    server = serve(texts=["The answer is “True”"])
    ended = viva(
        *("run", "syneval", "--data", data, "--shots", 2, "--limit", 6, "--model", "openai/m"),
        *("--base-url", server.url, "--run", "run", "--format", "json", *QUIET),
    ).exits()
    assert server.asked == 18
    assert len(server.counts()) > 6, "most questions are asked with other exemplars each time"
    assert "samples:3x1" in ended.report["results"][0]["signature"]
    assert "max_tokens:256" in ended.report["results"][0]["signature"]


def test_the_bundled_sample_is_what_is_asked_without_data(viva: Viva) -> None:
    ended = viva("run", "syneval", "--model", "baseline/first", "--limit", 20, "--run", "run", *QUIET).exits()
    assert "bundled sample" in ended.out
    checked = viva("check", "syneval").exits()
    assert "gold scores 1, wrong scores 0, empty is empty" in checked.out
    for arguments, why in (
        (("--shots", 6), "at most 5 exemplars"),
        (("--cot",), "no --cot: it asks for the answer alone"),
        (("--language", "zh"), "no language 'zh'"),
    ):
        refused(viva("run", "syneval", "--model", "baseline/first", *arguments), why)
    listed = viva("list").out
    assert "viva build syneval" in listed
    assert "viva fetch syneval" not in listed, "there is nothing to fetch"
