"""Questions that an adaptive run drew (draws.jsonl), and estimates of full scores from their answers.

draws.jsonl has a line a question in the order drawn, written before it is asked: the probability of the draw, and all
other inputs of the estimate besides the answers (`analysis.weightedsampling`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct

from viva.analysis.items.weightedsampling import Draw
from viva.engine.folder import RunFolder
from viva.errors import StorageError, VivaError
from viva.files import UNREADABLE, read_regular
from viva.types import Aggregate
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.analysis.columns import Columns
    from viva.analysis.estimate import Estimate

DRAWS = "draws.jsonl"
HALVES = (0.16, 0.08, 0.04, 0.02, 0.01)
"""Half widths that bets aim at when a run waits for a decision: the width that decides is not known in advance."""
_UNTIL = re.compile(r"(?P<name>[a-z]*)\s*(?P<sign>[<>]?)\s*(?P<value>[0-9]+(?:\.[0-9]+)?|b)")


class Until(Struct, frozen=True):
    """When an adaptive run stops: after a number of questions, at a width of the interval, or once it is decided on
    which side of a line the score is, or which of two models is better. `value`: in questions, or a share of 1."""

    kind: Literal["number", "interval", "score", "difference"]
    value: float = 0.0

    @property
    def halves(self) -> tuple[float, ...]:
        """Half widths that the interval's bets aim at; none where the interval need hold at one time only."""
        return {"number": (), "interval": (self.value / 2,)}.get(self.kind, HALVES)


def read_until(text: str) -> Until:
    """Parse `500`, `interval<2`, `score>60` or `a>b`. Raises VivaError for anything else."""
    match = _UNTIL.fullmatch(text.strip().lower())
    name, sign, value = match.group("name", "sign", "value") if match else ("", "?", "")
    if (name, sign) == ("", "") and value.isdecimal() and int(value) >= 2:
        return Until("number", int(value))
    if (name, sign) == ("interval", "<") and value != "b" and 0 < float(value) < 100:
        return Until("interval", float(value) / 100)
    if name == "score" and sign in ("<", ">") and value != "b" and 0 < float(value) < 100:
        return Until("score", float(value) / 100)
    if (name, value) == ("a", "b") and sign in ("<", ">"):
        return Until("difference")
    raise VivaError(
        f"{one_line(text, 40)!r}: write a number of questions from 2 on, interval<2 (points from end to end of "
        "the 95 % interval), score>60 (it is known on which side of 60 % the score lies) or a>b (it is known which of "
        "two models is better)",
        field="until",
    )


def read_draws(folder: RunFolder) -> tuple[Until, list[Draw]]:
    """Return when an adaptive run stops, and its draws so far. Raises StorageError for a damaged folder."""
    path, record = folder.path, folder.record
    until = read_until(record.adaptive.until if record.adaptive else "")
    wanted = 2 if until.kind == "difference" else 1
    if len(record.exams) != 1 or len(record.models) != wanted:
        raise StorageError(f"{path / 'run.json'} is damaged: an adaptive run has one exam, and {wanted} of models")
    terms = wanted + (wanted > 1)
    decode = msgspec.json.Decoder(Draw).decode
    try:
        draws = [decode(line) for line in read_regular(path / DRAWS).splitlines()]
    except FileNotFoundError:
        return until, []
    except OSError as problem:
        raise StorageError(f"cannot read {path / DRAWS}: {problem.strerror}") from None
    except UNREADABLE as problem:
        raise StorageError(f"{path / DRAWS} is damaged: {problem}") from None
    if len({draw.question for draw in draws}) < len(draws) or any(len(draw.terms) != terms for draw in draws):
        raise StorageError(f"{path / DRAWS} is damaged: a question is drawn twice, or predictions are missing")
    return until, draws


def question_scores(scores: Columns, headline: Aggregate) -> dict[str, float]:
    """Return question → its score as the headline counts it, from one model's scores; unscored ones are left out."""
    from viva.analysis.items.itemscores import item_scores

    scored = item_scores("", {"": scores}, headline)
    return dict(zip(scored.questions, scored.scores[0].tolist(), strict=True)) if scored.questions else {}


def estimate(draws: Sequence[Draw], scores: Sequence[Mapping[str, float]], target: int, until: Until) -> Estimate:
    """Estimate the mean over all questions from the `scores` of one model, or the difference of two models.

    The interval holds for any score of drawn questions without one.
    """
    import numpy as np

    from viva.analysis.items.weightedsampling import Answers, anytime, fixed

    lowest = -1.0 if len(scores) == 2 else 0.0
    columns = [np.array([mine.get(draw.question, math.nan) for draw in draws]) for mine in scores]
    values = columns[0] - columns[1] if len(columns) == 2 else columns[0]
    missing = ~np.isfinite(values)

    def of(replacement: float | Sequence[float]) -> Estimate:
        filled = np.where(missing, np.asarray(replacement), values)
        answers = Answers(draws=draws, values=filled, target=target, lowest=lowest)
        return anytime(answers, until.halves) if until.halves else fixed(answers, int(until.value))

    if not missing.any():
        return of(0.0)
    middle, least, most = of([draw.terms[target].predicted for draw in draws]), of(lowest), of(1.0)
    return msgspec.structs.replace(middle, low=least.low, high=most.high, floor=least.floor, ceiling=most.ceiling)


def estimated_cell(
    cell: Estimate, draws: Sequence[Draw], scores: Mapping[str, float], target: int, until: Until
) -> Estimate:
    """Return a model's score: the cell of the drawn questions, with the estimate for all questions as its mean."""
    if not any(draw.question in scores for draw in draws):
        return cell  # a prediction without answers is no score
    estimated = estimate(draws, [scores], target, until)
    numbers = {name: getattr(estimated, name) for name in ("mean", "low", "high", "floor", "ceiling")}
    return msgspec.structs.replace(cell, **numbers, lacks=(), groups=0, scored_groups=0)
