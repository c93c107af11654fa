"""Pages of runs whose answers are no plain sample of their exam: varied and adaptive ones."""

import html
import json
import re
from collections.abc import Callable
from pathlib import Path

from starlette.testclient import TestClient

from cli.collected import read_jsonl
from servers.fixtures import Viva

Visit = Callable[..., TestClient]


def test_an_answer_of_a_varied_run_is_called_by_its_combination(visit: Visit, viva: Viva, tmp_path: Path) -> None:
    vary = ("--vary", "prompt=2,order=2", "--limit", 4)
    assert (
        viva(
            "variance", "run", "cmmlu", "--model", "baseline/random", "--run", tmp_path / "runs" / "varied", *vary
        ).code
        == 0
    )
    visitor = visit(tmp_path / "runs")
    design = json.loads((tmp_path / "runs" / "varied" / "run.json").read_text())["exams"][0]["spec"]["vary"]
    (first, second), orders = (factor["levels"] for factor in design["factors"])
    cells = [f"prompt {prompt}, order {order}" for prompt in (first, second) for order in orders]
    page = visitor.get("/run/varied/answer/1.3").text
    assert re.findall(r'<a href="/run/varied/answer/1\.\d+\?"[^>]*><bdi>([^<]*)</bdi>', page) == cells
    assert f'<span class="quiet"><bdi>{cells[2]}</bdi></span></h1>' in page
    assert cells[2] in visitor.get("/run/varied/answers").text
    rows = read_jsonl(tmp_path / "runs" / "varied" / "scores.jsonl")
    values = [row["value"] for row in rows]
    means = [sum(values[at : at + 4]) / 4 for at in range(0, 16, 4)]
    matrix = visitor.get("/run/varied/matrix").text
    signs = re.findall(r'<td class="o [^>]*><a [^>]*>([^<]*)</a>', matrix)
    assert signs == [{0.0: "✗", 1.0: "✓"}.get(mean, f"{100 * mean:.0f}") for mean in means]
    assert "the mean of 4 combinations" in matrix
    assert "4 combinations of 2 prompts × 2 orders of options" in visitor.get("/run/varied").text
    assert viva("report", tmp_path / "runs" / "varied").code == 0
    report = html.unescape((tmp_path / "runs" / "varied" / "report.html").read_text())
    index = json.loads(re.search(r'id="block-items-index">([^<]*)<', report)[1])  # type: ignore[index]
    assert index["columns"]["t.prompt"]["words"] == [first, second]
    assert index["columns"]["t.order"]["words"] == orders


def test_an_adaptive_run_shows_its_estimate_and_no_mean_of_what_was_drawn(
    visit: Visit, viva: Viva, tmp_path: Path
) -> None:
    for seed in (1, 2):
        model = ("--model", "baseline/random", "--seed", seed)
        assert viva("run", "cmmlu", *model, "--run", tmp_path / "known" / str(seed)).code == 0
    asked = ("--model", "baseline/first", "--calibration", tmp_path / "known", "--until", 30)
    assert viva("adaptive", "run", "cmmlu", *asked, "--run", tmp_path / "runs" / "some").code == 0
    (run,) = json.loads(viva("runs", tmp_path / "runs", "--format", "json").out)["rows"]
    score = f"{100 * run['mean']:.2f}"
    visitor = visit(tmp_path / "runs")
    listed = visitor.get("/").text
    assert f'<b class="score">{score}</b>' in listed
    assert "estimated</p>" in listed
    assert ">estimated<" in listed, "what was not drawn is not missing"
    assert "30 of 30" in listed
    rows = read_jsonl(tmp_path / "runs" / "some" / "scores.jsonl")
    mean = f"{100 * sum(row['value'] for row in rows) / len(rows):.2f}"
    assert mean != score
    for address in ("/run/some", "/run/some/matrix"):
        page = visitor.get(address).text
        assert f">{score}<" in page, address
        assert f">{mean}<" not in page, address
    assert "30 questions drawn of 96" in page
    assert "estimated for all 96 questions" in page
