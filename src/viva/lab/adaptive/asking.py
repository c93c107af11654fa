"""`viva adaptive run`: ask what other models' scores predict least, until enough is known of the score on all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Struct

from viva.commands import command
from viva.contracts import Exam
from viva.engine.folder import RunFolder, RunRecord
from viva.errors import VivaError, option
from viva.fields import note
from viva.lab.adaptive.calibration import CALIBRATION, plan_adaptive
from viva.lab.adaptive.rounds import carry_out_rounds
from viva.runs.config import LimitOptions
from viva.runs.open import OpenRun
from viva.runs.session import Way


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
    """Rounds of questions, each drawn by what the rounds before brought."""

    def __init__(self, config: AdaptiveConfig) -> None:
        self._config = config

    def plan(
        self, record: RunRecord, exams: Sequence[Exam], limits: LimitOptions
    ) -> tuple[RunRecord, Mapping[str, bytes]]:
        """With the rule by which it stops; the other models' scores are kept."""
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
        """Round by round."""
        return carry_out_rounds(opened, earlier)
