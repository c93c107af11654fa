"""The self-test of an exam: its gold answers, graded as replies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from viva.benchmarks.sets import spread
from viva.contracts import Exam
from viva.prompting import prompt_text
from viva.runs.rationale_check import explained_problems, said
from viva.scorers.golden import phrasings, wrong_answer
from viva.types import Choose, Kind, Likelihood, Question, Response, Sampling, outcome_name
from viva.visible import escape_invisible, one_line


def sample(exam: Exam, at_most: int) -> list[Question]:
    """So many questions of an exam, evenly spread, and the first of each kind."""
    chosen = frozenset(spread(len(exam), at_most))
    kinds: set[Kind] = set()
    found = []
    for index, question in enumerate(exam.questions()):
        if index in chosen or question.kind not in kinds:
            kinds.add(question.kind)
            found.append(question)
    return found


def failures(exam: Exam, questions: Iterable[Question] | None = None) -> list[str]:
    """What went wrong in the self-test of these questions, of all where None, in words."""
    return [
        f"question {escape_invisible(question.id)}: {problem}"
        for question in (exam.questions() if questions is None else questions)
        for problem in _problems(exam, question)
    ]


def _problems(exam: Exam, question: Question) -> Iterator[str]:
    request = exam.request(question, 0, Sampling())
    if not request.prompt:
        yield "its prompt is empty"
    if isinstance(request, Choose):
        yield from _chosen_problems(exam, question, len(request.continuations))
    else:
        yield from _written_problems(exam, question)


def _written_problems(exam: Exam, question: Question) -> Iterator[str]:
    """An answer that is written: the gold one scores 1, a wrong one 0, in every phrasing."""
    if question.answer is None:
        score = exam.score(question, Response(text="A"))
        if score.outcome != "unsound":
            yield f"has no usable gold answer, yet an answer is {outcome_name(score.outcome)}"
        return
    if exam.spec.as_published:
        return  # the authors' readings are wrong for some gold answers: that is what --as-published is for
    empty = exam.score(question, Response(text=" \n"))
    if empty.value is not None or empty.outcome != "empty":
        yield f"an empty reply is {outcome_name(empty.outcome)}, not empty"
    if exam.spec.rationale:
        yield from explained_problems(exam, question)
        return
    if question.kind == "free":
        return  # what a rubric must give is said by example answers: see checkfile.py
    if question.kind in ("blank", "open"):
        yield from _judged_problems(exam, question)
        return
    for what, answer, value in (("gold", question.answer, 1.0), ("wrong", wrong_answer(question), 0.0)):
        for reply in phrasings(question, answer) if answer else ():  # "": all options are right, and no answer is wrong
            score = exam.score(question, Response(text=reply))
            if score.value != value:
                shown = f"{what} {one_line(answer, 60)} as {one_line(reply, 60)!r}"
                yield f"{shown} scores {score.value} ({outcome_name(score.outcome)})"


def _chosen_problems(exam: Exam, question: Question, options: int) -> Iterator[str]:
    """A chosen answer: each option in turn is nearly certain, and one of them is right."""
    scores = [
        exam.score(
            question, Response(likelihoods=tuple(Likelihood(-0.1 if at == sure else -9.0) for at in range(options)))
        )
        for sure in range(options)
    ]
    if question.answer is None:
        if any(score.outcome != "unsound" for score in scores):
            yield "has no usable gold answer, yet a choice is graded"
        return
    right = [score.answer for score in scores if score.value == 1.0]
    if right != [question.answer] or any(score.value not in (0.0, 1.0) for score in scores):
        yield f"gold {one_line(question.answer, 60)}, and what scores 1 is {right}"


def _judged_problems(exam: Exam, question: Question) -> Iterator[str]:
    """A judged question: the judge is asked about the gold answer, and its best and worst verdicts count as such."""
    gold = Response(text=str(question.answer))
    requests = exam.judgements(question, gold, 1, {})
    if len(requests) != 1 or str(question.answer) not in prompt_text(requests[0].prompt):
        yield "the judge would not see the gold answer"
    best, worst = ("1", "0") if question.kind == "blank" else ("10", "1")
    for mark, wanted in ((best, 1.0), (worst, 0.0 if question.kind == "blank" else 0.1)):
        score = exam.score(question, gold, said(f"Reason.\nVERDICT: {mark}"))
        if score.value != wanted:
            yield f"the verdict {mark} scores {score.value}, not {wanted}"
    if exam.score(question, gold).outcome != "ungraded":
        yield "without a verdict it is graded all the same"
