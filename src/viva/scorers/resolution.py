"""The decision on one aspect of an answer: expert beats judge beats similarity (CLR-Bench, *Grading*).

Verdicts of several judges, or of several samples of one, are combined by the exam's rule. Experts have equal weight.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct

from viva.scorers.verdict import reasons
from viva.types import Decider, Mark, Opinion, ReviewItem

Panel = Literal["mean", "median", "majority"]
ALIKE: Final = 0.90
"""Similarity from which a text counts as equal to its reference (CLR-Bench)."""


class Decision(Struct, frozen=True, kw_only=True):
    """The value of one aspect: a share of the full mark, or None with the reason in `why`."""

    value: float | None
    by: Decider | None = None
    why: str = ""
    verdicts: tuple[float, ...] = ()
    """All marks of judges, in the order of judges and samples."""


def marks_by_judge(
    opinions: Iterable[Opinion], aspect: str, read: Callable[[Opinion], float | None]
) -> dict[str, tuple[float, ...]]:
    """Return judge → its marks for one aspect, without replies that have none."""
    marks: dict[str, tuple[float, ...]] = {}
    for opinion in opinions:
        if opinion.aspect == aspect and (mark := read(opinion)) is not None:
            marks[opinion.judge] = (*marks.get(opinion.judge, ()), mark)
    return marks


def decide(
    aspect: str,
    *,
    marks: Iterable[Mark] = (),
    opinions: Mapping[str, Sequence[float]] | None = None,
    replies: int = 0,
    failed: int = 0,
    panel: Panel = "mean",
    similarity: float | None = None,
) -> Decision:
    """Settle one aspect. `opinions` are each judge's marks, `replies` is the number of their replies, `failed`
    how often a judge was asked and gave no verdict."""
    verdicts = tuple(mark for given in (opinions or {}).values() for mark in given)
    experts = [mark for mark in marks if mark.aspect == aspect]
    if experts:
        value = statistics.fmean(mark.value for mark in experts)
        who = ", ".join(f"{mark.reviewer} {mark.value:g}" for mark in experts)
        return Decision(value=value, by="expert", why=f"expert: {who}", verdicts=verdicts)
    if verdicts:
        agreed = settle(opinions or {}, panel)
        why = f"{panel} of {len(verdicts)} verdicts" if len(verdicts) > 1 else "judge"
        why = f"no {why}" if agreed is None else why
        return Decision(value=agreed, by=None if agreed is None else "judge", why=why, verdicts=verdicts)
    if similarity is not None and similarity >= ALIKE:
        return Decision(value=1.0, by="similarity", why=f"similarity {similarity:.4f} to the gold")
    far = "" if similarity is None else f"similarity {similarity:.4f} is below {ALIKE:g}, and "
    asked = "the judge was asked and gave no verdict" if failed else "no judge was asked"
    return Decision(value=None, why=far + ("no judge came to a decision" if replies else asked))


def settle(opinions: Mapping[str, Sequence[float]], panel: Panel) -> float | None:
    """Combine a panel's verdicts; None without any, or without a majority.

    The mean gives every judge the same weight, however often it was asked; median and majority count every verdict.
    """
    given = {judge: marks for judge, marks in opinions.items() if marks}
    if not given:
        return None
    if panel == "mean":
        return statistics.fmean(statistics.fmean(marks) for marks in given.values())
    pooled = [mark for marks in given.values() for mark in marks]
    if panel == "median":
        return statistics.median(pooled)
    ranked = Counter(pooled).most_common(2)
    return None if len(ranked) > 1 and ranked[0][1] == ranked[1][1] else ranked[0][0]


def review_item(
    aspect: str,
    decision: Decision,
    given: Iterable[Opinion],
    opinions: Mapping[str, Sequence[float]],
    *,
    text: str,
    gold: str,
    scale: tuple[float, ...],
) -> ReviewItem:
    """Return one aspect for an expert's review: the decision without experts, and the judges' replies."""
    replies = [f"{opinion.judge}: {reasons(opinion)}" for opinion in given if opinion.aspect == aspect]
    return ReviewItem(
        aspect=aspect,
        text=text,
        gold=gold,
        value=decision.value,
        scale=scale,
        decided=decision.by,
        reasons="\n\n".join([decision.why, *replies] if decision.why else replies),
        opinions={judge: statistics.fmean(marks) for judge, marks in opinions.items() if marks},
    )


def spread(verdicts: Sequence[float]) -> float:
    """Return the range of verdicts; 0 for fewer than two."""
    return max(verdicts) - min(verdicts) if len(verdicts) > 1 else 0.0
