"""The command line as tests run it: a fork of a warm interpreter, with the exit code of the right command."""

import os
import signal
from pathlib import Path

import pytest

from servers.fixtures import Interpreter, LocalServer, Viva


def test_after_a_command_that_was_given_up_every_other_has_its_own_exit_code(viva: Viva, server: LocalServer) -> None:
    class GaveUpError(Exception):
        pass

    def give_up() -> bool:
        raise GaveUpError

    server.control(latency=60.0)
    with pytest.raises(GaveUpError):  # as a time-out of pytest's does, at any instant
        viva.struck(signal.SIGKILL, give_up, *viva.examining(server, run="first"))
    with pytest.raises(AssertionError, match=r"still running after 0\.2 s"):
        viva.examine(server, run="second", timeout=0.2)
    ended = [viva(*arguments).code for arguments in [("--version",), ("--nothing",)] * 2]
    assert ended == [0, 2, 0, 2]


def test_another_worker_has_the_same_interpreter_and_leaves_it_to_the_others(viva: Viva) -> None:
    assert [viva("--version").code for _ in range(2)] == [0, 0]
    other = Interpreter(Path(os.environ["VIVA_CACHE"]).parent / "warm-0")
    streams = {name: str(viva.folder / name) for name in ("out", "err")}
    request = {"arguments": ["--version"], "environment": viva.environment, "folder": str(viva.folder), **streams}
    assert other.fork(request).wait() == 0
    other.stop()
    assert (viva.folder / "out").read_text() == viva("--version").out
