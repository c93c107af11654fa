"""The page of one or several runs: their results together, and as many answers as fit.

The report as one file: a head with all that is read first, then the packed items, written as they come.

What must be there before a reader can do anything (text, tables, the items' index and their script) stands before the
items' texts, so that a large file is in use while the browser still reads it.
"""

from __future__ import annotations

import functools
import io
import itertools
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Annotated, Any

import msgspec
from markupsafe import Markup
from msgspec import Meta, Struct

from viva.engine.answerrecord import Answer
from viva.engine.folder import RunFolder, RunRecord
from viva.errors import StorageError, flag
from viva.fields import note
from viva.files import replacing
from viva.pages.leaderboard.boards import slug
from viva.pages.leaderboard.settings import OF_THE_MODEL, differing, for_baseline, of_baseline
from viva.pages.report.itemindex import Block, ItemWriter, Written, packed, stratified
from viva.pages.report.methods import methods, references
from viva.pages.runs.live_tables import tables_of
from viva.pages.shell import PROSE, Inlined, templates
from viva.render import charts
from viva.render.deciders import canaries_table
from viva.render.formats import as_csv, legend
from viva.render.markuptext import csv_text, tables_latex
from viva.render.result import Report, Result, beside_of
from viva.render.score_chart import languages_chart, parts_chart, scores_chart, shown
from viva.render.table import Table
from viva.runs.graded import runs_in
from viva.runs.results import Reported
from viva.version import __version__
from viva.visible import csv_safe, one_line

_LONG = 120
"""Parts of a table that a chart can show."""
_SHORT = 14
"""Parts beyond which a chart has the whole width."""
_MODELS = 60
"""Results in the first picture."""
MANY = 24
"""Results beyond which the tables of single models stay out of the page: those with a row a model hold their means."""
_PANEL = 12
"""Models of an exam up to which the first picture shows what a chart of scores would."""


class Downloads:
    """Gives every table that the page shows its id, and keeps what is saved of it."""

    def __init__(self, figures: str) -> None:
        """`figures`: all figures of the report as CSV, unrounded."""
        self.files = {"figures": {"name": "figures", "csv": figures}}
        """Id → what its files are called without the ending, and their content."""

    def add(self, table: Table) -> str:
        """Return the table's id; its CSV has the cells as they are printed."""
        number = len(self.files)
        self.files[f"table-{number}"] = {
            "name": f"{number:02}-{slug(table.title, 60)}",
            "csv": csv_text(list(map(csv_safe, table.header)), table.texts()),
            "latex": tables_latex([table], []),
        }
        return f"table-{number}"


def page_of(
    report: Report, records: Sequence[RunRecord], title: str, names: Sequence[str], warnings: Sequence[str]
) -> dict[str, Any]:
    """Return all of the page but its items. `names`: what the runs are called."""
    tables = tables_of(report.results)
    answered = [result for result in report.results if result.answered]
    drawable = [one for one in report.results if one.overall.n]
    return {
        "title": title,
        "source": report.run,
        "made": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "viva": __version__,
        "asked": list(zip(records, names, strict=True)),
        "warnings": warnings,
        "legend": legend(report.results),
        "tables": tables,
        "results": drawable[:_MODELS],
        "drawable": len(drawable),
        "charts": list(_overall(report.results)),
        "parts": {exam.exam: list(_parts([r for r in answered if r.exam == exam.exam])) for exam in tables.exams},
        "single": len(report.results) <= MANY,
        "canaries": canaries_table(report.canaries),
        "methods": methods(records, report.results),
        "references": references([exam.spec.benchmark for record in records for exam in record.exams]),
        "signatures": [result.signature for result in report.results],
        "notes": [note for note in report.notes if note not in warnings],
        "figures": as_csv(report),
    }


def _chart(chart: Any, caption: str, *named: str, broad: bool = False) -> dict[str, Any]:
    """Return a chart as the template takes it; `named`: what tells it from the others of the page."""
    spec = charts.as_json(charts.spec(chart))
    return {"spec": spec, "caption": caption, "file": slug("-".join(named), 60), "broad": broad}


def _overall(results: Sequence[Result]) -> Iterator[dict[str, Any]]:
    """Yield scores exam by exam, and languages."""
    for exam in dict.fromkeys(result.exam for result in results):
        of_exam = [result for result in results if result.exam == exam and shown(result.overall)]
        rows = beside_of(of_exam)
        if len(of_exam) > _PANEL or rows:
            caption = f"Scores on {one_line(exam, 80)}: a dot a model, its bar the 95 % interval."
            yield _chart(scores_chart(of_exam, rows), caption, exam, "scores")
    for benchmark in dict.fromkeys(result.benchmark for result in results):
        chart = languages_chart([result for result in results if result.benchmark == benchmark])
        if chart is not None:
            yield _chart(chart, "The same models, language by language.", benchmark, "languages")


def _parts(results: Sequence[Result]) -> Iterator[dict[str, Any]]:
    """Yield the tables of one exam that have parts to compare."""
    for index, table in enumerate(results[0].tables):
        if table.across or not 1 < len(table.rows) <= _LONG:
            continue
        chart = parts_chart(results, index)
        if chart is not None:
            caption = f"{one_line(table.title, 100)}, part by part; the figures are in the tables below."
            yield _chart(chart, caption, results[0].exam, table.name, broad=len(table.rows) > _SHORT)


class Spooled:
    """The items' blocks, packed into a temporary file: they are written after what is known only at their end."""

    def __init__(self, beside: Path, limit: int) -> None:
        """`beside`: the folder of the report, which has room for it or has not; `limit`: characters of all blocks."""
        try:
            self._texts: IO[str] = tempfile.TemporaryFile("w+", dir=beside, encoding="ascii")  # noqa: SIM115
        except OSError as problem:
            raise StorageError(f"cannot write in {beside}: {problem.strerror}") from None
        self._first: list[Block] = []
        self._writer = ItemWriter(self._take, limit=limit)
        self.written = Written()

    def fill(self, items: Iterable[Answer]) -> bool:
        """Take in all items; whether they fitted."""
        for item in items:
            if not self._writer.add(item):
                break
        self.written = self._writer.finish()
        return self.written.whole

    def _take(self, block: Block) -> None:
        if block.name in ("items-index", "items-heads"):
            self._first.append(block)
        else:
            self._texts.write(_element(block))

    @property
    def first(self) -> Markup:
        """The blocks that are needed first, as elements."""
        return Markup("".join(map(_element, self._first)))  # noqa: S704 - base64, and JSON that ends no element

    def copy_texts(self, out: IO[str]) -> None:
        """Write the blocks of texts, as elements."""
        self._texts.seek(0)
        shutil.copyfileobj(self._texts, out, 1 << 20)

    def close(self) -> None:
        """Give the temporary file back."""
        self._texts.close()


def _element(block: Block) -> str:
    return f'<script type="text/plain" id="block-{block.name}">{block.text}</script>\n'


def write_page(path: Path, page: Mapping[str, Any], items: Spooled | None, notes: Sequence[str]) -> int:
    """Write the report, as a whole or not at all; returns its size in bytes. Raises StorageError."""
    try:
        with replacing(path) as file:
            out = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
            _write(out, page, items, notes)
            out.detach()
        return path.stat().st_size
    except OSError as problem:
        raise StorageError(f"cannot write {path}: {problem.strerror}") from None


def _write(out: IO[str], page: Mapping[str, Any], items: Spooled | None, notes: Sequence[str]) -> None:
    wanted = (items.written.marked, items.written.formulas, True) if items else ()
    rendering = [name for name, there in zip(PROSE, wanted, strict=False) if there]
    scripts = ("tables.js", "blocks.js", "report.js", *(["items.js"] if items else []), *rendering, "charts.js")
    downloads = Downloads(page["figures"])
    made = (
        templates(saved=downloads.add)
        .get_template("report.html")
        .render(
            page=page,
            items={"shown": items is not None, "notes": notes, "first": items.first if items else ""},
            states={outcome for row in page["results"] for outcome in row.overall.outcomes},
            **Inlined(("viva.css", "text.css", "report.css", "chart.css"), scripts),
        )
    )
    head, _, end = made.rpartition("</body>")
    out.write(head)
    out.write(_element(Block("downloads", packed(downloads.files))))
    if items is not None:
        items.copy_texts(out)
    out.write(f"</body>{end}\n")


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
            functools.partial(_wanted, chosen, starts[number]),
            lambda *which, run=number: names[run, *which],
        )


def _wanted(chosen: set[int] | None, start: int, place: int) -> bool:
    return chosen is None or start + place in chosen
