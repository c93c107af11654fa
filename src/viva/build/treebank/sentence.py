"""A sentence with the properties of its tree that several knowledge points need."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from itertools import groupby

from viva.build.treebank.categories import category, is_empty
from viva.build.treebank.tree import EMPTY, WORDS, Node, Tree
from viva.build.treebank.verbs import VerbSequence, sequences

_CAPITALS = ("NNP", "JJ", "FW")
"""Tags of words that keep their capital within a sentence: names, and adjectives, which may be derived from names."""


class Sentence:
    """One tree with its verb sequences, antecedents of traces, and cached categories."""

    def __init__(self, tree: Tree, published: bool) -> None:
        self.tree = tree
        self.published = published
        self.verbs: list[VerbSequence] = sequences(tree, published)
        self.plain_counts = Counter(verb.plain.lower() for verb in self.verbs)
        """Counts of lower-cased verb phrases; one that occurs twice cannot be asked about."""
        self.noun_counts = Counter(node.text for node in tree.nodes if node.tag == "NP")
        """Counts of noun phrases' texts."""
        self.noun_lower_counts = Counter(node.text.lower() for node in tree.nodes if node.tag == "NP")
        self.host_counts = self.noun_counts + Counter(verb.plain for verb in self.verbs)
        """Counts of the texts of noun phrases and verb phrases together."""
        self.clauses: dict[Node, list[VerbSequence]] = {}
        """Clause → its verb sequences: those whose topmost VP is its child."""
        for verb in self.verbs:
            if verb.top.parent.tag:
                self.clauses.setdefault(verb.top.parent, []).append(verb)
        self.antecedents = {node.index: node for node in tree.nodes if node.index and node.children}
        """Index of a trace → its antecedent."""
        self.category = cache(category)
        """The syntactic category of a phrase of this sentence."""
        first = next((leaf for leaf in tree.leaves if leaf.tag[:1].isalpha() and leaf.text), tree.root)
        own = first.tag.startswith(_CAPITALS) or first.text == "I" or first.text[1:] != first.text[1:].lower()
        # Matches nothing if the first word keeps its capital.
        self._opening = re.compile("(?!)" if own else rf"{re.escape(first.text)}(?:\b|n't)")

    def cased(self, text: str) -> str:
        """Return a phrase as in the tree; as published in lower case, even names."""
        return text.lower() if self.published else text

    def within(self, text: str) -> str:
        """Return a phrase as within a sentence: its first word in lower case, unless it is a name."""
        return text[:1].lower() + text[1:] if self._opening.match(text) else text

    def antecedent(self, node: Node) -> Node | None:
        """Return the antecedent of a phrase that is only a trace; None for others."""
        return self.antecedents.get(empty_leaf(node).index) if is_empty(node) else None

    def between(self, start: int, end: int | None = None) -> list[Node]:
        """Return the visible words from leaf `start` to before leaf `end`, or to the end."""
        return [leaf for leaf in self.tree.leaves[start:end] if leaf.text]

    def cut(self, start: int, end: int) -> str:
        """Return the text from leaf `start` to before leaf `end`."""
        return self.tree.layout.cut(start, end)


_HOPS = 5


def resolved(sentence: Sentence, node: Node) -> tuple[Node, ...]:
    """Return a phrase and, for a trace, its antecedents, up to the noun phrase that a relative clause modifies."""
    nodes = [node]
    for _ in range(_HOPS):
        antecedent = sentence.antecedent(node)
        if antecedent is None:
            break
        node = antecedent
        nodes.append(node)
    head = relative_head(node)
    if head is not None:
        nodes += [head, head.parent]
    return tuple(nodes)


def empty_leaf(node: Node) -> Node:
    """Return the leaf of a phrase that consists of one empty element."""
    while node.children:
        node = node.children[0]
    return node


def with_antecedents(sentence: Sentence, node: Node) -> str:
    """Return the text of a phrase without visible words: its traces' antecedents."""
    leaves = sentence.tree.leaves[node.start : node.end]
    antecedents = (sentence.antecedents.get(leaf.index) for leaf in leaves if leaf.index)
    return " ".join(antecedent.text for antecedent in antecedents if antecedent is not None and antecedent.text)


def relative_head(wh: Node) -> Node | None:
    """Return the noun phrase that a relative clause modifies, given the clause's WH-phrase; None for any other
    phrase.
    """
    clause = wh.parent
    if clause.tag != "SBAR" or not wh.tag.startswith("WH"):
        return None
    while clause.parent.tag == "SBAR":
        clause = clause.parent  # one of several coordinated relative clauses
    if clause.parent.tag != "NP":
        return None
    return next((child for child in clause.before if child.tag == "NP"), None)


def with_head(sentence: Sentence, wh: Node, head: Node) -> str:
    """Return a WH-phrase with its relative word replaced by the head noun phrase: "whose stock", "companies" → both."""
    parts: list[str] = []
    for word, leaves in groupby(sentence.tree.leaves[wh.start : wh.end], _relative_word):
        if word:  # as published, the possessive of "whose" is lost
            stands_for = _possessive(head.text) if word == "whose" and not sentence.published else head.text
            parts += [stands_for for _ in leaves]
        else:
            parts.append(sentence.tree.layout.join(leaf.start for leaf in leaves))
    return " ".join(part for part in parts if part)


def _relative_word(leaf: Node) -> str:
    """Return the word of a leaf if it is relative ("0" for an empty one), else ""."""
    return leaf.lowered if leaf.lowered in WORDS["relative"] or (leaf.tag == EMPTY and leaf.word == "0") else ""


def _possessive(text: str) -> str:
    return text + ("'" if text.endswith("s") else "'s")
