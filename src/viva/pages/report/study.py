"""The page of one or several runs: their results together, and as many answers as fit."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from viva.engine.answerrecord import Answer
from viva.engine.folder import RunFolder
from viva.errors import flag
from viva.fields import note
from viva.pages.leaderboard.settings import OF_THE_MODEL, differing, for_baseline, of_baseline
from viva.pages.report.itemindex import stratified
from viva.pages.report.writing import Spooled, page_of, write_page
from viva.render.result import Report, Result
from viva.runs.graded import runs_in
from viva.runs.results import Reported
from viva.visible import one_line

DEFAULT_ITEMS = 100_000
DEFAULT_SIZE = 100.0
"""Megabytes that a report may have."""
_FRAME = 3.0
"""Of these, for all but the items: the drawing library, tables, charts."""


class PageOptions(Struct, kw_only=True):
    """How large a page may be, and what it is called."""

    title: Annotated[str, note("What the page is called.  [default: the runs' names]")] = ""
    items: Annotated[
        int,
        Meta(
            ge=0,
            description="Show so many answers at most; of more, a sample of every exam, model and outcome. All are "
            "counted.",
        ),
    ] = DEFAULT_ITEMS
    max_size: Annotated[
        float, Meta(ge=4), note("How large the page may be; answers are sampled until it is.", metavar="MB")
    ] = DEFAULT_SIZE
    seed: Annotated[int, note("Draws the sample.")] = 0


def runs_at(path: Path) -> list[Path]:
    """Return the folder itself where it is a run, else all runs in it."""
    if not path.is_dir():
        RunFolder.open(path)  # says what it is not
    return runs_in(path)


Names = dict[tuple[int, str, str], str]
"""(number of the run, exam, model) → what the report calls the model."""


def names_of(read: Sequence[Reported], *, whole: bool = False) -> Names:
    """Return models by their names, with the run's where a model sat an exam in several runs; paths without the folders
    that all of them have in common, unless they are to be `whole`.
    """
    results = [(number, run.folder.path.name, result) for number, run in enumerate(read) for result in run.results]
    short = {result.model: result.model for *_, result in results}
    paths = {name for name in short if name.count("/") > 1 and "://" not in name and not whole}
    folders = zip(*(path.split("/")[:-1] for path in paths), strict=False)
    shared = [level[0] for level in itertools.takewhile(lambda level: len(set(level)) == 1, folders)]
    cut = {path: path[len("/".join([*shared, ""])) :] for path in paths}
    if not set(cut.values()) & (short.keys() - paths):
        short |= cut
    times = Counter((result.exam, result.model) for *_, result in results)
    return {
        (number, result.exam, result.model): short[result.model]
        + (f" ({run})" if times[result.exam, result.model] > 1 else "")
        for number, run, result in results
    }


def together(read: Sequence[Reported], names: Names) -> Report:
    """Return the results of all runs as one report."""
    results = [
        msgspec.structs.replace(
            result, model=name, tables=tuple(msgspec.structs.replace(table, model=name) for table in result.tables)
        )
        for number, run in enumerate(read)
        for result in run.results
        for name in (names[number, result.exam, result.model],)
    ]
    notes = list(dict.fromkeys(note for run in read for note in run.notes))
    return Report(
        run=", ".join(str(run.folder.path) for run in read),
        results=tuple(results),
        notes=(*_uneven(results), *notes),
        canaries=tuple(one for run in read for one in run.canaries),
    )


def write_report(read: Sequence[Reported], config: PageOptions, out: Path) -> tuple[int, int, list[str]]:
    """Write the page of some runs. Returns its bytes, how many answers it shows, and warnings about comparing."""
    names = names_of(read)
    report = together(read, names)
    title = config.title or ", ".join(one_line(run.folder.path.resolve().name, 80) for run in read[:4]) + (
        f" and {len(read) - 4} more runs" if len(read) > 4 else ""
    )
    # Above all charts, not in a note below them: what they show beside each other is no comparison.
    warnings = [warning for run in read for warning in run.warnings] + list(_uneven(report.results))
    called = [one_line(run.folder.path.resolve().name, 200) for run in read]
    above = [*(note for run in read for note in run.estimates), *warnings]
    page = page_of(report, [run.folder.record for run in read], title, called, above)
    spooled, notes = _spool_items(read, names, config, out.absolute().parent)
    try:
        size = write_page(out, page, spooled, notes)
    finally:
        if spooled:
            spooled.close()
    return size, spooled.written.items if spooled else 0, warnings


def _uneven(results: Sequence[Result]) -> Iterator[str]:
    """Yield exams of one label that were asked in different ways: their rows are no comparison of models."""
    exams: dict[tuple[int, str], list[str]] = {}
    for exam in dict.fromkeys(result.exam for result in results):
        ways = _ways([result for result in results if result.exam == exam])
        if len(ways) > 1:
            exams.setdefault((len(ways), differing(ways)), []).append(exam)
    for (count, what), names in exams.items():
        was, its = ("was", "its") if len(names) == 1 else ("were", "their")
        yield (
            f"{', '.join(names)} {was} asked in {count} different ways in these runs ({what}; see the signatures): "
            f"{its} rows are not all the same measurement."
        )


def _ways(results: Sequence[Result]) -> list[dict[str, str]]:
    """Return the ways of asking, by the parts of the signatures in which models of one comparison may not differ."""
    found: list[dict[str, str]] = []
    signed = [dict(part.split(":", 1) for part in one.signature.split("|") if ":" in part) for one in results]
    for settings in sorted(signed, key=of_baseline):
        parts = {name: value for name, value in settings.items() if name not in OF_THE_MODEL | {"seed"}}
        same: Callable[[dict[str, str]], dict[str, str]] = for_baseline if of_baseline(settings) else dict
        if same(parts) not in map(same, found):  # a baseline's requests are as the others', whatever they said
            found.append({**found[0], **same(parts)} if found and of_baseline(settings) else parts)
    return found


def _spool_items(
    read: Sequence[Reported], names: Names, config: PageOptions, folder: Path
) -> tuple[Spooled | None, list[str]]:
    """Return the items packed, as many as fit, and what the page says of those that it leaves out."""
    total, capacity = sum(len(run.strata) for run in read), int((config.max_size - _FRAME) * 1e6)
    if not config.items or not total:
        return None, []
    strata = [(number, stratum) for number, run in enumerate(read) for stratum in run.strata]
    count, because = min(total, config.items), f"{flag('items')} {config.items:,}"
    while True:
        chosen = stratified(strata, count, config.seed)
        spooled = Spooled(folder, capacity)
        if spooled.fill(_items(read, names, chosen)) or count == 1:
            break
        # So many characters held so many items; a little less of that, since items differ.
        held = spooled.written.items * capacity / max(1, spooled.written.size)
        spooled.close()
        count, because = max(1, min(int(count * 0.9), int(held * 0.92))), f"{flag('max_size')} {config.max_size:g}"
    notes = []
    if chosen is not None:
        notes.append(
            f"{count:,} of {total:,} answers are here ({because}): a sample of every exam, model and outcome in "
            f"proportion, seed {config.seed}. All numbers of this report come from all {total:,} scores."
        )
    if spooled.written.cut:
        from viva.pages.report.itemindex import LONGEST

        notes.append(
            f"{spooled.written.cut:,} answers have a text of more than {LONGEST:,} characters, which is cut there; the "
            "run's responses.jsonl has it whole."
        )
    return spooled, notes


def _items(read: Sequence[Reported], names: Names, chosen: set[int] | None) -> Iterator[Answer]:
    starts = [0, *itertools.accumulate(len(run.strata) for run in read)]
    for number, run in enumerate(read):
        yield from run.items(
            lambda place, start=starts[number]: chosen is None or start + place in chosen,
            lambda *which, run=number: names[run, *which],
        )
