"""A tree of the Penn Treebank, in memory: labels taken apart once, texts cut from the sentence.

    tree = parse("( (S (NP-SBJ (NNP John)) (VP (VBD slept)) (. .)) )")
    tree.sentence                      "John slept."
    tree.root.children[0].text         "John"
    tree.root.children[0].functions    {"SBJ"}

The root is the first child of the unlabelled bracket, as in the published generator. Bies et al., "Bracketing
Guidelines for Treebank II Style" (1995), sections 1 and 2, say what labels are made of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from viva.benchmarks.syneval.build.detokenise import Layout, lay_out

MAX_DEPTH = 500
"""Deeper trees are refused: no sentence is, and every later walk may recurse."""
NO_FUNCTIONS: frozenset[str] = frozenset()
_TOKEN = re.compile(r"[()]|[^\s()]+")


class TreeError(ValueError):
    """A tree that is not one. `offset` is the character where that shows."""

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(message)
        self.offset = offset


class Label(NamedTuple):
    """A label's parts: NP-SBJ-1 is tag NP, function SBJ, index 1; NP=2 has the gapping index 2."""

    tag: str
    functions: frozenset[str]
    index: str
    gap: str


@lru_cache(maxsize=8192)
def read_label(label: str) -> Label:
    """Take a label apart. A label that begins with a hyphen (-NONE-, -LRB-) is a tag whole."""
    if label.startswith("-") or label == "":
        return Label(label, NO_FUNCTIONS, "", "")
    label, _, gap = label.partition("=")
    parts = label.split("-")
    index = ""
    functions: list[str] = []
    for part in parts[1:]:
        if part.isdigit():
            index = part
        elif part:
            functions.append(part)
    gap, _, more = gap.partition("-")
    if more.isdigit():
        index = more
    return Label(parts[0].partition("|")[0] or label, frozenset(functions) if functions else NO_FUNCTIONS, index, gap)


class Node:
    """A phrase, a word, or an empty element. `word` is None for a phrase; of an empty element `kind` is *T*, *, 0, ..."""

    __slots__ = ("children", "end", "functions", "gap", "index", "parent", "position", "start", "tag", "text", "word")

    def __init__(self, label: Label, parent: Node | None, position: int) -> None:
        self.tag, self.functions, self.index, self.gap = label
        self.parent = parent
        self.position = position
        self.children: list[Node] = []
        self.word: str | None = None
        self.start = 0
        """Its first leaf, and after its last: numbers among all leaves of the sentence, empty elements included."""
        self.end = 0
        self.text = ""
        """As a reader sees it; empty where nothing is visible."""

    @property
    def path(self) -> str:
        """Where it is, child by child from the root's bracket: "0.1.1"."""
        steps: list[str] = []
        node: Node | None = self
        while node is not None:
            steps.append(str(node.position))
            node = node.parent
        return ".".join(reversed(steps))

    def walk(self) -> Iterator[Node]:
        """This node and all below it, parents first, from left to right."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def holds(self, other: Node) -> bool:
        """Whether `other` is this node or lies below it."""
        node: Node | None = other
        while node is not None:
            if node is self:
                return True
            node = node.parent
        return False

    def __repr__(self) -> str:
        return f"<{self.tag} {self.path} {self.text!r}>"


class Tree(NamedTuple):
    """A sentence with its tree. `nodes` are all nodes, parents first, from left to right."""

    root: Node
    sentence: str
    nodes: list[Node]
    leaves: list[Node]


def parse(text: str, published: bool = False) -> Tree:
    """Read one bracketed tree. `published` detokenises as the authors do. Raises TreeError.

    With or without the unlabelled outer bracket; what follows the first child of that bracket is not part of the
    sentence.
    """
    root, leaves = _read(text)
    layout = lay_out([leaf.word or "" for leaf in leaves], [leaf.tag for leaf in leaves], published)
    nodes = list(root.walk())
    for node in reversed(nodes):
        if node.children:
            node.start, node.end = node.children[0].start, node.children[-1].end
        node.text = layout.cut(node.start, node.end)
    return Tree(root, root.text, nodes, leaves)


def _read(text: str) -> tuple[Node, list[Node]]:
    raise NotImplementedError


__all__ = ["MAX_DEPTH", "NO_FUNCTIONS", "Label", "Layout", "Node", "Tree", "TreeError", "parse", "read_label"]
