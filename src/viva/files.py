"""Untrusted files: only regular ones are opened, without following links or waiting, and read within bounds.

A run folder can come from a stranger. A link in it could make Viva write over a file elsewhere, a named pipe would
block it for ever, a device or a file of holes would fill the memory. All code that opens a file of a run folder uses
these functions, and reports an OSError as for any unreadable file.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader, FileIO
from pathlib import Path
from typing import IO, Final, TypeVar

import msgspec

UNREADABLE: Final = (msgspec.DecodeError, ValueError, RecursionError)
"""Exceptions of decoding untrusted JSON: not JSON or UTF-8, numbers with too many digits, nested too deeply."""
LARGEST_RECORD = 64 << 20
"""Most bytes of a file that is read as a whole, such as run.json."""
_BUFFER = 1 << 16
"""Bytes that are read at once: lines of large files come in two thirds of the time that Python's 8 kB take."""
RATIO, SMALL = 200, 16 << 20
"""Highest ratio of a file's content to what is stored of it, packed or with holes (text reaches about 100), and the
bytes that are harmless at any ratio.
"""
LONGEST_LINE = 192 << 20
"""Bytes of one line of a journal: a reply has at most 64 MiB, and escaping can make more of it."""
DEEPEST = 64
"""Most levels of nesting; settings and templates have fewer than ten."""
MOST_DOTS, MOST_DOTS_IN_ALL = 250, 10_000
"""Dots in a line of TOML, and in all lines with more than `DEEPEST`: a key of 100,000 parts takes tomllib minutes."""


def cache_folder() -> Path:
    """Return Viva's cache folder: VIVA_CACHE, else in the system's cache folder of the user."""
    given = os.environ.get("VIVA_CACHE")
    return Path(given) if given else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "viva"


def open_regular(path: Path, flags: int = os.O_RDONLY, *, follow: bool = False) -> int:
    """Return a descriptor of a regular file; with `follow` also where `path` is a link to one (a file that the user
    named).

    Raises OSError: FileNotFoundError where there is none, else one that names the kind of file found.
    """
    kept = 0 if follow else os.O_NOFOLLOW
    try:
        # O_NONBLOCK: a named pipe without a writer opens at once, and is refused below.
        file = os.open(path, flags | kept | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    except ValueError:  # NUL, or half of a surrogate pair
        raise OSError(errno.EINVAL, "no file has such a name", str(path)) from None
    except OSError as problem:
        if problem.errno == errno.ELOOP and not follow:
            raise OSError(errno.ELOOP, "it is a link, and no regular file", str(path)) from None
        if problem.errno == errno.ENXIO:
            raise OSError(errno.ENXIO, "it is a pipe or a socket, and no regular file", str(path)) from None
        raise
    mode = os.fstat(file).st_mode
    if not stat.S_ISREG(mode):
        os.close(file)
        what = "a folder" if stat.S_ISDIR(mode) else "a pipe" if stat.S_ISFIFO(mode) else "a device"
        raise OSError(errno.EINVAL, f"it is {what}, and no regular file", str(path))
    return file


def reading(path: Path, *, follow: bool = False) -> BufferedReader:
    """Return a regular file, open to be read. Raises OSError as `open_regular`, and for a file of holes."""
    file = FileIO(open_regular(path, follow=follow))
    size = os.fstat(file.fileno()).st_size
    if size > SMALL + RATIO * _stored(file.fileno(), size):
        file.close()
        raise OSError(errno.EFBIG, f"it is more than {RATIO} times as large as what is stored of it", str(path))
    return BufferedReader(file, _BUFFER)


def _stored(file: int, size: int) -> int:
    """Return the bytes of a file that are in no hole."""
    stored = end = 0
    try:
        while end < size:
            begin = os.lseek(file, end, os.SEEK_DATA)
            end = os.lseek(file, begin, os.SEEK_HOLE)
            stored += end - begin
    except OSError as problem:
        if problem.errno != errno.ENXIO:  # else only a hole is left; the file system does not tell holes
            stored = size
    os.lseek(file, 0, os.SEEK_SET)
    return stored


def read_regular(path: Path, most: int = LARGEST_RECORD, *, follow: bool = False) -> bytes:
    """Return all of a regular file. Raises OSError also for one of more than `most` bytes."""
    with reading(path, follow=follow) as file:
        size = os.fstat(file.fileno()).st_size
        content = file.read(size + 1) if size <= most else b""  # `read` allocates memory for the requested size
    if size > most or len(content) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most:,} bytes", str(path))
    return content


def lines(file: IO[bytes], name: Path | str, most: int = LONGEST_LINE) -> Iterator[bytes]:
    """Yield the lines of an open file, the last one maybe without its end. Raises OSError for one that is too long."""
    number = 0
    while line := file.readline(most + 1):
        number += 1
        if len(line) > most:
            raise OSError(errno.EFBIG, f"line {number:,} is longer than {most:,} bytes", str(name))
        yield line


def new_file(path: Path) -> IO[bytes]:
    """Create a file; one at its place, or a link, is removed first and not written through. Raises OSError."""
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o644), "wb")


@contextmanager
def replacing(path: Path, *, sync: bool = False, mode: int = 0o644) -> Iterator[IO[bytes]]:
    """Open a new file that replaces `path`, even a link, when the block succeeds, and is removed otherwise.

    `sync`: flush it to the disk before that. Raises OSError, also for a device or a pipe, which would be gone.
    """
    if (path.exists() and not path.is_file()) or path.absolute().parent == Path("/dev"):
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    descriptor, name = tempfile.mkstemp(prefix=".viva-", suffix=".partial", dir=path.parent)
    partial = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as out:
            yield out
            if sync:
                out.flush()
                os.fsync(descriptor)
        partial.chmod(mode)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def write_whole(path: Path, content: bytes, *, sync: bool = False, mode: int = 0o644) -> None:
    """Write a file atomically in place of `path`, even a link. Raises OSError."""
    with replacing(path, sync=sync, mode=mode) as out:
        out.write(content)


class LockedError(OSError):
    """A lock that another process holds; `holder` is what it wrote into the file, such as `pid 12`."""

    def __init__(self, path: Path, holder: str) -> None:
        super().__init__(errno.EWOULDBLOCK, "another process holds it", str(path))
        self.holder = holder


def lock(path: Path, flags: int = os.O_RDWR | os.O_CREAT, *, shared: bool = False, follow: bool = False) -> int:
    """Open a regular file with a lock, released when the descriptor is closed or the process ends.

    Raises LockedError while another process holds it (`shared`: but for reading), OSError as `open_regular`.
    """
    file = open_regular(path, flags, follow=follow)
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(file, 32, 0).decode("ascii", "replace").strip()
        os.close(file)
        raise LockedError(path, holder) from None
    except OSError:
        os.close(file)
        raise
    return file


def refuse_depth(value: object) -> None:
    """Raise ValueError where plain data is nested deeper than `DEEPEST`, on which recursion would fail."""
    level = [value]
    for _ in range(DEEPEST):
        below = [container for container in level if isinstance(container, dict | list)]
        level = [
            inner for container in below for inner in (container.values() if isinstance(container, dict) else container)
        ]
        if not level:
            return
    raise ValueError(f"it is nested deeper than {DEEPEST} levels")


def parse_toml(text: str) -> dict[str, object]:
    """Parse untrusted TOML. Raises ValueError, also where it is nested too deeply."""
    dots = [count for line in text.split("\n") if (count := line.count(".")) > DEEPEST]
    if sum(dots) > MOST_DOTS_IN_ALL or max(dots, default=0) > MOST_DOTS:
        raise ValueError(f"lines with more than {MOST_DOTS} dots: is it a key of so many parts?")
    try:
        content = tomllib.loads(text)
    except RecursionError:
        raise ValueError(f"nested deeper than {DEEPEST} levels") from None
    refuse_depth(content)
    return content


T = TypeVar("T")


def shipped_text(module: str, name: str) -> str:
    """Return the text of a file of the package. `module`: `__file__` of the caller; `name`: the path relative to it."""
    return (Path(module).parent / name).read_text(encoding="utf-8")


def shipped_table(module: str, name: str, kind: type[T]) -> T:
    """Return the content of a TOML file of the package, as `kind`; arguments as for `shipped_text`."""
    import msgspec  # not at the top: `viva --help` needs no msgspec

    return msgspec.toml.decode(shipped_text(module, name), type=kind)
