"""Wrong answers: phrases of the same sentence that a question may offer beside the right one.

As published they are drawn at random from the sentence and filled up from a list where it has too few, whether or not
they are really wrong. By default (`choose`, `partners`) they come from the sentence alone (specification, section 6,
quirks 6 to 9): a phrase is offered if it neither overlaps the right answer nor answers the question as well. That is no
trace's antecedent, no other conjunct, no other modifier of the same phrase, no other verb of the same argument. For
attachment, phrases that the prepositional phrase could attach to come first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import takewhile
from typing import NamedTuple, TypeVar

from viva.build.treebank.attachment import could_modify_noun, could_modify_verb, is_of
from viva.build.treebank.categories import CONJUNCTIONS, is_possessive
from viva.build.treebank.findings import Finding, Reading, Unpaired
from viva.build.treebank.modifiers import is_phrase
from viva.build.treebank.phrases import bare, tidy_text
from viva.build.treebank.points.modifiers import is_plain
from viva.build.treebank.sentence import Sentence
from viva.build.treebank.tree import Node
from viva.build.treebank.verbs import BE
from viva.build.treebank.wordings import wordings

T = TypeVar("T")
_MASK = (1 << 64) - 1


class Dice:
    """A small generator (PCG's multiplier and increment) seeded with a name: a million are made in seconds, which the
    standard library's, with its state of 2.5 kB, does not allow. Nothing secret depends on it."""

    __slots__ = ("_state",)

    def __init__(self, name: str) -> None:
        self._state = int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")

    def below(self, limit: int) -> int:
        """Return a whole number from 0 up to `limit`, which it does not reach."""
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) & _MASK
        return (self._state >> 33) * limit >> 31

    def shuffled(self, things: Sequence[T]) -> list[T]:
        """Return the things in random order (Fisher and Yates)."""
        mixed = list(things)
        for index in range(len(mixed) - 1, 0, -1):
            other = self.below(index + 1)
            mixed[index], mixed[other] = mixed[other], mixed[index]
        return mixed


WANTED = 3
_ARGUMENTS = frozenset(("GS", "SC", "DO", "IO"))
_FAR = 1000


class Phrase(NamedTuple):
    """A candidate: its text, where it comes from, and whether it is a verb phrase."""

    text: str
    node: Node
    verbal: bool = False


def choose(pool: list[Phrase], finding: Finding, others: Iterable[str], sentence: Sentence) -> list[str]:
    """Up to three of the candidates, which come in random order; `others` are right answers as well."""
    taken = _Taken((finding.answer, *finding.accepted, *finding.also, *others, finding.slot))
    pool = [p for p in pool if p.text and not taken.overlap(p.text) and not _could_be(p, finding, sentence)]
    if finding.knowledge_point == "PPA":
        pool = _attachable(pool, finding)
    elif finding.knowledge_point == "SC":
        pool.sort(key=_is_no_complement)
    elif finding.knowledge_point in _ARGUMENTS:
        pool.sort(key=_is_easy)
    return _apart([phrase.text for phrase in pool], kept=int(finding.knowledge_point == "PPA"))


def partners(pool: list[Phrase], taken: list[str], slot: Node, conjuncts: tuple[Node, ...]) -> list[str]:
    """Up to three phrases that a slot is not coordinated with, not even by way of the clauses around them."""
    right = _Taken(taken)
    found: list[str] = []
    for phrase in pool:
        text = phrase.text
        if not text or (phrase.verbal and text in BE) or right.overlap(text):
            continue
        if phrase.verbal and _coordinated(phrase.node, slot):
            continue
        if not any(phrase.node.meets(node) for node in conjuncts):
            found.append(text)
    return _apart(found)


class _Taken:
    """Phrases that nothing may overlap with, word by word: as `phrases.overlap`, for many at a time."""

    __slots__ = ("_words",)

    def __init__(self, texts: Iterable[str]) -> None:
        self._words = [bare(text) for text in texts]

    def overlap(self, text: str) -> bool:
        words = bare(text)
        for other in self._words:  # noqa: SIM110 - called a hundred times a sentence, and twice as quick
            if words in other or other in words:
                return True
        return False

    def add(self, text: str) -> None:
        self._words.append(bare(text))


def _apart(texts: list[str], kept: int = 0) -> list[str]:
    """Return the first three that do not lie in each other; where a long one leaves no room for that, the shortest
    three.

    The first `kept` are taken in any case.
    """
    found: list[str] = []
    for again in (False, True):
        found, taken = [], _Taken(())
        for text in [*texts[:kept], *sorted(texts[kept:], key=len)] if again else texts:
            if not taken.overlap(text):
                taken.add(text)
                found.append(text)
            if len(found) == WANTED:
                return found
    return found


def _could_be(phrase: Phrase, finding: Finding, sentence: Sentence) -> bool:
    """Return whether a candidate could answer the question as well as the answer."""
    node, point = phrase.node, finding.knowledge_point
    if any(node.meets(other) for other in finding.related):
        return True
    if point == "PPA":
        return _could_host(phrase, finding)
    if point == "ADV":
        return finding.slot_verb is not None and could_modify_verb(finding.slot_verb, node)
    if point == "ADJ":
        # What modifies a noun phrase that begins with the slot may be said to modify the slot.
        head = finding.nodes[0]
        begins = node.parent is not None and node.parent.start == head.start
        return begins or could_modify_noun(sentence, head, node)
    return point in _ARGUMENTS and _could_name(phrase, finding)


def _could_host(phrase: Phrase, finding: Finding) -> bool:
    """Return a bare form of be, a verb that takes the answer's verb, a noun phrase that begins the one around the
    answer.
    """
    node, asked = phrase.node, finding.nodes[-1]
    if phrase.verbal:
        return phrase.text.lower() in BE or _governs(node, finding)
    return not is_of(asked) and node.parent is not None and node.parent.tag == "NP" and node.parent.holds(asked)


def _could_name(phrase: Phrase, finding: Finding) -> bool:
    """ "she" may be the nurse: no pronoun beside a noun, and beside a pronoun no noun that it may stand for."""
    pronouns = wordings().fillers["pronouns"]
    named = phrase.text.lower() in pronouns
    if finding.answer.lower() in pronouns:
        return not named and phrase.node.end <= finding.answer_node.start
    return named


def _governs(verb: Node, finding: Finding) -> bool:
    """Return whether a verb takes the answer's verb in its own phrase, with no clause of its own between: "plan to
    meet".
    """
    below = finding.answer_verb
    if below is None or verb.parent is None or not verb.parent.holds(below.last):
        return False
    between = takewhile(lambda node: node is not verb.parent, below.top.above())
    return all(node.tag != "SBAR" for node in between)


def _is_easy(phrase: Phrase) -> bool:
    """An adverb or a possessive is never taken for a subject or an object: offered only where nothing else is left."""
    return phrase.node.tag != "NP" or is_possessive(phrase.node)


def _is_no_complement(phrase: Phrase) -> bool:
    """Adjectives come first: among nouns, the only one would give itself away."""
    return phrase.node.tag != "ADJP" and "PRD" not in phrase.node.functions


def _coordinated(one: Node, other: Node) -> bool:
    """Return whether the smallest phrase that holds both coordinates something."""
    both = next((node for node in one.above() if node.holds(other)), None)
    return both is not None and any(child.tag in CONJUNCTIONS or child.tag == ":" for child in both.children)


def _attachable(pool: Iterable[Phrase], finding: Finding) -> list[Phrase]:
    """Candidates in the order of how well the prepositional phrase could attach to them.

    First what stands before it and is nearest: a noun phrase that ends where it begins, the verb before that; last what
    follows it. Nothing inside it, and nothing that holds it.
    """
    asked = finding.nodes[-1]
    ranked: list[tuple[int, int, Phrase]] = []
    for number, candidate in enumerate(pool):
        node = candidate.node
        if node.start < asked.end and node.end > asked.start:
            continue
        before = node.end <= asked.start
        distance = asked.start - node.end if before else node.start - asked.end + _FAR
        ranked.append((distance, number, candidate))
    ranked.sort(key=lambda entry: entry[:2])
    first = [entry[2] for entry in ranked]
    # The nearest of the other kind leads: that is the reading which a careless reader falls for.
    verbal = finding.answer_verb is not None
    rival = next((candidate for candidate in first if candidate.verbal != verbal), None)
    return first if rival is None else [rival, *(candidate for candidate in first if candidate is not rival)]


_PHRASES = frozenset(("NP", "ADJP", "ADVP"))
_MODIFYING = frozenset(("PP", "ADVP", "SBAR"))


class Pools:
    """The candidates of one sentence, by kind."""

    __slots__ = ("modifiers", "nouns", "phrases", "plain_verbs", "published", "sentence", "text_verbs")

    def __init__(self, reading: Reading) -> None:
        nodes = reading.sentence.tree.nodes
        verbs = reading.sentence.verbs
        self.published = reading.published
        self.sentence = reading.sentence
        cased = self.sentence.cased

        def shown(text: str) -> str:
            return text if reading.published else tidy_text(reading.sentence.within(text))

        self.phrases = [Phrase(shown(cased(n.text)), n) for n in nodes if n.tag in _PHRASES and is_plain(n)]
        self.nouns = [Phrase(shown(n.text), n) for n in nodes if n.tag == "NP" and n.text]
        self.plain_verbs = [Phrase(shown(verb.plain), verb.last, True) for verb in verbs]
        self.text_verbs = [Phrase(shown(verb.text), verb.last, True) for verb in verbs]
        found = [m for host in reading.noun_hosts for m in host.modifiers]
        found += [m for modifiers in reading.verb_modifiers.values() for m in modifiers]
        if reading.published:
            found = [m for m in found if m.text and m.node.tag != "RB"]
        else:
            found = [m for m in found if m.text and m.category and is_phrase(m)]
        self.modifiers = [Phrase(shown(m.text), m.node) for m in found]
        if not reading.published:
            # Any phrase that could modify something: a sentence seldom holds three modifiers of other phrases.
            known = {phrase.node for phrase in self.modifiers}
            more = (n for n in nodes if n.tag in _MODIFYING and n.text.count(" ") and n not in known)
            self.modifiers += [Phrase(shown(n.text), n) for n in more if n.parent is None or n.parent.tag != "PP"]


def wrong_answers(pools: Pools, finding: Finding, dice: Dice, others: Iterable[str] = ()) -> list[str]:
    """Up to three wrong answers for a question; `others` are right answers to it beside the finding's own."""
    point = finding.knowledge_point
    if point == "CO":
        taken = (finding.slot, finding.answer, *finding.also, *others)
        return wrong_partners(pools, finding.slot_kind, taken, finding.nodes[1], finding.related, dice, finding.answer)
    if point in _ARGUMENTS:
        pool, filler = (
            [phrase for phrase in pools.phrases if not phrase.node.meets(finding.answer_node)],
            "pronouns",
        )
    elif point == "MVP":
        pool, filler = [verb._replace(text=pools.sentence.cased(verb.text)) for verb in pools.plain_verbs], "verbs"
    elif point == "PPA":
        pool, filler = [*pools.plain_verbs, *pools.nouns], "pronouns"
    else:
        pool, filler = pools.modifiers, "modifiers"
    if not pools.published:
        return choose(dice.shuffled(pool), finding, others, pools.sentence)
    gold = finding.answer.lower()
    fits = _Outside(gold) if point == "PPA" else None
    return _draw(dice.shuffled(pool), [gold, *(other.lower() for other in others)], filler, fits)


def wrong_partners(
    pools: Pools,
    slot_kind: str,
    taken: Iterable[str],
    slot: Node,
    conjuncts: Iterable[Node],
    dice: Dice,
    answer: str = "",
) -> list[str]:
    """Up to three phrases of the slot's kind that it is not coordinated with. `taken`: the slot and its conjuncts.

    `answer` is the right one where that is an option beside them.
    """
    verbal = slot_kind == "verb_phrase"
    pool = pools.text_verbs if verbal else pools.nouns
    if not pools.published:
        return partners(dice.shuffled(pool), list(taken), slot, tuple(conjuncts))
    # As published, conjuncts are compared in lower case with phrases as they stand: capitalised ones come through.
    lowered = set(taken)
    candidates = [phrase for phrase in pool if phrase.text not in lowered and not (verbal and phrase.text in BE)]
    return _draw(dice.shuffled(candidates), [answer], "verbs" if verbal else "pronouns", None)


def wrong_partner(pools: Pools, slot: Unpaired, dice: Dice) -> str | None:
    """Return one phrase that a slot is not coordinated with; None where the sentence has none."""
    taken = (slot.slot, *slot.conjuncts)
    found = wrong_partners(pools, slot.slot_kind, taken, slot.nodes[1], slot.conjunct_nodes, dice)
    return found[0] if found else None


def _draw(pool: list[Phrase], taken: list[str], filler: str, fits: _Outside | None) -> list[str]:
    """Return the first three that are new, then from the list of fillers, as published."""
    seen = set(taken)
    found: list[str] = []
    for text in (*(phrase.text for phrase in pool), *wordings().fillers[filler]):
        if len(found) == WANTED:
            break
        lowered = text.lower()
        if lowered not in seen and (fits is None or fits(lowered)):
            seen.add(lowered)
            found.append(text)
    return found


class _Outside(NamedTuple):
    """Whether a text is no part of the gold answer."""

    gold: str

    def __call__(self, text: str) -> bool:
        return text not in self.gold
