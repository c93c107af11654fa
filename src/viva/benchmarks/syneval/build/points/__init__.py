"""The nine knowledge points, one module each, named as the paper names them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from viva.benchmarks.syneval.build.finding import Finding
from viva.benchmarks.syneval.build.points import (
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
from viva.benchmarks.syneval.build.sentence import Sentence

POINTS: tuple[Callable[[Sentence], Iterator[Finding]], ...] = (
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
