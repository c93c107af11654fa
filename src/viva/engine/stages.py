"""The stages of a run, each from the files of the one before: answers, executions, similarities, verdicts, scores.

A stage is an iterator: it renders one request at a time, skips what the journal holds, and takes over what an earlier
run answered. Nothing here waits or sends; `asking.carry_out` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from viva.contracts import Exam, Model
from viva.engine.asking import Tally, Task
from viva.engine.budget import Price
from viva.engine.comparing import Comparison, comparison_key, read_similarity
from viva.engine.journal import Entry, Journal
from viva.engine.keys import Keys
from viva.engine.programs import Program, program_key, read_execution
from viva.engine.reviews import item_key
from viva.types import (
    NOTHING,
    Evidence,
    Execution,
    Failure,
    Generate,
    Mark,
    Opinion,
    Question,
    Request,
    Response,
    Sampling,
    Score,
    ScoreRow,
)

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
    dropped: int = 0
    """Exemplars that did not fit, each prompt counted once, once a first pass has rendered them all."""

    @classmethod
    def of(
        cls, exam: Exam, label: str, model: Model, sampling: Sampling, samples: int, repeats: int, price: Price | None
    ) -> Sitting:
        """A sitting with its keys."""
        keys = Keys(model.identity, exam.spec.benchmark)
        return cls(exam, label, model, sampling, samples * repeats, samples, keys, price)

    def requests(self) -> Iterator[tuple[Question, bytes, Request]]:
        """Every question and sample with its request and key, in order; `digests`, `dropped` are known at the end."""
        digests, dropped = bytearray(), 0
        for question in self.exam.questions():
            prompt = None
            for sample in range(self.samples):
                request = self.exam.request(question, sample, self.sampling, self.model.room)
                dropped += request.dropped if request.prompt != prompt else 0
                prompt = request.prompt
                key = self.keys.of(request)
                digests += key
                yield question, key, request
        self.digests, self.dropped = digests, dropped

    def answers(self, journal: Journal) -> Iterator[tuple[Question, int, Entry | None]]:
        """Every question and sample with what the journal holds of it."""
        if len(self.digests) != len(self.exam) * self.samples * DIGEST:
            for question, key, request in self.requests():
                yield question, request.sample, journal.read(key)
            return
        position = 0
        for question in self.exam.questions():
            for sample in range(self.samples):
                yield question, sample, journal.read(bytes(self.digests[position : position + DIGEST]))
                position += DIGEST


class Judge(Struct):
    """A model that judges."""

    model: Model
    price: Price | None = None


class Bench(Struct):
    """The judges, and how often each is asked about an answer."""

    judges: tuple[Judge, ...]
    samples: int

    def requests(
        self, judge: Judge, sitting: Sitting, question: Question, response: Response, similarities: Mapping[str, float]
    ) -> Iterator[tuple[bytes, Generate]]:
        """What one judge must be asked about one answer, with keys; identical answers have identical keys."""
        keys = Keys(judge.model.identity, "judge")
        for request in sitting.exam.judgements(question, response, self.samples, similarities):
            yield keys.of(request, own_question=False), request


class Likenesses(Struct):
    """The similarities that are known: whose they are, and where they stand."""

    identity: Mapping[str, str]
    """The encoder's."""
    journal: Journal

    def of(self, exam: Exam, question: Question, response: Response) -> dict[str, float]:
        """Aspect → similarity, as far as there are any."""
        found: dict[str, float] = {}
        for request in exam.comparisons(question, response):
            value = read_similarity(self.journal.read(comparison_key(self.identity, request)))
            if value is not None:
                found[request.aspect] = value
        return found


def answers_wanted(
    sitting: Sitting, journal: Journal, earlier: Sequence[tuple[str, Journal]], tally: Tally
) -> Iterator[Task]:
    """The requests of one sitting that nobody has answered yet."""
    benchmark = sitting.exam.spec.benchmark
    for _, key, request in sitting.requests():
        if not _kept(key, journal, earlier, tally):
            yield Task(key, benchmark, request, sitting.model, sitting.price)


def verdicts_wanted(
    sitting: Sitting,
    bench: Bench,
    judge: Judge,
    answers: Journal,
    likenesses: Likenesses | None,
    journal: Journal,
    earlier: Sequence[tuple[str, Journal]],
    tally: Tally,
    asked: set[bytes],
) -> Iterator[Task]:
    """What one judge must still be asked about the answers of one sitting.

    `asked` collects the keys over all sittings: equal answers to a question share a verdict.
    """
    benchmark = sitting.exam.spec.benchmark
    for question, _, entry in sitting.answers(answers):
        if entry is None or entry.error:
            continue
        response = entry.response()
        similarities = likenesses.of(sitting.exam, question, response) if likenesses else {}
        for key, request in bench.requests(judge, sitting, question, response, similarities):
            if key in asked:
                continue
            asked.add(key)
            if _kept(key, journal, earlier, tally):
                continue
            accept = _reader(sitting.exam, question, request.aspect)
            yield Task(key, benchmark, request, judge.model, judge.price, accept)


def comparisons_wanted(
    sitting: Sitting,
    identity: Mapping[str, str],
    answers: Journal,
    journal: Journal,
    earlier: Sequence[tuple[str, Journal]],
    tally: Tally,
    asked: set[bytes],
) -> Iterator[Comparison]:
    """The texts of one sitting's answers that nobody has compared yet. `asked` collects keys over all sittings."""
    benchmark = sitting.exam.spec.benchmark
    for question, sample, entry in sitting.answers(answers):
        if entry is None or entry.error:
            continue
        for request in sitting.exam.comparisons(question, entry.response()):
            key = comparison_key(identity, request)
            if key in asked:
                continue
            asked.add(key)
            if not _kept(key, journal, earlier, tally):
                yield Comparison(key, benchmark, sitting.model.name, question.id, sample, request)


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


def _reader(exam: Exam, question: Question, aspect: str) -> Callable[[str], bool]:
    return lambda verdict: exam.readable(question, aspect, verdict)


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


def _no_marks(item: str) -> Sequence[Mark]:
    return ()


class Gathered(Struct):
    """What was found out about a run's answers: the journals of encoder, judges and sandbox, and the experts' marks."""

    bench: Bench | None = None
    verdicts: Journal | None = None
    executions: Journal | None = None
    likenesses: Likenesses | None = None
    marks: Callable[[str], Sequence[Mark]] = _no_marks
    """Item (`reviews.item_key`) → the experts' marks."""

    def about(self, sitting: Sitting, question: Question, sample: int, response: Response) -> Evidence:
        """All about one answer."""
        if response.error:
            return NOTHING
        exam = sitting.exam
        similarities = self.likenesses.of(exam, question, response) if self.likenesses else {}
        item = item_key(sitting.label, sitting.model.name, question.id, sample, response.text)
        return Evidence(
            executions=self._executions(exam, question, response),
            similarities=similarities,
            opinions=self._opinions(sitting, question, response, similarities),
            marks=self.marks(item),
        )

    def _opinions(
        self, sitting: Sitting, question: Question, response: Response, similarities: Mapping[str, float]
    ) -> list[Opinion]:
        found: list[Opinion] = []
        if self.bench is not None and self.verdicts is not None:
            for judge in self.bench.judges:
                for key, request in self.bench.requests(judge, sitting, question, response, similarities):
                    entry = self.verdicts.read(key)
                    if entry and not entry.error and entry.stop_reason != "length":
                        found.append(Opinion(judge.model.name, request.aspect, entry.text))
        return found

    def _executions(self, exam: Exam, question: Question, response: Response) -> list[Execution | None]:
        """How the programs of one answer fared, in the order of `Exam.executions`."""
        if self.executions is None:
            return []
        journal = self.executions
        return [read_execution(journal.read(program_key(request))) for request in exam.executions(question, response)]

    def score(self, sitting: Sitting, question: Question, sample: int, response: Response) -> Score:
        """The score of one answer."""
        return sitting.exam.score(question, response, self.about(sitting, question, sample, response))


def scores(sitting: Sitting, answers: Journal, gathered: Gathered) -> Iterator[ScoreRow]:
    """The score of every answer of a sitting, from the journals alone. An answer that is not there is an error."""
    exam = sitting.exam
    shown = parts_shown(exam)
    for question, sample, entry in sitting.answers(answers):
        score = gathered.score(sitting, question, sample, entry.response() if entry else NOT_ASKED)
        yield row_of(sitting, question, sample, score, shown)


def row_of(sitting: Sitting, question: Question, sample: int, score: Score, shown: frozenset[str]) -> ScoreRow:
    """One answer's score as a row; `shown` are the exam's `parts_shown`."""
    return ScoreRow(
        benchmark=sitting.exam.spec.benchmark,
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
        decided=score.decided,
        verdicts=score.verdicts,
        isolation=score.isolation,
    )


def parts_shown(exam: Exam) -> frozenset[str]:
    """The parts of scores that the exam's tables have a column or row for; others stay out of scores.jsonl."""
    lines = [line for layout in exam.layouts() for line in (*layout.rows, *layout.columns)]
    return frozenset(part for line in (*lines, exam.headline()) for part in (line.part, line.given) if part)
