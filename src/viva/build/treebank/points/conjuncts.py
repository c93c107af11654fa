"""CO: the other noun phrase or verb phrase of a coordination.

    a curse       → a blessing        (NP (NP a blessing) and (NP a curse))
    will provide  → will spur         one clause, two verb phrases, auxiliaries distributed
    employs       → has

Asked in both directions; a blank only where the coordination has two members. Flat `NN and NN` is not covered, and
coordinated clauses are never asked about. arXiv 2311.08287, section 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from viva.benchmarks.syneval.facts import SlotKind
from viva.build.treebank.arguments import has_conjunction, other_extents
from viva.build.treebank.findings import Finding, Reading
from viva.build.treebank.modifiers import REDUCED_RELATIVE, Modifier
from viva.build.treebank.points.arguments import particle_end
from viva.build.treebank.sentence import Sentence
from viva.build.treebank.tree import TAGS, Node, TreeError, tags_of
from viva.build.treebank.verbs import BE, VERB_TAGS, VerbSequence, verb_paths

_NAMES = {
    "prepositional_phrase": ("with_prepositional_phrase",),
    REDUCED_RELATIVE: ("with_relative_clause", "with_reduced_relative_clause"),
    "wh_clause": ("with_wh_clause",),
    "that_clause": ("with_that_clause",),
}


MAX_CONJUNCTS = 50
"""As published, every pair is asked about; the sample's longest list has ten."""


class Conjunct(NamedTuple):
    """One member of a coordination.

    `modifiers` is None for a noun phrase that nothing follows; as published also where neither a modifier nor an
    apposition does.
    """

    text: str
    node: Node
    verb: VerbSequence | None
    modifiers: tuple[Modifier, ...] | None


def find(reading: Reading) -> Iterator[Finding]:
    """Yield one finding per ordered pair of conjuncts, and one per slot (also a single verb phrase) for false
    statements of coordination.
    """
    for kind, parent, conjuncts in _coordinations(reading):
        name = f"coordinated_{kind}"
        for place, slot in enumerate(conjuncts):
            if not _is_clear(reading, kind, slot):
                continue
            unpaired = Finding(
                knowledge_point="CO",
                slot_kind=kind,
                slot=slot.text,
                tags=(name,),
                nodes=(parent, slot.node),
                rule=kind,
                category=name,
                answer_node=slot.node,
                slot_verb=slot.verb,
                blank=False,
                also=tuple(conjunct.text for conjunct in conjuncts),
                related=tuple(conjunct.node for conjunct in conjuncts),
            )
            yield unpaired
            for other, answer in enumerate(conjuncts):
                # By default neighbours only: a list of ten would be ninety questions.
                if abs(place - other) == 1 or (reading.published and place != other):
                    yield replace(
                        unpaired,
                        answer=answer.text,
                        tags=_tags(kind, slot, answer),
                        answer_node=answer.node,
                        answer_verb=answer.verb,
                        blank=len(conjuncts) == 2,
                        accepted=tuple(_accepted(reading, answer)),
                    )


def _accepted(sentence: Sentence, answer: Conjunct) -> Iterator[str]:
    """Yield other correct texts: of a verb phrase, the conjunct without shared auxiliaries, with particle or object;
    of a noun phrase, with less or more of what follows it."""
    if answer.verb is None:
        yield from other_extents(sentence, answer.node)
        if "," in answer.node.tags and answer.node.children[0].tag == "NP":
            yield answer.node.children[0].text
        return
    own, leaves = answer.verb.levels[-1], sentence.tree.leaves
    parts = [verb for verb in answer.verb.verbs if verb.parent is own] or [answer.verb.last]
    first = answer.verb.verbs[0].start
    whole = () if tags_of(leaves[parts[-1].end : own.end]) & VERB_TAGS else (own.end,)
    apart = any(leaf.tag.startswith(("CC", "NN", "PRP")) for leaf in leaves[first : parts[0].start])
    for start in dict.fromkeys((parts[0].start, parts[0].start if apart else first)):
        for end in dict.fromkeys((answer.verb.last.end, particle_end(answer.verb), *whole)):
            if (text := sentence.cut(start, end)) != answer.text:
                yield text


def _coordinations(reading: Reading) -> Iterator[tuple[SlotKind, Node, list[Conjunct]]]:
    """Yield coordinated noun phrases, then the verb phrases of each clause (even a single one, for statements)."""
    for node in reading.tree.nodes:
        if node.tag == "NP" and _coordinates_nouns(node) and (reading.published or not _is_gapped(node)):
            members: list[Conjunct] = []
            for child in node.children:
                if child.tag == "NP":
                    known = reading.noun_modifiers
                    modifiers = next((known[inner] for inner in child.children if inner in known), None)
                    apposed = {after.tag for before, after in pairwise(child.children) if before.tag == ","}
                    if reading.published and not (modifiers or apposed & TAGS["following"]):
                        modifiers = None  # "$ 27 a share"
                    members.append(Conjunct(reading.cased(child.text), child, None, modifiers))
            if _distinct(members):
                yield "noun_phrase", node, members
    for clause, verbs in reading.clauses.items():
        paths = sum(len(verb_paths(child, reading.published)) for child in clause.children if child.tag == "VP")
        if paths != len(verbs):
            continue  # a gapped conjunct: what is shared is unclear
        if not reading.published and len(verbs) > 1 and _could_join_higher(verbs[0]):
            continue
        members = [Conjunct(reading.cased(verb.text), verb.last, verb, reading.verb_modifiers[verb]) for verb in verbs]
        if _distinct(members):
            yield "verb_phrase", clause, members


def _coordinates_nouns(node: Node) -> bool:
    if node.parent.tag in ("NP", "UCP"):
        return False
    return (
        node.tags <= TAGS["coordination"]
        and "DT" not in tags_of(node.children[1:])
        and sum(child.tag == "NP" for child in node.children) >= 2
        and has_conjunction(node)
    )


def _is_gapped(node: Node) -> bool:
    """Return whether a conjunct lacks its noun: "competition in Orange County, and in the Valley from the Daily
    News".
    """
    members = (child for child in node.children if child.tag == "NP")
    return any(
        member.gap
        or member.children[0].tag in ("PP", "IN", "ADVP")
        or "CONJP" in member.tags  # "..., as well as": mostly seen as a third conjunct
        for member in members
    )


def _could_join_higher(verb: VerbSequence) -> bool:
    """Return whether a conjunct after a comma may belong to a higher verb: "he said he is pleased, and doesn't see"."""
    return "," in verb.top.tags and "VP" in tags_of(verb.top.above())


def _distinct(members: list[Conjunct]) -> bool:
    if len(members) > MAX_CONJUNCTS:
        raise TreeError(f"a coordination of {len(members)} phrases, more than {MAX_CONJUNCTS}")
    texts = {member.text for member in members}
    return len(texts) == len(members) and "" not in texts


def _is_clear(sentence: Sentence, kind: SlotKind, slot: Conjunct) -> bool:
    """Return whether the slot occurs once and is more than a form of be."""
    if slot.verb is not None:
        return sentence.plain_counts[slot.verb.plain.lower()] == 1 and slot.text not in BE
    return sentence.noun_lower_counts[slot.text.lower()] == 1


def _tags(kind: SlotKind, slot: Conjunct, answer: Conjunct) -> tuple[str, ...]:
    """Return the published strata: whether either conjunct is modified, and by what."""
    name = f"coordinated_{kind}"
    overall = f"{name}:with_modifier:{'yes' if slot.modifiers else 'no'}:{'yes' if answer.modifiers else 'no'}"
    sides = [(letter, side.modifiers) for letter, side in (("i", slot), ("j", answer)) if side.modifiers is not None]
    known = {letter: f"{name}:with_modifier_{letter}:{'yes' if modified else 'no'}" for letter, modified in sides}
    with_what = {letter: _with_what(f"{name}:with_modifier_{letter}", modified) for letter, modified in sides}
    if kind == "verb_phrase":
        return (name, overall, known["i"], known["j"], *with_what["i"], *with_what["j"])
    return (name, *(tag for letter, _ in sides for tag in (known[letter], *with_what[letter])), overall)


def _with_what(prefix: str, modifiers: tuple[Modifier, ...]) -> list[str]:
    categories = dict.fromkeys(modifier.category.partition("(")[0] for modifier in modifiers)
    return [f"{prefix}:{name}" for category in categories for name in _NAMES.get(category, ())]
