"""`viva docs`: the pages of the documentation on the terminal."""

from __future__ import annotations

import re
from pathlib import Path

import click

from viva.cli.options import screen
from viva.visible import escape_invisible

PACKAGE = Path(__file__).parents[2]


def pages() -> dict[str, Path]:
    """Return topic → file: the package's pages, else those of the checkout; and a page of each benchmark."""
    folder = PACKAGE / "docs"
    if not folder.is_dir():
        folder = PACKAGE.parents[1] / "docs"
    own = {path.parent.name: path for path in sorted(PACKAGE.glob("benchmarks/*/README.md"))}
    return {path.stem: path for path in sorted(folder.glob("[a-z]*.md"))} | own


@click.command
@click.argument("topic", type=click.Choice(list(pages())), required=False, metavar="[TOPIC]")
def docs_command(topic: str | None) -> int:
    """Print a page of the documentation. Without TOPIC: the list of pages.

    On a terminal the page is rendered; through a pipe its Markdown comes as it is.

    \b
    viva docs                     the pages
    viva docs judges              one of them
    """
    known = pages()
    if topic is not None:
        width, colour = screen(None)
        click.echo(shown(known[topic], width, colour=colour), nl=False)
        return 0
    for name, path in known.items():
        click.echo(f"{name:<12}{path.read_text(encoding='utf-8').splitlines()[0].lstrip('# ')}")
    return 0


def shown(page: Path, width: int | None, *, colour: bool) -> str:
    """Return a page as text, invisible characters spelled out: rendered to `width`, or its Markdown without a width."""
    from rich.console import Console
    from rich.markdown import Markdown

    text = escape_invisible(page.read_text(encoding="utf-8"))
    if width is None:
        return text
    to_page = rf"\[([^\]]*)\]\((?:[^)]*/)?({'|'.join(pages())})(?:/README)?\.md[^)]*\)"
    console = Console(width=min(width, 120), no_color=not colour, force_terminal=True)
    with console.capture() as captured:
        console.print(Markdown(re.sub(to_page, r"\1 (`viva docs \2`)", text), hyperlinks=False))
    return captured.get()
