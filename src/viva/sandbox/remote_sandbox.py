"""The sandbox of a remote worker: a recipe in the sense of `viva.distributed`."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

from viva.sandbox.languagetables import Language, languages, missing_packages, package_folder
from viva.sandbox.sandbox import Sandbox
from viva.types import Execute, Execution

SLOTS = 1000
"""Places with separate slots on a machine; further ones share slots, as two concurrent commands do."""


class PlacedSandbox:
    """Sandbox that runs programs one after the other, all on one event loop: the `place`-th on its machine.

    Raises NoIsolationError.
    """

    def __init__(self, place: int, unsafe_host_execution: bool) -> None:
        slot = 2 * (place % SLOTS)  # for programs; the next is the warm interpreter's
        self._sandbox = Sandbox(jobs=1, unsafe_host_execution=unsafe_host_execution, first_slot=slot)
        self._loop = asyncio.new_event_loop()

    def report(self) -> dict[str, tuple[tuple[str, ...], str]]:
        """Return the languages that can be run here: the packages that each lacks, and a digest of its toolchain."""
        return {
            name: (missing_packages((*row.packages, *row.optional_packages)), _made_of(row))
            for name, row in languages().items()
            if not self._sandbox.unavailable(name)
        }

    def __call__(self, request: Execute) -> Execution:
        """Run one program."""
        return self._loop.run_until_complete(self._sandbox.run(request))


def _made_of(row: Language) -> str:
    """Return the programs that a language needs, by size, and the packages that are in Viva's own folder."""
    digest = hashlib.blake2b(digest_size=8)
    for need in row.needs:
        digest.update(f"{need} {Path(need).resolve().stat().st_size}\n".encode())
    folder = package_folder()
    if folder is not None:
        for kind in ("python", "node_modules"):
            if (folder / kind).is_dir():
                digest.update("\n".join(sorted(path.name for path in (folder / kind).iterdir())).encode())
    return digest.hexdigest()
