"""The hostile suite's own checks detect violations: a suite that cannot fail proves nothing."""

import os
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rows import each_row
from sandbox.hostile.arena import _complaints
from sandbox.hostile.programs import named
from sandbox.hostile.world import LOOPBACK, REPOSITORY_SECRET, Marks, World, alive, descendants, exported, furnished
from servers.fixtures import wait_until
from viva.types import Execution


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """A world of its own: the sandbox's must not hear calls that no program made."""
    with furnished() as each:
        yield each


@each_row(*LOOPBACK)
def test_servers_tell_their_secret_and_remember_who_called(host: str, *, world: World) -> None:
    before = len(world.knocks)
    with socket.create_connection((host, world.port), timeout=240) as line:
        assert world.leaked(line.recv(100).decode())
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.settimeout(240)
        line.sendto(b"hello", (host, world.udp))
        assert world.leaked(line.recv(100).decode())
    for address in ("\0" + world.abstract, str(world.socket)):
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(address)
            assert world.leaked(line.recv(100).decode())
    assert len(world.knocks) == before + 4
    del world.knocks[before:]


def test_secrets_lie_where_everybody_may_read_them(world: World) -> None:
    for place in (world.temporary, world.run, REPOSITORY_SECRET):
        assert place.stat().st_mode & 0o004
        assert world.leaked(place.read_text())
    assert world.leaked(world.home.read_text())
    with exported(world):
        assert world.leaked(os.environ[world.variable])
        assert Path(tempfile.gettempdir()) == world.work
    assert world.leaked(world.token.encode().hex())
    assert not world.leaked("nothing")


def test_marked_processes_are_seen_and_counted_as_descendants(world: World) -> None:
    marks = Marks()
    assert marks.processes() == []
    with subprocess.Popen(["/bin/sleep", f"50.{marks.number}"], start_new_session=True) as child:
        # A process has no command line for a moment after its program has been loaded.
        wait_until(lambda: len(marks.processes()) == 1, "the marked process")
        family = descendants(os.getpid())
        assert child.pid in family
        assert alive({child.pid: family[child.pid]}) == [child.pid]
        child.kill()
    assert marks.processes() == []
    assert alive({child.pid: family[child.pid]}) == []


def test_files_left_outside_and_changed_secrets_are_seen(world: World) -> None:
    marks = Marks()
    assert world.traces(marks) == []
    (world.drop / "anything").write_text("")
    Path(f"/var/tmp/left-{marks.word}").write_text("")
    text = world.run.read_text()
    world.run.write_text("other")
    try:
        assert len(world.traces(marks)) == 3
    finally:
        (world.drop / "anything").unlink()
        Path(f"/var/tmp/left-{marks.word}").unlink()
        world.run.write_text(text)
    assert world.traces(marks) == []


COMPLAINTS = [
    (Execution("failed", "attempted"), 0.1, ""),  # costs little and says nothing
    (Execution("passed"), 0.1, "should be failed"),
    (Execution("toolchain"), 0.1, "should be failed"),
    (Execution("failed", "SyntaxError"), 0.1, "reason of its own"),
    (Execution("failed", "attempted"), 600.0, "took 600.0 s"),
    (Execution("failed", "attempted", cpu=600.0), 1.0, "CPU seconds"),
    (Execution("failed", "attempted" * 20_000), 1.0, "characters"),
    (Execution("failed", "attempted canary-in-the-repository"), 1.0, "secret"),
]


@each_row(*COMPLAINTS)
def test_a_wrong_verdict_a_secret_and_a_high_price_are_complaints(
    execution: Execution, wall: float, word: str, *, world: World
) -> None:
    found = _complaints(named("python", "prints that it passed: passed on its output"), execution, wall, world)
    assert len(found) == bool(word)
    assert word in "".join(found)
