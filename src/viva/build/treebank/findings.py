"""Inputs and results of the nine knowledge points: a sentence's arguments and modifiers, and findings.

A finding is one fact with the nodes that its questions are made from.
"""

from __future__ import annotations

from dataclasses import dataclass

from viva.benchmarks.syneval.facts import KnowledgePoint, SlotKind
from viva.build.treebank.arguments import arguments
from viva.build.treebank.modifiers import adverbials, noun_modifiers, verb_modifiers
from viva.build.treebank.sentence import Sentence
from viva.build.treebank.tree import Node, Tree
from viva.build.treebank.verbs import VerbSequence


@dataclass(slots=True, frozen=True, eq=False, kw_only=True)
class Finding:
    """A phrase that questions show (the slot), with the answer that they ask for.

    Without an answer, statements are made: that the phrase has a modifier or none (ADJ and ADV), or, falsely, that it
    is coordinated with another phrase (CO).
    """

    knowledge_point: KnowledgePoint
    slot_kind: SlotKind
    slot: str
    category: str
    tags: tuple[str, ...]
    nodes: tuple[Node, ...]
    """The slot's node and the answer's."""
    rule: str
    """How it was found."""
    answer: str = ""
    exists: bool | None = None
    """Whether the slot has a modifier; None if no statement is made about it."""
    answer_node: Node
    slot_verb: VerbSequence | None = None
    answer_verb: VerbSequence | None = None
    blank: bool = True
    """Whether this is the slot's only answer, as a blank requires."""
    accepted: tuple[str, ...] = ()
    """Other correct answers."""
    also: tuple[str, ...] = ()
    """Further possible answers, not offered as wrong ones."""
    related: tuple[Node, ...] = ()
    """Nodes that the answer refers to or belongs to; neither they nor their parts are offered as wrong answers."""
    choice: bool = True
    """Whether a multiple-choice question may be made of it."""
    statements: bool = True
    """Whether statements may be made: not if grammars differ on the extent of the answer."""


class Reading(Sentence):
    """A sentence with the parts that facts are made of."""

    def __init__(self, tree: Tree, published: bool) -> None:
        super().__init__(tree, published)
        self.arguments = arguments(self)
        """Includes existential `there`, which may be shown but not asked for."""
        self.noun_modifiers = noun_modifiers(self)
        self.verb_modifiers = {verb: tuple(verb_modifiers(self, verb)) for verb in self.verbs}
        self.adverbials = [] if published else adverbials(self)
        """By default: all phrases that could be an adverbial of some verb."""
