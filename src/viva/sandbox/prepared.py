"""Parts of the harness compiled once and not with every program: classes, objects, a compiler's archive.

They are Viva's own text, hence compiled outside of any sandbox, under a name that is as long as the one-time name of a
run: that then takes its place in the bytes. Class files and object files keep their lengths by that, and all else. An
archive (of the classes of Java's compiler, of what V8 makes of TypeScript's) has no such name and is the same for all.

The results are kept in the user's cache with a hash: a Java machine crashes on a truncated archive.
"""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

import msgspec

from viva.errors import VivaError
from viva.files import UNREADABLE, cache_folder, read_regular, write_whole
from viva.sandbox.languagetables import Preparation, harness_file, package_folder
from viva.sandbox.launch import in_memory

_PLACEHOLDER = "v" + 24 * "0"
_DIGEST = 64
_MOST = 256 << 20
_COMPILING = threading.Lock()


class Prepared(msgspec.Struct, frozen=True):
    """Results of a preparation: files whose names contain the run's name, and other ones (archives) as descriptors."""

    named: Mapping[str, bytes]
    archives: Mapping[str, int]

    def files(self, entry: str) -> dict[str, bytes]:
        """Return the files for a run whose one-time name is `entry`, of as many characters as the placeholder."""
        old, new = _PLACEHOLDER.encode(), entry.encode()
        return {name.replace(_PLACEHOLDER, entry): text.replace(old, new) for name, text in self.named.items()}


def prepared(preparation: Preparation) -> Prepared:
    """Return the results of a preparation, compiled unless cached. Raises VivaError with the compiler's message."""
    with _COMPILING:
        return _prepared(msgspec.json.encode(preparation, order="sorted"))


@cache
def _prepared(encoded: bytes) -> Prepared:
    preparation = msgspec.json.decode(encoded, type=Preparation)
    sources = {
        name.replace("{entry}", _PLACEHOLDER): harness_file(source).replace("{entry}", _PLACEHOLDER)
        for name, source in preparation.sources.items()
    }
    folder = str(package_folder())
    command = [word.replace("{entry}", _PLACEHOLDER).replace("{packages}", folder) for word in preparation.compile]
    compiler = Path(command[0]).resolve()  # a link may name another version
    read = [_digest(word.read_bytes()) for word in map(Path, command[1:]) if word.is_absolute() and word.is_file()]
    identity = (str(compiler), compiler.stat().st_mtime_ns, command, read, sorted(sources.items()))
    path = cache_folder() / f"harness-{_digest(repr(identity).encode())[:32].decode()}"
    made = _kept(path)
    if made is None:
        made = _compiled(command, sources)
        content = msgspec.msgpack.encode(made)
        with suppress(OSError):  # where nothing can be kept, every process compiles for itself
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, _digest(content) + content)
    named = {name: text for name, text in made.items() if _PLACEHOLDER in name}
    return Prepared(named, {name: in_memory(text) for name, text in made.items() if name not in named})


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def _kept(path: Path) -> dict[str, bytes] | None:
    """Return the cached results; None where they are missing or damaged."""
    with suppress(OSError, *UNREADABLE):
        content = read_regular(path, _MOST)
        if _digest(content[_DIGEST:]) == content[:_DIGEST]:
            return msgspec.msgpack.decode(content[_DIGEST:], type=dict[str, bytes])
    return None


def _compiled(command: list[str], sources: Mapping[str, str]) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory(prefix="viva-harness-") as name:
        folder = Path(name)
        for source, text in sources.items():
            (folder / source).write_text(text, encoding="utf-8")
        environment = {"PATH": "/usr/bin:/bin", "HOME": name, "TMPDIR": name, "LANG": "C.UTF-8"}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)  # noqa: S603
        if done.returncode != 0:
            output = (done.stderr or done.stdout).decode(errors="replace").strip()
            raise VivaError(f"{command[0]} does not compile Viva's own harness (is it broken?): {output[-1000:]}")
        return {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in sources}
