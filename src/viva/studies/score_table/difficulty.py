"""Questions grouped by difficulty, beside another grouping of them."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import Struct

from viva.analysis.difficulty import Levels, agreement, named
from viva.errors import flag
from viva.render.printing import Records, StudyResult
from viva.render.table import Grid

_LISTED = 20


class Grouping(Struct, frozen=True, kw_only=True):
    """The rule's outcome. `warm` is "" where there was no run at temperature 1.0."""

    table: str
    weaker: str
    stronger: str
    warm: str
    trials: int
    found: dict[str, Levels]
    """Question → the levels it may have; none where an examiner has no scored answer."""
    given: dict[str, int] = {}
    """Question → its level in the grouping to compare with."""
    warm_option: str = f"{flag('gpt4_warm', 'MODEL')}"
    """Which option names the run at temperature 1.0."""


def difficulty_grids(grouping: Grouping) -> list[Grid]:
    """How many questions each level has, and which of them have which level in the other grouping."""
    groups: dict[Levels, list[str]] = {}
    for question, possible in grouping.found.items():
        groups.setdefault(possible, []).append(question)
    order = sorted(groups, key=lambda possible: possible or (9,))
    header = ["level", "questions"]
    columns: list[int] = []
    if grouping.given:
        columns = sorted(set(grouping.given.values()))
        header += [*(f"level {level} there" for level in columns), "agree"]
    counts = agreement(grouping.found, grouping.given)
    rows: list[tuple[str, ...]] = []
    for possible in order:
        row = [named(possible), f"{len(groups[possible]):,}"]
        if columns:
            agree = sum(counts[possible, level] for level in possible)
            row += [*(f"{counts[possible, level]:,}" for level in columns), f"{agree:,}"]
        rows.append(tuple(row))
    return [Grid(f"Difficulty · {grouping.table}", tuple(header), tuple(rows))]


def difficulty_notes(grouping: Grouping) -> list[str]:
    """Who examined, what could not be told, and which questions disagree."""
    found, given = grouping.found, grouping.given
    notes = [
        f"Level 1: {grouping.weaker} has a mean of at least 50. Level 2: {grouping.stronger} has. Level 3: "
        + (f"{grouping.warm} reaches 50 in its first ten answers. " if grouping.warm else "not told. ")
        + f"Level 4: {grouping.stronger} scores above 0 at least once. Level 5: not in {grouping.trials} answers."
    ]
    open_ones = sum(1 for possible in found.values() if len(possible) > 1)
    if not grouping.warm and any(3 in possible for possible in found.values()):
        notes.append(
            f"Level 3 takes ten answers at temperature 1.0 ({grouping.warm_option}): without them any question beyond "
            "level 2 may be of level 3."
        )
    if any({4, 5} <= set(possible) for possible in found.values()):
        notes.append(
            f"Level 5 takes {grouping.trials} answers without a point; with fewer it cannot be told from level 4 "
            f"({flag('trials', 'N')} makes do with N)."
        )
    nobody = [question for question, possible in found.items() if not possible]
    if nobody:
        notes.append(f"{len(nobody):,} questions have no scored answer of one of the two: {_some(nobody)}.")
    notes.append(
        f"{sum(1 for possible in found.values() if len(possible) == 1):,} questions decided, {open_ones:,} open."
    )
    if given:
        notes.extend(_comparison(found, given))
    return notes


def _comparison(found: dict[str, Levels], given: dict[str, int]) -> list[str]:
    both = [question for question in found if question in given]
    against = [question for question in both if found[question] and given[question] not in found[question]]
    notes = [f"{len(both) - len(against):,} of {len(both):,} questions agree with the other grouping, or may."]
    if against:
        told = [f"{question} ({named(found[question])}, there {given[question]})" for question in against]
        notes.append(f"They disagree about {_some(told)}.")
    for where, missing in (
        ("the other grouping", [question for question in found if question not in given]),
        ("this table", [question for question in given if question not in found]),
    ):
        if missing:
            notes.append(f"{len(missing):,} questions are not in {where}: {_some(missing)}.")
    return notes


def _some(words: list[str]) -> str:
    return ", ".join(words[:_LISTED]) + (f" and {len(words) - _LISTED:,} more" if len(words) > _LISTED else "")


@dataclass(frozen=True, repr=False)
class DifficultyLevels(StudyResult):
    """Every question's level."""

    grouping: Grouping
    more: tuple[str, ...] = ()
    """Notes of where the scores come from."""

    def tables(self) -> list[Grid]:
        """How many questions each level has."""
        return difficulty_grids(self.grouping)

    def closing(self) -> list[str]:
        """Who examined, and what could not be told."""
        return [*difficulty_notes(self.grouping), *self.more]

    def records(self) -> Records:
        """A row a question: `level` is empty where the rule leaves several, `possible` lists them."""
        return ("question", "level", "possible", "given"), [
            (question, levels[0] if len(levels) == 1 else None, " ".join(map(str, levels)), self._given(question))
            for question, levels in self.grouping.found.items()
        ]

    def _given(self, question: str) -> int | None:
        return self.grouping.given.get(question)

    def data(self) -> object:
        """The grouping."""
        return self.grouping
