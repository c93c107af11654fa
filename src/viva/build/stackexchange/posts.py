"""Rows of a dump as tables of posts, and the index of all posts: which were read, with how many positive answers.

A block of posts depends on its rows alone, so blocks can be made in any process; they are added up in the order of the
dump.

Kept in memory are one byte per id up to the newest (whether it was read, its number of positively voted answers) and
11 bytes per question with an accepted answer (id, day, views, place in the tag tree); of other rows only counts. For
Stack Overflow's sixty million rows that is 80 + 130 MB, without a database, in any order of rows. Texts are read later.

Each row is parsed by expat by itself, so that no DTD, entity or other row can affect it. Dumps have one row per line,
attributes in double quotes, line breaks in texts as `&#xA;`. If each line has only the `<` that begins its row, and
nothing after it, lines cannot affect each other and are parsed together, in half the time.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from itertools import islice, repeat
from pyexpat import ExpatError, ParserCreate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from viva.build.stackexchange.tagtree import TagTree
from viva.build.stackexchange.view_line import Line, ViewAges, view_ages
from viva.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_ROW = 1 << 20
"""Bytes of a row. The site allows 30,000 characters per text: escaped, 200 kB at worst."""
TOO_LONG = b" " * (MAX_ROW + 1)
"""Stands for a longer line."""
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


def _elements(text: bytes) -> tuple[list[dict[str, str]], str, bool]:
    """Return the attributes of all elements, the text between them, and whether it is well-formed XML."""
    elements: list[dict[str, str]] = []
    texts: list[str] = []
    parser = ParserCreate("utf-8")
    parser.StartElementHandler = lambda _, values: elements.append(values)
    parser.CharacterDataHandler = texts.append
    try:
        parser.Parse(text, True)
    except ExpatError:
        return elements, "", False
    return elements, "".join(texts), True


def attributes(line: bytes) -> dict[str, str]:
    """Parse all attributes of a row. Raises BrokenRowError."""
    rows, _, sound = _elements(line)
    if len(rows) > 1:
        raise BrokenRowError("more than a row in a line")
    if not sound:
        raise BrokenRowError("not well-formed XML")
    return rows[0]


def attributes_of_all(lines: Sequence[bytes]) -> list[dict[str, str]] | None:
    """Return `attributes` of many lines at once; None if any is not a plain row, so that each must be parsed alone."""
    text = b"".join(lines)
    if text.count(b"<") != len(lines) or not all(map(is_row, lines)):
        return None
    rows, between, sound = _elements(b"<posts>" + text + b"</posts>")
    return rows[1:] if sound and not between.strip() else None


MAX_ID = 200_000_000
"""Ids of posts are below 80 million in 2024; much larger ones are errors, or attacks on memory."""
MAX_COUNT = 2_000_000_000
TOLD = 20
"""Broken rows listed per block; all are counted."""
BEGINS = 200
"""Bytes of a broken row that are reported."""
INVALID = MAX_COUNT + 1
"""Stands for an invalid number."""
FIGURES = {
    "Id": -1,
    "PostTypeId": INVALID,
    "AcceptedAnswerId": 0,
    "ParentId": INVALID,
    "Score": INVALID,
    "ViewCount": 0,
}
"""Numeric attributes of rows, with defaults."""
NARROW = (*FIGURES, "CreationDate", "Tags")
OTHER, QUESTION, ANSWER = 0, 1, 2
EPOCH = date(1970, 1, 1).toordinal()
LAST_DAY = 65_535
"""Days since 1970 are stored in 16 bits, enough until 2149."""
_TOGETHER = 100
"""Lines that are parsed together."""
_NUMBER = "^(-?[0-9]{1,9}|[0-9]{10})$"
_DATE = "^([0-9]{4}-[0-9]{2}-[0-9]{2})"
_SPLIT = re.compile(r"><|\|")
_SAYS = re.compile(rb"<\?xml|<posts[ \t/>]|</posts>|<!--(?:(?!--).)*-->\s*$")
_ENCODING = re.compile(rb"""<\?xml[^>]*encoding=["']([A-Za-z0-9._-]{1,40})""")


def split_tags(text: str) -> tuple[str, ...]:
    """Split `<c#><.net>` (until 2023) or `|c#|.net|` (since), with or without its ends, into at most 32 tags."""
    return tuple(tag for tag in _SPLIT.split(text[:4096].strip("<>| ")) if tag)[:32]


def _outside(name: str, least: int, most: int) -> pl.Expr:
    return ~pl.col(name).is_between(least, most)


_ASKS, _ANSWERS = pl.col("PostTypeId") == QUESTION, pl.col("PostTypeId") == ANSWER
_FAULTS = {
    "no Id": _outside("Id", 1, MAX_ID),
    "no date": _outside("day", 1, LAST_DAY),
    "no PostTypeId": _outside("PostTypeId", 0, MAX_COUNT),
    "no ViewCount": _ASKS & _outside("ViewCount", 0, MAX_COUNT),
    "no answer": _ASKS & _outside("AcceptedAnswerId", 0, MAX_COUNT),
    "an answer without ParentId": _ANSWERS & _outside("ParentId", 0, MAX_ID),
    "no Score": _ANSWERS & _outside("Score", -MAX_COUNT, MAX_COUNT),
}
"""What a row can lack → whether it does, in the order in which it is told."""


class Broken(NamedTuple):
    """An unreadable row; `place` is its line (or row) in the block, from 0."""

    place: int
    kind: str
    begins: bytes


class Block(NamedTuple):
    """Consecutive rows of a dump."""

    posts: pl.DataFrame
    """Readable rows: id, kind (OTHER, QUESTION or ANSWER), day (since 1970); of questions views, accepted (id of the
    answer, 0 for none) and place (in the tag tree); of answers parent (id of the question) and liked (whether there are
    more upvotes than downvotes).
    """
    lines: int
    told: list[Broken]
    broken: Counter[str]
    closed: bool
    """Whether </posts> is among the lines."""


def block_of(frame: pl.DataFrame, tree: TagTree, lines: int) -> Block:
    """Make a block of a table with the columns NARROW, `line` and `begins`: the first bytes of a row, for reports."""
    posts = frame.with_columns(
        *(pl.col(name).fill_null(missing) for name, missing in FIGURES.items()),
        day=pl.col("CreationDate").to_physical().cast(pl.Int64).fill_null(-1),
    ).with_columns(fault=pl.coalesce(pl.when(lacks).then(pl.lit(kind)) for kind, lacks in _FAULTS.items()))
    broken = posts.filter(pl.col("fault").is_not_null())
    sound = posts.filter(pl.col("fault").is_null()).select(
        pl.col("Id").cast(pl.UInt32).alias("id"),
        pl.when(pl.col("PostTypeId") > ANSWER).then(OTHER).otherwise("PostTypeId").cast(pl.UInt8).alias("kind"),
        pl.col("day").cast(pl.UInt16),
        *(
            pl.col(name).cast(pl.UInt32, strict=False).alias(column)
            for name, column in (("ViewCount", "views"), ("AcceptedAnswerId", "accepted"), ("ParentId", "parent"))
        ),
        pl.when(_ASKS)
        .then(pl.col("Tags").fill_null(""))
        .map_elements(lambda tags: tree.place(split_tags(tags)), pl.UInt8)
        .alias("place"),
        (pl.col("Score") > 0).alias("liked"),
    )
    told = [Broken(*row) for row in broken.select("line", "fault", "begins").head(TOLD).iter_rows()]
    return Block(sound, lines, told, Counter(broken["fault"]), closed=True)


def block_of_lines(lines: Iterable[bytes], tree: TagTree) -> Block:
    """Make a block of lines of Posts.xml.

    Raises DataError for a DTD, a comment over several lines or another encoding than UTF-8.
    """
    rows: list[tuple[object, ...]] = []
    told: list[Broken] = []
    broken: Counter[str] = Counter()
    closed, place = False, -1
    left = iter(lines)
    while some := list(islice(left, _TOGETHER)):
        together = attributes_of_all(some)
        for line, known in zip(some, together or repeat(None), strict=False):
            place += 1
            begins = line[:BEGINS].strip()
            try:
                values = known or _attributes_if_row(line)
            except BrokenRowError as problem:
                broken[problem.kind] += 1
                if len(told) < TOLD:
                    told.append(Broken(place, problem.kind, begins))
                continue
            if values is None:
                closed |= begins.startswith(b"</posts>")
            else:
                rows.append((*map(values.get, NARROW), place, begins))
    kinds = {**dict.fromkeys(NARROW, pl.String), "line": pl.Int64, "begins": pl.Binary}
    frame = pl.DataFrame(list(zip(*rows, strict=True)), kinds, orient="col")
    block = block_of(frame.with_columns(_day(), figure(pl.col(*FIGURES)).name.keep()), tree, place + 1)
    told = sorted([*told, *block.told])[:TOLD]
    return block._replace(told=told, broken=broken + block.broken, closed=closed)


def _day() -> pl.Expr:
    return pl.col("CreationDate").str.extract(_DATE).str.to_date("%Y-%m-%d", strict=False)


def figure(text: pl.Expr) -> pl.Expr:
    """Parse whole numbers of at most ten characters: null for an empty text, INVALID for another."""
    return pl.when(text != "").then(text.str.extract(_NUMBER).cast(pl.Int64).fill_null(INVALID))


def _attributes_if_row(line: bytes) -> dict[str, str] | None:
    """Return the attributes of a row, None for a line between rows. Raises BrokenRowError, DataError."""
    if line == TOO_LONG:
        raise BrokenRowError(f"longer than {MAX_ROW >> 20} MiB")
    if is_row(line):
        return attributes(line)
    text = line.removeprefix(b"\xef\xbb\xbf").strip()
    if text.startswith(b"<!") and not _SAYS.match(text):
        what = "a DTD or entities" if text[2:9].upper() == b"DOCTYPE" else "a comment or section over several lines"
        raise DataError(f"{what} in the dump, which no Posts.xml has; this is refused, and nothing of it was read")
    encoding = _ENCODING.match(text)
    if encoding and encoding[1].lower() not in (b"utf-8", b"us-ascii", b"ascii"):
        raise DataError(f"the dump is written in {encoding[1].decode()}; Posts.xml is UTF-8: convert it (iconv) first")
    if text and not _SAYS.match(text):
        raise BrokenRowError("no row")
    return None


MOST = 63
"""Positive answers counted per question; more make no difference."""
_READ, _OUT, _COUNT = 128, 64, 63


class Steps(NamedTuple):
    """Numbers of questions by place in the tag tree after each step, and the ids of those left."""

    counts: dict[str, NDArray[np.int64]]
    """Step (questions, accepted, answered, seen, seed) → how many of each place are left after it."""
    ids: dict[int, list[int]]
    """Place → the ids of `seed`, in the order of the dump."""


class Rules(NamedTuple):
    """Conditions for questions. `after` and `before` are days since 1970: created on or after, and before."""

    min_answers: int
    line: Line
    day: int
    after: int
    before: int

    def seen(self, day: int) -> pl.Expr:
        """Tell questions above the line, their ages counted at a day."""
        age = day - pl.col("day").cast(pl.Int64)
        return (age >= 0) & self.line.above(pl.col("views"), age)

    def meant(self, languages: int) -> pl.Expr:
        """Tell questions of a language and the days asked for; places from `languages` on are not languages."""
        return (pl.col("place") < languages) & pl.col("day").is_between(self.after, self.before, closed="left")


class Index:
    """Counts and states of all posts, from blocks added in the order of the file."""

    def __init__(self, places: int) -> None:
        self._states = np.zeros(MAX_ID + 1, np.uint8)  # the system allocates only pages that are written to
        self._places = places
        self._asked: list[pl.DataFrame] = []
        """Questions with an accepted answer, by block."""
        self._fresh = pl.DataFrame()
        """Questions of the last block with a new id."""
        self._counts = {step: np.zeros(places, np.int64) for step in ("questions", "accepted")}
        self._hashes = [hashlib.blake2b(digest_size=16) for _ in range(7)]
        self.rows = self.questions = self.answers = self.repeated = self.newest = 0

    def add(self, block: Block) -> None:
        """Add the next block. A row whose id was read before counts only as repeated."""
        self._hash(block.posts)
        ids = block.posts["id"].to_numpy()
        new = np.zeros(len(ids), np.bool_)
        new[np.unique(ids, return_index=True)[1]] = True
        posts = block.posts.filter(new & ((self._states[ids] & _READ) == 0))
        self._states[ids] |= _READ
        self._fresh, answers = (posts.filter(pl.col("kind") == kind) for kind in (QUESTION, ANSWER))
        accepted = self._fresh.filter(pl.col("accepted") > 0)
        self.rows += len(posts)
        self.repeated += len(ids) - len(posts)
        self.questions += len(self._fresh)
        self.answers += len(answers)
        self.newest = max(self.newest, block.posts.select(pl.col("day").max().fill_null(0)).item())
        self._counts["questions"] += self._by_place(self._fresh)
        self._counts["accepted"] += self._by_place(accepted)
        self._asked.append(accepted.select("id", "day", "views", "place"))
        liked = answers.filter("liked").group_by("parent").len()
        states = self._states[liked["parent"]]
        counts = np.minimum((states & _COUNT) + liked["len"].to_numpy(), MOST).astype(np.uint8)
        self._states[liked["parent"]] = (states & (_READ | _OUT)) | counts

    def _by_place(self, posts: pl.DataFrame) -> NDArray[np.int64]:
        return np.bincount(posts["place"], minlength=self._places)

    def _hash(self, posts: pl.DataFrame) -> None:
        asked, answers = (posts.filter(pl.col("kind") == kind) for kind in (QUESTION, ANSWER))
        columns = *posts["id", "kind"], *asked["day", "views", "accepted"], *answers["parent", "liked"]
        for digest, column in zip(self._hashes, columns, strict=True):
            digest.update(np.ascontiguousarray(column.to_numpy()).data)

    @property
    def fingerprint(self) -> str:
        """Hash of all columns but the tags (twelve hexadecimal digits), independent of the blocks' sizes."""
        return hashlib.sha256(b"".join(digest.digest() for digest in self._hashes)).hexdigest()[:12]

    def drop(self, rules: Rules, languages: int) -> None:
        """Mark questions of the last added block as ruled out for good: later rows only make them older."""
        kept = (pl.col("accepted") > 0) & rules.meant(languages) & rules.seen(rules.day or self.newest)
        self._states[self._fresh.filter(~kept)["id"]] |= _OUT

    def dropped(self, question: int) -> bool:
        """Return whether `drop` ruled a question out."""
        return 0 < question <= MAX_ID and bool(self._states[question] & _OUT)

    def _answered(self, rules: Rules) -> pl.DataFrame:
        """Return the questions with an accepted answer and enough positive ones."""
        asked = pl.concat(self._asked)
        return asked.filter((self._states[asked["id"]] & _COUNT) >= rules.min_answers)

    def steps(self, rules: Rules, languages: int) -> Steps:
        """Return the questions left after each step; places from `languages` on are not languages: no seed set."""
        left = {"answered": self._answered(rules)}
        left["seen"] = left["answered"].filter(rules.seen(rules.day))
        left["seed"] = left["seen"].filter(rules.meant(languages))
        ids = left["seed"].group_by("place", maintain_order=True).agg("id")
        counts = {step: self._by_place(posts) for step, posts in left.items()}
        return Steps({**self._counts, **counts}, dict(ids.iter_rows()))

    def view_ages(self, rules: Rules) -> ViewAges:
        """Count questions with enough answers by age and views, above and below the line."""
        ages = self._answered(rules).select("views", age=rules.day - pl.col("day").cast(pl.Int64))
        return view_ages(rules.line, ages.filter(pl.col("age") >= 0, pl.col("views") > 0))
