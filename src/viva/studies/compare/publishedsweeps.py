"""Published sweeps and experts, compared as far as printed figures can be: differences of means, no test.

`viva compare infibench`: GPT-4 under other sampling (the rows behind Table 10 of the InfiBench paper). `viva compare
csbench`: models trained for mathematics and code against the models of their families; with `--between languages` the
models that were asked in English and in Chinese. CS-Bench's take `--by domain`, the languages `--by format` as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from viva.errors import VivaError, flag, option
from viva.published import SAMPLING, Entry, table
from viva.published import Table as PublishedTable
from viva.published.printed import plain
from viva.render.findings import Drawing, Findings
from viva.render.plots import Drawn, Kinds, dots
from viva.render.table import Column, Kind, Table, fields, item, places, signed
from viva.studies.compare.chart import AXIS, NAMES, ROW
from viva.studies.compare.tables import SIDES
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.studies.compare.choices import CompareConfig


class Published(Struct, frozen=True, kw_only=True):
    """One published row against another. Per cent, as printed; differences in points."""

    first: str
    second: str
    what: str
    """In what the second differs: a setting, or what it was trained for."""
    figures: dict[str, tuple[float, float, float]]
    """Column → the first's, the second's, the difference."""
    part: str = ""
    """Of which part of the set, where a pair has a row for each: its columns are no table's then."""


def labels_of(found: Sequence[Published], one: PublishedTable) -> dict[str, str]:
    """Return the columns that are told, by name."""
    names = dict.fromkeys(name for pair in found for name in pair.figures)
    labels = {column.name: column.label for column in one.columns}
    return {name: labels.get(name, name) for name in names}


def findings(
    found: tuple[Published, ...], one: PublishedTable, notes: Sequence[str], drawing: Drawing
) -> Findings[tuple[Published, ...]]:
    """Return the second's figure and its difference, a row a pair; `rows` has a row a pair, part and column. Per cent.
    """  # fmt: skip
    columns = (
        *SIDES, Column("of", "what"), *((Column("part", "part"),) if any(pair.part for pair in found) else ()),
        *(Column(label, item("figures", name), _FIGURE)
          for name, label in labels_of(found, one).items()),
    )  # fmt: skip
    title = f"Published · {one.benchmark} · the second, and its difference from the first in points"
    rows = [
        (pair.first, pair.second, pair.what, pair.part, name, *figures)
        for pair in found
        for name, figures in pair.figures.items()
    ]
    names = ("first_name", "second_name", "of", "part", "column", "first", "second", "difference")
    return Findings(
        found=found,
        shown=[Table(title, columns, found), Table("Source", fields("", *one.source.__struct_fields__), [one.source])],
        rows=Table("Differences", places(*names), rows), notes=notes, drawing=drawing,
    )  # fmt: skip


_FIGURE = Kind(lambda figures: f"{figures[1]:.2f} ({signed(figures[2])})")


COLUMNS = 3
"""Columns of a published table that are drawn."""


def means_chart(found: Sequence[Published], one: PublishedTable) -> Drawn:
    """Differences of printed means: a row a pair, a colour a column; no intervals, for there are none."""
    labels = [(name, label) for name, label in labels_of(found, one).items() if not name.startswith("level")][:COLUMNS]
    rows = [
        {
            "row": f"{pair.first} → {pair.second}" + (f": {pair.part}" if pair.part else ""),
            "of": pair.what, "column": label,
            "first": pair.figures[name][0], "second": pair.figures[name][1], "difference": pair.figures[name][2],
        }
        for pair in found for name, label in labels if name in pair.figures
    ]  # fmt: skip
    return dots(
        rows, "row", AXIS, title=f"Published differences · {one.benchmark}", below=one_line(one.source.table, 90),
        kinds=Kinds("column", [label for _, label in labels]), signed=True, names=NAMES, step=ROW,
    )  # fmt: skip


Compared = tuple[list[Published], PublishedTable, Sequence[str]]
"""Pairs of rows, their table, and which of its notes are about them."""
_PARTS: Mapping[str, Mapping[str, str]] = {
    "domain": {"dsa": "DSA", "co": "CO", "cn": "CN", "os": "OS", "overall": "overall"},
    "format": {
        "multiple_choice": "multiple-choice",
        "assertion": "assertion",
        "fill_in_the_blank": "fill-in-the-blank",
        "open_ended": "open-ended",
        "overall": "overall",
    },
}
"""What CS-Bench's tables can be compared by: the beginning of a column's name → what rows call it."""
_KINDS = ("knowledge", "reasoning", "average")
_STANDARD = "(0.2,0.9)"
"""The paper's own temperature and top-p, which the sweep is compared with."""
_NO_ITEMS = "Printed figures: without item scores there is no pairing, and no interval or test of these differences."


def compare_published(sources: Sequence[str], config: CompareConfig) -> Findings[tuple[Published, ...]]:
    """Return a published table's differences. Raises VivaError for what takes item scores, and unknown rows."""
    benchmark, *runs = sources
    if runs:
        raise VivaError(
            f"{benchmark} names a published table, which is compared alone; `viva published {benchmark} TABLE "
            f"{flag('run')} {runs[0]}` has the models of a run among its rows"
        )
    takes_items = ("by", "macro_average", "cluster", "between", "aggregate", "flips", "detect", "unpaired", "model")
    for name in takes_items:
        if getattr(config, name) and name not in _TAKEN.get(benchmark, ()):
            raise VivaError(
                f"{option(name)} takes item scores, and {benchmark} names a published table of means: leave it out"
            )
    found, one, about = PUBLISHED[benchmark](config)
    notes = (_NO_ITEMS, f"Source: {one.source.paper}, {one.source.table}.", *about)
    return findings(tuple(found), one, notes, partial(means_chart, found, one))


def _sweep(config: CompareConfig) -> Compared:
    """GPT-4 under every sampling against the paper's own, or against the setting that --baseline names."""
    one = table("infibench", "leaderboard")
    rows = [entry for entry in one.entries if entry.kind == "ablation"]
    first = _setting(rows, config.baseline or _STANDARD)
    columns = ("score", "mean_score", *(f"level_{level}" for level in range(1, 6)))
    found = [
        _pair(first, entry, columns, _called(first), _called(entry), _spread(entry))
        for entry in rows
        if entry is not first
    ]
    return found, one, [note for note in one.notes if re.search("ablation|groups of ten", note)]


def _setting(rows: Sequence[Entry], name: str) -> Entry:
    for entry in rows:
        if plain(name) == plain(entry.words[SAMPLING]):
            return entry
    there = ", ".join(entry.words[SAMPLING] for entry in rows)
    raise VivaError(f"{name!r}: the sweep has no such setting (temperature, top-p); it has: {there}", field="baseline")


def _called(entry: Entry) -> str:
    """Return `(0.2,0.9)` as `T 0.2, top-p 0.9`; other words as they are."""
    setting = entry.words[SAMPLING]
    if not setting.startswith("("):
        return setting
    temperature, _, top = setting.strip("()").partition(",")
    return f"T {temperature}, top-p {top}"


def _spread(entry: Entry) -> str:
    """Return how many answers a score is the best of, and what its groups of ten vary by."""
    answers = int(entry.figures["responses"])
    sd = f", ± {entry.figures['score_std']:.2f} over groups" if answers > 10 else ""
    return f"best@{min(10, answers)} of {answers}{sd}"


def _experts(config: CompareConfig) -> Compared:
    """Return every expert against the chat model of its family and size, or the pairs that --pairs names."""
    if config.between:
        return _languages(config)
    if config.by not in (None, "domain"):
        raise VivaError(f"{config.by!r}: the published experts are compared by domain alone", field="by")
    one = table("csbench", "en_experts")
    if config.pairs:
        both = [(_row(one, said.partition("=")[0]), _row(one, said.partition("=")[2])) for said in config.pairs]
    else:
        bases = {entry.model: entry for entry in one.entries}
        both = [(bases[entry.words["base"]], entry) for entry in one.entries if entry.words.get("base") in bases]
    return (
        [
            found
            for first, second in both
            for found in _by_part(
                first, second, (first.name, second.name), second.words.get("expert_in", ""), config.by
            )
        ],
        one,
        one.notes,
    )


def _languages(config: CompareConfig) -> Compared:
    """English against Chinese, of every model that is in both tables by the same name."""
    if config.between != "languages":
        raise VivaError(
            f"{config.between}: of published tables there is {option('between', 'languages')} alone", field="between"
        )
    if config.by not in (None, *_PARTS):
        raise VivaError(f"{config.by!r}: the published languages are compared by {' or '.join(_PARTS)}", field="by")
    if config.pairs or config.baseline:
        raise VivaError(
            f"{option('between', 'languages')} pairs each model with itself: leave {option('pairs')} and "
            f"{option('baseline')} out"
        )
    name = "formats" if config.by == "format" else "domains"
    english, chinese = table("csbench", f"en_{name}"), table("csbench", f"zh_{name}")
    there = {plain(entry.model): entry for entry in chinese.models}
    both = [(entry, there[plain(entry.model)]) for entry in english.models if plain(entry.model) in there]
    left = [entry.name for entry in chinese.models if all(entry is not second for _, second in both)]
    found = [
        pair
        for first, second in both
        for pair in _by_part(first, second, (f"{first.name} en", f"{second.name} zh"), "Chinese", config.by)
    ]
    about = (
        f"Chinese: {chinese.source.table}. Both languages have the same questions; {len(both)} of "
        f"{len(english.models)} English and {len(chinese.models)} Chinese rows have one name. In Chinese alone: "
        f"{', '.join(left)}.",
        *english.notes,
        *chinese.notes,
    )
    return found, english, about


def _by_part(first: Entry, second: Entry, names: tuple[str, str], what: str, by: str | None) -> Iterator[Published]:
    """Yield a pair's overall figures; with --by a row a domain or format, the whole last."""
    if by is None:
        yield _pair(first, second, [f"overall_{kind}" for kind in _KINDS], *names, what)
        return
    for start, part in _PARTS[by].items():
        columns = {f"{start}_{kind}": kind for kind in _KINDS}
        found = _pair(first, second, list(columns), *names, what)
        yield replace(found, part=part, figures={columns[name]: figures for name, figures in found.figures.items()})


def _row(one: PublishedTable, name: str) -> Entry:
    found = [entry for entry in one.entries if plain(entry.model) == plain(name)]
    if not found:
        raise VivaError(
            f"{option('pairs')}: {name!r} is no row of {one.title}; there are: "
            f"{', '.join(e.model for e in one.entries)}"
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


PUBLISHED: Mapping[str, Callable[[CompareConfig], Compared]] = {"infibench": _sweep, "csbench": _experts}
"""Benchmarks that can be named in place of a run."""
_TAKEN: Mapping[str, Sequence[str]] = {"csbench": ("by", "between")}
"""What a published table takes of the options that ask for item scores otherwise."""
