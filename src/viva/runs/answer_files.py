"""Answers as other people's tools wrote them, as files of answers that a run keeps: what `viva grade` is given.

A file of our own form is played back from where it lies; any other is read once, its items are matched with the
benchmark's questions, and what was matched goes into the run folder, so that the run needs the original no more.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from viva.engine.folder import ModelRecord
from viva.errors import DataError, option
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
from viva.runs.config import AnswerFileOptions, TaskOptions
from viva.runs.exams import languages_of, open_exams
from viva.runs.progress import Screen, say
from viva.types import Question
from viva.visible import one_line

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
