"""Options and terminal output shared by the commands of `viva build`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TextIO, TypeAlias

from viva.errors import flag
from viva.fields import note
from viva.runs.progress import Screen
from viva.visible import escape_invisible, one_line

if TYPE_CHECKING:
    from viva.render.table import Kind

SHOWN = 40
"""Most lines of a list on the terminal; --all prints the rest."""
Language = Literal["en", "zh", "de", "fr"]
"""The languages of CS-Bench."""
ProjectPath = Annotated[Path, note("The folder of the set that is made.", argument=True)]
Told: TypeAlias = tuple[str, Sequence[str], Sequence[Sequence[Any]]]
"""A table to print: title, column names, rows (names first)."""
_FORMS = {int: ",", float: ",.2f"}
"""Number formats."""
SetFolder = Annotated[Path, note("Folder for the set.")]
SetName = Annotated[str, note("What build.json calls the set.  [default: the project folder's name]")]
CsbenchFiles = Annotated[Path, note("A folder or file of CS-Bench's format.", metavar="SET", argument=True)]
FilesLanguage = Annotated[Language | None, note("Of SET, where its files do not say, or are in several.")]
HostExecution = Annotated[
    bool, note("Run the tests WITHOUT a sandbox, with all your rights.", spelled=("--unsafe-host-execution",))
]
Force = Annotated[bool, note("Replace the set that --out holds.")]
ListAll = Annotated[bool, note(f"List everything, not only the first {SHOWN}.", spelled=("--all",))]


class TellingScreen(Screen):
    """A screen that lists the first things left out."""

    told = 0

    def tell(self, line: str, most: int, more: str) -> None:
        """Print the line if fewer than `most` were printed; after that, once, `more`."""
        self.told += 1
        if self.told <= most:
            self.say(line)
        elif self.told == most + 1:
            self.say(more)


def counts_text(counts: Mapping[Any, int]) -> str:
    """Return counts in words: `3 rejected, 1 waiting`."""
    return ", ".join(f"{count:,} {what}" for what, count in counts.items())


def tell_notes(notes: Iterable[str]) -> None:
    """Print notes to stderr."""
    for line in notes:
        print(escape_invisible(line), file=sys.stderr)


def list_first(lines: Sequence[object], *, everything: bool, file: TextIO | None = None) -> None:
    """Print the first SHOWN lines or all, and how many were not listed."""
    for line in lines if everything else lines[:SHOWN]:
        print(line, file=file)
    tell_more(len(lines), everything=everything)


def tell_more(total: int, *, everything: bool) -> None:
    """Print how many were not listed, if any."""
    if total > SHOWN and not everything:
        print(f"... and {total - SHOWN:,} more, which {flag('all')} lists", file=sys.stderr)


def tell_held(lines: Sequence[str], *, everything: bool) -> None:
    """Print what was held back from a set and why: the first lines, or all."""
    held = [escape_invisible(f"held back: {line}", limit=400) for line in lines]
    list_first(held, everything=everything, file=sys.stderr)


def print_tables(tables: Sequence[Told], lines: Sequence[str]) -> None:
    """Print tables, their first columns flush left, and lines below them."""
    from viva.render.table import Column, Kind, Table
    from viva.render.terminal import tables_terminal

    cell = Kind(lambda value: format(value, _FORMS.get(type(value), "")), none="")
    shown = [
        Table(
            title,
            tuple(Column(name, str(index), cell if index else cut(90)) for index, name in enumerate(header)),
            rows,
        )
        for title, header, rows in tables
    ]
    print(tables_terminal(shown, lines), end="")


def cut(limit: int) -> Kind:
    """Return the kind of a column of untrusted names: the first `limit` characters of each, in one line."""
    from viva.render.table import Kind

    return Kind(lambda name: one_line(name, limit) or "(none)", words=True, name=True)
