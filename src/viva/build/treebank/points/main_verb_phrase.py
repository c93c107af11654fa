"""MVP, the main verb phrase: the inverse of GS, SC, DO and IO. An argument is shown, its verb phrase asked for.

    Factory payrolls → fell
    censorship       → was
    Mitsui           → gave

The argument must say clearly which verb phrase is meant: it does not occur twice, its clause has one verb phrase
(subjects), and it is neither a trace nor cut at a comma. arXiv 2311.08287, section 3.
"""

from __future__ import annotations

from collections.abc import Iterator

from viva.benchmarks.syneval.facts import SlotKind
from viva.build.treebank.arguments import Argument, Role, has_noun_complement, has_own_subject, roles
from viva.build.treebank.findings import Finding, Reading
from viva.build.treebank.sentence import Sentence, resolved
from viva.build.treebank.tree import Node
from viva.build.treebank.verbs import PARTICIPLES, VerbSequence, verb_paths

_NAMES: dict[Role, str] = {"subject": "surface_subject"}
_SLOTS: dict[Role, SlotKind] = {
    "subject": "grammatical_subject",
    "subject_complement": "subject_complement",
    "direct_object": "direct_object",
    "indirect_object": "indirect_object",
}
_LONGEST = 8
"""Words of a verb phrase as it stands in the sentence."""
_DEEPEST = 3
_UNCLEAR = frozenset(("empty", "coordinated_subordinate_clause"))


def find(reading: Reading) -> Iterator[Finding]:
    """Yield one finding an argument that points at one verb phrase."""
    sentence = reading.sentence
    whole = sentence.tree.sentence.lower()
    owners = {} if sentence.published else _owners(sentence)
    chains = [] if sentence.published else _chains(sentence)
    for argument in reading.arguments:
        if not _is_clear(sentence, argument, whole):
            continue
        verb = argument.verb
        others = [other for other in owners.get((argument.role, argument.node), ()) if other is not verb]
        name = _NAMES.get(argument.role, argument.role)
        yield Finding(
            knowledge_point="MVP",
            slot_kind=_SLOTS[argument.role],
            slot=argument.answer.text,
            answer=sentence.cased(verb.plain),
            category=verb.form,
            tags=(
                f"main_verb_phrase:{name}",
                f"subtype:{sentence.category(argument.clause)}",
                f"main_verb_phrase:voice:{verb.voice}",
                f"main_verb_phrase:tense:{verb.tense}",
                f"main_verb_phrase:subtype:{verb.form}",
            ),
            nodes=(argument.clause, argument.node),
            rule=argument.role,
            answer_node=verb.last,
            answer_verb=verb,
            also=tuple(other.plain for other in others),
            accepted=() if sentence.published else tuple(_accepted(sentence, verb, others, chains)),
        )


def _accepted(
    sentence: Sentence, verb: VerbSequence, others: list[VerbSequence], chains: list[tuple[VerbSequence, VerbSequence]]
) -> Iterator[str]:
    """Other renderings of a verb phrase that are as right: with adverbs and particle, as it stands in the sentence,
    with the verb that it depends on or that depends on it ("helped push up", "has yet to announce")."""
    yield from renderings(sentence, verb)
    for upper, lower in chains:
        if verb in (upper, lower):
            yield from _spans(sentence, verb, upper, lower)
    for other in others:
        yield other.plain


def renderings(sentence: Sentence, verb: VerbSequence) -> Iterator[str]:
    """Yield a verb phrase with its adverbs, as it stands in the sentence, and with its particle: "could quickly end
    up".
    """
    if verb.with_adverbs != verb.plain:
        yield verb.with_adverbs
    yield from _spans(sentence, verb, verb, verb)
    if particle_end(verb) > verb.last.end:
        particle = sentence.tree.layout.cut(verb.last.end, particle_end(verb))
        yield f"{verb.plain} {particle.strip()}"


def _spans(sentence: Sentence, verb: VerbSequence, upper: VerbSequence, lower: VerbSequence) -> Iterator[str]:
    if any(leaf.tag.startswith("NN") for leaf in sentence.tree.leaves[upper.verbs[0].start : lower.last.end]):
        return
    for end in (lower.last.end, particle_end(lower)):
        text = sentence.tree.layout.cut(upper.verbs[0].start, end)
        if text != verb.plain and text.count(" ") < _LONGEST:
            yield text


def particle_end(verb: VerbSequence) -> int:
    """Return where a verb phrase ends with its particle: behind `out` in "should be put out"."""
    parent = verb.last.parent
    after = parent.children[verb.last.position + 1 :] if parent is not None else []
    following = next((child for child in after if child.text), None)
    return following.end if following is not None and following.tag == "PRT" else verb.last.end


def _chains(sentence: Sentence) -> list[tuple[VerbSequence, VerbSequence]]:
    """Return verb phrases with those that they take as infinitives or participles without a subject of their own."""
    by_last = {verb.levels[-1]: verb for verb in sentence.verbs}
    found: list[tuple[VerbSequence, VerbSequence]] = []
    for lower in sentence.verbs:
        verb = lower
        for _ in range(_DEEPEST):
            clause = verb.top.parent
            if clause is None or clause.tag != "S" or clause.parent is None:
                break
            if any("SBJ" in child.functions and child.text for child in clause.children):
                break
            upper = by_last.get(clause.parent)
            if upper is None:
                break
            found.append((upper, lower))
            verb = upper
    return found


def _owners(sentence: Sentence) -> dict[tuple[Role, Node], list[VerbSequence]]:
    """Return all verb phrases that a phrase belongs to in a role, through traces as well: he "sought" and "wanted to
    buy".
    """
    owners: dict[tuple[Role, Node], list[VerbSequence]] = {}
    for clause, verbs in sentence.clauses.items():
        for verb in verbs:
            for role, node in roles(sentence, clause, verb):
                for stands_for in resolved(sentence, node):
                    owners.setdefault((role, stands_for), []).append(verb)
    return owners


def _is_clear(sentence: Sentence, argument: Argument, whole: str) -> bool:
    node = argument.node
    participle = argument.role == "subject" and argument.verb.form in PARTICIPLES
    if not sentence.published and (participle or has_own_subject(node)):
        return False
    if argument.category in _UNCLEAR or argument.cut or not node.text or has_noun_complement(sentence, node):
        return False
    if argument.role == "subject":
        if not argument.verb.voice or len(verb_paths(argument.verb.top, sentence.published)) != 1:
            return False
    elif argument.verb.voice == "passive":
        return False
    text = argument.answer.text.lower()
    return text not in whole.replace(text, "", 1)
