"""CLR-Bench's schema: JSONL in, questions out. See README.md for a field-by-field description.

A line that cannot be used is an error that names file, line and value: a set for experts is mended, not guessed at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from viva.benchmarks.sets import read_bytes
from viva.errors import DataError
from viva.types import Defect, Kind, Question

Type = Literal["MC", "MS", "TF", "FB", "OE"]
KINDS: dict[Type, Kind] = {"MC": "choice", "MS": "choices", "TF": "truth", "FB": "term", "OE": "open"}
TITLES: dict[Type, str] = {
    "MC": "Multi-choice",
    "MS": "Multi-select",
    "TF": "True/false",
    "FB": "Fill-in-blank",
    "OE": "Open-ended",
}
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
GAP = "____"
_SHOWN = 60


class Record(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """One line of test.jsonl or exemplars.jsonl."""

    id: str
    discipline: str
    topic: tuple[str, ...]
    type: Type
    question: str
    rationale: str
    options: tuple[str, ...] = ()
    answer: str | bool | int | float | None = None
    answers: tuple[str | int | float, ...] = ()
    difficulty: str = ""
    source: str = ""


def read_records(path: Path) -> tuple[list[Record], bytes]:
    """The records of a file, and its bytes. Raises DataError with the line and what is wrong in it."""
    content = read_bytes(path)
    decode = msgspec.json.Decoder(Record).decode
    records: list[Record] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            record = decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as problem:
            raise DataError(f"{where}: {problem}") from None
        wrong = next(problems(record), None)
        if wrong:
            raise DataError(f"{where}, question {_short(record.id)}: {wrong}")
        if record.id in seen:
            raise DataError(f"{where}: id {_short(record.id)} is that of line {seen[record.id]}, too")
        seen[record.id] = number
        records.append(record)
    return records, content


def problems(record: Record) -> Iterator[str]:
    """What keeps a record from being asked and graded, in words."""
    for name in ("id", "discipline", "question", "rationale"):
        if not getattr(record, name).strip():
            yield f"its {name} is empty"
    if not 1 <= len(record.topic) <= 3 or not all(level.strip() for level in record.topic):
        yield f"topic {_short(list(record.topic))} is no path of one to three levels"
    if record.type in ("MC", "MS"):
        yield from _option_problems(record)
    elif record.options:
        yield f"options belong to MC and MS, not to {record.type}"
    yield from _answer_problems(record)
    if record.answers and record.type not in ("MS", "FB"):
        yield f"`answers` belongs to MS and FB; {record.type} has one `answer`"
    if record.answers and record.answer is not None:
        yield "it has both `answer` and `answers`"


def _answer_problems(record: Record) -> Iterator[str]:
    answer = record.answer
    if record.type == "MC" and (not isinstance(answer, str) or answer not in _letters(record)):
        yield f"answer {_short(answer)} is no letter of its {len(record.options)} options"
    elif record.type == "MS":
        chosen = [str(letter) for letter in record.answers]
        if not chosen or len(set(chosen)) < len(chosen) or not set(chosen) <= set(_letters(record)):
            yield f"answers {_short(chosen)} are not different letters of its {len(record.options)} options"
    elif record.type == "TF" and str(answer).lower() not in ("true", "false"):
        yield f"answer {_short(answer)} is neither true nor false"
    elif record.type == "FB":
        gaps = len(re.findall(f"{GAP}_*", record.question))
        if gaps != 1:
            yield f"its question has {gaps} gaps ({GAP}); there must be one"
        if not _accepted(record):
            yield "it has no answer"
    elif record.type == "OE" and (not isinstance(answer, str) or not answer.strip()):
        yield f"answer {_short(answer)} is no text"


def _option_problems(record: Record) -> Iterator[str]:
    if not 2 <= len(record.options) <= len(LETTERS):
        yield f"it has {len(record.options)} options; 2 to {len(LETTERS)} can be asked"
    if not all(option.strip() for option in record.options):
        yield "an option is empty"
    folded = [" ".join(option.split()).casefold() for option in record.options]
    twice = next((option for option in folded if folded.count(option) > 1), None)
    if twice is not None:
        yield f"two options read {_short(twice)}"


def _letters(record: Record) -> tuple[str, ...]:
    return tuple(LETTERS[: len(record.options)])


def _accepted(record: Record) -> tuple[str, ...]:
    given = record.answers or (() if record.answer is None or isinstance(record.answer, bool) else (record.answer,))
    return tuple(text for one in given if (text := str(one).strip()))


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def to_questions(records: Sequence[Record]) -> tuple[list[Question], list[Defect]]:
    """Records as questions, and what is odd about the set though it can be asked."""
    questions: list[Question] = []
    defects: list[Defect] = []
    texts: dict[tuple[str, tuple[str, ...]], str] = {}
    for record in records:
        question = _question(record)
        first = texts.setdefault((record.question.strip(), record.options), record.id)
        if first != record.id:
            defects.append(Defect(record.id, "duplicate", f"the same question as {first}", "noted"))
        if not record.source.strip():
            defects.append(Defect(record.id, "no source", "it does not say where it comes from", "noted"))
        if record.type == "MS" and len(record.answers) == len(record.options):
            defects.append(Defect(record.id, "every option right", "nothing can be chosen wrongly", "noted"))
        questions.append(question)
    return questions, defects


def _question(record: Record) -> Question:
    accepted = _accepted(record) if record.type == "FB" else ()
    match record.type:
        case "MS":
            answer = "".join(letter for letter in LETTERS if letter in record.answers)
        case "TF":
            answer = str(record.answer).lower()
        case "FB":
            answer = accepted[0]
        case _:
            answer = str(record.answer).strip()
    levels = dict(zip(("topic 1", "topic 2", "topic 3"), record.topic, strict=False))
    if record.topic[0] == record.discipline:
        del levels["topic 1"]  # the same thing twice
    tags = {"type": record.type, "discipline": record.discipline, **levels}
    if record.difficulty:
        tags["difficulty"] = record.difficulty
    return Question(
        id=record.id,
        kind=KINDS[record.type],
        text=record.question.strip(),
        language="en",
        options=record.options,
        answer=answer,
        accepted=accepted[1:],
        explanation=record.rationale.strip(),
        tags=tags,
    )
