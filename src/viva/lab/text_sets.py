"""Sets of texts to measure: a field of every question of a benchmark or question file, or a column of any file.

    csbench                      a benchmark by its name
    exam.yaml                    a question file of one's own
    test.jsonl, valid.csv        a text a row: the column that --field names
    set.json                     the same, as one list of objects
    notes.txt                    a text a line; with `--field whole` the file is one text
    folder/                      all files of these kinds in it, in the order of their names

`NAME=SET` gives a set another name; sets of one name are one set.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from viva.benchmarks import BENCHMARKS, CUSTOM, find_benchmark, question_file
from viva.benchmarks.basics import holds_json_list, read_bytes, spread
from viva.errors import DataError, VivaError, option
from viva.io import bounded
from viva.io.tables import read_csv, utf8
from viva.prompting import replace_surrogates
from viva.runs.config import TaskOptions
from viva.runs.exams import data_notes, open_exams
from viva.types import Question
from viva.visible import one_line, some

WHOLE = "whole"
FIELDS = ("question", "options", "answer", "explanation", WHOLE)
"""Fields of a question that can be measured."""
TABLES = (".jsonl", ".csv", ".json", ".txt")
FILE = "file"
"""Tag of texts from files: the file's name."""

Row = Mapping[str, object]


class Text(Struct, frozen=True):
    """One text, with its place and the value of the tag for separate figures."""

    id: str
    text: str
    tag: str = ""


class TextSet(Struct, kw_only=True):
    """A set's measurable texts; `empty`: number of its items without text in this field."""

    name: str
    texts: list[Text] = []
    empty: int = 0
    notes: list[str] = []

    @property
    def listed(self) -> int:
        """Number of items, with or without text."""
        return len(self.texts) + self.empty

    @property
    def fingerprint(self) -> str:
        """12 hexadecimal digits over the texts and their tags, independent of their order."""
        parts = sorted((text.text, text.tag) for text in self.texts)
        return hashlib.blake2b(msgspec.json.encode(parts), digest_size=6).hexdigest()

    def add(self, identity: str, text: str | None, tag: str) -> None:
        """Add an item. Lone surrogates become question marks: they can be neither written nor sent."""
        if text is None or not text.strip():
            self.empty += 1
        else:
            self.texts.append(Text(identity, replace_surrogates(text), tag))


def open_sets(given: Sequence[str], field: str, by: str | None, choice: TaskOptions) -> list[TextSet]:
    """Return the named sets, in order. Raises DataError for an invalid set, or one without text in this field."""
    sets: dict[str, TextSet] = {}
    for each in given:
        name, source = named_set(each)
        if source in BENCHMARKS or (question_file(source) and not holds_json_list(Path(source))):
            opened = _of_questions(name, source, field, by, fitting(choice, source, alone=len(given) == 1))
        else:
            opened = [_of_files(name, Path(source), field, by, choice.limit)]
        for new in opened:
            if new.name in sets and not name:
                raise VivaError(f"two sets are both called {new.name!r}: name one of them otherwise, NAME={source}")
            known = sets.setdefault(new.name, TextSet(name=new.name))
            known.texts += new.texts
            known.empty += new.empty
            known.notes += new.notes
    for one_set in sets.values():
        if not one_set.texts:
            raise DataError(
                f"{one_set.name}: none of its {one_set.listed:,} items has a text in the field {field!r}; "
                f"take another {option('field')}"
            )
    return list(sets.values())


def named_set(given: str) -> tuple[str, str]:
    """Return name and set of `NAME=SET`, unless a file has this whole name."""
    name, equals, source = given.partition("=")
    return ("", given) if not equals or Path(given).exists() else (replace_surrogates(name.strip()), source)


def fitting(choice: TaskOptions, source: str, *, alone: bool) -> TaskOptions:
    """Return the options with only the set's languages, if other sets may have the rest."""
    if alone or question_file(source):
        return choice
    supported = (*find_benchmark(source).about.languages, "all")
    named = [part.strip() for given in choice.language for part in given.split(",")]
    return msgspec.structs.replace(choice, language=tuple(part for part in named if part in supported))


def _of_questions(name: str, source: str, field: str, by: str | None, choice: TaskOptions) -> list[TextSet]:
    if field not in FIELDS:
        raise VivaError(f"{field!r}: the questions of {source} have {', '.join(FIELDS)}", field="field")
    opened = open_exams((source,), choice)
    sets: list[TextSet] = []
    for exam, data in opened:
        called = exam.spec.label
        opened_set = TextSet(name=called if not name else name if len(opened) == 1 else f"{name}-{exam.spec.language}")
        opened_set.notes = [] if exam.spec.benchmark == CUSTOM else data_notes(exam, data)
        for question in exam.questions():
            if by is not None and by not in question.tags:
                raise DataError(
                    f"{by!r}: a question of {called} has only {listed(question.tags) or 'no tags'}", field="by"
                )
            for _ in range(question.weight):
                opened_set.add(question.id, field_of(question, field), question.tags[by] if by else "")
        sets.append(opened_set)
    return sets


def field_of(question: Question, field: str) -> str | None:
    """Return the text of a field. Options are a line each; the answer to a choice is the text of the right options.

    `whole` is the question, its options behind their letters, the answer as the set gives it, the explanation: the text
    of a file that lists them in this order.
    """
    letters = [chr(ord("A") + index) for index in range(len(question.options))]
    if field == "question":
        return question.text
    if field == "options":
        return "\n".join(question.options)
    if field == "explanation":
        return question.explanation
    if field == "answer":
        options = dict(zip(letters, question.options, strict=True))
        if question.answer and question.kind in ("choice", "choices") and set(question.answer) <= options.keys():
            return "\n".join(options[letter] for letter in question.answer)
        return question.answer
    lettered = [f"{letter}. {text}" for letter, text in zip(letters, question.options, strict=True)]
    parts = (question.text, *lettered, question.answer or "", question.explanation)
    return "\n".join(part for part in parts if part.strip())


def _of_files(name: str, path: Path, field: str, by: str | None, limit: int | None) -> TextSet:
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix.lower() in TABLES and file.is_file())
    else:
        files = [path]
    if not path.exists() or not files or files[0].suffix.lower() not in TABLES:
        kinds = ", ".join(TABLES)
        raise DataError(
            f"there is no set {str(path)!r}: name a benchmark ({', '.join(BENCHMARKS)}), a question file (.yaml), a "
            f"file ({kinds}) or a folder of such files"
        )
    text_set = TextSet(name=name or replace_surrogates(path.stem))
    rows = [(file, place, row) for file in files for place, row in _rows(file, field)]
    if rows and not any(field in row for _, _, row in rows):
        raise DataError(
            f"{path} has no column {field!r}; it has: {listed(rows[0][2])}; {option('field')} names the column"
        )
    for index in spread(len(rows), limit):
        file, place, row = rows[index]
        where = f"{file}, {place}"
        identity = row.get("id", row.get("ID"))
        plain = isinstance(identity, (str, int)) and not isinstance(identity, bool) and identity != ""
        called = str(identity) if plain else f"{file.stem}/{place}" if len(files) > 1 else place
        text_set.add(replace_surrogates(called), cell_text(row.get(field), field, where), _tag(row, by, file, where))
    return text_set


def cell_text(value: object, field: str, where: str) -> str | None:
    """Return a cell as text, None if empty. Raises DataError for other values."""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "\n".join(value)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise DataError(f"{where}: {field} is no text: {_shown(value)}")


def _tag(row: Row, by: str | None, file: Path, where: str) -> str:
    if by is None:
        return ""
    tags = row.get("tags")
    value = row.get(by, tags.get(by) if isinstance(tags, dict) else None)
    if value is None and by == FILE:
        return replace_surrogates(file.stem)
    if value is None:
        raise DataError(f"{where}: no column {by!r} to break down by; it has: {listed(row)}")
    if isinstance(value, (dict, list)):
        raise DataError(f"{where}: {by} is no plain value: {_shown(value)}")
    return replace_surrogates(str(value))


def _rows(path: Path, field: str) -> Iterator[tuple[str, Row]]:
    """Yield the rows of a file with their places in it. Raises DataError for a damaged file."""
    kind = path.suffix.lower()
    if kind == ".jsonl":
        yield from ((f"line {number}", row) for number, row in bounded.rows(path))
    elif kind == ".json":
        rows = enumerate(json_rows(bounded.document(path), str(path)), 1)
        yield from ((f"item {number}", row) for number, row in rows)
    else:
        text = utf8(read_bytes(path), f"{path} is not UTF-8: save it in that encoding")
        if kind == ".csv":
            yield from ((f"line {line}", row) for line, row in read_csv(path, text)[1])
        elif field == WHOLE:
            yield "all of it", {WHOLE: text}
        else:
            # Not `splitlines`: a form feed or a Unicode line separator is part of a text.
            lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
            yield from ((f"line {number}", {field: line}) for number, line in enumerate(lines, 1) if line.strip())


def json_rows(content: object, where: str) -> list[dict[str, Any]]:
    """Return the objects of a JSON document that is a list of objects. Raises DataError for any other."""
    if not isinstance(content, list):
        raise DataError(f"{where} holds no list of objects: write `[{{...}}, ...]`, or a .jsonl file")
    for number, row in enumerate(content, 1):
        if not isinstance(row, dict):
            raise DataError(f"{where}, item {number} is no JSON object: {_shown(row)}")
    return content


def listed(names: Iterable[str]) -> str:
    """Return known names for an error message, at most 20."""
    return some([repr(one_line(name, 40)) for name in names], 20)


def _shown(value: object) -> str:
    return one_line(repr(value)[:400], 60)
