"""The answers of a run one by one, with question, reply, verdict and evidence; also as text, for item browsers."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
from msgspec import UNSET, Struct

from viva.benchmarks import open_exam
from viva.benchmarks.rationale.combining import Q_A, Q_R
from viva.engine.answerrecord import SHARED, Answer, answer_of, describe_evidence, thought_size
from viva.engine.budget import Consumed
from viva.engine.folder import ExamRecord, RunFolder, RunRecord
from viva.engine.journal import Journal
from viva.engine.stages import NO_REPLY_YET, Evaluation, parts_shown, row_of
from viva.errors import StorageError, VivaError, flag
from viva.render.result import Report, Result
from viva.runs.open import OpenRun, open_evidence, prepare
from viva.runs.scorefile import SCORES, is_fresh, rows_by_evaluation, rows_by_place, score_rows
from viva.runs.scoring import known_result, known_results, report_of, result_of, with_published_rows
from viva.scorers.reading import CUT_OFF_WORDS, reason
from viva.types import (
    CUT_OFF,
    OUTCOMES,
    Aggregate,
    Choose,
    Generate,
    Question,
    Request,
    Response,
    Score,
    ScoreRow,
    StopReason,
    TableSpec,
    outcome_name,
)
from viva.visible import escape_invisible

_ALL: Callable[[int], bool] = lambda place: True  # noqa: E731


def answered(opened: OpenRun, wanted: Callable[[int], bool] = _ALL, *, by_question: bool = False) -> Iterator[Answer]:
    """Yield every answer of a run, or those at the `wanted` places: see `AnswerReader.answers`."""
    with ExitStack() as stack:
        yield from AnswerReader(opened.folder, opened, stack).answers(wanted, by_question=by_question)


class AnswerReader:
    """A reader of a run's answers, which opens the files once.

    Scores are taken from scores.jsonl where that is fresh, or `graded` is true, else computed here. Without the
    questions (`opened` is None), answers come from scores.jsonl and responses.jsonl alone: without prompt and gold, and
    without a reply where the run has several exams of the benchmark, whose questions share ids.
    """

    def __init__(self, folder: RunFolder, opened: OpenRun | None, stack: ExitStack, *, graded: bool = False) -> None:
        self._folder, self._opened = folder, opened
        graded = graded or is_fresh(folder)
        self._row_at = stack.enter_context(rows_by_place(folder.path)) if graded else None
        self._journal = folder.journal("responses", write=False)
        stack.callback(self._journal.close)
        self._evidence = open_evidence(opened, stack) if opened else None
        self._keys = {} if opened else keys_of_answers(self._journal, folder.record)

    def answers(
        self, wanted: Callable[[int], bool] = _ALL, *, by_question: bool = False, only: int | None = None
    ) -> Iterator[Answer]:
        """Yield answers in the order of scores.jsonl: those at `wanted` places (from 0). `only`: the number of an
        evaluation, to read no other.

        `by_question`: all models' answers to a question come together, and share a request if their prompts are equal.
        Raises StorageError where scores.jsonl does not match the run's questions.
        """
        if self._opened is None or self._evidence is None:
            yield from self._without_questions(wanted)
            return
        shown = {exam: parts_shown(exam) for exam in self._opened.exams}
        for place, evaluation, question, request in _asked(self._opened, wanted, by_question=by_question, only=only):
            entry = self._journal.read(evaluation.keys.of(request))
            response = entry.response() if entry else NO_REPLY_YET
            evidence = self._evidence.about(evaluation, question, request.sample, response)
            if self._row_at is not None:
                row = of_answer(self._row_at(place), self._folder.path, evaluation, question, request.sample)
            else:
                score = evaluation.exam.score(question, response, evidence)
                row = row_of(evaluation, question, request.sample, response, score, shown[evaluation.exam])
            yield answer_of(row, entry, question, request, tuple(describe_evidence(evidence)))

    def _without_questions(self, wanted: Callable[[int], bool]) -> Iterator[Answer]:
        for place, row in enumerate(score_rows(self._folder.path)):
            if wanted(place):
                key = self._keys.get((row.benchmark, row.model, row.question, row.sample))
                yield answer_of(row, self._journal.read(key) if key else None)


def _asked(
    opened: OpenRun, wanted: Callable[[int], bool], *, by_question: bool, only: int | None
) -> Iterator[tuple[int, Evaluation, Question, Request]]:
    """Yield evaluation, question and request of each wanted place of scores.jsonl."""
    groups: dict[object, list[tuple[int, int, Evaluation]]] = {}
    ways: list[object] = []
    start = 0
    for number, each in enumerate(opened.evaluations):
        way = (each.sampling, each.model.context_window, each.seed, each.system)
        if way not in ways:
            ways.append(way)
        key = (each.exam, each.samples) if by_question else number
        if only in (None, number):
            groups.setdefault(key, []).append((start, ways.index(way), each))
        start += len(each.exam) * each.samples
    for group in groups.values():
        exam, samples = group[0][2].exam, group[0][2].samples
        for number, bare in enumerate(exam.questions()):
            for sample in range(samples):
                requests: dict[int, Request] = {}
                question = exam.variant(bare, sample)
                for first, asking, evaluation in group:
                    place = first + number * samples + sample
                    if wanted(place):
                        if asking not in requests:
                            requests[asking] = evaluation.request(question, sample)
                        yield place, evaluation, question, requests[asking]


def of_answer(row: ScoreRow | None, path: Path, evaluation: Evaluation, question: Question, sample: int) -> ScoreRow:
    """Return the row. Raises StorageError unless it is this answer's."""
    whose = (evaluation.label, evaluation.model.name, question.id, sample)
    if row is None or (row.exam, row.model, row.question, row.sample) != whose:
        raise StorageError(f"{path / SCORES} is not of this run's questions; `viva score {path}` makes it anew")
    return row


def keys_of_answers(journal: Journal, record: RunRecord) -> dict[tuple[str, str, str, int], bytes]:
    """Map (benchmark, model, question, sample) to the key of the reply, for exams that share no benchmark."""
    benchmarks = [exam.spec.benchmark for exam in record.exams]
    return {
        (entry.benchmark, entry.model, entry.question, entry.sample): bytes.fromhex(entry.key)
        for entry in journal.entries()
        if benchmarks.count(entry.benchmark) == 1
    }


_LINES, _CHARACTERS = 2, 300
"""Lines and characters shown of a shortened thought."""


class Described(Struct, frozen=True):
    """An answer as text for a terminal, and with the fields that filters use."""

    text: str
    answer: Answer

    @property
    def shared(self) -> bool:
        """Whether a program passed in the same process as its test."""
        return any(source == SHARED and text.startswith("passed") for source, text in self.answer.said)

    def data(self) -> dict[str, object]:
        """Return the answer as data: outcomes and texts as in the journals."""
        row, response = self.answer.row, self.answer.response
        return {
            "exam": row.exam,
            "model": row.model,
            "question": row.question,
            "sample": row.sample,
            "outcome": row.outcome,
            "value": row.value,
            "read": row.answer,
            "gold": self.answer.question.answer if self.answer.question else None,
            "why": row.explanation,
            "reply": response.text,
            "error": response.error.message if response.error else None,
        }


def described_answers(opened: OpenRun, *, prompts: bool, reasoning: bool) -> Iterator[Described]:
    """Yield every answer, with its `prompts`, and with all of the model's thoughts where `reasoning`."""
    evaluations = {(each.label, each.model.name): each for each in opened.evaluations}
    for answer in answered(opened):
        row, request = answer.row, answer.request
        evaluation = evaluations[row.exam, row.model]
        vary = evaluation.exam.spec.vary
        which = f"sample {row.sample}" if vary is UNSET else vary.answer_name(row.sample, evaluation.samples)
        whose = f"{row.exam} {row.question}, {which}, {row.model}"
        lines = [escape_invisible(f"=== {whose}: {outcome_name(row.outcome)}")]
        if prompts and request:
            # The key covers the prompt: finding the answer under it proves that this prompt was sent.
            key = evaluation.keys.of(request).hex()
            lines += [f"--- prompt (request {key})", escape_invisible(answer.prompt_text)]
        lines += [*_thought(answer.response, whole=reasoning), *_replied(answer)]
        if isinstance(request, Generate) and not answer.response.error:
            lines += _circumstances(answer)
        lines.append(
            f"--- read: {escape_invisible(row.answer, limit=200) or '–'}   gold: {escape_invisible(answer.gold or '–')}"
        )
        lines.append(f"--- why: {escape_invisible(reason(row.explanation, answer.response.text), limit=1000)}")
        lines += [f"--- {escape_invisible(who)}: {escape_invisible(text, limit=2000)}" for who, text in answer.said]
        yield Described("\n".join(lines) + "\n", answer)


def _thought(response: Response, *, whole: bool) -> list[str]:
    """Return the model's thoughts before its reply: their beginning and length, or, with `whole`, all of them."""
    size = thought_size(response)
    if not size:
        return []
    if not response.reasoning:
        return [f"--- thought ({size}; no text of it is kept)"]
    if whole:
        return [f"--- thought ({size})", escape_invisible(response.reasoning)]
    shown = "\n".join(response.reasoning.strip().splitlines()[:_LINES])[:_CHARACTERS]
    if len(shown) == len(response.reasoning.strip()):
        return [f"--- thought ({size})", escape_invisible(shown)]
    return [f"--- thought ({size}; {flag('reasoning')} shows all of it)", f"{escape_invisible(shown)} …"]


def _circumstances(answer: Answer) -> list[str]:
    """Return tokens, time and end of the reply, as far as known."""
    stopped, usage = answer.response.stop_reason, answer.response.usage
    cut = CUT_OFF_WORDS.get(stopped)
    if not usage:
        return [f"    ({cut})"] if cut else []
    thought = f", of them {usage.reasoning:,} thought" if usage.reasoning else ""
    return [f"    ({usage.output:,} tokens{thought}, {cut or f'stopped by {stopped}'}, {answer.seconds:.2f} s)"]


def _replied(answer: Answer) -> list[str]:
    """Return the reply: a text, or the probability of each continuation."""
    if not isinstance(answer.request, Choose) or answer.response.error:
        return ["--- reply", escape_invisible(answer.response.text, limit=4000)]
    first, *others = answer.reply.splitlines()
    return [f"--- {first}", *(f"    {escape_invisible(line, limit=250)}" for line in others)]


class Reported(Struct, kw_only=True):
    """All results of one run, read once."""

    folder: RunFolder
    report: Report
    estimates: list[str]
    """Those of its notes that explain the scores of an adaptive run."""
    judging: dict[str, Consumed]
    """Judge → tokens, cost and time of its replies."""
    strata: array[int]
    """For every row of scores.jsonl, in order: a number for its exam, model and outcome."""
    opened_run: OpenRun | None
    warnings: list[str]

    def items(self, wanted: Callable[[int], bool], name: Callable[[str, str], str]) -> Iterator[Answer]:
        """Yield the answers at `wanted` places of scores.jsonl, those to a question together. `name`: (exam, model) →
        the label in the report.
        """
        designs = {e.spec.label: e.spec.vary for e in self.folder.record.exams if e.spec.vary is not UNSET}
        with ExitStack() as stack:
            for item in AnswerReader(self.folder, self.opened_run, stack, graded=True).answers(
                wanted, by_question=True
            ):
                row, called = item.row, name(item.row.exam, item.row.model)
                if row.exam in designs:  # a cell is found by its levels
                    row = msgspec.structs.replace(row, tags={**row.tags, **designs[row.exam].named(row.sample)})
                if called != row.model:
                    row = msgspec.structs.replace(row, model=called)
                yield item if row is item.row else msgspec.structs.replace(item, row=row)


def read_run(path: Path, beside: str) -> Reported:
    """Return all results of a graded run. Sends and writes nothing.

    Raises StorageError where scores.jsonl is missing, damaged, or was not made from the run's other files.
    """
    folder = RunFolder.open(path)
    opened_run, warnings = _opened(folder)
    results, strata = list[Result](), array("i")
    layouts: dict[str, tuple[Aggregate, tuple[TableSpec, ...]] | None] = {}
    known = {(scored.exam, scored.model): scored for scored in known_results(opened_run)} if opened_run else {}
    for exam, model, rows in rows_by_evaluation(path, folder.record):
        label = exam.spec.label
        if label not in layouts:
            layouts[label] = _layouts(opened_run, exam, folder.record.exams.index(exam))
        result = known.get((label, model)) or known_result(
            folder.record, exam, model, folder.record.model(model), sound=layouts[label] is not None
        )
        codes = array("i")
        result = result_of(result, rows, layouts[label], codes=codes)
        strata.extend(len(OUTCOMES) * len(results) + code for code in codes)
        results.append(with_published_rows(result, beside, folder.record))
    headline, _ = next(filter(None, layouts.values()), (Aggregate("mean"), ()))
    report, estimates, judging = report_of(folder, headline, results, opened_run, published=beside)
    return Reported(
        folder=folder, report=report, estimates=estimates, judging=judging, strata=strata, opened_run=opened_run,
        warnings=warnings,
    )  # fmt: skip


def _opened(folder: RunFolder) -> tuple[OpenRun | None, list[str]]:
    """Return the run, opened for its prompts; or None and why not (its data moved, say)."""
    try:
        return prepare(folder), []
    except VivaError as problem:
        return None, [
            f"{folder.path.name}: this report has no prompts, gold answers and evidence, since the run cannot be "
            f"opened here: {problem}"
        ]


def _layouts(opened: OpenRun | None, record: ExamRecord, index: int) -> tuple[Aggregate, tuple[TableSpec, ...]] | None:
    """Return headline and tables of the exam, else of its bundled sample; None without either."""
    if opened:
        exam = opened.exams[index]
        return exam.headline(), exam.layouts()
    try:
        sample = open_exam(record.spec, None, record.templates)
    except VivaError:
        return None
    return sample.headline(), sample.layouts()


SEVERAL = "several"
WRONG_REASON = "wrong-reason"
FINER: dict[str, tuple[str, str]] = {
    SEVERAL: ("unparsed", "several answers"),
    "thinking": ("truncated", CUT_OFF_WORDS["thinking"]),
    "length": ("truncated", CUT_OFF_WORDS["length"]),
    WRONG_REASON: ("", "right for the wrong reason"),
}
"""Word → the outcome that all its answers have ("" for any), and its label."""


def finer(scored: Score | ScoreRow, stopped: StopReason) -> str:
    """Return which of `FINER` an answer is; "" for none.

    Right for the wrong reason is a right answer whose rationale earns nothing: a guess (CLR-Bench, section 3.3). A
    reply that names several answers and commits to none is unparsed; its explanation begins with "several".
    """
    if scored.outcome == "truncated" and stopped in CUT_OFF:
        return stopped
    if scored.outcome == "unparsed" and scored.explanation.startswith(SEVERAL):
        return SEVERAL
    return WRONG_REASON if scored.parts.get(Q_A) == 1.0 and scored.parts.get(Q_R) == 0.0 else ""
