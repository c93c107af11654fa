"""What the nine knowledge points read in a sentence (its arguments and modifiers, each found once), and find in it.

A finding is one fact, with the nodes that the questions about it are made from.
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
    """A phrase that questions show, with its answer, for which questions of every format ask.

    Without an answer it is stated of the phrase whether it has a modifier (ADJ and ADV), or that it is coordinated with
    a phrase with which it is not (CO).
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
    """Whether the slot has a modifier; None where that is not stated."""
    answer_node: Node
    slot_verb: VerbSequence | None = None
    answer_verb: VerbSequence | None = None
    blank: bool = True
    """Whether the slot has this answer alone, so that a blank can be filled in."""
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


class Reading(Sentence):
    """A sentence with everything that facts are made of."""

    def __init__(self, tree: Tree, published: bool) -> None:
        super().__init__(tree, published)
        self.arguments = arguments(self)
        """Existential `there` included, which may be shown but not asked for."""
        self.noun_modifiers = noun_modifiers(self)
        self.verb_modifiers = {verb: tuple(verb_modifiers(self, verb)) for verb in self.verbs}
        self.adverbials = [] if published else adverbials(self)
        """By default: all that could be taken for an adverbial of some verb."""
