"""The questions of a card's table, read once for defects, once more if some are alike, and on every iteration.

Of a large table nothing is kept but eight bytes a question, so that a million of them pass in constant memory.

Rows as templates of lm-evaluation-harness see them: with the columns and kinds of numbers of one Arrow table.

Templates depend on both: `{{n}}` of 3 is not that of 3.0, `{{x is none}}` fails where there is no x. So a key that
some objects of JSON lack is null there, a column with both kinds of numbers holds fractions, and the cells of CSV
are numbers or truth values where all of a column are. Parquet and Arrow are that already.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from viva.benchmarks.basics import read_bytes
from viva.benchmarks.card.cardmodel import Card
from viva.benchmarks.card.cells import FILE, LETTERS, NO_COLUMN, ROW, VALUES, columns_of
from viva.benchmarks.card.questions import Read, is_asked, read_row, tags_of
from viva.benchmarks.custom.strictfields import FLAGS
from viva.errors import DataError, option
from viva.io.tables import SPLITS, Record, files_of, fingerprint_of, plain_stem, records, split_of, suffix_of
from viva.sources.sourcelist import sources
from viva.types import Defect, Question
from viva.visible import one_line

_WHOLE = re.compile(r"[+-]?\d{1,18}")
_FRACTION = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?")


def typed(files: Sequence[Path], columns: Sequence[str] = ()) -> Iterator[tuple[Path, int, Record]]:
    """Yield file, number and typed content of each row of some files; each file is read twice. Raises DataError."""
    kinds: dict[str, set[str]] = {}
    for path in files:
        spelled = _is_delimited(path)
        for _, row in records(path, columns):
            for name, value in row.items():
                kinds.setdefault(name, set()).add(_spelled(value) if spelled else type(value).__name__)
    for path in files:
        spelled = _is_delimited(path)
        for number, row in records(path, columns):
            yield path, number, {name: _cell(row.get(name), kinds[name], spelled=spelled) for name in kinds}


def _is_delimited(path: Path) -> bool:
    return suffix_of(path) in (".csv", ".tsv")


def _spelled(cell: str) -> str:
    """Return the name of the type that a cell of CSV spells."""
    if cell in VALUES["missing"]:
        return "NoneType"
    if _WHOLE.fullmatch(cell):
        return "int"
    if _FRACTION.fullmatch(cell):
        return "float"
    return "bool" if cell in FLAGS else "str"


def _cell(value: Any, kinds: set[str], *, spelled: bool) -> Any:
    if not spelled:
        return float(value) if kinds - {"NoneType"} == {"int", "float"} and isinstance(value, int) else value
    if value is None or value in VALUES["missing"]:
        return None
    if kinds == {"int"}:
        return int(value)
    if kinds <= {"int", "float", "NoneType"}:
        return float(value)
    return FLAGS[value] if kinds == {"bool"} else value


LARGE = 100_000
"""A table of more questions is read again on every iteration."""
MOST_TAGS = 2_000
"""A tag with more values gets no table."""
_SPLIT_END = re.compile(rf"[-_.](?:{'|'.join(SPLITS)})(?:-\d+-of-\d+)?\Z|-\d+-of-\d+\Z", re.IGNORECASE)


class CardData(Struct, frozen=True):
    """The data of the card at `path`: the files that it names, or `given` by the user."""

    card: Card
    path: Path
    given: Path | None

    def _named(self) -> list[Path]:
        declared = [self.card.data] if isinstance(self.card.data, str) else self.card.data
        return [self.given] if self.given else [named_path(self.path.parent, name) for name in declared if name]

    def files(self) -> list[Path]:
        """Return the files of the questions. Raises DataError where there is none."""
        named = self._named()
        if not named:
            sets = ", ".join(name for name, source in sources().items() if source.card == self.path.stem)
            read = f"; it reads the sets {sets}" if sets else ""
            raise DataError(f"the card names no `data`: say it there, or with {option('data', 'FILE')}{read}")
        split = "" if self.given and not self.given.is_dir() else self.card.split
        return [file for place in named for file in files_of(place, split)]

    def shown_files(self) -> list[Path]:
        """Return the files of the exemplars. Raises DataError where there is none."""
        shown = self.card.shown
        if shown.data:
            return files_of(named_path(self.path.parent, shown.data), shown.split)
        if not shown.split:
            raise DataError(
                "needs exemplars, and the card names none: add `exemplars: FILE` (rows as in `data`)", field="shots"
            )
        named = self._named()
        root = _folder_of(named[0])
        try:
            return files_of(root, shown.split)
        except DataError:
            there = {split_of(file, root) for place in named if place.is_dir() for file in files_of(place)} - {""}
            more = f" (it has {', '.join(sorted(there))})" if there else ""
            raise DataError(
                f"needs the split {shown.split!r}, and {root} has no table of it{more}: name the file in "
                "`exemplars: {data: FILE}`",
                field="shots",
            ) from None

    def text(self, name: str) -> bytes:
        """Return a text of the set. Raises DataError where it is not there."""
        return read_bytes((_folder_of(self.given) if self.given else self.path.parent) / name)


def _folder_of(data: Path) -> Path:
    return data if data.is_dir() else data.parent


def named_path(folder: Path, given: str) -> Path:
    """Return a path that the card in `folder` names. Raises DataError where a card of a run folder, which is
    untrusted, names one outside of it.
    """
    path = folder / Path(given).expanduser()
    run = next((parent for parent in (folder, *folder.parents)[:4] if (parent / "run.json").exists()), None)
    if run is not None and not path.resolve().is_relative_to(run.resolve()):
        raise DataError(
            f"a card in a run folder reads nothing outside of it, and this one names {one_line(given, 200)}"
        )
    return path


def file_names(files: Sequence[Path]) -> dict[Path, str]:
    """Return each file's value of `$file`: its name without the split at its end; of several files named by their split
    alone (SUBJECT/val-00000-of-00001.parquet), the folder's.
    """
    stems = {path: plain_stem(path) for path in files}
    names = {path: _SPLIT_END.sub("", stem) or stem for path, stem in stems.items()}
    return {path: path.parent.name if len(files) > 1 and name in SPLITS else name for path, name in names.items()}


class QuestionTable:
    """The questions of some files, in their order. Iterable any number of times."""

    def __init__(self, card: Card, files: Sequence[Path], seed: int) -> None:
        self.card, self.files, self._seed = card, files, seed
        self._names = ""
        self._begin()
        ids, contents = array("q"), array("q")
        kept: list[Read] | None = []
        for read in self._reads():
            ids.append(_digest(read.question.id))
            contents.append(_digest("\0".join((read.question.text, *sorted(read.question.options)))))
            self._note(read)
            if len(ids) > LARGE:
                kept = None
            elif kept is not None:
                kept.append(read)
        self._twice = _repeated(ids)
        self._alike = _repeated(contents)
        self._length = len(ids)
        self._kept: list[Read] | None = None
        if not self._length:
            which = " that the card's `where` takes" if card.where else ""
            raise DataError(f"{', '.join(map(str, files[:3]))}: there is no row in it{which}")
        if self._twice or self._alike:  # only now it is known which, so all are read again
            self._begin()
            examined = self._examined(self._reads() if kept is None else kept, contents)
            if kept is None:
                deque(examined, maxlen=0)
            else:
                kept = list(examined)
        self._kept = kept
        self.defects += [
            Defect(tag, "no row has this tag", "a slip in the card?", "noted")
            for tag, values in self.values.items()
            if values.keys() == {"none"}
        ]
        if not self.sound:
            self._refuse()

    def _begin(self) -> None:
        self.defects: list[Defect] = []
        self.values: dict[str, Counter[str]] = {tag: Counter() for tag in tags_of(self.card)}
        """Tag → value → number of questions; of a tag with too many values, those met first."""
        self.sound = 0

    def _note(self, read: Read) -> None:
        self.defects += read.defects
        self.sound += read.question.answer is not None
        for tag, values in self.values.items():
            value = read.question.tags[tag]
            if value in values or len(values) <= MOST_TAGS:
                values[value] += 1

    def fingerprint(self) -> bytes:
        """Return a digest of the files."""
        return fingerprint_of(self.files)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Question]:
        return (read.question for read in self.reads())

    def reads(self) -> Iterator[Read]:
        """Return the questions with their rubrics."""
        return iter(self._kept) if self._kept is not None else self._unique(self._reads())

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows that are asked, as read, with the columns that every table has."""
        names = file_names(self.files)
        for path, number, row in self._records():
            row |= {FILE: names[path], ROW: number}
            if is_asked(self.card, row):
                yield row

    def _records(self) -> Iterator[tuple[Path, int, dict[str, Any]]]:
        if self.card.lm_eval is not None:
            yield from typed(self.files, self.card.columns)
            return
        for path in self.files:
            for number, row in records(path, self.card.columns, self.card.encoding):
                yield path, number, row

    def _reads(self) -> Iterator[Read]:
        several = len(self.files) > 1
        row: dict[str, Any] = {}
        for seen, row in enumerate(self.rows()):
            if not seen:
                self._refuse_absent(row)
            place = f"{row[FILE]}/{row[ROW]}" if several else str(row[ROW])
            yield read_row(self.card, row, place, self._seed)
        self._names = _names(row)

    def _refuse_absent(self, row: dict[str, Any]) -> None:
        """Raise DataError for a template's column that the table does not have: a slip in the card, most likely."""
        for column in columns_of(self.card.question, row) if self.card.question else ():
            if column not in row and "." not in column:
                raise DataError(f"{self.files[0]} has no column {column!r}; it has {_names(row)}")

    def _unique(self, reads: Iterable[Read]) -> Iterator[Read]:
        """Yield questions with unique ids: of those that share one, only the first can be asked."""
        known: set[str] = set()
        for place, read in enumerate(reads):
            identity = read.question.id
            if self._twice and _digest(identity) in self._twice:
                if identity in known:
                    detail = f"row {place + 1:,}: {one_line(identity, 60)!r} is the id of an earlier row"
                    called = f"{identity}#{place}"
                    question = msgspec.structs.replace(
                        read.question, id=called, answer=None, explanation=f"the id stands there twice: {detail}"
                    )
                    read = Read(question, [Defect(called, "the id stands there twice", detail, "unsound")])  # noqa: PLW2901
                else:
                    known.add(identity)
            yield read

    def _examined(self, reads: Iterable[Read], contents: Iterable[int]) -> Iterator[Read]:
        first: dict[int, Question] = {}
        for read, digest in zip(self._unique(reads), contents, strict=False):
            question = read.question
            self._note(read)
            if digest in self._alike and question.answer is not None:
                before = first.setdefault(digest, question)
                if before is not question:
                    self.defects.append(_again(question, before))
            yield read

    def _refuse(self) -> None:
        """Raise DataError, as no row is sound, with what the first ones lack and what the card may mean instead."""
        kinds_of_defects = Counter(defect.kind for defect in self.defects if defect.action == "unsound")
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in kinds_of_defects.most_common(4))
        worst = kinds_of_defects.most_common(1)[0][0]
        example = next(defect for defect in self.defects if defect.kind == worst)
        if worst == NO_COLUMN:
            raise DataError(f"no row has what the card names: {example.detail}; the columns are {self._names}")
        column = self.card.gold.column
        hint = {
            "gold is no letter": f"; where it is an index, say `answer: {{column: {column}, as: index, from: 0}}`, "
            "where it is the option's text, `as: text`",
            "gold is no index": f"; where it is a letter, say `answer: {column}`, where it is a text, `as: text`",
            "gold is none of the options": "; does an index count `from: 0` or `from: 1`?",
            "no options": "; several columns are named as in `options: [A, B, C, D]`",
        }.get(worst, "")
        raise DataError(
            f"none of the {self._length:,} rows can be graded with this card: {kinds}. "
            f"Row {one_line(example.question, 60)}: {one_line(example.detail, 200)}{hint}"
        )


def _again(question: Question, before: Question) -> Defect:
    same = sorted(_gold_texts(question)) == sorted(_gold_texts(before))
    kind = "the question stands there twice" if same else "the question stands there twice, with another gold"
    return Defect(question.id, kind, f"as {one_line(before.id, 60)!r}", "noted")


def _gold_texts(question: Question) -> list[str]:
    answer = question.answer or ""
    if question.options:
        return [text for letter, text in zip(LETTERS, question.options, strict=False) if letter in answer]
    return [answer]


def _digest(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little", signed=True)


def _repeated(digests: array[int]) -> frozenset[int]:
    """Return the digests that occur more than once."""
    import numpy as np

    values, counts = np.unique(np.frombuffer(digests, dtype=np.int64), return_counts=True)
    return frozenset(values[counts > 1].tolist())


def _names(row: dict[str, Any]) -> str:
    return ", ".join(one_line(repr(name), 60) for name in row if name not in (FILE, ROW))[:600] or "none"
