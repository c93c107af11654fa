"""The forms in which a command prints its tables, by the names of `--format`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ParamSpec

from viva.reports.grids import grids_latex, grids_markdown
from viva.reports.result import Grid

P = ParamSpec("P")
Told = tuple[Sequence[Grid], Sequence[str]]
"""Tables, and the lines below them."""


def formats(
    told: Callable[P, Told], *, as_csv: Callable[P, str], as_json: Callable[P, str]
) -> dict[str, Callable[P, str]]:
    """All of them but the terminal's, which also takes a width and colours. `told`: the tables of what was found."""

    def printed(form: Callable[[Sequence[Grid], Sequence[str]], str]) -> Callable[P, str]:
        def render(*args: P.args, **kwargs: P.kwargs) -> str:
            return form(*told(*args, **kwargs))

        return render

    return {"json": as_json, "csv": as_csv, "markdown": printed(grids_markdown), "latex": printed(grids_latex)}
