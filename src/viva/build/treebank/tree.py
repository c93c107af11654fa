"""A tree of the Penn Treebank, with parsed labels and with texts cut from the sentence.

    tree = parse("( (S (NP-SBJ (NNP John)) (VP (VBD slept)) (. .)) )")
    tree.sentence                      "John slept."
    tree.root.children[0].text         "John"
    tree.root.children[0].functions    {"SBJ"}

The root is the first child of the unlabelled bracket, as in the published generator. Bies et al., "Bracketing
Guidelines for Treebank II Style" (1995), sections 1 and 2, describe the labels.

Tokens are joined to texts in two ways: as published (`did n't`, `$ 5 million`, `3 %`, `7\\/8` stay as in the treebank),
or by default naturally: as printed in the newspaper, as far as the tokens tell. A phrase's text is a slice of its
sentence, so it costs nothing and always occurs there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, cast

from viva.files import shipped_table

TAGS, WORDS = (shipped_table(__file__, name, dict[str, frozenset[str]]) for name in ("tags.toml", "words.toml"))
"""Groups of labels, and groups of words."""
BRACKETS = {
    "-LRB-": "(", "-RRB-": ")", "-LCB-": "{", "-RCB-": "}", "-LSB-": "[", "-RSB-": "]",
    "-lrb-": "(", "-rrb-": ")", "-lcb-": "{", "-rcb-": "}", "-lsb-": "[", "-rsb-": "]",
}  # fmt: skip
_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")
_STOPS = frozenset((",", ".", "?", "!", ":", ";"))
EMPTY = "-NONE-"
_CURRENCY = re.compile(r"(?:[A-Z]{1,3})?[$£€¥]|#")
_ESCAPES = (("\\/", "/"), ("\\*", "*"))

Token = tuple[str, bool, bool]
"""Visible form; whether it is joined to the previous token, and to the next."""


_QUOTES: dict[str, Token] = {"``": ('"', False, True), "''": ('"', True, False)}


def _published(word: str) -> Token:
    word = BRACKETS.get(word, word)
    if word in _QUOTES:
        return _QUOTES[word]
    if word == "`":
        return "''", True, True  # as in ten sentences of the sample
    # Decided by the first character: the authors remove spaces from the finished string, so that "..." is joined, too.
    return word, word[0] in _STOPS or word[0] in _CLOSING or word[0] == "'", word in _OPENING


def _natural(word: str, tag: str) -> Token:
    word = BRACKETS.get(word, word)
    if word in _QUOTES:
        return _QUOTES[word]
    if word == "`":
        return "'", False, True
    if word == "#":
        return "£", False, True  # the treebank's sign for the pound
    for escape, plain in _ESCAPES:
        word = word.replace(escape, plain)
    glued = (
        word in _STOPS
        or word in _CLOSING
        or word == "%"
        or word.lower() == "n't"
        # 's, 're, a closing quote; but '30s and 'em are words of their own
        or (word.startswith("'") and (tag in ("POS", "''") or tag.startswith(("VB", "MD"))))
    )
    return word, glued, word in _OPENING or (tag in ("$", "#") and bool(_CURRENCY.fullmatch(word)))


class Layout:
    """A sentence's text with the start and end of every leaf."""

    def __init__(self, tokens: Sequence[Token | None]) -> None:
        parts: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        place = 0
        held = True  # nothing stands before the first word
        for token in tokens:
            if token is None:
                starts.append(-1)
                ends.append(place)
                continue
            form, left, right = token
            if not (held or left):
                parts.append(" ")
                place += 1
            starts.append(place)
            place += len(form)
            ends.append(place)
            parts.append(form)
            held = right
        self.text = "".join(parts)
        self._tokens = tokens
        self._ends = ends
        following = len(self.text)
        for index in range(len(starts) - 1, -1, -1):
            if starts[index] < 0:
                starts[index] = following
            else:
                following = starts[index]
        self._starts = starts

    def cut(self, start: int, end: int) -> str:
        """Return the text from leaf `start` to before leaf `end`; empty if none is visible."""
        return self.text[self._starts[start] : self._ends[end - 1]] if start < end else ""

    def join(self, leaves: Iterable[int]) -> str:
        """Return the text of leaves that need not be adjacent, spaced by the same rules."""
        return Layout([self._tokens[index] for index in leaves]).text


def lay_out(words: Sequence[str], tags: Sequence[str], published: bool) -> Layout:
    """Lay a sentence out; empty elements have no text."""
    if published:
        return Layout([None if tag == EMPTY else _published(word) for word, tag in zip(words, tags, strict=True)])
    tokens: list[Token | None] = []
    before = ""
    for word, tag in zip(words, tags, strict=True):
        if tag == EMPTY:
            tokens.append(None)
            continue
        if word == "." and before.endswith("."):
            tokens.append(None)  # "the U.S." ends its sentence with one full stop
            continue
        token = _natural(word, tag)
        if word == "not" and before in ("can", "Can"):
            token = ("not", True, False)
        tokens.append(token)
        before = token[0]
    return Layout(tokens)


MAX_WORDS = 1000
"""Most leaves, empty elements included: no sentence has more, and the number of questions grows with its square."""
MAX_CHARACTERS = 10_000
"""Most characters of a sentence, against absurdly long words, which would slow down parsing of replies."""
MAX_DEPTH = 500
"""Deepest tree: no sentence is deeper, and recursion stays bounded."""
NO_FUNCTIONS: frozenset[str] = frozenset()
_TOKEN = re.compile(
    r"\(\s*([^\s()]+)\s+([^\s()]+)\s*\)"  # a complete word in its bracket
    r"|(\()\s*([^\s()]*)"  # a phrase begins
    r"|(\))|([^\s()]+)"
)


class TreeError(ValueError):
    """A malformed tree. `offset` is the character at which parsing failed."""

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(message)
        self.offset = offset


@lru_cache(maxsize=8192)
def read_label(label: str) -> tuple[str, frozenset[str], str, str]:
    """Split a label: NP-SBJ-1 is tag NP, function SBJ, index 1; NP=2 has the gapping index 2.

    A label that begins with a hyphen (-NONE-, -LRB-) is a tag as a whole.
    """
    if label.startswith("-") or label == "":
        return label, NO_FUNCTIONS, "", ""
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
    return parts[0].partition("|")[0] or label, frozenset(functions) if functions else NO_FUNCTIONS, index, gap


@dataclass(slots=True, eq=False, repr=False)
class Node:
    """A phrase, a word, or an empty element."""

    tag: str
    functions: frozenset[str]
    index: str
    gap: str
    parent: Node
    position: int
    path: str = "0"
    """Its path of child positions from the root: "0.1.1"."""
    children: list[Node] = field(default_factory=list)
    word: str | None = None
    """None for a phrase; *T*, *, 0, ... for an empty element."""
    start: int = 0
    """Index of its first leaf, and of the leaf after its last, among all leaves including empty elements."""
    end: int = 0
    text: str = ""
    """Its visible text, or empty."""

    def walk(self) -> Iterator[Node]:
        """Yield this node and all below it, parents first, from left to right."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def meets(self, other: Node) -> bool:
        """Return whether one node contains the other: only then do nodes share words."""
        return self.start < other.end and other.start < self.end

    def above(self) -> Iterator[Node]:
        """Yield its ancestors, innermost first."""
        node = self.parent
        while node.tag:
            yield node
            node = node.parent

    def holds(self, other: Node) -> bool:
        """Return whether `other` is this node or lies below it."""
        return f"{other.path}.".startswith(f"{self.path}.")

    @property
    def before(self) -> list[Node]:
        """Its sisters on the left."""
        return self.parent.children[: self.position]

    @property
    def after(self) -> list[Node]:
        """Its sisters on the right."""
        return self.parent.children[self.position + 1 :]

    @property
    def tags(self) -> set[str]:
        """Tags of its children."""
        return tags_of(self.children)

    @property
    def lowered(self) -> str:
        """Its word in lower case; empty for a phrase."""
        return (self.word or "").lower()

    def begins(self, *words: str) -> bool:
        """Return whether its text begins with one of these, ignoring case."""
        return self.text.lower().startswith(words)

    @property
    def subject(self) -> Node | None:
        """Its first child with -SBJ."""
        return next((child for child in self.children if "SBJ" in child.functions), None)

    @property
    def has_subject(self) -> bool:
        """Whether it has a visible subject."""
        return any("SBJ" in child.functions and child.text for child in self.children)

    def __repr__(self) -> str:
        return f"<{self.tag} {self.path} {self.text!r}>"


def tags_of(nodes: Iterable[Node]) -> set[str]:
    """Return the set of nodes' tags."""
    return {node.tag for node in nodes}


OUTSIDE = Node(*read_label(""), parent=cast("Node", None), position=0, start=-1)
"""The parent of roots and of itself: without a tag, at a position where no phrase begins."""
OUTSIDE.parent = OUTSIDE


class Tree(NamedTuple):
    """A sentence's tree. `nodes` are all nodes, parents first, from left to right."""

    root: Node
    sentence: str
    nodes: list[Node]
    leaves: list[Node]
    layout: Layout


def parse(text: str, published: bool = False) -> Tree:
    """Parse one bracketed tree. `published` detokenises as the authors do. Raises TreeError.

    The unlabelled outer bracket is optional; anything after its first child is not part of the sentence.
    """
    nodes, leaves = _read(text)
    root = nodes[0]
    layout = lay_out([leaf.word or "" for leaf in leaves], [leaf.tag for leaf in leaves], published)
    if len(layout.text) > MAX_CHARACTERS:
        raise TreeError(f"{len(layout.text):,} characters are more than a sentence has ({MAX_CHARACTERS:,})")
    cut = layout.cut
    for node in reversed(nodes):
        if node.children:
            node.start, node.end = node.children[0].start, node.children[-1].end
        node.text = cut(node.start, node.end)
    return Tree(root, root.text, nodes, leaves, layout)


def _read(text: str) -> tuple[list[Node], list[Node]]:  # noqa: PLR0912 - one loop over tokens, a branch for each way to go wrong
    """Return nodes and leaves of the first child of the outer bracket; checks the whole text."""
    top: Node | None = None
    stack: list[Node] = []
    nodes: list[Node] = []
    for number, (tag, word, opens, label, _, stray) in enumerate(_TOKEN.findall(text)):
        problem = ""
        if tag:
            if stack:
                leaf = _child(stack[-1], tag)
                _fill(leaf, word)
                nodes.append(leaf)
            else:
                problem = f"the word {word!r} stands outside a phrase"
        elif opens:
            if top is None:
                top = Node(*read_label(label), OUTSIDE, 0)
                stack.append(top)
                nodes.append(top)
            elif stack and len(stack) < MAX_DEPTH:
                phrase = _child(stack[-1], label)
                stack.append(phrase)
                nodes.append(phrase)
            else:
                problem = f"brackets are nested more than {MAX_DEPTH} deep" if stack else "a second tree begins here"
        elif stray:
            problem = f"the word {stray!r} stands outside a bracket of its own"
        elif not stack:
            problem = "a closing bracket without an opening one"
        elif not stack.pop().children:
            problem = "an empty bracket"
        if problem:
            raise TreeError(problem, _offset(text, number))
    if top is None:
        raise TreeError("no bracket")
    if stack:
        missing = "a closing bracket is" if len(stack) == 1 else f"{len(stack)} closing brackets are"
        raise TreeError(f"{missing} missing", len(text))
    return _within_root(top, nodes)


def _child(parent: Node, label: str) -> Node:
    place = len(parent.children)
    if parent.tag:
        node = Node(*read_label(label), parent, place, f"{parent.path}.{place}")
    else:  # the unlabelled outer bracket is no parent and no part of a path: the root has path "0"
        node = Node(*read_label(label), OUTSIDE, place)
    parent.children.append(node)
    return node


def _offset(text: str, number: int) -> int:
    """Return the offset of a token by its number; only computed for errors."""
    for index, match in enumerate(_TOKEN.finditer(text)):
        if index == number:
            return match.start()
    return len(text)


def _within_root(top: Node, nodes: list[Node]) -> tuple[list[Node], list[Node]]:
    """Return the nodes of the sentence and its leaves, in the order of `nodes`, which are all that were read."""
    root = top if top.tag else top.children[0]
    if root.word is not None:
        raise TreeError(f"a single word, {root.word!r}, is no sentence")
    if len(top.children) > 1 and not top.tag:
        nodes = list(root.walk())
    elif not top.tag:
        nodes = nodes[1:]
    leaves = [node for node in nodes if node.word is not None]
    if len(leaves) > MAX_WORDS:
        raise TreeError(f"{len(leaves):,} words are more than a sentence has ({MAX_WORDS:,})")
    if not all(node.tag for node in nodes):
        raise TreeError("a bracket within the tree has no label")
    for number, leaf in enumerate(leaves):
        leaf.start, leaf.end = number, number + 1
    return nodes, leaves


def _fill(node: Node, word: str) -> None:
    """Set a leaf's word; an empty element is split: *T*-1 is a *T* with index 1."""
    if node.tag == EMPTY:
        kind, _, index = word.rpartition("-")
        if kind and index.isdigit():
            node.word, node.index = kind, index
            return
    node.word = word
