"""What a set has in common with others: counts, then every question with both texts side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msgspec import Struct

from viva.analysis.leakage import Leak
from viva.analysis.wording import percent
from viva.errors import EXIT_OK
from viva.render.grids import WORDS, grids_terminal
from viva.render.printing import Records, StudyResult
from viva.render.table import Grid
from viva.visible import one_line

SHOWN = 20
"""Questions of each table on a terminal; --all shows the rest, and so do the other forms."""
_TEXT = 300
"""Characters of a text in a table."""


class Row(Struct, frozen=True, kw_only=True):
    """One question of the set beside one other set or corpus. `leaked`: by the bounds that were given."""

    beside: str
    question: str
    text: str
    leak: Leak
    leaked: bool


class Reference(Struct, frozen=True, kw_only=True):
    """All that was read of one other set or corpus."""

    name: str
    texts: int
    characters: int
    unread: int
    unread_first: str


class Overlaps(Struct, frozen=True, kw_only=True):
    """What was found. `looked_for`: questions that are long enough for runs of tokens."""

    set: str
    questions: int
    looked_for: int
    field: str
    threshold: float
    share: float
    n: int
    recall: float
    """How likely a pair exactly at the threshold is found."""
    beside: tuple[Reference, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    signature: str

    def leaked(self, name: str = "") -> int:
        """Questions that leaked into one other set, or into any."""
        return len({row.question for row in self.rows if row.leaked and (not name or row.beside == name)})


def _counts(found: Overlaps) -> Grid:
    header = (
        *("beside", "texts", "characters", "leaked", "share", f"near-duplicates (≥ {found.threshold:g})"),
        *(f"{found.n}-token runs: any", f"≥ {percent(found.share, 0)} %", "all"),
    )
    rows: list[tuple[str, ...]] = []
    for one in found.beside:
        own = [row for row in found.rows if row.beside == one.name]
        shares = [row.leak.share or 0.0 for row in own]
        leaked = found.leaked(one.name)
        rows.append(
            (
                *(one.name, f"{one.texts:,}", f"{one.characters:,}", f"{leaked:,}"),
                f"{percent(leaked / found.questions)} %",
                f"{sum(bool(row.leak.near) for row in own):,}",
                f"{sum(share > 0 for share in shares):,}",
                f"{sum(share >= found.share for share in shares):,}",
                f"{sum(share >= 1 for share in shares):,}",
            )
        )
    return Grid(f"Questions of {found.set} ({found.questions:,}) that stand elsewhere", header, tuple(rows))


def _near(found: Overlaps, most: int | None) -> Grid:
    header = ("question", "beside", "place", "Jaccard", "estimated", "numbers", "text of the set", "text there")
    rows = [
        (
            row.question,
            row.beside,
            near.place,
            f"{near.jaccard:.3f}",
            f"{near.estimate:.3f}",
            "differ" if near.numbers_differ else "same",
            one_line(row.text, _TEXT),
            one_line(near.text, _TEXT),
        )
        for row in found.rows
        for near in row.leak.near
    ]
    rows.sort(key=lambda row: -float(row[3]))
    return Grid(_titled("Near-duplicates", len(rows), most), header, tuple(rows[:most]))


def _passages(found: Overlaps, most: int | None) -> Grid:
    header = ("question", "beside", "share of its runs", "longest", "place", "character", "text of the set", "passage")
    ordered = sorted((row for row in found.rows if row.leak.longest), key=_most_first)
    rows = []
    for row in ordered[:most]:
        longest = row.leak.longest
        if longest is None:
            continue
        rows.append(
            (
                *(row.question, row.beside, f"{percent(row.leak.share, 1)} %", f"{longest.tokens:,} tokens"),
                *(longest.place, f"{longest.offset + 1:,}"),
                *(one_line(row.text, _TEXT), one_line(longest.text, _TEXT)),
            )
        )
    return Grid(_titled("Passages in common", len(ordered), most), header, tuple(rows))


def _most_first(row: Row) -> tuple[float, int]:
    longest = row.leak.longest
    return -(row.leak.share or 0.0), -(longest.tokens if longest else 0)


def _titled(what: str, count: int, most: int | None) -> str:
    return f"{what}: {count:,}" if most is None or count <= most else f"{what}: the first {most:,} of {count:,}"


@dataclass(frozen=True, repr=False)
class OverlapTables(StudyResult):
    """What a set has in common with others, to be shown."""

    found: Overlaps
    everything: bool = False
    """Whether a terminal shows all that was found, not the first `SHOWN`."""
    exit_code: int = EXIT_OK
    verdict: str = ""
    words = WORDS | {"beside", "question", "place", "text of the set", "text there", "passage"}

    def tables(self, most: int | None = None) -> list[Grid]:
        """The counts, then what was found, the most alike first."""
        tables = [_counts(self.found)]
        tables += [one for one in (_near(self.found, most), _passages(self.found, most)) if one.rows]
        return tables

    def closing(self) -> list[str]:
        """How to read it."""
        found = self.found
        lines = [
            "A question counts as leaked if a text is nearly the same (Jaccard index of their shingles at least "
            f"{found.threshold:g}), or if at least {percent(found.share, 0)} % of its runs of {found.n} tokens stand "
            "there. A token is a word or number, or one Chinese, Japanese or Korean character; case, width and "
            "punctuation do not count.",
            f"A pair at the threshold is found with a probability of {found.recall:.4f}, one above it with a higher "
            "one; every pair that is told was compared exactly. The longest passage is where it was found first.",
            f"{found.looked_for:,} of {found.questions:,} questions are long enough for runs; the others can only be "
            "near-duplicates.",
        ]
        for one in found.beside:
            if one.unread:
                lines.append(
                    f"{one.name}: {one.unread:,} lines are no JSON objects and were left out ({one.unread_first})."
                )
        return [*lines, *found.notes, found.signature]

    def to_terminal(self, width: int | None = None, *, colour: bool = False) -> str:
        """The first of what was found."""
        tables = self.tables(None if self.everything else SHOWN)
        return grids_terminal(tables, self.closing(), width=width, colour=colour, words=self.words)

    def records(self) -> Records:
        """A row a question and kind of finding, figures unrounded, texts whole."""
        header = (
            *("set", "question", "beside", "kind", "place", "character", "jaccard", "estimated", "numbers_differ"),
            *("share", "longest_tokens", "leaked", "text", "text_there"),
        )
        return header, [(self.found.set, row.question, row.beside, *cells) for row in self.found.rows
                        for cells in _cells(row)]  # fmt: skip

    def data(self) -> object:
        """Everything."""
        return self.found


def _cells(row: Row) -> Iterator[Sequence[object]]:
    for near in row.leak.near:
        same = (None, near.jaccard, near.estimate, near.numbers_differ, None, None)
        yield "near-duplicate", near.place, *same, row.leaked, row.text, near.text
    if longest := row.leak.longest:
        run = (longest.offset, None, None, None, row.leak.share, longest.tokens)
        yield "passage", longest.place, *run, row.leaked, row.text, longest.text
