"""The five benchmarks as tasks of lm-evaluation-harness: what the YAML files of `viva export --to lm-eval-tasks` call.

A document is a question as Viva asks it, with the settings that it was asked under; replies are scored by Viva,
programs in its sandbox. Answers that nobody could score count in `viva_unscored`, not as zero.
Judges are not asked here: `viva grade` asks them of the samples that lm-eval wrote.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from viva.contracts import Exam
from viva.interop import asked
from viva.interop.asked import Settings, open_asked
from viva.types import UNANSWERED, Aggregate, Question, Response

if TYPE_CHECKING:
    from datasets import Dataset

_SETTINGS = frozenset(field.name for field in msgspec.structs.fields(Settings))
_runner = asyncio.Runner()
"""One event loop for all replies, because the sandbox is bound to its loop."""


def load(benchmark: str, given: dict[str, Any]) -> dict[str, Dataset]:
    """Return the documents of a benchmark, as the split "test".

    `given` holds the task's metadata and that of `--metadata`: options of `viva run` such as data, language, shots.
    """
    from datasets import Dataset

    how = Settings(**{name: value for name, value in given.items() if name in _SETTINGS})
    opened = open_asked(benchmark, how)
    settings = msgspec.json.encode({"benchmark": benchmark, **msgspec.to_builtins(how)}).decode()
    documents: list[dict[str, Any]] = []
    for question in opened.exam.questions():
        prompt = opened.prompt(question)
        turns = [] if isinstance(prompt, str) else [turn for turn in prompt if turn.role != "system"]
        documents.append(
            {
                "viva_id": question.id,
                "prompt": prompt if isinstance(prompt, str) else "\n\n".join(turn.content for turn in turns),
                "system": "" if isinstance(prompt, str) else _system(prompt),
                "choices": list(question.options),
                "target": question.answer or "",
                "settings": settings,
            }
        )
    return {"test": Dataset.from_list(documents)}


def _system(prompt: Sequence[Any]) -> str:
    return "\n\n".join(turn.content for turn in prompt if turn.role == "system")


def doc_to_text(doc: dict[str, Any]) -> str:
    """Return the prompt; what the system is to be told (`system`) is the task's description."""
    return str(doc["prompt"])


def doc_to_target(doc: dict[str, Any]) -> str:
    """Return the gold answer, for the log."""
    return str(doc["target"])


@cache
def _opened(settings: str) -> tuple[Exam, dict[str, Question]]:
    how = json.loads(settings)
    exam = open_asked(how.pop("benchmark"), Settings(**how)).exam
    return exam, {question.id: question for question in exam.questions()}


def process_results(doc: dict[str, Any], results: Sequence[Any]) -> dict[str, Any]:
    """Score the replies to a document: several where the task repeats."""
    exam, questions = _opened(doc["settings"])
    question = questions[doc["viva_id"]]
    replies = [reply for result in results for reply in (result if isinstance(result, list | tuple) else [result])]
    marked: list[dict[str, Any]] = []
    for sample, reply in enumerate(replies):
        score = _runner.run(asked.score(exam, question, Response(text=str(reply)), {}))
        mark = asked.Marked(question.id, sample, score.value, score.outcome, dict(question.tags), question.weight)
        marked.append(msgspec.to_builtins(mark))
    line = exam.headline()
    kept = {"over": line.over, "attempts": line.attempts, "group": len(replies), "answers": marked}
    unscored = sum(answer["outcome"] in UNANSWERED for answer in marked)
    return {"viva": kept, "viva_unscored": unscored}


def headline(items: Sequence[dict[str, Any]]) -> float:
    """Return the paper's average over the documents' scores; NaN where nothing could be scored."""
    if not items:
        return float("nan")
    first = items[0]
    answers = [msgspec.convert(answer, asked.Marked) for item in items for answer in item["answers"]]
    cell = asked.overall(answers, Aggregate("", over=first["over"], attempts=first["attempts"]), first["group"])
    return float("nan") if cell.mean is None else cell.mean


def unscored(items: Sequence[int]) -> int:
    """Return the number of answers that nobody could score."""
    return sum(items)


def csbench(**given: Any) -> dict[str, Dataset]:
    """CS-Bench."""
    return load("csbench", given)


def clrbench(**given: Any) -> dict[str, Dataset]:
    """CLR-Bench."""
    return load("clrbench", given)


def cmmlu(**given: Any) -> dict[str, Dataset]:
    """CMMLU."""
    return load("cmmlu", given)


def infibench(**given: Any) -> dict[str, Dataset]:
    """InfiBench."""
    return load("infibench", given)


def syneval(**given: Any) -> dict[str, Dataset]:
    """SynEval."""
    return load("syneval", given)
