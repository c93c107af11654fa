"""Any exam under CLR-Bench's protocol: the model gives a rationale, then an answer; both are graded and combined.

    Q→A   the exam's own grading of the answer
    Q→R   the rationale: similarity to the gold rationale, else a judge by the rubric of the question's kind
    Q→AR  R (1 + A) / 2

The exam inside only has to leave out its own instructions on how to reply (`ExamSpec.rationale`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import cast

import msgspec

from viva.benchmarks.judged import ask_judge, decide_aspect
from viva.benchmarks.rationale import RATIONALE_EXAM
from viva.benchmarks.rationale.combining import IN_FORM, combine, defended, limits_of, parts_of
from viva.benchmarks.wrapper import ExamWrapper
from viva.contracts import ContextWindow, Exam
from viva.prompting import Templates, clip, fence, fill, read_templates, replace_surrogates
from viva.scorers.rationale import Taken, take_apart
from viva.scorers.reading import outcome_of, refusal
from viva.scorers.resolution import ALIKE, Decision, decide, review_item
from viva.scorers.verdict import read_mark, undecided
from viva.types import (
    ANSWER,
    NOTHING,
    RATIONALE,
    UNREADABLE,
    Aggregate,
    Compare,
    Evidence,
    Execute,
    Generate,
    Kind,
    Message,
    Opinion,
    Prompt,
    Question,
    Request,
    Response,
    ReviewItem,
    Sampling,
    Score,
    TableSpec,
)

HERE = Path(__file__).parent
SCALE = (0.0, 0.5, 1.0)
RULED: frozenset[Kind] = frozenset({"choice", "choices", "truth", "term", "span"})
"""Kinds whose answers a rule reads."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@cache
def _bundled() -> dict[str, object]:
    return {"ask": read_templates(HERE / "asking.toml"), "rubric": read_templates(HERE / "rubric.toml")}


class RationaleExam(ExamWrapper):
    """An exam whose questions are answered with a rationale."""

    def __init__(self, inner: Exam, templates: Mapping[str, object] | None = None) -> None:
        super().__init__(inner)
        self._texts = Templates(_bundled(), templates, {"ask": "\n\n", "lead": "\n"})

    @property
    def templates(self) -> Mapping[str, object]:
        """Templates of the exam inside, and this protocol's under `RATIONALE_EXAM`."""
        return {**self.inner.templates, RATIONALE_EXAM: self._texts.data}

    def constant(self) -> None:
        """Return None: an answer without its rationale earns nothing."""

    def request(
        self, question: Question, sample: int, sampling: Sampling, context_window: ContextWindow | None = None
    ) -> Request:
        """Return the prompt of the exam inside, with the required form of the reply."""
        request = self.inner.request(question, sample, sampling, context_window)
        return msgspec.structs.replace(request, prompt=self._asked(question, request.prompt))

    def _asked(self, question: Question, prompt: Prompt) -> Prompt:
        ask = self._ask(question)
        if not ask:
            return prompt
        if isinstance(prompt, str):  # a base model goes on after the lead, so that stays last
            lead = str(self.inner.templates.get("lead", ""))
            if not lead or not prompt.endswith(lead):
                return prompt + self._texts.before("lead", ask)
            return prompt[: len(prompt) - len(lead)] + self._texts.after("lead", ask) + lead
        *before, last = prompt
        return (*before, Message(last.role, last.content + self._texts.before("ask", ask)))

    def _ask(self, question: Question) -> str:
        section = f"ask.{self._language(question)}"
        why, what = (self._texts.text(f"{section}.{question.kind}.{part}") for part in ("why", "what"))
        return fill(self._texts.text(f"{section}.ask"), {"why": why, "what": what})

    def _language(self, question: Question) -> str:
        """Return the language of the protocol's texts: the question's, else English."""
        return question.language if question.language in cast("Mapping[str, object]", self._texts.data["ask"]) else "en"

    def executions(self, question: Question, response: Response) -> tuple[Execute, ...]:
        """Return the programs of the exam inside."""
        return self.inner.executions(question, _answer(_taken(response), response))

    def comparisons(self, question: Question, response: Response) -> tuple[Compare, ...]:
        """Return the exam's own comparisons, and that of the rationale with the gold one."""
        if not self.spec.encoder or response.error or question.answer is None:
            return ()
        taken = _taken(response)
        if self._declines(question, taken, response):
            return ()
        wanted = self.inner.comparisons(question, _answer(taken, response))
        if taken.rationale and question.explanation.strip():
            wanted = (*wanted, Compare(RATIONALE, taken.rationale, question.explanation))
        return wanted

    def judgements(
        self, question: Question, response: Response, samples: int, similarities: Mapping[str, float]
    ) -> tuple[Generate, ...]:
        """Return the requests about the answer, and about the rationale unless it is similar to the gold one."""
        if response.error or question.answer is None:
            return ()
        taken = _taken(response)
        if self._declines(question, taken, response):
            return ()
        wanted = self.inner.judgements(question, _answer(taken, response), samples, similarities)
        if not taken.rationale or similarities.get(RATIONALE, 0.0) >= ALIKE:
            return wanted
        return (*wanted, *self._judged(question, taken, samples))

    def _judged(self, question: Question, taken: Taken, samples: int) -> tuple[Generate, ...]:
        section = f"rubric.{self._language(question)}"
        options = "".join(f"\n{letter}. {text}" for letter, text in zip(LETTERS, question.options, strict=False))
        # In form "none" the whole reply is both, and is shown once.
        answer = clip(taken.answer) if taken.answer != taken.rationale else ""
        rationale = clip(taken.rationale)
        values = {
            "question": question.text + options,
            "gold": str(question.answer),
            "reference": question.explanation.strip() or self._texts.text(f"{section}.none"),
            "answer": answer,
            "rationale": rationale,
            "fence": fence(f"{answer}\n{rationale}"),
            "instructions": self._texts.text(f"{section}.{question.kind}"),
        }
        return ask_judge(question, RATIONALE, samples, self._texts, section, values)

    def readable(self, question: Question, opinion: Opinion) -> bool:
        """Return whether a judge's reply holds a verdict, or declines one."""
        if opinion.aspect != RATIONALE:
            return self.inner.readable(question, opinion)
        return self.mark(question, opinion) is not None or undecided(opinion)

    def mark(self, question: Question, opinion: Opinion) -> float | None:
        """Return a rationale's mark (0, ½ or 1), or an answer's as the exam inside reads it."""
        return read_mark(opinion, SCALE) if opinion.aspect == RATIONALE else self.inner.mark(question, opinion)

    def score(self, question: Question, response: Response, evidence: Evidence = NOTHING) -> Score:
        """Score Q→AR, with Q→A and Q→R as parts."""
        if response.error or question.answer is None:
            return msgspec.structs.replace(self.inner.score(question, response, evidence), limits=limits_of(None, None))
        taken = _taken(response)
        answered = self._answered(question, _answer(taken, response), evidence)
        if not taken.rationale and not taken.answer:
            return answered  # empty, truncated
        if self._declines(question, taken, response):
            why = "the reply declines to answer"
            return Score(value=None, outcome="refused", explanation=why, parts={IN_FORM: 0.0})
        reasoned, _ = self._reasoned(question, taken, evidence)
        a = 0.0 if answered.outcome in UNREADABLE else answered.value
        r = reasoned.value
        value = None if a is None or r is None else combine(a, r)
        decided = dict(answered.decided)
        if reasoned.by:
            decided[RATIONALE] = reasoned.by
        outcome = "ungraded" if value is None else outcome_of(value)
        if value == 0.0 and answered.outcome in UNREADABLE:
            value, outcome, a = None, answered.outcome, None  # unreadable answers earn nothing
        return Score(
            value=value,
            outcome=outcome,
            answer=answered.answer or taken.answer,
            explanation=f"answer: {answered.explanation}\nrationale: {reasoned.why}",
            parts=parts_of(a, r, in_form=taken.form == "json"),
            decided=decided,
            verdicts={**answered.verdicts, RATIONALE: reasoned.verdicts},
            limits=limits_of(a, r) if outcome == "ungraded" else {},
        )

    def _declines(self, question: Question, taken: Taken, response: Response) -> bool:
        """Return whether a reply without parts declines, and commits to nothing that a rule could read or, in a gap,
        accept.

        "I cannot be sure, but the answer is B." answers.
        """
        if taken.form != "none" or refusal(taken.answer) is None:
            return False
        if question.kind not in RULED:
            return True
        score = self.inner.score(question, _answer(taken, response))
        return score.outcome in UNREADABLE or (question.kind == "term" and not score.value)

    def _answered(self, question: Question, answer: Response, evidence: Evidence) -> Score:
        """Return the exam's own score of the answer, which an expert may overrule."""
        score = self.inner.score(question, answer, evidence)
        experts = decide(ANSWER, marks=evidence.marks)
        if experts.value is None or experts.by is None or "expert" in score.decided.values():
            return (
                score
                if score.decided or score.value is None
                else msgspec.structs.replace(score, decided={ANSWER: "rule"})
            )
        return msgspec.structs.replace(
            score,
            value=experts.value,
            outcome=outcome_of(experts.value),
            explanation=f"{experts.why}; before: {score.explanation}",
            decided={ANSWER: experts.by},
        )

    def _reasoned(
        self, question: Question, taken: Taken, evidence: Evidence
    ) -> tuple[Decision, dict[str, tuple[float, ...]]]:
        """Return the decision on the rationale, and each judge's marks."""
        if not taken.rationale:
            evidence = Evidence(marks=evidence.marks)
        decided = decide_aspect(RATIONALE, evidence, lambda opinion: self.mark(question, opinion), self.spec.panel)
        if taken.rationale or decided[0].value is not None:
            return decided
        return Decision(value=0.0, by="rule", why="the reply gives no rationale"), {}

    def drafts(self, question: Question, response: Response, evidence: Evidence) -> tuple[ReviewItem, ...]:
        """Return answer and rationale for review, with the decisions of rule, similarity and judges."""
        taken = _taken(response)
        if response.error or question.answer is None or not (taken.rationale or taken.answer):
            return ()
        if self._declines(question, taken, response):
            return ()  # there is nothing to mark
        without = msgspec.structs.replace(evidence, marks=())
        answer = _answer(taken, response)
        inside = self.inner.drafts(question, answer, without)
        if not inside:
            score = self._answered(question, answer, without)
            value = 0.0 if score.outcome in UNREADABLE else score.value
            inside = (
                ReviewItem(
                    aspect=ANSWER,
                    text=taken.answer,
                    gold=str(question.answer),
                    value=value,
                    scale=SCALE if question.kind in ("choices", "open") else (0.0, 1.0),
                    decided="rule" if value is not None else None,
                    reasons=score.explanation,
                ),
            )
        decision, opinions = self._reasoned(question, taken, without)
        reasons = review_item(
            RATIONALE,
            decision,
            evidence.opinions,
            opinions,
            text=taken.rationale,
            gold=question.explanation,
            scale=SCALE,
        )
        return (*inside, reasons)

    def layouts(self) -> tuple[TableSpec, ...]:
        """Return the rows of the exam's own tables, each with the three metrics and the share of guesses."""
        over = self.inner.headline().over
        tables = self.inner.layouts()
        across = tuple(table for table in tables if table.across)
        own = [table for table in tables if not table.across]
        return (*(pair for table in own for pair in defended(table, over, first=table is own[0])), *across)

    def headline(self) -> Aggregate:
        """Return Q→AR, averaged like the exam inside."""
        return msgspec.structs.replace(self.inner.headline(), label="Q→AR")


def _taken(response: Response) -> Taken:
    """Return the parts of a reply, without half surrogate pairs ("\\ud800" in JSON), which cannot be encoded."""
    taken = take_apart(response.text)
    return msgspec.structs.replace(
        taken, rationale=replace_surrogates(taken.rationale), answer=replace_surrogates(taken.answer)
    )


def _answer(taken: Taken, response: Response) -> Response:
    return msgspec.structs.replace(response, text=taken.answer)
