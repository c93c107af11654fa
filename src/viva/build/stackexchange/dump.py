"""Read a dump from disk or a pipe: once for the columns of all rows, and again for the texts of the drawn questions.

    dump = open_dump(Path("Posts.xml"), stage)
    for block in dump.blocks(workers, tree): ...
    for rows in dump.texts(workers, wanted): ...

A plain file is read in ranges of 32 MiB by the pool of workers. A pipe or compressed file is read once, in this
process; rows that may be wanted later are spooled to a temporary file.

A Parquet dump is one table of posts, in one file or several, as usual conversions make it. Columns are matched by
name, ignoring case and underscores: Id, PostTypeId, AcceptedAnswerId, ParentId, CreationDate, Score, ViewCount,
Tags, Title, Body (also as `post_type_id`). Numbers and dates may be strings, tags a list or a string.
Polars reads the narrow columns of SLICE rows at a time, and texts only of wanted rows; the memory needed depends on
the size of the files' row groups.
"""

from __future__ import annotations

import io
import math
import os
import re
import select
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, cast

import polars as pl

from viva.build.stackexchange.posts import (
    FIGURES,
    INVALID,
    MAX_ROW,
    NARROW,
    TOO_LONG,
    Block,
    BrokenRowError,
    Row,
    attributes,
    block_of,
    block_of_lines,
    figure,
    is_row,
    row_of,
)
from viva.build.stackexchange.tagtree import TagTree
from viva.contracts import WorkerPool
from viva.errors import DataError, flag
from viva.io.tables import BROKEN, opener
from viva.visible import one_line

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

A = TypeVar("A")
B = TypeVar("B")
SLICE = 200_000
"""Rows per read."""


class ParquetFiles:
    """Parquet files, read one after the other."""

    unit = "row"

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self.size = sum(path.stat().st_size for path in paths)
        self.done = 0

    def blocks(self, workers: WorkerPool, tree: TagTree) -> Iterator[Block]:
        """Read in this process: Polars is multithreaded."""
        self.done = 0
        for path in self._paths:
            posts = _scan(path, NARROW)
            rows = _collected(posts.select(pl.len()), path).item()
            for start in range(0, rows, SLICE):
                begins = pl.format("Id {}", pl.col("Id").fill_null(FIGURES["Id"])).cast(pl.Binary)
                piece = _collected(posts.slice(start, SLICE), path).with_row_index("line")
                yield block_of(piece.with_columns(begins.alias("begins")), tree, len(piece))
                self.done += path.stat().st_size * len(piece) // rows

    def texts(self, workers: WorkerPool, wanted: frozenset[int]) -> Iterator[list[Row]]:
        """Read the wanted rows, filtered by Polars."""
        self.done = 0
        asked = pl.lit(pl.Series(sorted(wanted), dtype=pl.Int64)).implode()
        mine = (pl.col("PostTypeId") == 1) & pl.col("Id").is_in(asked)
        mine |= (pl.col("PostTypeId") == 2) & pl.col("ParentId").is_in(asked)
        for path in self._paths:
            posts = _scan(path, (*NARROW, "Title", "Body")).with_columns(pl.col(*FIGURES).replace(INVALID, None))
            rows = _collected(posts.filter(mine, pl.all_horizontal(pl.col("Id", "CreationDate").is_not_null())), path)
            yield list(map(row_of, rows.iter_rows(named=True)))
            self.done += path.stat().st_size


def _collected(posts: pl.LazyFrame, path: Path) -> pl.DataFrame:
    try:
        return posts.collect(engine="streaming")
    except (pl.exceptions.PolarsError, OSError) as problem:
        raise DataError(f"cannot read {path} as Parquet: {one_line(str(problem), 200)}") from None


def _scan(path: Path, names: Sequence[str]) -> pl.LazyFrame:
    """Scan a file for the columns, renamed as in Posts.xml and cast. Raises DataError."""
    try:
        posts = pl.scan_parquet(path)
        schema = posts.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as problem:
        raise DataError(f"cannot read {path} as Parquet: {one_line(str(problem), 200)}") from None
    there = {name.replace("_", "").lower(): name for name in schema}
    missing = [name for name in names if name.lower() not in there]
    if missing:
        raise DataError(
            f"{path} has no column {', '.join(missing)}; it has {one_line(', '.join(schema), 300)}. "
            "One table of all posts is needed, questions and answers, with Posts.xml's attributes as columns"
        )
    own = {name: there[name.lower()] for name in names}
    return posts.select(_cast(pl.col(column), name, schema[column]).alias(name) for name, column in own.items())


def _cast(column: pl.Expr, name: str, kind: pl.DataType) -> pl.Expr:
    if name == "CreationDate":
        return column.str.slice(0, 10).str.to_date(strict=False) if kind == pl.String else column.cast(pl.Date)
    if name == "Tags" and kind != pl.String:
        return column.cast(pl.List(pl.String)).list.join("><")
    if name in FIGURES:
        return figure(column) if kind == pl.String else column.cast(pl.Int64, strict=False)
    return column.cast(pl.String)


PIECE = 32 << 20
"""Bytes of a range of a plain file."""
BLOCK = 4 << 20
"""Bytes of lines per block if one process reads."""
SPOOL = "wanted.xml"
PIPE = "-"

_HEAD = re.compile(
    rb'[ \t]*<row Id="(\d{1,10})" PostTypeId="([12])"(?: AcceptedAnswerId="\d{0,10}")?(?: ParentId="(\d{1,10})")? '
)


class Dump(Protocol):
    """A source of posts."""

    unit: str
    """Unit of a broken row's place: "line" or "row"."""
    size: int
    """Bytes to read; 0 if unknown."""
    done: int
    """Bytes read so far."""

    def blocks(self, workers: WorkerPool, tree: TagTree) -> Iterator[Block]:
        """Yield the columns of all rows, in order. Raises DataError if it is not a dump."""
        ...

    def texts(self, workers: WorkerPool, wanted: frozenset[int]) -> Iterator[list[Row]]:
        """Yield these questions and all their answers, in order; empty lists in between show progress."""
        ...


class Range(NamedTuple):
    """The lines of a file that begin at or after `start` and before `end`, in bytes."""

    path: str
    start: int
    end: int


def lines_of(file: IO[bytes], start: int = 0, end: float = math.inf) -> Iterator[bytes]:
    """Yield lines that begin at or after `start` and before `end`; TOO_LONG in place of a longer line than MAX_ROW."""
    place, ours = start, not start
    if start:
        place = file.seek(start - 1)
    while place < end and (line := file.readline(MAX_ROW + 1)):
        more = line
        while not more.endswith(b"\n") and (ours or place < end) and (more := file.readline(MAX_ROW)):
            place += len(more)
        place += len(line)
        if ours:
            yield line if len(line) <= MAX_ROW or line.endswith(b"\n") else TOO_LONG
        ours = ours or more.endswith(b"\n")


def _in_range(piece: Range) -> Iterator[bytes]:
    with Path(piece.path).open("rb") as file:
        yield from lines_of(file, piece.start, piece.end)


def read_range(tree: TagTree, piece: Range) -> Block:
    """Return the posts of a range."""
    return block_of_lines(_in_range(piece), tree)


def texts_of_range(wanted: frozenset[int], piece: Range) -> list[Row]:
    """Return the wanted texts in a range."""
    return list(rows_about(_in_range(piece), wanted))


def rows_about(lines: Iterable[bytes], wanted: frozenset[int]) -> Iterator[Row]:
    """Yield the wanted questions and their answers among these lines. The first reading reported unreadable rows."""
    for line in lines:
        try:
            identity, parent = belonging(line)
            if (parent or identity) in wanted:
                yield row_of(attributes(line))
        except (BrokenRowError, KeyError, ValueError):
            continue


def belonging(line: bytes) -> tuple[int, int]:
    """Return the id of a line's row and of the question that it answers, each 0 if there is none."""
    head = _HEAD.match(line)
    if head:
        return int(head[1]), int(head[3] or 0) if head[2] == b"2" else 0
    values = attributes(line) if is_row(line) else {}
    return int(values.get("Id", 0)), int(values.get("ParentId", 0)) if values.get("PostTypeId") == "2" else 0


class PlainFile:
    """An uncompressed Posts.xml."""

    unit = "line"

    def __init__(self, path: Path, piece: int = PIECE) -> None:
        self._path = path
        self._piece = piece
        self.size = path.stat().st_size
        self.done = 0

    def _ranges(self) -> Iterator[Range]:
        for start in range(0, self.size, self._piece):
            yield Range(str(self._path), start, min(start + self._piece, self.size))

    def blocks(self, workers: WorkerPool, tree: TagTree) -> Iterator[Block]:
        """Read range by range, on the workers."""
        yield from self._read(workers, read_range, tree)

    def texts(self, workers: WorkerPool, wanted: frozenset[int]) -> Iterator[list[Row]]:
        """Read range by range, on the workers."""
        yield from self._read(workers, texts_of_range, wanted)

    def _read(self, workers: WorkerPool, read: Callable[[A, Range], B], what: A) -> Iterator[B]:
        self.done = 0
        for content in workers.map(partial(partial, read, what), self._ranges()):  # sends `what` once to a worker
            self.done = min(self.size, self.done + self._piece)
            yield content


def to_the_end(lines: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Pass lines through; raises DataError if the compressed data are damaged or end early."""
    try:
        yield from lines
    except BROKEN as problem:
        why = str(problem) or type(problem).__name__
        raise DataError(f"{name} cannot be read to its end ({why}): get it anew") from None


class _Waiting(io.RawIOBase):
    """A pipe whose reads can be interrupted by Ctrl-C, since they wait in `select`.

    Polars installs its SIGINT handler with SA_RESTART, which resumes a blocked read after Ctrl-C, but never `select`.
    """

    def __init__(self, file: IO[Any]) -> None:
        self._file = file

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Wait for bytes, then read those available; returns 0 at the end."""
        select.select([self._file], [], [])
        return os.readv(self._file.fileno(), [buffer])


def _interruptible(file: IO[Any]) -> io.BufferedReader:
    return cast("io.BufferedReader", io.BufferedReader(_Waiting(file)))


class Pipe:
    """Posts.xml from a pipe or compressed file. `dropped` says whether a question that was read is ruled out."""

    unit = "line"

    def __init__(self, spool: Path, file: io.BufferedReader, block: int = BLOCK, name: str = "the dump") -> None:
        self._spool = spool
        self._block = block
        self._name = name
        begins = file.peek(8)
        packed = opener(begins)
        self._file: IO[bytes] = packed(file) if packed else file
        if refused := refusal(begins, self._name):
            raise DataError(refused)
        self.size = self.done = 0
        self.dropped: Callable[[int], bool] = lambda _: False

    def blocks(self, workers: WorkerPool, tree: TagTree) -> Iterator[Block]:
        """Read in this process, and spool rows that may be wanted."""
        lines = to_the_end(lines_of(self._file), self._name)
        with self._spool.open("wb") as spool:
            while some := list(self._some(lines)):
                yield block_of_lines(some, tree)
                spool.writelines(line for line in some if self._wanted(line))

    def _some(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        """Pass the lines of a block through."""
        end = self.done + self._block
        while self.done < end and (line := next(lines, b"")):
            self.done += len(line)
            yield line

    def _wanted(self, line: bytes) -> bool:
        try:
            identity, parent = belonging(line)
        except (BrokenRowError, ValueError):
            return False
        return identity > 0 and not self.dropped(parent or identity)

    def texts(self, workers: WorkerPool, wanted: frozenset[int]) -> Iterator[list[Row]]:
        """Read the spooled rows."""
        rest = PlainFile(self._spool)
        self.size = rest.size
        for rows in rest.texts(workers, wanted):
            self.done = rest.done
            yield rows


def open_dump(path: Path, stage: Path, piece: int = PIECE) -> Dump:
    """Open the dump at `path`: a file, recognised by its first bytes; a folder with Posts.xml or Parquet files; or `-`
    for standard input.

    `stage`: a folder for spooled rows; `piece`: bytes of a range of a plain file. Raises DataError for anything else.
    """
    block = min(piece, BLOCK)
    if str(path) == PIPE:
        return Pipe(stage / SPOOL, _interruptible(sys.stdin), block, "standard input")
    try:
        if path.is_dir():
            xml = next((path / name for name in ("Posts.xml", "posts.xml") if (path / name).is_file()), None)
            files = [] if xml else sorted(path.glob("*.parquet")) or sorted(path.glob("**/*.parquet"))
            if files:
                return ParquetFiles(files)
            path = xml or path
        file = path.open("rb")
        if not path.is_file():  # such as <(7z x -so ...)
            return Pipe(stage / SPOOL, _interruptible(file), block, str(path))
        with file:
            begins = file.read(8)
    except IsADirectoryError:
        raise DataError(f"{path} holds neither Posts.xml nor *.parquet; name the file") from None
    except OSError as problem:
        raise DataError(f"cannot read the dump {path}: {problem.strerror or problem}") from None
    if opener(begins):
        return Pipe(stage / SPOOL, path.open("rb"), block, str(path))
    if begins.startswith(b"PAR1"):
        return ParquetFiles([path])
    if refused := refusal(begins, str(path)):
        raise DataError(refused)
    return PlainFile(path, piece)


def refusal(begins: bytes, name: str) -> str:
    """Return why a file with these first bytes is not a dump; empty if it may be one."""
    if begins.startswith(b"7z\xbc\xaf"):
        return f"{name} is a 7z archive: 7z x -so ARCHIVE Posts.xml | viva build infibench pool - {flag('date', 'DAY')}"
    if begins.startswith((b"\xff\xfe", b"\xfe\xff", b"PK\x03\x04", b"\x28\xb5\x2f\xfd")):
        return f"{name} is UTF-16, zip or zstd; Posts.xml is UTF-8: unpack or convert it first"
    return "" if begins else f"{name} is empty; it should be a dump"
