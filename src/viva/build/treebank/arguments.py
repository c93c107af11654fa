"""Arguments of a verb phrase: find them (subject, complement, objects), and give their texts as answers.

Specification, "Argument text", "Argument filters" and "SC/DO/IO share one scan".
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from viva.build.treebank.categories import CONJUNCTIONS, category, is_empty, is_possessive
from viva.build.treebank.sentence import Sentence, empty_leaf, relative_head, resolved, with_antecedents, with_head
from viva.build.treebank.tree import EMPTY, TAGS, WORDS, Node, tags_of
from viva.build.treebank.verbs import BE, LINKING, VerbSequence

Role = Literal["subject", "subject_complement", "direct_object", "indirect_object"]
OMITTED = "omitted"
"""The published answer for a subject without antecedent (imperatives, generic infinitives)."""


class ArgumentText(NamedTuple):
    """An argument as an answer (original case); `kinds` are its categories, or how it was found (moved, omitted)."""

    text: str
    kinds: tuple[str, ...]
    accepted: tuple[str, ...] = ()
    """Further correct texts: the whole phrase if it was cut, a relative pronoun that refers to it."""


@dataclass(slots=True, frozen=True, eq=False)
class Argument:
    """One argument of one verb sequence in a clause."""

    role: Role
    clause: Node
    node: Node
    verb: VerbSequence
    category: str
    answer: ArgumentText
    cut: bool
    """Whether the text ends at the phrase's first comma."""


def is_verb_modifier(node: Node) -> bool:
    """Return whether a sister of a verb modifies it: an adverbial function tag, or an ADVP, PP, RB or particle."""
    if "PRD" in node.functions:
        return False
    if node.tag in TAGS["modifiers"]:
        return True
    functions = node.functions & TAGS["adverbial"]
    return bool(functions) and not (node.tag == "NP" and functions == {"BNF"})


def has_conjunction(clause: Node) -> bool:
    """Return whether a clause has a direct CC or CONJP child: But, And, Or at its beginning, or coordination."""
    return bool(clause.tags & CONJUNCTIONS)


def is_coordinated(clause: Node, published: bool) -> bool:
    """Return whether a clause coordinates. As published, But, And or Or at its beginning suffices (quirk 4)."""
    if published:
        return has_conjunction(clause)
    coordinating = itertools.dropwhile(lambda child: child.tag in ("CC", "``"), clause.children)
    return bool(tags_of(coordinating) & CONJUNCTIONS)


def arguments(sentence: Sentence) -> list[Argument]:
    """Return subjects, complements and objects of every clause that may be asked about.

    Questions show the verb phrase, so it must occur once. Existential `there` is included: it may be shown (MVP), but
    not asked for.
    """
    found_arguments: list[Argument] = []
    for clause, verbs in sentence.clauses.items():
        if clause.tag != "S" or is_coordinated(clause, sentence.published):
            continue
        for verb in verbs:
            if sentence.plain_counts[verb.plain.lower()] > 1:
                continue
            for role, node in roles(sentence, verb):
                kind = sentence.category(node)
                if kind.startswith("unrecognized") or (role == "subject" and "CLF" in clause.functions):
                    continue  # the subject of a cleft ("it was Mary who ...") refers to nothing
                answer = argument_text(sentence, node, kind)
                if answer is not None:
                    found_arguments.append(Argument(role, clause, node, verb, kind, answer, _is_cut(node)))
    return found_arguments


def roles(sentence: Sentence, verb: VerbSequence) -> Iterator[tuple[Role, Node]]:
    """Yield the arguments of a verb phrase with their roles, whether or not they can be asked about."""
    for node in verb.subjects:
        yield "subject", node
    there = not sentence.published and any(
        sentence.category(stands_for) == "existential_there"
        for node in verb.subjects
        for stands_for in resolved(sentence, node)
    )
    for role, node in _complements(verb, sentence.published):
        if not (there and role == "subject_complement"):  # "there is a way": not a complement in any grammar
            yield role, node


def _complements(verb: VerbSequence, published: bool) -> Iterator[tuple[Role, Node]]:
    if verb.voice == "passive":
        return
    rest = _rest(verb)
    predicates = [node for node in rest if "PRD" in node.functions]
    if predicates:
        if published:
            yield "subject_complement", predicates[0]
        elif agreed := [node for node in predicates if _is_complement(node)]:
            # "is by far the most active": prefer one that is not a prepositional phrase
            yield "subject_complement", next((node for node in agreed if node.tag != "PP"), agreed[0])
        return
    if not published and _takes_no_object(verb, rest):
        return
    if len(rest) == 1:
        (node,) = rest
        if node.tag in TAGS["clauses"]:
            if not _is_future_or_habit(verb, node) and (published or _is_object_clause(verb, node)):
                yield "direct_object", node
        elif node.tag in ("NP", "UCP") and not node.functions:
            yield "direct_object", node
    elif len(rest) == 2:
        first, second = rest
        if second.tag == "NP" and first.tag == "NP":
            yield from _two_objects(first, second, published)
        elif second.tag in ("S", "SBAR") and (published or second.tag == "S"):
            yield "direct_object", first  # not for "told reporters that": by default, as the object is unclear


def _is_complement(node: Node) -> bool:
    """Return whether every grammar calls a predicate a subject complement: neither adverb nor place, nor "is to be
    named".
    """
    if node.tag == "ADVP" or node.functions & TAGS["places"] or node.text.lower() in WORDS["weak_complements"]:
        return False
    subject = node.subject if node.tag == "S" else None
    return subject is None or not is_empty(subject) or not empty_leaf(subject).index


def _is_object_clause(verb: VerbSequence, node: Node) -> bool:
    """Return whether every grammar calls a clause an object: infinitives and participles only of verbs that take such
    objects; no clauses that the treebank marks as something else (-CLR, -ADV).
    """
    if _is_remnant(node) or "CLR" in node.functions or verb.last.lowered in WORDS["no_clause_objects"]:
        return False
    if node.tag == "SBAR" and node.before[-1].tag == "," and node.children[0].tag.startswith("WH"):
        return False  # "rings today, several of whom are members"
    if node.tag != "S" or node.has_subject or "VP" not in node.tags:
        return True
    if node.begins("to "):
        return verb.last.lowered in WORDS["infinitive_objects"]
    return first_word(node).tag == "VBG" and verb.last.lowered not in LINKING  # "get rolling", "help lure"


def first_word(node: Node) -> Node:
    """Return the first visible word of a phrase; the phrase itself if there is none."""
    return next((leaf for leaf in node.walk() if leaf.word is not None and leaf.text), node)


def has_own_subject(node: Node) -> bool:
    """Return whether a clause without a finite verb has a visible subject: "wants him to go", "keep it separate"."""
    if node.tag != "S" or "TPC" in node.functions or len(node.children) < 2:
        return False
    subject, predicate = node.children[0], node.children[1]
    if "SBJ" not in subject.functions or not subject.text:
        return False
    return predicate.tag != "VP" or predicate.children[0].tag in ("TO", "VB", "VBG", "VBN")


def _takes_no_object(verb: VerbSequence, rest: list[Node]) -> bool:
    """Return whether what follows is no object: a copula's noun phrase without -PRD, a measured amount, an infinitive
    of result ("rose to settle at $20").
    """
    word = verb.last.lowered
    if "NP" in tags_of(rest) and word in WORDS["copulas"]:
        return True
    if len(rest) == 1 and rest[0].tag == "NP":
        kind = category(rest[0])
        flat = not rest[0].tags & {"NP", "PP", "SBAR"}
        if (kind in TAGS["amounts"] and word in WORDS["measures"]) or (kind in TAGS["bare"] and flat):
            return True
    if "S" not in tags_of(rest):
        return False
    return any(node.functions & TAGS["extent"] for node in verb.last.after if node.position < rest[-1].position)


def _two_objects(first: Node, second: Node, published: bool) -> Iterator[tuple[Role, Node]]:
    """Yield indirect and direct object; after a comma, the second phrase only explains the first."""
    between = first.after[: second.position - first.position - 1]
    if not published and tags_of(between) & {",", "PRN"}:
        yield "direct_object", first
        return
    yield "indirect_object", first
    yield "direct_object", second


def _is_remnant(node: Node) -> bool:
    """Return whether a clause is only a predicate: its subject was moved, or it has neither verb nor subject."""
    outer = node
    if node.tag == "SBAR" and node.children[0].word == "0" and node.children[-1].tag == "S":
        node = node.children[-1]
    if node.tag != "S":
        return False
    subject = node.subject
    if subject is not None and is_empty(subject) and empty_leaf(subject).word == "*T*":
        return True
    return outer is node and bool(node.text) and "VP" not in node.tags and (subject is None or not subject.text)


def _rest(verb: VerbSequence) -> list[Node]:
    """Return the phrases right of the last verb, up to a colon, without modifiers and punctuation."""
    return [
        node
        for node in itertools.takewhile(lambda node: node.tag != ":", verb.last.after)
        if node.tag not in TAGS["punctuation"] and not node.tag.startswith("VB") and not is_verb_modifier(node)
    ]


def _is_future_or_habit(verb: VerbSequence, node: Node) -> bool:
    """Return whether the infinitive after "is going" or "used" is no object."""
    words = [v.word for v in verb.verbs]
    going = len(words) > 1 and words[-1] == "going" and words[-2] in BE
    return node.tag == "S" and (going or words == ["used"])


def argument_text(sentence: Sentence, node: Node, kind: str) -> ArgumentText | None:
    """Return an argument's text as an answer; None if it is unknown."""
    if node.tag == "NP" and kind == "empty" and is_empty(node):
        return _moved(sentence, node)
    if sentence.published or not node.text:
        text = node.text or with_antecedents(sentence, node)
        if sentence.published and _is_cut(node):
            text = text.partition(",")[0]
        return ArgumentText(text, (kind,)) if text else None
    cut_text = _whole_and_cut(sentence, node, (kind,))
    others = tuple(other_extents(sentence, node))
    return cut_text._replace(accepted=(*cut_text.accepted, *others)) if others else cut_text


def other_extents(sentence: Sentence, node: Node) -> Iterator[str]:
    """Yield a phrase's text with other boundaries: extended by its following sisters ("convertible from Nov. 30"),
    without a final prepositional phrase, only the subject of the clause ("wants him to go"), without `that`.
    """
    cut = sentence.cut
    if node.parent.tag and "SBJ" not in node.functions:
        noun = sentence.tree.leaves[node.end - 1].tag.startswith("NN")
        for sister in node.after if noun or "PRD" in node.functions else ():
            if sister.tag not in TAGS["extending"]:
                break
            if sister.text:
                yield cut(node.start, sister.end)
        last = node.children[-1] if node.children else node
        first = node.children[0] if node.children else node
        if last.tag == "PP" and first.tag in ("NP", "JJ", "ADJP") and not last.begins("of "):
            yield cut(node.start, last.start)
    if has_own_subject(node):
        yield node.children[0].text
    elif node.tag == "SBAR" and node.children[0].text.lower() == "that" and len(node.children) > 1:
        yield cut(node.children[1].start, node.end)


def _whole_and_cut(sentence: Sentence, node: Node, kinds: tuple[str, ...]) -> ArgumentText:
    """Return a phrase up to a comma before an apposition or relative clause, with the whole phrase accepted as well."""
    if _is_cut(node):
        comma = next(child for child in node.children if child.tag == ",")
        before = node.children[: comma.position]
        last = next((child.tag for child in reversed(before) if child.tag not in ("``", "''")), "")
        if last not in TAGS["no_end"] and tags_of(before) & {"NP", *TAGS["nouns"]}:
            cut = sentence.cut(node.start, comma.start)
            if cut:
                return ArgumentText(cut, kinds, (node.text,))
    return ArgumentText(node.text, kinds)


def has_noun_complement(sentence: Sentence, node: Node) -> bool:
    """Return whether a flat noun phrase contains a clause: "the fact that he left"."""
    if node.tag != "NP" or any(child.tag == "NP" and not is_possessive(child) for child in node.children):
        return False
    return any(
        child.tag in ("S", "SBAR") and not sentence.category(child).startswith("unrecognized")
        for child in node.children
    )


def _is_cut(node: Node) -> bool:
    """Return whether a noun phrase has a comma (before an apposition or relative clause) at which its text is cut."""
    return node.tag == "NP" and "," in node.tags and not has_conjunction(node)


def _moved(sentence: Sentence, node: Node) -> ArgumentText | None:
    leaf = empty_leaf(node)
    assert leaf.tag == EMPTY
    if not leaf.index:
        # Quirk 2: the sentence has no answer, so by default the question is not asked.
        return ArgumentText(OMITTED, (OMITTED,)) if leaf.word == "*" and sentence.published else None
    antecedent = sentence.antecedents.get(leaf.index)
    if antecedent is None:
        return None
    head = relative_head(antecedent)
    if head is None:
        text = ArgumentText(antecedent.text, ("moved",))
        if not sentence.published:
            text = _whole_and_cut(sentence, antecedent, text.kinds)
    else:
        also = () if sentence.published else tuple(_also_relative(sentence, antecedent, head))
        text = ArgumentText(with_head(sentence, antecedent, head), ("moved", "complementizer"), also)
    return text if text.text else None


def _also_relative(sentence: Sentence, wh: Node, head: Node) -> Iterator[str]:
    """Yield the relative pronoun, and the modified noun phrase up to the clause: "members of the bar who" for
    "members".
    """
    if wh.text:
        yield wh.text
    if not wh.begins("whose"):
        yield sentence.cut(head.parent.start, wh.start)
