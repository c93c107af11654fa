"""A run as a report takes it: results from scores.jsonl, and its answers where the questions are at hand."""

from __future__ import annotations

import itertools
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path

import msgspec
from msgspec import UNSET, Struct

from viva.benchmarks import find_benchmark, open_exam
from viva.engine.answerrecord import Answer
from viva.engine.budget import Consumed, Consumption, cut_off
from viva.engine.folder import ExamRecord, ModelRecord, RunFolder
from viva.engine.stages import recorded
from viva.errors import VivaError
from viva.render.deciders import CanaryMarks, DeciderCounts, canary_notes
from viva.render.formats import judging_notes
from viva.render.result import Result, signature
from viva.runs.answers import answered, answered_without_questions
from viva.runs.config import LimitOptions
from viva.runs.graded import rows_by_evaluation
from viva.runs.open import OpenRun, prepare
from viva.runs.published_rows import unknown_notes, with_published_rows
from viva.runs.scoring import canary_marks, constant_of, judging_consumed, with_estimates
from viva.types import OUTCOMES, Aggregate, ScoreRow, StopReason, TableSpec

_CHUNK = 4096
_VALUES = 40
"""Values of a tag beyond which it makes no table, where the exam's own tables are not known."""


class Reported(Struct, kw_only=True):
    """One run, read once."""

    folder: RunFolder
    results: list[Result]
    strata: array[int]
    """For every row of scores.jsonl, in order: a number for its exam, model and outcome."""
    opened_run: OpenRun | None
    warnings: list[str]
    notes: list[str]
    estimates: list[str] = []
    """Those of the notes that say what the scores of an adaptive run are."""
    canaries: tuple[CanaryMarks, ...] = ()
    judging: dict[str, Consumed] = {}
    """What each judge took."""

    def items(self, wanted: Callable[[int], bool], name: Callable[[str, str], str]) -> Iterator[Answer]:
        """Yield the wanted answers (places in scores.jsonl), those to a question together. `name`: what the report
        calls (exam, model).
        """
        found = (
            answered(self.opened_run, wanted, by_question=True)
            if self.opened_run
            else answered_without_questions(self.folder, wanted)
        )
        designs = {e.spec.label: e.spec.vary for e in self.folder.record.exams if e.spec.vary is not UNSET}
        for item in found:
            row, called = item.row, name(item.row.exam, item.row.model)
            if row.exam in designs:  # a cell is found by its levels
                row = msgspec.structs.replace(row, tags={**row.tags, **designs[row.exam].named(row.sample)})
            if called != row.model:
                row = msgspec.structs.replace(row, model=called)
            yield item if row is item.row else msgspec.structs.replace(item, row=row)


def read_run(path: Path, beside: str) -> Reported:
    """Return all results of a graded run. Asks nobody and writes nothing.

    Raises StorageError for one whose scores.jsonl is missing, damaged, or not what was made of the files beside it.
    """
    folder = RunFolder.open(path)
    opened_run, warnings = _opened(folder)
    found = Reported(folder=folder, results=[], strata=array("i"), opened_run=opened_run, warnings=warnings, notes=[])
    layouts: dict[str, tuple[Aggregate, tuple[TableSpec, ...]] | None] = {}
    for exam, model, rows in rows_by_evaluation(path, folder.record):
        label = exam.spec.label
        if label not in layouts:
            layouts[label] = _layouts(found, exam, folder.record.exams.index(exam))
        result = _result(rows, found, exam, model, layouts[label])
        found.results.append(with_published_rows(result, beside, exam, folder.record))
    headline, _ = next(filter(None, layouts.values()), (Aggregate("mean"), ()))
    found.results, found.estimates = with_estimates(folder, headline, found.results)
    found.notes = list(found.estimates)
    if opened_run:
        found.canaries = canary_marks(opened_run)
        found.judging = judging_consumed(opened_run)
        found.notes += [*judging_notes(found.judging), *opened_run.notes(), *canary_notes(found.canaries)]
    asked = [result.model for result in found.results]
    found.notes = [*unknown_notes(beside, folder.record.exams, asked), *found.notes]
    return found


def _opened(folder: RunFolder) -> tuple[OpenRun | None, list[str]]:
    """Return the run opened for its prompts; where that cannot be (its data moved, say), why not."""
    try:
        return prepare(folder, LimitOptions(progress="quiet")), []
    except VivaError as problem:
        return None, [
            f"{folder.path.name}: this report has no prompts, gold answers and evidence, since the run cannot be "
            f"opened here: {problem}"
        ]


def _layouts(found: Reported, record: ExamRecord, index: int) -> tuple[Aggregate, tuple[TableSpec, ...]] | None:
    """Return the exam's headline and tables: of the exam itself, else of its bundled sample; None for neither."""
    if found.opened_run:
        exam = found.opened_run.exams[index]
        return exam.headline(), exam.layouts()
    try:
        sample = open_exam(record.spec, None, record.templates)
    except VivaError:
        return None
    return sample.headline(), sample.layouts()


def _result(
    rows: Iterator[ScoreRow],
    found: Reported,
    exam: ExamRecord,
    model: str,
    known: tuple[Aggregate, tuple[TableSpec, ...]] | None,
) -> Result:
    from viva.analysis.breakdown import Breakdown, frame

    deciding, first = DeciderCounts(), len(OUTCOMES) * len(found.results)
    isolations, outcomes, cut = Counter[str](), Counter[str](), Counter[StopReason]()
    stratum = {outcome: first + place for place, outcome in enumerate(OUTCOMES)}

    def marked() -> Iterator[ScoreRow]:
        while taken := list(itertools.islice(rows, _CHUNK)):
            of_each = list(map(attrgetter("outcome"), taken))
            found.strata.extend(map(stratum.__getitem__, of_each))
            outcomes.update(of_each)
            isolations.update(map(attrgetter("isolation"), taken))
            if "truncated" in of_each:
                cut.update(itertools.chain.from_iterable(map(cut_off, taken)))
            deciding.watch_all(taken)
            yield from taken

    scores = frame(marked())
    label = exam.spec.label
    pass_line = find_benchmark(exam.spec.benchmark).about.pass_line if known is not None else None
    if known is None:
        tags = {
            name.removeprefix("tag:"): tuple(text.values)
            for name, text in scores.texts.items()
            if name.startswith("tag:")
        }
        known = Aggregate("mean"), tuple(_by_tag(tags))
    headline, layouts = known
    breakdown = Breakdown(scores, headline.attempts, layouts)
    record = found.folder.record
    opened = _opened_model(found, model)
    return Result(
        exam=label,
        benchmark=exam.spec.benchmark,
        language=exam.spec.language,
        model=model,
        overall=breakdown.cell(headline),
        tables=tuple(breakdown.table(layout, label, model) for layout in layouts),
        signature=signature(record, exam, model, opened),
        judged=bool(record.judges),
        decided=deciding.decided(),
        reviewed=deciding.reviewed,
        trained=opened.trained if opened else None,
        programs=isolations["separate"] + isolations["shared"],
        shared=isolations["shared"],
        pass_line=pass_line,
        constant=constant_of(found.opened_run.exams[record.exams.index(exam)]) if found.opened_run else None,
        consumed=_consumed(found, label, model, outcomes["right"]),
        cut_off=dict(cut),
    )


def _consumed(found: Reported, exam: str, model: str, right: int) -> Consumed | None:
    """Return what the answers took, where the run can be opened, so that its answers are told from others in its
    journal.
    """
    for evaluation in found.opened_run.evaluations if found.opened_run else ():
        if (evaluation.label, evaluation.model.name) == (exam, model) and not recorded(evaluation):
            journal = found.folder.journal("responses", write=False)
            consumption = Consumption(evaluation.price)
            try:
                for _, _, entry in evaluation.answers(journal):
                    if entry:
                        consumption.count(entry)
            finally:
                journal.close()
            return consumption.consumed(right)
    return None


def _opened_model(found: Reported, name: str) -> ModelRecord | None:
    if found.opened_run:
        names = [model.name for model in found.opened_run.models]
        return found.folder.record.models[names.index(name)] if name in names else None
    return found.folder.record.model(name)


def _by_tag(tags: dict[str, tuple[str, ...]]) -> Iterator[TableSpec]:
    """Plain tables by tag, where nothing is known of the exam's own."""
    for tag, values in tags.items():
        if 1 < len(values) <= _VALUES:
            rows = tuple(Aggregate(value, where={tag: (value,)}) for value in sorted(values))
            yield TableSpec(tag, f"By {tag}", (*rows, Aggregate("all")), (Aggregate("mean"),))
