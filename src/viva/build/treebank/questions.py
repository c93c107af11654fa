"""Make questions from findings, with wrong answers from the same sentence.

As published, wrong answers are drawn at random from the sentence, and from a list if it has too few, whether or not
they are really wrong. By default (`choose`, `_wrong_partners`) they come from the sentence alone (specification,
section 6, quirks 6 to 9): a phrase is offered if it neither overlaps the right answer nor also answers the question, as
a trace's antecedent, another conjunct, another modifier of the same phrase or another verb of the same argument would.
For attachment, phrases that the prepositional phrase could attach to come first.

Formats are true or false, multiple choice, and fill in the blank (specification, section 3). Random choices are seeded
with the question's name, so that order and processes do not matter.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import chain, takewhile
from typing import NamedTuple, TypeVar

from viva.benchmarks.syneval.facts import Format, Item
from viva.build.treebank.categories import CONJUNCTIONS, is_possessive
from viva.build.treebank.findings import Finding, Reading
from viva.build.treebank.modifiers import could_modify_noun, could_modify_verb, is_of, is_phrase
from viva.build.treebank.phrases import bare, tidy_text
from viva.build.treebank.points.modifiers import is_plain
from viva.build.treebank.sentence import Sentence
from viva.build.treebank.tree import TAGS, Node, tags_of
from viva.build.treebank.verbs import BE
from viva.build.treebank.wordings import Wordings, wordings

T = TypeVar("T")
_MASK = (1 << 64) - 1


class Dice:
    """A small random generator (PCG's multiplier and increment) seeded with a name. Creating a million takes seconds,
    unlike the standard library's with a state of 2.5 kB. Not for cryptography."""

    __slots__ = ("_state",)

    def __init__(self, name: str) -> None:
        self._state = int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")

    def below(self, limit: int) -> int:
        """Return a whole number from 0 to `limit` - 1."""
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
    """A candidate: its text, its node, and whether it is a verb phrase."""

    text: str
    node: Node
    verbal: bool = False


def choose(pool: list[Phrase], finding: Finding, others: Iterable[str], sentence: Sentence) -> list[str]:
    """Choose up to three of the randomly ordered candidates; `others` are further right answers."""
    taken = [bare(text) for text in (finding.answer, *finding.accepted, *finding.also, *others, finding.slot)]
    pool = [p for p in pool if p.text and not _overlaps(p.text, taken) and not _could_be(p, finding, sentence)]
    if finding.knowledge_point == "PPA":
        pool = _attachable(pool, finding)
    elif finding.knowledge_point == "SC":
        pool.sort(key=_is_no_complement)
    elif finding.knowledge_point in _ARGUMENTS:
        pool.sort(key=_is_easy)
    return _apart([phrase.text for phrase in pool], kept=int(finding.knowledge_point == "PPA"))


def _overlaps(text: str, taken: Iterable[str]) -> bool:
    """Return whether a text overlaps any of `taken`, which are `bare`; compare `phrases.overlap`."""
    words = bare(text)
    for other in taken:  # noqa: SIM110 - called a hundred times per sentence, and twice as fast
        if words in other or other in words:
            return True
    return False


def _apart(texts: list[str], kept: int = 0) -> list[str]:
    """Return the first three texts that do not contain each other; if there are too few, the shortest three.

    The first `kept` keep their places.
    """
    apart: dict[str, str] = {}
    for order in (texts, [*texts[:kept], *sorted(texts[kept:], key=len)]):
        apart = {}
        for text in order:
            if not _overlaps(text, apart):
                apart[bare(text)] = text
            if len(apart) == WANTED:
                return list(apart.values())
    return list(apart.values())


def _could_be(phrase: Phrase, finding: Finding, sentence: Sentence) -> bool:
    """Return whether a candidate could also be a right answer."""
    node, point = phrase.node, finding.knowledge_point
    if any(node.meets(other) for other in finding.related):
        return True
    if point == "PPA":
        return _could_host(phrase, finding)
    if point == "ADV":
        return finding.slot_verb is not None and could_modify_verb(finding.slot_verb, node)
    if point == "ADJ":
        # A modifier of a noun phrase that begins with the slot may also modify the slot.
        head = finding.nodes[0]
        begins = node.parent.start == head.start
        return begins or could_modify_noun(sentence, head, node)
    return point in _ARGUMENTS and _could_name(phrase, finding)


def _could_host(phrase: Phrase, finding: Finding) -> bool:
    """Return whether a candidate could also host the attachment: a form of be, a verb that governs the answer's verb, a
    noun phrase within one that contains the prepositional phrase.
    """
    node, asked = phrase.node, finding.nodes[-1]
    if phrase.verbal:
        return phrase.text.lower() in BE or _governs(node, finding)
    return not is_of(asked) and node.parent.tag == "NP" and node.parent.holds(asked)


def _could_name(phrase: Phrase, finding: Finding) -> bool:
    """Return whether a candidate may refer to the answer: a pronoun to a noun, or the reverse."""
    pronouns = wordings().fillers["pronouns"]
    named = phrase.text.lower() in pronouns
    if finding.answer.lower() in pronouns:
        return not named and phrase.node.end <= finding.answer_node.start
    return named


def _governs(verb: Node, finding: Finding) -> bool:
    """Return whether a verb governs the answer's verb without a subordinate clause in between: "plan to meet"."""
    below = finding.answer_verb
    if below is None or not verb.parent.holds(below.last):
        return False
    between = takewhile(lambda node: node is not verb.parent, below.top.above())
    return "SBAR" not in tags_of(between)


def _is_easy(phrase: Phrase) -> bool:
    """Return whether a candidate is too easy as a subject or object: no noun phrase, or a possessive. Sorted last."""
    return phrase.node.tag != "NP" or is_possessive(phrase.node)


def _is_no_complement(phrase: Phrase) -> bool:
    """Return whether a candidate is no complement. Adjectives are sorted first, since a lone one would stand out."""
    return phrase.node.tag != "ADJP" and "PRD" not in phrase.node.functions


def _coordinated(left: Node, other: Node) -> bool:
    """Return whether the smallest phrase that contains both is a coordination."""
    both = next((node for node in left.above() if node.holds(other)), None)
    return both is not None and bool(both.tags & {*CONJUNCTIONS, ":"})


def _attachable(pool: Iterable[Phrase], finding: Finding) -> list[Phrase]:
    """Return the candidates, best attachments for the prepositional phrase first.

    First those before it, nearest first: a noun phrase that ends where it begins, then the verb; last those after it.
    Phrases inside or around it are left out.
    """
    asked = finding.nodes[-1]

    def distance(candidate: Phrase) -> int:
        node = candidate.node
        return asked.start - node.end if node.end <= asked.start else node.start - asked.end + _FAR

    ranked = sorted((candidate for candidate in pool if not candidate.node.meets(asked)), key=distance)
    # The nearest of the other kind comes first, as the likeliest misreading.
    verbal = finding.answer_verb is not None
    rival = next((candidate for candidate in ranked if candidate.verbal != verbal), None)
    return sorted(ranked, key=lambda candidate: candidate is not rival)


class Pools:
    """The candidates of one sentence, by kind."""

    def __init__(self, reading: Reading) -> None:
        nodes, verbs, cased = reading.tree.nodes, reading.verbs, reading.cased
        self.published = reading.published
        self.sentence: Sentence = reading

        def shown(text: str) -> str:
            return text if reading.published else tidy_text(reading.within(text))

        self.phrases = [Phrase(shown(cased(n.text)), n) for n in nodes if n.tag in TAGS["phrases"] and is_plain(n)]
        self.nouns = [Phrase(shown(n.text), n) for n in nodes if n.tag == "NP" and n.text]
        self.plain_verbs = [Phrase(shown(verb.plain), verb.last, True) for verb in verbs]
        self.text_verbs = [Phrase(shown(verb.text), verb.last, True) for verb in verbs]
        groups = (*reading.noun_modifiers.values(), *reading.verb_modifiers.values())
        self.modifiers = [
            Phrase(shown(m.text), m.node)
            for m in chain.from_iterable(groups)
            if m.text and (m.node.tag != "RB" if reading.published else m.category and is_phrase(m))
        ]
        if not reading.published:
            # Also other phrases that could modify something: few sentences have three modifiers of other phrases.
            known = {phrase.node for phrase in self.modifiers}
            more = (n for n in nodes if n.tag in TAGS["loose_modifiers"] and n.text.count(" ") and n not in known)
            self.modifiers += [Phrase(shown(n.text), n) for n in more if n.parent.tag != "PP"]


def wrong_answers(pools: Pools, finding: Finding, dice: Dice, others: Iterable[str] = ()) -> list[str]:
    """Return up to three wrong answers for a question; `others` are further right answers."""
    point = finding.knowledge_point
    if point == "CO":
        return _wrong_partners(pools, finding, dice, others)
    if point in _ARGUMENTS:
        pool, filler = [each for each in pools.phrases if not each.node.meets(finding.answer_node)], "pronouns"
    elif point == "MVP":
        pool, filler = [verb._replace(text=pools.sentence.cased(verb.text)) for verb in pools.plain_verbs], "verbs"
    elif point == "PPA":
        pool, filler = [*pools.plain_verbs, *pools.nouns], "pronouns"
    else:
        pool, filler = pools.modifiers, "modifiers"
    if not pools.published:
        return choose(dice.shuffled(pool), finding, others, pools.sentence)
    right = [text.lower() for text in (finding.answer, *others)]
    return _draw(dice.shuffled(pool), right, filler, around=right[0] if point == "PPA" else "")


def _wrong_partners(pools: Pools, finding: Finding, dice: Dice, others: Iterable[str]) -> list[str]:
    """Return up to three phrases of the slot's kind that it is not coordinated with, nor are their clauses."""
    taken = {finding.slot, *finding.also, *others, *filter(None, [finding.answer])}
    verbal = finding.slot_kind == "verb_phrase"
    pool = pools.text_verbs if verbal else pools.nouns
    if not pools.published:
        right = [bare(text) for text in taken]
        return _apart(
            [
                each.text
                for each in dice.shuffled(pool)
                if each.text
                and not _overlaps(each.text, right)
                and not (verbal and (each.text in BE or _coordinated(each.node, finding.nodes[1])))
                and not any(each.node.meets(node) for node in finding.related)
            ]
        )
    # As published, lower-cased conjuncts are compared with original phrases, so that capitalised ones slip through.
    candidates = [each for each in pool if each.text not in taken and not (verbal and each.text in BE)]
    return _draw(dice.shuffled(candidates), [finding.answer], "verbs" if verbal else "pronouns")


def _draw(pool: list[Phrase], taken: list[str], filler: str, around: str = "") -> list[str]:
    """Return the first three new texts that are not in `around`, then fillers, as published."""
    texts: dict[str, str] = {}
    for text in (*(phrase.text for phrase in pool), *wordings().fillers[filler]):
        lowered = text.lower()
        if lowered not in taken and not (around and lowered in around):
            texts.setdefault(lowered, text)
            if len(texts) == WANTED:
                break
    return list(texts.values())


LETTERS = "ABCD"
_NONE_IN = 25
"""As published, one multiple-choice question in 25 ends in "none of the above"."""
_PLAIN_STATEMENTS = frozenset(("ADJ", "ADV"))
"""Knowledge points whose statements are never negated."""


class Asker:
    """Makes the questions of one sentence."""

    def __init__(self, reading: Reading, file: str, tree: int, words: Wordings) -> None:
        self._published = reading.published
        self._sentence = reading.tree.sentence
        self._file, self._tree = file, tree
        self._pools = Pools(reading)
        self._words = words
        self._numbers: dict[str, int] = defaultdict(int)
        self._stated: set[tuple[tuple[str, str], str]] = set()
        self._right: dict[tuple[str, str], list[str]] = defaultdict(list)

    def learn(self, finding: Finding) -> None:
        """Remember a right answer, so that it is not offered as a wrong one; call before `ask`."""
        if finding.answer:
            self._right[finding.knowledge_point, finding.slot].append(finding.answer)

    def ask(self, finding: Finding) -> Iterator[Item]:
        """Yield all questions about a finding."""
        point, wrong = finding.knowledge_point, list[str]()
        if finding.exists is not None:
            dice = self._dice(finding, f"{point}-exists")
        elif finding.answer:
            dice = self._dice(finding, point, finding.slot)
            others = [text for text in self._right[point, finding.slot] if text != finding.answer]
            wrong = wrong_answers(self._pools, finding, dice, others)
        else:
            dice = self._dice(finding, f"{point}-unpaired", finding.slot)
            wrong = wrong_answers(self._pools, finding, dice)
        if finding.blank:
            yield self._item(finding, "FITB", "blank", dice, finding.answer)
        if finding.answer and finding.choice and len(wrong) == WANTED:
            options, letter = self._options(finding.answer, wrong, dice)
            yield self._item(finding, "MC", "choice", dice, letter, options=options)
        if point == "MVP" or not finding.statements:
            return
        is_and_not = ("exists", "exists_not") if finding.exists is not None else ("is", "is_not")
        uses = is_and_not[:1] if finding.answer and point in _PLAIN_STATEMENTS else is_and_not
        for stated, truth in self._statements(finding, wrong):
            for use, right in zip(uses, (truth, not truth), strict=False):
                yield self._item(finding, "TF", use, dice, "true" if right else "false", stated=stated)

    def _statements(self, finding: Finding, wrong: list[str]) -> list[tuple[str, bool]]:
        """Return statements about a slot with their truth: the answer, and a wrong phrase."""
        if finding.exists is not None:
            return [("", finding.exists)]
        right = [(finding.answer, True)] if finding.answer else []
        if (
            finding.knowledge_point == "CO"
        ):  # wrong partners have their own finding, since a verb phrase may have no partner
            return right or [(text, False) for text in wrong[:1]]
        if self._published:
            return right + [(text, False) for text in wrong[:1]]
        # By default no statement is repeated (two modifiers may share a wrong one), and as many are true as false.
        about = (finding.knowledge_point, finding.slot)
        new = next((text for text in wrong if (about, text) not in self._stated), None)
        if new is None:
            return [] if finding.knowledge_point in _PLAIN_STATEMENTS else right
        self._stated.add((about, new))
        return [*right, (new, False)]

    def _dice(self, finding: Finding, name: str, *more: str) -> Dice:
        return Dice(" ".join((name, self._file, str(self._tree), *(node.path for node in finding.nodes), *more)))

    def _options(self, gold: str, wrong: list[str], dice: Dice) -> tuple[tuple[str, ...], str]:
        options = dice.shuffled([gold, *wrong])
        letter = LETTERS[options.index(gold)]
        if self._published and dice.below(_NONE_IN) == 0:
            options[-1] = self._words.none_of_the_above
        return tuple(options), letter

    def _item(
        self,
        finding: Finding,
        form: Format,
        use: str,
        dice: Dice,
        answer: str,
        *,
        stated: str = "",
        options: tuple[str, ...] = (),
    ) -> Item:
        point = finding.knowledge_point
        choices = self._words.of(point, finding.slot_kind, use)
        # Drawn even if there is only one, so that other wordings do not change the options.
        wording = choices[0 if self._published else dice.below(len(choices))]
        kind = f"{point}-{form}"
        self._numbers[kind] += 1
        return Item(
            id=f"{self._file}-{self._tree}-{kind}-{self._numbers[kind]}",
            knowledge_point=point,
            format=form,
            sentence=self._sentence,
            question=wording.fill(finding.slot, stated, self._words.roles.get(finding.slot_kind, "")),
            options=options,
            answer=answer,
            accepted=finding.accepted if form == "FITB" else (),
            category=finding.category,
            tags=finding.tags,
            file=self._file,
            tree=self._tree,
            nodes=tuple(node.path for node in finding.nodes),
            rule=finding.rule,
            wording=wording.name,
        )
