"""GS, SC, DO and IO: show a verb phrase and ask for one of its arguments; MVP: the inverse.

GS, the grammatical (surface) subject: a child of S with -SBJ and a VP to its right

    will join → pierre vinken              (S (NP-SBJ Pierre Vinken, ...) (VP will (VP join ...)))
    to trade  → cray computer              through the trace of a raised or controlled subject
    Forget    → omitted                    imperatives, as published

SC, the subject complement: the first sister right of the verb with -PRD, of whatever category

    is        → unjust                     (VP is (ADJP-PRD unjust))
    was       → a blessing                 (VP was (NP-PRD a blessing))

DO, the direct object: what stands right of an active verb once modifiers and punctuation are set aside

    will join → the board                  one NP without function tags
    declines  → to comment                 one S, SBAR or SQ: infinitives and complement clauses are objects
    gave      → access                     the second of two NPs (the first is the indirect object)
    told      → reporters                  the first, where the second is a clause ("told reporters that ...")

IO, the indirect object: the first of two bare NPs right of an active verb; datives with to or for are not asked about

    gave      → mitsui                     (VP gave (NP Mitsui) (NP access))

MVP, the main verb phrase of an unambiguous argument: it does not occur twice, its clause has one verb phrase
(subjects), and it is neither a trace nor cut at a comma

    Factory payrolls → fell

arXiv 2311.08287, section 3.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from viva.benchmarks.syneval.facts import KnowledgePoint, SlotKind
from viva.build.treebank.arguments import Argument, Role, has_noun_complement, has_own_subject, roles
from viva.build.treebank.findings import Finding, Reading
from viva.build.treebank.sentence import Sentence, resolved
from viva.build.treebank.tree import TAGS, Node
from viva.build.treebank.verbs import VerbSequence, verb_paths

_ROLES: dict[Role, tuple[KnowledgePoint, str, SlotKind]] = {
    "subject": ("GS", "surface_subject", "grammatical_subject"),
    "subject_complement": ("SC", "subject_complement", "subject_complement"),
    "direct_object": ("DO", "direct_object", "direct_object"),
    "indirect_object": ("IO", "indirect_object", "indirect_object"),
}
"""Role → knowledge point, name in tags, name of the slot."""
_LONGEST = 8
"""Most words of a verb phrase's span in the sentence."""
_DEEPEST = 3


def find(reading: Reading) -> Iterator[Finding]:
    """Yield one finding per argument that may be asked for, role by role.

    Subjects of passives are asked for as well, logical subjects (by-phrases) are not. By default, participles' subjects
    are not ("much of it delivered", "his company's making bids"), since grammars differ, nor is existential `there`.
    """
    for role in _ROLES:
        for argument in reading.arguments:
            if argument.role == role and argument.category != "existential_there":
                unclear = not argument.verb.voice or (
                    not reading.published and argument.verb.form in TAGS["participles"]
                )
                if role != "subject" or not unclear:
                    yield _finding(reading, argument)


def _finding(sentence: Sentence, argument: Argument) -> Finding:
    """Return the finding "what is the NAME of this verb phrase"."""
    point, name, _ = _ROLES[argument.role]
    kinds = argument.answer.kinds
    voice = (f"{name}:voice:{argument.verb.voice}",) if argument.role == "subject" else ()
    pronoun = kinds == ("moved",) and sentence.category(resolved(sentence, argument.node)[-1]) == "pronoun"
    # The object of "keeps inventories low" is the noun or the whole: only a blank accepts both.
    agreed = not has_own_subject(argument.node)
    return Finding(
        knowledge_point=point,
        slot_kind="verb_phrase",
        slot=argument.verb.plain,
        answer=sentence.cased(argument.answer.text),
        category=kinds[0],
        tags=(f"subtype:{sentence.category(argument.clause)}", *(f"{name}:{kind}" for kind in kinds), *voice),
        nodes=(argument.clause, argument.node),
        rule=argument.role,
        answer_node=argument.node,
        slot_verb=argument.verb,
        related=resolved(sentence, argument.node),
        # "it" for a trace may be one of several phrases for the same thing, so no choice is offered.
        choice=agreed and not pronoun,
        accepted=argument.answer.accepted,
        statements=agreed,
    )


def find_verbs(reading: Reading) -> Iterator[Finding]:
    """Yield one finding per argument that determines one verb phrase."""
    whole = reading.tree.sentence.lower()
    owners, chains = _owners(reading), _chains(reading)
    for argument in reading.arguments:
        if not _is_clear(reading, argument, whole):
            continue
        verb = argument.verb
        others = [other for other in owners.get((argument.role, argument.node), ()) if other is not verb]
        _, name, slot_kind = _ROLES[argument.role]
        yield Finding(
            knowledge_point="MVP",
            slot_kind=slot_kind,
            slot=argument.answer.text,
            answer=reading.cased(verb.plain),
            category=verb.form,
            tags=(
                f"main_verb_phrase:{name}",
                f"subtype:{reading.category(argument.clause)}",
                f"main_verb_phrase:voice:{verb.voice}",
                f"main_verb_phrase:tense:{verb.tense}",
                f"main_verb_phrase:subtype:{verb.form}",
            ),
            nodes=(argument.clause, argument.node),
            rule=argument.role,
            answer_node=verb.last,
            answer_verb=verb,
            also=tuple(other.plain for other in others),
            accepted=tuple(_accepted(reading, verb, others, chains)),
        )


def _accepted(
    sentence: Sentence, verb: VerbSequence, others: list[VerbSequence], chains: list[tuple[VerbSequence, VerbSequence]]
) -> Iterator[str]:
    """Yield other correct renderings of a verb phrase: with adverbs and particle, its span in the sentence, with the
    verb that it depends on or that depends on it ("helped push up", "has yet to announce")."""
    yield from renderings(sentence, verb)
    for upper, lower in chains:
        if verb in (upper, lower):
            yield from _spans(sentence, verb, upper, lower)
    for other in others:
        yield other.plain


def renderings(sentence: Sentence, verb: VerbSequence) -> Iterator[str]:
    """Yield a verb phrase with adverbs, as its span in the sentence, and with its particle: "could quickly end up"."""
    if verb.with_adverbs != verb.plain:
        yield verb.with_adverbs
    yield from _spans(sentence, verb, verb, verb)
    if particle_end(verb) > verb.last.end:
        particle = sentence.cut(verb.last.end, particle_end(verb))
        yield f"{verb.plain} {particle.strip()}"


def _spans(sentence: Sentence, verb: VerbSequence, upper: VerbSequence, lower: VerbSequence) -> Iterator[str]:
    if any(leaf.tag.startswith("NN") for leaf in sentence.tree.leaves[upper.verbs[0].start : lower.last.end]):
        return
    for end in (lower.last.end, particle_end(lower)):
        text = sentence.cut(upper.verbs[0].start, end)
        if text != verb.plain and text.count(" ") < _LONGEST:
            yield text


def particle_end(verb: VerbSequence) -> int:
    """Return the leaf after a verb phrase with its particle: after `out` in "should be put out"."""
    following = next((child for child in verb.last.after if child.text), None)
    return following.end if following is not None and following.tag == "PRT" else verb.last.end


def _chains(sentence: Sentence) -> list[tuple[VerbSequence, VerbSequence]]:
    """Return pairs of verb phrases: the second is an infinitive or participle without subject, taken by the first."""
    by_last = {verb.levels[-1]: verb for verb in sentence.verbs}
    pairs: list[tuple[VerbSequence, VerbSequence]] = []
    for lower in sentence.verbs:
        verb = lower
        for _ in range(_DEEPEST):
            clause = verb.top.parent
            if clause.tag != "S" or clause.has_subject:
                break
            upper = by_last.get(clause.parent)
            if upper is None:
                break
            pairs.append((upper, lower))
            verb = upper
    return pairs


def _owners(sentence: Sentence) -> dict[tuple[Role, Node], list[VerbSequence]]:
    """Return (role, phrase) → its verb phrases, also through traces: he "sought" and "wanted to buy"."""
    owners: dict[tuple[Role, Node], list[VerbSequence]] = {}
    for verb in itertools.chain.from_iterable(sentence.clauses.values()):
        for role, node in roles(sentence, verb):
            for stands_for in resolved(sentence, node):
                owners.setdefault((role, stands_for), []).append(verb)
    return owners


def _is_clear(sentence: Sentence, argument: Argument, whole: str) -> bool:
    node = argument.node
    participle = argument.role == "subject" and argument.verb.form in TAGS["participles"]
    if not sentence.published and (participle or has_own_subject(node)):
        return False
    if argument.category in TAGS["unclear"] or argument.cut or not node.text or has_noun_complement(sentence, node):
        return False
    if argument.role == "subject":
        clear = argument.verb.voice and len(verb_paths(argument.verb.top, sentence.published)) == 1
    else:
        clear = argument.verb.voice != "passive"
    text = argument.answer.text.lower()
    return bool(clear) and text not in whole.replace(text, "", 1)
