"""Check a question.yaml statically: as a question file, and as a question of a set like InfiBench.

`graded_problems` has the checks that need a grader, such as whether an empty answer passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from viva.benchmarks.custom.examples import EXACT
from viva.benchmarks.custom.positions import Listing, Mapping, Node, Unreadable, read_yaml
from viva.benchmarks.custom.questionloading import read_content
from viva.benchmarks.custom.questionmodel import OwnQuestion, Problem
from viva.benchmarks.custom.traps import FOREVER
from viva.build.files import unix_lines
from viva.build.stackexchange.kit import (
    IDLE,
    KEPT,
    LONGEST,
    TYPES,
    accepted_text,
    answers_text,
    authors_of,
    original_text,
    question_id,
)
from viva.build.stackexchange.plaintext import CLOSE, COPIED, SharedText, one_title, shared_text, words
from viva.build.stackexchange.pool import PoolQuestion
from viva.errors import VivaError
from viva.scorers.rubric import patterns
from viva.scorers.rubric.keywords import grade_keywords, leaves
from viva.scorers.rubric.rubrics import Graded, Keyword, Literally, Pattern, Rubric

METRICS = ("keywords", "blank_filling", "unit_test", "similarity")
"""The paper's metrics, named as in its tables."""
UNEVEN = 20.0
"""Ratio of two criteria's weights from which on a warning is given."""
MOST_LEAVES = 200
TITLE_WORDS = 5

Grader = Callable[[OwnQuestion, str], Graded]


class KitChecked(Struct, frozen=True, kw_only=True):
    """A question.yaml that was checked. `question` is None if it has errors."""

    question: OwnQuestion | None = None
    problems: tuple[Problem, ...] = ()
    shared_text: SharedText = SharedText(0.0, 0, 0)

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that keep it out of a set."""
        return tuple(problem for problem in self.problems if problem.severity == "error")


def metrics_of(rubric: Rubric) -> tuple[str, ...]:
    """Return the names of a rubric's metrics, in the paper's order."""
    there = (rubric.keywords, rubric.blanks, rubric.tests, rubric.similarity)
    return tuple(name for name, part in zip(METRICS, there, strict=True) if part)


@lru_cache(maxsize=KEPT)
def check_kit(about: PoolQuestion, content: bytes, path: Path) -> KitChecked:
    """Check a question.yaml without grading; problems are sorted by line. Never raises for bad contents."""
    if len(content) > LONGEST:
        text = f"{len(content):,} bytes; at most {LONGEST:,} are read"
        return KitChecked(problems=(Problem(1, 1, "", text),))
    if not content.strip():
        return KitChecked(problems=(Problem(1, 1, "", "the file is empty; remove it, and `kit` writes it anew"),))
    read = read_content(content, path)
    problems = [
        msgspec.structs.replace(problem, severity="error") if FOREVER in problem.text else problem
        for problem in read.problems
    ]
    try:
        root = read_yaml(unix_lines(content.decode("utf-8-sig")))
    except (Unreadable, UnicodeDecodeError):  # already reported by read_content
        return KitChecked(problems=tuple(problems))
    entries = at(root, "questions")
    if isinstance(entries, Listing) and len(entries.items) != 1:
        text = f"{len(entries.items)} questions; one question of Stack Overflow becomes one question"
        problems.append(Problem(entries.line, entries.column, "", text))
    broken = any(problem.severity == "error" for problem in problems)
    own = read.questions[0] if len(read.questions) == 1 and not broken else None
    if own is None:
        return KitChecked(problems=_sorted(problems))
    shared = shared_text(own.text, original_text(about))
    for message, steps, *warning in _told(about, own, shared, files=bool(read.files)):
        node = at(root, "questions", 0, *steps)
        named = [step if isinstance(step, str) else f"item {step + 1}" for step in steps]
        where = ", ".join([f"question {own.id}", *named])
        problems.append(Problem(node.line, node.column, where, message, "warning" if warning else "error"))
    sound = not any(problem.severity == "error" for problem in problems)
    return KitChecked(question=own if sound else None, problems=_sorted(problems), shared_text=shared)


def at(node: Node, *steps: str | int) -> Node:
    """Return the node at a path of keys and indices, or the deepest existing node on the way."""
    for step in steps:
        inner: Node | None = None
        if isinstance(node, Mapping) and isinstance(step, str):
            inner = next((value for key, value in node.entries if key.value == step), None)
        elif isinstance(node, Listing) and isinstance(step, int) and step < len(node.items):
            inner = node.items[step]
        if inner is None:
            return node
        node = inner
    return node


def _sorted(problems: list[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(dict.fromkeys(problems), key=lambda problem: (problem.line, problem.column)))


Told: TypeAlias = "tuple[str, tuple[str | int, ...]] | tuple[str, tuple[str | int, ...], Literal['warning']]"
"""What is wrong, and where: keys and indices in the question."""


def _told(about: PoolQuestion, own: OwnQuestion, shared: SharedText, files: bool) -> Iterator[Told]:
    """Yield the problems of a question that can be read; `files`: whether it reads other files."""
    yield from _tags(about, own)
    if files:
        yield "write the files that the tests name into this one: a decision is about it alone", ("grading", "tests")
    for name in ("choice", "truth", "judge"):
        if getattr(own.rubric, name) is not None:
            yield f"InfiBench has no {name}; it has keywords, blanks, tests, similarity", ("grading", name)
    yield from _weights(own.rubric)
    if not any(example.wanted in _FULL for example in own.examples):
        yield "no example that must score full: write the accepted answer so that it does", ("examples",)
    wrong = [example.answer.strip() for example in own.examples if example.wanted not in (*_FULL, "above 0")]
    if not set(wrong) - {"", IDLE}:
        strict = "no wrong answer that nearly fits: only such a one tells that the grading is strict"
        yield strict, ("examples",), "warning"
    if shared.words and shared.share >= COPIED:
        yield f"a copy of the original, which models know by heart: {shared}; paraphrase it", ("question",)
    elif shared.share >= CLOSE:
        yield f"close to the original: {shared}", ("question",), "warning"
    title, mine = words(one_title(about.title)), words(own.text)
    runs = (mine[start : start + len(title)] for start in range(len(mine) - len(title) + 1))
    if len(title) >= TITLE_WORDS and title in runs:
        yield "the original's title stands in it, word for word", ("question",), "warning"
    yield from _never_matched(about, own)


_FULL = ("full", 1.0)


def _tags(about: PoolQuestion, own: OwnQuestion) -> Iterator[Told]:
    tags = own.tags
    if own.id != question_id(about):
        yield f"{own.id!r} is not its id, which is {question_id(about)}", ("id",)
    if not authors_of(tags.get("author", "")):
        yield "who wrote it? Put your name there: an author cannot approve it", ("tags", "author")
    if tags.get("type") not in TYPES:
        yield f"{tags.get('type', '')!r} is none of: {', '.join(TYPES)}", ("tags", "type")
    for name, known in (("language", about.language), ("area", about.area)):
        if tags.get(name) != known:
            yield f"{tags.get(name, '')[:60]!r}; the pool says {known}", ("tags", name)
    for name in tags.keys() & {"metric", "created", "level", "source"}:
        yield f"the tag {name!r} is not yours to give: the export makes it", ("tags", name)


def _weights(rubric: Rubric) -> Iterator[Told]:
    blanks = rubric.blanks.targets if rubric.blanks else ()
    tests = rubric.tests.tests if rubric.tests else ()
    weighed: tuple[Any, ...] = (*rubric.keywords, *blanks, *tests, *rubric.similarity)
    weights = [part.weight for part in weighed]
    if weights and max(weights) > UNEVEN * min(weights):
        ends = f"the weights go from {min(weights):g} to {max(weights):g}"
        yield f"{ends}: the small ones decide nothing", ("grading",), "warning"
    if rubric.max_score is not None and rubric.max_score < sum(weights) / 2:
        most = f"`max` is {rubric.max_score:g}, less than half of the {sum(weights):g} points there are"
        yield f"{most}: an answer that misses most has full marks", ("grading", "max"), "warning"


def _never_matched(about: PoolQuestion, own: OwnQuestion) -> Iterator[Told]:
    """Tell of keywords that occur in no known answer: perhaps nobody can earn them."""
    good = [example.answer for example in own.examples if example.wanted not in ("none", 0.0)]
    texts = [*good, answers_text(about), accepted_text(about)]
    rules = ((index, item, leaf) for index, item in enumerate(own.rubric.keywords) for leaf in leaves(item.rule))
    for index, item, leaf in islice(rules, MOST_LEAVES):
        if not any(_occurs(leaf, item, text) for text in texts):
            kind, shown = ("the expression", leaf.pattern) if isinstance(leaf, Pattern) else ("the text", leaf.text)
            what = "a wrong answer may have it" if item.negative else "can anybody earn it?"
            nowhere = "occurs in no example that scores and in no answer of Stack Overflow"
            yield f"{kind} {repr(shown)[:80]} {nowhere}: {what}", ("grading", "keywords", index), "warning"


def _occurs(leaf: Literally | Pattern, item: Keyword, text: str) -> bool:
    try:
        _, matched = grade_keywords((Keyword(rule=leaf, ignore_case=item.ignore_case),), text)
    except patterns.PatternError:
        return True  # reported by another check
    return matched[0]


def graded_problems(about: PoolQuestion, own: OwnQuestion, grade: Grader) -> Iterator[Problem]:
    """Yield problems found by grading: empty answers that score, and an accepted answer that does not score full.

    `viva.benchmarks.custom.examples.check_examples` grades the examples.
    """
    where = f"question {own.id}"
    for name, text in (("an empty answer", ""), (f"the answer {IDLE!r}", IDLE)):
        share = _share(own, text, grade)
        if share is not None and share >= 1 - EXACT:
            yield Problem(own.line, 1, where, f"{name} scores full")
        elif share is not None and share > EXACT:
            yield Problem(own.line, 1, where, f"{name} scores {share:.3g}", "warning")
    accepted = accepted_text(about)
    share = _share(own, accepted, grade) if accepted.strip() else None
    if share is not None and share < 1 - EXACT:
        text = f"the accepted answer as it stands on Stack Overflow scores {share:.3g}, not full"
        yield Problem(own.line, 1, where, f"{text}: is it the question that differs, or are the criteria too strict?",
                      "warning")  # fmt: skip


def _share(own: OwnQuestion, text: str, grade: Grader) -> float | None:
    try:
        return grade(own, text).share
    except VivaError:
        return None  # reported by check_examples


def tried_texts(about: PoolQuestion, own: OwnQuestion) -> list[str]:
    """Return all answers that will be graded, so that their programs can be run first."""
    return [*(example.answer for example in own.examples), "", IDLE, accepted_text(about)]
