"""Answers that no rule can grade: the judge's requests, and the decision by experts, judges and similarity."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from viva.prompting import Templates, clip, fence, fill, read_templates, verdict_places
from viva.scorers.reading import EMPTY, UNPARSED, Reading, grade_reading, outcome_of
from viva.scorers.resolution import ALIKE, Decision, Panel, decide, marks_by_judge, review_item
from viva.scorers.verdict import read_mark, undecided
from viva.types import (
    ANSWER,
    Evidence,
    ExamSpec,
    Generate,
    Message,
    Opinion,
    Question,
    Response,
    ReviewItem,
    Sampling,
    Score,
)

_ROLES: tuple[Literal["system", "user"], ...] = ("system", "user")
_SAMPLING = Sampling(temperature=0.0, max_tokens=1024)


@cache
def with_judge(folder: Path) -> dict[str, object]:
    """Return the prompts of a benchmark, its judge's included."""
    return {**read_templates(folder / "prompts.toml"), "judge": read_templates(folder / "judge.toml")}


def ask_judge(
    question: Question, aspect: str, samples: int, texts: Templates, section: str, values: Mapping[str, str]
) -> tuple[Generate, ...]:
    """Return the requests for `samples` verdicts on one aspect of an answer, by the rubric in `section`."""
    parts = [(role, template) for role in _ROLES if (template := texts.text(f"{section}.{role}"))]
    prompt = tuple(Message(role, fill(template, values)) for role, template in parts)
    places = tuple(
        (index, place) for index, (_, template) in enumerate(parts) for place in verdict_places(template, values)
    )
    return tuple(
        Generate(
            question=question.id, sample=sample, prompt=prompt, sampling=_SAMPLING, aspect=aspect, verdict_at=places
        )
        for sample in range(samples)
    )


def decide_aspect(
    aspect: str, evidence: Evidence, read: Callable[[Opinion], float | None], panel: Panel
) -> tuple[Decision, dict[str, tuple[float, ...]]]:
    """Decide one aspect of an answer by all evidence; return the decision and each judge's marks, read by `read`."""
    opinions = marks_by_judge(evidence.opinions, aspect, read)
    decision = decide(
        aspect,
        marks=evidence.marks,
        opinions=opinions,
        replies=sum(1 for opinion in evidence.opinions if opinion.aspect == aspect),
        failed=sum(1 for opinion in evidence.failed if opinion.aspect == aspect),
        panel=panel,
        similarity=evidence.similarities.get(aspect),
    )
    return decision, opinions


def unread(response: Response, why: str, read: str = UNPARSED) -> Score:
    """Return the score of a reply that commits to nothing."""
    return grade_reading(Reading(read, rule=why), "", response)


def blank_reply(response: Response) -> Score:
    """Return the score of a reply in which there is nothing to grade."""
    return unread(response, "the reply holds nothing visible", EMPTY)


class JudgedExam:
    """The part of `Exam` about judges, for exams of which some answers, or all, are judged.

    A benchmark says which marks a judge can give an answer (`marks`), and has the rubric `judge` among its templates
    (`rubric` where there are several): `system` and `user`, which name {question}, {gold}, {answer} and {fence}.
    """

    spec: ExamSpec
    _texts: Templates

    def marks(self, question: Question) -> Sequence[float]:
        """Return the marks that a judge can give, ascending, the last being full marks; none where a rule grades."""
        raise NotImplementedError

    def rubric(self, question: Question) -> str:
        """Return the key of the judge's templates."""
        return "judge"

    def explanation(self, decision: Decision, evidence: Evidence) -> str:
        """Return the explanation of a score."""
        return decision.why

    def _is_judged(self, question: Question, response: Response) -> bool:
        shown = response.text.strip() or self.spec.as_published  # the authors' scripts send blank replies, too
        return bool(self.marks(question) and question.answer is not None and shown)

    def judgements(
        self, question: Question, response: Response, samples: int, similarities: Mapping[str, float]
    ) -> tuple[Generate, ...]:
        """Return the judge's requests about an answer that no rule grades, unless it is similar to the gold one."""
        if response.error or not self._is_judged(question, response) or similarities.get(ANSWER, 0.0) >= ALIKE:
            return ()
        answer = clip(response.text)
        values = {"question": question.text, "gold": str(question.answer), "answer": answer, "fence": fence(answer)}
        return ask_judge(question, ANSWER, samples, self._texts, self.rubric(question), values)

    def readable(self, question: Question, opinion: Opinion) -> bool:
        """Return whether a judge's reply holds a verdict, or declines one; any other is requested again."""
        return self.mark(question, opinion) is not None or undecided(opinion)

    def mark(self, question: Question, opinion: Opinion) -> float | None:
        """Return a judge's mark as a share of full marks."""
        marks = self.marks(question)
        mark = read_mark(opinion, marks)
        return None if mark is None else mark / marks[-1]

    def _decide(self, question: Question, evidence: Evidence) -> tuple[Decision, dict[str, tuple[float, ...]]]:
        return decide_aspect(ANSWER, evidence, lambda opinion: self.mark(question, opinion), self.spec.panel)

    def judged(self, question: Question, response: Response, evidence: Evidence) -> Score:
        """Return the score of an answer, which is not blank, that experts, judges or similarity decide."""
        decision, _ = self._decide(question, evidence)
        value = decision.value
        return Score(
            value=value,
            outcome="ungraded" if value is None else outcome_of(value),
            answer=response.text.strip(),
            explanation=decision.why if value is None else self.explanation(decision, evidence),
            decided={ANSWER: decision.by} if decision.by else {},
            verdicts={ANSWER: decision.verdicts},
        )

    def drafts(self, question: Question, response: Response, evidence: Evidence) -> tuple[ReviewItem, ...]:
        """Return for review an answer that no rule grades, with the decision of similarity and judges."""
        if not self._is_judged(question, response):
            return ()
        decision, opinions = self._decide(question, msgspec.structs.replace(evidence, marks=()))
        marks = self.marks(question)
        item = review_item(
            ANSWER,
            decision,
            evidence.opinions,
            opinions,
            text=response.text.strip(),
            gold=str(question.answer),
            scale=tuple(mark / marks[-1] for mark in marks),
        )
        return (item,)
