"""Answers collected elsewhere, played back as if a model had just given them.

JSONL or CSV (also gzipped) with the columns `question` (or `id`, `case`), `text` (or `reply`, `response`, `answer`) and
optionally `sample` (0 by default), `stop_reason`, `usage` (`input`, `output`: tokens) and, where there is no text,
`error` (why); anything else in a row is left alone. Or a folder of text files, one
an answer: QUESTION/SAMPLE.txt or QUESTION_SAMPLE.txt (or QUESTION.txt where there is only one). InfiBench's authors'
are read as they lie: eval_ID_SAMPLE.txt, and their packer's CSV (`filename`, `completion`, a row an answer).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from viva.contracts import TextOnly
from viva.errors import DataError, ModelError
from viva.files import reading
from viva.io.bounded import no_bomb, whole
from viva.io.tables import read_csv, unpacking, utf8
from viva.models.answerlines import (
    AnswerRow,
    JsonLines,
    LineAnswers,
    Recorded,
    answer_row,
    changed,
    explained,
    question_id,
    second,
)
from viva.providers import Endpoint
from viva.types import Generate, Response

KEPT = "{run}/"
"""Prefix of the path of a file in the run's own folder, which may be moved."""

_LONGEST = 64 << 20
"""Most characters of a field of CSV: a reply may exceed Python's default of 128 KiB."""


class Replay(TextOnly):
    """A file of answers, or its future content in memory, as a model."""

    def __init__(self, path: Path, *, shown: str = "", content: bytes | None = None) -> None:
        """Raise DataError for a file that cannot be read; its content is decoded on first use."""
        self.name = shown or f"replay/{path.name}"  # without the path, since names go into tables and signatures
        self.rate_limit_group = "replay"
        self._path, self._content = path, content
        self._found: Recorded | None = None
        if content is None and path.is_dir():
            self._found, self._content = _folder(path)
        self.identity: Mapping[str, str] = {
            "provider": "replay",
            "model": path.name,
            "sha256": self._lines().digest()[:16],
        }
        if self._found is not None:
            self._content = None

    @property
    def _recorded(self) -> Recorded:
        """The decoded answers, lazily: a finished run's tables need none. Raises DataError for no table of answers."""
        if self._found is None:
            lines = self._lines()
            if lines.digest()[:16] != self.identity["sha256"]:
                raise changed(self._path)
            self._found = _of_table(lines) if _is_table(self._path) else LineAnswers(lines).read()
            self._content = None
            if not self._found.answers and not self._found.errors:
                raise DataError(f"the answer file {self._path} holds no answers")
        return self._found

    def _lines(self) -> JsonLines:
        """Return the file's lines; a packed file or a CSV is read as a whole."""
        whole = self._content is None and (self._path.suffix == ".gz" or _is_table(self._path))
        return JsonLines(self._path, _read(self._path) if whole else self._content)

    @property
    def answers(self) -> Mapping[tuple[str, int], Response]:
        """Every answer, by question and sample."""
        return self._recorded.answers

    @property
    def errors(self) -> dict[tuple[str, int], str]:
        """(question, sample) → why there is no answer, if a row says so."""
        return self._recorded.errors

    @property
    def mended(self) -> list[int]:
        """Numbers of lines with half a surrogate pair, which cannot be encoded and is replaced by a question mark."""
        return self._recorded.mended

    @property
    def question_column(self) -> str:
        """Name of the file's column of question ids."""
        return self._recorded.question_column

    @property
    def sample_numbers(self) -> set[int]:
        """All sample numbers."""
        return self._recorded.samples

    @property
    def samples(self) -> int:
        """Most answers to any question."""
        return 1 + max(self.sample_numbers)

    def questions(self) -> Iterator[str]:
        """Yield the question of every answer, and of every error."""
        return (question for question, _ in itertools.chain(self.answers, self.errors))

    async def answer(self, request: Generate) -> Response:
        """Return the recorded answer."""
        reply = self.answers.get((request.question, request.sample))
        if reply is None:
            if why := self.errors.get((request.question, request.sample)):
                raise ModelError("missing", why)
            what = f"question {request.question}, sample {request.sample}"
            raise ModelError("missing", f"{self._path.name} has no answer to {what}")
        return reply

    async def close(self) -> None:
        """Do nothing."""


def _read(path: Path) -> bytes:
    with explained(path):
        file = reading(path, follow=True)
        with no_bomb(file, unpacking(file, path.suffix)) as unpacked:
            return whole(path, unpacked)


def _is_table(path: Path) -> bool:
    return path.name.removesuffix(".gz").endswith(".csv")


def first_row(path: Path) -> AnswerRow | None:
    """Return the first row of a file of answers; None without any. Raises DataError for an invalid file."""
    if _is_table(path):
        return next((answer_row(row, where) for where, row in _table_rows(JsonLines(path, _read(path)))), None)
    lines = JsonLines(path, _read(path) if path.suffix == ".gz" else None)
    return next((lines.row(number, line, []) for number, _, line in lines), None)


def _table_rows(source: JsonLines) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield (place, row) of a CSV."""
    with source.open() as file:
        content = utf8(file.read(), f"{source.path} is no CSV in UTF-8")
    for line, row in read_csv(source.path, content, longest=_LONGEST, unnamed=True)[1]:
        yield f"{source.path}, line {line}", row


def _of_table(source: JsonLines) -> Recorded:
    """Return the answers of a CSV, which is read as a whole."""
    answers = dict[tuple[str, int], Response]()
    recorded = Recorded(answers, {}, set(), [], "")
    seen: set[tuple[str, int]] = set()
    repeated = Counter[str]()
    for where, row in _table_rows(source):
        name = row.get("filename", "")
        read = answer_row({"sample": str(repeated[name]), **row}, where)
        repeated[name] += bool(name)  # InfiBench's packer repeats a row for each answer
        if read.key in seen:
            raise second(where, read.key)
        seen.add(read.key)
        recorded.take(read)
        if isinstance(read.answer, Response):
            answers[read.key] = read.answer
    return recorded


def _folder(folder: Path) -> tuple[Recorded, bytes]:
    """Return the answers in a folder of text files (UTF-8, any line ends, not trimmed), and all bytes for the hash."""
    answers: dict[tuple[str, int], Response] = {}
    everything = bytearray()
    for file in sorted(folder.rglob("*.txt")):
        if not file.is_file() or file.is_symlink():
            continue
        name, sample = _named(file.relative_to(folder))
        question = question_id(name)
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
            f"the folder {folder} holds no answers: expected files such as QUESTION/0.txt or QUESTION_0.txt, or name "
            "the tables in it one by one"
        )
    return Recorded(answers, {}, {sample for _, sample in answers}, [], "question"), bytes(everything)


def _named(path: Path) -> tuple[str, int]:
    """Return `q/3.txt`, `q/answer_3.txt`, `q_3.txt` → ("q", 3); `q.txt` → ("q", 0)."""
    stem, _, number = path.stem.rpartition("_")
    if len(path.parts) > 1:
        digits = number if number.isdecimal() else path.stem
        return path.parts[-2], int(digits) if digits.isdecimal() else 0
    return (stem, int(number)) if stem and number.isdecimal() else (path.stem, 0)


def connect(name: str, endpoint: Endpoint) -> Replay:
    """Open the replay of a file; `name` is its path."""
    return Replay(Path(name), shown=endpoint.shown)
