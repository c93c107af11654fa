"""The wordings of wordings.toml, cut at their blanks once; a file of the same keys may lie over it.

From what was found in a sentence to questions: true or false, multiple choice, fill in the blank (specification,
section 3). Every choice is drawn from the question's own name, so neither order nor processes matter.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from viva.benchmarks.syneval.facts import Format, Item, KnowledgePoint
from viva.build.treebank.distractors import WANTED, Dice, Pools, wrong_answers, wrong_partner
from viva.build.treebank.findings import Existence, Finding, Reading, Shown, Unpaired
from viva.errors import DataError, option
from viva.files import shipped_table
from viva.prompting import read_templates

_KEPT = frozenset(("none_of_the_above", "fillers", "roles"))
_NEEDED = ("{slot}", "{answer}")
"""What a wording must hold if the bundled one does: without it, nothing is asked."""
_FIELD = re.compile(r"\{(slot|answer|role)\}")


class Wording(NamedTuple):
    """One wording, as a template of the % operator: the quickest that Python has, with the fields in its order."""

    template: str
    name: str
    fields: tuple[str, ...]

    def fill(self, slot: str, answer: str, role: str) -> str:
        """Return the wording with its fields filled in; what stands in a field is never read as one."""
        match self.fields:
            case ("slot",):
                return self.template % slot
            case ("slot", "answer"):
                return self.template % (slot, answer)
            case _:
                values = {"slot": slot, "answer": answer, "role": role}
                return self.template % tuple(values[field] for field in self.fields)


class Wordings:
    """All wordings, by knowledge point (CO: and kind of phrase) and by what they do."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.none_of_the_above: str = data["none_of_the_above"]
        self.fillers: dict[str, list[str]] = data["fillers"]
        self.roles: dict[str, str] = data["roles"]
        self._lists: dict[tuple[str, str], list[Wording]] = {}
        for point, table in data.items():
            if not isinstance(table, dict) or point in ("fillers", "roles"):
                continue
            for name, group in table.items():
                if isinstance(group, dict):
                    for use, texts in group.items():  # CO: of a kind of phrase; MVP: of a role
                        self._lists[f"{point}.{name}", use] = _cut(f"{point}.{name}.{use}", texts)
                else:
                    self._lists[point, name] = _cut(f"{point}.{name}", group)

    def of(self, point: KnowledgePoint, slot_kind: str, use: str) -> list[Wording]:
        """Return the wordings for one use: is, is_not, exists, exists_not, choice, blank."""
        return self._lists.get((f"{point}.{slot_kind}", use)) or self._lists[point, use]


def _cut(name: str, texts: list[str]) -> list[Wording]:
    return [
        Wording(_FIELD.sub("%s", text.replace("%", "%%")), f"{name}.{number}", tuple(_FIELD.findall(text)))
        for number, text in enumerate(texts)
    ]


@cache
def wordings() -> Wordings:
    """Return the bundled wordings."""
    return Wordings(_bundled())


def other_wordings(over: Mapping[str, Any]) -> Wordings:
    """Return the bundled wordings with those of a file (`read_wordings`) in their place."""
    data = {point: dict(table) if isinstance(table, dict) else table for point, table in _bundled().items()}
    for point, table in over.items():
        for use, texts in table.items():
            data[point][use] = {**data[point].get(use, {}), **texts} if isinstance(texts, dict) else texts
    return Wordings(data)


def read_wordings(name: str) -> dict[str, Any]:
    """Return the wordings of a file, MVP's for every role or for each. Raises DataError for what cannot be used."""
    try:
        over = read_templates(Path(name))
    except DataError as problem:
        raise DataError(f"{option('wordings')}: {problem}") from None
    bundled = _bundled()
    bundled["MVP"] = bundled["MVP"] | dict.fromkeys(bundled["roles"], bundled["MVP"])
    for point, table in over.items():
        if point in _KEPT or point not in bundled:
            known = ", ".join(key for key in bundled if key not in _KEPT)
            raise DataError(f"{name}: there are no wordings {point!r}; there are: {known}")
        _check(f"{name}: {point}", table, bundled[point])
    return over


def _check(where: str, given: Any, bundled: Any) -> None:
    """Raise DataError where wordings cannot take the place of bundled ones."""
    if not isinstance(given, dict):
        raise DataError(f"{where} is no table")
    for use, texts in given.items():
        if use not in bundled:
            raise DataError(f"{where} has no use {use!r}; it has: {', '.join(bundled)}")
        if isinstance(bundled[use], dict):
            _check(f"{where}.{use}", texts, bundled[use])
            continue
        if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
            raise DataError(f"{where}.{use} is no list of texts")
        needed = [part for part in _NEEDED if part in bundled[use][0]]
        for text in texts:
            missing = [part for part in needed if part not in text]
            if missing:
                raise DataError(f"{where}.{use}: {text!r} lacks {', '.join(missing)}")


def _bundled() -> dict[str, Any]:
    return shipped_table(__file__, "wordings.toml", dict[str, Any])


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
