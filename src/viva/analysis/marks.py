"""What each answer counts for: its points, its bounds, and who could decide it; breakdown.py says how cells count."""

from __future__ import annotations

import numpy as np

from viva.analysis.columns import Columns, Numbers, Text
from viva.types import OUTCOMES, RATIONALE, SCORED, UNANSWERED


def given_full(scores: Columns, given: str, part: str) -> Columns:
    """The answers with full marks in a part, and those that may have them: unanswered, whatever else is known."""
    if not given:
        return scores
    mark = scores.number(f"part:{given}")
    full = mark >= 1.0
    kept = full | (np.isnan(mark) & scores.among("outcome", UNANSWERED))
    counted = {f"part:{part}": np.where(full, scores.number(f"part:{part}"), np.nan)}
    return scores.replace(**counted).take(kept)


def marked(scores: Columns, part: str = "", aspects: tuple[str, ...] = ()) -> Columns:
    """Every answer with what it counts for: the part of its score, where it has such a part, else its value."""
    apart = scores.number(f"part:{part}")
    known = ~np.isnan(apart)
    unanswered = scores.among("outcome", UNANSWERED) & ~known
    points = np.where(unanswered, 0.0, np.nan_to_num(np.where(known, apart, scores.numbers["value"])))
    unscored = ~scores.among("outcome", SCORED) & ~known
    graded = known & scores.among("outcome", UNANSWERED | SCORED)
    outcome = np.where(graded, graded_as(apart), scores.texts["outcome"].codes)
    deciding = aspects or tuple(name.removeprefix("by:") for name in scores.texts if name.startswith("by:"))
    similar = (scores.among(f"by:{aspect}", {"similarity"}) for aspect in deciding)
    alike = np.logical_or.reduce([np.zeros(scores.height, dtype=bool), *similar]) & ~unanswered
    # No rationale: it is wrong.
    absent = scores.among(f"by:{RATIONALE}", {"rule"}) & (RATIONALE in deciding)
    waiting = unanswered & scores.among("outcome", {"ungraded"})
    worst, best = (np.where(unanswered, scores.number(f"{end}:{part}"), np.nan) for end in ("least", "most"))
    counts = {
        "answered": ~unanswered,
        "replies": ~unanswered,
        "gated": waiting & alike.any(),
        "settled": ~unscored & ~alike & ~absent,
        "waiting": waiting,
    }
    found = scores.replace(
        points=points,
        floor=np.where(unanswered, np.nan_to_num(worst), points),
        ceiling=np.where(unanswered, np.nan_to_num(best, nan=1.0), points),
        **{name: values.astype(np.int32) for name, values in counts.items()},
    )
    return Columns(found.numbers, {**scores.texts, "outcome": Text(OUTCOMES, outcome.astype(np.int32))})


def graded_as(points: Numbers) -> Numbers:
    """The places in OUTCOMES of right, partly and wrong, by what answers are worth."""
    right, partly, wrong = (OUTCOMES.index(outcome) for outcome in ("right", "partly", "wrong"))
    return np.where(points >= 1.0, right, np.where(points > 0.0, partly, wrong))
