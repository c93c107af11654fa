"""CLR-Bench's schema: JSONL in, questions out. See README.md for a field-by-field description.

Unusable lines raise an error that names file, line, id and value of each: a set by experts is to be corrected, not
guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, cast

import msgspec
from msgspec import Struct

from viva.benchmarks.basics import read_bytes
from viva.errors import DataError
from viva.files import UNREADABLE
from viva.types import Defect, Kind, Question
from viva.visible import brief, some

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
LONGEST_ID = 200
"""Characters of an id."""
MOST_MISTAKES = 20
"""Mistakes of one file that are shown at once."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_CONTROL_IN_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


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
    """Return the records of a file, and its bytes. Raises one DataError with the mistakes of all its lines,
    `MOST_MISTAKES` at most, each with line, id and what is wrong.
    """
    content = read_bytes(path)
    decode = msgspec.json.Decoder(Record).decode
    records: list[Record] = []
    seen: dict[str, int] = {}
    mistakes: list[str] = []
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            record = decode(line)
        except UNREADABLE as problem:
            mistakes += [f"{where}{wrong}" for wrong in _undecodable(line, problem)]
            continue
        where = f"{where}, question {brief(record.id)}"
        mistakes += [f"{where}: {wrong}" for wrong in problems(record)]
        if record.id in seen:
            mistakes.append(f"{where}: its id is that of line {seen[record.id]}, too")
        seen.setdefault(record.id, number)
        records.append(record)
    if mistakes:
        more = len(mistakes) - MOST_MISTAKES
        rest = [f"... and {more:,} more"] if more > 0 else []
        raise DataError("\n".join([*mistakes[:MOST_MISTAKES], *rest]))
    return records, content


def _undecodable(line: bytes, problem: Exception) -> Iterator[str]:
    """Yield why a line is no record, in words, each after the id if there is one."""
    try:
        held = msgspec.json.decode(line)
    except UNREADABLE:
        yield f": {problem}"
        return
    if not isinstance(held, dict):
        yield ": it is no JSON object"
        return
    given = cast("dict[str, object]", held)
    name = f", question {brief(given['id'])}" if "id" in given else ""
    fields = msgspec.structs.fields(Record)
    missing = [f"`{field.name}`" for field in fields if field.required and field.name not in given]
    if missing:
        yield f"{name}: it lacks {', '.join(missing)}"
    unknown = [brief(key) for key in given if key not in Record.__struct_fields__]
    if unknown:
        yield f"{name}: unknown fields: {some(unknown, 5)}"
    if "type" in given and given["type"] not in tuple(TITLES):  # it may be an unhashable list
        types = ", ".join(f"{short} ({title.lower()})" for short, title in TITLES.items())
        yield f"{name}: type {brief(given['type'])} is none of {types}"
    elif not missing and not unknown:
        yield f"{name}: {problem}"


def problems(record: Record) -> Iterator[str]:
    """Yield why a record cannot be asked and graded, in words."""
    for name in ("id", "discipline", "question", "rationale"):
        if not getattr(record, name).strip():
            yield f"its {name} is empty"
    if len(record.id) > LONGEST_ID:
        yield f"its id has {len(record.id):,} characters; {LONGEST_ID} are allowed"
    yield from _control_characters(record)
    if not 1 <= len(record.topic) <= 3 or not all(level.strip() for level in record.topic):
        yield f"topic {brief(list(record.topic))} is no path of one to three levels"
    if record.type in ("MC", "MS"):
        yield from _option_problems(record)
    elif record.options:
        yield f"options belong to MC and MS, not to {record.type}"
    yield from _answer_problems(record)
    if record.answers and record.type not in ("MS", "FB"):
        yield f"`answers` belongs to MS and FB; {record.type} has one `answer`"
    if record.answers and record.answer is not None:
        yield "it has both `answer` and `answers`"


def _control_characters(record: Record) -> Iterator[str]:
    """Yield control characters; texts may have line feeds and tabs, but not an id, a discipline or a topic."""
    labels = ("id", "discipline", "topic", "difficulty")
    for name in (*labels, "question", "rationale", "options", "answer", "answers", "source"):
        given = getattr(record, name)
        values = given if isinstance(given, tuple) else (given,)
        pattern = _CONTROL if name in labels else _CONTROL_IN_TEXT
        control = next((match for value in values if isinstance(value, str) and (match := pattern.search(value))), None)
        if control:
            yield f"its {name} holds the control character U+{ord(control[0]):04X}"


def _answer_problems(record: Record) -> Iterator[str]:
    answer = record.answer
    if record.type == "MC" and (not isinstance(answer, str) or answer not in _letters(record)):
        yield f"answer {brief(answer)} is no letter of its {len(record.options)} options"
    elif record.type == "MS":
        chosen = [str(letter) for letter in record.answers]
        if not chosen or len(set(chosen)) < len(chosen) or not set(chosen) <= set(_letters(record)):
            yield f"answers {brief(chosen)} are not different letters of its {len(record.options)} options"
    elif record.type == "TF" and str(answer).lower() not in ("true", "false"):
        yield f"answer {brief(answer)} is neither true nor false"
    elif record.type == "FB":
        gaps = len(re.findall(f"{GAP}_*", record.question))
        if gaps != 1:
            yield f"its question has {gaps} gaps ({GAP}); there must be one"
        if not _accepted(record):
            yield "it has no answer"
    elif record.type == "OE" and (not isinstance(answer, str) or not answer.strip()):
        yield f"answer {brief(answer)} is no text"


def _option_problems(record: Record) -> Iterator[str]:
    if not 2 <= len(record.options) <= len(LETTERS):
        yield f"it has {len(record.options)} options; 2 to {len(LETTERS)} can be asked"
    if not all(option.strip() for option in record.options):
        yield "an option is empty"
    folded = [" ".join(option.split()).casefold() for option in record.options]
    twice = next((option for option in folded if folded.count(option) > 1), None)
    if twice is not None:
        yield f"two options read {brief(twice)}"


def _letters(record: Record) -> tuple[str, ...]:
    return tuple(LETTERS[: len(record.options)])


def _accepted(record: Record) -> tuple[str, ...]:
    given = record.answers or (() if record.answer is None or isinstance(record.answer, bool) else (record.answer,))
    return tuple(text for item in given if (text := str(item).strip()))


def to_questions(records: Sequence[Record]) -> tuple[list[Question], list[Defect]]:
    """Return records as questions, and notes on oddities of the set."""
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
        del levels["topic 1"]  # the same value twice
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
