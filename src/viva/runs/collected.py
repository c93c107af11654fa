"""Answers written by other tools, converted to files that a run keeps, for `viva grade`.

A file in Viva's form is read from its place; any other is read once, its items are matched with the benchmark's
questions, and the matched ones go into the run folder, so that the original is no longer needed.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from viva.benchmarks import CARD, file_benchmark, find_benchmark, question_file
from viva.benchmarks.card.cardmodel import read_card
from viva.benchmarks.wrapper import unsharded
from viva.contracts import Exam
from viva.engine.folder import ModelRecord
from viva.errors import DataError, option
from viva.interop.reading import FORMS, PLAIN, read_logs
from viva.interop.reading.detecting import form_of
from viva.interop.reading.matching import (
    ID,
    ORDER,
    TEXT,
    Matching,
    Missed,
    QuestionMatcher,
    bare,
    gold_text,
    rows_of,
    told,
)
from viva.interop.reading.rows import Columns, Log
from viva.io.tables import CsvText, plain_stem, records
from viva.keytable import KeyTable, text_key
from viva.models.replay import KEPT, Replay, first_row
from viva.models.replay import connect as open_replay
from viva.providers import Endpoint
from viva.runs.config import AnswerFileOptions, TaskOptions
from viva.runs.exams import languages_of, open_exams
from viva.runs.progress import Screen, notify, say
from viva.types import Question, ScoreRow
from viva.visible import csv_safe, one_line

UNMATCHED = "unmatched.jsonl"
"""File in a run folder with the items that match no question."""
_TELLING = 10
"""Fewest questions for which replies that are all golds, or all questions, are suspicious."""
_SHOWN = 20
"""Unmatched items that are listed on the terminal; the file has all."""


class Collected(Struct, kw_only=True):
    """Answers, one replay for each model, and their records for run.json."""

    replays: list[Replay]
    models: list[ModelRecord]
    kept: dict[str, bytes] = {}
    """Files that the run folder keeps."""

    @property
    def samples(self) -> int:
        """Most answers to any question."""
        return max(replay.samples for replay in self.replays)

    @property
    def answered(self) -> set[str]:
        """The ids of the questions that have answers."""
        return {question for replay in self.replays for question in replay.questions()}


def collect(
    benchmark: str, paths: Sequence[Path], choice: TaskOptions, foreign: AnswerFileOptions, *, quiet: bool = False
) -> Collected:
    """Return the answers in the files. Raises DataError for unreadable files, and those without an answer to this
    benchmark.
    """
    if foreign.wrote is not None and foreign.wrote not in FORMS:
        raise DataError(f"{foreign.wrote!r}: there is no such form; there are: {', '.join(FORMS)}", field="wrote")
    form = foreign.wrote or form_of(paths)
    columns = Columns(question=foreign.question_column, text=foreign.text_column)
    named = columns.question or columns.text or foreign.by_order
    drawn = draws_order(benchmark)
    if form == PLAIN and not (named or drawn) and all(_is_ours(path, benchmark, choice) for path in paths):
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
    if form in (PLAIN, "dataset") and len(logs) > 1 and _are_parts(matchings):
        logs = [Log(form=form, model="", items=[item for log in logs for item in log.items])]
        matchings = [known.match(logs[0].items, by_order=foreign.by_order, told=told)]
    for log, matching in zip(logs, matchings, strict=True):
        _tell(log, matching)
        if drawn:
            _refuse_unknown_order(benchmark, matching)
    return _kept(logs, matchings)


def _is_ours(path: Path, benchmark: str, choice: TaskOptions) -> bool:
    """Tell whether a file is in Viva's form: its first row has a question's id and a text, but no model; or it is no
    table.
    """
    if path.is_dir():
        return True
    try:
        row = next((row for _, row in records(path)), {})
    except DataError:
        return True
    try:
        first = first_row(path)
    except DataError:
        return not row
    if first is None or "model" in row:
        return first is None
    asked = first.key[0]
    return (asked.isascii() and " " not in asked) or any(
        question.id == asked for question in _questions(benchmark, choice)
    )


def draws_order(benchmark: str) -> bool:
    """Tell whether a card reorders options, so that another tool's letters do not fit."""
    own = question_file(benchmark)
    if own is None or file_benchmark(own) != CARD:
        return False
    layout = read_card(own).layout
    return bool(layout.right or layout.shuffle)


def _refuse_unknown_order(benchmark: str, matching: Matching) -> None:
    for match in matching.found:
        lettered = any(given.text and given.picked is None for given in match.item.given)
        if lettered and match.question.options and not match.item.options:
            raise DataError(
                f"{match.item.where}: which options was {match.question.id!r} asked with? {benchmark} puts them in an "
                "order of Viva's own, where a letter would mean another one: give rows their `options`, as they were "
                "shown; where a table lists them and that was their order, say `shuffle: false` in the card"
            )


def _are_parts(matchings: Sequence[Matching]) -> bool:
    """Return whether no question was answered in two files: they are parts of one model's answers."""
    answered = [{match.question.id for match in matching.found} for matching in matchings]
    return len(set[str]().union(*answered)) == sum(map(len, answered))


def _as_they_are(paths: Sequence[Path]) -> Collected:
    """Return one model for each file. Raises DataError for files with different questions, which may be parts
    of one.
    """
    named = [plain_stem(path) if len(paths) > 1 else "" for path in paths]
    shown = [f"{name}#{number}" if name and named.count(name) > 1 else name for number, name in enumerate(named, 1)]
    collected = Collected(replays=[], models=[])
    for path, name in zip(paths, shown, strict=True):
        where = path.resolve()
        collected.replays.append(open_replay(str(where), Endpoint(shown=name)))
        collected.models.append(ModelRecord(name=f"replay/{where}", shown=name))
    if len(paths) > 1 and not _answer_the_same(collected.replays):
        raise DataError(
            f"{paths[0]} and {paths[1]} answer different questions: are they parts of one model's answers? Name the "
            f"column with {option('text_column', 'NAME')}, which joins them, or make one file of them"
        )
    return collected


def _answer_the_same(replays: Sequence[Replay]) -> bool:
    """Return whether a question was answered in two files: each file is one model's."""
    known, first = KeyTable(), array("I")  # by a question's number: the file that answers it first
    for index, replay in enumerate(replays):
        for question in replay.questions():
            number = known.add(text_key(question))
            if number == len(first):
                first.append(index)
            elif first[number] != index:
                return True
    return False


def _questions(benchmark: str, choice: TaskOptions) -> list[Question]:
    """Return all questions of the benchmark, not only the part to grade; in all its languages, unless one is named."""
    everything = msgspec.structs.replace(choice, limit=None, questions=None, shard=None, only="")
    languages = languages_of(benchmark)
    if len(languages) == 1 or choice.language:
        return [question for exam, _ in open_exams((benchmark,), everything) for question in exam.questions()]
    questions: list[Question] = []
    for language in languages:
        with suppress(DataError):  # a language whose files are not there
            one_language = msgspec.structs.replace(everything, language=(language,))
            questions += [
                question for exam, _ in open_exams((benchmark,), one_language) for question in exam.questions()
            ]
    if not questions:
        open_exams((benchmark,), everything)  # raises with the reason
    return questions


def _progress(total: int, *, quiet: bool) -> Callable[[int], None]:
    """Return a function that prints the progress of a long matching every few seconds."""
    screen = Screen("quiet" if quiet else "plain")

    def told(done: int) -> None:
        if screen.due():
            screen.say(f"viva: matching: {done:,} of {total:,} items")

    return told


def _refuse_strange(logs: Sequence[Log], matchings: Sequence[Matching], paths: Sequence[Path]) -> None:
    """Raise DataError for files without a question of this benchmark: they are another's, most likely."""
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
    collected = Collected(replays=[], models=[], kept={})
    missed: list[Missed] = []
    lines_of = msgspec.json.Encoder().encode_lines
    for number, (log, matching) in enumerate(zip(logs, matchings, strict=True), 1):
        name = "answers.jsonl" if len(logs) == 1 else f"answers-{number}.jsonl"
        content = lines_of(rows_of(matching.found))
        shown = _shown(log.model, number, [other.model for other in logs])
        collected.models.append(ModelRecord(name=f"replay/{KEPT}{name}", shown=shown))
        collected.replays.append(Replay(Path(name), shown=shown, content=content))
        collected.kept[name] = content
        missed += matching.missed
    if missed:
        collected.kept[UNMATCHED] = lines_of({"where": miss.item.where, "why": miss.why} for miss in missed)
    return collected


def _shown(model: str, number: int, models: Sequence[str]) -> str:
    """Return a model's name in tables: that of its log."""
    name = one_line(model, 120) or "replay/answers"
    return name if models.count(model) == 1 else f"{name}#{number}"


def samples_and_repeats(answers: int, exams: list[Exam]) -> tuple[int, int]:
    """Return `answers` to a question as (samples, repeats): groups of the size from which the paper takes the best."""
    group = find_benchmark(exams[0].spec.benchmark).about.draws.samples
    return (group, -(-answers // group)) if answers > group > 1 else (answers, 1)


def language_of(benchmark: str, answered: set[str], choice: TaskOptions) -> tuple[str, ...]:
    """Return the language whose question ids the answers have: CS-Bench numbers its languages separately."""
    languages = languages_of(benchmark)
    named: list[str] = []
    for language in languages:
        candidate = TaskOptions(data=choice.data, language=(language,), only=choice.only)
        try:
            exam = open_exams((benchmark,), candidate)[0][0]
        except DataError:
            continue  # files missing; if no other language fits either, grading says so
        if any(question.id in answered for question in exam.questions()):
            named.append(language)
    return tuple(named) or languages[:1]


def check_gaps(replay: Replay, answers: Path) -> None:
    """Say which sample numbers have no answer at all.

    Raises DataError where samples were most likely counted from 1, or are seeds.
    """
    numbers = replay.sample_numbers
    gaps = [sample for sample in range(replay.samples) if sample not in numbers] if numbers else []
    if gaps and (gaps[0] == 0 or len(gaps) > len(numbers)):
        raise DataError(f"{answers} has no answer with sample {gaps[0]}; number the samples 0, 1, ...")
    if gaps:
        named = ", ".join(map(str, gaps[:5])) + (", …" if gaps[5:] else "")
        notify(f"{answers}: no question has an answer with sample {named}: counted as missing")


def look_for_golds(replays: Sequence[Replay], exams: Sequence[Exam], answers: Path) -> None:
    """Say where every reply is exactly the gold answer: the file is most likely the question set itself.

    Raises DataError where every reply is its question.
    """
    column = option("text_column", "NAME")
    for replay in replays if sum(map(len, exams)) >= _TELLING else ():
        copied: set[str] = set()
        for question in (question for exam in exams for question in exam.questions()):
            replies = (replay.answers.get((question.id, sample)) for sample in range(replay.samples))
            given = [bare(reply.text) for reply in replies if reply]
            if given:
                copied.add(_copied(question, {given[0], "".join(given)}))  # right letters in a list came as samples
                if "" in copied:
                    break
        if copied == {"question"}:
            raise DataError(f"{answers}: every reply is its question's own text; say where replies are: {column}")
        if copied - {"no gold"} == {"gold"}:
            notify(
                f"{answers}: every reply is the gold answer, letter for letter. If this is the table of the questions, "
                f"say where replies are: {column}"
            )


def _copied(question: Question, replies: set[str]) -> str:
    if (replies - {""}) & {gold_text(question), bare(question.answer or "")}:
        return "gold"
    return "question" if bare(question.text) in replies else "" if question.answer else "no gold"


def refuse_strangers(replays: Sequence[Replay], exams: list[Exam], answers: Path, *, limited: bool) -> None:
    """Raise DataError for answers to unknown questions, unless the user `limited` the questions and some fit."""
    known, shown = KeyTable(), ""
    for question in (question for exam in exams for question in unsharded(exam).questions()):
        known.add(text_key(question.id))
        shown = shown or question.id
    for replay in replays:
        strange, first, fitting = 0, "", 0
        for identity in replay.questions():
            if text_key(identity) in known:
                fitting += 1
            else:
                strange, first = strange + 1, first if strange else identity
        if strange and not (limited and fitting):
            raise DataError(
                f"{answers} answers question {first!r}"
                + (f" and {strange - 1:,} more" if strange > 1 else "")
                + f" that this set does not have; its ids look like {shown!r}; "
                f"where a column holds the questions' texts, say which: {option('question_column', 'NAME')}"
            )


def scores_csv(rows: Iterable[ScoreRow], question_column: str = "question") -> str:
    """Return scores as CSV, a row an answer; `score` is empty where unscored. A run's mean is that of `points`, in
    which an unreadable answer counts as 0. Both are exact, so that files can be compared.
    """
    table = CsvText([question_column, "sample", "score", "outcome", "read", "cluster", "points", "model"])
    for row in rows:
        score, points = map(_exactly, (row.value, row.points))
        question, answer, model, cluster = map(csv_safe, (row.question, row.answer[:200], row.model, row.cluster))
        table.add([question, row.sample, score, row.outcome, answer, cluster, points, model])
    return table.text()


def _exactly(value: float | None) -> str:
    """Return the shortest text that reads back as the same number; empty for None."""
    if value is None:
        return ""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)
