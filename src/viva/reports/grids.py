"""Grids of strings as terminal tables, Markdown or LaTeX: what every printed report is made of."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Sequence

from viva.reports.result import Grid
from viva.reports.text import latex, markdown
from viva.visible import visible

WORDS = frozenset({"outcomes", "model", "exam", "published as"})
"""Columns of words, which a terminal table sets flush left, as it does the first one."""


def grids_terminal(
    grids: Sequence[Grid],
    closing: Sequence[str],
    *,
    width: int | None = None,
    colour: bool = False,
    words: Collection[str] = WORDS,
) -> str:
    """Tables for a terminal, `closing` line by line below. Model text reaches it through `visible`, never as markup."""
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    out = io.StringIO()
    console = Console(
        file=out,
        width=width or 200,
        force_terminal=colour,
        color_system="standard" if colour else None,
        highlight=False,
    )
    for found in grids:
        table = RichTable(title=Text(visible(found.title)), title_justify="left", title_style="bold")
        for index, name in enumerate(found.header):
            left = name in words or index == 0
            table.add_column(Text(visible(name)), justify="left" if left else "right", overflow="fold")
        for row in found.rows:
            table.add_row(*(Text(visible(value)) for value in row))
        console.print(table)
    for line in closing:
        console.print(Text(visible(line)), soft_wrap=True)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def grids_markdown(grids: Sequence[Grid], closing: Sequence[str]) -> str:
    """Markdown tables, `closing` as a list."""
    lines: list[str] = []
    for found in grids:
        lines += [f"### {markdown(found.title)}", ""]
        lines.append("| " + " | ".join(map(markdown, found.header)) + " |")
        lines.append("|" + "|".join("---" if index == 0 else "---:" for index in range(len(found.header))) + "|")
        lines += ["| " + " | ".join(map(markdown, row)) + " |" for row in found.rows]
        lines.append("")
    lines += [f"- {markdown(line)}" for line in closing]
    return "\n".join(lines) + "\n"


def grids_latex(grids: Sequence[Grid], closing: Sequence[str]) -> str:
    """LaTeX tables (booktabs), `closing` as comments."""
    lines: list[str] = ["% needs \\usepackage{booktabs}"]
    for found in grids:
        lines += [r"\begin{table}", rf"\caption{{{latex(found.title)}}}"]
        lines += [rf"\begin{{tabular}}{{l{'r' * (len(found.header) - 1)}}}", r"\toprule"]
        lines += [" & ".join(map(latex, found.header)) + r" \\", r"\midrule"]
        lines += [" & ".join(map(latex, row)) + r" \\" for row in found.rows]
        lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}", ""]
    lines += [f"% {' '.join(visible(line).split())}" for line in closing]
    return "\n".join(lines) + "\n"


GRID_FORMATS: dict[str, Callable[[Sequence[Grid], Sequence[str]], str]] = {
    "terminal": grids_terminal,
    "markdown": grids_markdown,
    "latex": grids_latex,
}
