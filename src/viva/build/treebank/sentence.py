"""A sentence under analysis: what several knowledge points need of its tree, found once."""

from __future__ import annotations

from collections import Counter

from viva.build.treebank.categories import category
from viva.build.treebank.tree import Node, Tree
from viva.build.treebank.verbs import VerbSequence, sequences


class Sentence:
    """One tree with its verb sequences, the antecedents of its traces, and remembered categories."""

    __slots__ = (
        "_categories",
        "antecedents",
        "clauses",
        "host_counts",
        "noun_counts",
        "noun_lower_counts",
        "plain_counts",
        "published",
        "text_counts",
        "tree",
        "verbs",
    )

    def __init__(self, tree: Tree, published: bool) -> None:
        self.tree = tree
        self.published = published
        self.verbs: list[VerbSequence] = sequences(tree, published)
        self.plain_counts = Counter(verb.lower for verb in self.verbs)
        """How often a verb phrase occurs, lower-cased: one that occurs twice cannot be asked about."""
        self.text_counts = Counter(verb.text.lower() for verb in self.verbs)
        self.noun_counts = Counter(node.text for node in tree.nodes if node.tag == "NP")
        """How often a noun phrase's text occurs among noun phrases."""
        self.noun_lower_counts = Counter(node.text.lower() for node in tree.nodes if node.tag == "NP")
        self.host_counts = self.noun_counts + Counter(verb.plain for verb in self.verbs)
        """How often a text occurs among noun phrases and verb phrases together."""
        self.clauses: dict[Node, list[VerbSequence]] = {}
        """The verb sequences of a clause: those whose topmost VP is its child."""
        for verb in self.verbs:
            if verb.top.parent is not None:
                self.clauses.setdefault(verb.top.parent, []).append(verb)
        self.antecedents: dict[str, Node] = {}
        """What a trace's index refers to."""
        for node in tree.nodes:
            if node.index and node.children:
                self.antecedents[node.index] = node
        self._categories: dict[Node, str] = {}

    def category(self, node: Node) -> str:
        """The syntactic category of a phrase of this sentence."""
        found = self._categories.get(node)
        if found is None:
            found = self._categories[node] = category(node)
        return found
