"""The traps: what can be read and graded, and is probably not what anybody means.

Most of them are in published question files (InfiBench's 234 questions have: an attribute at the wrong level, so that
nobody can score; accepted answers that are names of keys; tests that define the answer's function themselves). The
graders themselves are asked what the question's own text, an empty answer and the filled-in template would earn.
"""

from __future__ import annotations

from collections.abc import Sequence

from viva.benchmarks.custom import traps
from viva.benchmarks.custom.examples import impossible, shares_of
from viva.benchmarks.custom.fields import Notes, Section, shown
from viva.benchmarks.custom.model import Example, OwnQuestion
from viva.benchmarks.custom.positions import Node
from viva.benchmarks.custom.probing import Patience, is_slow
from viva.scorers.rubric.model import Blanks, ChoicePart, Rubric, UnitTests

Placed = tuple[Node, str]
"""A node, and where it is in words."""


def check_total(section: Section, rubric: Rubric) -> bool:
    """Whether anything can be earned, and what `max` and `min` make of it."""
    earnable = True
    for trap in traps.total_traps(rubric):
        key = trap.part if trap.part in section else "max" if trap.part == "min" else ""
        (section.error if trap.error else section.warn)(key, trap.text)
        earnable = earnable and not trap.error
    return earnable


def check_keywords(section: Section, rubric: Rubric, question: str, patience: Patience) -> None:
    """Items that the question's own text or an empty answer matches, and items that are there twice."""
    placed = section.items("keywords", "")
    for trap in traps.keyword_traps(rubric, question, patience):
        node, where = placed[trap.index]
        section.notes.warn(node, where, trap.text)


def check_patterns(notes: Notes, patience: Patience) -> None:
    """Expressions that are slow on the wrong text; `notes` knows them all."""
    untried = 0
    for node, where, pattern in notes.patterns:
        if patience.exhausted and pattern not in patience.verdicts:
            untried += 1
        elif is_slow(pattern, patience):
            notes.warn(node, where, traps.slow_text(pattern))
    if untried:
        node, where, _ = notes.patterns[-1]
        notes.warn(node, where, f"{untried} expressions were not tried for speed: that took too long already")


def check_blanks(section: Section, blanks: Blanks | None, patience: Patience) -> None:
    """The template, filled in with its own first answers, must earn everything."""
    if trap := traps.blank_trap(blanks, patience):
        (section.error if trap.error else section.warn)("blanks", trap.text)


def check_tests(section: Section, tests: UnitTests | None, question: str) -> None:
    """A test that defines what it should test, or that changes what it hands over, passes whatever the answer says."""
    found = list(traps.test_traps(tests, question))
    if found:
        inner = Section(section.notes, section.known["tests"], section.at("tests"), "tests")
        placed = inner.items("cases", "")
        for trap in found:
            node, where = placed[trap.index]
            section.notes.warn(node, where, trap.text)


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
