"""Pilot runs: find a project's bad questions by models' answers.

A question is suspicious if nobody passes, everybody passes, or the better models fail. Passing is full marks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from viva.visible import plural

if TYPE_CHECKING:
    from viva.build.stackexchange.project import Project


LONGEST = 2_000
"""Characters of an answer that are kept."""


class Reply(Struct, frozen=True):
    """An answer with its score (None: unscored) and the explanation of it."""

    model: str
    score: float | None
    text: str = ""
    why: str = ""


class Answers(Struct):
    """Answers of pilot models to one question.

    `discrimination` is the correlation of the models' scores on it with those on all other questions, None for
    fewer than three models; `surely` whether it is below 0 even when corrected for the number of questions.
    """

    replies: list[Reply] = field(default_factory=list)
    discrimination: float | None = None
    surely: bool = False

    @property
    def models(self) -> set[str]:
        """The models that were asked."""
        return {reply.model for reply in self.replies}

    def graded(self, model: str = "") -> list[float]:
        """Return all scores, or those of a model, without unscored answers."""
        return [reply.score for reply in self.replies if reply.score is not None and model in ("", reply.model)]

    def shown(self, keep: int, *, best: bool) -> list[Reply]:
        """Return the best or worst `keep` answers; among equal scores, of as many models as possible."""
        seen: Counter[tuple[str, float]] = Counter()
        ranked: list[tuple[float, int, int, Reply]] = []
        for place, reply in enumerate(self.replies):
            if reply.score is not None:
                ranked.append((-reply.score if best else reply.score, seen[reply.model, reply.score], place, reply))
                seen[reply.model, reply.score] += 1
        return [reply for *_, reply in sorted(ranked)[:keep]]


def named_runs(runs: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Yield each run once, with a label that distinguishes its models from those of other runs."""
    from viva.runs.scorefile import find_run

    places = list(dict.fromkeys(find_run(run).resolve() for run in runs))
    for place in places:
        yield place, place.name if len(places) > 1 else ""


def gather_answers(project: Project, path: Path, label: str, known: set[str], answers: dict[str, Answers]) -> set[str]:
    """Add a run's answers to `answers`; returns the questions whose text has changed since the set was exported."""
    from viva.engine.folder import RunFolder
    from viva.runs.answers import answered
    from viva.runs.open import prepare
    from viva.types import UNANSWERED

    opened = prepare(RunFolder.open(path))
    evaluated = Counter(evaluation.model.name for evaluation in opened.evaluations)
    for answer in answered(opened):
        row = answer.row
        if row.question in known:
            model = f"{row.model} ({label})" if label and evaluated[row.model] < 2 else row.model
            value = None if row.outcome in UNANSWERED else row.value or 0.0
            reply = Reply(model, value, answer.response.text[:LONGEST], row.explanation)
            answers.setdefault(row.question, Answers()).replies.append(reply)
    return _changed(project, {exam.fingerprint for exam in opened.exams})


def _changed(project: Project, fingerprints: set[str]) -> set[str]:
    from viva.build.stackexchange.project import key_of

    texts: dict[str, str] = {}
    for export in project.exports():
        if export.fingerprint in fingerprints:
            texts |= export.texts
    now = {state.id: key_of(state) for state in project.states() if state.id in texts}
    return {question for question, digits in texts.items() if now.get(question) != digits}


def models_of(answers: Mapping[str, Answers]) -> list[str]:
    """Return the names of all models, sorted."""
    return sorted(set().union(*(each.models for each in answers.values())))


def discriminate(answers: Mapping[str, Answers]) -> None:
    """Fill in the discrimination of questions, if there are enough models."""
    import numpy as np

    from viva.analysis.items.itemstatistics import FEWEST, item_statistics

    models = models_of(answers)
    graded = [[each.graded(model) for each in answers.values()] for model in models]
    matrix = np.array([[sum(some) / len(some) if some else np.nan for some in row] for row in graded])
    there = np.isfinite(matrix).any(axis=0)
    if len(models) < FEWEST or there.sum() < 2:
        return
    statistics = item_statistics(matrix[:, there])
    tried = (each for each, some in zip(answers.values(), there, strict=True) if some)
    for each, value, surely in zip(tried, statistics.discrimination, statistics.surely_negative, strict=True):
        each.discrimination = float(value) if np.isfinite(value) else None
        each.surely = bool(surely)


Kind = Literal["nobody", "everybody", "unscored", "against the rest"]
KINDS: dict[Kind, str] = {
    "nobody": "no answer passes: too hard, or the criteria refuse right answers",
    "everybody": "every answer passes: too easy, or the criteria take anything",
    "unscored": "answers that could not be graded: no toolchain, or a pattern without end",
    "against the rest": "better models do worse: often a wrong criterion",
}
FULL = 1.0 - 1e-9


class Finding(Struct, frozen=True, kw_only=True):
    """A suspicious question and why; `show`: whether to look at its best or its worst answers."""

    question: str
    kind: Kind
    said: str
    show: Literal["best", "worst"]
    chance: bool = False
    """Whether it may be chance, since a correlation over few models is noisy."""


def findings(tried: Mapping[str, Answers]) -> list[Finding]:
    """Return the findings in the order of questions, those that may be chance last."""
    told = [finding for question, each in tried.items() for finding in _findings(question, each)]
    return sorted(told, key=lambda finding: finding.chance)


def _findings(question: str, answers: Answers) -> list[Finding]:
    told_findings: list[Finding] = []
    told = partial(Finding, question=question)
    graded, total = answers.graded(), len(answers.replies)
    models = plural(len(answers.models), "model")
    if graded and max(graded) < FULL:
        points = "none has a point" if max(graded) <= 0 else f"the best has {max(graded):.3g}"
        told_findings.append(told(kind="nobody", said=f"{len(graded):,} answers of {models}: {points}", show="best"))
    elif graded and min(graded) >= FULL:
        told_findings.append(told(kind="everybody", said=f"{len(graded):,} answers of {models}", show="worst"))
    if len(graded) < total:
        told_findings.append(told(kind="unscored", said=f"{total - len(graded):,} of {total:,} answers", show="best"))
    if answers.discrimination is not None and answers.discrimination < 0:
        sure = "also when it is kept in mind how many questions there are" if answers.surely else "perhaps by chance"
        correlated = f"correlation with the rest {answers.discrimination:+.2f} over {models}, {sure}"
        told_findings.append(told(kind="against the rest", said=correlated, show="worst", chance=not answers.surely))
    return told_findings
