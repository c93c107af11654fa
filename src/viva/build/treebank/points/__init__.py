"""The nine knowledge points, named as the paper names them; those of arguments in one module, each other in its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from viva.build.treebank.findings import Existence, Finding, Reading, Unpaired
from viva.build.treebank.points import (
    adjective_modifier,
    adverbial_modifier,
    argument,
    coordinated_phrase,
    main_verb_phrase,
    prepositional_phrase_attachment,
)

POINTS: tuple[Callable[[Reading], Iterator[Finding]], ...] = (
    argument.surface_subject,
    argument.subject_complement,
    argument.direct_object,
    argument.indirect_object,
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
