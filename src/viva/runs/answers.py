"""The answers of a run one by one, with question, reply, verdict and evidence, and as text: what item browsers show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from msgspec import UNSET, Struct

from viva.engine.answerrecord import Answer, answer_of, describe_evidence, thought_size
from viva.engine.folder import RunFolder, RunRecord
from viva.engine.journal import Entry, Journal
from viva.engine.scorefile import SCORES, rows_by_place, score_rows
from viva.engine.stages import NO_REPLY_YET, Evaluation, parts_shown, row_of
from viva.errors import StorageError, flag
from viva.prompting import prompt_text
from viva.runs.graded import is_fresh
from viva.runs.open import OpenRun, open_evidence
from viva.scorers.grading import CUT_OFF_WORDS
from viva.types import Choose, Generate, Question, Request, Response, Score, ScoreRow, outcome_name
from viva.visible import escape_invisible

_ALL: Callable[[int], bool] = lambda place: True  # noqa: E731


def answered(opened: OpenRun, wanted: Callable[[int], bool] = _ALL, *, by_question: bool = False) -> Iterator[Answer]:
    """Yield every answer of a run, in the order of scores.jsonl; of these, the `wanted` places (from 0).

    `by_question`: all models' answers to a question come together, with one request for those who are asked alike.
    What an answer earned is taken from scores.jsonl where that is fresh, else graded here. Raises StorageError where
    scores.jsonl is of other questions than the run.
    """
    folder = opened.folder
    with ExitStack() as stack:
        row_at = stack.enter_context(rows_by_place(folder.path)) if is_fresh(folder) else None
        journal = folder.journal("responses", write=False)
        stack.callback(journal.close)
        evidence_store = open_evidence(opened, stack)
        shown = {exam: parts_shown(exam) for exam in opened.exams}
        for place, evaluation, question, request in _asked(opened, wanted, by_question=by_question):
            entry = journal.read(evaluation.keys.of(request))
            response = entry.response() if entry else NO_REPLY_YET
            evidence = evidence_store.about(evaluation, question, request.sample, response)
            if row_at is not None:
                row = _of_answer(row_at(place), folder.path, evaluation, question, request.sample)
            else:
                score = evaluation.exam.score(question, response, evidence)
                row = row_of(evaluation, question, request.sample, response, score, shown[evaluation.exam])
            yield answer_of(row, entry, question, request, tuple(describe_evidence(evidence)))


def _asked(
    opened: OpenRun, wanted: Callable[[int], bool], *, by_question: bool
) -> Iterator[tuple[int, Evaluation, Question, Request]]:
    """Yield the wanted places of scores.jsonl with what each is about."""
    groups: dict[object, list[tuple[int, int, Evaluation]]] = {}
    ways: list[object] = []
    start = 0
    for number, each in enumerate(opened.evaluations):
        way = (each.sampling, each.model.context_window, each.seed, each.system)
        if way not in ways:
            ways.append(way)
        key = (each.exam, each.samples) if by_question else number
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


def _of_answer(row: ScoreRow | None, path: Path, evaluation: Evaluation, question: Question, sample: int) -> ScoreRow:
    """Return a row of scores.jsonl, which must be of this answer."""
    whose = (evaluation.label, evaluation.model.name, question.id, sample)
    if row is None or (row.exam, row.model, row.question, row.sample) != whose:
        raise StorageError(f"{path / SCORES} is not of this run's questions; `viva score {path}` makes it anew")
    return row


def answered_without_questions(folder: RunFolder, wanted: Callable[[int], bool] = _ALL) -> Iterator[Answer]:
    """Yield the same from scores.jsonl and responses.jsonl alone, where the questions are not at hand: no prompt, no
    gold.

    A reply is found by model, question and sample; where the run has several exams of that benchmark, in which
    questions share their ids, it is left out rather than guessed.
    """
    journal = folder.journal("responses", write=False)
    try:
        keys = keys_of_answers(journal, folder.record)
        for place, row in enumerate(score_rows(folder.path)):
            if wanted(place):
                key = keys.get((row.benchmark, row.model, row.question, row.sample))
                yield answer_of(row, journal.read(key) if key else None)
    finally:
        journal.close()


def keys_of_answers(journal: Journal, record: RunRecord) -> dict[tuple[str, str, str, int], bytes]:
    """(benchmark, model, question, sample) → where the journal has the reply, of exams that share no benchmark."""
    benchmarks = [exam.spec.benchmark for exam in record.exams]
    return {
        (entry.benchmark, entry.model, entry.question, entry.sample): bytes.fromhex(entry.key)
        for entry in journal.entries()
        if benchmarks.count(entry.benchmark) == 1
    }


_LINES, _CHARACTERS = 2, 300
"""Of a thought that is folded, so many lines and characters are shown."""


class Described(Struct, frozen=True):
    """An answer as text for a terminal, and what it is chosen by."""

    text: str
    exam: str
    sample: int
    model: str
    question: Question
    response: Response
    score: Score
    shared: bool
    """Whether a program passed that shared a process with its test."""

    def data(self) -> dict[str, object]:
        """Return the same for programs: outcomes and texts as the journals have them."""
        return {
            "exam": self.exam,
            "model": self.model,
            "question": self.question.id,
            "sample": self.sample,
            "outcome": self.score.outcome,
            "value": self.score.value,
            "read": self.score.answer,
            "gold": self.question.answer,
            "why": self.score.explanation,
            "reply": self.response.text,
            "error": self.response.error.message if self.response.error else None,
        }


def described_answers(opened: OpenRun, stack: ExitStack, *, prompts: bool, reasoning: bool) -> Iterator[Described]:
    """Yield every answer, with its prompt where asked, and all that the model thought where `reasoning`."""
    answers = opened.folder.journal("responses")
    stack.callback(answers.close)
    evidence_store = open_evidence(opened, stack)
    for evaluation in opened.evaluations:
        for question, key, request in evaluation.requests():
            entry = answers.read(key)
            response = entry.response() if entry else NO_REPLY_YET
            evidence = evidence_store.about(evaluation, question, request.sample, response)
            score = evaluation.exam.score(question, response, evidence)
            vary = evaluation.exam.spec.vary
            which = (
                f"sample {request.sample}" if vary is UNSET else vary.answer_name(request.sample, evaluation.samples)
            )
            whose = f"{evaluation.label} {question.id}, {which}, {evaluation.model.name}"
            lines = [escape_invisible(f"=== {whose}: {outcome_name(score.outcome)}")]
            if prompts:
                # The key covers the prompt: that the answer was found under it proves this is what was sent.
                lines += [f"--- prompt (request {key.hex()})", escape_invisible(prompt_text(request.prompt))]
            lines += [*_thought(response, whole=reasoning), *_replied(request, response)]
            if entry and isinstance(request, Generate) and not entry.error:
                lines += _circumstances(entry)
            lines.append(
                f"--- read: {escape_invisible(score.answer, limit=200) or '–'}   gold: "
                f"{escape_invisible(question.answer or '–')}"
            )
            lines.append(f"--- why: {escape_invisible(score.explanation, limit=1000)}")
            lines += [
                f"--- {escape_invisible(who)}: {escape_invisible(said, limit=2000)}"
                for who, said in describe_evidence(evidence)
            ]
            yield Described(
                "\n".join(lines) + "\n",
                evaluation.label,
                request.sample,
                evaluation.model.name,
                question,
                response,
                score,
                any(
                    one is not None and one.verdict == "passed" and one.isolation == "shared"
                    for one in evidence.executions
                ),
            )


def _thought(response: Response, *, whole: bool) -> list[str]:
    """Return what the model thought before its reply: its beginning and how long it is, or all of it."""
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


def _circumstances(entry: Entry) -> list[str]:
    """Return what the reply took, and why it ended, as far as that is known."""
    cut = CUT_OFF_WORDS.get(entry.stop_reason)
    if not entry.usage:
        return [f"    ({cut})"] if cut else []
    thought = f", of them {entry.usage.reasoning:,} thought" if entry.usage.reasoning else ""
    why = cut or f"stopped by {entry.stop_reason}"
    return [f"    ({entry.usage.output:,} tokens{thought}, {why}, {entry.seconds:.2f} s)"]


def _replied(request: Request, response: Response) -> list[str]:
    """Return what came back: a text, or how probable each continuation is."""
    if not isinstance(request, Choose) or response.error:
        return ["--- reply", escape_invisible(response.text, limit=4000)]
    lines = [f"--- log-probability, by {request.by}"]
    for text, one in zip(request.continuations, response.likelihoods, strict=False):
        least = "at most " if one.bound else ""
        of = f" ({one.tokens} tokens)" if one.tokens != 1 else ""
        lines.append(f"    {least}{one.logprob:.4f}{of}  {escape_invisible(repr(text), limit=200)}")
    return lines
