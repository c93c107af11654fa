"""What a knowledge point finds in a sentence: one fact, with the nodes that the questions about it are made from."""

from __future__ import annotations

from dataclasses import dataclass

from viva.benchmarks.syneval.facts import KnowledgePoint, SlotKind
from viva.build.treebank.tree import Node
from viva.build.treebank.verbs import VerbSequence


@dataclass(slots=True, frozen=True, eq=False, kw_only=True)
class Shown:
    """A phrase that a question shows, and where and how it was found."""

    knowledge_point: KnowledgePoint
    slot_kind: SlotKind
    slot: str
    category: str
    tags: tuple[str, ...]
    nodes: tuple[Node, ...]
    """The slot's node and the answer's."""
    rule: str


@dataclass(slots=True, frozen=True, eq=False, kw_only=True)
class Finding(Shown):
    """A slot and its answer. Multiple-choice and true/false questions ask for every finding; `blank` says whether the
    slot has this answer alone, so that a blank can be filled in."""

    answer: str
    answer_node: Node
    slot_verb: VerbSequence | None = None
    answer_verb: VerbSequence | None = None
    blank: bool = True
    accepted: tuple[str, ...] = ()
    """Other answers that are as right."""
    also: tuple[str, ...] = ()
    """Phrases that could be answers too, and so are not offered as wrong ones."""
    related: tuple[Node, ...] = ()
    """Nodes that the answer stands for or belongs with; neither they nor what they hold is offered."""
    choice: bool = True
    """Whether a multiple-choice question may be made of it."""
    statements: bool = True
    """Whether it may be stated: not where grammars differ on what the whole answer is."""


@dataclass(slots=True, frozen=True, eq=False, kw_only=True)
class Existence(Shown):
    """A slot that has a modifier, or has none: a statement to judge true or false (ADJ and ADV)."""

    exists: bool


@dataclass(slots=True, frozen=True, eq=False, kw_only=True)
class Unpaired(Shown):
    """A slot to be paired with a phrase that it is not coordinated with (CO)."""

    conjuncts: tuple[str, ...]
    conjunct_nodes: tuple[Node, ...]
