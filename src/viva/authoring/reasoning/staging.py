"""Writing a set: whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from viva.authoring.reasoning.export import FILES, MANIFEST
from viva.authoring.staging import staged


def write_set(out: Path, contents: Mapping[str, bytes], *, force: bool) -> None:
    """Write the files of a set to `out`, through to the disk.

    Raises VivaError where `out` holds a set already (unless `force`), StorageError where it cannot be written.
    """
    with staged(out, FILES, MANIFEST, force=force) as stage:
        for name, content in contents.items():
            with (stage / name).open("wb") as file:
                file.write(content)
                os.fsync(file.fileno())
