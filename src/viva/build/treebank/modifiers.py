"""What modifies a verb phrase or a noun phrase: the ground of ADV, ADJ and PPA.

Specification, section 2, ADJ and ADV.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

from viva.build.treebank.arguments import has_noun_complement, is_verb_modifier
from viva.build.treebank.categories import CONJUNCTIONS, is_possessive
from viva.build.treebank.sentence import Sentence, relative_head, with_head
from viva.build.treebank.tree import Node
from viva.build.treebank.verbs import VerbSequence

_FOLLOWING = frozenset(("PP", "ADJP", "ADVP", "NP", "SBAR", "VP", "S", "RRC", ","))
_MODIFYING = frozenset(("PP", "ADJP", "ADVP", "SBAR", "VP", "S", "RRC"))
_NOUNS = frozenset(("NP", "NN", "NNS", "NNP", "NNPS"))
NON_RESTRICTIVE = "(non-restrictive)"
REDUCED_RELATIVE = "reduced_relative_clause"


@dataclass(slots=True, frozen=True, eq=False)
class Modifier:
    """A modifier with its text. `category` is empty where it has none that is asked about."""

    node: Node
    text: str
    category: str
    moved: bool = False


@dataclass(slots=True, frozen=True, eq=False)
class NounHost:
    """A noun phrase with what modifies it. `others` counts what is neither: clauses that complete the noun."""

    head: Node
    modifiers: tuple[Modifier, ...]
    others: int


def is_phrase(modifier: Modifier) -> bool:
    """Return whether a modifier can be shown: a preposition alone ("the man she spoke to") is none."""
    return modifier.node.tag != "PP" or " " in modifier.text


def noun_hosts(sentence: Sentence) -> list[NounHost]:
    """Return every noun phrase inside a noun phrase that something follows."""
    hosts: list[NounHost] = []
    for node in sentence.tree.nodes:
        if node.tag != "NP":
            continue
        head = _head(node)
        if head is None:
            continue
        after = node.children[head.position + 1 :]
        if any(child.tag in CONJUNCTIONS for child in after) or not any(child.tag in _FOLLOWING for child in after):
            continue
        found = tuple(_noun_modifiers(sentence, after))
        hosts.append(NounHost(head, found, int(has_noun_complement(sentence, head))))
    return hosts


def _head(node: Node) -> Node | None:
    """Return the inner head: the first NP that is not possessive, after at most one possessive; else a possessive
    alone.
    """
    possessives = 0
    for child in node.children:
        if child.tag != "NP":
            continue
        if not is_possessive(child):
            return child if possessives <= 1 else None
        if not any(later.tag in _NOUNS for later in node.children[child.position + 1 :]):
            return child
        possessives += 1
    return None


def _noun_modifiers(sentence: Sentence, after: list[Node]) -> list[Modifier]:
    found: list[Modifier] = []
    for position, node in enumerate(after):
        if node.tag not in _MODIFYING:
            continue
        # As published, the first sister is asked about the last one's tag: an index of -1 (quirk 11).
        before = after[position - 1] if position or sentence.published else None
        set_off = before is not None and _ends_in_comma(before)
        if not set_off or node.tag == "SBAR":
            category = _recognised(sentence, node, NON_RESTRICTIVE if set_off else "")
            # Of one that stands elsewhere in the sentence (*ICH*), the text there.
            found.append(Modifier(node, node.text or _rebuilt(sentence, node), category))
    return found


def _ends_in_comma(node: Node) -> bool:
    """Return a comma, or a parenthesis set off by commas."""
    return node.tag == "," or (node.tag == "PRN" and node.children[-1].tag == ",")


def _recognised(sentence: Sentence, node: Node, suffix: str = "") -> str:
    if not node.text:
        return ""
    if node.tag in ("VP", "RRC"):
        return REDUCED_RELATIVE
    category = _category_of(sentence, node)
    return category and category + suffix


def verb_modifiers(sentence: Sentence, verb: VerbSequence) -> list[Modifier]:
    """Return what modifies a verb sequence: sisters of its topmost VP after the subject, and of its verbs at every
    level.
    """
    nodes: list[Node] = []
    subjects = [child for child in verb.top.before if "SBJ" in child.functions]
    if subjects:
        nodes.extend(child for child in verb.top.before[subjects[-1].position + 1 :] if is_verb_modifier(child))
    for level, vp in enumerate(verb.levels):
        below = verb.levels[level + 1] if level + 1 < len(verb.levels) else None
        nodes.extend(child for child in _sisters(vp, below) if is_verb_modifier(child))
    return [modifier for node in nodes if (modifier := _verb_modifier(sentence, node)) is not None]


def _sisters(vp: Node, below: Node | None) -> list[Node]:
    """Return the children of a VP that belong to one of its VP children, or to its own verb where it has none."""
    conjuncts = [child for child in vp.children if child.tag == "VP"]
    if below is None or len(conjuncts) < 2:
        return vp.children
    has_verb = any(child.word is not None and child.tag.startswith(("VB", "MD", "TO")) for child in vp.children)
    first, last = conjuncts[0].position, conjuncts[-1].position
    index = conjuncts.index(below)
    start = conjuncts[index - 1].position if index else first
    shared_before = [child for child in vp.children[:first] if has_verb or child.tag != "RB" or index == 0]
    return [*shared_before, *vp.children[start : below.position], *vp.children[last + 1 :]]


def _verb_modifier(sentence: Sentence, node: Node) -> Modifier | None:
    if node.tag in ("RB", "PRT"):
        return Modifier(node, node.text, "")
    rebuilt = _rebuilt(sentence, node)
    if not (rebuilt or node.text):
        return None
    # "the river on which it flows", "when it left": by default, what stands elsewhere is counted, not asked for.
    asked = sentence.published or not rebuilt
    return Modifier(node, rebuilt or node.text, _category_of(sentence, node) if asked else "", moved=bool(rebuilt))


def _category_of(sentence: Sentence, node: Node) -> str:
    category = sentence.category(node)
    return "" if category.startswith("unrecognized") else category


def _rebuilt(sentence: Sentence, node: Node) -> str:
    """Return the text of a modifier that moved with a WH-word: "in which" of "the climate in which" is "in the
    climate".
    """
    antecedent = sentence.antecedent(node)
    if antecedent is None:
        return ""
    head = relative_head(antecedent)
    return antecedent.text if head is None else with_head(sentence, antecedent, head)


def fronted_modifiers(verb: VerbSequence) -> list[Node]:
    """Return what modifies a verb phrase's clause from its beginning, or a clause around it: "In 1989, they were
    prompted".

    The published construct begins behind the subject. What stands before it is never asked for, but it is no wrong
    answer either, and a verb phrase that has it is not said to have no modifier.
    """
    found: list[Node] = []
    for clause in takewhile(lambda node: node.tag in ("S", "SINV"), verb.top.above()):
        found.extend(
            child
            for child in clause.children
            if _is_adverbial(child) and not child.holds(verb.last) and not _follows_subject(child, verb)
        )
        if is_verb_modifier(clause):
            break  # an adverbial clause: what modifies the clause around it does not modify this one
    return found


def governing_modifiers(verb: VerbSequence) -> list[Node]:
    """Return what precedes a verb phrase and modifies a clause around it: "after the war he hoped to return"."""
    return [
        child
        for around in takewhile(lambda node: node.tag in ("S", "SINV", "VP", "SBAR"), verb.top.above())
        for child in around.children
        if child.end <= verb.verbs[0].start and _is_adverbial(child)
    ]


def _is_adverbial(node: Node) -> bool:
    return bool(node.text) and "SBJ" not in node.functions and (is_verb_modifier(node) or node.tag == "SBAR")


def _follows_subject(node: Node, verb: VerbSequence) -> bool:
    """Between subject and verb phrase: there the published construct counts it already."""
    if node.parent is not verb.top.parent or node.position > verb.top.position:
        return False
    return any("SBJ" in child.functions for child in node.before)
