"""Published sweeps and experts, compared as far as printed figures can be: differences of means, no test.

`viva compare infibench`: GPT-4 under other sampling (the rows behind Table 10 of the InfiBench paper). `viva compare
csbench`: models trained for mathematics and code against the models of their families.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from viva.errors import VivaError
from viva.published import Entry, Table, table
from viva.published.model import plain
from viva.reports.comparedmeans import Published, PublishedComparisons

if TYPE_CHECKING:
    from viva.studies.compare.config import CompareConfig

Compared = tuple[list[Published], Table, Sequence[str]]
"""Pairs of rows, their table, and which of its notes are about them."""
SETTING = "generation_parameters"
"""The column of the paper's temperature and top-p."""
_STANDARD = "(0.2,0.9)"
"""The paper's own temperature and top-p, which the sweep is compared with."""
_NO_ITEMS = "Printed figures: without item scores there is no pairing, and no interval or test of these differences."


def compare_published(benchmark: str, config: CompareConfig) -> PublishedComparisons:
    """A published table's differences. Raises VivaError for what takes item scores, and unknown rows."""
    takes_items = ("by", "macro_average", "cluster", "between", "aggregate", "flips", "detect", "unpaired", "model")
    for name in takes_items:
        if getattr(config, name):
            raise VivaError(
                f"--{name.replace('_', '-')} takes item scores, and {benchmark} names a published table of means: "
                "leave it out"
            )
    found, one, about = PUBLISHED[benchmark](config)
    notes = (_NO_ITEMS, f"Source: {one.source.paper}, {one.source.table}.", *about)
    return PublishedComparisons(tuple(found), one, notes)


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
        if plain(name) == plain(entry.words[SETTING]):
            return entry
    there = ", ".join(entry.words[SETTING] for entry in rows)
    raise VivaError(f"--baseline {name!r}: the sweep has no such setting (temperature, top-p); it has: {there}")


def _called(entry: Entry) -> str:
    return sampling_text(entry.words[SETTING])


def sampling_text(setting: str) -> str:
    """`(0.2,0.9)` as tables have it: `T 0.2, top-p 0.9`; other words as they are."""
    if not setting.startswith("("):
        return setting
    temperature, _, top = setting.strip("()").partition(",")
    return f"T {temperature}, top-p {top}"


def _spread(entry: Entry) -> str:
    """How many answers a score is the best of, and what its groups of ten vary by."""
    answers = int(entry.figures["responses"])
    sd = f", ± {entry.figures['score_std']:.2f} over groups" if answers > 10 else ""
    return f"best@{min(10, answers)} of {answers}{sd}"


def _experts(config: CompareConfig) -> Compared:
    """Every expert against the chat model of its family and size, or the pairs that --pairs names."""
    one = table("csbench", "en_experts")
    columns = ("overall_knowledge", "overall_reasoning", "overall_average")
    if config.pairs:
        both = [(_row(one, said.partition("=")[0]), _row(one, said.partition("=")[2])) for said in config.pairs]
    else:
        bases = {entry.model: entry for entry in one.entries}
        both = [(bases[entry.words["base"]], entry) for entry in one.entries if entry.words.get("base") in bases]
    return (
        [
            _pair(first, second, columns, first.name, second.name, second.words.get("expert_in", ""))
            for first, second in both
        ],
        one,
        one.notes,
    )


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


PUBLISHED: Mapping[str, Callable[[CompareConfig], Compared]] = {"infibench": _sweep, "csbench": _experts}
"""Benchmarks that can be named in place of a run."""
