"""What the list of runs says of each: how its answers fared, and what they cost."""

from __future__ import annotations

from collections.abc import Callable

from starlette.testclient import TestClient

from rows import table
from viewing.runs import Growing
from viva.engine.folder import ModelRecord
from viva.viewing.following import Tokens
from viva.viewing.summaries import fared, list_cost

Visit = Callable[..., TestClient]


def test_the_list_says_how_answers_fared_once_they_are_graded(visit: Visit, growing: Growing) -> None:
    growing.answer(20)
    growing.close()
    visitor = visit(growing.root)
    assert "not graded" in visitor.get("/").text
    lines = [
        f'{{"model":"m","exam":"e","outcome":"{outcome}","value":{value}}}\n'
        for outcome, value in (("right", 1.0), ("wrong", 0.0), ("unparsed", "null"), ("error", "null"))
    ]
    (growing.path / "scores.jsonl").write_text("".join(lines))
    page = visitor.get("/").text
    assert '<b class="score">33.33</b>' in page, "an outage is no zero, what cannot be read is one"
    assert 'aria-label="right 1, wrong 1, unparsed 1, error 1"' in page
    growing.folder.path.joinpath("scores.jsonl").write_text("[" * 10_000)
    assert "not graded" in visitor.get("/").text


def test_scores_older_than_answers_say_nothing(growing: Growing) -> None:
    (growing.path / "scores.jsonl").write_text('{"model":"m","exam":"e","outcome":"right","value":1}\n')
    assert fared(growing.path, 0.0) is not None
    assert fared(growing.path, 4e9) is None


def test_what_answers_cost_is_said_where_it_is_known() -> None:
    used = {"openai/gpt-4o": Tokens(1_000_000, 100_000), "baseline/random": Tokens(0, 0, 9)}
    vendor, own = ModelRecord(name="openai/gpt-4o"), ModelRecord(name="openai/gpt-4o", base_url="http://127.0.0.1:9")
    price = list_cost([vendor], used)
    assert price is not None
    cases = {
        "a vendor's": (list_cost([vendor, ModelRecord(name="baseline/random")], used), price),
        "a baseline": (list_cost([ModelRecord(name="baseline/random")], used), 0.0),
        "a server of one's own": (list_cost([own], used), None),
        "not counted": (list_cost([vendor], {"openai/gpt-4o": Tokens(1, 1, 1)}), None),
        "a model that nobody knows": (list_cost([ModelRecord(name="openai/x-y")], {"openai/x-y": Tokens(1, 1)}), None),
        "nothing asked yet": (list_cost([vendor], {}), 0.0),
    }
    with table() as row:
        for name, (found, expected) in cases.items():
            with row(name):
                assert found == expected
