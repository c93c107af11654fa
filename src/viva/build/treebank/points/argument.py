"""GS, SC, DO and IO: the slot is a verb phrase, the answer one of its arguments. arXiv 2311.08287, section 3."""

from __future__ import annotations

from collections.abc import Iterator

from viva.benchmarks.syneval.facts import KnowledgePoint
from viva.build.treebank.arguments import Argument, Role, has_own_subject
from viva.build.treebank.findings import Finding, Reading
from viva.build.treebank.sentence import Sentence, resolved
from viva.build.treebank.verbs import PARTICIPLES


def surface_subject(reading: Reading) -> Iterator[Finding]:
    """GS, the grammatical (surface) subject: a child of S with -SBJ and a VP to its right.

        will join → pierre vinken        (S (NP-SBJ Pierre Vinken, ...) (VP will (VP join ...)))
        to trade  → cray computer        through the trace of a raised or controlled subject
        Forget    → omitted              imperatives, as published

    Passives are asked as well; logical subjects (by-phrases) are not. One finding a verb phrase of known voice that has
    a subject; by default participles have none ("much of it delivered", "his company's making bids"): grammars differ
    on that.
    """
    for argument in _asked(reading, "subject"):
        if argument.verb.voice and (reading.published or argument.verb.form not in PARTICIPLES):
            voice = f"surface_subject:voice:{argument.verb.voice}"
            yield _finding(reading.sentence, argument, "GS", "surface_subject", (voice,))


def subject_complement(reading: Reading) -> Iterator[Finding]:
    """SC, the subject complement: the first sister right of the verb with -PRD, of whatever category.

    is            → unjust                 (VP is (ADJP-PRD unjust))
    are           → directly comparable
    was           → a blessing             (VP was (NP-PRD a blessing))
    """
    for argument in _asked(reading, "subject_complement"):
        yield _finding(reading.sentence, argument, "SC", "subject_complement")


def direct_object(reading: Reading) -> Iterator[Finding]:
    """DO, the direct object: what stands right of an active verb once modifiers and punctuation are set aside.

    will join   → the board                one NP without function tags
    declines    → to comment               one S, SBAR or SQ: infinitives and complement clauses are objects
    gave        → access                   the second of two NPs (the first is the indirect object)
    told        → reporters                the first, where the second is a clause ("told reporters that ...")
    """
    for argument in _asked(reading, "direct_object"):
        yield _finding(reading.sentence, argument, "DO", "direct_object")


def indirect_object(reading: Reading) -> Iterator[Finding]:
    """IO, the indirect object: the first of two bare NPs right of an active verb.

        gave     → mitsui             (VP gave (NP Mitsui) (NP access))
        to give  → federal judges

    Datives with to or for are not asked about.
    """
    for argument in _asked(reading, "indirect_object"):
        yield _finding(reading.sentence, argument, "IO", "indirect_object")


def _asked(reading: Reading, role: Role) -> Iterator[Argument]:
    """Return the arguments of one role that may be asked for: existential `there` may only be shown."""
    return (each for each in reading.arguments if each.role == role and each.category != "existential_there")


def _finding(
    sentence: Sentence, argument: Argument, point: KnowledgePoint, name: str, more: tuple[str, ...] = ()
) -> Finding:
    """The question "what is the NAME of this verb phrase"."""
    kinds = argument.answer.kinds
    return Finding(
        knowledge_point=point,
        slot_kind="verb_phrase",
        slot=argument.verb.plain,
        answer=sentence.cased(argument.answer.text),
        category=kinds[0],
        tags=(f"subtype:{sentence.category(argument.clause)}", *(f"{name}:{kind}" for kind in kinds), *more),
        nodes=(argument.clause, argument.node),
        rule=argument.role,
        answer_node=argument.node,
        slot_verb=argument.verb,
        related=() if sentence.published else resolved(sentence, argument.node),
        # "it" for a trace may be one of several phrases that name the same thing: no choice between those. And of
        # "keeps inventories low" the object is the noun to some, the whole to others: only a blank accepts both.
        choice=sentence.published
        or not (_is_pronoun_for_a_trace(sentence, argument) or has_own_subject(argument.node)),
        accepted=argument.answer.accepted,
        statements=sentence.published or not has_own_subject(argument.node),
    )


def _is_pronoun_for_a_trace(sentence: Sentence, argument: Argument) -> bool:
    if argument.answer.kinds != ("moved",):
        return False
    return sentence.category(resolved(sentence, argument.node)[-1]) == "pronoun"
