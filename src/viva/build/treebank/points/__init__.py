"""The nine knowledge points, named as the paper names them, those of one kind in one module."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from viva.build.treebank.findings import Existence, Finding, Reading
from viva.build.treebank.points import arguments, conjuncts, modifiers

POINTS: tuple[Callable[[Reading], Iterator[Finding]], ...] = (
    arguments.find,
    arguments.find_verbs,
    modifiers.find_adjectives,
    modifiers.find_adverbs,
    conjuncts.find,
    modifiers.find_attachments,
)
EXISTENCES: tuple[Callable[[Reading], Iterator[Existence]], ...] = (
    modifiers.find_modified_nouns,
    modifiers.find_modified_verbs,
)
