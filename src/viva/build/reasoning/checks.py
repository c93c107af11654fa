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
    DIFFICULTIES,
    NAMES,
    TYPES,
    Collected,
    Row,
    Sheet,
    as_type,
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
    numbers = [tuple(sorted(word for word in each if any(c.isdigit() for c in word))) for each in words_of]
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
    questions: list[Collected] = []
    problems: list[Problem] = []
    seen: dict[str, int] = {}
    for row in sheet.filled:
        question, told = _read(row, ids.get(row.number, ""), graph)
        if question and question.id in seen:
            message = f"{question.id!r} is also the id of row {seen[question.id]}; leave one of them empty"
            told += _placed(row, [("id", "duplicate id", message)])
            question = None
        if question:
            seen[question.id] = row.number
            questions.append(question)
        problems += told
    twice = _repeated(questions)
    problems += twice
    repeated = {problem.row for problem in twice if problem.error}
    questions = [question for question in questions if question.row not in repeated]
    problems += _distribution(questions)
    problems.sort(key=lambda problem: problem.row or 1 << 30)
    return Checked(questions, problems, len(sheet.rows) - len(sheet.filled))


_LEVELS = ("discipline", "topic", "subtopic")
_CHOICES = ("MC", "MS")
Told: TypeAlias = "tuple[str, str, str] | tuple[str, str, str, Literal['warning']]"
"""A problem's column, kind, message."""


def _read(row: Row, name: str, graph: Graph | None) -> tuple[Collected | None, list[Problem]]:
    """Return the question of a row, None if the row has errors, and its problems."""
    kind = as_type(row["type"])
    told = [*_plain(row), *_topic(row.path, graph)]
    options = [row[letter] for letter in LETTERS.lower()]
    while options and not options[-1]:
        options.pop()
    if kind is None:
        known = ", ".join(f"{short} ({NAMES[short]})" for short in TYPES)
        told.append(("type", "type", f"{row['type'][:40]!r} is no type; write one of {known}"))
    else:
        told += [*_options(kind, options), *_answer(row, kind, len(options))]
    problems = list(_placed(row, told))
    if kind is None or any(problem.error for problem in problems):
        return None, problems
    gold = row["answer"]
    if kind in _CHOICES:
        gold = "".join(sorted(_letters(gold, kind)))
    elif kind == "TF":
        gold = _truth(gold)
    others = (line.strip() for line in row["also_accepted"].split("\n"))
    question = Collected(
        row=row.number,
        id=name,
        path=row.path,
        type=kind,
        question=row["question"],
        options=tuple(options),
        gold=gold,
        accepted=tuple(text for text in dict.fromkeys(others) if text and text != gold),
        rationale=row["rationale"],
        difficulty=row["difficulty"].casefold(),
        source=row["source"],
        exemplar=row["exemplar"].casefold() in CELLS["exemplar"],
    )
    return question, [*problems, *_placed(row, _leaks(question))]


def _placed(row: Row, told: Iterable[Told]) -> Iterator[Problem]:
    for column, kind, message, *warning in told:
        yield Problem(row.number, row.where(column), kind, message, not warning)


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
        yield _LEVELS[path.index("")], "topic", "a level is empty while a deeper one is not; fill it in"
    elif graph is not None and not graph.holds(path):
        depth = next(depth for depth in range(len(path)) if not graph.holds(path[: depth + 1]))
        offered = graph.children.get(path[depth - 1], ()) if depth else graph.roots
        near = nearest(path[depth], offered)
        below = f"below {path[depth - 1]!r} " if depth else ""
        hint = f"; did you mean {near!r}?" if near else "; add it to topics.csv, or choose one that is there"
        yield _LEVELS[depth], "topic", f"{path[depth][:80]!r} is not {below}in the topic graph{hint}"


def _options(kind: Type, given: Sequence[str]) -> Iterator[Told]:
    letters = LETTERS[: len(given)]
    if kind not in _CHOICES:
        if given:
            last = letters[-1].lower()
            yield last, "options", f"a {NAMES[kind]} question has no options; empty the cell or change the type"
        return
    if len(given) < 2:
        yield "b", "options", f"{len(given)} options; a {NAMES[kind]} question has 2 to 26"
    forms: dict[str, str] = {}
    for letter, option in zip(letters, given, strict=True):
        form = " ".join(option.split()).casefold()
        if not option:
            yield letter.lower(), "options", "empty, while a later option is not; leave no gap"
        elif form in forms:
            yield letter.lower(), "options", f"the same as option {forms[form]}, but for case at most"
        else:
            loose = next((other for text, other in forms.items() if _nearly(text, form)), "")
            if loose:
                told = f"differs from option {loose} in punctuation or a letter only"
                yield letter.lower(), "options nearly equal", told, "warning"
            forms[form] = letter
    headed = [(label := _LETTER_FIRST.match(option)) and label[1].upper() for option in given]
    if len(given) > 1 and headed == list(letters):
        yield "a", "options", "options are written without their letters in front; Viva adds them"


def _answer(row: Row, kind: Type, options: int) -> Iterator[Told]:
    answer, shown = row["answer"], repr(row["answer"][:40])
    if kind != "FB" and row["also_accepted"]:
        yield "also_accepted", "answer", f"a {NAMES[kind]} question has one answer; empty the cell"
    if not answer:
        yield "answer", "no answer", "write the right answer"
    elif kind in _CHOICES:
        yield from _letter_problems(kind, _letters(answer, kind), LETTERS[:options], shown)
    elif kind == "TF" and not _truth(answer):
        yield "answer", "answer", f"{shown}: write true or false"
    if kind == "FB":
        blanks = re.findall(r"_{2,}", row["question"])
        if len(blanks) != 1:
            what = "no blank" if not blanks else f"{len(blanks)} blanks"
            yield "question", "blank", f"{what}; show the one blank as {GAP} (four underscores)"
        elif blanks[0] != GAP:
            yield "question", "blank", f"the blank has {len(blanks[0])} underscores; write four: {GAP}"


def _truth(answer: str) -> str:
    """Return "true" or "false" as an answer says; "" if it says neither."""
    word = answer.casefold().rstrip(".")
    return next((truth for truth in ("true", "false") if word in CELLS[truth]), "")


def _letters(answer: str, kind: Type) -> str:
    """Return the letters that an answer names; "" if it is written otherwise."""
    named = re.findall(r"[A-Za-z]+", answer)
    extra = re.sub(r"[A-Za-z\s,;/&+.()]", "", answer)
    if extra or re.search(r"[a-z]{2}", answer) or (kind == "MC" and any(len(part) > 1 for part in named)):
        return ""
    return "".join(named).upper()


def _letter_problems(kind: Type, named: str, legal: str, shown: str) -> Iterator[Told]:
    several = kind == "MS"
    wrong = sorted(set(named) - set(legal))
    if not named:
        how = "letters, as in A, C" if several else "letter, as in B"
        yield "answer", "answer", f"{shown}: write the {how}"
    elif wrong:
        yield "answer", "answer", f"there is no option {wrong[0]}; the options are {', '.join(legal)}"
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
    told: Told | None = None
    if question.type == "FB":
        inside = [text for text in (question.gold, *question.accepted) if len(text) > 2 and _within(text, asked)]
        if inside:
            told = "question", "answer in question", f"the question contains its answer {inside[0][:60]!r}", "warning"
    elif question.type == "MC":
        pairs = zip(LETTERS, question.options, strict=False)
        inside = [letter for letter, option in pairs if len(words(option)) > 1 and _within(option, asked)]
        if inside == [question.gold]:
            told = "question", "answer in question", "the question contains the right option, and no other", "warning"
    elif question.type == "OE" and " ".join(words(question.gold)) == asked.strip():
        told = "answer", "answer in question", "the answer repeats the question", "warning"
    if told:
        yield told


def _within(text: str, asked: str) -> bool:
    return bool(words(text)) and f" {' '.join(words(text))} " in asked


def _nearly(left: str, other: str) -> bool:
    """Return whether two options differ only in punctuation, or in one letter if they are long; never in a digit."""
    bare = [re.sub(r"[\s.,;:!'\"()-]+", "", text.casefold()) for text in (left, other)]
    if bare[0] == bare[1]:
        return bool(bare[0])
    if (
        min(map(len, bare)) < 12
        or abs(len(bare[0]) - len(bare[1])) > 1
        or re.sub(r"\D", "", bare[0]) != re.sub(r"\D", "", bare[1])
    ):
        return False
    short, long = sorted(bare, key=len)
    same = next((index for index, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    return short[same + (len(short) == len(long)) :] == long[same + 1 :]


def _repeated(questions: Sequence[Collected]) -> list[Problem]:
    """Return duplicate questions: errors where identical, warnings where similar."""
    problems: list[Problem] = []
    by_key: dict[str, Collected] = {}
    for question in questions:
        first = by_key.setdefault(question.asked, question)
        if first is not question:
            message = f"the same question as row {first.row}; empty one of the rows"
            problems.append(Problem(question.row, f"row {question.row}", "duplicate", message))
    distinct = list(by_key.values())
    texts = [" ".join((question.question, *question.options)) for question in distinct]
    for earlier, other, alike in near_duplicates(texts):
        a, b = distinct[earlier], distinct[other]
        message = f"much like row {a.row} ({100 * alike:.0f} % of the words): the same question twice?"
        problems.append(Problem(b.row, f"row {b.row}", "near-duplicate", message, error=False))
    return problems


def _distribution(questions: Sequence[Collected]) -> Iterator[Problem]:
    """Yield warnings of distributions that help guessers."""
    by_type: defaultdict[str, list[Collected]] = defaultdict(list)
    for question in questions:
        by_type[question.type].append(question)
    told: list[tuple[str, str]] = []
    truths = Counter(question.gold for question in by_type["TF"])
    total = truths.total()
    if total >= FEWEST and not 0.35 <= truths["true"] / total <= 0.65:
        told.append(("balance", f"{truths['true']} of {total} statements are true; aim at half"))
    if len(by_type["MC"]) >= FEWEST:
        told += _letter_habits(by_type["MC"])
    ticked = [len(question.gold) / len(question.options) for question in by_type["MS"]]
    if len(ticked) >= FEWEST and sum(ticked) / len(ticked) > 0.75:
        share = 100 * sum(ticked) / len(ticked)
        told.append(
            ("multi-select", f"{share:.0f} % of the options of multi-select questions are right; add wrong ones")
        )
    for kind, message in told:
        yield Problem(0, "the whole sheet", kind, message, error=False)


def _letter_habits(questions: Sequence[Collected]) -> Iterator[tuple[str, str]]:
    """Yield a warning if a letter, or the longest option, is right too often: 2.5 standard deviations above chance."""
    total = len(questions)
    expected = sum(1 / len(question.options) for question in questions) / total
    limit = expected + 2.5 * (expected * (1 - expected) / total) ** 0.5
    letter, times = Counter(question.gold for question in questions).most_common(1)[0]
    if times / total > limit:
        about = f"about {expected * total:.0f} are expected; move some answers"
        yield "letters", f"{letter} is right in {times} of {total} multiple-choice questions, {about}"
    longest = sum(map(_longest, questions))
    if longest / total > max(limit, 0.5):
        yield (
            "length",
            f"the longest option is right in {longest} of {total} multiple-choice questions; lengthen others",
        )


def _longest(question: Collected) -> bool:
    lengths = [len(option) for option in question.options]
    right = lengths[LETTERS.index(question.gold)]
    return right == max(lengths) and lengths.count(right) == 1
