"""Which exemplars CS-Bench shows: golds balanced, and the same questions in every language.

The four published validation splits hold the same 236 questions, the German and the French one shuffled and without
explanations. `validation.csv` says which is which: a row a question, its ids in the four files, and whether one of the
four test files asks it too (then it is never shown). The German and French ids were paired by what a translation keeps
(`build.translation.alignment`), the uncertain pairs read by eye; all letters and truth values agree. With it, a
language that is asked alone shows what every other one would. Chain of thought is the exception: English and Chinese
prefer exemplars with an explanation; German and French have none to show, and keep those of their answers alone.
"""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cache
from pathlib import Path

from msgspec import UNSET, Struct

from viva.benchmarks.csbench.recordfiles import DOMAINS, KINDS
from viva.types import ExamSpec, Question

ALIGNMENT = Path(__file__).parent / "validation.csv"
LABELS = {"choice": ("A", "B", "C", "D"), "truth": ("true", "false")}
"""Kinds whose golds are a few labels, which an exemplar can make look likelier than they are."""


class Candidate(Struct, frozen=True):
    """A question of the validation split. `usable`: it may be shown."""

    question: Question
    usable: bool


@cache
def _alignment(language: str) -> Mapping[str, tuple[int, bool]]:
    """Published id → place in the English file, tested; empty for a language that was not published."""
    rows = csv.DictReader(io.StringIO(ALIGNMENT.read_text(encoding="utf-8")))
    if language not in (rows.fieldnames or ()):
        return {}
    return {row[language]: (at, row["tested"] == "yes") for at, row in enumerate(rows)}


def candidates(valid: Sequence[Question], asked: Set[str], spec: ExamSpec) -> list[Candidate]:
    """The validation split in the order of the English one. `asked` are the texts of the test questions.

    Files that are not the published ones keep their own order: sets built here have the same in every language. As
    published, only what may be shown is drawn from, so that the draw is that of CS-Bench 1 to 3.
    """
    known = {} if spec.as_published else _alignment(spec.language)
    if known and {question.id for question in valid} == known.keys():
        found = sorted(((*known[question.id], question) for question in valid), key=lambda row: row[0])
    else:
        found = [(at, False, question) for at, question in enumerate(valid)]
    pool = [
        Candidate(question, not tested and question.answer is not None and question.text not in asked)
        for _, tested, question in found
    ]
    return [one for one in pool if one.usable] if spec.as_published else pool


def draw(pool: Sequence[Candidate], spec: ExamSpec) -> dict[str, list[Question]]:
    """k exemplars for each domain and kind ("DSA/choice"), drawn by the seed.

    Same format, always. Golds of choices and assertions are balanced as far as k and the pool allow: no label is shown
    twice before each was shown once, and so on; which labels are shown once more goes round over the domains (as
    published the draw decides, whatever the golds). Of one label (of blanks and open questions: of all) those of the
    own domain come first; under chain of thought those with an explanation come before them, but for open
    questions, whose chain of thought is the answer alone, as in the paper.
    """
    drawn: dict[str, list[Question]] = {}
    seed = spec.seed if spec.draw is UNSET else f"{spec.seed}/{spec.draw}"
    for kind in dict.fromkeys(KINDS.values()):
        labels = [] if spec.as_published else list(LABELS.get(kind, ()))
        random.Random(f"{seed}/{kind}").shuffle(labels)
        for number, domain in enumerate(DOMAINS.values()):
            source = random.Random(f"{seed}/{domain}/{kind}")
            of_kind = [one for one in pool if one.question.kind == kind]
            source.shuffle(of_kind)
            needs_thought = spec.chain_of_thought and kind != "open"
            of_kind.sort(
                key=lambda one: (needs_thought and not one.question.explanation, one.question.tags["domain"] != domain)
            )
            ordered = [one.question for one in of_kind if one.usable]
            if labels:
                turn = number % len(labels)
                shown = list(_balanced(ordered, [*labels[turn:], *labels[:turn]]))[: spec.shots]
                source.shuffle(shown)
            else:
                shown = ordered[: spec.shots]
            drawn[f"{domain}/{kind}"] = shown
    return drawn


def _balanced(ordered: Sequence[Question], labels: Sequence[str]) -> Iterator[Question]:
    """All of them, one of each label in turn for as long as there are any."""
    queues = [iter([question for question in ordered if question.answer == label]) for label in labels]
    while queues:
        left = []
        for queue in queues:
            if question := next(queue, None):
                yield question
                left.append(queue)
        queues = left
