"""Read treebanks: choose files, and stream their trees. No treebank is ever in memory as a whole.

    plan = survey([Path("treebank.zip")])           files to read, and number left out
    for found in Reader(plan).trees():              RawTree or Problem, in reading order
        ...

A file that the user names is read. A folder or archive may have the same text in several forms (the Penn Treebank has
raw, tagged, parsed and combined files): if there are *.mrg (combined: brackets, tags and traces), only these are read,
else every file that begins with a bracket. `glob` overrides this.

Nothing is ever unpacked to disk. Archives are hostile: a member's name is only shown, never used as a path; zip bombs
are cut off; archives inside archives are not opened.
"""

from __future__ import annotations

import codecs
import fnmatch
import hashlib
import io
import itertools
import os
import re
import stat
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, TypeAlias, cast

from msgspec import Struct

from viva.build.treebank.tree_stream import Flaw, Span, Splitter
from viva.errors import DataError, flag
from viva.io.tables import BROKEN, opener

Kind = Literal["file", "zip", "tar"]
Stream: TypeAlias = "io.BufferedReader[Any]"
EXPANSION = 200
"""Treebanks compress to a fifth or tenth; a file that expands by more than this factor..."""
EXPANSION_FROM = 1 << 30
"""... and to more than this many bytes is refused."""
UNREADABLE = (*BROKEN, zipfile.BadZipFile, tarfile.TarError, RuntimeError, NotImplementedError, ValueError, KeyError,
              IndexError, MemoryError)  # fmt: skip
"""Exceptions of the standard library for damaged, encrypted or unknown archives."""


class ExpansionError(OSError):
    """A suspected zip bomb."""


class Member(NamedTuple):
    """One file on disk or in an archive. `place` is its index in the archive; -1 is the file itself."""

    path: Path
    kind: Kind
    place: int
    name: str
    """Path below the named folder or archive: "combined/wsj_0001.mrg". For display and matching only."""
    size: int
    """Bytes, if known beforehand."""


class _Limited(io.RawIOBase):
    """A stream that raises ExpansionError after `budget` bytes."""

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
    """Return how many bytes all members of a file may expand to: a list of one number, which readers decrease."""
    return [max(EXPANSION_FROM, EXPANSION * path.stat().st_size)]


def expand(stream: Stream, budget: list[int]) -> Stream:
    """Return the stream, decompressed if needed."""
    packed = opener(stream.peek(8))
    return io.BufferedReader(_Limited(packed(stream), budget), 1 << 16) if packed else stream


def kind_of(path: Path) -> Kind:
    """Return the kind of a file on disk by its first bytes. Raises the exceptions in UNREADABLE."""
    if not stat.S_ISREG(path.stat().st_mode):
        return "file"  # a pipe can be read only once, so its first bytes are not inspected
    with path.open("rb") as stream:
        if stream.peek(8).startswith((b"PK\x03\x04", b"PK\x05\x06")):
            return "zip"
        head = expand(stream, allowance(path)).peek(512)
        named = path.name.lower().endswith((".tar", ".tgz", ".tbz2", ".txz"))
        return "tar" if head[257:262] == b"ustar" or named else "file"


def entries(path: Path, prefix: str) -> tuple[Kind, list[Member]]:
    """Return kind and members of a file on disk, in reading order: itself; a zip's files sorted; a tar's files in
    order, since a compressed tar can only be read sequentially.
    """
    kind = kind_of(path)
    members = [member for member, _ in _files(path, kind)]
    if not prefix:
        return kind, members
    return kind, [entry._replace(name=prefix if kind == "file" else f"{prefix}/{entry.name}") for entry in members]


def _files(path: Path, kind: Kind) -> Iterator[tuple[Member, Callable[[], IO[bytes] | None]]]:
    """Yield the members of a file on disk in reading order, each with a function that opens it."""
    if kind == "file":
        yield Member(path, kind, -1, path.name, path.stat().st_size), lambda: path.open("rb")
    elif kind == "zip":
        with zipfile.ZipFile(path) as archive:
            files = [
                (info.filename.split("/"), place, info)
                for place, info in enumerate(archive.infolist())
                if not info.is_dir()
            ]
            for _, place, info in sorted(files, key=lambda file: file[:2]):
                yield Member(path, kind, place, info.filename, info.file_size), partial(archive.open, info)
    else:
        with (
            path.open("rb") as raw,
            expand(raw, allowance(path)) as stream,
            tarfile.open(fileobj=stream, mode="r|") as tape,
        ):
            for place, header in enumerate(iter(tape.next, None)):
                tape.members = []  # type: ignore[attr-defined]  # else the list would grow with the archive
                if header.isfile():
                    yield Member(path, kind, place, header.name, header.size), partial(tape.extractfile, header)


def streams(members: list[Member]) -> Iterator[tuple[Member, Stream | Exception]]:
    """Yield the members of one file on disk, each with its stream or the exception on opening it.

    Read each stream before asking for the next.
    """
    path, kind = members[0].path, members[0].kind
    budget = allowance(path)
    wanted = {member.place: member for member in members}
    for member_read, opened in _files(path, kind):
        member = wanted.get(member_read.place)
        if member is None:
            continue
        try:
            source = opened()
        except UNREADABLE as problem:
            yield member, problem
            continue
        if source is None:
            yield member, ValueError("it has no content")
            continue
        with source:
            stream = source if kind == "file" else io.BufferedReader(_Limited(source, budget), 1 << 16)
            yield member, expand(cast("Stream", stream), budget)


def walk(folder: Path) -> list[tuple[Path, str]]:
    """Return all files of a folder with their relative names, sorted. Follows links, but visits no folder twice."""
    seen: set[tuple[int, int]] = set()
    paths: list[tuple[Path, str]] = []
    for here, below, files in os.walk(folder, followlinks=True):
        status = Path(here).stat()
        if (status.st_dev, status.st_ino) in seen:
            below.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        below.sort()
        paths.extend((path := Path(here, name), path.relative_to(folder).as_posix()) for name in files)
    return sorted(paths, key=lambda pair: pair[1].split("/"))


def reason(problem: BaseException) -> str:
    """Return the reason for the user's message."""
    if isinstance(problem, ExpansionError) or not isinstance(problem, OSError):
        return str(problem) or type(problem).__name__
    return problem.strerror or str(problem)


PIECE = 1 << 16
"""Most bytes of a line read at once."""
_MRG = re.compile(r"\.mrg(\.(gz|bz2|xz))?$", re.IGNORECASE)
_SUFFIX = re.compile(r"(?<=.)\.[A-Za-z]{1,8}$")
_COMPRESSED = re.compile(r"\.(gz|bz2|xz)$", re.IGNORECASE)
_HIDDEN = re.compile(r"(^|/)\.(?!\.?/)")
"""Hidden files of editors, file systems and archivers (.DS_Store, ._wsj_0001.mrg), but not "./" and "../"."""
_UNFIT = re.compile(r"[^\w.+-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters of terminals and of text direction, except U+0085, which may be a line end."""
_BOMS = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}


class RawTree(NamedTuple):
    """A bracketed tree as text, with its origin."""

    text: str
    file: str
    """The file's stem, with ~2, ~3... for further files of the same stem."""
    tree: int
    """Index in the file, from 0, malformed trees included."""
    source: str
    """The file's name as shown to the user."""
    line: int
    """Its first line, from 1."""


class Problem(Struct, frozen=True, kw_only=True):
    """A skipped tree, text between trees, or file (line 0)."""

    source: str
    line: int
    tree: int | None
    kind: str
    message: str

    def __str__(self) -> str:
        where = f"{self.source}:{self.line}" if self.line else self.source
        return f"{where}: {'' if self.tree is None else f'tree {self.tree}: '}{self.message}"


class Source(Struct, kw_only=True):
    """A path that the user named, with counts of what was read."""

    name: str
    kind: str
    """One of file, folder, zip, tar."""
    rule: str
    """How the files to read were chosen."""
    files: int = 0
    trees: int = 0
    """Trees begun, malformed ones included."""
    bytes: int = 0
    sha256: str = ""
    """Of a file's content; for a folder or archive, of the list that sha256sum prints for the files read."""
    left_out: int = 0
    """Number of files left out."""
    left_out_first: str = ""


class Planned(NamedTuple):
    """A source, its files to read, and problems in listing them."""

    source: Source
    members: list[Member]
    problems: list[Problem]


Plan: TypeAlias = list[Planned]


def survey(named: Sequence[Path], glob: str = "") -> Plan:
    """Return the plan of files to read. Raises DataError for a path that is missing or named twice."""
    plan: Plan = []
    seen: dict[Path, Path] = {}
    for path in named:
        try:
            real = path.resolve()
            if not path.exists():
                raise DataError(f"there is no treebank {path}")
        except (OSError, ValueError, RuntimeError) as problem:
            raise DataError(f"cannot read the treebank {path}: {problem}") from None
        if real in seen:
            raise DataError(f"{path} and {seen[real]} are the same treebank; name it once")
        seen[real] = path
        plan.append(_survey_one(path, glob))
    return plan


def _survey_one(path: Path, glob: str) -> Planned:
    name = path.resolve().name or str(path)
    problems: list[Problem] = []
    members: list[Member] = []
    kind = "folder" if path.is_dir() else "file"
    try:
        if kind == "file":
            kind, members = entries(path, "")
        else:
            for file, below in walk(path):
                try:  # not of a pipe, a socket, a dangling link
                    members += entries(file, below)[1] if file.is_file() else []
                except UNREADABLE as problem:
                    problems.append(_unreadable(f"{name}/{below}", problem))
    except UNREADABLE as problem:
        problems.append(_unreadable(name, problem))
    if kind == "file":
        return Planned(Source(name=name, kind=kind, rule="named"), members, problems)
    rule, chosen = _choose(members, glob)
    source = Source(name=name, kind=kind, rule=rule)
    kept = set(chosen)
    for member in members:
        if member not in kept:
            _leave_out(source, member)
    return Planned(source, chosen, problems)


def _choose(members: list[Member], glob: str) -> tuple[str, list[Member]]:
    """Return the rule and the members that it selects."""
    if glob:
        fits = re.compile(fnmatch.translate(glob.lower())).match
        fitting = [
            entry for entry in members if any(map(fits, (entry.name.lower(), entry.name.lower().rpartition("/")[2])))
        ]
        return f"{flag('glob')} {glob}", fitting
    visible = [member for member in members if not _HIDDEN.search(member.name)]
    combined = [member for member in visible if _MRG.search(member.name)]
    if combined:
        return "*.mrg", combined
    return "files that begin with a bracket", visible


def _leave_out(source: Source, member: Member) -> None:
    source.left_out += 1
    source.left_out_first = source.left_out_first or member.name


def _unreadable(name: str, problem: BaseException) -> Problem:
    return Problem(source=name, line=0, tree=None, kind="file", message=f"cannot be read: {reason(problem)}")


class Reader:
    """Reads a plan. `sources` have counts of what was read so far, `bytes` is the total."""

    def __init__(self, plan: Plan, *, encoding: str = "utf-8", piece: int = PIECE) -> None:
        self._plan = plan
        self._encoding = encoding
        self._piece = piece
        self._stems: Counter[str] = Counter()
        self.sources = [planned.source for planned in plan]
        self.bytes = 0

    def trees(self) -> Iterator[RawTree | Problem]:
        """Yield every tree and problem of every file, in reading order."""
        for source, members, problems in self._plan:
            yield from problems
            digests: list[tuple[str, str]] = []
            for _, group in itertools.groupby(members, key=lambda member: member.path):
                yield from self._read_file(source, list(group), digests)
            if source.kind == "file" and digests:
                source.sha256 = digests[0][0]
            else:
                listed = "".join(f"{digest}  {name}\n" for digest, name in digests)
                source.sha256 = hashlib.sha256(listed.encode("utf-8", "surrogateescape")).hexdigest()

    def _read_file(
        self, source: Source, members: list[Member], digests: list[tuple[str, str]]
    ) -> Iterator[RawTree | Problem]:
        """Yield the trees of one file on disk; of a damaged archive, those before the damage."""
        try:
            for member, stream in streams(members):
                if isinstance(stream, Exception):
                    yield _unreadable(_shown(source, member), stream)
                else:
                    yield from self._read_member(source, member, stream, digests)
        except UNREADABLE as damage:
            yield _unreadable(_shown(source, members[0]), damage)

    def _read_member(
        self, source: Source, member: Member, stream: Stream, digests: list[tuple[str, str]]
    ) -> Iterator[RawTree | Problem]:
        shown = _shown(source, member)
        try:
            head = stream.peek(PIECE)[:PIECE]
        except UNREADABLE as problem:
            yield _unreadable(shown, problem)
            return
        if source.rule.startswith("files") and not _begins_with_a_bracket(head):
            _leave_out(source, member)
            return
        digest = hashlib.sha256()
        stem = self._stem(member.name)
        splitter = Splitter()
        damage: BaseException | None = None
        try:
            if wide := next((name for bom, name in _BOMS.items() if head.startswith(bom)), ""):
                raise ValueError(f"it is {wide}; convert it to UTF-8")
            for piece in self._pieces(source, stream, digest):
                for read in splitter.feed(piece):
                    yield self._tree(read, stem, shown)
        except UNREADABLE as problem:
            damage = problem
        for read in splitter.end():
            yield self._tree(read, stem, shown)
        if damage or splitter.begun == 0:
            yield _unreadable(shown, damage or ValueError("there is no bracketed tree in it"))
        source.files += 1
        source.trees += splitter.begun
        digests.append((digest.hexdigest(), member.name))

    def _pieces(self, source: Source, stream: Stream, digest: hashlib._Hash) -> Iterator[bytes]:
        """Yield lines, or parts of long ones; without a byte order mark."""
        mark = codecs.BOM_UTF8
        while piece := stream.readline(self._piece):
            digest.update(piece)
            source.bytes += len(piece)
            self.bytes += len(piece)
            yield piece.removeprefix(mark)
            mark = b""

    def _tree(self, read: Span | Flaw, stem: str, shown: str) -> RawTree | Problem:
        kind = message = text = ""
        if isinstance(read, Flaw):
            kind, message = read.kind, read.message
        else:
            try:
                text = read.content.decode(self._encoding)
            except UnicodeDecodeError as problem:
                kind = "encoding"
                message = (
                    f"byte 0x{read.content[problem.start]:02X} is not {self._encoding.upper()}; "
                    f"if the file is in another encoding, name it with {flag('encoding')}"
                )
        if control := _CONTROL.search(text):
            kind, message = "control", f"it holds the control character U+{ord(control[0]):04X}"
        if isinstance(read, Flaw) or kind:
            return Problem(source=shown, line=read.line, tree=read.number, kind=kind, message=message)
        return RawTree(text, stem, read.number, shown, read.line)

    def _stem(self, name: str) -> str:
        """Return a file's name in facts and questions: without folders and suffix, unique in the set."""
        stem = _SUFFIX.sub("", _COMPRESSED.sub("", re.split(r"[/\\]", name)[-1]))
        stem = _UNFIT.sub("_", stem)[:100] or "_"
        self._stems[stem] += 1
        return stem if self._stems[stem] == 1 else f"{stem}~{self._stems[stem]}"


def _shown(source: Source, member: Member) -> str:
    return source.name if source.kind == "file" else f"{source.name}/{member.name}"


def _begins_with_a_bracket(head: bytes) -> bool:
    """Return whether the first line other than remarks begins with an opening bracket."""
    for line in head.removeprefix(codecs.BOM_UTF8).splitlines():
        if (text := line.strip()) and not line.startswith((b"*", b"<")):
            return text.startswith(b"(")
    return False
