"""A benchmark's published files, downloaded and verified."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from viva.benchmarks.sources import Source, intact
from viva.errors import DataError
from viva.files import write_whole

if TYPE_CHECKING:
    import aiohttp


LARGEST = 64 << 20
"""Bytes of a published file; the largest has two million."""


async def fetch(source: Source, base: str, folder: Path) -> None:
    """Download what is not there yet, each file verified by SHA-256. Raises DataError."""
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
            write_whole(place, content)


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
