"""CS-Bench's files: every record as it is, with all fields in their order, and the questions made of them.

Code that builds sets needs records as they are, to write them back unchanged. For questions every defect is handled
and counted, none silently.

The files have traps (see README.md, *Deviations*): translated truth values, golds of which a translator made a
sentence, options that are numbers. Certain repairs are made; other defective questions are left unscored.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from viva.benchmarks.basics import alike, fingerprint, holds_json_list, read_bytes
from viva.errors import DataError, option
from viva.files import UNREADABLE
from viva.languages import LANGUAGES
from viva.types import Defect, Kind, Language, Question
from viva.visible import one_line

Raw = dict[str, object]
TEST, VALID = "test.json", "valid.json"
LETTERS = ("A", "B", "C", "D")
TEXTS = ("Question", *LETTERS, "Answer", "Explanation")
"""Fields with texts."""
NAMES = LANGUAGES
"""Values of a record's `Language`."""
LARGEST = 256 << 20
_NEEDED = ("ID", "Domain", "SubDomain", "Format", "Tag", "Question", "Answer")


class RawSet(Struct, frozen=True, kw_only=True):
    """One language's files. `valid` is None where there is only one file."""

    language: Language
    test: list[Raw]
    valid: list[Raw] | None
    fingerprint: str
    where: str

    @property
    def records(self) -> list[Raw]:
        """Records of both files, the test set's first."""
        return [*self.test, *(self.valid or [])]


def is_csbench(path: Path) -> bool:
    """Return whether a path holds files of CS-Bench: a folder of languages, one language's folder, or one file of
    records.
    """
    if path.is_dir():
        return (path / TEST).is_file() or any((path / folder / TEST).is_file() for folder in FOLDERS.values())
    return holds_json_list(path)


def read_set(path: Path, language: Language | None) -> RawSet:
    """Return the records of one language. Raises DataError where they cannot be identified or read."""
    if path.is_file():
        records, content = read_raw(path)
        return RawSet(
            language=language or _said(records, path),
            test=records,
            valid=None,
            fingerprint=fingerprint([content]),
            where=str(path),
        )
    folder = path
    if not (path / TEST).is_file():
        there = [code for code, name in FOLDERS.items() if (path / name / TEST).is_file()]
        if not there:
            raise DataError(f"{path} holds no CS-Bench files: expected {TEST}, or CSBench-EN/{TEST}, in it")
        if language is None and len(there) > 1:
            raise DataError(f"{path} holds several languages: choose one with {option('language')} {'|'.join(there)}")
        chosen = language or there[0]
        if chosen not in there:
            raise DataError(f"{path} has no {FOLDERS[chosen]}; it has: {', '.join(FOLDERS[code] for code in there)}")
        language, folder = chosen, path / FOLDERS[chosen]
    test, test_bytes = read_raw(folder / TEST)
    valid, valid_bytes = read_raw(folder / VALID) if (folder / VALID).exists() else (None, b"")
    by_name: dict[str, Language] = {name: code for code, name in FOLDERS.items()}
    return RawSet(
        language=language or by_name.get(folder.resolve().name) or _said(test, folder / TEST),
        test=test,
        valid=valid,
        fingerprint=fingerprint([test_bytes, valid_bytes]),
        where=str(folder),
    )


def _said(records: Sequence[Raw], path: Path) -> Language:
    declared = {str(record.get("Language", "")) for record in records}
    for code, name in NAMES.items():
        if declared == {name}:
            return code
    raise DataError(f"{path} does not say in which language it is: give {option('language')}")


def read_raw(path: Path) -> tuple[list[Raw], bytes]:
    """Return a file's records, and its bytes. Raises DataError that names the record."""
    content = read_bytes(path, LARGEST)
    try:
        records = msgspec.json.decode(content.removeprefix(b"\xef\xbb\xbf"))
    except UNREADABLE as problem:
        raise DataError(f"{path} is not a CS-Bench file: {problem}") from None
    if not isinstance(records, list) or not records:
        raise DataError(f"{path} is not a CS-Bench file: it holds no list of records")
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise DataError(f"{path}, record {number} is no object: {one_line(repr(record)[:200], 60)}")
        missing = next((name for name in _NEEDED if name not in record), None)
        if missing:
            raise DataError(f"{path}, record {number} has no field {missing!r}")
        for name in (*_NEEDED, *TEXTS):
            if isinstance(record.get(name), (dict, list)):
                raise DataError(f"{path}, record {number}: {name} is no plain value")
    return records, content


def written(records: Sequence[Raw]) -> bytes:
    """Encode records like the published files: one array, indented by four, with the fewest escapes."""
    return msgspec.json.format(msgspec.json.encode(list(records)), indent=4) + b"\n"


def text(value: object) -> str:
    """Return a field as a text; "" for None."""
    return "" if value is None else plain(value)


def asked(record: Raw) -> str:
    """Return the text of the question and its options."""
    return "\n".join((text(record.get("Question")), *(text(record[name]) for name in LETTERS if name in record)))


def named(records: Sequence[Raw]) -> list[str]:
    """Return a name for every record: its ID, with its place where the ID is repeated."""
    seen: dict[str, int] = {}
    names = []
    for record in records:
        identity = text(record.get("ID"))
        seen[identity] = seen.get(identity, 0) + 1
        names.append(identity if seen[identity] == 1 else f"{identity}#{seen[identity]}")
    return names


FOLDERS: dict[Language, str] = {"en": "CSBench-EN", "zh": "CSBench-CN", "de": "CSBench-DE", "fr": "CSBench-FR"}


def folder_of(language: Language) -> str:
    """Return the name of the folder of a language; unpublished ones follow the same pattern."""
    return FOLDERS.get(language, f"CSBench-{language.upper()}")


KINDS: dict[str, Kind] = {
    "Multiple-choice": "choice",
    "Assertion": "truth",
    "Fill-in-the-blank": "blank",
    "Open-ended": "open",
}
DOMAINS = {
    "Data Structure and Algorithm": "DSA",
    "Computer Organization": "CO",
    "Computer Network": "CN",
    "Operating System": "OS",
}
_TRUTH = {"true": "true", "wahr": "true", "vrai": "true", "false": "false", "falsch": "false", "faux": "false"}
_LETTERS = "ABCD"
_LONE_LETTER = re.compile(r"(?<![A-Za-zÀ-ÿ])([A-D])(?![A-Za-zÀ-ÿ])")
_LAST_LETTER = re.compile(r"([A-D])[\s\"”'’.。)]*\Z")
_Scalar = str | int | float | bool


class Record(msgspec.Struct, rename={"id": "ID"}):
    """One entry of a published file."""

    id: int | str
    Domain: Literal["Data Structure and Algorithm", "Computer Organization", "Computer Network", "Operating System"]
    SubDomain: str
    Format: Literal["Multiple-choice", "Assertion", "Fill-in-the-blank", "Open-ended"]
    Tag: Literal["Knowledge", "Reasoning"]
    Question: str
    Answer: _Scalar
    A: _Scalar | None = None
    B: _Scalar | None = None
    C: _Scalar | None = None
    D: _Scalar | None = None
    Explanation: str | None = None

    @property
    def cell(self) -> tuple[str, str, str, str]:
        """Fields that a record shares with its translations."""
        return (self.Domain, self.SubDomain, self.Format, self.Tag)


def read_records(path: Path) -> tuple[list[Record], bytes]:
    """Return a published file's records, and its bytes for the fingerprint. Raises DataError that names the record."""
    content = read_bytes(path)
    try:
        return msgspec.json.decode(content, type=list[Record]), content
    except UNREADABLE as problem:
        raise DataError(f"{path} is not a CS-Bench file: {problem}") from None


def to_questions(
    records: Sequence[Record], language: Language, siblings: Sequence[Record], *, repaired: bool = True
) -> tuple[list[Question], list[Defect]]:
    """Return questions with usable golds, and the defects.

    `siblings` are the same questions in another language ([] without that file): they give the letter of a
    multiple-choice gold that translation destroyed. Without `repaired` such golds stay as published, and no letter is
    right.
    """
    defects: list[Defect] = []
    seen: Counter[str] = Counter()
    lost: list[int] = []
    questions: list[Question] = []
    for index, record in enumerate(records):
        identity = str(record.id)
        seen[identity] += 1
        if seen[identity] > 1:
            identity = f"{identity}#{seen[identity]}"
            defects.append(
                Defect(identity, "duplicated id", f"{record.id} stands {seen[str(record.id)]} times", "noted")
            )
        question = _question(record, identity, language, defects, repaired=repaired)
        if question.kind == "choice" and question.answer is None and len(question.options) == len(_LETTERS):
            lost.append(index)
        questions.append(question)
    if lost:
        _recover_by_counting(records, questions, lost, siblings, defects)
    for question in questions:
        if question.answer is None:
            defects.append(Defect(question.id, "no usable gold", "left unscored", "unsound"))
    _note_repetitions(questions, defects)
    return questions, defects


def _question(record: Record, identity: str, language: Language, defects: list[Defect], *, repaired: bool) -> Question:
    kind = KINDS[record.Format]
    options: tuple[str, ...] = ()
    if kind == "choice":
        given = (record.A, record.B, record.C, record.D)
        options = tuple(plain(value) for value in given if value is not None and plain(value).strip())
        if len(options) < len(_LETTERS):
            defects.append(Defect(identity, "missing option", f"only {len(options)} of 4 options", "noted"))
        if any(not isinstance(value, str) for value in given if value is not None):
            defects.append(Defect(identity, "option is a number", "read as text", "repaired"))
    return Question(
        id=identity,
        kind=kind,
        text=record.Question,
        language=language,
        options=options,
        answer=_gold(record, kind, identity, options, defects, repaired=repaired),
        explanation=record.Explanation or "",
        tags={
            "domain": DOMAINS[record.Domain],
            "subfield": f"{DOMAINS[record.Domain]}: {record.SubDomain}",
            "format": record.Format,
            "tag": record.Tag,
            "language": language,
        },
    )


def _gold(
    record: Record, kind: Kind, identity: str, options: tuple[str, ...], defects: list[Defect], *, repaired: bool
) -> str | None:
    answer = plain(record.Answer).strip()
    if kind == "truth":
        value = truth_value(answer)
        if value is not None and not isinstance(record.Answer, bool):
            defects.append(Defect(identity, "translated truth value", f"{answer} read as {value}", "repaired"))
        return value
    if kind != "choice":
        return answer or None
    if len(options) < len(_LETTERS) or answer in tuple(_LETTERS):
        return answer if len(options) == len(_LETTERS) else None
    if not repaired and answer:
        defects.append(Defect(identity, "translated letter", f"{answer!r} kept as published", "noted"))
        return answer
    ending = _LAST_LETTER.search(answer)
    # Only where no other letter is named: "A or B" ends in one letter, but names two.
    if ending and set(_LONE_LETTER.findall(answer)) == {ending[1]}:
        defects.append(Defect(identity, "translated letter", f"{answer!r} still ends in {ending[1]}", "repaired"))
        return ending[1]
    return None


def _recover_by_counting(
    records: Sequence[Record],
    questions: list[Question],
    lost: Sequence[int],
    siblings: Sequence[Record],
    defects: list[Defect],
) -> None:
    """Recover a lost gold letter by counting, without comparing words.

    The languages hold the same questions, so within one cell (domain, subfield, format, tag) they have each gold
    letter equally often. If the sibling has exactly as many more of one letter as golds were lost here, it is that one.
    """
    here: dict[tuple[str, str, str, str], Counter[str]] = defaultdict(Counter)
    there: dict[tuple[str, str, str, str], Counter[str]] = defaultdict(Counter)
    for record, question in zip(records, questions, strict=True):
        if question.kind == "choice" and question.answer:
            here[record.cell][question.answer] += 1
    for record in siblings:
        if record.Format == "Multiple-choice":
            there[record.cell][plain(record.Answer).strip()] += 1
    for index in lost:
        cell = records[index].cell
        missing = there[cell] - here[cell]
        lost_in_cell = sum(1 for other in lost if records[other].cell == cell)
        if here[cell] - there[cell] or missing.total() != lost_in_cell or len(missing) != 1:
            continue
        letter = next(iter(missing))
        if letter not in _LETTERS:
            continue
        questions[index] = msgspec.structs.replace(questions[index], answer=letter)
        detail = f"{plain(records[index].Answer)!r}: the sibling set has one more {letter} in {' / '.join(cell)}"
        defects.append(Defect(questions[index].id, "translated letter", detail, "repaired"))


def _note_repetitions(questions: Sequence[Question], defects: list[Defect]) -> None:
    texts: dict[tuple[str, tuple[str, ...]], str] = {}
    for question in questions:
        earlier = texts.setdefault((question.text, question.options), question.id)
        if earlier != question.id:
            defects.append(Defect(question.id, "duplicated question", f"same as {earlier}", "noted"))
        defects += alike(question.id, question.options, question.answer)


def missing_explanations(split: str, records: Sequence[Record]) -> list[Defect]:
    """Return a note on the number of a split's reasoning questions without explanation, if there are any."""
    reasoning = [record for record in records if record.Tag == "Reasoning"]
    missing = sum(1 for record in reasoning if not (record.Explanation or "").strip())
    detail = f"{missing:,} of {len(reasoning):,} reasoning questions have none"
    return [Defect(split, "missing explanations", detail, "noted")] if missing else []


def truth_value(answer: str) -> str | None:
    """Return "true" or "false" for an answer in any of the four files' languages; None for anything else."""
    return _TRUTH.get(answer.strip().lower())


def plain(value: object) -> str:
    """Return a field as a text, truth values in lower case."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
