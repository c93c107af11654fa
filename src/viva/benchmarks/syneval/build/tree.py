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

from viva.benchmarks.syneval.build.detokenise import EMPTY, Layout, lay_out

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
    layout: Layout


def parse(text: str, published: bool = False) -> Tree:
    """Read one bracketed tree. `published` detokenises as the authors do. Raises TreeError.

    With or without the unlabelled outer bracket; what follows the first child of that bracket is not part of the
    sentence.
    """
    root, leaves = _read(text)
    layout = lay_out([leaf.word or "" for leaf in leaves], [leaf.tag for leaf in leaves], published)
    nodes = list(root.walk())
    cut = layout.cut
    for node in reversed(nodes):
        if node.children:
            node.start, node.end = node.children[0].start, node.children[-1].end
        node.text = cut(node.start, node.end)
    return Tree(root, root.text, nodes, leaves, layout)


def _read(text: str) -> tuple[Node, list[Node]]:
    """Nodes and leaves of the first child of the outer bracket; the whole text is checked all the same."""
    top: Node | None = None
    here: Node | None = None
    leaves: list[Node] = []
    root: Node | None = None
    depth = 0
    matches = list(_TOKEN.finditer(text))
    position, count = 0, len(matches)
    while position < count:
        token = matches[position].group()
        if token == "(":
            if top is not None and here is None:
                raise TreeError("a second tree begins where one was expected to end", matches[position].start())
            depth += 1
            if depth > MAX_DEPTH:
                raise TreeError(f"brackets are nested more than {MAX_DEPTH} deep", matches[position].start())
            label = ""
            if position + 1 < count and (following := matches[position + 1].group()) not in "()":
                label = following
                position += 1
            node = Node(read_label(label), here, len(here.children) if here is not None else 0)
            if here is None:
                top = node
            else:
                if here.word is not None:
                    raise TreeError(f"the word {here.word!r} has a phrase beside it", matches[position].start())
                here.children.append(node)
            here = node
        elif token == ")":
            if here is None:
                raise TreeError("a closing bracket without an opening one", matches[position].start())
            if not here.children and here.word is None:
                raise TreeError("an empty bracket", matches[position].start())
            here = here.parent
            depth -= 1
        else:
            if here is None or here.children or here.word is not None:
                raise TreeError(f"the word {token!r} stands outside a bracket of its own", matches[position].start())
            _fill(here, token)
        position += 1
    if top is None:
        raise TreeError("no bracket")
    if here is not None:
        raise TreeError(f"{depth} closing bracket{'s are' if depth > 1 else ' is'} missing", len(text))
    root = top.children[0] if top.tag == "" and top.children else top
    if root is top and top.word is not None:
        raise TreeError(f"a single word, {top.word!r}, is no sentence")
    root.parent = None
    root.position = 0
    for node in root.walk():
        if node.word is not None:
            node.start, node.end = len(leaves), len(leaves) + 1
            leaves.append(node)
    return root, leaves


def _fill(node: Node, word: str) -> None:
    """Give a leaf its word; an empty element is taken apart: *T*-1 is a *T* that refers to 1."""
    if node.tag == EMPTY:
        kind, _, index = word.rpartition("-")
        if kind and index.isdigit():
            node.word, node.index = kind, index
            return
    node.word = word
