"""An answer's share of a rubric's points: those of all metrics added up, clipped, divided (InfiBench, section 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from string import ascii_uppercase
from typing import Final

from viva.errors import VivaError
from viva.scorers.choice import read_choice
from viva.scorers.reading import Reading
from viva.scorers.resolution import Decision
from viva.scorers.rubric.blanks import grade_blanks
from viva.scorers.rubric.keywords import grade_keywords
from viva.scorers.rubric.overlap import grade_similarity
from viva.scorers.rubric.rubrics import Graded, JudgePart, Points, Rubric, UnitTests
from viva.scorers.truth import read_truth
from viva.types import Execution

PostHandler = Callable[[Points, tuple[bool, ...] | tuple[str, ...]], Points]
"""Points of keywords or blanks, and the items that matched or the blanks' details → the points to count instead."""
Custom = Callable[[str], Points]
"""A grader written for a single published question: the answer → its points."""

NOT_JUDGED: Final = Decision(value=None, why="no judge was asked")

_SHOWN = 80
"""Characters of a program's last output in a line of explanation."""


def grade(
    rubric: Rubric,
    text: str,
    *,
    executions: Sequence[Execution] = (),
    judged: Decision = NOT_JUDGED,
    post_handler: PostHandler | None = None,
    custom: Custom | None = None,
    published: bool = False,
) -> Graded:
    """Grade one answer. Never raises for what an answer or a question file contains.

    `executions` holds one result a unit test, in order; `judged` is the judges' decision. `post_handler` is applied to
    the keywords, or to the blanks of a rubric without keywords. With `published`, blanks are aligned as the authors do,
    and points below 0 stay where the rubric has no `min_score`.
    The share is None, with a reason in `pending`, while a part is unknown or where the rubric cannot be applied.
    """

    def metrics() -> Iterator[tuple[str, Callable[[], Points]]]:
        """Yield the rubric's metrics by name, in the order in which they are added up."""
        blanks, tests, choice, truth, judge = rubric.blanks, rubric.tests, rubric.choice, rubric.truth, rubric.judge
        after_blanks = None if rubric.keywords else post_handler
        if rubric.keywords:
            yield "keywords", lambda: _after(post_handler, *grade_keywords(rubric.keywords, text))
        if blanks:
            yield "blank_filling", lambda: _after(after_blanks, *grade_blanks(blanks, text, published=published))
        if tests:
            yield "unit_test", lambda: _grade_tests(tests, executions)
        if rubric.similarity:
            yield "similarity", lambda: grade_similarity(rubric.similarity, text)
        if custom:
            yield "customized", lambda: custom(text)
        if choice:
            letters = ascii_uppercase[: len(choice.options)]
            yield (
                "choice",
                lambda: _grade_reading(
                    read_choice(text, letters=letters, options=choice.options),
                    choice.answer.upper(),
                    choice.weight,
                ),
            )
        if truth:
            yield "truth", lambda: _grade_reading(read_truth(text), "true" if truth.answer else "false", truth.weight)
        if judge:
            yield "judge", lambda: _grade_judge(judge, judged)

    parts: dict[str, Points] = {}
    points = total = 0.0
    pending = invalid_gold = ""
    for name, metric in metrics():
        try:
            part = metric()
        except VivaError as error:
            invalid_gold = invalid_gold or str(error)
            part = Points(0.0, 0.0, (), str(error))
        parts[name] = part
        points += part.points
        total += part.total
        pending = pending or part.pending
    if rubric.max_score is not None:
        total = rubric.max_score
        points = min(points, rubric.max_score)
    floor = rubric.min_score if rubric.min_score is not None or published else 0.0
    if floor is not None:
        points = max(points, floor)
    invalid_gold = invalid_gold or _no_share(rubric, parts, total, pending, custom or post_handler)
    pending = invalid_gold or pending
    return Graded(
        share=None if pending else points / total,
        points=points,
        total=total,
        parts=parts,
        pending=pending,
        invalid_gold=invalid_gold,
    )


def _after(handler: PostHandler | None, points: Points, status: tuple[bool, ...] | tuple[str, ...]) -> Points:
    return handler(points, status) if handler else points


def _no_share(rubric: Rubric, parts: dict[str, Points], total: float, pending: str, handler: object) -> str:
    """Return why no share can be computed, in words; "" if one can."""
    if rubric.handler and handler is None:
        return f"there is no grader called {rubric.handler!r} here"
    if not parts:
        return "the rubric is empty: nothing of the answer would be graded"
    if total == 0 and not pending:
        return "the rubric's total is 0: give an item that is not negative a weight, or set a maximum"
    return ""


def _grade_tests(tests: UnitTests, executions: Sequence[Execution]) -> Points:
    """Return the weight of each test that passed."""
    details: list[str] = []
    points = total = 0.0
    pending = ""
    for number, test in enumerate(tests.tests, 1):
        total += test.weight
        if number > len(executions):
            pending = pending or f"test {number} of {len(tests.tests)} was not run"
            details.append(f"+0 test {number}: not run")
            continue
        execution = executions[number - 1]
        passed = execution.verdict == "passed"
        if passed:
            points += test.weight
        elif execution.verdict == "toolchain":
            pending = pending or f"no toolchain for {tests.language}{_said(execution)}"
        outcome = "" if passed else _said(execution)
        details.append(f"{test.weight if passed else 0:+g} test {number}: {execution.verdict}{outcome}")
    return Points(points, total, tuple(details), pending)


def _said(execution: Execution) -> str:
    """Return a program's last output on one line. It is untrusted: code that displays it must escape it."""
    words = " ".join(execution.detail[-4 * _SHOWN :].split())
    return f": {words if len(words) <= _SHOWN else '…' + words[1 - _SHOWN :]}" if words else ""


def _grade_reading(reading: Reading, gold: str, weight: float) -> Points:
    """Return the points for a letter or truth value: its weight if it is right."""
    right = reading.read == gold
    detail = f"{weight if right else 0:+g} read {reading.read}, the answer is {gold}"
    return Points(weight if right else 0.0, weight, (detail,), unread="" if reading.committed else reading.read)


def _grade_judge(part: JudgePart, judged: Decision) -> Points:
    """Return the weight times what the judges decided."""
    if judged.value is None:
        return Points(0.0, part.weight, (f"+0 {judged.why}",), judged.why)
    points = part.weight * judged.value
    return Points(points, part.weight, (f"{points:+g} judged {judged.value * 10:g} of 10 ({judged.why})",))
