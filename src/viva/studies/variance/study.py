"""What moves a score more than the model does: variance components of runs with a design (`viva run --vary`)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import UNSET, Meta, Struct

from viva.designs import Design
from viva.engine.folder import ExamRecord, RunFolder
from viva.errors import DataError, VivaError
from viva.runs.config import note
from viva.runs.exams import reopen
from viva.runs.graded import rows_by_evaluation, runs_in
from viva.studies.options import OnlyExams, OnlyModels, Runs
from viva.types import ScoreRow
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.analysis.components import Components, Floats
    from viva.analysis.positions import Position
    from viva.reports.variance import Contestant, Difference, Variance

_FEWEST = 10
"""Questions from which components are estimated."""


class VarianceConfig(Struct, kw_only=True):
    """Which runs with a design are read."""

    runs: Runs
    budget: Annotated[
        Annotated[int, Meta(ge=2, le=10**9)] | None,
        note("Answers of one model that are to be split between questions and variants.  [default: one a question]"),
    ] = None
    model: OnlyModels = ()
    exam: OnlyExams = ()


class _Asked(Struct):
    """One model's answers in a design: question → the points of each cell's samples, None where there are none."""

    model: str
    points: dict[str, list[list[float | None]]]
    letters: dict[str, list[tuple[int, str]]]
    """Question → cell and letter that was read, of every answer in which one was."""


def study(config: VarianceConfig) -> Variance:
    """Estimate what moves the scores of one exam. Raises VivaError where no run varies anything, or several designs are
    in the runs, and DataError where too few questions are answered in all cells."""
    from viva.reports.variance import Variance

    record, asked = _asked(config)
    design = record.spec.vary
    assert design is not UNSET
    contestants = sorted((_contestant(one, design) for one in asked), key=lambda one: one.components.mean, reverse=True)
    by_model = {one.model: one for one in asked}
    pairs = [
        _difference(by_model[first.model], by_model[second.model], design)
        for first, second in itertools.pairwise(contestants)
    ]
    return Variance(
        exam=record.spec.label,
        design=design,
        contestants=tuple(contestants),
        differences=tuple(pairs),
        positions=_positions(record, design, asked) if any(one.name == "order" for one in design.factors) else {},
        budget=config.budget or record.questions,
        budgeted=config.budget is not None,
        available=record.questions,
        budget_asked=config.budget is not None,
    )


def _asked(config: VarianceConfig) -> tuple[ExamRecord, list[_Asked]]:
    """The one exam with a design that the runs are of, and its models' answers."""
    found: dict[bytes, tuple[ExamRecord, list[_Asked]]] = {}
    varied: dict[str, list[str]] = {"--model": [], "--exam": []}
    for path in itertools.chain.from_iterable(map(runs_in, config.runs)):
        for exam, model, rows in rows_by_evaluation(path, RunFolder.open(path).record):
            if exam.spec.vary is UNSET:
                continue
            varied["--model"].append(model)
            varied["--exam"].append(exam.spec.label)
            wanted = not config.model or model in config.model or model.rpartition("/")[2] in config.model
            if not wanted or (config.exam and exam.spec.label not in config.exam):
                continue
            key = msgspec.json.encode([exam.spec, exam.fingerprint, exam.templates], order="deterministic")
            _, models = found.setdefault(key, (exam, []))
            if any(one.model == model for one in models):
                raise DataError(f"{one_line(model, 60)} is in {path} and in a run before it: name one of them")
            models.append(_read(model, exam.spec.vary, rows))
    if not found and varied["--model"]:
        said = {"--model": config.model, "--exam": config.exam}
        meant = " ".join(f"{option} {one_line(name, 60)}" for option, names in said.items() for name in names)
        there = "; ".join(f"{option} {', '.join(_names(names))}" for option, names in varied.items() if said[option])
        raise VivaError(f"{meant}: no such answers in {', '.join(map(str, config.runs))}; there are: {there}")
    if not found:
        raise VivaError(
            f"nothing is varied in {', '.join(map(str, config.runs))}: ask with --vary, such as "
            "`viva run cmmlu --vary prompt=3,order=4 --model MODEL`"
        )
    if len(found) > 1:
        named = ", ".join(
            f"{exam.spec.label} ({exam.spec.vary.words})" for exam, _ in found.values() if exam.spec.vary is not UNSET
        )
        raise VivaError(
            f"one exam and one design are compared, and here are {named}: name an exam with --exam, or a run"
        )
    return next(iter(found.values()))


def _read(model: str, design: Design, rows: Iterable[ScoreRow]) -> _Asked:
    cells = len(design.cells)
    read = _Asked(model, {}, {})
    for row in rows:
        points = read.points.setdefault(row.question, [[] for _ in range(cells)])
        points[row.sample % cells].append(row.points)
        if row.answer:
            read.letters.setdefault(row.question, []).append((row.sample % cells, row.answer))
    return read


def _whole(one: _Asked) -> dict[str, list[list[float]]]:
    """The questions of which every answer counts."""
    samples = max((len(cell) for cells in one.points.values() for cell in cells), default=0)
    known = {
        question: [[point for point in cell if point is not None] for cell in cells]
        for question, cells in one.points.items()
    }
    return {question: cells for question, cells in known.items() if all(len(cell) == samples for cell in cells)}


def _contestant(one: _Asked, design: Design) -> Contestant:
    import numpy as np

    from viva.reports.variance import Contestant

    whole = _whole(one)
    _refuse_few(len(whole), len(one.points), one.model)
    values = np.array([*whole.values()], dtype=np.float64)
    return Contestant(
        model=one.model,
        components=_estimated(values, design),
        left_out=len(one.points) - len(whole),
        cells=tuple(values.mean(axis=(0, 2)).tolist()),
    )


def _difference(first: _Asked, second: _Asked, design: Design) -> Difference:
    import numpy as np

    from viva.reports.variance import Difference

    mine, other = _whole(first), _whole(second)
    shared = [question for question in mine if question in other]
    _refuse_few(len(shared), min(len(first.points), len(second.points)), f"{first.model} and {second.model}")
    samples = min(len(one[shared[0]][0]) for one in (mine, other))
    both = [
        np.array([[cell[:samples] for cell in one[question]] for question in shared], dtype=np.float64)
        for one in (mine, other)
    ]
    gain = both[0] - both[1]
    return Difference(
        first=first.model,
        second=second.model,
        components=_estimated(gain, design),
        cells=tuple(gain.mean(axis=(0, 2)).tolist()),
    )


def _estimated(values: Floats, design: Design) -> Components:
    from viva.analysis.components import estimate

    try:
        return estimate(values, design.cells, [factor.name for factor in design.factors])
    except ValueError as problem:
        raise DataError(f"a design of {design.words}: {problem}") from None


def _names(given: Iterable[str]) -> list[str]:
    return [one_line(name, 60) for name in dict.fromkeys(given)]


def _refuse_few(questions: int, asked: int, whose: str) -> None:
    """Raise DataError for too few questions of those that were asked."""
    if questions < _FEWEST:
        way = "ask more questions" if asked < _FEWEST else "`viva resume` asks what is missing"
        raise DataError(
            f"{one_line(whose, 80)}: {questions} of {asked:,} questions have an answer that counts in every cell; "
            f"components take {_FEWEST}: {way}"
        )


def _positions(record: ExamRecord, design: Design, asked: Sequence[_Asked]) -> Mapping[str, tuple[Position, ...]]:
    """Model → what it chooses at every letter, and how often the gold answer is there."""
    from viva.analysis.positions import positions

    exam = reopen(record)
    golds: dict[str, list[str]] = {}
    for question in exam.questions():
        if question.kind == "choice" and question.answer:
            golds[question.id] = [str(exam.variant(question, cell).answer) for cell in range(len(design.cells))]
    return {
        one.model: positions(
            [
                [(letter, golds[name][cell]) for cell, letter in read]
                for name, read in one.letters.items()
                if name in golds
            ]
        )
        for one in asked
    }
