"""`viva view`: messages before the page is served, end by Ctrl-C, and a running run continues."""

import signal
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from pages.runs.conftest import Serving
from pages.runs.growing import Growing
from rows import tabled
from viva.cli.look.view import view_command
from viva.errors import VivaError


def test_what_cannot_be_served_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong: tuple[tuple[tuple[str, ...], str], ...] = (
        (("nowhere",), "nowhere: there is no such folder; name a run folder or a folder of runs"),
        (("file",), "file: it is a file"),
        ((), "runs: there is no such folder"),
        ((".", "--host", "0.0.0.0", "--token", "short"), "the token is too short"),
        ((".", "--host", "no.such.host.invalid", "--token", "x" * 16), "there is no host 'no.such.host.invalid'"),
    )
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    for (arguments, sentence), row in tabled(*wrong):
        with row:
            with pytest.raises(VivaError, match=sentence.replace(".", r"\.")) as raised:
                view_command.main([*arguments], standalone_mode=False)
            assert "\n" not in str(raised.value)
            assert raised.value.exit_code == 2


def test_the_page_is_there_while_the_run_is_written_and_ends_with_ctrl_c(
    serving: Callable[..., Serving], growing: Growing
) -> None:
    growing.answer(2)
    one = serving(str(growing.root))
    assert one.said.startswith(f"{growing.root} at http://127.0.0.1:")
    assert 'data-field="answered">2<' in httpx.get(f"{one.address}/run/growing/live").text
    growing.answer(3)
    assert 'data-field="answered">5<' in httpx.get(f"{one.address}/run/growing/live").text
    one.process.send_signal(signal.SIGINT)
    assert one.process.wait(240) == 0
