"""The traps: what can be read and graded, and is probably not what anybody means.

Most of them are in published question files (InfiBench's 234 questions have: an attribute at the wrong level, so that
nobody can score; accepted answers that are names of keys; tests that define the answer's function themselves). The
graders themselves are asked what the question's own text, an empty answer and the filled-in template would earn.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Sequence

import msgspec

from viva.benchmarks.custom.examples import impossible, shares_of, total_of
from viva.benchmarks.custom.fields import Notes, Section, shown
from viva.benchmarks.custom.model import Example, OwnQuestion
from viva.benchmarks.custom.positions import Node
from viva.benchmarks.custom.probing import Patience, is_slow
from viva.benchmarks.custom.tables import tables
from viva.errors import VivaError
from viva.scorers.rubric import blanks as filling
from viva.scorers.rubric.keywords import grade_keywords
from viva.scorers.rubric.model import Blanks, ChoicePart, Keyword, Rubric, Rule, UnitTests

MOST_COMPARED = 20_000_000
"""Items times characters of a question's text: beyond it is not tried whether the text itself matches."""
FOREVER = "takes forever on some texts"
"""What is said of an expression that no bound holds; a set for others treats it as an error."""
Placed = tuple[Node, str]
"""A node, and where it is in words."""


def check_total(section: Section, rubric: Rubric) -> bool:
    """Whether anything can be earned, and what `max` and `min` make of it."""
    total = total_of(rubric)
    if total <= 0:
        if rubric.keywords and all(item.negative for item in rubric.keywords):
            section.error("keywords", "every item takes points away: nothing can be earned")
        else:
            section.error("", "nothing in it can earn a point")
        return False
    most, least = rubric.max_score, rubric.min_score or 0.0
    if most is not None and most > total and not math.isclose(most, total):
        section.warn("max", f"can never be reached: all parts together give {total:g}, and `max` is {most:g}")
    elif most is not None and most < total and not math.isclose(most, total):
        section.warn(
            "max", f"all parts together give {total:g}; what is above {most:g} is lost (fine if that is meant)"
        )
    if least >= (total if most is None else most):
        key = "min" if "min" in section else "max"
        section.error(key, f"`{key}` is {least:g}: then a full answer gets no more than an empty one")
        return False
    if least > 0:
        section.warn("min", f"every answer gets at least {least:g}, also one that says nothing")
    return True


def check_keywords(section: Section, rubric: Rubric, question: str, patience: Patience) -> None:
    """Items that the question's own text or an empty answer matches, and items that are there twice."""
    notes, placed = section.notes, section.items("keywords", "")
    seen: dict[tuple[Rule, bool], int] = {}
    nothing = _matched(rubric.keywords, "", patience)
    affordable = "keywords" in section and section.known["keywords"].size * len(question) < MOST_COMPARED
    asked = _matched(rubric.keywords, question if affordable else "", patience)
    for index, ((node, where), item) in enumerate(zip(placed, rubric.keywords, strict=True)):
        first = seen.setdefault((item.rule, item.ignore_case), index)
        if first != index:
            notes.warn(node, where, f"the same as item {first + 1}: one match counts twice")
        if nothing[index]:
            effect = "loses" if item.negative else "earns"
            notes.warn(node, where, f"matches an empty answer too, which {effect} points by it")
        elif asked[index] and not item.negative:
            notes.warn(node, where, "the question's own text matches: an answer that repeats the question earns it")


def _matched(items: Sequence[Keyword], text: str, patience: Patience) -> Sequence[bool]:
    """Which items match a text; none if that takes too long."""
    if not patience.exhausted:
        with contextlib.suppress(VivaError), patience:
            return grade_keywords(items, text)[1]
    return [False] * len(items)


def check_patterns(notes: Notes, patience: Patience) -> None:
    """Expressions that are slow on the wrong text; `notes` knows them all."""
    untried = 0
    for node, where, pattern in notes.patterns:
        if patience.exhausted and pattern not in patience.verdicts:
            untried += 1
        elif is_slow(pattern, patience):
            text = f"{shown(pattern)} {FOREVER} (repetition inside repetition, as in '(a+)+')"
            notes.warn(node, where, f"{text}: an answer like that cannot be graded")
    if untried:
        node, where, _ = notes.patterns[-1]
        notes.warn(node, where, f"{untried} expressions were not tried for speed: that took too long already")


def check_blanks(section: Section, blanks: Blanks | None, patience: Patience) -> None:
    """The template, filled in with its own first answers, must earn everything."""
    if blanks is None or patience.exhausted:
        return
    literal = tuple(
        msgspec.structs.replace(target, accepted=tuple(each for each in target.accepted if not each.regex))
        for target in blanks.targets
    )
    if not all(target.accepted for target in literal):
        return
    pieces = blanks.template.split(blanks.marker)
    filled = pieces[0] + "".join(
        target.accepted[0].text + piece for target, piece in zip(literal, pieces[1:], strict=True)
    )
    try:
        with patience:
            points, details = filling.grade_blanks(msgspec.structs.replace(blanks, targets=literal), filled)
    except VivaError as problem:
        section.error("blanks", str(problem))
        return
    if points.points < points.total - 1e-9:
        missed = next((text for text in details if text.startswith("unmatched")), "")
        text = f"filled in with its own answers the template earns {points.points:g} of {points.total:g}"
        section.warn("blanks", f"{text}: {shown(missed)}")


def check_tests(section: Section, tests: UnitTests | None, question: str) -> None:
    """A test that defines what it should test passes whatever the answer says."""
    pattern = tables()["definitions"].get(tests.language) if tests else None
    if tests is None or pattern is None:
        return
    asked = set(re.findall(r"\w+", question)) | {word.strip(".") for word in re.findall(r"[\w.]+", question)}
    inner = Section(section.notes, section.known["tests"], section.at("tests"), "tests")
    for (node, where), test in zip(inner.items("cases", ""), tests.tests, strict=False):
        for name in dict.fromkeys(re.findall(pattern, test.code)):
            if name in asked:
                section.notes.warn(
                    node, where, f"defines `{name}` itself, which the question names: the answer's goes untested"
                )


def check_examples_possible(
    notes: Notes, placed: Sequence[Placed], examples: Sequence[Example], rubric: Rubric
) -> None:
    """Wanted scores that no answer can get."""
    shares = shares_of(rubric)
    for (node, where), example in zip(placed, examples, strict=True):
        if problem := impossible(shares, example.wanted):
            notes.error(node, where, f"this score is not possible: {problem}")


def check_choice(section: Section, choice: ChoicePart | None, question: str) -> None:
    """A question is asked as it is written: options that it does not show cannot be chosen from."""
    folded = " ".join(question.split()).casefold()
    unseen = (
        [option for option in choice.options if " ".join(option.split()).casefold() not in folded] if choice else []
    )
    if unseen:
        section.warn(
            "choice", f"the question is asked as it is written, and does not show the option {shown(unseen[0])}"
        )


def warn_of_missing_examples(section: Section, examples: Sequence[Example], rubric: Rubric) -> None:
    """Without an answer that must score full and one that must not, nothing shows that the grading works.

    What a judge will say cannot be demanded, so its examples may be of any kind.
    """
    if not examples:
        section.warn("", "no `examples`: nothing shows that the grading does what is meant")
        return
    if rubric.judge:
        return
    full = [example for example in examples if example.wanted in ("full", 1.0)]
    if not full:
        section.warn("examples", "no example that must score full")
    if len(full) + sum(example.wanted == "above 0" for example in examples) == len(examples):
        section.warn("examples", "no example of a wrong answer (score: none, below 1, or a number)")


def warn_of_repetitions(notes: Notes, asked: Sequence[tuple[Node, OwnQuestion]]) -> None:
    """Questions with the same text."""
    seen: dict[str, str] = {}
    for node, question in asked:
        text = " ".join(question.text.split())
        earlier = seen.setdefault(text, question.id)
        if earlier != question.id:
            notes.warn(node, f"question {question.id}", f"asks the same as {earlier}, word for word")
