"""`viva export RUN --to inspect|lm-eval|every-eval-ever|mlflow|wandb`: each model on every exam, a file or an entry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import accumulate, islice
from pathlib import Path

import msgspec
from msgspec import Struct

from viva.benchmarks import find_benchmark
from viva.engine.answerrecord import Answer, answer_of, describe_evidence
from viva.engine.folder import ModelRecord, RunFolder
from viva.engine.journal import Entry, Journal
from viva.engine.scorefile import SCORES
from viva.engine.stages import NO_REPLY_YET, EvidenceStore
from viva.errors import StorageError, VivaError, option
from viva.files import UNREADABLE, lines, reading
from viva.interop.writing.runrecords import EvaluationResult
from viva.render.result import Result, settings
from viva.runs.answers import keys_of_answers
from viva.runs.graded import refuse_adaptive
from viva.runs.open import open_evidence
from viva.runs.progress import Screen, say
from viva.runs.results import Reported, read_run
from viva.studies.export.exportformats import ExportConfig, placed
from viva.types import OUTCOMES, Aggregate, Question, Request, ScoreRow
from viva.visible import one_line


class ExportedRun(Struct, kw_only=True):
    """A run opened to be written elsewhere."""

    path: Path
    evaluations: list[EvaluationResult]
    read: Reported


@contextmanager
def opened_run(path: Path, *, gold: bool = True) -> Iterator[ExportedRun]:
    """A graded run with its answers, one model on one exam after the other in the order of scores.jsonl.

    Without `gold`, answers come without gold answers and rationales, and without what would tell them: explanations,
    and what judges, experts and programs said. Raises VivaError for what is no run, StorageError where it is not graded
    (or was before its last answer came) or damaged.
    """
    if path.is_dir() and not (path / "run.json").exists():
        found = sorted(one.parent.name for one in path.glob("*/run.json"))
        if found:
            shown = ", ".join(one_line(name, 60) for name in found[:3])
            raise VivaError(
                f"{path} is no run, but holds {len(found)} ({shown}{', …' if found[3:] else ''}): name those"
            )
    refuse_adaptive(path, RunFolder.open(path).record)
    run = read_run(path, "none")
    with ExitStack() as stack:
        journal = run.folder.journal("responses", write=False)
        stack.callback(journal.close)
        reader = _Reader(run, journal, open_evidence(run.opened_run, stack) if run.opened_run else None, gold)
        yield ExportedRun(
            path=path, evaluations=[_result(run, reader, number) for number in range(len(run.results))], read=run
        )


def _result(run: Reported, reader: _Reader, number: int) -> EvaluationResult:
    record, result = run.folder.record, run.results[number]
    exam = next(one for one in record.exams if one.spec.label == result.exam)
    place = record.exams.index(exam)
    return EvaluationResult(
        run=one_line(run.folder.path.resolve().name, 200),
        record=record,
        exam=exam,
        about=find_benchmark(exam.spec.benchmark).about,
        model=result.model,
        overall=result.overall,
        headline=run.opened_run.exams[place].headline() if run.opened_run else Aggregate("mean"),
        signature=result.signature,
        settings=settings(record, exam, result.model, _model(run, result)),
        answers=lambda: counted(reader.of(number), f"{result.exam}, {result.model}"),
        warnings=tuple(run.warnings),
    )


def _model(run: Reported, result: Result) -> ModelRecord | None:
    names = [model.name for model in run.opened_run.models] if run.opened_run else []
    if result.model in names:
        return run.folder.record.models[names.index(result.model)]
    return run.folder.record.model(result.model)


class _Reader:
    """The answers of a run, sitting by sitting, from scores.jsonl and the journals."""

    def __init__(self, run: Reported, journal: Journal, evidence_store: EvidenceStore | None, gold: bool) -> None:
        self._run, self._journal, self._evidence_store, self._gold = run, journal, evidence_store, gold
        counts = Counter(number // len(OUTCOMES) for number in run.strata)
        self._counts = [counts[number] for number in range(len(run.results))]
        self._file = run.folder.path / SCORES
        self._offsets = _offsets(self._file, list(accumulate([0, *self._counts])))
        self._places: dict[tuple[str, str, str, int], bytes] | None = None

    def of(self, number: int) -> Iterator[Answer]:
        """Return the answers of one model on one exam."""
        rows = self._rows(number)
        if self._run.opened_run and self._evidence_store:
            return self._whole(number, rows)
        return self._without_questions(rows)

    def _rows(self, number: int) -> Iterator[ScoreRow]:
        decode = msgspec.json.Decoder(ScoreRow).decode
        with reading(self._file) as content:
            content.seek(self._offsets[number])
            for line in islice(lines(content, self._file), self._counts[number]):
                try:
                    yield decode(line)
                except UNREADABLE as problem:
                    raise StorageError(f"{self._file} was changed meanwhile ({problem}): once more, please") from None

    def _whole(self, number: int, rows: Iterator[ScoreRow]) -> Iterator[Answer]:
        opened, evidence_store = self._run.opened_run, self._evidence_store
        assert opened is not None
        assert evidence_store is not None
        result = self._run.results[number]
        evaluation = next(
            one for one in opened.evaluations if (one.label, one.model.name) == (result.exam, result.model)
        )
        for row, (question, key, request) in zip(rows, evaluation.requests(), strict=False):
            if (row.question, row.sample) != (question.id, request.sample):
                raise StorageError(
                    f"{self._file} is not of this run's questions; `viva score {self._run.folder.path}` makes it anew"
                )
            entry = self._journal.read(key)
            response = entry.response() if entry else NO_REPLY_YET
            said = evidence_store.about(evaluation, question, request.sample, response) if self._gold else None
            yield self._answer(row, entry, question, request, tuple(describe_evidence(said)) if said else ())

    def _without_questions(self, rows: Iterator[ScoreRow]) -> Iterator[Answer]:
        """A reply is found by model, question and sample; where the run has several exams of that benchmark, in which
        questions share their ids, it is left out rather than guessed."""
        if self._places is None:
            self._places = keys_of_answers(self._journal, self._run.folder.record)
        for row in rows:
            key = self._places.get((row.benchmark, row.model, row.question, row.sample))
            yield self._answer(row, self._journal.read(key) if key else None, None, None, ())

    def _answer(
        self,
        row: ScoreRow,
        entry: Entry | None,
        question: Question | None,
        request: Request | None,
        said: tuple[tuple[str, str], ...],
    ) -> Answer:
        if not self._gold:
            row = msgspec.structs.replace(row, explanation="")
            question = question and without_gold(question)
        return answer_of(row, entry, question, request, said)


def _offsets(file: Path, places: Sequence[int]) -> list[int]:
    """Return where in a file these lines begin (from 0, ascending)."""
    found: list[int] = []
    position = line = 0
    with reading(file) as content:
        every = lines(content, file)
        for place in places:
            for text in islice(every, place - line):
                position += len(text)
            line = place
            found.append(position)
    return found


def without_gold(question: Question) -> Question:
    """Return a question without what would answer it."""
    return msgspec.structs.replace(question, answer=None, accepted=(), explanation="")


def counted(answers: Iterator[Answer], what: str) -> Iterator[Answer]:
    """Yield the same, saying on stderr how far it is where that takes longer."""
    screen = Screen("plain")
    for number, answer in enumerate(answers, 1):
        yield answer
        if number % 1024 == 0 and screen.due():
            screen.say(f"viva: {one_line(what, 120)}: {number:,} answers written")


def opened_runs(config: ExportConfig, stack: ExitStack) -> list[ExportedRun]:
    """Return the sources as runs. Raises VivaError for an option of question sets, and for two runs of one name."""
    if config.choice.data or config.choice.language:
        raise VivaError(f"and {option('language')} are for a question set; a run knows its own", field="data")
    paths = {Path(source).resolve(): Path(source) for source in config.sources}
    named: dict[str, Path] = {}
    for whole, path in paths.items():
        other = named.setdefault(one_line(whole.name, 200), path)
        if other is not path:  # files and rows are told apart by it: one would replace the other
            raise VivaError(f"{other} and {path} are two runs of one name: rename one, or export them apart")
    return [stack.enter_context(opened_run(path, gold=config.gold)) for path in paths.values()]


def print_warnings(runs: list[ExportedRun]) -> None:
    """Say what should be known about the numbers, once each."""
    for warning in dict.fromkeys(warning for run in runs for warning in run.read.warnings):
        say(f"viva: {warning}")


Write = Callable[[ExitStack, Path], tuple[list[ExportedRun], str, Sequence[str]]]
"""Opens what is to be exported and writes it to a place; returns the runs, what was written in words, and warnings."""


def exported(config: ExportConfig, form: str, write: Write, *, file: bool = False) -> int:
    """Write a format at its place, as a folder or a `file`, and say what was written and what should be known."""
    with ExitStack() as stack:
        with placed(config.out, form, force=config.force, file=file) as place:
            runs, what, warnings = write(stack, place)
        say(f"viva: wrote {config.out} ({what})")
        print_warnings(runs)
        for warning in warnings:
            say(f"viva: {warning}")
    return 0


def _evaluations(runs: list[ExportedRun]) -> list[EvaluationResult]:
    return [one for run in runs for one in run.evaluations]


def export_inspect(config: ExportConfig) -> int:
    """Return a folder of .eval logs, or one log as a file."""
    from viva.interop.writing.inspectarchive import log_name, write_eval, write_json

    single = {".eval": write_eval, ".json": write_json}.get(config.out.suffix)

    def write(stack: ExitStack, place: Path) -> tuple[list[ExportedRun], str, Sequence[str]]:
        runs = opened_runs(config, stack)
        evaluations = _evaluations(runs)
        if single and len(evaluations) > 1:
            raise VivaError(
                f"{config.out} would be one log, and a log is of one model on one exam; here are {len(evaluations)}: "
                "name a folder",
                field="out",
            )
        for one in evaluations:
            (single or write_eval)(one, place if single else place / log_name(one))
        return runs, f"{len(evaluations)} Inspect log{'s' if len(evaluations) > 1 else ''}", ()

    return exported(config, "inspect", write, file=single is not None)


def export_lm_eval(config: ExportConfig) -> int:
    """Return a folder a model, with results_*.json and samples_*.jsonl."""
    from viva.interop.writing.lmevalfolder import write_lm_eval

    def write(stack: ExitStack, folder: Path) -> tuple[list[ExportedRun], str, Sequence[str]]:
        runs = opened_runs(config, stack)
        return runs, f"results of {sum(len(write_lm_eval(run.evaluations, folder)) for run in runs)} models", ()

    return exported(config, "lm-eval", write)


def export_every_eval_ever(config: ExportConfig) -> int:
    """Return a record a model and exam, below data/."""
    from viva.interop.writing.everyeval import write_every_eval_ever

    def write(stack: ExitStack, folder: Path) -> tuple[list[ExportedRun], str, Sequence[str]]:
        runs = opened_runs(config, stack)
        evaluations = _evaluations(runs)
        bare = [f"{one.label}, {one.model}: no mean, so no record" for one in evaluations
                if write_every_eval_ever(one, folder) is None]  # fmt: skip
        if len(bare) == len(evaluations):
            raise VivaError("nothing of this is graded: the schema has no record without a score")
        return runs, f"{len(evaluations) - len(bare)} records", bare

    return exported(config, "every-eval-ever", write)


def export_mlflow(config: ExportConfig) -> int:
    """Return a run in MLflow for every model on every exam."""
    from viva.interop.writing.trackers import write_mlflow

    return _tracked(config, write_mlflow)


def export_wandb(config: ExportConfig) -> int:
    """Return a run in Weights & Biases for every model on every exam."""
    from viva.interop.writing.trackers import write_wandb

    return _tracked(config, write_wandb)


def _tracked(config: ExportConfig, write: Callable[..., str]) -> int:
    from viva.interop.writing.trackers import tracked

    with ExitStack() as stack:
        runs = opened_runs(config, stack)
        results = [
            tracked(one, result.consumed)
            for run in runs
            for one, result in zip(run.evaluations, run.read.results, strict=True)
        ]
        where = write(results, force=config.force)
        say(f"viva: wrote {len(results)} result{'s' if len(results) > 1 else ''} ({where})")
        print_warnings(runs)
    return 0
