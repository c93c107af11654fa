"""`viva docs`: the pages of the documentation on the terminal."""

from __future__ import annotations

import re
from pathlib import Path

import click

from viva.benchmarks import BENCHMARKS
from viva.cli.habits import nearest
from viva.cli.output import screen
from viva.errors import VivaError
from viva.visible import escape_invisible

PACKAGE = Path(__file__).parents[2]
_LINK = re.compile(r"\[([^\]]*)\]\((?:[\w./-]*/)?([\w-]+?)(/README)?\.md[^)]*\)")


@click.command(name="docs", short_help="Read the documentation.")
@click.argument("topic", required=False)
def docs_command(topic: str | None) -> int:
    """Print a page of the documentation. Without TOPIC: the list of pages.

    On a terminal the page is rendered; through a pipe its Markdown comes as it is.

    \b
    viva docs                     the pages
    viva docs judges              one of them
    """
    known = pages()
    if topic is None:
        for name, path in known.items():
            click.echo(f"{name:<12}{path.read_text(encoding='utf-8').partition(chr(10))[0].lstrip('# ')}")
        return 0
    if topic not in known:
        near = nearest(topic, known) or f"; there are: {', '.join(known)}"
        raise VivaError(f"there is no page {escape_invisible(topic)!r}{near}")
    text = _LINK.sub(lambda link: link[1] + f" (`viva docs {link[2]}`)" * (link[2] in known), text_of(known[topic]))
    width, colour = screen(None)
    if width is None:
        click.echo(text)
        return 0
    from rich.console import Console
    from rich.markdown import Markdown

    Console(width=min(width, 120), no_color=not colour).print(Markdown(text, hyperlinks=False))
    return 0


def pages() -> dict[str, Path]:
    """Topic → file: pages that come with the package, else those of the checkout; and a page of each benchmark."""
    folder = PACKAGE / "docs"
    every = sorted((folder if folder.is_dir() else PACKAGE.parents[1] / "docs").glob("[a-z]*.md"))
    own = {name: PACKAGE / "benchmarks" / name / "README.md" for name in BENCHMARKS}
    return {path.stem: path for path in every} | {name: path for name, path in own.items() if path.is_file()}


def text_of(page: Path) -> str:
    """The text of a page, with what cannot be seen spelled out."""
    return escape_invisible(page.read_text(encoding="utf-8"))
