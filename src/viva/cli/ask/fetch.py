"""`viva fetch`: get a benchmark's published files, pinned and verified; afterwards everything works offline."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from viva.benchmarks import BENCHMARKS
from viva.benchmarks.sources import Source, cache_folder, intact, sources
from viva.errors import DataError, StorageError, VivaError

if TYPE_CHECKING:
    import aiohttp

LARGEST = 64 << 20
"""Bytes of a published file; the largest has two million."""


@click.command(name="fetch", short_help="Download a benchmark's published files.")
@click.argument("benchmark")
@click.option("--to", type=click.Path(path_type=Path), help="Folder.  [default: the user's cache; found from there]")
@click.option("--url", help="Another place with the same files (a mirror); they are verified all the same.")
def fetch_command(benchmark: str, to: Path | None, url: str | None) -> int:
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
        asyncio.run(_fetch(source, (url or source.base).rstrip("/") + "/", folder))
        (folder / "complete").write_text("every file was verified by SHA-256\n", encoding="utf-8")
    except OSError as problem:
        raise StorageError(f"cannot write to {folder}: {problem.strerror or problem}") from None
    click.echo(f"{benchmark} is in {folder}" + ("; use it with --data" if to else ""))
    return 0


async def _fetch(source: Source, base: str, folder: Path) -> None:
    import aiohttp

    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=120), trust_env=True) as session:
        for path, sha256 in source.files.items():
            place = folder / source.names.get(path, path)
            if place.exists() and place.stat().st_size <= LARGEST and intact(place.read_bytes(), sha256):
                continue
            try:
                async with session.get(base + path) as reply:
                    status = reply.status
                    content = await _read(reply.content) if status == 200 else b""
            except (aiohttp.ClientError, TimeoutError) as problem:
                raise DataError(_by_hand(source, base + path, str(problem) or type(problem).__name__)) from None
            if status != 200:
                raise DataError(_by_hand(source, base + path, f"HTTP {status}"))
            if len(content) > LARGEST:
                raise DataError(_by_hand(source, base + path, f"it is longer than {LARGEST >> 20} MiB"))
            if not intact(content, sha256):
                raise DataError(_by_hand(source, base + path, "its SHA-256 is not the published one"))
            place.parent.mkdir(parents=True, exist_ok=True)
            partial = place.with_name(place.name + ".partial")
            partial.write_bytes(content)
            partial.replace(place)


async def _read(stream: aiohttp.StreamReader) -> bytes:
    """A body, or a little more than `LARGEST` of it: whoever sends it, no file is longer."""
    content = bytearray()
    async for part in stream.iter_any():
        content += part
        if len(content) > LARGEST:
            break
    return bytes(content)


def _by_hand(source: Source, address: str, why: str) -> str:
    first = next(source.names.get(path, path) for path in source.files)
    return (
        f"cannot fetch {address}: {why}. By hand: get the files from {source.page} on a machine with access, keep "
        f"their names (such as {first}), and point --data or VIVA_DATA at the folder"
    )
