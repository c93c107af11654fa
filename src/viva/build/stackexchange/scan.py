"""Convert lines of Posts.xml to columns, and index all posts: which were read, with how many positive answers.

A block depends on its lines alone, so blocks can be made in any process; they are added up in the order of the file.

Kept in memory are one byte per id up to the newest (whether it was read, its number of positively voted answers) and
11 bytes per question with an accepted answer (id, day, views, place in the tag tree); of other rows only counts. For
Stack Overflow's sixty million rows that is 80 + 130 MB, without a database, in any order of rows. Texts are read later.

Each row is parsed by expat by itself, so that no DTD, entity or other row can affect it. Dumps have one row per line,
attributes in double quotes, line breaks in texts as `&#xA;`. If each line has only the `<` that begins its row, lines
cannot affect each other and are parsed together, in half the time.
"""

from __future__ import annotations

import hashlib
import re
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from pyexpat import ExpatError, ParserCreate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from viva.build.stackexchange.tagtree import TagTree
from viva.build.stackexchange.view_line import Line, ViewAges, view_ages
from viva.errors import DataError

MAX_ROW = 1 << 20
"""Bytes of a row. The site allows 30,000 characters per text: escaped, 200 kB at worst."""
_ROW = re.compile(rb"[ \t]*<row[ \t/>]")


class BrokenRowError(Exception):
    """An unreadable row; `kind` is the reason in a few words."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


class Row(NamedTuple):
    """A question or answer with its texts."""

    id: int
    parent: int
    """0 for a question."""
    accepted: int
    score: int
    views: int
    created: str
    title: str
    body: str
    tags: str


def row_of(values: Mapping[str, Any]) -> Row:
    """Make a row from attributes named as in Posts.xml. Raises KeyError, ValueError for invalid ones."""
    return Row(
        id=int(values["Id"]),
        parent=int(values.get("ParentId") or 0) if int(values["PostTypeId"]) == 2 else 0,
        accepted=int(values.get("AcceptedAnswerId") or 0),
        score=int(values.get("Score") or 0),
        views=int(values.get("ViewCount") or 0),
        created=str(values["CreationDate"])[:10],
        title=values.get("Title") or "",
        body=values.get("Body") or "",
        tags=values.get("Tags") or "",
    )


def is_row(line: bytes) -> bool:
    """Return whether a line begins a row."""
    return _ROW.match(line) is not None


def attributes(line: bytes) -> dict[str, str]:
    """Parse all attributes of a row. Raises BrokenRowError."""
    rows: list[dict[str, str]] = []

    def element(name: str, values: dict[str, str]) -> None:
        if name != "row" or rows:
            raise BrokenRowError("more than a row in a line")
        rows.append(values)

    parser = ParserCreate("utf-8")
    parser.StartElementHandler = element
    try:
        parser.Parse(line, True)
    except ExpatError:
        raise BrokenRowError("not well-formed XML") from None
    return rows[0]


def attributes_of_all(lines: Sequence[bytes]) -> list[dict[str, str]] | None:
    """Return `attributes` of many lines at once; None if any is not a plain row, so that each must be parsed alone."""
    text = b"".join(lines)
    if text.count(b"<") != len(lines) or not all(map(is_row, lines)):
        return None
    rows: list[dict[str, str]] = []

    def element(_: str, values: dict[str, str]) -> None:
        rows.append(values)

    parser = ParserCreate("utf-8")
    parser.StartElementHandler = element
    try:
        parser.Parse(b"<posts>" + text + b"</posts>", True)
    except ExpatError:
        return None
    return rows[1:]


MAX_ID = 200_000_000
"""Ids of posts are below 80 million in 2024; much larger ones are errors, or attacks on memory."""
MAX_COUNT = 2_000_000_000
TOLD = 20
"""Broken rows listed per block; all are counted."""
MAX_CACHE = 200_000
MAX_CACHED = 200
"""Characters of tags up to which their place is cached; the site's five tags have 190 at most."""
BEGINS = 200
"""Bytes of a broken row that are reported."""
NONE = MAX_COUNT + 1
"""Marks a missing or invalid number."""
FIGURES = {"Id": -1, "PostTypeId": NONE, "AcceptedAnswerId": 0, "ParentId": NONE, "Score": NONE, "ViewCount": 0}
"""Numeric attributes of rows, with defaults."""
OTHER, QUESTION, ANSWER = 0, 1, 2
EPOCH = date(1970, 1, 1).toordinal()
LAST_DAY = 65_535
"""Days since 1970 are stored in 16 bits, enough until 2149."""

_SPLIT = re.compile(r"><|\|")
_SAYS = re.compile(rb"<\?xml|<posts[ \t/>]|</posts>|<!--(?:(?!--).)*-->\s*$")
_ENCODING = re.compile(rb"""<\?xml[^>]*encoding=["']([A-Za-z0-9._-]{1,40})""")


class Broken(NamedTuple):
    """An unreadable row; `place` is its line (or row) in the block, from 0."""

    place: int
    kind: str
    begins: bytes


class Block(NamedTuple):
    """Consecutive rows as columns."""

    lines: int
    bytes: int
    ids: NDArray[np.uint32]
    kinds: NDArray[np.uint8]
    """OTHER, QUESTION or ANSWER; columns below have one entry per question, or per answer."""
    days: NDArray[np.uint16]
    """Questions' creation, in days since 1970."""
    views: NDArray[np.uint32]
    accepted: NDArray[np.uint32]
    """Id of a question's accepted answer; 0 for none."""
    places: NDArray[np.uint8]
    """Questions' places in the tag tree."""
    parents: NDArray[np.uint32]
    """Ids of the answers' questions."""
    liked: NDArray[np.bool_]
    """Whether answers have more upvotes than downvotes."""
    newest: int
    """The latest day of any row; 0 for none."""
    told: list[Broken]
    broken: dict[str, int]
    closed: bool
    """Whether </posts> is among the lines."""


@lru_cache(maxsize=MAX_CACHE)
def day_of(text: str) -> int:
    """Return a date as days since 1970; -1 for an invalid one."""
    try:
        return date.fromisoformat(text).toordinal() - EPOCH
    except ValueError:
        return -1


def figure(text: str | None, missing: int) -> int:
    """Parse a whole number; NONE if it is invalid or too long, `missing` if empty."""
    if not text:
        return missing
    if len(text) <= 10 and text.isascii() and text.removeprefix("-").isdigit():
        return int(text)
    return NONE


def split_tags(text: str) -> tuple[str, ...]:
    """Split `<c#><.net>` (until 2023) or `|c#|.net|` (since), with or without its ends, into at most 32 tags."""
    return tuple(tag for tag in _SPLIT.split(text[:4096].strip("<>| ")) if tag)[:32]


def placer(tree: TagTree) -> Callable[[str], int]:
    """Return a cached function from a row's tags to their place in the tree."""

    def place(tags: str) -> int:
        return tree.place(split_tags(tags))

    known = lru_cache(MAX_CACHE)(place)
    return lambda tags: known(tags) if len(tags) <= MAX_CACHED else place(tags)


def block_of(
    figures: Mapping[str, NDArray[np.int64]],
    days: NDArray[np.int64],
    tags: Sequence[str | None],
    place: Callable[[str], int],
    begins: Callable[[int], bytes],
) -> Block:
    """Make a block from `figures`, named as in Posts.xml; rows that lack a required field are broken.

    `place` returns the place of tags in the tree, `begins` the first bytes of a row, for reports.
    """
    ids, kinds, accepted, parents, scores, views = (figures[name] for name in FIGURES)
    asks, answers = kinds == 1, kinds == 2
    tests = {
        "no Id": (ids <= 0) | (ids > MAX_ID),
        "no date": (days <= 0) | (days > LAST_DAY),
        "no PostTypeId": (kinds < 0) | (kinds > MAX_COUNT),
        "no ViewCount": asks & ((views < 0) | (views > MAX_COUNT)),
        "no answer": asks & ((accepted < 0) | (accepted > MAX_COUNT)),
        "an answer without ParentId": answers & ((parents < 0) | (parents > MAX_ID)),
        "no Score": answers & (np.abs(scores) > MAX_COUNT),
    }
    well = np.ones(len(ids), np.bool_)
    told: list[Broken] = []
    broken: dict[str, int] = {}
    for kind, bad in tests.items():
        some = np.flatnonzero(bad & well)
        if len(some):
            broken[kind] = len(some)
            told += [Broken(int(row), kind, begins(row)) for row in some[:TOLD]]
        well &= ~bad
    asks, answers = asks & well, answers & well
    return Block(
        lines=len(ids),
        bytes=0,
        ids=ids[well].astype(np.uint32),
        kinds=np.where(asks, QUESTION, np.where(answers, ANSWER, OTHER))[well].astype(np.uint8),
        days=days[asks].astype(np.uint16),
        views=views[asks].astype(np.uint32),
        accepted=accepted[asks].astype(np.uint32),
        places=np.array([place(tags[int(row)] or "") for row in np.flatnonzero(asks)], np.uint8),
        parents=parents[answers].astype(np.uint32),
        liked=scores[answers] > 0,
        newest=int(days[well].max(initial=0)),
        told=sorted(told)[:TOLD],
        broken=broken,
        closed=True,
    )


class Scanner:
    """Parses the lines of a block; `place` returns the place of tags in the tree."""

    def __init__(self, place: Callable[[str], int]) -> None:
        self._place = place
        self._figures = {name: array("q") for name in FIGURES}
        self._taking = [(name, missing, self._figures[name].append) for name, missing in FIGURES.items()]
        self._days, self._tags = array("q"), list[str]()
        self._rows: list[tuple[int, bytes]] = []
        """Line number and first bytes of each row."""
        self._lines = self._bytes = 0
        self._told: list[Broken] = []
        self._broken: Counter[str] = Counter()
        self._closed = False

    @property
    def held(self) -> int:
        """Bytes read."""
        return self._bytes

    def feed(self, lines: Sequence[bytes] | int) -> None:
        """Parse whole lines; a number stands for a line of so many bytes that was too long to read.

        Raises DataError for a DTD, a comment over several lines or another encoding than UTF-8.
        """
        if isinstance(lines, int):
            self.broken(f"longer than {MAX_ROW >> 20} MiB", b"")
            self._lines += 1
            self._bytes += lines
            return
        together = attributes_of_all(lines)
        for place, line in enumerate(lines):
            try:
                if together is not None:
                    self._take(together[place], line)
                elif is_row(line):
                    self._take(attributes(line), line)
                else:
                    self._between(line)
            except BrokenRowError as problem:
                self.broken(problem.kind, line)
            self._lines += 1
        self._bytes += sum(map(len, lines))

    def broken(self, kind: str, line: bytes) -> None:
        """Count the current line as broken."""
        self._broken[kind] += 1
        if len(self._told) < TOLD:
            self._told.append(Broken(self._lines, kind, line[:BEGINS].strip()))

    def block(self) -> Block:
        """Return the lines fed so far as a block."""
        figures = {name: np.array(column, np.int64) for name, column in self._figures.items()}
        days, rows = np.array(self._days, np.int64), self._rows
        scanned = block_of(figures, days, self._tags, self._place, lambda row: rows[row][1].strip())
        told = [notice._replace(place=rows[notice.place][0]) for notice in scanned.told]
        return scanned._replace(
            lines=self._lines,
            bytes=self._bytes,
            told=sorted([*self._told, *told])[:TOLD],
            broken=dict(self._broken + Counter(scanned.broken)),
            closed=self._closed,
        )

    def _take(self, values: Mapping[str, str], line: bytes) -> None:
        for name, missing, append in self._taking:
            append(figure(values.get(name), missing))
        self._days.append(day_of(values.get("CreationDate", "")[:10]))
        self._tags.append(values.get("Tags", ""))
        self._rows.append((self._lines, line[:BEGINS]))

    def _between(self, line: bytes) -> None:
        """Check a line that begins no row. Raises BrokenRowError, DataError."""
        text = line.removeprefix(b"\xef\xbb\xbf").strip()
        if not text:
            return
        if text.startswith(b"<!") and not _SAYS.match(text):
            what = "a DTD or entities" if text[2:9].upper() == b"DOCTYPE" else "a comment or section over several lines"
            raise DataError(f"{what} in the dump, which no Posts.xml has; this is refused, and nothing of it was read")
        encoding = _ENCODING.match(text)
        if encoding and encoding[1].lower() not in (b"utf-8", b"us-ascii", b"ascii"):
            raise DataError(
                f"the dump is written in {encoding[1].decode()}; Posts.xml is UTF-8: convert it (iconv) first"
            )
        if not _SAYS.match(text):
            raise BrokenRowError("no row")
        self._closed = self._closed or text.startswith(b"</posts>")


MOST = 63
"""Positive answers counted per question; more make no difference."""
_READ, _OUT, _COUNT = 128, 64, 63


class Kept(NamedTuple):
    """Questions of one block that have an accepted answer."""

    ids: NDArray[np.uint32]
    days: NDArray[np.uint16]
    views: NDArray[np.uint32]
    places: NDArray[np.uint8]


class Steps(NamedTuple):
    """Numbers of questions by place in the tag tree after each step, and the ids of those left."""

    counts: dict[str, NDArray[np.int64]]
    """Step (questions, accepted, answered, seen, seed) → how many of each place are left after it."""
    ids: dict[int, NDArray[np.uint32]]
    """Place → the ids of `seed`, in the order of the dump."""


class Rules(NamedTuple):
    """Conditions for questions. `after` and `before` are days since 1970: created on or after, and before."""

    min_answers: int
    line: Line
    day: int
    after: int
    before: int


class Index:
    """Counts and states of all posts, from blocks added in the order of the file."""

    def __init__(self, places: int) -> None:
        self._states = np.zeros(MAX_ID + 1, np.uint8)  # the system allocates only pages that are written to
        self._places = places
        self._kept: list[Kept] = []
        self._counted = np.zeros(0, np.bool_)  # questions of the last block with a new id
        self._questions = np.zeros(places, np.int64)
        self._accepted = np.zeros(places, np.int64)
        self._hashes = [hashlib.blake2b(digest_size=16) for _ in range(7)]
        self.rows = self.questions = self.answers = self.repeated = self.newest = 0

    def add(self, block: Block) -> None:
        """Add the next block. A row whose id was read before counts only as repeated."""
        self._hash(block)
        fresh = self._fresh(block.ids)
        asked, answered = fresh[block.kinds == QUESTION], fresh[block.kinds == ANSWER]
        self.rows += int(fresh.sum())
        self.repeated += len(fresh) - int(fresh.sum())
        self.questions += int(asked.sum())
        self.answers += int(answered.sum())
        self.newest = max(self.newest, block.newest)
        self._questions += np.bincount(block.places[asked], minlength=self._places)
        self._counted = asked.copy()
        asked &= block.accepted > 0
        self._accepted += np.bincount(block.places[asked], minlength=self._places)
        if asked.any():
            ids = block.ids[block.kinds == QUESTION][asked]
            self._kept.append(Kept(ids, block.days[asked], block.views[asked], block.places[asked]))
        parents, more = np.unique(block.parents[answered & block.liked], return_counts=True)
        states = self._states[parents]
        counts = np.minimum((states & _COUNT) + more, MOST).astype(np.uint8)
        self._states[parents] = (states & (_READ | _OUT)) | counts

    def _fresh(self, ids: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Return which rows have a new id, and mark all as read."""
        fresh = np.zeros(len(ids), np.bool_)
        fresh[np.unique(ids, return_index=True)[1]] = True
        fresh &= (self._states[ids] & _READ) == 0
        self._states[ids] |= _READ
        return fresh

    def _hash(self, block: Block) -> None:
        columns = (block.ids, block.kinds, block.days, block.views, block.accepted, block.parents, block.liked)
        for digest, column in zip(self._hashes, columns, strict=True):
            digest.update(np.ascontiguousarray(column).data)

    @property
    def fingerprint(self) -> str:
        """Hash of all columns but the tags (twelve hexadecimal digits), independent of the blocks' sizes."""
        return hashlib.sha256(b"".join(digest.digest() for digest in self._hashes)).hexdigest()[:12]

    def drop(self, block: Block, rules: Rules, languages: int) -> None:
        """Mark questions of the last added block as ruled out for good: later rows only make them older."""
        ids = block.ids[block.kinds == QUESTION]
        keep = (block.accepted > 0) & (block.places < languages) & _dated(block.days, rules)
        keep &= rules.line.above(block.views, (rules.day or self.newest) - block.days.astype(np.int64))
        self._states[ids[~keep & self._counted]] |= _OUT

    def dropped(self, question: int) -> bool:
        """Return whether `drop` ruled a question out."""
        return 0 < question <= MAX_ID and bool(self._states[question] & _OUT)

    def steps(self, rules: Rules, languages: int) -> Steps:
        """Return the questions left after each step; places from `languages` on are not languages: no seed set."""
        answered, seen, seed = (np.zeros(self._places, np.int64) for _ in range(3))
        ids_of: dict[int, list[NDArray[np.uint32]]] = {place: [] for place in range(languages)}
        for kept in self._kept:
            chosen = (self._states[kept.ids] & _COUNT) >= rules.min_answers
            answered += np.bincount(kept.places[chosen], minlength=self._places)
            ages = rules.day - kept.days.astype(np.int64)
            chosen &= (ages >= 0) & rules.line.above(kept.views, ages)
            seen += np.bincount(kept.places[chosen], minlength=self._places)
            chosen &= (kept.places < languages) & _dated(kept.days, rules)
            seed += np.bincount(kept.places[chosen], minlength=self._places)
            for place in np.unique(kept.places[chosen]):
                ids_of[int(place)].append(kept.ids[chosen & (kept.places == place)])
        ids = {place: np.concatenate(some) for place, some in ids_of.items() if some}
        counts = {"questions": self._questions, "accepted": self._accepted}
        return Steps(counts | {"answered": answered, "seen": seen, "seed": seed}, ids)

    def view_ages(self, rules: Rules) -> ViewAges:
        """Count questions with enough answers by age and views, above and below the line."""
        ages = np.concatenate([rules.day - kept.days.astype(np.int64) for kept in self._kept])
        views = np.concatenate([kept.views for kept in self._kept])
        answered = np.concatenate([(self._states[kept.ids] & _COUNT) >= rules.min_answers for kept in self._kept])
        chosen = answered & (ages >= 0) & (views > 0)
        return view_ages(rules.line, ages[chosen], views[chosen])


def _dated(days: NDArray[np.uint16], rules: Rules) -> NDArray[np.bool_]:
    return (days >= rules.after) & (days < rules.before)
