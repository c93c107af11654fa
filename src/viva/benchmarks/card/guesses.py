"""Guesses, from names and values, of the meaning of a table's columns."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from viva.benchmarks.card.cardmodel import Answer, Card, Format, Options
from viva.benchmarks.card.cells import (
    FILE,
    LETTER,
    LETTERS,
    ROW,
    cell_or_none,
    chat_of,
    columns_of,
    is_scored,
    list_of,
    split_options,
    text_of,
    texts_of,
)
from viva.benchmarks.card.questions import truth_of
from viva.errors import flag
from viva.files import shipped_table
from viva.io.tables import KEY
from viva.scorers.number import value_of
from viva.types import Language

Guess = tuple[Card, Mapping[str, str]]
"""A card, and the evidence for each of its fields."""
Row = Mapping[str, Any]
Layout = str | list[str] | Options

RIGHT = re.compile(r"(correct|right|best|true)[ _-]?(answer|option|choice)s?", re.IGNORECASE)
WRONG = re.compile(
    r"(incorrect|wrong|false|distractor|distractors)([ _-]?(answer|option|choice)s?)?[ _-]?\d*", re.IGNORECASE
)
LETTERED = re.compile(r"(|.*[ _.-]|opt?|ans|answer|option|choice|op|选项)([A-Ja-j])")
NUMBERED = re.compile(r"(.*?(?:option|choice|sol|ending|answer|ans|opt|candidate)[ _-]?)(\d)", re.IGNORECASE)
_ANY_NUMBERED = re.compile(r"(\D+?)[ _-]?[1-9]")
_FEWEST_NUMBERED = 3
"""Columns such as `Möglichkeit 1`, `Möglichkeit 2`, … that are options whatever they are called."""
DOUBT = ", and neither 0 nor the last: from 0 or from 1?"
"""The end of a note about places that may count from either."""
_UNPARTED = "by its name; nothing tells them apart"
_FORMULA = re.compile(r"\\(?:frac|dfrac|sqrt|pi|text|left|circ|boxed)|\$.+\$|[\dxyn)]\s?\^\s?[{\d]")
_NAME = re.compile(r"[^\W\d_]{2}")
"""Beginning of a text that is no number with a unit: Apollo 11."""
_WIDE = re.compile("[\u2e80-\U0010ffff]")
"""A character of a script without spaces, which says as much as two letters."""
_ANSWERING = ("assistant", "gpt")
"""Roles of the last turn in a chat that ends with the gold answer."""
_SENTENCE = 15
"""Characters from which a text may be a question, or a part of one."""
_LONG = 60
"""Characters from which a text that questions share is a passage."""
MOST_VALUES = 60
"""Most values of a tag."""
_MOST_CLASSES = 10
_UNNAMED = "all answers are these words, which the texts do not name"
CODES = "so few numbers that they may be classes"
"""The note about answers such as 0, 1, 2, whose meaning a question should say."""


COLUMNS = shipped_table(__file__, "columns.toml", dict[str, list[Any]])
"""Names of columns: columns.toml."""


class _Table(Struct, dict=True):
    """The sampled rows by columns, without empty cells."""

    rows: Sequence[Row]
    names: list[str]
    inner: list[str] = []
    """Paths into cells that hold objects."""

    def values(self, name: str, most: int = 400) -> list[Any]:
        """Return the values of a column, without empty ones."""
        values_here = [
            value for row in self.rows[: most * 3] if (value := cell_or_none(row, name)) not in (None, "", [])
        ]
        return values_here[:most]

    def named(self, kind: str) -> list[str]:
        """Return the columns of a kind in the order of its names, in any spelling; or paths that end in such a name."""
        ends = {plain_name(name.rpartition(".")[2]): name for name in reversed(self.names) if "." in name}
        plain = ends | {plain_name(name): name for name in reversed([*self.names, *self.inner])}
        return [plain[name] for name in COLUMNS[kind] if name in plain]

    def golds(self) -> list[str]:
        """Return the columns that may hold the gold answer, the likeliest first."""
        named = self.named("answers")
        told = [name for name in self.names if _words(name, "gold_words") and not _words(name, "no_gold")]
        return list(dict.fromkeys([*named, *told]))

    @cached_property
    def tags(self) -> list[str]:
        """Columns that group the questions; the file comes first, if there are several."""
        others = {*self.golds(), *self.named("explanations"), *self.named("ids")}
        files = [FILE] if len({row[FILE] for row in self.rows}) > 1 else []
        return files + [name for name in [*self.names, *self.inner] if name not in others and _is_tag(self, name)]


@cache
def plain_name(name: str) -> str:
    """Return `correctAnswer`, `Correct Answer` and `correct-answer` as `correct_answer`."""
    if not name.strip().isupper():
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\s-]+", "_", name.strip()).lower()


def _words(name: str, kind: str) -> bool:
    """Tell whether a column's name has a word of a kind."""
    return any(word in COLUMNS[kind] for word in re.split(r"[^a-z]+", plain_name(name)))


def table_of(rows: Sequence[Row]) -> _Table:
    """Return sampled rows by columns."""
    names = list(dict.fromkeys(name for row in rows[:200] for name in row if name not in (FILE, ROW)))
    inner = []
    for name in names:
        first = next((row[name] for row in rows[:50] if row.get(name)), None)
        if isinstance(first, Mapping) and len(first) <= 12:
            inner += [f"{name}.{key}" for key, value in first.items() if isinstance(key, str) and "." not in key]
    table = _Table(rows, names, inner)
    if not table.named("questions"):  # {"content": {"stem": …}}
        table.names = names + [path for name in names for path in _paths(rows[0].get(name), name)]
    return table


def _paths(value: Any, name: str, depth: int = 3) -> Iterator[str]:
    """Return the paths into a cell that holds objects, those that hold options among them ({A: …, B: …}) as one."""
    if not isinstance(value, Mapping) or not depth:
        return
    for key, item in value.items():
        if isinstance(key, str) and key and "." not in key and len(value) <= 12:
            yield f"{name}.{key}"
            if not (isinstance(item, Mapping) and all(re.fullmatch("[A-Za-z0-9]", str(part)) for part in item)):
                yield from _paths(item, f"{name}.{key}", depth - 1)


def guesses(rows: Sequence[Row]) -> Iterator[Guess]:
    """Yield cards that may fit the table, the likeliest first."""
    table = table_of(rows)
    for question in questions(table):
        told = any(map(_is_text, table.values(question, 50)))  # a chat with other keys can be asked only by its parts
        for layout, note in layouts(table, question) if told else ():
            yield from _choices(table, question, layout, note)
        yield from _chats(table, question)
        yield from _free(table, question) if told else ()


def questions(table: _Table) -> list[str]:
    """Return the columns that may hold the question: by their names, else that of the longest text."""
    named = [
        name
        for name in table.named("questions")
        if any(_is_text(value) or _turns(value) for value in table.values(name, 50))
    ]
    named = [name for name in named if name in table.names and (name != KEY or _length(table, name) > _SENTENCE)]
    if named:
        return named[:3]
    lengths = {name: _length(table, name) for name in table.names}
    texts = sorted((name for name, length in lengths.items() if length > _SENTENCE), key=lambda name: -lengths[name])
    return texts[:2]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or chat_of(value) is not None


def _turns(value: Any) -> tuple[str, str] | None:
    """Return the keys of speaker and text in a chat; None where the value is no chat."""
    for speaker, words in (("role", "content"), ("from", "value")):
        if isinstance(value, list) and value and all(_says(turn, speaker, words) for turn in value):
            return speaker, words
    return None


def _says(message: Any, speaker: str, words: str) -> bool:
    return isinstance(message, Mapping) and isinstance(message.get(speaker), str) and words in message


def _length(table: _Table, name: str) -> float:
    texts = [value for value in table.values(name, 100) if isinstance(value, str)]
    return sum(len(text) + len(_WIDE.findall(text)) for text in texts) / len(texts) if texts else 0.0


def layouts(table: _Table, question: str) -> Iterator[tuple[Layout, str]]:
    """Yield possible places of the options, each with the evidence."""
    right = [name for name in table.names if RIGHT.fullmatch(name.strip()) and name != question]
    wrong = [name for name in table.names if WRONG.fullmatch(name.strip())]
    if right and wrong:
        listed = len(wrong) == 1 and any(
            list_of(entry) or ";" in text_of(entry) for entry in table.values(wrong[0], 20)
        )
        if len(wrong) > 1 or listed:
            yield Options(right=right[0], wrong=wrong[0] if listed else wrong), "one right and several wrong answers"
    for group in (*_named_groups(table, question), *_groups(table, question)):
        yield group, "a column an option"
    named = [name for name in table.named("options") if name != question]
    others = (name for name in table.names if name not in (*table.named("explanations"), question, "questions"))
    for name in dict.fromkeys((*named, *others)):
        lists = [texts_of(entry, bare=name in named) for entry in table.values(name, 50) if chat_of(entry) is None]
        read = [each for each in lists if each is not None]
        if read and len(read) >= 0.8 * len(lists) and _share(len(each[0]) >= 2 for each in read) >= 0.8:
            yield name, "a list of options"
    ends = [split_options(chat_of(value) or text_of(value)) for value in table.values(question, 50)]
    if sum(end is not None for end in ends) > 0.5 * len(ends):
        yield Options(in_question=True), "the question's text ends with them"
    yield from ((name, _UNPARTED) for name in named if name not in table.named("answers"))


def _named_groups(table: _Table, question: str) -> Iterator[list[str]]:
    """Yield columns that the gold answers name, with similar columns around them."""
    for gold in table.names:
        words = {text_of(value).strip() for value in table.values(gold)}
        named = [name for name in table.names if name in words]
        if len(named) < 2 or len(named) < len(words) or question in named:
            continue
        lengths = set(map(len, named))
        yield [name for name in table.names if name in words or (len(name) in lengths and name not in (gold, question))]


def _groups(table: _Table, question: str) -> Iterator[list[str]]:
    """Yield columns such as A, B, C, D; option1, option2; opa, opb."""
    lettered: dict[str, dict[str, str]] = {}
    numbered: dict[str, dict[str, str]] = {}
    others: dict[str, list[str]] = {}
    for name in table.names:
        if name == question:
            continue
        for pattern, groups in ((LETTERED, lettered), (NUMBERED, numbered)):
            if match := pattern.fullmatch(name.strip()):
                groups.setdefault(match[1].lower(), {})[match[2].upper()] = name
        if match := _ANY_NUMBERED.fullmatch(name.strip()):
            others.setdefault(match[1].lower(), []).append(name)
    for group in lettered.values():
        if {"A", "B"} <= group.keys():
            yield [group[letter] for letter in "ABCDEFGHIJ"[: len(group)] if letter in group]
    for group in numbered.values():
        if len(group) >= 2:
            yield [group[number] for number in sorted(group)]
    yield from (sorted(group) for group in others.values() if len(group) >= _FEWEST_NUMBERED)


def columns_of_options(layout: Layout) -> list[str]:
    """Return the columns that hold options alone."""
    return [layout] if isinstance(layout, str) else layout if isinstance(layout, list) else []


def _choices(table: _Table, question: str, layout: Layout, note: str) -> Iterator[Guess]:
    """Yield cards of multiple-choice questions."""
    used = columns_of_options(layout)
    taken = {question, *used}
    base = replace(_base(table, question, taken), format="choice", options=layout)
    if isinstance(layout, Options) and layout.right:
        yield base, {"options": note}
        return
    labelled = False
    if isinstance(layout, str):
        if keys := _marked(table.values(layout, 200)):
            text, mark = (f"{layout}.{key}" for key in keys)
            marked = replace(base, options=Options(text=text), answer=Answer(mark, "flags"))
            for kind in ("choice", "choices"):
                yield replace(marked, format=kind), {"options": "each says whether it is right"}
            return
        first = next(iter(table.values(layout, 1)), None)
        shown = texts_of(first)
        labelled = shown is not None and shown[1][:1] not in ([], [""], ["A"], ["a"])
        if isinstance(first, Mapping) and {"text", "label"} <= first.keys():
            base, labelled = replace(base, options=Options(f"{layout}.text", f"{layout}.label")), True
        elif isinstance(first, Mapping) and is_scored(first):
            yield replace(base, answer=Answer(layout, "flags")), {"options": "options with scores"}
            return
    golds = table.golds()
    most = len(layout) if isinstance(layout, list) else _most_options(table, layout)
    for name in [*golds, *(name for name in table.names if name not in golds and name != base.id)]:
        values = table.values(name, 2_000) if name not in taken else []
        if not values:
            continue
        named = isinstance(layout, list) and {text_of(value).strip() for value in values} <= {*used}
        own = replace(
            _base(table, question, taken | {name}),
            options=base.options,
            explanation=_explained(table, taken | {name}),
        )
        for kind, answer, why in _gold_forms(name, values, most, labelled=labelled or named):
            if name in golds or not (isinstance(answer, Answer) and answer.form == "index"):  # any number may be one
                yield replace(own, format=kind, answer=answer), {"options": note, "answer": why}


def _marked(values: Sequence[Any]) -> tuple[str, str] | None:
    """Return the keys of text and mark of options that are marked as right or wrong: [{text: …, correct:
    true}, …].
    """
    first = next((listed[0] for listed in map(list_of, values) if listed), None)
    if not isinstance(first, Mapping):
        return None
    texts = [key for key, value in first.items() if isinstance(value, str)]
    marks = [key for key, value in first.items() if isinstance(value, bool)]
    every = [option for each in values for option in list_of(each) or ()]
    if (
        not texts
        or len(marks) != 1
        or not all(isinstance(items, Mapping) and first.keys() <= items.keys() for items in every)
    ):
        return None
    return next((key for key in texts if key in ("text", "answer", "option", "value")), texts[0]), marks[0]


def _most_options(table: _Table, name: str | Options) -> int:
    if not isinstance(name, str):
        return 26
    return max((len(texts[0]) for value in table.values(name) if (texts := texts_of(value)) is not None), default=0)


def _gold_forms(
    name: str, values: Sequence[Any], most: int, *, labelled: bool
) -> Iterator[tuple[Format, str | Answer, str]]:
    """Yield forms in which a column may hold the gold option: format, answer, evidence."""
    lists = [list_of(value) for value in values]
    single = [items[0] if items is not None and len(items) == 1 else items for items in lists]
    if any(items is not None and len(items) > 1 for items in lists):
        inner = [text_of(item).strip() for each in lists for item in each or ()]
        if all(part.lower() in ("true", "false") for part in inner):
            yield "choice", Answer(name, "flags"), "each says whether it is right"
            yield "choices", Answer(name, "flags"), "each says whether it is right"
        elif all(re.fullmatch(r"\d+", part) for part in inner):
            start, unsure = _counted_from(list(map(int, inner)), most)
            yield "choices", Answer(name, "index", start), f"lists of places{unsure}"
        elif all(len(value) <= 4 for value in inner):
            yield "choices", name, "lists of letters"
        yield "choices", Answer(name, "text"), "lists of options"
        return
    texts = [text_of(item if item is not None else cell).strip() for item, cell in zip(single, values, strict=True)]
    shown = ", ".join(sorted(set(texts))[:6])
    if labelled:
        yield "choice", name, f"labels: {shown}"
    if _share(LETTER.fullmatch(text.upper()) for text in texts) >= 0.9:
        yield "choice", name, f"letters: {shown}"
    if _share(re.fullmatch(r"[A-Z]{2,8}|[A-Z](?:, ?[A-Z])+", text) for text in texts) >= 0.05:
        yield "choices", name, f"several letters: {shown}"
    forms: list[tuple[Format, Answer, str]] = [("choice", Answer(name, "text"), "the option's text")]
    numbers = [int(float(text)) for text in texts if re.fullmatch(r"-?\d{1,9}(?:\.0)?", text)]
    if len(numbers) >= 0.9 * len(texts):
        start, unsure = _counted_from(numbers, most)
        position = 0 if 0 in numbers or _words(name, "places") else 1
        forms.insert(position, ("choice", Answer(name, "index", start), f"numbers: {shown}{unsure}"))
    yield from forms


def _share(found: Iterable[object]) -> float:
    """Return the share that is found; 1 of nothing."""
    every = [*map(bool, found)]
    return sum(every) / len(every) if every else 1.0


def _counted_from(numbers: Sequence[int], most: int) -> tuple[int, str]:
    """Return the index of the first option, and a doubt where neither the first nor the last decides it."""
    start = int(0 not in numbers and max(numbers, default=0) >= most)
    return start, "" if 0 in numbers or start else DOUBT


def _chats(table: _Table, question: str) -> Iterator[Guess]:
    """Yield cards of chats that end with the gold answer: [{role: user, …}, {role: assistant, …}]."""
    values = table.values(question, 200)
    chats = [value for value in values if _turns(value)]
    keys = {turn_keys for value in values if (turn_keys := _turns(value))}
    if len(keys) != 1 or len(chats) < 0.9 * len(values):
        return
    speaker, words = keys.pop()
    last = len(chats[0]) - 1
    if last < 1 or not all(len(chat) == last + 1 and chat[last][speaker] in _ANSWERING for chat in chats):
        return
    asked = "\n\n".join(f"{{{question}.{index}.{words}}}" for index in range(last))
    base = replace(_base(table, question, {question}), question=asked)
    answer, golds = f"{question}.{last}.{words}", [chat[last][words] for chat in chats]
    ends = [split_options(text_of(chat[last - 1][words])) for chat in chats]
    if 2 * sum(end is not None for end in ends) > len(ends):
        for kind, gold, why in _gold_forms(answer, golds, len(LETTERS), labelled=False):
            yield replace(base, format=kind, options=Options(in_question=True), answer=gold), {"answer": why}
    for kind, gold, why in _free_forms(answer, golds, ""):
        yield replace(base, format=kind, answer=gold), {"format": why, "answer": "the last message"}


def _free(table: _Table, question: str) -> Iterator[Guess]:
    """Yield cards of questions without options."""
    golds = table.golds()
    left = [name for name in table.names if name != question and name not in table.named("ids")]
    for name in golds or (left if len(left) == 1 else []):
        values = table.values(name) if name != question else []
        if not values or any(_renames(table, name, other) for other in golds):
            continue
        taken = {question, name}
        base = replace(_base(table, question, taken), explanation=_explained(table, taken))
        passage = any(f"{{{column}}}" in base.question for column in table.named("passages"))
        for kind, answer, why in _free_forms(name, values, question, passage=passage, aliases=_aliases(table, name)):
            notes = {"format": why}
            if kind == "number" and _few(values):
                notes["answer"] = CODES
            if kind in ("exact", "phrase") and (classes := _unnamed_classes(table, base.question, values)):
                base = replace(base, question=f"{as_template(base.question)}\n\n({classes})")
                notes["question"] = _UNNAMED
            yield replace(base, format=kind, answer=answer), notes


def as_template(question: str) -> str:
    """Return a card's question as a template, also where it is a single column."""
    return question if "{" in question else f"{{{question}}}"


def _few(golds: Sequence[Any]) -> bool:
    """Tell whether all rows share so few answers that they may be classes."""
    return 2 <= len({text_of(gold).strip() for gold in golds}) <= min(_MOST_CLASSES, len(golds) // 3)


def _renames(table: _Table, codes: str, words: str) -> bool:
    """Tell whether a column has a word for each of the codes of another one."""
    pairs = {(text_of(cell_or_none(row, codes)), text_of(cell_or_none(row, words))) for row in table.rows}
    plain = all(code.isdigit() and _NAME.match(word) for code, word in pairs)
    return plain and 2 <= len(pairs) == len({code for code, _ in pairs}) <= _MOST_CLASSES


def _unnamed_classes(table: _Table, asked: str, golds: Sequence[Any]) -> str:
    """Return the few words that are all gold answers, if the questions do not list them; else ""."""
    words = sorted({text_of(gold).strip() for gold in golds})
    if not _few(golds) or not all(_NAME.match(word) and not set(word) & set("{}") for word in words):
        return ""
    columns = columns_of(asked, table.rows[0])
    texts = [" ".join(text_of(cell_or_none(row, name)) for name in columns).lower() for row in table.rows[:50]]
    named = sum(all(word.lower() in text for word in words) for text in texts)
    return "" if 2 * named > len(texts) else " / ".join(words)


def is_bound(table: _Table, question: str, gold: str) -> bool:
    """Tell whether a gold can only be an option: a letter of any options, else a word or number of certain ones: those
    in columns with such names that most rows fill, or in the question's text.
    """
    places = list(layouts(table, question))
    letters = sum(bool(LETTER.fullmatch(text_of(value).strip().upper())) for value in table.values(gold))
    if places and 2 * letters > len(table.values(gold)):
        return True
    return any(_is_sure(table, layout, gold) for layout, note in places if note != _UNPARTED)


def _is_sure(table: _Table, layout: Layout, gold: str) -> bool:
    if isinstance(layout, Options):
        return True
    columns = columns_of_options(layout)
    named = {*table.named("options")} - {*table.named("answers")}
    called = all(
        name in named or LETTERED.fullmatch(name.strip()) or NUMBERED.fullmatch(name.strip()) for name in columns
    )
    filled = all(2 * len(table.values(name)) > min(len(table.rows), 400) for name in columns[:2])
    return called and filled and (gold not in columns or not {*table.golds()} <= {*columns})


def _aliases(table: _Table, name: str) -> list[str]:
    """Return the columns that continue `answer_0`: `answer_1`, `answer_2`, …"""
    match = re.fullmatch(r"(.*\D)([01])", name)
    if match is None:
        return []
    names = (f"{match[1]}{number}" for number in range(int(match[2]) + 1, 30))
    return [name for name in names if name in table.names]


def _free_forms(
    name: str, values: Sequence[Any], asked: str, *, passage: bool = False, aliases: Sequence[str] = ()
) -> Iterator[tuple[Format, str | Answer, str]]:
    first = values[0]
    gold = Answer(name, aliases=list(aliases)) if aliases else name
    if isinstance(first, Mapping):
        inner = next((key for key in ("text", "value", "answer", "spans", "aliases") if first.get(key)), "")
        if inner:
            others = [f"{name}.aliases"] if first.get("aliases") and inner != "aliases" else []
            path = f"{name}.{inner}"
            yield "phrase", Answer(path, aliases=others) if others else path, "accepted answers"
        return
    texts = [text for value in values if (text := text_of(value).strip())]
    if not texts:
        return
    if _share("####" in text for text in texts) >= 0.9:
        yield "number", Answer(name, after="####"), "answers behind ####"
    if _share("\\boxed" in text for text in texts) >= 0.9:
        yield "math", Answer(name, "boxed"), "answers in \\boxed{}"
    words = {text.lower() for text in texts}
    numbered = words <= {"0", "1"}
    truths = words & {"0"} and (_words(f"{name} {asked}", "truths") or plain_name(name).startswith("is_"))
    if truths if numbered else all(truth_of(word) is not None for word in words):
        yield "truth", name, f"truth values: {', '.join(sorted(words))}"
    lists = [list_of(value) for value in values]
    if any(items is not None and len(items) > 1 and all(map(LETTER.fullmatch, map(text_of, items))) for items in lists):
        return  # several letters are the right options, and not wordings of one answer
    if _share(value_of(text) is not None and not _NAME.match(text) for text in texts) >= 0.95:
        yield "number", gold, "numbers"
    if _share(items is not None for items in lists) >= 0.9:
        listed = [item for each in lists for item in each or ()]
        if any(isinstance(item, Mapping) for item in listed):
            return  # objects are no wordings of an answer
        named = all(map(LETTER.fullmatch, map(text_of, listed)))
        yield ("exact", name, "letters") if named else ("phrase", name, "lists of accepted answers")
    if _share(map(_FORMULA.search, texts)) >= 0.25:
        yield "math", gold, "formulas"
    lengths = sorted(map(_counted, texts))
    if lengths[len(lengths) * 9 // 10] <= 12:
        yield ("phrase", gold, "short answers to a passage") if passage else ("exact", gold, "short answers")
    yield "open", gold, f"long answers: a judge grades them ({flag('judge')})"


def _counted(text: str) -> int:
    """Count the words of a text; a formula without spaces is one, as are two characters of a script without spaces."""
    return len(text.split()) + len(_WIDE.findall(text)) // 2


def _base(table: _Table, question: str, taken: set[str]) -> Card:
    """Return the common part of all cards of this question: its id, tags and language, without the format."""
    passages = [name for name in table.named("passages") if name not in taken and table.values(name, 20)]
    identity = ""
    for name in table.named("ids"):
        values = [text_of(value) for value in table.values(name, 2_000)]
        # A few repeated ids are a defect of the data, which only a card with this column finds.
        if len(values) == min(len(table.rows), 2_000) and len(set(values)) >= 0.9 * len(values):
            identity = name
            break
    group = next((group for group in COLUMNS["together"] if plain_name(question) in group), ())
    named = [name for name in table.names if group and plain_name(name) in group and name not in taken - {question}]
    parts = [name for name in named if all(name in row for row in table.rows)]
    asked = [*passages[:1], *(parts if len(parts) > 1 else [question])]
    tags = [name for name in table.tags if not {name, name.partition(".")[0]} & {*taken, *passages, *asked}]
    return Card(
        format="exact",
        language=language_of(table.values(question, 50)),
        id=identity,
        question="\n\n".join(f"{{{name}}}" for name in asked) if len(asked) > 1 else question,
        tags=tags[:6],
    )


def unasked(table: _Table, used: Container[str]) -> list[str]:
    """Return the unused columns whose texts differ between most rows: a question may need them."""
    others = {*table.golds(), *table.named("explanations"), *table.named("ids")}
    return [
        name
        for name in table.names
        if not (name in used or name in others or RIGHT.fullmatch(name) or WRONG.fullmatch(name))
        and not _words(name, "no_gold")
        and _length(table, name) > _SENTENCE
        and 2 * len({text_of(value) for value in table.values(name)}) > min(len(table.rows), 400)
    ]


def clusters_of(table: _Table, question: str) -> tuple[list[str], list[str]]:
    """Return the columns whose values repeat in consecutive rows: texts of the question's template, and others."""
    shown, others = [], []
    for name in [*table.names, *table.inner]:
        values = [text_of(value) for value in table.values(name, 2_000)]
        count, kinds = len(values), len(set(values))
        runs = sum(earlier != other for earlier, other in itertools.pairwise(values)) + 1
        if not count or runs == count or kinds < 2:
            continue
        if f"{{{name}}}" in question and sum(map(len, values)) >= _LONG * count:
            shown.append(name)
        elif kinds >= max(10, count // 20) and runs <= 1.1 * kinds and count >= 1.5 * kinds:
            others.append(name)
    return shown, others


def language_of(values: Iterable[Any]) -> Language:
    """Return the language of some texts, among those with prompts."""
    text = "".join(re.sub(r"\$[^$]{0,500}\$", "", chat_of(value) or text_of(value)) for value in values)
    return "zh" if sum("\u4e00" <= char <= "\u9fff" for char in text) > 0.25 * len(text) else "en"


def _is_tag(table: _Table, name: str) -> bool:
    """Tell whether a column has few short values, each of them often."""
    if not name.strip():
        return False
    values = table.values(name, 2_000)
    if len(values) < 0.5 * min(len(table.rows), 2_000) or not all(isinstance(value, str | int) for value in values):
        return False
    counted = Counter(map(text_of, values))
    if not all(isinstance(value, str | bool) for value in values) and len(counted) > 12:
        return False
    return 2 <= len(counted) <= min(MOST_VALUES, len(values) // 3) and max(map(len, counted)) <= 80


def _explained(table: _Table, taken: set[str]) -> str:
    named = table.named("explanations")
    return next((name for name in named if name not in taken and table.values(name, 20)), "")
