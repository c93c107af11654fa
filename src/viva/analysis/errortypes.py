"""Frequency of each type of error among wrong answers, with intervals over questions.

Several types may apply to one answer, so that shares can add up to more than 1. A share is of the labelled answers;
answers that no judge labelled are counted, but are in no share.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from viva.analysis.estimate import mean_of
from viva.analysis.tilting import numbered

Vote = tuple[str, ...] | None
"""One judge's labels for an answer: () where no type applies, None for no readable reply."""


class Typed(Struct, frozen=True, kw_only=True):
    """One wrong answer with the labels that the judges agree on."""

    model: str
    question: str
    group: str
    """The kind of question that the types belong to: Knowledge, Reasoning."""
    tags: Mapping[str, str]
    labels: Vote


class Share(Struct, frozen=True, kw_only=True):
    """One type among the labelled answers: how many show it, and the share, of 1."""

    type: str
    count: int
    share: float | None
    low: float | None = None
    high: float | None = None


class Errors(Struct, frozen=True, kw_only=True):
    """The wrong answers of one model to one kind of question (and, where `value` says so, of one value of a tag)."""

    exam: str
    model: str
    group: str
    value: str
    """The tag's value; "" for all."""
    wrong: int
    labelled: int
    fitting: int
    """Labelled answers that show at least one of the types."""
    shares: tuple[Share, ...]

    @property
    def unlabelled(self) -> int:
        """Answers that no judge labelled, or about which the judges disagree."""
        return self.wrong - self.labelled


def agreed(votes: Sequence[Vote]) -> Vote:
    """Return the labels that several judges agree on: the types that more than half of the readable votes name.

    () where more than half name none of the types; None where nothing has a majority, or nothing can be read.
    """
    readable = [vote for vote in votes if vote is not None]
    names = dict.fromkeys(name for vote in readable for name in vote)
    labels = tuple(sorted(name for name in names if 2 * sum(name in vote for vote in readable) > len(readable)))
    if labels or 2 * sum(not vote for vote in readable) > len(readable):
        return labels
    return None


def counted(exam: str, answers: Sequence[Typed], groups: Mapping[str, Sequence[str]], by: str = "") -> list[Errors]:
    """Return the errors of every model and kind of question; by the values of a tag, where `by` names one.

    `groups`: kind of question → its types.
    """
    tables: list[Errors] = []
    for model in dict.fromkeys(answer.model for answer in answers):
        for group, types in groups.items():
            mine = [answer for answer in answers if answer.model == model and answer.group == group]
            values = dict.fromkeys(row.tags.get(by, "") for row in mine) if by else {"": None}
            for value in values:
                some = [row for row in mine if not by or row.tags.get(by, "") == value]
                if some:
                    tables.append(_errors(exam, model, group, value, some, types))
    return tables


def _errors(exam: str, model: str, group: str, value: str, wrong: Sequence[Typed], types: Sequence[str]) -> Errors:
    known = [row.labels for row in wrong if row.labels is not None]
    questions = numbered([row.question for row in wrong if row.labels is not None], 0)
    return Errors(
        exam=exam,
        model=model,
        group=group,
        value=value,
        wrong=len(wrong),
        labelled=len(known),
        fitting=sum(map(bool, known)),
        shares=tuple(_share(name, [name in labels for labels in known], questions) for name in types),
    )


def _share(name: str, has: Sequence[bool], questions: Sequence[int]) -> Share:
    if not has:
        return Share(type=name, count=0, share=None)
    low, high = mean_of(np.array(has), np.array(questions)).interval() or (None, None)
    return Share(type=name, count=sum(has), share=statistics.fmean(has), low=low, high=high)
