"""Wrong answers: phrases of the same sentence that a question may offer beside the right one.

As published they are drawn at random from the sentence and filled up from a list where it has too few, whether or not
they are really wrong. By default (alternatives.py) they come from the sentence alone, and nothing that could be right
is offered (specification, section 6, quirks 6 to 9).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from viva.build.treebank import alternatives
from viva.build.treebank.alternatives import Phrase
from viva.build.treebank.findings import Finding, Reading, Unpaired
from viva.build.treebank.modifiers import is_phrase
from viva.build.treebank.phrases import tidy_text
from viva.build.treebank.points.adjective_modifier import is_plain
from viva.build.treebank.seeded_choice import Dice
from viva.build.treebank.tree import Node
from viva.build.treebank.verbs import BE
from viva.build.treebank.wordings import wordings

_PHRASES = frozenset(("NP", "ADJP", "ADVP"))
_MODIFYING = frozenset(("PP", "ADVP", "SBAR"))
_ARGUMENTS = frozenset(("GS", "SC", "DO", "IO"))
WANTED = alternatives.WANTED


class Pools:
    """The candidates of one sentence, by kind."""

    __slots__ = ("modifiers", "nouns", "phrases", "plain_verbs", "published", "sentence", "text_verbs")

    def __init__(self, reading: Reading) -> None:
        nodes = reading.sentence.tree.nodes
        verbs = reading.sentence.verbs
        self.published = reading.published
        self.sentence = reading.sentence
        cased = self.sentence.cased

        def shown(text: str) -> str:
            return text if reading.published else tidy_text(reading.sentence.within(text))

        self.phrases = [Phrase(shown(cased(n.text)), n) for n in nodes if n.tag in _PHRASES and is_plain(n)]
        self.nouns = [Phrase(shown(n.text), n) for n in nodes if n.tag == "NP" and n.text]
        self.plain_verbs = [Phrase(shown(verb.plain), verb.last, True) for verb in verbs]
        self.text_verbs = [Phrase(shown(verb.text), verb.last, True) for verb in verbs]
        found = [m for host in reading.noun_hosts for m in host.modifiers]
        found += [m for modifiers in reading.verb_modifiers.values() for m in modifiers]
        if reading.published:
            found = [m for m in found if m.text and m.node.tag != "RB"]
        else:
            found = [m for m in found if m.text and m.category and is_phrase(m)]
        self.modifiers = [Phrase(shown(m.text), m.node) for m in found]
        if not reading.published:
            # Any phrase that could modify something: a sentence seldom holds three modifiers of other phrases.
            known = {phrase.node for phrase in self.modifiers}
            more = (n for n in nodes if n.tag in _MODIFYING and n.text.count(" ") and n not in known)
            self.modifiers += [Phrase(shown(n.text), n) for n in more if n.parent is None or n.parent.tag != "PP"]


def wrong_answers(pools: Pools, finding: Finding, dice: Dice, others: Iterable[str] = ()) -> list[str]:
    """Up to three wrong answers for a question; `others` are right answers to it beside the finding's own."""
    point = finding.knowledge_point
    if point == "CO":
        taken = (finding.slot, finding.answer, *finding.also, *others)
        return wrong_partners(pools, finding.slot_kind, taken, finding.nodes[1], finding.related, dice, finding.answer)
    if point in _ARGUMENTS:
        pool, filler = (
            [phrase for phrase in pools.phrases if not phrase.node.meets(finding.answer_node)],
            "pronouns",
        )
    elif point == "MVP":
        pool, filler = [verb._replace(text=pools.sentence.cased(verb.text)) for verb in pools.plain_verbs], "verbs"
    elif point == "PPA":
        pool, filler = [*pools.plain_verbs, *pools.nouns], "pronouns"
    else:
        pool, filler = pools.modifiers, "modifiers"
    if not pools.published:
        return alternatives.choose(dice.shuffled(pool), finding, others, pools.sentence)
    gold = finding.answer.lower()
    fits = _Outside(gold) if point == "PPA" else None
    return _draw(dice.shuffled(pool), [gold, *(other.lower() for other in others)], filler, fits)


def wrong_partners(
    pools: Pools,
    slot_kind: str,
    taken: Iterable[str],
    slot: Node,
    conjuncts: Iterable[Node],
    dice: Dice,
    answer: str = "",
) -> list[str]:
    """Up to three phrases of the slot's kind that it is not coordinated with. `taken`: the slot and its conjuncts.

    `answer` is the right one where that is an option beside them.
    """
    verbal = slot_kind == "verb_phrase"
    pool = pools.text_verbs if verbal else pools.nouns
    if not pools.published:
        return alternatives.partners(dice.shuffled(pool), list(taken), slot, tuple(conjuncts))
    # As published, conjuncts are compared in lower case with phrases as they stand: capitalised ones come through.
    lowered = set(taken)
    candidates = [phrase for phrase in pool if phrase.text not in lowered and not (verbal and phrase.text in BE)]
    return _draw(dice.shuffled(candidates), [answer], "verbs" if verbal else "pronouns", None)


def wrong_partner(pools: Pools, slot: Unpaired, dice: Dice) -> str | None:
    """Return one phrase that a slot is not coordinated with; None where the sentence has none."""
    taken = (slot.slot, *slot.conjuncts)
    found = wrong_partners(pools, slot.slot_kind, taken, slot.nodes[1], slot.conjunct_nodes, dice)
    return found[0] if found else None


def _draw(pool: list[Phrase], taken: list[str], filler: str, fits: _Outside | None) -> list[str]:
    """Return the first three that are new, then from the list of fillers, as published."""
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
    """Whether a text is no part of the gold answer."""

    gold: str

    def __call__(self, text: str) -> bool:
        return text not in self.gold
