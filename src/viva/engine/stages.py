"""The stages of a run, each from the files of the one before: answers, verdicts, scores.

A stage is an iterator: it renders one request at a time, skips what the journal holds, and takes over what an earlier
run answered. Nothing here waits or sends; `asking.carry_out` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec import Struct

from viva.engine.asking import Tally, Task
from viva.engine.budget import Price
from viva.engine.journal import Journal
from viva.engine.keys import Keys
from viva.types import Exam, Failure, Generate, Model, Question, Response, Sampling, ScoreRow

_SHOWN = 2000
"""Characters of an answer or explanation that scores.jsonl repeats; the journal holds all of it."""
_NOT_ASKED = Response(error=Failure("not asked", "this question was not answered yet"))


class Sitting(Struct):
    """One model sitting one exam: everything a stage needs to know."""

    exam: Exam
    label: str
    model: Model
    sampling: Sampling
    samples: int
    """Answers per question in all: samples times repeats."""
    per_repeat: int
    keys: Keys
    price: Price | None = None

    @classmethod
    def of(
        cls, exam: Exam, label: str, model: Model, sampling: Sampling, samples: int, repeats: int, price: Price | None
    ) -> Sitting:
        """A sitting with its keys."""
        keys = Keys(model.identity, sampling, exam.spec.benchmark)
        return cls(exam, label, model, sampling, samples * repeats, samples, keys, price)

    def requests(self, question: Question) -> Iterator[tuple[str, Generate]]:
        """Every sample's request with its key."""
        for sample in range(self.samples):
            request = self.exam.request(question, sample, self.sampling)
            yield self.keys.of(request), request


class Bench(Struct):
    """A judge and how often it is asked."""

    model: Model
    samples: int
    price: Price | None = None

    def requests(self, sitting: Sitting, question: Question, response: Response) -> Iterator[tuple[str, Generate]]:
        """What the judge must be asked about one answer, with keys; identical answers have identical keys."""
        for request in sitting.exam.judgements(question, response, self.samples):
            keys = Keys(self.model.identity, request.sampling, "judge")
            yield keys.of(request, own_question=False), request


def answers_wanted(
    sitting: Sitting, journal: Journal, earlier: Sequence[tuple[str, Journal]], tally: Tally
) -> Iterator[Task]:
    """The requests of one sitting that nobody has answered yet."""
    benchmark = sitting.exam.spec.benchmark
    for question in sitting.exam.questions():
        for key, request in sitting.requests(question):
            if _kept(key, journal, earlier, tally):
                continue
            yield Task(key, benchmark, request, sitting.model, sitting.price)


def verdicts_wanted(
    sitting: Sitting,
    bench: Bench,
    answers: Journal,
    journal: Journal,
    earlier: Sequence[tuple[str, Journal]],
    tally: Tally,
) -> Iterator[Task]:
    """What the judge must still be asked about the answers of one sitting."""
    benchmark = sitting.exam.spec.benchmark
    asked: set[str] = set()
    for question in sitting.exam.questions():
        for answer_key, _ in sitting.requests(question):
            entry = answers.read(answer_key)
            if entry is None or entry.error:
                continue
            for key, request in bench.requests(sitting, question, entry.response()):
                if key in asked or _kept(key, journal, earlier, tally):
                    continue
                asked.add(key)
                yield Task(key, benchmark, request, bench.model, bench.price, _reader(sitting.exam, question))


def _reader(exam: Exam, question: Question) -> Callable[[str], bool]:
    return lambda verdict: exam.readable(question, verdict)


def _kept(key: str, journal: Journal, earlier: Sequence[tuple[str, Journal]], tally: Tally) -> bool:
    if key in journal.answered:
        tally.kept += 1
        return True
    for name, other in earlier:
        if key in other.answered:
            entry = other.read(key)
            if entry is not None:
                journal.append(msgspec.structs.replace(entry, reused=name))
                tally.kept += 1
                return True
    return False


def scores(sitting: Sitting, answers: Journal, bench: Bench | None, verdicts: Journal | None) -> Iterator[ScoreRow]:
    """The score of every answer of a sitting, from the journals alone. An answer that is not there is an error."""
    exam = sitting.exam
    for question in exam.questions():
        for key, request in sitting.requests(question):
            entry = answers.read(key)
            response = entry.response() if entry else _NOT_ASKED
            replies: list[str] = []
            if bench and verdicts and not response.error:
                for judge_key, _ in bench.requests(sitting, question, response):
                    verdict = verdicts.read(judge_key)
                    if verdict:
                        replies.append(verdict.text)
            score = exam.score(question, response, replies)
            yield ScoreRow(
                benchmark=exam.spec.benchmark,
                exam=sitting.label,
                model=sitting.model.name,
                question=question.id,
                sample=request.sample,
                repeat=request.sample // sitting.per_repeat,
                value=score.value,
                outcome=score.outcome,
                answer=score.answer[:_SHOWN],
                explanation=score.explanation[:_SHOWN],
                tags=question.tags,
            )
