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

from viva.engine.answerrecord import Answer
from viva.errors import StorageError
from viva.files import replacing
from viva.pages.report.itemindex import Block, ItemWriter, Written, packed

PUBLISHED_MARK = "(published"
"""Stands behind the name of a published row."""


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
    from viva.pages.shell import PROSE, asset, templates
    from viva.web.chartpages import script as charts
    from viva.web.pagetemplates import asset as chart_asset
    from viva.web.policy import policy

    own = [asset(name) for name in ("tables.js", "blocks.js", "report.js")]
    browser = [asset("items.js")] if items is not None else []
    wanted = (items.written.marked, items.written.formulas, True) if items is not None else ()
    rendering = [asset(name) for name, there in zip(PROSE, wanted, strict=False) if there]
    style = "\n".join((*map(asset, ("viva.css", "text.css", "report.css")), chart_asset("chart.css")))
    template = templates(is_published=_is_published).get_template("report.html")
    shown = {"shown": items is not None, "notes": notes}
    states = {outcome for one in page["results"] for outcome in one.estimate.outcomes}
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
    out.write(_element(Block("downloads", packed(page["downloads"]))))
    if items is not None:
        items.write(out, texts=True)
    out.write("".join(f"<script>{text}</script>\n" for text in rendering))
    out.write(f"</body>{end}\n")


def _is_published(name: str) -> bool:
    return PUBLISHED_MARK in name
