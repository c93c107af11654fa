"""What the nine knowledge points read in a sentence: its arguments and modifiers, each found once."""

from __future__ import annotations

from viva.build.treebank.arguments import Argument, arguments
from viva.build.treebank.attachment import adverbials
from viva.build.treebank.modifiers import Modifier, NounHost, fronted_modifiers, noun_hosts, verb_modifiers
from viva.build.treebank.sentence import Sentence
from viva.build.treebank.tree import Node, Tree
from viva.build.treebank.verbs import VerbSequence


class Reading:
    """A sentence with everything that facts are made of."""

    __slots__ = ("adverbials", "arguments", "fronted", "noun_hosts", "published", "sentence", "verb_modifiers")

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
