"""Gold answers in several phrasings: what a model that knows the answer might say, for the self-test of a data set."""

from __future__ import annotations

import re
from collections.abc import Sequence

from viva.shipped import shipped_table
from viva.types import Question

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SAID = shipped_table(__file__, "golden.toml", dict[str, dict[str, tuple[str, ...]]])
_SPAN = ("{0}", "“{0}”", "The answer is “{0}”.", "**{0}**")  # "Answer: none" may mean that there is none
_OTHER = "987654321"
_TERM = ("{0}", "{0}.", "**{0}**", "The answer is {0}")
_ANYWHERE = ("{0}", "{0}.", "**{0}**", "\\boxed{{{0}}}")


def phrasings(question: Question, answer: str) -> Sequence[str]:
    """Replies that give `answer` to a question that a rule grades, in the question's language."""
    if question.kind == "span":
        return [template.format(answer) for template in _SPAN]
    if question.kind == "truth":
        return _SAID.get(question.language, _SAID["en"])[answer]
    if question.kind == "term":
        return [template.format(accepted) for accepted in _wordings(question, answer) for template in _TERM]
    if question.kind == "choices":
        named = [f"{letter}. {question.options[LETTERS.index(letter)]}" for letter in answer]
        return [", ".join(answer), answer, " and ".join(f"({letter})" for letter in answer), "\n".join(named)]
    text = question.options[LETTERS.index(answer)]
    return [
        template.format(answer, text)
        for template in (*_ANYWHERE, *_SAID.get(question.language, {"choice": ()})["choice"])
    ]


def _wordings(question: Question, answer: str) -> Sequence[str]:
    return (answer, *question.accepted) if answer == question.answer else (answer,)


def wrong_answer(question: Question) -> str:
    """An answer other than the gold one."""
    if question.kind == "span":
        return "xyzzy"  # shares no word with any phrase
    if question.kind == "term" and re.fullmatch("[A-G]+(?: [A-G]+)*", str(question.answer)):  # letters: the next ones
        return str(question.answer).translate(str.maketrans("ABCDEFG", "BCDEFGA"))
    if question.kind == "term":  # a number is answered with another one
        return _OTHER if re.search(r"\d", str(question.answer)) else "xyzzy"
    if question.kind == "choices":
        rest = [letter for letter in LETTERS[: len(question.options)] if letter not in str(question.answer)]
        return "".join(rest)  # "" where every option is right: then nothing is wrong altogether
    if question.kind == "truth":
        return "false" if question.answer == "true" else "true"
    letters = LETTERS[: len(question.options)]
    return letters[(letters.index(str(question.answer)) + 1) % len(letters)]
