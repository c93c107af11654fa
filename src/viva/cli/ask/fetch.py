"""`viva fetch`: get published sets, pinned and verified; afterwards everything works offline."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click
import msgspec

from viva.benchmarks import BENCHMARKS
from viva.errors import EXIT_INCOMPLETE, VivaError
from viva.sources.fetching import Fetched, ask_on_terminal, fetch, terminal
from viva.sources.sourcelist import find_source, sources
from viva.visible import escape_invisible, escaped


@click.command
@click.argument("names", nargs=-1, metavar="[SET]...")
@click.option("--all", "everything", is_flag=True, help="All sets that `viva list --sets` has.")
@click.option("--to", type=click.Path(path_type=Path), help="Folder.  [default: the user's cache; found from there]")
@click.option("--url", help="Another place with the files of one set (a mirror); they are verified all the same.")
@click.option("--accept-hash", is_flag=True, help="Record the hashes of files that nobody recorded one of.")
@click.option("--json", "as_json", is_flag=True, help="What was fetched, and where it is, as JSON.")
def fetch_command(
    names: tuple[str, ...], everything: bool, to: Path | None, url: str | None, accept_hash: bool, as_json: bool
) -> int:
    """Download published sets, verify each file by its hash, and use them from then on.

    \b
    viva fetch mmlu-pro gsm8k
    viva fetch --all --to DIR        # for a machine without a network: VIVA_DATA=DIR there

    Files are taken from DIR, Viva's cache or an existing Hugging Face cache where they are there, else from HF_ENDPOINT
    and the hub. HF_TOKEN is for sets whose authors ask for an account.
    """
    if everything == bool(names):
        raise VivaError("name the sets, or all of them by --all: viva fetch mmlu-pro gsm8k")
    if url and len(names) != 1:
        raise VivaError("--url is the place of one set: name that one")
    for name in names:
        if name in BENCHMARKS and name not in sources():
            raise VivaError(
                f"no {name} set can be fetched; `viva build {name}` makes one. What can be: {', '.join(sources())}"
            )
        find_source(name)
    accept = (lambda _question: True) if accept_hash else ask_on_terminal if terminal() else None
    fetched_by_name: dict[str, Fetched] = {}
    failed: list[str] = []
    for name in names or [name for name, source in sources().items() if not source.like]:
        try:
            tell = lambda sentence: click.echo(escape_invisible(sentence), err=True)  # noqa: E731
            fetched_by_name[name] = asyncio.run(fetch(name, to, mirror=url, tell=tell, accept=accept))
        except VivaError as problem:
            if not everything:
                raise
            failed.append(escape_invisible(f"  {name}: {problem}"))
            continue
        if not as_json:
            click.echo(f"{name} is in {fetched_by_name[name].folder}" + (f"; use it with VIVA_DATA={to}" if to else ""))
    if as_json:
        rows = [_as_data(name, fetched) for name, fetched in fetched_by_name.items()]
        click.echo(escaped(msgspec.json.encode(rows if len(names) != 1 else rows[0]).decode()))
    if failed:
        click.echo(
            "\n".join([f"viva: {len(failed)} of {len(failed) + len(fetched_by_name)} sets are not here:", *failed]),
            err=True,
        )
    return EXIT_INCOMPLETE if failed else 0


def _as_data(name: str, fetched: Fetched) -> dict[str, object]:
    source = sources()[name]
    return {
        "benchmark": name,
        "folder": str(fetched.folder),
        "files": [source.local(path) for path in source.files],
        "licence": source.licence,
        "bytes": fetched.size,
    }
