"""Tables of overlaps: counts, then every question with both texts side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct

from viva.analysis.estimate import percent
from viva.analysis.overlap.leakage import Leak, Near, Passage
from viva.errors import EXIT_OK
from viva.render.findings import Findings
from viva.render.table import COUNT, NAME, Column, Kind, Table, fields, figure
from viva.visible import one_line

SHOWN = 20
"""Questions of each table on a terminal; --all and other formats show all."""
_TEXT = 300
"""Characters of a text in a table."""


class Row(Struct, frozen=True, kw_only=True):
    """One question compared with one other set or corpus. `leaked`: by the given thresholds."""

    beside: str
    question: str
    text: str
    leak: Leak
    leaked: bool


class Reference(Struct, frozen=True, kw_only=True):
    """Totals of one other set or corpus."""

    name: str
    texts: int
    characters: int
    unread: int
    unread_first: str


class Overlaps(Struct, frozen=True, kw_only=True):
    """All overlaps of a set. `looked_for`: number of questions long enough for runs of tokens."""

    set: str
    questions: int
    looked_for: int
    field: str
    threshold: float
    share: float
    n: int
    recall: float
    """The probability of finding a pair exactly at the threshold."""
    beside: tuple[Reference, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    signature: str

    def leaked(self, name: str = "") -> int:
        """Return the number of questions that leaked into one other set, or into any."""
        return len({row.question for row in self.rows if row.leaked and (not name or row.beside == name)})


class Finding(NamedTuple):
    """A near-duplicate of a question, or the longest passage that it shares."""

    row: Row
    near: Near | None = None
    longest: Passage | None = None

    @property
    def there(self) -> Near | Passage | None:
        """The near-duplicate or the passage."""
        return self.near or self.longest

    @property
    def kind(self) -> str:
        """The kind of match, in words."""
        return "near-duplicate" if self.near else "passage"

    @property
    def share(self) -> float | None:
        """The share of the question's runs in a passage; None for a near-duplicate."""
        return self.row.leak.share if self.longest else None


def _counts(overlaps: Overlaps) -> Table:
    def shared(row: Row) -> float:
        return row.leak.share or 0.0

    rows = []
    for each in overlaps.beside:
        own = [row for row in overlaps.rows if row.beside == each.name]
        near, some = sum(bool(row.leak.near) for row in own), sum(shared(row) > 0 for row in own)
        much, whole = (sum(shared(row) >= least for row in own) for least in (overlaps.share, 1))
        leaked = overlaps.leaked(each.name)
        rows.append((each, leaked, leaked / overlaps.questions, near, some, much, whole))
    columns = (
        Column("beside", "0.name", NAME), Column("texts", "0.texts", COUNT),
        Column("characters", "0.characters", COUNT), Column("leaked", "1", COUNT),
        Column("share", "2", Kind(lambda share: f"{percent(share)} %")),
        Column(f"near-duplicates (≥ {overlaps.threshold:g})", "3", COUNT, "near_duplicates"),
        Column(f"{overlaps.n}-token runs: any", "4", COUNT, "any_runs"),
        Column(f"≥ {percent(overlaps.share, 0)} %", "5", COUNT, "runs"), Column("all", "6", COUNT, "all_runs"),
        *fields("0", "unread", "unread_first"),
    )  # fmt: skip
    return Table(f"Questions of {overlaps.set} ({overlaps.questions:,}) that stand elsewhere", columns, rows)


_TEXTS = Kind(lambda text: one_line(text, _TEXT), words=True)
_INDEX = figure(".3f")
_QUESTION = (Column("question", "row.question", NAME), Column("beside", "row.beside"))
_NEAR = (
    *_QUESTION, Column("place", "near.place"), Column("Jaccard", "near.jaccard", _INDEX, "jaccard"),
    Column("estimated", "near.estimate", _INDEX),
    Column("numbers", "near.numbers_differ", Kind(lambda differ: "differ" if differ else "same"), "numbers_differ"),
    Column("text of the set", "row.text", _TEXTS, "text"), Column("text there", "near.text", _TEXTS, "text_there"),
)  # fmt: skip
_PASSAGE = (
    *_QUESTION, Column("share of its runs", "share", Kind(lambda share: f"{percent(share, 1)} %"), "share"),
    Column("longest", "longest.tokens", Kind(lambda tokens: f"{tokens:,} tokens"), "longest_tokens"),
    Column("place", "longest.place"), Column("character", "longest.offset", Kind(lambda offset: f"{offset + 1:,}")),
    Column("text of the set", "row.text", _TEXTS, "text"), Column("passage", "longest.text", _TEXTS, "text_there"),
)  # fmt: skip
_LEAK = (
    *fields("", "question", "beside", "leaked"),
    *fields("leak", "runs", "share", "near_total", question="number"),
)
_SET = fields("", "set", "questions", "looked_for", "field", "threshold", "share", "n", "recall", "signature")


def _findings(rows: list[Finding], most: int | None) -> Iterator[Table]:
    """Yield near-duplicates, then passages, `most` of each, the most alike first."""
    near = sorted((row for row in rows if row.near), key=lambda row: -round(row.near.jaccard if row.near else 0, 3))
    longest = sorted(
        (row for row in rows if row.longest),
        key=lambda row: (-(row.share or 0.0), -(row.longest.tokens if row.longest else 0)),
    )
    for what, columns, each in (("Near-duplicates", _NEAR, near), ("Passages in common", _PASSAGE, longest)):
        count = f"{len(each):,}" if most is None or len(each) <= most else f"the first {most:,} of {len(each):,}"
        if each:
            yield Table(f"{what}: {count}", columns, each[:most])


def findings(
    overlaps: Overlaps, *, everything: bool = False, exit_code: int = EXIT_OK, verdict: str = ""
) -> Findings[Overlaps]:
    """Return the counts, then the matches, the most alike first; `rows` has one a question and kind of match.
    `everything`: whether a terminal shows all, not the first `SHOWN`.
    """
    rows = [
        each
        for row in overlaps.rows
        for each in (
            *(Finding(row, near) for near in row.leak.near),
            *([Finding(row, None, row.leak.longest)] if row.leak.longest else []),
        )
    ]
    columns = (
        Column("set", lambda _: overlaps.set), *fields("row", "question", "beside"), *fields("", "kind"),
        *fields("there", "place"), *fields("longest", offset="character"),
        *fields("near", "jaccard", estimate="estimated"), *fields("near", "numbers_differ"), *fields("", "share"),
        *fields("longest", tokens="longest_tokens"), *fields("row", "leaked", "text"),
        *fields("there", text="text_there"),
    )  # fmt: skip
    counts, notes = _counts(overlaps), _notes(overlaps)
    shown = [counts, *_findings(rows, None), Table("Questions", _LEAK, overlaps.rows), Table("Set", _SET, [overlaps])]
    terminal = None if everything else ([counts, *_findings(rows, SHOWN)], notes)
    return Findings(
        found=overlaps, shown=shown, rows=Table("Overlap", columns, rows), notes=notes, terminal=terminal,
        exit_code=exit_code, verdict=verdict,
    )  # fmt: skip


def _notes(overlaps: Overlaps) -> list[str]:
    """Return notes on how to read the tables."""
    lines = [
        "A question counts as leaked if a text is nearly the same (Jaccard index of their shingles at least "
        f"{overlaps.threshold:g}), or if at least {percent(overlaps.share, 0)} % of its runs of {overlaps.n} "
        "tokens stand "
        "there. A token is a word or number, or one Chinese, Japanese or Korean character; case, width and "
        "punctuation do not count.",
        f"A pair at the threshold is found with a probability of {overlaps.recall:.4f}, one above it with a higher "
        "one; every pair that is told was compared exactly. The longest passage is where it was found first.",
        f"{overlaps.looked_for:,} of {overlaps.questions:,} questions are long enough for runs; the others can only be "
        "near-duplicates.",
    ]
    lines += [
        f"{each.name}: {each.unread:,} lines are no JSON objects and were left out ({each.unread_first})."
        for each in overlaps.beside
        if each.unread
    ]
    return [*lines, *overlaps.notes, overlaps.signature]
