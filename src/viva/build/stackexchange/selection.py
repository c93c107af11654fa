"""`viva build infibench pool`: from a dump to the questions that experts choose from (paper, sections 2.1 and 2.2).

    build_pool(Path("Posts.xml"), Path("pool"), PoolSettings(), workers, watch)

A first reading collects the columns that decide; the line, the tag tree and the quotas then determine how many
questions of each language are drawn, and a second reading collects their texts.
"""

from __future__ import annotations

import heapq
import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Literal, Protocol

import msgspec
from msgspec import Struct

from viva.benchmarks.basics import fingerprint
from viva.build.files import readable_json, staged
from viva.build.halves.stratify import rounded_shares
from viva.build.options import counts_text
from viva.build.stackexchange.dump import PIECE, Dump, Pipe, open_dump
from viva.build.stackexchange.pool import (
    BROKEN,
    BUILD,
    POOL,
    BrokenRows,
    Build,
    LanguageCount,
    PoolAnswer,
    PoolQuestion,
)
from viva.build.stackexchange.posts import EPOCH, LAST_DAY, MOST, Block, Index, Row, Rules, Steps, split_tags
from viva.build.stackexchange.tagtree import NONE, SEVERAL, TagTree, read_tree
from viva.build.stackexchange.view_line import Line, ViewAges
from viva.contracts import WorkerPool
from viva.errors import DataError, VivaError, option
from viva.fields import pick


def quotas(counts: Mapping[str, int], tree: TagTree, *, size: int, floor: int) -> dict[str, int]:
    """Return the quota of each language of the tree; a language never gets more than it has questions.

    `counts`: language → questions of the initial seed set. An area without questions leaves its budget unspent.
    """
    quota_of: dict[str, int] = {}
    budgets = largest_remainders({area.name: area.share for area in tree.areas}, size)
    for area, budget in budgets.items():
        own = {language.name: counts.get(language.name, 0) for language in tree.languages if language.area == area}
        shared = largest_remainders(own, budget)
        quota_of |= {name: min(max(shared[name], floor), count) for name, count in own.items()}
    return {language.name: quota_of[language.name] for language in tree.languages}


def largest_remainders(weights: Mapping[str, float], budget: int) -> dict[str, int]:
    """Divide a budget into whole numbers in proportion to weights; what rounding down leaves goes to the largest
    remainders.

    Of equal remainders the larger weight comes first, then the first name. All zero if there is no weight.
    """
    total = math.fsum(weights.values())
    if not total:
        return dict.fromkeys(weights, 0)
    exact = {name: budget * weight / total for name, weight in weights.items()}
    return rounded_shares(exact, budget, lambda name: -weights[name])


class Drawn(Struct, frozen=True):
    """A drawn question: its place in the tag tree, its rank in the sample, and whether it is beyond the quota."""

    id: int
    place: int
    rank: int
    reserve: bool


def draw(ids: Iterable[int], *, place: int, quota: int, times: float, seed: int) -> list[Drawn]:
    """Draw `times` as many as the quota, rounded, or all if there are fewer; those beyond `quota` are the reserve."""
    size = max(quota, round(quota * times))
    lowest = heapq.nsmallest(size, ids, key=lambda identity: (_number(seed, identity), identity))
    return [Drawn(identity, place, rank, rank > quota) for rank, identity in enumerate(lowest, start=1)]


def _number(seed: int, question: int) -> bytes:
    return blake2b(f"{seed}:{question}".encode(), digest_size=16).digest()


MAX_ANSWERS = 100
"""Answers kept per question, the best ones, besides the accepted one."""
MAX_TEXTS = 250_000_000
"""Characters of a pool's questions and answers; the paper's would have 5 million."""
MAX_TOLD = 1000
"""Broken rows listed in broken.jsonl."""
CUT = "the end (</posts>) is missing"
REPEATED = "an Id that was there before"


class PoolSettings(Struct, frozen=True, kw_only=True):
    """Everything besides the dump that the pool depends on. The defaults are the paper's."""

    min_answers: int = 3
    """Least number of answers with more upvotes than downvotes."""
    line: Line = Line()
    date: str = ""
    """Day from which ages are counted, ISO 8601; that of the newest post if empty."""
    after: str = ""
    """Only questions created on this day or later."""
    before: str = ""
    """Only questions created before this day."""
    tree: str = ""
    """The tag tree's fingerprint; filled in."""
    several: Literal["first", "drop"] = "first"
    """A question with tags of several languages has the first one, or is not drawn."""
    size: int = 200
    floor: int = 10
    times: float = 2.0
    """The pool's size as a multiple of the quotas."""
    seed: int = 42


class BrokenRow(Struct, frozen=True, kw_only=True):
    """A line of broken.jsonl."""

    place: str
    """Such as "line 17"."""
    kind: str
    begins: str


class Watch(Protocol):
    """Receiver of progress."""

    def reading(self, what: Literal["rows", "texts"], dump: Dump, rows: int) -> None:
        """Take note of how much was read."""

    def broken(self, row: BrokenRow) -> None:
        """Take note of an unreadable row."""


def build_pool(
    source: Path,
    out: Path,
    settings: PoolSettings,
    workers: WorkerPool,
    watch: Watch,
    *,
    tree: Path | None = None,
    force: bool = False,
    piece: int = PIECE,
    views: Callable[[ViewAges], None] | None = None,
) -> Build:
    """Make a pool in the folder `out`; `tree`: file of a custom tag tree, `piece`: bytes read at a time, `views`:
    receives the counts of questions by age and views.

    Raises DataError for an unusable dump or tag tree, and if no question is left; StorageError if the pool cannot be
    written. Then `out` is unchanged.
    """
    branches = read_tree(tree, settings.several)
    settings = msgspec.structs.replace(settings, tree=branches.fingerprint)
    with staged(out, (POOL, BROKEN), force=force) as stage, tempfile.TemporaryDirectory(dir=stage) as aside:
        dump = open_dump(source, Path(aside), piece)
        least, before = min(settings.min_answers, MOST), _day(settings.before) or LAST_DAY + 1
        rules = Rules(least, settings.line, _day(settings.date), _day(settings.after), before)
        building = _Building(dump, settings, rules, branches, workers, watch, Index(len(branches.names)))
        build = building.write(stage)
        if views:
            views(building.index.view_ages(building.rules))
        return build


@dataclass
class _Building:
    """The construction of one pool."""

    dump: Dump
    settings: PoolSettings
    rules: Rules
    """Without a day until all rows are read, unless it is set."""
    tree: TagTree
    workers: WorkerPool
    watch: Watch
    index: Index
    broken: Counter[str] = field(default_factory=Counter)
    told: list[BrokenRow] = field(default_factory=list)
    lines: int = 0

    def write(self, stage: Path) -> Build:
        """Write pool.jsonl, build.json and, if rows were broken, broken.jsonl."""
        self._read()
        settings, self.rules = self.settings, self.rules._replace(day=self.rules.day or self.index.newest)
        steps = self.index.steps(self.rules, len(self.tree.languages))
        seed = dict(zip(self.tree.names, steps.counts["seed"].tolist(), strict=True))
        quota = quotas(seed, self.tree, size=settings.size, floor=settings.floor)
        wanted = partial(draw, times=settings.times, seed=settings.seed)
        drawn = [
            entry
            for place, ids in sorted(steps.ids.items())
            for entry in wanted(ids, place=place, quota=quota[self.tree.names[place]])
        ]
        if not drawn:
            raise DataError(self._nothing(steps))
        lines = msgspec.json.Encoder().encode_lines(self._questions(drawn))
        (stage / POOL).write_bytes(lines)
        if self.told:
            (stage / BROKEN).write_bytes(msgspec.json.Encoder().encode_lines(self.told))
        build = Build(
            settings=msgspec.to_builtins(settings),
            date=_iso(self.rules.day),
            rows=self.index.rows,
            questions=self.index.questions,
            answers=self.index.answers,
            languages=self._counts(steps, quota, drawn),
            broken=tuple(BrokenRows(kind=kind, count=count) for kind, count in sorted(self.broken.items())),
            source=self.index.fingerprint,
            fingerprint=fingerprint([lines]),
        )
        (stage / BUILD).write_bytes(readable_json(build))
        return build

    def _read(self) -> None:
        """Read all rows into the index."""
        index, languages = self.index, len(self.tree.languages)
        closed = False
        if isinstance(self.dump, Pipe):
            self.dump.dropped = index.dropped
        self.watch.reading("rows", self.dump, 0)
        for block in self.dump.blocks(self.workers, self.tree):
            index.add(block)
            if isinstance(self.dump, Pipe):
                index.drop(self.rules, languages)
            self._tell(block)
            closed |= block.closed
            self.watch.reading("rows", self.dump, index.rows)
        if not index.rows:
            kinds = counts_text(dict(sorted(self.broken.items())))
            hint = "; Posts.xml has a <row ... /> a line" if self.dump.unit == "line" else ""
            raise DataError(f"no row could be read in the dump ({kinds or 'it has none'}){hint}")
        if not closed:
            self.broken[CUT] += 1
            self._note(BrokenRow(place=f"{self.dump.unit} {self.lines:,}", kind=CUT, begins=""))
        if index.repeated:
            self.broken[REPEATED] += index.repeated

    def _tell(self, block: Block) -> None:
        for row in block.told:
            place = f"{self.dump.unit} {self.lines + row.place + 1:,}"
            self._note(BrokenRow(place=place, kind=row.kind, begins=row.begins.decode("utf-8", "replace")))
        self.broken.update(block.broken)
        self.lines += block.lines

    def _note(self, row: BrokenRow) -> None:
        if len(self.told) < MAX_TOLD:
            self.told.append(row)
        self.watch.broken(row)

    def _questions(self, drawn: list[Drawn]) -> Iterable[PoolQuestion]:
        """Yield the drawn questions with their texts, in the order of the tree. Raises DataError."""
        wanted = frozenset(entry.id for entry in drawn)
        asked: dict[int, Row] = {}
        answers: dict[int, dict[int, Row]] = {identity: {} for identity in wanted}
        self.dump.done = held = 0
        self.watch.reading("texts", self.dump, 0)
        for rows in self.dump.texts(self.workers, wanted):
            for row in rows:
                kept = answers.get(row.parent, {}) if row.parent else asked
                if kept.setdefault(row.id, row) is row:
                    held += len(row.body) + len(row.title)
            if held > MAX_TEXTS:
                raise DataError(
                    f"the pool's texts have more than {MAX_TEXTS:,} characters: take a smaller {option('size')}"
                )
            self.watch.reading("texts", self.dump, len(asked))
        missing = wanted - asked.keys()
        if missing:
            raise DataError(
                f"question {min(missing)} was there at the first reading and is not at the second: "
                "is the dump still being written?"
            )
        for entry in drawn:
            yield self._question(entry, asked[entry.id], answers[entry.id].values())

    def _question(self, drawn: Drawn, row: Row, answers: Iterable[Row]) -> PoolQuestion:
        language = self.tree.languages[drawn.place]
        best = heapq.nsmallest(
            MAX_ANSWERS,
            (answer for answer in answers if answer.score > 0),
            key=lambda best_first: (-best_first.score, best_first.created, best_first.id),
        )
        accepted = next((answer for answer in answers if answer.id == row.accepted), None)
        if accepted and accepted not in best:
            best.append(accepted)
        return pick(
            PoolQuestion,
            row._asdict(),
            tags=split_tags(row.tags),
            language=language.name,
            area=language.area,
            answers=tuple(pick(PoolAnswer, chosen._asdict()) for chosen in best),
            rank=drawn.rank,
            reserve=drawn.reserve,
        )

    def _counts(self, steps: Steps, quota: dict[str, int], drawn: list[Drawn]) -> tuple[LanguageCount, ...]:
        areas = {language.name: language.area for language in self.tree.languages}
        pool = Counter(entry.place for entry in drawn)
        return tuple(
            LanguageCount(
                language=name,
                area=areas.get(name, ""),
                quota=quota.get(name, 0),
                drawn=pool[place],
                **{step: int(counts[place]) for step, counts in steps.counts.items()},
            )
            for place, name in enumerate(self.tree.names)
            if place < len(areas)
            or name == NONE
            or steps.counts["questions"][place]
            or (name == SEVERAL and self.settings.several == "drop")
        )

    def _nothing(self, steps: Steps) -> str:
        left = (
            "questions",
            "with an accepted answer",
            f"with {self.settings.min_answers} positively voted answers",
            "above the line",
            "of a language and in the days asked for",
        )
        counts = ", ".join(f"{int(c.sum()):,} {what}" for what, c in zip(left, steps.counts.values(), strict=True))
        newest = _iso(self.index.newest)
        return f"no question is left: {counts}; ages at {self.settings.date or newest}, the newest post is of {newest}"


def _day(text: str) -> int:
    return date.fromisoformat(text).toordinal() - EPOCH if text else 0


def _iso(day: int) -> str:
    return date.fromordinal(day + EPOCH).isoformat()


def read_line(points: tuple[float, float, float, float], base: Literal["e", "2", "10"]) -> Line:
    """Return the line through two points. Raises VivaError where it does not rise."""
    if not all(map(math.isfinite, points)) or points[0] >= points[2] or points[1] > points[3]:
        shown = " ".join(f"{point:g}" for point in points)
        raise VivaError(f"{shown} does not rise from left to right; the paper's is 0 5 3000 15.5", field="line")
    return Line(from_days=points[0], from_log=points[1], to_days=points[2], to_log=points[3], logarithm=base)
