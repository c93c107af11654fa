"""What the default mode does to findings before it asks: tidy texts, nothing twice, nothing that answers itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from viva.build.treebank.findings import Existence, Finding, Unpaired
from viva.build.treebank.phrases import overlap, tidy_text, times

_Shown = TypeVar("_Shown", Existence, Unpaired)
_CLITICS = frozenset(("'s", "'re", "'m", "'ve", "'d", "'ll", "s", "re", "m", "ve", "d", "ll", "wo", "ca"))
"""Verbs that lean on their neighbour: found in a sentence only where one word ends like that."""


def tidy(findings: Sequence[Finding], sentence: str) -> list[Finding]:
    """Findings with tidy texts, without duplicates and leaks; a slot with several answers is no blank to fill in.

    The published generator keeps all of these (specification, section 6, quirks 1, 3 and 10).
    """
    seen: set[tuple[str, str, str, str]] = set()
    answers: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    kept: list[Finding] = []
    for finding in findings:
        slot, answer = tidy_text(finding.slot), tidy_text(finding.answer)
        key = (finding.knowledge_point, finding.slot_kind, slot, answer.lower())
        if not answer or key in seen or overlap(slot, answer) or not can_be_shown(slot, sentence):
            continue
        seen.add(key)
        answers[key[:3]].add(key[3])
        also = dict.fromkeys(tidy_text(text) for text in finding.accepted) if finding.accepted else ()
        accepted = tuple(text for text in also if text and text != answer)
        same = slot == finding.slot and answer == finding.answer and accepted == finding.accepted
        kept.append(finding if same else replace(finding, slot=slot, answer=answer, accepted=accepted))
    return [
        replace(finding, blank=False)
        if finding.blank and len(answers[finding.knowledge_point, finding.slot_kind, finding.slot]) > 1
        else finding
        for finding in kept
    ]


def tidy_shown(found: Iterable[_Shown], sentence: str) -> Iterator[_Shown]:
    """Statements about a slot alone: those whose slot can be found."""
    for one in found:
        slot = tidy_text(one.slot)
        if can_be_shown(slot, sentence):
            yield one if slot == one.slot else replace(one, slot=slot)


def can_be_shown(slot: str, sentence: str) -> bool:
    """Whether a reader finds the phrase: it does not stand in the sentence twice, and is a word of its own."""
    if slot.lower() in _CLITICS:
        return sum(word.endswith(slot.lower()) for word in sentence.lower().split()) == 1
    return bool(slot) and times(slot, sentence) <= 1
