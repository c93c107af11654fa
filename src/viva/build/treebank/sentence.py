"""A sentence under analysis: what several knowledge points need of its tree, found once."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from itertools import groupby

from viva.build.treebank.categories import category, is_empty
from viva.build.treebank.tree import EMPTY, WORDS, Node, Tree
from viva.build.treebank.verbs import VerbSequence, sequences

_CAPITALS = ("NNP", "JJ", "FW")
"""Tags of words that keep their capital within a sentence: names, and adjectives, which may be of names."""


class Sentence:
    """One tree with its verb sequences, the antecedents of its traces, and remembered categories."""

    def __init__(self, tree: Tree, published: bool) -> None:
        self.tree = tree
        self.published = published
        self.verbs: list[VerbSequence] = sequences(tree, published)
        self.plain_counts = Counter(verb.plain.lower() for verb in self.verbs)
        """How often a verb phrase occurs, lower-cased: one that occurs twice cannot be asked about."""
        self.noun_counts = Counter(node.text for node in tree.nodes if node.tag == "NP")
        """How often a noun phrase's text occurs among noun phrases."""
        self.noun_lower_counts = Counter(node.text.lower() for node in tree.nodes if node.tag == "NP")
        self.host_counts = self.noun_counts + Counter(verb.plain for verb in self.verbs)
        """How often a text occurs among noun phrases and verb phrases together."""
        self.clauses: dict[Node, list[VerbSequence]] = {}
        """The verb sequences of a clause: those whose topmost VP is its child."""
        for verb in self.verbs:
            if verb.top.parent.tag:
                self.clauses.setdefault(verb.top.parent, []).append(verb)
        self.antecedents = {node.index: node for node in tree.nodes if node.index and node.children}
        """What a trace's index refers to."""
        self.category = cache(category)
        """The syntactic category of a phrase of this sentence."""
        first = next((leaf for leaf in tree.leaves if leaf.tag[:1].isalpha() and leaf.text), tree.root)
        own = first.tag.startswith(_CAPITALS) or first.text == "I" or first.text[1:] != first.text[1:].lower()
        # A pattern that nothing matches, where the first word keeps its capital.
        self._opening = re.compile("(?!)" if own else rf"{re.escape(first.text)}(?:\b|n't)")

    def cased(self, text: str) -> str:
        """Return a phrase as its tree writes it; as published in lower case, names as well."""
        return text.lower() if self.published else text

    def within(self, text: str) -> str:
        """Return a phrase as it would be written within a sentence: its first word has no capital but that of a
        name.
        """
        return text[:1].lower() + text[1:] if self._opening.match(text) else text

    def antecedent(self, node: Node) -> Node | None:
        """Return what a phrase refers to that is nothing but a trace."""
        return self.antecedents.get(empty_leaf(node).index) if is_empty(node) else None

    def between(self, start: int, end: int | None = None) -> list[Node]:
        """Return the words that can be seen from one leaf up to another, or to the end."""
        return [leaf for leaf in self.tree.leaves[start:end] if leaf.text]

    def cut(self, start: int, end: int) -> str:
        """Return the text from one leaf up to another."""
        return self.tree.layout.cut(start, end)


_HOPS = 5


def resolved(sentence: Sentence, node: Node) -> tuple[Node, ...]:
    """Return what a phrase stands for: itself, or of a trace its antecedents, up to the noun phrase of a relative
    clause.
    """
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
    """Return the empty element that a phrase consists of."""
    while node.children:
        node = node.children[0]
    return node


def with_antecedents(sentence: Sentence, node: Node) -> str:
    """Return the text of a phrase without visible words, its traces replaced by what they refer to."""
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
    """Return a word that stands for a noun phrase, an empty one as well; "" for any other."""
    return leaf.lowered if leaf.lowered in WORDS["relative"] or (leaf.tag == EMPTY and leaf.word == "0") else ""


def _possessive(text: str) -> str:
    return text + ("'" if text.endswith("s") else "'s")
