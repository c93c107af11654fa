"""`viva fetch`: get a benchmark's published files, pinned and verified; afterwards everything works offline."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click
import msgspec

from viva.benchmarks import BENCHMARKS
from viva.benchmarks.sources import cache_folder, sources
from viva.errors import StorageError, VivaError
from viva.runs.exams import fetch
from viva.visible import escaped


@click.command(name="fetch", short_help="Download a benchmark's published files.")
@click.argument("benchmark")
@click.option("--to", type=click.Path(path_type=Path), help="Folder.  [default: the user's cache; found from there]")
@click.option("--url", help="Another place with the same files (a mirror); they are verified all the same.")
@click.option("--json", "as_json", is_flag=True, help="What was fetched, and where it is, as JSON.")
def fetch_command(benchmark: str, to: Path | None, url: str | None, as_json: bool) -> int:
    """Download BENCHMARK's published files, verify each by SHA-256, and use them from then on."""
    if benchmark not in sources():
        known = ", ".join(sources())
        if benchmark in BENCHMARKS:
            raise VivaError(
                f"no {benchmark} set can be fetched; `viva build {benchmark}` makes one. What can be: {known}"
            )
        raise VivaError(f"nothing to fetch for {benchmark!r}; there are: {known}")
    source = sources()[benchmark]
    folder = to or cache_folder(benchmark)
    click.echo(f"{benchmark}: {len(source.files)} files, licence {source.licence}", err=True)
    try:
        asyncio.run(fetch(source, (url or source.base).rstrip("/") + "/", folder))
        (folder / "complete").write_text("every file was verified by SHA-256\n", encoding="utf-8")
    except OSError as problem:
        raise StorageError(f"cannot write to {folder}: {problem.strerror or problem}") from None
    if as_json:
        files = [source.names.get(file, file) for file in source.files]
        found = {"benchmark": benchmark, "folder": str(folder), "files": files, "licence": source.licence}
        click.echo(escaped(msgspec.json.encode(found).decode()))
        return 0
    click.echo(f"{benchmark} is in {folder}" + ("; use it with --data" if to else ""))
    return 0
