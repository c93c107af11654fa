"""`viva judge-bias run`: answers with known marks, mixed with those that a run's judges mark."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Struct

from viva.commands import command
from viva.contracts import Exam
from viva.engine.folder import Canary, RunRecord
from viva.errors import DataError, VivaError, option
from viva.fields import note
from viva.runs.checks import reply_of
from viva.runs.score_table import rows_of
from viva.runs.session import Way
from viva.types import Question, Response
from viva.visible import one_line

_MOST = 1000
_TEXT = ("text", "answer", "reply", "response")


class CanaryConfig(Struct, kw_only=True):
    """Mix answers with known marks (canaries) among those that are judged: they are in no mean, and the results say
    what each judge gave them.

    \b
    viva judge-bias run csbench --canaries 20 --model openai/NAME --judge openai/JUDGE
    viva judge-bias resume runs/NAME --canaries 20 --judge openai/OTHER
    viva judge-bias grade clrbench answers.jsonl --canaries known.csv --judge openai/JUDGE
    """

    canaries: Annotated[
        str,
        note(
            "So many drawn an exam, half of them right, or a file's (question, text, mark).",
            metavar="FILE|N",
        ),
    ]


@command(CanaryConfig, "way")
def canaries(config: CanaryConfig) -> Way:
    """Ask judges also about answers with known marks."""
    return Canaries(config.canaries)


class Canaries(Way):
    """The way of asking that adds answers with known marks to the judged ones."""

    judges_again = True

    def __init__(self, given: str) -> None:
        self._given = given

    def judging(self, record: RunRecord, exams: Sequence[Exam]) -> RunRecord:
        """Add the canaries to the record."""
        drawn = read_canaries(self._given, exams, record.seed, judged=bool(record.judges))
        return msgspec.structs.replace(record, canaries=drawn)


def read_canaries(given: str, exams: Sequence[Exam], seed: int, *, judged: bool) -> list[Canary]:
    """Return the canaries of --canaries: a file's, or a number drawn for every exam with judged answers.

    Raises VivaError for an invalid number, DataError for an unusable file.
    """
    if not judged:
        raise VivaError(
            f"{given!r} are for a judge, and there is none: add {option('judge', 'MODEL')}", field="canaries"
        )
    if given.isascii() and given.isdecimal():
        if not 2 <= int(given) <= _MOST:
            raise VivaError(
                f"{given}: draw from 2 to {_MOST:,} an exam, half of them right and half wrong", field="canaries"
            )
        drawn = [canary for exam in exams for canary in _drawn(exam, int(given), seed)]
        if not drawn:
            raise VivaError(
                f"{given}: no question of this run has a gold answer that a judge is asked about; name a "
                "FILE of answers with known marks",
                field="canaries",
            )
        return drawn
    return list(_from_file(Path(given), exams))


def _drawn(exam: Exam, count: int, seed: int) -> Iterator[Canary]:
    """Yield gold answers to some questions, and for others the gold answers to questions of the same kind."""
    golden = [question for question in exam.questions() if _judged(exam, question)]
    drawn = random.Random(f"{seed}/{exam.spec.label}/canaries").sample(golden, min(count, len(golden)))
    for index, question in enumerate(drawn):
        if index % 2 == 0:
            yield Canary(exam=exam.spec.label, question=question.id, text=_reply(exam, question), mark=1.0)
            continue
        other = next((each for each in golden[index:] + golden[:index] if _differs(each, question)), None)
        if other is not None:
            yield Canary(exam=exam.spec.label, question=question.id, text=_reply(exam, other), mark=0.0)


def _judged(exam: Exam, question: Question) -> bool:
    if not question.answer or (exam.spec.rationale and not question.explanation.strip()):
        return False
    return bool(exam.judgements(question, Response(text=_reply(exam, question)), 1, {}))


def _differs(asked: Question, other: Question) -> bool:
    return asked.kind == other.kind and str(asked.answer).casefold().strip() != str(other.answer).casefold().strip()


def _reply(exam: Exam, question: Question) -> str:
    answer = str(question.answer)
    return reply_of(question.explanation.strip(), answer) if exam.spec.rationale else answer


def _from_file(path: Path, exams: Sequence[Exam]) -> Iterator[Canary]:
    """Yield the canaries of a CSV or JSONL file: `question`, `text`, `mark` (0 to 1), and `exam` if several exams have
    the question.

    Questions outside this run's part of an exam (a shard, a limit) are left out.
    """
    asked = {exam.spec.label: {question.id for question in exam.questions()} for exam in exams}
    part = any(exam.spec.shard or exam.spec.limit or exam.spec.questions for exam in exams)
    count = 0
    for line, row in rows_of(path):
        where = f"{path}, line {line}"
        question, text = row.get("question"), next((row[name] for name in _TEXT if name in row), None)
        if not isinstance(text, str) or not text.strip() or question in (None, ""):
            raise DataError(f"{where}: a canary needs the columns question, text and mark")
        try:
            mark = float(str(row.get("mark")))
        except ValueError:
            mark = -1.0
        if not 0.0 <= mark <= 1.0:
            raise DataError(f"{where}: mark {one_line(str(row.get('mark')), 40)!r} is no share of 1, such as 0 or 1")
        named = [str(row["exam"])] if row.get("exam") else list(asked)
        places = [label for label in named if str(question) in asked.get(label, ())]
        if not places and not part:
            raise DataError(f"{where}: no exam of this run asks {one_line(str(question), 60)!r}")
        count += len(places)
        yield from (Canary(exam=label, question=str(question), text=text, mark=mark) for label in places)
    if not count:
        raise DataError(f"{path} holds no answer to a question of this run")
