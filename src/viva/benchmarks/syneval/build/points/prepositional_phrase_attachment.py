"""PPA, the attachment of a prepositional phrase: which verb phrase or noun phrase it modifies.

    from a year earlier                    → grew
    of $ 737.5 million, or $ 3.01 a share  → earnings

arXiv 2311.08287, section 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from viva.benchmarks.syneval.build.finding import Finding
from viva.benchmarks.syneval.build.modifiers import Modifier, is_phrase
from viva.benchmarks.syneval.build.points.adjective_modifier import is_plain, subtype
from viva.benchmarks.syneval.build.reading import Reading

_PP = "prepositional_phrase"


def find(reading: Reading) -> Iterator[Finding]:
    """One finding a prepositional phrase and its host, where both occur once."""
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
            if _is_asked(reading, modifier) and modifiers[modifier.text] == 1:
                yield Finding(
                    knowledge_point="PPA",
                    slot_kind="prepositional_phrase",
                    slot=modifier.text,
                    answer=verb.plain,
                    category="predicate",
                    tags=(
                        f"subtype:{verb.form}",
                        "pp_attachment:attach_to:predicate",
                        f"pp_attachment:adverbial_modifier:{_PP}",
                        *(("pp_attachment:adverbial_modifier:moved",) if modifier.moved else ()),
                    ),
                    nodes=(verb.last, modifier.node),
                    rule="predicate",
                    answer_node=verb.last,
                    answer_verb=verb,
                )
    for host in nouns:
        if not is_plain(host.head) or hosts[host.head.text] > 1:
            continue
        for modifier in host.modifiers:
            if _is_asked(reading, modifier) and modifiers[modifier.text] == 1:
                yield Finding(
                    knowledge_point="PPA",
                    slot_kind="prepositional_phrase",
                    slot=modifier.text,
                    answer=host.head.text,
                    category="noun_phrase",
                    tags=(
                        f"subtype:{subtype(sentence, host)}",
                        "pp_attachment:attach_to:noun_phrase",
                        f"pp_attachment:adjective_modifier:{_PP}",
                    ),
                    nodes=(host.head, modifier.node),
                    rule="noun_phrase",
                    answer_node=host.head,
                )


def _is_asked(reading: Reading, modifier: Modifier) -> bool:
    return modifier.category == _PP and (reading.published or is_phrase(modifier))
