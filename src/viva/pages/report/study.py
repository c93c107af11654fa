"""The report of one or several runs as one HTML file: their results together, and as many answers as fit.

The file has a head with all that is read first, then the packed items.

The parts that a reader needs at once (text, tables, the items' index and their script) precede the items' texts, so
that a large file is usable while the browser still loads it.
"""

from __future__ import annotations

import io
import itertools
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Annotated

import msgspec
from markupsafe import Markup
from msgspec import Meta, Struct

from viva.benchmarks import find_benchmark
from viva.engine.answerrecord import Answer
from viva.engine.folder import RunFolder, RunRecord
from viva.errors import StorageError, VivaError, flag
from viva.fields import note
from viva.files import replacing, shipped_table, shipped_text
from viva.languages import language_name
from viva.pages.answerindex import Chosen
from viva.pages.report.itemindex import LONGEST, PackedItems, block, packed, stratified
from viva.pages.runs.runblocks import tables_of
from viva.pages.shell import PROSE, file_name, inlined, templates
from viva.published import about, bibtex, catalogue
from viva.render.markuptext import csv_text, tables_latex
from viva.render.result import Report, Result
from viva.render.run_tables import findings
from viva.render.table import Table
from viva.runs.answers import Reported
from viva.runs.scorefile import runs_in
from viva.studies.ways_of_asking import OF_THE_MODEL, differing, for_baseline, of_baseline
from viva.version import __version__
from viva.visible import csv_safe, one_line

NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def references(benchmarks: Iterable[str]) -> list[str]:
    """Return the papers of the benchmarks that have one, each once, as BibTeX."""
    papers = {about(name).key: f"{bibtex(name).strip()}\n" for name in benchmarks if name in catalogue()}
    return list(papers.values())


def methods(records: Sequence[RunRecord], results: Sequence[Result]) -> str:
    """Return one paragraph for all runs: the sentences of `methods.txt`, each once."""
    from jinja2 import Environment, StrictUndefined

    words = shipped_table(__file__, "methods.toml", dict[str, dict[str, str]])
    made = Environment(undefined=StrictUndefined)  # noqa: S701 - text; the page that shows it escapes it
    made.filters["names"] = lambda models: [one_line(model.called, 80) for model in models]
    text = made.from_string(shipped_text(__file__, "methods.txt")).render(
        records=records, words=words, numbers=NUMBERS, one_line=one_line, language_name=language_name,
        title_of=_title, total=sum(result.overall.n for result in results),
        lacking=sum(result.overall.unanswered for result in results),
    )  # fmt: skip
    return " ".join(dict.fromkeys(line for line in text.splitlines() if line.strip()))


def _title(benchmark: str) -> str:
    """Return a benchmark's title, with a citation if it has a paper."""
    if benchmark in catalogue():
        return f"{about(benchmark).title} [@{about(benchmark).key}]"
    try:
        return find_benchmark(benchmark).about.title
    except VivaError:
        return benchmark


class Downloads:
    """Assigns ids to the page's tables, and collects their files for download."""

    def __init__(self, figures: str) -> None:
        """Take `figures`: all figures of the report as CSV, unrounded."""
        self.files = {"figures": {"name": "figures", "csv": figures}}
        """Id → name of its files without suffix, and their content."""

    def add(self, table: Table) -> str:
        """Add a table and return its id; its CSV has the cells as printed."""
        number = len(self.files)
        self.files[f"table-{number}"] = {
            "name": f"{number:02}-{file_name(table.title, 60)}",
            "csv": csv_text(list(map(csv_safe, table.header)), table.texts()),
            "latex": tables_latex([table], []),
        }
        return f"table-{number}"


def _write(out: IO[str], report: Report, items: PackedItems | None, left_out: Sequence[str], **page: object) -> None:
    """Write the page of a report with its answers; `left_out`: notes on omitted answers."""
    scripts = ("tables.js", "blocks.js", "report.js", *(("items.js", *PROSE) if items else ()), "charts.js")
    downloads = Downloads(findings(report).to_csv())
    made = (
        templates(saved=downloads.add)
        .get_template("report.html")
        .render(
            source=report.run,
            made=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
            viva=__version__,
            tables=tables_of(report.results, canaries=report.canaries),
            signatures=[result.signature for result in report.results],
            items={"shown": items is not None, "notes": left_out, "first": Markup(items.first if items else "")},  # noqa: S704
            facets=items.index.facets if items else {},
            chosen=Chosen(),
            **page,
            **inlined(("viva.css", "text.css", "report.css", "chart.css"), scripts),
        )
    )
    head, _, end = made.rpartition("</body>")
    out.write(head)
    out.write(block("downloads", packed(downloads.files)))
    if items is not None:
        items.copy_texts(out)
    out.write(f"</body>{end}\n")


DEFAULT_ITEMS = 100_000
DEFAULT_SIZE = 100.0
"""Default limit of a report's size, in megabytes."""
_FRAME = 3.0
"""Megabytes reserved for all but the items: the drawing library, tables, charts."""


class PageOptions(Struct, kw_only=True):
    """Limits and title of a page."""

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
    """Return the folder itself if it is a run, else all runs in it."""
    if not path.is_dir():
        RunFolder.open(path)  # raises with the reason
    return runs_in(path)


Names = dict[tuple[int, str, str], str]
"""(number of the run, exam, model) → the model's name in the report."""


def names_of(read: Sequence[Reported], *, whole: bool = False) -> Names:
    """Return the models' names, with the run's if a model took an exam in several runs: its path without the folders
    common to all, unless `whole`.
    """
    results = [
        (number, run.folder.path.name, result) for number, run in enumerate(read) for result in run.report.results
    ]
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
        for result in run.report.results
        for name in (names[number, result.exam, result.model],)
    ]
    notes = list(dict.fromkeys(note for run in read for note in run.report.notes))
    return Report(
        run=", ".join(str(run.folder.path) for run in read),
        results=tuple(results),
        notes=(*_uneven(results), *notes),
        canaries=tuple(canary for run in read for canary in run.report.canaries),
    )


def write_report(read: Sequence[Reported], config: PageOptions, out: Path) -> tuple[int, int, list[str]]:
    """Write the page of some runs atomically. Returns its size in bytes, the number of answers shown, and warnings
    about comparing. Raises StorageError.
    """
    names = names_of(read)
    report = together(read, names)
    records = [run.folder.record for run in read]
    called = [run.folder.path.resolve().name for run in read]
    title = ", ".join(one_line(name, 80) for name in called[:4]) + (
        f" and {len(read) - 4} more runs" if len(read) > 4 else ""
    )
    # Above all charts, not in a note below, since charts suggest a comparison.
    warnings = [warning for run in read for warning in run.warnings] + list(_uneven(report.results))
    above = [*(note for run in read for note in run.estimates), *warnings]
    page = {
        "title": config.title or title,
        "asked_of": [(record, one_line(name, 200)) for record, name in zip(records, called, strict=True)],
        "warnings": above,
        "methods": methods(records, report.results),
        "references": references(exam.spec.benchmark for record in records for exam in record.exams),
        "notes": [note for note in report.notes if note not in above],
    }
    items = None
    try:
        items, left_out = _spool_items(read, names, config, out.absolute().parent)
        with replacing(out) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
            _write(text, report, items, left_out, **page)
            text.detach()
        return out.stat().st_size, items.items if items else 0, warnings
    except OSError as problem:
        raise StorageError(f"cannot write {out}: {problem.strerror}") from None
    finally:
        if items:
            items.close()


def _uneven(results: Sequence[Result]) -> Iterator[str]:
    """Yield warnings on exams of one label asked in different ways: their rows do not compare models."""
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
    """Return the different ways of asking, by the parts of signatures that must be equal in a comparison of models."""
    ways: list[dict[str, str]] = []
    signed = [
        dict(part.split(":", 1) for part in each_result.signature.split("|") if ":" in part) for each_result in results
    ]
    for settings in sorted(signed, key=of_baseline):
        parts = {name: value for name, value in settings.items() if name not in OF_THE_MODEL | {"seed"}}
        same: Callable[[dict[str, str]], dict[str, str]] = for_baseline if of_baseline(settings) else dict
        if same(parts) not in map(same, ways):  # a baseline's requests do not matter
            ways.append({**ways[0], **same(parts)} if ways and of_baseline(settings) else parts)
    return ways


def _spool_items(
    read: Sequence[Reported], names: Names, config: PageOptions, folder: Path
) -> tuple[PackedItems | None, list[str]]:
    """Return the packed items, as many as fit, and notes on those left out."""
    total, capacity = sum(len(run.strata) for run in read), int((config.max_size - _FRAME) * 1e6)
    if not config.items or not total:
        return None, []
    strata = [(number, stratum) for number, run in enumerate(read) for stratum in run.strata]
    count, because = min(total, config.items), f"{flag('items')} {config.items:,}"
    while True:
        chosen = stratified(strata, count, config.seed)
        items = PackedItems(folder, capacity)
        if items.fill(_items(read, names, chosen)) or count == 1:
            break
        # Estimated from the characters so far, less a margin, since items differ.
        held = items.items * capacity / max(1, items.size)
        items.close()
        count, because = max(1, min(int(count * 0.9), int(held * 0.92))), f"{flag('max_size')} {config.max_size:g}"
    notes = []
    if chosen is not None:
        notes.append(
            f"{count:,} of {total:,} answers are here ({because}): a sample of every exam, model and outcome in "
            f"proportion, seed {config.seed}. All numbers of this report come from all {total:,} scores."
        )
    if items.cut:
        notes.append(
            f"{items.cut:,} answers have a text of more than {LONGEST:,} characters, which is cut there; the "
            "run's responses.jsonl has it whole."
        )
    return items, notes


def _items(read: Sequence[Reported], names: Names, chosen: set[int] | None) -> Iterator[Answer]:
    start = 0
    for number, run in enumerate(read):
        wanted: Container[int] = range(len(run.strata)) if chosen is None else {place - start for place in chosen}
        yield from run.items(wanted.__contains__, lambda *which, run=number: names[run, *which])
        start += len(run.strata)
