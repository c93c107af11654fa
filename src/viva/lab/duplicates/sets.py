"""The sets of `viva overlap`: questions of benchmarks, question files and runs, rows of files, and corpora."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
from msgspec import Struct

from viva.benchmarks import BENCHMARKS, question_file
from viva.benchmarks.basics import holds_json_list, spread
from viva.engine.folder import RunFolder
from viva.errors import DataError, VivaError, option
from viva.io.bounded import decoded
from viva.lab.duplicates.corpora import corpus_files, pieces_of, text_of
from viva.lab.text_sets import FIELDS, field_of, fitting, named_set
from viva.prompting import replace_surrogates
from viva.runs.config import TaskOptions
from viva.runs.exams import data_notes, open_exams, reopen
from viva.types import Question
from viva.visible import one_line

ASKED = "asked"
"""Name of the field of a question with its options, as models see it."""
LARGEST = 1_000_000
"""The most questions of a set; more are a corpus, for --with."""


class Opened(Struct, kw_only=True):
    """A set: texts with their names, or the files of a corpus, which are read as they are compared."""

    name: str
    texts: list[tuple[str, str]] = []
    files: list[Path] = []
    notes: list[str] = []

    @property
    def size(self) -> int:
        """Bytes of the files, or characters of the texts."""
        if self.files:
            return sum(file.stat().st_size for file in self.files)
        return sum(len(text) for _, text in self.texts)

    @property
    def fingerprint(self) -> str:
        """12 hexadecimal digits over the texts, independent of their order."""
        texts = sorted(text.encode("utf-8", "replace").decode() for _, text in self.texts)
        return hashlib.blake2b(msgspec.json.encode(texts), digest_size=6).hexdigest()


def open_set(given: str, field: str, choice: TaskOptions) -> Opened:
    """Return the set to search for. Raises DataError for an invalid set, or one without text in this field."""
    name, source = named_set(given)
    questions = _questions(source, field, choice)
    opened = questions or _rows(Path(source), "" if field == ASKED else field, choice.limit)
    opened.name = name or opened.name
    opened.texts = [(label, text) for label, text in opened.texts if text.strip()]
    if not opened.texts:
        raise DataError(f"{opened.name}: no question has a text in the field {field!r}; take another {option('field')}")
    return opened


def open_other(given: str, field: str, choice: TaskOptions, *, compared: str) -> Opened:
    """Return a set or corpus for comparison with the set `compared`, in its languages. Raises DataError if invalid."""
    name, source = named_set(given)
    every = msgspec.structs.replace(choice, limit=None)
    if source in BENCHMARKS:
        every = fitting(every, source, alone=named_set(compared)[1] not in BENCHMARKS)
    opened = _questions(source, field if field in (ASKED, *FIELDS) else ASKED, every)
    if opened is None:
        path = Path(source)
        opened = Opened(name=replace_surrogates(path.name), files=corpus_files(path))
    opened.name = name or opened.name
    return opened


def _questions(source: str, field: str, choice: TaskOptions) -> Opened | None:
    """Return the questions of a benchmark, a question file or a run; None for anything else."""
    path = Path(source)
    run = (path / "run.json").is_file()
    if source in BENCHMARKS or (question_file(source) and not holds_json_list(path)):
        exams = open_exams((source,), choice)
    elif run:
        exams = [
            (reopen(record), Path(record.data) if record.data else None) for record in RunFolder.open(path).record.exams
        ]
    else:
        return None
    if field not in (ASKED, *FIELDS):
        raise VivaError(f"{field!r}: the questions of {source} have {', '.join((ASKED, *FIELDS))}", field="field")
    opened = Opened(name=replace_surrogates(path.name) if run else "+".join(exam.spec.label for exam, _ in exams))
    for exam, data in exams:
        # `viva check` reports defects of the data; only the note on the bundled sample is repeated here.
        opened.notes += [note for note in data_notes(exam, data) if "bundled sample" in note]
        prefix = f"{exam.spec.label}/" if len(exams) > 1 else ""
        opened.texts += [(prefix + question.id, _asked(question, field) or "") for question in exam.questions()]
    return opened


def _asked(question: Question, field: str) -> str | None:
    return "\n".join((question.text, *question.options)) if field == ASKED else field_of(question, field)


def _rows(path: Path, column: str, limit: int | None) -> Opened:
    """Return the texts of files as a set of questions: a row, or a line, a question."""
    opened = Opened(name=replace_surrogates(path.stem))
    for piece in pieces_of(corpus_files(path), 0, column, "line"):
        opened.texts += [(place, text) for place, text, _ in piece.documents]
        for number, line in enumerate(piece.lines, piece.first):
            if line.strip():
                opened.texts.append(_of_line(line, f"{piece.place}:{number}", column))
        if len(opened.texts) > LARGEST:
            raise DataError(
                f"{path} has more than {LARGEST:,} texts: name the smaller set first, and this one behind "
                f"{option('with')}"
            )
    # Places without their common folder.
    kept = (opened.texts[index] for index in spread(len(opened.texts), limit))
    opened.texts = [(place.removeprefix(f"{path}:"), text) for place, text in kept]
    return opened


def _of_line(line: bytes, place: str, column: str) -> tuple[str, str]:
    row = decoded(line, place)
    if not isinstance(row, dict):
        raise DataError(f"{place} is no JSON object: {one_line(repr(row)[:200], 60)}")
    identity = row.get("id", row.get("ID"))
    called = one_line(str(identity), 100) if isinstance(identity, (int, str)) and identity != "" else place
    return called, text_of(row, column, place)
