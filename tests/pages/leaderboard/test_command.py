"""`viva leaderboard` from runs, tables of item scores and a file of models, in this process."""

from __future__ import annotations

import json
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from cli.collected import answers, gold, write_jsonl
from cli.told import viva
from rows import tabled
from servers.fixtures import Viva, Warm
from viva.errors import DataError
from viva.pages.leaderboard.publishedboards import ModelFacts
from web.hostile import make_run

SCORES = "model,case,sample,score,format\n" + "".join(
    f"{model},q{case},0,{int((case * step) % 7 < good)},{'MC' if case % 2 else 'TF'}\n"
    for model, step, good in (("lab/Big-70B-Instruct", 3, 6), ("lab/Small-1B", 5, 2), ("mystery", 2, 4))
    for case in range(60)
)
MODELS = """model,family,type,domain,access,parameters,active,url
Big-70b-instruct,Titan,Finetuned,Code,Open,46.7,12.9,https://example.org/big
mystery,,,,Closed,,,
nobody,,,,,,,
"""


def written(out: Path) -> Any:
    return json.loads((out / "leaderboard.json").read_text(encoding="utf-8"))


def test_runs_and_tables_become_a_site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run(tmp_path / "hostile")
    assert viva("score", str(run)) in (0, 3)
    table, models, out = tmp_path / "scores.csv", tmp_path / "models.csv", tmp_path / "site"
    table.write_text(SCORES)
    models.write_text(MODELS)
    assert viva("leaderboard", str(run), str(table), "--out", str(out), "--models", str(models), "--title", "T") == 0
    said = capsys.readouterr().err
    assert "no run has a model called 'nobody'" in said
    assert "2 boards" in said
    found = written(out)
    assert found["title"] == "T"
    hostile, items = found["benchmarks"]
    assert hostile["title"] == "hostile"
    assert {row["signature"].partition("|")[0] for row in hostile["boards"][0]["rows"]} == {
        "benchmark:questions.19.hostile"
    }
    (board,) = items["boards"]
    assert board["title"] == "settings unknown"
    rows = {row["model"]: row for row in board["rows"]}
    assert [row["model"] for row in board["rows"]][-1] == "lab/Small-1B"
    assert (rows["lab/Small-1B"]["rank"]["first"], rows["lab/Small-1B"]["rank"]["last"]) == (3, 3)
    big, small = rows["lab/Big-70B-Instruct"]["facts"], rows["lab/Small-1B"]["facts"]
    assert (big["family"], big["total"], big["active"], big["url"]) == ("Titan", 46.7, 12.9, "https://example.org/big")
    assert (small["family"], small["total"], small["type"]) == ("Small", 1.0, "")
    assert [one["label"] for one in board["dimensions"]] == ["TF", "MC"]
    table.write_text("\n".join(line.rpartition(",")[0] for line in SCORES.splitlines()))  # and nothing else
    assert viva("leaderboard", str(table), "--out", str(out), "--no-published") == 0, "a site of ours is replaced"
    (only,) = written(out)["benchmarks"]
    assert len(only["boards"][0]["rows"]) == 3


def test_wrong_use_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = (
        (["--out", "{here}"], "other things than a site"),
        (["--out", "{here}/site", "--no-published"], "leaves nothing to show"),
        (["--out", "{here}/site", "{here}/nothing"], "there is no table"),
        (["--out", "{here}/site", "--models", "{here}/nothing.csv"], "there is no table"),
    )
    (tmp_path / "thesis.tex").write_text("years of work")
    for (arguments, why), row in tabled(*wrong):
        with row:
            assert viva("leaderboard", *(one.format(here=tmp_path) for one in arguments)) == 2
            said = capsys.readouterr().err
            assert why in said
            assert said.count("\n") == 1
            assert {path.name for path in tmp_path.iterdir()} == {"thesis.tex"}


def test_a_file_of_models_says_what_is_wrong_with_it(tmp_path: Path) -> None:
    wrong = (
        ("model,colour\na,red\n", "line 2: column 'colour' is unknown"),
        ("family\nLlama\n", "no column 'model'"),
        ("model,parameters\na,many\n", "parameters 'many' is no number of billions"),
        ("model,parameters\na,-7\n", "no number of billions"),
        ("model,url\na,javascript:alert(1)\n", "does not begin with https://"),
        ("model\na\na\n", "line 3: 'a' is there twice"),
        ("model,family\n,x\n", "model '' is no name"),
    )
    for (content, why), row in tabled(*wrong):
        (tmp_path / "models.csv").write_text(content)
        with row, pytest.raises(DataError, match=why.replace("(", r"\(")):
            ModelFacts(tmp_path / "models.csv")
    (tmp_path / "models.csv").write_text("name,family,parameters\nopenai/gpt-4o,A,7B\nllama 3,B,\n")
    known = ModelFacts(tmp_path / "models.csv")
    families = [known.of(name).family for name in ("gpt-4o", "meta/Llama-3", "baseline/random")]
    assert (families, known.unused) == (["A", "B", ""], []), "found with or without their provider"
    assert (known.of("gpt-4o").active, known.of("Mixtral-8x7B").active) == (7.0, 12.9)


@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_site_that_was_interrupted_is_made_again_at_its_place(
    tmp_path: Path, warm: Warm, how: signal.Signals
) -> None:
    scores = tmp_path / "scores.csv"
    scores.write_text(SCORES)
    for attempt in range(200):  # on a busy machine a site may be done before the signal comes
        out = tmp_path / f"site-{attempt}"
        command = ["leaderboard", str(scores), "--out", str(out)]
        going = Viva(tmp_path, warm).start(*command)
        while not (out / "index.html").exists() and going.process.poll() is None:
            time.sleep(0.002)
        going.signal(how)
        code = going.process.wait()
        if code != 0:
            break
    assert code == (130 if how == signal.SIGINT else -how)
    assert not (out / "leaderboard.json").exists(), "it was not done"
    assert viva(*command) == 0
    assert written(out)["benchmarks"]


def test_runs_without_a_result_are_left_out_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def graded(name: str, reply: str, *more: str) -> str:
        rows = answers("csbench", "en", lambda question: reply or gold(question))
        file = write_jsonl(tmp_path / f"{name}.jsonl", rows)
        viva("grade", "csbench", str(file), "--run", str(tmp_path / name), "--progress", "quiet", *more)
        return str(tmp_path / name)

    good, mute = graded("good", ""), graded("mute", " ")
    never = tmp_path / "never"
    never.mkdir()
    (never / "run.json").write_bytes((tmp_path / "good" / "run.json").read_bytes())
    capsys.readouterr()
    out = tmp_path / "site"
    assert viva("leaderboard", good, mute, str(never), "--out", str(out)) == 0
    said = capsys.readouterr().err
    assert "left out: mute: replay/mute.jsonl on csbench-en: no reply could be read (empty 76)" in said
    assert "left out: never: not graded yet (viva resume" in said
    board = next(board for board in written(out)["benchmarks"][0]["boards"] if board["own"])
    assert [row["model"] for row in board["rows"]] == ["replay/good.jsonl"]
    assert "no reply could be read" in (out / "index.html").read_text(encoding="utf-8")
    page = (out / "csbench.html").read_text(encoding="utf-8")
    assert re.search(r">[\d.]+†", page), "nobody judged its blanks and essays"
    assert "† leaves out what was not scored" in page
    assert viva("leaderboard", mute, "--out", str(out)) == 2
    assert "nothing to rank: mute" in capsys.readouterr().err
