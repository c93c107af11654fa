"""Calibration of an adaptive run: other models' scores on its questions, stored in the run as calibration.json."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from viva.contracts import Exam
from viva.engine.folder import AdaptiveRecord, ExamRecord, RunRecord
from viva.errors import DataError, StorageError, VivaError, flag, option
from viva.files import UNREADABLE, read_regular
from viva.runs.config import LimitOptions
from viva.runs.draws import question_scores, read_until
from viva.runs.progress import notify
from viva.studies.item_scores import EXAM, existing, is_called, score_sets
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.lab.adaptive.drawing import Frame
    from viva.lab.items.curves import Floats

CALIBRATION = "calibration.json"
FEWEST = 2
"""The fewest models for separating easy questions from hard ones."""


class Calibration(Struct, kw_only=True):
    """The content of calibration.json."""

    models: list[str]
    questions: list[str]
    shares: list[float]
    """The questions' shares of the full score."""
    scores: list[list[float | None]]
    """A row a model."""

    def matrix(self) -> Floats:
        """Return the scores, models × questions, shares of 1; nan where there is no score."""
        import numpy as np

        return np.array(self.scores, dtype=float)

    def frame(self) -> Frame:
        """Return the questions."""
        import numpy as np

        from viva.lab.adaptive.drawing import Frame

        return Frame(questions=tuple(self.questions), shares=np.array(self.shares))


def plan_adaptive(
    source: Path, until: str, record: RunRecord, exams: Sequence[Exam], limits: LimitOptions
) -> tuple[AdaptiveRecord, bytes]:
    """Return an adaptive run's part of run.json, and its calibration.json.

    `record`: run.json so far. Raises VivaError for a run that cannot be adaptive.
    """
    rule, models = read_until(until), [model.name for model in record.models]
    wanted = 2 if rule.kind == "difference" else 1
    if len(exams) != 1 or len(models) != wanted:
        more = (
            f"name another with {option('model')}"
            if len(exams) == 1 and len(models) < wanted
            else "begin a run for each"
        )
        raise VivaError(
            f"{until!r} asks {wanted} model{'s' * (wanted > 1)} the questions of one exam; "
            f"here are {len(models)} model{'s' * (len(models) != 1)} and {len(exams)} exam{'s' * (len(exams) != 1)}: "
            f"{more}",
            field="until",
        )
    (exam,) = exams
    _refuse(exam, record.exams[0], record, limits)
    calibration = _calibration(source, exam, models)
    if rule.kind == "number" and rule.value > len(calibration.questions):
        raise VivaError(
            f"{until}: {exam.spec.label} has {len(calibration.questions):,} questions to ask", field="until"
        )
    _warn(calibration)
    known = AdaptiveRecord(until=until, questions=len(calibration.questions), known=len(calibration.models))
    return known, msgspec.json.encode(calibration)


def _refuse(exam: Exam, record: ExamRecord, asked: RunRecord, limits: LimitOptions) -> None:
    spec, headline = exam.spec, exam.headline()
    own = {"limit": spec.limit, "questions": spec.questions, "shard": spec.shard, "shuffle": spec.shuffle}
    for called, given in own.items():
        if given:
            raise VivaError(f"an adaptive run chooses the questions itself: leave {option(called)} out")
    samples = record.samples or asked.samples
    if samples * asked.repeats > 1:
        more = f"say {option('samples', '1')}" if samples > 1 else f"leave {option('repeats')} out"
        raise VivaError(
            f"an adaptive run asks each question once, and here it would be {samples * asked.repeats:,} times: {more}"
        )
    if limits.batch:
        raise VivaError(
            f"an adaptive run asks in rounds, and a batch may take a day for each: leave {option('batch')} out"
        )
    if headline.given or headline.where or headline.kind != "score":
        raise VivaError(f"an adaptive run estimates a mean over all questions, and the score of {spec.label} is none")


def _calibration(source: Path, exam: Exam, asked: Sequence[str]) -> Calibration:
    """Return the known models' scores on the exam's questions. Raises DataError where there are too few."""
    from viva.analysis.items.itemscores import shares_of

    unsound = {defect.question for defect in exam.defects if defect.action == "unsound"}
    sound = {question.id: question for question in exam.questions() if question.id not in unsound}
    headline = exam.headline()
    groups = [(drawn.tags.get(headline.over, ""), float(drawn.weight)) for drawn in sound.values()]
    names = {name.partition("@")[0] for name in asked}
    others: dict[str, dict[str, float]] = {}
    for scored in score_sets(existing([str(source)], ()), EXAM):
        scores = {name: score for name, score in question_scores(scored.scores, headline).items() if name in sound}
        if is_called(scored.model, names):
            notify(
                f"{flag('calibration')}: {one_line(scored.model, 60)} is asked, so its scores in {source} are left out"
            )
        elif scores:
            others[f"{scored.model} ({scored.source.name})" if scored.model in others else scored.model] = scores
    if len(others) < FEWEST:
        raise DataError(
            f"{source}: other models with scores on questions of {exam.spec.label}: {len(others)}, and it "
            f"takes {FEWEST}: name a folder of runs, or a table of item scores (question, sample, model, score) whose "
            f"questions are called as in the exam ({one_line(next(iter(sound), ''), 40)})",
            field="calibration",
        )
    unknown = sum(not any(name in scores for scores in others.values()) for name in sound)
    if unknown:
        notify(
            f"{flag('calibration')}: {unknown:,} of {len(sound):,} questions have no score in {source}; they "
            "count as average"
        )
    return Calibration(
        models=list(others),
        questions=list(sound),
        shares=shares_of(groups, headline.over).tolist(),
        scores=[[scores.get(name) for name in sound] for scores in others.values()],
    )


def _warn(calibration: Calibration) -> None:
    """Report if one ability does not explain the known models' answers."""
    from viva.lab.items.curves import dimensions

    axes = dimensions(calibration.matrix(), calibration.frame().shares)
    if axes is not None and axes.several:
        notify(
            f"{flag('calibration')}: the known models differ in more than one ability (largest eigenvalue of "
            "residuals "
            f"{axes.largest:.2f}, {axes.expected:.2f} if it were one): the estimate stays "
            "right, and may take more questions"
        )


def read_calibration(path: Path, drawn: Sequence[str]) -> Calibration:
    """Read the calibration of a run folder, which has the questions `drawn`. Raises StorageError if missing or
    damaged.
    """
    try:
        calibration = msgspec.json.decode(read_regular(path / CALIBRATION), type=Calibration)
    except OSError as problem:
        raise StorageError(f"cannot read {path / CALIBRATION}: {problem.strerror}") from None
    except UNREADABLE as problem:
        raise StorageError(f"{path / CALIBRATION} is damaged: {problem}") from None
    size = len(calibration.questions)
    if (
        len(set(calibration.questions)) < size
        or len(calibration.shares) != size
        or not calibration.scores
        or any(len(row) != size for row in calibration.scores)
        or not set(drawn) <= set(calibration.questions)
        or not all(share > 0 for share in calibration.shares)
        or abs(math.fsum(calibration.shares) - 1) > 1e-6
    ):
        raise StorageError(f"{path / CALIBRATION} is damaged: its rows are not of its questions")
    return calibration
