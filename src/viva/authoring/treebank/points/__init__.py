"""The nine knowledge points, one module each, named as the paper names them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from viva.authoring.treebank.constituents import Reading
from viva.authoring.treebank.findings import Existence, Finding, Unpaired
from viva.authoring.treebank.points import (
    adjective_modifier,
    adverbial_modifier,
    coordinated_phrase,
    direct_object,
    indirect_object,
    main_verb_phrase,
    prepositional_phrase_attachment,
    subject_complement,
    surface_subject,
)

POINTS: tuple[Callable[[Reading], Iterator[Finding]], ...] = (
    surface_subject.find,
    subject_complement.find,
    direct_object.find,
    indirect_object.find,
    main_verb_phrase.find,
    adjective_modifier.find,
    adverbial_modifier.find,
    coordinated_phrase.find,
    prepositional_phrase_attachment.find,
)
EXISTENCES: tuple[Callable[[Reading], Iterator[Existence]], ...] = (
    adjective_modifier.find_existence,
    adverbial_modifier.find_existence,
)
UNPAIRED: Callable[[Reading], Iterator[Unpaired]] = coordinated_phrase.find_unpaired
