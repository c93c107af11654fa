"""The report as one file: a head with all that is read first, then the packed items, written as they come.

What must be there before a reader can do anything (text, tables, the items' index and their script) stands before the
items' texts, so that a large file is in use while the browser still reads it.
"""

from __future__ import annotations

import io
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

from msgspec import Struct

from viva.engine.answer import Answer
from viva.errors import StorageError
from viva.files import replacing
from viva.pages.report.items import Block, ItemWriter, Written, packed
from viva.pages.report.methods import Reference
from viva.pages.report.tables import ExamTables, PageTable
from viva.pages.runs.live_tables import ResultRow

PUBLISHED_MARK = "(published"
"""Stands behind the name of a published row."""


class PageChart(Struct, frozen=True, kw_only=True):
    """One chart of the page."""

    id: str
    spec: str
    """Vega-Lite as JSON that a script element can hold."""
    caption: str
    file: str
    broad: bool = False


class PageExam(Struct, frozen=True, kw_only=True):
    """One exam's section."""

    tables: ExamTables
    charts: tuple[PageChart, ...]


class Page(Struct, frozen=True, kw_only=True):
    """All of a report but its items."""

    title: str
    source: str
    made: str
    viva: str
    facts: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    legend: str
    footnotes: tuple[str, ...]
    results: tuple[ResultRow, ...]
    """What the first picture shows."""
    summary: PageTable
    took: PageTable | None
    """What the answers took."""
    charts: tuple[PageChart, ...]
    exams: tuple[PageExam, ...]
    languages: tuple[PageTable, ...]
    canaries: PageTable | None
    unscored: PageTable | None
    methods: str
    references: tuple[Reference, ...]
    signatures: tuple[str, ...]
    notes: tuple[str, ...]

    def tables(self) -> Iterator[PageTable]:
        """Every table, in the order of the page."""
        yield self.summary
        for exam in self.exams:
            yield from exam.tables.across
            for _, tables in exam.tables.models:
                yield from tables
        yield from self.languages
        if self.canaries:
            yield self.canaries
        if self.unscored:
            yield self.unscored


class ItemsNote(Struct, frozen=True):
    """What the page says of its items."""

    shown: bool
    notes: tuple[str, ...] = ()


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

    def write(self, out: IO[str], *, texts: bool) -> None:
        """The blocks as elements: those that are needed first, or the texts."""
        if not texts:
            out.writelines(map(_element, self._first))
            return
        self._texts.seek(0)
        shutil.copyfileobj(self._texts, out, 1 << 20)

    def close(self) -> None:
        """Give the temporary file back."""
        self._texts.close()


def _element(block: Block) -> str:
    return f'<script type="text/plain" id="block-{block.name}">{block.text}</script>\n'


def write_page(path: Path, page: Page, items: Spooled | None, notes: Sequence[str]) -> int:
    """Write the report, as a whole or not at all; returns its size in bytes. Raises StorageError."""
    try:
        with replacing(path) as file:
            out = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
            _write(out, page, items, notes)
            out.detach()
        return path.stat().st_size
    except OSError as problem:
        raise StorageError(f"cannot write {path}: {problem.strerror}") from None


def _write(out: IO[str], page: Page, items: Spooled | None, notes: Sequence[str]) -> None:
    from viva.pages.shell import PROSE, asset, templates
    from viva.web.charts import script as charts
    from viva.web.pages import asset as chart_asset
    from viva.web.policy import policy

    own = [asset(name) for name in ("tables.js", "blocks.js", "report.js")]
    browser = [asset("items.js")] if items is not None else []
    wanted = (items.written.marked, items.written.formulas, True) if items is not None else ()
    rendering = [asset(name) for name, there in zip(PROSE, wanted, strict=False) if there]
    style = "\n".join((*map(asset, ("viva.css", "text.css", "report.css")), chart_asset("chart.css")))
    template = templates(is_published=_is_published).get_template("report.html")
    shown = ItemsNote(items is not None, tuple(notes))
    states = {outcome for one in page.results for outcome in one.estimate.outcomes}
    allowed = policy([*own, *browser, charts(), *rendering], [style])
    head, _, end = template.render(page=page, items=shown, states=states, styles=[style], policy=allowed).rpartition(
        "</body>"
    )
    out.write(head)
    out.write("".join(f"<script>{text}</script>\n" for text in own))
    if items is not None:
        items.write(out, texts=False)
    out.write("".join(f"<script>{text}</script>\n" for text in browser))
    out.write(f"<script data-now>{charts()}</script>\n")
    saved = {table.id: {"name": table.file, "csv": table.csv, "latex": table.latex} for table in page.tables()}
    out.write(_element(Block("downloads", packed(saved))))
    if items is not None:
        items.write(out, texts=True)
    out.write("".join(f"<script>{text}</script>\n" for text in rendering))
    out.write(f"</body>{end}\n")


def _is_published(name: str) -> bool:
    return PUBLISHED_MARK in name
