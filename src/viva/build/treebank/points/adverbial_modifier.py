"""ADV, the modifier of a verb phrase: an adverb, a prepositional phrase, an adverbial clause.

    would make  → by himself
    was barred  → from association with any NASD member
    is slowing  → clearly

All PP complements count, and the slot is shown with `not`. A blank is asked for only where the verb phrase has one
modifier. arXiv 2311.08287, section 3.
"""

from __future__ import annotations

from collections.abc import Iterator

from viva.build.treebank.attachment import has_other_adverbials, is_complement, verb_attachment_is_clear
from viva.build.treebank.findings import Existence, Finding, Reading, existence
from viva.build.treebank.modifiers import Modifier, governing_modifiers, is_phrase
from viva.build.treebank.sentence import Sentence
from viva.build.treebank.verbs import VerbSequence


def find(reading: Reading) -> Iterator[Finding]:
    """Yield one finding a modifier of a verb phrase that occurs once."""
    for verb in _shown(reading.sentence):
        every = reading.verb_modifiers[verb]
        modifiers = [modifier for modifier in every if modifier.category]
        # As published, what has no category (particles, some clauses) is not counted (quirk 12).
        fronted = reading.fronted.get(verb, ())
        blank = len(modifiers if reading.published else every) == 1
        for modifier in modifiers:
            if not (reading.published or _is_asked(reading.sentence, verb, modifier)):
                continue
            yield Finding(
                knowledge_point="ADV",
                slot_kind="verb_phrase",
                slot=verb.text,
                answer=modifier.text,
                category=modifier.category,
                tags=(
                    f"subtype:{verb.form}",
                    modifier.category,
                    f"adverbial_modifier:{modifier.category}",
                    *(("adverbial_modifier:moved",) if modifier.moved else ()),
                ),
                nodes=(verb.last, modifier.node),
                rule=modifier.node.tag,
                answer_node=modifier.node,
                slot_verb=verb,
                statements=reading.published or not is_complement(modifier.node),
                blank=blank
                and (reading.published or not has_other_adverbials(reading.adverbials, verb, modifier.node)),
                related=() if reading.published else (*fronted, *governing_modifiers(verb)),
            )


def find_existence(reading: Reading) -> Iterator[Existence]:
    """Yield verb phrases that have a modifier, and verb phrases that have none: not even a particle or `not`."""
    for verb in _shown(reading.sentence):
        modifiers = reading.verb_modifiers[verb]
        known = (modifier for modifier in modifiers if modifier.category)
        exists = any(reading.published or _is_asked(reading.sentence, verb, modifier) for modifier in known)
        # Inverted clauses ("... said Mr. Smith") are never said to have none: the counts of the sample show it.
        inverted = verb.top.parent is not None and verb.top.parent.tag == "SINV"
        if exists or not (modifiers or inverted or has_other_adverbials(reading.adverbials, verb, None)):
            yield existence("ADV", "verb_phrase", verb.text, verb.form, (verb.last,), exists=exists)


def _is_asked(sentence: Sentence, verb: VerbSequence, modifier: Modifier) -> bool:
    """By default: a phrase of which nobody doubts that it modifies this verb phrase."""
    return is_phrase(modifier) and verb_attachment_is_clear(sentence, verb, modifier.node)


def _shown(sentence: Sentence) -> Iterator[VerbSequence]:
    """Yield verb phrases that occur once.

    As published, the shown text is looked up among the other rendering's (quirk 10), so repeated ones slip through.
    """
    counts = sentence.plain_counts if sentence.published else sentence.text_counts
    for verb in sentence.verbs:
        if counts[verb.text.lower()] <= 1:
            yield verb
