"""What GS, SC, DO and IO share: the slot is a verb phrase, the answer one of its arguments."""

from __future__ import annotations

from collections.abc import Iterator

from viva.authoring.treebank.arguments import Argument, Role, has_own_subject
from viva.authoring.treebank.constituents import Reading
from viva.authoring.treebank.findings import Finding
from viva.authoring.treebank.reference import resolved
from viva.authoring.treebank.sentence import Sentence
from viva.benchmarks.syneval.items import KnowledgePoint


def asked(reading: Reading, role: Role) -> Iterator[Argument]:
    """The arguments of one role that may be asked for: existential `there` may only be shown."""
    return (each for each in reading.arguments if each.role == role and each.category != "existential_there")


def finding(
    sentence: Sentence, argument: Argument, point: KnowledgePoint, name: str, more: tuple[str, ...] = ()
) -> Finding:
    """The question "what is the NAME of this verb phrase". Answers are lower-cased, as published."""
    kinds = argument.answer.kinds
    return Finding(
        knowledge_point=point,
        slot_kind="verb_phrase",
        slot=argument.verb.plain,
        answer=argument.answer.text.lower(),
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
        accepted=tuple(text.lower() for text in argument.answer.accepted),
        statements=sentence.published or not has_own_subject(argument.node),
    )


def _is_pronoun_for_a_trace(sentence: Sentence, argument: Argument) -> bool:
    if argument.answer.kinds != ("moved",):
        return False
    return sentence.category(resolved(sentence, argument.node)[-1]) == "pronoun"
