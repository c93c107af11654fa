"""Which questions of the pool are in the set: of every language the first by rank, up to its quota.

A rejected question gives its place to the next one: the reserve moves up. Pure, and from the states alone, so that a
question that is mended and approved after all has its place again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from viva.build.stackexchange.decisions import STATUSES, Status
from viva.build.stackexchange.pool import PoolQuestion


class Candidate(Struct, frozen=True):
    """A question of the pool and its state. `barred` says why it cannot be in the set whatever its state is."""

    question: PoolQuestion
    status: Status
    barred: str = ""


class Cell(Struct, frozen=True, kw_only=True):
    """A language's places: `counts` of the questions that hold them, by state."""

    language: str
    area: str
    quota: int
    counts: dict[Status, int]
    rejected: int
    """Questions that gave up their place."""
    barred: int
    moved_up: tuple[int, ...]
    """Questions of the reserve that have a place now."""
    left: int
    """Questions of the reserve that could still move up."""

    @property
    def held(self) -> int:
        """Places that a question holds."""
        return sum(self.counts.values())

    @property
    def missing(self) -> int:
        """Approved questions that are wanted still."""
        return self.quota - self.counts["approved"]


class Places(Struct, frozen=True):
    """Every language's places, and which questions hold them (ids, in the pool's order)."""

    cells: tuple[Cell, ...]
    holders: tuple[int, ...]


def places(
    candidates: Sequence[Candidate], quotas: Mapping[str, int] | None = None, areas: Mapping[str, str] | None = None
) -> Places:
    """Deal the places out. Without `quotas` (language → places), a quota is what is not in reserve in the pool.

    `areas` are those of languages that the pool has no question of.
    """
    groups: dict[str, list[Candidate]] = {}
    for one in candidates:
        groups.setdefault(one.question.language, []).append(one)
    known = {**(areas or {}), **{language: group[0].question.area for language, group in groups.items()}}
    wanted = {language: sum(not one.question.reserve for one in group) for language, group in groups.items()}
    wanted |= {language: quota for language, quota in (quotas or {}).items() if quota or language in wanted}
    cells: list[Cell] = []
    held: set[int] = set()
    for language, quota in wanted.items():
        cell, holders = _cell(language, known.get(language, ""), quota, groups.get(language, []))
        cells.append(cell)
        held |= holders
    return Places(tuple(cells), tuple(one.question.id for one in candidates if one.question.id in held))


def _cell(language: str, area: str, quota: int, group: Sequence[Candidate]) -> tuple[Cell, set[int]]:
    ordered = sorted(group, key=lambda one: (one.question.reserve, one.question.rank))
    able = [one for one in ordered if one.status != "rejected" and not one.barred]
    holding, rest = able[:quota], able[quota:]
    counts: dict[Status, int] = {status: 0 for status in STATUSES if status != "rejected"}
    for one in holding:
        counts[one.status] += 1
    cell = Cell(
        language=language,
        area=area,
        quota=quota,
        counts=counts,
        rejected=sum(one.status == "rejected" and not one.barred for one in ordered),
        barred=sum(bool(one.barred) for one in ordered),
        moved_up=tuple(one.question.id for one in holding if one.question.reserve),
        left=len(rest),
    )
    return cell, {one.question.id for one in holding}
