"""From what was found in a sentence to questions: true or false, multiple choice, fill in the blank.

Specification, section 3. Every choice is drawn from the question's own name, so neither order nor processes matter.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from viva.benchmarks.syneval.facts import Format, Item
from viva.build.treebank.distractors import WANTED, Dice, Pools, wrong_answers, wrong_partner
from viva.build.treebank.findings import Existence, Finding, Reading, Shown, Unpaired
from viva.build.treebank.wordings import Wording, Wordings

LETTERS = "ABCD"
_NONE_IN = 25
"""As published, one multiple-choice question in 25 ends in "none of the above"."""
_PLAIN_STATEMENTS = frozenset(("ADJ", "ADV"))
"""Knowledge points whose statements are never negated."""


class Asker:
    """Makes the questions of one sentence. `right` maps a slot to all its right answers."""

    def __init__(self, reading: Reading, file: str, tree: int, words: Wordings) -> None:
        self._published = reading.published
        self._sentence = reading.sentence.tree.sentence
        self._file, self._tree = file, tree
        self._place = f"{file}-{tree}-"
        self._pools = Pools(reading)
        self._words = words
        self._numbers: dict[str, int] = defaultdict(int)
        self._stated: set[tuple[tuple[str, str], str]] = set()
        self._right: dict[tuple[str, str], list[str]] = defaultdict(list)

    def learn(self, finding: Finding) -> None:
        """Remember a right answer before any question is made: it is not to be offered as a wrong one elsewhere."""
        self._right[finding.knowledge_point, finding.slot].append(finding.answer)

    def ask(self, finding: Finding) -> Iterator[Item]:
        """Yield all questions about a finding."""
        point = finding.knowledge_point
        nodes = tuple(node.path for node in finding.nodes)
        dice = Dice(f"{point} {self._file} {self._tree} {' '.join(nodes)} {finding.slot}")
        others = [text for text in self._right[point, finding.slot] if text != finding.answer]
        wrong = wrong_answers(self._pools, finding, dice, others)
        role = self._words.roles.get(finding.slot_kind, "") if point == "MVP" else ""
        if finding.blank:
            yield self._item(finding, "FITB", "blank", dice, nodes, finding.answer, role=role)
        if len(wrong) == WANTED and finding.choice:
            options, letter = self._options(finding.answer, wrong, dice)
            yield self._item(finding, "MC", "choice", dice, nodes, letter, options=options, role=role)
        if point == "MVP" or not finding.statements:
            return
        for answer, truth in self._statements(finding, wrong):
            yield self._item(finding, "TF", "is", dice, nodes, _truth(truth), stated=answer)
            if point not in _PLAIN_STATEMENTS:
                yield self._item(finding, "TF", "is_not", dice, nodes, _truth(not truth), stated=answer)

    def _statements(self, finding: Finding, wrong: list[str]) -> list[tuple[str, bool]]:
        """Return what is stated of a slot, and whether it is true: the answer, and a wrong phrase.

        A conjunct's wrong partner is a statement of its own (`pair`), as a verb phrase may have no right one.
        """
        right = (finding.answer, True)
        if finding.knowledge_point == "CO":
            return [right]
        if self._published:
            return [right, (wrong[0], False)] if wrong else [right]
        # By default nothing is stated twice (two modifiers of one phrase may have the same wrong one), and as much is
        # true as is false.
        about = (finding.knowledge_point, finding.slot)
        new = next((text for text in wrong if (about, text) not in self._stated), None)
        if new is None:
            return [] if finding.knowledge_point in _PLAIN_STATEMENTS else [right]
        self._stated.add((about, new))
        return [right, (new, False)]

    def pair(self, slot: Unpaired) -> Iterator[Item]:
        """Yield two statements that pair a slot with a phrase that it is not coordinated with."""
        nodes = tuple(node.path for node in slot.nodes)
        dice = Dice(f"CO-unpaired {self._file} {self._tree} {' '.join(nodes)} {slot.slot}")
        partner = wrong_partner(self._pools, slot, dice)
        if partner is not None:
            yield self._item(slot, "TF", "is", dice, nodes, "false", stated=partner)
            yield self._item(slot, "TF", "is_not", dice, nodes, "true", stated=partner)

    def exist(self, found: Existence) -> Iterator[Item]:
        """Yield two statements on whether a slot has a modifier."""
        nodes = tuple(node.path for node in found.nodes)
        dice = Dice(f"{found.knowledge_point}-exists {self._file} {self._tree} {' '.join(nodes)}")
        yield self._item(found, "TF", "exists", dice, nodes, _truth(found.exists))
        yield self._item(found, "TF", "exists_not", dice, nodes, _truth(not found.exists))

    def _options(self, gold: str, wrong: list[str], dice: Dice) -> tuple[tuple[str, ...], str]:
        options = dice.shuffled([gold, *wrong])
        letter = LETTERS[options.index(gold)]
        if self._published and dice.below(_NONE_IN) == 0:
            options[-1] = self._words.none_of_the_above
        return tuple(options), letter

    def _item(
        self,
        found: Shown,
        form: Format,
        use: str,
        dice: Dice,
        nodes: tuple[str, ...],
        answer: str,
        *,
        stated: str = "",
        options: tuple[str, ...] = (),
        role: str = "",
    ) -> Item:
        point = found.knowledge_point
        choices = self._words.of(point, found.slot_kind, use)
        # Drawn even where there is one: other wordings leave the options as they are.
        wording: Wording = choices[0] if self._published else choices[dice.below(len(choices))]
        kind = f"{point}-{form}"
        self._numbers[kind] += 1
        return Item(
            id=f"{self._place}{kind}-{self._numbers[kind]}",
            knowledge_point=point,
            format=form,
            sentence=self._sentence,
            question=wording.fill(found.slot, stated, role),
            options=options,
            answer=answer,
            accepted=found.accepted if form == "FITB" and isinstance(found, Finding) else (),
            category=found.category,
            tags=found.tags,
            file=self._file,
            tree=self._tree,
            nodes=nodes,
            rule=found.rule,
            wording=wording.name,
        )


def _truth(value: bool) -> str:
    return "true" if value else "false"
