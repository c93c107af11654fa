"""Conversion of a table's row into a question, with its defects."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct

from viva.benchmarks.card.cardmodel import Card, Format
from viva.benchmarks.card.cells import (
    LETTER,
    LETTERS,
    VALUES,
    InvalidGold,
    cell,
    cell_or_none,
    filled,
    list_of,
    split_options,
    text_of,
    texts_of,
    without_own_label,
    without_own_labels,
)
from viva.benchmarks.card.instructions import check
from viva.benchmarks.card.lm_eval_file import LmEvalTask
from viva.benchmarks.card.templating import TemplateError, render
from viva.prompting import replace_surrogates
from viva.scorers.number import value_of
from viva.scorers.reading import boxed
from viva.scorers.rubric.rubrics import Keyword, Literally, Rubric, Test, UnitTests
from viva.scorers.truth import read_truth
from viva.types import Defect, Kind, Question


def add_rendered(made: dict[str, Any], task: LmEvalTask, row: Mapping[str, Any]) -> None:
    """Add the fields that a task's templates give for a row. Raises InvalidGold.

    Equal options are no defect here: of two equally probable ones the first counts, as in lm-eval.
    """
    fields = {"text": task.doc_to_text, "target": task.doc_to_target}
    rendered_row = _rendered(row, {**fields, **({"choices": task.doc_to_choice} if task.doc_to_choice else {})})
    made["text"] = _text(rendered_row["text"], task)
    choices = _choices(rendered_row.get("choices"))
    if made["kind"] == "choice":
        made |= {"options": tuple(choices), "answer": LETTERS[_gold_place(rendered_row["target"], choices)]}
    else:
        made["answer"], *others = _golds(rendered_row["target"], choices)
        made["accepted"] = tuple(others)


def written(task: LmEvalTask, row: Mapping[str, Any], card: Card) -> Question:
    """Return an exemplar, with its answer as the only option. Raises InvalidGold for an unusable row."""
    shown = task.fewshot_config
    fields: dict[str, Any] = {
        "text": shown.doc_to_text or task.doc_to_text,
        "target": shown.doc_to_target or task.doc_to_target,
    }
    if choices := shown.doc_to_choice or task.doc_to_choice:
        fields["choices"] = choices
    rendered_row = _rendered(row, fields)
    listed = _choices(rendered_row.get("choices"))
    answer = rendered_row["target"]
    if listed and isinstance(answer, int):
        if not -len(listed) <= answer < len(listed):
            raise InvalidGold("gold is none of the options", f"{answer} of {len(listed)}")
        answer = listed[answer]
    elif isinstance(answer, list) and answer:
        answer = answer[0]
    if not isinstance(answer, str):
        raise InvalidGold("gold is no text", repr(answer)[:100])
    answer, text = replace_surrogates(answer), _text(rendered_row["text"], task)
    return Question(id="", kind="free", text=text, language=card.language, options=(answer,), answer=answer)


def _rendered(row: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return render(row, fields, choices="choices" in fields)
    except TemplateError as problem:
        raise InvalidGold("a template fails", str(problem)) from None


def _text(text: Any, task: LmEvalTask) -> str:
    if not isinstance(text, str):
        raise InvalidGold("no question", f"doc_to_text is no text: {text!r}"[:100])
    if task.doc_to_choice and text.isdigit():
        raise InvalidGold("several prompts", "doc_to_text is a place among the options, which each make a prompt")
    if not (text or task.description):
        raise InvalidGold("no question", "its prompt is empty")
    return replace_surrogates(text)


def _choices(choices: Any) -> list[str]:
    if choices is None:
        return []
    if not isinstance(choices, list) or not all(isinstance(choice, str) for choice in choices):
        raise InvalidGold("no options", f"doc_to_choice is no list of texts: {choices!r}"[:100])
    if not 2 <= len(choices) <= len(LETTERS):
        raise InvalidGold(f"too {'few' if len(choices) < 2 else 'many'} options", str(len(choices)))
    return [replace_surrogates(choice) for choice in choices]


def _gold_place(gold: Any, choices: list[str]) -> int:
    """Return the index of the right option. Raises InvalidGold."""
    if isinstance(gold, str):
        if gold not in choices:
            raise InvalidGold("gold is none of the options", repr(gold[:100]))
        return choices.index(gold)
    if not isinstance(gold, int | float):
        raise InvalidGold("several golds" if isinstance(gold, list) else "no gold", repr(gold)[:100])
    if gold != int(gold) or not 0 <= gold < len(choices):
        raise InvalidGold("gold is none of the options", f"{gold} of {len(choices)}")
    return int(gold)


def _golds(gold: Any, choices: list[str]) -> list[str]:
    """Return the gold answer and its equivalents. Raises InvalidGold."""
    if choices:
        if not isinstance(gold, int) or not -len(choices) <= gold < len(choices):
            raise InvalidGold("gold is none of the options", repr(gold)[:100])
        gold = choices[gold]
    golds = [
        replace_surrogates(str(value)) for value in (gold if isinstance(gold, list) else [gold]) if value is not None
    ]
    if not any(golds):
        raise InvalidGold("no gold", "doc_to_target is empty")
    return golds


KINDS: dict[Format, Kind] = {
    "choice": "choice", "choices": "choices", "truth": "truth", "exact": "term", "number": "term", "math": "term",
    "phrase": "span", "open": "open", "rubric": "free", "facts": "open", "instructions": "free", "letters": "term",
}  # fmt: skip
_SHORT = 40
"""Most characters of a shared text that is used as its own name."""
_BEFORE = re.compile(r"\A\s*(?:A:\s*)?(?:Let(?:'|’)s think step by step\.?\s*)?")
_BEHIND = re.compile(r"\s*(?:So |Thus,? |Therefore,? )?[Tt]he answer is:? \(?[^\s()]{1,40}\)?\.?\s*\Z")


class Read(Struct):
    """A question, its defects, and its rubric where the format has one."""

    question: Question
    defects: list[Defect]
    rubric: Rubric = Rubric()


def read_row(card: Card, row: Mapping[str, Any], place: str, seed: int) -> Read:
    """Return the question of a row; one that cannot be graded has no answer, and its explanation says why. `place` is
    its id where the row has none.
    """
    identity = identity_of(card, row, place)
    defects: list[Defect] = []
    made: dict[str, Any] = {"id": identity, "language": card.language, "tags": tag_values(card, row)}
    rubric = Rubric()
    try:
        made["cluster"] = cluster_of(card, row)
        if card.lm_eval is not None:
            made["kind"] = "choice" if card.format == "choice" else "free"
            add_rendered(made, card.lm_eval, row)
        else:
            made["kind"] = KINDS[card.format]
            rubric = _add_columns(made, card, row, seed, defects)
    except InvalidGold as problem:
        defects.append(Defect(identity, problem.kind, problem.detail, "unsound"))
        made |= {"text": made.get("text") or "(no question)", "answer": None}
        made["explanation"] = f"{problem.kind}: {problem.detail}"
    return Read(Question(**made), defects, rubric)


def _add_columns(made: dict[str, Any], card: Card, row: Mapping[str, Any], seed: int, defects: list[Defect]) -> Rubric:
    """Add the question's fields from the columns of a row; return the rubric. Raises InvalidGold."""
    made["text"] = text = filled(card.question, row).strip("\r\n").rstrip()
    if not text.strip():
        raise InvalidGold("no question", "its text is empty")
    reasoning = text_of(cell_or_none(row, card.explanation)) if card.explanation else ""
    others: list[str] = []
    rubric = Rubric()
    if card.format in ("choice", "choices"):
        labels: list[str] = []
        if card.layout.in_question:
            made["text"], texts = _split(text)
        else:
            texts, labels = _options(card, row, made["id"], defects)
        places = _places(card, row, texts, labels)
        _refuse_doubles(made["id"], texts, places, defects)
        order = list(range(len(texts)))
        if card.layout.right or card.layout.shuffle:
            random.Random(f"{seed}/{made['id']}").shuffle(order)
        made["options"] = tuple(texts[index] for index in order)
        answer = "".join(letter for letter, index in zip(LETTERS, order, strict=False) if index in places)
    elif card.format == "instructions":
        answer = _instructions(card, row)
    elif card.format == "letters":
        answer = _letters_of(card, row)
    elif card.metric == "drop":
        answer, *others = _drop_answers(card, row)
    elif card.format == "rubric":
        answer, rubric = "", _rubric(card, row)
    else:
        answer, *others = _gold(card, row)
        reasoning = reasoning or _before_gold(card, row)
    made |= {"answer": answer, "accepted": tuple(dict.fromkeys(others))}
    made["explanation"] = _BEHIND.sub("", _BEFORE.sub("", reasoning))
    return rubric


def identity_of(card: Card, row: Mapping[str, Any], place: str) -> str:
    """Return a row's id, or its place where it has none."""
    return (text_of(cell_or_none(row, card.id)).strip() if card.id else "") or place


def cluster_of(card: Card, row: Mapping[str, Any]) -> str:
    """Return the value that a row shares with others of its cluster; a long text as its hash. Raises Absent."""
    text = filled(card.cluster, row).strip() if card.cluster else ""
    return (
        text if len(text) <= _SHORT else f"text {blake2b(text.encode('utf-8', 'replace'), digest_size=6).hexdigest()}"
    )


def tag_values(card: Card, row: Mapping[str, Any]) -> dict[str, str]:
    """Return a row's tags."""
    return {tag: _tag(cell_or_none(row, tag)) for tag in tags_of(card)}


def tags_of(card: Card) -> list[str]:
    """Return the names of the tags of a card's questions, with that of the exemplars' groups."""
    return list(dict.fromkeys([*card.tags, *([card.shown.by] if card.shown.by else [])]))


def _tag(value: Any) -> str:
    text = ", ".join(map(text_of, value)) if isinstance(value, list) else text_of(value)
    return text.strip()[:200] or "none"


def is_asked(card: Card, row: Mapping[str, Any]) -> bool:
    """Tell whether the card's `where` takes a row."""
    return all(
        text_of(cell_or_none(row, column)).strip() in ([wanted] if isinstance(wanted, str) else wanted)
        for column, wanted in card.where.items()
    )


def _split(text: str) -> tuple[str, list[str]]:
    """Split a question's text into the question and the options at its end. Raises InvalidGold."""
    parts = split_options(text)
    if parts is None:
        raise InvalidGold("no options", "its text does not end with one list of options A, B, …")
    if len(parts[1]) > len(LETTERS) or not parts[0].strip():
        raise InvalidGold("no question", "its text is nothing but options")
    return parts


def _options(card: Card, row: Mapping[str, Any], identity: str, defects: list[Defect]) -> tuple[list[str], list[str]]:
    """Return the options in the order of the table, and their labels where they have some. Raises InvalidGold."""
    layout = card.layout
    labels: list[str] = []
    if layout.right:
        wrong = [layout.wrong] if isinstance(layout.wrong, str) else layout.wrong
        cells = [cell_or_none(row, name) for name in wrong]
        listed = list_of(cells[0]) if len(cells) == 1 else None
        if listed is None and isinstance(layout.wrong, str):
            listed = re.split(r";\s*", text_of(cells[0]))
        others = [text for value in (listed if listed is not None else cells) if (text := text_of(value).strip())]
        texts = [text_of(cell(row, layout.right)).strip(), *others]
        if not texts[0]:
            raise InvalidGold("no gold", f"{layout.right} is empty")
    elif layout.columns:
        texts = [text_of(cell_or_none(row, name)).strip() for name in layout.columns]
        labels = list(layout.columns)
        while texts and not texts[-1]:
            texts.pop()  # the last ones of rows with fewer options
    else:
        read_texts = texts_of(cell(row, layout.text))
        if read_texts is None:
            raise InvalidGold("no options", f"{layout.text} holds no list")
        texts, labels = [text.strip() for text in read_texts[0]], read_texts[1]
        if layout.label:
            labels = [text_of(value) for value in list_of(cell(row, layout.label)) or ()]
    if len(texts) > len(LETTERS):
        raise InvalidGold("too many options", f"{len(texts)}, and there are letters for {len(LETTERS)}")
    if (bare := without_own_labels(texts)) is not None:
        texts = bare
        defects.append(Defect(identity, "options with labels", "their own letters are left out", "repaired"))
    if len(texts) < 2:
        raise InvalidGold("too few options", f"{len(texts)}")
    if not all(texts):
        defects.append(Defect(identity, "empty option", f"option {LETTERS[texts.index('')]} is empty", "noted"))
    return texts, labels


def _places(card: Card, row: Mapping[str, Any], options: list[str], labels: list[str]) -> list[int]:
    """Return the indices of the right options. Raises InvalidGold."""
    if card.layout.right:
        return [0]
    gold = card.gold
    value = cell(row, gold.column)
    if gold.form == "flags":
        places = [index for index, flag in enumerate(list_of(value) or ()) if truth_of(flag)]
    else:
        golds = _said(value, several=card.format == "choices", letters=gold.form == "letter")
        if not golds:
            raise InvalidGold("no gold", f"{gold.column} is empty")
        places = [_place(card, gold_text, options, labels) for gold_text in golds]
    if not places or not all(0 <= place < len(options) for place in places):
        raise InvalidGold("gold is none of the options", f"{text_of(value)[:100]!r} of {len(options)} options")
    if card.format == "choice" and len(set(places)) > 1:
        raise InvalidGold("several golds", f"{text_of(value)[:100]!r}, and one option may be right")
    return sorted(set(places))


def _said(value: Any, *, several: bool, letters: bool) -> list[str]:
    """Return the gold answers that a cell names."""
    listed = list_of(value)
    if listed is not None:
        texts = [text for item in listed if (text := text_of(item).strip())]
        run_on = several and letters and all(re.fullmatch(r"[A-Z]{1,26}", text) for text in texts)
        return list("".join(texts)) if run_on else texts
    text = text_of(value).strip()
    if several and letters and re.fullmatch(r"[A-Za-z]{1,26}", text):
        return list(text)
    if several:
        return [part.strip() for part in re.split(r"[,;、，|]", text) if part.strip()]
    return [text] if text else []


def _place(card: Card, text: str, options: list[str], labels: list[str]) -> int:
    """Return the index of the option that a gold answer names. Raises InvalidGold."""
    gold = card.gold
    if gold.form == "index":
        if not re.fullmatch(r"-?\d{1,4}(?:\.0+)?", text):
            raise InvalidGold("gold is no index", repr(text[:100]))
        return int(float(text)) - gold.start
    if gold.form == "text":
        same = [index for index, option in enumerate(options) if option == text] or [
            index for index, option in enumerate(options) if without_own_label(text, index) == option
        ]
        if len(same) > 1:
            raise InvalidGold("gold is several options", f"{text[:100]!r} stands there {len(same)} times")
        if not same:
            raise InvalidGold("gold is none of the options", repr(text[:100]))
        return same[0]
    if text in labels:
        return labels.index(text)
    if gold.form == "label":
        raise InvalidGold("gold is none of the labels", f"{text[:100]!r} of {', '.join(labels)[:100] or 'none'}")
    if len(text) > 3 and text in options:  # an option whose text is "Option B"
        return options.index(text)
    match = LETTER.fullmatch(text.upper())
    if match is None:
        raise InvalidGold("gold is no letter", repr(text[:100]))
    return LETTERS.index(match[1])


def truth_of(value: Any) -> bool | None:
    """Return the truth value of a cell, in a language in which replies are read; None where it holds none."""
    text = text_of(value).strip().lower()
    if text in VALUES["true"] or text in VALUES["false"]:
        return text in VALUES["true"]
    reading = read_truth(text) if len(text) <= _SHORT else None
    return reading.read == "true" if reading and reading.committed else None


def _refuse_doubles(identity: str, options: list[str], places: list[int], defects: list[Defect]) -> None:
    """Note options that are written alike. Raises InvalidGold where the gold is one of them."""
    if len(set(options)) == len(options):
        return
    twice = {text for text in options if text and options.count(text) > 1}
    if not twice:
        return
    named = ", ".join(letter for letter, text in zip(LETTERS, options, strict=False) if text in twice)
    if any(options[place] in twice for place in places):
        raise InvalidGold("gold is several options", f"{named} read the same")
    defects.append(Defect(identity, "equal options", f"{named} read the same; none is the gold", "noted"))


def _gold(card: Card, row: Mapping[str, Any]) -> list[str]:
    """Return the gold answer and its other wordings. Raises InvalidGold."""
    gold = card.gold
    value = cell(row, gold.column)
    if card.format == "truth":
        truth = truth_of(value)
        if truth is None:
            word = text_of(value).strip()
            raise InvalidGold("gold is no truth value" if word else "no gold", repr(word[:100]))
        return ["true" if truth else "false"]
    texts = [text_of(item) for item in listed] if (listed := list_of(value)) is not None else [text_of(value)]
    if gold.after:
        texts = [text.rpartition(gold.after)[2] if gold.after in text else "" for text in texts]
    elif gold.form == "boxed":
        texts = [boxed(text) or "" for text in texts]
    for name in gold.aliases:
        others = cell_or_none(row, name)
        texts += [text_of(item) for item in (list_of(others) or ([] if others is None else [others]))]
    texts = [text.strip() for text in texts if text.strip()]
    if not texts:
        hint = f" (nothing stands behind {gold.after!r})" if gold.after else ""
        raise InvalidGold("no gold", f"{gold.column} holds no answer{hint}")
    if card.format == "number":
        numbers = [text for text in texts if value_of(text) is not None]
        if not numbers:
            raise InvalidGold("gold is no number", repr(texts[0][:100]))
        return numbers
    return list(dict.fromkeys(texts))


def _instructions(card: Card, row: Mapping[str, Any]) -> str:
    """Return the instructions that can be checked, each with its arguments, as JSON. Raises InvalidGold."""
    names = list_of(cell(row, card.gold.column)) or []
    given = list_of(cell(row, card.gold.arguments)) or []
    if not names or len(given) != len(names):
        raise InvalidGold("no instructions", f"{len(names)} instructions and {len(given)} with arguments")
    kept_ones = []
    for name, arguments in zip(map(text_of, names), given, strict=True):
        kept = (
            {key: argument for key, argument in arguments.items() if argument is not None}
            if isinstance(arguments, dict)
            else {}
        )
        try:
            check("", name, kept)
        except (KeyError, TypeError, ValueError) as problem:
            raise InvalidGold("unknown instruction", f"{name[:60]}: {problem}") from None
        kept_ones.append([name, kept])
    return msgspec.json.encode(kept_ones).decode()


def _letters_of(card: Card, row: Mapping[str, Any]) -> str:
    """Return the letters, one group for each blank, with the points of each: `A BD C × 2`. Raises InvalidGold."""
    groups = [
        "".join(sorted(text_of(letters).strip().upper())) for letters in list_of(cell(row, card.gold.column)) or ()
    ]
    if not groups or not all(re.fullmatch("[A-Z]{1,10}", group) for group in groups):
        raise InvalidGold("no gold", f"{card.gold.column} holds no list of letters")
    return " ".join(groups)


def _drop_answers(card: Card, row: Mapping[str, Any]) -> list[str]:
    """Return the accepted answers in DROP's form: a number, a date, or spans (those of one answer with ` & ` between
    them).

    Raises InvalidGold.
    """
    answers: list[str] = []
    for name in (card.gold.column, *card.gold.aliases):
        value = cell_or_none(row, name)
        if isinstance(value, dict) and isinstance(value.get("number"), list):  # columns of several answers
            value = [dict(zip(value, columns, strict=False)) for columns in zip(*value.values(), strict=False)]
        for part in value if isinstance(value, list) else [value]:
            if not isinstance(part, Mapping):
                continue
            date = part.get("date") or {}
            dated = " ".join(filter(None, (text_of(date.get(key)).strip() for key in ("day", "month", "year"))))
            spans = " & ".join(text_of(span).strip() for span in list_of(part.get("spans")) or ())
            answers += [text for text in (text_of(part.get("number")).strip(), spans, dated) if text][:1]
    if not answers:
        raise InvalidGold("no gold", f"{card.gold.column} holds no number, spans or date")
    return answers


def points_of(card: Card, row: Mapping[str, Any]) -> float:
    """Return the points of a right letter; 1 where the card does not say it."""
    try:
        return max(0.0, float(text_of(cell_or_none(row, card.gold.points)))) if card.gold.points else 1.0
    except ValueError:
        return 1.0


def _before_gold(card: Card, row: Mapping[str, Any]) -> str:
    """Return the reasoning before the answer in a gold cell."""
    value = cell(row, card.gold.column)
    if card.gold.after:
        return text_of(value).rpartition(card.gold.after)[0].strip()
    return text_of(value) if card.gold.form == "boxed" else ""


def _rubric(card: Card, row: Mapping[str, Any]) -> Rubric:
    """Return the rubric of the answer: a program of the row's tests, or required texts. Raises InvalidGold."""
    tests: UnitTests | None = None
    if card.tests is not None:
        code, before = (_code(given, row) for given in (card.tests.test, card.tests.before))
        if not code.strip():
            raise InvalidGold("no tests", f"{card.tests.test} is empty")
        tests = UnitTests(
            language=card.tests.language, tests=(Test(code=code, before=before, seconds=card.tests.seconds),)
        )
    keywords: list[str] = []
    if card.keywords:
        value = cell(row, card.keywords)
        keywords = [text_of(item).strip() for item in list_of(value) or [value]]
        if not any(keywords):
            raise InvalidGold("no keywords", f"{card.keywords} is empty")
    rules = tuple(Keyword(rule=Literally(text), ignore_case=True) for text in keywords if text)
    return Rubric(tests=tests, keywords=rules)


def _code(given: str, row: Mapping[str, Any]) -> str:
    if not given or (given not in row and "{" in given):
        return filled(given, row) if given else ""
    value = cell(row, given)
    return "\n".join(map(text_of, listed)) if (listed := list_of(value)) is not None else text_of(value)
