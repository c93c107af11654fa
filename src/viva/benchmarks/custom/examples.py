"""Example answers: the scores that a question's author expects, and whether the grading gives them."""

from __future__ import annotations

import re
from collections.abc import Callable

from viva.benchmarks.custom.positions import Scalar
from viva.benchmarks.custom.questionmodel import Example, Expected, OwnQuestion, Problem
from viva.benchmarks.custom.strictfields import Field, Section, shown
from viva.errors import VivaError
from viva.scorers.rubric.rubrics import Graded, Rubric

Grade = Callable[[OwnQuestion, str], Graded]
"""Grades an answer to a question; the caller runs its tests, if there are any."""

Shares = tuple[float, float, frozenset[float] | None]
"""The least share, the largest, and all possible ones (None: any between them, or too many to list)."""

EXACT = 1e-9
"""Largest difference of scores that count as equal."""
UNTRIED = "not checked"
"""Beginning of a problem about an example that could not be graded here."""
_WORDS: tuple[Expected, ...] = ("full", "none", "below 1", "above 0")
_FRACTION = re.compile(r"([0-9]{1,9}) ?/ ?([0-9]{1,9})")
_MAX_SCORES = 500


def read_example(field: Field) -> Example:
    """Return an example answer with its expected score."""
    section = Section(field, "example")
    wanted: Expected = 0.0
    if "score" in section:
        score = section["score"]
        words = " ".join(score.node.value.lower().split()) if isinstance(score.node, Scalar) else ""
        if words in _WORDS:
            wanted = _WORDS[_WORDS.index(words)]
        elif fraction := _FRACTION.fullmatch(words):
            points, total = int(fraction[1]), int(fraction[2])
            if points <= total and total:
                wanted = points / total
            else:
                score.error("must be from 0 to 1")
        elif words and not words.lstrip("+-.")[:1].isdigit():
            score.error(f"{shown(words)} is no score: full, none, a number from 0 to 1, below 1, above 0")
        else:
            wanted = score.number(most=1.0) or 0.0
    return Example(answer=section.text("answer"), wanted=wanted, line=field.node.line)


# --- which scores there can be ---


def total_of(rubric: Rubric) -> float:
    """Return the most points that an answer can earn, before `max`."""
    graded = [item.weight for item in rubric.similarity] + [rubric.judge.weight if rubric.judge else 0.0]
    return sum(step for step in (*_steps(rubric), *graded) if step > 0)


def _steps(rubric: Rubric) -> list[float]:
    """Return the signed weights of the items that count in full or not at all."""
    steps = [-item.weight if item.negative else item.weight for item in rubric.keywords]
    steps += [target.weight for target in rubric.blanks.targets] if rubric.blanks else []
    steps += [test.weight for test in rubric.tests.tests] if rubric.tests else []
    return steps + [part.weight for part in (rubric.choice, rubric.truth) if part]


def shares_of(rubric: Rubric) -> Shares:
    """Return the shares that a rubric can give.

    Conditions and rules that exclude one another are ignored: a share that is ruled out here is certainly impossible.
    """
    total = total_of(rubric) if rubric.max_score is None else rubric.max_score
    steps = _steps(rubric)
    least = sum(step for step in steps if step < 0)
    most = total_of(rubric)

    def share(points: float) -> float:
        if rubric.max_score is not None:
            points = min(points, rubric.max_score)
        if rubric.min_score is not None:
            points = max(points, rubric.min_score)
        return points / total

    if rubric.similarity or rubric.judge:
        return share(least), share(most), None
    sums = {0.0}
    for step in steps:
        sums |= {round(reached + step, 9) for reached in sums}
        if len(sums) > _MAX_SCORES:
            return share(least), share(most), None
    return share(least), share(most), frozenset(map(share, sums))


def impossible(shares_there_are: Shares, wanted: Expected) -> str:
    """Return why no answer can get this score; "" if one can."""
    least, most, shares = shares_there_are
    if wanted == "above 0":
        return "" if most > EXACT else "nothing here scores above 0"
    if wanted == "below 1":
        return "" if least < 1 - EXACT else "nothing here scores below 1"
    value = _share_of(wanted)
    if value > most + EXACT:
        return f"no answer scores more than {most:.4g}"
    if value < least - EXACT:
        return f"no answer scores less than {least:.4g}"
    if shares is not None and not any(abs(value - share) <= 10 * EXACT for share in shares):
        nearest = sorted(sorted(shares, key=lambda share: abs(share - value))[:3])
        return f"no answer scores {value:.6g}; near it are {', '.join(f'{share:.6g}' for share in nearest)}"
    return ""


# --- whether they are given ---


def check_examples(question: OwnQuestion, grade: Grade) -> tuple[Problem, ...]:
    """Grade each example answer; return a problem for every one whose score is not as expected. Pure if `grade` is.

    One that cannot be graded here (no toolchain, no judge) is a warning.
    """
    problems: list[Problem] = []
    for number, example in enumerate(question.examples, 1):
        where = f"question {question.id}, examples, item {number}"
        if not example.answer.strip():  # never graded: an empty reply counts as no point, whatever the rubric says
            if not as_wanted(0.0, example.wanted):
                problems.append(Problem(example.line, 1, where, "an empty answer always scores none"))
            continue
        try:
            graded = grade(question, example.answer)
        except VivaError as problem:
            problems.append(Problem(example.line, 1, where, f"cannot be graded: {problem}"))
            continue
        if graded.share is None:
            if graded.invalid_gold:
                problems.append(Problem(example.line, 1, where, f"cannot be graded: {graded.invalid_gold}"))
            else:
                problems.append(Problem(example.line, 1, where, f"{UNTRIED}: {graded.pending}", "warning"))
        elif not as_wanted(graded.share, example.wanted):
            wanted = example.wanted if isinstance(example.wanted, str) else f"{example.wanted:.10g}"
            points = f"{graded.points:.6g} of {graded.total:.6g} points"
            text = f"should score {wanted}, and scores {graded.share:.10g} ({points}){_details(graded)}"
            problems.append(Problem(example.line, 1, where, text))
    return tuple(problems)


def as_wanted(share: float, wanted: Expected) -> bool:
    """Tell whether a score is the one that an example expects."""
    if wanted == "below 1":
        return share < 1 - EXACT
    if wanted == "above 0":
        return share > EXACT
    return abs(share - _share_of(wanted)) <= EXACT


def _share_of(wanted: Expected) -> float:
    """Return the one share that an example must get."""
    return wanted if isinstance(wanted, float) else float(wanted == "full")


def _details(graded: Graded) -> str:
    lines = [line for part in graded.parts.values() for line in part.details]
    more = f"; … {len(lines) - 6} more" if len(lines) > 6 else ""
    return ": " + "; ".join(" ".join(line.split())[:120] for line in lines[:6]) + more if lines else ""
