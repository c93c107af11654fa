"""Traps in rubrics: points for nothing, or points that nobody can earn; valid, but probably unintended.

They are found by running the graders on answers whose score is known beforehand: an empty one, the question's own text,
the template filled in with its own answers. Tests are searched for definitions of what they test, and for changes of
what they hand to the answer. Most traps occur in published question files (InfiBench's 234 questions have: an attribute
at the wrong level, so that nobody can score; accepted answers that are names of keys; tests that define the answer's
function themselves).

Regular expressions that take forever are found by trying, since no static check decides it for every engine: the
expression's own characters are repeated, followed by something that cannot match. None of the expressions in
InfiBench's 234 questions is slow on that.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import math
import re
import time
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from viva.benchmarks.custom.examples import impossible, shares_of, total_of
from viva.benchmarks.custom.positions import Node
from viva.benchmarks.custom.questionmodel import Example, OwnQuestion, tables
from viva.benchmarks.custom.strictfields import Field, Notes, Section, shown
from viva.errors import VivaError
from viva.scorers.rubric import blanks as filling
from viva.scorers.rubric import patterns
from viva.scorers.rubric.keywords import grade_keywords, leaves
from viva.scorers.rubric.parsing import bound, parse
from viva.scorers.rubric.rubrics import Blanks, ChoicePart, Keyword, Pattern, Rubric, Rule, UnitTests

REPEATED = 400
"""Repetitions of a piece, about the length of a short answer. A pattern that is slow on answers then takes several
times the limit of a search on any machine: with half of it, fast machines let `(x+x+)+y` pass."""
SECONDS = 8.0
"""Seconds of CPU time for trying all expressions of one file: results do not depend on the machine's load."""
_MAX_PROBES = 40
_UNBOUNDED = re.compile(r"[*+]|\{\d*,?\d*\}")
_REPEATED_GROUP = re.compile(r"\)(?:[*+]|\{\d*,?\d*\})")
_CLASSES = {"d": "0", "w": "a", "s": " ", "n": "\n", "t": "\t", "D": "a", "W": "-", "S": "a", "b": "", "B": ""}
_WALL = "\x01"
"""Follows the repetitions: no real expression expects it. The end of the expression comes after it, or an engine that
first looks for required characters would not even begin."""


class Patience:
    """Budget of CPU seconds for all trials on one file; the rest is not tried."""

    def __init__(self, seconds: float | None = None) -> None:
        self._left = SECONDS if seconds is None else seconds
        self.verdicts: dict[str, bool] = {}
        """Tried expression → whether it is slow."""

    @property
    def exhausted(self) -> bool:
        """Whether nothing more should be tried."""
        return self._left <= 0

    def __enter__(self) -> None:
        self._began = time.thread_time()

    def __exit__(self, *_: object) -> None:
        self._left -= time.thread_time() - self._began

    def is_tried_by(self, pattern: str, text: str) -> bool:
        """Tell whether a search takes too long (see patterns.py); false once the budget is exhausted."""
        if self.exhausted:
            return False
        with self:
            try:
                patterns.search(pattern, text)
            except patterns.PatternError:
                return True
        return False


def is_slow(pattern: str, patience: Patience) -> bool:
    """Tell whether the expression takes longer than a search may on one of the texts made for it."""
    if pattern not in patience.verdicts:
        doubtful = len(_UNBOUNDED.findall(pattern)) > 1 or _REPEATED_GROUP.search(pattern)
        tried = _probes(pattern) if doubtful else ()
        patience.verdicts[pattern] = any(patience.is_tried_by(pattern, probe) for probe in tried)
    return patience.verdicts[pattern]


def _probes(pattern: str) -> Iterator[str]:
    """Yield texts that begin like a match of the expression, then repeat one to three of its characters."""
    skeleton = _skeleton(pattern)
    seen: set[str] = set()
    for start in range(len(skeleton)):
        for width in (1, 2, 3):
            probe = skeleton[:start] + skeleton[start : start + width] * REPEATED + _WALL + skeleton + _WALL
            if probe not in seen:
                seen.add(probe)
                yield probe
                if len(seen) >= _MAX_PROBES:
                    return


def _skeleton(pattern: str) -> str:
    """Return roughly the shortest match of an expression: its characters without the operators."""
    text = re.sub(r"\(\?(?:[a-zA-Z-]*[:)]|P<\w*>|<?[=!]|P=\w+\))?", "", pattern)
    text = re.sub(r"\{\d*,?\d*\}", "", text)
    text = re.sub(r"\[\^[^\]]*\]", "a", text)
    text = re.sub(r"\[\\?([^\]])[^\]]*\]", r"\1", text)
    text = re.sub(r"\\(.)", lambda match: _CLASSES.get(match[1], match[1]), text, flags=re.DOTALL)
    return re.sub(r"[*+?()|^$]", "", text).replace(".", "a")[:30]


MOST_COMPARED = 20_000_000
"""Most parts of rules times characters of a question's text; beyond it, matches with the text itself are not tried."""
MAX_TEST = 100_000
"""Characters of a test that is parsed."""
FOREVER = "takes forever on some texts"
"""Message about an expression without a bound on its time; an error in sets made for others."""
Part = Literal["", "max", "min", "keywords", "blanks", "tests"]
_CHANGING = frozenset((
    "append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "update", "add", "discard", "setdefault",
    "popitem", "appendleft", "popleft", "fill", "resize", "put", "itemset",
))  # fmt: skip
"""Methods of Python's containers, and of arrays, that change them in place."""
_VIEWS = frozenset({"loc", "iloc", "at", "iat"})
"""Attributes of a frame through which the frame is changed."""


class Trap(msgspec.Struct, frozen=True):
    """Something probably unintended in a rubric: its part, and the item in it (-1: the part as a whole).

    `kind` is a heading of `viva check`; with an `error` no points can be earned.
    """

    part: Part
    index: int
    kind: str
    text: str
    error: bool = False


def traps(rubric: Rubric, question: str, patience: Patience) -> Iterator[Trap]:
    """Yield all traps that can be found without running a program."""
    yield from total_traps(rubric)
    yield from keyword_traps(rubric, question, patience)
    yield from pattern_traps(rubric, patience)
    if trap := blank_trap(rubric.blanks, patience):
        yield trap
    yield from test_traps(rubric.tests, question)
    if trap := negative_trap(rubric):
        yield trap


def negative_trap(rubric: Rubric) -> Trap | None:
    """Return the trap of points that can fall below 0 without a least score."""
    lost = sum(item.weight for item in rubric.keywords if item.negative)
    total = total_of(rubric) if rubric.max_score is None else rubric.max_score
    if not lost or not total or rubric.min_score is not None or rubric.handler:
        return None
    text = f"no least score is named: an answer can get {-lost:g} of {total:g} points as published, and 0 otherwise"
    return Trap("keywords", -1, "unbounded negative points", text)


def total_traps(rubric: Rubric) -> Iterator[Trap]:
    """Yield traps of the total: nothing can be earned, or the largest or least score makes no sense."""
    total = total_of(rubric)
    if total <= 0 and not rubric.handler:
        if rubric.keywords and all(item.negative for item in rubric.keywords):
            yield Trap(
                "keywords", -1, "nothing to earn", "every item takes points away: nothing can be earned", error=True
            )
        else:
            yield Trap("", -1, "nothing to earn", "nothing in it can earn a point", error=True)
        return
    most, least = rubric.max_score, rubric.min_score or 0.0
    if most is not None and not rubric.handler and not math.isclose(most, total):
        if most > total:
            text = f"can never be reached: all parts together give {total:g}, and `max` is {most:g}"
            yield Trap("max", -1, "unreachable total", text)
        else:
            text = f"all parts together give {total:g}; what is above {most:g} is lost (fine if that is meant)"
            yield Trap("max", -1, "points above the maximum", text)
    reachable = total if most is None else most
    if least >= reachable and not rubric.handler:
        text = f"`min` is {least:g}: then a full answer gets no more than an empty one"
        yield Trap("min", -1, "nothing to earn", text, error=True)
    elif least > 0:
        text = f"every answer gets at least {least:g}, also one that says nothing"
        yield Trap("min", -1, "points for nothing", text)


def keyword_traps(rubric: Rubric, question: str, patience: Patience) -> Iterator[Trap]:
    """Yield items that the question's own text or an empty answer matches, and repeated items."""
    seen: dict[tuple[Rule, bool], int] = {}
    nothing = _matched(rubric.keywords, "", patience)
    size = sum(1 for item in rubric.keywords for _ in leaves(item.rule, denied=True))
    asked = _matched(rubric.keywords, question if size * len(question) < MOST_COMPARED else "", patience)
    for index, item in enumerate(rubric.keywords):
        first = seen.setdefault((item.rule, item.ignore_case), index)
        if first != index:
            text = f"the same as item {first + 1}: one match counts twice"
            yield Trap("keywords", index, "the same item twice", text)
        if nothing[index]:
            effect = "loses" if item.negative else "earns"
            text = f"matches an empty answer too, which {effect} points by it"
            yield Trap("keywords", index, "an empty answer matches", text)
        elif asked[index] and not item.negative:
            text = "the question's own text matches: an answer that repeats the question earns it"
            yield Trap("keywords", index, "the question's own text matches", text)


def _matched(items: Sequence[Keyword], text: str, patience: Patience) -> Sequence[bool]:
    """Return for each item whether it matches a text; () if that takes too long."""
    if not patience.exhausted:
        with contextlib.suppress(VivaError), patience:
            return grade_keywords(items, text)[1]
    return [False] * len(items)


def pattern_traps(rubric: Rubric, patience: Patience) -> Iterator[Trap]:
    """Yield expressions that are slow on some texts."""
    for index, item in enumerate(rubric.keywords):
        for part in leaves(item.rule, denied=True):
            if isinstance(part, Pattern) and is_slow(part.pattern, patience):
                yield Trap("keywords", index, "slow expression", slow_text(part.pattern))
    for index, target in enumerate(rubric.blanks.targets if rubric.blanks else ()):
        for each in target.accepted:
            if each.regex and is_slow(each.text, patience):
                yield Trap("blanks", index, "slow expression", slow_text(each.text))


def slow_text(pattern: str) -> str:
    """Return the message about a slow expression."""
    text = f"{shown(pattern)} {FOREVER} (repetition inside repetition, as in '(a+)+')"
    return f"{text}: an answer like that cannot be graded"


def blank_trap(blanks: Blanks | None, patience: Patience) -> Trap | None:
    """Return the trap of a template that, filled in with its own first answers, does not earn everything."""
    if blanks is None or patience.exhausted:
        return None
    literal = tuple(
        msgspec.structs.replace(target, accepted=tuple(each for each in target.accepted if not each.regex))
        for target in blanks.targets
    )
    if not all(target.accepted for target in literal):
        return None
    pieces = blanks.template.split(blanks.marker)
    filled = pieces[0] + "".join(
        target.accepted[0].text + piece for target, piece in zip(literal, pieces[1:], strict=True)
    )
    try:
        with patience:
            points, details = filling.grade_blanks(msgspec.structs.replace(blanks, targets=literal), filled)
    except VivaError as problem:
        return Trap("blanks", -1, "blanks that cannot be graded", str(problem), error=True)
    if points.points >= points.total - 1e-9:
        return None
    missed = next((text for text in details if text.startswith("unmatched")), "")
    text = f"filled in with its own answers the template earns {points.points:g} of {points.total:g}"
    return Trap("blanks", -1, "unreachable points", f"{text}: {shown(missed)}")


def test_traps(tests: UnitTests | None, question: str) -> Iterator[Trap]:
    """Yield tests that define what they should test, or change what they hand to the answer."""
    if tests is None:
        return
    pattern = tables()["definitions"].get(tests.language)
    asked = set(re.findall(r"\w+", question)) | {word.strip(".") for word in re.findall(r"[\w.]+", question)}
    for index, test in enumerate(tests.tests):
        tree = _tree(test.code) if tests.language == "python" else None
        defined = () if tree and reads_what_it_never_binds(tree) else re.findall(pattern, test.code) if pattern else ()
        for name in dict.fromkeys(defined):
            if name not in asked:
                continue
            text = f"defines `{name}` itself, which the question names: the answer's goes untested"
            yield Trap("tests", index, "a test of its own definition", text)
        if tree:
            for function, argument in aliased(tree):
                text = f"its own `{function}` changes `{argument}` in place, and the answer is given it too"
                yield Trap("tests", index, "a test that shares what it changes", text)


def _tree(code: str) -> ast.Module | None:
    """Return the tree of a Python test; None where it cannot be parsed, or is too short for a trap."""
    if len(code) > MAX_TEST or code.count("(") < 2:  # a definition and a call
        return None
    return parse(code)


def reads_what_it_never_binds(tree: ast.AST) -> bool:
    """Tell whether a program uses a name that it does not bind, such as one that a test expects from the answer."""
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return bool(read - bound(tree) - set(dir(builtins)))


def aliased(tree: ast.Module) -> tuple[tuple[str, str], ...]:
    """Return (function, argument) of a Python test whose function changes an argument that the answer is given, too.

    Certain cases only: the argument is a variable, bound once, that both are given without a copy.
    """
    changing = {node.name: _changed_parameters(node) for node in tree.body if isinstance(node, ast.FunctionDef)}
    outside = [
        node for statement in tree.body if not isinstance(statement, ast.FunctionDef) for node in ast.walk(statement)
    ]
    stored = [node.id for node in outside if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    calls = [
        (node.func.id, node.args) for node in outside if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    known = bound(tree) | set(dir(builtins))
    handed = {
        argument.id
        for name, given in calls
        if name not in known
        for argument in given
        if isinstance(argument, ast.Name)
    }
    names: dict[tuple[str, str], None] = {}
    for name, given in calls:
        for place, argument in enumerate(given):
            if isinstance(argument, ast.Name) and argument.id in handed and place in changing.get(name, ()):
                names |= {(name, argument.id): None} if stored.count(argument.id) == 1 else {}
    return tuple(names)


def _changed_parameters(function: ast.FunctionDef) -> frozenset[int]:
    """Return the indices of parameters that a function changes in place: it sets their items, or calls mutating
    methods.
    """
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    changed: dict[str, int] = {}
    for node in ast.walk(function):
        if isinstance(node, (ast.Subscript, ast.Attribute)) and not isinstance(node.ctx, ast.Load):
            target: ast.expr = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            inplace = any(
                word.arg == "inplace" and isinstance(word.value, ast.Constant) and word.value.value is True
                for word in node.keywords
            )
            if node.func.attr not in _CHANGING and not inplace:
                continue
            target = node.func.value
        else:
            continue
        while isinstance(target, ast.Attribute) and target.attr in _VIEWS:
            target = target.value
        if isinstance(target, ast.Name):
            changed[target.id] = min(node.lineno, changed.get(target.id, node.lineno))
    for node in ast.walk(function):  # what a name is bound to later is another object
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.lineno <= changed.get(node.id, 0):
            del changed[node.id]
    return frozenset(place for place, name in enumerate(names) if name in changed)


def note_traps(section: Section, rubric: Rubric, question: str, patience: Patience) -> None:
    """Note the traps of a rubric at their places; if nothing can be earned, that trap alone."""
    for trap in total_traps(rubric):
        field = section[trap.part if trap.part in section or trap.part != "min" else "max"]
        (field.error if trap.error else field.warn)(trap.text)
        if trap.error:
            return
    check_patterns(section.field.notes, patience)
    placed = {"keywords": section.items("keywords", "")}
    if rubric.tests:
        placed["tests"] = Section(section["tests"], "tests").items("cases", "")
    for trap in (*keyword_traps(rubric, question, patience), *test_traps(rubric.tests, question)):
        placed[trap.part][trap.index].warn(trap.text)
    if blank := blank_trap(rubric.blanks, patience):
        (section["blanks"].error if blank.error else section["blanks"].warn)(blank.text)
    check_choice(section, rubric.choice, question)


def check_patterns(notes: Notes, patience: Patience) -> None:
    """Note expressions that are slow on some texts; `notes` has all expressions."""
    untried = 0
    for field, pattern in notes.patterns:
        if patience.exhausted and pattern not in patience.verdicts:
            untried += 1
        elif is_slow(pattern, patience):
            field.warn(slow_text(pattern))
    if untried:
        last, _ = notes.patterns[-1]
        last.warn(f"{untried} expressions were not tried for speed: that took too long already")


def check_examples_possible(placed: Sequence[Field], examples: Sequence[Example], rubric: Rubric) -> None:
    """Note expected scores that no answer can get."""
    shares = shares_of(rubric)
    for field, example in zip(placed, examples, strict=True):
        if problem := impossible(shares, example.wanted):
            field.error(f"this score is not possible: {problem}")


def check_choice(section: Section, choice: ChoicePart | None, question: str) -> None:
    """Warn of options that the question, which is asked as written, does not show."""
    folded = " ".join(question.split()).casefold()
    unseen = (
        [option for option in choice.options if " ".join(option.split()).casefold() not in folded] if choice else []
    )
    if unseen:
        section["choice"].warn(
            f"the question is asked as it is written, and does not show the option {shown(unseen[0])}"
        )


def warn_of_missing_examples(section: Section, examples: Sequence[Example], rubric: Rubric) -> None:
    """Warn unless examples show that the grading works: one that must score full, and one that must not.

    A judge's score cannot be guaranteed, so examples for a judge may be of any kind.
    """
    if not examples:
        section.field.warn("no `examples`: nothing shows that the grading does what is meant")
        return
    if rubric.judge:
        return
    full = [example for example in examples if example.wanted in ("full", 1.0)]
    if not full:
        section["examples"].warn("no example that must score full")
    if len(full) + sum(example.wanted == "above 0" for example in examples) == len(examples):
        section["examples"].warn("no example of a wrong answer (score: none, below 1, or a number)")


def warn_of_repetitions(notes: Notes, asked: Sequence[tuple[Node, OwnQuestion]]) -> None:
    """Warn of questions with the same text."""
    seen: dict[str, str] = {}
    for node, question in asked:
        text = " ".join(question.text.split())
        earlier = seen.setdefault(text, question.id)
        if earlier != question.id:
            notes.warn(node, f"question {question.id}", f"asks the same as {earlier}, word for word")
