"""Targets that a hostile program must not reach: secrets in the usual places, servers, folders; and checks for that."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import stat
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

REPOSITORY_SECRET = Path(__file__).parent / "secret.txt"
LOOPBACK = ("127.0.0.1", "127.0.0.9")
SYSTEM_FOLDERS = tuple(
    Path(each)
    for each in (
        "/", "/etc", "/usr", "/usr/lib", "/usr/local/lib", "/opt", "/var", "/var/lib", "/home", "/root", "/run", "/tmp",
        "/var/tmp", "/dev/shm",
    )
)  # fmt: skip


class World:
    """One set of secrets and servers. `token` is what no program may ever print."""

    def __init__(self, folder: Path) -> None:
        self.token = "canary-" + secrets.token_hex(16)
        self.variable = "VIVA_CANARY_" + secrets.token_hex(4).upper()
        self.knocks: list[str] = []
        self.home = Path.home() / f".viva-secret-{secrets.token_hex(4)}"
        self.temporary = folder / "secret"
        self.run = folder / "run" / "responses.jsonl"
        self.drop = folder / "drop"
        self.work = folder / "work"
        self.socket = folder / "socket"
        self.abstract = "viva-" + secrets.token_hex(8)
        self.folder = folder
        self._open: list[socket.socket] = []

    def furnish(self) -> None:
        """Hide the secrets, and start the servers. Readable by all: it is the sandbox that must keep them."""
        self.folder.chmod(0o755)
        for place in (self.drop, self.run.parent, self.work):
            place.mkdir()
        self.drop.chmod(0o777)
        self.work.chmod(0o755)
        for place in (self.home, self.temporary, self.run):
            place.write_text(f"{self.token}\n")
            place.chmod(0o644)
        self.port = self._serve(socket.AF_INET, socket.SOCK_STREAM)
        self.udp = self._serve(socket.AF_INET, socket.SOCK_DGRAM)
        for address in ("\0" + self.abstract, str(self.socket)):
            self._listen(socket.socket(socket.AF_UNIX), address)
        self.socket.chmod(0o777)

    def clear(self) -> None:
        for line in self._open:
            line.close()
        self.home.unlink(missing_ok=True)

    def _serve(self, family: int, kind: int) -> int:
        """A server on both addresses of LOOPBACK; returns its port."""
        for _ in range(20):
            first, second = socket.socket(family, kind), socket.socket(family, kind)
            first.bind((LOOPBACK[0], 0))
            port: int = first.getsockname()[1]
            with contextlib.suppress(OSError):
                second.bind((LOOPBACK[1], port))
                for line in (first, second):
                    self._listen(line, None, kind == socket.SOCK_DGRAM)
                return port
        raise OSError("no port is free on both addresses")

    def _listen(self, line: socket.socket, address: str | None, letters: bool = False) -> None:
        if address is not None:
            line.bind(address)
        if not letters:
            line.listen(64)
        self._open.append(line)
        threading.Thread(target=self._reply, args=(line, letters), daemon=True).start()

    def _reply(self, line: socket.socket, letters: bool) -> None:
        """Tell everybody who knocks the secret, and remember that somebody did."""
        with contextlib.suppress(OSError):
            while True:
                if letters:
                    said, caller = line.recvfrom(1000)
                    self.knocks.append(f"letter {said!r}")
                    line.sendto(self.token.encode(), caller)
                else:
                    caller_line, _ = line.accept()
                    self.knocks.append(f"call at {line.getsockname()!r}")
                    with caller_line, contextlib.suppress(OSError):
                        caller_line.sendall(self.token.encode() + b"\n")

    def places(self, marks: Marks) -> dict[str, str]:
        """What programs are told: where everything is. They are not told the secret."""
        paths = {"HOME": self.home, "TEMP": self.temporary, "RUN": self.run, "REPO": REPOSITORY_SECRET}
        return {
            **{name: str(path) for name, path in paths.items()},
            "SECRETS": json.dumps([str(path) for path in paths.values()]),
            "ENV": self.variable,
            "PORT": str(self.port),
            "UDP": str(self.udp),
            "ADDRESS": LOOPBACK[1],
            "ABSTRACT": self.abstract,
            "SOCKET": str(self.socket),
            "DROP": str(self.drop),
            "HOSTPID": str(os.getpid()),
            "MARK": marks.word,
            "NUM": marks.number,
        }

    def leaked(self, text: str) -> bool:
        """Whether a secret is in a text, as it is or in hexadecimal notation."""
        tokens = (self.token, REPOSITORY_SECRET.read_text()[:24], _shadow())
        return any(token and (token in text or token.encode().hex() in text) for token in tokens)

    def traces(self, marks: Marks) -> list[str]:
        """What a program left on disk outside its folder, or changed there."""
        found = [str(path) for path in self.drop.iterdir()]
        for place in (*SYSTEM_FOLDERS, self.home.parent, self.folder, self.run.parent):
            found += [
                str(path) for path in (place / f"{how}-{marks.word}" for how in ("left", "later")) if path.exists()
            ]
        for place in (self.home, self.temporary, self.run):
            if place.read_text() != f"{self.token}\n":
                found.append(f"{place} was changed")
        return found


class Marks:
    """What tells one program's processes and files: a word, and digits for the arguments of `sleep`."""

    def __init__(self) -> None:
        self.word = "vv" + secrets.token_hex(4)
        self.number = str(secrets.randbelow(9 * 10**8) + 10**8)

    def processes(self) -> list[str]:
        """The processes on this machine that carry the mark in their name or arguments."""
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                with contextlib.suppress(OSError):
                    state = (folder / "stat").read_text(errors="replace")
                    said = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    if (self.word in state or self.word in said or f"50.{self.number}" in said) and ") Z " not in state:
                        found.append(f"{folder.name} {said[:80]}")
        return found


def descendants(pid: int) -> dict[int, str]:
    """Every process below `pid`, with when it started (which tells it from a later one of the same number)."""
    parents: dict[int, tuple[int, str]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
                if fields[0] != "Z":
                    parents[int(folder.name)] = (int(fields[1]), fields[19])
    found: dict[int, str] = {}
    level = {pid}
    while level:
        level = {child for child, (parent, _) in parents.items() if parent in level and child not in found}
        found.update({child: parents[child][1] for child in level})
    return found


def alive(processes: dict[int, str]) -> list[int]:
    """Which of them (as `descendants` gives them) still run."""
    left = []
    for pid, started in processes.items():
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
            if fields[19] == started and fields[0] != "Z":
                left.append(pid)
    return left


@contextlib.contextmanager
def furnished() -> Iterator[World]:
    """A world that lasts until the block ends."""
    folder = Path(tempfile.mkdtemp(prefix="viva-hostile-", dir="/tmp"))
    world = World(folder)
    try:
        world.furnish()
        yield world
    finally:
        world.clear()
        shutil.rmtree(folder, onerror=_force)


@contextlib.contextmanager
def exported(world: World) -> Iterator[None]:
    """Have the secret in this process's environment, and TMPDIR in the world's folder, until the block ends."""
    settings = {world.variable: world.token, "TMPDIR": str(world.work)}
    before = {name: os.environ.get(name) for name in settings}
    directory = tempfile.tempdir
    os.environ.update(settings)
    tempfile.tempdir = settings["TMPDIR"]
    try:
        yield
    finally:
        tempfile.tempdir = directory
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def _force(remove: object, path: str, _: object) -> None:
    """A hostile program may have taken its rights to a folder away."""
    Path(path).parent.chmod(stat.S_IRWXU)
    with contextlib.suppress(OSError):
        Path(path).unlink() if not Path(path).is_dir() else shutil.rmtree(path, ignore_errors=True)


def _shadow() -> str:
    """The first line of /etc/shadow where we may read it: what must not turn up in an output."""
    try:
        return Path("/etc/shadow").read_text().partition("\n")[0]
    except OSError:
        return ""
