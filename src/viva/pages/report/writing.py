"""The report as one file: a head with all that is read first, then the packed items, written as they come.

What must be there before a reader can do anything (text, tables, the items' index and their script) stands before the
items' texts, so that a large file is in use while the browser still reads it.
"""

from __future__ import annotations

import io
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from markupsafe import Markup

from viva.engine.answerrecord import Answer
from viva.errors import StorageError
from viva.files import replacing
from viva.pages.report.itemindex import Block, ItemWriter, Written, packed
from viva.pages.report.sections import Downloads
from viva.pages.shell import PROSE, Inlined, templates


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
