"""The stages of a run: answers, executions, similarities, verdicts, scores, each computed from the files before it.

A stage is an iterator: it renders one request at a time, skips those in the journal, and copies answers of earlier
runs. Its input is an iterator of answers in the order in which they came; None, in input and output, means that nothing
is ready now. Nothing here waits or sends; `groups.carry_out` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

import msgspec
from msgspec import Struct

from viva.contracts import Exam, Model
from viva.engine.asking import Feed, Onward, Tally, Task
from viva.engine.budget import Price
from viva.engine.evidence import Comparison, Program, comparison_key, program_key, read_execution, read_similarity
from viva.engine.folder import Canary
from viva.engine.journal import Entry, Journal, Keys, nonces, with_nonce, with_seed
from viva.engine.reviews import item_key
from viva.keytable import KeyTable
from viva.prompting import with_system
from viva.providers import traits_of
from viva.types import (
    CUT_OFF,
    NOT_ASKED,
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
    VerdictFormat,
)

DIGEST = 16
_SHOWN = 2000
"""Characters of an answer or explanation that scores.jsonl repeats; the journal holds all of it."""
NO_REPLY_YET = Response(error=Failure(NOT_ASKED, "no answer has come in yet"))


class Evaluation(Struct):
    """One model on one exam: everything that a stage needs."""

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
    """The keys in the order of questions and samples; cached after the first pass: rendering prompts is expensive."""
    dropped: int = 0
    """Exemplars that did not fit, each prompt counted once, once a first pass has rendered them all."""
    system: str = ""
    """The user's system text before every prompt."""
    seed: int | None = None
    """The run's, from which the seed of each question is drawn; None where none is sent, or one for all questions."""

    def request(self, question: Question, sample: int) -> Request:
        """Return what the model is asked: the exam's prompt, after the user's system text where there is one."""
        request = self.exam.request(question, sample, self.sampling, self.model.context_window)
        if self.seed is not None and isinstance(request, Generate):
            request = with_seed(request, self.seed, request.question)
        if not self.system:
            return request
        return msgspec.structs.replace(request, prompt=with_system(request.prompt, self.system))

    def requests(self) -> Iterator[tuple[Question, bytes, Request]]:
        """Yield every question and sample with its request and key, in order; `digests`, `dropped` are known at the
        end.
        """
        digests, dropped = bytearray(), 0
        for question in self.exam.questions():
            prompt = None
            for sample in range(self.samples):
                request = self.request(question, sample)
                dropped += request.dropped if request.prompt != prompt else 0
                prompt = request.prompt
                key = self.keys.of(request)
                digests += key
                yield self.exam.variant(question, sample), key, request
        self.digests, self.dropped = digests, dropped

    def answers(self, journal: Journal) -> Iterator[tuple[Question, int, Entry | None]]:
        """Yield every question and sample with its journal entry, None where there is none."""
        if not self.keyed:
            for question, key, request in self.requests():
                yield question, request.sample, journal.read(key)
            return
        for number, question in enumerate(self.exam.questions()):
            for sample in range(self.samples):
                key = self.key(number * self.samples + sample)
                yield self.exam.variant(question, sample), sample, journal.read(key)

    @property
    def keyed(self) -> bool:
        """Whether the keys of all requests are cached."""
        return len(self.digests) == len(self.exam) * self.samples * DIGEST

    def key(self, place: int) -> bytes:
        """Return the key of the request at a place in the order of questions and samples, once all are cached."""
        return bytes(self.digests[place * DIGEST : (place + 1) * DIGEST])


class Judge(Struct):
    """A model that judges."""

    model: Model
    price: Price | None = None


class JudgePanel(Struct):
    """The judges, the number of requests to each about an answer, and the form of their verdicts."""

    judges: tuple[Judge, ...]
    samples: int
    verdicts: VerdictFormat = "line"
    seed: int | None = None
    """The run's, from which the seeds are drawn that judges are sent; None where they are sent none."""
    _nonces: list[Callable[[bytes], str]] = []

    def nonce(self, key: bytes) -> str:
        """Return the nonce of a request. Raises StorageError where the user's secret cannot be read or created."""
        if not self._nonces:
            self._nonces.append(nonces())
        return self._nonces[0](key)

    def requests(
        self, judge: Model, exam: Exam, question: Question, response: Response, similarities: Mapping[str, float]
    ) -> Iterator[tuple[bytes, Generate]]:
        """Yield (key, request) for one judge about one answer; identical answers have identical keys.

        The requests hold no nonce yet, so that keys do not depend on the user.
        """
        for request in exam.judgements(question, response, self.samples, similarities):
            yield self.key(judge, exam, request), request

    def key(self, judge: Model, exam: Exam, request: Generate) -> bytes:
        """Return the key of a request that holds no nonce yet."""
        form = self.form(judge, exam)
        keys = Keys(judge.identity, "judge" if form == "line" else f"judge {form}")
        return keys.of(self._seeded(request), own_question=False)

    def _seeded(self, request: Generate) -> Generate:
        """Return the request with its seed, which equal requests about several questions share."""
        return request if self.seed is None else with_seed(request, self.seed, request.prompt)

    def task(self, judge: Judge, exam: Exam, question: Question, key: bytes, request: Generate) -> Task:
        """Return a judge's task: the request with seed and nonce, and the test whether a reply can be read."""
        form = self.form(judge.model, exam)
        nonce = "" if form == "line" else self.nonce(key)
        accept = _reader(exam, question, judge.model.name, request.aspect)
        sent = with_nonce(self._seeded(request), nonce, form)
        return Task(key, exam.spec.benchmark, sent, judge.model, judge.price, accept, nonce)

    def form(self, judge: Model, exam: Exam) -> VerdictFormat:
        """Return how this judge must write its verdicts: without a nonce in exams as published and recorded replies."""
        recorded = traits_of(judge.identity.get("provider", "")).recorded
        return "line" if exam.spec.as_published or recorded else self.verdicts


class SimilarityStore(Struct):
    """The known similarities: their encoder, and the journal that holds them."""

    identity: Mapping[str, str]
    """The encoder's."""
    journal: Journal

    def of(self, exam: Exam, question: Question, response: Response) -> dict[str, float]:
        """Return aspect → similarity of one answer, as far as known."""
        similarities: dict[str, float] = {}
        for request in exam.comparisons(question, response):
            value = read_similarity(self.journal.read(comparison_key(self.identity, request)))
            if value is not None:
                similarities[request.aspect] = value
        return similarities


class Ready(Struct, frozen=True):
    """An answer ready for the next stages, which read its text from the journal."""

    evaluation: Evaluation
    question: Question
    sample: int
    key: bytes
    """Key of the request that it answers."""


class Answered(Struct, frozen=True):
    """One answer of an evaluation, read from the journal."""

    ready: Ready
    response: Response


def taken(ready: Iterable[Ready | None], answers: Journal) -> Iterator[Answered | None]:
    """Yield the answers of a feed, read from the journal."""
    for request in ready:
        entry = answers.read(request.key) if request is not None else None
        if request is None:
            yield None
        elif entry is not None and not entry.error:
            yield Answered(request, entry.response())


def journaled(evaluations: Sequence[Evaluation], answers: Journal) -> Iterator[Answered | None]:
    """Yield all answers in the journal, in the order of evaluations, questions and samples."""
    for evaluation in evaluations:
        for question, sample, entry in evaluation.answers(answers):
            if entry is not None and not entry.error:
                yield Answered(Ready(evaluation, question, sample, bytes.fromhex(entry.key)), entry.response())


def answers_wanted(
    evaluation: Evaluation,
    journal: Journal,
    earlier: Sequence[tuple[str, Journal]],
    tally: Tally,
    onward: Onward[Ready],
) -> Iterator[Task | None]:
    """Yield the requests of one evaluation without an answer. Each answer is passed `onward` once it is journaled."""
    benchmark = evaluation.exam.spec.benchmark
    for number, (question, key, request) in enumerate(evaluation.requests()):
        while onward.full:
            yield None
        arrived = None
        if onward.feeds:
            arrived = partial(onward.put, id(evaluation), number, Ready(evaluation, question, request.sample, key))
        if not is_kept(key, journal, earlier, tally):
            yield Task(key, benchmark, request, evaluation.model, evaluation.price, arrived=arrived)
        elif arrived is not None:
            arrived()


class VerdictQueue(Struct):
    """The requests still to ask one judge. Equal answers to a question share a verdict, also across models."""

    judge_panel: JudgePanel
    judge: Judge
    journal: Journal
    earlier: Sequence[tuple[str, Journal]]
    tally: Tally
    wanted: KeyTable
    """Keys of all requests to the judges of a run found so far: the tally's total."""
    asked: KeyTable = msgspec.field(default_factory=KeyTable)

    def about(
        self, answered: Iterator[Answered | None], similarity_store: SimilarityStore | None
    ) -> Iterator[Task | None]:
        """Yield some answers."""
        for answer in answered:
            if answer is None:
                yield None
                continue
            exam, question = answer.ready.evaluation.exam, answer.ready.question
            similarities = similarity_store.of(exam, question, answer.response) if similarity_store else {}
            yield from self._about_one(exam, question, answer.response, similarities)

    def about_canaries(self, canaries: Sequence[Canary], exams: Sequence[Exam]) -> Iterator[Task]:
        """Yield the requests about answers with known marks, the same as about any other."""
        for exam, question, canary in with_questions(canaries, exams):
            yield from self._about_one(exam, question, Response(text=canary.text), {})

    def _about_one(
        self, exam: Exam, question: Question, response: Response, similarities: Mapping[str, float]
    ) -> Iterator[Task]:
        judge_panel, judge = self.judge_panel, self.judge
        for key, request in judge_panel.requests(judge.model, exam, question, response, similarities):
            if key in self.asked:
                continue
            self.asked.add(key)
            self.wanted.add(key)
            self.tally.total = len(self.wanted)
            if not is_kept(key, self.journal, self.earlier, self.tally):
                yield judge_panel.task(judge, exam, question, key, request)


def with_questions(canaries: Sequence[Canary], exams: Sequence[Exam]) -> Iterator[tuple[Exam, Question, Canary]]:
    """Yield the canaries of these exams with the questions that they answer, exam by exam."""
    for exam in exams:
        mine: dict[str, list[Canary]] = {}
        for canary in canaries:
            if canary.exam == exam.spec.label:
                mine.setdefault(canary.question, []).append(canary)
        for question in exam.questions() if mine else ():
            for canary in mine.get(question.id, ()):
                yield exam, question, canary


class _Waiting(Struct):
    """An answer that is passed on once `left` comparisons are settled."""

    ready: Ready
    left: int


class ComparisonQueue(Struct):
    """The comparisons still to make; answers whose comparisons are settled are passed `onward`."""

    identity: Mapping[str, str]
    journal: Journal
    earlier: Sequence[tuple[str, Journal]]
    tally: Tally
    onward: Sequence[Feed[Ready]]
    _asked: KeyTable = msgspec.field(default_factory=KeyTable)
    _waiting: dict[bytes, list[_Waiting]] = msgspec.field(default_factory=dict)

    def about(self, answered: Iterator[Answered | None]) -> Iterator[Comparison | None]:
        """Yield some answers."""
        for answer in answered:
            if answer is None:
                yield None
                continue
            while any(feed.full for feed in self.onward):
                yield None
            waiting = _Waiting(answer.ready, 1)
            wanted = list(self._about_one(waiting, answer.response))
            self._settle(waiting)
            yield from wanted

    def _about_one(self, waiting: _Waiting, response: Response) -> Iterator[Comparison]:
        ready = waiting.ready
        evaluation, question = ready.evaluation, ready.question
        benchmark, model = evaluation.exam.spec.benchmark, evaluation.model.name
        for request in evaluation.exam.comparisons(question, response):
            key = comparison_key(self.identity, request)
            if key not in self._asked:
                self._asked.add(key)
                self.tally.total += 1
                if not is_kept(key, self.journal, self.earlier, self.tally):
                    self._waiting[key] = []
                    settled = partial(self._settled, key)
                    yield Comparison(key, benchmark, model, question.id, ready.sample, request, settled)
            if key in self._waiting:
                self._waiting[key].append(waiting)
                waiting.left += 1

    def _settled(self, key: bytes) -> None:
        for waiting in self._waiting.pop(key, ()):
            self._settle(waiting)

    def _settle(self, waiting: _Waiting) -> None:
        waiting.left -= 1
        if not waiting.left:
            for feed in self.onward:
                feed.put(waiting.ready)


def programs_wanted(
    answered: Iterator[Answered | None], journal: Journal, earlier: Sequence[tuple[str, Journal]], tally: Tally
) -> Iterator[Program | None]:
    """Yield the programs of answers that were not run yet."""
    asked = KeyTable()
    for answer in answered:
        if answer is None:
            yield None
            continue
        evaluation = answer.ready.evaluation
        for request in evaluation.exam.executions(answer.ready.question, answer.response):
            key = program_key(request)
            if key in asked:
                continue
            asked.add(key)
            tally.total += 1
            if not is_kept(key, journal, earlier, tally):
                benchmark, model = evaluation.exam.spec.benchmark, evaluation.model.name
                yield Program(key, benchmark, model, request.question, request.sample, request)


def _reader(exam: Exam, question: Question, judge: str, aspect: str) -> Callable[[str, str], bool]:
    return lambda reply, nonce: exam.readable(question, Opinion(judge, aspect, reply, nonce))


def is_kept(key: bytes, journal: Journal, earlier: Sequence[tuple[str, Journal]], tally: Tally) -> bool:
    """Return whether the journal has the reply to a request, copying it from an earlier run's where that has it."""
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


class EvidenceStore(Struct):
    """The evidence about a run's answers: journals of encoder, judges and sandbox, and the experts' marks."""

    judge_panel: JudgePanel | None = None
    verdicts: Journal | None = None
    executions: Journal | None = None
    similarity_store: SimilarityStore | None = None
    marks: Callable[[str], Sequence[Mark]] | None = None
    """Item (`reviews.item_key`) → the experts' marks; None where no expert marked anything."""

    def about(self, evaluation: Evaluation, question: Question, sample: int, response: Response) -> Evidence:
        """Return all evidence about one answer."""
        if response.error or not (self.verdicts or self.executions or self.similarity_store or self.marks):
            return NOTHING
        exam = evaluation.exam
        similarities = self.similarity_store.of(exam, question, response) if self.similarity_store else {}
        judges = self.judge_panel.judges if self.judge_panel else ()
        replies = [reply for judge in judges for reply in self._replies(judge, exam, question, response, similarities)]
        return Evidence(
            executions=self._executions(exam, question, response),
            similarities=similarities,
            opinions=[opinion for opinion, whole in replies if opinion and whole],
            failed=[opinion for opinion, whole in replies if opinion and not whole],
            marks=self.marks(item_key(evaluation.label, evaluation.model.name, question.id, sample, response.text))
            if self.marks
            else (),
        )

    def opinions(
        self, judge: Judge, exam: Exam, question: Question, response: Response, similarities: Mapping[str, float]
    ) -> Iterator[Opinion | None]:
        """Yield one judge's opinions about an answer; None for each request without a readable reply."""
        for opinion, whole in self._replies(judge, exam, question, response, similarities):
            yield opinion if whole else None

    def _replies(
        self, judge: Judge, exam: Exam, question: Question, response: Response, similarities: Mapping[str, float]
    ) -> Iterator[tuple[Opinion | None, bool]]:
        """Yield (opinion, whether it can be read); a failure stands for a missing reply, None for one not asked yet."""
        if self.judge_panel is None or self.verdicts is None:
            return
        for key, request in self.judge_panel.requests(judge.model, exam, question, response, similarities):
            entry = self.verdicts.read(key)
            whole = bool(entry and not entry.error and entry.stop_reason not in CUT_OFF)
            text = (entry.text or (entry.error.message if entry.error else "")) if entry else ""
            lost = not (entry and entry.text)
            yield Opinion(judge.model.name, request.aspect, text, entry.nonce, lost=lost) if entry else None, whole

    def _executions(self, exam: Exam, question: Question, response: Response) -> list[Execution | None]:
        """Return the outcomes of one answer's programs, in the order of `Exam.executions`."""
        if self.executions is None:
            return []
        journal = self.executions
        return [read_execution(journal.read(program_key(request))) for request in exam.executions(question, response)]

    def score(self, evaluation: Evaluation, question: Question, sample: int, response: Response) -> Score:
        """Return the score of one answer."""
        return evaluation.exam.score(question, response, self.about(evaluation, question, sample, response))

    def row(
        self, evaluation: Evaluation, question: Question, sample: int, entry: Entry | None, shown: frozenset[str]
    ) -> ScoreRow:
        """Return one answer's score as a row (see `row_of`); `entry`: None without a reply or failure."""
        response = entry.response() if entry else NO_REPLY_YET
        score = self.score(evaluation, question, sample, response)
        return row_of(evaluation, question, sample, response, score, shown)


def recorded(evaluation: Evaluation) -> bool:
    """Return whether an evaluation's replies are recorded ones, whose cost and time are unknown."""
    return traits_of(evaluation.model.identity.get("provider", "")).recorded


def scores(
    evaluation: Evaluation,
    answers: Journal,
    evidence_store: EvidenceStore,
    seen: Callable[[Entry, ScoreRow], None] = lambda _entry, _row: None,
) -> Iterator[ScoreRow]:
    """Yield the score of every answer of an evaluation, from the journals alone. Those without an entry are `not
    asked`.

    `seen` is called with every entry and its score, which saves reading the journal again.
    """
    exam = evaluation.exam
    shown = parts_shown(exam)
    for question, sample, entry in evaluation.answers(answers):
        row = evidence_store.row(evaluation, question, sample, entry, shown)
        if entry:
            seen(entry, row)
        yield row


def row_of(
    evaluation: Evaluation, question: Question, sample: int, response: Response, score: Score, shown: frozenset[str]
) -> ScoreRow:
    """Return one answer's score as a row; `shown` are the exam's `parts_shown`."""
    return ScoreRow(
        benchmark=evaluation.exam.spec.benchmark,
        exam=evaluation.label,
        model=evaluation.model.name,
        question=question.id,
        sample=sample,
        repeat=sample // evaluation.per_repeat,
        value=score.value,
        outcome=score.outcome,
        answer=score.answer[:_SHOWN],
        explanation=score.explanation[:_SHOWN],
        tags=question.tags,
        stopped=response.stop_reason,
        parts={name: part for name, part in score.parts.items() if name in shown},
        weight=question.weight,
        decided=score.decided,
        verdicts=score.verdicts,
        isolation=score.isolation,
        limits={name: limits for name, limits in score.limits.items() if not name or name in shown},
        cluster=question.cluster,
        cell=question.cell,
    )


def parts_shown(exam: Exam) -> frozenset[str]:
    """Return the parts of scores shown in the exam's tables; others stay out of scores.jsonl."""
    lines = [line for layout in exam.layouts() for line in (*layout.rows, *layout.columns)]
    return frozenset(part for line in (*lines, exam.headline()) for part in (line.part, line.given, line.per) if part)
