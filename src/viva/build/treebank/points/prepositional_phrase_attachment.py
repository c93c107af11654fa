"""PPA, the attachment of a prepositional phrase: which verb phrase or noun phrase it modifies.

    from a year earlier                    → grew
    of $ 737.5 million, or $ 3.01 a share  → earnings

arXiv 2311.08287, section 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from viva.build.treebank.attachment import is_complement, noun_attachment_is_clear, verb_attachment_is_clear
from viva.build.treebank.findings import Finding, Reading
from viva.build.treebank.modifiers import Modifier, is_phrase
from viva.build.treebank.points.adjective_modifier import is_plain, subtype
from viva.build.treebank.points.main_verb_phrase import renderings
from viva.build.treebank.sentence import Sentence
from viva.build.treebank.tree import Node
from viva.build.treebank.verbs import VerbSequence

_PP = "prepositional_phrase"


def find(reading: Reading) -> Iterator[Finding]:
    """Yield one finding a prepositional phrase and its host, where both occur once."""
    sentence = reading.sentence
    verbs = list(reading.verb_modifiers.items())
    nouns = reading.noun_hosts
    hosts = sentence.host_counts
    modifiers = Counter(modifier.text for _, found in verbs for modifier in found)
    modifiers.update(modifier.text for host in nouns for modifier in host.modifiers)
    for verb, found in verbs:
        if hosts[verb.plain] > 1:
            continue
        for modifier in found:
            if not _is_asked(reading, modifier) or modifiers[modifier.text] > 1:
                continue
            if reading.published or verb_attachment_is_clear(sentence, verb, modifier.node):
                moved = ("pp_attachment:adverbial_modifier:moved",) if modifier.moved else ()
                tags = (f"subtype:{verb.form}", *_tags("predicate", "adverbial_modifier"), *moved)
                yield _finding(sentence, modifier, verb.plain, verb.last, "predicate", tags, reading.published, verb)
    for host in nouns:
        if not is_plain(host.head) or hosts[host.head.text] > 1:
            continue
        for modifier in host.modifiers:
            if not _is_asked(reading, modifier) or modifiers[modifier.text] > 1:
                continue
            if reading.published or noun_attachment_is_clear(sentence, host.head, modifier.node):
                tags = (f"subtype:{subtype(sentence, host)}", *_tags("noun_phrase", "adjective_modifier"))
                yield _finding(sentence, modifier, host.head.text, host.head, "noun_phrase", tags, reading.published)


def _finding(
    sentence: Sentence,
    modifier: Modifier,
    answer: str,
    host: Node,
    kind: str,
    tags: tuple[str, ...],
    published: bool,
    verb: VerbSequence | None = None,
) -> Finding:
    return Finding(
        knowledge_point="PPA",
        slot_kind="prepositional_phrase",
        slot=modifier.text,
        answer=answer,
        category=kind,
        tags=tags,
        nodes=(host, modifier.node),
        rule=kind,
        answer_node=host,
        answer_verb=verb,
        accepted=() if verb is None or published else tuple(renderings(sentence, verb)),
        statements=verb is None or published or not is_complement(modifier.node),
    )


def _tags(kind: str, modifies: str) -> tuple[str, str]:
    return f"pp_attachment:attach_to:{kind}", f"pp_attachment:{modifies}:{_PP}"


def _is_asked(reading: Reading, modifier: Modifier) -> bool:
    return modifier.category == _PP and (reading.published or is_phrase(modifier))
