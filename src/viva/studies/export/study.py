"""`viva export`: runs and question sets, written as other people's tools read them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from viva.commands import command
from viva.errors import EXIT_OK, VivaError, option
from viva.runs.progress import say
from viva.studies.export.exportformats import FILES, FORMATS, ExportConfig, Written, placed
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.studies.export.evaluations import Source

Write: TypeAlias = "Callable[[Source, Path], Written]"
"""Writes a source to a place."""


_LISTED = "\b\nFormats:\n" + "\n".join(f"  {name:<16} {form.about}" for name, form in FORMATS.items())


@command(ExportConfig, "action", epilog=_LISTED)
def study(config: ExportConfig) -> int:
    """Write graded runs or question sets as other people's tools read them. Raises VivaError for a format that there is
    not, for sources that it does not take, and for a place that must not be written.
    """
    from viva.studies.export.evaluations import Source

    name, out = config.to, config.out
    form = FORMATS.get(name)
    if form is None:
        known = ", ".join(FORMATS)
        raise VivaError(f"{one_line(name)!r}: there is no such format; there are: {known}", field="to")
    if form.tracker and out is not None:
        raise VivaError(f"{out}: {option('to')} {name} writes no file: {form.about}", field="out")
    if not form.tracker and out is None:
        raise VivaError(f"{name} writes a folder: say which with {option('out')}", field="to")
    module, _, function = form.writer.partition(":")
    write = cast("Write", getattr(importlib.import_module(f"viva.studies.export.{module}"), function))
    with ExitStack() as stack:
        source = Source(config, stack)
        if out is None:
            what, warnings = write(source, Path())
        else:
            with placed(out, name, force=config.force, file=name == "inspect" and out.suffix in FILES) as place:
                what, warnings = write(source, place)
        say(f"viva: wrote {f'{out} ({what})' if out else what}")
        for warning in (*source.warnings(), *warnings):
            say(f"viva: {warning}")
    return EXIT_OK
