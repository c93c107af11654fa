"""`viva doctor`: installed toolchains, and the command that installs others."""

import functools
import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from viva.cli.ask.doctor import doctor_command
from viva.sandbox import languagetables
from viva.sandbox.languagetables import languages, toolchains


@pytest.fixture(autouse=True, scope="module")
def versions() -> Iterator[None]:
    """Compilers say once which they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(languagetables, "_version", functools.cache(languagetables._version))
        yield


def called(*words: str) -> tuple[int, str]:
    found = CliRunner().invoke(doctor_command, list(words), standalone_mode=False)
    assert found.exception is None, found.exception
    return found.return_value, found.output


def test_every_language_has_a_row_and_an_installed_one_its_version() -> None:
    rows = {row.name: row for row in toolchains()}
    assert list(rows) == list(languages())
    for row in rows.values():
        assert row.ready == (not row.missing)
        assert bool(row.version) == row.ready
        assert row.ready or "install" in row.install


def test_the_report_is_a_table_or_json() -> None:
    _, text = called()
    assert all(row.title in text for row in languages().values())
    (line,) = [line for line in text.splitlines() if line.startswith("limits")]
    assert "control groups" in line
    _, text = called("--format", "json")
    report = json.loads(text)
    assert {row["name"] for row in report["languages"]} == set(languages())
    assert report["limits"]["control groups"] in (0, 1, 2)


def test_apt_prints_one_command_for_a_script_to_run() -> None:
    code, text = called("--apt")
    assert code == 0
    assert len(text.splitlines()) == 1
    assert "apt-get install -y" in text


def test_a_missing_toolchain_is_said_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    row = msgspec.structs.replace(languages()["go"], needs=("/usr/bin/no-such-compiler",))
    table = {**languages(), "go": row}
    monkeypatch.setattr("viva.sandbox.languagetables.languages", lambda: table)
    _, text = called()
    assert "MISSING  missing: /usr/bin/no-such-compiler" in text
    assert "All at once: " in text


def test_missing_isolation_is_said_and_is_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viva.sandbox.isolation.isolation_problem", lambda: "bubblewrap is \x1b[31mmissing")
    code, text = called()
    assert code == 3
    assert "bubblewrap is" in text
    assert "\x1b" not in text


def test_the_harness_has_a_file_for_every_name_in_the_table() -> None:
    folder = Path(__file__).parents[2] / "src/viva/sandbox/harness"
    for row in languages().values():
        for way in (way for way in (row.published, row.shared, row.answering) if way):
            for name in (*way.harness, *(source for source in way.sources.values() if source)):
                assert (folder / name).is_file(), name
