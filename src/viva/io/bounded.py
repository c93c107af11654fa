"""Reading untrusted files within bounds: lines, JSON and YAML documents, zip files."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import os
import re
import string
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

import msgspec
from msgspec import Struct

from viva.errors import DataError
from viva.files import RATIO, SMALL, UNREADABLE, reading, shipped_table

LONGEST_LINE = 64 << 20
"""Most bytes of one line of JSONL."""
LARGEST_DOCUMENT = 1 << 30
"""Most bytes of one JSON document, unpacked."""
LARGEST_PACKED = 16 << 30
"""Most bytes of a zip file's content, unpacked."""
MOST_VALUES, DEEPEST = 600_000, 30
"""Most values of a YAML file, and most levels of nesting."""
_CHUNK = 1 << 20
_WORD = f"{string.ascii_letters}{string.digits}_.+-"
"""Characters of JSON's numbers and words, also of mistyped ones."""


class EncodingError(DataError):
    """A text in another encoding than it was read in; `likely`: the encoding that it seems to have, or ""."""

    def __init__(self, where: str, content: bytes, or_else: str = "") -> None:
        self.likely = likely_encoding(content)
        looks = f" and looks like {self.likely}" if self.likely else " (it may be WINDOWS-1252, GB18030, …)"
        command = f"iconv -f {self.likely.upper() or 'ENCODING'} -t UTF-8"
        super().__init__(f"{where} is not UTF-8{looks}: save it as UTF-8 ({command}){or_else}")


class _Encoding(Struct, frozen=True):
    """One entry of encodings.toml, which explains the fields."""

    usual: str
    share: float


def head(path: Path, size: int) -> bytes:
    """Return the first bytes of a file. Raises DataError where it cannot be read."""
    try:
        with reading(path, follow=True) as file:
            return file.read(size)
    except OSError as problem:
        raise DataError(f"cannot read {path}: {problem.strerror}") from None


def unpacked_head(path: Path, size: int) -> bytes:
    """Return the first bytes of a file, unpacked if gzipped."""
    with opened(path) as file:
        return _guarded(path, lambda: file.read(size))


class _Unpacked(io.RawIOBase):
    def __init__(self, file: IO[bytes], content: IO[bytes]) -> None:
        self._file, self._content = file, content
        self._left = SMALL + RATIO * os.fstat(file.fileno()).st_size

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes."""
        read = self._content.read(min(len(buffer), _CHUNK))
        self._left -= len(read)
        if self._left < 0:
            raise OSError(f"it unpacks to more than {RATIO} times its size: no text does; unpack it first")
        buffer[: len(read)] = read
        return len(read)

    def close(self) -> None:
        """Close the file, too."""
        self._file.close()
        super().close()


def no_bomb(file: IO[bytes], content: IO[bytes]) -> IO[bytes]:
    """Return what an open file unpacks to; reading raises OSError where that is far more than its size."""
    return file if content is file else io.BufferedReader(_Unpacked(file, content), _CHUNK)


def _unpacked(path: Path) -> IO[bytes]:
    file = reading(path, follow=True)
    return no_bomb(file, cast("IO[bytes]", gzip.GzipFile(fileobj=file))) if file.peek(2)[:2] == b"\x1f\x8b" else file


def opened(path: Path, encoding: str = "") -> IO[bytes]:
    """Open a file, unpacked if gzipped, and as UTF-8 if `encoding` names another one.

    Raises DataError where it cannot be read, EncodingError where it is not in that encoding.
    """
    try:
        file = _unpacked(path)
    except OSError as problem:
        raise DataError(f"cannot read {path}: {problem.strerror}") from None
    if not encoding:
        return file
    with file:
        text = whole(path, file)
    try:
        return io.BytesIO(text.decode(encoding).encode("utf-8", "replace"))
    except UnicodeDecodeError:
        raise EncodingError(str(path), text[:_CHUNK]) from None


def _guarded(path: Path, read: Any) -> bytes:
    try:
        return cast("bytes", read())
    except (OSError, EOFError, zlib.error) as problem:
        raise DataError(f"cannot read {path}: {problem}") from None


def lines(path: Path, encoding: str = "") -> Iterator[tuple[int, bytes]]:
    """Yield (number, line) of a file's lines that are not blank. Raises DataError for a line that is too long."""
    with opened(path, encoding) as file:
        number = 0
        while line := _guarded(path, lambda: file.readline(LONGEST_LINE + 1)):
            number += 1
            if len(line) > LONGEST_LINE:
                raise DataError(f"{path}, line {number} is longer than {LONGEST_LINE >> 20} MiB: is it such a file?")
            if line.strip():
                yield number, line


def rows(path: Path, encoding: str = "") -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) of a JSONL file. Raises DataError for a line that is no object."""
    for number, line in lines(path, encoding):
        row = decoded(line, f"{path}, line {number}")
        if not isinstance(row, dict):
            raise DataError(f"{path}, line {number} is no JSON object")
        yield number, row


def content(path: Path, encoding: str = "") -> bytes:
    """Return a whole file, unpacked. Raises DataError for one that is too large."""
    with opened(path, encoding) as file:
        return whole(path, file)


def whole(path: Path, file: IO[bytes]) -> bytes:
    """Return what is left of an open file. Raises DataError where it is too large."""
    text = _guarded(path, lambda: file.read(LARGEST_DOCUMENT + 1))
    if len(text) > LARGEST_DOCUMENT:
        raise DataError(
            f"{path} is larger than {LARGEST_DOCUMENT >> 30} GiB: give it in parts, or as JSONL, not packed"
        )
    return text


def document(path: Path, encoding: str = "") -> object:
    """Return the content of a JSON file. Raises DataError where it is too large or no JSON."""
    return decoded(content(path, encoding), str(path))


def yaml_document(path: Path, loader: Any = None, *, most: int = MOST_VALUES) -> object:
    """Read a YAML file: every value as text, or as the `loader` makes it. Raises DataError."""
    import yaml

    return yaml_value(content(path), str(path), loader or getattr(yaml, "CBaseLoader", yaml.BaseLoader), most, DEEPEST)


def yaml_value(text: str | bytes, where: str, loader: Any, most: int, deepest: int) -> object:
    """Return a YAML document as the `loader` makes it; of a repeated key the last value counts.

    Raises DataError, naming `where` and the place, for invalid YAML, for aliases (they can make a small file huge), and
    for more than `most` values or `deepest` levels.
    """
    import yaml

    def place(mark: Any) -> str:
        return f"{where}, line {mark.line + 1}, column {mark.column + 1}" if mark else where

    try:
        depth = 0
        for values, event in enumerate(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if isinstance(event, yaml.AliasEvent):
                wrong = f"a YAML alias (*{event.anchor}); write the text out instead"
            elif depth > deepest:
                wrong = f"nested deeper than {deepest} levels"
            elif values > most:
                wrong = f"more than {most:,} nodes"
            else:
                continue
            raise DataError(f"{place(event.start_mark)}: {wrong}")
        return cast("object", yaml.load(text, Loader=loader))  # noqa: S506 - no object is made
    except yaml.MarkedYAMLError as problem:
        raise DataError(f"{place(problem.problem_mark)}: not valid YAML: {problem.problem}") from None
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as problem:
        raise DataError(f"{where} is not valid YAML: {' '.join(str(problem).split())[:200]}") from None


def decoded(given: bytes, where: str) -> object:
    """Decode JSON as Python writes it, NaN included. Raises DataError naming `where`."""
    if not given.strip():
        raise DataError(f"{where} is empty: there is no row in it")
    try:
        return msgspec.json.decode(given)
    except UNREADABLE:
        pass
    try:
        return json.loads(given)
    except RecursionError:
        raise DataError(f"{where}: JSON that is nested too deep") from None
    except UnicodeDecodeError:
        raise EncodingError(where, given) from None
    except json.JSONDecodeError as problem:
        _, wrong = json_problem(problem)
        raise DataError(f"{where} is no JSON: line {problem.lineno}, column {problem.colno}: {wrong}") from None
    except ValueError as problem:  # numbers with too many digits
        raise DataError(f"{where} is no JSON: {str(problem)[:200]}") from None


def json_problem(problem: json.JSONDecodeError) -> tuple[int, str]:
    """Return the place where JSON is invalid, and the usual cause."""
    text, place, reason = problem.doc, problem.pos, problem.msg
    if "trailing" in reason:  # Python 3.13 stops at the comma
        place = len(text) - len(text[place:].lstrip(", \t\r\n"))
    before, sign = text[:place], text[place : place + 1]
    begun = len(before) - len(before.rstrip(_WORD))
    comment = "JSON has no comments (YAML has)" if sign in "/#" else ""
    if reason == "Extra data":
        wrong = "something stands after the end"
    elif not sign:
        wrong = "the file ends too early"
    elif reason.startswith(("Unterminated", "Invalid control")):
        wrong = "a text that does not end in this line; a line feed in a text is written \\n"
    elif reason.startswith("Invalid"):
        wrong = "an escape that JSON does not have; a backslash itself is written \\\\"
    elif sign in "]}" and before.rstrip().endswith(","):
        wrong = f"a comma before {sign}: JSON has none after the last"
    elif "property name" in reason:
        wrong = f'expected a key in "double quotes"{comment and f"; {comment}"}'
    elif "':'" in reason:
        wrong = "expected a colon after the key"
    elif "','" in reason and not (begun and sign in _WORD):
        wrong = comment or f"expected a comma or {_closing(before)}"
    elif sign == "'":
        wrong = 'JSON has "double quotes" only'
    else:
        return place - begun, comment or "neither a text in quotes nor a number, true, false or null"
    return place, wrong


def _closing(text: str) -> str:
    """Return the bracket that closes the innermost open one in a beginning of JSON."""
    opened: list[str] = []
    for sign in re.findall(r'"(?:[^"\\]|\\.)*+"|[][{}]', text):
        if sign in "[{":
            opened.append("]" if sign == "[" else "}")
        elif sign in "]}":
            opened.pop()
    return opened[-1]


def likely_encoding(content: bytes) -> str:
    """Return the encoding other than UTF-8 whose usual characters the content has; "" for none."""
    for name, about in shipped_table(__file__, "encodings.toml", dict[str, _Encoding]).items():
        try:
            text = codecs.getincrementaldecoder(name)().decode(content)  # the last character may be cut
        except UnicodeDecodeError:
            continue
        foreign = [char for char in text if not char.isascii()]
        if sum(char in about.usual for char in foreign) >= max(1, about.share * len(foreign)):
            return name
    return ""


def refuse_bomb(path: Path) -> None:
    """Refuse a zip file with too much content, whatever sizes its directory states.

    Members are unpacked once and discarded in pieces. Names in it are never used as paths. Raises DataError.
    """
    try:
        with zipfile.ZipFile(path) as packed:
            total = 0
            for member in packed.infolist():
                limit = max(SMALL, RATIO * member.compress_size)
                size = 0
                with packed.open(member) as inside:
                    while chunk := inside.read(_CHUNK):
                        size += len(chunk)
                        total += len(chunk)
                        if size > limit or total > LARGEST_PACKED:
                            raise DataError(
                                f"{path} unpacks to far more than it should ({member.filename[:80]!r} is packed more "
                                f"than {RATIO} times); it was not read"
                            )
                if size != member.file_size:
                    raise DataError(f"{path} is damaged: {member.filename[:80]!r} has not the size that it says")
    except (
        zipfile.BadZipFile,
        zlib.error,
        OSError,
        EOFError,
        NotImplementedError,
        RuntimeError,
        ValueError,
    ) as problem:
        raise DataError(f"{path} is no zip file that can be read: {problem}") from None
