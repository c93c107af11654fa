"""Files, folders, archives and compressed files as streams of bytes. Nothing is ever unpacked to disk.

Archives are hostile: a member's name is only shown, never used as a path; what expands without end (a zip bomb) is cut
off; archives inside archives are left alone.
"""

from __future__ import annotations

import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, TypeAlias, cast

from viva.io.tables import BROKEN, opener

Kind = Literal["file", "zip", "tar"]
Stream: TypeAlias = "io.BufferedReader[Any]"
EXPANSION = 200
"""Treebanks shrink to a fifth or a tenth; what grows by more than this..."""
EXPANSION_FROM = 1 << 30
"""... and to more than this many bytes is no treebank."""
UNREADABLE = (*BROKEN, zipfile.BadZipFile, tarfile.TarError, RuntimeError, NotImplementedError, ValueError, KeyError,
              IndexError, MemoryError)  # fmt: skip
"""What the standard library raises over damaged, encrypted or unknown archives."""


class ExpansionError(OSError):
    """A zip bomb, or what looks like one."""


class Member(NamedTuple):
    """One file that may be read: on disk, or in an archive. `place` is where in the archive; -1 is the file itself."""

    path: Path
    kind: Kind
    place: int
    name: str
    """Below what the user named, with forward slashes: "combined/wsj_0001.mrg". For showing and matching only."""
    size: int
    """In bytes, as far as it is known beforehand."""


class _Limited(io.RawIOBase):
    """A stream that ends in an error once it gave more than `budget` bytes."""

    def __init__(self, source: IO[bytes], budget: list[int]) -> None:
        self._source = source
        self._budget = budget

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        content = self._source.read(len(view))
        view[: len(content)] = content
        self._budget[0] -= len(content)
        if self._budget[0] < 0:
            raise ExpansionError(
                f"it expands to more than {EXPANSION} times its size (a zip bomb?); unpack it first if that is meant"
            )
        return len(content)


def allowance(path: Path) -> list[int]:
    """Return how many bytes a file on disk may expand to, all its members together; counted down by those who read."""
    return [max(EXPANSION_FROM, EXPANSION * path.stat().st_size)]


def expand(stream: Stream, budget: list[int]) -> Stream:
    """Return the stream itself, or what it holds compressed."""
    packed = opener(stream.peek(8))
    return io.BufferedReader(_Limited(packed(stream), budget), 1 << 16) if packed else stream


def kind_of(path: Path) -> Kind:
    """Return what a file on disk is, by its first bytes. Raises what UNREADABLE lists."""
    if not stat.S_ISREG(path.stat().st_mode):
        return "file"  # a pipe can be read once only, so nothing is tried out on it
    with path.open("rb") as stream:
        if stream.peek(8).startswith((b"PK\x03\x04", b"PK\x05\x06")):
            return "zip"
        head = expand(stream, allowance(path)).peek(512)
        named = path.name.lower().endswith((".tar", ".tgz", ".tbz2", ".txz"))
        return "tar" if head[257:262] == b"ustar" or named else "file"


def entries(path: Path, prefix: str) -> tuple[Kind, list[Member]]:
    """Return what a file on disk holds, in reading order: itself; a zip's files sorted; a tar's files in their order
    there.

    A tar may be compressed as a whole, so its files can only be read in their order.
    """
    kind = kind_of(path)
    if kind == "file":
        return kind, [Member(path, kind, -1, prefix or path.name, path.stat().st_size)]
    below = f"{prefix}/" if prefix else ""
    return kind, [member._replace(name=below + member.name) for member, _ in _files(path, kind)]


def _files(path: Path, kind: Kind) -> Iterator[tuple[Member, Callable[[], IO[bytes] | None]]]:
    """Yield the files of a file on disk in reading order, each with what opens it."""
    if kind == "file":
        yield Member(path, kind, -1, path.name, 0), lambda: path.open("rb")
    elif kind == "zip":
        with zipfile.ZipFile(path) as archive:
            files = [
                (info.filename.split("/"), at, info) for at, info in enumerate(archive.infolist()) if not info.is_dir()
            ]
            for _, at, info in sorted(files, key=lambda file: file[:2]):
                yield Member(path, kind, at, info.filename, info.file_size), partial(archive.open, info)
    else:
        with (
            path.open("rb") as raw,
            expand(raw, allowance(path)) as stream,
            tarfile.open(fileobj=stream, mode="r|") as tape,
        ):
            for at, header in enumerate(iter(tape.next, None)):
                tape.members = []  # type: ignore[attr-defined]  # the archive's own list would grow with it
                if header.isfile():
                    yield Member(path, kind, at, header.name, header.size), partial(tape.extractfile, header)


def streams(members: list[Member]) -> Iterator[tuple[Member, Stream | None, str]]:
    """Yield the content of members of one file on disk, in their order; instead of a stream, why there is none.

    A stream must be read before the next is asked for.
    """
    path, kind = members[0].path, members[0].kind
    budget = allowance(path)
    wanted = {member.place: member for member in members}
    for found, opened in _files(path, kind):
        member = wanted.get(found.place)
        if member is None:
            continue
        try:
            source = opened()
        except UNREADABLE as problem:
            yield member, None, reason(problem)
            continue
        if source is None:
            yield member, None, "it has no content"
            continue
        with source:
            stream = source if kind == "file" else io.BufferedReader(_Limited(source, budget), 1 << 16)
            yield member, expand(cast("Stream", stream), budget), ""


def walk(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield all files of a folder with their names below it, sorted. Links are followed, but no folder twice."""
    seen: set[tuple[int, int]] = set()
    found: list[tuple[Path, str]] = []
    for here, below, files in os.walk(folder, followlinks=True):
        status = Path(here).stat()
        if (status.st_dev, status.st_ino) in seen:
            below.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        below.sort()
        found.extend((path := Path(here, name), path.relative_to(folder).as_posix()) for name in files)
    yield from sorted(found, key=lambda pair: pair[1].split("/"))


def reason(problem: BaseException) -> str:
    """In words for the user."""
    if isinstance(problem, ExpansionError) or not isinstance(problem, OSError):
        return str(problem) or type(problem).__name__
    return problem.strerror or str(problem)
