"""The stages of a run, each from the files of the one before: answers, executions, verdicts, scores.

A stage is an iterator: it renders one request at a time, skips what the journal holds, and takes over what an earlier
run answered. Nothing here waits or sends; `asking.carry_out` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec import Struct

from viva.engine.asking import Tally, Task
from viva.engine.budget import Price
from viva.engine.journal import Entry, Journal
from viva.engine.keys import Keys
from viva.engine.programs import Program, program_key, read_execution
from viva.types import Exam, Execution, Failure, Generate, Model, Question, Response, Sampling, Score, ScoreRow

DIGEST = 16
_SHOWN = 2000
"""Characters of an answer or explanation that scores.jsonl repeats; the journal holds all of it."""
NOT_ASKED = Response(error=Failure("not asked", "this question was not answered yet"))


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
    digests: bytearray = msgspec.field(default_factory=bytearray)
    """The keys in the order of questions and samples, once a first pass has computed them: rendering is dear."""

    @classmethod
    def of(
        cls, exam: Exam, label: str, model: Model, sampling: Sampling, samples: int, repeats: int, price: Price | None
    ) -> Sitting:
        """A sitting with its keys."""
        keys = Keys(model.identity, exam.spec.benchmark)
        return cls(exam, label, model, sampling, samples * repeats, samples, keys, price)

    def requests(self, question: Question) -> Iterator[tuple[bytes, Generate]]:
        """Every sample's request with its key."""
        for sample in range(self.samples):
            request = self.exam.request(question, sample, self.sampling)
            yield self.keys.of(request), request

    def answers(self, journal: Journal) -> Iterator[tuple[Question, int, Entry | None]]:
        """Every question and sample with what the journal holds of it."""
        position = 0
        known = len(self.digests) == len(self.exam) * self.samples * DIGEST
        for question in self.exam.questions():
            for sample in range(self.samples):
                if known:
                    key = bytes(self.digests[position : position + DIGEST])
                    position += DIGEST
                else:
                    key = self.keys.of(self.exam.request(question, sample, self.sampling))
                yield question, sample, journal.read(key)


class Bench(Struct):
    """A judge and how often it is asked."""

    model: Model
    samples: int
    price: Price | None = None

    def requests(self, sitting: Sitting, question: Question, response: Response) -> Iterator[tuple[bytes, Generate]]:
        """What the judge must be asked about one answer, with keys; identical answers have identical keys."""
        keys = Keys(self.model.identity, "judge")
        for request in sitting.exam.judgements(question, response, self.samples):
            yield keys.of(request, own_question=False), request


def answers_wanted(
    sitting: Sitting, journal: Journal, earlier: Sequence[tuple[str, Journal]], tally: Tally
) -> Iterator[Task]:
    """The requests of one sitting that nobody has answered yet."""
    benchmark = sitting.exam.spec.benchmark
    sitting.digests.clear()
    for question in sitting.exam.questions():
        for key, request in sitting.requests(question):
            sitting.digests += key
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
    asked: set[bytes],
) -> Iterator[Task]:
    """What the judge must still be asked about the answers of one sitting.

    `asked` collects the keys over all sittings: equal answers to a question share a verdict.
    """
    benchmark = sitting.exam.spec.benchmark
    for question, _, entry in sitting.answers(answers):
        if entry is None or entry.error:
            continue
        for key, request in bench.requests(sitting, question, entry.response()):
            if key in asked:
                continue
            asked.add(key)
            if _kept(key, journal, earlier, tally):
                continue
            yield Task(key, benchmark, request, bench.model, bench.price, _reader(sitting.exam, question))


def programs_wanted(
    sitting: Sitting,
    answers: Journal,
    journal: Journal,
    earlier: Sequence[tuple[str, Journal]],
    tally: Tally,
    asked: set[bytes],
) -> Iterator[Program]:
    """The programs of one sitting's answers that nobody has run yet. `asked` collects their keys over all sittings."""
    benchmark = sitting.exam.spec.benchmark
    for question, _, entry in sitting.answers(answers):
        if entry is None or entry.error:
            continue
        for request in sitting.exam.executions(question, entry.response()):
            key = program_key(request)
            if key in asked:
                continue
            asked.add(key)
            if not _kept(key, journal, earlier, tally):
                yield Program(key, benchmark, sitting.model.name, request)


def _reader(exam: Exam, question: Question) -> Callable[[str], bool]:
    return lambda verdict: exam.readable(question, verdict)


def _kept(key: bytes, journal: Journal, earlier: Sequence[tuple[str, Journal]], tally: Tally) -> bool:
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


class Evidence(Struct):
    """What was found out about a run's answers: the journals of judge and sandbox, as far as there are any."""

    bench: Bench | None = None
    verdicts: Journal | None = None
    executions: Journal | None = None

    def verdicts_on(self, sitting: Sitting, question: Question, response: Response) -> list[str]:
        """The judge's replies about one answer."""
        if self.bench is None or self.verdicts is None or response.error:
            return []
        found = [self.verdicts.read(key) for key, _ in self.bench.requests(sitting, question, response)]
        return [entry.text for entry in found if entry]

    def executions_of(self, sitting: Sitting, question: Question, response: Response) -> list[Execution | None]:
        """How the programs of one answer fared, in the order of `Exam.executions`."""
        if self.executions is None or response.error:
            return []
        journal = self.executions
        return [
            read_execution(journal.read(program_key(request)))
            for request in sitting.exam.executions(question, response)
        ]

    def score(self, sitting: Sitting, question: Question, response: Response) -> Score:
        """The score of one answer."""
        verdicts = self.verdicts_on(sitting, question, response)
        return sitting.exam.score(question, response, verdicts, self.executions_of(sitting, question, response))


def scores(sitting: Sitting, answers: Journal, evidence: Evidence) -> Iterator[ScoreRow]:
    """The score of every answer of a sitting, from the journals alone. An answer that is not there is an error."""
    exam = sitting.exam
    shown = parts_shown(exam)
    for question, sample, entry in sitting.answers(answers):
        score = evidence.score(sitting, question, entry.response() if entry else NOT_ASKED)
        yield ScoreRow(
            benchmark=exam.spec.benchmark,
            exam=sitting.label,
            model=sitting.model.name,
            question=question.id,
            sample=sample,
            repeat=sample // sitting.per_repeat,
            value=score.value,
            outcome=score.outcome,
            answer=score.answer[:_SHOWN],
            explanation=score.explanation[:_SHOWN],
            tags=question.tags,
            parts={name: part for name, part in score.parts.items() if name in shown},
            weight=question.weight,
        )


def parts_shown(exam: Exam) -> frozenset[str]:
    """The parts of scores that the exam's tables have a column or row for; others stay out of scores.jsonl."""
    lines = [line for layout in exam.layouts() for line in (*layout.rows, *layout.columns)]
    return frozenset(line.part for line in (*lines, exam.headline()) if line.part)
