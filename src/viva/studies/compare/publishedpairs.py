"""Comparisons of published figures: differences of printed means, without tests.

`viva compare csbench`: models trained for mathematics and code against the models of their families; with `--between
languages` the models that were asked in English and in Chinese. Both take `--by domain`, the languages `--by format` as
well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from viva.errors import VivaError, flag, option
from viva.files import shipped_table
from viva.published import Entry, called, find, plain, table
from viva.published import Table as PublishedTable
from viva.render.findings import Findings
from viva.render.plots import Drawn, Kinds, dots
from viva.render.table import Column, Kind, Table, fields, item, places, signed
from viva.studies.compare.chart import AXIS, NAMES, ROW
from viva.studies.compare.tables import SIDES

if TYPE_CHECKING:
    from viva.studies.compare.choices import CompareConfig


class Published(Struct, frozen=True):
    """One published row against another. Per cent, as printed; differences in points."""

    first: str
    second: str
    what: str
    """The second row's difference: its language, or the domain it was trained for."""
    part: str
    """The part of the set, where a pair has a row for each part."""
    figures: dict[str, tuple[float, float, float]]
    """Column → the first's, the second's, the difference."""


class Side(NamedTuple):
    """A row with its name in the comparison, and what it differs by."""

    entry: Entry
    name: str
    what: str = ""


class Sheet(NamedTuple):
    """The comparisons from a published table."""

    table: PublishedTable
    pairs: Sequence[tuple[Side, Side]]
    parts: Mapping[str, Mapping[str, str]]
    """Part ("" for the whole) → columns of the table → their labels."""
    notes: Sequence[str]


_PARTS = shipped_table(__file__, "parts.toml", dict[str, dict[str, str]])
_KINDS = ("knowledge", "reasoning", "average")
_NO_ITEMS = "Printed figures: without item scores there is no pairing, and no interval or test of these differences."
_OF_ITEMS = ("macro_average", "cluster", "aggregate", "flips", "detect", "unpaired", "model", "exam")


def compare_published(sources: Sequence[str], config: CompareConfig) -> Findings[tuple[Published, ...]]:
    """Return a published table's differences, the second's figure and its difference, a row a pair; `rows` has a row a
    pair, part and column. Raises VivaError for what takes item scores, and unknown rows.
    """
    benchmark, *runs = sources
    if runs:
        raise VivaError(
            f"{benchmark} names a published table, which is compared alone; `viva published {benchmark} TABLE "
            f"{flag('run')} {runs[0]}` has the models of a run among its rows"
        )
    for name in _OF_ITEMS:
        if getattr(config, name):
            raise VivaError(
                f"{option(name)} takes item scores, and {benchmark} names a published table of means: leave it out"
            )
    whole, pairs, parts, notes = _csbench(config)
    published = tuple(
        Published(first.name, second.name, second.what, part, {
            name: (before := first.entry.figures[column], after := second.entry.figures[column],
                   round(after - before, 4))
            for column, name in columns.items()
            if column in first.entry.figures and column in second.entry.figures
        })
        for first, second in pairs for part, columns in parts.items()
    )  # fmt: skip
    named = {column.name: column.label for column in whole.columns}
    labels = {
        name: named.get(name, name) for name in dict.fromkeys(name for pair in published for name in pair.figures)
    }
    columns = (
        *SIDES, Column("of", "what"), *((Column("part", "part"),) if len(parts) > 1 else ()),
        *(Column(label, item("figures", name), _FIGURE) for name, label in labels.items()),
    )  # fmt: skip
    rows = [
        (pair.first, pair.second, pair.what, pair.part, name, *figures)
        for pair in published
        for name, figures in pair.figures.items()
    ]
    names = ("first_name", "second_name", "of", "part", "column", "first", "second", "difference")
    title, source = f"Published · {benchmark} · the second, and its difference from the first in points", whole.source
    return Findings(
        found=published,
        shown=[Table(title, columns, published), Table("Source", fields("", *source.__struct_fields__), [source])],
        rows=Table("Differences", places(*names), rows),
        notes=(_NO_ITEMS, f"Source: {source.paper}, {source.table}.", *notes),
        drawing=partial(_means_chart, published, labels, f"Published differences · {benchmark}", source.table),
    )


_FIGURE = Kind(lambda figures: f"{figures[1]:.2f} ({signed(figures[2])})")


def _means_chart(pairs: Sequence[Published], labels: Mapping[str, str], title: str, below: str) -> Drawn:
    """Return a chart of differences of printed means: a row a pair, a colour a column; no intervals are published."""
    rows = [
        {
            "row": f"{pair.first} → {pair.second}" + (f": {pair.part}" if pair.part else ""),
            "of": pair.what, "column": labels[name],
            **dict(zip(("first", "second", "difference"), pair.figures[name], strict=True)),
        }
        for pair in pairs for name in pair.figures
    ]  # fmt: skip
    return dots(
        rows, "row", AXIS, title=title, below=below, signed=True, names=NAMES, step=ROW,
        kinds=Kinds("column", list(labels.values())),
    )  # fmt: skip


def _csbench(config: CompareConfig) -> Sheet:
    """Return every expert against the chat model of its family and size, or the pairs that --pairs names; with
    --between, English against Chinese, of every model that is in both tables by the same name. By domain or format a
    row for each, the whole last.
    """
    by, languages = config.by, option("between", "languages")
    if config.between not in (None, "languages"):
        raise VivaError(f"{config.between}: of published tables there is {languages} alone", field="between")
    if by not in (None, *_PARTS) or (by == "format" and not config.between):
        known = " or ".join(_PARTS) if config.between else "domain alone"
        what = "languages" if config.between else "experts"
        raise VivaError(f"{by!r}: the published {what} are compared by {known}", field="by")
    parts = {"": {name: name for name in (f"overall_{kind}" for kind in _KINDS)}}
    if by is not None:
        parts = {part: {f"{start}_{kind}": kind for kind in _KINDS} for start, part in _PARTS[by].items()}
    if not config.between:
        experts = table("csbench", "en_experts")
        rows = experts.entries
        both = [(find(rows, entry.words.get("base", "")), entry) for entry in rows]
        if config.pairs:
            both = [(called(rows, first, "pairs"), called(rows, second, "pairs"))
                    for first, _, second in (text.partition("=") for text in config.pairs)]  # fmt: skip
        pairs = [
            (Side(first, first.name), Side(second, second.name, second.words.get("expert_in", "")))
            for first, second in both
            if first
        ]
        return Sheet(experts, pairs, parts, experts.notes)
    if config.pairs or config.baseline:
        raise VivaError(
            f"{languages} pairs each model with itself: leave {option('pairs')} and {option('baseline')} out"
        )
    english, chinese = (table("csbench", f"{name}_{by or 'domain'}s") for name in ("en", "zh"))
    there = {plain(entry.model): entry for entry in chinese.models}
    pairs = [
        (Side(entry, f"{entry.name} en"), Side(other, f"{other.name} zh", "Chinese"))
        for entry in english.models
        if (other := there.pop(plain(entry.model), None))
    ]
    about = (
        f"Chinese: {chinese.source.table}. Both languages have the same questions; {len(pairs)} of "
        f"{len(english.models)} English and {len(chinese.models)} Chinese rows have one name. In Chinese alone: "
        f"{', '.join(entry.name for entry in there.values())}.",
        *english.notes, *chinese.notes,
    )  # fmt: skip
    return Sheet(english, pairs, parts, about)


PUBLISHED = ("csbench",)
"""Benchmarks that can be named in place of a run."""
