"""From a reply to its score: by what it commits to, or as the authors' script reads it.

A truth value or letter is right or wrong. A blank earns the mean of exact match and F1 (`Score.parts`), so that the
mean over the three formats is the paper's OA.
"""

from __future__ import annotations

import re

from viva.benchmarks.syneval import synevalscript
from viva.benchmarks.syneval.facts import Item, KnowledgePoint
from viva.benchmarks.syneval.setfiles import LETTERS
from viva.scorers.choice import read_choice
from viva.scorers.grading import grade_reading
from viva.scorers.phrase import read_phrase
from viva.scorers.phrasemask import clean
from viva.scorers.spans import SpanScore, score_span
from viva.scorers.truth import read_truth
from viva.types import Response, Score

ROLES: dict[KnowledgePoint, tuple[str, ...]] = {
    "GS": ("subject",),
    "SC": ("subject complement",),
    "DO": ("direct object",),
    "IO": ("indirect object",),
    "MVP": ("main verb", "verb phrase", "predicate"),
    "ADJ": ("modifier",),
    "ADV": ("modifier", "adverbial"),
    "CO": ("conjunct",),
    "PPA": ("head", "host"),
}
"""What a reply may call the phrase that is asked for."""
_QUOTED = re.compile("“([^“”]*)”")


def grade(item: Item, response: Response, *, base: bool) -> Score:
    """The score of what the reply commits to. `base`: it goes on behind an open quotation mark."""
    reply = behind_quote(response.text) if base else response.text
    if item.format == "TF":
        return grade_reading(read_truth(reply, ended=response.ended), item.answer, response)
    if item.format == "MC":
        letter = read_choice(reply, letters=LETTERS, options=item.options, ended=response.ended)
        return grade_reading(letter, item.answer, response)
    inverse = item.knowledge_point == "MVP"
    phrase, reading = read_phrase(
        reply,
        shown=shown_phrase(item.question),
        inverse=inverse,
        roles=ROLES[item.knowledge_point],
        sentence=item.sentence,
        ended=response.ended,
    )
    if phrase is None:
        return grade_reading(reading, item.answer, response)
    where = f" at {reading.span[0]}-{reading.span[1]}" if reading.span else ""
    golds = (item.answer, *item.accepted)
    # What the reader takes off a reply (marks around it, the stop of "Co." before a comma) may be part of the gold.
    accepted = dict.fromkeys((*golds, *map(clean, golds)))
    return phrase_score(score_span([phrase], accepted), f"{reading.rule}{where}")


def shown_phrase(question: str) -> str:
    """The phrase that a question shows in quotation marks, as the blank may be too; empty for none, or several."""
    quoted = [phrase for phrase in _QUOTED.findall(question) if phrase.strip(" _.…")]
    return quoted[0] if len(quoted) == 1 else ""


def behind_quote(reply: str) -> str:
    """What a base model wrote inside the quotation mark that its prompt opened: up to the mark, or the line's end.

    A reply that opens one of its own ("The answer is “the board”") is left whole.
    """
    line = reply.strip().split("\n")[0].rstrip()
    inside, mark, _ = line.partition("”")
    return inside if mark and inside.strip() and "“" not in inside else line


def as_published(item: Item, response: Response, lead: str) -> Score:
    """The score by the authors' reading. `lead` is what a base model's prompt ends in: to them, it is the model's."""
    if not response.text.strip():
        return Score(value=None, outcome="empty", explanation="the reply holds nothing visible (as published)")
    reply = lead + response.text
    if item.format == "FITB":
        best = synevalscript.score_phrase(reply, item.knowledge_point, item.answer)
        return phrase_score(best, "the best of what the script may read (as published)")
    if item.format == "TF":
        read = synevalscript.read_truth(reply)
        right = synevalscript.truth_is_right(read, item.answer)
    else:
        read = synevalscript.read_letter(reply)
        right = read == item.answer
    if read is None:
        return Score(value=None, outcome="unparsed", explanation="wrong format (as published)")
    return Score(
        value=float(right),
        outcome="right" if right else "wrong",
        answer=read,
        explanation="the first line, by its form (as published)",
    )


def phrase_score(best: SpanScore, how: str) -> Score:
    """A blank's score: half for the exact phrase, half for its F1."""
    exact = float(best.exact)
    value = (exact + best.f1) / 2
    held = f", held to {best.accepted!r}" if best.accepted else ""
    return Score(
        value=value,
        outcome="right" if value == 1.0 else "partly" if value else "wrong",
        answer=best.candidate,
        explanation=f"{how}{held}: F1 {best.f1:.3f}, {'exact' if best.exact else 'not exact'}",
        parts={"exact": exact, "f1": best.f1},
    )
