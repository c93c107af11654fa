"""`viva export`: what it may not write over."""

import shutil
from pathlib import Path

import pytest

from cli.told import told
from interop.exported import export_command, exported
from viva.cli.ask.run import run_command
from viva.errors import VivaError


def asked(folder: Path) -> Path:
    command = [
        "cmmlu",
        *("--model", "baseline/first"),
        *("--limit", "2"),
        *("--run", str(folder / "run")),
        *("--progress", "quiet"),
    ]
    run_command.main(command, standalone_mode=False)
    return folder / "run"


@pytest.mark.parametrize("form", ["inspect", "every-eval-ever", "parquet"])
def test_two_runs_of_one_name_are_not_written_over_one_another(tmp_path: Path, form: str) -> None:
    run, other = asked(tmp_path), tmp_path / "elsewhere" / "run"
    shutil.copytree(run, other)
    with pytest.raises(VivaError, match="are two runs of one name"):
        told(export_command, run, other, "--to", form, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["log.json", "log.eval"])
def test_a_file_is_replaced_only_if_it_is_a_log_of_ours(tmp_path: Path, name: str) -> None:
    run = asked(tmp_path)
    out = tmp_path / name
    out.write_text('{"version": 2, "thesis": "mine"}')
    with pytest.raises(VivaError, match="replaces nothing else"):
        told(export_command, run, "--to", "inspect", "--out", out, "--force")
    assert "thesis" in out.read_text()
    out.unlink()
    first = exported(run, "inspect", out).read_bytes()
    assert exported(run, "inspect", out, "--force").read_bytes() == first
