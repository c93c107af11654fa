"""Modifiers of verb phrases and noun phrases, for ADV, ADJ and PPA.

Specification, section 2, ADJ and ADV.

By default, questions and wrong answers use only attachments on which readers agree. The treebank decides every
attachment, even ambiguous ones ("is a supportive element in the market outlook": the element or its being one?). The
tree shows which are ambiguous: a verb and a noun, or two nouns, precede the phrase, and nothing in between rules one of
them out. By default such phrases are neither asked for nor offered as wrong. Functions that end in `_is_clear` return
whether a phrase clearly attaches as in the treebank; those that begin with `could_`, whether it could attach elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

from viva.build.treebank.arguments import is_verb_modifier
from viva.build.treebank.categories import CONJUNCTIONS, is_empty, is_possessive
from viva.build.treebank.sentence import Sentence, relative_head, with_head
from viva.build.treebank.tree import TAGS, WORDS, Node, tags_of
from viva.build.treebank.verbs import VERB_TAGS, VerbSequence

NON_RESTRICTIVE = "(non-restrictive)"
REDUCED_RELATIVE = "reduced_relative_clause"


@dataclass(slots=True, frozen=True, eq=False)
class Modifier:
    """A modifier with its text. `category` is empty if it is not asked about."""

    node: Node
    text: str
    category: str
    moved: bool = False


def is_phrase(modifier: Modifier) -> bool:
    """Return whether a modifier can be shown: not a preposition alone ("the man she spoke to")."""
    return modifier.node.tag != "PP" or " " in modifier.text


def noun_modifiers(sentence: Sentence) -> dict[Node, tuple[Modifier, ...]]:
    """Return inner noun phrase → its modifiers, for noun phrases within another that modifiers may follow."""
    by_head: dict[Node, tuple[Modifier, ...]] = {}
    for node in sentence.tree.nodes:
        head = _head(node) if node.tag == "NP" else None
        if head is not None:
            tags = tags_of(head.after)
            if tags & TAGS["following"] and not tags & CONJUNCTIONS:
                by_head[head] = tuple(_noun_modifiers(sentence, head.after))
    return by_head


def _head(node: Node) -> Node | None:
    """Return the inner head: the first NP that is not possessive, after at most one that is; else a lone possessive."""
    possessives = 0
    for child in node.children:
        if child.tag != "NP":
            continue
        if not is_possessive(child):
            return child if possessives <= 1 else None
        if not tags_of(child.after) & TAGS["noun_phrases"]:
            return child
        possessives += 1
    return None


def _noun_modifiers(sentence: Sentence, after: list[Node]) -> list[Modifier]:
    modifiers: list[Modifier] = []
    for position, node in enumerate(after):
        if node.tag not in TAGS["modifying"]:
            continue
        # As published, the first sister is compared with the last: an index of -1 (quirk 11).
        before = after[position - 1] if position or sentence.published else None
        set_off = before is not None and _ends_in_comma(before)
        if not set_off or node.tag == "SBAR":
            category = _recognised(sentence, node, NON_RESTRICTIVE if set_off else "")
            # For a modifier elsewhere in the sentence (*ICH*), its text there.
            modifiers.append(Modifier(node, node.text or _rebuilt(sentence, node), category))
    return modifiers


def _ends_in_comma(node: Node) -> bool:
    """Return whether a node is a comma or a parenthesis that ends in one."""
    return node.tag == "," or (node.tag == "PRN" and node.children[-1].tag == ",")


def _recognised(sentence: Sentence, node: Node, suffix: str = "") -> str:
    if not node.text:
        return ""
    if node.tag in ("VP", "RRC"):
        return REDUCED_RELATIVE
    category = _category_of(sentence, node)
    return category and category + suffix


def verb_modifiers(sentence: Sentence, verb: VerbSequence) -> list[Modifier]:
    """Return a verb sequence's modifiers: sisters of its topmost VP after the subject, and sisters of its verbs."""
    nodes: list[Node] = []
    if verb.subjects:
        nodes.extend(child for child in verb.top.before[verb.subjects[-1].position + 1 :] if is_verb_modifier(child))
    for level, vp in enumerate(verb.levels):
        below = verb.levels[level + 1] if level + 1 < len(verb.levels) else None
        nodes.extend(child for child in _sisters(vp, below) if is_verb_modifier(child))
    return [modifier for node in nodes if (modifier := _verb_modifier(sentence, node)) is not None]


def _sisters(vp: Node, below: Node | None) -> list[Node]:
    """Return a VP's children that belong to its VP child `below`; all if that is the only one, or None."""
    conjuncts = [child for child in vp.children if child.tag == "VP"]
    if below is None or len(conjuncts) < 2:
        return vp.children
    has_verb = any(child.word is not None and child.tag.startswith(("VB", "MD", "TO")) for child in vp.children)
    first, last = conjuncts[0].position, conjuncts[-1].position
    index = conjuncts.index(below)
    start = conjuncts[index - 1].position if index else first
    shared_before = [child for child in vp.children[:first] if has_verb or child.tag != "RB" or index == 0]
    return [*shared_before, *vp.children[start : below.position], *vp.children[last + 1 :]]


def _verb_modifier(sentence: Sentence, node: Node) -> Modifier | None:
    if node.tag in ("RB", "PRT"):
        return Modifier(node, node.text, "")
    rebuilt = _rebuilt(sentence, node)
    if not (rebuilt or node.text):
        return None
    # "the river on which it flows", "when it left": by default, moved modifiers count but are not asked for.
    asked = sentence.published or not rebuilt
    return Modifier(node, rebuilt or node.text, _category_of(sentence, node) if asked else "", moved=bool(rebuilt))


def _category_of(sentence: Sentence, node: Node) -> str:
    category = sentence.category(node)
    return "" if category.startswith("unrecognized") else category


def _rebuilt(sentence: Sentence, node: Node) -> str:
    """Return the text of a modifier that moved with a WH-word: "in which" of "the climate in which" is "in the
    climate".
    """
    antecedent = sentence.antecedent(node)
    if antecedent is None:
        return ""
    head = relative_head(antecedent)
    return antecedent.text if head is None else with_head(sentence, antecedent, head)


def fronted_modifiers(verb: VerbSequence) -> list[Node]:
    """Return modifiers that begin a verb phrase's clause or a clause around it: "In 1989, they were prompted".

    The published construct begins after the subject. Earlier modifiers are never asked for, but they are no wrong
    answers either, and no statement says that their verb phrase has no modifier.
    """
    nodes: list[Node] = []
    for clause in takewhile(lambda node: node.tag in ("S", "SINV"), verb.top.above()):
        nodes.extend(
            child
            for child in clause.children
            if _is_adverbial(child) and not child.holds(verb.last) and not _follows_subject(child, verb)
        )
        if is_verb_modifier(clause):
            break  # an adverbial clause: what modifies the clause around it does not modify this one
    return nodes


def governing_modifiers(verb: VerbSequence) -> list[Node]:
    """Return modifiers of a surrounding clause that precede the verb phrase: "after the war he hoped to return"."""
    return [
        child
        for around in takewhile(lambda node: node.tag in ("S", "SINV", "VP", "SBAR"), verb.top.above())
        for child in around.children
        if child.end <= verb.verbs[0].start and _is_adverbial(child)
    ]


def _is_adverbial(node: Node) -> bool:
    return bool(node.text) and "SBJ" not in node.functions and (is_verb_modifier(node) or node.tag == "SBAR")


def _follows_subject(node: Node, verb: VerbSequence) -> bool:
    """Return whether a node is between subject and verb phrase, where the published construct includes it."""
    if node.parent is not verb.top.parent or node.position > verb.top.position:
        return False
    return any("SBJ" in child.functions for child in node.before)


def is_of(phrase: Node) -> bool:
    """Return whether a phrase begins with `of` and so attaches to the noun before it."""
    return phrase.tag == "PP" and phrase.begins("of ")


def is_complement(phrase: Node) -> bool:
    """Return whether a verb requires a phrase, which some grammars call a complement, not a modifier."""
    return bool(phrase.functions & (TAGS["required"] | {"CLR"}))


def noun_attachment_is_clear(  # noqa: PLR0911 - a case for each kind of phrase
    sentence: Sentence, head: Node, phrase: Node
) -> bool:
    """Return whether readers agree that a phrase modifies this noun phrase.

    It must follow directly and be no conditional or causal clause; and a prepositional phrase or infinitive must not
    end a verb's object, where it could modify the verb.
    """
    if not phrase.text or not _adjoins(sentence, head, phrase):
        return False
    if _is_name(sentence, head, phrase) or _is_coordinated(head) or head.text.lower() in WORDS["hedges"]:
        return False
    first = phrase.children[0]
    match phrase.tag:
        case "SBAR":
            return first.tag in TAGS["relative"] or first.text.lower() in ("", "that")
        case "S" if not phrase.begins("to "):
            return False  # the title in 'your article "..."'
        case "VP":
            return first.tag in ("VBN", "VBG", "ADVP") and not _has_comma_before(sentence, phrase)
        case "S" | "ADVP" | "PP":
            return is_of(phrase) or not _ends_a_verb_phrase(head)
        case _:
            return True


def verb_attachment_is_clear(  # noqa: PLR0911 - a case for each kind of phrase
    sentence: Sentence, verb: VerbSequence, phrase: Node
) -> bool:
    """Return whether readers agree that a phrase modifies this verb phrase.

    No other verb may be in between ("were jointly fined and given"). Before the verb, it must be an adverb or set off
    by commas. After it, a prepositional phrase, clause or adverb must not follow a noun that it could modify, unless
    the verb requires it ("put money in the bank").
    """
    if phrase.end <= verb.last.start:
        between = sentence.tree.leaves[phrase.end : verb.last.start]
        if tags_of(leaf for leaf in between if leaf not in verb.verbs) & VERB_TAGS:
            return False
        return phrase.tag in ("ADVP", "RB") or (phrase.tag == "PP" and _has_comma_before(sentence, phrase))
    between = sentence.between(verb.last.end, phrase.start)
    if tags_of(between) & VERB_TAGS:
        return False
    if phrase.tag != "PP" and (between or phrase.tag == "NP") and _is_governed(verb):
        return False  # "said it would refile its request if": ambiguous
    if phrase.tag != "ADVP" and _follows_predicate(phrase):
        return False  # "was up only slightly in lackluster trading"
    after_noun = tags_of(between) & TAGS["noun_words"]
    comma = bool(between) and between[-1].tag == ","
    match phrase.tag:
        case "PP":
            return not after_noun or (not comma and _is_required(phrase))
        case "SBAR":
            return not after_noun or (phrase.children[0].tag == "IN" and not phrase.begins("that "))
        case "S":  # participles may modify the subject: "..., dividing responsibilities"
            return not after_noun and not comma and tags_of(sentence.between(phrase.start)[:1]) == {"TO"}
        case "ADVP":
            return not after_noun or "TMP" in phrase.functions or phrase.text.lower().endswith("ly")
        case _:
            return True


def adverbials(sentence: Sentence) -> list[Node]:
    """Return the phrases of a sentence that could be an adverbial of some verb."""
    return [node for node in sentence.tree.nodes if node.children and node.text and _looks_adverbial(node)]


def has_other_adverbials(among: list[Node], verb: VerbSequence, modifier: Node | None) -> bool:
    """Return whether one of a sentence's adverbials other than `modifier` could modify this verb phrase: after its last
    verb, in its phrase or one around it; or before it, in its clause or one around it.
    """
    for node in among:
        if modifier is not None and node.meets(modifier):
            continue
        if node.start >= verb.last.end:
            if not _in_other_clause(node, verb):
                return True
        elif node.end <= verb.verbs[0].start and _stands_beside(node, verb):
            return True
    return False


def could_modify_verb(verb: VerbSequence, phrase: Node) -> bool:
    """Return whether a phrase that modifies something else could also modify this verb phrase."""
    if _stands_beside(phrase, verb):
        return True
    if phrase.end <= verb.verbs[0].start or is_of(phrase):
        return False
    return phrase.start >= verb.last.end and not _in_other_clause(phrase, verb)


def could_modify_noun(sentence: Sentence, head: Node, phrase: Node) -> bool:
    """Return whether a phrase that modifies something else could also modify this noun phrase.

    It must follow, without a verb or comma in between.
    """
    if phrase.start < head.end:
        return False
    between = sentence.between(head.end, phrase.start)
    if is_of(phrase):
        return not between
    return not tags_of(between) & {*VERB_TAGS, ",", ":"}


def nothing_follows(sentence: Sentence, head: Node) -> bool:
    """Return whether no modifier can follow a noun phrase: next is a finite verb, a conjunction or the end."""
    following = next(
        (leaf for leaf in sentence.tree.leaves[head.end :] if leaf.text and leaf.tag not in TAGS["quotes"]), None
    )
    return following is None or following.tag in TAGS["ends"]


def _is_governed(verb: VerbSequence) -> bool:
    """Return whether a verb phrase is within another, without a relative clause in between."""
    around = takewhile(lambda node: not _is_relative(node), verb.top.above())
    return "VP" in tags_of(around)


def _is_relative(node: Node) -> bool:
    return node.tag == "SBAR" and node.children[0].tag in TAGS["relative"]


def _is_name(sentence: Sentence, head: Node, phrase: Node) -> bool:
    """Return whether the phrase is part of a name: "the National Association of Purchasing Management"."""
    leaves = sentence.tree.leaves
    return is_of(phrase) and all(leaves[node.end - 1].tag in ("NNP", "NNPS") for node in (head, phrase))


def _is_coordinated(head: Node) -> bool:
    """Return whether a noun phrase coordinates nouns or ends a coordination: a modifier may belong to all."""
    if "CC" in tags_of(head.walk()):
        return True
    outer = head.parent
    return outer.parent.tag in ("NP", "UCP") and bool(tags_of(outer.before) & CONJUNCTIONS)


def _follows_predicate(phrase: Node) -> bool:
    return any("PRD" in child.functions for child in phrase.before)


def _is_required(phrase: Node) -> bool:
    """Return whether the verb requires a prepositional phrase, whatever noun precedes it."""
    return bool(phrase.functions & TAGS["required"]) or (
        "CLR" in phrase.functions and phrase.begins(*WORDS["of_verbs"])
    )


def _adjoins(sentence: Sentence, head: Node, phrase: Node) -> bool:
    """Return whether at most a comma or quotation marks are between a noun phrase and a phrase after it."""
    return phrase.start >= head.end and tags_of(sentence.between(head.end, phrase.start)) <= {"``", ","}


def _ends_a_verb_phrase(head: Node) -> bool:
    """Return whether a noun phrase is a verb's object or complement, or within one."""
    node = head
    while node.parent.tag in TAGS["within"]:
        node = node.parent
        if node.tag == "VP":
            return True
    return node.parent.tag != "" and "PRD" in node.functions


def _has_comma_before(sentence: Sentence, phrase: Node) -> bool:
    return tags_of(sentence.between(0, phrase.start)[-1:]) == {","}


def _looks_adverbial(node: Node) -> bool:
    if node.tag in ("PP", "ADVP"):
        return not is_of(node)
    if node.tag == "SBAR":
        return node.children[0].tag in ("IN", "WHADVP", "ADVP") and node.children[0].text.lower() != "that"
    if node.tag == "S":
        return bool(node.functions & TAGS["adverbial"]) or _is_purpose_clause(node)
    return bool(node.functions & TAGS["adverbial"])


def _is_purpose_clause(node: Node) -> bool:
    """Return whether a clause is an infinitive without subject that follows another phrase, not a verb."""
    if node.subject is None or not is_empty(node.subject):
        return False
    before = [child for child in node.before if child.text]
    return bool(before) and before[-1].tag not in VERB_TAGS and node.begins("to ")


def _stands_beside(node: Node, verb: VerbSequence) -> bool:
    """Return whether a phrase is a sister of a node that contains the verb, in its clause or one around it."""
    return node.parent.tag in TAGS["clausal"] and _covers(node.parent, verb.last)


def _covers(node: Node, other: Node) -> bool:
    return node.start <= other.start and other.end <= node.end


def _in_other_clause(node: Node, verb: VerbSequence) -> bool:
    """Return whether a phrase belongs to another verb: it is in a relative, reduced relative or coordinated clause that
    does not contain this one.
    """
    return any(
        _is_relative(above)
        or (above.tag, above.parent.tag) == ("VP", "NP")
        or (above.parent.tag == "S" and above.tag in TAGS["sentences"] and above.has_subject)
        for above in takewhile(lambda around: not _covers(around, verb.last), node.above())
    )
