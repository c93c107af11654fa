"""Carry out a run: all at once; an adaptive one in rounds, each drawn by what the rounds before brought."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from viva.analysis.draw import Draw
from viva.engine.budget import Budget
from viva.engine.folder import RunFolder
from viva.engine.stages import scores
from viva.errors import EXIT_OK
from viva.models.called import PROVIDER
from viva.runs.adaptive import Calibration, read_calibration
from viva.runs.answer_files import keep
from viva.runs.draws import Until, estimate, question_scores, read_draws, write_draws
from viva.runs.execute import execute_run
from viva.runs.open import OpenRun, open_encoder_of, open_evidence, prepare

FIRST, LATER = 50, 20
"""Questions of the first round, and of any other at least."""
GROWTH = 0.1
"""Each round adds this share of what was asked: few rounds, and stopping is at most so much too late."""


def carry_out_run(opened: OpenRun, earlier: list[RunFolder]) -> int:
    """Ask what is missing, and grade what comes; `opened` has all that was asked at the end. Returns the exit code."""
    if opened.folder.record.adaptive is None:
        return execute_run(opened, earlier)
    folder = opened.folder
    keep(folder.path, opened.kept)
    until, drawn = read_draws(folder)
    calibration = read_calibration(folder.path, [draw.question for draw in drawn])
    rounds = Rounds(calibration, folder.record.seed, until)
    budget = Budget(opened.limits.max_requests, opened.limits.max_cost)
    found: list[Mapping[str, float]] = [{} for _ in opened.models]
    while True:
        if drawn:
            _open_drawn(opened)
            code = execute_run(opened, earlier, budget)
            found = _scores(opened)
            if code != EXIT_OK or rounds.over(drawn, found):
                return code
        drawn = [*drawn, *rounds.next(drawn, found)]
        write_draws(folder.path, drawn)  # before anything is asked: what was drawn stays drawn


class Rounds:
    """What is drawn next, and whether anything is."""

    def __init__(self, calibration: Calibration, seed: int, until: Until) -> None:
        from viva.analysis.anchors import known_curves

        self._frame, self._seed, self._until = calibration.frame(), seed, until
        _, self._curves = known_curves(calibration.matrix(), self._frame.shares)

    def over(self, drawn: Sequence[Draw], found: Sequence[Mapping[str, float]]) -> bool:
        """Whether the rule says to stop, or everything was asked."""
        until = self._until
        if len(drawn) >= len(self._frame.questions) or (until.kind == "number" and len(drawn) >= until.value):
            return True
        if until.kind == "number":
            return False
        known = estimate(drawn, found, len(found) if len(found) == 2 else 0, until)
        if until.kind == "interval":
            return known.high - known.low < until.value
        line = until.value if until.kind == "score" else 0.0
        return not known.low <= line <= known.high

    def next(self, drawn: Sequence[Draw], found: Sequence[Mapping[str, float]]) -> list[Draw]:
        """The next round."""
        import numpy as np

        from viva.analysis.itemprediction import predict_scores
        from viva.analysis.weightedsampling import Target, draws

        places, targets = self._frame.places(drawn), []
        for mine in found:
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


def _open_drawn(opened: OpenRun) -> None:
    """Open the run for the questions drawn so far. Models are connected again, but for a program's own functions."""
    record, encoded = opened.folder.record, opened.encoder is not None
    own = {
        known.name: model
        for known, model in zip(record.models, opened.models, strict=True)
        if known.name.startswith(PROVIDER)
    }
    part = prepare(opened.folder, opened.limits, own=own, asking=True)
    if encoded:
        open_encoder_of(part, new=False)
    opened.exams, opened.evaluations = part.exams, part.evaluations
    opened.judge_panel, opened.encoder = part.judge_panel, part.encoder


def _scores(opened: OpenRun) -> list[Mapping[str, float]]:
    """Question → score, for each model."""
    from viva.analysis.breakdown import frame

    with ExitStack() as stack:
        answers = opened.folder.journal("responses", write=False)
        stack.callback(answers.close)
        evidence_store = open_evidence(opened, stack)
        return [
            question_scores(frame(scores(evaluation, answers, evidence_store)), evaluation.exam.headline())
            for evaluation in opened.evaluations
        ]
