"""Hook of mkdocs: pages that lie next to the code they are about, links that leave docs/, the reference (reference.py).

A link to a file that is a page here leads to that page; one to any other file of the repository is shown as its path.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from viva.cli.main import cli
from viva.cli.options import HELP_ALL

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / ".ci"))

import reference  # noqa: E402

OUTSIDE = {
    **{f"src/viva/benchmarks/{name}/README.md": f"{name}.md" for name in
       ("csbench", "clrbench", "cmmlu", "infibench", "syneval")},
    "performance/README.md": "performance.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
}  # fmt: skip
"""Files of the repository that are pages of the site, and the pages' names."""
_SOURCES = {page: source for source, page in OUTSIDE.items()}
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^)#:\s]+)(?P<anchor>#[^)\s]*)?\)")
_CODE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from outside docs/."""
    for source, page in OUTSIDE.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text("utf-8")))
    text = "# Commands\n\n" + "\n\n".join(helps(cli, click.Context(cli, info_name="viva")))
    files.append(File.generated(config, "commands.md", content=text))
    script = "iframe-worker.js"
    files.append(File.generated(config, script, content=(ROOT / ".ci" / script).read_text("utf-8")))
    for page, made in reference.PAGES.items():
        files.append(File.generated(config, page, content=made()))
    return files


def helps(command: click.Command, context: click.Context) -> Iterator[str]:
    """What `--help` says of a command and of those in it, each under a heading."""
    context.max_content_width = context.terminal_width = 84
    context.meta[HELP_ALL] = True
    depth = context.command_path.count(" ")
    yield f"{'#' * min(2 + depth, 4)} {context.command_path}\n\n```text\n{command.get_help(context)}\n```"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None and not inner.hidden:
                yield from helps(inner, click.Context(inner, info_name=name, parent=context))
    for name in getattr(command, "below", ()):  # `variance run` of `variance`
        yield from helps(command_of(name), click.Context(command_of(name), info_name=f"viva {name}"))


def command_of(name: str) -> click.Command:
    """The command of a name with blanks."""
    found, words = cast("click.Command", cli), [*name.split(), "--help"]
    while isinstance(found, click.Group):
        _, inner, words = found.resolve_command(click.Context(found), words)
        assert inner is not None
        found = inner
    return found


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links that are relative to the file lead to pages."""
    place = page.file.src_uri
    source = _SOURCES.get(place, f"docs/{place}")

    def led(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link["target"]))
        if not (ROOT / target).exists():
            return link[0]  # mkdocs says so
        name = OUTSIDE.get(target, target.removeprefix("docs/") if target.startswith("docs/") else "")
        if name == "" or files.get_file_from_path(name) is None:
            return f"{link['text']} (`{target}`)" if link["text"].strip("`") != target else f"`{target}`"
        return f"[{link['text']}]({posixpath.relpath(name, posixpath.dirname(place) or '.')}{link['anchor'] or ''})"

    parts = _CODE.split(markdown)
    return "".join(part if part.startswith("```") else _LINK.sub(led, part) for part in parts)
