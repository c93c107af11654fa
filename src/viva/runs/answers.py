"""The answers of a run one by one, with question, reply, verdict and evidence, and as text: what item browsers show.

Answers as other people's tools wrote them, as files of answers that a run keeps: what `viva grade` is given.

A file of our own form is played back from where it lies; any other is read once, its items are matched with the
benchmark's questions, and what was matched goes into the run folder, so that the run needs the original no more.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import msgspec
from msgspec import UNSET, Struct

from viva.engine.answerrecord import Answer, answer_of, describe_evidence, thought_size
from viva.engine.folder import ModelRecord, RunFolder, RunRecord
from viva.engine.journal import Entry, Journal
from viva.engine.scorefile import SCORES, rows_by_place, score_rows
from viva.engine.stages import NO_REPLY_YET, Evaluation, parts_shown, row_of
from viva.errors import DataError, StorageError, flag, option
from viva.interop.reading import FORMS, PLAIN, read_logs
from viva.interop.reading.detecting import form_of
from viva.interop.reading.matching import ID, ORDER, TEXT, Matching, Missed, QuestionMatcher, told
from viva.interop.reading.replies import rows_of
from viva.interop.reading.rows import Columns, Log
from viva.io.records import plain_stem
from viva.keytable import KeyTable, text_key
from viva.models import Endpoint
from viva.models.replay import KEPT, Replay
from viva.models.replay import connect as open_replay
from viva.prompting import prompt_text
from viva.runs.config import AnswerFileOptions, TaskOptions
from viva.runs.exams import languages_of, open_exams
from viva.runs.graded import is_fresh
from viva.runs.open import OpenRun, open_evidence
from viva.runs.progress import Screen, say
from viva.scorers.grading import CUT_OFF_WORDS
from viva.types import Choose, Generate, Question, Request, Response, Score, ScoreRow, outcome_name
from viva.visible import escape_invisible, one_line

UNMATCHED = "unmatched.jsonl"
"""What was in the files and is none of the questions, in a run folder."""
_SHOWN = 20
"""Unmatched items that are listed on the terminal; the file has all."""


class Collected(Struct, kw_only=True):
    """Answers, a replay a model, and how run.json names them."""

    replays: list[Replay]
    models: list[ModelRecord]
    kept: dict[str, bytes] = {}
    """Files that the run folder keeps."""

    @property
    def samples(self) -> int:
        """How many answers a question has at most."""
        return max(replay.samples for replay in self.replays)

    @property
    def answered(self) -> set[str]:
        """The ids of the questions that have answers."""
        return {question for replay in self.replays for question in replay.questions()}


def collect(
    benchmark: str, paths: Sequence[Path], choice: TaskOptions, foreign: AnswerFileOptions, *, quiet: bool = False
) -> Collected:
    """Return the answers in the files. Raises DataError for files that cannot be read, or hold nothing of this
    benchmark's.
    """
    if foreign.wrote is not None and foreign.wrote not in FORMS:
        raise DataError(f"{foreign.wrote!r}: there is no such form; there are: {', '.join(FORMS)}", field="wrote")
    form = foreign.wrote or form_of(paths)
    columns = Columns(question=foreign.question_column, text=foreign.text_column)
    if form == PLAIN and not (columns.question or columns.text or foreign.by_order):
        return _as_they_are(paths)
    if (columns.question or columns.text) and form not in (PLAIN, "dataset"):
        raise DataError(
            f"and {option('text_column')} are for tables, and {paths[0]} was written by {form}", field="question_column"
        )
    logs = read_logs(form, paths, columns)
    known = QuestionMatcher(_questions(benchmark, choice))
    told = _progress(sum(len(log.items) for log in logs), quiet=quiet)
    matchings = [known.match(log.items, by_order=foreign.by_order, told=told) for log in logs]
    _refuse_strange(logs, matchings, paths)
    if form == PLAIN and len(logs) > 1 and _are_parts(matchings):
        logs = [Log(form=PLAIN, model="", items=[item for log in logs for item in log.items])]
        matchings = [known.match(logs[0].items, by_order=foreign.by_order, told=told)]
    for log, matching in zip(logs, matchings, strict=True):
        _tell(log, matching)
    return _kept(logs, matchings)


def _are_parts(matchings: Sequence[Matching]) -> bool:
    """Return whether no question was answered in two files: then they are the parts of one model's answers."""
    answered = [{match.question.id for match in matching.found} for matching in matchings]
    return len(set[str]().union(*answered)) == sum(map(len, answered))


def _as_they_are(paths: Sequence[Path]) -> Collected:
    """Return a model a file. Raises DataError for several that answer different questions, and would be parts of
    one.
    """
    named = [plain_stem(path) if len(paths) > 1 else "" for path in paths]
    shown = [f"{name}#{at}" if name and named.count(name) > 1 else name for at, name in enumerate(named, 1)]
    found = Collected(replays=[], models=[])
    for path, name in zip(paths, shown, strict=True):
        where = path.resolve()
        found.replays.append(open_replay(str(where), Endpoint(shown=name)))
        found.models.append(ModelRecord(name=f"replay/{where}", shown=name))
    if len(paths) > 1 and not _answer_the_same(found.replays):
        raise DataError(
            f"{paths[0]} and {paths[1]} answer different questions: are they parts of one model's answers? Name the "
            f"column with {option('text_column', 'NAME')}, which joins them, or make one file of them"
        )
    return found


def _answer_the_same(replays: Sequence[Replay]) -> bool:
    """Return whether a question was answered in two files: then each is a model's."""
    known, first = KeyTable(), array("I")  # by a question's number: the file that answers it first
    for at, replay in enumerate(replays):
        for question in replay.questions():
            number = known.add(text_key(question))
            if number == len(first):
                first.append(at)
            elif first[number] != at:
                return True
    return False


def _questions(benchmark: str, choice: TaskOptions) -> list[Question]:
    """Return all questions of the benchmark, whatever part is to be graded; in all its languages, unless one is
    named.
    """
    everything = msgspec.structs.replace(choice, limit=None, questions=None, shard=None, only="")
    languages = languages_of(benchmark)
    if len(languages) == 1 or choice.language:
        return [question for exam, _ in open_exams((benchmark,), everything) for question in exam.questions()]
    found: list[Question] = []
    for language in languages:
        with suppress(DataError):  # a language whose files are not there
            one = msgspec.structs.replace(everything, language=(language,))
            found += [question for exam, _ in open_exams((benchmark,), one) for question in exam.questions()]
    if not found:
        open_exams((benchmark,), everything)  # says what is wrong
    return found


def _progress(total: int, *, quiet: bool) -> Callable[[int], None]:
    """Return a line every few seconds, where matching takes longer."""
    screen = Screen("quiet" if quiet else "plain")

    def told(done: int) -> None:
        if screen.due():
            screen.say(f"viva: matching: {done:,} of {total:,} items")

    return told


def _refuse_strange(logs: Sequence[Log], matchings: Sequence[Matching], paths: Sequence[Path]) -> None:
    """Files of which nothing is this benchmark's: another benchmark's, most likely."""
    for log, matching in zip(logs, matchings, strict=True):
        if not matching.found:
            first = matching.missed[0]
            raise DataError(
                f"none of the {len(log.items):,} items of {log.form} in {', '.join(map(str, paths[:3]))} is a question "
                f"of this set. The first: {told(first)}"
            )


def _tell(log: Log, matching: Matching) -> None:
    counted = matching.counted()
    how = ", ".join(f"{counted.get(way, 0):,} {way}" for way in (ID, TEXT, ORDER))
    name = f" ({one_line(log.model, 80)})" if log.model else ""
    say(f"viva: {len(log.items):,} items of {log.form}{name}: {how}; {len(matching.missed):,} not matched")
    for note in log.notes:
        say(f"viva: {one_line(note, 200)}")
    for missed in matching.missed[:_SHOWN]:
        say(f"viva: not matched: {told(missed)}")
    if len(matching.missed) > _SHOWN:
        say(f"viva: and {len(matching.missed) - _SHOWN:,} more: {UNMATCHED} in the run folder")


def _kept(logs: Sequence[Log], matchings: Sequence[Matching]) -> Collected:
    found = Collected(replays=[], models=[], kept={})
    missed: list[Missed] = []
    lines_of = msgspec.json.Encoder().encode_lines
    for number, (log, matching) in enumerate(zip(logs, matchings, strict=True), 1):
        name = "answers.jsonl" if len(logs) == 1 else f"answers-{number}.jsonl"
        content = lines_of(rows_of(matching.found))
        shown = _shown(log.model, number, [other.model for other in logs])
        found.models.append(ModelRecord(name=f"replay/{KEPT}{name}", shown=shown))
        found.replays.append(Replay(Path(name), shown=shown, content=content))
        found.kept[name] = content
        missed += matching.missed
    if missed:
        found.kept[UNMATCHED] = lines_of({"where": one.item.where, "why": one.why} for one in missed)
    return found


def _shown(model: str, number: int, models: Sequence[str]) -> str:
    """Return what tables call a model: as its log does."""
    name = one_line(model, 120) or "replay/answers"
    return name if models.count(model) == 1 else f"{name}#{number}"


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
