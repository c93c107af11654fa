"""An examinee with known scores: answers to the bundled CLR-Bench sample, with an expert's mark for each."""

import json
from collections.abc import Iterator
from pathlib import Path

from viva.benchmarks import open_exam
from viva.benchmarks.rationale.combining import combine
from viva.types import ExamSpec, Question

NOTHING = "It is simply known from the lecture, and everybody says so."
TRUTH: tuple[tuple[float, float], ...] = ((1.0, 1.0), (1.0, 0.5), (1.0, 0.0), (0.0, 0.5), (0.0, 0.0))
"""Answer and rationale of the five kinds of replies, which take turns in an order without a pattern."""


def questions() -> list[Question]:
    return list(open_exam(ExamSpec(benchmark="clrbench", shots=1), None).questions())


def replies() -> Iterator[tuple[Question, str, float, float]]:
    """Question, reply, and what answer and rationale are worth."""
    for number, question in enumerate(questions()):
        answer, rationale = TRUTH[(number * number * 7 + number * 3) % 11 % 5]
        full = question.explanation
        why = {1.0: full, 0.5: full[: len(full) // 2], 0.0: NOTHING}[rationale]
        said = gold(question) if answer else wrong(question)
        reply = json.dumps({"Rationale": why, "Answer": said})
        yield question, reply if number % 7 else f"**Rationale:** {why}\n\n**Answer:** {said}", answer, rationale


def gold(question: Question) -> str:
    return ", ".join(str(question.answer)) if question.kind == "choices" else str(question.answer)


def wrong(question: Question) -> str:
    letters = "ABCDEFGH"[: len(question.options)]
    match question.kind:
        case "choice":
            return letters[(letters.index(str(question.answer)) + 1) % len(letters)]
        case "choices":
            return ", ".join(letter for letter in letters if letter not in str(question.answer))
        case "truth":
            return "False" if question.answer == "true" else "True"
        case "term":
            return "xyzzy"
        case _:
            return "I do not remember this part of the course."


def write(path: Path, refused: int = 0) -> dict[str, tuple[float, float]]:
    """The replies as a file to replay; question → what answer and rationale are worth. Every so many are `refused`."""
    worth: dict[str, tuple[float, float]] = {}
    with path.open("w", encoding="utf-8") as out:
        for number, (question, *told) in enumerate(replies()):
            declined = refused > 0 and number % refused == 0
            reply, answer, rationale = ("I'm sorry, but I can't help with that.", 0.0, 0.0) if declined else told
            out.write(json.dumps({"question": question.id, "sample": 0, "text": reply}) + "\n")
            worth[question.id] = (float(answer), float(rationale))
    return worth


def truth(worth: dict[str, tuple[float, float]]) -> float:
    """The mean Q→AR that experts would find, had they marked everything."""
    return sum(combine(answer, rationale) for answer, rationale in worth.values()) / len(worth)
