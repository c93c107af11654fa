"""Building blocks of exams: finding, reading, fingerprinting and limiting a question set; and parts of `Exam` for
exams without judge, encoder, sandbox or expert review."""

from __future__ import annotations

import hashlib
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from string import ascii_uppercase

from msgspec import UNSET

from viva.contracts import Exam
from viva.errors import DataError, MissingDataError
from viva.files import read_regular
from viva.io.tables import Row, read_csv, utf8
from viva.languages import LANGUAGES, without_words
from viva.prompting import Templates
from viva.scorers.lexicon import after_thinking
from viva.types import (
    Aggregate,
    Compare,
    Constant,
    Defect,
    Evidence,
    ExamSpec,
    Execute,
    Generate,
    Kind,
    Opinion,
    Question,
    Response,
    ReviewItem,
    TableSpec,
)

LARGEST = 4 << 30
"""Bytes of one file of a data set."""


def locate(data: Path, name: str, marker: str) -> Path:
    """Return the folder that holds `marker` (a file or folder name): `data` itself or its sub-folder `name`.

    So `--data` may point at one benchmark's folder, and VIVA_DATA at a folder that holds several.
    """
    for folder in (data, data / name):
        if (folder / marker).exists():
            return folder
    if not data.exists():
        raise DataError(f"there is no data folder {data}")
    raise MissingDataError(
        f"{data} holds no {name} data: expected {marker} in it or in {name}/; `viva fetch {name}` says where to get it"
    )


def read_bytes(path: Path, most: int = LARGEST, *, empty: bool = False) -> bytes:
    """Return a data file's bytes. Raises DataError beyond `most` bytes and, unless `empty` files are allowed, for an
    empty one.
    """
    try:
        content = read_regular(path, most, follow=True)
    except FileNotFoundError:
        raise DataError(f"the file {path} is missing: is its name right?") from None
    except OSError as problem:
        raise DataError(f"cannot read the file {path}: {problem.strerror or problem}") from None
    if not empty and not content.strip():
        raise DataError(f"the file {path} is empty")
    return content


def holds_json_list(path: Path) -> bool:
    """Return whether a .json file holds a list of records; a question file is an object."""
    try:
        with path.open("rb") as file:
            return path.suffix.lower() == ".json" and file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"["
    except OSError:
        return False


def fingerprint(contents: Iterable[bytes]) -> str:
    """Return a fingerprint, twelve hexadecimal digits, of data files in a fixed order."""
    digest = hashlib.sha256()
    for content in contents:
        digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()[:12]


def decoded(path: Path, content: bytes) -> str:
    """Return the text of a file. Raises DataError where it is not UTF-8."""
    return utf8(content, f"{path} is not UTF-8")


def table_rows(path: Path, content: bytes, needed: Sequence[str], longest: int) -> Iterator[Row]:
    """Return the rows of a CSV with the `needed` columns and cells of at most `longest` characters.

    Raises DataError naming the file, the line and what is wrong.
    """
    text = decoded(path, content)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DataError(f"{path}, line {line}: a NUL character; is it a CSV file?")

    def check(header: Sequence[str]) -> None:
        if lacking := [name for name in needed if name not in header]:
            there = ", ".join(filter(None, header)) or "none"
            raise DataError(f"{path} lacks the column {lacking[0]!r}; it has {there}")

    return read_csv(path, text, longest=longest, check=check)[1]


def without_word_list(languages: Iterable[str]) -> list[Defect]:
    """Return a note for every language that the scorers have no word list for."""
    unknown = [code for code in dict.fromkeys(languages) if code not in LANGUAGES]
    return [Defect("test", "no word list", without_words(code), "noted") for code in unknown]


def alike(question: str, options: Sequence[str], gold: str | None) -> Iterator[Defect]:
    """Yield a note where options of a question read alike; `gold` is a letter."""
    folded = [" ".join(option.split()).casefold() for option in options]
    if len(set(folded)) < len(folded):
        twice = {letter for letter, text in zip(ascii_uppercase, folded, strict=False) if folded.count(text) > 1}
        detail = "two options read alike" + (", and one of them is the gold" if gold in twice else "")
        yield Defect(question, "equal options", detail, "noted")


def visible(response: Response) -> str | None:
    """Return the part of a reply after the thinking; None where that does not end."""
    start, unfinished = after_thinking(response.text)
    return None if unfinished else response.text[start:]


def redrawn(pool: Sequence[Question], spec: ExamSpec, group: str) -> Sequence[Question]:
    """Return a group's exemplars in their own order or, for a draw other than the first, in one drawn by the seed."""
    if spec.draw is UNSET:
        return pool
    return random.Random(f"{spec.seed}/{spec.draw}/{group}").sample(pool, len(pool))


def spread(length: int, limit: int | None) -> Sequence[int]:
    """Return the indices of `limit` of `length` questions, evenly spread so that every domain has its share."""
    if limit is None or limit >= length:
        return range(length)
    return [index * length // limit for index in range(limit)]


def rows_by(tag: str, values: Iterable[str]) -> tuple[Aggregate, ...]:
    """Return the rows of a table: one for each of a tag's values."""
    return tuple(Aggregate(value, {tag: (value,)}) for value in values)


def tables_by(
    tags: Mapping[str, Collection[str]], columns: tuple[Aggregate, ...], many: int = sys.maxsize
) -> tuple[TableSpec, ...]:
    """Return a table for each tag with its values, a long one where they are more than `many`."""
    return tuple(
        TableSpec(tag, f"By {tag}", rows_by(tag, sorted(values)), columns, detail=len(values) > many)
        for tag, values in tags.items()
    )


class NoExecution:
    """The part of `Exam` about programs, for exams whose answers are not programs."""

    def executions(self, question: Question, response: Response) -> tuple[Execute, ...]:
        """Return none: no answer is a program."""
        return ()


class NoSimilarity:
    """The part of `Exam` about similarity, for exams that do not use it."""

    def comparisons(self, question: Question, response: Response) -> tuple[Compare, ...]:
        """Return none: no encoder is needed."""
        return ()


class FromTemplates:
    """The part of `Exam` about prompts, for exams with one prompt for a question, made from the templates `_texts`."""

    _texts: Templates

    @property
    def templates(self) -> Mapping[str, object]:
        """The templates in use."""
        return self._texts.data

    @property
    def exemplar_golds(self) -> Mapping[str, Mapping[str, int]]:
        """Empty: no exemplars are shown, or different ones with each question."""
        return {}

    def variant(self, question: Question, sample: int) -> Question:
        """Return the question itself."""
        return question


class GradedByRule(NoExecution, NoSimilarity, FromTemplates):
    """The part of `Exam` about sandbox, encoder, judges and experts, for exams where a rule grades every answer."""

    def constant(self: Exam) -> Constant | None:
        """Return for each kind the gold answer that scores most as a constant, without partial credit. None where the
        headline is of a part.
        """
        headline, sizes, weights = self.headline(), Counter[str](), Counter[tuple[Kind, str, str]]()
        for question in self.questions():
            if question.answer is not None:
                part = question.tags.get(headline.over, "")
                sizes[part] += question.weight
                if question.answer and question.kind not in ("open", "blank"):  # a judge compares
                    weights[question.kind, question.answer, part] += question.weight
        shares: dict[Kind, dict[str, Fraction]] = {}
        for (kind, answer, part), weight in weights.items():
            shares.setdefault(kind, defaultdict(Fraction))[answer] += Fraction(weight, sizes[part] * len(sizes))
        if headline.part or not shares:
            return None
        best = {kind: max(golds, key=golds.__getitem__) for kind, golds in shares.items()}
        return Constant(answers=best, score=float(sum(shares[kind][best[kind]] for kind in best)))

    def judgements(
        self, question: Question, response: Response, samples: int, similarities: Mapping[str, float]
    ) -> tuple[Generate, ...]:
        """Return none: every answer is graded by rule."""
        return ()

    def readable(self, question: Question, opinion: Opinion) -> bool:
        """Return True: no judge is asked."""
        return True

    def mark(self, question: Question, opinion: Opinion) -> float | None:
        """Return None: no judge is asked."""
        return None

    def drafts(self, question: Question, response: Response, evidence: Evidence) -> tuple[ReviewItem, ...]:
        """Return none: nothing is left to experts."""
        return ()
