"""ADJ and ADV: show a noun phrase or verb phrase and ask for its modifier; PPA: the inverse.

ADJ, the modifier of a noun phrase that follows it: a prepositional phrase, a relative clause, a participle. The slot is
the inner noun phrase; it must occur once in the sentence, without comma and conjunction

    roughly 80 %     → of the units outstanding
    THREE COMPUTERS  → THAT CHANGED the face of personal computing
    the house        → built by John

ADV, the modifier of a verb phrase: an adverb, a prepositional phrase, an adverbial clause. All PP complements count,
and the slot is shown with `not`

    would make  → by himself
    was barred  → from association with any NASD member
    is slowing  → clearly

PPA, the attachment of a prepositional phrase: which verb phrase or noun phrase it modifies

    from a year earlier                    → grew
    of $ 737.5 million, or $ 3.01 a share  → earnings

A blank is asked for only where the phrase has one modifier. arXiv 2311.08287, section 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from viva.benchmarks.syneval.facts import KnowledgePoint, SlotKind
from viva.build.treebank.arguments import has_noun_complement
from viva.build.treebank.categories import CONJUNCTIONS, is_possessive
from viva.build.treebank.findings import Finding, Reading
from viva.build.treebank.modifiers import (
    Modifier,
    fronted_modifiers,
    governing_modifiers,
    has_other_adverbials,
    is_complement,
    is_phrase,
    nothing_follows,
    noun_attachment_is_clear,
    verb_attachment_is_clear,
)
from viva.build.treebank.points.arguments import renderings
from viva.build.treebank.sentence import Sentence
from viva.build.treebank.tree import TAGS, WORDS, Node
from viva.build.treebank.verbs import VerbSequence

_PP = "prepositional_phrase"


def find_adjectives(reading: Reading) -> Iterator[Finding]:
    """Yield one finding per modifier of a noun phrase; one per noun phrase that has a modifier or clearly has none."""
    for head, every in reading.noun_modifiers.items():
        asked = [modifier for modifier in every if _occurs_once(reading, head) and _is_asked(reading, head, modifier)]
        if not asked:
            continue
        subtype = f"subtype:{_subtype(reading, head)}"
        yield _existence("ADJ", "noun_phrase", head.text, subtype, (head, asked[0].node), True)
        if not reading.published and is_possessive(head):
            continue  # "Congress's prohibiting ...": a gerund with its subject
        for modifier in asked:
            yield Finding(
                knowledge_point="ADJ",
                slot_kind="noun_phrase",
                slot=head.text,
                answer=modifier.text,
                category=modifier.category,
                tags=(subtype, modifier.category, f"adjective_modifier:{modifier.category}"),
                nodes=(head, modifier.node),
                rule=modifier.node.tag,
                answer_node=modifier.node,
                blank=len(every) == 1 and not has_noun_complement(reading, head),
            )
    for node in reading.tree.nodes:
        if node.tag == "NP" and _has_no_modifier(reading, node) and _occurs_once(reading, node):
            subtype = f"subtype:{_subtype(reading, node)}"
            yield _existence("ADJ", "noun_phrase", node.text, subtype, (node,), False)


def _has_no_modifier(reading: Reading, node: Node) -> bool:
    """Return whether a noun phrase clearly has no modifier.

    As published, the answer is yes even if it contains an adjective or prepositional phrase (quirk 12).
    """
    kind = reading.category(node)
    holders = TAGS["published_holders" if reading.published else "holders"]
    if node.parent.tag == "NP" or kind == "existential_there" or node.tags & holders:
        return False
    # By default pronouns and dates are left out ("it", "Wednesday"), and ambiguous phrases: "with its net income
    # declining", "sold it for a song".
    asked = kind != "pronoun" and "TMP" not in node.functions
    return reading.published or (asked and not _has_predicate(node) and nothing_follows(reading, node))


def find_adverbs(reading: Reading) -> Iterator[Finding]:
    """Yield one finding per modifier of a verb phrase that occurs once; one per verb phrase that has a modifier or has
    none, not even a particle or `not`.
    """
    for verb in _shown(reading):
        every = reading.verb_modifiers[verb]
        modifiers = [modifier for modifier in every if modifier.category]
        # As published, modifiers without category (particles, some clauses) do not count (quirk 12).
        alone = len(modifiers if reading.published else every) == 1
        subtype = f"subtype:{verb.form}"
        asked = [modifier for modifier in modifiers if _modifies_verb(reading, verb, modifier)]
        # No statement says that an inverted clause ("... said Mr. Smith") has no modifier: so the sample's counts show.
        inverted = verb.top.parent.tag == "SINV"
        if asked or not (every or inverted or has_other_adverbials(reading.adverbials, verb, None)):
            yield _existence("ADV", "verb_phrase", verb.text, subtype, (verb.last,), bool(asked))
        for modifier in asked:
            yield Finding(
                knowledge_point="ADV",
                slot_kind="verb_phrase",
                slot=verb.text,
                answer=modifier.text,
                category=modifier.category,
                tags=(
                    subtype,
                    modifier.category,
                    f"adverbial_modifier:{modifier.category}",
                    *(("adverbial_modifier:moved",) if modifier.moved else ()),
                ),
                nodes=(verb.last, modifier.node),
                rule=modifier.node.tag,
                answer_node=modifier.node,
                slot_verb=verb,
                statements=not is_complement(modifier.node),
                blank=alone and not has_other_adverbials(reading.adverbials, verb, modifier.node),
                related=(*fronted_modifiers(verb), *governing_modifiers(verb)),
            )


def find_attachments(reading: Reading) -> Iterator[Finding]:
    """Yield one finding per prepositional phrase with its host, if both occur once: verb phrases, then noun phrases."""
    hosts: list[tuple[str, Node, VerbSequence | None, tuple[Modifier, ...]]] = [
        (verb.plain, verb.last, verb, found_modifiers) for verb, found_modifiers in reading.verb_modifiers.items()
    ]
    hosts += [(head.text, head, None, several) for head, several in reading.noun_modifiers.items() if is_plain(head)]
    modifiers = [*reading.verb_modifiers.values(), *reading.noun_modifiers.values()]
    counts = Counter(modifier.text for of_host in modifiers for modifier in of_host)
    for answer, node, verb, found_modifiers in hosts:
        kind, modifies = ("predicate", "adverbial_modifier") if verb else ("noun_phrase", "adjective_modifier")
        for modifier in found_modifiers if reading.host_counts[answer] == 1 else ():
            if modifier.category != _PP or counts[modifier.text] > 1:
                continue
            if _modifies_verb(reading, verb, modifier) if verb else _modifies_noun(reading, node, modifier):
                yield Finding(
                    knowledge_point="PPA",
                    slot_kind="prepositional_phrase",
                    slot=modifier.text,
                    answer=answer,
                    category=kind,
                    tags=(
                        f"subtype:{verb.form if verb else _subtype(reading, node)}",
                        f"pp_attachment:attach_to:{kind}",
                        f"pp_attachment:{modifies}:{_PP}",
                        *((f"pp_attachment:{modifies}:moved",) if modifier.moved else ()),
                    ),
                    nodes=(node, modifier.node),
                    rule=kind,
                    answer_node=node,
                    answer_verb=verb,
                    accepted=tuple(renderings(reading, verb)) if verb else (),
                    statements=not (verb and is_complement(modifier.node)),
                )


def _existence(
    point: KnowledgePoint, slot_kind: SlotKind, slot: str, subtype: str, nodes: tuple[Node, ...], exists: bool
) -> Finding:
    kind = "existent" if exists else "not-existent"
    return Finding(
        knowledge_point=point,
        slot_kind=slot_kind,
        slot=slot,
        category=kind,
        tags=(subtype, kind),
        nodes=nodes,
        rule="existence",
        exists=exists,
        answer_node=nodes[-1],
        blank=False,
    )


def _modifies_noun(reading: Reading, head: Node, modifier: Modifier) -> bool:
    """Return whether a phrase clearly modifies a noun phrase. As published, the treebank decides."""
    if reading.published:
        return True
    return is_phrase(modifier) and noun_attachment_is_clear(reading, head, modifier.node)


def _modifies_verb(reading: Reading, verb: VerbSequence, modifier: Modifier) -> bool:
    """Return whether a phrase clearly modifies a verb phrase."""
    if reading.published:
        return True
    return is_phrase(modifier) and verb_attachment_is_clear(reading, verb, modifier.node)


def _is_asked(reading: Reading, head: Node, modifier: Modifier) -> bool:
    """Return whether a noun phrase's modifier is asked for; by default not of pronouns."""
    named = head.children[-1].tag != "PRP" and head.text.lower() not in WORDS["reciprocal"]
    return bool(modifier.category) and (reading.published or named) and _modifies_noun(reading, head, modifier)


def _has_predicate(node: Node) -> bool:
    """Return whether a noun phrase is the subject of a participle or of a predicate without a verb."""
    following = next(iter(node.after), None)
    if "SBJ" not in node.functions or following is None:
        return False
    participle = following.tag == "VP" and following.children[0].tag in ("VBG", "VBN")
    return participle or "PRD" in following.functions


def is_plain(node: Node) -> bool:
    """Return whether a noun phrase contains neither comma nor conjunction."""
    return bool(node.text) and not node.tags & {",", *CONJUNCTIONS}


def _occurs_once(sentence: Sentence, node: Node) -> bool:
    return is_plain(node) and sentence.noun_counts[node.text] == 1


def _subtype(sentence: Sentence, node: Node) -> str:
    """Return the category of a noun phrase in tags."""
    return sentence.category(node).partition("(")[0]


def _shown(sentence: Sentence) -> Iterator[VerbSequence]:
    """Yield verb phrases that occur once.

    As published, occurrences of another rendering are counted (quirk 10), so repeated ones slip through.
    """
    for verb in sentence.verbs:
        if sentence.plain_counts[verb.text.lower()] <= 1:
            yield verb
