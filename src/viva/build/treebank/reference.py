"""What traces refer to, and how phrases read that stand elsewhere than where they are understood."""

from __future__ import annotations

from viva.build.treebank.categories import is_empty
from viva.build.treebank.detokenise import EMPTY
from viva.build.treebank.sentence import Sentence
from viva.build.treebank.tree import Node

_RELATIVE_WORDS = frozenset(("that", "which", "who", "whom", "whose"))
_HOPS = 5


def resolved(sentence: Sentence, node: Node) -> tuple[Node, ...]:
    """Return what a phrase stands for: itself, or of a trace its antecedents, up to the noun phrase of a relative
    clause.
    """
    found = [node]
    for _ in range(_HOPS):
        if not is_empty(node):
            break
        antecedent = sentence.antecedents.get(empty_leaf(node).index)
        if antecedent is None:
            break
        node = antecedent
        found.append(node)
    head = relative_head(node)
    if head is not None:
        found.append(head)
        if head.parent is not None:
            found.append(head.parent)
    return tuple(found)


def empty_leaf(node: Node) -> Node:
    """Return the empty element that a phrase consists of."""
    while node.children:
        node = node.children[0]
    return node


def with_antecedents(sentence: Sentence, node: Node) -> str:
    """Return the text of a phrase without visible words, its traces replaced by what they refer to."""
    parts: list[str] = []
    for leaf in sentence.tree.leaves[node.start : node.end]:
        if leaf.index and (antecedent := sentence.antecedents.get(leaf.index)) is not None and antecedent.text:
            parts.append(antecedent.text)
    return " ".join(parts)


def relative_head(wh: Node) -> Node | None:
    """Return the noun phrase that a relative clause modifies, given the clause's WH-phrase; None for any other
    phrase.
    """
    clause = wh.parent
    if clause is None or clause.tag != "SBAR" or not wh.tag.startswith("WH"):
        return None
    while clause.parent is not None and clause.parent.tag == "SBAR":
        clause = clause.parent  # one of several coordinated relative clauses
    host = clause.parent
    if host is None or host.tag != "NP":
        return None
    for child in host.children[: clause.position]:
        if child.tag == "NP":
            return child
    return None


def with_head(sentence: Sentence, wh: Node, head: Node) -> str:
    """Return a WH-phrase with its relative word replaced by the head noun phrase: "whose stock", "companies" → both."""
    natural = not sentence.published  # as published, the possessive of "whose" is lost
    parts: list[str] = []
    run: list[int] = []
    for leaf in sentence.tree.leaves[wh.start : wh.end]:
        if (leaf.word or "").lower() in _RELATIVE_WORDS or (leaf.tag == EMPTY and leaf.word == "0"):
            if run:
                parts.append(sentence.tree.layout.join(run))
                run = []
            parts.append(_possessive(head.text) if (leaf.word or "").lower() == "whose" and natural else head.text)
        else:
            run.append(leaf.start)
    if run:
        parts.append(sentence.tree.layout.join(run))
    return " ".join(part for part in parts if part)


def _possessive(text: str) -> str:
    return text + ("'" if text.endswith("s") else "'s")
