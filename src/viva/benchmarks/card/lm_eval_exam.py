"""A card's task of lm-evaluation-harness as an exam: the same prompts, byte for byte, and the same score.

    description, then for each exemplar its question, target_delimiter, answer, fewshot_delimiter; then the question

That is the text with `--form base`. With chat messages each of these parts is a message, without what separates them,
like lm-eval's with --apply_chat_template. Options compete by their likelihoods; each pipeline of filters extracts from
a reply what it compares.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from random import Random
from typing import Any

import msgspec

from viva.benchmarks.basics import visible
from viva.benchmarks.card.cardexam import CardExam
from viva.benchmarks.card.cardmodel import Card
from viva.benchmarks.card.cardtable import QuestionTable
from viva.benchmarks.card.cells import FILE, ROW, InvalidGold
from viva.benchmarks.card.lm_eval_file import Filter, LmEvalTask, Metric, Shown, joined
from viva.benchmarks.card.questions import written
from viva.benchmarks.card.templating import SECONDS, match
from viva.benchmarks.judged import blank_reply, unread
from viva.errors import DataError
from viva.prompting import Templates
from viva.scorers.reading import scored
from viva.types import (
    NOTHING,
    Aggregate,
    Defect,
    Evidence,
    ExamSpec,
    Message,
    Prompt,
    Question,
    Response,
    Score,
    TableSpec,
)

NONE = "none"
"""lm-eval's name of the pipeline of a task without filters."""
_LONGEST = 1 << 20
"""Most characters of a reply that are scored."""
Row = Mapping[str, Any]


class LmEvalExam(CardExam):
    """The questions of a task. Exemplars are drawn from the rows of `pool`."""

    def __init__(
        self,
        spec: ExamSpec,
        card: Card,
        task: LmEvalTask,
        table: QuestionTable,
        *,
        fingerprint: str,
        pool: Sequence[Row] = (),
        defects: Sequence[Defect] = (),
        templates: Mapping[str, object],
    ) -> None:
        super().__init__(spec, card, table, Templates(templates), fingerprint=fingerprint, defects=defects)
        self._task, self._pool = task, pool
        self._written: dict[int, Question] = {}
        self._pipelines: dict[str, Sequence[Filter]] = {
            pipeline.name: pipeline.filter for pipeline in task.filter_list
        } or {NONE: ()}
        self._metric = next(
            (metric for metric in task.metric_list if metric.metric == "exact_match"), Metric("exact_match")
        )
        match("", [""], self._pipelines, self._metric)  # reports an invalid pattern before anything is asked
        self._drawn: dict[str, Sequence[int]] = {}
        shown = task.fewshot_config
        _refuse_few(pool, spec.shots)
        self._always: Sequence[int] = range(spec.shots)
        if spec.shots and (shown.sampler == "default" or shown.without_question):
            rows = ({name: row[name] for name in row if name not in (FILE, ROW)} for row in table.rows())
            ids = (question.id for question in table)
            self._drawn = dict(zip(ids, exemplars_of(shown, pool, rows, spec.shots), strict=True))

    def shown(self, question: Question) -> Sequence[Question]:
        """Return the exemplars drawn for a question."""
        return [self._exemplar(index) for index in self._drawn.get(question.id, self._always)]

    def stops(self, question: Question) -> tuple[str, ...]:
        """Return the task's stop texts."""
        return tuple(self._task.generation_kwargs.until)

    def shown_options(self, question: Question) -> tuple[str, ...]:
        """Return the options unchanged: their white space is scored, too."""
        return question.options

    def answer_separator(self, question: Question) -> str:
        """Return the task's delimiter before an answer."""
        return self._task.target_delimiter

    def prompt(self, question: Question, shots: Sequence[Question]) -> Prompt:
        """Return the turns as one text for a base model, else as messages."""
        turns = self._turns(question, shots)
        if self.spec.form == "base":
            return "".join(message.content + behind for message, behind in turns)
        return tuple(message for message, _ in turns)

    def _exemplar(self, index: int) -> Question:
        if index not in self._written:
            try:
                self._written[index] = written(self._task, self._pool[index], self._card)
            except InvalidGold as problem:
                raise DataError(f"row {index} of the exemplars: {problem.kind}: {problem.detail}") from None
        return self._written[index]

    def _turns(self, question: Question, shots: Sequence[Question]) -> Iterator[tuple[Message, str]]:
        """Yield the messages of a prompt, with the separator after each where they are one text."""
        task, shown = self._task, self._task.fewshot_config
        if task.description:
            yield Message("system", task.description), ""
        prefix = task.gen_prefix if shown.gen_prefix is None else shown.gen_prefix
        between = task.target_delimiter if shown.target_delimiter is None else shown.target_delimiter
        behind = task.fewshot_delimiter if shown.fewshot_delimiter is None else shown.fewshot_delimiter
        for shot in shots:
            answer = str(shot.answer)
            yield Message("user", shot.text), between if answer and not prefix else _gap(shot.text, prefix, between)
            if answer or prefix:
                yield Message("assistant", joined(prefix, answer, " ")), behind if answer else ""
        yield Message("user", question.text), _gap(question.text, task.gen_prefix, task.target_delimiter)
        if task.gen_prefix:
            yield Message("assistant", task.gen_prefix), ""

    def score(self, question: Question, response: Response, evidence: Evidence = NOTHING) -> Score:
        """Score what each pipeline of filters extracts from a reply against the gold answers; the first one counts."""
        if question.kind == "choice" or response.error or question.answer is None:
            return super().score(question, response, evidence)
        text = visible(response)
        if text is None:
            return unread(response, "thinking without an end")
        text = text[:_LONGEST]
        if not text.strip():
            return blank_reply(response)
        text = text[
            : min(
                (place for stop in self._task.generation_kwargs.until if (place := text.find(stop)) >= 0), default=None
            )
        ]
        extracted = match(text, [question.answer, *question.accepted], self._pipelines, self._metric)
        if extracted is None:
            return unread(response, f"a pattern of the card takes more than {SECONDS:g} s on this reply")
        parts = {name: float(read_one.same) for name, read_one in extracted.items()}
        first = next(iter(extracted))
        read = extracted[first]
        if read.lost and not read.same:
            return msgspec.structs.replace(unread(response, f"{first}: the pattern finds nothing"), parts=parts)
        why = f"{first}: {'is' if read.same else 'is not'} the gold answer, as the task compares them"
        return scored(read.same, read.text, why, parts)

    def layouts(self) -> tuple[TableSpec, ...]:
        """Return the tables of a card, and one of the pipelines where there are several."""
        if len(self._pipelines) < 2:
            return super().layouts()
        rows = tuple(Aggregate(name, part=name) for name in self._pipelines)
        return (*super().layouts(), TableSpec("filters", "By filter", rows, (Aggregate("Exact match"),)))


def exemplars_of(shown: Shown, pool: Sequence[Row], rows: Iterable[Row], shots: int) -> Iterator[Sequence[int]]:
    """Yield for each question the rows of the pool that it is shown, as lm-eval's samplers choose them.

    Its default sampler uses one random generator for all questions in order, so that a question's exemplars depend on
    how many came before it. Raises DataError where there are too few.
    """
    random = Random(shown.seed)
    apart = shown.without_question
    for row in rows:
        others = (index for index in range(len(pool)) if not apart or pool[index] != row)
        if shown.sampler == "first_n":
            chosen = list(islice(others, shots))
        else:
            _refuse_few(pool, shots + apart)
            chosen = [
                index for index in random.sample(range(len(pool)), shots + apart) if not apart or pool[index] != row
            ]
            chosen = chosen[:shots]
            if len(chosen) < shots:  # repeated rows
                left = list(others)
                _refuse_few(left, shots)
                chosen = [left[index] for index in random.sample(range(len(left)), shots)]
        _refuse_few(chosen, shots)
        yield chosen


def _refuse_few(rows: Sequence[object], wanted: int) -> None:
    if len(rows) < wanted:
        raise DataError(
            f"needs {wanted} rows to choose exemplars from, and there are {len(rows)}: ask for fewer", field="shots"
        )


def _gap(text: str, prefix: str, delimiter: str) -> str:
    """Return the delimiter between a question and its answer, if neither has white space there."""
    return delimiter if prefix and text and not (text[-1].isspace() or prefix[0].isspace()) else ""
