"""Published sweeps and experts, compared as far as printed figures can be: differences of means, no test.

`viva compare infibench`: GPT-4 under other sampling (the rows behind Table 10 of the InfiBench paper). `viva compare
csbench`: models trained for mathematics and code against the models of their families.
"""

from __future__ import annotations

import csv
import io
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from viva.cli.reporting import emit
from viva.errors import VivaError
from viva.published import Entry, Table, table
from viva.published.model import plain
from viva.visible import harmless

if TYPE_CHECKING:
    from viva.cli.compare import Wanted
    from viva.reports.result import Grid

PUBLISHED = ("infibench", "csbench")
"""Benchmarks that can be named in place of a run."""
_SETTING = "generation_parameters"
_STANDARD = "(0.2,0.9)"
"""The paper's own temperature and top-p, which the sweep is compared with."""
_NO_ITEMS = "Printed figures: without item scores there is no pairing, and no interval or test of these differences."


class Published(Struct, frozen=True, kw_only=True):
    """One published row against another. Per cent, as printed; differences in points."""

    first: str
    second: str
    what: str
    """In what the second differs: a setting, or what it was trained for."""
    figures: dict[str, tuple[float, float, float]]
    """Column → the first's, the second's, the difference."""


def compare_published(benchmark: str, wanted: Wanted) -> int:
    """Print a published table's differences. Raises VivaError for what takes item scores, and unknown rows."""
    for option, given in (
        ("--by", wanted.by), ("--over", wanted.over), ("--cluster", wanted.cluster), ("--between", wanted.between),
        ("--attempts", wanted.attempts), ("--flips", wanted.flips), ("--detect", wanted.detect),
        ("--chart", wanted.chart),
    ):  # fmt: skip
        if given:
            raise VivaError(
                f"{option} takes item scores, and {benchmark} names a published table of means: leave it out"
            )
    found, one = _sweep(wanted) if benchmark == "infibench" else _experts(wanted)
    about = [note for note in one.notes if benchmark == "csbench" or re.search("ablation|groups of ten", note)]
    notes = [_NO_ITEMS, f"Source: {one.source.paper}, {one.source.table}.", *about]
    emit(_printed(found, one, notes, wanted), wanted.out)
    return 0


def _sweep(wanted: Wanted) -> tuple[list[Published], Table]:
    """GPT-4 under every sampling against the paper's own, or against the setting that --baseline names."""
    one = table("infibench", "leaderboard")
    rows = [entry for entry in one.entries if entry.kind == "ablation"]
    first = _setting(rows, wanted.baseline or _STANDARD)
    columns = ("score", "mean_score", *(f"level_{level}" for level in range(1, 6)))
    found = [
        _pair(first, entry, columns, _called(first), _called(entry), _spread(entry))
        for entry in rows
        if entry is not first
    ]
    return found, one


def _setting(rows: Sequence[Entry], name: str) -> Entry:
    for entry in rows:
        if plain(name) == plain(entry.words[_SETTING]):
            return entry
    there = ", ".join(entry.words[_SETTING] for entry in rows)
    raise VivaError(f"--baseline {name!r}: the sweep has no such setting (temperature, top-p); it has: {there}")


def _called(entry: Entry) -> str:
    setting = entry.words[_SETTING]
    if not setting.startswith("("):
        return setting
    temperature, _, top = setting.strip("()").partition(",")
    return f"T {temperature}, top-p {top}"


def _spread(entry: Entry) -> str:
    """How many answers a score is the best of, and what its groups of ten vary by."""
    answers = int(entry.figures["responses"])
    sd = f", ± {entry.figures['score_std']:.2f} over groups" if answers > 10 else ""
    return f"best@{min(10, answers)} of {answers}{sd}"


def _experts(wanted: Wanted) -> tuple[list[Published], Table]:
    """Every expert against the model that it was made of, or the pairs that --pairs names."""
    one = table("csbench", "en_experts")
    columns = ("overall_knowledge", "overall_reasoning", "overall_average")
    if wanted.pairs:
        both = [(_row(one, said.partition("=")[0]), _row(one, said.partition("=")[2])) for said in wanted.pairs]
    else:
        bases = {entry.model: entry for entry in one.entries}
        both = [(bases[entry.words["base"]], entry) for entry in one.entries if entry.words.get("base") in bases]
    return [
        _pair(first, second, columns, first.name, second.name, second.words.get("expert_in", ""))
        for first, second in both
    ], one


def _row(one: Table, name: str) -> Entry:
    found = [entry for entry in one.entries if plain(entry.model) == plain(name)]
    if not found:
        raise VivaError(
            f"--pairs: {name!r} is no row of {one.title}; there are: {', '.join(e.model for e in one.entries)}"
        )
    return found[0]


def _pair(first: Entry, second: Entry, columns: Sequence[str], one: str, other: str, what: str) -> Published:
    return Published(
        first=one,
        second=other,
        what=what,
        figures={
            name: (first.figures[name], second.figures[name], round(second.figures[name] - first.figures[name], 4))
            for name in columns
            if name in first.figures and name in second.figures
        },
    )


def _grid(found: Sequence[Published], one: Table) -> Grid:
    from viva.reports.result import Grid

    labels = {column.name: column.label for column in one.columns}
    names = list(dict.fromkeys(name for pair in found for name in pair.figures))
    rows = tuple(
        (
            pair.first, pair.second, pair.what,
            *(f"{pair.figures[name][1]:.2f} ({_signed(pair.figures[name][2])})" if name in pair.figures else "–"
              for name in names),
        )
        for pair in found
    )  # fmt: skip
    title = f"Published · {one.benchmark} · the second, and its difference from the first in points"
    return Grid(title, ("first", "second", "of", *(labels[name] for name in names)), rows)


def _signed(points: float) -> str:
    return f"{points:+.2f}".replace("-", "−")


def _printed(found: Sequence[Published], one: Table, notes: Sequence[str], wanted: Wanted) -> str:
    from viva.reports.grids import WORDS, grids_latex, grids_markdown, grids_terminal

    if wanted.format == "json":
        content = {"comparisons": list(found), "source": one.source, "notes": list(notes)}
        return msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n"
    if wanted.format == "csv":
        return _csv(found)
    printers: dict[str, Callable[[Sequence[Grid], Sequence[str]], str]] = {
        "markdown": grids_markdown,
        "latex": grids_latex,
    }
    if wanted.format in printers:
        return printers[wanted.format]([_grid(found, one)], notes)
    terminal = wanted.out is None and sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if terminal else None
    words = {*WORDS, "first", "second", "of"}
    return grids_terminal([_grid(found, one)], notes, width=width, colour=terminal, words=words)


def _csv(found: Sequence[Published]) -> str:
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(["first_name", "second_name", "of", "column", "first", "second", "difference"])
    for pair in found:
        for name, figures in pair.figures.items():
            rows.writerow([*map(harmless, (pair.first, pair.second, pair.what)), name, *figures])
    return out.getvalue()
