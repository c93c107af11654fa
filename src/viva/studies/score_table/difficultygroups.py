"""Questions grouped by difficulty, beside another grouping of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

from msgspec import Struct

from viva.analysis.items.itemscores import Levels, agreement, named
from viva.errors import flag
from viva.render.findings import Findings
from viva.render.table import COUNT, NAME, Column, Table, fields
from viva.visible import some

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


def _count(counts: Mapping[tuple[Levels, int], int], there: int, possible: Levels) -> int:
    return counts[possible, there]


def findings(grouping: Grouping, more: Sequence[str] = ()) -> Findings[Grouping]:
    """Return how many questions each level has, and which of them have which level in the other grouping; `rows` has
    every question: `level` is None where the rule leaves several, `possible` lists them. `more`: further notes."""
    sizes, counts = Counter(grouping.found.values()), agreement(grouping.found, grouping.given)
    there = sorted(set(grouping.given.values()))
    columns = [Column("level", named, NAME), Column("questions", sizes.__getitem__, COUNT)]
    columns += [Column(f"level {n} there", partial(_count, counts, n), COUNT) for n in there]
    if there:
        columns.append(Column("agree", lambda possible: sum(counts[possible, n] for n in possible), COUNT))
    questions = (
        Column(None, "0", key="question"),
        Column(None, lambda pair: pair[1][0] if len(pair[1]) == 1 else None, key="level"),
        Column(None, lambda pair: " ".join(map(str, pair[1])), key="possible"),
        Column(None, lambda pair: grouping.given.get(pair[0]), key="given"),
    )
    title = f"Difficulty · {grouping.table}"
    return Findings(
        found=grouping,
        shown=[
            Table(title, tuple(columns), sorted(sizes, key=lambda possible: possible or (9,))),
            Table("Examiners", fields("", "weaker", "stronger", "warm", "trials"), [grouping]),
        ],
        rows=Table(title, questions, [*grouping.found.items()]),
        notes=[*_notes(grouping), *more],
    )


def _notes(grouping: Grouping) -> list[str]:
    """Return who examined, what could not be told, and which questions disagree."""
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
        notes.append(f"{len(nobody):,} questions have no scored answer of one of the two: {some(nobody, _LISTED)}.")
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
        notes.append(f"They disagree about {some(told, _LISTED)}.")
    for where, missing in (
        ("the other grouping", [question for question in found if question not in given]),
        ("this table", [question for question in given if question not in found]),
    ):
        if missing:
            notes.append(f"{len(missing):,} questions are not in {where}: {some(missing, _LISTED)}.")
    return notes
