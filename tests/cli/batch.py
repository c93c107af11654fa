"""Many short commands in one process (servers/driver.py), each in an empty folder or all in one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from servers.fixtures import Ended, Viva


def given(place: Path, cases: Sequence[Sequence[object]], files: Mapping[str, bytes], *, together: bool) -> Path:
    """Write what the driver reads."""
    commands = [list(map(str, case)) for case in cases]
    place.write_text(json.dumps([commands, {n: c.hex() for n, c in files.items()}, together]), encoding="utf-8")
    return place


def ends(printed: str) -> list[tuple[Ended, list[str]]]:
    """Read what the driver prints: how each command ended, and what it left in its folder."""
    return [(Ended(code, out, err), left) for code, out, err, left in map(json.loads, printed.splitlines())]


def batch(
    viva: Viva, cases: Sequence[Sequence[object]], files: Mapping[str, bytes] | None = None
) -> list[tuple[Ended, list[str]]]:
    """Run each command in a folder that holds `files`, without a key to anything."""
    viva.environment.pop("OPENAI_API_KEY")
    ended = viva(given(viva.folder / "given.json", cases, files or {}, together=False), module="driver")
    assert ended.code == 0, ended.err
    return ends(ended.out)
