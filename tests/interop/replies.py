"""Replies to the bundled samples, the same for every harness: right and wrong ones, prose, and empty ones."""

import hashlib

from viva.types import Question


def dice(question: Question, sides: int, salt: str = "") -> int:
    """0 to `sides` - 1, the same every time."""
    return hashlib.sha256(f"{salt}{question.id}".encode()).digest()[0] % sides


def reply_to(question: Question, sample: int = 0) -> str:
    """What every model of these tests answers."""
    fate = dice(question, 8, str(sample))
    if fate == 0:
        return ""
    if fate == 1:
        return "I would rather talk about the weather."
    if question.kind == "choice":
        letters = "ABCDEFGH"[: len(question.options)]
        letter = str(question.answer) if fate < 5 else letters[dice(question, len(letters), f"x{sample}")]
        return f"The answer is {letter}." if fate % 2 else letter
    if question.kind == "truth":
        return str(question.answer == "true") if fate < 5 else "False"
    if fate < 5:
        return f"Answer: {question.answer}"
    return "Something else"
