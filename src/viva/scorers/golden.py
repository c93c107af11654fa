"""Gold answers in several phrasings: what a model that knows the answer might say, for the self-test of a data set."""

from __future__ import annotations

import re
from collections.abc import Sequence

from viva.types import Language, Question

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_CHOICE: dict[Language, tuple[str, ...]] = {
    "en": ("Answer: {0}", "The correct answer is {0}.", "({0}) {1}"),
    "zh": ("答案：{0}", "答案是{0}。", "选{0}", "{0}. {1}"),
    "de": ("Antwort: {0}", "Die richtige Antwort ist {0}.", "({0}) {1}"),
    "fr": ("Réponse : {0}", "La bonne réponse est {0}.", "({0}) {1}"),
}
_SPAN = ("{0}", "“{0}”", "The answer is “{0}”.", "**{0}**")  # "Answer: none" may mean that there is none
_OTHER = "987654321"
_TERM = ("{0}", "{0}.", "**{0}**", "The answer is {0}")
_ANYWHERE = ("{0}", "{0}.", "**{0}**", "\\boxed{{{0}}}")
_TRUTH: dict[Language, dict[str, tuple[str, ...]]] = {
    "en": {"true": ("True", "Answer: True", "The statement is true."), "false": ("False.", "The statement is false.")},
    "zh": {"true": ("正确", "答案：正确", "该说法是正确的。"), "false": ("错误", "答案：错误", "该说法是错误的。")},
    "de": {
        "true": ("Wahr", "Die Aussage ist wahr."),
        "false": ("Falsch", "Antwort: Falsch", "Die Aussage ist falsch."),
    },
    "fr": {
        "true": ("Vrai", "L'affirmation est vraie."),
        "false": ("Faux", "Réponse : Faux", "L'affirmation est fausse."),
    },
}


def phrasings(question: Question, answer: str) -> Sequence[str]:
    """Replies that give `answer` to a question that a rule grades, in the question's language."""
    if question.kind == "span":
        return [template.format(answer) for template in _SPAN]
    if question.kind == "truth":
        return _TRUTH.get(question.language, _TRUTH["en"])[answer]
    if question.kind == "term":
        return [template.format(accepted) for accepted in _wordings(question, answer) for template in _TERM]
    if question.kind == "choices":
        named = [f"{letter}. {question.options[LETTERS.index(letter)]}" for letter in answer]
        return [", ".join(answer), answer, " and ".join(f"({letter})" for letter in answer), "\n".join(named)]
    text = question.options[LETTERS.index(answer)]
    return [template.format(answer, text) for template in (*_ANYWHERE, *_CHOICE.get(question.language, ()))]


def _wordings(question: Question, answer: str) -> Sequence[str]:
    return (answer, *question.accepted) if answer == question.answer else (answer,)


def wrong_answer(question: Question) -> str:
    """An answer other than the gold one."""
    if question.kind == "span":
        return "xyzzy"  # shares no word with any phrase
    if question.kind == "term":  # a number is answered with another one
        return _OTHER if re.search(r"\d", str(question.answer)) else "xyzzy"
    if question.kind == "choices":
        rest = [letter for letter in LETTERS[: len(question.options)] if letter not in str(question.answer)]
        return "".join(rest)  # "" where every option is right: then nothing is wrong altogether
    if question.kind == "truth":
        return "false" if question.answer == "true" else "true"
    letters = LETTERS[: len(question.options)]
    return letters[(letters.index(str(question.answer)) + 1) % len(letters)]
