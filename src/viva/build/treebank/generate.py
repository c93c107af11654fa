"""One tree in, its facts and questions out: the pure middle of `viva build syneval`."""

from __future__ import annotations

from viva.benchmarks.syneval.items import Fact, Item
from viva.build.treebank.cleanup import tidy, tidy_shown
from viva.build.treebank.constituents import Reading
from viva.build.treebank.findings import Finding
from viva.build.treebank.points import EXISTENCES, POINTS, UNPAIRED
from viva.build.treebank.question_wording import Asker
from viva.build.treebank.tree import parse
from viva.build.treebank.wordings import Wordings, wordings

_UNANALYSED = "X"
"""The treebank's mark for what its annotators could not analyse: a typing error, a sentence cut off."""


def generate(
    text: str, file: str, tree: int, *, published: bool, words: Wordings | None = None
) -> tuple[list[Fact], list[Item]]:
    """The fill-in-the-blank facts and all questions of one bracketed tree. Raises TreeError.

    `file` and `tree` say where it comes from; the same tree of the same name gives the same questions, always.
    `published` behaves as the authors' generator does, quirks included. `words`: other wordings than the bundled ones.
    """
    parsed = parse(text, published)
    if not parsed.sentence or (not published and any(node.tag == _UNANALYSED for node in parsed.nodes)):
        return [], []
    reading = Reading(parsed, published)
    findings = [finding for find in POINTS for finding in find(reading)]
    if not published:
        findings = tidy(findings, parsed.sentence)
    facts = [_fact(finding, parsed.sentence, file, tree) for finding in findings if finding.blank]
    asker = Asker(reading, file, tree, words or wordings())
    for finding in findings:
        asker.learn(finding)
    items = [item for finding in findings for item in asker.ask(finding)]
    existences = [found for exists in EXISTENCES for found in exists(reading)]
    unpaired = list(UNPAIRED(reading))
    if not published:
        existences = list(tidy_shown(existences, parsed.sentence))
        unpaired = list(tidy_shown(unpaired, parsed.sentence))
    items.extend(item for found in existences for item in asker.exist(found))
    items.extend(item for slot in unpaired for item in asker.pair(slot))
    return facts, items


def _fact(finding: Finding, sentence: str, file: str, tree: int) -> Fact:
    return Fact(
        file=file,
        tree=tree,
        sentence=sentence,
        knowledge_point=finding.knowledge_point,
        slot_kind=finding.slot_kind,
        slot=finding.slot,
        answer=finding.answer,
        category=finding.category,
        tags=finding.tags,
        nodes=tuple(node.path for node in finding.nodes),
        rule=finding.rule,
    )
