"""Generate the facts and questions of one tree: the pure core of `viva build syneval`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from viva.benchmarks.syneval.facts import Fact, Item
from viva.build.treebank.findings import Finding, Reading
from viva.build.treebank.phrases import overlap, tidy_text, times
from viva.build.treebank.points import arguments, conjuncts, modifiers
from viva.build.treebank.questions import Asker
from viva.build.treebank.sentence import Sentence
from viva.build.treebank.tree import parse, tags_of
from viva.build.treebank.wordings import Wordings, wordings

POINTS: tuple[Callable[[Reading], Iterator[Finding]], ...] = (
    arguments.find,
    arguments.find_verbs,
    modifiers.find_adjectives,
    modifiers.find_adverbs,
    conjuncts.find,
    modifiers.find_attachments,
)
_UNANALYSED = "X"
"""The treebank's tag for text that annotators could not analyse: typing errors, truncated sentences."""


def generate(
    text: str, file: str, tree: int, *, published: bool, words: Wordings | None = None
) -> tuple[list[Fact], list[Item]]:
    """Return the fill-in-the-blank facts and all questions of one bracketed tree. Raises TreeError.

    `file` and `tree` say where it comes from; questions depend on them and the tree alone.
    `published` behaves as the authors' generator does, quirks included. `words`: other wordings than the bundled ones.
    """
    parsed = parse(text, published)
    if not parsed.sentence or (not published and _UNANALYSED in tags_of(parsed.nodes)):
        return [], []
    reading = Reading(parsed, published)
    findings = sorted((finding for find in POINTS for finding in find(reading)), key=_rank)
    findings = list(map(_as_published, findings)) if published else tidy(findings, reading)
    facts = [_fact(finding, parsed.sentence, file, tree) for finding in findings if finding.blank]
    asker = Asker(reading, file, tree, words or wordings())
    for finding in findings:
        asker.learn(finding)
    return facts, [item for finding in findings for item in asker.ask(finding)]


def _rank(finding: Finding) -> int:
    """Return 0 for findings with an answer, 1 for presence of a modifier, 2 for missing coordination."""
    return 0 if finding.answer else 1 if finding.exists is not None else 2


def _as_published(finding: Finding) -> Finding:
    """Return a finding with all formats allowed and no other answers accepted."""
    return replace(finding, choice=True, statements=True, accepted=()) if finding.answer else finding


def _fact(finding: Finding, sentence: str, file: str, tree: int) -> Fact:
    return Fact(
        file=file,
        tree=tree,
        sentence=sentence,
        nodes=tuple(node.path for node in finding.nodes),
        **{name: getattr(finding, name) for name in _OF_FINDING},
    )


_OF_FINDING = ("knowledge_point", "slot_kind", "slot", "answer", "category", "tags", "rule")


def tidy(findings: Sequence[Finding], sentence: Sentence) -> list[Finding]:
    """Tidy texts and drop duplicates and leaks; a slot with several answers gets no blank to fill in.

    Answers are written as within a sentence, like the options.

    The published generator keeps all of these (specification, section 6, quirks 1, 3 and 10).
    """
    answers: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    kept: list[Finding] = []
    for finding in findings:
        slot, answer = tidy_text(finding.slot), tidy_text(sentence.within(finding.answer))
        if not can_be_shown(slot, sentence.tree.sentence):
            continue
        if finding.answer:
            known = answers[finding.knowledge_point, finding.slot_kind, slot]
            if not answer or answer.lower() in known or overlap(slot, answer):
                continue
            known.add(answer.lower())
        also = dict.fromkeys(tidy_text(sentence.within(text)) for text in finding.accepted) if finding.accepted else ()
        accepted = tuple(text for text in also if text and text != answer)
        same = slot == finding.slot and answer == finding.answer and accepted == finding.accepted
        kept.append(finding if same else replace(finding, slot=slot, answer=answer, accepted=accepted))
    return [
        replace(finding, blank=False)
        if finding.blank and len(answers[finding.knowledge_point, finding.slot_kind, finding.slot]) > 1
        else finding
        for finding in kept
    ]


def can_be_shown(slot: str, sentence: str) -> bool:
    """Return whether the slot is not empty and occurs only once in the sentence."""
    return bool(slot) and times(slot, sentence) <= 1
