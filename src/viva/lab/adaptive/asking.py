"""`viva adaptive run`: ask the least predictable questions, until the score on all is known precisely enough.

Questions are drawn in rounds, each by the answers to those before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Struct

from viva.analysis.items.weightedsampling import Draw
from viva.benchmarks.wrapper import Selected
from viva.commands import command
from viva.contracts import Exam
from viva.engine.folder import RunFolder, RunRecord
from viva.engine.stages import scores
from viva.errors import StorageError, VivaError, option
from viva.fields import note
from viva.files import write_whole
from viva.lab.adaptive.calibration import CALIBRATION, Calibration, plan_adaptive, read_calibration
from viva.runs.config import LimitOptions
from viva.runs.draws import DRAWS, Until, estimate, question_scores, read_draws
from viva.runs.execute import execute_run
from viva.runs.open import OpenRun, open_evidence
from viva.runs.session import Way

FIRST, LATER = 50, 20
"""Questions of the first round, and the fewest of any later one."""
GROWTH = 0.1
"""Each round adds this share of the questions asked: few rounds, and stopping is late by at most this share."""


def carry_out_rounds(opened: OpenRun, earlier: list[RunFolder]) -> int:
    """Ask missing questions, and grade the replies; `opened` has all asked questions at the end. Returns the exit
    code.
    """
    asking = _Adaptive(opened)
    try:
        return execute_run(opened, earlier, asking.more)
    finally:
        asking.ask(asking.drawn)


class _Adaptive:
    """The feed of an adaptive run: first the questions drawn before, then one round after another."""

    def __init__(self, opened: OpenRun) -> None:
        self._opened, (exam,) = opened, opened.exams
        self._exam = exam.inner if isinstance(exam, Selected) else exam
        until, self.drawn = read_draws(opened.folder)
        calibration = read_calibration(opened.folder.path, [draw.question for draw in self.drawn])
        self._rounds = Rounds(calibration, opened.folder.record.seed, until)
        self._scores: list[dict[str, float]] = [{} for _ in opened.models]
        if self.drawn:
            self.ask(self.drawn)
        else:
            self._draw()

    def ask(self, draws: Sequence[Draw]) -> None:
        """Have the run ask these questions."""
        exam = Selected(self._exam, [draw.question for draw in draws], DRAWS)
        self._opened.exams = [exam]
        for evaluation in self._opened.evaluations:
            evaluation.exam, evaluation.digests = exam, bytearray()

    def more(self) -> bool:
        """Have the run ask the questions of the next round, unless the answers to those so far are enough."""
        for known, new in zip(self._scores, _scores(self._opened), strict=True):
            known.update(new)
        if self._rounds.over(self.drawn, self._scores):
            return False
        self._draw()
        return True

    def _draw(self) -> None:
        new = self._rounds.next(self.drawn, self._scores)
        self.drawn = [*self.drawn, *new]
        _write(self._opened.folder.path, self.drawn)  # before anything is asked: a resumed run keeps its draws
        self.ask(new)


class Rounds:
    """Draws the rounds, and decides when to stop."""

    def __init__(self, calibration: Calibration, seed: int, until: Until) -> None:
        from viva.lab.items.curves import known_curves

        self._frame, self._seed, self._until = calibration.frame(), seed, until
        _, self._curves = known_curves(calibration.matrix(), self._frame.shares)

    def over(self, drawn: Sequence[Draw], scored: Sequence[Mapping[str, float]]) -> bool:
        """Return whether the stopping rule holds, or all questions were asked."""
        until = self._until
        if len(drawn) >= len(self._frame.questions) or (until.kind == "number" and len(drawn) >= until.value):
            return True
        if until.kind == "number":
            return False
        known = estimate(drawn, scored, len(scored) if len(scored) == 2 else 0, until)
        low, high = known.low or 0.0, known.high or 0.0
        if until.kind == "interval":
            return high - low < until.value
        line = until.value if until.kind == "score" else 0.0
        return not low <= line <= high

    def next(self, drawn: Sequence[Draw], scored: Sequence[Mapping[str, float]]) -> list[Draw]:
        """Return the next round."""
        import numpy as np

        from viva.lab.adaptive.drawing import Target, draws
        from viva.lab.items.curves import predict_scores

        places, targets = self._frame.places(drawn), []
        for mine in scored:
            values = np.array([mine.get(draw.question, math.nan) for draw in drawn], dtype=float)
            there = np.isfinite(values)
            expected = predict_scores(self._curves, places[there], values[there])
            targets.append(Target(predicted=expected, variance=expected * (1 - expected)))
        if len(targets) == 2:
            a, b = targets
            targets.append(Target(predicted=a.predicted - b.predicted, variance=a.variance + b.variance, lowest=-1.0))
        count = max(LATER, math.ceil(GROWTH * len(drawn))) if drawn else FIRST
        if self._until.kind == "number":
            count = min(count, int(self._until.value) - len(drawn))
        return draws(self._frame, targets, drawn, count, self._seed)


def _scores(opened: OpenRun) -> list[Mapping[str, float]]:
    """Return question → score, for each model, of the questions of this round."""
    from viva.analysis.breakdown import frame

    with ExitStack() as stack:
        answers = opened.folder.journal("responses", write=False)
        stack.callback(answers.close)
        evidence_store = open_evidence(opened, stack)
        return [
            question_scores(frame(scores(evaluation, answers, evidence_store)), evaluation.exam.headline())
            for evaluation in opened.evaluations
        ]


def _write(path: Path, draws: Sequence[Draw]) -> None:
    """Write the draws atomically. Raises StorageError if that fails."""
    try:
        write_whole(path / DRAWS, msgspec.json.Encoder().encode_lines(draws), sync=True)
    except OSError as problem:
        raise StorageError(f"cannot write {path / DRAWS}: {problem.strerror}") from None


class AdaptiveConfig(Struct, kw_only=True):
    """Ask, in rounds, the questions that other models' scores predict least, and estimate the score on all questions of
    the exam, with an interval that does not rest on the prediction.

    \b
    viva adaptive run cmmlu --data DIR --calibration runs/ --until 2000 --model openai/NAME
    viva adaptive run mmlu-pro --data DIR --calibration scores.csv.gz --until 'interval<2' --model openai/NAME
    viva resume runs/NAME                                 goes on with its rounds
    """

    calibration: Annotated[
        Path | None,
        note(
            "Scores of other models on the exam's questions: a run, a folder of runs, a table of item scores.",
            metavar="RUN|TABLE",
        ),
    ] = None
    until: Annotated[
        str | None,
        note(
            "When to stop: at a number of questions, at interval<2 (points from end to end), at score>60 or, of two "
            "models, a>b (known which way).",
            metavar="N|interval<W|score>X|a>b",
        ),
    ] = None


@command(AdaptiveConfig, "way")
def adaptive(config: AdaptiveConfig) -> Way:
    """Estimate a score on all questions from those that tell most about it."""
    return Adaptive(config)


class Adaptive(Way):
    """The way of asking in rounds, each drawn by the answers to those before."""

    def __init__(self, config: AdaptiveConfig) -> None:
        self._config = config

    def plan(
        self, record: RunRecord, exams: Sequence[Exam], limits: LimitOptions
    ) -> tuple[RunRecord, Mapping[str, bytes]]:
        """Add the stopping rule to the record, and the other models' scores to the run's files."""
        source, until = self._config.calibration, self._config.until
        if source is None:
            raise VivaError(
                f"an adaptive run needs {option('calibration', 'RUN|TABLE')}: other models' scores on the questions"
            )
        if until is None:
            raise VivaError(
                f"an adaptive run needs {option('until')}: a number of questions, interval<2, score>60 or a>b"
            )
        known, content = plan_adaptive(source, until, record, exams, limits)
        return msgspec.structs.replace(record, adaptive=known), {CALIBRATION: content}

    def carry_out(self, opened: OpenRun, earlier: list[RunFolder]) -> int:
        """Run the rounds and return the exit code."""
        return carry_out_rounds(opened, earlier)
