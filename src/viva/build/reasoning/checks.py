"""`viva build clrbench check`: check each row of the sheet, and the set for biases that guessers exploit."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from viva.benchmarks.clrbench.schema import GAP, LETTERS, Type
from viva.build.reasoning.sheet import (
    CELLS,
    CHOICES,
    DIFFICULTIES,
    LEVELS,
    NAMES,
    Collected,
    Row,
    Sheet,
    given_ids,
)
from viva.build.reasoning.topics import Graph, nearest
from viva.visible import one_line

THRESHOLD = 0.8
"""Jaccard similarity of two texts' words from which on they are reported."""


def words(text: str) -> list[str]:
    """Split a text into lower-case words, numbers and other signs; each CJK character is a word."""
    return re.findall(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+|[^\w\s.,;:?!'\"()]", text.casefold())


def near_duplicates(texts: Sequence[str], threshold: float = THRESHOLD) -> Iterator[tuple[int, int, float]]:
    """Yield pairs of positions with their similarity. Texts that differ in a number are no duplicates, since exercises
    vary numbers.

    Only texts that share one of their rarest words are compared (prefix filtering).
    """
    words_of = [frozenset(words(text)) for text in texts]
    frequency = Counter(word for each in words_of for word in each)
    numbers = [{word for word in each if any(map(str.isdigit, word))} for each in words_of]
    places: defaultdict[str, list[int]] = defaultdict(list)
    for index, each in enumerate(words_of):
        if len(each) < 4:
            continue
        rare = sorted(each, key=lambda word: (frequency[word], word))
        prefix = rare[: len(each) - math.ceil(threshold * len(each)) + 1]
        for other in sorted({other for word in prefix for other in places[word]}):
            alike = len(each & words_of[other]) / len(each | words_of[other])
            if alike >= threshold and numbers[index] == numbers[other]:
                yield other, index, alike
        for word in prefix:
            places[word].append(index)


FEWEST = 10
"""Questions below which distributions are not checked: chance alone could skew them."""
_ID = re.compile(r"[a-z0-9][a-z0-9._-]*(?:/[a-z0-9][a-z0-9._-]*){0,5}")
_JOINERS = "\u200c\u200d\xad"
_LETTER_FIRST = re.compile(r"\(?([A-Za-z])[.):]\s")


class Problem(Struct, frozen=True):
    """A problem in a row, its place and the remedy; unless it is an `error`, the question is still used."""

    row: int
    where: str
    kind: str
    message: str
    error: bool = True

    def __str__(self) -> str:
        return f"{'error' if self.error else 'warning'}: {self.where}: {self.kind}: {one_line(self.message, 400)}"


class Checked(Struct, frozen=True):
    """The usable questions and all problems."""

    questions: list[Collected]
    problems: list[Problem]
    empty: int
    """Rows still to be filled in."""

    @property
    def errors(self) -> list[Problem]:
        """Problems that keep questions out of the set."""
        return [problem for problem in self.problems if problem.error]


def check_sheet(sheet: Sheet, graph: Graph | None) -> Checked:
    """Check rows, duplicates and distributions; without a graph, topics are not looked up."""
    ids = given_ids(sheet)
    by_id: dict[str, Collected] = {}
    problems: list[Problem] = []
    for row in sheet.filled:
        told = list(_told(row, graph))
        if row.type and all(warning for _, _, _, *warning in told):
            question = _question(row, row.type, ids[row.number])
            first = by_id.setdefault(question.id, question)
            told += _leaks(question)
            if first is not question:
                message = f"{question.id!r} is also the id of row {first.row}; leave one of them empty"
                told.append(("id", "duplicate id", message))
        problems += (
            Problem(row.number, row.where(column), kind, message, not warning)
            for column, kind, message, *warning in told
        )
    repeated = list(_repeated(by_id.values()))
    problems += repeated
    dropped = {problem.row for problem in repeated if problem.error}
    questions = [question for question in by_id.values() if question.row not in dropped]
    problems += (Problem(0, "the whole sheet", kind, message, error=False) for kind, message in _habits(questions))
    problems.sort(key=lambda problem: problem.row or math.inf)
    return Checked(questions, problems, len(sheet.rows) - len(sheet.filled))


Told: TypeAlias = "tuple[str, str, str] | tuple[str, str, str, Literal['warning']]"
"""A problem's column, kind, message."""


def _told(row: Row, graph: Graph | None) -> Iterator[Told]:
    yield from _plain(row)
    yield from _topic(row.path, graph)
    if row.type:
        yield from _options(row.type, row.options)
        yield from _answer(row, row.type)
    else:
        known = ", ".join(f"{short} ({name})" for short, name in NAMES.items())
        yield "type", "type", f"{row['type'][:40]!r} is no type; write one of {known}"


def _question(row: Row, kind: Type, name: str) -> Collected:
    """Return the question of a row without errors."""
    gold = row["answer"]
    if kind in CHOICES:
        gold = "".join(sorted(_letters(gold, kind)))
    elif kind == "TF":
        gold = _truth(gold)
    others = map(str.strip, row["also_accepted"].split("\n"))
    return Collected(
        row=row.number,
        id=name,
        path=row.path,
        type=kind,
        question=row["question"],
        options=row.options,
        gold=gold,
        accepted=tuple(text for text in dict.fromkeys(others) if text and text != gold),
        rationale=row["rationale"],
        difficulty=row["difficulty"].casefold(),
        source=row["source"],
        exemplar=row["exemplar"].casefold() in CELLS["exemplar"],
    )


def _plain(row: Row) -> Iterator[Told]:
    if not row["question"]:
        yield "question", "no question", "there is an answer but no question; write it, or empty the row"
    if not row["source"]:
        yield "source", "no source", 'say where the question comes from (a book and page, a course, "own")'
    if (level := row["difficulty"]) and level.casefold() not in DIFFICULTIES:
        yield "difficulty", "difficulty", f"{level[:40]!r}: write {', '.join(DIFFICULTIES)}, or nothing"
    if (name := row["id"]) and (not _ID.fullmatch(name) or len(name) > 200):
        advice = "use a-z, 0-9, hyphens and slashes (operating-systems/mc/1), or leave it empty"
        yield "id", "id", f"{name[:60]!r}: {advice}"
    for column in ("question", "answer", "rationale", *LETTERS.lower()):
        unseen = (c for c in row[column] if unicodedata.category(c) in ("Cf", "Co", "Cn") and c not in _JOINERS)
        if hidden := next(unseen, ""):
            told = f"an invisible character U+{ord(hidden):04X}; type the cell anew if it is none of yours"
            yield column, "invisible", told, "warning"


def _topic(path: tuple[str, ...], graph: Graph | None) -> Iterator[Told]:
    if not path:
        yield "discipline", "no discipline", "name the discipline"
    elif "" in path:
        yield LEVELS[path.index("")], "topic", "a level is empty while a deeper one is not; fill it in"
    elif graph and not graph.holds(path):
        depth = next(depth for depth in range(len(path)) if not graph.holds(path[: depth + 1]))
        near = nearest(path[depth], graph.children.get(path[depth - 1], ()) if depth else graph.roots)
        below = f"below {path[depth - 1]!r} " if depth else ""
        hint = f"; did you mean {near!r}?" if near else "; add it to topics.csv, or choose one that is there"
        yield LEVELS[depth], "topic", f"{path[depth][:80]!r} is not {below}in the topic graph{hint}"


def _options(kind: Type, given: Sequence[str]) -> Iterator[Told]:
    columns = LETTERS.lower()[: len(given)]
    if kind not in CHOICES:
        if given:
            told = f"a {NAMES[kind]} question has no options; empty the cell or change the type"
            yield columns[-1], "options", told
        return
    if len(given) < 2:
        yield "b", "options", f"{len(given)} options; a {NAMES[kind]} question has 2 to 26"
    forms: dict[str, str] = {}
    for column, option in zip(columns, given, strict=True):
        form = " ".join(option.split()).casefold()
        if not option:
            yield column, "options", "empty, while a later option is not; leave no gap"
        elif form in forms:
            yield column, "options", f"the same as option {forms[form]}, but for case at most"
        else:
            if loose := next((letter for other, letter in forms.items() if _nearly(other, form)), ""):
                told = f"differs from option {loose} in punctuation or a letter only"
                yield column, "options nearly equal", told, "warning"
            forms[form] = column.upper()
    heads = [head[1].lower() for option in given if (head := _LETTER_FIRST.match(option))]
    if len(given) > 1 and "".join(heads) == columns:
        yield "a", "options", "options are written without their letters in front; Viva adds them"


def _answer(row: Row, kind: Type) -> Iterator[Told]:
    answer, shown = row["answer"], repr(row["answer"][:40])
    if kind != "FB" and row["also_accepted"]:
        yield "also_accepted", "answer", f"a {NAMES[kind]} question has one answer; empty the cell"
    if not answer:
        yield "answer", "no answer", "write the right answer"
    elif kind in CHOICES:
        yield from _choice(kind, _letters(answer, kind), LETTERS[: len(row.options)], shown)
    elif kind == "TF" and not _truth(answer):
        yield "answer", "answer", f"{shown}: write true or false"
    if kind == "FB":
        blanks = re.findall(r"_{2,}", row["question"])
        if len(blanks) != 1:
            what = f"{len(blanks)} blanks" if blanks else "no blank"
            yield "question", "blank", f"{what}; show the one blank as {GAP} (four underscores)"
        elif blanks[0] != GAP:
            yield "question", "blank", f"the blank has {len(blanks[0])} underscores; write four: {GAP}"


def _truth(answer: str) -> str:
    """Return "true" or "false" as an answer says; "" if it says neither."""
    word = answer.casefold().rstrip(".")
    return next((truth for truth in ("true", "false") if word in CELLS[truth]), "")


def _letters(answer: str, kind: Type) -> str:
    """Return the letters that an answer names; "" if it is written otherwise."""
    word = "[A-Za-z]{2}" if kind == "MC" else "[a-z]{2}"
    return "" if re.search(rf"[^A-Za-z\s,;/&+.()]|{word}", answer) else re.sub("[^A-Za-z]", "", answer).upper()


def _choice(kind: Type, named: str, legal: str, shown: str) -> Iterator[Told]:
    several = kind == "MS"
    if not named:
        how = "letters, as in A, C" if several else "letter, as in B"
        yield "answer", "answer", f"{shown}: write the {how}"
    elif wrong := set(named) - set(legal):
        yield "answer", "answer", f"there is no option {min(wrong)}; the options are {', '.join(legal)}"
    elif len(set(named)) < len(named):
        yield "answer", "answer", f"{shown} names a letter twice"
    elif not several and len(named) > 1:
        yield "answer", "answer", f"{shown}: a multiple-choice question has one right letter; for several use MS"
    elif several and len(named) == len(legal):
        yield "answer", "all right", "every option is right: whoever ticks everything wins; add a wrong one"
    elif several and len(named) == 1:
        yield "answer", "one right", "only one option is right; is it multiple choice?", "warning"


def _leaks(question: Collected) -> Iterator[Told]:
    """Tell of a question that contains its answer."""
    asked = f" {' '.join(words(question.question))} "

    def within(text: str) -> bool:
        return bool(words(text)) and f" {' '.join(words(text))} " in asked

    if question.type == "FB":
        inside = [text for text in (question.gold, *question.accepted) if len(text) > 2 and within(text)]
        if inside:
            message = f"the question contains its answer {inside[0][:60]!r}"
            yield "question", "answer in question", message, "warning"
    elif question.type == "MC":
        pairs = zip(LETTERS, question.options, strict=False)
        if [letter for letter, option in pairs if len(words(option)) > 1 and within(option)] == [question.gold]:
            message = "the question contains the right option, and no other"
            yield "question", "answer in question", message, "warning"
    elif question.type == "OE" and words(question.gold) == words(question.question):
        yield "answer", "answer in question", "the answer repeats the question", "warning"


def _nearly(*options: str) -> bool:
    """Return whether two options differ only in punctuation, or in one letter if they are long; never in a digit."""
    bare = [re.sub(r"[\s.,;:!'\"()-]+", "", option) for option in options]
    if bare[0] == bare[1]:
        return bool(bare[0])
    digits = {re.sub(r"\D", "", text) for text in bare}
    short, long = sorted(bare, key=len)
    same = next((index for index, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    rest = short[same + (len(short) == len(long)) :], long[same + 1 :]
    return len(short) >= 12 and len(digits) == 1 and rest[0] == rest[1]


def _repeated(questions: Iterable[Collected]) -> Iterator[Problem]:
    """Yield duplicate questions: errors where identical, warnings where similar."""
    first: dict[str, Collected] = {}
    for question in questions:
        earlier = first.setdefault(question.asked, question)
        if earlier is not question:
            message = f"the same question as row {earlier.row}; empty one of the rows"
            yield Problem(question.row, f"row {question.row}", "duplicate", message)
    rows = [question.row for question in first.values()]
    texts = [" ".join((question.question, *question.options)) for question in first.values()]
    for before, later, alike in near_duplicates(texts):
        message = f"much like row {rows[before]} ({100 * alike:.0f} % of the words): the same question twice?"
        yield Problem(rows[later], f"row {rows[later]}", "near-duplicate", message, error=False)


def _habits(questions: Sequence[Collected]) -> Iterator[tuple[str, str]]:
    """Yield kind and message of distributions that help guessers."""
    by_type: defaultdict[str, list[Collected]] = defaultdict(list)
    for question in questions:
        by_type[question.type].append(question)
    sized = {kind: group for kind, group in by_type.items() if len(group) >= FEWEST}
    if statements := sized.get("TF"):
        true = sum(question.gold == "true" for question in statements)
        if not 0.35 <= true / len(statements) <= 0.65:
            yield "balance", f"{true} of {len(statements)} statements are true; aim at half"
    if choices := sized.get("MC"):
        yield from _letter_habits(choices)
    if ticked := [len(question.gold) / len(question.options) for question in sized.get("MS", ())]:
        share = sum(ticked) / len(ticked)
        if share > 0.75:
            message = f"{100 * share:.0f} % of the options of multi-select questions are right; add wrong ones"
            yield "multi-select", message


def _letter_habits(questions: Sequence[Collected]) -> Iterator[tuple[str, str]]:
    """Tell if a letter, or the longest option, is right too often: 2.5 standard deviations above chance."""
    total = len(questions)
    expected = sum(1 / len(question.options) for question in questions) / total
    limit = expected + 2.5 * (expected * (1 - expected) / total) ** 0.5
    letter, times = Counter(question.gold for question in questions).most_common(1)[0]
    if times / total > limit:
        about = f"about {expected * total:.0f} are expected; move some answers"
        yield "letters", f"{letter} is right in {times} of {total} multiple-choice questions, {about}"
    longest = sum(map(_longest, questions))
    if longest / total > max(limit, 0.5):
        message = f"the longest option is right in {longest} of {total} multiple-choice questions; lengthen others"
        yield "length", message


def _longest(question: Collected) -> bool:
    *others, longest = sorted(question.options, key=len)
    return longest == question.options[LETTERS.index(question.gold)] and len(others[-1]) < len(longest)
