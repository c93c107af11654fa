"""One tree, as published and by default: which questions each mode makes of what, and why one of them is gone."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from viva.benchmarks.syneval.facts import Item
from viva.build.treebank import generate as generation
from viva.build.treebank.arguments import OMITTED, has_conjunction
from viva.build.treebank.findings import Finding, Reading
from viva.build.treebank.generate import POINTS
from viva.build.treebank.questions import Asker, wordings
from viva.build.treebank.tree import Node, TreeError, parse
from viva.build.treebank.treebank import RawTree, Reader, survey
from viva.build.treebank.verbs import VerbSequence

ARGUMENTS = frozenset(("GS", "SC", "DO", "IO", "MVP"))
LETTERS = "ABCD"
CLITIC = "'s, 're and other verbs that are no words"
CLITICS = frozenset(["'s", "'re", "'m", "'ve", "'d", "'ll", "s", "re", "m", "ve", "d", "ll", "wo", "ca"])
NONE = wordings().none_of_the_above
FILLERS = {text for texts in wordings().fillers.values() for text in texts}


class Key(NamedTuple):
    """What makes a finding the same one in both modes: its nodes."""

    point: str
    rule: str
    nodes: tuple[str, ...]
    answer: str
    verbs: tuple[str, ...]


@dataclass
class Side:
    """A tree in one mode."""

    reading: Reading
    raw: dict[Key, Finding] = field(default_factory=dict)
    """Before tidying."""
    findings: dict[Key, Finding] = field(default_factory=dict)
    items: dict[Key, list[Item]] = field(default_factory=dict)
    exist: list[tuple[Finding, list[Item]]] = field(default_factory=list)
    pairs: list[tuple[Finding, list[Item]]] = field(default_factory=list)
    every: list[Item] = field(default_factory=list)
    right: dict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    """(knowledge point, slot) → its right answers, in lower case."""


def pairs(treebank: Path) -> Iterator[tuple[Side, Side]]:
    """Every tree of a treebank that can be read: as published, by default."""
    generation.Asker = _Recorder
    for found in Reader(survey([treebank])).trees():
        if isinstance(found, RawTree):
            try:
                both = _side(found, published=True), _side(found, published=False)
            except TreeError:
                continue
            if not both[0].reading.tree.sentence:
                continue
            yield both


class _Recorder(Asker):
    """Notes which question is made of what. Stands in for the asker of `generate`, so that nothing is done twice."""

    last: "_Recorder | None" = None

    def __init__(self, reading: Reading, *arguments: Any) -> None:
        super().__init__(reading, *arguments)
        self.side = Side(reading)
        _Recorder.last = self

    def learn(self, finding: Finding) -> None:
        if finding.answer:
            self.side.findings[key(finding)] = finding
            self.side.right[finding.knowledge_point, finding.slot].add(finding.answer.lower())
        super().learn(finding)

    def ask(self, finding: Finding) -> Iterator[Item]:
        items = list(super().ask(finding))
        self.side.every += items
        if finding.answer:
            self.side.items.setdefault(key(finding), []).extend(items)
        else:
            (self.side.pairs if finding.exists is None else self.side.exist).append((finding, items))
        return iter(items)


def _side(raw: RawTree, *, published: bool) -> Side:
    _Recorder.last = None
    _, items = generation.generate(raw.text, raw.file, raw.tree, published=published)
    if _Recorder.last is None:  # a tree of which nothing is asked
        return Side(Reading(parse(raw.text, published), published))
    side = _Recorder.last.side
    if side.every != items:
        raise AssertionError(f"{raw.file} {raw.tree}: generate() has questions that no Asker made")
    side.raw = {key(finding): finding for find in POINTS for finding in find(side.reading)}
    return side


def key(found: Finding) -> Key:
    """The same in both modes."""
    verbs = [verb for sequence in (found.slot_verb, found.answer_verb) if sequence for verb in sequence.verbs]
    nodes = tuple(node.path for node in found.nodes)
    return Key(found.knowledge_point, found.rule, nodes, found.answer_node.path, tuple(verb.path for verb in verbs))


def verb_of(found: Finding) -> VerbSequence | None:
    """The verb phrase whose rendering the modes differ in, shown or asked for."""
    if found.knowledge_point in ("ADV", "CO"):
        return None  # shown with its `not` and without adverbs, in both
    return found.slot_verb or found.answer_verb


def empty_leaf(node: Node) -> Node:
    """The first leaf below a node: of a phrase that is empty, what it consists of."""
    while node.children:
        node = node.children[0]
    return node


def bare(side: Side, verb: VerbSequence) -> str:
    """Its verbs alone."""
    return side.reading.tree.layout.join(node.start for node in verb.verbs)


def is_negated(side: Side, found: Finding) -> bool:
    """Whether the finding is about a verb phrase with not or n't."""
    verb = verb_of(found)
    return verb is not None and verb.text != bare(side, verb)


def has_glued_adverb(side: Side, found: Finding) -> bool:
    """Whether it is about a verb phrase that is published with its adverbs."""
    verb = verb_of(found)
    return verb is not None and verb.plain != bare(side, verb)


def is_repeated(side: Side, found: Finding) -> bool:
    """Whether the verb phrase that it shows occurs again (ADV)."""
    if found.knowledge_point != "ADV" or found.slot_verb is None:
        return False
    return sum(verb.text.lower() == found.slot_verb.text.lower() for verb in side.reading.verbs) > 1


def in_opened_clause(side: Side, found: Finding) -> bool:
    """Whether it belongs to a clause that begins with But, And, Or."""
    return found.knowledge_point in ARGUMENTS and has_conjunction(found.nodes[0])


def wrong_options(item: Item) -> list[str]:
    """Of a multiple-choice question, "none of the above" left out."""
    gold = LETTERS.index(item.answer)
    return [text for number, text in enumerate(item.options) if number != gold and text != NONE]


def is_filler(item: Item, option: str) -> bool:
    """Whether an option is from the list and not in the sentence."""
    option = option.lower()
    return option in FILLERS and not occurrences(option, item.sentence)


def occurrences(phrase: str, sentence: str) -> int:
    """How often a phrase stands in a sentence, word by word."""
    return len(re.findall(rf"(?<!\w){re.escape(phrase.lower())}(?!\w)", sentence.lower()))


def within(part: str, whole: str) -> bool:
    """Whether a phrase lies within another one, word by word; marks do not count."""
    part, whole = (" ".join(re.findall(r"[\w%$'’.-]+", text.lower())) for text in (part, whole))
    return f" {part} " in f" {whole} "


def overlap(one: str, other: str) -> bool:
    """Whether one of two phrases lies within the other."""
    return within(one, other) or within(other, one)


def why_gone(old: Side, new: Side, one: Key) -> str:
    """Why a published finding is not asked by default."""
    found, raw = old.findings[one], new.raw.get(one)
    if found.answer == OMITTED:
        return "answer omitted"
    if raw is None:
        return _why_not_found(old, new, found)
    slot, answer = bare_text(raw.slot), bare_text(raw.answer)
    if overlap(slot, answer):
        return "answer and shown phrase hold one another"
    asked = {(key.point, bare_text(kept.slot), bare_text(kept.answer)) for key, kept in new.findings.items()}
    if (one.point, slot, answer) in asked:
        return "the same question twice"
    return why_not_shown(new, slot) if answer not in CLITICS else CLITIC


def why_not_shown(new: Side, slot: str) -> str:
    """Why a phrase is not shown by default."""
    if occurrences(bare_text(slot), new.reading.tree.sentence) > 1:
        return "shown phrase twice in the sentence"
    return CLITIC if bare_text(slot) in CLITICS else "otherwise"


def _why_not_found(old: Side, new: Side, found: Finding) -> str:
    point = found.knowledge_point
    verbs = {verb.verbs[-1].path: [node.path for node in verb.verbs] for verb in new.reading.verbs}
    for verb in (found.slot_verb, found.answer_verb):
        if verb is not None and verbs.get(verb.last.path) != [node.path for node in verb.verbs]:
            return "verb phrase read otherwise"
    if is_repeated(old, found):
        return "shown phrase twice in the sentence"
    if point == "CO":
        return "conjuncts that are no neighbours (CO)"
    if point == "ADV" and any(tag.endswith(":moved") for tag in found.tags):
        return "where, when, why (ADV)"
    if point == "PPA" and " " not in found.slot:
        return "a preposition alone (PPA)"
    if point in ("ADJ", "ADV", "PPA"):
        return "attachment that readers dispute (ADJ, ADV, PPA)"
    if found.rule == "subject":
        return "subjects of participles (GS, MVP)"
    clause = found.nodes[0]
    if "subject_complement" in found.rule and any(
        child.children[0].tag == "EX" for child in clause.children if child.children
    ):
        return "what there is (SC, MVP)"
    if found.rule == "subject_complement":
        return 'complements of place and time, adverbs, "is to" (SC, MVP)'
    return "objects that are none or disputed" if point in ("DO", "IO", "MVP") else "otherwise"


def _phrases(node: Node) -> list[Node]:
    return [child for child in node.children if child.children]


def bare_text(text: str) -> str:
    """In lower case, without commas and quotation marks at its ends."""
    return text.lower().strip(' ,"')


def why_new(old: Side, new: Side, one: Key) -> str:
    """Why a finding is asked by default and was not as published."""
    found = new.findings[one]
    if in_opened_clause(new, found):
        return "clauses with But, And, Or"
    verb = found.slot_verb or found.answer_verb
    if verb is not None and found.knowledge_point != "CO":
        return "verb phrases that their not tells apart"
    return "otherwise"


def repeated(items: Iterable[Item]) -> tuple[int, int]:
    """Questions that another one of the sentence repeats word for word, with the same answer: all, and all but one."""
    asked: Counter[tuple[str, ...]] = Counter()
    for item in items:
        answer = item.options[LETTERS.index(item.answer)] if item.options else item.answer
        asked[item.knowledge_point, item.format, item.question, answer] += 1
    several = [times for times in asked.values() if times > 1]
    return sum(several), sum(several) - len(several)
