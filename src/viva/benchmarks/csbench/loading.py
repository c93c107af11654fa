"""CS-Bench's published files → questions, with every defect handled and counted, never silently.

The files have traps (see README.md, *Deviations*): translated truth values, golds of which a translator made a
sentence, options that are numbers. What can be repaired with certainty is repaired; what cannot is left unscored.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from viva.benchmarks.sets import read_bytes
from viva.errors import DataError
from viva.types import Defect, Kind, Language, Question

FOLDERS: dict[Language, str] = {"en": "CSBench-EN", "zh": "CSBench-CN", "de": "CSBench-DE", "fr": "CSBench-FR"}


def folder_of(language: Language) -> str:
    """The name of the folder of a language; those that were not published are named likewise."""
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
        """What a record has in common with its siblings in the other languages."""
        return (self.Domain, self.SubDomain, self.Format, self.Tag)


def read_records(path: Path) -> tuple[list[Record], bytes]:
    """A published file, and its bytes for the fingerprint. Raises DataError that says which record is wrong."""
    content = read_bytes(path)
    try:
        return msgspec.json.decode(content, type=list[Record]), content
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise DataError(f"{path} is not a CS-Bench file: {problem}") from None


def to_questions(
    records: Sequence[Record], language: Language, siblings: Sequence[Record], *, repaired: bool = True
) -> tuple[list[Question], list[Defect]]:
    """Questions with usable golds, and what was wrong.

    `siblings` are the same questions in another language ([] where that file is not at hand): they tell the letter of
    a multiple-choice gold that translation destroyed. Without `repaired` such golds stay as published: no letter is
    right then.
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
    # Only where no other letter is named: "A or B" ends in one letter, and says two.
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
    """Find a lost letter without comparing words.

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
        folded = [" ".join(option.split()).casefold() for option in question.options]
        if len(set(folded)) < len(folded):
            gold = question.answer in tuple(_LETTERS) and folded.count(folded[_LETTERS.index(str(question.answer))]) > 1
            detail = "two options read alike" + (", and one of them is the gold" if gold else "")
            defects.append(Defect(question.id, "equal options", detail, "noted"))


def missing_explanations(split: str, records: Sequence[Record]) -> list[Defect]:
    """How many of a split's reasoning questions have no explanation, where some have none."""
    reasoning = [record for record in records if record.Tag == "Reasoning"]
    missing = sum(1 for record in reasoning if not (record.Explanation or "").strip())
    detail = f"{missing:,} of {len(reasoning):,} reasoning questions have none"
    return [Defect(split, "missing explanations", detail, "noted")] if missing else []


def truth_value(answer: str) -> str | None:
    """ "true" or "false", in whichever of the four files' languages it is said; None for anything else."""
    return _TRUTH.get(answer.strip().lower())


def plain(value: object) -> str:
    """A field as a text: Viva has truth values in lower case."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
