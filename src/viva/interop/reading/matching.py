"""Match items of another tool's log to the benchmark's questions.

An item matches by its id, unless its texts contradict that; else by the question's text, which the item must contain
word for word (blanks, case and width of letters aside), with the options if there are any. A text that is only similar
is refused, and the similar question named. Questions with the same text are told apart by options, gold answer and file
name; those that agree in all of these are assigned in turn. Matching by order must be asked for.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from viva.errors import DataError
from viva.interop.reading.rows import Given, Item
from viva.scorers.choice import read_choice
from viva.types import Question
from viva.visible import one_line

_GRAM = 5
_ENOUGH = 0.6
_LONGEST = 20_000
"""Characters of a prompt that are searched for similar questions."""


def bare(text: str) -> str:
    """Return a text without blanks, in one case, and with one form of every letter (NFKC)."""
    if text.isascii():
        return "".join(text.lower().split())
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def grams(text: str) -> frozenset[str]:
    """Return the substrings of five characters; of a shorter text the text itself."""
    return (
        frozenset(text[start : start + _GRAM] for start in range(max(1, len(text) - _GRAM + 1)))
        if text
        else frozenset()
    )


class QuestionOverlap:
    """Similarity of questions to texts, for messages and for ids whose text was edited; never for a match by text."""

    def __init__(self, questions: Iterable[Question]) -> None:
        self._questions = list(questions)
        self._grams = [grams(bare(question.text)) for question in self._questions]
        self._at = {question.id: index for index, question in enumerate(self._questions)}
        self._having: dict[str, list[int]] = {}
        for index, grams_of_question in enumerate(self._grams):
            for gram in grams_of_question:
                self._having.setdefault(gram, []).append(index)

    def share(self, question: Question, texts: Sequence[str]) -> float:
        """Return the share of a question's `grams` that the texts contain, 0 to 1."""
        own = self._grams[self._at[question.id]]
        inside = frozenset[str]().union(*(grams(bare(text[:_LONGEST])) for text in texts))
        return len(own & inside) / len(own) if own else 0.0

    def nearest(self, texts: Sequence[str]) -> Question | None:
        """Return the question with the largest such share, or None where all are below three fifths."""
        counted: Counter[int] = Counter()
        for gram in frozenset[str]().union(*(grams(bare(text[:_LONGEST])) for text in texts)):
            counted.update(self._having.get(gram, ()))
        best = max(counted, key=lambda index: counted[index] / len(self._grams[index]), default=None)
        if best is None or counted[best] < _ENOUGH * len(self._grams[best]):
            return None
        return self._questions[best]


ID, TEXT, ORDER = "by id", "by text", "by order"
LEAST = 12
"""Characters that a question needs to be recognised inside a longer prompt, a Chinese one counting as two; a shorter
one needs its options there."""
_AT_ONCE = 4000
"""Items searched in one call: each call compiles the patterns again."""
_PLACES = 20
"""Most places of a text tried in a prompt, from its end: an option may repeat the question."""
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Match(Struct, frozen=True):
    """An item and the question that it matches."""

    item: Item
    question: Question
    how: str


class Missed(Struct, frozen=True):
    """An item that matches no question, or could be several, and why."""

    item: Item
    why: str


class Matching(Struct):
    """The result for all items."""

    found: list[Match]
    missed: list[Missed]

    def counted(self) -> dict[str, int]:
        """Return the number of matches by method."""
        return dict(Counter(match.how for match in self.found))


class _Span(Struct, frozen=True):
    """Place of a question: index of the text, start, end of the question's own text, end of its last option."""

    where: int
    start: int
    over: int
    end: int

    def within(self, other: _Span) -> bool:
        """Tell whether it lies within another question's text or options."""
        if self.where != other.where or not other.start <= self.start:
            return False
        if self.over <= other.over:
            return self.over - self.start < other.over - other.start
        return self.start >= other.over and self.end <= other.end


class QuestionMatcher:
    """Matcher of items to the questions of an exam."""

    def __init__(self, questions: Iterable[Question]) -> None:
        whole = list(questions)
        self._whole = {question.id: question for question in whole}
        # Options that all questions share (letters, yes and no) identify none, so items need not contain them.
        shared = len(whole) > 1 and len({question.options for question in whole}) == 1
        self.questions = [replace(question, options=()) for question in whole] if shared else whole
        self._by_id = {question.id: question for question in self.questions}
        self._by_text: dict[str, list[Question]] = {}
        self._lines: dict[str, tuple[str, ...]] = {}
        self._anchors: dict[str, list[str]] = {}
        """A text's longest line → the texts that have it: what is looked for in prompts, all at once."""
        for question in self.questions:
            text = bare(question.text)
            self._by_text.setdefault(text, []).append(question)
        for text, (first, *_) in self._by_text.items():
            lines = tuple(line for line in map(bare, first.text.splitlines()) if line)
            if lines:
                self._lines[text] = lines
                self._anchors.setdefault(max(lines, key=len), []).append(text)
        self._alike: QuestionOverlap | None = None
        self._turns: Counter[tuple[object, ...]] = Counter()

    def match(
        self, items: Sequence[Item], *, by_order: bool = False, told: Callable[[int], None] = lambda done: None
    ) -> Matching:
        """Match every item to its question; `told` is called with the number of items done.

        Raises DataError where `by_order` contradicts ids, texts, or the number of questions.
        """
        self._turns.clear()
        anchored = self._anchored(items)
        matches: list[Match] = []
        missed: list[Missed] = []
        for done, (item, anchors) in enumerate(zip(items, anchored, strict=True)):
            told(done)
            question, reason = self._one(item, anchors)
            if question is None:
                missed.append(Missed(item, reason))
            else:
                matches.append(Match(item, self._whole[question.id], reason))
        if by_order and missed:
            return self._ordered(items, matches)
        return Matching(matches, missed)

    def _ordered(self, items: Sequence[Item], matches: Sequence[Match]) -> Matching:
        if len(items) != len(self.questions):
            raise DataError(
                f"--by-order: {len(items):,} items were read, and the set has {len(self.questions):,} questions; "
                "they must be as many"
            )
        known = {id(match.item): match for match in matches}
        placed: list[Match] = []
        for number, (item, question) in enumerate(zip(items, self.questions, strict=True), 1):
            match = known.get(id(item))
            if match and match.question.id != question.id and bare(match.question.text) != bare(question.text):
                raise DataError(
                    f"--by-order: item {number} ({item.where}) is question {match.question.id!r} {match.how}, and "
                    f"{question.id!r} by its place: the order is another one"
                )
            placed.append(Match(item, self._whole[question.id], match.how if match else ORDER))
        return Matching(placed, [])

    def _anchored(self, items: Sequence[Item]) -> list[tuple[str, ...]]:
        """Return the anchors in each item's texts (Aho-Corasick); none where its id or a whole text identifies it."""
        import polars as pl

        searched = ["" if self._plain(item) else "\0".join(map(bare, item.texts)) for item in items]
        if not any(searched) or not self._anchors:
            return [()] * len(items)
        anchored: list[tuple[str, ...]] = []
        patterns = list(self._anchors)
        for start in range(0, len(searched), _AT_ONCE):
            texts = pl.Series(searched[start : start + _AT_ONCE], dtype=pl.String)
            hits = texts.str.extract_many(patterns, overlapping=True).to_list()
            anchored += [tuple(dict.fromkeys(hit or ())) for hit in hits]
        return anchored

    def _plain(self, item: Item) -> bool:
        """Tell whether the item's id, or one of its texts as a whole, identifies a question."""
        return self._named(item) is not None or any(bare(text) in self._by_text for text in item.texts)

    def _named(self, item: Item) -> Question | None:
        """Return the question with the item's id, if the item contains its text or has no text."""
        for question in (self._by_id[identity] for identity in item.ids if identity in self._by_id):
            text = bare(question.text)
            if not _tells(item) or (
                text in self._lines and any(self._span(text, bare(part)) for part in item.texts if part)
            ):
                return question
        return None

    def _one(self, item: Item, anchors: tuple[str, ...]) -> tuple[Question | None, str]:
        """Return an item's question and the method, or None and the reason."""
        named = self._named(item)
        if named is not None:
            return self._checked(named, item)
        whole = next((text for text in map(bare, item.texts) if text in self._by_text), None)
        candidates = self._by_text[whole] if whole is not None else self._inside(item, anchors)
        named = next((self._by_id[identity] for identity in item.ids if identity in self._by_id), None)
        if named is not None:
            if any(named.id == candidate.id for candidate in candidates):
                return self._checked(named, item)
            if not candidates and self._overlap().share(named, item.texts) >= 0.5:
                return self._checked(named, item)
            if not candidates:
                return None, f"its id is {named.id!r}, but its text is of another question"
        if not candidates:
            return None, self._nearest(item)
        return self._resolved(candidates, item)

    def _checked(self, question: Question, item: Item) -> tuple[Question | None, str]:
        if _other_options(question, item):
            return None, f"its id is {question.id!r}, but its options are of another question"
        return question, ID

    def _inside(self, item: Item, anchors: tuple[str, ...]) -> list[Question]:
        """Return the question that a prompt asks: the last one in it whose options are there too."""
        if not anchors:
            return []
        texts = [bare(text) for text in item.texts]
        spans: dict[str, _Span] = {}
        for text in (text for anchor in anchors for text in self._anchors[anchor]):
            for where, prompt in enumerate(texts):
                span = self._span(text, prompt, where)
                if span:
                    spans[text] = span
                    break
        # A question within another question's text or options is a part of that one.
        kept = [
            text
            for text, span in spans.items()
            if not any(other != text and span.within(wider) for other, wider in spans.items())
        ]
        if not kept:
            return []
        last = max(kept, key=lambda text: (-spans[text].where, spans[text].end))
        place = spans[last]
        rest = texts[place.where][place.over :]
        there = [question for question in self._by_text[last] if _options_end(question, rest, 0) is not None]
        return [question for question in there if _in_order(question, rest)] or there

    def _span(self, text: str, prompt: str, where: int = 0) -> _Span | None:
        """Return a question's last place in a prompt that its options follow, among the last `_PLACES`."""
        lines = self._lines[text]
        longest = max(range(len(lines)), key=lambda index: len(lines[index]))
        place = len(prompt)
        for _ in range(_PLACES):
            place = prompt.rfind(lines[longest], 0, place + len(lines[longest]) - 1)
            if place < 0:
                return None
            span = self._span_at(text, prompt, longest, place)
            if span is not None:
                return _Span(where, *span)
        return None

    def _span_at(self, text: str, prompt: str, longest: int, place: int) -> tuple[int, int, int] | None:
        """Return start, text's end and options' end of the question whose longest line begins at `place`, or None."""
        lines = self._lines[text]
        start, end = place, place + len(lines[longest])
        for line in reversed(lines[:longest]):
            start = prompt.rfind(line, 0, start)
            if start < 0:
                return None
        for line in lines[longest + 1 :]:
            end = prompt.find(line, end)
            if end < 0:
                return None
            end += len(line)
        ends = [_options_end(question, prompt, end) for question in self._by_text[text]]
        known = [stop for stop in ends if stop is not None]
        if not known or (sum(map(_weight, lines)) < LEAST and max(known) == end):
            return None
        return start, end, max(known)

    def _resolved(self, candidates: Sequence[Question], item: Item) -> tuple[Question | None, str]:
        """Choose among questions with the same text, by options, gold, order and group; else None and the reason."""
        left = [question for question in candidates if not _other_options(question, item)]
        if not left:
            return None, f"it reads as question {candidates[0].id!r}, but its options are others"
        for narrow in (_same_gold, _same_order, _same_group):
            if len(left) > 1:
                left = narrow(left, item) or left
        if len(left) == 1:
            return left[0], TEXT
        if len({(tuple(sorted(map(bare, candidate.options))), gold_text(candidate)) for candidate in left}) > 1:
            which = ", ".join(repr(candidate.id) for candidate in left[:4])
            return None, f"it could be any of {which}: they read alike, and its options and gold do not tell"
        twins = tuple(candidate.id for candidate in left)
        turn = self._turns[item.file, *twins]
        self._turns[item.file, *twins] += 1
        if turn >= len(left):
            return None, f"there are {len(left)} questions that read so, and this is one more"
        return left[turn], TEXT

    def _nearest(self, item: Item) -> str:
        if not _tells(item):
            return f"its id {item.ids[0]!r} is none of this set's" if item.ids else "it has neither an id nor a text"
        near = self._overlap().nearest(item.texts)
        if near is None:
            return "no question of this set stands in it"
        return f"no question of this set stands in it word for word; {near.id!r} is alike, which is not enough"

    def _overlap(self) -> QuestionOverlap:
        if self._alike is None:
            self._alike = QuestionOverlap(self.questions)
        return self._alike


def _tells(item: Item) -> bool:
    """Tell whether the item has a text other than its id."""
    return any(text not in item.ids for text in item.texts)


def _weight(line: str) -> int:
    return len(line) + sum(not character.isascii() for character in line)


def _options_end(question: Question, prompt: str, start: int) -> int | None:
    """Return where the last of a question's options ends, in any order; None where one is missing."""
    end = start
    for option in map(bare, question.options):
        place = prompt.find(option, start)
        if place < 0:
            return None
        end = max(end, place + len(option))
    return end


def _in_order(question: Question, prompt: str) -> bool:
    """Tell whether a prompt has a question's options in their own order."""
    place = 0
    for option in map(bare, question.options):
        place = prompt.find(option, place)
        if place < 0:
            return False
        place += len(option)
    return True


def _other_options(question: Question, item: Item) -> bool:
    """Tell whether the item's options are known, and are not the question's."""
    if not item.options or not question.options:
        return False
    return sorted(map(bare, item.options)) != sorted(map(bare, question.options))


def gold_text(question: Question) -> str:
    """Return the gold answer for comparison: of an option's letter the option's text; empty where there is none."""
    answer = question.answer or ""
    if question.options and len(answer) == 1 and answer in _LETTERS[: len(question.options)]:
        return bare(question.options[_LETTERS.index(answer)])
    return bare(answer)


def _same_gold(candidates: Sequence[Question], item: Item) -> list[Question]:
    gold_given = item.gold.strip()
    if item.options and len(gold_given) == 1 and gold_given.upper() in _LETTERS[: len(item.options)]:
        gold_given = item.options[_LETTERS.index(gold_given.upper())]
    return [
        candidate
        for candidate in candidates
        if gold_given and bare(gold_given) in (gold_text(candidate), bare(candidate.answer or ""))
    ]


def _same_order(candidates: Sequence[Question], item: Item) -> list[Question]:
    shown = list(map(bare, item.options))
    return [candidate for candidate in candidates if shown and list(map(bare, candidate.options)) == shown]


def _same_group(candidates: Sequence[Question], item: Item) -> list[Question]:
    """Return those whose id begins with what the file is named after (`agronomy/0`, samples_cmmlu_agronomy)."""
    group = bare(item.group)
    begun = {
        candidate.id: re.escape(bare(candidate.id.rpartition("/")[0]))
        for candidate in candidates
        if "/" in candidate.id
    }
    return [
        candidate
        for candidate in candidates
        if candidate.id in begun and re.search(rf"(?<![^\W_]){begun[candidate.id]}(?![^\W_])", group)
    ]


def told(missed: Missed) -> str:
    """Return a message about an unmatched item, escaped for terminals."""
    return one_line(f"{missed.item.where}: {missed.why}", 400)


TURNED = "its options stood in another order, and its letters cannot be turned back"


def rows_of(matches: Iterable[Match]) -> Iterator[dict[str, Any]]:
    """Yield one row for each answer. Raises DataError where a question was answered twice under one number."""
    seen: dict[tuple[str, int], str] = {}
    for match in matches:
        for given in match.item.given:
            key = (match.question.id, given.sample)
            if key in seen:
                raise DataError(
                    f"question {key[0]!r}, sample {key[1]} is answered twice: {seen[key]}; {match.item.where}. Give "
                    "the file that is meant, or number the samples 0, 1, ..."
                )
            seen[key] = match.item.where
            text = said(given, match.item, match.question)
            row: dict[str, Any] = {"question": key[0], "sample": key[1], "text": text}
            if given.stop_reason != "stop":
                row["stop_reason"] = given.stop_reason
            if text is None:
                row["error"] = given.error or (TURNED if given.text is not None else "no answer")
            elif text != given.text:
                row["said"] = given.text
            if given.usage is not None:
                row["usage"] = {"input": given.usage.input, "output": given.usage.output}
            yield row


def said(given: Given, item: Item, question: Question) -> str | None:
    """Return an answer with the letters of our question: its options may have been shown in another order.

    None where there is no answer, or its letters cannot be mapped back.
    """
    text = given.text
    if text is None or question.kind not in ("choice", "choices") or not question.options:
        return text
    ours = [bare(option) for option in question.options]
    shown = [bare(option) for option in item.options]
    if given.picked is not None:
        known = len(shown) == len(item.offered) and given.picked < len(shown)
        return _letter(shown[given.picked] if known else bare(text), ours) or text
    if not shown or shown == ours or sorted(shown) != sorted(ours):
        return text
    if question.kind == "choices" or text.lstrip().startswith("{"):
        return None  # several letters, or a rationale that mentions them, cannot all be mapped back
    letter = read_choice(text, letters=_LETTERS[: len(shown)], options=item.options).read
    if len(letter) != 1 or letter not in _LETTERS[: len(shown)]:
        return text
    return _letter(shown[_LETTERS.index(letter)], ours) or text


def _letter(option: str, ours: list[str]) -> str:
    """Return the letter of an option; "" where none or several match."""
    return _LETTERS[ours.index(option)] if ours.count(option) == 1 else ""
