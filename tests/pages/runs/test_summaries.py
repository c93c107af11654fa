"""Summaries in the list of runs: outcomes of the answers, and costs."""

import json
from collections.abc import Callable

from starlette.testclient import TestClient

from pages.runs.growing import Growing
from rows import tabled
from servers.fixtures import Viva
from viva.engine.budget import Price
from viva.engine.folder import ModelRecord
from viva.pages.runs.run_views import list_cost
from viva.runs.following import Tokens

Visit = Callable[..., TestClient]


def test_the_list_has_the_scores_of_viva_runs(visit: Visit, growing: Growing, viva: Viva) -> None:
    growing.answer(13)
    growing.answer(6, text="A potato.")
    growing.answer(1, failed=True)
    growing.close()
    visitor = visit(growing.root)
    assert "not graded" in visitor.get("/").text
    assert viva("score", growing.path).code == 3
    page = visitor.get("/").text
    listed = json.loads(viva("runs", growing.root, "--format", "json").out)["rows"]
    best, worst = sorted(listed, key=lambda one: -one["floor"])
    low, high = (f"{100 * best[name]:.2f}" for name in ("low", "high"))
    assert f'<b class="score">{100 * best["mean"]:.2f}</b><span class="quiet"> [{low}, {high}]</span>' in page
    bounds = "–".join(f"{100 * worst[name]:.2f}" for name in ("floor", "ceiling"))
    assert f'to</span> <b class="score">{100 * worst["mean"]:.2f}† ({bounds})</b>' in page, "it leaves a failure out"
    assert 'aria-label="right 13, wrong 6, error 1"' in page
    answers = (growing.path / "responses.jsonl").read_bytes()
    for name, content in (("responses.jsonl", answers + b"\n"), ("scores.jsonl", b"[" * 10_000)):
        kept = (growing.path / name).read_bytes()
        (growing.path / name).write_bytes(content)
        assert "not graded" in visitor.get("/").text, "scores of other answers, or none, say nothing"
        (growing.path / name).write_bytes(kept)


def test_what_answers_cost_is_said_where_it_is_known() -> None:
    used = {("openai/gpt-4o", "x"): Tokens(1_000_000, 100_000), ("baseline/random", "x"): Tokens(0, 0, 9)}
    vendor, own = ModelRecord(name="openai/gpt-4o"), ModelRecord(name="openai/gpt-4o", base_url="http://127.0.0.1:9")
    price = list_cost([vendor], used)
    assert price is not None
    cases = {
        "a vendor's": (list_cost([vendor, ModelRecord(name="baseline/random")], used), price),
        "a baseline": (list_cost([ModelRecord(name="baseline/random")], used), 0.0),
        "a server of one's own": (list_cost([own], used), None),
        "not counted": (list_cost([vendor], {("openai/gpt-4o", "x"): Tokens(1, 1, 1)}), None),
        "a model that nobody knows": (
            list_cost([ModelRecord(name="openai/x-y")], {("openai/x-y", "x"): Tokens(1, 1)}),
            None,
        ),
        "nothing asked yet": (list_cost([vendor], {}), 0.0),
        "the run's price": (list_cost([own], used, {"openai/gpt-4o": Price(1, 10)}), 2.0),
        "one for all": (list_cost([vendor], used, {"": Price(2, 0)}), 2.0),
        "in batches": (list_cost([vendor], used, batched=True), price / 2),
        "in batches, at the run's price": (list_cost([own], used, {"": Price(2, 0)}, batched=True), 2.0),
    }
    for (_name, (found, expected)), row in tabled(*cases.items()):
        with row:
            assert found == expected
