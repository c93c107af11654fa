"""The leaderboard in `viva view`, served and exported: what `viva leaderboard` writes, each score with its answers."""

import html
import json
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from starlette.testclient import TestClient

from cli.told import viva
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


def test_runs_are_exported_with_leaderboard_list_and_reports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "made")
    assert viva("score", str(run)) in (0, 3)
    root, out = tmp_path / "runs", tmp_path / "site"
    root.mkdir()
    run.rename(root / "<b id=vivaattack>")
    (tmp_path / "runs" / "empty").mkdir()
    assert viva("view", str(root), "--static", str(out)) == 0
    assert "open" in capsys.readouterr().err
    front = (out / "index.html").read_text(encoding="utf-8")
    (report,) = (out / "runs").iterdir()
    assert f'href="runs/{report.name}#exam=' in front, "a number leads to its answers"
    assert f'href="runs/{report.name}"' in (out / "runs.html").read_text(encoding="utf-8")
    for page in (front, (out / "runs.html").read_text(encoding="utf-8")):
        assert_only_text(page[page.rindex("</style>") : page.index("<script>")])
    text = report.read_text(encoding="utf-8")
    assert text.index('id="summary"') < text.index('id="asked"'), "scores come before what was asked"
    first = {path.relative_to(out) for path in out.rglob("*") if path.is_file()}
    assert viva("view", str(root), "--static", str(out)) == 0, "a site of ours is replaced"
    assert {path.relative_to(out) for path in out.rglob("*") if path.is_file()} == first
    assert viva("view", str(root), "--static", str(root)) == 2, "other things than a site stay"
    assert not re.search(r"https?://(?!arxiv|aclanthology|github|openreview)", front)


@pytest.mark.browser
def test_a_figure_over_several_values_opens_their_answers(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    run, out = tmp_path / "runs" / "a", tmp_path / "site"
    given = ("csbench", "--model", "baseline/first", "--run", str(run), "--progress", "quiet")
    assert viva("run", *given) in (0, 3)
    assert viva("view", str(run.parent), "--static", str(out)) == 0
    site = "".join(path.read_text(encoding="utf-8") for path in (out / "models").iterdir())
    address = re.search(r"runs/a.html#[^\"]*t.format=Multiple-choice%2CAssertion", site)
    assert address, "closed questions are of two formats"
    # Not before the commands: its loop would be theirs.
    page = request.getfixturevalue("chromium").new_page()
    page.goto(f"{out.as_uri()}/{address[0].replace('&amp;', '&')}")
    page.wait_for_function("document.querySelector('[data-part=count]').textContent.includes('of 76')")
    assert page.locator("[data-part=count]").text_content().startswith("56 of 76")
    page.close()
