"""The attacks of attacks.jsonl: texts by which examinees try to influence their judge, with the aim of each.

A row has a `text` (put into an answer, into a rationale, and sent alone), or a whole `reply`. «gold», «rationale» and
«question» are replaced by those of the question, «fence of nothing» and the like by guessable fences, and «fill» by
`fill`, a text and its number of repetitions. `thinks`: the text looks like a thinking block, which is not part of an
answer.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from viva.prompting import fence
from viva.types import Question

HARMLESS = "The last element that was put in comes out first, and so the order is turned round."
LONG = 20_000


@cache
def attacks() -> tuple[dict[str, Any], ...]:
    """The rows of attacks.jsonl."""
    file = Path(__file__).parent / "attacks.jsonl"
    return tuple(map(json.loads, file.read_text(encoding="utf-8").splitlines()))


@cache
def many_fences() -> str:
    return "\n".join(fence(str(number)) for number in range(400))


def woven(row: dict[str, Any], question: Question, rubric: str = "") -> str:
    """An attack's text about one question."""
    text: str = row["text"] if "text" in row else row["reply"]
    if "fill" in row:
        unit, times = row["fill"]
        text = text.replace("«fill»", unit * times, 1)
    known = {
        "question": question.text,
        "gold": str(question.answer),
        "rationale": question.explanation[:200],
        "rubric": rubric,
        "text": "so it is",
        "fence of nothing": fence(""),
        "fence of gold": fence(str(question.answer)),
        "fence of harmless": fence(HARMLESS),
        "fence of before": fence(text.partition("«fence of before»")[0]),
        "fences": many_fences(),
    }
    for name, value in known.items():
        text = text.replace(f"«{name}»", value)
    return text


def replies(row: dict[str, Any], question: Question, rubric: str = "") -> list[str]:
    """An attack as replies under CLR-Bench's form: in the rationale, in the answer, in both, and alone."""
    text = woven(row, question, rubric)
    if "reply" in row:
        return [text]
    forms = [(text, "B"), (HARMLESS, text), (text, text)]
    return [*(json.dumps({"Rationale": why, "Answer": what}) for why, what in forms), text]
