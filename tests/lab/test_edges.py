"""Edge cases of all lab commands: missing extras, unreachable servers, damaged runs."""

import json
from pathlib import Path

import pytest

from cli.test_extras import bare
from cli.test_ranges import folder as ranges
from cli.test_ranges import viva as here
from cli.told import rows_of
from rows import tabled
from servers.fixtures import Viva
from servers.ports import closed_port

__all__ = ["ranges"]


def test_a_command_that_needs_an_extra_names_it(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("model,question,sample,score\na,q,0,1\nb,q,0,0\n", encoding="utf-8")
    commands = {("item-analysis", "scores.csv"): "scipy", ("plan", "--score", "80", "--difference", "2"): "scipy"}
    for ((_command, package), done), row in tabled(*zip(commands.items(), bare(tmp_path, list(commands)), strict=True)):
        with row:
            assert done.code == 2, done.err
            said = f"viva: this needs {package}, which is not installed: pip install 'viva[analysis]'"
            assert done.err.splitlines()[-1].startswith(said)


@pytest.mark.usefixtures("impatient")
def test_a_server_that_is_not_there_is_named(viva: Viva) -> None:
    url = f"http://127.0.0.1:{closed_port()}/v1"
    (viva.folder / "texts.jsonl").write_text(json.dumps({"text": "some words"}))
    ended = viva("perplexity", "texts.jsonl", "--field", "text", "--model", "openai/m", "--base-url", url)
    assert ended.code == 3, ended.err
    assert "nothing listens at 127.0.0.1:" in ended.err
    assert "Error" not in ended.err


@pytest.mark.usefixtures("ranges")
def test_questions_are_not_judged_by_answers_of_which_one_thing_could_be_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    capsys.readouterr()
    here("item-analysis", "a", "b", "--items", "0")
    said = capsys.readouterr().out
    assert "0.00†" not in said, "a mean of the empty replies alone"
    assert "0.00–" in said
    assert "their score is a range" in " ".join(said.split())
    here("item-analysis", "a", "b", "--format", "json")
    models = rows_of(json.loads(capsys.readouterr().out), "Models")
    assert [one["score"] for one in models] == [None, None]
    assert all(low == 0.0 and high > 0.5 for low, high in (one["range"] for one in models))
