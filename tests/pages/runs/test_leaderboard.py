"""The leaderboard in `viva view`: what `viva leaderboard` writes, with a link from each score to its answers."""

import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from starlette.testclient import TestClient

from cli.told import viva
from pages.runs.conftest import Serving
from pages.runs.growing import Growing
from viva.engine.budget import Price
from viva.runs.scoring import regraded
from web.hostile import assert_only_text, make_run

Visit = Callable[..., TestClient]


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """Two graded runs: alpha and beta, of which alpha's price is known; and a folder that is none any more."""
    for name, models, right in (("one", ("openai/alpha",), 7), ("two", ("openai/beta", "openai/gamma"), 12)):
        run = Growing(tmp_path / "runs", name, models=models)
        run.answer(right)
        run.answer(10 * len(models) - right, text="A potato.")
        run.close()
        record = json.loads((run.path / "run.json").read_text())
        record["prices"] = {
            "openai/alpha": msgspec.to_builtins(Price(1, 10)),
            "openai/beta": msgspec.to_builtins(Price(2, 20)),
        }
        (run.path / "run.json").write_text(json.dumps(record))
        regraded(run.path)
    (tmp_path / "runs" / "broken").mkdir()
    (tmp_path / "runs" / "broken" / "run.json").write_text("{")
    return tmp_path / "runs"


def shown(text: str) -> str:
    """What people read of a page, or data but for when they were made."""
    body = text.partition("<main")[2].partition("</main>")[0] or text
    without = re.sub(r"<script.*?</script>|<[^>]*>", " ", body, flags=re.DOTALL)
    return " ".join(re.sub(r'"made":"[^"]*"', "", without).split())


def test_served_and_exported_leaderboards_say_the_same(visit: Visit, two: Path, tmp_path: Path) -> None:
    assert viva("leaderboard", str(two), "--out", str(tmp_path / "site")) == 0
    visitor = visit(two)
    assert 'href="/leaderboard/"' in visitor.get("/").text
    for path in (path for path in (tmp_path / "site").rglob("[!.]*") if path.is_file()):
        address = f"/leaderboard/{path.relative_to(tmp_path / 'site')}"
        answer = visitor.get(address)
        assert answer.status_code == 200, address
        assert shown(answer.text) == shown(path.read_text(encoding="utf-8")), address
    for wrong in ("x.html", "models/", "%2e%2e/%2e%2e/etc/passwd", "tables/x.csv"):
        assert visitor.get(f"/leaderboard/{wrong}").status_code in (303, 307, 404), wrong


def test_each_score_leads_to_its_answers(visit: Visit, two: Path) -> None:
    visitor = visit(two)
    front = visitor.get("/leaderboard/").text
    assert "broken" in front, "what is left out is said"

    def answers(page: str) -> dict[str, int]:
        links = set(re.findall(r'href="\.\.(/run/one/answers[^"]*)"', page))
        counted = {to: re.findall(r"([\d,]+) answers? *<", visitor.get(html.unescape(to)).text) for to in links}
        return {to: int(counts[0]) for to, counts in counted.items()}

    assert list(answers(front).values()) == [10]
    (page,) = re.findall(r'<li><a href="([^"#]*)#[^>]*>', front)[:1]
    board = answers(visitor.get(f"/leaderboard/{page}").text)
    assert {to.partition("t.half=")[2]: count for to, count in board.items()} == {"": 10, "first": 5, "second": 5}


def test_costs_are_said_where_they_are_known(visit: Visit, two: Path) -> None:
    found = visit(two).get("/leaderboard/leaderboard.json").json()
    (page,) = (page for page in found["benchmarks"] if page["boards"][0]["own"])
    costs = {row["model"]: row["cost"] for board in page["boards"] for row in board["rows"] if row["own"]}
    assert costs == {"openai/alpha": pytest.approx(0.2), "openai/beta": pytest.approx(0.4), "openai/gamma": None}
    assert "US$ for 1,000 answers" in visit(two).get(f"/leaderboard/{page['page']}").text


@pytest.mark.slow
def test_it_is_drawn_and_nothing_runs_that_should_not(
    browse: Callable[..., Any], serving: Callable[..., Serving], two: Path, tmp_path: Path
) -> None:
    hostile = make_run(tmp_path / "made")
    regraded(hostile)
    for root in (two, hostile):
        page = browse(serving(str(root)).address)
        page.goto("/leaderboard/")
        for address in page.locator("nav a, table.across th a").evaluate_all("links => links.map(link => link.href)")[
            :6
        ]:
            page.goto(address)
            page.wait_for_function("() => !document.querySelector('meta[http-equiv=refresh]')")
            assert page.locator("#vivaattack, main img, iframe, object, base").count() == 0
    page = browse(serving(str(two)).address)
    page.goto("/leaderboard/")
    page.locator(".boards a").first.click()
    page.locator("figure[data-chart=drawn] svg").first.wait_for()
    assert_only_text(page.content().partition("<body")[2].replace("style=", ""))
