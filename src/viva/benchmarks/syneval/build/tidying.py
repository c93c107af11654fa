"""What the default mode does to findings before it asks: tidy texts, nothing twice, nothing that answers itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from viva.benchmarks.syneval.build.finding import Finding


def tidy(findings: Sequence[Finding]) -> list[Finding]:
    """Findings with tidy texts, without duplicates and leaks; a slot with several answers is no blank to fill in.

    The published generator keeps all of these (specification, section 6, quirks 1, 3 and 10).
    """
    seen: set[tuple[str, str, str, str]] = set()
    answers: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    kept: list[Finding] = []
    for finding in findings:
        slot, answer = tidy_text(finding.slot), tidy_text(finding.answer)
        key = (finding.knowledge_point, finding.slot_kind, slot, answer.lower())
        if not slot or not answer or key in seen or leaks(slot, answer):
            continue
        seen.add(key)
        answers[key[:3]].add(key[3])
        accepted = tuple(
            text for text in dict.fromkeys(tidy_text(text) for text in finding.accepted) if text and text != answer
        )
        kept.append(replace(finding, slot=slot, answer=answer, accepted=accepted))
    return [
        replace(finding, blank=False)
        if finding.blank and len(answers[finding.knowledge_point, finding.slot_kind, finding.slot]) > 1
        else finding
        for finding in kept
    ]


def tidy_text(text: str) -> str:
    """Without a comma at its end, and without a quotation mark whose partner lies outside."""
    text = text.strip().rstrip(",").rstrip()
    if text.count('"') % 2:
        text = text.strip('"') if text.strip('"').count('"') % 2 == 0 else text.replace('"', "")
    return text.strip()


def leaks(slot: str, answer: str) -> bool:
    """Whether the phrase that is shown holds the answer, or is held by it."""
    shown, wanted = f" {slot.lower()} ", f" {answer.lower()} "
    return wanted in shown or shown in wanted
