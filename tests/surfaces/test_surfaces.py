"""One number, computed once: every surface that shows a score shows the same one."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.collected import csv_rows, write_csv
from cli.told import rows_of
from rows import table
from surfaces.surfaces import SURFACES, Seen, compared, differences, orders, world_of
from surfaces.worlds import EVERY, FEW, ran

MISSING = ("error", "not asked", "ungraded", "unsound")
"""Outcomes that leave an answer out of the mean."""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[Seen]:
    """Worlds in a folder, of which the quick tier has some, and a terminal's usual width."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("worlds"))
        patch.setenv("COLUMNS", "120")
        yield Seen(FEW if pytestconfig.getoption("quick") else EVERY)


def missing(estimate: dict[str, Any]) -> int:
    return sum(estimate["outcomes"].get(one, 0) for one in MISSING)


def agree(name: str, shown: Any, estimate: dict[str, Any]) -> bool:
    """Whether a quantity is shown as it is, to what is printed."""
    complete = not missing(estimate) and estimate["ceiling"] - estimate["floor"] < 1e-9
    truth = (estimate | {"mark": "" if complete else "†", "unanswered": missing(estimate)})[name]
    if isinstance(shown, str) and name in ("mean", "low", "high", "floor", "ceiling"):
        return shown == ("–" if truth is None else f"{100 * truth:.2f}")
    return bool(shown == truth or shown == f"{truth:,}" if name == "n" else shown == pytest.approx(truth, abs=1e-12))


def test_every_surface_says_the_same(seen: Seen) -> None:
    with table() as row:
        for name, (surface, worlds) in SURFACES.items():
            with row(name):
                shown = surface(seen)
                assert set(shown) == {who for who in seen.truth if world_of(who) in worlds}
                wrong = [
                    (who, quantity, text, seen.truth[who].get(quantity))
                    for who, quantities in shown.items()
                    for quantity, text in quantities.items()
                    if text is not None and not agree(quantity, text, seen.truth[who])
                ]
                assert not wrong, wrong[:6]


def test_bounds_hold_what_they_bound(seen: Seen) -> None:
    with table() as row:
        for who, result in seen.results.items():
            for name, cells in (
                ("", [[result["overall"]]]),
                *((one["name"], one["cells"]) for one in result["tables"]),
            ):
                with row((*who, name)):
                    for one in (cell for line in cells for cell in line if cell["n"]):
                        assert one["mean"] is None or one["floor"] - 1e-12 <= one["mean"] <= one["ceiling"] + 1e-12, one
                        assert one["low"] is None or one["low"] <= one["floor"] + 1e-12, one
                        assert one["high"] is None or one["high"] >= one["ceiling"] - 1e-12, one
                        if name.endswith(("-guessing", "-luck")):  # shares and differences: nothing in them is right
                            assert not one["outcomes"].keys() & {"right", "partly", "wrong"}, one


def test_everything_puts_models_in_one_order(seen: Seen) -> None:
    for world in (world for world in seen.worlds if len(world.models) > 2):
        for surface, models in orders(seen, world).items():
            scores = [seen.truth[world.name, model] for model in models]
            sure = [(one["floor"], one["ceiling"]) for one in scores]
            assert len(models) == len(world.models)
            assert sure == sorted(sure, reverse=True), (surface, models)


def test_a_difference_is_of_the_scores_beside_it(seen: Seen) -> None:
    with table() as row:
        for world in (world for world in seen.worlds if len(world.runs) == 2):
            first, second = (seen.truth[seen.who(model)] for model in world.named)
            shown = differences(world)
            (whole,) = shown.pop("json")
            with row(world.name):
                assert whole["floor"] == pytest.approx(second["floor"] - first["ceiling"])
                assert whole["ceiling"] == pytest.approx(second["ceiling"] - first["floor"])
                assert whole["difference"] is None or whole["floor"] <= whole["difference"] <= whole["ceiling"]
                assert whole["low"] <= whole["floor"] <= whole["ceiling"] <= whole["high"]
                if whole["floor"] == whole["ceiling"]:
                    assert whole["difference"] == pytest.approx(second["mean"] - first["mean"])
                else:
                    assert (whole["p"] is None) == (whole["floor"] <= 0 <= whole["ceiling"])
            for surface, (numbers,) in shown.items():
                with row((world.name, surface)):
                    for name, text in numbers.items():
                        if isinstance(text, str) and name != "n":
                            assert text == f"{100 * whole[name]:.2f}", name
                        else:
                            known = None if text is None else float(text)
                            assert known == (None if whole[name] is None else pytest.approx(whole[name])), name


def test_several_answers_count_alike_in_compare_and_in_a_table(seen: Seen) -> None:
    (world,) = (world for world in seen.worlds if world.samples > 1)
    boards = [json.loads(ran("score", f"{model}.csv", "--k", "2", "--k", "4", "--json")) for model in world.named]
    with table() as row:
        for way in ("best@2", "best@4", "pass@2", "pass^4"):
            with row((way, "difference")):
                one = compared(world, "--aggregate", way)
                (difference,) = (each["found"] for each in rows_of(one, "Pairs"))
                assert difference["floor"] <= difference["difference"] <= difference["ceiling"]
            with row((way, "scores")):
                for side, board in zip(rows_of(one, "Contestants"), boards, strict=True):
                    known = rows_of(board, "Leaderboard")[0][way]
                    for name in ("n", "mean", "low", "high", "floor", "ceiling"):
                        assert side["estimate"][name] == pytest.approx(known[name]), name


def test_a_model_without_some_rows_is_on_the_board_and_heads_no_page(seen: Seen) -> None:
    rows = [row for name in ("a", "b") for row in csv_rows(Path(f"plain-{name}.jsonl.csv").read_text())]
    short = [row for row in rows if (row["model"], row["question"]) != ("replay/plain-b.jsonl", "q3")]
    write_csv(Path("short.csv"), short, rows[0])
    ran("leaderboard", "short.csv", "--out", "short", "--no-published")
    (page,) = json.loads(Path("short/leaderboard.json").read_text(encoding="utf-8"))["benchmarks"]
    (board,) = page["boards"]
    scores = {row["model"]: row["score"] for row in board["rows"]}
    assert {model: one["n"] for model, one in scores.items()} == dict.fromkeys(
        ("replay/plain-a.jsonl", "replay/plain-b.jsonl"), 40
    )
    assert scores["replay/plain-b.jsonl"]["floor"] > scores["replay/plain-a.jsonl"]["mean"]
    index = " ".join(Path("short/index.html").read_text(encoding="utf-8").split())
    assert re.findall(r"best <a[^>]*><bdi>(.*?)</bdi>", index) == ["replay/plain-a.jsonl"]
