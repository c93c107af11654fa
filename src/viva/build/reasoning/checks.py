"""`viva build clrbench check`: check each row of the sheet, and the set for biases that guessers exploit."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partialmethod

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
        reader = _Reader(row, ids.get(row.number, ""), graph)
        question = reader.read()
        if question and question.id in seen:
            other = seen[question.id]
            reader.error(
                "id", "duplicate id", f"{question.id!r} is also the id of row {other}; leave one of them empty"
            )
            question = None
        if question:
            seen[question.id] = row.number
            questions.append(question)
        problems += reader.problems
    twice = _repeated(questions)
    problems += twice
    repeated = {problem.row for problem in twice if problem.error}
    questions = [question for question in questions if question.row not in repeated]
    problems += _distribution(questions)
    problems.sort(key=lambda problem: problem.row or 1 << 30)
    return Checked(questions, problems, len(sheet.rows) - len(sheet.filled))


@dataclass
class _Reader:
    """Reader of one row."""

    row: Row
    name: str
    graph: Graph | None
    problems: list[Problem] = field(default_factory=list)

    def error(self, column: str, kind: str, message: str, *, error: bool = True) -> None:
        self.problems.append(Problem(self.row.number, self.row.where(column), kind, message, error))

    warn = partialmethod(error, error=False)

    def read(self) -> Collected | None:
        """Return the question, or None if the row has errors."""
        row = self.row
        kind = as_type(row["type"])
        self._plain()
        self._topic()
        if kind is None:
            known = ", ".join(f"{short} ({NAMES[short]})" for short in TYPES)
            self.error("type", "type", f"{row['type'][:40]!r} is no type; write one of {known}")
            return None
        options = self._options(kind)
        gold, accepted = self._answer(kind, options)
        if kind == "FB":
            self._blank()
        if any(problem.error for problem in self.problems):
            return None
        question = Collected(
            row=row.number,
            id=self.name,
            path=row.path,
            type=kind,
            question=row["question"],
            options=options,
            gold=gold,
            accepted=accepted,
            rationale=row["rationale"],
            difficulty=row["difficulty"].casefold(),
            source=row["source"],
            exemplar=row["exemplar"].casefold() in CELLS["exemplar"],
        )
        self._leaks(question)
        return question

    def _plain(self) -> None:
        row = self.row
        if not row["question"]:
            self.error("question", "no question", "there is an answer but no question; write it, or empty the row")
        if not row["source"]:
            self.error("source", "no source", 'say where the question comes from (a book and page, a course, "own")')
        if row["difficulty"] and row["difficulty"].casefold() not in DIFFICULTIES:
            self.error(
                "difficulty", "difficulty", f"{row['difficulty'][:40]!r}: write {', '.join(DIFFICULTIES)}, or nothing"
            )
        if row["id"] and (not _ID.fullmatch(row["id"]) or len(row["id"]) > 200):
            self.error(
                "id",
                "id",
                f"{row['id'][:60]!r}: use a-z, 0-9, hyphens and slashes (operating-systems/mc/1), or leave it empty",
            )
        for column in ("question", "answer", "rationale", *LETTERS.lower()):
            hidden = next(
                (
                    c
                    for c in row[column]
                    if unicodedata.category(c) in ("Cf", "Co", "Cn") and c not in "\u200c\u200d\xad"
                ),
                "",
            )
            if hidden:
                self.warn(
                    column,
                    "invisible",
                    f"an invisible character U+{ord(hidden):04X}; type the cell anew if it is none of yours",
                )

    def _topic(self) -> None:
        path = self.row.path
        if not path:
            self.error("discipline", "no discipline", "name the discipline")
            return
        for column, name in zip(("discipline", "topic", "subtopic"), path, strict=False):
            if not name:
                self.error(column, "topic", "a level is empty while a deeper one is not; fill it in")
                return
        if self.graph is None or self.graph.holds(path):
            return
        for depth, column in enumerate(("discipline", "topic", "subtopic")[: len(path)]):
            if self.graph.holds(path[: depth + 1]):
                continue
            offered = self.graph.children.get(path[depth - 1], ()) if depth else self.graph.roots
            near = nearest(path[depth], offered)
            below = f"below {path[depth - 1]!r} " if depth else ""
            hint = f"; did you mean {near!r}?" if near else "; add it to topics.csv, or choose one that is there"
            self.error(column, "topic", f"{path[depth][:80]!r} is not {below}in the topic graph{hint}")
            return

    def _options(self, kind: Type) -> tuple[str, ...]:
        row = self.row
        given = [row[letter] for letter in LETTERS.lower()]
        while given and not given[-1]:
            given.pop()
        if kind not in ("MC", "MS"):
            if given:
                self.error(
                    LETTERS[len(given) - 1].lower(),
                    "options",
                    f"a {NAMES[kind]} question has no options; empty the cell or change the type",
                )
            return ()
        if len(given) < 2:
            self.error("b", "options", f"{len(given)} options; a {NAMES[kind]} question has 2 to 26")
        folded: dict[str, str] = {}
        for letter, option in zip(LETTERS, given, strict=False):
            column = letter.lower()
            if not option:
                self.error(column, "options", "empty, while a later option is not; leave no gap")
                continue
            form = " ".join(option.split()).casefold()
            if form in folded:
                self.error(column, "options", f"the same as option {folded[form]}, but for case at most")
            loose = next((other for text, other in folded.items() if _nearly(text, form)), "")
            if loose and form not in folded:
                self.warn(
                    column, "options nearly equal", f"differs from option {loose} in punctuation or a letter only"
                )
            folded.setdefault(form, letter)
        headed = [_LETTER_FIRST.match(option) for option in given]
        if len(given) > 1 and all(
            label and label[1].upper() == letter for label, letter in zip(headed, LETTERS, strict=False)
        ):
            self.error("a", "options", "options are written without their letters in front; Viva adds them")
        return tuple(given)

    def _answer(self, kind: Type, options: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        row, answer = self.row, self.row["answer"]
        if kind != "FB" and row["also_accepted"]:
            self.error("also_accepted", "answer", f"a {NAMES[kind]} question has one answer; empty the cell")
        if not answer:
            self.error("answer", "no answer", "write the right answer")
            return "", ()
        if kind in ("MC", "MS"):
            return self._letters(kind, options), ()
        if kind == "TF":
            word = answer.casefold().rstrip(".")
            if word not in CELLS["true"] | CELLS["false"]:
                self.error("answer", "answer", f"{answer[:40]!r}: write true or false")
            return "true" if word in CELLS["true"] else "false", ()
        accepted = [line.strip() for line in row["also_accepted"].split("\n") if line.strip()] if kind == "FB" else []
        return answer, tuple(text for text in dict.fromkeys(accepted) if text != answer)

    def _letters(self, kind: Type, options: tuple[str, ...]) -> str:
        answer = self.row["answer"]
        letters = re.findall(r"[A-Za-z]+", answer)
        told = "".join(letters).upper() if all(len(part) == 1 or kind == "MS" for part in letters) else ""
        extra = re.sub(r"[A-Za-z\s,;/&+.()]|and", "", answer)
        if not told or extra or re.search(r"[a-z]{2}", answer):
            example = "B" if kind == "MC" else "A, C"
            self.error(
                "answer", "answer", f"{answer[:40]!r}: write the letter{'s' if kind == 'MS' else ''}, as in {example}"
            )
            return ""
        legal = LETTERS[: len(options)]
        wrong = sorted(set(told) - set(legal))
        if wrong:
            self.error("answer", "answer", f"there is no option {wrong[0]}; the options are {', '.join(legal)}")
        elif len(set(told)) < len(told):
            self.error("answer", "answer", f"{answer[:40]!r} names a letter twice")
        elif kind == "MC" and len(told) != 1:
            self.error(
                "answer",
                "answer",
                f"{answer[:40]!r}: a multiple-choice question has one right letter; for several use MS",
            )
        elif kind == "MS" and len(told) == len(options):
            self.error("answer", "all right", "every option is right: whoever ticks everything wins; add a wrong one")
        elif kind == "MS" and len(told) == 1:
            self.warn("answer", "one right", "only one option is right; is it multiple choice?")
        return "".join(sorted(told))

    def _blank(self) -> None:
        text = self.row["question"]
        blanks = re.findall(r"_{2,}", text)
        if len(blanks) != 1:
            what = "no blank" if not blanks else f"{len(blanks)} blanks"
            self.error("question", "blank", f"{what}; show the one blank as {GAP} (four underscores)")
        elif blanks[0] != GAP:
            self.error("question", "blank", f"the blank has {len(blanks[0])} underscores; write four: {GAP}")

    def _leaks(self, question: Collected) -> None:
        """Report a question that contains its answer."""
        asked = f" {' '.join(words(question.question))} "
        if question.type == "FB":
            for text in (question.gold, *question.accepted):
                if len(text) > 2 and words(text) and f" {' '.join(words(text))} " in asked:
                    self.warn("question", "answer in question", f"the question contains its answer {text[:60]!r}")
                    return
        elif question.type == "MC":
            inside = [letter for letter, option in zip(LETTERS, question.options, strict=False)
                      if len(words(option)) > 1 and f" {' '.join(words(option))} " in asked]  # fmt: skip
            if inside == [question.gold]:
                self.warn("question", "answer in question", "the question contains the right option, and no other")
        elif question.type == "OE" and " ".join(words(question.gold)) == asked.strip():
            self.warn("answer", "answer in question", "the answer repeats the question")


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
