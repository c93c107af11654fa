"""The traps: what can be read and graded, and is probably not what anybody means.

Most of them are in published question files (InfiBench's 234 questions have: an attribute at the wrong level, so that
nobody can score; accepted answers that are names of keys; tests that define the answer's function themselves). The
graders themselves are asked what the question's own text, an empty answer and the filled-in template would earn.
"""

from __future__ import annotations

from collections.abc import Sequence

from viva.benchmarks.custom.examples import impossible, shares_of
from viva.benchmarks.custom.positions import Node
from viva.benchmarks.custom.questionmodel import Example, OwnQuestion
from viva.benchmarks.custom.slowpatterns import Patience, is_slow
from viva.benchmarks.custom.strictfields import Notes, Section, shown
from viva.benchmarks.custom.traps import blank_trap, keyword_traps, slow_text, test_traps, total_traps
from viva.scorers.rubric.rubrics import ChoicePart, Rubric

Placed = tuple[Node, str]
"""A node, and where it is in words."""


def note_traps(section: Section, rubric: Rubric, question: str, patience: Patience) -> None:
    """Note the traps of a rubric where they are; where nothing can be earned, that alone."""
    notes = section.notes
    for trap in total_traps(rubric):
        key = trap.part if trap.part in section else "max" if trap.part == "min" else ""
        (section.error if trap.error else section.warn)(key, trap.text)
        if trap.error:
            return
    check_patterns(notes, patience)
    placed = {"keywords": section.items("keywords", "")}
    if rubric.tests:
        placed["tests"] = Section(notes, section.known["tests"], section.at("tests"), "tests").items("cases", "")
    for trap in (*keyword_traps(rubric, question, patience), *test_traps(rubric.tests, question)):
        node, where = placed[trap.part][trap.index]
        notes.warn(node, where, trap.text)
    if blank := blank_trap(rubric.blanks, patience):
        (section.error if blank.error else section.warn)("blanks", blank.text)
    check_choice(section, rubric.choice, question)


def check_patterns(notes: Notes, patience: Patience) -> None:
    """Expressions that are slow on the wrong text; `notes` knows them all."""
    untried = 0
    for node, where, pattern in notes.patterns:
        if patience.exhausted and pattern not in patience.verdicts:
            untried += 1
        elif is_slow(pattern, patience):
            notes.warn(node, where, slow_text(pattern))
    if untried:
        node, where, _ = notes.patterns[-1]
        notes.warn(node, where, f"{untried} expressions were not tried for speed: that took too long already")


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
