"""A row of a table → the question that a task of lm-evaluation-harness makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viva.benchmarks.card.cells import LETTERS, InvalidGold
from viva.benchmarks.card.lm_eval import LmEvalTask
from viva.benchmarks.card.templating import TemplateError, render
from viva.prompting import replace_surrogates


def add_rendered(made: dict[str, Any], task: LmEvalTask, row: Mapping[str, Any]) -> None:
    """Add what a task makes of a row, in the order in which it can fail. Raises InvalidGold.

    Equal options are no defect here: of two that are equally probable the first counts, as there.
    """
    fields = {"text": task.doc_to_text, "target": task.doc_to_target}
    found = _rendered(row, {**fields, **({"choices": task.doc_to_choice} if task.doc_to_choice else {})})
    made["text"] = _text(found["text"], task)
    choices = _choices(found.get("choices"))
    if made["kind"] == "choice":
        made |= {"options": tuple(choices), "answer": LETTERS[_place(found["target"], choices)]}
    else:
        made["answer"], *others = _golds(found["target"], choices)
        made["accepted"] = tuple(others)


def written(task: LmEvalTask, row: Mapping[str, Any]) -> tuple[str, str]:
    """Return an exemplar's question and its answer. Raises InvalidGold for a row that makes none."""
    shown = task.fewshot_config
    fields: dict[str, Any] = {
        "text": shown.doc_to_text or task.doc_to_text,
        "target": shown.doc_to_target or task.doc_to_target,
    }
    if choices := shown.doc_to_choice or task.doc_to_choice:
        fields["choices"] = choices
    found = _rendered(row, fields)
    listed = _choices(found.get("choices"))
    answer = found["target"]
    if listed and isinstance(answer, int):
        if not -len(listed) <= answer < len(listed):
            raise InvalidGold("gold is none of the options", f"{answer} of {len(listed)}")
        answer = listed[answer]
    elif isinstance(answer, list) and answer:
        answer = answer[0]
    if not isinstance(answer, str):
        raise InvalidGold("gold is no text", repr(answer)[:100])
    return _text(found["text"], task), replace_surrogates(answer)


def _rendered(row: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return render(row, fields, choices="choices" in fields)
    except TemplateError as problem:
        raise InvalidGold("a template fails", str(problem)) from None


def _text(found: Any, task: LmEvalTask) -> str:
    if not isinstance(found, str):
        raise InvalidGold("no question", f"doc_to_text is no text: {found!r}"[:100])
    if task.doc_to_choice and found.isdigit():
        raise InvalidGold("several prompts", "doc_to_text is a place among the options, which each make a prompt")
    if not (found or task.description):
        raise InvalidGold("no question", "its prompt is empty")
    return replace_surrogates(found)


def _choices(found: Any) -> list[str]:
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise InvalidGold("no options", f"doc_to_choice is no list of texts: {found!r}"[:100])
    if not 2 <= len(found) <= len(LETTERS):
        raise InvalidGold(f"too {'few' if len(found) < 2 else 'many'} options", str(len(found)))
    return [replace_surrogates(one) for one in found]


def _place(gold: Any, choices: list[str]) -> int:
    """Return which option is right. Raises InvalidGold."""
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
    """Return the gold answer and what counts as much. Raises InvalidGold."""
    if choices:
        if not isinstance(gold, int) or not -len(choices) <= gold < len(choices):
            raise InvalidGold("gold is none of the options", repr(gold)[:100])
        gold = choices[gold]
    golds = [replace_surrogates(str(one)) for one in (gold if isinstance(gold, list) else [gold]) if one is not None]
    if not any(golds):
        raise InvalidGold("no gold", "doc_to_target is empty")
    return golds
