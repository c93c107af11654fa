"""Limits and endings of runs, which leave nothing behind."""

from pathlib import Path

import pytest

from rows import tabled, tables_beside
from sandbox.conftest import request, run_all
from viva.errors import DataError
from viva.sandbox import NoIsolationError, Sandbox
from viva.sandbox.launch import wall_seconds

TABLES = tables_beside(__file__)


LIMITS = TABLES["limits"]


@pytest.mark.sandbox
def test_a_program_ends_at_its_limits() -> None:
    found = run_all(*(request("python", program, seconds=seconds) for program, seconds, _, _ in LIMITS))
    for ((_program, seconds, verdict, says), execution), row in tabled(*zip(LIMITS, found, strict=True)):
        with row:
            assert execution.verdict == verdict, execution.detail
            assert says in execution.detail
            assert execution.seconds < wall_seconds(seconds) + 200, "starting and stopping on a busy machine included"


@pytest.mark.sandbox
def test_a_program_sees_neither_the_environment_nor_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIVA_TEST_SECRET", "secret")
    program = "import os\nprint(dict(os.environ))\nprint([n for n in os.listdir('/proc') if n.isdigit()], os.getuid())"
    (found,) = run_all(request("python", program))
    assert found.verdict == "passed"
    assert "VIVA_TEST_SECRET" not in found.detail
    assert "65534" in found.detail
    assert len(found.detail.split("[")[1].split(",")) < 6


@pytest.mark.sandbox
def test_a_file_name_that_leaves_the_folder_is_refused() -> None:
    for name in ("../a", "/etc/a", "", ".", "a/b"):
        with pytest.raises(DataError, match="plain file name"):
            run_all(request("python", "", files=((name, ""),)))


@pytest.mark.sandbox
def test_an_unknown_language_is_no_toolchain() -> None:
    (found,) = run_all(request("cobol", ""))
    assert found.verdict == "toolchain"
    assert "cobol" in found.detail


@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="programs in Python run with /usr/bin/python3")
def test_without_isolation_nothing_runs_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viva.sandbox.isolation.isolation_problem", lambda: "bubblewrap is missing")
    with pytest.raises(NoIsolationError, match="--unsafe-host-execution"):
        Sandbox()
    program = "import os\nopen('here', 'w')\nassert os.path.exists('here')"
    found = run_all(request("python", program), request("python", "x = 1", "assert x == 2"), unsafe_host_execution=True)
    assert [each.verdict for each in found] == ["passed", "failed"]
    assert not list(Path("/tmp").glob("viva-unsafe-*"))
