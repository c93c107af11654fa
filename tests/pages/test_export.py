"""`viva view --static`: the same pages as files, each number with its answers."""

import re
from pathlib import Path

import pytest

from cli.told import viva
from web.hostile import assert_only_text, make_run


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
