"""Checkpoints on disk in one run: training tokens, a kill in the middle, moved folders."""

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from cli.collected import read_csv
from cli.told import command_of, told
from models.local.tiny import make_model
from servers.fixtures import QUIET, Viva, wait_until

pytestmark = pytest.mark.torch("transformers")

STEPS = (2, 10, 1000)
TOKENS = {step: step * 1_000_000.0 for step in STEPS}
CHOOSING = ("--answer-by", "next-token", "--form", "base", "--batch-size", 4, "--format", "json", *QUIET)
ASKED = 32
"""Questions that each of them is asked."""
SWEEP = ("cmmlu", "--limit", ASKED, "--model", "hf/ckpts/step*", *CHOOSING)


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ckpts/step2, step10 and step1000; a Trainer counted their tokens, but for the last."""
    folder = tmp_path_factory.mktemp("sweep")
    for seed, step in enumerate(STEPS):
        made = make_model(folder / "ckpts" / f"step{step}", seed=seed, width=32)
        seen = {"num_input_tokens_seen": int(TOKENS[step]) if step != 1000 else 0}
        (made / "trainer_state.json").write_text(json.dumps(seen), encoding="utf-8")
    (folder / "tokens.csv").write_text("model,revision,tokens\nckpts/step1000,last,1B\n", encoding="utf-8")
    return folder


@pytest.fixture
def here(checkpoints: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(checkpoints)
    return checkpoints


@pytest.fixture(scope="module")
def swept(checkpoints: Path) -> dict[str, Any]:
    """The report of one run that nobody disturbed."""
    patch = pytest.MonkeyPatch()
    patch.chdir(checkpoints)
    report = json.loads(told(command_of("run"), *SWEEP, "--checkpoints", "tokens.csv", "--run", "swept"))
    patch.undo()
    return report


def table(report: dict[str, Any]) -> list[Any]:
    """The results, with numbers as far as batches of other sizes have them in common."""
    results: list[Any] = json.loads(json.dumps(report["results"]), parse_float=lambda text: round(float(text), 5))
    return [{name: value for name, value in result.items() if name != "consumed"} for result in results]


def test_each_checkpoint_is_a_model_with_its_tokens_and_its_weights(here: Path, swept: dict[str, Any]) -> None:
    assert [(result["model"], result["trained"]) for result in swept["results"]] == [
        ("hf/step2", 2e6),
        ("hf/step10", 1e7),
        ("hf/step1000", 1e9),
    ]
    assert {result["overall"]["n"] for result in swept["results"]} == {ASKED}
    assert len({result["overall"]["mean"] for result in swept["results"]}) > 1, "they differ, or nothing is told apart"
    models = json.loads((here / "swept" / "run.json").read_text("utf-8"))["models"]
    assert [model["name"] for model in models] == [f"hf/{here.resolve()}/ckpts/step{step}" for step in STEPS]
    assert len({model["weights"]["fingerprint"] for model in models}) == 3
    told(command_of("score"), "swept", "--format", "csv", "--out", "scores.csv")
    rows = [row for row in read_csv(Path("scores.csv")) if not row["published"]]
    assert {(row["model"], float(row["trained"])) for row in rows} == {
        (result["model"], result["trained"]) for result in swept["results"]
    }


@pytest.mark.slow
def test_killed_in_the_middle_and_resumed_the_table_is_the_same(here: Path, swept: dict[str, Any], viva: Viva) -> None:
    shutil.copytree(here / "ckpts", viva.folder / "ckpts")
    shutil.copy(here / "tokens.csv", viva.folder)
    journal = viva.folder / "run" / "responses.jsonl"
    going = viva.start("run", *SWEEP, "--checkpoints", "tokens.csv", "--run", "run")
    wait_until(lambda: journal.exists() and journal.read_bytes().count(b"\n") > ASKED, "the second model")
    going.kill()
    assert going.process.returncode == -signal.SIGKILL
    before = {(entry["key"], entry["seconds"]) for entry in viva.entries()}
    assert ASKED <= len(before) < 3 * ASKED, "in the middle"
    run = viva.folder / "run"  # gone on with in this process, which has torch at hand
    resumed = json.loads(told(command_of("resume"), run, "--format", "json", *QUIET))
    assert before <= {(entry["key"], entry["seconds"]) for entry in viva.entries()}, "none was asked again"
    assert len(viva.entries()) == 3 * ASKED
    assert table(resumed) == table(swept)

    # The weights are gone: what is graded needs none, what is to be asked does.
    (viva.folder / "ckpts").rename(viva.folder / "elsewhere")
    again = json.loads(told(command_of("score"), run, "--format", "json"))
    assert again["results"] == resumed["results"]
    assert "hf/step2" in told(command_of("show"), run, "--limit", 1)
    assert "hf/step1000" in told(command_of("training"), run, "--by", "exam", "--format", "csv")
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-3]))
    gone = viva.resume()
    assert gone.code != 0
    assert f"{viva.folder.resolve()}/ckpts/step1000" in gone.err
    assert "Traceback" not in gone.err
    assert sum("error" not in entry for entry in viva.entries()) == 3 * ASKED - 3, "a failure is no answer"
