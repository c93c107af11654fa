"""ADJ, the modifier of a noun phrase that follows it: a prepositional phrase, a relative clause, a participle.

    roughly 80 %     → of the units outstanding
    THREE COMPUTERS  → THAT CHANGED the face of personal computing
    the house        → built by John

The slot is the inner noun phrase; it must occur once in the sentence, without comma and conjunction. A blank is asked
for only where the noun phrase has one modifier. arXiv 2311.08287, section 3.
"""

from __future__ import annotations

from collections.abc import Iterator

from viva.build.treebank.attachment import nothing_follows, noun_attachment_is_clear
from viva.build.treebank.categories import is_possessive
from viva.build.treebank.findings import Existence, Finding, Reading, existence
from viva.build.treebank.modifiers import Modifier, NounHost, is_phrase
from viva.build.treebank.sentence import Sentence
from viva.build.treebank.tree import Node

_CLAUSES = frozenset(("NP", "S", "SBAR"))
_RECIPROCAL = frozenset(("one", "each"))
"""What "another" and "other" do not modify."""
_HOLDERS = _CLAUSES | frozenset(("ADJP", "ADVP", "PP", "VP", "RRC"))


def find(reading: Reading) -> Iterator[Finding]:
    """Yield one finding a modifier."""
    sentence = reading.sentence
    for host in reading.noun_hosts:
        if not is_plain(host.head) or sentence.noun_counts[host.head.text] > 1:
            continue
        if not reading.published and is_possessive(host.head):
            continue  # "Congress's prohibiting ...": a gerund with its subject
        blank = len(host.modifiers) + host.others == 1
        for modifier in host.modifiers:
            if modifier.category and (reading.published or _is_asked(sentence, host, modifier)):
                yield Finding(
                    knowledge_point="ADJ",
                    slot_kind="noun_phrase",
                    slot=host.head.text,
                    answer=modifier.text,
                    category=modifier.category,
                    tags=(
                        f"subtype:{subtype(sentence, host)}",
                        modifier.category,
                        f"adjective_modifier:{modifier.category}",
                    ),
                    nodes=(host.head, modifier.node),
                    rule=modifier.node.tag,
                    answer_node=modifier.node,
                    blank=blank,
                )


def find_existence(reading: Reading) -> Iterator[Existence]:
    """Yield noun phrases that have a modifier, and noun phrases that clearly have none (pronouns included)."""
    sentence = reading.sentence
    for host in reading.noun_hosts:
        if is_plain(host.head) and sentence.noun_counts[host.head.text] == 1:
            known = (modifier for modifier in host.modifiers if modifier.category)
            if not reading.published:
                known = (modifier for modifier in known if _is_asked(sentence, host, modifier))
            first = next(known, None)
            if first is not None:
                yield _existence(sentence, host.head, True, (host.head, first.node))
    # As published, a phrase that holds an adjective or prepositional phrase is said to have no modifier (quirk 12).
    holders = _CLAUSES if reading.published else _HOLDERS
    for node in sentence.tree.nodes:
        if node.tag != "NP" or (node.parent is not None and node.parent.tag == "NP"):
            continue
        if any(child.tag in holders for child in node.children):
            continue
        kind = sentence.category(node)
        if kind == "existential_there" or (not reading.published and (kind == "pronoun" or "TMP" in node.functions)):
            continue  # by default pronouns and dates are left out: nobody asks what follows "it" or "Wednesday"
        if not reading.published and (_has_predicate_beside(node) or not nothing_follows(sentence, node)):
            continue  # "with its net income declining", "sold it for a song": nobody can tell that from a modifier
        if is_plain(node) and sentence.noun_counts[node.text] == 1:
            yield _existence(sentence, node, False, (node,))


def _is_asked(sentence: Sentence, host: NounHost, modifier: Modifier) -> bool:
    """By default: a phrase of which nobody doubts that it modifies this noun phrase."""
    if host.head.children[-1].tag == "PRP" or host.head.text.lower() in _RECIPROCAL:
        return False
    return is_phrase(modifier) and noun_attachment_is_clear(sentence, host.head, modifier.node)


def _has_predicate_beside(node: Node) -> bool:
    """Return whether a noun phrase is the subject of a participle or of a predicate without a verb."""
    if "SBJ" not in node.functions or node.parent is None or node.position + 1 >= len(node.parent.children):
        return False
    following = node.parent.children[node.position + 1]
    if "PRD" in following.functions:
        return True
    return following.tag == "VP" and following.children[0].tag in ("VBG", "VBN")


def _existence(sentence: Sentence, node: Node, exists: bool, nodes: tuple[Node, ...]) -> Existence:
    kind = sentence.category(node).partition("(")[0]
    return existence("ADJ", "noun_phrase", node.text, kind, nodes, exists=exists)


def is_plain(node: Node) -> bool:
    """Return whether a noun phrase holds neither a comma nor a conjunction of its own."""
    return bool(node.text) and not any(child.tag in (",", "CC", "CONJP") for child in node.children)


def subtype(sentence: Sentence, host: NounHost) -> str:
    """Return the category of a host's inner noun phrase, as tags name it."""
    return sentence.category(host.head).partition("(")[0]
