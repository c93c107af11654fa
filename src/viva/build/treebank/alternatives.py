"""Wrong answers that are really wrong: what the default mode offers beside the right one.

A phrase of the sentence is offered if it neither overlaps the right answer nor answers the question as well: no trace's
antecedent, no other conjunct, no other modifier of the same phrase, no other verb of the same argument. For attachment,
phrases that the prepositional phrase could attach to come first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from viva.build.treebank.attachment import could_modify_noun, could_modify_verb, is_of
from viva.build.treebank.categories import CONJUNCTIONS, is_possessive
from viva.build.treebank.findings import Finding
from viva.build.treebank.phrases import bare
from viva.build.treebank.sentence import Sentence
from viva.build.treebank.tree import Node
from viva.build.treebank.verbs import BE
from viva.build.treebank.wordings import wordings

WANTED = 3
_ARGUMENTS = frozenset(("GS", "SC", "DO", "IO"))
_FAR = 1000


class Phrase(NamedTuple):
    """A candidate: its text, where it comes from, and whether it is a verb phrase."""

    text: str
    node: Node
    verbal: bool = False


def choose(pool: list[Phrase], finding: Finding, others: Iterable[str], sentence: Sentence) -> list[str]:
    """Up to three of the candidates, which come in random order; `others` are right answers as well."""
    taken = _Taken((finding.answer, *finding.accepted, *finding.also, *others, finding.slot))
    pool = [p for p in pool if p.text and not taken.overlap(p.text) and not _could_be(p, finding, sentence)]
    if finding.knowledge_point == "PPA":
        pool = _attachable(pool, finding)
    elif finding.knowledge_point == "SC":
        pool.sort(key=_is_no_complement)
    elif finding.knowledge_point in _ARGUMENTS:
        pool.sort(key=_is_easy)
    return _apart([phrase.text for phrase in pool], kept=int(finding.knowledge_point == "PPA"))


def partners(pool: list[Phrase], taken: list[str], slot: Node, conjuncts: tuple[Node, ...]) -> list[str]:
    """Up to three phrases that a slot is not coordinated with, not even by way of the clauses around them."""
    right = _Taken(taken)
    found: list[str] = []
    for phrase in pool:
        text = phrase.text
        if not text or (phrase.verbal and text in BE) or right.overlap(text):
            continue
        if phrase.verbal and _coordinated(phrase.node, slot):
            continue
        if not any(phrase.node.meets(node) for node in conjuncts):
            found.append(text)
    return _apart(found)


class _Taken:
    """Phrases that nothing may overlap with, word by word: as `phrases.overlap`, for many at a time."""

    __slots__ = ("_words",)

    def __init__(self, texts: Iterable[str]) -> None:
        self._words = [bare(text) for text in texts]

    def overlap(self, text: str) -> bool:
        words = bare(text)
        for other in self._words:  # noqa: SIM110 - called a hundred times a sentence, and twice as quick
            if words in other or other in words:
                return True
        return False

    def add(self, text: str) -> None:
        self._words.append(bare(text))


def _apart(texts: list[str], kept: int = 0) -> list[str]:
    """Return the first three that do not lie in each other; where a long one leaves no room for that, the shortest
    three.

    The first `kept` are taken in any case.
    """
    found: list[str] = []
    for again in (False, True):
        found, taken = [], _Taken(())
        for text in [*texts[:kept], *sorted(texts[kept:], key=len)] if again else texts:
            if not taken.overlap(text):
                taken.add(text)
                found.append(text)
            if len(found) == WANTED:
                return found
    return found


def _could_be(phrase: Phrase, finding: Finding, sentence: Sentence) -> bool:
    """Return whether a candidate could answer the question as well as the answer."""
    node, point = phrase.node, finding.knowledge_point
    if any(node.meets(other) for other in finding.related):
        return True
    if point == "PPA":
        return _could_host(phrase, finding)
    if point == "ADV":
        return finding.slot_verb is not None and could_modify_verb(finding.slot_verb, node)
    if point == "ADJ":
        # What modifies a noun phrase that begins with the slot may be said to modify the slot.
        head = finding.nodes[0]
        begins = node.parent is not None and node.parent.start == head.start
        return begins or could_modify_noun(sentence, head, node)
    return point in _ARGUMENTS and _could_name(phrase, finding)


def _could_host(phrase: Phrase, finding: Finding) -> bool:
    """Return a bare form of be, a verb that takes the answer's verb, a noun phrase that begins the one around the
    answer.
    """
    node, asked = phrase.node, finding.nodes[-1]
    if phrase.verbal:
        return phrase.text.lower() in BE or _governs(node, finding)
    return not is_of(asked) and node.parent is not None and node.parent.tag == "NP" and node.parent.holds(asked)


def _could_name(phrase: Phrase, finding: Finding) -> bool:
    """ "she" may be the nurse: no pronoun beside a noun, and beside a pronoun no noun that it may stand for."""
    pronouns = wordings().fillers["pronouns"]
    named = phrase.text.lower() in pronouns
    if finding.answer.lower() in pronouns:
        return not named and phrase.node.end <= finding.answer_node.start
    return named


def _governs(verb: Node, finding: Finding) -> bool:
    """Return whether a verb takes the answer's verb in its own phrase, with no clause of its own between: "plan to
    meet".
    """
    below = finding.answer_verb
    if below is None or verb.parent is None or not verb.parent.holds(below.last):
        return False
    above = below.top.parent
    while above is not None and above is not verb.parent:
        if above.tag == "SBAR":
            return False
        above = above.parent
    return True


def _is_easy(phrase: Phrase) -> bool:
    """An adverb or a possessive is never taken for a subject or an object: offered only where nothing else is left."""
    return phrase.node.tag != "NP" or is_possessive(phrase.node)


def _is_no_complement(phrase: Phrase) -> bool:
    """Adjectives come first: among nouns, the only one would give itself away."""
    return phrase.node.tag != "ADJP" and "PRD" not in phrase.node.functions


def _coordinated(one: Node, other: Node) -> bool:
    """Return whether the smallest phrase that holds both coordinates something."""
    node = one.parent
    while node is not None and not node.holds(other):
        node = node.parent
    return node is not None and any(child.tag in CONJUNCTIONS or child.tag == ":" for child in node.children)


def _attachable(pool: Iterable[Phrase], finding: Finding) -> list[Phrase]:
    """Candidates in the order of how well the prepositional phrase could attach to them.

    First what stands before it and is nearest: a noun phrase that ends where it begins, the verb before that; last what
    follows it. Nothing inside it, and nothing that holds it.
    """
    asked = finding.nodes[-1]
    ranked: list[tuple[int, int, Phrase]] = []
    for number, candidate in enumerate(pool):
        node = candidate.node
        if node.start < asked.end and node.end > asked.start:
            continue
        before = node.end <= asked.start
        distance = asked.start - node.end if before else node.start - asked.end + _FAR
        ranked.append((distance, number, candidate))
    ranked.sort(key=lambda entry: entry[:2])
    first = [entry[2] for entry in ranked]
    # The nearest of the other kind leads: that is the reading which a careless reader falls for.
    verbal = finding.answer_verb is not None
    rival = next((candidate for candidate in first if candidate.verbal != verbal), None)
    return first if rival is None else [rival, *(candidate for candidate in first if candidate is not rival)]
