"""The report as one file: a head with all that is read first, then the packed items, written as they come.

What must be there before a reader can do anything (text, tables, the items' index and their script) stands before the
items' texts, so that a large file is in use while the browser still reads it.
"""

from __future__ import annotations

import io
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from markupsafe import Markup

from viva.engine.answerrecord import Answer
from viva.engine.folder import RunRecord
from viva.errors import StorageError
from viva.files import replacing
from viva.pages.leaderboard.boards import slug
from viva.pages.report.itemindex import Block, ItemWriter, Written, packed
from viva.pages.report.methods import methods, references
from viva.pages.runs.live_tables import tables_of
from viva.pages.shell import PROSE, Inlined, templates
from viva.render import charts
from viva.render.canaries import canaries_table
from viva.render.formats import as_csv, legend
from viva.render.markuptext import csv_text, tables_latex
from viva.render.result import Report, Result, beside_of
from viva.render.score_chart import languages_chart, parts_chart, scores_chart, shown
from viva.render.table import Table
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
