"""Rubrics as plain data: the rules by which a free-form answer earns points. Loaders build them, graders read them.

The language is InfiBench's (section 3 and appendix of its paper), cleaned: a rubric has items with weights, points are
added up, clipped, and divided by the total. Where the authors' grader does something unintended, the published
behaviour is kept as a field (`fold_pattern`), so that both go through the same code.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from viva.types import Call

# --- rules: does a text contain something? ---


class Literally(Struct, frozen=True, tag="text"):
    """The text contains this, character by character."""

    text: str


class Pattern(Struct, frozen=True, tag="regex"):
    """The regular expression is found somewhere in the text (Python's syntax; a dot does not match a line feed)."""

    pattern: str


class AnyOf(Struct, frozen=True, tag="any"):
    """At least one of the rules holds; never, if there are none."""

    rules: tuple[Rule, ...]


class AllOf(Struct, frozen=True, tag="all"):
    """All the rules hold."""

    rules: tuple[Rule, ...]


class NotRule(Struct, frozen=True, tag="not"):
    """The rule does not hold."""

    rule: Rule


class When(Struct, frozen=True, tag="when"):
    """The rule holds, and so does a condition on the items before this one (see conditions.py)."""

    rule: Rule
    condition: str


class Matched(Struct, frozen=True, tag="matched"):
    """An item before this one matched: `item` counts from 1, and 0 is the one before. Conditions consist of these."""

    item: int


Rule = Literally | Pattern | AnyOf | AllOf | NotRule | When | Matched


def inner(rule: Rule) -> tuple[Rule, ...]:
    """Return the rules within a rule."""
    match rule:
        case AnyOf(rules=rules) | AllOf(rules=rules):
            return rules
        case NotRule(rule=within) | When(rule=within):
            return (within,)
    return ()


class Keyword(Struct, frozen=True, kw_only=True):
    """One item of a keyword list: what must (or must not) occur, and what it is worth.

    A match adds `weight`; with `negative` it takes `weight` away, and the item does not count towards the total.
    `ignore_case` compares in lower case. `fold_pattern` is the published reading of that for regular expressions: the
    pattern itself is put in lower case (so that `\\S` becomes `\\s`) instead of being matched regardless of case.
    """

    rule: Rule
    weight: float = 1.0
    ignore_case: bool = False
    negative: bool = False
    fold_pattern: bool = False


# --- blanks ---


class Accepted(Struct, frozen=True):
    """One accepted filling of a blank."""

    text: str
    regex: bool = False


class Blank(Struct, frozen=True, kw_only=True):
    """One blank of a template. Without `substring` the filling must be the accepted text and nothing else."""

    accepted: tuple[Accepted, ...]
    weight: float = 1.0
    ignore_case: bool = False
    substring: bool = False
    fold_pattern: bool = False


class Blanks(Struct, frozen=True, kw_only=True):
    """A template with blanks, aligned with the answer to find what was filled in. One `targets` entry a blank."""

    template: str
    targets: tuple[Blank, ...]
    marker: str = "[blank]"
    strip: str = " '\"`"


# --- unit tests ---


class Test(Struct, frozen=True, kw_only=True):
    """One program that tests the answer's code.

    `prefix` is text put before the answer *before* code is taken out of it (published reading: lost when the answer
    has fences); `before` is code put before the answer's code. With `calls` there is no `code`.
    """

    __test__ = False  # not a test of pytest's

    code: str
    prefix: str = ""
    before: str = ""
    calls: tuple[Call, ...] = ()
    weight: float = 1.0
    seconds: float | None = None
    longest_only: bool = False


class UnitTests(Struct, frozen=True, kw_only=True):
    """Programs that test the answer's code; `files` are (name, content) pairs in their folder."""

    language: str
    tests: tuple[Test, ...]
    files: tuple[tuple[str, str], ...] = ()


# --- the rest ---

Overlap = Literal["rouge1", "rouge2", "rougeL", "rougeLsum"]


class Similarity(Struct, frozen=True, kw_only=True):
    """ROUGE F1 against the best of the references, mapped from [low, high] to [0, 1]."""

    metric: Overlap
    references: tuple[str, ...]
    low: float = 0.30
    high: float = 0.51
    weight: float = 1.0


class ChoicePart(Struct, frozen=True, kw_only=True):
    """The answer is one of the options: `answer` is its letter, A for the first."""

    options: tuple[str, ...]
    answer: str
    weight: float = 1.0


class TruthPart(Struct, frozen=True, kw_only=True):
    """The answer is true or false."""

    answer: bool
    weight: float = 1.0


class JudgePart(Struct, frozen=True, kw_only=True):
    """A judge model marks the answer from 0 to 10 against a reference, by these instructions."""

    reference: str
    instructions: str = ""
    weight: float = 1.0


class Rubric(Struct, frozen=True, kw_only=True):
    """The complete rules for one answer. `handler` names one of the graders written for single published questions.

    `max_score` replaces the total (also when the parts add up to more, or to less) and caps the points; `min_score` is
    the least that an answer gets: 0 by default, without a limit as published.
    """

    keywords: tuple[Keyword, ...] = ()
    blanks: Blanks | None = None
    tests: UnitTests | None = None
    similarity: tuple[Similarity, ...] = ()
    handler: str = ""
    choice: ChoicePart | None = None
    truth: TruthPart | None = None
    judge: JudgePart | None = None
    max_score: float | None = None
    min_score: float | None = None


class Points(Struct, frozen=True):
    """The points of one metric of a rubric, their total, and a line of explanation for each item.

    `pending` says why they cannot be known yet (a test that nothing here can run, a judge that was not asked).
    """

    points: float
    total: float
    details: tuple[str, ...] = ()
    pending: str = ""
    unread: str = ""
    """For a letter or truth value: the reading of a reply that commits to none (unparsed, empty, refused)."""


class Graded(Struct, frozen=True, kw_only=True):
    """An answer graded: `share` is points / total after clipping (below 0 only as published), None while pending."""

    share: float | None
    points: float
    total: float
    parts: dict[str, Points]
    """By metric: keywords, blank_filling, unit_test, similarity, customized, choice, truth, judge."""
    pending: str = ""
    invalid_gold: str = ""
    """Why this answer cannot be graded with this rubric at all (a pattern that takes forever, a total of 0): also in
    `pending`, but another attempt would not help."""
