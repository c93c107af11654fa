"""Answers collected elsewhere, played back as if a model had just given them.

JSONL or CSV (also gzipped) with the columns `question` (or `id`, `case`), `text` (or `reply`, `response`, `answer`) and
optionally `sample` (0 by default), `stop_reason`, `usage` (`input`, `output`: tokens) and, where there is no text,
`error` (why); anything else in a row is left alone. Or a folder of text files, one
an answer: QUESTION/SAMPLE.txt or QUESTION_SAMPLE.txt (or QUESTION.txt where there is only one).
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import cast, get_args

import msgspec
from msgspec import Struct

from viva.errors import DataError, ModelError
from viva.files import UNREADABLE, reading, refuse_depth
from viva.io.tables import read_csv, utf8
from viva.models import Endpoint
from viva.models.textonly import TextOnly
from viva.types import Generate, Response, StopReason, Usage

KEPT = "{run}/"
"""What the path of a file begins with that lies in the run's own folder, wherever that is moved to."""

_LONGEST = 64 << 20
"""Characters of a field of CSV: a reply may be longer than the 128 KiB that Python takes."""
_QUESTION = ("question", "question_id", "id", "ID", "case")
_TEXT = ("text", "reply", "response", "answer", "output", "completion")

RATIO = 200
"""How many times smaller than its content a gzipped file may be; answers reach about 50."""
SMALL = 16 << 20
"""Bytes that are no danger whatever they were packed into."""


class _Recorded(Struct):
    """What a file of answers holds; see `Replay`."""

    answers: dict[tuple[str, int], Response]
    errors: dict[tuple[str, int], str]
    mended: list[int]
    question_column: str


class Replay(TextOnly):
    """A file of answers, or what will be its content."""

    def __init__(self, path: Path, *, shown: str = "", content: bytes | None = None) -> None:
        """Raises DataError for a file that cannot be read; what is in it is decoded when first asked for."""
        self.name = shown or f"replay/{path.name}"  # not the path: names go into tables and signatures
        self.rate_limit_group = "replay"
        self._path, self._content = path, content
        self._found: _Recorded | None = None
        if content is None and path.is_dir():
            self._found, content = _folder(path)
        elif content is None:
            content = _read(path)
        self.identity: Mapping[str, str] = {
            "provider": "replay",
            "model": path.name,
            "sha256": _digest(content),
        }

    @property
    def _recorded(self) -> _Recorded:
        """Raises DataError for a file that is no table of answers: tables of a finished run need none of them."""
        if self._found is None:
            content = _read(self._path) if self._content is None else self._content
            if _digest(content) != self.identity["sha256"]:
                raise DataError(f"the answer file {self._path} was changed while it was in use; begin again")
            self._found, self._content = _decoded(self._path, content), None
        return self._found

    @property
    def answers(self) -> dict[tuple[str, int], Response]:
        """Every answer, by question and sample."""
        return self._recorded.answers

    @property
    def errors(self) -> dict[tuple[str, int], str]:
        """Why there is no answer, where a row says so."""
        return self._recorded.errors

    @property
    def mended(self) -> list[int]:
        """Lines with half of a surrogate pair, which nobody can write down: a question mark stands in its place."""
        return self._recorded.mended

    @property
    def question_column(self) -> str:
        """What the file calls the column of the question's id."""
        return self._recorded.question_column

    @property
    def samples(self) -> int:
        """How many answers a question has at most."""
        return 1 + max(sample for _, sample in (*self.answers, *self.errors))

    async def answer(self, request: Generate) -> Response:
        """The recorded answer."""
        found = self.answers.get((request.question, request.sample))
        if found is None:
            if why := self.errors.get((request.question, request.sample)):
                raise ModelError("missing", why)
            what = f"question {request.question}, sample {request.sample}"
            raise ModelError("missing", f"{self._path.name} has no answer to {what}")
        return found

    async def close(self) -> None:
        """Nothing to close."""


def _read(path: Path) -> bytes:
    try:
        file = reading(path, follow=True)
        size = os.fstat(file.fileno()).st_size
        with file:
            if path.suffix != ".gz":
                return file.read()
            with gzip.open(file) as packed:
                content = packed.read(size * RATIO + SMALL + 1)
        if len(content) > size * RATIO + SMALL:
            raise DataError(f"{path} unpacks to more than {RATIO} times its size: no answers do; unpack it first")
        return content
    except FileNotFoundError:
        raise DataError(f"there is no answer file {path}") from None
    except (OSError, EOFError, zlib.error) as problem:
        raise DataError(f"cannot read the answer file {path}: {problem}") from None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _decoded(path: Path, content: bytes) -> _Recorded:
    found = _Recorded({}, {}, [], "")
    for column, key, answer in _answers(path, content, found.mended):
        found.question_column = found.question_column or column
        if isinstance(answer, Response):
            found.answers[key] = answer
        elif answer:
            found.errors[key] = answer
    if not found.answers and not found.errors:
        raise DataError(f"the answer file {path} holds no answers")
    return found


def _folder(folder: Path) -> tuple[_Recorded, bytes]:
    """A folder of text files, read as UTF-8 with whatever line ends, and not trimmed; and all of it for the hash."""
    answers: dict[tuple[str, int], Response] = {}
    everything = bytearray()
    for file in sorted(folder.rglob("*.txt")):
        if not file.is_file() or file.is_symlink():
            continue
        question, sample = _named(file.relative_to(folder))
        if (question, sample) in answers:
            raise DataError(f"{file}: a second answer to question {question}, sample {sample}")
        content = _read(file)
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as problem:
            raise DataError(f"{file} is not UTF-8: {problem}") from None
        answers[question, sample] = Response(text=text.replace("\r\n", "\n").replace("\r", "\n"))
        everything += f"{question}\0{sample}\0{len(content)}\0".encode() + content
    if not answers:
        raise DataError(
            f"the folder {folder} holds no answers: expected files such as QUESTION/0.txt or QUESTION_0.txt"
        )
    return _Recorded(answers, {}, [], "question"), bytes(everything)


def _named(path: Path) -> tuple[str, int]:
    """`q/3.txt`, `q/answer_3.txt`, `q_3.txt` → ("q", 3); `q.txt` → ("q", 0)."""
    stem, _, number = path.stem.rpartition("_")
    if len(path.parts) > 1:
        digits = number if number.isdecimal() else path.stem
        return path.parts[-2], int(digits) if digits.isdecimal() else 0
    return (stem, int(number)) if stem and number.isdecimal() else (path.stem, 0)


def _answers(path: Path, content: bytes, mended: list[int]) -> Iterator[tuple[str, tuple[str, int], Response | str]]:
    """The column of the question, whose answer it is, and the answer; where there is none, why ("" where unsaid)."""
    table = path.name.removesuffix(".gz").endswith(".csv")
    seen: set[tuple[str, int]] = set()
    rows: Iterable[tuple[int, Mapping[str, object]]] = (
        read_csv(path, utf8(content, f"{path} is no CSV in UTF-8"), longest=_LONGEST, unnamed=True)[1]
        if table
        else _json_rows(path, content, mended)
    )
    for line, row in rows:
        where = f"{path}, line {line}"
        question = _column(row, _QUESTION, where)
        text = _column(row, _TEXT, where)
        sample = row.get("sample") or 0
        if isinstance(sample, bool) or (not isinstance(sample, int) and not str(sample).isdecimal()):
            raise DataError(f"{where}: sample {sample!r} is no whole number from 0")
        stop = str(row.get("stop_reason") or "stop")
        key = (str(question), int(str(sample)))
        if key[1] < 0:
            raise DataError(f"{where}: sample {sample!r} is no whole number from 0")
        if key in seen:
            raise DataError(
                f"{where}: a second answer to question {key[0]}, sample {key[1]}; number the samples 0, 1, ..."
            )
        seen.add(key)
        reason = cast("StopReason", stop if stop in get_args(StopReason) else "other")
        column = next(name for name in _QUESTION if name in row)
        # null is how some tools write down a request that failed: no answer, not an empty one
        if text is None:
            error = row.get("error")
            yield column, key, error[:500] if isinstance(error, str) else ""
            continue
        yield column, key, Response(text=str(text), stop_reason=reason, usage=_usage(row.get("usage")))


def _usage(given: object) -> Usage | None:
    """Tokens, where a row says them as Viva does."""
    if not isinstance(given, dict):
        return None
    counts = given.get("input"), given.get("output")
    if not all(isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 2**53 for count in counts):
        return None
    return Usage(*cast("tuple[int, int]", counts))


def _json_rows(path: Path, content: bytes, mended: list[int]) -> Iterator[tuple[int, dict[str, object]]]:
    decode = msgspec.json.Decoder(dict[str, object]).decode
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        try:
            yield number, decode(line)
        except UNREADABLE as problem:
            row = _mended(line)
            if row is None:
                raise DataError(f"{path}, line {number} is no JSON object: {problem}") from None
            mended.append(number)
            yield number, row


def _mended(line: bytes) -> dict[str, object] | None:
    """A line whose texts cannot be written as they are: a token limit cut an emoji in two, say. None for no JSON."""
    try:
        refuse_depth(found := json.loads(line.decode()))
        text = json.dumps(found, ensure_ascii=False).encode("utf-8", "replace")
        return msgspec.json.decode(text, type=dict[str, object])
    except UNREADABLE:
        return None


def _column(row: Mapping[str, object], names: tuple[str, ...], where: str) -> object:
    for name in names:
        if name in row:
            return row[name]
    raise DataError(f"{where}: no column {names[0]!r}; it has: {', '.join(map(repr, row))}")


def connect(name: str, endpoint: Endpoint) -> Replay:
    """`name` is the path of the file."""
    return Replay(Path(name), shown=endpoint.shown)


def located(name: str, folder: Path) -> str:
    """A model's name with the path of a file that its run keeps, the run being at `folder`."""
    start = f"replay/{KEPT}"
    inside = name.removeprefix(start)
    if not name.startswith(start):
        return name
    if "/" in inside or inside in ("", ".", ".."):
        raise DataError(f"run.json names {name[:200]!r}, which is no file of its folder")
    return f"replay/{folder / inside}"
