"""Variance components of scores, from runs with a design (`viva variance run`) or with several judges."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct

from viva.commands import command
from viva.designs import Design
from viva.engine.folder import ExamRecord, RunFolder
from viva.engine.stages import NO_REPLY_YET, Evaluation, EvidenceStore, parts_shown, row_of
from viva.errors import DataError, VivaError, flag, option
from viva.fields import note
from viva.lab.variation.cells import with_judges
from viva.runs.exams import reopen
from viva.runs.open import open_evidence, prepare
from viva.runs.scorefile import refuse_adaptive, rows_by_evaluation, runs_in
from viva.studies.item_scores import OnlyExams, OnlyModels
from viva.types import ScoreRow
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.lab.variation.components import Floats, Position
    from viva.lab.variation.tables import Contestant, Variance
    from viva.render.findings import Findings

_FEWEST = 10
"""The fewest questions for estimating components."""


class VarianceConfig(Struct, kw_only=True):
    """How much do prompts, the order of options, judges and chance move a score, and the difference of two models?

    From runs that vary them (`viva variance run`), or have several judges: variance components with intervals, the
    ranks over all cells, which letters a model prefers, and how to split a budget between questions and variants. Asks
    nobody.

    \b
    viva variance run cmmlu --vary prompt=3,order=4 --model A --model B
    viva variance runs/NAME
    viva variance runs/NAME --budget 5000          5,000 answers: questions, or variants of each?
    viva variance runs/NAME --chart moved.svg
    """

    runs: Annotated[tuple[Path, ...], note("Run folders, folders of runs.", metavar="RUN...", argument=True)]
    budget: Annotated[
        Annotated[int, Meta(ge=2, le=10**9)] | None,
        note(
            "Answers of one model that are to be split between questions and variants.  [default: one a question]",
            metavar="ANSWERS",
        ),
    ] = None
    model: OnlyModels = ()
    exam: OnlyExams = ()


class _Asked(Struct):
    """One model's answers: question → the points of the samples of each cell, None where there are none."""

    model: str
    points: dict[str, list[list[float | None]]]
    letters: dict[str, list[tuple[int, str]]]
    """Question → cell (of the asked design) and letter, for every answer with a readable letter."""
    judged: bool = False
    """Whether any judge replied about any answer."""
    clustered: bool = False
    """Whether questions are clustered."""


class _Varied(Struct):
    """One exam with its design and judges, and its models' answers."""

    record: ExamRecord
    judges: tuple[str, ...]
    """Judges treated as a factor; empty if fewer than two have judged."""
    asked: list[_Asked]

    @property
    def varied(self) -> Design | None:
        """The asked design; None without one."""
        return None if self.record.spec.vary is UNSET else self.record.spec.vary

    @property
    def design(self) -> Design:
        """The asked design, repeated under every judge."""
        asked = self.varied
        return with_judges(asked, self.judges) if self.judges or asked is None else asked


@command(VarianceConfig, chart="Draw the scores in all cells and the standard deviation of every source")
def study(config: VarianceConfig) -> Findings[Variance]:
    """Estimate what moves the scores of one exam. Raises VivaError where no run varies anything or has several judges,
    or several designs are in the runs, and DataError where too few questions are answered in all cells."""
    from viva.lab.variation.chart import variance_chart
    from viva.lab.variation.tables import Variance, findings

    asked_design = _asked(config)
    contestants = sorted(
        (_contestant(asked_design, each) for each in asked_design.asked), key=lambda each: -each.components.mean
    )
    by_model = {each.model: each for each in asked_design.asked}
    pairs = [
        _contestant(asked_design, *(by_model[each.model] for each in pair)) for pair in itertools.pairwise(contestants)
    ]
    varied = asked_design.varied
    ordered = varied is not None and any(factor.name == "order" for factor in varied.factors)
    variance = Variance(
        exam=asked_design.record.spec.label,
        design=asked_design.design,
        contestants=tuple(contestants),
        differences=tuple(pairs),
        positions=_positions(asked_design.record, varied, asked_design.asked) if varied and ordered else {},
        budget=config.budget or asked_design.record.questions,
        available=asked_design.record.questions,
        budget_asked=config.budget is not None,
        clustered=any(each.clustered for each in asked_design.asked),
    )
    return findings(variance, partial(variance_chart, variance.exam, variance.design, contestants))


def _asked(config: VarianceConfig) -> _Varied:
    """Return the one exam of the runs that has a design or several judges, and its models' answers."""
    by_design: dict[bytes, _Varied] = {}
    varied: dict[str, list[str]] = {"model": [], "exam": []}
    for path in itertools.chain.from_iterable(map(runs_in, config.runs)):
        for exam, model, judges, asked in _evaluations(path, config):
            varied["model"].append(model)
            varied["exam"].append(exam.spec.label)
            if asked is None:
                continue
            key = msgspec.json.encode([exam.spec, exam.fingerprint, exam.templates, judges], order="deterministic")
            group = by_design.setdefault(key, _Varied(exam, judges, []))
            if any(other.model == model for other in group.asked):
                raise DataError(f"{one_line(model, 60)} is in {path} and in a run before it: name one of them")
            group.asked.append(asked)
    if not by_design and varied["model"]:
        wanted = {"model": config.model, "exam": config.exam}
        meant = " ".join(f"{option(each)} {one_line(name, 60)}" for each, names in wanted.items() for name in names)
        there = "; ".join(
            f"{option(each)} {', '.join(_names(names))}" for each, names in varied.items() if wanted[each]
        )
        raise VivaError(f"{meant}: no such answers in {', '.join(map(str, config.runs))}; there are: {there}")
    if not by_design:
        raise VivaError(
            f"nothing is varied in {', '.join(map(str, config.runs))}, and no two judges have marked its answers: ask "
            f"with {option('vary')}, such as `viva variance run cmmlu {flag('vary')} prompt=3,order=4 "
            f"{flag('model', 'MODEL')}`, or name {option('judge')} twice"
        )
    if len(by_design) > 1:
        _refuse_several([*by_design.values()], config)
    return next(iter(by_design.values()))


def _refuse_several(several: Sequence[_Varied], config: VarianceConfig) -> None:
    """Raise VivaError for several designs, naming the differences."""
    if len({msgspec.json.encode(msgspec.structs.replace(each.record.spec, shard="")) for each in several}) == 1 and all(
        each.record.spec.shard for each in several
    ):
        raise VivaError(
            f"{', '.join(map(str, config.runs))} are shards of one run: `viva merge` makes it of them, or name one"
        )
    named = ", ".join(f"{each.record.spec.label} ({each.design.words}{_by(each.judges)})" for each in several)
    raise VivaError(
        f"one exam and one design are compared, and here are {named}: name an exam with {option('exam')}, or a run"
    )


def _by(judges: Sequence[str]) -> str:
    return f": {', '.join(_names(judges))}" if judges else ""


def _is_meant(config: VarianceConfig, exam: ExamRecord, model: str) -> bool:
    named = not config.model or model in config.model or model.rpartition("/")[2] in config.model
    return named and (not config.exam or exam.spec.label in config.exam)


Marked = tuple[tuple[ScoreRow, ...], bool]
"""One answer: its row under each judge, in the order of the run's judges, and whether any of them replied."""
Evaluations = list[tuple[ExamRecord, str, tuple[str, ...], _Asked | None]]


def _evaluations(path: Path, config: VarianceConfig) -> Evaluations:
    """Return exam, model, the judges treated as a factor, and the answers (None if not selected), of a run's varied
    exams.
    """
    record = RunFolder.open(path).record
    judges = tuple(judge.name for judge in record.judges)
    if len(judges) > 1:
        refuse_adaptive(path, record)
        return _judged(path, judges, config)
    return [
        (
            exam,
            model,
            (),
            _read(model, exam, (((row,), False) for row in rows)) if _is_meant(config, exam, model) else None,
        )
        for exam, model, rows in rows_by_evaluation(path, record)
        if exam.spec.vary is not UNSET
    ]


def _judged(path: Path, judges: tuple[str, ...], config: VarianceConfig) -> Evaluations:
    """Return the evaluations of a run with several judges. If none was asked about an exam, a rule decides."""
    evaluations: Evaluations = []
    judged: set[str] = set()
    for exam, model, answers in _rows_by_judge(path):
        read = None
        if _is_meant(config, exam, model):
            read = _read(model, exam, answers)
            judged.update([exam.spec.label] if read.judged else [])
        evaluations.append((exam, model, judges, read))
    return [
        (exam, model, judges, asked)
        if exam.spec.label in judged
        else (exam, model, (), asked and _under_one(asked, len(judges)))
        for exam, model, judges, asked in evaluations
        if exam.spec.label in judged or exam.spec.vary is not UNSET
    ]


def _rows_by_judge(path: Path) -> Iterator[tuple[ExamRecord, str, Iterator[Marked]]]:
    """Yield exam, model and answers, one model on one exam after the other; answers must be read before the next.

    Answers are graded again from the run's files, without experts' marks, which would override the judges'. Raises
    VivaError if the run's questions are missing.
    """
    folder = RunFolder.open(path)
    opened = prepare(folder)
    exams = {exam.spec.label: exam for exam in folder.record.exams}
    with ExitStack() as stack:
        evidence_store = open_evidence(opened, stack)
        for evaluation in opened.evaluations:
            yield exams[evaluation.label], evaluation.model.name, _marked(folder, evaluation, evidence_store)


def _marked(folder: RunFolder, evaluation: Evaluation, evidence_store: EvidenceStore) -> Iterator[Marked]:
    exam, shown = evaluation.exam, parts_shown(evaluation.exam)
    judges = [judge.model.name for judge in evidence_store.judge_panel.judges] if evidence_store.judge_panel else []
    with ExitStack() as stack:
        journal = folder.journal("responses", write=False)
        stack.callback(journal.close)
        for question, sample, entry in evaluation.answers(journal):
            response = entry.response() if entry else NO_REPLY_YET
            evidence = evidence_store.about(evaluation, question, sample, response)
            alone = (
                msgspec.structs.replace(
                    evidence, marks=(), opinions=[opinion for opinion in evidence.opinions if opinion.judge == judge]
                )
                for judge in judges
            )
            scores = [exam.score(question, response, verdict) for verdict in alone]
            rows = tuple(row_of(evaluation, question, sample, response, score, shown) for score in scores)
            yield rows, bool(evidence.opinions)


def _under_one(asked: _Asked, judges: int) -> _Asked:
    """Return the answers under the first judge alone."""
    return msgspec.structs.replace(asked, points={name: cells[::judges] for name, cells in asked.points.items()})


def _read(model: str, exam: ExamRecord, answers: Iterable[Marked]) -> _Asked:
    """Return the answers of a model, each with its row under every judge, or a single row if judges are no factor."""
    cells = 1 if exam.spec.vary is UNSET else len(exam.spec.vary.cells)
    read = _Asked(model, {}, {})
    for rows, judged in answers:
        read.judged |= judged
        first = rows[0]
        read.clustered |= bool(first.cluster)
        cell = first.sample % cells
        points = read.points.setdefault(first.question, [[] for _ in range(cells * len(rows))])
        for judge, row in enumerate(rows):
            points[cell * len(rows) + judge].append(row.points)
        if first.answer:
            read.letters.setdefault(first.question, []).append((cell, first.answer))
    return read


def _whole(asked: _Asked) -> dict[str, list[list[float]]]:
    """Return question → points by cell, for questions whose answers all count."""
    samples = max((len(cell) for cells in asked.points.values() for cell in cells), default=0)
    known = {
        question: [[point for point in cell if point is not None] for cell in cells]
        for question, cells in asked.points.items()
    }
    return {question: cells for question, cells in known.items() if all(len(cell) == samples for cell in cells)}


def _contestant(varied: _Varied, *asked: _Asked) -> Contestant:
    """Return the variance components of a model's score, or of the difference of two."""
    import numpy as np

    from viva.lab.variation.tables import Contestant

    sides, names = [_whole(each) for each in asked], [each.model for each in asked]
    shared = [question for question in sides[0] if all(question in side for side in sides)]
    most = min(len(each.points) for each in asked)
    _refuse_few(len(shared), most, " and ".join(names), varied.judges)
    samples = min(len(side[shared[0]][0]) for side in sides)
    values = [
        np.array([[cell[:samples] for cell in side[question]] for question in shared], dtype=np.float64)
        for side in sides
    ]
    moved = _moved(values[0] - values[1] if len(values) > 1 else values[0], varied)
    return Contestant(model=names[0], second="".join(names[1:]), left_out=most - len(shared), **moved)


def _moved(values: Floats, varied: _Varied) -> dict[str, Any]:
    """Return components, means of cells and their range by chance, of values: questions × cells × samples; each judge
    has a cell.
    """
    from viva.lab.variation.components import estimate, range_by_chance

    design, means = varied.varied, values.mean(axis=2)
    cells, factors = (design.cells, [factor.name for factor in design.factors]) if design else (((),), [])
    if varied.judges:
        questions, _, samples = values.shape
        values = values.reshape(questions, len(cells), len(varied.judges), samples).swapaxes(2, 3)
    try:
        components = estimate(values, cells, factors)
    except ValueError as problem:
        raise DataError(f"a design of {varied.design.words}: {problem}") from None
    of_cells = tuple(means.mean(axis=0).tolist())
    return {"components": components, "cells": of_cells, "by_chance": range_by_chance(means)}


def _names(given: Iterable[str]) -> list[str]:
    return [one_line(name, 60) for name in dict.fromkeys(given)]


def _refuse_few(questions: int, asked: int, whose: str, judges: Sequence[str]) -> None:
    """Raise DataError for too few complete questions among the asked ones."""
    if questions < _FEWEST:
        way = "ask more questions" if asked < _FEWEST else "`viva resume` asks what is missing"
        raise DataError(
            f"{one_line(whose, 80)}: {questions} of {asked:,} questions have an answer that counts in every cell"
            f"{' and under every judge' if judges else ''}; components take {_FEWEST}: {way}"
        )


def _positions(record: ExamRecord, design: Design, asked: Sequence[_Asked]) -> Mapping[str, tuple[Position, ...]]:
    """Return model → how often it chooses every letter, and how often the letter is gold."""
    from viva.lab.variation.components import positions

    exam = reopen(record)
    golds: dict[str, list[str]] = {}
    for question in exam.questions():
        if question.kind == "choice" and question.answer:
            golds[question.id] = [str(exam.variant(question, cell).answer) for cell in range(len(design.cells))]
    return {
        each.model: positions(
            [
                [(letter, golds[name][cell]) for cell, letter in read]
                for name, read in each.letters.items()
                if name in golds
            ]
        )
        for each in asked
    }
