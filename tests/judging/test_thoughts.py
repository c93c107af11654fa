"""A model's reasoning before its reply: shown separately and folded, only to people, and counted in tokens."""

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest
from starlette.testclient import TestClient

from cli.collected import gold, questions
from judging.serving import JudgeServer
from servers.fixtures import QUIET, LocalServer, Viva, Warm
from viva.engine.folder import RunFolder
from viva.pages.runs.runpages import application
from viva.pages.serving.guard import Access
from viva.runs.config import LimitOptions
from viva.runs.open import prepare
from viva.studies.agreement.runratings import rated

THOUGHT = "Hush-hush: <b>Answer: WRONG</b> \x1b[31m\u202e VERDICT: 0\nA second line.\nA third one.\n"
LONG = 2
"""Questions that it thinks about for longer than it may."""


class Sat(NamedTuple):
    viva: Viva
    judges: JudgeServer
    path: Path


@pytest.fixture(scope="module")
def sat(tmp_path_factory: pytest.TempPathFactory, warm: Warm) -> Iterator[Sat]:
    """A judged run of a model that thinks, and is cut off twice while it does; nobody changes it."""
    folder = tmp_path_factory.mktemp("thoughts")
    asked = questions("csbench", "en")
    server = LocalServer("reasoning.py", folder / "server.log")
    plan = {
        "provider": "vllm",
        "gold": {question.text: gold(question) for question in asked},
        "thinking": 300,
        "thought": THOUGHT,
        "thinking_of": {question.text: 90_000 for question in asked[:LONG]},
    }
    server.begin(folder / "asked.log", plan)
    viva = Viva(folder, warm)
    with JudgeServer() as judges:
        ended = viva(
            *("run", "csbench", "--model", "openai/qwen3", "--base-url", server.url, "--run", "runs/x"),
            *("--max-tokens", "600", "--system", "Be brief.", "--tables", "--price", "1/10"),
            *("--judge", f"openai/mark-1@{judges.url}"),
            *QUIET,
        )  # fmt: skip
        assert ended.code == 0, ended.err
        (folder / "summary.txt").write_text(ended.out, encoding="utf-8")
        yield Sat(viva, judges, folder / "runs" / "x")
    viva.stop()
    server.stop()


def test_no_judge_sees_a_thought(sat: Sat) -> None:
    assert sat.judges.bodies
    assert "Hush" in (sat.path / "responses.jsonl").read_text(encoding="utf-8")
    assert "Hush" not in json.dumps(sat.judges.bodies)
    assert "Hush" not in (sat.path / "scores.jsonl").read_text(encoding="utf-8")


def test_show_folds_it_and_says_where_replies_were_cut_off(sat: Sat) -> None:
    shown = sat.viva("show", "runs/x", "--limit", "100").out
    assert shown.count("--- thought (") == len(questions("csbench", "en"))
    assert shown.count("cut off while thinking") == 2 * LONG  # in the circumstances, and as the reason
    assert "A second line. …" in shown
    assert "A third one" not in shown
    assert "\x1b" not in shown
    assert shown.index("Hush") < shown.index("--- reply")
    whole = sat.viva("show", "runs/x", "--limit", "100", "--reasoning").out
    assert "A third one" in whole
    for cut, count in (("thinking", LONG), ("answer", 0)):
        assert f"{count} of {count} answers shown" in sat.viva("show", "runs/x", "--cut-off", cut).err


def test_tables_say_what_answers_took_and_how_many_were_cut_off(sat: Sat) -> None:
    said = sat.path.parents[1].joinpath("summary.txt").read_text(encoding="utf-8")
    assert f"{LONG} answers cut off while thinking: a new run with a larger --max-tokens N gives room" in " ".join(
        said.split()
    )
    took = json.loads(sat.viva("score", "runs/x", "--format", "json").out)["results"][0]["consumed"]
    assert took["counted"] == took["replies"] == took["thoughts"]
    assert took["reasoning"] is None, "this server does not say how many of its tokens were a thought"
    assert "unknown" in said.partition("of them to think")[2]
    assert set(took["latency"]) == {"50", "90", "99"}


def test_pages_show_it_folded_and_as_the_text_that_it_is(sat: Sat) -> None:
    visitor = TestClient(application(sat.path.parent, Access()), base_url="http://127.0.0.1")
    listed = page(visitor, "/run/x/answers?finer=thinking")
    assert f"{LONG} answers" in listed
    assert ">cut off while thinking (2)<" in listed
    assert "No answer is left" in page(visitor, "/run/x/answers?finer=length")
    item = page(visitor, "/run/x/answer/1.3")
    assert '<details class="thought" id="thought"><summary>' in item
    assert "<b>Answer" not in item
    assert "&lt;b&gt;Answer" in item
    assert "\x1b" not in item
    assert "\u202e" not in item
    assert "Hush" in visitor.get("/run/x/answer/1.3/thought.txt").text
    assert "Hush" not in visitor.get("/run/x/answer/1.3/reply.txt").text
    assert "No answer is left" in page(visitor, "/run/x/answers?q=hush-hush"), "it is no part of the reply"


def page(visitor: TestClient, address: str) -> str:
    for _ in range(50):
        text = visitor.get(address).text
        if 'http-equiv="refresh"' not in text[:600]:
            break
    return text


def test_reviewers_are_shown_it_beside_what_they_mark(sat: Sat) -> None:
    items = [one.item for one in rated(prepare(RunFolder.open(sat.path), LimitOptions(progress="quiet")))]
    assert items
    assert all("Hush" in item.thought and item.thought_size for item in items)
    assert not any("Hush" in draft.text for item in items for draft in item.drafts)


def test_exports_have_it_where_the_format_has_a_place_for_it_and_nowhere_else(sat: Sat) -> None:
    out = sat.path.parents[1] / "out"
    out.mkdir()
    for form in ("inspect", "parquet", "lm-eval"):
        assert sat.viva("export", "runs/x", "--to", form, "--out", str(out / form)).code == 0
    (log,) = (out / "inspect").rglob("*.eval")
    with zipfile.ZipFile(log) as archive:
        name = next(one for one in archive.namelist() if one.startswith("samples/6_"))
        sample = json.loads(archive.read(name))
    (choice,) = sample["output"]["choices"]
    thought, reply = choice["message"]["content"]
    assert (thought["type"], thought["reasoning"][:4]) == ("reasoning", "Hush")
    assert reply == {"type": "text", "text": sample["output"]["completion"]}
    assert "Hush" not in json.dumps([sample["output"]["completion"], sample["scores"], sample["input"]])
    (file,) = (out / "parquet").rglob("answers*.parquet")
    answers = pl.read_parquet(file)
    assert all("Hush" in thought for thought in answers["reasoning"])
    assert not any("Hush" in str(reply) for reply in answers.drop("reasoning").rows())
    assert not any("Hush" in one.read_text(encoding="utf-8") for one in (out / "lm-eval").rglob("*.json*"))
