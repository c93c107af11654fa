"""What the nine knowledge points read in a sentence (its arguments and modifiers, each found once), and find in it.

A finding is one fact, with the nodes that the questions about it are made from.
"""

from __future__ import annotations

from dataclasses import dataclass

from viva.benchmarks.syneval.facts import KnowledgePoint, SlotKind
from viva.build.treebank.arguments import Argument, arguments
from viva.build.treebank.modifiers import Modifier, NounHost, adverbials, fronted_modifiers, noun_hosts, verb_modifiers
from viva.build.treebank.sentence import Sentence
from viva.build.treebank.tree import Node, Tree
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


class Reading:
    """A sentence with everything that facts are made of."""

    def __init__(self, tree: Tree, published: bool) -> None:
        self.published = published
        self.sentence = Sentence(tree, published)
        self.arguments: list[Argument] = arguments(self.sentence)
        """Existential `there` included, which may be shown but not asked for."""
        self.noun_hosts: list[NounHost] = noun_hosts(self.sentence)
        self.verb_modifiers: dict[VerbSequence, tuple[Modifier, ...]] = {
            verb: tuple(verb_modifiers(self.sentence, verb)) for verb in self.sentence.verbs
        }
        self.fronted: dict[VerbSequence, tuple[Node, ...]] = (
            {} if published else {verb: tuple(fronted_modifiers(verb)) for verb in self.sentence.verbs}
        )
        """By default: adverbials at the beginning of a verb phrase's clause."""
        self.adverbials: list[Node] = [] if published else adverbials(self.sentence)
        """By default: all that could be taken for an adverbial of some verb."""
