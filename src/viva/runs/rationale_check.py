"""The self-test of questions that are answered with a rationale: gold answer and gold rationale, in the real form."""

from __future__ import annotations

import json
from collections.abc import Iterator

from viva.benchmarks.rationale.combining import Q_A
from viva.contracts import Exam
from viva.prompting import prompt_text
from viva.scorers.golden import phrasings, wrong_answer
from viva.types import ANSWER, RATIONALE, Evidence, Opinion, Question, Response
from viva.visible import one_line

JUDGED = ("blank", "open")


def said(verdict: str, *aspects: str) -> Evidence:
    """What a judge replied about the answer (and other aspects)."""
    return Evidence(opinions=[Opinion("self-test", aspect, verdict) for aspect in (aspects or (ANSWER,))])


def explained_problems(exam: Exam, question: Question) -> Iterator[str]:
    """What is wrong with the grading of one question: its gold must earn full marks, a wrong answer none for Q→A."""
    rationale = question.explanation or "It follows from the definition, as every other reading contradicts it."
    gold = str(question.answer)
    if question.kind in JUDGED:
        yield from _judged(exam, question, reply_of(rationale, gold))
        return
    full = said("Reason.\nVERDICT: 1", RATIONALE)
    for answer in phrasings(question, gold):
        score = exam.score(question, Response(text=reply_of(rationale, answer)), full)
        if score.value != 1.0 or score.parts.get(Q_A) != 1.0:
            yield f"gold {one_line(answer, 60)!r} with its rationale scores {score.value} ({score.explanation})"
    wrong = wrong_answer(question)
    for answer in phrasings(question, wrong) if wrong else ():
        score = exam.score(question, Response(text=reply_of(rationale, answer)), full)
        if score.parts.get(Q_A) != 0.0:
            yield f"wrong {one_line(answer, 60)!r} scores {score.parts.get(Q_A)} for its answer"
    bare = exam.score(question, Response(text=reply_of("", gold)))
    if bare.value != 0.0:
        yield f"the gold answer without a rationale scores {bare.value}"


def _judged(exam: Exam, question: Question, reply: str) -> Iterator[str]:
    requests = exam.judgements(question, Response(text=reply), 1, {})
    if len(requests) != 2 or not all(str(question.answer) in prompt_text(request.prompt) for request in requests):
        yield "the judge would not see the gold answer, once for the answer and once for the rationale"
    verdicts = [Opinion("self-test", ANSWER, f"VERDICT: {mark}") for mark in ("10", "1")]
    best = [verdict for verdict in verdicts if exam.mark(question, verdict) == 1.0]
    if not best:
        yield "no verdict gives the answer full marks"
        return
    full = Evidence(opinions=[best[0], Opinion("self-test", RATIONALE, "VERDICT: 1")])
    score = exam.score(question, Response(text=reply), full)
    if score.value != 1.0:
        yield f"gold answer and rationale with full verdicts score {score.value}"
    if exam.score(question, Response(text=reply)).outcome != "ungraded":
        yield "without a verdict it is graded all the same"


def reply_of(rationale: str, answer: str) -> str:
    """A reply in the form that is asked for."""
    return json.dumps({"Rationale": rationale, "Answer": answer}, ensure_ascii=False)
