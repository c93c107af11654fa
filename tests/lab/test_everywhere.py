"""Runs in which every text is an attack, in the output of the lab's commands."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from rows import tabled
from viva.cli.main import cli, main
from web.hostile import TEXTS, assert_harmless
from web.test_everywhere import assert_printed_as_text, runs

__all__ = ["runs"]
COMMANDS = (
    ("item-analysis", "A", "B", "--irt", "1pl"),
    ("plan", "A", "B"),
    ("judge-bias", "A", "--estimate", "--trust-endpoints"),
    ("variance", "V"),
)


@pytest.mark.slow
def test_what_is_printed_of_hostile_runs_is_text(runs: dict[str, str], tmp_path: Path) -> None:
    levels = tmp_path / "levels.toml"
    levels.write_text("".join(f"{json.dumps(text)} = {json.dumps(text)}\n" for text in list(TEXTS.values())[:3]))
    varied = ["--model", "baseline/random", "--model", "baseline/first", "--limit", "16", "--vary", f"system={levels}"]
    made = ["variance", "run", "cmmlu", *varied, "--run", str(tmp_path / "varied")]
    CliRunner().invoke(cli, made, catch_exceptions=False)
    for command, row in tabled(*COMMANDS):
        with row:
            assert_printed_as_text({**runs, "V": str(tmp_path / "varied")}, command)


def test_what_is_said_of_anchors_steers_no_terminal(runs: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([runs.get(one, one) for one in ("item-analysis", "A", "B", "--anchors", "5")])
    said = capsys.readouterr()
    assert said.out or said.err
    assert_harmless(said.out)
    assert_harmless(said.err)
