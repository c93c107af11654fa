"""What the authors' script reads from a reply, defects included: used only under `--as-published`.

From the behaviour described in the specification (SynEval, section 5 and quirk 14). Only the first line of the reply
counts. A letter needs a bare or quoted form ("(A)" and "Option B" have none); "A board" is A; what follows "answer is"
is not looked at beyond the letter or word, so "The answer is “Because" is B; a true or false in capitals is not seen,
and a yes or no is seen but never right, since the gold answers are true and false. A blank has several candidates, the
best of which is scored, and any line with "there is no" in it, which fits none of the known sentences, answers nothing.
"""

from __future__ import annotations

import re

from viva.benchmarks.syneval.facts import KnowledgePoint
from viva.scorers.spans import SpanScore, score_span

NO_ANSWER = "<no-answer>"
"""The one candidate of a reply that says that there is none; no gold answer is like it."""

_TRUTH = "[Tt]rue|[Ff]alse|(?:[Yy]es|[Nn]o)(?![A-Za-z])"
_OPEN, _CLOSE = '[“”"]', '[“”"]'
_QUOTED = rf"{_OPEN}([^“”\"]*){_CLOSE}"
_ROLE = "(?:subject complement|subject|direct object|indirect object)"
_OBJECT_OF = re.compile(rf"{_ROLE} of (?:the verb phrase )?{_QUOTED} is {_QUOTED}")
_IS_OBJECT = re.compile(rf"{_QUOTED} is the(?= )([^“”\"]*){_QUOTED}")
_LAST_QUOTED = re.compile(rf"(?:is|the phrase|the words?) {_QUOTED}")
_COORDINATED = re.compile(rf"(?:noun|verb) phrase {_QUOTED} is coordinated with the (?:noun|verb) phrase {_QUOTED}")
_SINGLE = re.compile(r"(?<!\w)'([^']+)'(?!\w)")
_BRACKETED = re.compile(r"\([^()]*\)")


def read_letter(reply: str) -> str | None:
    """Return the letter A to D of a multiple-choice reply; None is a wrong format, which counts as wrong."""
    return _read_word(_first_line(reply), "[A-D]")


def read_truth(reply: str) -> str | None:
    """Return the truth word as the reply writes it: "True", "false", "Yes"; None is a wrong format."""
    return _read_word(_first_line(reply), _TRUTH)


def truth_is_right(word: str | None, gold: str) -> bool:
    """Return whether a word that `read_truth` gave is the gold answer "true" or "false": a yes or no never is."""
    return word is not None and word.lower() == gold


def phrase_candidates(reply: str, knowledge_point: KnowledgePoint) -> tuple[str, ...]:
    """Return what a fill-in-the-blank reply may have meant, in lower case; the whole line is always among it."""
    line = _first_line(reply).lower()
    found = _stated(line, knowledge_point)
    if not found and "there is no" in line:
        return (NO_ANSWER,)
    candidates = [*found, line]
    variants = [_SINGLE.sub(r'" \1 "', text) for text in candidates]
    variants += [" ".join(_BRACKETED.sub(" ", text).split()) for text in candidates if _BRACKETED.search(text)]
    return tuple(dict.fromkeys([*candidates, *variants]))


def score_phrase(reply: str, knowledge_point: KnowledgePoint, gold: str) -> SpanScore:
    """Return the best of the candidates, held to the gold answer."""
    return score_span(phrase_candidates(reply, knowledge_point), (gold,))


def _first_line(reply: str) -> str:
    return reply.strip().split("\n")[0].rstrip()


def _read_word(line: str, word: str) -> str | None:
    """Return the three shapes, in order: alone; with a blank or a mark and anything behind it; behind "answer is"."""
    bare = re.fullmatch(rf"(?:Answer: )?({word})[^A-Za-z]?", line) or re.match(rf"(?:Answer: )?({word})[ .,)]", line)
    if bare:
        return bare[1]
    behind = list(re.finditer(rf"answer is {_OPEN}?({word})", line))
    return behind[-1][1] if behind else None


def _stated(line: str, knowledge_point: KnowledgePoint) -> list[str]:
    """Return what the sentences name that the script knows."""
    inverse = knowledge_point == "MVP"
    found: list[str] = []
    if match := _OBJECT_OF.search(line):
        found.append(match[1] if inverse else match[2])
    elif match := next((match for match in _IS_OBJECT.finditer(line) if " of " in match[2]), None):
        found.append(match[3] if inverse else match[1])
    elif quoted := _LAST_QUOTED.findall(line):
        found.append(quoted[-1])
    if match := _COORDINATED.search(line):
        found += [match[1], match[2]]
    return found
