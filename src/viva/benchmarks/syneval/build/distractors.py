"""Wrong answers: phrases of the same sentence that a question may offer beside the right one.

As published they are drawn at random from the sentence and filled up from a list where it has too few, whether or not
they are really wrong. By default they come from the sentence alone, and nothing that overlaps the right answer, answers
the question as well, or repeats another option is offered (specification, section 6, quirks 6 to 9); for attachment,
phrases that the prepositional phrase could attach to come first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from viva.benchmarks.syneval.build.dice import Dice
from viva.benchmarks.syneval.build.finding import Finding, Unpaired
from viva.benchmarks.syneval.build.points.adjective_modifier import is_plain
from viva.benchmarks.syneval.build.reading import Reading
from viva.benchmarks.syneval.build.tree import Node
from viva.benchmarks.syneval.build.verbs import BE
from viva.benchmarks.syneval.build.wordings import wordings

_MODIFYING = frozenset(("PP", "ADVP", "SBAR"))
_PHRASES = frozenset(("NP", "ADJP", "ADVP"))
WANTED = 3


class Phrase(NamedTuple):
    """A candidate: its text, where it comes from, and whether it is a verb phrase."""

    text: str
    node: Node
    verbal: bool = False


class Pools:
    """The candidates of one sentence, by kind."""

    __slots__ = ("modifiers", "nouns", "phrases", "plain_verbs", "published", "text_verbs")

    def __init__(self, reading: Reading) -> None:
        nodes = reading.sentence.tree.nodes
        verbs = reading.sentence.verbs
        self.published = reading.published
        self.phrases = [Phrase(n.text.lower(), n) for n in nodes if n.tag in _PHRASES and is_plain(n)]
        self.nouns = [Phrase(n.text, n) for n in nodes if n.tag == "NP" and n.text]
        self.plain_verbs = [Phrase(verb.plain, verb.last, True) for verb in verbs]
        self.text_verbs = [Phrase(verb.text, verb.last, True) for verb in verbs]
        found = [m for host in reading.noun_hosts for m in host.modifiers]
        found += [m for modifiers in reading.verb_modifiers.values() for m in modifiers]
        self.modifiers = [Phrase(m.text, m.node) for m in found if m.text and m.node.tag != "RB"]
        if not reading.published:
            # Any phrase that could modify something: a sentence seldom holds three modifiers of other phrases.
            known = {phrase.node for phrase in self.modifiers}
            self.modifiers += [
                Phrase(n.text, n)
                for n in nodes
                if n.tag in _MODIFYING and n.text and n.text.count(" ") and n not in known
            ]


def wrong_answers(pools: Pools, finding: Finding, dice: Dice, others: Iterable[str] = ()) -> list[str]:
    """Up to three wrong answers for a question; `others` are right answers to it beside the finding's own."""
    point = finding.knowledge_point
    if point in ("GS", "SC", "DO", "IO"):
        pool = [phrase for phrase in pools.phrases if not _related(phrase.node, finding.answer_node)]
        filler = "pronouns"
    elif point == "MVP":
        pool = [Phrase(verb.text.lower(), verb.node, True) for verb in pools.plain_verbs]
        filler = "verbs"
    elif point == "PPA":
        pool, filler = [*pools.plain_verbs, *pools.nouns], "pronouns"
    elif point == "CO":
        return wrong_partners(pools, finding.slot_kind, (finding.slot, finding.answer, *others), (), dice)
    else:
        pool, filler = pools.modifiers, "modifiers"
    if pools.published:
        gold = finding.answer.lower()
        fits = _outside(gold) if point == "PPA" else None
        return _draw(dice.shuffled(pool), [gold, *(other.lower() for other in others)], filler, fits)
    pool = _attachable(pool, finding) if point == "PPA" else dice.shuffled(pool)
    return _really_wrong(pool, finding, others)


def wrong_partners(pools: Pools, slot_kind: str, taken: Iterable[str], nodes: Iterable[Node], dice: Dice) -> list[str]:
    """Up to three phrases of the slot's kind that it is not coordinated with. `taken`: the slot and its conjuncts."""
    verbal = slot_kind == "verb_phrase"
    pool = pools.text_verbs if verbal else pools.nouns
    if pools.published:
        # As published, conjuncts are compared in lower case with phrases as they stand: capitalised ones come through.
        lowered = set(taken)
        candidates = [phrase for phrase in pool if phrase.text not in lowered and not (verbal and phrase.text in BE)]
        return _draw(dice.shuffled(candidates), [], "verbs" if verbal else "pronouns", None)
    texts = [text.lower() for text in taken]
    members = tuple(nodes)
    found: list[str] = []
    for phrase in dice.shuffled(pool):
        text = phrase.text.lower()
        if (verbal and text in BE) or any(_overlap(text, other) for other in (*texts, *found)):
            continue
        if not any(_related(phrase.node, node) for node in members):
            found.append(text)
            if len(found) == WANTED:
                break
    return found


def wrong_partner(pools: Pools, slot: Unpaired, dice: Dice) -> str | None:
    """One phrase that a slot is not coordinated with; None where the sentence has none."""
    found = wrong_partners(pools, slot.slot_kind, (slot.slot, *slot.conjuncts), slot.conjunct_nodes, dice)
    return found[0] if found else None


def _draw(pool: list[Phrase], taken: list[str], filler: str, fits: _Outside | None) -> list[str]:
    """The first three that are new, then from the list of fillers, as published."""
    seen = set(taken)
    found: list[str] = []
    for text in (*(phrase.text for phrase in pool), *wordings().fillers[filler]):
        if len(found) == WANTED:
            break
        lowered = text.lower()
        if lowered not in seen and (fits is None or fits(lowered)):
            seen.add(lowered)
            found.append(text)
    return found


class _Outside(NamedTuple):
    gold: str

    def __call__(self, text: str) -> bool:
        return text not in self.gold


def _outside(gold: str) -> _Outside:
    return _Outside(gold)


def _really_wrong(pool: Iterable[Phrase], finding: Finding, others: Iterable[str]) -> list[str]:
    right = [finding.answer.lower(), *(text.lower() for text in (*finding.accepted, *others))]
    slot = finding.slot.lower()
    found: list[str] = []
    taken: list[str] = []
    for phrase in pool:
        text = phrase.text.lower()
        if any(_overlap(text, other) for other in (*right, *taken)) or _overlap(text, slot):
            continue
        if phrase.verbal and text in BE and finding.knowledge_point == "PPA":
            continue
        taken.append(text)
        found.append(phrase.text)
        if len(found) == WANTED:
            break
    return found


def _overlap(one: str, other: str) -> bool:
    """Whether one phrase lies within the other, word by word."""
    if len(one) > len(other):
        one, other = other, one
    return f" {one} " in f" {other} " if one else True


def _attachable(pool: Iterable[Phrase], finding: Finding) -> list[Phrase]:
    """Candidates in the order of how well the prepositional phrase could attach to them.

    First what stands before it and is nearest: a noun phrase that ends where it begins, the verb before that; last what
    follows it. Nothing inside it, and nothing that holds it.
    """
    phrase = finding.nodes[-1]
    ranked: list[tuple[int, int, Phrase]] = []
    for number, candidate in enumerate(pool):
        node = candidate.node
        if node.start < phrase.end and node.end > phrase.start:
            continue
        before = node.end <= phrase.start
        distance = phrase.start - node.end if before else node.start - phrase.end + 1000
        ranked.append((distance, number, candidate))
    ranked.sort(key=lambda entry: entry[:2])
    first = [entry[2] for entry in ranked]
    # The nearest of the other kind leads: that is the reading which a careless reader falls for.
    verbal = finding.answer_verb is not None
    rival = next((candidate for candidate in first if candidate.verbal != verbal), None)
    return first if rival is None else [rival, *(candidate for candidate in first if candidate is not rival)]


def _related(one: Node, other: Node) -> bool:
    return one.holds(other) or other.holds(one)
